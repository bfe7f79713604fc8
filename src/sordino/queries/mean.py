"""The mean of one or several real columns, asked in either of two ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.privacy.price import Price
from sordino.queries.query import Query, alone_or_list, named_columns
from sordino.queries.ratio import share_interval
from sordino.release import Interval, NoisyTotal, Release
from sordino.statistics.sums import Sum
from sordino.statistics.unit_split import UnitSplit
from sordino.statistics.vectors import Box

Method = Literal["auto", "direct", "sum-and-size"]


def chosen_method(who: str, method: str, domain: Domain) -> str:
    """``direct`` needs a public number of rows; ``auto`` takes it whenever there is one."""
    known = domain.neighbours == "substitute" and domain.rows is not None
    if method == "auto":
        return "direct" if known else "sum-and-size"
    if method not in ("direct", "sum-and-size"):
        raise ParameterError(f"{who}: method must be 'auto', 'direct' or 'sum-and-size'. Got {method!r}.")
    if method == "direct" and not known:
        raise ParameterError(
            f"{who}: method='direct' needs a public number of rows. "
            "Declare Domain(…, neighbours='substitute', rows=NUMBER)."
        )
    return method


def mean_query(domain: Domain, columns: str | Sequence[str], method: str = "auto") -> Query:
    """The query for a mean by the chosen method."""
    by_method = {"direct": DirectMean, "sum-and-size": RatioMean}
    return by_method[chosen_method("mean", method, domain)](domain, columns)


class RatioMean(Query):
    """Each record splits one unit between the ends of the interval; the mean is where the total divides it."""

    needs_rows = True
    imagined = "every value in the middle of its bounds"

    def __init__(self, domain: Domain, columns: str | Sequence[str]) -> None:
        super().__init__(domain)
        self._alone = isinstance(columns, str)
        self._columns = named_columns(columns)
        for name in self._columns:
            domain.real(name)

    def statistics(self) -> tuple[UnitSplit]:
        """Both ends of every column."""
        return (UnitSplit(self._columns),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """Low end plus the noisy share of the interval."""
        (total,) = totals
        ends = total.in_units()
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        values = [self._place(name, _share(*pair)) for name, pair in zip(self._columns, pairs, strict=True)]

        def interval(level: float) -> Interval:
            shares = [share_interval(*pair, total.laws[0], total.unit, level) for pair in pairs]
            rounding = 1 / total.unit  # at least half a grid step: how far the grid may move a mean
            low = [
                self._place(name, max(0.0, each[0] - rounding))
                for name, each in zip(self._columns, shares, strict=True)
            ]
            high = [
                self._place(name, min(1.0, each[1] + rounding))
                for name, each in zip(self._columns, shares, strict=True)
            ]
            return Interval(alone_or_list(low, self._alone), alone_or_list(high, self._alone), level)

        return Release(alone_or_list(values, self._alone), total.receipt, interval, self._columns)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Every record in the middle."""
        return [[rows / 2] * (2 * len(self._columns))]

    def _place(self, name: str, share: float) -> float:
        declared = self.domain.real(name)
        return declared.low + 2 * declared.half_width * share


class DirectMean(Query):
    """The sum divided by the public number of rows; a record with a missing cell counts as the middle."""

    def __init__(self, domain: Domain, columns: str | Sequence[str]) -> None:
        super().__init__(domain)
        self._alone = isinstance(columns, str)
        self._columns = named_columns(columns)
        self._declared = [domain.real(name) for name in self._columns]

    def statistics(self) -> tuple[Sum]:
        """One vector of sums."""
        return (Sum(Box(self._columns)),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """Middle plus half-width times the mean coordinate, kept within the declared bounds."""
        (total,) = totals
        rows = self.domain.rows or 1
        noisy = [
            each.middle + each.half_width * value / rows
            for each, value in zip(self._declared, total.in_units(), strict=True)
        ]

        def inside(values: Sequence[float]) -> list[float]:
            return [min(each.high, max(each.low, value)) for each, value in zip(self._declared, values, strict=True)]

        def interval(level: float) -> Interval:
            widths = [
                each.half_width * (width / rows + 1 / total.unit)
                for each, width in zip(self._declared, total.half_widths(level), strict=True)
            ]
            low = inside([value - width for value, width in zip(noisy, widths, strict=True)])
            high = inside([value + width for value, width in zip(noisy, widths, strict=True)])
            return Interval(alone_or_list(low, self._alone), alone_or_list(high, self._alone), level)

        receipt = total.receipt.with_caveat(*direct_caveats(self.domain, self._columns))
        return Release(alone_or_list(inside(noisy), self._alone), receipt, interval, self._columns)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Every record in the middle."""
        return [[0.0] * len(self._columns)]


def direct_caveats(domain: Domain, columns: Sequence[str]) -> tuple[str, ...]:
    """Said whenever a missing cell is possible and n stays the declared number."""
    if any(domain.real(name).missing == "drop" for name in columns):
        return ("a record with a missing cell counts as the middle of every asked interval",)
    return ()


def _share(low_end: float, high_end: float) -> float:
    both = low_end + high_end
    return min(1.0, max(0.0, high_end / both)) if both > 0 else 0.5
