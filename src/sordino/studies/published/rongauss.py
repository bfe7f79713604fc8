"""RON-Gauss (Chanyaswad, Liu and Mittal 2019): its five algorithms as printed. NOT PRIVATE at the stated ε.

The sensitivities as printed and as coded stand beside the true ones. Two things are not as printed, for without them
nothing runs: the noisy covariance is made symmetric and its negative eigenvalues zero, and all classes share one
projection, for a test row whose class is unknown cannot be projected otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


def printed_sensitivity(dimension: int) -> float:
    """Lemma 4: 2 sqrt(p) for the summed outer products of unit vectors, in L1 over the whole matrix."""
    return 2 * math.sqrt(dimension)


def true_sensitivity(dimension: int) -> float:
    """sqrt(2 p^2 - [p odd]): the largest spread of a symmetric sign matrix."""
    return math.sqrt(2 * dimension**2 - dimension % 2)


def worst_pair(dimension: int) -> tuple[Floats, Floats]:
    """Two unit vectors, the outermost eigenvectors of a two-block sign matrix, that attain the true one."""
    signs = np.ones((dimension, dimension))
    half = (dimension + 1) // 2
    signs[half:, half:] = -1
    vectors = np.linalg.eigh(signs)[1]
    return vectors[:, -1], vectors[:, 0]


def coded_mean(rows: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """The noisy mean of unit rows with the scale of the authors' code: sqrt(m) / (n ε), half of the paper's Lemma 2."""
    count, width = rows.shape
    noisy: Floats = rows.mean(axis=0) + generator.laplace(0, math.sqrt(width) / (count * epsilon), size=width)
    return noisy


#: From real rows to the space that synthetic rows are in.
Placement = Callable[[Floats], Floats]

#: What the paper spends on means, and on covariances.
MEAN_SHARE, COVARIANCE_SHARE = 0.3, 0.7


@dataclass(frozen=True)
class Synthetic:
    """Synthetic rows, a target beside them where there is one, and the way of real rows into the same space."""

    rows: Floats
    target: Floats | None
    place: Placement


def unit_rows(rows: Floats) -> Floats:
    """Each row divided by its length; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled


def printed_mean(rows: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """Algorithm 1, step 2: the mean of unit rows with Laplace noise of scale 2 sqrt(m) / (n ε)."""
    count, width = rows.shape
    noisy: Floats = rows.mean(axis=0) + generator.laplace(0, 2 * math.sqrt(width) / (count * epsilon), size=width)
    return noisy


def printed_projection(width: int, components: int, generator: np.random.Generator) -> Floats:
    """Algorithm 2: the first columns of the Q of uniform entries."""
    turned: Floats = np.linalg.qr(generator.uniform(size=(width, width)))[0][:, :components]
    return turned


def printed_covariance(rows: Floats, sensitivity: float, epsilon: float, generator: np.random.Generator) -> Floats:
    """The mean outer product, with noise in every entry; then symmetric, and without negative eigenvalues."""
    count, width = rows.shape
    noisy = rows.T @ rows / count + generator.laplace(0, sensitivity / (count * epsilon), size=(width, width))
    values, vectors = np.linalg.eigh((noisy + noisy.T) / 2)
    repaired: Floats = (vectors * np.maximum(values, 0)) @ vectors.T
    return repaired


def printed_rows(
    rows: Floats, components: int, epsilon: float, count: int, generator: np.random.Generator
) -> Synthetic:
    """Algorithm 3: no target."""
    mean, projection, placed = _prepared(rows, components, epsilon, generator)
    covariance = printed_covariance(placed, printed_sensitivity(components), COVARIANCE_SHARE * epsilon, generator)
    return Synthetic(_normal(np.zeros(components), covariance, count, generator), None, _placement(mean, projection))


def printed_with_number(
    rows: Floats, target: Floats, components: int, epsilon: float, count: int, generator: np.random.Generator
) -> Synthetic:
    """Algorithm 4: a target in [-1, 1] is one more coordinate; its mean is taken to be zero."""
    mean, projection, placed = _prepared(rows, components, epsilon, generator)
    sensitivity = printed_sensitivity(components) + 4 * math.sqrt(components) + 1
    covariance = printed_covariance(
        np.column_stack([placed, target]), sensitivity, COVARIANCE_SHARE * epsilon, generator
    )
    drawn = _normal(np.zeros(components + 1), covariance, count, generator)
    return Synthetic(drawn[:, :-1], drawn[:, -1], _placement(mean, projection))


def printed_with_classes(
    rows: Floats, labels: Floats, components: int, epsilon: float, count: int, generator: np.random.Generator
) -> Synthetic:
    """Algorithm 5: every class on its own, its size public. Test rows are projected without a centre."""
    projection = printed_projection(rows.shape[1], components, generator)
    units, points, drawn = unit_rows(rows), [], []
    for label in np.unique(labels):
        mine = units[labels == label]
        mean = printed_mean(mine, MEAN_SHARE * epsilon, generator)
        placed = unit_rows(mine - mean) @ projection
        covariance = printed_covariance(placed, printed_sensitivity(components), COVARIANCE_SHARE * epsilon, generator)
        size = max(1, round(count * len(mine) / len(rows)))
        points.append(_normal(mean @ projection, covariance, size, generator))
        drawn.append(np.full(size, label))
    return Synthetic(np.vstack(points), np.concatenate(drawn), lambda real: unit_rows(real) @ projection)


def _prepared(
    rows: Floats, components: int, epsilon: float, generator: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Algorithms 1 and 2: normalise, subtract a noisy mean, normalise again, project."""
    units = unit_rows(rows)
    mean = printed_mean(units, MEAN_SHARE * epsilon, generator)
    projection = printed_projection(rows.shape[1], components, generator)
    return mean, projection, unit_rows(units - mean) @ projection


def _placement(mean: Floats, projection: Floats) -> Placement:
    return lambda real: unit_rows(unit_rows(real) - mean) @ projection


def _normal(mean: Floats, covariance: Floats, count: int, generator: np.random.Generator) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn: Floats = mean + generator.normal(size=(count, len(mean))) @ root.T
    return drawn
