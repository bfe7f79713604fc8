"""What every repair of counts begins with: numbers along the last axis, and the spread of their noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sordino.errors import ParameterError
from sordino.release import Law

Floats = np.ndarray[Any, np.dtype[np.float64]]


def checked_counts(who: str, counts: Any) -> Floats:
    """Noisy counts as floats. The last axis is one vector of counts; axes before it are repetitions."""
    values = np.asarray(counts, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] == 0 or not np.isfinite(values).all():
        raise ParameterError(f"{who}: needs one or more finite counts along the last axis. Got shape {values.shape}.")
    return values


def spread(law: Law) -> float:
    """The scale of the Laplace noise that has the variance of this law: its own scale, when it is Laplace.

    One number by which rules for Laplace noise carry over to Gaussian noise.
    """
    return math.sqrt(law.variance / 2)
