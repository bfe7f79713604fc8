"""James and Stein's factor: all counts shrink towards zero by one factor, known from their size and the noise."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sordino.errors import ParameterError
from sordino.release import Law
from sordino.repair.noisy_counts import Floats, checked_counts, spread


def james_stein(counts: Any, law: Law, form: Literal["variance", "published"] = "variance") -> Floats:
    """Multiply by 1 - (p - 2) v / <x, x>, for p counts x and noise of variance v.

    ``form="variance"`` uses the variance of the law, never a factor below zero, and shrinks from three counts on.
    ``form="published"`` is that of Mothali (2011, section 7.2), who puts the squared *scale* of the Laplace noise
    where the variance, twice as large, belongs, and lets the factor change the sign.

    Best for vectors of any sign whose noise is larger than they are. On histograms it does next to nothing: their
    large cells make <x, x> so large that the factor is almost one.
    """
    values = checked_counts("james_stein", counts)
    if form not in ("variance", "published"):
        raise ParameterError(f"james_stein: form must be 'variance' or 'published'. Got {form!r}.")
    if law.variance == 0:
        return values.copy()
    size = values.shape[-1]
    square = np.sum(values * values, axis=-1, keepdims=True)
    dimensions, noise = (size - 2, spread(law) ** 2) if form == "published" else (max(size - 2, 0), law.variance)
    excess = np.zeros_like(square)
    np.divide(dimensions * noise, square, out=excess, where=square > 0)
    factor = 1 - excess if form == "published" else np.maximum(1 - excess, 0.0)
    return np.asarray(values * factor)
