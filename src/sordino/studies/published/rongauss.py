"""RON-Gauss: the sensitivities as printed and as coded, beside the true ones. NOT PRIVATE at the stated ε."""

from __future__ import annotations

import math
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
