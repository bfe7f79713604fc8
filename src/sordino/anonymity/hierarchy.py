"""Hierarchies: ever coarser ways to write the values of a column, from the value itself up to ``*``.

A hierarchy is a list of levels above the value itself. A level is a function from a value to its label, or a mapping.
The last level, everything as ``*``, is always there and need not be given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sordino.anonymity.columns import Coded, Codes, numbers
from sordino.errors import ParameterError

Level = Callable[[Any], str] | Mapping[Any, str]
Hierarchy = Sequence[Level]

#: What stands for every value.
ANYTHING = "*"

#: Widths of the intervals for a column of numbers that was given no hierarchy, in units of a power of ten.
_WIDTHS = (1, 5)


def masked(*kept: int) -> Hierarchy:
    """Levels that keep so many leading characters, the most first, and write ``*`` for each other one.

    >>> [level("90210") for level in masked(4, 2)]
    ['9021*', '90***']
    """
    return [_mask(each) for each in kept]


def intervals(*widths: float, start: float = 0.0) -> Hierarchy:
    """Levels of intervals of these widths, the narrowest first, closed below; they begin at ``start``.

    >>> [level(29) for level in intervals(5, 25)]
    ['25-30', '25-50']
    """
    return [_interval(width, start) for width in widths]


def _mask(kept: int) -> Callable[[Any], str]:
    return lambda value: str(value)[:kept] + ANYTHING * max(0, len(str(value)) - kept)


def _interval(width: float, start: float) -> Callable[[Any], str]:
    if not width > 0:
        raise ParameterError(f"intervals: widths must be above 0. Got {width!r}.")

    def label(value: Any) -> str:
        low = start + math.floor((float(value) - start) / width) * width
        return f"{low:g}-{low + width:g}"

    return label


def default(column: Coded) -> Hierarchy:
    """Numbers: intervals of 5, 10, 50, 100 … up to the range; all else goes to ``*`` at once."""
    amounts = numbers(column)
    if amounts is None or len(amounts) < 3:
        return []
    span = float(amounts.max() - amounts.min())
    finest = float(np.diff(np.unique(amounts)).min())
    powers = range(math.floor(math.log10(finest)), math.ceil(math.log10(span)) + 1)
    return intervals(
        *(step * 10.0**power for power in powers for step in _WIDTHS if finest < step * 10.0**power < span)
    )


class Recoding:
    """A column with the labels of each of its values on every level: 0 the value itself, the last one ``*``."""

    def __init__(self, name: str, column: Coded, hierarchy: Hierarchy | None) -> None:
        levels = default(column) if hierarchy is None else hierarchy
        values = column.values.to_pylist()
        self.name = name
        self.column = column
        self.labels = [list(map(str, values)), *(_labels(name, values, level) for level in levels)]
        if len(set(self.labels[-1])) > 1 or len(self.labels) == 1:
            self.labels.append([ANYTHING] * column.size)
        self.codes = [np.unique(each, return_inverse=True)[1].astype(np.int64) for each in self.labels]
        self._require_nested()

    @property
    def top(self) -> int:
        """The coarsest level."""
        return len(self.labels) - 1

    def at(self, level: int) -> Codes:
        """Codes of the rows on a level."""
        return self.codes[level][self.column.codes]

    def written(self, level: int) -> pa.Array:
        """The rows on a level, as published: values as they are stored on level 0, labels above."""
        if level == 0:
            return self.column.values.take(pa.array(self.column.codes))
        return pa.array(self.labels[level], pa.string()).take(pa.array(self.column.codes))

    def ranks(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A place on a line for each value, for cuts: numbers as they are, all else so that families stay together."""
        amounts = numbers(self.column)
        if amounts is not None:
            return amounts
        places = np.empty(self.column.size)
        places[np.lexsort(self.codes)] = np.arange(self.column.size)
        return places

    def common(self, codes: Codes) -> str:
        """One label for some values: the finest that they share, or the range of numbers that they span."""
        present = np.unique(codes)
        amounts = numbers(self.column)
        if len(present) > 1 and amounts is not None:
            return f"{amounts[present].min():g}-{amounts[present].max():g}"
        place = int(present[0])
        return next(each[place] for each in self.labels if len({each[code] for code in present}) == 1)

    def _require_nested(self) -> None:
        """Values that share a label must share it on every level above: else coarser would not mean less."""
        for finer, coarser in pairwise(self.codes):
            if len(np.unique(finer * len(finer) + coarser)) > len(np.unique(finer)):
                raise ParameterError(
                    f"k_anonymize: the hierarchy of {self.name!r} must be nested: values with one label must share a "
                    "label on every level above. Use widths that divide each other, or drop a level."
                )


def _labels(name: str, values: Sequence[Any], level: Level) -> list[str]:
    find = level.__getitem__ if isinstance(level, Mapping) else level
    with suppress(Exception):  # a mapping without the value, or a function that cannot take it, would quote the cell
        return [str(find(value)) for value in values]
    raise ParameterError(f"k_anonymize: a level of the hierarchy of {name!r} has no label for one of its values.")
