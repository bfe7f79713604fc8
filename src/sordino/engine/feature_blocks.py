"""Bounded features and labels of all records, block by block, as often as a solver asks for them.

For the perturbed minimiser alone, whose arithmetic is idealised: what is computed from these blocks is not exact, and
its mechanism covers what that can change. Blocks stay in memory while they are few; else the table is read again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sordino.domain import Domain
from sordino.statistics.labels import Labels
from sordino.statistics.vectors import VectorMap
from sordino.table.clipping import ClippedBatch, Floats, Integers
from sordino.table.source import Source

#: Cells (records x features) that may stay in memory: 400 MB.
KEPT_CELLS = 5 * 10**7

_CELLS_PER_BLOCK = 2**20


class FeatureBlocks:
    """Features in units of the map's grid, so of length at most one, and the label of each record that has both."""

    def __init__(self, source: Source, domain: Domain, features: VectorMap, labels: Labels) -> None:
        self._source, self._domain = source, domain
        self._features, self._labels = features, labels
        self._kept: list[tuple[Floats, Integers]] | None = None
        self.exact_rows = 0
        self.exact_records = 0

    @property
    def size(self) -> int:
        """Features of a record."""
        return len(self._features.columns)

    def load(self, most_cells: int = KEPT_CELLS) -> None:
        """Read the table once: count its rows, and keep the blocks if they are few enough."""
        kept: list[tuple[Floats, Integers]] | None = []
        self.exact_rows = self.exact_records = 0
        for rows, block in self._read():
            self.exact_rows += rows
            self.exact_records += len(block[1])
            if kept is not None and self.exact_records * self.size <= most_cells:
                kept.append(block)
            else:
                kept = None
        self._kept = kept

    @property
    def in_memory(self) -> bool:
        """Whether blocks were kept."""
        return self._kept is not None

    def __iter__(self) -> Iterator[tuple[Floats, Integers]]:
        if self._kept is not None:
            yield from self._kept
        else:
            yield from (block for _, block in self._read())

    def _read(self) -> Iterator[tuple[int, tuple[Floats, Integers]]]:
        columns = tuple(dict.fromkeys((*self._features.reads, *self._labels.columns)))
        rows = max(256, _CELLS_PER_BLOCK // self.size)
        for unread in self._source.blocks(columns):
            block = unread()
            for start in range(0, len(block), rows):
                batch = ClippedBatch(self._domain, block.slice(start, rows))
                with np.errstate(all="ignore"):  # a warning about a huge cell would tell of it
                    yield len(batch), self._one(batch)

    def _one(self, batch: ClippedBatch) -> tuple[Floats, Integers]:
        codes = self._labels.codes(batch)
        vectors, whole = self._features.vectors(batch)
        used = codes >= 0 if whole is None else whole & (codes >= 0)
        return vectors[used] / self._features.steps, codes[used]

    def __repr__(self) -> str:
        return f"FeatureBlocks({self.size} features, private)"
