"""How far tables of counts are from public guesses: one distance per table. Proof: ``docs/proofs/misfits.md``.

The counts of all tables are added up; then each table's sum of absolute differences from its guess is the released
number. A record moves one count of each table by one, and so each distance by at most one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.histograms import Histograms
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class Misfits(Statistic):
    """The L1 distance of each table of ``counts`` from its part of the public ``guess``, whole numbers."""

    counts: Histograms
    guess: tuple[int, ...]
    unit = 1
    largest_entry = 1

    def __post_init__(self) -> None:
        if len(self.guess) != self.counts.size or not all(type(each) is int for each in self.guess):
            raise ParameterError(f"misfits: the guess must be {self.counts.size} whole numbers.")
        if min(self.counts.table_sizes) < 2:
            raise ParameterError("misfits: every table needs two or more cells.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the tables."""
        return self.counts.columns

    @property
    def size(self) -> int:
        """A distance per table."""
        return len(self.counts.tables)

    @property
    def inner_size(self) -> int:
        """The cells of all tables."""
        return self.counts.size

    def record_maps(self, batch: Batch) -> Integers:
        """A one in the record's cell of each table."""
        return self.counts.record_maps(batch)

    def block_total(self, batch: Batch) -> Integers:
        """Counts per cell."""
        return self.counts.block_total(batch)

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """The distances, in integers."""
        gaps = [abs(count - guess) for count, guess in zip(total, self.guess, strict=True)]
        ends = list(itertools.accumulate(self.counts.table_sizes))
        return tuple(sum(gaps[start:end]) for start, end in zip([0, *ends], ends, strict=False))

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Each distance moves by at most one; by two under substitute."""
        move = 1 if neighbours == "add-remove" else 2
        return Sensitivity(self.size * move, self.size * move * move)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """Those of the counts."""
        return self.counts.witness(domain, neighbours, norm)

    @property
    def description(self) -> str:
        """In words."""
        return f"distance of {self.size} tables from public guesses"


def guessed(tables: Histograms, expected: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Misfits:
    """The misfits of tables from expected counts, rounded to whole numbers."""
    return Misfits(tables, tuple(int(each) for each in np.rint(expected)))
