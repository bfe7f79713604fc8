"""Counts of categories and of public bins: one column, crossed columns, or several at once."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sordino.domain import Category, Domain
from sordino.errors import ParameterError
from sordino.privacy.price import Price
from sordino.queries.query import Query, named_columns
from sordino.release import Interval, NoisyTotal, Release
from sordino.statistics.histograms import BinAxis, CategoryAxis, Histograms

Bins = int | Sequence[float] | Mapping[str, int | Sequence[float]] | None


class HistogramQuery(Query):
    """One table of counts over one or several crossed columns; real columns need public bins."""

    def __init__(self, domain: Domain, columns: str | Sequence[str], bins: Bins = None) -> None:
        super().__init__(domain)
        self._columns = named_columns(columns)
        _require_binned(domain, self._columns, bins)
        self._axes = tuple(axis_of(domain, name, bins) for name in self._columns)

    def statistics(self) -> tuple[Histograms]:
        """One table."""
        return (Histograms((self._axes,)),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """Noisy counts as they are, shaped by the axes; labels name the cells of each axis."""
        (total,) = totals
        shape = tuple(axis.cells for axis in self._axes)
        value = np.array(total.values, dtype=object).reshape(shape).astype(np.int64)

        def interval(level: float) -> Interval:
            width = total.laws[0].half_width(level)
            return Interval(np.maximum(0, value - width), np.maximum(0, value + width), level)

        labels = tuple(cell_labels(self.domain, axis) for axis in self._axes)
        return Release(value, total.receipt, interval, labels[0] if len(labels) == 1 else labels, self._columns)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Far from zero, where the intervals are whole."""
        return [[1e15] * prices[0].statistic.size]


class HistogramsQuery(Query):
    """One histogram per column, all from one statistic: a record touches one cell of each."""

    def __init__(self, domain: Domain, columns: Sequence[str], by: str | None = None, bins: Bins = None) -> None:
        super().__init__(domain)
        self._columns = named_columns(columns)
        _require_binned(domain, self._columns, bins)
        crossed = () if by is None else (CategoryAxis.of(domain, by),)
        self._tables = tuple((*crossed, axis_of(domain, name, bins)) for name in self._columns)

    def statistics(self) -> tuple[Histograms]:
        """All tables."""
        return (Histograms(self._tables),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """A mapping from column to its counts."""
        (total,) = totals
        shapes = [tuple(axis.cells for axis in table) for table in self._tables]
        ends = list(itertools.accumulate(Histograms(self._tables).table_sizes))
        pieces = np.split(np.array(total.values, dtype=object).astype(np.int64), ends[:-1])
        value = {name: piece.reshape(shape) for name, piece, shape in zip(self._columns, pieces, shapes, strict=True)}

        def interval(level: float) -> Interval:
            width = total.laws[0].half_width(level)
            low = {name: np.maximum(0, counts - width) for name, counts in value.items()}
            return Interval(low, {name: np.maximum(0, counts + width) for name, counts in value.items()}, level)

        labels = tuple(tuple(cell_labels(self.domain, axis) for axis in table) for table in self._tables)
        return Release(value, total.receipt, interval, labels, self._columns)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Far from zero, where the intervals are whole."""
        return [[1e15] * prices[0].statistic.size]


def _require_binned(domain: Domain, columns: Sequence[str], bins: Bins) -> None:
    """Bins that no column takes are a mistake, and would be passed over in silence."""
    real = [name for name in columns if not isinstance(domain[name], Category)]
    unused = [name for name in bins if name not in real] if isinstance(bins, Mapping) else []
    if unused or (bins is not None and not real):
        which = f"{unused[0]!r}" if unused else " and ".join(map(repr, columns))
        raise ParameterError(f"histogram: bins are for the Real columns that are asked for. Got some for {which}.")


def axis_of(domain: Domain, name: str, bins: Bins) -> CategoryAxis | BinAxis:
    """The axis of a column: its categories, or the public bins given for it."""
    if isinstance(domain[name], Category):
        return CategoryAxis.of(domain, name)
    chosen = bins.get(name) if isinstance(bins, Mapping) else bins
    if chosen is None:
        raise ParameterError(
            f"histogram: {name!r} is a Real column and needs public bins. Write bins=10 (--bins 10), or edges."
        )
    if isinstance(chosen, int | np.integer):
        return BinAxis.of(domain, name, chosen if isinstance(chosen, int) else int(chosen))
    try:
        edges = tuple(map(float, chosen))
    except (TypeError, ValueError):
        raise ParameterError(f"histogram: bins must be a whole number or a list of edges. Got {chosen!r}.") from None
    return BinAxis(name, edges)


def cell_labels(domain: Domain, axis: CategoryAxis | BinAxis) -> tuple[Any, ...]:
    """Category values, or pairs of edges."""
    if isinstance(axis, CategoryAxis):
        return domain.category(axis.column).values
    return tuple(zip(axis.edges, axis.edges[1:], strict=False))
