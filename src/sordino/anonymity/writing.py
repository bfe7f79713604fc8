"""Anonymised tables as files. A Parquet file carries its statement; beside a CSV file stands ``NAME.csv.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from sordino.anonymity.statement import KEY, STATEMENT
from sordino.errors import ParameterError, file_problem
from sordino.ledger_header import belongs_to_a_ledger

_SUFFIXES = (".parquet", ".csv")


def require_table(path: Path) -> None:
    """Refuse, before anything runs, a file that could not be written afterwards."""
    if path.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"anonymity: a table's name must end in .csv or .parquet. Got {str(path)!r}.")
    if not path.resolve().parent.is_dir():
        raise ParameterError(f"anonymity: there is no folder for {str(path)!r}. Make it first.")
    for each in (path, _statement_beside(path)):
        if belongs_to_a_ledger(each):
            raise ParameterError(
                f"anonymity: {str(each)!r} is a ledger, and must not be written over. Name another file."
            )


def _statement_beside(path: Path) -> Path:
    """Where the statement about a CSV file stands."""
    return path.with_name(f"{path.name}.json")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table with what it says about itself; one that says nothing gets the statement."""
    from pyarrow import csv, parquet

    require_table(path)
    told: dict[bytes, bytes] = table.schema.metadata or {}
    metadata: Any = told.get(KEY.encode()) or json.dumps({"differentially_private": False, "statement": STATEMENT})
    problem = ""
    try:
        if path.suffix.lower() == ".parquet":
            parquet.write_table(table.replace_schema_metadata({KEY: metadata}), path)
        else:
            csv.write_csv(table, path)
            text = json.dumps(json.loads(metadata), indent=2, ensure_ascii=False)
            _statement_beside(path).write_text(text + "\n", encoding="utf-8")
    except (OSError, pa.ArrowException) as error:
        problem = file_problem(error)
    if problem:
        raise ParameterError(f"anonymity: {str(path)!r} cannot be written ({problem}). Name another file.")
