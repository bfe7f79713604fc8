"""A public projection as a record map: many columns become a few coordinates, in a ball about a public centre.

The box's coordinates are multiplied with an integer matrix, exactly; only then is the vector centred, pulled into
the ball, rounded and re-checked in integers, in the small space. A rounded projection is not orthonormal, so no bound
is carried over from the large space. Proof: ``docs/proofs/projected.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.statistics.grid_ball import in_ball, lengths
from sordino.statistics.statistic import EXACT_LIMIT, GRID_STEPS, Record, listed, unit_record
from sordino.statistics.vectors import LARGEST_DIMENSION, on_half_the_grid
from sordino.table.clipping import Batch, Flags, Floats

#: The entries of the matrix are whole multiples of 2^-24.
MATRIX_STEPS = 2**24

#: The entries of one direction add up to at most this in size, so that its product with a record is exact. One less
#: than 2^53 allows, for the rounding of the entries.
LARGEST_DIRECTION = EXACT_LIMIT // (GRID_STEPS * MATRIX_STEPS) - 1


@dataclass(frozen=True)
class Projected:
    """Coordinates of a record in a public small space, moved by ``centre`` and pulled into a ball of ``radius``.

    ``matrix`` has a row per column of the table and an entry per direction; it multiplies the box's coordinates, in
    which every column runs from -1 to 1. Centre and radius are in the units of the small space. The integer vector has
    Euclidean norm at most ``steps``, checked in integers.
    """

    reads: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    radius: float
    centre: tuple[float, ...] | None = None
    steps: int = GRID_STEPS
    in_ball = True

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.matrix}
        if not 0 < len(self.reads) <= LARGEST_DIMENSION or len(set(self.reads)) < len(self.reads):
            raise ParameterError(f"projection: needs 1 to {LARGEST_DIMENSION} distinct columns. Got {len(self.reads)}.")
        if len(self.matrix) != len(self.reads) or len(widths) != 1 or not 0 < max(widths) <= LARGEST_DIMENSION:
            raise ParameterError("projection: the matrix needs a row per column, and as many entries in each row.")
        reach = np.abs(np.array(self.matrix)).sum(axis=0)
        if not (reach <= LARGEST_DIRECTION).all():
            raise ParameterError(f"projection: the entries of a direction must add up to {LARGEST_DIRECTION} or less.")
        if not 0 < self.radius < math.inf:
            raise ParameterError(f"projection: radius must be a positive number. Got {self.radius}.")
        if self.centre is not None and len(self.centre) != len(reach):
            raise ParameterError(f"projection: centre needs {len(reach)} coordinates. Got {len(self.centre)}.")
        if self.centre is not None and not (np.abs(np.array(self.centre)) <= reach).all():
            raise ParameterError("projection: centre must lie where records can: within the reach of each direction.")

    @classmethod
    def of(cls, columns: tuple[str, ...], matrix: Any, radius: float, centre: Any = None) -> Projected:
        """The map for arrays; a centre out of reach is moved to where records can lie."""
        entries = np.asarray(matrix, dtype=np.float64)
        if centre is not None:
            reach = np.abs(entries).sum(axis=0)
            centre = tuple(np.clip(np.asarray(centre, dtype=np.float64), -reach, reach).tolist())
        return cls(columns, tuple(map(tuple, entries.tolist())), float(radius), centre)

    @property
    def columns(self) -> tuple[str, ...]:
        """The directions: one coordinate each."""
        return tuple(f"direction {place + 1}" for place in range(len(self.matrix[0])))

    @property
    def description(self) -> str:
        """In words."""
        return f"{listed(self.reads)} projected on {len(self.matrix[0])} directions in a ball"

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Project and centre in exact integers, then into the ball."""
        placed, whole = batch.on_grid(self.reads, GRID_STEPS)
        fine = placed @ self._integers  # every partial sum is an integer below 2^53: exact in any order
        coordinates = np.rint(fine * (self._scale / (GRID_STEPS * MATRIX_STEPS))) - self._centre
        return in_ball(coordinates, lengths(coordinates), self.radius * self._scale, self.steps, whole), whole

    @cached_property
    def _integers(self) -> Floats:
        """The matrix on its grid."""
        integers: Floats = np.rint(np.array(self.matrix) * MATRIX_STEPS)
        return integers

    @cached_property
    def _centre(self) -> Floats:
        """The centre on the grid of the projected coordinates."""
        centre = np.zeros(len(self.matrix[0])) if self.centre is None else np.array(self.centre)
        return np.rint(centre * self._scale)

    @cached_property
    def _scale(self) -> int:
        """Grid steps per unit of the small space: the most, up to 2^20, for which squared norms are exact floats."""
        reach = math.ceil(np.abs(np.array(self.matrix)).sum(axis=0).max()) + 1
        scale = GRID_STEPS
        while len(self.matrix[0]) * (2 * reach * scale + 2) ** 2 > EXACT_LIMIT:
            scale //= 2
        return scale

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """The record in that direction from the centre, on the sphere if it fits into the box."""
        norm = np.linalg.norm(place)
        direction = place if norm == 0 else place / norm
        centre = np.zeros(len(place)) if self.centre is None else np.array(self.centre)
        found = np.linalg.lstsq(np.array(self.matrix).T, centre + self.radius * direction, rcond=None)[0]
        return unit_record(domain, self.reads, np.clip(found, -1, 1))

    def coarser(self) -> Projected | None:
        """The same ball with half as many steps; at least 2^4 remain."""
        return on_half_the_grid(self)
