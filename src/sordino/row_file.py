"""Rows written to a CSV or Parquet file as they come; the file appears whole or not at all."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sordino.errors import ParameterError, file_problem
from sordino.whole_file import draft_of

if TYPE_CHECKING:
    import pyarrow as pa


class RowFile:
    """Arrow tables, one after the other, into a draft beside the file, which takes its place when all went well."""

    def __init__(self, who: str, path: Path) -> None:
        self._who, self._path = who, path
        self._draft = draft_of(path)
        self._writer: Any = None
        self.written = 0
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise ParameterError(f"{who}: the output must end in .csv or .parquet. Got {path.name!r}.")

    def __enter__(self) -> RowFile:
        self._attempt(self._draft.touch)  # whatever could go wrong with the file is said before the work
        return self

    def write(self, rows: pa.Table) -> None:
        """Append rows; the first ones settle the columns."""
        self._attempt(lambda: self._append(rows))
        self.written += rows.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._discard()
            return
        self._attempt(self._finish)

    def _append(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = _opened(self._draft, self._path.suffix.lower(), rows.schema)
        self._writer.write_table(rows)

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._draft.replace(self._path)

    def _discard(self) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
        except OSError:
            pass  # the disk is full: the draft goes anyway
        self._draft.unlink(missing_ok=True)

    def _attempt(self, step: Any) -> None:
        problem = ""
        try:
            step()
        except OSError as error:
            problem = file_problem(error)
        if problem:
            self._discard()
            raise ParameterError(
                f"{self._who}: {str(self._path)!r} cannot be written ({problem}). Name another with -o."
            )


def _opened(path: Path, suffix: str, schema: pa.Schema) -> Any:
    if suffix == ".csv":
        from pyarrow import csv

        return csv.CSVWriter(path, schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(path, schema)
