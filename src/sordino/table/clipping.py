"""Clipped batches: what a statistic sees of a block of rows.

Everything here is a function of one record and of the public domain: element-wise arithmetic only, no
reduction over rows decides a value. So a record looks the same in any batch, order, format or engine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sordino.domain import SPACES, Category, Domain, Real
from sordino.errors import TableError
from sordino.table.source import Block, as_floats, is_text, widened

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

#: Rows for which column constants are repeated.
_TILE = 8192


Batch = Union["ClippedBatch", "ChosenRows"]

#: Public intervals to clip to, one for each of some columns; None: the declared ones.
Windows = tuple[Real, ...] | None


class Workspace:
    """Memory that one thread uses again, batch after batch: fresh memory has to be paged in each time."""

    def __init__(self) -> None:
        self._arrays: dict[Hashable, Floats] = {}

    def array(self, use: Hashable, rows: int, columns: int) -> Floats:
        """An array for this use, with whatever the last batch left in it."""
        kept = self._arrays.get(use)
        if kept is None or len(kept) < rows:
            kept = self._arrays[use] = np.empty((rows, columns))
        return kept[:rows]


class ClippedBatch:
    """Rows of one block, clipped to the domain, on demand and once per use.

    With a ``workspace`` its grids stand in memory that the next batch writes over.
    """

    def __init__(self, domain: Domain, block: Block, workspace: Workspace | None = None) -> None:
        self.domain = domain
        self._block = block
        self._workspace = workspace
        self._grids: dict[tuple[tuple[str, ...], int, Windows], tuple[Floats, Flags | None]] = {}
        self._codes: dict[str, Integers] = {}
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self._block)

    def on_grid(self, columns: tuple[str, ...], steps: int, windows: Windows = None) -> tuple[Floats, Flags | None]:
        """Integers in [-steps, steps], as floats, and a flag per record that is whole (None: all are).

        A record with a missing cell in these columns is a row of zeros. ``windows`` are public intervals, one for
        each column, to clip to in place of the declared ones.
        """
        key = (columns, steps, windows)
        if key not in self._grids:
            self._grids[key] = self._quantised(columns, steps, windows)
        return self._grids[key]

    def numbers(self, column: str) -> Floats:
        """One real column clipped to its bounds; NaN where the record has no value."""
        declared = self.domain.real(column)
        values = self._raw((column,))[:, 0]
        return np.clip(values, declared.low, declared.high)

    def codes(self, column: str) -> Integers:
        """Positions in the declared list of values; -1 where the record has none."""
        if column not in self._codes:
            self._codes[column] = _encoded(column, self.domain.category(column), self._block.column(column))
        return self._codes[column]

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What several statistics of one pass need, made for the first that asks; it goes when the batch goes."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _raw(self, columns: tuple[str, ...]) -> Floats:
        values = self._block.matrix(columns)
        for position, name in enumerate(columns):
            declared = self.domain.real(name)
            if declared.missing != "drop":
                values = _with_missing_rule(values, position, name, declared)
        return values

    def _grid_memory(self, use: Hashable, values: Floats) -> Floats | None:
        """Where to write the grid: over a copy, in the workspace, or (None) where numpy finds room."""
        if self._block.makes_copies:
            return values
        if self._workspace is None or not values.flags.c_contiguous:
            return None
        return self._workspace.array(use, *values.shape)

    def _quantised(self, columns: tuple[str, ...], steps: int, windows: Windows) -> tuple[Floats, Flags | None]:
        values = self._raw(columns)
        declared = windows or tuple(self.domain.real(name) for name in columns)
        middles, factors = _affine(declared, steps)
        if values.flags.c_contiguous and len(columns) > 1 and len(values) <= _TILE:
            middles, factors = (each[: len(values)] for each in _tiled(declared, steps))
        grid = np.subtract(values, middles, out=self._grid_memory((columns, steps, windows), values))
        np.multiply(grid, factors, out=grid)
        np.clip(grid, -steps, steps, out=grid)
        np.rint(grid, out=grid)
        if not np.isnan(grid.min(initial=0.0)):  # which is NaN if any cell is
            return grid, None
        whole: Flags = np.logical_not(np.isnan(grid).any(axis=1))
        grid[~whole] = 0.0
        return grid, whole


class ChosenRows:
    """Some records of a clipped batch, seen as a batch of their own."""

    def __init__(self, batch: Batch, chosen: Integers) -> None:
        self.domain: Domain = batch.domain
        self._batch = batch
        self._chosen = chosen
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self._chosen)

    def on_grid(self, columns: tuple[str, ...], steps: int, windows: Windows = None) -> tuple[Floats, Flags | None]:
        """As ``ClippedBatch.on_grid``, for the chosen records."""
        grid, whole = self._batch.on_grid(columns, steps, windows)
        return grid[self._chosen], None if whole is None else whole[self._chosen]

    def numbers(self, column: str) -> Floats:
        """As ``ClippedBatch.numbers``, for the chosen records."""
        return self._batch.numbers(column)[self._chosen]

    def codes(self, column: str) -> Integers:
        """As ``ClippedBatch.codes``, for the chosen records."""
        return self._batch.codes(column)[self._chosen]

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """As ``ClippedBatch.once``, for the chosen records."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


@lru_cache(maxsize=256)
def _affine(columns: tuple[Real, ...], steps: int) -> tuple[Floats, Floats]:
    """Middle, and grid steps per unit, of each column: public numbers."""
    return (
        np.array([column.middle for column in columns]),
        np.array([steps / column.half_width for column in columns]),
    )


@lru_cache(maxsize=8)
def _tiled(columns: tuple[Real, ...], steps: int) -> tuple[Floats, Floats]:
    """The same, repeated for every row of a block: numpy sweeps equal shapes faster than it broadcasts."""
    middles, factors = _affine(columns, steps)
    return np.tile(middles, (_TILE, 1)), np.tile(factors, (_TILE, 1))


def _with_missing_rule(values: Floats, position: int, name: str, declared: Real) -> Floats:
    """Refuse or replace missing cells of one column."""
    absent = np.isnan(values[:, position])
    if not absent.any():
        return values
    if declared.missing == "reject":
        raise _incomplete(name)
    filled = values.copy(order="K")
    filled[absent, position] = declared.missing
    return filled


def _incomplete(name: str) -> TableError:
    return TableError(
        f"table: column {name!r} is declared complete (missing='reject') but is not. "
        "Declare missing='drop' or a replacement."
    )


def _encoded(name: str, declared: Category, column: pa.Array) -> Integers:
    """Codes of one column by the declared list and its rules for unknown and missing cells."""
    if pa.types.is_dictionary(column.type):
        return _encoded_dictionary(name, declared, column)
    column = widened(column)
    codes = _positions(declared, column)
    absent = column.is_null(nan_is_null=True)
    return _with_category_rules(name, declared, codes, absent)


def _encoded_dictionary(name: str, declared: Category, column: pa.DictionaryArray) -> Integers:
    """Look the distinct values up once, then follow the indices."""
    table = np.append(_encoded_values(declared, column.dictionary), np.int64(-2))
    indices = column.indices
    if column.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(table) - 1)  # which narrow indices could not hold
    places = indices.to_numpy(zero_copy_only=False)
    if declared.missing == "reject" or declared.replacement is not None:
        return _replaced_missing(name, declared, table[places])
    codes: Integers = np.maximum(table, -1)[places]
    return codes


def _encoded_values(declared: Category, values: pa.Array) -> Integers:
    """Codes of distinct values: unknown ones follow ``other``, absent ones are marked by -2."""
    values = widened(values)
    codes = _positions(declared, values)
    codes[(codes < 0)] = -1 if declared.other is None else declared.values.index(declared.other)
    codes[values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)] = -2
    return codes


def _with_category_rules(name: str, declared: Category, codes: Integers, absent: pa.Array) -> Integers:
    if declared.other is not None:
        codes[codes < 0] = declared.values.index(declared.other)
    gone = absent.to_numpy(zero_copy_only=False)
    codes[gone] = -2
    return _replaced_missing(name, declared, codes)


def _replaced_missing(name: str, declared: Category, codes: Integers) -> Integers:
    """Apply the rule for missing cells; an unknown value without ``other`` counts as missing."""
    missing = codes < 0
    if not missing.any():
        return codes
    if declared.missing == "reject":
        raise _incomplete(name)
    codes[missing] = -1 if declared.replacement is None else declared.values.index(declared.replacement)
    return codes


def _positions(declared: Category, column: pa.Array) -> Integers:
    """Index of each cell in the declared list, -1 where it is not listed; decided cell by cell."""
    first = declared.values[0]
    if not isinstance(first, str):
        wanted = pa.array([float(value) for value in declared.values])
        cells = pc.add(_as_numbers(column), 0.0)  # which makes 0 of -0: the two are told apart below
    elif is_text(column.type):
        wanted = pa.array([str(value).strip(SPACES) for value in declared.values], pa.large_string())
        cells = pc.ascii_trim_whitespace(column.cast(pa.large_string()))
    else:
        return np.full(len(column), -1, dtype=np.int64)
    found = pc.index_in(cells, value_set=wanted)
    positions: Integers = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return positions


def _as_numbers(column: pa.Array) -> pa.Array:
    """Whole numbers and truth values as floats, so that 1, 1.0, true, "1" and "True" are the same cell in every source.

    Truth values of a frame become text when one of its cells is missing: that must not change how the others are read.
    """
    if not is_text(column.type):
        cells = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
        return cells.cast(pa.float64(), safe=False)
    numbers = pa.array(as_floats(column))
    words = pc.ascii_lower(pc.ascii_trim_whitespace(column.cast(pa.large_string())))
    named = pc.index_in(words, value_set=pa.array(["false", "true"], pa.large_string()))
    return pc.coalesce(named.cast(pa.float64()), numbers)
