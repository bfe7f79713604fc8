"""Counts are not negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from sordino.release import Law
from sordino.repair.noisy_counts import Floats, checked_counts


def clamp(counts: Any, law: Law | None = None) -> Floats:
    """Negative counts become zero: the maximum-likelihood estimate of counts under symmetric noise.

    Best for a table of large counts. Where many cells are empty it is biased upwards, by half the mean size of the
    noise in every empty cell. ``law`` is not used; it is there so that all estimators are called alike.

    >>> clamp([12.0, -3.0])
    array([12.,  0.])
    """
    return np.maximum(checked_counts("clamp", counts), 0.0)
