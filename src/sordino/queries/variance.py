"""The variance of a real column (divisor n), asked in either of two ways."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sordino.domain import Domain
from sordino.privacy.price import Price
from sordino.queries.mean import chosen_method, direct_caveats
from sordino.queries.query import Query, joint_level
from sordino.release import Interval, NoisyTotal, Release
from sordino.statistics.direct import DirectCovariance
from sordino.statistics.unit_split import UnitSplit


def variance_query(domain: Domain, column: str, method: str = "auto") -> Query:
    """The query for a variance by the chosen method."""
    by_method = {"direct": DirectVariance, "sum-and-size": SplitVariance}
    return by_method[chosen_method("variance", method, domain)](domain, column)


class SplitVariance(Query):
    """Size, sum and sum of squares from one split unit: low part A, middle part B, high part C.

    In squared intervals the variance is (A C - B^2 / 4) / (A + B + C)^2.
    """

    needs_rows = True
    imagined = "values spread evenly over their bounds"

    def __init__(self, domain: Domain, column: str) -> None:
        super().__init__(domain)
        self._column = column
        self._area = (2 * domain.real(column).half_width) ** 2

    def statistics(self) -> tuple[UnitSplit]:
        """The three parts."""
        return (UnitSplit((self._column,), degree=2),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """The formula on parts that are not negative; at most a quarter of the squared interval."""
        (total,) = totals
        parts = total.in_units()
        value = self._area * _variance(*(max(0.0, part) for part in parts))

        def interval(level: float) -> Interval:
            widths = total.half_widths(joint_level(level, 3))
            ranges = [
                (max(0.0, part - width), max(0.0, part + width)) for part, width in zip(parts, widths, strict=True)
            ]
            low, high = _variance_range(*ranges)
            rounding = 2 / total.unit**0.5  # two grid steps: more than the grid may move a variance
            return Interval(self._area * max(0.0, low - rounding), self._area * min(0.25, high + rounding), level)

        return Release(value, total.receipt, interval, (self._column,))

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Records spread evenly over the interval."""
        return [[rows / 3] * 3]


class DirectVariance(Query):
    """The variance as one number whose sensitivity is known because n is public."""

    def __init__(self, domain: Domain, column: str) -> None:
        super().__init__(domain)
        self._column = column
        self._declared = domain.real(column)

    def statistics(self) -> tuple[DirectCovariance]:
        """The one-by-one covariance."""
        return (DirectCovariance((self._column,), self.domain.rows or 1),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """Never below zero."""
        (total,) = totals
        area = self._declared.half_width**2
        noisy = area * total.in_units()[0]

        def interval(level: float) -> Interval:
            width = area * (total.half_widths(level)[0] + 4 * direct_rounding(total, self.domain))
            return Interval(max(0.0, noisy - width), max(0.0, noisy + width), level)

        receipt = total.receipt.with_caveat(*direct_caveats(self.domain, (self._column,)))
        return Release(max(0.0, noisy), receipt, interval, (self._column,))

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Far from zero, where the interval is whole."""
        return [[1e6]]


def direct_rounding(total: NoisyTotal, domain: Domain) -> float:
    """How far the grid of a direct covariance may move it, in squared half-intervals: one grid step."""
    steps = (total.unit / (domain.rows or 1) ** 2) ** 0.5
    return float(1 / steps)


def _variance(low: float, middle: float, high: float) -> float:
    size = low + middle + high
    return min(0.25, max(0.0, (low * high - middle * middle / 4) / size**2)) if size > 0 else 0.0


def _variance_range(low: Range, middle: Range, high: Range) -> tuple[float, float]:
    """Smallest and largest variance over a box of parts.

    It falls in B. In A, with the others fixed, it rises up to A = B + C + B^2 / (2 C) and falls beyond; the same
    in C. So corners give the smallest value, and corners with those turning points the largest.
    """
    lows, highs = list(low), list(high)
    smallest = min(_variance(a, middle[1], c) for a, c in itertools.product(lows, highs))
    b = middle[0]
    lows += [_turning_point(b, c, low) for c in high]
    highs += [_turning_point(b, a, high) for a in low]
    largest = max(_variance(a, b, c) for a, c in itertools.product(lows, highs))
    return (0.0, 0.25) if low[0] + middle[0] + high[0] <= 0 else (smallest, largest)


def _turning_point(middle: float, other: float, within: Range) -> float:
    if other <= 0:
        return within[1]
    return min(within[1], max(within[0], middle + other + middle * middle / (2 * other)))


Range = tuple[float, float]
