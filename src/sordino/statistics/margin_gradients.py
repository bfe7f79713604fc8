"""Gradients of softmax losses at public weights: one step of gradient descent, as an exact bounded sum.

A record's scores are exact integer products of its features and the weights; then come one fixed element-wise function
and a rounding down, so the slopes of the other outputs are at most one whole together, and the own one balances them.
Proof: ``docs/proofs/margin-gradients.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.statistics.directions import Directions, Products
from sordino.statistics.elementary import exponential
from sordino.statistics.labels import ClassLabels, ComponentLabels
from sordino.statistics.statistic import Norm, Record, Sensitivity, Statistic
from sordino.table.clipping import Batch, Floats, Integers

#: Slopes are whole parts of 2^-16.
PARTS = 2**16

#: Weights are whole multiples of 2^-16, and the weights of an output at most this long: scores are exact.
_WEIGHT_STEPS = 2**16
LONGEST_WEIGHTS = 2.0**15


@dataclass(frozen=True)
class MarginGradients(Statistic):
    """Sum over the records of (p - e_y) x q, for their features q, their label y and their probabilities p."""

    of: Directions | Products
    labels: ClassLabels | ComponentLabels
    weights_at: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if len(self.weights_at) != self.labels.cells or len(self.weights_at) < 2:
            raise ParameterError(
                f"gradients: needs a row of weights for each of {self.labels.cells} outputs, two or more."
            )
        if any(len(row) != len(self.of.columns) for row in self.weights_at):
            raise ParameterError(f"gradients: a row of weights needs {len(self.of.columns)} numbers.")
        if not all(math.hypot(*row) <= LONGEST_WEIGHTS for row in self.weights_at):
            raise ParameterError(f"gradients: a row of weights must be at most {LONGEST_WEIGHTS:g} long.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the features and of the label."""
        return tuple(dict.fromkeys((*self.of.reads, *self.labels.columns)))

    @property
    def size(self) -> int:
        """A number per output and feature."""
        return len(self.weights_at) * len(self.of.columns)

    @property
    def unit(self) -> int:
        """Parts of a slope times grid steps of a feature."""
        return PARTS * self.of.steps

    @property
    def largest_entry(self) -> int:
        """No slope exceeds one, and no feature."""
        return self.unit

    def record_maps(self, batch: Batch) -> Integers:
        """Slopes times features."""
        slopes, features = self._parts(batch)
        products: Integers = (slopes[:, :, None] * features[:, None, :]).reshape(len(batch), self.size).astype(np.int64)
        return products

    def block_total(self, batch: Batch) -> Integers:
        """Exact in floats: every partial sum stays below 2^53."""
        slopes, features = self._parts(batch)
        total: Integers = (slopes.T @ features).ravel().astype(np.int64)
        return total

    def _parts(self, batch: Batch) -> tuple[Floats, Floats]:
        features, _ = self.of.vectors(batch)
        own = self.labels.codes(batch)
        scores = features @ self._integers.T  # integers below 2^53
        scores -= scores.max(axis=1, keepdims=True) if len(scores) else 0
        shares = exponential(scores / (_WEIGHT_STEPS * self.of.steps))
        whole = shares[:, 0].copy()
        for output in range(1, len(self.weights_at)):
            whole += shares[:, output]
        slopes = np.floor(shares * PARTS / whole[:, None])
        rows = np.arange(len(own))
        slopes[rows, own] = 0.0
        together = np.zeros(len(own))
        for output in range(len(self.weights_at)):  # a quotient that was rounded up must not make them more than one
            slopes[:, output] = np.minimum(slopes[:, output], PARTS - together)
            together += slopes[:, output]
        slopes[rows, own] = -together
        slopes[own < 0] = 0.0
        return slopes, features

    @cached_property
    def _integers(self) -> Floats:
        """The weights on their grid."""
        integers: Floats = np.rint(np.array(self.weights_at) * _WEIGHT_STEPS)
        return integers

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Slopes of length √2 and L1 length 2, features of length one; twice that under substitute."""
        moves, width = (1 if neighbours == "add-remove" else 2), len(self.of.columns)
        one = math.isqrt(width * (self.of.steps * moves) ** 2)
        return Sensitivity(2 * PARTS * one, 2 * (PARTS * self.of.steps * moves) ** 2)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The longest slopes: records on either side of the boundary of the first two outputs, and on the wrong one.

        Attained where the weights of the first two outputs are opposite, long, and at a right angle to equal features.
        """
        boundary = np.ones(len(self.of.columns))
        lean = np.array(self.weights_at[0]) - np.array(self.weights_at[1])
        lean = 0.004 * lean / max(float(np.linalg.norm(lean)), 1e-9) * math.sqrt(len(boundary))
        values = domain.category(self.labels.columns[0]).values
        first = {**self.of.record_at(domain, boundary + lean), self.labels.columns[0]: values[1]}
        if neighbours == "add-remove":
            return first, None
        return first, {**self.of.record_at(domain, boundary - lean), self.labels.columns[0]: values[0]}

    def coarser(self) -> MarginGradients | None:
        """The same gradients of coarser features."""
        of = self.of.coarser()
        return None if of is None else replace(self, of=of)

    @property
    def description(self) -> str:
        """In words."""
        return f"margin gradients of {self.of.description}"
