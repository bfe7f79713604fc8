"""Exact totals on Spark: each partition sums its own rows in integers; partial totals are added in a tree.

Workers run the same accumulation as local threads. What travels is one row per partition: a count and exact
integers as bytes. An error on a worker is replaced there by one that says nothing about rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from sordino.domain import Domain
from sordino.engine.accumulation import Accumulation
from sordino.engine.self_test import require_exact_products
from sordino.errors import PassError, SordinoError, TableError
from sordino.statistics.statistic import Statistic
from sordino.table.source import ArrowBlock
from sordino.table.spark import SparkSource

_Partial = tuple[int, list[tuple[int, ...]]]

#: Marks a partial result that is a refusal of the table, with its (public) message.
_REFUSED = "refused"


def accumulate_on_spark(source: SparkSource, domain: Domain, statistics: Sequence[Statistic]) -> Accumulation:
    """One pass on the cluster, in one job."""
    columns = tuple(dict.fromkeys(name for statistic in statistics for name in statistic.columns))
    columns = columns or tuple(domain.columns)[:1]
    # Under plain names, for mapInArrow takes a dot in a name for a field of a struct.
    frame = source.frame.selectExpr(*(f"{_quoted(name)} AS c{place}" for place, name in enumerate(columns)))
    work = partial(_partition_total, domain, columns, tuple(statistics))
    encoded, failed = b"", ""
    try:
        rows = frame.mapInArrow(work, "partial binary").rdd.map(lambda row: bytes(row[0]))
        encoded = bytes(rows.treeReduce(_added)) if rows.getNumPartitions() else b""
    except Exception as error:  # Spark's message may quote a worker's; only its type is kept
        failed = type(error).__name__
    if failed:
        raise PassError(
            f"Spark engine: a worker was lost or failed in the middle of the pass ({failed}). "
            "The charge stands and nothing was released. Look at the cluster before asking again."
        )
    whole = Accumulation(domain, statistics)
    if encoded:
        _merge(whole, encoded)
    return whole


def _merge(whole: Accumulation, encoded: bytes) -> None:
    first, second = pickle.loads(encoded)
    if first == _REFUSED:
        raise TableError(str(second))
    whole.merge(first, second)


def _partition_total(
    domain: Domain, columns: tuple[str, ...], statistics: tuple[Statistic, ...], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs on a worker: one row of bytes for all rows of a partition."""
    require_exact_products()
    accumulation = Accumulation(domain, statistics)
    outcome: tuple[Any, Any] | None = None
    failed = ""
    try:
        for batch in batches:
            accumulation.add(ArrowBlock(batch.rename_columns(list(columns))))
        outcome = (accumulation.exact_rows, accumulation.exact_values())
    except SordinoError as error:
        outcome = (_REFUSED, str(error))
    except Exception as error:  # a worker's traceback ends up in logs; it must not carry a cell
        failed = type(error).__name__
    if failed:
        raise PassError(f"Spark worker: {failed}")
    yield pa.RecordBatch.from_pydict({"partial": pa.array([pickle.dumps(outcome)], pa.binary())})


def _added(left: bytes, right: bytes) -> bytes:
    """Sum of two partial results; a refusal wins."""
    first, second = pickle.loads(left), pickle.loads(right)
    for outcome in (first, second):
        if outcome[0] == _REFUSED:
            return pickle.dumps(outcome)
    sums = [
        tuple(a + b for a, b in zip(mine, theirs, strict=True))
        for mine, theirs in zip(first[1], second[1], strict=True)
    ]
    return pickle.dumps((first[0] + second[0], sums))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
