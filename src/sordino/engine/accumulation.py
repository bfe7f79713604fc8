"""Exact accumulation: float64 blocks, int64 sums, and Python integers where 63 bits do not suffice.

Every block's total is a vector of integers of size at most 2^53, computed without rounding. Up to 512 of them
are added in int64; then they move to unbounded integers. Addition of integers has no order, so the total is
the same bits for every split of the rows among blocks, threads and machines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sordino.domain import Domain
from sordino.statistics.statistic import Statistic, Total
from sordino.table.clipping import ClippedBatch, Integers, Workspace
from sordino.table.source import Block

#: 512 blocks of at most 2^53 stay below 2^63.
_BLOCKS_PER_LIMB = 512

#: Cells (rows x columns) of a block, 4 MiB of them: few enough for the cache that cores share, and few calls a row.
_CELLS_PER_BLOCK = 2**19

#: Rows of a block that is only counted: long sweeps, so that threads seldom wait for each other.
_ROWS_OF_COUNTS = 2**17


class ExactSum:
    """A vector of integers of any size, fed with int64 vectors of at most 2^53."""

    def __init__(self, size: int) -> None:
        self._low: Integers = np.zeros(size, dtype=np.int64)
        self._high: list[int] | None = None
        self._added = 0

    def add(self, block_total: Integers) -> None:
        """Add one block's total."""
        self._low += block_total
        self._added += 1
        if self._added >= _BLOCKS_PER_LIMB:
            self._high = list(self.values())
            self._low[:] = 0
            self._added = 0

    def add_integers(self, values: Sequence[int]) -> None:
        """Add a vector of unbounded integers."""
        self._high = [mine + theirs for mine, theirs in zip(self.values(), values, strict=True)]
        self._low[:] = 0
        self._added = 0

    def values(self) -> tuple[int, ...]:
        """The exact sum so far."""
        low = self._low.tolist()
        return tuple(low) if self._high is None else tuple(a + b for a, b in zip(low, self._high, strict=True))


class Accumulation:
    """The totals of several statistics over the blocks seen so far, and the number of rows."""

    def __init__(self, domain: Domain, statistics: Sequence[Statistic], block_rows: int | None = None) -> None:
        self._domain = domain
        self._statistics = tuple(statistics)
        self._sums = [ExactSum(statistic.inner_size) for statistic in statistics]
        self._block_rows = block_rows or _usual_block_rows(statistics)
        self._block_rows = min([self._block_rows, *(statistic.rows_per_block for statistic in statistics)])
        self._workspace = Workspace()
        self.exact_rows = 0

    def add(self, block: Block) -> None:
        """Add the rows of a block."""
        self.exact_rows += len(block)
        for start in range(0, len(block), self._block_rows):
            batch = ClippedBatch(self._domain, block.slice(start, self._block_rows), self._workspace)
            with np.errstate(all="ignore"):  # a warning about a huge cell would tell of it
                for statistic, exact_sum in zip(self._statistics, self._sums, strict=True):
                    exact_sum.add(statistic.block_total(batch))

    def merge(self, exact_rows: int, exact_values: Sequence[Sequence[int]]) -> None:
        """Add what another accumulation of the same statistics has seen."""
        self.exact_rows += exact_rows
        for exact_sum, values in zip(self._sums, exact_values, strict=True):
            exact_sum.add_integers(values)

    def exact_values(self) -> list[tuple[int, ...]]:
        """The exact sums of the record maps."""
        return [exact_sum.values() for exact_sum in self._sums]

    def totals(self) -> list[Total]:
        """What the statistics make of their sums."""
        return [
            Total(statistic.finish(values))
            for statistic, values in zip(self._statistics, self.exact_values(), strict=True)
        ]

    def __repr__(self) -> str:
        return f"Accumulation({len(self._statistics)} statistics, private)"


def _usual_block_rows(statistics: Sequence[Statistic]) -> int:
    """Rows per block: as many as fit into the cache, within what stays exact; counts need no matrix in it."""
    if all(statistic.largest_entry == 1 for statistic in statistics):
        return _ROWS_OF_COUNTS
    width = max(1, *(len(statistic.columns) for statistic in statistics)) if statistics else 1
    return max(512, min(65_536, _CELLS_PER_BLOCK // width))
