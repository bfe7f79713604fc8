"""A second opinion on declared sensitivities: search the records of a domain for the largest change.

Candidates are the declared witnesses, corners, unit vectors, random vertices and directions, and hostile cells;
then coordinate ascent. Maps are ranked in floats and the winners are compared in Python's integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from registry import Matrix, maps_of, rows_of
from sordino.domain import Domain, Neighbours, Real
from sordino.statistics.statistic import Norm, Sensitivity, Statistic

#: The largest change found must reach this share of the declared one.
ATTAINED = 0.99

#: Rounds of ascent from each start, and starts.
ROUNDS, STARTS = 6, 4

#: Cells that programmers forget; their maps must be those of clipped or of missing cells.
HOSTILE = (math.inf, -math.inf, 1e308, -1e308, math.nextafter(1, 2), 5e-324, -0.0)

Verdict = Literal["holds", "violated", "loose"]


@dataclass(frozen=True)
class Found:
    """The largest change of each norm, in exact integers; the L2 one squared, with the statistic's weights."""

    l1: int
    l2_squared: int

    def verdict(self, declared: Sensitivity) -> Verdict:
        """A change above the declared one is a violation, without tolerance."""
        if self.l1 > declared.l1 or self.l2_squared > declared.l2_squared:
            return "violated"
        attained = self.l1 >= ATTAINED * declared.l1 and self.l2_squared >= ATTAINED**2 * declared.l2_squared
        return "holds" if attained else "loose"


def change(maps: Matrix, others: Matrix, weights: tuple[int, ...] | None) -> Found:
    """The largest change between rows of maps, pair by pair, in exact integers."""
    l1 = l2_squared = 0
    for row, other in zip(maps.tolist(), others.tolist(), strict=True):
        moves = [a - b for a, b in zip(row, other, strict=True)]
        l1 = max(l1, sum(map(abs, moves)))
        l2_squared = max(
            l2_squared, sum(w * move * move for w, move in zip(weights or (1,) * len(moves), moves, strict=True))
        )
    return Found(l1, l2_squared)


def largest_change(
    statistic: Statistic, domain: Domain, neighbours: Neighbours, seed: int = 0, hints: bool = True
) -> Found:
    """The largest change that the search finds, for both norms; ``hints=False`` leaves the declared witness out."""
    search = _Search(statistic, domain, neighbours, np.random.default_rng(seed), hints)
    found = [search.best(norm) for norm in ("l1", "l2")]
    return Found(max(each.l1 for each in found), max(each.l2_squared for each in found))


class _Search:
    """Records as rows of floats, in the domain's order of columns, and their maps."""

    def __init__(
        self, statistic: Statistic, domain: Domain, neighbours: Neighbours, rng: np.random.Generator, hints: bool
    ) -> None:
        self.statistic, self.domain, self.neighbours, self.rng = statistic, domain, neighbours, rng
        names = tuple(domain.columns)
        self.read = [names.index(name) for name in statistic.columns] or [0]
        self.real = [place for place in self.read if isinstance(domain[names[place]], Real)]
        self.middles = np.array([domain.real(names[place]).middle for place in self.real])
        self.halves = np.array([domain.real(names[place]).half_width for place in self.real])
        self.options = {
            place: np.array([*domain.category(names[place]).values, np.nan], dtype=float)
            for place in self.read
            if place not in self.real
        }
        weights = statistic.weights
        self.roots = None if weights is None else np.sqrt(np.array(weights, dtype=float))
        self.rows = np.unique(self._candidates(names, hints), axis=0)
        self.maps = maps_of(statistic, domain, self.rows)

    def _candidates(self, names: tuple[str, ...], hints: bool) -> Matrix:
        d = len(self.real)
        half = np.where(np.arange(d) < d // 2, -1.0, 1.0)
        places = [np.ones(d), -np.ones(d), np.zeros(d), half, np.full(d, -1 / (d + 1)), *np.eye(d)]
        places += list(self.rng.integers(-1, 2, size=(64, d)))
        directions = self.rng.normal(size=(48, d))
        places += list(directions / np.maximum(1e-9, np.linalg.norm(directions, axis=1, keepdims=True)))
        rows = np.tile(rows_of(self.domain, [{}])[0], (2 * len(places), 1))
        rows[:, self.real] = self.middles + self.halves * np.tile(np.array(places), (2, 1))
        for place, values in self.options.items():
            rows[:, place] = self.rng.choice(values, size=len(rows))
            rows[: len(places), place] = self.rng.choice(values[[0, -2]], size=len(places))
        hostile = np.tile(rows[0], (len(HOSTILE), 1))
        hostile[:, self.real] = np.array(HOSTILE)[:, None]
        absent = np.full((1, len(names)), np.nan)
        return np.vstack([rows, hostile, absent, self._witnesses() if hints else absent])

    def _witnesses(self) -> Matrix:
        declared = [
            record
            for norm in ("l1", "l2")
            for record in self.statistic.witness(self.domain, self.neighbours, norm)
            if record is not None
        ]
        return rows_of(self.domain, declared)

    def best(self, norm: Norm) -> Found:
        """The largest change by one norm: the best candidates, then ascent from them."""
        distances = self._distances(norm)
        order = np.argsort(distances, axis=None)[::-1][: 4 * STARTS : 2]  # a pair and its mirror are one
        starts = [np.unravel_index(index, distances.shape) for index in order]
        found = [self._exact(self.maps[i], self._other(j)) for i, j in starts]
        found += [self._ascend(i, j, norm) for i, j in starts[:STARTS]]
        return Found(max(each.l1 for each in found), max(each.l2_squared for each in found))

    def _distances(self, norm: Norm) -> Matrix:
        maps = self.maps.astype(float)
        if norm == "l2" and self.roots is not None:
            maps = maps * self.roots
        others = maps if self.neighbours == "substitute" else np.zeros((1, maps.shape[1]))
        return cdist(maps, others, "cityblock" if norm == "l1" else "euclidean")

    def _other(self, index: int) -> Matrix:
        return self.maps[index] if self.neighbours == "substitute" else np.zeros_like(self.maps[0])

    def _exact(self, one: Matrix, other: Matrix) -> Found:
        return change(one[None], other[None], self.statistic.weights)

    def _ascend(self, i: int, j: int, norm: Norm) -> Found:
        """For a fixed direction in the space of maps the two records separate; the direction follows them."""
        row, other_row, one, other = self.rows[i], self.rows[j], self.maps[i], self._other(j)
        reached = self._exact(one, other)
        for _ in range(ROUNDS):
            difference = (one - other).astype(float)
            direction = np.sign(difference) if norm == "l1" else difference / max(1.0, np.abs(difference).max())
            if norm == "l2" and self.roots is not None:
                direction = direction * self.roots**2
            row, one = self._step(row, direction)
            if self.neighbours == "substitute":
                other_row, other = self._step(other_row, -direction)
            now = self._exact(one, other)
            if now.l1 <= reached.l1 and now.l2_squared <= reached.l2_squared:
                break
            reached = Found(max(now.l1, reached.l1), max(now.l2_squared, reached.l2_squared))
        return reached

    def _step(self, row: Matrix, direction: Matrix) -> tuple[Matrix, Matrix]:
        moves = self._moves(row)
        maps = maps_of(self.statistic, self.domain, moves)
        best = int(np.argmax(maps.astype(float) @ direction))
        return moves[best], maps[best]

    def _moves(self, row: Matrix) -> Matrix:
        """The row itself, every move of one column, and moves of all signs and of the whole length."""
        with np.errstate(over="ignore"):
            here = np.clip((row[self.real] - self.middles) / self.halves, -1, 1)
        filled = np.nan_to_num(here)
        targets = [np.full_like(here, target) for target in (-1.0, 0.0, 1.0, np.nan)]
        targets += [filled + step for step in (0.5, -0.5, 0.1, -0.1, 0.02, -0.02)] + [-filled]
        one_column = np.eye(len(here), dtype=bool)
        places = [here, *(place for target in targets for place in np.where(one_column, target, here))]
        places += [filled * factor for factor in (-1.0, 0.5, 0.9, 1.1, 2.0)]
        moves = np.tile(row, (len(places), 1))  # the first keeps a cell beyond its bounds
        moves[1:, self.real] = self.middles + self.halves * np.clip(places[1:], -1, 1)
        changed = [moves]
        for place, values in self.options.items():
            block = np.tile(row, (len(values), 1))
            block[:, place] = values
            changed.append(block)
        return np.vstack(changed)


def attained_by_witness(statistic: Statistic, domain: Domain, neighbours: Neighbours, norm: Norm) -> Found:
    """The change that the declared witness of one norm makes."""
    first, second = statistic.witness(domain, neighbours, norm)
    maps = maps_of(statistic, domain, rows_of(domain, [first]))
    others = np.zeros_like(maps) if second is None else maps_of(statistic, domain, rows_of(domain, [second]))
    return change(maps, others, statistic.weights)


__all__ = ["ATTAINED", "Found", "attained_by_witness", "change", "largest_change"]
