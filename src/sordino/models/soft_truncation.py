"""Catoni's soft truncation, smoothed by Gaussian multiplicative noise: in closed form, and as a public table.

ψ(u) = u - u³/6 up to sqrt(2) in size, and sign(u) 2 sqrt(2) / 3 beyond. With a = x / s and Z normal,
E ψ(a + a Z / sqrt(β)) has the closed form of Catoni and Giulini (2017), restored here where the print of Wu's paper
lost it. Wu takes Z discrete, for which the form does not hold; it is integrated out and protects nobody.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from sordino.errors import ParameterError
from sordino.statistics.gradients import SOFT_PLACES, Soft

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The largest value of ψ.
LIMIT = 2 * math.sqrt(2) / 3

#: Beyond this the closed form is a small difference of large numbers, and its value no longer moves.
LARGEST = 30.0


def soft_truncation(values: Any) -> Floats:
    """ψ itself.

    >>> soft_truncation([0.0, 100.0]).round(4).tolist()
    [0.0, 0.9428]
    """
    numbers = np.clip(np.asarray(values, dtype=np.float64), -math.sqrt(2), math.sqrt(2))
    truncated: Floats = numbers - numbers**3 / 6
    return truncated


def smoothed_truncation(values: Any, beta: float) -> Floats:
    """E ψ(a + a Z / sqrt(β)) for each a, within 2 sqrt(2) / 3; a beyond 30 in size counts as 30.

    a (1 - b²/2) - a³/6 + C(a, b) with b = |a| / sqrt(β), V∓ = (sqrt(2) ∓ a) / b, F∓ = Φ(-V∓), E∓ = exp(-V∓²/2), and
    C the sum of five terms that give back what lies beyond ±sqrt(2).
    """
    if not 0 < beta < math.inf:
        raise ParameterError(f"soft truncation: beta must be a positive number. Got {beta}.")
    a = np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)
    b = np.maximum(np.abs(a) / math.sqrt(beta), 1e-12)
    below, above = (math.sqrt(2) - a) / b, (math.sqrt(2) + a) / b
    tail_below, tail_above = ndtr(-below), ndtr(-above)
    bell_below, bell_above = np.exp(-(below**2) / 2), np.exp(-(above**2) / 2)
    root = math.sqrt(2 * math.pi)
    correction = (
        LIMIT * (tail_below - tail_above)
        - (a - a**3 / 6) * (tail_below + tail_above)
        + b / root * (1 - a**2 / 2) * (bell_above - bell_below)
        + a * b**2 / 2 * (tail_above + tail_below + (above * bell_above + below * bell_below) / root)
        + b**3 / (6 * root) * ((2 + below**2) * bell_below - (2 + above**2) * bell_above)
    )
    smoothed: Floats = np.clip(a * (1 - b**2 / 2) - a**3 / 6 + correction, -LIMIT, LIMIT)
    return smoothed


def soft_table(scale: float, beta: float) -> Soft:
    """The smoothed truncation as the public table that a record is looked up in."""
    places = np.arange(int(LARGEST) * SOFT_PLACES + 1) / SOFT_PLACES
    return Soft(scale, tuple(smoothed_truncation(places, beta).tolist()))
