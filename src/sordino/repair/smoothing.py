"""Pseudo-counts for classifiers: a probability that rests on noise is drawn towards an even one."""

from __future__ import annotations

import math
from typing import Any

from sordino.errors import ParameterError
from sordino.release import Law
from sordino.repair.clamping import clamp
from sordino.repair.noisy_counts import Floats, checked_counts


def smoothed(counts: Any, law: Law, strength: float = 0.5) -> Floats:
    """Clamp, then add one and ``strength`` times the standard deviation of the noise to every cell.

    Normalised, this is the mean of a Dirichlet posterior: one pseudo-count is Laplace's rule for the rows that were
    not drawn, the rest is for the noise. Without noise it is Laplace's rule alone.

    Best for classifiers by likelihood, which multiply probabilities: a clamped zero rules a class out, and a cell that
    is large by noise decides for it. It is biased for whoever reads the counts themselves.
    """
    if not strength >= 0:
        raise ParameterError(f"smoothed: strength must not be negative. Got {strength}.")
    return clamp(checked_counts("smoothed", counts)) + (1.0 + strength * math.sqrt(law.variance))
