"""What every anonymised output says about itself: in words, in the metadata of its frames, and in its ``repr``."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

STATEMENT = (
    "NOT differentially private. It was made from rows of people, and whoever learns from it, or knows something "
    "else, may find out more than it promises."
)

#: Where the metadata stand: in the schema of an Arrow table or a Parquet file, and in the ``attrs`` of a pandas frame.
KEY = "sordino"


def metadata_of(method: str, **facts: Any) -> dict[str, Any]:
    """What was done, with the statement first."""
    return {"differentially_private": False, "statement": STATEMENT, "method": method, **facts}


def stamped(table: pa.Table, metadata: dict[str, Any]) -> pa.Table:
    """The table with its metadata in the schema, and none of what the reader of the original left there."""
    return table.replace_schema_metadata({KEY: json.dumps(metadata, ensure_ascii=False)})


def like(given: Any, table: pa.Table, metadata: dict[str, Any]) -> Any:
    """The stamped table as the caller gave it: a pandas frame for a pandas frame, an Arrow table for all else."""
    table = stamped(table, metadata)
    if not is_pandas(given):
        return table
    frame = table.to_pandas()
    frame.attrs[KEY] = metadata
    return frame


def is_pandas(data: Any) -> bool:
    """A pandas frame, or one of a class derived from it."""
    return any(
        each.__module__.split(".")[0] == "pandas" and each.__name__ == "DataFrame" for each in type(data).__mro__
    )
