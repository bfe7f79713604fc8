"""Any additive statistic, once per class, public cell of a column or component. Proof: ``docs/proofs/by-class.md``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.histograms import Axis
from sordino.statistics.labels import ComponentLabels
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.table.clipping import Batch, ChosenRows, Integers


@dataclass(frozen=True)
class ByClass(Statistic):
    """One vector indexed by class: a record touches its own class's block only."""

    inner: Statistic
    classes: Axis | ComponentLabels

    def __post_init__(self) -> None:
        if self.inner.inner_size != self.inner.size:
            raise ParameterError(f"by class: {self.inner.description} is not a sum over records.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The inner columns and the class."""
        reads = self.classes.columns if isinstance(self.classes, ComponentLabels) else (self.classes.column,)
        return tuple(dict.fromkeys((*self.inner.columns, *reads)))

    @property
    def size(self) -> int:
        """A block per class."""
        return self.classes.cells * self.inner.size

    @property
    def unit(self) -> int:
        """As the inner one."""
        return self.inner.unit

    @property
    def largest_entry(self) -> int:
        """As the inner one."""
        return self.inner.largest_entry

    @property
    def weights(self) -> tuple[int, ...] | None:
        """The inner weights, per class."""
        return None if self.inner.weights is None else self.inner.weights * self.classes.cells

    def record_maps(self, batch: Batch) -> Integers:
        """The inner map in the record's block; zero for a record without a class."""
        codes = self.classes.codes(batch)
        maps = np.zeros((len(batch), self.classes.cells, self.inner.size), dtype=np.int64)
        placed = np.flatnonzero(codes >= 0)
        maps[placed, codes[placed]] = self.inner.record_maps(batch)[placed]
        return maps.reshape(len(batch), self.size)

    def block_total(self, batch: Batch) -> Integers:
        """The inner total of each class's records."""
        codes = self.classes.codes(batch)
        totals = [
            self.inner.block_total(ChosenRows(batch, np.flatnonzero(codes == code)))
            for code in range(self.classes.cells)
        ]
        return np.concatenate(totals)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Under substitute either the class stays, or one block loses a record and another gains one."""
        one = self.inner.sensitivity("add-remove")
        if neighbours == "add-remove":
            return one
        if self.classes.cells == 1:  # no other class, but a record without a class may take its place
            same = self.inner.sensitivity("substitute")
            return Sensitivity(max(same.l1, one.l1), max(same.l2_squared, one.l2_squared))
        same, moved = self.inner.sensitivity("substitute"), one.times(2)
        return Sensitivity(max(same.l1, moved.l1), max(same.l2_squared, moved.l2_squared))

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The inner witness; with its label changed where that moves more."""
        ends = tuple(self.classes.example(domain, cell) for cell in (0, self.classes.cells - 1))
        record, _ = self.inner.witness(domain, "add-remove", norm)
        first = {**record, self.classes.column: ends[0]}
        if neighbours == "add-remove":
            return first, None
        same, one = self.inner.sensitivity("substitute"), self.inner.sensitivity("add-remove")
        moves = (same.l1, 2 * one.l1) if norm == "l1" else (same.l2_squared, 2 * one.l2_squared)
        if self.classes.cells > 1 and moves[1] >= moves[0]:
            return first, {**record, self.classes.column: ends[1]}
        if one.l1 > same.l1:  # one class, and an inner statistic that no substitution moves
            return first, {**record, self.classes.column: None}
        left, right = self.inner.witness(domain, "substitute", norm)
        return {**left, self.classes.column: ends[0]}, {**(right or {}), self.classes.column: ends[0]}

    def coarser(self) -> ByClass | None:
        """The same blocks on a coarser grid."""
        inner = self.inner.coarser()
        return None if inner is None else replace(self, inner=inner)

    @property
    def description(self) -> str:
        """In words."""
        return f"{self.inner.description}, by {self.classes.column}"
