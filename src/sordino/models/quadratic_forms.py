"""Gaussians read from the weights of a margin classifier: matrices Φ, centroids, inverse covariances and offsets.

With u = (x - middle) / width in each coordinate, the score of an output is -(u, 1)' Φ (u, 1) up to a factor that is
common to all outputs; with Φ = [[P, -Pm], [-m'P, m'Pm + t]] that form is (u - m)' P (u - m) + t. Adding the same
multiple of the identity to every Φ changes no decision, since every record's direction has length one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino.models.estimator import Floats
from sordino.repair.positive_definite import from_triangle

#: The smallest eigenvalue of a matrix, beside the largest size of any: so that each can be inverted.
_SMALLEST_EIGENVALUE = 1e-3


@dataclass(frozen=True)
class QuadraticForms:
    """Per class and component, in the columns' own units."""

    matrices: Floats
    centroids: Floats
    inverse_covariances: Floats
    offsets: Floats


def gaussians_of(weights: Floats, classes: int, quadratic: bool, middles: Floats, widths: Floats) -> QuadraticForms:
    """The reading of weights on directions, or on their products."""
    size = len(middles) + 1
    matrices = -_symmetric(weights, size) if quadratic else -_tied(weights, size)
    lowest = np.linalg.eigvalsh(matrices)[:, 0].min()
    floor = _SMALLEST_EIGENVALUE * max(float(np.abs(matrices).max()), 1e-9)
    matrices = matrices + max(0.0, floor - float(lowest)) * np.eye(size)
    inner, outer, corner = matrices[:, :-1, :-1], matrices[:, :-1, -1], matrices[:, -1, -1]
    means = -np.linalg.solve(inner, outer[:, :, None])[:, :, 0]
    offsets = corner - np.einsum("ki,kij,kj->k", means, inner, means)
    shape = (classes, len(weights) // classes)
    return QuadraticForms(
        matrices.reshape(*shape, size, size),
        (middles + widths * means).reshape(*shape, -1),
        (inner / np.outer(widths, widths)).reshape(*shape, size - 1, size - 1),
        offsets.reshape(shape),
    )


def _symmetric(weights: Floats, size: int) -> Floats:
    """Matrices S with (u, 1)' S (u, 1) = <weights, products>."""
    rows, columns = np.triu_indices(size)
    return from_triangle(weights / np.where(rows == columns, 1.0, np.sqrt(2)))


def _tied(weights: Floats, size: int) -> Floats:
    """Matrices S with (u, 1)' S (u, 1) = <weights, (u, 1)>: all have the same inner part, none."""
    matrices = np.zeros((len(weights), size, size))
    matrices[:, :, -1] += weights / 2
    matrices[:, -1, :] += weights / 2
    return matrices
