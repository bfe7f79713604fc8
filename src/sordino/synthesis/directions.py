"""Directions of a small space: random ones from a public seed, and ones learned from noisy totals.

Everything here is public randomness or post-processing of releases. The projection of the paper (its Algorithm 2)
comes from the QR factorisation of uniform entries, and its first column leans towards the all-ones vector; Gaussian
entries with the signs of R fixed prefer no direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


def random_directions(width: int, count: int, seed: int) -> Floats:
    """Orthonormal columns, uniform over all of them (Haar); the same bits for the same public seed."""
    entries = np.random.default_rng(seed).normal(size=(width, count))
    turned, triangle = np.linalg.qr(entries)
    directions: Floats = turned * np.sign(np.diag(triangle))
    return directions


def completed(found: Floats, count: int, seed: int) -> Floats:
    """The found directions first, made orthonormal, then random ones; at most as many as asked."""
    width = found.shape[0]
    entries = np.hstack([found, random_directions(width, count, seed)])
    turned, triangle = np.linalg.qr(entries)
    directions: Floats = (turned * np.where(np.diag(triangle) < 0, -1.0, 1.0))[:, :count]
    return directions


def between_classes(counts: Floats, sums: Floats) -> Floats:
    """The directions in which noisy class means differ: at most one fewer than classes, the widest first."""
    means = sums / counts[:, None]
    weights = counts / counts.sum()
    apart = np.sqrt(weights)[:, None] * (means - weights @ means)
    directions: Floats = np.linalg.svd(apart, full_matrices=False)[2][: len(counts) - 1].T
    return directions


def above_noise(second_moment: Floats, mean: Floats, count: float, scale: float, width: int) -> Floats:
    """Leading directions of a noisy covariance that stand out of the noise; of a target beside them, the slope first.

    The first ``width`` coordinates are the columns. A symmetric matrix of noise alone, with entries of standard
    deviation ``scale`` off its diagonal, has no eigenvalue above 2 scale sqrt(width), up to a few per cent (Wigner's
    edge).
    """
    covariance = second_moment - count * np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance[:width, :width])
    kept = values > 2 * scale * np.sqrt(width)
    slopes = covariance[:width, width:]
    directions: Floats = np.hstack([slopes[:, np.linalg.norm(slopes, axis=0) > 0], vectors[:, kept][:, ::-1]])
    return directions
