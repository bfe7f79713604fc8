"""How many records lie in each cell of a public grid, laid over the first directions of vectors in a ball.

One record touches one cell: outermost cells reach to infinity, and a record with a missing cell touches none.
Proof: ``docs/proofs/em.md``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.histograms import LARGEST_TABLE
from sordino.statistics.projected import Projected
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.statistics.vectors import Ball
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class LatticeCells(Statistic):
    """Counts of a grid with public edges, in units of the ball's radius; ``edges[i]`` are the inner edges of axis i."""

    of: Ball | Projected
    edges: tuple[tuple[float, ...], ...]
    unit = 1
    largest_entry = 1

    def __post_init__(self) -> None:
        if not 0 < len(self.edges) <= len(self.of.columns) or not all(self.edges):
            raise ParameterError("cells: needs an axis or more, no more than directions, with an inner edge each.")
        if any(not low < high for axis in self.edges for low, high in itertools.pairwise(axis)):
            raise ParameterError("cells: edges must be rising numbers.")
        if not all(abs(edge) <= 1 for axis in self.edges for edge in axis) or self.size > LARGEST_TABLE:
            raise ParameterError(f"cells: edges must lie in [-1, 1] and make at most {LARGEST_TABLE} cells.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the vectors."""
        return self.of.reads

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(len(axis) + 1 for axis in self.edges)

    @property
    def size(self) -> int:
        """Cells of the grid, the last axis running fastest."""
        return math.prod(self.shape)

    def _codes(self, batch: Batch) -> Integers:
        """Cell of each record; -1 for none."""
        vectors, whole = self.of.vectors(batch)
        codes = np.zeros(len(batch), dtype=np.int64)
        for place, axis in enumerate(self.edges):
            inner = np.rint(np.array(axis) * self.of.steps)
            codes = codes * (len(axis) + 1) + np.searchsorted(inner, vectors[:, place], side="right")
        if whole is not None:
            codes[~whole] = -1
        return codes

    def record_maps(self, batch: Batch) -> Integers:
        """A one in the record's cell."""
        codes = self._codes(batch)
        maps = np.zeros((len(batch), self.size), dtype=np.int64)
        placed = np.flatnonzero(codes >= 0)
        maps[placed, codes[placed]] = 1
        return maps

    def block_total(self, batch: Batch) -> Integers:
        """Counts per cell; the first place collects the records without one."""
        return np.bincount(self._codes(batch) + 1, minlength=self.size + 1)[1:].astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One cell; two under substitute."""
        moves = 1 if neighbours == "add-remove" else 2
        return Sensitivity(moves, moves)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """Records at opposite ends of the first direction."""
        end = np.eye(len(self.of.columns))[0]
        first, last = self.of.record_at(domain, end), self.of.record_at(domain, -end)
        return first, None if neighbours == "add-remove" else last

    def coarser(self) -> LatticeCells | None:
        """Counts are whole: there is no coarser grid."""
        return None

    @property
    def description(self) -> str:
        """In words."""
        return f"counts in {self.size} cells of {self.of.description}"


def halved(of: Ball | Projected, reaches: tuple[float, ...], depth: int) -> LatticeCells:
    """A grid over [-reach, reach] on each axis: the longest side of a cell is halved ``depth`` times."""
    parts = [1] * len(reaches)
    for _ in range(depth):
        longest = max(range(len(parts)), key=lambda place: reaches[place] / parts[place])
        parts[longest] *= 2
    kept = [place for place, count in enumerate(parts) if count > 1]
    if kept != list(range(len(kept))):
        raise ParameterError("cells: reaches must not rise from axis to axis.")
    return LatticeCells(
        of, tuple(tuple(np.linspace(-reaches[i], reaches[i], parts[i] + 1)[1:-1].tolist()) for i in kept)
    )


def middles(grid: LatticeCells, reaches: tuple[float, ...]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The middle of each cell of a ``halved`` grid, in units of the ball's radius."""
    sides = [np.linspace(-reach, reach, 2 * count + 1)[1::2] for reach, count in zip(reaches, grid.shape, strict=False)]
    crossed = np.meshgrid(*sides, indexing="ij")
    return np.stack([each.ravel() for each in crossed], axis=1)
