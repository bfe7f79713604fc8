"""Medians and other quantiles: a paid choice among public candidates, or the direct median when n is public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sordino.cost import Amount, Cost, exact
from sordino.domain import Domain, Real
from sordino.errors import ParameterError
from sordino.privacy.price import ChoicePrice, Price
from sordino.privacy.session import Session
from sordino.queries.mean import direct_caveats
from sordino.queries.query import Plan, Query
from sordino.release import Interval, NoisyTotal, Receipt, Release
from sordino.statistics.direct import DirectMedian
from sordino.statistics.ranks import RankScores, grid_candidates
from sordino.statistics.statistic import Statistic

#: Candidates that a quantile chooses among unless told otherwise.
USUAL_CANDIDATES = 1024


class QuantileQuery(Query):
    """A noisy maximum over public candidates, scored by how far they are from the quantile in ranks."""

    def __init__(
        self, domain: Domain, column: str, quantile: Amount = Fraction(1, 2), candidates: int = USUAL_CANDIDATES
    ) -> None:
        super().__init__(domain)
        points = grid_candidates(domain.real(column), candidates)
        self._scores = RankScores(column, points, exact("quantile", quantile))

    def statistics(self) -> tuple[Statistic, ...]:
        """The ranks of the candidates."""
        return (self._scores,)

    def ask(self, session: Session, cost: Cost) -> Release:
        """Pay, count ranks in one pass, and choose."""
        index, receipt = session.choose(self._scores, cost)
        receipt = replace(receipt, stated=cost.stated)
        return self._release(self._scores.candidates[index], receipt, session.price_choice(self._scores, cost))

    def plan(self, session: Session, cost: Cost, rows: int | None = None) -> Plan:
        """How many ranks farther from the quantile than the best candidate the answer may be."""
        priced = session.price_choice(self._scores, cost)
        receipt = Receipt(
            self.domain.neighbours, (priced.charge(),), public=("the declared domain",), stated=cost.stated
        )
        return Plan(receipt, self._release(self._scores.candidates[0], receipt, priced))

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """A quantile is chosen, not read from totals."""
        raise ParameterError("quantile: it is chosen, not summed. Use ask.")

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Not used: the plan follows from the price alone."""
        return []

    def _release(self, value: float, receipt: Receipt, priced: ChoicePrice) -> Release:
        def interval(level: float, histogram: Release | None = None) -> Interval:
            if histogram is not None:
                return value_interval(histogram, self._scores, self.domain.real(self._scores.column), level)
            ranks = priced.shortfall(level) / self._scores.quantile.denominator
            return Interval(-ranks, ranks, level, unit="ranks")

        return Release(value, receipt, interval, (self._scores.column,))


class DirectMedianQuery(Query):
    """The median itself plus noise of the width of the interval: the paper's way, for comparison."""

    def __init__(self, domain: Domain, column: str) -> None:
        super().__init__(domain)
        if domain.neighbours != "substitute" or domain.rows is None:
            raise ParameterError(
                "median: method='direct' needs a public number of rows. "
                "Declare Domain(…, neighbours='substitute', rows=NUMBER)."
            )
        self._column, self._declared = column, domain.real(column)
        self._median = DirectMedian(column, domain.rows)

    def statistics(self) -> tuple[DirectMedian]:
        """The two middle values."""
        return (self._median,)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """Clipped to the declared bounds."""
        (total,) = totals
        noisy = self._declared.middle + self._declared.half_width * total.in_units()[0]
        low_bound, high_bound = self._declared.low, self._declared.high

        def interval(level: float) -> Interval:
            width = self._declared.half_width * (total.half_widths(level)[0] + 1 / total.unit)
            return Interval(
                min(high_bound, max(low_bound, noisy - width)), max(low_bound, min(high_bound, noisy + width)), level
            )

        receipt = total.receipt.with_caveat(*direct_caveats(self.domain, (self._column,)))
        return Release(min(high_bound, max(low_bound, noisy)), receipt, interval, (self._column,))

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """The middle of the interval."""
        return [[0.0]]


def median_query(domain: Domain, column: str, method: str = "ranks", candidates: int = USUAL_CANDIDATES) -> Query:
    """The query for a median by the chosen method."""
    if method == "ranks":
        return QuantileQuery(domain, column, candidates=candidates)
    if method == "direct":
        return DirectMedianQuery(domain, column)
    raise ParameterError(f"median: method must be 'ranks' or 'direct'. Got {method!r}.")


def value_interval(histogram: Release, scores: RankScores, declared: Real, level: float) -> Interval:
    """Ends in values, from a paid histogram of the same column on public edges.

    All cells hold their intervals at once with probability ``level``; the ends are edges that the exact quantile
    cannot lie beyond. The edges must span the declared bounds, so that every record has a cell.
    """
    edges = _edges_of(histogram, scores.column, declared)
    part, whole = scores.quantile.numerator, scores.quantile.denominator
    low, high = histogram.make_interval(1 - (1 - level) / (len(edges) - 1))
    least, most = sum(map(int, low)), sum(map(int, high))
    start, end, below_least, below_most = edges[0], edges[-1], 0, 0
    for edge, fewest, greatest in zip(edges[1:], low, high, strict=True):
        below_least, below_most = below_least + int(fewest), below_most + int(greatest)
        if whole * below_most < part * least:
            start = edge
        if whole * below_least > part * most:
            end = edge
            break
    return Interval(start, end, level)


def _edges_of(histogram: Release, column: str, declared: Real) -> list[float]:
    """The edges of a release of ``table.histogram(column, bins=…)`` over the whole declared interval."""
    labels: tuple[Any, ...] = getattr(histogram, "labels", None) or ()
    binned = bool(labels) and all(isinstance(label, tuple) and len(label) == 2 for label in labels)
    if not binned or getattr(histogram.value, "ndim", 0) != 1 or histogram.columns != (column,):
        raise ParameterError(f"interval: histogram must be a release of table.histogram({column!r}, bins=…).")
    edges = [float(labels[0][0]), *(float(pair[1]) for pair in labels)]
    if edges[0] > declared.low or edges[-1] < declared.high:
        raise ParameterError(
            f"interval: the histogram's edges must reach from {declared.low:g} to {declared.high:g}, "
            f"the declared bounds of {column!r}. Got {edges[0]:g} to {edges[-1]:g}."
        )
    return edges
