"""Counts of categories and of public bins, alone or crossed. Proof: ``docs/proofs/histogram.md``.

One record touches at most one cell of each table. A record with a missing cell on an axis of a table touches
no cell of that table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.table.clipping import Batch, Integers

#: A table with more cells than this is a mistake rather than a question.
LARGEST_TABLE = 10**8

#: More equal cells of one column than this are refused before their edges fill the memory.
MOST_BINS = 10**6


@dataclass(frozen=True)
class CategoryAxis:
    """The declared values of a category column."""

    column: str
    cells: int

    @classmethod
    def of(cls, domain: Domain, column: str) -> CategoryAxis:
        """The axis of a declared column."""
        return cls(column, len(domain.category(column)))

    def codes(self, batch: Batch) -> Integers:
        """Cell of each record; -1 for none."""
        return batch.codes(self.column)

    def example(self, domain: Domain, cell: int) -> Any:
        """A value that falls into a cell."""
        return domain.category(self.column).values[cell]


@dataclass(frozen=True)
class BinAxis:
    """Public edges of a real column: cells are closed below, the last one on both sides."""

    column: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        ascending = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if len(self.edges) < 2 or not ascending or not all(map(math.isfinite, self.edges)):
            raise ParameterError(f"histogram: edges of {self.column!r} must be two or more rising numbers.")

    @classmethod
    def of(cls, domain: Domain, column: str, bins: int) -> BinAxis:
        """Equal cells between the declared bounds."""
        declared = domain.real(column)
        if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
            raise ParameterError(f"histogram: bins must be a whole number of at least 1, or edges. Got {bins!r}.")
        if bins > MOST_BINS:
            raise ParameterError(f"histogram: bins must be at most {MOST_BINS}. Got {bins}. Take fewer, wider ones.")
        return cls(column, tuple(float(edge) for edge in np.linspace(declared.low, declared.high, bins + 1)))

    @property
    def cells(self) -> int:
        """One fewer than the edges."""
        return len(self.edges) - 1

    def codes(self, batch: Batch) -> Integers:
        """Cell of each record; -1 outside the edges and for a missing cell."""
        values = batch.numbers(self.column)
        codes = np.searchsorted(np.array(self.edges), values, side="right").astype(np.int64) - 1
        codes[values == self.edges[-1]] = self.cells - 1
        codes[np.isnan(values) | (codes >= self.cells)] = -1
        return codes

    def example(self, domain: Domain, cell: int) -> Any:
        """A value that falls into a cell."""
        return self.edges[cell]


@dataclass(frozen=True)
class MissingAxis:
    """Another axis with one more cell, the last: that of the records which have no cell there."""

    inner: CategoryAxis | BinAxis

    @property
    def column(self) -> str:
        """The column of the other axis."""
        return self.inner.column

    @property
    def cells(self) -> int:
        """One more than the other axis has."""
        return self.inner.cells + 1

    def codes(self, batch: Batch) -> Integers:
        """Cell of each record: every record has one."""
        codes = self.inner.codes(batch)
        return np.where(codes < 0, self.inner.cells, codes)

    def example(self, domain: Domain, cell: int) -> Any:
        """A value that falls into a cell; None for the last one."""
        return None if cell == self.inner.cells else self.inner.example(domain, cell)


@dataclass(frozen=True)
class MergedAxis:
    """Another axis with public groups of its cells: ``groups[cell]`` is the number of the group, from 0."""

    inner: CategoryAxis | BinAxis | MissingAxis
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.groups) != self.inner.cells or set(self.groups) != set(range(self.cells)):
            raise ParameterError(f"histogram: groups of {self.column!r} must number the cells 0, 1, … without a gap.")

    @property
    def column(self) -> str:
        """The column of the merged axis."""
        return self.inner.column

    @property
    def cells(self) -> int:
        """The number of groups."""
        return max(self.groups, default=-1) + 1

    def codes(self, batch: Batch) -> Integers:
        """Group of each record's cell; -1 for none."""
        codes: Integers = np.array((*self.groups, -1), dtype=np.int64)[self.inner.codes(batch)]
        return codes

    def example(self, domain: Domain, cell: int) -> Any:
        """A value that falls into a group."""
        return self.inner.example(domain, self.groups.index(cell))


Axis = CategoryAxis | BinAxis | MissingAxis | MergedAxis


@dataclass(frozen=True)
class Histograms(Statistic):
    """One or several tables of counts; a table is a tuple of crossed axes, the last axis running fastest."""

    tables: tuple[tuple[Axis, ...], ...]
    unit = 1
    largest_entry = 1

    def __post_init__(self) -> None:
        if not self.tables or not all(self.tables):
            raise ParameterError("histogram: needs at least one column.")
        if any(cells > LARGEST_TABLE for cells in self.table_sizes):
            raise ParameterError(f"histogram: a table may have at most {LARGEST_TABLE} cells. Cross fewer columns.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of every table, once."""
        return tuple(dict.fromkeys(axis.column for table in self.tables for axis in table))

    @property
    def table_sizes(self) -> tuple[int, ...]:
        """Cells of each table."""
        return tuple(map(_cells, self.tables))

    @property
    def size(self) -> int:
        """Cells of all tables."""
        return sum(self.table_sizes)

    def record_maps(self, batch: Batch) -> Integers:
        """A one in the record's cell of each table."""
        maps = np.zeros((len(batch), self.size), dtype=np.int64)
        start = 0
        for table, cells in zip(self.tables, self.table_sizes, strict=True):
            codes = _crossed(table, batch)
            placed = np.flatnonzero(codes >= 0)
            maps[placed, start + codes[placed]] = 1
            start += cells
        return maps

    def block_total(self, batch: Batch) -> Integers:
        """Counts per cell, one sweep per table; cell 0 of each sweep collects the records without a cell."""
        counts = [
            np.bincount(_crossed(table, batch) + 1, minlength=cells + 1)[1:]
            for table, cells in zip(self.tables, self.table_sizes, strict=True)
        ]
        return np.concatenate(counts).astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One cell per table; two under substitute, where the table has two."""
        if neighbours == "add-remove":
            return Sensitivity(len(self.tables), len(self.tables))
        moves = sum(min(2, cells) for cells in self.table_sizes)
        return Sensitivity(moves, moves)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """A record in the first cell of every table, and one in the last, or outside a table of one cell."""
        axes = {axis.column: axis for table in self.tables for axis in table}
        first = {name: axis.example(domain, 0) for name, axis in axes.items()}
        single = {axis.column for table in self.tables for axis in table if _cells(table) == 1}
        last = {name: None if name in single else axis.example(domain, axis.cells - 1) for name, axis in axes.items()}
        return first, None if neighbours == "add-remove" else last

    @property
    def description(self) -> str:
        """In words."""
        tables = (" x ".join(axis.column for axis in table) for table in self.tables)
        return f"histogram of {', '.join(tables)}"


def histogram(*axes: Axis) -> Histograms:
    """One table of crossed axes."""
    return Histograms((axes,))


def _cells(table: tuple[Axis, ...]) -> int:
    return math.prod(axis.cells for axis in table)


def _crossed(table: tuple[Axis, ...], batch: Batch) -> Integers:
    """Cell of each record in a crossed table; -1 when it is missing on any axis."""
    first, *others = [axis.codes(batch) for axis in table]
    crossed = first
    for axis, codes in zip(table[1:], others, strict=True):
        crossed = crossed * axis.cells
        crossed += codes
    if not others or all(codes.min(initial=0) >= 0 for codes in (first, *others)):
        return crossed
    crossed[np.minimum.reduce([first, *others]) < 0] = -1
    return crossed
