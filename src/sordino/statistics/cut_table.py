"""Counts of the classes on either side of a released cut. Proof: ``docs/proofs/histogram.md``."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.domain import Domain, Neighbours
from sordino.statistics.hits import CutHits
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class CutTable(Statistic):
    """Two rows of class counts, up to the cut and above it, of one coordinate of a family of rules with one cut."""

    rules: CutHits
    coordinate: int
    unit = 1
    largest_entry = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the rules."""
        return self.rules.columns

    @property
    def size(self) -> int:
        """A count per class, side and cut."""
        return self.rules.inner_size // self.rules.coordinates

    def record_maps(self, batch: Batch) -> Integers:
        """A one in the record's cell."""
        return self.rules.record_maps(batch)[:, self._cells]

    def block_total(self, batch: Batch) -> Integers:
        """Counts per cell."""
        return self.rules.block_total(batch)[self._cells]

    @property
    def _cells(self) -> slice:
        return slice(self.coordinate * self.size, (self.coordinate + 1) * self.size)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One cell, or two."""
        moves = 1 if neighbours == "add-remove" else 2
        return Sensitivity(moves, moves)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """Two corners, of two classes."""
        return self.rules.witness(domain, neighbours, norm)

    @property
    def description(self) -> str:
        """In words."""
        return f"counts of {self.rules.classes.column} on both sides of a cut"
