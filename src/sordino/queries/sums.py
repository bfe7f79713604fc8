"""The sum of one or several real columns."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.domain import Domain
from sordino.privacy.price import Price
from sordino.queries.query import Query, alone_or_list, named_columns
from sordino.release import Interval, NoisyTotal, Release
from sordino.statistics.amounts import Amounts


class SumQuery(Query):
    """Sums in the columns' own units; a missing cell adds nothing."""

    def __init__(self, domain: Domain, columns: str | Sequence[str]) -> None:
        super().__init__(domain)
        self._alone = isinstance(columns, str)
        self._amounts = Amounts.of(domain, named_columns(columns))

    def statistics(self) -> tuple[Amounts]:
        """One vector of sums."""
        return (self._amounts,)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """Each total times what its unit is worth."""
        (total,) = totals
        worth = self._amounts.largest_bounds
        values = [value * each for value, each in zip(total.in_units(), worth, strict=True)]

        def interval(level: float) -> Interval:
            widths = [width * each for width, each in zip(total.half_widths(level), worth, strict=True)]
            low = [value - width for value, width in zip(values, widths, strict=True)]
            high = [value + width for value, width in zip(values, widths, strict=True)]
            return Interval(alone_or_list(low, self._alone), alone_or_list(high, self._alone), level)

        return Release(alone_or_list(values, self._alone), total.receipt, interval, self._amounts.columns)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Zero: the noise of a sum does not depend on it."""
        return [[0.0] * self._amounts.size]
