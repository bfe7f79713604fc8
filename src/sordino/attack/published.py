"""The two tables that Anatomy publishes, checked against each other and brought into the order an attack needs.

Groups with the same numbers of equal values are one ``Shape``: everything is computed for all of them at once. Groups
that look alike altogether (the same quasi-identifiers, the same values) are one *kind* and are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sordino.anonymity.columns import Coded, Codes, coded, read_frame, require_columns
from sordino.errors import ParameterError, TableError

_WHO = "DeFinettiAttack"


@dataclass(frozen=True)
class Shape:
    """All groups in which the sensitive values occur equally often: ``counts``, the most frequent first.

    ``combinations`` and ``values`` hold, for each kind of group, the quasi-identifiers of its tuples (as places among
    the combinations that occur) and its sensitive values; ``times`` how many groups are of that kind. ``kind`` and
    ``rows`` hold, for each group, its kind and its tuples, as rows of the quasi-identifier table.
    """

    counts: tuple[int, ...]
    combinations: Codes
    values: Codes
    times: Codes
    kind: Codes
    rows: Codes

    @property
    def size(self) -> int:
        """Tuples in a group."""
        return sum(self.counts)


@dataclass(frozen=True)
class PublishedTables:
    """Both tables as codes.

    Attributes:
        names: The quasi-identifiers.
        sensitive: The name of the sensitive column, and its distinct values in ``values``.
        combination: Which combination of quasi-identifiers each tuple has.
        columns: For each quasi-identifier, the code of each combination.
        group: The group of each tuple, from 0.
        totals: How often each sensitive value was published.
        shapes: Every group once.
    """

    names: tuple[str, ...]
    sensitive: str
    values: pa.Array
    combination: Codes
    columns: tuple[Codes, ...]
    group: Codes
    totals: Codes
    shapes: tuple[Shape, ...]

    @property
    def tuples(self) -> int:
        """Rows of the quasi-identifier table."""
        return len(self.combination)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return sum(len(shape.rows) for shape in self.shapes)

    @property
    def combinations(self) -> int:
        """How many combinations of quasi-identifiers occur."""
        return len(self.columns[0])

    def part(self, chosen: Any) -> PublishedTables:
        """The same tables with the chosen groups only, for whoever learns from some and asks others."""
        return replace(self, shapes=tuple(filter(None, (_part(each, chosen[self.group]) for each in self.shapes))))

    def promised(self) -> Any:
        """For each tuple the largest share that a value has in its group: what the group alone says."""
        share = np.empty(self.tuples)
        for shape in self.shapes:
            share[shape.rows] = shape.counts[0] / shape.size
        return share


def read_published(
    qit: Any, st: Any, generator: np.random.Generator, *, sensitive: str | None, group: str, count: str
) -> PublishedTables:
    """Read both tables and require that they belong together.

    Tuples of a group that look alike are put into an order drawn from ``generator``, so that an assignment among them
    owes nothing to the order of publication.
    """
    people, secrets = read_frame(qit, _WHO), read_frame(st, _WHO)
    sensitive = _sensitive(secrets, sensitive, group, count)
    require_columns(secrets, [group, sensitive, count], _WHO)
    require_columns(people, [group], _WHO)
    names = tuple(name for name in people.column_names if name != group)
    if not names or sensitive in names:
        raise ParameterError(
            f"{_WHO}: the quasi-identifier table must have columns beside {group!r}, and not {sensitive!r}."
        )
    columns = [coded(people, name, _WHO) for name in names]
    number, of = _groups(people, secrets, group)
    values = coded(secrets, sensitive, _WHO)
    counts = _counts(secrets, count)
    _require_together(number, of, values.codes, counts)
    combinations, combination = np.unique(
        np.column_stack([each.codes for each in columns]), axis=0, return_inverse=True
    )
    combination = combination.ravel().astype(np.int64)
    order = np.lexsort((generator.permutation(len(number)), combination, number))
    totals = np.bincount(values.codes, counts, values.size).astype(np.int64)
    shapes = tuple(_shapes(order, number, combination, of, values.codes, counts))
    return PublishedTables(
        names, sensitive, values.values, combination, tuple(combinations.T.astype(np.int64)), number, totals, shapes
    )


def _part(shape: Shape, chosen: Any) -> Shape | None:
    kept = chosen[shape.rows[:, 0]]
    if not kept.any():
        return None
    there, kind = np.unique(shape.kind[kept], return_inverse=True)
    kind = kind.ravel().astype(np.int64)
    return replace(
        shape, combinations=shape.combinations[there], values=shape.values[there], times=np.bincount(kind), kind=kind,
        rows=shape.rows[kept],
    )  # fmt: skip


def _sensitive(secrets: pa.Table, sensitive: str | None, group: str, count: str) -> str:
    if sensitive is not None:
        return sensitive
    others = [name for name in secrets.column_names if name not in (group, count)]
    if len(others) != 1:
        raise ParameterError(
            f"{_WHO}: the sensitive table must have the columns {group!r}, {count!r} and one more. It has "
            f"{', '.join(secrets.column_names)}. Name them with sensitive=, group= and count=."
        )
    return str(others[0])


def _groups(people: pa.Table, secrets: pa.Table, group: str) -> tuple[Codes, Codes]:
    """The group of each tuple and of each row of the sensitive table, numbered from 0 alike in both."""
    as_text = [each.column(group).cast(pa.string()) for each in (people, secrets)]
    both = coded(pa.table({group: pa.chunked_array([*as_text[0].chunks, *as_text[1].chunks])}), group, _WHO)
    number, of = both.codes[: len(people)], both.codes[len(people) :]
    if len(np.unique(number)) != both.size or len(np.unique(of)) != both.size:
        raise TableError(f"{_WHO}: each group must be in both tables. Give the two tables of one release.")
    return number, of


def _counts(secrets: pa.Table, count: str) -> Codes:
    column = coded(secrets, count, _WHO)
    try:
        numbers = np.asarray(column.values.cast(pa.float64()))
    except pa.ArrowException:
        numbers = np.zeros(1)
    if not ((numbers >= 1) & (numbers == np.floor(numbers)) & (numbers < 2**53)).all():
        raise TableError(f"{_WHO}: column {count!r} must hold whole numbers, 1 at least. Leave rows of 0 out.")
    return numbers.astype(np.int64)[column.codes]


def _require_together(number: Codes, of: Codes, values: Codes, counts: Codes) -> None:
    if (np.bincount(of, counts) != np.bincount(number)).any():
        raise TableError(f"{_WHO}: the counts of each group must add up to its tuples. Give the tables of one release.")
    if len(np.unique(np.column_stack([of, values]), axis=0)) != len(of):
        raise TableError(f"{_WHO}: each value must stand once in its group, with its count. Add up its rows.")


def _shapes(
    order: Codes, number: Codes, combination: Codes, of: Codes, values: Codes, counts: Codes
) -> Iterator[Shape]:
    """Groups by their counts in descending order, the values of equal counts in ascending order."""
    listed = np.lexsort((values, -counts, of))
    sizes, distinct = np.bincount(number), np.bincount(of)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    listed_starts = np.concatenate([[0], np.cumsum(distinct)])
    for width in np.unique(distinct):
        here = np.flatnonzero(distinct == width)
        places = listed[listed_starts[here][:, None] + np.arange(width)]
        patterns, which = np.unique(counts[places], axis=0, return_inverse=True)
        for pattern, capacities in enumerate(patterns):
            chosen = which.ravel() == pattern
            rows = order[starts[here[chosen]][:, None] + np.arange(capacities.sum())]
            yield _shape(tuple(map(int, capacities)), rows, combination[rows], values[places[chosen]])


def _shape(counts: tuple[int, ...], rows: Codes, combinations: Codes, values: Codes) -> Shape:
    alike, kind, times = np.unique(np.hstack([combinations, values]), axis=0, return_inverse=True, return_counts=True)
    size = rows.shape[1]
    return Shape(counts, alike[:, :size], alike[:, size:], times, kind.ravel().astype(np.int64), rows)


def codes_of(truth: Any, tables: PublishedTables) -> Codes:
    """True values, one for each tuple in the order of the quasi-identifier table, as places among the published ones.

    Raises:
        TableError: A value is not among those of its tuple's group.
    """
    column = truth if isinstance(truth, pa.Array | pa.ChunkedArray) else pa.array(truth)
    if len(column) != tables.tuples:
        raise TableError(f"{_WHO}: the truth must have one value for each tuple. Got {len(column)} values.")
    given: Coded = coded(pa.table({"truth": column}), "truth", _WHO)
    place = {str(value): code for code, value in enumerate(tables.values.to_pylist())}
    codes = np.array([place.get(str(value), -1) for value in given.values.to_pylist()], np.int64)[given.codes]
    for shape in tables.shapes:
        true, told = np.sort(codes[shape.rows], axis=1), np.repeat(shape.values, shape.counts, axis=1)[shape.kind]
        if (true != np.sort(told, axis=1)).any():
            raise TableError(f"{_WHO}: the true values of each group must be those that were published for it.")
    return codes
