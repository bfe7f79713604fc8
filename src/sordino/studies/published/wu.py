"""Wu, DG-EM: integer noise added to a real number. NOT PRIVATE at any ε and δ below one.

Discrete Gaussian noise lives on the integers. Added to a truncated mean, which is a real number, it leaves the
fractional part of the mean in the open: two neighbours with different fractional parts share no output. Besides, its
width is that of one coordinate in one round, so small for large n that the noise is zero nearly always.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sordino.cost import Cost
from sordino.models.soft_truncation import LIMIT, smoothed_truncation, soft_truncation

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The paper's γ is not given; with this one β is about 6.
GAMMA = 0.05

#: β = 2 log(1/γ).
BETA = 2 * math.log(1 / GAMMA)


def truncated_mean(values: Floats, scale: float) -> float:
    """s/n times the sum of the softly truncated values."""
    return float(scale * soft_truncation(np.asarray(values) / scale).mean())


def printed_release(
    values: Floats, epsilon: float, generator: np.random.Generator, scale: float = 3.0, sigma: float = 5.0
) -> float:
    """The truncated mean plus integer noise, as printed, of a width for ε = 1 (the fraction does not depend on it).

    A rounded normal stands in for the discrete Gaussian.
    """
    return truncated_mean(values, scale) + float(np.rint(generator.normal(0, sigma / epsilon)))


def printed_scale(rows: int, second_moment: float) -> float:
    """s = sqrt(n τ / β), for a bound τ on the second moment of a coordinate."""
    return math.sqrt(rows * second_moment / BETA)


def printed_sigma(rows: int, second_moment: float, epsilon: float, delta: float) -> float:
    """The width of the noise for one coordinate of one round: Δ / sqrt(2 ρ) with Δ = 4 sqrt(2) s / (3 n)."""
    sensitivity = 2 * LIMIT * printed_scale(rows, second_moment) / rows
    return sensitivity / math.sqrt(2 * float(Cost.of(epsilon, delta).rho))


def chance_of_no_noise(sigma: float) -> float:
    """The probability that a discrete Gaussian of this width is zero."""
    return float(_masses(sigma).max())


def printed_dg_em(
    rows: Floats,
    start: Floats,
    second_moment: float,
    epsilon: float,
    delta: float,
    rounds: int,
    generator: np.random.Generator,
) -> Floats:
    """The parameters after each round, the start first: softly truncated gradients plus integer noise."""
    scale = printed_scale(len(rows), second_moment)
    masses = _masses(printed_sigma(len(rows), second_moment, epsilon, delta))
    numbers = np.arange(len(masses)) - len(masses) // 2
    path = [start]
    for _ in range(rounds):
        gradients = _gradients(rows, path[-1])
        mean = scale * smoothed_truncation(gradients / scale, BETA).mean(axis=0)
        path.append(path[-1] + mean + generator.choice(numbers, size=len(start), p=masses))
    return np.array(path)


def plain_em(rows: Floats, start: Floats, rounds: int) -> Floats:
    """Gradient EM without privacy: the parameters after each round, the start first."""
    path = [start]
    for _ in range(rounds):
        path.append(path[-1] + _gradients(rows, path[-1]).mean(axis=0))
    return np.array(path)


def _gradients(rows: Floats, parameters: Floats) -> Floats:
    """Of the symmetric mixture with σ = 1."""
    gradients: Floats = np.tanh(rows @ parameters)[:, None] * rows - parameters
    return gradients


def _masses(sigma: float) -> Floats:
    """The discrete Gaussian on -k .. k, far into its tails."""
    numbers = np.arange(-math.ceil(12 * sigma) - 1, math.ceil(12 * sigma) + 2)
    masses = np.exp(-(numbers**2) / (2 * sigma**2))
    shares: Floats = masses / masses.sum()
    return shares
