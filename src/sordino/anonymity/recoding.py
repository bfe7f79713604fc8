"""k-anonymity by recoding: quasi-identifiers are written so coarsely that each row looks like k - 1 others.

Global recoding writes a column equally coarsely everywhere; local recoding (Mondrian) cuts the table into boxes and
writes each box as finely as its rows allow. k-anonymity says nothing about the sensitive values within a group: ask
for ``l`` too. NOT differentially private.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from sordino.anonymity.anatomy import bucketize, numbered, require_feasible
from sordino.anonymity.columns import Codes, coded, combined, read_frame, require_columns, require_insensitive
from sordino.anonymity.hierarchy import Hierarchy, Recoding
from sordino.anonymity.requirement import Requirement
from sordino.anonymity.statement import STATEMENT, like, metadata_of
from sordino.errors import ParameterError

Method = Literal["mondrian", "global", "anatomy"]

#: Combinations of levels that a global recoding looks through, at most.
MOST_COMBINATIONS = 10_000

_WHO = "k_anonymize"


@dataclass(frozen=True, repr=False)
class Anonymized:
    """A recoded table. NOT differentially private.

    Attributes:
        table: As published: recoded quasi-identifiers and, where one was named, the sensitive column.
        groups_: The group of each row of ``table``, from 0: rows that look alike.
        rows_: For the owner alone: which row of the original table each row of ``table`` is, counted from 0.
        suppressed: Rows that were left out, as a share.
        metadata: What was done; it also stands in the metadata of the table.
    """

    table: Any
    groups_: Codes = field(repr=False)
    rows_: Codes = field(repr=False)
    suppressed: float
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        return f"Anonymized(k={self.metadata['k']}, {self.metadata['groups']} groups): {STATEMENT}"


def k_anonymize(
    frame: Any,
    *,
    k: int,
    quasi_identifiers: Sequence[str],
    sensitive: str | None = None,
    l: int | None = None,
    method: Method = "mondrian",
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppress: float = 0.0,
    random_state: int | None = None,
) -> Anonymized:
    """Write quasi-identifiers so coarsely that at least k rows look alike. NOT differentially private.

    Columns that are neither quasi-identifiers nor sensitive are left out.

    Args:
        frame: A frame, or a ``.parquet``, ``.feather`` or ``.csv`` file.
        k: Rows that must look alike.
        quasi_identifiers: The columns by which somebody could be recognised.
        sensitive: The column to publish beside them, as it is.
        l: No value of the sensitive column may make up more than 1/l of a group.
        method: ``"mondrian"`` (local), ``"global"``, or ``"anatomy"``: groups as ``anatomize`` makes them, for ``l``.
        hierarchies: How to write a column more coarsely: see ``sordino.anonymity.hierarchy``. Numbers become intervals
            unless told otherwise, and all else ``*``.
        suppress: The share of rows that a global recoding may leave out instead of writing everything more coarsely.
        random_state: For ``"anatomy"``, whose groups are drawn at random.
    """
    table = read_frame(frame, _WHO)
    require_columns(table, [*quasi_identifiers] if not isinstance(quasi_identifiers, str) else (), _WHO)
    if sensitive is not None:
        require_insensitive(sensitive, quasi_identifiers, _WHO)
        require_columns(table, [sensitive], _WHO)
    if method not in get_args(Method):
        raise ParameterError(f"{_WHO}: method must be one of {', '.join(get_args(Method))}. Got {method!r}.")
    columns = _recodings(table, quasi_identifiers, hierarchies or {})
    values = None if sensitive is None else coded(table, sensitive, _WHO)
    requirement = Requirement(k, l, values)
    _require_possible(requirement, len(table))
    if method == "global":
        levels, groups, kept = _global(columns, requirement, suppress)
        written = [each.written(level) for each, level in zip(columns, levels, strict=True)]
    else:
        made = _mondrian(columns, requirement) if method == "mondrian" else _buckets(requirement, random_state)
        boxes = numbered(made, len(table))
        levels, kept = None, np.arange(len(table))
        written = [_locally(each, boxes) for each in columns]
        groups = combined([coded(pa.table([each], names=[""]), "", _WHO) for each in written])
    arrays = [*written, *([] if sensitive is None else [table.column(sensitive).combine_chunks()])]
    recoded = pa.table(arrays, names=[*quasi_identifiers, *([] if sensitive is None else [sensitive])])
    order = kept[
        np.lexsort((combined([coded(recoded, name, _WHO) for name in recoded.column_names])[kept], groups[kept]))
    ]
    metadata = metadata_of(
        method, k=k, l=l, sensitive=sensitive, quasi_identifiers=list(quasi_identifiers),
        levels=None if levels is None else dict(zip(quasi_identifiers, levels, strict=True)),
        groups=len(np.unique(groups[kept])), suppressed=1 - len(kept) / len(table),
    )  # fmt: skip
    published = like(frame, recoded.take(pa.array(order)), metadata)
    number = np.unique(groups[order], return_inverse=True)[1].astype(np.int64)
    return Anonymized(published, number, order.astype(np.int64), metadata["suppressed"], metadata)


def _recodings(table: pa.Table, names: Sequence[str], hierarchies: Mapping[str, Hierarchy]) -> list[Recoding]:
    for name in hierarchies:
        if name not in names:
            raise ParameterError(f"{_WHO}: there is a hierarchy for {name!r}, which is no quasi-identifier.")
    return [Recoding(name, coded(table, name, _WHO), hierarchies.get(name)) for name in names]


def _require_possible(requirement: Requirement, rows: int) -> None:
    if requirement.k > rows:
        raise ParameterError(f"{_WHO}: k must be at most the number of rows, {rows}. Got {requirement.k}.")
    if requirement.l is not None and requirement.values is not None:
        require_feasible(requirement.values, requirement.l, _WHO)


def _global(columns: Sequence[Recoding], requirement: Requirement, share: float) -> tuple[list[int], Codes, Codes]:
    """The least coarse combination of levels that will do, by the sum of level / highest level over the columns."""
    if not 0 <= share < 1:
        raise ParameterError(f"{_WHO}: suppress must be at least 0 and below 1. Got {share!r}.")
    if prod(each.top + 1 for each in columns) > MOST_COMBINATIONS:
        raise ParameterError(
            f"{_WHO}: there are more than {MOST_COMBINATIONS} combinations of levels. Give hierarchies of fewer "
            "levels, or write method='mondrian'."
        )
    waiting: list[tuple[float, tuple[int, ...]]] = [(0.0, (0,) * len(columns))]
    seen = {waiting[0][1]}
    while True:  # ends: with every column at its top all rows are one group, which was found possible
        _, levels = heapq.heappop(waiting)
        groups = _alike(columns, levels)
        kept = np.flatnonzero(requirement.holds(groups)[groups])
        if len(kept) >= (1 - share) * len(groups) and len(kept):
            return list(levels), groups, kept
        for place, each in enumerate(columns):
            coarser = (*levels[:place], levels[place] + 1, *levels[place + 1 :])
            if coarser[place] <= each.top and coarser not in seen:
                seen.add(coarser)
                coarseness = sum(level / column.top for level, column in zip(coarser, columns, strict=True))
                heapq.heappush(waiting, (coarseness, coarser))


def _alike(columns: Sequence[Recoding], levels: Sequence[int]) -> Codes:
    together = np.zeros(len(columns[0].column.codes), np.int64)
    for column, level in zip(columns, levels, strict=True):
        codes = column.at(level)
        together = np.unique(together * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return together


def _mondrian(columns: Sequence[Recoding], requirement: Requirement) -> list[Codes]:
    """Cut the widest column at its median, as long as both sides may be published."""
    ranks = [each.ranks()[each.column.codes] for each in columns]
    widths = [max(1.0, float(np.ptp(each))) for each in ranks]
    waiting, done = [np.arange(len(ranks[0]))], []
    while waiting:
        rows = waiting.pop()
        spans = [float(np.ptp(each[rows])) / width for each, width in zip(ranks, widths, strict=True)]
        halves = None
        for place in sorted(range(len(columns)), key=lambda place: -spans[place]):
            if spans[place] and (halves := _halves(ranks[place][rows], rows, requirement)):
                waiting.extend(halves)
                break
        if halves is None:
            done.append(rows)
    return done


def _halves(ranks: Any, rows: Codes, requirement: Requirement) -> tuple[Codes, Codes] | None:
    """The rows up to the median and those above it; or those below it and the rest."""
    median = np.partition(ranks, (len(ranks) - 1) // 2)[(len(ranks) - 1) // 2]
    for low in (ranks <= median, ranks < median):
        first, second = rows[low], rows[~low]
        if requirement.one_group(first) and requirement.one_group(second):
            return first, second
    return None


def _buckets(requirement: Requirement, random_state: int | None) -> list[Codes]:
    if requirement.l is None or requirement.values is None:
        raise ParameterError(f"{_WHO}: method='anatomy' makes groups for l. Write sensitive= and l=.")
    size = max(requirement.k, requirement.l)
    if size % requirement.l:
        raise ParameterError(f"{_WHO}: with method='anatomy', k must be l or a multiple of it. Got {size}.")
    generator = np.random.default_rng(random_state)
    values = requirement.values
    return bucketize(values.codes, values.size, requirement.l, generator, size // requirement.l)


def _locally(column: Recoding, groups: Codes) -> pa.Array:
    """Each group under one label of its own."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    labels = [column.common(each) for each in np.split(column.column.codes[order], starts[1:])]
    return pa.array(labels, pa.string()).take(pa.array(groups))
