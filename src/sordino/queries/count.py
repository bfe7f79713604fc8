"""How many records there are."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.privacy.price import Price
from sordino.queries.query import Query
from sordino.release import Interval, NoisyTotal, Release
from sordino.statistics.count import Count


class CountQuery(Query):
    """The number of records."""

    def statistics(self) -> tuple[Count]:
        """One count."""
        return (Count(),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """The noisy count as it is: unbiased, so it may be negative; its interval starts at zero."""
        (total,) = totals
        value = total.values[0]

        def interval(level: float) -> Interval:
            width = total.laws[0].half_width(level)
            return Interval(max(0, value - width), max(0, value + width), level)

        return Release(value, total.receipt, interval)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Far from zero, where the interval is whole."""
        return [[float(max(rows, 10**15))]]
