"""Which source a piece of data is: decided by its type or its path, never by its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sordino.domain import Column, Domain, Real
from sordino.errors import TableError
from sordino.table.memory import CellSource, LabelledSource, MatrixSource, StreamSource, is_loose
from sordino.table.source import Kind, Source, require_columns
from sordino.table.spark import SparkSource


def open_source(data: Any, columns: Sequence[str] | None = None) -> Source:
    """The source for a path, an array, a frame, a relation or a Spark DataFrame; or for a pair of array and labels.

    A pair is what an estimator is fitted on: a matrix, and a vector or None. Its labels are the last of ``columns``.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, str | Path):
        from sordino.table.files import open_files  # loads DuckDB, which a table in memory does not need

        return open_files(data)
    if isinstance(data, tuple):
        matrix, labels = data
        if is_loose(matrix):
            return CellSource(matrix, labels, columns or ())
        return MatrixSource(matrix, columns or ()) if labels is None else LabelledSource(matrix, labels, columns or ())
    if isinstance(data, np.ndarray):
        if columns is None:
            raise TableError("numpy table: an array has no column names. Write columns=['first', 'second', …].")
        return MatrixSource(data, columns)
    if type(data).__module__.startswith("pyspark.sql"):
        return SparkSource(data)
    if hasattr(data, "__arrow_c_stream__"):
        return StreamSource(data)
    raise TableError(
        f"table: cannot read {type(data).__name__}. Give a path, a numpy array with columns=, a Spark DataFrame, "
        "or a frame that speaks the Arrow C stream (pandas, polars, pyarrow, DuckDB)."
    )


def check_domain(source: Source, domain: Domain) -> None:
    """Every declared column must be there, with a stored type that its declaration can read."""
    require_columns("table", source.kinds, list(domain.columns))
    for name, column in domain.columns.items():
        kind = source.kinds[name]
        if kind not in _readable_as(column):
            raise TableError(
                f"table: column {name!r} is stored as {_STORED[kind]} but declared as {_declared(column)}. "
                "Declare it as it is stored, or convert the table."
            )


_STORED = {"number": "numbers", "text": "text", "truth": "true/false", "unusable": "a type that cannot be used"}


def _readable_as(column: Column) -> tuple[Kind, ...]:
    if isinstance(column, Real):
        return ("number", "untyped")
    if isinstance(column.values[0], str):
        return ("text", "untyped")
    return ("number", "truth", "text", "untyped")


def _declared(column: Column) -> str:
    return "Real" if isinstance(column, Real) else f"Category of {type(column.values[0]).__name__}"
