"""A Gaussian per class from noisy counts, sums and second moments, repaired for noise whose size is known.

Vectors lie in the unit ball. Everything here is post-processing of releases: towards what the classes share, off the
diagonal towards zero, and no eigenvalue below what the noise could hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.repair.ball import into_ball
from sordino.repair.positive_definite import with_floor
from sordino.repair.shrinkage import off_diagonal, towards

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: No variance below this share of the average one, nor below this number, whatever the noise.
_SMALLEST_SHARE, _SMALLEST_VARIANCE = 1e-3, 1e-12


@dataclass(frozen=True)
class ClassGaussians:
    """Shares of the classes, their means and their covariance matrices."""

    proportions: Floats
    means: Floats
    covariances: Floats


def class_gaussians(
    counts: Floats, sums: Floats, second_moments: Floats, sum_variance: float, moment_variances: Floats
) -> ClassGaussians:
    """The repaired Gaussians, from counts of at least one and from noise of known variance in each entry.

    Means are drawn towards the mean of all classes and covariances towards the pooled one, each by the share of its
    distance that is noise. A class's matrix is then as noisy as a mixture of its own and the pooled one.
    """
    proportions = counts / counts.sum()
    means = into_ball(sums / counts[:, None])
    common = (proportions @ means)[None]
    if len(counts) > 1:
        means, _ = towards(means, common, sum_variance / counts[:, None] ** 2, axis=1)
    own = second_moments / counts[:, None, None] - means[:, :, None] * means[:, None, :]
    pooled = np.einsum("k,kij->ij", proportions, own)
    noise = moment_variances.ravel() / counts[:, None] ** 2
    flat, kept = towards(own.reshape(len(counts), -1), pooled.ravel(), noise, axis=1)
    sizes = counts / np.maximum(kept[:, 0], np.sqrt(len(counts)) * proportions)
    covariances = [
        _repaired(matrix, moment_variances / size**2)
        for matrix, size in zip(flat.reshape(own.shape), sizes, strict=True)
    ]
    return ClassGaussians(proportions, means, np.array(covariances))


def _repaired(covariance: Floats, variances: Floats) -> Floats:
    """Off the diagonal towards zero, then no eigenvalue below half of the largest that noise alone would show.

    Whatever is learned from rows divides by variances: one that is smaller than its noise makes slopes without bound.
    """
    noise, size = float(variances[0, -1]), len(covariance)
    smallest = _SMALLEST_SHARE * float(np.trace(covariance)) / size
    return with_floor(off_diagonal(covariance, noise), max(np.sqrt(noise * size), smallest, _SMALLEST_VARIANCE))
