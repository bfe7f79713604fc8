"""Lines of comma-separated text as columns of a table, checked against what is declared about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sordino.domain import Category, Column
from sordino.errors import TableError

#: How the published files write a missing cell.
MISSING = "?"


def parse(name: str, content: bytes, columns: Mapping[str, Column], separator: str) -> pa.Table:
    """A table of text (declared categories) and whole numbers (all else); a missing cell is null.

    Lines without the right number of fields, such as comments and empty ones, are passed over.
    """
    lines = content.decode("utf-8").splitlines()
    rows = [fields for fields in (line.strip().split(separator) for line in lines) if len(fields) == len(columns)]
    if not rows:
        raise TableError(f"datasets: {name} must hold lines of {len(columns)} fields. Got none. Fetch the file again.")
    arrays = [
        _column(name, column, declared, cells)
        for (column, declared), cells in zip(columns.items(), zip(*rows, strict=True), strict=True)
    ]
    return pa.table(arrays, names=list(columns))


def complete_rows(table: pa.Table) -> pa.Table:
    """The rows without a missing cell."""
    return table.drop_null()


def _column(name: str, column: str, declared: Column, cells: Sequence[str]) -> pa.Array:
    """One column. The data set is public, so that an odd cell may be named."""
    present = [None if cell == MISSING else cell for cell in cells]
    if isinstance(declared, Category):
        odd = sorted(set(cells) - {MISSING} - set(map(str, declared.values)))
        if odd:
            raise TableError(f"datasets: {name}, {column}: must be a published category. Got {odd[0]!r}.")
        return pa.array(present, pa.string())
    odd = sorted({cell for cell in cells if cell != MISSING and not cell.removeprefix("-").isdigit()})
    if odd:
        raise TableError(f"datasets: {name}, {column}: must be a whole number. Got {odd[0]!r}.")
    return pa.array([None if cell is None else int(cell) for cell in present], pa.int64())
