"""Posterior mean of counts under a prior made for counts: empty with some probability, else exponential.

Weight and rate of the prior are those that make the noisy counts most likely. All formulas are in units of the noise
scale; docstrings write w for the weight of the empty cells, a for the rate, x for a noisy count.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from sordino.release import DiscreteGaussian, Law
from sordino.repair.clamping import clamp
from sordino.repair.noisy_counts import Floats, checked_counts

#: Rates that are tried, per doubling; and the steepest prior, whose mean is a quarter of the noise scale.
_RATES_PER_DOUBLING, _STEEPEST = 4, 4.0

#: At rate 1 the closed form for Laplace noise has a removable singularity; a prior this far beside it is the same.
_BESIDE_ONE = 2**-7

_HALVINGS = 30


def spike_exponential(counts: Any, law: Law) -> Floats:
    """The mean of each count given its noisy value, under a spike at zero and an exponential tail.

    Exact for Laplace and for Gaussian noise (the discrete laws differ from the continuous ones by less than rounding a
    count does). Each vector along the last axis has a prior of its own.

    Best for readers of counts with many empty cells, next to ``npmle``, of which it is the smooth and quick cousin.
    """
    values = checked_counts("spike_exponential", counts)
    if law.variance == 0:
        return clamp(values)
    rows = values.reshape(-1, values.shape[-1]) / law.scale
    posterior = np.stack([_posterior_mean(row, isinstance(law, DiscreteGaussian)) for row in rows])
    return np.asarray(posterior.reshape(values.shape) * law.scale)


def _posterior_mean(x: Floats, gaussian: bool) -> Floats:
    tail = gaussian_tail if gaussian else laplace_tail
    spike = -x * x / 2 - math.log(2 * math.pi) / 2 if gaussian else -np.abs(x) - math.log(2)
    best, answer = -math.inf, np.zeros_like(x)
    for rate in _rates(x):
        log_tail, tail_mean = tail(x, rate)
        weight, likelihood = _best_weight(spike - log_tail)
        if likelihood + log_tail.sum() > best:
            best = likelihood + log_tail.sum()
            odds = np.exp(np.clip(spike - log_tail, -700, 700))
            answer = tail_mean * (1 - weight) / (weight * odds + 1 - weight)
    return answer


def _rates(x: Floats) -> Floats:
    """From a prior ten times as wide as the largest count to the steepest."""
    widest = 0.1 / max(float(x.max()), 1.0)
    doublings = math.log2(_STEEPEST / widest)
    rates = np.geomspace(widest, _STEEPEST, math.ceil(doublings * _RATES_PER_DOUBLING) + 1)
    return np.where(np.abs(rates - 1) < _BESIDE_ONE, 1 + _BESIDE_ONE, rates)


def _best_weight(log_odds: Floats) -> tuple[float, float]:
    """The weight of the spike with the largest likelihood, and that likelihood relative to the tail alone.

    The log-likelihood, sum of log(w r + 1 - w) with r = exp(log_odds), is concave in w: its slope is halved down.
    """
    ratio = np.expm1(np.clip(log_odds, -700, 700))
    low, high = 0.0, 1.0 - 2**-20
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope = np.sum(ratio / (1 + middle * ratio))
        low, high = (middle, high) if slope > 0 else (low, middle)
    weight = (low + high) / 2
    return weight, float(np.sum(np.log1p(weight * ratio)))


def laplace_tail(x: Floats, a: float) -> tuple[Floats, Floats]:
    """Log density of x, and mean of the count given x, when the count is exponential with rate a.

    Integrals of a/2 exp(-a t - |x - t|) over t >= 0, split at x. With d = |1 - a|, e = exp(-d x), and exp(-min(a, 1) x)
    taken out: below x (1 - e) / d, above x f / (1 + a), where f is 1 for a < 1 and e for a > 1.
    """
    size, d = np.maximum(x, 0.0), abs(1 - a)
    e = np.exp(-d * size)
    lost = -np.expm1(-d * size) / d
    above = (np.ones_like(e) if a < 1 else e) / (1 + a)
    moment_below = (size - lost) / d if a < 1 else (lost - size * e) / d
    density, moment = lost + above, moment_below + above * (size + 1 / (1 + a))
    beyond = np.where(x < 0, x, -min(a, 1.0) * size)  # below zero there is the upper part alone
    return math.log(a / 2) + beyond + np.log(density), moment / density


def gaussian_tail(x: Floats, a: float) -> tuple[Floats, Floats]:
    """The same for Gaussian noise: given x, the count is normal around x - a, cut off at zero."""
    centre = x - a
    above_zero = log_ndtr(centre)
    log_density = math.log(a) + a * a / 2 - a * x + above_zero
    mean = centre + np.exp(-centre * centre / 2 - math.log(2 * math.pi) / 2 - above_zero)
    return log_density, np.maximum(mean, 0.0)
