"""The cells of one column: what of it is counted, and how a value is drawn from a cell again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sordino.domain import Category, Column, Real
from sordino.statistics.histograms import BinAxis, CategoryAxis, MissingAxis

#: A value lies below its cell's upper end by this part of the cell at least, so that no rounding lifts it to the next.
_LAST = 1 - 2.0**-30

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

#: A whole-numbered column with at most this many values per wished cell has a cell for each value.
_VALUES_PER_CELL = 4

#: The first cell of an interval that is cut again, in parts of the interval: its lower end, such as zero, alone.
_ATOM = 2.0**-20


@dataclass(frozen=True)
class Cells:
    """The cells of a declared column, in order; where a cell may be missing, the last one is for that (``optional``).

    ``edges`` are those of a real column: a cell is closed below. A whole-numbered column has whole edges.
    """

    column: str
    declared: Column
    edges: tuple[float, ...] = ()
    optional: bool = False

    @classmethod
    def of(cls, column: str, declared: Column, wished: int) -> Cells:
        """A cell per category or per whole number, else ``wished`` equal cells; one more where cells may be missing."""
        if isinstance(declared, Category):
            return cls(column, declared, (), declared.missing == "drop" and declared.replacement is None)
        low, high, whole = _ends(declared)
        every = whole and high - low <= _VALUES_PER_CELL * wished
        edges = (declared.low, *_cut(low, high, int(high - low) if every else wished, whole)[1:])
        return cls(column, declared, edges, declared.missing == "drop")

    @classmethod
    def with_edges(cls, column: str, declared: Column, edges: Sequence[float]) -> Cells:
        """The cells with these edges; none for a category."""
        return replace(cls.of(column, declared, 1), edges=tuple(edges))

    def complete(self) -> Cells:
        """The same cells, none of them missing."""
        return replace(self, optional=False)

    @property
    def ordered(self) -> bool:
        """Whether the cells have an order of their own."""
        return isinstance(self.declared, Real)

    @property
    def inner(self) -> CategoryAxis | BinAxis:
        """The axis without the missing cells."""
        if isinstance(self.declared, Real):
            return BinAxis(self.column, self.edges)
        return CategoryAxis(self.column, len(self.declared))

    @property
    def axis(self) -> CategoryAxis | BinAxis | MissingAxis:
        """What is counted."""
        return MissingAxis(self.inner) if self.optional else self.inner

    def __len__(self) -> int:
        return self.axis.cells

    def divisible(self) -> Sequence[bool]:
        """Whether a cell can be cut again: an interval of more than one value."""
        if not isinstance(self.declared, Real):
            return (False,) * len(self)
        least = 1.0 if _ends(self.declared)[2] else _ATOM * (self.edges[-1] - self.edges[0])
        widths = np.diff(self.edges)
        return (*(widths > 1.5 * least), *((False,) if self.optional else ()))

    def cut(self, chosen: Sequence[bool], parts: int) -> tuple[Cells, Integers]:
        """The chosen cells cut into parts, and the old cell of each new one. The lower end gets a cell of its own."""
        assert isinstance(self.declared, Real)
        edges, parents = [self.edges[0]], []
        for cell, (low, high) in enumerate(zip(self.edges, self.edges[1:], strict=False)):
            inner = _cut(low, high, parts, _ends(self.declared)[2])[1:] if chosen[cell] else (high,)
            if chosen[cell] and cell == 0 and self._after_the_end() > low:  # in floats it may be the end itself
                inner = tuple(sorted({*inner, self._after_the_end()}))
            edges.extend(inner)
            parents.extend([cell] * len(inner))
        if self.optional:
            parents.append(len(self.edges) - 1)
        return replace(self, edges=tuple(edges)), np.array(parents)

    def _after_the_end(self) -> float:
        assert isinstance(self.declared, Real)
        if _ends(self.declared)[2]:
            return float(np.ceil(self.edges[0])) + 1
        return self.edges[0] + _ATOM * (self.edges[-1] - self.edges[0])

    def leans(self, margins: Floats) -> Floats:
        """How each cell's density leans, -1 falling to nothing to 1 rising from it, as its neighbours' densities say.

        The smaller of the steps to either side, and level between two that disagree.
        """
        leans = np.zeros_like(margins)
        if len(self.edges) < 3:
            return leans
        densities = margins[:, : len(self.edges) - 1] / np.diff(self.edges)
        steps = np.diff(densities, axis=1)
        before, after = (np.concatenate(each, axis=1) for each in ((steps[:, :1], steps), (steps, steps[:, -1:])))
        smaller = np.where(before * after > 0, np.sign(before) * np.minimum(np.abs(before), np.abs(after)), 0.0)
        leans[:, : densities.shape[1]] = np.clip(smaller / np.maximum(2 * densities, 1e-300), -1, 1)
        return leans

    def draw(self, codes: Integers, within: Floats) -> np.ndarray[Any, Any]:
        """A value from each cell, ``within`` from its lower end to its upper one; NaN or None where it is missing.

        An object array where values are not numbers.
        """
        if isinstance(self.declared, Category):
            return np.array([*self.declared.values, None], dtype=object)[codes]
        lower, upper = np.array([*self.edges[:-1], np.nan]), np.array([*self.edges[1:], np.nan])
        drawn = lower[codes] + np.minimum(within, _LAST) * (upper - lower)[codes]
        low, high, whole = _ends(self.declared)
        if whole:
            drawn, high = np.floor(drawn), high - 1
        values: Floats = np.clip(drawn, low, high)
        return values


def leaning(within: Floats, leans: Floats) -> Floats:
    """Where a rank lies in a cell whose density rises from 1 - lean at its lower end to 1 + lean at its upper one."""
    level = 1 - leans
    return 2 * within / np.maximum(level + np.sqrt(level**2 + 4 * leans * within), 1e-300)


def _ends(declared: Real) -> tuple[float, float, bool]:
    """Where the first value lies and where the last one ends, and whether values are whole: some lies in the bounds."""
    first, last = float(np.ceil(declared.low)), float(np.floor(declared.high))
    if declared.integer and first <= last:
        return first, last + 1, True
    return declared.low, declared.high, False


def _cut(low: float, high: float, parts: int, whole: bool) -> tuple[float, ...]:
    """Edges of equal parts, whole ones where asked; fewer where they would coincide."""
    edges = np.linspace(low, high, parts + 1)
    edges[0], edges[-1] = low, high
    inner = np.rint(edges) if whole else edges
    return tuple(float(edge) for edge in np.unique(inner))
