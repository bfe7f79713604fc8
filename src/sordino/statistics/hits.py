"""Scores of released classifiers for a paid choice: how many records each of them gets right.

A hit is decided record by record in exact integers: the record's vector on a grid, public integer coefficients, a tie
won by the class that is listed first. A record without a class, or with a missing cell, is no hit of anybody. So an
added record raises every score by 0 or 1: the scores are monotone. Proof: ``docs/proofs/choice.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.choice import ChoiceScores
from sordino.statistics.count import whole_records
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.statistic import EXACT_LIMIT, Norm, Record, Sensitivity
from sordino.statistics.vectors import VectorMap
from sordino.table.clipping import Batch, Floats, Integers

#: More candidates than this are refused: every one costs a noisy score.
MOST_CANDIDATES = 2**20


class Hits(ChoiceScores):
    """What all counts of hits share."""

    classes: CategoryAxis
    largest_entry = 1

    def score_sensitivity(self, neighbours: Neighbours) -> int:
        """A record is a hit or none, and so is the one that takes its place."""
        return 1

    def monotone(self, neighbours: Neighbours) -> bool:
        """A record more never lowers a score; one in another's place can raise some and lower others."""
        return neighbours == "add-remove"


@dataclass(frozen=True)
class ConstantHits(Hits):
    """Hits of the classifiers that always say one class: the size of each class, of records whole in ``reads``."""

    classes: CategoryAxis
    reads: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be whole, and the class."""
        return tuple(dict.fromkeys((*self.reads, self.classes.column)))

    @property
    def size(self) -> int:
        """One per class."""
        return self.classes.cells

    def record_maps(self, batch: Batch) -> Integers:
        """A one for the record's class."""
        maps: Integers = (self.classes.codes(batch)[:, None] == np.arange(self.size)).astype(np.int64)
        maps[~whole_records(batch, self.reads)] = 0
        return maps

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of the sizes, were they released."""
        moves = 1 if neighbours == "add-remove" else min(2, self.size)
        return Sensitivity(moves, moves)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The first class, and the last."""
        middle = {name: domain.real(name).middle for name in self.reads}
        return _of_two_classes(self.classes, domain, neighbours, middle)

    @property
    def description(self) -> str:
        """In words."""
        return f"hits of {self.size} constant guesses of {self.classes.column}"


@dataclass(frozen=True)
class CutHits(Hits):
    """Hits of every rule "one coordinate at most a cut: one class; else another class".

    The coordinates are those of ``of``, and their mean after them; the cuts are in units of the map. Candidates run
    over coordinates, then cuts, then ordered pairs of different classes.
    """

    of: VectorMap
    classes: CategoryAxis
    cuts: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.cuts or any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ParameterError("rule: cuts must be one or more rising numbers.")
        if self.classes.cells < 2:
            raise ParameterError("rule: needs two or more classes.")
        if self.size > MOST_CANDIDATES:
            raise ParameterError(f"rule: at most {MOST_CANDIDATES} candidates. Got {self.size}. Declare fewer columns.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The map's columns and the class."""
        return tuple(dict.fromkeys((*self.of.reads, self.classes.column)))

    @property
    def coordinates(self) -> int:
        """Those of the map, and their mean."""
        return len(self.of.columns) + 1

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every ordered pair of different classes."""
        cells = range(self.classes.cells)
        return tuple((first, second) for first in cells for second in cells if first != second)

    @property
    def size(self) -> int:
        """Coordinates x cuts x pairs."""
        return self.coordinates * len(self.cuts) * self.classes.cells * (self.classes.cells - 1)

    @property
    def inner_size(self) -> int:
        """Counts of records per coordinate, cell between cuts, and class."""
        return self.coordinates * (len(self.cuts) + 1) * self.classes.cells

    def rule(self, index: int) -> tuple[int, float, int, int]:
        """Coordinate, cut, class at most the cut, class above: of a candidate."""
        place, pair = divmod(index, len(self.pairs))
        coordinate, cut = divmod(place, len(self.cuts))
        return (coordinate, self.cuts[cut], *self.pairs[pair])

    def _cells(self, batch: Batch) -> tuple[Integers, Integers]:
        """The whole records with a class, and the number of the count that each raises, per coordinate."""
        vectors, whole = self.of.vectors(batch)
        codes = self.classes.codes(batch)
        present = np.flatnonzero(codes >= 0 if whole is None else (codes >= 0) & whole)
        vectors, codes = vectors[present], codes[present]
        cells = np.empty((len(present), self.coordinates), dtype=np.int64)
        points = self._points(1)
        for coordinate in range(self.coordinates - 1):
            cells[:, coordinate] = np.searchsorted(points, vectors[:, coordinate], side="left")
        cells[:, -1] = np.searchsorted(self._points(self.coordinates - 1), vectors.sum(axis=1), side="left")
        start = np.arange(self.coordinates) * (len(self.cuts) + 1)
        return present, (start + cells) * self.classes.cells + codes[:, None]

    def _points(self, dimension: int) -> Floats:
        """The cuts as whole grid steps, of one coordinate or of a sum of several."""
        points: Floats = np.floor(np.array(self.cuts) * self.of.steps) * dimension
        return points

    def record_maps(self, batch: Batch) -> Integers:
        """A one per coordinate, in the cell of the record's value and class."""
        present, cells = self._cells(batch)
        maps = np.zeros((len(batch), self.inner_size), dtype=np.int64)
        maps[present[:, None], cells] = 1
        return maps

    def block_total(self, batch: Batch) -> Integers:
        """Counts per cell."""
        return np.bincount(self._cells(batch)[1].ravel(), minlength=self.inner_size).astype(np.int64)

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """Records of the first class up to the cut, and of the second class above it."""
        counts = np.array(total, dtype=np.int64).reshape(self.coordinates, len(self.cuts) + 1, self.classes.cells)
        up_to = counts.cumsum(axis=1)
        above = up_to[:, -1:] - up_to
        first, second = np.array(self.pairs).T
        scores = up_to[:, :-1, first] + above[:, :-1, second]
        return tuple(scores.ravel().tolist())

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of the counts, were they released: one per coordinate, or two."""
        moves = self.coordinates * (1 if neighbours == "add-remove" else 2)
        return Sensitivity(moves, moves)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """Two corners, of two classes."""
        corner = np.ones(len(self.of.columns))
        first, second = self.of.record_at(domain, corner), self.of.record_at(domain, -corner)
        return _of_two_classes(self.classes, domain, neighbours, first, second)

    @property
    def description(self) -> str:
        """In words."""
        return f"hits of {self.size} one-column rules for {self.classes.column}"


@dataclass(frozen=True)
class Discriminant:
    """A released classifier with whole coefficients: the class with the largest score, the first one of a tie.

    The score of class c at a vector x on a grid of ``steps`` is quadratic[c] · (products x_i x_j, i at most j, row by
    row) + steps · linear[c] · x + steps² · constant[c]. ``quadratic`` is empty for a linear one.
    """

    constant: tuple[int, ...]
    linear: tuple[tuple[int, ...], ...]
    quadratic: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, constant: Any, linear: Any, matrices: Any, dimension: int, steps: int) -> Discriminant:
        """The nearest one to scores constant + linear · x + x' M x, for x in units; M may be None.

        All coefficients are multiplied by one number, so large that no sum for a vector in [-1, 1]^d leaves 53 bits.
        A grid so fine that rounding them could move a score by more than half of the largest one is refused.
        """
        constants, slopes = np.asarray(constant, float), np.asarray(linear, float)
        rows, columns = np.triu_indices(dimension)
        products = np.zeros((len(constants), 0))
        if matrices is not None:
            both = np.asarray(matrices, float)
            products = np.where(rows == columns, 1.0, 2.0) * both[:, rows, columns]
        reach = np.abs(constants) + np.abs(slopes).sum(axis=1) + np.abs(products).sum(axis=1)
        entries = 1 + dimension + products.shape[1]
        room = EXACT_LIMIT // (4 * steps**2) - entries
        if room < entries:
            raise ParameterError(
                f"hits: models of {dimension} columns on a grid of {steps} steps leave 53 bits. Take a coarser grid."
            )
        factor = room / max(float(reach.max()), 1e-300) if math.isfinite(float(reach.max())) else 0.0
        whole = [np.rint(np.clip(part * factor, -room, room)) for part in (constants, slopes, products)]
        constants, slopes, products = whole
        return cls(
            tuple(map(int, constants)),
            tuple(tuple(map(int, each)) for each in slopes),
            tuple(tuple(map(int, each)) for each in products) if matrices is not None else (),
        )

    def scores(self, vectors: Floats, steps: int) -> Floats:
        """One row of exact whole scores per vector: every partial sum stays below 2^53."""
        scores: Floats = np.array(self.constant, float) * float(steps) ** 2 + vectors @ (
            np.array(self.linear, float).T * steps
        )
        rows, columns = np.triu_indices(vectors.shape[1])
        for place, products in enumerate(self.quadratic):
            form = np.zeros((vectors.shape[1],) * 2)
            form[rows, columns] = products
            scores[:, place] += np.einsum("ij,ij->i", vectors @ form, vectors)
        return scores


@dataclass(frozen=True)
class ModelHits(Hits):
    """Hits of released linear and quadratic classifiers, on the vectors of one map."""

    of: VectorMap
    classes: CategoryAxis
    models: tuple[Discriminant, ...]

    def __post_init__(self) -> None:
        dimension = len(self.of.columns)
        for model in self.models:
            linear = {len(each) for each in model.linear}
            triangle = {len(each) for each in model.quadratic}
            if len(model.constant) != self.classes.cells or len(model.linear) != self.classes.cells:
                raise ParameterError(f"hits: every model needs {self.classes.cells} classes.")
            if linear != {dimension} or not triangle <= {dimension * (dimension + 1) // 2}:
                raise ParameterError(f"hits: every model needs {dimension} coordinates.")
            if largest_score(model) * self.of.steps**2 > EXACT_LIMIT:
                raise ParameterError("hits: the coefficients of a model leave 53 bits. Take a coarser grid.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The map's columns and the class."""
        return tuple(dict.fromkeys((*self.of.reads, self.classes.column)))

    @property
    def size(self) -> int:
        """One per model."""
        return len(self.models)

    def record_maps(self, batch: Batch) -> Integers:
        """A one for each model that names the record's class."""
        vectors, whole = self.of.vectors(batch)
        codes = self.classes.codes(batch)
        hits = np.stack([model.scores(vectors, self.of.steps).argmax(axis=1) == codes for model in self.models], axis=1)
        if whole is not None:
            hits[~whole] = False
        return hits.astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of the hits, were they released: every model gains one, or changes by one."""
        return Sensitivity(self.size, self.size)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The middle of the map, in the first class and in the last."""
        middle = self.of.record_at(domain, np.zeros(len(self.of.columns)))
        return _of_two_classes(self.classes, domain, neighbours, middle)

    @property
    def description(self) -> str:
        """In words."""
        return f"hits of {self.size} models of {self.classes.column}"


def largest_score(model: Discriminant) -> int:
    """Bound on a score in squared grid steps, for a vector in [-1, 1]^d."""
    quadratic: Sequence[tuple[int, ...]] = model.quadratic or ((),) * len(model.constant)
    return max(
        abs(constant) + sum(map(abs, linear)) + sum(map(abs, products))
        for constant, linear, products in zip(model.constant, model.linear, quadratic, strict=True)
    )


def _of_two_classes(
    classes: CategoryAxis, domain: Domain, neighbours: Neighbours, first: Record, second: Record | None = None
) -> tuple[Record, Record | None]:
    values = domain.category(classes.column).values
    one = {**first, classes.column: values[0]}
    if neighbours == "add-remove":
        return one, None
    return one, {**(first if second is None else second), classes.column: values[-1]}
