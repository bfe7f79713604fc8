"""Search for the record, or the pair of records, that moves a statistic furthest; compared in exact integers.

Because a total is the sum of its records' maps, and a map depends on its record alone (both are checked in
``audit/laws.py``), the supremum over neighbouring tables is one over records, and records can be searched: the
statistic's own witness, corners, unit vectors, random places, then moves of one column at a time. A direct
statistic is searched over whole tables: everybody at one end, half at either end, and the pair on top of them.
The search is the second opinion; the first is the proof.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sordino.audit.laws import broken_laws
from sordino.audit.verdict import AuditReport
from sordino.domain import Category, Domain, Neighbours, Real
from sordino.errors import ParameterError
from sordino.statistics.choice import ChoiceScores
from sordino.statistics.histograms import Axis, BinAxis, CategoryAxis, Histograms, MergedAxis, MissingAxis
from sordino.statistics.ranks import RankScores
from sordino.statistics.scores import Scores
from sordino.statistics.statistic import Norm, Record, Statistic
from sordino.table.clipping import ClippedBatch
from sordino.table.source import ArrowBlock

Rows = np.ndarray[Any, np.dtype[np.float64]]
Maps = np.ndarray[Any, np.dtype[np.int64]]
Measure = Literal["l1", "l2", "largest"]

#: A declared bound that the search does not reach to this share is called loose.
ATTAINED = 0.99

_RANDOM_PLACES, _STARTS, _ROUNDS = 64, 7, 6


@dataclass(frozen=True)
class Finding:
    """The largest change of one kind, beside the declared one; squared for L2."""

    neighbours: Neighbours
    measure: Measure
    declared: int
    found: int
    witness: tuple[Record, Record | None]

    @property
    def ratio(self) -> float:
        """Found over declared; the root of it for squares."""
        share = self.found / self.declared if self.declared else float(self.found > 0)
        return float(share**0.5) if self.measure == "l2" else float(share)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"neighbours": self.neighbours, "norm": self.measure, "declared": self.declared, "found": self.found,
                "ratio": self.ratio, "witness": [each and dict(each) for each in self.witness]}  # fmt: skip


def audit_sensitivity(
    statistic: Statistic, domain: Domain | None = None, *, seconds: float = 1.0, random_state: int = 0
) -> AuditReport:
    """Search for a counter-example to every sensitivity that a statistic declares, and check its laws.

    >>> from sordino.statistics.sums import Sum
    >>> from sordino.statistics.vectors import Box
    >>> audit_sensitivity(Sum(Box(("age", "bmi")))).evidence["ratio"]
    1.0
    """
    made = domain or usual_domain(statistic)
    findings = list(search(statistic, made, seconds, np.random.default_rng(random_state)))
    laws = broken_laws(statistic, made)
    complaints = [
        f"{each.neighbours}, {each.measure}: found {each.found}, declared {each.declared}"
        for each in findings
        if each.found > each.declared
    ]
    complaints += laws
    worst = max(findings, key=lambda each: each.ratio)
    least = min(findings, key=lambda each: each.ratio)
    evidence = {"found": worst.found, "declared": worst.declared, "ratio": worst.ratio, "least_ratio": least.ratio,
                "witness": worst.to_dict()["witness"], "laws": {"kept": not laws, "broken": laws},
                "findings": [each.to_dict() for each in findings]}  # fmt: skip
    name = statistic.description
    if complaints:
        return AuditReport("sensitivity", name, "violated", f"{complaints[0]}.", tuple(complaints), evidence)
    loose = [f"{each.neighbours} {each.measure}" for each in findings if each.ratio < ATTAINED]
    tight = f"; not attained within 1 % for {', '.join(loose)}" if loose else "; each bound is attained within 1 %"
    sentence = f"No record or pair was found that moves the {name} farther than declared{tight}."
    return AuditReport("sensitivity", name, "not violated at this power", sentence, (), evidence)


def usual_domain(statistic: Statistic) -> Domain:
    """A made-up domain for a statistic that names its columns: reals in [-1, 1], categories as its axes count them."""
    columns: dict[str, Real | Category] = {name: Real(-1, 1) for name in statistic.columns}
    for axis in _axes(statistic):
        if isinstance(axis, CategoryAxis):
            columns[axis.column] = Category([f"value {cell}" for cell in range(axis.cells)])
        else:
            columns[axis.column] = Real(axis.edges[0], axis.edges[-1])
    bounds = getattr(statistic, "bounds", None)
    if bounds is not None:
        gaps = getattr(statistic, "gaps", (True,) * len(bounds))
        for name, (low, high), gap in zip(statistic.columns, bounds, gaps, strict=True):
            columns[name] = Real(low, high, missing="drop" if gap else low)
    if isinstance(statistic, RankScores):
        columns[statistic.column] = Real(statistic.candidates[0] - 1, statistic.candidates[-1] + 1)
    return Domain(columns or {"anything": Real(-1, 1)})


def _axes(statistic: Statistic) -> Iterator[CategoryAxis | BinAxis]:
    """Every axis that a statistic is made of, wherever it keeps it."""
    for part in (statistic, getattr(statistic, "inner", None), getattr(statistic, "counts", None)):
        if isinstance(part, Histograms):
            yield from (_unmerged(axis) for table in part.tables for axis in table)
        scores = getattr(part, "of", None)
        if isinstance(scores, Scores):
            yield from map(_unmerged, scores.axes)
            yield from () if scores.by is None else (_unmerged(scores.by),)
    classes = getattr(statistic, "classes", None)
    if isinstance(classes, CategoryAxis):
        yield classes


def _unmerged(axis: Axis) -> CategoryAxis | BinAxis:
    if isinstance(axis, MergedAxis | MissingAxis):
        return _unmerged(axis.inner)
    return axis


def search(statistic: Statistic, domain: Domain, seconds: float, generator: np.random.Generator) -> Iterator[Finding]:
    """One finding per relation and norm that the statistic declares."""
    relations: tuple[Neighbours, ...] = ("add-remove", "substitute")
    for neighbours in relations:
        if isinstance(statistic, ChoiceScores):
            yield _search_tables(statistic, domain, neighbours, "largest", generator)
        elif statistic.inner_size != statistic.size or hasattr(statistic, "rows"):
            if neighbours == "substitute" or not hasattr(statistic, "rows"):
                for measure in ("l1", "l2"):
                    yield _search_tables(statistic, domain, neighbours, measure, generator)
        else:
            for norm in ("l1", "l2"):
                yield _Search(statistic, domain, neighbours, norm, seconds, generator).finding()


class RecordSpace:
    """Records as rows of numbers: values of real columns, positions in the list for categories, NaN for missing."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.names = tuple(domain.columns)
        self.reals = [place for place, name in enumerate(self.names) if isinstance(domain[name], Real)]
        self.categories = [place for place in range(len(self.names)) if place not in self.reals]

    def maps(self, statistic: Statistic, rows: Rows) -> Maps:
        """The record maps of made-up records, in one batch."""
        return statistic.record_maps(ClippedBatch(self.domain, ArrowBlock(self.table(rows))))

    def table(self, rows: Rows) -> pa.RecordBatch:
        """The records as a batch of Arrow columns."""
        columns = []
        for place, name in enumerate(self.names):
            declared = self.domain[name]
            if isinstance(declared, Real):
                columns.append(pa.array(np.ascontiguousarray(rows[:, place])))
                continue
            missing = np.isnan(rows[:, place])
            codes = pa.array(np.where(missing, 0, rows[:, place]).astype(np.int32), mask=missing)
            columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(list(declared.values))))
        return pa.RecordBatch.from_arrays(columns, names=list(self.names))

    def record(self, row: Rows) -> Record:
        """A row as a person would write it."""
        return {name: self._cell(name, float(value)) for name, value in zip(self.names, row, strict=True)}

    def _cell(self, name: str, value: float) -> Any:
        declared = self.domain[name]
        if np.isnan(value):
            return None
        return declared.values[int(value)] if isinstance(declared, Category) else value

    def rows(self, records: Sequence[Record]) -> Rows:
        """The rows of given records; the first category and the middle where a column is not mentioned."""
        rows = np.tile(self.middle(), (len(records), 1))
        for row, record in zip(rows, records, strict=True):
            for place, name in enumerate(self.names):
                if name in record:
                    row[place] = self._number(self.domain[name], record[name])
        return rows

    @staticmethod
    def _number(declared: Real | Category, cell: Any) -> float:
        if cell is None:
            return float("nan")
        return float(declared.values.index(cell)) if isinstance(declared, Category) else float(cell)

    def middle(self) -> Rows:
        """The record in the middle of every interval, in the first category."""
        row = np.zeros(len(self.names))
        for place in self.reals:
            row[place] = self.domain.real(self.names[place]).middle
        return row

    def at(self, places: Rows) -> Rows:
        """Records at places in [-1, 1] of the real columns."""
        rows = np.tile(self.middle(), (len(places), 1))
        halves = np.array([self.domain.real(self.names[place]).half_width for place in self.reals])
        rows[:, self.reals] += places * halves
        return rows

    def candidates(self, generator: np.random.Generator) -> Rows:
        """Corners, unit vectors, the interior points that proofs name, random places; every category; missing cells."""
        width = len(self.reals)
        half = np.where(np.arange(width) < width // 2, -1.0, 1.0)
        places = [np.ones(width), -np.ones(width), np.zeros(width), half, np.full(width, -1 / (width + 1))]
        places += [*np.eye(width), *generator.integers(-1, 2, size=(_RANDOM_PLACES, width))]
        directions = generator.normal(size=(_RANDOM_PLACES // 2, width))
        places += list(directions / np.maximum(1e-12, np.linalg.norm(directions, axis=1, keepdims=True)))
        rows = np.vstack([self.at(np.array(places)) for _ in range(2)])
        for place in self.categories:
            cells = len(self.domain.category(self.names[place]))
            rows[:, place] = generator.integers(0, cells, size=len(rows))
            rows[: len(places), place] = np.arange(len(places)) % 2 * (cells - 1)
        return np.vstack([rows, np.full((1, len(self.names)), np.nan)])

    def moves(self, row: Rows) -> Rows:
        """The row itself, every change of one column, and changes of all real columns at once."""
        moved = [row]
        for place in self.categories:
            for cell in [*range(len(self.domain.category(self.names[place]))), np.nan]:
                moved.append(_with(row, place, cell))
        for place in self.reals:
            declared = self.domain.real(self.names[place])
            here = row[place] if np.isfinite(row[place]) else declared.middle
            steps = [declared.low, declared.middle, declared.high, 2 * declared.middle - here, np.nan]
            steps += [here + share * declared.half_width for share in (0.5, -0.5, 0.1, -0.1, 0.02, -0.02)]
            moved.extend(_with(row, place, step) for step in steps)
        return np.array(moved)


class _Search:
    """Ascent for one relation and norm: for a fixed direction in the space of maps the two records separate."""

    def __init__(
        self, statistic: Statistic, domain: Domain, neighbours: Neighbours, norm: Norm, seconds: float,
        generator: np.random.Generator,
    ) -> None:  # fmt: skip
        self.statistic, self.neighbours, self.norm = statistic, neighbours, norm
        self.space, self.deadline = RecordSpace(domain), time.monotonic() + seconds
        own = [record for record in statistic.witness(domain, neighbours, norm) if record is not None]
        self.candidates = np.vstack([self.space.rows(own), self.space.candidates(generator)])
        self.maps = self.space.maps(statistic, self.candidates)
        self.weights = np.array(statistic.weights or (1,) * statistic.size)

    def finding(self) -> Finding:
        """The largest change found before the time is up."""
        best: tuple[int, Any, Any] = (-1, None, None)
        for first, second in self._starts():
            best = max(best, self._ascend(first, second), key=lambda each: each[0])
            if time.monotonic() > self.deadline:
                break
        found, first_row, second_row = best
        sensitivity = self.statistic.sensitivity(self.neighbours)
        declared = sensitivity.l1 if self.norm == "l1" else sensitivity.l2_squared
        witness = (self.space.record(first_row), None if second_row is None else self.space.record(second_row))
        return Finding(self.neighbours, self.norm, declared, found, witness)

    def _starts(self) -> list[tuple[int, int | None]]:
        sizes = self._sizes(self.maps)
        if self.neighbours == "add-remove":
            return [(int(index), None) for index in np.argsort(-sizes)[:_STARTS]]
        pairs = []
        for first in range(len(self.maps)):
            distances = self._sizes(self.maps - self.maps[first])
            second = int(np.argmax(distances))
            pairs.append((float(distances[second]), first, second))
        return [(first, second) for _, first, second in sorted(pairs, reverse=True)[: 2 * _STARTS : 2]]

    def _sizes(self, moves: Maps) -> Rows:
        floats = moves.astype(float)
        sizes: Rows = np.abs(floats).sum(axis=1) if self.norm == "l1" else (floats**2 * self.weights).sum(axis=1)
        return sizes

    def _ascend(self, first: int, second: int | None) -> tuple[int, Any, Any]:
        row, map_ = self.candidates[first], self.maps[first]
        other = None if second is None else self.candidates[second]
        other_map = np.zeros_like(map_) if second is None else self.maps[second]
        reached = self._exact(map_, other_map)
        for _ in range(_ROUNDS):
            difference = (map_ - other_map).astype(float)
            slope = np.sign(difference) if self.norm == "l1" else difference * self.weights
            row, map_ = self._step(row, slope)
            if other is not None:
                other, other_map = self._step(other, -slope)
            now = self._exact(map_, other_map)
            if now <= reached or time.monotonic() > self.deadline:
                break
            reached = now
        return max(reached, self._exact(map_, other_map)), row, other

    def _step(self, row: Rows, slope: Rows) -> tuple[Rows, Maps]:
        moves = self.space.moves(row)
        maps = self.space.maps(self.statistic, moves)
        best = int(np.argmax(maps.astype(float) @ slope))
        return moves[best], maps[best]

    def _exact(self, first: Maps, second: Maps) -> int:
        return exact_size(first.tolist(), second.tolist(), self.norm, self.statistic.weights)


def exact_size(first: Sequence[int], second: Sequence[int], measure: Measure, weights: Sequence[int] | None) -> int:
    """The size of a difference in Python's integers; squared for L2."""
    moves = [abs(a - b) for a, b in zip(first, second, strict=True)]
    if measure == "largest":
        return max(moves)
    if measure == "l1":
        return sum(moves)
    return sum(weight * move * move for weight, move in zip(weights or (1,) * len(moves), moves, strict=True))


def _search_tables(
    statistic: Statistic, domain: Domain, neighbours: Neighbours, measure: Measure, generator: np.random.Generator
) -> Finding:
    """A direct statistic: pairs of records on top of tables whose other records stand at the ends or the middle."""
    space = RecordSpace(domain)
    own = [record for record in statistic.witness(domain, neighbours, "l1") if record is not None]
    rows = np.vstack([space.rows(own), space.candidates(generator)[:24]])
    maps = [tuple(each) for each in space.maps(statistic, rows).tolist()]
    others = int(getattr(statistic, "rows", 9)) - 1
    best: tuple[int, int, int | None] = (-1, 0, None)
    monotone = isinstance(statistic, ChoiceScores) and statistic.monotone(neighbours)
    for base in _bases(maps, others):
        finished = [statistic.finish(tuple(a + b for a, b in zip(base, each, strict=True))) for each in maps]
        alone = statistic.finish(base) if neighbours == "add-remove" else None
        for first in range(len(maps)):
            for second in [None] if alone is not None else range(first):
                against = (alone if second is None else finished[second]) or ()
                size = exact_size(finished[first], against, measure, statistic.weights)
                if monotone:  # then moves in both directions count for their sum
                    size = max(size, _spread(finished[first], against))
                best = max(best, (size, first, second), key=lambda each: each[0])
    found, index, other = best
    witness = (space.record(rows[index]), None if other is None else space.record(rows[other]))
    return Finding(neighbours, measure, _declared(statistic, neighbours, measure), found, witness)


def _spread(first: Sequence[int], second: Sequence[int]) -> int:
    """From the largest rise to the largest fall of a score."""
    moves = [a - b for a, b in zip(first, second, strict=True)]
    return max(0, *moves) - min(0, *moves)


def _bases(maps: Sequence[tuple[int, ...]], others: int) -> Iterator[tuple[int, ...]]:
    """Totals of the other records: all like one candidate, or half like one and half like another."""
    few = maps[:8]
    for first in few:
        for second in few:
            share = others // 2
            yield tuple((others - share) * a + share * b for a, b in zip(first, second, strict=True))


def _declared(statistic: Statistic, neighbours: Neighbours, measure: Measure) -> int:
    if isinstance(statistic, ChoiceScores):
        return statistic.score_sensitivity(neighbours)
    if measure == "largest":
        raise ParameterError("audit: the largest change of one number is declared for scores only.")
    sensitivity = statistic.sensitivity(neighbours)
    return sensitivity.l1 if measure == "l1" else sensitivity.l2_squared


def _with(row: Rows, place: int, value: float) -> Rows:
    changed = row.copy()
    changed[place] = value
    return changed
