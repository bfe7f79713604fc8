"""The nearest vector of non-negative numbers with a given sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from sordino.errors import ParameterError
from sordino.repair.noisy_counts import Floats, checked_counts


def on_simplex(counts: Any, total: Any) -> Floats:
    """The point of {y >= 0, sum y = total} nearest to the counts, along the last axis.

    All counts are lowered by one number and clamped, so that the sum is right; the number is found by sorting (Held,
    Wolfe and Crowder 1974). ``total`` has the axes of the counts but the last.

    >>> on_simplex([5.0, 1.0, -3.0], 4.0)
    array([4., 0., 0.])
    """
    values = checked_counts("on_simplex", counts)
    totals = np.asarray(total, dtype=np.float64)[..., np.newaxis]
    if not np.isfinite(totals).all() or (totals < 0).any():
        raise ParameterError("on_simplex: a total must be finite and not negative.")
    falling = -np.sort(-values, axis=-1)
    excess = np.cumsum(falling, axis=-1) - totals
    levels = excess / np.arange(1, values.shape[-1] + 1)
    kept = np.maximum(np.sum(falling > levels, axis=-1, keepdims=True), 1)  # one at least: a total of zero keeps none
    lowered_by = np.take_along_axis(levels, kept - 1, axis=-1)
    return np.maximum(values - lowered_by, 0.0)
