"""Anatomy (Xiao and Tao, 2006): quasi-identifiers and sensitive values as two tables, joined by groups only.

No value makes up more than 1/l of its group. That bounds what the group alone says about a person in it; it does not
bound what all groups together say: see ``sordino.attack``. NOT differentially private.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from sordino.anonymity.columns import Coded, Codes, coded, combined, read_frame, require_columns, require_insensitive
from sordino.anonymity.statement import STATEMENT, like, metadata_of
from sordino.errors import ParameterError

Ties = Literal["drawn", "by-value"]

_WHO = "anatomize"


@dataclass(frozen=True, repr=False)
class Anatomized:
    """The two tables of Anatomy. NOT differentially private.

    Attributes:
        qit: The quasi-identifier table as published: every quasi-identifier of every tuple, and its group.
        st: The sensitive table as published: group, sensitive value, count.
        rows_: For the owner alone: which row of the original table each row of ``qit`` is, counted from 0.
        l: No value makes up more than 1/l of its group.
        metadata: What was done; it also stands in the metadata of both frames.
    """

    qit: Any
    st: Any
    rows_: Codes = field(repr=False)
    l: int
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        return f"Anatomized(l={self.l}, {self.metadata['groups']} groups): {STATEMENT}"


def anatomize(
    frame: Any,
    *,
    sensitive: str,
    l: int,
    quasi_identifiers: Sequence[str] | None = None,
    size: int | None = None,
    ties: Ties = "drawn",
    random_state: int | None = None,
) -> Anatomized:
    """Split a table into a quasi-identifier table and a sensitive table. NOT differentially private.

    Args:
        frame: A frame, or a ``.parquet``, ``.feather`` or ``.csv`` file.
        sensitive: The column that nobody should be able to tie to a person.
        l: No value may make up more than 1/l of its group; 2 at least.
        quasi_identifiers: The other columns to publish; all others unless told otherwise. Leave out names and numbers
            of people: they are published as they are.
        size: Tuples in a group: l, or a multiple of it. What is left over joins groups, so that a few are larger.
        ties: Which of equally full buckets comes first: ``"drawn"``, or ``"by-value"`` as elsewhere. Then the same
            values meet again and again, which helps an attacker.
        random_state: For a grouping that can be had again; whoever knows it may undo a part of the grouping.

    Raises:
        ParameterError: ``l`` is larger than the rows allow: more than one row in l has the same sensitive value.
    """
    table = read_frame(frame, _WHO)
    chosen = _chosen(table, sensitive, quasi_identifiers)
    values = coded(table, sensitive, _WHO)
    require_feasible(values, l, _WHO)
    size = _checked_size(size, l)
    generator = np.random.default_rng(random_state)
    if ties not in get_args(Ties):
        raise ParameterError(f"{_WHO}: ties must be one of {', '.join(get_args(Ties))}. Got {ties!r}.")
    groups = bucketize(values.codes, values.size, l, generator, size // l, ties)
    columns = [coded(table, name, _WHO) for name in chosen]
    group = numbered(groups, len(table))
    # Within a group the published order follows the published values alone, so that it says nothing about the rest.
    order = np.lexsort((combined(columns), group)).astype(np.int64)
    metadata = metadata_of(
        "anatomy", l=l, size=size, sensitive=sensitive, quasi_identifiers=list(chosen), groups=len(groups)
    )
    qit = table.select(list(chosen)).take(pa.array(order)).append_column("group", pa.array(group[order] + 1))
    st = _sensitive_table(group, values, sensitive)
    return Anatomized(like(frame, qit, metadata), like(frame, st, metadata), order, l, metadata)


def largest_feasible(values: Codes) -> int:
    """The largest l for which any grouping exists: one row in l, at most, may have the most frequent value."""
    return int(len(values) // np.bincount(values).max())


def bucketize(
    values: Codes,
    distinct: int,
    l: int,
    generator: np.random.Generator,
    together: int = 1,
    ties: Ties = "drawn",
) -> list[Codes]:
    """Rows in groups of l different values: one at random from each of the l fullest buckets, while there are l.

    Fewer than l buckets are left then, with one row each if ``l`` is feasible (Xiao and Tao, property 1). Each joins a
    group that lacks its value. At the end so many groups are put ``together``: where no value makes up more than 1/l of
    any, none makes up more of their union.
    """
    shuffled = generator.permutation(len(values))
    buckets: list[list[int]] = [[] for _ in range(distinct)]
    for row, value in zip(shuffled.tolist(), values[shuffled].tolist(), strict=True):
        buckets[value].append(row)
    drawn = generator.permutation(len(values) + distinct) if ties == "drawn" else np.zeros(len(values) + distinct, int)
    first = iter(drawn.tolist())  # which of equally full buckets comes first
    heap = [(-len(bucket), next(first), value) for value, bucket in enumerate(buckets)]
    heapq.heapify(heap)
    groups: list[list[int]] = []
    while len(heap) >= l:
        taken = [heapq.heappop(heap) for _ in range(l)]
        groups.append([buckets[value].pop() for _, _, value in taken])
        for _, _, value in taken:
            if buckets[value]:
                heapq.heappush(heap, (-len(buckets[value]), next(first), value))
    for _, _, value in heap:
        for row in buckets[value]:
            lacking = [place for place, group in enumerate(groups) if value not in values[group]]
            groups[lacking[int(generator.integers(len(lacking)))]].append(row)
    whole = max(1, len(groups) // together) * together  # the last of the larger groups takes what is left over
    joined = [groups[start : start + together] for start in range(0, whole, together)]
    joined[-1] += groups[whole:]
    return [np.concatenate([np.asarray(group, np.int64) for group in each]) for each in joined]


def numbered(groups: Sequence[Codes], rows: int) -> Codes:
    """The group of each row, from 0."""
    group = np.empty(rows, np.int64)
    group[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), list(map(len, groups)))
    return group


def _sensitive_table(group: Codes, values: Coded, sensitive: str) -> pa.Table:
    pairs, counts = np.unique(group * values.size + values.codes, return_counts=True)
    published = [
        pa.array(pairs // values.size + 1),
        values.values.take(pa.array(pairs % values.size)),
        pa.array(counts),
    ]
    return pa.table(published, names=["group", sensitive, "count"])


def _chosen(table: pa.Table, sensitive: str, quasi_identifiers: Sequence[str] | None) -> tuple[str, ...]:
    require_columns(table, [sensitive], _WHO)
    names = [name for name in table.column_names if name != sensitive]
    chosen = tuple(names if quasi_identifiers is None else quasi_identifiers)
    require_columns(table, chosen, _WHO)
    require_insensitive(sensitive, chosen, _WHO)
    if {"group", "count"} & {sensitive, *chosen}:
        raise ParameterError(f"{_WHO}: 'group' and 'count' are columns of what is published. Rename yours.")
    return chosen


def require_feasible(values: Coded, l: int, who: str) -> None:
    """Refuse an l for which there is no grouping, with the largest for which there is."""
    if isinstance(l, bool) or not isinstance(l, int | np.integer) or l < 2:
        raise ParameterError(f"{who}: l must be a whole number, 2 at least. Got {l!r}.")
    largest = largest_feasible(values.codes)
    if l > largest:
        advice = f"The largest feasible l is {largest}" if largest > 1 else "No l is feasible"
        raise ParameterError(f"{who}: one sensitive value is too frequent for this l. Got {l}. {advice}.")


def _checked_size(size: int | None, l: int) -> int:
    if size is None:
        return int(l)
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < l or size % l:
        raise ParameterError(f"{_WHO}: size must be l or a multiple of it. Got {size!r} for l = {l}.")
    return int(size)
