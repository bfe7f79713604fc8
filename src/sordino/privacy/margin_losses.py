"""The losses that the perturbed minimiser knows: convex, with a bounded gradient and a bounded curvature per record.

A record has features q, |q| <= 1, and a label y among C outputs. With scores s = W q its loss is a function of s and y,
so its gradient is r q' for the slopes r of that function, and its curvature S x qq'. The facts that the mechanism leans
on are stated here, once, and proved in ``docs/proofs/perturbed-minimiser.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sordino.table.clipping import Floats, Integers

#: What a loss remembers of some records to bend a direction by their curvature.
Bend = Any


class Loss(Protocol):
    """A convex function of the scores of one record, and what is known of it."""

    @property
    def outputs(self) -> int:
        """C."""
        ...

    def __hash__(self) -> int:
        """Of public numbers."""
        ...

    @property
    def vertices(self) -> tuple[tuple[int, float], ...]:
        """Every gradient lies in the convex hull of 0 and these: how many, and their squared length."""
        ...

    def curvature(self, ridge: float) -> float:
        """The largest log det(I + S/ridge)."""
        ...

    @property
    def largest_curvature(self) -> float:
        """The largest eigenvalue of S."""
        ...

    def values(self, scores: Floats, own: Integers) -> Floats:
        """The loss of each record."""
        ...

    def slopes(self, scores: Floats, own: Integers) -> tuple[Floats, Bend]:
        """The slopes of each record, and what ``bent`` needs."""
        ...

    def bent(self, bend: Bend, directions: Floats) -> Floats:
        """The curvature of each record times its direction."""
        ...


@dataclass(frozen=True)
class Softmax:
    """log sum_c exp(s_c) - s_y."""

    outputs: int
    largest_curvature = 0.5

    @property
    def vertices(self) -> tuple[tuple[int, float], ...]:
        """e_c - e_y for every other c."""
        return ((self.outputs - 1, 2.0),)

    def curvature(self, ridge: float) -> float:
        """(C - 1) log(1 + 1/(C ridge)): reached when all outputs are equally likely."""
        return (self.outputs - 1) * math.log1p(1 / (self.outputs * ridge))

    def values(self, scores: Floats, own: Integers) -> Floats:
        """Never negative."""
        highest = scores.max(axis=1)
        mine = scores[np.arange(len(own)), own]
        found: Floats = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1)) - mine
        return found

    def slopes(self, scores: Floats, own: Integers) -> tuple[Floats, Bend]:
        """Probabilities less the own label's one."""
        probabilities = scores - scores.max(axis=1, keepdims=True)
        np.exp(probabilities, out=probabilities)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        slopes = probabilities.copy()
        slopes[np.arange(len(own)), own] -= 1
        return slopes, probabilities

    def bent(self, bend: Bend, directions: Floats) -> Floats:
        """diag p - pp' times a direction."""
        products: Floats = bend * directions
        products -= bend * products.sum(axis=1, keepdims=True)
        return products


@dataclass(frozen=True)
class Huber:
    """Smoothed hinges over all other outputs, with v = 1 - s_y + s_c: 0 below -h, (v+h)²/(4h) to h, v above."""

    outputs: int
    width: float = 0.5

    @property
    def vertices(self) -> tuple[tuple[int, float], ...]:
        """The sum of e_c - e_y over a set of k others has squared length k + k²."""
        others = self.outputs - 1
        return tuple((math.comb(others, k), float(k + k * k)) for k in range(1, others + 1))

    @property
    def largest_curvature(self) -> float:
        """C / (2h)."""
        return self.outputs / (2 * self.width)

    def curvature(self, ridge: float) -> float:
        """The eigenvalues of S are at most C/(2h), once, and 1/(2h), C - 2 times."""
        one = 1 / (2 * self.width * ridge)
        return math.log1p(self.outputs * one) + (self.outputs - 2) * math.log1p(one)

    def values(self, scores: Floats, own: Integers) -> Floats:
        """Sum over the other outputs."""
        violations = self._violations(scores, own)
        inner = np.clip(violations, -self.width, self.width)
        losses = np.where(violations > self.width, violations, (inner + self.width) ** 2 / (4 * self.width))
        losses[np.arange(len(own)), own] = 0
        found: Floats = losses.sum(axis=1)
        return found

    def slopes(self, scores: Floats, own: Integers) -> tuple[Floats, Bend]:
        """Between 0 and 1 for each other output; the own one balances them."""
        rows = np.arange(len(own))
        violations = self._violations(scores, own)
        slopes = np.clip((violations + self.width) / (2 * self.width), 0, 1)
        slopes[rows, own] = 0
        slopes[rows, own] = -slopes.sum(axis=1)
        bends = np.where(np.abs(violations) < self.width, 1 / (2 * self.width), 0.0)
        bends[rows, own] = 0
        return slopes, (bends, own)

    def bent(self, bend: Bend, directions: Floats) -> Floats:
        """Each bend times the difference of its output's direction and the own one's."""
        bends, own = bend
        rows = np.arange(len(own))
        products: Floats = bends * (directions - directions[rows, own][:, None])
        products[rows, own] = -products.sum(axis=1)
        return products

    def _violations(self, scores: Floats, own: Integers) -> Floats:
        violations: Floats = 1 - scores[np.arange(len(own)), own][:, None] + scores
        return violations
