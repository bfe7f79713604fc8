"""Intervals for a share of two noisy totals: the part at the high end among both ends.

With exact ends A (low) and B (high), the share m = B / (A + B) solves (1-m) B - m A = 0. The same expression in
the noisy totals is noise alone, and its law is known for every m. The interval holds every m for which the
expression is within the quantile of that law (Fieller's method with the exact scale), so it needs no
approximation and no bound on the size. See ``docs/proofs/intervals.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from sordino.release import DiscreteGaussian, DiscreteLaplace, Law

Floats = np.ndarray[Any, np.dtype[np.float64]]

_POINTS = 4001
_SHARES = np.linspace(0, 1, _POINTS)


def share_interval(low_end: float, high_end: float, law: Law, unit: int, level: float) -> tuple[float, float]:
    """Ends of an interval for the share, from noisy ends in units whose noise follows ``law`` in grid steps."""

    def held(share: float) -> bool:
        reach = law.scale / unit * _quantile(type(law), level, share) + 1 / unit
        return abs((1 - share) * high_end - share * low_end) <= reach

    reach = law.scale / unit * _quantiles(type(law), level) + 1 / unit
    places = np.flatnonzero(np.abs((1 - _SHARES) * high_end - _SHARES * low_end) <= reach)
    both = low_end + high_end
    noisy = min(1.0, max(0.0, high_end / both)) if both > 0 else 0.5
    first, last = (min(noisy, _SHARES[places[0]]), max(noisy, _SHARES[places[-1]])) if len(places) else (noisy, noisy)
    return _edge(held, first, -1), _edge(held, last, 1)


def _edge(held: Callable[[float], bool], start: float, direction: int) -> float:
    """Bisect between a share that is held and the next point of the search grid, which is not."""
    step = 1 / (_POINTS - 1)
    inside, outside = float(start), float(min(1.0, max(0.0, start + direction * step)))
    for _ in range(40):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if held(middle) else (inside, middle)
    return outside


@lru_cache(maxsize=64)
def _quantiles(law: type, level: float) -> Floats:
    """The quantile for every share of the search grid, for scale one."""
    if law is DiscreteGaussian:
        gaussian: Floats = -NormalDist().inv_cdf((1 - level) / 2) * np.hypot(_SHARES, 1 - _SHARES)
        return gaussian
    if law is not DiscreteLaplace:
        return np.zeros(_POINTS)
    low, high = np.zeros(_POINTS), np.full(_POINTS, 4 * math.log(4 / (1 - level)))
    for _ in range(60):
        middle = (low + high) / 2
        beyond = _two_laplace_tail(middle, _SHARES) > 1 - level
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return high


def _quantile(law: type, level: float, share: float) -> float:
    """The quantile at any share, between the points of the search grid; rounded up by convexity's neighbour."""
    place = share * (_POINTS - 1)
    table = _quantiles(law, level)
    left = min(int(place), _POINTS - 2)
    return float(max(table[left], table[left + 1]))


def _two_laplace_tail(distance: Floats, shares: Floats) -> Floats:
    """Pr(|(1-m) X - m Y| > t) for independent Laplace X, Y of scale one."""
    first, second = np.maximum(1 - shares, shares), np.minimum(1 - shares, shares)
    gap = first**2 - second**2
    equal = gap < 1e-6
    safe_second = np.maximum(second, 1e-12)
    general = (first**2 * np.exp(-distance / first) - second**2 * np.exp(-distance / safe_second)) / np.where(
        equal, 1, gap
    )
    alike = (1 + distance / (2 * first)) * np.exp(-distance / first)
    tail: Floats = np.where(equal, alike, general)
    return tail
