"""Shrinkage of noisy means, variances and covariances, tied to the known variance of their noise.

All of it is post-processing of released numbers: a factor between 0 and 1 that says how much of the spread of what was
released is more than noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sordino.repair.positive_definite import Floats, rebuilt, symmetric


def towards(values: Any, target: Any, noise: Any, axis: int | None = None) -> tuple[Floats, Floats]:
    """Values pulled towards a target by the share of their scatter that is noise, and the factor that was kept.

    With s the mean squared distance from the target (over ``axis``, None: over all) and v the mean variance of the
    noise, the factor is max(0, 1 - v / s): James and Stein's, without the correction of small numbers.
    """
    numbers, goal = np.asarray(values, float), np.asarray(target, float)
    apart = numbers - goal
    scatter = np.mean(apart**2, axis=axis, keepdims=True)
    variance = np.mean(np.broadcast_to(np.asarray(noise, float), numbers.shape), axis=axis, keepdims=True)
    kept = np.zeros_like(scatter)
    np.divide(variance, scatter, out=kept, where=scatter > 0)
    kept = np.where(scatter > 0, np.maximum(0.0, 1 - kept), 0.0)
    return goal + kept * apart, kept


def off_diagonal(matrix: Any, noise: float) -> Floats:
    """A covariance whose entries off the diagonal are multiplied by max(0, 1 - noise / their mean square)."""
    values = symmetric(matrix)
    outside = ~np.eye(len(values), dtype=bool)
    if not outside.any():
        return values
    kept = towards(values[outside], 0.0, noise)[1]
    return np.where(outside, kept * values, values)


def spectral(matrix: Any, noise: float, floor: float = 0.0) -> Floats:
    """The eigenvalues moved together again, which symmetric noise of variance ``noise`` off the diagonal drives apart.

    Noise pushes eigenvalues apart: l_i moves by about noise · sum_j 1 / (l_i - l_j). That push is taken back twice over
    (once for the values, once for the eigenvectors that turned), with the poles smoothed at the width of the noise's
    own spectrum; the result is put in order again, and no eigenvalue stays below ``floor``.
    """
    values, vectors = np.linalg.eigh(symmetric(matrix))
    gaps = values[:, None] - values[None, :]
    push = gaps / (gaps**2 + noise * np.sqrt(len(values)) + 1e-300)
    return rebuilt(np.maximum(_rising(values - 2 * noise * push.sum(axis=1)), floor), vectors)


def spikes(excess: Any, edge: float) -> Floats:
    """How far single eigenvalues stand out of the rest, without what noise adds to that.

    Symmetric noise alone spreads eigenvalues up to ``edge``; one that stands out by t by itself is seen at
    t + edge² / (4 t), which is solved for t. Below the edge half of what is seen is kept.
    """
    seen = np.asarray(excess, float)
    found: Floats = (seen + np.copysign(np.sqrt(np.maximum(seen**2 - edge**2, 0.0)), seen)) / 2
    return found


def _rising(values: Floats) -> Floats:
    """The nearest rising sequence in least squares: neighbours that fall are pooled (Ayer et al. 1955)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        pools.append((float(value), 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (last, many), (before, others) = pools.pop(), pools.pop()
            pools.append(((last * many + before * others) / (many + others), many + others))
    return np.repeat([value for value, _ in pools], [many for _, many in pools])
