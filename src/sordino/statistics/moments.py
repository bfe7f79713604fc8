"""Second moments of real columns, in a box or in a ball. Proof: ``docs/proofs/second-moment.md``.

What is released is the upper triangle, row by row. With ``frobenius=True`` entries off the diagonal carry the
weight 2, so that the squared L2 norm of the triangle is the squared Frobenius norm of the whole matrix; their
noise then has half the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.statistics.vectors import VectorMap
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class SecondMoment(Statistic):
    """The sum of x x' over the records' vectors x, as its upper triangle."""

    of: VectorMap
    frobenius: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the vector is made of."""
        return self.of.reads

    @property
    def size(self) -> int:
        """d (d + 1) / 2 entries."""
        return triangle(len(self.of.columns))

    @property
    def unit(self) -> int:
        """Products of two grid numbers."""
        return self.of.steps**2

    @property
    def largest_entry(self) -> int:
        """No product exceeds the squared grid."""
        return self.of.steps**2

    @property
    def weights(self) -> tuple[int, ...] | None:
        """Two off the diagonal for the Frobenius norm."""
        if not self.frobenius:
            return None
        rows, columns = np.triu_indices(len(self.of.columns))
        return tuple(int(weight) for weight in np.where(rows == columns, 1, 2))

    def record_maps(self, batch: Batch) -> Integers:
        """Products of each pair of coordinates."""
        vectors = self.of.vectors(batch)[0].astype(np.int64)
        rows, columns = np.triu_indices(len(self.of.columns))
        return vectors[:, rows] * vectors[:, columns]

    def block_total(self, batch: Batch) -> Integers:
        """One matrix product: every partial sum is an integer below 2^53, so its order does not matter."""
        vectors = self.of.vectors(batch)[0]
        gram = vectors.T @ vectors
        total: Integers = gram.take(_upper_places(len(self.of.columns))).astype(np.int64)
        return total

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Closed forms of ``docs/proofs/second-moment.md``, in products of grid steps, rounded up."""
        dimension, unit = len(self.of.columns), self.unit
        change = _ball_change if self.of.in_ball else _box_change
        l1, l2_squared = change(dimension, neighbours, unit, self.frobenius)
        return Sensitivity(l1, l2_squared)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The places that the proofs name."""
        if self.of.in_ball:
            first, second = _ball_witness(len(self.of.columns), neighbours, norm)
        else:
            first, second = _box_witness(len(self.of.columns), neighbours, norm)
        return (
            self.of.record_at(domain, first),
            None if second is None else self.of.record_at(domain, second),
        )

    def coarser(self) -> SecondMoment | None:
        """The same moments on a coarser grid."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"second moments of {self.of.description}"


def triangle(dimension: int) -> int:
    """Entries of an upper triangle with its diagonal."""
    return dimension * (dimension + 1) // 2


@lru_cache(maxsize=64)
def _upper_places(dimension: int) -> Integers:
    """Places of the upper triangle in a matrix laid out row by row."""
    places: Integers = np.ravel_multi_index(np.triu_indices(dimension), (dimension, dimension))
    return places


def _box_change(dimension: int, neighbours: Neighbours, unit: int, frobenius: bool) -> tuple[int, int]:
    """L1 and squared L2 change of the triangle for vectors in [-1, 1]^d."""
    pairs = triangle(dimension)
    if neighbours == "add-remove":
        return pairs * unit, (dimension**2 if frobenius else pairs) * unit**2
    odd = dimension % 2
    if dimension == 1:
        squared = 1
    elif frobenius:
        squared = 2 * dimension**2 - 2 * odd
    else:
        squared = dimension**2 - odd
    return pairs * unit, squared * unit**2


def _ball_change(dimension: int, neighbours: Neighbours, unit: int, frobenius: bool) -> tuple[int, int]:
    """L1 and squared L2 change of the triangle for vectors of norm at most 1; the same L2 with both weights."""
    if neighbours == "add-remove":
        return -(-(dimension + 1) * unit // 2), unit**2
    if dimension == 1:
        return unit, unit**2
    quadrupled = (dimension + 2) ** 2 + dimension**2 - dimension % 2
    return _root_up(quadrupled * unit**2, 4), 2 * unit**2


def _root_up(numerator: int, denominator: int) -> int:
    """The square root of a fraction, rounded up."""
    root = math.isqrt(numerator // denominator)
    while root * root * denominator < numerator:
        root += 1
    return root


def _box_witness(dimension: int, neighbours: Neighbours, norm: Norm) -> tuple[Place, Place | None]:
    ones = np.ones(dimension)
    if neighbours == "add-remove":
        return ones, None
    if norm == "l1" or dimension == 1:
        return ones, np.zeros(dimension)
    flipped = ones.copy()
    flipped[: dimension // 2] = -1
    return ones, flipped


def _ball_witness(dimension: int, neighbours: Neighbours, norm: Norm) -> tuple[Place, Place | None]:
    first, second = np.eye(max(2, dimension))[:2, :dimension]
    if norm == "l1" and neighbours == "add-remove":
        return np.ones(dimension), None
    if neighbours == "add-remove":
        return first, None
    if dimension == 1:
        return first, np.zeros(1)
    return _two_blocks(dimension) if norm == "l1" else (first, second)


@lru_cache(maxsize=64)
def _two_blocks(dimension: int) -> tuple[Place, Place]:
    """Top and bottom eigenvectors of the two-block sign matrix that attains the L1 change in the ball."""
    signs = np.ones((dimension, dimension))
    half = (dimension + 1) // 2
    signs[half:, half:] = -1
    form = signs / 2 + np.diag(np.diag(signs)) / 2
    _, vectors = np.linalg.eigh(form)
    return vectors[:, -1], vectors[:, 0]


Place = np.ndarray[tuple[int], np.dtype[np.float64]]
