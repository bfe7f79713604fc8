"""One unit per record and column, split between places on its interval. Proof: ``docs/proofs/unit-split.md``.

With h in [0, 1] the position of a value in its interval, degree 1 splits the unit into (1-h, h), degree 2 into
((1-h)^2, 2h(1-h), h^2). The parts are never negative and add up to one, so count, sum and sum of squares
together move by one unit in L1 when a record comes or goes: the same as the count alone. Asking for the three
separately would cost three times as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.statistics.statistic import GRID_STEPS, Norm, Record, Sensitivity, Statistic, unit_record
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class UnitSplit(Statistic):
    """Per column, the split unit summed over the records; parts run from the low end to the high end.

    ``width`` grid steps make the interval. A record with a missing cell in any of the columns contributes zero.
    """

    reads: tuple[str, ...]
    degree: Literal[1, 2] = 1
    width: int = GRID_STEPS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose intervals are split."""
        return self.reads

    @property
    def size(self) -> int:
        """degree + 1 parts per column."""
        return len(self.columns) * (self.degree + 1)

    @property
    def unit(self) -> int:
        """The whole unit in grid steps."""
        return int(self.width**self.degree)

    @property
    def largest_entry(self) -> int:
        """A part is at most the unit."""
        return self.unit

    def record_maps(self, batch: Batch) -> Integers:
        """The parts, in integers that add up to the unit exactly."""
        grid, whole = batch.on_grid(self.columns, self.width // 2)
        high = grid.astype(np.int64) + self.width // 2
        low = self.width - high
        parts = (low, high) if self.degree == 1 else (low * low, 2 * low * high, high * high)
        maps = np.stack(parts, axis=2)
        if whole is not None:
            maps[~whole] = 0
        return maps.reshape(len(batch), self.size)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One unit per column; moved from one end to the other under substitute."""
        moves = len(self.columns) * (1 if neighbours == "add-remove" else 2)
        return Sensitivity(moves * self.unit, moves * self.unit**2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The low end, and the high end."""
        low = unit_record(domain, self.columns, -1)
        return low, None if neighbours == "add-remove" else unit_record(domain, self.columns, 1)

    def coarser(self) -> UnitSplit | None:
        """The same split on a coarser grid."""
        return replace(self, width=self.width // 2) if self.width > 2**4 else None

    @property
    def description(self) -> str:
        """In words."""
        asked = "size and sum" if self.degree == 1 else "size, sum and sum of squares"
        return f"{asked} of {', '.join(self.columns)}, split in units"
