"""Sums for one round of EM: each record is shared among public components, in integers that add up to one whole.

How a record is shared depends on its integer vector and on public means alone: squared distances are exact integer
products, then come one fixed element-wise function and a rounding. So dropping one record cannot change the share of
another, in any batch, order or engine; scores in floats can. Three statistics use the shares: sizes, moves about
the public means, and spreads about them; each moves by at most one record. Proof: ``docs/proofs/em.md``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.elementary import exponential
from sordino.statistics.grid_ball import squared_norms
from sordino.statistics.moments import triangle
from sordino.statistics.projected import Projected
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.statistics.vectors import Ball
from sordino.table.clipping import Batch, Floats, Integers

#: Parts into which a record is shared.
PARTS = 2**16

#: Exponentials are rounded to this grid before they are shared out.
_EXPONENTIAL_STEPS = 2**20

#: Vectors are put on a grid of this many steps for their reach, before they are multiplied with each other.
_PRODUCT_STEPS = 2**9

#: Witnesses lie so much farther out than the reach that no rounding brings them back.
_BEYOND = 1.02

#: A precision or a logarithm of a weight beyond this would be lost in floats.
_LARGEST = 1e100

#: A share of a squared distance, and its square, stay exact on this grid.
_SPREAD_STEPS = 2**16


@dataclass(frozen=True)
class Components:
    """Public means, and how a record is shared among them.

    ``means`` are in units of the ball's radius. With ``precision`` (one over the variance, in the same units) a record
    is shared as Gaussians of that variance and of weights exp(``log_weights``) would; without, it belongs to the
    nearest mean, the first one of a tie.
    """

    of: Ball | Projected
    means: tuple[tuple[float, ...], ...]
    precision: float | None = None
    log_weights: tuple[float, ...] = ()
    parts: int = PARTS

    def __post_init__(self) -> None:
        if len(self.means) < 2 or any(len(mean) != len(self.of.columns) for mean in self.means):
            raise ParameterError(f"components: needs two or more means of {len(self.of.columns)} coordinates each.")
        if not all(abs(place) <= 1 for mean in self.means for place in mean):
            raise ParameterError("components: means must be numbers in [-1, 1], in units of the ball's radius.")
        if self.precision is None:
            return
        if not 0 <= self.precision <= _LARGEST or len(self.log_weights) != len(self.means):
            raise ParameterError("components: precision must be a number of at least 0, with a weight per mean.")
        if not all(abs(each) <= _LARGEST for each in self.log_weights):
            raise ParameterError("components: logarithms of weights must be finite.")

    def __len__(self) -> int:
        return len(self.means)

    @cached_property
    def centres(self) -> Floats:
        """The means on the grid."""
        centres: Floats = np.rint(np.array(self.means) * self.of.steps)
        return centres

    def shares(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        """Parts of each record per mean, squared distances to the means, and the vectors; all integers.

        A record with a missing cell has no part anywhere. Once per batch, whatever number of statistics ask.
        """
        found: tuple[Floats, Floats, Floats] = batch.once(self, lambda: self._shared(batch))
        return found

    def _shared(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        vectors, whole = self.of.vectors(batch)
        crossed = vectors @ (-2.0 * self.centres.T)  # integers below 2^53, as are all sums here: exact in any order
        crossed += squared_norms(vectors)[:, None]
        crossed += squared_norms(self.centres)
        shares = self._nearest(crossed) if self.precision is None else self._softly(crossed)
        if whole is not None:
            shares[~whole] = 0.0
        return shares, crossed, vectors

    def _nearest(self, squares: Floats) -> Floats:
        shares = np.zeros_like(squares)
        shares[np.arange(len(squares)), np.argmin(squares, axis=1)] = self.parts
        return shares

    def _softly(self, squares: Floats) -> Floats:
        """Exponentials on a grid, their exact quotients rounded down; what is left over goes to the largest share."""
        scores = squares * (-0.5 * (self.precision or 0.0) / self.of.steps**2)
        scores += np.array(self.log_weights)
        best = np.argmax(scores, axis=1)
        rows = np.arange(len(scores))
        scores -= scores[rows, best][:, None]
        grown = np.rint(exponential(scores) * _EXPONENTIAL_STEPS)
        shares: Floats = np.floor(grown * self.parts / grown.sum(axis=1, keepdims=True))
        shares[rows, best] += self.parts - shares.sum(axis=1)
        return shares

    def coarser(self) -> Components | None:
        """Half as many parts; at least 2^6 remain."""
        return replace(self, parts=self.parts // 2) if self.parts > 2**6 else None


@dataclass(frozen=True)
class _OfComponents(Statistic):
    """What the three statistics of a round have in common."""

    of: Components

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the vectors."""
        return self.of.of.reads

    @property
    def size(self) -> int:
        """Some numbers per component."""
        return len(self.of) * self.width

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers a component has."""

    @property
    def _dimension(self) -> int:
        return len(self.of.of.columns)

    def _record(self, domain: Domain, component: int, distance: float = 0.0) -> Record:
        """A record at some distance, in units of the ball's radius, from a mean, along the diagonal."""
        place = np.array(self.of.means[component]) + distance / math.sqrt(self._dimension)
        smaller = replace(self.of.of, radius=self.of.of.radius * max(1e-9, float(np.linalg.norm(place))))
        return smaller.record_at(domain, place)


@dataclass(frozen=True)
class ComponentSizes(_OfComponents):
    """How many records each component has."""

    width = 1

    @property
    def unit(self) -> int:
        """A whole record."""
        return self.of.parts

    @property
    def largest_entry(self) -> int:
        """A whole record."""
        return self.of.parts

    def record_maps(self, batch: Batch) -> Integers:
        """The shares."""
        return self.of.shares(batch)[0].astype(np.int64)

    def block_total(self, batch: Batch) -> Integers:
        """Sums of the shares."""
        total: Integers = self.of.shares(batch)[0].sum(axis=0).astype(np.int64)
        return total

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """A whole record; from one component to another under substitute."""
        return Sensitivity(self.unit, self.unit**2).times(1 if neighbours == "add-remove" else 2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """A record at one mean, and one at another."""
        first, second = self._record(domain, 0), self._record(domain, 1)
        return first, None if neighbours == "add-remove" else second

    def coarser(self) -> ComponentSizes | None:
        """The same sizes in larger parts."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"sizes of {len(self.of)} components of {self.of.of.description}"


@dataclass(frozen=True)
class ComponentMoves(_OfComponents):
    """Sums of the steps from each mean to its records, weighted by their shares and pulled in to ``reach``.

    ``reach`` is in units of the ball's radius; one unit of the sums is the reach.
    """

    reach: float = 1.0

    def __post_init__(self) -> None:
        _check_reach(self.reach, self.of)

    @property
    def width(self) -> int:
        """A vector."""
        return self._dimension

    @property
    def _reach(self) -> int:
        return math.ceil(self.reach * self.of.of.steps)

    @property
    def unit(self) -> int:
        """A whole record at the reach."""
        return self.of.parts * self._reach

    @property
    def largest_entry(self) -> int:
        """A whole record as far from a mean as two points of the ball can be; sums are taken apart by the means."""
        return self.of.parts * 2 * self.of.of.steps

    def _weights(self, batch: Batch) -> tuple[Floats, Floats]:
        """Shares, less for records beyond the reach; weight times distance is at most share times reach, exactly."""
        shares, squares, vectors = self.of.shares(batch)
        return np.floor(shares * self._reach / np.maximum(_root_up(squares), self._reach)), vectors

    def record_maps(self, batch: Batch) -> Integers:
        """Weighted steps, component after component."""
        weights, vectors = self._weights(batch)
        steps = vectors[:, None, :] - self.of.centres
        return (weights[:, :, None] * steps).reshape(len(batch), self.size).astype(np.int64)

    def block_total(self, batch: Batch) -> Integers:
        """One product of matrices, less the means as often as they were weighted."""
        weights, vectors = self._weights(batch)
        moved = weights.T @ vectors - weights.sum(axis=0)[:, None] * self.of.centres
        total: Integers = moved.ravel().astype(np.int64)
        return total

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One record at the reach; two opposite ones under substitute."""
        reach = self.unit * (1 if neighbours == "add-remove" else 2)
        return Sensitivity(math.isqrt(self._dimension * reach * reach), reach * reach)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """A record a little beyond the reach, and one on the other side."""
        first, second = self._record(domain, 0, _BEYOND * self.reach), self._record(domain, 0, -_BEYOND * self.reach)
        return first, None if neighbours == "add-remove" else second

    def coarser(self) -> ComponentMoves | None:
        """The same sums in larger parts."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"moves of {len(self.of)} components of {self.of.of.description}"


@dataclass(frozen=True)
class ComponentSpreads(_OfComponents):
    """Sums of squared distances from each mean, weighted by the records' shares and pulled in to ``reach``.

    One unit is the squared reach.
    """

    reach: float = 1.0
    width = 1

    def __post_init__(self) -> None:
        _check_reach(self.reach, self.of)

    @property
    def _reach(self) -> int:
        return math.ceil(self.reach * self.of.of.steps)

    @property
    def unit(self) -> int:
        """A whole record at the reach."""
        return self.of.parts * _SPREAD_STEPS

    @property
    def largest_entry(self) -> int:
        """A whole record at the reach."""
        return self.unit

    def record_maps(self, batch: Batch) -> Integers:
        """Shares times squared distances, the distances on a grid of 2^-16 of the reach, rounded down."""
        shares, squares, _ = self.of.shares(batch)
        near = np.floor(np.minimum(np.sqrt(squares), self._reach) * (_SPREAD_STEPS / self._reach))
        np.minimum(near, _SPREAD_STEPS, out=near)
        return np.floor(near * near * shares / _SPREAD_STEPS).astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One record at the reach; from one component to another under substitute."""
        return Sensitivity(self.unit, self.unit**2).times(1 if neighbours == "add-remove" else 2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """A record a little beyond the reach from one mean, and from another."""
        first, second = (self._record(domain, place, _BEYOND * self.reach) for place in (0, 1))
        return first, None if neighbours == "add-remove" else second

    def coarser(self) -> ComponentSpreads | None:
        """The same sums in larger parts."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"spreads of {len(self.of)} components of {self.of.of.description}"


@dataclass(frozen=True)
class ComponentMoments(_OfComponents):
    """Second moments about each mean, as upper triangles, weighted by the shares and pulled in to ``reach``.

    Entries off the diagonal carry the weight 2 in the squared L2 norm, as in ``moments``; one unit is the squared
    reach.
    """

    reach: float = 1.0

    def __post_init__(self) -> None:
        _check_reach(self.reach, self.of)

    @property
    def width(self) -> int:
        """A triangle."""
        return triangle(self._dimension)

    @property
    def unit(self) -> int:
        """A whole record at the reach."""
        return self.of.parts * _PRODUCT_STEPS**2

    @property
    def largest_entry(self) -> int:
        """A whole record at the reach."""
        return self.unit

    @property
    def weights(self) -> tuple[int, ...]:
        """Two off the diagonal."""
        rows, columns = np.triu_indices(self._dimension)
        return tuple(int(weight) for weight in np.where(rows == columns, 1, 2)) * len(self.of)

    def _steps(self, batch: Batch, component: int) -> tuple[Floats, Floats]:
        """Steps from one mean on a coarse grid, and shares that leave weight times squared length within bounds."""
        shares, _, vectors = self.of.shares(batch)
        scale = _PRODUCT_STEPS / math.ceil(self.reach * self.of.of.steps)
        steps = np.rint((vectors - self.of.centres[component]) * scale)
        squares = np.maximum(squared_norms(steps), _PRODUCT_STEPS**2)
        return steps, np.floor(shares[:, component] * _PRODUCT_STEPS**2 / squares)

    def record_maps(self, batch: Batch) -> Integers:
        """Weighted products of each pair of coordinates."""
        rows, columns = np.triu_indices(self._dimension)
        maps = []
        for component in range(len(self.of)):
            steps, weights = self._steps(batch, component)
            maps.append(steps[:, rows] * steps[:, columns] * weights[:, None])
        return np.hstack(maps).astype(np.int64)

    def block_total(self, batch: Batch) -> Integers:
        """A product of matrices per component, exact."""
        rows, columns = np.triu_indices(self._dimension)
        totals = []
        for component in range(len(self.of)):
            steps, weights = self._steps(batch, component)
            totals.append(((steps * weights[:, None]).T @ steps)[rows, columns])
        total: Integers = np.concatenate(totals).astype(np.int64)
        return total

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One record at the reach; from one component to another under substitute."""
        one = Sensitivity(-(-(self._dimension + 1) * self.unit // 2), self.unit**2)
        return one if neighbours == "add-remove" else one.times(2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """A record a little beyond the reach from one mean, and from another."""
        first, second = (self._record(domain, place, _BEYOND * self.reach) for place in (0, 1))
        return first, None if neighbours == "add-remove" else second

    def coarser(self) -> ComponentMoments | None:
        """The same sums in larger parts."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"second moments of {len(self.of)} components of {self.of.of.description}"


def _root_up(squares: Floats) -> Floats:
    """Square roots of integers below 2^53, rounded up to integers, exactly."""
    roots = np.ceil(np.sqrt(squares))
    roots += roots * roots < squares
    return roots


def _check_reach(reach: float, of: Components) -> None:
    if not 0 < reach <= 2 or reach * of.of.steps < 1:
        raise ParameterError(f"components: reach must be above 0 and at most 2 of the ball's radius. Got {reach}.")
