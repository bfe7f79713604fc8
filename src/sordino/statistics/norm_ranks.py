"""Scores for a paid quantile of the size of a record's vector: how far out a map's records are, or where they lie.

The number of a record is the exact Euclidean norm, L1 norm or mean of its integer vector; candidates are compared with
it in integers. Proof: ``docs/proofs/ranks.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.ranks import Ranks
from sordino.statistics.statistic import Norm, Record
from sordino.statistics.vectors import VectorMap
from sordino.table.clipping import Batch, Floats

Measure = Literal["l2", "l1", "mean"]


@dataclass(frozen=True)
class NormRanks(Ranks):
    """Scores of candidates for a quantile of the records' norms, or means of coordinates, in units of the map."""

    of: VectorMap
    candidates: tuple[float, ...]
    quantile: Fraction = Fraction(1, 2)
    measure: Measure = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure not in ("l2", "l1", "mean"):
            raise ParameterError(f"norm: measure must be 'l2', 'l1' or 'mean'. Got {self.measure!r}.")
        if self.measure != "mean" and self.candidates[0] < 0:
            raise ParameterError("norm: candidates for a norm must not be negative.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the vector is made of."""
        return self.of.reads

    def _numbers(self, batch: Batch) -> Floats:
        """Squares, sizes or coordinates added up: integers below 2^53. None for a record that is not whole."""
        vectors, whole = self.of.vectors(batch)
        if self.measure == "l2":
            numbers: Floats = np.einsum("ij,ij->i", vectors, vectors)
        else:
            numbers = (np.abs(vectors) if self.measure == "l1" else vectors).sum(axis=1)
        if whole is not None:
            numbers[~whole] = np.nan
        return numbers

    def _points(self) -> Floats:
        """Candidates in squared, plain or summed grid steps."""
        steps, dimension = self.of.steps, len(self.of.columns)
        ratios = [each.as_integer_ratio() for each in self.candidates]
        if self.measure == "l2":
            return np.array([float((part * steps) ** 2 // whole**2) for part, whole in ratios])
        factor = steps if self.measure == "l1" else steps * dimension
        return np.array([float(part * factor // whole) for part, whole in ratios])

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The middle of the map, and its rim."""
        dimension = len(self.of.columns)
        far = self.of.record_at(domain, np.ones(dimension))
        return far, None if neighbours == "add-remove" else self.of.record_at(domain, np.zeros(dimension))

    @property
    def description(self) -> str:
        """In words."""
        what = {"l2": "norm", "l1": "L1 norm", "mean": "mean coordinate"}[self.measure]
        quantile = f"{self.quantile} quantile of the {what}"
        return f"ranks of {self.size} candidates for the {quantile} of {self.of.description}"
