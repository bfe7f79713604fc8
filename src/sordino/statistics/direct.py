"""Direct answers when the number of rows is public: covariance and median as functions of the whole table.

Both are defined for ``substitute`` neighbours only. A record with a missing cell stands at the middle of the
box, so that n stays the declared number. Proofs: ``docs/proofs/direct-covariance.md`` and
``docs/proofs/direct-median.md``. (The direct mean is a ``Sum`` divided by n.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.moments import SecondMoment, triangle
from sordino.statistics.statistic import GRID_STEPS, Norm, Record, Sensitivity, Statistic, unit_record
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class DirectCovariance(Statistic):
    """n^2 times the covariance matrix (divisor n), as its upper triangle, in integers: n sum(xx') - sum(x) sum(x)'."""

    reads: tuple[str, ...]
    rows: int
    steps: int = GRID_STEPS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the matrix."""
        return self.reads

    @property
    def _sum(self) -> Sum:
        return Sum(Box(self.columns, self.steps))

    @property
    def _moment(self) -> SecondMoment:
        return SecondMoment(Box(self.columns, self.steps))

    @property
    def size(self) -> int:
        """The upper triangle."""
        return triangle(len(self.columns))

    @property
    def inner_size(self) -> int:
        """Sums and second moments."""
        return len(self.columns) + self.size

    @property
    def unit(self) -> int:
        """n^2 squared grid steps: one unit is a squared half of the interval."""
        return self.rows**2 * self.steps**2

    @property
    def largest_entry(self) -> int:
        """As for second moments."""
        return self.steps**2

    def record_maps(self, batch: Batch) -> Integers:
        """A record's vector and its products."""
        return np.hstack([self._sum.record_maps(batch), self._moment.record_maps(batch)])

    def block_total(self, batch: Batch) -> Integers:
        """Both sums."""
        return np.concatenate([self._sum.block_total(batch), self._moment.block_total(batch)])

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """n M - S S' entry by entry."""
        dimension = len(self.columns)
        sums, moments = total[:dimension], total[dimension:]
        pairs = zip(*np.triu_indices(dimension), strict=True)
        return tuple(
            self.rows * moment - sums[int(left)] * sums[int(right)]
            for moment, (left, right) in zip(moments, pairs, strict=True)
        )

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """(n-1) times the squared interval, in every entry at once."""
        _require_substitute("covariance", neighbours)
        entry = (self.rows - 1) * (2 * self.steps) ** 2
        return Sensitivity(self.size * entry, self.size * entry**2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The top corner in place of the bottom one, all other records at the bottom."""
        return unit_record(domain, self.columns, 1), unit_record(domain, self.columns, -1)

    def coarser(self) -> DirectCovariance | None:
        """The same covariance on a coarser grid."""
        return replace(self, steps=self.steps // 2) if self.steps > 2**4 else None

    @property
    def description(self) -> str:
        """In words."""
        return f"direct covariance of {', '.join(self.columns)}"

    @property
    def public_facts(self) -> tuple[str, ...]:
        """n is public."""
        return (f"{self.rows} rows",)


@dataclass(frozen=True)
class DirectMedian(Statistic):
    """The sum of the two middle values on the grid (twice the middle one for odd n): two medians, in integers."""

    column: str
    rows: int
    steps: int = 2**11
    largest_entry = 1
    size = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def inner_size(self) -> int:
        """A count per grid point."""
        return 2 * self.steps + 1

    @property
    def unit(self) -> int:
        """Two values are added up, in grid steps of half an interval."""
        return 2 * self.steps

    def record_maps(self, batch: Batch) -> Integers:
        """A one at the record's grid point; the middle for a missing cell."""
        maps = np.zeros((len(batch), self.inner_size), dtype=np.int64)
        maps[np.arange(len(batch)), self._cells(batch)] = 1
        return maps

    def block_total(self, batch: Batch) -> Integers:
        """Counts per grid point."""
        return np.bincount(self._cells(batch), minlength=self.inner_size).astype(np.int64)

    def _cells(self, batch: Batch) -> Integers:
        grid, _ = batch.on_grid((self.column,), self.steps)
        return grid[:, 0].astype(np.int64) + self.steps

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """The (n+1)//2-th and the n//2+1-th smallest grid values, added."""
        reached = np.cumsum(np.array(total, dtype=np.int64))
        middle = [
            int(np.searchsorted(reached, rank)) - self.steps for rank in ((self.rows + 1) // 2, self.rows // 2 + 1)
        ]
        return (sum(middle),)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """The whole interval for odd n; half of it for even n (of one unit each: twice and once the interval here)."""
        _require_substitute("median", neighbours)
        moves = 2 * self.steps * (2 if self.rows % 2 else 1)
        return Sensitivity(moves, moves**2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The high end in place of the low end, with the other records split between both ends."""
        declared = domain.real(self.column)
        return {self.column: declared.high}, {self.column: declared.low}

    def coarser(self) -> DirectMedian | None:
        """The same median on a coarser grid."""
        return replace(self, steps=self.steps // 2) if self.steps > 2**4 else None

    @property
    def description(self) -> str:
        """In words."""
        return f"direct median of {self.column}"

    @property
    def public_facts(self) -> tuple[str, ...]:
        """n is public."""
        return (f"{self.rows} rows",)


def _require_substitute(what: str, neighbours: Neighbours) -> None:
    if neighbours != "substitute":
        raise ParameterError(
            f"{what}: method='direct' needs a public number of rows. "
            "Declare Domain(…, neighbours='substitute', rows=NUMBER)."
        )
