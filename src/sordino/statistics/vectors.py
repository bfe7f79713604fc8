"""Record maps for real columns: coordinates in a box, or vectors in a ball; both end in integers.

A map states what the accumulators need: its dimension, its grid, and bounds on the integer vector of a record
and on the difference of two. Proofs: ``docs/proofs/grid.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np

from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.statistics.grid_ball import in_ball, lengths
from sordino.statistics.statistic import GRID_STEPS, Record, listed, unit_record
from sordino.table.clipping import Batch, ClippedBatch, Flags, Floats, Windows
from sordino.table.memory import MatrixBlock

#: Squared norms of grid vectors stay exact in float64 up to this dimension.
LARGEST_DIMENSION = 2048


class VectorMap(Protocol):
    """A record's columns as a bounded integer vector."""

    @property
    def columns(self) -> tuple[str, ...]:
        """One name per coordinate."""
        ...

    @property
    def steps(self) -> int:
        """The grid."""
        ...

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Integers as floats, zero for records with a missing cell, and which records are whole."""
        ...

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """A record whose vector points to ``place``, as far out as the map lets it."""
        ...

    def coarser(self) -> Self | None:
        """The same map on a grid half as fine."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """Every column that the map looks at; ``columns`` has one per coordinate."""
        ...

    @property
    def in_ball(self) -> bool:
        """Whether the Euclidean norm, not each coordinate, is at most ``steps``."""
        ...

    @property
    def description(self) -> str:
        """What is mapped, and into what, in words."""
        ...


@dataclass(frozen=True)
class Box:
    """Each column's interval is mapped to [-1, 1] and to an integer in [-steps, steps].

    ``windows`` are public intervals that take the place of the declared ones: bought, as a rule, and narrower.
    """

    columns: tuple[str, ...]
    steps: int = GRID_STEPS
    windows: Windows = None
    in_ball = False

    def __post_init__(self) -> None:
        _check_columns(self.columns, self.windows)

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Coordinates on the grid; zero for a record with a missing cell."""
        return batch.on_grid(self.columns, self.steps, self.windows)

    @property
    def reads(self) -> tuple[str, ...]:
        """Its columns."""
        return self.columns

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """The record at a place of the box."""
        return unit_record(_seen(domain, self), self.columns, place)

    @property
    def description(self) -> str:
        """In words."""
        return f"{listed(self.columns)} in a box"

    def coarser(self) -> Box | None:
        """The same box with half as many steps; at least 2^4 remain."""
        return on_half_the_grid(self)


@dataclass(frozen=True)
class Ball:
    """The box's coordinates, moved by a public ``centre`` and pulled into a ball of public ``radius``.

    Centre and radius are in the box's own units, in which every column runs from -1 to 1. The integer vector
    has Euclidean norm at most ``steps``, checked in integers. ``windows`` are public intervals that take the place of
    the declared ones.
    """

    columns: tuple[str, ...]
    radius: float = 1.0
    centre: tuple[float, ...] | None = None
    steps: int = GRID_STEPS
    windows: Windows = None
    in_ball = True

    def __post_init__(self) -> None:
        _check_columns(self.columns, self.windows)
        if not 0 < self.radius < math.inf:
            raise ParameterError(f"Ball: radius must be a positive number. Got {self.radius}.")
        if self.centre is not None and len(self.centre) != len(self.columns):
            raise ParameterError(f"Ball: centre needs {len(self.columns)} coordinates. Got {len(self.centre)}.")
        if self.centre is not None and not all(-1 <= place <= 1 for place in self.centre):
            raise ParameterError("Ball: centre must lie in the box, each coordinate in [-1, 1].")

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Move in exact integers, then into the ball."""
        placed, whole = batch.on_grid(self.columns, GRID_STEPS, self.windows)
        if self.centre is not None:
            placed = placed - np.rint(np.array(self.centre) * GRID_STEPS)
        return in_ball(placed, lengths(placed), self.radius * GRID_STEPS, self.steps, whole), whole

    @property
    def reads(self) -> tuple[str, ...]:
        """Its columns."""
        return self.columns

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """The record in that direction from the centre, on the sphere if it fits into the box."""
        norm = np.linalg.norm(place)
        direction = place if norm == 0 else place / norm
        centre = np.zeros(len(place)) if self.centre is None else np.array(self.centre)
        return unit_record(_seen(domain, self), self.columns, np.clip(centre + self.radius * direction, -1, 1))

    @property
    def description(self) -> str:
        """In words."""
        return f"{listed(self.columns)} in a ball"

    def coarser(self) -> Ball | None:
        """The same ball with half as many steps; at least 2^4 remain."""
        return on_half_the_grid(self)


def placed_rows(of: VectorMap, domain: Domain, rows: Floats) -> tuple[Floats, Flags | None]:
    """Vectors, in units of the map, of rows that are no part of a private table: test rows, or made-up ones.

    The columns of ``rows`` are those that the map reads, in order. The same function of a row as for private records.
    """
    vectors, whole = of.vectors(ClippedBatch(domain, MatrixBlock(rows, of.reads)))
    return vectors / of.steps, whole


def _seen(domain: Domain, of: Box | Ball) -> Domain:
    """The domain with the map's windows in place of the declared intervals."""
    if of.windows is None:
        return domain
    return replace(domain, columns={**domain.columns, **dict(zip(of.columns, of.windows, strict=True))})


def _check_columns(columns: tuple[str, ...], windows: Windows = None) -> None:
    if windows is not None and len(windows) != len(columns):
        raise ParameterError(f"statistic: needs a window for each of {len(columns)} columns. Got {len(windows)}.")
    if not 0 < len(columns) <= LARGEST_DIMENSION or len(set(columns)) < len(columns):
        raise ParameterError(f"statistic: needs 1 to {LARGEST_DIMENSION} distinct columns. Got {len(columns)}.")


Map = TypeVar("Map", bound=VectorMap)


def on_half_the_grid(of: Map) -> Map | None:
    """The same map with half as many steps; None where rounding would no longer be small beside the bound."""
    coarsest = 2**4 * math.ceil(math.sqrt(len(of.columns)))
    if of.steps <= coarsest:
        return None
    halved: Map = replace(cast(Any, of), steps=of.steps // 2)
    return halved
