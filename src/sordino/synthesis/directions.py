"""Directions of a small space: random ones from a public seed, and ones learned from noisy totals.

Everything here is public randomness or post-processing of releases. The projection of the paper (its Algorithm 2)
comes from the QR factorisation of uniform entries, and its first column leans towards the all-ones vector; Gaussian
entries with the signs of R fixed prefer no direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sordino.models.random_directions import random_directions

Floats = np.ndarray[Any, np.dtype[np.float64]]


def completed(found: Floats, count: int, seed: int) -> Floats:
    """The found directions first, made orthonormal, then random ones; at most as many as asked."""
    width = found.shape[0]
    entries = np.hstack([found, random_directions(width, count, seed)])
    turned, triangle = np.linalg.qr(entries)
    directions: Floats = (turned * np.where(np.diag(triangle) < 0, -1.0, 1.0))[:, :count]
    return directions


def between_classes(counts: Floats, sums: Floats) -> Floats:
    """The directions in which noisy class means differ: at most one fewer than classes, the widest first.

    A class weighs as much as it has records, so that the noise is the same in all of them.
    """
    apart = sums - np.outer(counts, sums.sum(axis=0) / counts.sum())
    directions: Floats = np.linalg.svd(apart, full_matrices=False)[2][: len(counts) - 1].T
    return directions


def above_noise(second_moment: Floats, mean: Floats, count: float, scale: float) -> Floats:
    """The leading directions of a noisy covariance whose variance stands out of the noise, the widest first.

    A symmetric matrix of noise alone, with entries of standard deviation ``scale`` off its diagonal, has no eigenvalue
    above 2 scale sqrt(width), up to a few per cent (Wigner's edge).
    """
    values, vectors = np.linalg.eigh(second_moment - count * np.outer(mean, mean))
    kept = values > 2 * scale * np.sqrt(len(mean))
    directions: Floats = vectors[:, kept][:, ::-1]
    return directions
