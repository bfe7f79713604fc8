"""Sums of squares of the coordinates of a vector map: the diagonal of the second moments alone.

Proof: ``docs/proofs/second-moment.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.statistics.vectors import VectorMap
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class Squares(Statistic):
    """The sum of the squared coordinates of the records' vectors."""

    of: VectorMap

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the vector is made of."""
        return self.of.reads

    @property
    def size(self) -> int:
        """One per coordinate."""
        return len(self.of.columns)

    @property
    def unit(self) -> int:
        """Products of two grid numbers."""
        return self.of.steps**2

    @property
    def largest_entry(self) -> int:
        """No square exceeds the squared grid."""
        return self.of.steps**2

    def record_maps(self, batch: Batch) -> Integers:
        """Squares of the coordinates."""
        return self.of.vectors(batch)[0].astype(np.int64) ** 2

    def block_total(self, batch: Batch) -> Integers:
        """Exact in floats: every partial sum stays below 2^53."""
        vectors = self.of.vectors(batch)[0]
        total: Integers = np.einsum("ij,ij->j", vectors, vectors).astype(np.int64)
        return total

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """In a ball the squares of one record add up to at most one unit; in a box each is at most one."""
        if not self.of.in_ball:
            return Sensitivity(self.size * self.unit, self.size * self.unit**2)
        moves = 1 if neighbours == "add-remove" or self.size == 1 else 2
        return Sensitivity(moves * self.unit, moves * self.unit**2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """A corner of the box and its middle; in the ball one axis, and another."""
        place = np.ones(self.size)
        if self.of.in_ball:
            place[1:] = 0
        other = place[::-1] if self.of.in_ball and self.size > 1 else 0 * place
        first = self.of.record_at(domain, place)
        return first, None if neighbours == "add-remove" else self.of.record_at(domain, other)

    def coarser(self) -> Squares | None:
        """The same sums on a coarser grid."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"squares of {self.of.description}"
