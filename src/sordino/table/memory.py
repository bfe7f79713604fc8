"""Tables in memory: numpy arrays, and everything that speaks the Arrow C stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sordino.errors import TableError
from sordino.table.source import (
    ArrowBlock,
    Kind,
    Source,
    UnreadBlock,
    as_floats,
    kind_of,
    refuse_alike,
    require_columns,
    unread,
)

T = TypeVar("T")

_ROWS_PER_BLOCK = 65_536

#: Columns are decoded in long sweeps: threads that take turns at short ones wait for each other.
_ROWS_PER_BATCH = 131_072

#: How the names of pandas' types begin whose cells are read by themselves.
_LOOSE = ("object", "complex", "float96", "float128")


class MatrixBlock:
    """Rows of a two-dimensional numpy array, read in place."""

    makes_copies = False

    def __init__(self, values: np.ndarray[Any, Any], names: Sequence[str]) -> None:
        self._values = values
        self._names = names

    def __len__(self) -> int:
        return len(self._values)

    def slice(self, start: int, length: int) -> MatrixBlock:
        """A run of rows, without a copy."""
        return MatrixBlock(self._values[start : start + length], self._names)

    def column(self, name: str) -> pa.Array:
        """One column as stored."""
        stored = self._values[:, self._names.index(name)]
        return pa.array(stored.astype(np.float64) if stored.dtype.kind == "f" else np.ascontiguousarray(stored))

    def matrix(self, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The array itself when all its columns are asked for in order; else the chosen columns."""
        if list(names) == list(self._names):
            chosen = self._values
        else:
            chosen = self._values[:, [self._names.index(name) for name in names]]
        return chosen.astype(np.float64, copy=False)


class MatrixSource(Source):
    """A two-dimensional numpy array with column names."""

    def __init__(self, values: np.ndarray[Any, Any], columns: Sequence[str]) -> None:
        if values.ndim != 2 or values.dtype.kind not in "fiub":
            raise TableError(
                "numpy table: must be a two-dimensional array of numbers. "
                f"Got {values.ndim} dimensions of {values.dtype}. Use a frame for text."
            )
        if len(columns) != values.shape[1] or len(set(columns)) != len(columns):
            raise TableError(
                f"numpy table: columns must name each of the {values.shape[1]} columns once. Got {len(columns)} names."
            )
        self._values = _plain(values)
        self._names = tuple(map(str, columns))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Every column of an array is a number; codes may be declared as categories."""
        return dict.fromkeys(self._names, "number")

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Views of the array."""
        require_columns("numpy table", self.kinds, columns)
        for start in range(0, len(self._values), _ROWS_PER_BLOCK):
            yield unread(MatrixBlock, self._values[start : start + _ROWS_PER_BLOCK], self._names)

    def size_hint(self) -> int:
        """Number of rows."""
        return len(self._values)


class LabelledBlock(MatrixBlock):
    """Rows of an array, with one more column that is stored apart."""

    def __init__(self, values: np.ndarray[Any, Any], names: Sequence[str], labels: pa.Array) -> None:
        super().__init__(values, names[:-1])
        self._label = names[-1]
        self._labels = labels

    def slice(self, start: int, length: int) -> LabelledBlock:
        """A run of rows, without a copy."""
        return LabelledBlock(
            self._values[start : start + length], [*self._names, self._label], self._labels.slice(start, length)
        )

    def column(self, name: str) -> pa.Array:
        """One column as stored."""
        return self._labels if name == self._label else super().column(name)

    def matrix(self, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Numeric columns side by side, the labels among them when they are asked for as numbers."""
        if self._label not in names:
            return super().matrix(names)
        columns = [
            as_floats(self._labels) if name == self._label else super(LabelledBlock, self).matrix([name])[:, 0]
            for name in names
        ]
        return np.column_stack(columns)


class LabelledSource(MatrixSource):
    """A two-dimensional array and one vector of labels, side by side: what scikit-learn calls X and y."""

    def __init__(self, values: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], columns: Sequence[str]) -> None:
        super().__init__(values, columns[:-1])
        _refuse_labels(labels, len(values), columns)
        self._label = str(columns[-1])
        self._labels, self._label_kind = _as_label_column(labels)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Numbers, and the labels by their stored type."""
        return {**super().kinds, self._label: self._label_kind}

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Views of both."""
        require_columns("numpy table", self.kinds, columns)
        names = [*self._names, self._label]
        for start in range(0, len(self._values), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            yield unread(LabelledBlock, self._values[rows], names, self._labels[rows])


class CellSource(Source):
    """A two-dimensional array of text or objects, and perhaps labels: each cell is read as text, by itself.

    A cell has no type of its own, so that a column may be declared as numbers or as categories; a cell that does not
    fit is a missing one.
    """

    def __init__(
        self, values: np.ndarray[Any, Any], labels: np.ndarray[Any, Any] | None, columns: Sequence[str]
    ) -> None:
        cells = [pa.array(list(map(_as_cell, column)), pa.string()) for column in values.T]
        kinds: list[Kind] = ["untyped"] * len(cells)
        if labels is not None:
            _refuse_labels(labels, len(values), columns)
            label_column, label_kind = _as_label_column(labels)
            cells.append(label_column)
            kinds.append(label_kind)
        if len(columns) != len(cells) or len(set(columns)) != len(columns):
            raise TableError(
                f"numpy table: columns must name each of the {len(cells)} columns once. Got {len(columns)} names."
            )
        self._cells = pa.table(cells, names=list(columns))
        self._kinds = dict(zip(columns, kinds, strict=True))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """No type, but for the labels."""
        return self._kinds

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Views of the chosen columns."""
        require_columns("numpy table", self._kinds, columns)
        for batch in self._cells.select(list(columns)).to_batches(max_chunksize=_ROWS_PER_BLOCK):
            yield unread(ArrowBlock, batch)

    def size_hint(self) -> int:
        """Number of rows."""
        return int(self._cells.num_rows)


def is_loose(values: np.ndarray[Any, Any]) -> bool:
    """Whether an array holds text or objects rather than numbers."""
    return values.dtype.kind not in "fiub"


def _refuse_labels(labels: np.ndarray[Any, Any], rows: int, columns: Sequence[str]) -> None:
    if labels.ndim != 1 or len(labels) != rows or columns[-1] in columns[:-1]:
        raise TableError("numpy table: labels must be a vector with one entry per row and a name of its own.")


def _as_label_column(labels: np.ndarray[Any, Any]) -> tuple[pa.Array, Kind]:
    """Labels with their kind; of objects a type would be guessed from the rows, so each is read as text."""
    if labels.dtype.kind in "OUST":
        return _text_column(labels), "untyped" if labels.dtype.kind == "O" else "text"
    if labels.dtype.kind == "f":
        with np.errstate(all="ignore"):  # a warning about a huge label would tell of it
            labels = labels.astype(np.float64)
    column = pa.array(_plain(labels))
    return column, kind_of(column.type)


def _text_column(labels: np.ndarray[Any, Any]) -> pa.Array:
    """Text all at once where every one has an encoding, else each by itself: the same cells in either way."""
    if labels.dtype.kind == "U":
        with suppress(UnicodeError):
            return pa.array(labels.tolist(), pa.string())
    return pa.array(list(map(_as_text, labels)), pa.string())


def _as_cell(cell: Any) -> str | None:
    """A truth value as the number that it is in a matrix of them: one missing cell makes objects of them all."""
    return str(int(cell)) if isinstance(cell, bool | np.bool_) else _as_text(cell)


def _as_text(cell: Any) -> str | None:
    """An array of text forgets the NULs at its cells' ends, and one missing cell makes objects of them all."""
    text = _object_as_text(cell)
    return None if text is None else text.rstrip("\0")


def _object_as_text(cell: Any) -> str | None:
    return None if _is_absent(cell) else _cell_as_text(cell)


def _is_absent(cell: Any) -> bool:
    """None, or what does not equal itself, such as NaN: missing beside text as it is in an array of numbers."""
    with suppress(Exception):
        return cell is None or not bool(cell == cell)
    return True


class StreamSource(Source):
    """Anything with ``__arrow_c_stream__`` that starts a new stream each time it is asked."""

    def __init__(self, data: Any) -> None:
        if isinstance(data, pa.RecordBatchReader):
            data = _as_columns(data.read_all)  # a reader can be read once only, and a table must be read again
        self._data = data = _as_columns(lambda: _without_index(data)) if _is_pandas(data) else data
        self._loose, self._by_cell = _loose_columns(data), _columns_by_cell(data)
        schema = _as_columns(lambda: pa.RecordBatchReader.from_stream(self._typed(_without_rows(data)))).schema
        if _is_relation(data):
            refuse_alike("table", data.columns, str.lower)  # DuckDB compares names without their case
        refuse_alike("table", schema.names)
        self._kinds: dict[str, Kind] = {
            field.name: "untyped" if field.name in self._loose else kind_of(field.type) for field in schema
        }
        self._types = {field.name: str(field.type) for field in schema}

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds by the stored Arrow types."""
        return self._kinds

    @property
    def stored_types(self) -> Mapping[str, str]:
        """The types of the stream; of pandas none: one missing cell turns its whole numbers into floats or text."""
        return super().stored_types if _is_pandas(self._data) else self._types

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Record batches of the stream, cut small enough that every thread gets some."""
        require_columns("table", self._kinds, columns)
        narrowed = _as_columns(lambda: self._typed(_narrowed(self._data, list(columns))))
        for batch in _as_columns(lambda: _batches(narrowed)):
            for start in range(0, batch.num_rows, _ROWS_PER_BATCH):
                yield unread(ArrowBlock, batch.slice(start, _ROWS_PER_BATCH))

    def _typed(self, frame: Any) -> Any:
        """The frame with its columns of objects, and of Python's text, as text: each cell by itself."""
        by_cell = [name for name in self._by_cell if name in frame]
        frame = frame.copy(deep=False) if by_cell else frame
        for name in by_cell:
            frame[name] = frame[name].astype(object).map(_object_as_text).astype("string")
        return frame


def _batches(frame: Any) -> Iterable[pa.RecordBatch]:
    """A table of Arrow's own has its batches at hand: older releases of Arrow crash on a stream of its dictionaries."""
    batches: Iterable[pa.RecordBatch] = (
        frame.to_batches() if isinstance(frame, pa.Table) else pa.RecordBatchReader.from_stream(frame)
    )
    return batches


def _plain(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An ordinary array in this machine's byte order; a masked cell is a missing one."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    return np.asarray(values, values.dtype.newbyteorder("="))


def _as_columns(read: Callable[[], T]) -> T:
    """Run another library's conversion; its error may quote a cell, so only its type is kept."""
    failed = ""
    try:
        return read()
    except Exception as error:
        failed = type(error).__name__
    raise TableError(
        f"table: the frame cannot be read as Arrow columns ({failed}). "
        "Give every column one type and a name of its own."
    )


def _loose_columns(data: Any) -> set[str]:
    """pandas columns or categories of objects: a type would be guessed from the rows, so each cell is read as text.

    So are the types that Arrow does not have, complex and long floats: one such cell makes them of a whole column.
    """
    return {name for name, dtype in _pandas_types(data).items() if str(dtype).startswith(_LOOSE)}


def _columns_by_cell(data: Any) -> set[str]:
    """Loose ones, and text that pandas keeps as Python's: one without an encoding would stop the conversion of all."""
    types = _pandas_types(data).items()
    return _loose_columns(data) | {name for name, dtype in types if getattr(dtype, "storage", None) == "python"}


def _pandas_types(data: Any) -> dict[str, Any]:
    """The types of a pandas frame's columns, or of their categories; none of another frame."""
    types = data.dtypes.items() if _is_pandas(data) else ()
    return {name: getattr(getattr(dtype, "categories", None), "dtype", dtype) for name, dtype in types}


def _without_index(frame: Any) -> Any:
    """The frame with its names as text, and without labels of its rows: they are no column, and may not convert."""
    frame = frame.copy(deep=False)
    frame.index = range(len(frame))
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _is_pandas(data: Any) -> bool:
    """A pandas frame, or one of a class derived from it."""
    modules = (each.__module__ for each in type(data).__mro__)
    return any(name.split(".")[0] == "pandas" for name in modules) and hasattr(data, "columns")


def _cell_as_text(cell: Any) -> str | None:
    """One object as text; None, a missing cell, where that cannot be done: an error would tell of it.

    A short float of numpy writes fewer digits than it holds, and would be another number than in a column of its type.
    """
    with suppress(Exception):
        cell = cell[()] if isinstance(cell, np.ndarray) and cell.ndim == 0 else cell
        cell = cell.real if isinstance(cell, complex | np.complexfloating) and cell.imag == 0 else cell
        cell = float(cell) if isinstance(cell, np.floating) else cell
        text = cell.decode() if isinstance(cell, bytes) else str(cell)
        text.encode()
        return text
    return None


def _without_rows(data: Any) -> Any:
    """For its columns alone: a frame that would convert its rows, or a relation that would run, is cut to none."""
    if _is_pandas(data):
        return data.iloc[:0]
    return data.limit(0) if _is_relation(data) else data


def _is_relation(data: Any) -> bool:
    return hasattr(data, "fetchall") and hasattr(data, "limit")


def _narrowed(data: Any, columns: list[str]) -> Any:
    """Only the asked columns, where the frame can leave the others out cheaply."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return data.select(columns)
    if _is_relation(data):
        return data.project(", ".join(_selected(data, name) for name in columns))
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return data[columns]
    return data


def _selected(relation: Any, name: str) -> str:
    """A column; whole numbers of 128 bits without a sign as floats, for Arrow gets the largest as negative ones."""
    quoted = '"' + name.replace('"', '""') + '"'
    wide = str(relation.types[relation.columns.index(name)]) == "UHUGEINT"
    return f"CAST({quoted} AS DOUBLE) AS {quoted}" if wide else quoted
