"""Records as unit vectors, and their products: features of a margin classifier. Proof: ``docs/proofs/directions.md``.

A record's place in the box is taken from a public centre, a constant is put beside it, and the whole is brought to
length one; so every record has the same length, however far out it lies. All in integers but one square root and one
quotient per record, and re-checked in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.statistics.grid_ball import in_ball, squared_norms
from sordino.statistics.projected import Projected
from sordino.statistics.statistic import GRID_STEPS, Record
from sordino.statistics.vectors import LARGEST_DIMENSION, Box, on_half_the_grid
from sordino.table.clipping import Batch, Flags, Floats

#: The name of the coordinate that no column fills.
CONSTANT = "(constant)"


@dataclass(frozen=True)
class Directions:
    """(z - centre, reach) / |(z - centre, reach)| for the coordinates z of a record.

    ``of`` gives the coordinates: a box, or a public projection of it. ``reach`` and ``centre`` are in the units in
    which a column of the table runs from -1 to 1.
    """

    of: Box | Projected
    reach: float
    centre: tuple[float, ...] | None = None
    steps: int = GRID_STEPS
    in_ball = True

    def __post_init__(self) -> None:
        if len(self.columns) > LARGEST_DIMENSION:
            raise ParameterError(f"Directions: at most {LARGEST_DIMENSION - 1} coordinates.")
        if not 2**-10 <= self.reach <= 2**10:
            raise ParameterError(f"Directions: reach must lie between 2^-10 and 2^10. Got {self.reach}.")
        if self.centre is not None and len(self.centre) != len(self.of.columns):
            raise ParameterError(f"Directions: centre needs {len(self.of.columns)} coordinates.")
        if self.centre is not None and not all(abs(place) <= self._radius for place in self.centre):
            raise ParameterError("Directions: centre must lie where records can.")

    @property
    def columns(self) -> tuple[str, ...]:
        """One name per coordinate, and one for the constant."""
        return (*self.of.columns, CONSTANT)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self.of.reads

    @property
    def description(self) -> str:
        """In words."""
        return f"directions of {self.of.description}"

    @property
    def _radius(self) -> float:
        return self.of.radius if isinstance(self.of, Projected) else 1.0

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Exact differences and squared norms; then one root, and onto the sphere."""
        placed, whole = self.of.vectors(batch)
        unit = self.of.steps / self._radius
        if self.centre is not None:
            placed = placed - np.rint(np.array(self.centre) * unit)
        constant = float(np.rint(self.reach * unit))
        norms = np.sqrt(squared_norms(placed) + constant * constant)
        beside = np.column_stack([placed, np.full(len(placed), constant)])
        return in_ball(beside, norms, 0.0, self.steps, whole), whole

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """The record whose direction is nearest to a place with a positive last coordinate."""
        centre = np.zeros(len(self.of.columns)) if self.centre is None else np.array(self.centre)
        return self.of.record_at(domain, np.clip(centre + place[:-1] / max(float(place[-1]), 1e-9) * self.reach, -1, 1))

    def coarser(self) -> Directions | None:
        """The same directions with half as many steps; at least 2^4 remain."""
        return on_half_the_grid(self)


@dataclass(frozen=True)
class Products:
    """Products of pairs of coordinates of a direction, those of two different ones times √2: of length one again."""

    of: Directions
    in_ball = True

    def __post_init__(self) -> None:
        if len(self.columns) > 2**13:
            raise ParameterError(f"Products: at most {2**13} pairs of coordinates. Got {len(self.columns)}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """One name per pair, row by row of an upper triangle."""
        names = self.of.columns
        return tuple(f"{first} × {second}" for at, first in enumerate(names) for second in names[at:])

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns."""
        return self.of.reads

    @property
    def description(self) -> str:
        """In words."""
        return f"products of {self.of.description}"

    @property
    def steps(self) -> int:
        """As the directions."""
        return self.of.steps

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Integer products, then into the ball: no longer than the square of the grid, so no norm is taken."""
        directions, whole = self.of.vectors(batch)
        rows, columns = np.triu_indices(directions.shape[1])
        products = directions[:, rows]
        products *= directions[:, columns]
        weights = np.where(rows == columns, 1.0, math.sqrt(2))
        return in_ball(products, 0.0, float(self.steps) ** 2, self.steps, weights=weights), whole

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """The record whose products point nearest to a place: along the first eigenvector of its matrix."""
        size = len(self.of.columns)
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = place
        _, vectors = np.linalg.eigh(matrix + matrix.T)
        last: Floats = vectors[:, -1] * (1 if vectors[-1, -1] >= 0 else -1)
        return self.of.record_at(domain, last)

    def coarser(self) -> Products | None:
        """The same products of directions with half as many steps."""
        of = self.of.coarser()
        return None if of is None else Products(of)
