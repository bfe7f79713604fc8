"""Minimise a strongly convex sum over records to a certified gradient norm.

    J(W) = sum_i loss(W q_i, y_i) + ridge/2 |W|² + <linear, W>

Newton steps from conjugate gradients, while they shorten the gradient in proportion; from the first that does not, each
step goes down along its direction until J almost stops falling. J falls by a fixed share of what is left, whatever the
records are, so the certificate is reached. The law: on return |grad J(W)| <= target.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from sordino.errors import PassError
from sordino.privacy.margin_losses import Bend, Loss
from sordino.table.clipping import Floats, Integers

#: Steps after which nothing is released. Newton takes about ten; see the proof page for what the limit covers.
MOST_STEPS = 10_000

#: Conjugate gradients for one Newton step.
_MOST_PRODUCTS = 60

#: Trials of a part of one step.
_MOST_PARTS = 60

#: Above this many features the curvature's inverse is not prepared.
_LARGEST_PREPARED = 1500

#: Slopes (records x outputs) that may be remembered between the products of one Newton step.
_KEPT_SLOPES = 5 * 10**7


class Blocks(Protocol):
    """Features and labels, block by block, again and again."""

    @property
    def size(self) -> int:
        """Features of a record."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether blocks are not read again each time."""
        ...

    @property
    def exact_records(self) -> int:
        """How many records there are."""
        ...

    def __iter__(self) -> Iterator[tuple[Floats, Integers]]:
        """Features and labels."""
        ...


class Objective:
    """The function above, its gradient and its curvature, over blocks of records."""

    def __init__(self, blocks: Blocks, loss: Loss, ridge: float, linear: Floats) -> None:
        self.loss, self.ridge, self.linear = loss, ridge, linear
        self._blocks = blocks
        self._bends: list[Bend] | None = None
        self._at = np.zeros_like(linear)
        self._precise = False

    def value(self, weights: Floats) -> float:
        """J, for tests: the solver never asks."""
        losses = sum(float(self.loss.values(q @ weights.T, own).sum()) for q, own in self._blocks)
        return losses + self.ridge / 2 * float((weights**2).sum()) + float((self.linear * weights).sum())

    def gradient(self, weights: Floats) -> Floats:
        """Of J; what ``curved`` needs is remembered while it is small."""
        total: Any = self.ridge * weights + self.linear
        if self._precise:
            total = total.astype(np.longdouble)
        keep = self._blocks.in_memory and self._blocks.exact_records * len(weights) <= _KEPT_SLOPES
        bends: list[Bend] = []
        for q, own in self._blocks:
            slopes, bend = self.loss.slopes(self._scores(q, weights), own)
            total += slopes.T @ (q.astype(slopes.dtype) if self._precise else q)
            if keep:
                bends.append(bend)
        self._bends, self._at = bends if keep else None, weights
        gradient: Floats = total.astype(np.float64)
        return gradient

    def be_precise(self) -> bool:
        """From now on gradients are summed in longer floats; False if they already are."""
        before, self._precise = self._precise, True
        return not before

    def curved(self, direction: Floats) -> Floats:
        """The curvature of J, where the last gradient was taken, times a direction."""
        total = self.ridge * direction
        for place, (q, own) in enumerate(self._blocks):
            bend = self._bends[place] if self._bends else self.loss.slopes(q @ self._at.T, own)[1]
            total += self.loss.bent(bend, q @ direction.T).T @ q
        return total

    def prepared(self, most: int = _LARGEST_PREPARED) -> Floats | None:
        """A rough inverse of the curvature, per output: of ridge + sum qq'/outputs; None where it would be large."""
        if self._blocks.size > most:
            return None
        gram: Floats = np.zeros((self._blocks.size, self._blocks.size))
        for q, _ in self._blocks:
            gram = gram + q.T @ q
        gram *= min(1.0, 2 * self.loss.largest_curvature / self.loss.outputs)
        gram[np.diag_indices_from(gram)] += self.ridge
        return np.asarray(np.linalg.inv(gram), dtype=np.float64)

    def _scores(self, q: Floats, weights: Floats) -> Any:
        if not self._precise:
            return q @ weights.T
        return q.astype(np.longdouble) @ weights.T.astype(np.longdouble)


def minimise(objective: Objective, target: float, most_steps: int = MOST_STEPS) -> Floats:
    """Weights at which the gradient of the objective is at most ``target`` long."""
    weights = np.zeros_like(objective.linear)
    inverse = objective.prepared()
    gradient = objective.gradient(weights)
    length = float(np.linalg.norm(gradient))
    first, careful = max(length, 1e-300), False
    for _ in range(most_steps):
        if length <= target:
            return weights
        step = _newton_step(objective, gradient, inverse, min(0.1, max(length / first, target / length / 4)))
        shorter = None if careful else _shorter(objective, weights, gradient, step)
        careful = shorter is None
        before = weights
        weights, gradient = _down(objective, weights, gradient, step) if shorter is None else shorter
        length = float(np.linalg.norm(gradient))
        if length > target and bool((weights == before).all()) and not objective.be_precise():
            break  # rounding, not the records: no float is nearer
    raise PassError(
        "minimiser: the gradient did not become short enough. The charge stands and nothing was released. "
        "Write a larger ridge."
    )


def _shorter(objective: Objective, weights: Floats, gradient: Floats, step: Floats) -> tuple[Floats, Floats] | None:
    """The first of the step and its parts that shortens the gradient in proportion, and the gradient there."""
    length = float(np.linalg.norm(gradient))
    for part in (1.0, 0.5, 0.25):
        trial = weights - part * step
        found = objective.gradient(trial)
        if float(np.linalg.norm(found)) <= (1 - part / 4) * length:
            return trial, found
    return None


def _down(objective: Objective, weights: Floats, gradient: Floats, step: Floats) -> tuple[Floats, Floats]:
    """The part of the step at which J has almost stopped falling along it: its slope there is a tenth, or less."""
    steepest = float((gradient * step).sum())
    low, high, part = 0.0, math.inf, 1.0
    best = weights, gradient
    for _ in range(_MOST_PARTS):
        trial = weights - part * step
        found = objective.gradient(trial)
        slope = float((found * step).sum())
        if slope >= 0:
            low, best = part, (trial, found)
            if slope <= steepest / 10:
                break
        else:
            high = part
        part = 2 * part if math.isinf(high) else (low + high) / 2
    return best


def _newton_step(objective: Objective, gradient: Floats, inverse: Floats | None, tolerance: float) -> Floats:
    """Conjugate gradients on curvature · step = gradient."""
    step = np.zeros_like(gradient)
    residual = gradient.copy()
    eased = residual if inverse is None else residual @ inverse
    direction = eased.copy()
    product = float((residual * eased).sum())
    goal = tolerance * float(np.linalg.norm(gradient))
    for _ in range(_MOST_PRODUCTS):
        curved = objective.curved(direction)
        bend = float((direction * curved).sum())
        if bend <= 0:
            break
        step += product / bend * direction
        residual -= product / bend * curved
        if float(np.linalg.norm(residual)) <= goal:
            break
        eased = residual if inverse is None else residual @ inverse
        product, before = float((residual * eased).sum()), product
        direction = eased + product / before * direction
    return step


def log_determinant(blocks: Iterable[tuple[Floats, Integers]], loss: Loss, ridge: float, weights: Floats) -> float:
    """log det of the curvature of J at some weights, by its whole matrix: for audits of small problems."""
    size = weights.size
    matrix = np.zeros((size, size))
    for q, own in blocks:
        _, bend = loss.slopes(q @ weights.T, own)
        for place, unit in enumerate(np.eye(size).reshape(size, *weights.shape)):
            matrix[place] += (loss.bent(bend, q @ unit.T).T @ q).ravel()
    matrix[np.diag_indices(size)] += ridge
    return float(np.linalg.slogdet(matrix)[1])
