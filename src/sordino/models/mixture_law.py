"""What follows from the shares, means and covariances of a Gaussian mixture: densities, and points drawn from it.

Arithmetic and public randomness about numbers that are given: it costs nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sordino.models.gaps import by_gaps

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


def log_joint(shares: Floats, means: Floats, covariances: Floats, points: Floats) -> Floats:
    """log (share x density) at each point, a column per component; one that is NaN is left out."""
    joint = np.empty((len(points), len(shares)))
    for places, columns in by_gaps(points):
        within = covariances[:, columns[:, None], columns]
        joint[places] = _log_joint_of_whole(shares, means[:, columns], within, points[np.ix_(places, columns)])
    return joint


def _log_joint_of_whole(shares: Floats, means: Floats, covariances: Floats, points: Floats) -> Floats:
    listed = []
    for share, mean, covariance in zip(shares, means, covariances, strict=True):
        root = np.linalg.cholesky(covariance)
        apart = np.linalg.solve(root, (points - mean).T)
        size = len(mean) * math.log(2 * math.pi) / 2 + np.log(np.diag(root)).sum()
        listed.append(math.log(share) - size - 0.5 * np.einsum("ij,ij->j", apart, apart))
    return np.column_stack(listed)


def drawn(
    shares: Floats, means: Floats, covariances: Floats, count: int, generator: np.random.Generator
) -> tuple[Floats, Integers]:
    """So many points, and the component of each, from 0."""
    components: Integers = generator.choice(len(shares), size=count, p=shares)
    points = generator.normal(size=(count, means.shape[1]))
    for place, (mean, root) in enumerate(zip(means, np.linalg.cholesky(covariances), strict=True)):
        mine = components == place
        points[mine] = mean + points[mine] @ root.T
    return points, components
