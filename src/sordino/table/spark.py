"""A Spark DataFrame as a table: its columns are known here, its rows are only ever read on the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sordino.errors import TableError
from sordino.table.source import Kind, Source, UnreadBlock, refuse_alike

_NUMBER_TYPES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TEXT_TYPES = ("string", "varchar", "char")


class SparkSource(Source):
    """A Spark DataFrame; ``frame`` is read by ``engine/spark.py`` alone."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        refuse_alike("Spark table", frame.columns, str.lower)  # Spark compares names without their case
        self._kinds = {name: _kind(stored) for name, stored in frame.dtypes}

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds by the stored Spark types."""
        return self._kinds

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        """Refused: rows of a cluster are never brought to the driver."""
        raise TableError("Spark table: its rows are read on the cluster only. Use the Spark engine.")


def _kind(stored: str) -> Kind:
    base = stored.split("(")[0]
    if base in _NUMBER_TYPES:
        return "number"
    if base in _TEXT_TYPES:
        return "text"
    return "truth" if base == "boolean" else "unusable"
