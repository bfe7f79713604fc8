"""Sums of real columns, in a box or in a ball. Proof: ``docs/proofs/sum.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.statistics.vectors import VectorMap
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class Sum(Statistic):
    """The sum of the records' vectors; one unit is half of a column's interval, or the ball's radius."""

    of: VectorMap

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the vector is made of."""
        return self.of.reads

    @property
    def size(self) -> int:
        """One per column."""
        return len(self.of.columns)

    @property
    def unit(self) -> int:
        """The grid of the vectors."""
        return self.of.steps

    @property
    def largest_entry(self) -> int:
        """No coordinate exceeds the grid."""
        return self.of.steps

    def record_maps(self, batch: Batch) -> Integers:
        """The vectors themselves."""
        return self.of.vectors(batch)[0].astype(np.int64)

    def block_total(self, batch: Batch) -> Integers:
        """A product with ones, which is faster than a sum: exact, since every partial sum stays below 2^53."""
        vectors = self.of.vectors(batch)[0]
        total: Integers = (np.ones(len(vectors)) @ vectors).astype(np.int64)
        return total

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Size of one vector; twice that, from x to -x, under substitute."""
        moves = 1 if neighbours == "add-remove" else 2
        reach, dimension = moves * self.of.steps, self.size
        if self.of.in_ball:
            return Sensitivity(math.isqrt(dimension * reach * reach), reach * reach)
        return Sensitivity(dimension * reach, dimension * reach * reach)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The corner of the box, or an equal-sided or one-sided vector of the ball; and its opposite."""
        place = np.ones(self.size)
        if norm == "l2" and self.of.in_ball:
            place[1:] = 0
        first = self.of.record_at(domain, place)
        return first, None if neighbours == "add-remove" else self.of.record_at(domain, -place)

    def coarser(self) -> Sum | None:
        """The same sum on a coarser grid."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"sum of {self.of.description}"
