"""From a noisy triangle to a covariance: symmetric, and with eigenvalues that a covariance may have.

Three ways, all functions of released numbers. The *floor* is the nearest matrix, in Frobenius norm, whose eigenvalues
are at least the floor (Higham 1988, for a floor of 0); ``replaced_eigenvalues`` is the published one, which is not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sordino.errors import ParameterError

Floats = np.ndarray[Any, np.dtype[np.float64]]


def from_triangle(entries: Any) -> Floats:
    """The symmetric matrix of an upper triangle, row by row along the last axis.

    >>> from_triangle([1, 2, 3]).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    values = np.asarray(entries, dtype=np.float64)
    dimension = (math.isqrt(8 * values.shape[-1] + 1) - 1) // 2
    if dimension * (dimension + 1) // 2 != values.shape[-1] or dimension == 0:
        raise ParameterError(f"triangle: 1, 3, 6, 10 … entries make one. Got {values.shape[-1]}.")
    rows, columns = np.triu_indices(dimension)
    matrix = np.empty((*values.shape[:-1], dimension, dimension))
    matrix[..., rows, columns] = values
    matrix[..., columns, rows] = values
    return matrix


def symmetric(matrix: Any) -> Floats:
    """The nearest symmetric matrix: the mean of a square matrix and its transpose."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim < 2 or values.shape[-1] != values.shape[-2] or not np.isfinite(values).all():
        raise ParameterError(f"matrix: must be square and finite. Got shape {values.shape}.")
    mean: Floats = (values + np.swapaxes(values, -1, -2)) / 2
    return mean


def with_floor(matrix: Any, floor: float = 0.0) -> Floats:
    """The nearest symmetric matrix, in Frobenius norm, with no eigenvalue below ``floor``.

    Proof: ``docs/proofs/nearest-covariance.md``. Keeps the matrix when nothing is below.
    """
    values, vectors = np.linalg.eigh(symmetric(matrix))
    return rebuilt(np.maximum(values, floor), vectors)


def replaced_eigenvalues(matrix: Any, rounds: int = 100) -> Floats:
    """The repair that Xi, Kantarcioglu and Inan (2011) print.

    Symmetrise, put the smallest positive eigenvalue in place of those that are not positive, and again until none is
    left. It is not the nearest matrix, and a smallest positive eigenvalue near zero makes a precision without bound. A
    matrix without a positive eigenvalue, for which they say nothing, becomes the identity.
    """
    current = symmetric(matrix)
    for _ in range(rounds):
        values, vectors = np.linalg.eigh(current)
        if values[0] > 0:
            return current
        if values[-1] <= 0:
            return np.eye(len(values))
        current = symmetric(rebuilt(np.where(values > 0, values, values[values > 0].min()), vectors))
    return current


def rebuilt(values: Floats, vectors: Floats) -> Floats:
    """The matrix with these eigenvalues and eigenvectors."""
    product: Floats = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return symmetric(product)
