"""Public scores of cells as a record map: each column's cell is looked up, the vector is pulled into a ball.

The scores are released numbers, put on the grid before the table is read; a record's vector is a look-up of
integers, so it is a function of the record alone, bit for bit. Proof: ``docs/proofs/scores.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.statistics.grid_ball import in_ball, lengths
from sordino.statistics.histograms import Axis
from sordino.statistics.statistic import GRID_STEPS, Record, listed
from sordino.statistics.vectors import LARGEST_DIMENSION, on_half_the_grid
from sordino.table.clipping import Batch, Flags, Floats, Integers

#: Scores are numbers of at most this size, on a grid of 2^-16: exact in 2^11 dimensions.
LARGEST_SCORE = 16.0

_SCORE_STEPS = 2**16


@dataclass(frozen=True)
class Scores:
    """A score per cell of each axis, and per class where ``by`` names one; zero where a record has no cell.

    ``tables[axis][class][cell]`` are the scores; ``radius`` is that of the ball, in scores. The integer vector has
    Euclidean norm at most ``steps``, checked in integers.
    """

    axes: tuple[Axis, ...]
    tables: tuple[tuple[tuple[float, ...], ...], ...]
    radius: float
    by: Axis | None = None
    steps: int = GRID_STEPS
    in_ball = True

    def __post_init__(self) -> None:
        names = [axis.column for axis in self.axes]
        if not 0 < len(names) <= LARGEST_DIMENSION or len(set(names)) < len(names):
            raise ParameterError(f"scores: needs 1 to {LARGEST_DIMENSION} axes of distinct columns. Got {len(names)}.")
        classes = 1 if self.by is None else self.by.cells
        for axis, table in zip(self.axes, self.tables, strict=True):
            if len(table) != classes or any(len(row) != axis.cells for row in table):
                raise ParameterError(f"scores: {axis.column!r} needs {classes} rows of {axis.cells} scores.")
            if not all(abs(score) <= LARGEST_SCORE for row in table for score in row):
                raise ParameterError(f"scores: must be numbers of at most {LARGEST_SCORE:g} in size.")
        if not 0 < self.radius < math.inf:
            raise ParameterError(f"scores: radius must be a positive number. Got {self.radius}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The scored columns: one coordinate each."""
        return tuple(axis.column for axis in self.axes)

    @property
    def reads(self) -> tuple[str, ...]:
        """The scored columns and the class."""
        return self.columns if self.by is None else tuple(dict.fromkeys((*self.columns, self.by.column)))

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Look up, then into the ball. Every record is whole."""
        placed = np.empty((len(batch), len(self.axes)))
        row = 0 if self.by is None else self.by.codes(batch)
        for place, (axis, table) in enumerate(zip(self.axes, self._tables, strict=True)):
            placed[:, place] = table[row, axis.codes(batch)]
        return in_ball(placed, lengths(placed), self.radius * _SCORE_STEPS, self.steps), None

    @cached_property
    def _tables(self) -> tuple[Integers, ...]:
        """Scores on their grid, with a last row and a last column of zeros, where the code -1 leads."""
        return tuple(
            np.pad(np.rint(np.array(table) * _SCORE_STEPS), ((0, self.by is not None), (0, 1))).astype(np.int64)
            for table in self.tables
        )

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """The record of the first class whose scores are nearest to a direction, as far out as every axis reaches."""
        record: dict[str, float | str | int | bool | None] = {}
        reaches = [max(map(abs, table[0])) for table in self.tables]
        limits = (reach / abs(part) for reach, part in zip(reaches, place, strict=True) if part)
        target = place * min(limits, default=0.0)
        for axis, table, score in zip(self.axes, self.tables, target, strict=True):
            gaps = np.abs(np.array((*table[0], 0.0)) - score)
            cell = int(np.argmin(gaps))
            record[axis.column] = None if cell == axis.cells else axis.example(domain, cell)
        if self.by is not None:
            record[self.by.column] = self.by.example(domain, 0)
        return record

    @property
    def description(self) -> str:
        """In words."""
        return f"{listed(self.reads)} in a ball"

    def coarser(self) -> Scores | None:
        """The same scores with half as many steps; at least 2^4 remain."""
        return on_half_the_grid(self)
