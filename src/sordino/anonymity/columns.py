"""Frames and files as columns of codes, so that everything else counts whole numbers.

Rows keep their order. Codes follow the sorted values, never the order in which values appear: where codes decide an
order that is published, the order of the private rows must not shine through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sordino.anonymity.statement import is_pandas
from sordino.errors import ParameterError, TableError

Codes = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Coded:
    """A column as places in the list of its distinct values, which are sorted."""

    codes: Codes
    values: pa.Array

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return len(self.values)


def read_frame(data: Any, who: str) -> pa.Table:
    """The rows of a frame, or of a ``.parquet``, ``.feather`` or ``.csv`` file, in their order; CSV cells stay text."""
    failed = ""
    try:
        table = _read_file(Path(data)) if isinstance(data, str | Path) else _read_memory(data)
    except (pa.ArrowException, TypeError, ValueError, OSError) as error:
        failed = type(error).__name__  # its text may quote a cell
    if failed and isinstance(data, str | Path):
        if not Path(data).exists():
            raise TableError(f"{who}: there is no file {str(data)!r}.")
        raise TableError(f"{who}: {str(data)!r} cannot be read ({failed}). Give a .parquet, .feather or .csv file.")
    if failed:
        raise TableError(f"{who}: {type(data).__name__} cannot be read ({failed}). Give a frame or a file.")
    if len(set(table.column_names)) != len(table.column_names):
        raise TableError(f"{who}: two columns have one name. Rename one.")
    if not len(table):
        raise TableError(f"{who}: the table must have rows. Got none.")
    return table


def _read_memory(data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if is_pandas(data):
        return pa.Table.from_pandas(data, preserve_index=False)
    table = pa.RecordBatchReader.from_stream(data).read_all()
    if any(map(pa.types.is_string_view, table.schema.types)):  # polars; Arrow cannot sort or take from it yet
        plain = [
            field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field for field in table.schema
        ]
        table = table.cast(pa.schema(plain))
    return table


def _read_file(path: Path) -> pa.Table:
    from pyarrow import csv, feather, parquet

    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return parquet.read_table(path)
    if suffix in (".feather", ".arrow"):
        return feather.read_table(path)
    if suffix != ".csv":
        raise ValueError(suffix)
    with csv.open_csv(path) as reader:
        names = reader.schema.names
    as_text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
    )
    return csv.read_csv(path, convert_options=as_text)


def require_columns(table: pa.Table, names: Sequence[str], who: str) -> None:
    """Refuse a name that the table does not have, one given twice, or none."""
    if not names or isinstance(names, str) or len(set(names)) != len(names):
        raise ParameterError(f"{who}: columns must be a list of different names, one at least. Got {names!r}.")
    for name in names:
        if name not in table.column_names:
            raise ParameterError(f"{who}: the table has no column {name!r}. It has {', '.join(table.column_names)}.")


def require_insensitive(sensitive: str, quasi_identifiers: Sequence[str], who: str) -> None:
    """Refuse a sensitive column among those by which somebody could be recognised."""
    if sensitive in quasi_identifiers:
        raise ParameterError(f"{who}: {sensitive!r} is the sensitive column. Take it out of quasi_identifiers.")


def coded(table: pa.Table, name: str, who: str) -> Coded:
    """A column as codes. A missing cell is refused: it can neither be grouped nor attacked."""
    column = _plain(table.column(name))
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if column.null_count:
        raise TableError(
            f"{who}: column {name!r} has missing cells. Leave those rows out, or write a value for them, 'missing' say."
        )
    encoded = pa.concat_arrays(column.chunks).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return Coded(places[encoded.indices.to_numpy()], encoded.dictionary.take(pa.array(order)))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that can be sorted."""
    stored = column.type
    if pa.types.is_dictionary(stored):
        column, stored = column.cast(stored.value_type), stored.value_type
    if pa.types.is_boolean(stored):
        column = column.cast(pa.string())
    return column


def combined(columns: Sequence[Coded]) -> Codes:
    """One code for each combination that occurs, from 0, in the order of the columns."""
    together = np.zeros(len(columns[0].codes), np.int64)
    for column in columns:
        together = together * column.size + column.codes
        if int(together.max(initial=0)) > 2**31:
            together = np.unique(together, return_inverse=True)[1]
    return np.unique(together, return_inverse=True)[1].astype(np.int64)


def numbers(column: Coded) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The distinct values as numbers, where that is what they are; text that is nothing but numbers counts.

    A number with a leading zero is a code, such as a postal code, and stays text.
    """
    stored = column.values.type
    if pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored):
        return np.asarray(column.values.cast(pa.float64(), safe=False))
    if not (pa.types.is_string(stored) or pa.types.is_large_string(stored)):
        return None
    plain = pc.match_substring_regex(column.values, r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$")
    return np.asarray(column.values.cast(pa.float64())) if pc.all(plain).as_py() else None
