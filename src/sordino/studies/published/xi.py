"""Xi, Kantarcioglu and Inan (2011): what they release of a mixture, and their sensitivities beside the exact ones.

NOT PRIVATE at the stated ε where labels are private: class sizes go out as they are. The covariance itself gets
three times the noise that it needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sordino.repair.positive_definite import from_triangle, replaced_eigenvalues

Floats = np.ndarray[Any, np.dtype[np.float64]]


def printed_entry_sensitivity(rows: int) -> float:
    """Theorems 3.5 to 3.7, upper end: three times (1/n - 1/n²), for values in [0, 1]."""
    return 3 * (1 / rows - 1 / rows**2)


def exact_entry_sensitivity(rows: int) -> float:
    """(n - 1) / n², attained by every entry at once."""
    return (rows - 1) / rows**2


def released_class_sizes(labels: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """The sizes of two classes, behind the priors and the scales of the noise: taken to have sensitivity 0."""
    return np.array([np.sum(labels == label) for label in (0, 1)], dtype=float)


def noisy_gaussians(
    rows: Floats,
    labels: Floats,
    boxes: Floats,
    epsilon: float,
    generator: np.random.Generator,
    sensitivity: Callable[[int], float] = printed_entry_sensitivity,
    repair: Callable[[Floats, float], Floats] = lambda matrix, noise: replaced_eigenvalues(matrix),
) -> tuple[Floats, Floats, Floats]:
    """Their models: shares, means and covariances of two classes, with Laplace noise and their repair.

    ``boxes[c]`` are the two ends of the box of class c, mean ± 6 standard deviations, taken as public; rows are
    clipped to them and put on [0, 1]. Half of ε pays for the mean (sensitivity d / n), half for the covariance (that of
    an entry times d (d + 1) / 2). Class sizes and labels go out as they are. ``repair`` is told a noisy covariance of
    values in [0, 1] and the standard deviation of its noise.
    """
    counts = released_class_sizes(labels, epsilon, generator)
    means, covariances = [], []
    for label, box in enumerate(boxes):
        own, width = rows[labels == label], box[1] - box[0]
        count, dimension = len(own), rows.shape[1]
        placed = (np.clip(own, *box) - box[0]) / width
        mean = placed.mean(axis=0) + generator.laplace(0, 2 * dimension / (count * epsilon), dimension)
        entries = dimension * (dimension + 1) // 2
        scale = 2 * entries * sensitivity(count) / epsilon
        noise = from_triangle(generator.laplace(0, scale, entries))
        noisy = np.cov(placed.T, bias=True).reshape(dimension, dimension) + noise
        means.append(box[0] + width * mean)
        covariances.append(repair(noisy, math.sqrt(2) * scale) * width[:, None] * width)
    return counts / counts.sum(), np.array(means), np.array(covariances)


def printed_exponent_interval(
    means: tuple[float, float],
    variances: tuple[float, float],
    sizes: tuple[int, int],
    scales: tuple[float, float, float, float],
    p: float,
) -> tuple[float, float, float]:
    """Theorem 4.1 as printed: the ends of K, and the probability p^8 that is claimed for them.

    The product in the second term is of squares, where K has the product of two means; and quantiles at p/2 and 1 - p/2
    hold with probability 1 - p, not p.
    """
    from scipy.stats import chi2, norm

    tail = math.log(p)  # log(1 - 2 |(1 - p) / 2|)
    parts = list(zip(means, variances, sizes, scales[:2], scales[2:], strict=True))
    low = [m - math.sqrt(v / n) * norm.ppf(1 - p / 2) + s * tail for m, v, n, s, _ in parts]
    high = [m + math.sqrt(v / n) * norm.ppf(1 - p / 2) - s * tail for m, v, n, s, _ in parts]
    least = [v / n * chi2.ppf(p / 2, n - 1) + s * tail for _, v, n, _, s in parts]
    most = [v / n * chi2.ppf(1 - p / 2, n - 1) - s * tail for _, v, n, _, s in parts]
    upper = sum(each**2 for each in high) / (4 * sum(least)) - (low[0] * low[1]) ** 2 / (2 * sum(most))
    lower = sum(each**2 for each in low) / (4 * sum(most)) - (high[0] * high[1]) ** 2 / (2 * sum(least))
    upper += math.log(sum(most)) / 2 - math.log(4 * least[0] * least[1]) / 4
    lower += math.log(sum(least)) / 2 - math.log(4 * most[0] * most[1]) / 4
    return lower, upper, p**8
