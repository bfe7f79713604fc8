"""Wu, DG-EM: integer noise added to a real number. NOT PRIVATE at any ε and δ below one.

Discrete Gaussian noise lives on the integers. Added to a truncated mean, which is a real number, it leaves the
fractional part of the mean in the open: two neighbours with different fractional parts share no output.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


def soft_truncation(values: Floats) -> Floats:
    """Catoni's influence function: u - u^3/6 up to sqrt(2), constant beyond."""
    end = 2 * math.sqrt(2) / 3
    return np.where(np.abs(values) <= math.sqrt(2), values - values**3 / 6, np.sign(values) * end)


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
