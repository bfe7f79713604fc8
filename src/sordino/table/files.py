"""Tables in files: Parquet, CSV and Feather, one file or a glob, streamed and never loaded whole.

CSV cells are read as text, whatever they look like: a sniffed type would let one odd cell change how every
other record is read. A row shorter than the header has missing cells; cells beyond the header are not read; a
row that cannot be read (its bytes are no text, or it is longer than two million of them) has missing cells only:
were it left out, it would be less than missing. Records end where the quotes of RFC 4180 say, so a program that
writes the file must quote line ends and double the quotes inside a cell, as all common ones do.
"""

from __future__ import annotations

import csv
import glob
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa
import pyarrow.parquet

from sordino.errors import TableError
from sordino.table.source import ArrowBlock, Kind, Source, UnreadBlock, kind_of, refuse_alike, require_columns, unread

T = TypeVar("T")

_ROWS_PER_BLOCK = 65_536

#: Rows that DuckDB passed over, each with an error per cell; every row has its line and no other row has it.
_UNREADABLE_ROWS = "SELECT count(*) FROM (SELECT DISTINCT file_id, line FROM reject_errors)"

#: What other programs put between cells.
_OTHER_SEPARATORS = ";\t|"

#: DuckDB's own buffers; the rest of a pass needs a few blocks per thread.
_MEMORY_LIMIT = "256MB"


class ParquetSource(Source):
    """Parquet files, streamed by DuckDB."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self.name = Path(paths[0]).stem
        self._schema, self._size = _attempt("Parquet", paths, lambda: _parquet_facts(paths))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds by the stored types."""
        return {field.name: kind_of(field.type) for field in self._schema}

    @property
    def stored_types(self) -> Mapping[str, str]:
        """The types in the files."""
        return _types(self._schema)

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Batches as DuckDB decodes them, in no fixed order."""
        require_columns(self.name, self.kinds, columns)
        query = f"SELECT {_quoted(columns)} FROM read_parquet(?, hive_partitioning=false, utf8_validation='replace')"
        yield from _stream_duckdb(query, self._paths, columns)

    def size_hint(self) -> int:
        """Number of rows, from the files' footers."""
        return self._size


class CsvSource(Source):
    """CSV files with a header line; every cell is text until the domain says what it is."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self.name = Path(paths[0]).stem
        self._names = _attempt("CSV", paths, lambda: _csv_header(paths))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """A CSV file has names only."""
        return dict.fromkeys(self._names, "untyped")

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Batches of text columns."""
        require_columns(self.name, self.kinds, columns)
        declared = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(self._names)))
        wanted = ", ".join(f"c{self._names.index(name)}" for name in columns)  # names in a file may hold anything
        query = (
            f"SELECT {wanted} FROM read_csv(?, auto_detect=false, header=true, delim=',', quote='\"', "
            f"escape='\"', nullstr='', strict_mode=false, ignore_errors=true, null_padding=true, "
            "parallel=false, "  # where a record ends must not depend on how the file is cut
            f"store_rejects=true, rejects_limit=0, columns={{{declared}}})"
        )
        yield from _stream_duckdb(query, self._paths, columns, rows_left_out=_UNREADABLE_ROWS)


class FeatherSource(Source):
    """Feather (Arrow IPC) files, read batch by batch from a memory map."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self.name = Path(paths[0]).stem
        self._schema = _attempt("Feather", paths, lambda: _feather_schema(paths))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds by the stored types."""
        return {field.name: kind_of(field.type) for field in self._schema}

    @property
    def stored_types(self) -> Mapping[str, str]:
        """The types in the files."""
        return _types(self._schema)

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Record batches of the files, as they were written."""
        require_columns(self.name, self.kinds, columns)
        for path in self._paths:
            reader = _open_feather(path, [self._schema.get_field_index(name) for name in columns])
            for index in range(reader.num_record_batches):
                yield unread(ArrowBlock, reader.get_batch(index))


_BY_SUFFIX: dict[str, Callable[[Sequence[str]], Source]] = {
    ".parquet": ParquetSource,
    ".pq": ParquetSource,
    ".csv": CsvSource,
    ".feather": FeatherSource,
    ".arrow": FeatherSource,
}


def open_files(path: str | Path) -> Source:
    """The source for a path or a glob, by its ending."""
    text = str(path)
    paths = sorted(glob.glob(text)) if glob.has_magic(text) and not Path(text).exists() else [text]
    if not paths or not Path(paths[0]).is_file():
        raise TableError(f"table: {_absent(text)}")
    suffix = Path(paths[0]).suffix.lower()
    if suffix not in _BY_SUFFIX or any(Path(each).suffix.lower() != suffix for each in paths):
        known = " ".join(sorted(_BY_SUFFIX))
        raise TableError(f"table: {text!r} must end in one of {known}, the same for every file.")
    return _BY_SUFFIX[suffix](paths)


def _absent(text: str) -> str:
    if glob.has_magic(text):
        return f"no file matches {text!r}."
    if os.path.isdir(text):
        return f"{text!r} is a folder. Name its files by a glob: {f'{text}/*.parquet'!r}, say."
    return f"there is no file {text!r}."


def _attempt(what: str, paths: Sequence[str], read: Callable[[], T]) -> T:
    """Run a reader; replace its error, which may quote a cell, by one that names the file only."""
    failed = ""
    try:
        return read()
    except TableError:
        raise
    except Exception as error:  # whatever the reader raises, only its type is kept
        failed = type(error).__name__
    raise TableError(
        f"table: {paths[0]!r} cannot be read as {what} ({failed}). It may be cut short or of another format."
    )


def _types(schema: pa.Schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema}


def _parquet_facts(paths: Sequence[str]) -> tuple[pa.Schema, int]:
    schema = _common_schema(paths, [pyarrow.parquet.read_schema(path) for path in paths])
    refuse_alike(f"table: {paths[0]!r}", schema.names, str.lower)  # DuckDB compares names without their case
    rows = sum(pyarrow.parquet.read_metadata(path).num_rows for path in paths)
    return schema, rows


def _feather_schema(paths: Sequence[str]) -> pa.Schema:
    schema = _common_schema(paths, [_open_feather(path, None).schema for path in paths])
    refuse_alike(f"table: {paths[0]!r}", schema.names)
    return schema


def _common_schema(paths: Sequence[str], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The schema of every file: a reader would cast the others to the first one's types, and change cells."""
    for path, schema in zip(paths, schemas, strict=True):
        if (schema.names, schema.types) != (schemas[0].names, schemas[0].types):
            raise TableError(
                f"table: {path!r} stores other columns or types than {paths[0]!r}. Give files of one schema."
            )
    return schemas[0]


def _csv_header(paths: Sequence[str]) -> tuple[str, ...]:
    headers = set()
    for path in paths:
        first_line = _first_line(path)
        if first_line.count('"') % 2:
            raise TableError(f"table: {path!r} has a column name with a line end in it. Write the names in one line.")
        headers.add(tuple(name.strip() for name in next(csv.reader([first_line]), ())))
        _require_commas(path, first_line)
    names = headers.pop()
    if headers or not names or len(set(names)) != len(names) or any(map(_reads_as_number, names)):
        raise TableError(
            f"table: {paths[0]!r} needs a first line with one distinct name per column, the same in every file; "
            "a number is no name, for the line may be a record."
        )
    return names


def _first_line(path: str) -> str:
    """The names alone: no byte of a record is looked at, with old line ends neither."""
    with Path(path).open("rb") as file:
        line = file.readline().split(b"\r")[0]
    with suppress(UnicodeDecodeError):
        return line.decode("utf-8-sig")
    raise TableError(
        f"table: the first line of {path!r} is not UTF-8. Convert the file: iconv -f LATIN1 -t UTF-8, say."
    )


def _require_commas(path: str, first_line: str) -> None:
    """A file with other separators would be one column with a long name; a name in quotes may hold anything."""
    if not any(mark in first_line for mark in ',"') and any(mark in first_line for mark in _OTHER_SEPARATORS):
        raise TableError(
            f"table: {path!r} has no comma in its first line, but another separator. Put commas between its cells; "
            "or, if it has one column, quotes around the name."
        )


def _reads_as_number(name: str) -> bool:
    try:
        return not math.isnan(float(name))
    except ValueError:
        return False


def _open_feather(path: str, fields: list[int] | None) -> pa.RecordBatchFileReader:
    return pa.ipc.open_file(pa.memory_map(path), options=pa.ipc.IpcReadOptions(included_fields=fields))


def _stream_duckdb(
    query: str, paths: Sequence[str], columns: Sequence[str], rows_left_out: str = ""
) -> Iterator[UnreadBlock]:
    """The rows of a query; then, as rows of missing cells, those that the query ``rows_left_out`` counts."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": _MEMORY_LIMIT,
        "preserve_insertion_order": False,
    }
    literal = [glob.escape(path) for path in paths]  # DuckDB would take a [1] in a name for a pattern
    with duckdb.connect(config=settings) as connection:
        connection.execute("SET enable_progress_bar = false")  # in a shell it would go to standard output
        relation = connection.sql(query, params=[literal])  # a relation streams; ``execute`` would hold it all
        for batch in relation.to_arrow_reader(_ROWS_PER_BLOCK):
            yield unread(ArrowBlock, batch.rename_columns(list(columns)))
        if rows_left_out:
            ((unreadable,),) = connection.execute(rows_left_out).fetchall()
            for start in range(0, unreadable, _ROWS_PER_BLOCK):
                yield unread(_missing_cells, columns, min(_ROWS_PER_BLOCK, unreadable - start))


def _missing_cells(columns: Sequence[str], rows: int) -> ArrowBlock:
    return ArrowBlock(pa.RecordBatch.from_pydict({name: pa.nulls(rows, pa.string()) for name in columns}))


def _quoted(columns: Sequence[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
