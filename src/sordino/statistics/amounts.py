"""Sums of columns in their own units, anchored at zero. Proof: ``docs/proofs/sum.md``.

A record adds its value, clipped to the declared bounds; a missing cell adds nothing to its column. One unit is
the larger of the two bounds in size, so no count is needed to turn the total into a sum. ``gaps`` says in which
columns a cell can be missing: not where the domain replaces it or declares that there is none. The grid is fine
(2^40 steps), for nothing is multiplied and the roundings of many records add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class Amounts(Statistic):
    """The sum of each column, in grid steps of its larger bound."""

    reads: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    gaps: tuple[bool, ...] = ()
    steps: int = 2**40

    def __post_init__(self) -> None:
        if not self.gaps:
            object.__setattr__(self, "gaps", (True,) * len(self.reads))

    @property
    def columns(self) -> tuple[str, ...]:
        """The summed columns."""
        return self.reads

    @classmethod
    def of(cls, domain: Domain, columns: tuple[str, ...]) -> Amounts:
        """The sums of declared columns."""
        declared = [domain.real(name) for name in columns]
        bounds = tuple((column.low, column.high) for column in declared)
        return cls(columns, bounds, tuple(column.missing == "drop" for column in declared))

    @property
    def size(self) -> int:
        """One per column."""
        return len(self.columns)

    @property
    def unit(self) -> int:
        """The larger bound of a column."""
        return self.steps

    @property
    def largest_entry(self) -> int:
        """No value exceeds the larger bound."""
        return self.steps

    @property
    def largest_bounds(self) -> tuple[float, ...]:
        """What one unit is worth in each column."""
        return tuple(max(abs(low), abs(high)) for low, high in self.bounds)

    def record_maps(self, batch: Batch) -> Integers:
        """The clipped values on the grid."""
        maps = np.zeros((len(batch), self.size), dtype=np.int64)
        for position, (name, largest) in enumerate(zip(self.columns, self.largest_bounds, strict=True)):
            values = batch.numbers(name)
            present = np.flatnonzero(~np.isnan(values))
            maps[present, position] = np.rint(values[present] * (self.steps / largest))
        return maps

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """The larger end of each column on the grid; under substitute the interval, or up to a missing cell."""
        moves = [self._moves(position, neighbours) for position in range(self.size)]
        return Sensitivity(sum(moves), sum(move * move for move in moves))

    def _moves(self, position: int, neighbours: Neighbours) -> int:
        low, high = self._ends(position)
        alone = max(abs(low), abs(high))
        if neighbours == "add-remove":
            return alone
        return max(alone, high - low) if self.gaps[position] else high - low

    def _ends(self, position: int) -> tuple[int, int]:
        factor = self.steps / self.largest_bounds[position]
        low, high = self.bounds[position]
        return int(np.rint(low * factor)), int(np.rint(high * factor))

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The larger end of each column; in place of the other end, or of a missing cell if that is farther."""
        far: dict[str, float | str | int | bool | None] = {}
        near: dict[str, float | str | int | bool | None] = {}
        for position, name in enumerate(self.columns):
            shorter, longer = sorted(self.bounds[position], key=abs)
            grid = self._ends(position)
            far[name] = longer
            crossed = grid[1] - grid[0] >= max(map(abs, grid))
            near[name] = shorter if crossed or not self.gaps[position] else None
        return far, None if neighbours == "add-remove" else near

    def coarser(self) -> Amounts | None:
        """The same sums on a coarser grid."""
        return replace(self, steps=self.steps // 2) if self.steps > 2**4 else None

    @property
    def description(self) -> str:
        """In words."""
        return f"sum of {', '.join(self.columns)}"
