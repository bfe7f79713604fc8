"""Empirical Bayes with a Laplace prior for the counts, after Mothali (2011, chapter 7).

The prior's rate comes from the noisy counts themselves. What is wrong with the published form, and why it never beats
the noisy counts as they are: ``docs/proofs/boxed-estimator.md``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sordino.errors import ParameterError
from sordino.release import Law
from sordino.repair.noisy_counts import Floats, checked_counts, spread

#: The prior is at least a little wider than the noise, where the posterior mean has its removable singularity.
_NARROWEST = 1 + 2**-10


def empirical_bayes(counts: Any, law: Law, form: Literal["signed", "published"] = "signed") -> Floats:
    """The posterior mean of each count under a Laplace prior around zero.

    ``form="signed"`` is that mean, exactly, for Laplace noise: an odd function of the noisy count. The prior's scale is
    the mean size of the noisy counts (the paper's equation 7.11). Gaussian noise is treated as Laplace noise of the
    same variance.
    ``form="published"`` is the paper's boxed approximation (7.13): every count is lowered by 2 p s² / ‖x‖₁, for p
    counts and noise of scale s, whatever its sign. It is meant for counts that were clamped before, and is clamped
    after.

    Best for vectors of any sign. For counts, ``spike_exponential`` has the right prior.
    """
    values = checked_counts("empirical_bayes", counts)
    if form not in ("signed", "published"):
        raise ParameterError(f"empirical_bayes: form must be 'signed' or 'published'. Got {form!r}.")
    scale = spread(law)
    if scale == 0:
        return values.copy()
    mean_size = np.mean(np.abs(values), axis=-1, keepdims=True)
    if form == "published":
        shift = np.zeros_like(mean_size)
        np.divide(2 * scale * scale, mean_size, out=shift, where=mean_size > 0)
        return np.asarray(values - shift)
    return np.asarray(np.sign(values) * _posterior_mean(np.abs(values) / scale, mean_size / scale) * scale)


def _posterior_mean(size: Floats, width: Floats) -> Floats:
    """Posterior mean of a count observed at ``size``, for a prior of scale ``width``; both in units of the noise scale.

    Equation 7.8 for rate 1 of the noise and rate a = 1/width < 1 of the prior: with f = exp(-(1-a) x) and
    h = (1 - f) / (1-a), it is (x - 2 a h / (1+a)) / (1 - a f). Nothing overflows.
    """
    rate = 1 / np.maximum(width, _NARROWEST)
    shrunk = -np.expm1(-(1 - rate) * size)
    h = shrunk / (1 - rate)
    return np.asarray((size - 2 * rate * h / (1 + rate)) / (1 - rate * (1 - shrunk)))
