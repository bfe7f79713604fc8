"""What a table synthesiser knows, made of releases alone; and rows of cells drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.domain import Column
from sordino.statistics.histograms import Axis, MergedAxis
from sordino.synthesis.cells import Cells, Floats, Integers
from sordino.synthesis.copula import Copula, Drawn
from sordino.synthesis.pairs import Pair, beyond
from sordino.synthesis.raking import raked, resampled

#: Rows of the pool that tables are compared with and rows are taken from, and the public seed it is drawn with.
_POOL_ROWS = (5_000, 200_000)
_POOL_SEED = 0

#: The place in a cell moves by up to half of this when a row of the pool is taken.
_NEARBY = 0.5

#: The pool is ordered by so many directions, each but the last cut into as many parts.
_DIRECTIONS, _PARTS = 3, 4


@dataclass(frozen=True)
class Target:
    """A column whose cells, in groups, are the classes; ``shares`` says how often each cell is in its class."""

    cells: Cells
    groups: tuple[int, ...]
    shares: Floats

    @property
    def axis(self) -> Axis:
        """The classes as an axis."""
        return MergedAxis(self.cells.inner, self.groups) if self.cells.ordered else self.cells.inner

    @property
    def classes(self) -> int:
        """How many there are."""
        return max(self.groups) + 1

    def draw(self, classes: Integers, generator: np.random.Generator) -> Integers:
        """A cell for each class."""
        groups, drawn = np.array(self.groups), np.empty(len(classes), dtype=np.int64)
        for label in range(self.classes):
            places, shares = np.flatnonzero(groups == label), self.shares[groups == label]
            rows = np.flatnonzero(classes == label)
            likely = shares / shares.sum() if shares.sum() > 0 else np.full(len(places), 1 / len(places))
            drawn[rows] = generator.choice(places, size=len(rows), p=likely)
        return drawn


@dataclass(frozen=True)
class Table:
    """Noisy counts of a pair of columns, and the variance of the noise in each."""

    pair: Pair
    counts: Floats
    variance: float


@dataclass(frozen=True)
class Learned:
    """The columns other than the target, how their cells come together, and tables that say more."""

    target: Target | None
    columns: tuple[Cells, ...]
    copula: Copula
    tables: tuple[Table, ...] = ()

    @property
    def rows(self) -> float:
        """How many records there are, as far as is known."""
        return float(self.copula.totals.sum())

    def pool(self) -> Drawn:
        """Rows of the copula, with a public seed."""
        size = int(np.clip(4 * self.rows, *_POOL_ROWS))
        return self.copula.draw(size, np.random.default_rng(_POOL_SEED))

    def to_dict(self) -> dict[str, Any]:
        """Plain values and arrays; what was declared is kept apart."""
        copula, target = self.copula, self.target
        return {
            "target": None if target is None else _target_to_dict(target),
            "columns": [[each.column, list(each.edges)] for each in self.columns],
            "margins": list(copula.margins),
            "orders": list(copula.orders),
            "totals": copula.totals,
            "correlation": copula.correlation,
            "tables": [
                [list(map(list, (each.pair.columns, *each.pair.groups))), each.pair.classes, each.counts, each.variance]
                for each in self.tables
            ],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], declared: Mapping[str, Column]) -> Learned:
        """What ``to_dict`` wrote."""
        margins, orders = tuple(document["margins"]), tuple(document["orders"])
        copula = Copula(margins, orders, document["totals"], document["correlation"])
        tables = (
            Table(Pair((pair[0], pair[1]), (tuple(first), tuple(second)), classes), counts, variance)
            for (pair, first, second), classes, counts, variance in document["tables"]
        )
        columns = tuple(Cells.with_edges(name, declared[name], edges) for name, edges in document["columns"])
        return cls(_target_from_dict(document["target"], declared), columns, copula, tuple(tables))


def _target_to_dict(target: Target) -> dict[str, Any]:
    return {
        "column": target.cells.column,
        "edges": list(target.cells.edges),
        "groups": list(target.groups),
        "shares": target.shares,
    }


def _target_from_dict(document: Mapping[str, Any] | None, declared: Mapping[str, Column]) -> Target | None:
    if document is None:
        return None
    name = document["column"]
    cells = Cells.with_edges(name, declared[name], document["edges"]).complete()
    return Target(cells, tuple(document["groups"]), document["shares"])


class Rows:
    """Rows of cells: straight from the copula, or from its pool with weights that agree with the tables."""

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self._pool: Drawn | None = None
        if learned.tables:
            self._pool = _side_by_side(learned, learned.pool())
            self._weights = _weights(learned, *self._pool[:2])

    def draw(self, size: int, generator: np.random.Generator) -> Drawn:
        """Rows in random order."""
        if self._pool is None:
            classes, codes, within = self._learned.copula.draw(size, generator)
            chosen = generator.permutation(size)
            return classes[chosen], codes[chosen], within[chosen]
        classes, codes, within = self._pool
        chosen = resampled(self._weights, size, generator)
        return classes[chosen], codes[chosen], _nearby(within[chosen], generator)


def _side_by_side(learned: Learned, pool: Drawn) -> Drawn:
    """The rows in an order that puts like ones together: then an even walk takes every sort as often as it should.

    By class, then by the directions in which the latent variables vary most.
    """
    classes, codes, within = pool
    scores = np.column_stack([each[classes, codes[:, place]] for place, each in enumerate(learned.copula.scores())])
    _, directions = np.linalg.eigh(learned.copula.correlation)
    leading = (scores @ directions[:, ::-1][:, :_DIRECTIONS]).T
    parts = [np.argsort(np.argsort(each)) * _PARTS // len(each) for each in leading[:-1]]
    order = np.lexsort((leading[-1], *reversed(parts), classes))
    return classes[order], codes[order], within[order]


def _nearby(within: Floats, generator: np.random.Generator) -> Floats:
    """Places near these, as evenly spread as they are: a row of the pool that is taken twice is not the same row."""
    moved = within + _NEARBY * (generator.random(within.shape) - 0.5)
    back: Floats = 1 - np.abs(1 - np.abs(moved))
    return back


def _weights(learned: Learned, classes: Integers, codes: Integers) -> Floats:
    """The pool's weights: tables as far as they say more than the pool, each with its columns' own margins; margins."""
    shares = learned.copula.totals / learned.rows
    margins = [margin * shares[:, np.newaxis] for margin in learned.copula.margins]
    tables = []
    for table in learned.tables:
        cells = table.pair.codes(classes, codes)
        guess = np.asarray(np.bincount(cells, minlength=table.pair.size) * (learned.rows / len(cells)), float)
        repaired = beyond(guess, table.counts, table.variance) / learned.rows
        tables.append((cells, table.pair.agreeing(repaired, margins)))
    for place, margin in enumerate(margins):
        tables.append((classes * margin.shape[1] + codes[:, place], margin.ravel()))
    return raked(tables, len(classes))
