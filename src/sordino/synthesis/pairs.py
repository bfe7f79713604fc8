"""Two-way tables of coarse cells: how cells are merged, and what a noisy table says beyond a guess."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.repair.shrinkage import towards
from sordino.repair.simplex import on_simplex
from sordino.synthesis.cells import Cells, Floats, Integers

#: Rounds in which a table takes over its columns' own margins.
_ROUNDS = 10

_TINY = 1e-12


@dataclass(frozen=True)
class Pair:
    """Two columns with groups of their cells; once for each class, or once over all of them."""

    columns: tuple[int, int]
    groups: tuple[tuple[int, ...], tuple[int, ...]]
    classes: int = 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Classes, and groups of either column."""
        return self.classes, max(self.groups[0]) + 1, max(self.groups[1]) + 1

    @property
    def size(self) -> int:
        """How many cells the table has."""
        return int(np.prod(self.shape))

    def codes(self, classes: Integers, codes: Integers) -> Integers:
        """The table's cell of each row of the columns' own cells."""
        first, second = (np.array(each)[codes[:, place]] for each, place in zip(self.groups, self.columns, strict=True))
        _, rows, columns = self.shape
        cell: Integers = first * columns + second
        return cell if self.classes == 1 else cell + classes * (rows * columns)

    def agreeing(self, shares: Floats, margins: Any) -> Floats:
        """The nearest table with the columns' margins, ``margins[column][class][cell]``: by proportional fitting."""
        rows, columns = (self._merged(margins[place], side) for side, place in enumerate(self.columns))
        table = shares.reshape(self.shape) + _TINY
        for _ in range(_ROUNDS):
            table = table * (rows / np.maximum(table.sum(axis=2), _TINY**2))[:, :, np.newaxis]
            table = table * (columns / np.maximum(table.sum(axis=1), _TINY**2))[:, np.newaxis, :]
        fitted: Floats = table.ravel()
        return fitted

    def _merged(self, margin: Floats, side: int) -> Floats:
        fine = margin if self.classes > 1 else margin.sum(axis=0, keepdims=True)
        merged = np.zeros((len(fine), self.shape[1 + side]))
        np.add.at(merged.T, np.array(self.groups[side]), fine.T)
        return merged


def pairs_of(columns: int) -> list[tuple[int, int]]:
    """Every pair of columns."""
    return list(itertools.combinations(range(columns), 2))


def coarse(cells: Cells, mass: Floats, wished: int) -> tuple[int, ...]:
    """A group for each cell: runs of nearly equal mass, or the most frequent categories and one group of the rest."""
    if len(mass) <= wished:
        return tuple(range(len(mass)))
    if not cells.ordered:
        ranks = np.argsort(np.argsort(-mass, kind="stable"), kind="stable")
        return _numbered(np.minimum(ranks, wished - 1))
    present = mass[:-1] if cells.optional else mass
    apart = bool(cells.optional and mass[-1] > 0)
    parts = wished - apart
    middles = (np.cumsum(present) - present / 2) / max(float(present.sum()), _TINY)
    runs = np.minimum((middles * parts).astype(np.int64), parts - 1)
    if cells.optional:
        runs = np.append(runs, parts if apart else runs[0])
    return _numbered(runs)


def _numbered(groups: Integers) -> tuple[int, ...]:
    return tuple(int(group) for group in np.unique(groups, return_inverse=True)[1])


def beyond(guess: Floats, counts: Floats, variance: float) -> Floats:
    """Noisy counts, pulled towards the guess by as much as the noise explains; then on the simplex of the guess.

    One factor of James and Stein's for the whole table.
    """
    return on_simplex(towards(counts, guess, variance)[0], guess.sum())
