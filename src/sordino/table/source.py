"""The contract of a source: named columns with stored kinds, and blocks of rows that can be read again.

A source adds one class with ``columns``, ``blocks`` and ``identity``. Its blocks are handed to worker
threads unread, so that copying and decoding happen there. No source looks at a value to decide a type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sordino.errors import TableError

#: What a column is by its stored type. ``untyped`` carries no type of its own: a CSV cell, or nothing but nulls.
Kind = Literal["number", "text", "truth", "untyped", "unusable"]

#: What counts as a number in an untyped cell, once the spaces around it are gone; anything else is missing.
NUMBER = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?|(?i:inf|infinity))$"


class Block(Protocol):
    """Some rows of a table, in memory."""

    #: Whether ``matrix`` returns a copy that the caller may write to.
    makes_copies: bool

    def __len__(self) -> int: ...

    def slice(self, start: int, length: int) -> Block:
        """A run of rows, without a copy."""
        ...

    def column(self, name: str) -> pa.Array:
        """One column as stored."""
        ...

    def matrix(self, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Numeric columns side by side; NaN where a cell is missing."""
        ...


class ArrowBlock:
    """Rows held as an Arrow record batch."""

    makes_copies = True

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def slice(self, start: int, length: int) -> ArrowBlock:
        """A run of rows, without a copy."""
        return ArrowBlock(self._batch.slice(start, length))

    def column(self, name: str) -> pa.Array:
        """One column as stored."""
        return self._batch.column(name)

    def matrix(self, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """One contiguous run per column, so that each is converted in one sweep."""
        matrix = np.empty((len(names), len(self)))
        for row, name in zip(matrix, names, strict=True):
            row[:] = as_floats(self._batch.column(name))
        return matrix.T


#: A block that has not been read yet; called once, in any thread.
UnreadBlock = Callable[[], Block]


def unread(make: Callable[..., Block], *parts: Any) -> UnreadBlock:
    """A block to be made later. Its ``repr`` shows no cell, as that of a ``functools.partial`` would."""
    return lambda: make(*parts)


class Source(ABC):
    """A private table that can be read again and again."""

    #: Name of the data set by default, for the ledger.
    name: str = "table"

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, Kind]:
        """Column names and what they are by their stored type."""

    @property
    def stored_types(self) -> Mapping[str, str]:
        """Columns in the order of the table, with Arrow's names of their stored types; empty where there is none."""
        return dict.fromkeys(self.kinds, "")

    @abstractmethod
    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """The rows, from the start; any order, each row once. At least one column is asked for."""

    def size_hint(self) -> int | None:
        """How many rows ``blocks`` will yield, for a progress bar in percent; never printed."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.kinds)} columns)"


def as_floats(column: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A numeric column as floats with NaN for nulls; text that carries no type is cast cell by cell."""
    if is_text(column.type):
        return _text_as_floats(column)
    if not pa.types.is_float64(column.type):
        column = widened(column).cast(pa.float64(), safe=False)
    values: np.ndarray[Any, np.dtype[np.float64]] = column.to_numpy(zero_copy_only=False)
    return values


def _text_as_floats(column: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Cell by cell: one odd cell must not change how any other cell is read."""
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    trimmed = pc.ascii_trim_whitespace(column)
    nothing = pa.scalar(None, trimmed.type)
    numbers = pc.if_else(pc.match_substring_regex(trimmed, NUMBER), pc.ascii_ltrim(trimmed, "+"), nothing)
    values: np.ndarray[Any, np.dtype[np.float64]] = numbers.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values


def widened(column: pa.Array) -> pa.Array:
    """Half precision as double, which older releases of Arrow cannot cast; any other column as it is."""
    if not pa.types.is_float16(column.type):
        return column
    return pa.array(column.to_numpy(zero_copy_only=False).astype(np.float64))


def is_text(stored: pa.DataType) -> bool:
    """Whether a stored type is text of any width."""
    return bool(pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored))


def kind_of(stored: pa.DataType) -> Kind:
    """What a column is, by its stored type alone."""
    value_type = stored.value_type if pa.types.is_dictionary(stored) else stored
    if pa.types.is_floating(value_type) or pa.types.is_integer(value_type) or pa.types.is_decimal(value_type):
        return "number"
    if is_text(value_type):
        return "text"
    if pa.types.is_null(value_type):
        return "untyped"
    return "truth" if pa.types.is_boolean(value_type) else "unusable"


def refuse_alike(who: str, names: Sequence[str], fold: Callable[[str], str] = str) -> None:
    """Refuse a table in which two columns have one name, as its reader compares names."""
    seen: dict[str, str] = {}
    for name in names:
        if fold(name) in seen:
            raise TableError(
                f"{who}: columns {seen[fold(name)]!r} and {name!r} cannot be told apart by name. Rename one."
            )
        seen[fold(name)] = name


def require_columns(who: str, kinds: Mapping[str, Kind], columns: Sequence[str]) -> None:
    """Refuse a column that the table does not have.

    What it has is listed only where names are stored apart from rows: the first line of a CSV file may be a record.
    """
    for name in columns:
        if name not in kinds:
            listed = "" if "untyped" in kinds.values() else f" It has {', '.join(map(repr, kinds))}."
            raise TableError(f"{who}: the table has no column {name!r}.{listed} Check its spelling, or leave it out.")
