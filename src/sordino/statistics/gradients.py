"""Gradients of EM as a record map: three canonical models, clipped as a whole or softly truncated by coordinate.

What a record contributes depends on its integer cells and on public parameters alone: its scores are exact integer
products, then come fixed element-wise functions, a rounding, and the bound in integers. Values are in the columns'
own units. Proof: ``docs/proofs/em.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.statistics.elementary import hyperbolic_tangent
from sordino.statistics.grid_ball import in_ball, lengths, squared_norms
from sordino.statistics.statistic import EXACT_LIMIT, GRID_STEPS, Record, listed
from sordino.statistics.vectors import LARGEST_DIMENSION, on_half_the_grid
from sordino.table.clipping import Batch, Flags, Floats

Model = Literal["mixture", "regressions", "missing"]

#: No public number is larger in size, and σ no smaller than one over it: then no score is lost in floats.
_LARGEST = 1e101

#: Places per unit of a table of soft truncation; between them it is a straight line.
SOFT_PLACES = 256


@dataclass(frozen=True)
class Soft:
    """Soft truncation, as a public table: ``table[i]`` is the truncated value of i/256, an odd function from zero on.

    A coordinate is divided by ``scale`` first; beyond the table its last value stands.
    """

    scale: float
    table: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise ParameterError(f"soft truncation: scale must be a positive number. Got {self.scale}.")
        if len(self.table) < 2 or not all(map(math.isfinite, self.table)) or max(map(abs, self.table)) == 0:
            raise ParameterError("soft truncation: the table needs two or more numbers, not all zero.")

    @property
    def limit(self) -> float:
        """The largest truncated value, in units of the scale."""
        return max(map(abs, self.table))

    def on_grid(self, values: Floats, steps: int) -> Floats:
        """Truncated values as integers: the limit becomes ``steps``."""
        table = np.array(self.table)
        places = np.minimum(np.abs(values) * (SOFT_PLACES / self.scale), len(table) - 1.0)
        below = np.minimum(places.astype(np.int64), len(table) - 2)
        truncated = table[below] + (places - below) * (table[below + 1] - table[below])
        grid: Floats = np.clip(np.rint(np.copysign(truncated, values) * (steps / self.limit)), -steps, steps)
        return grid


@dataclass(frozen=True)
class Gradients:
    """The gradient of one record's log-likelihood at public ``parameters``, times the noise's variance.

    ``mixture``: x is N(θ, σ²) or N(-θ, σ²), with equal chances. ``regressions``: the target is <x, θ> or -<x, θ>, plus
    noise. ``missing``: the target is <x, θ> plus noise, x is N(0, 1) in each column, and a missing cell of x is filled
    in by its expectation. ``noise`` is σ. The whole gradient is pulled into a ball of ``radius``, or each coordinate
    is softly truncated.
    """

    features: tuple[str, ...]
    model: Model
    parameters: tuple[float, ...]
    noise: float
    truncation: float | Soft
    target: str | None = None
    steps: int = GRID_STEPS

    def __post_init__(self) -> None:
        _check_features(self.features)
        if self.model not in ("mixture", "regressions", "missing"):
            raise ParameterError(f"gradient: model must be 'mixture', 'regressions' or 'missing'. Got {self.model!r}.")
        if len(self.parameters) != len(self.features) or not all(abs(each) <= _LARGEST for each in self.parameters):
            raise ParameterError(f"gradient: needs {len(self.features)} finite parameters.")
        if (self.target is None) is not (self.model == "mixture"):
            raise ParameterError(f"gradient: a {self.model} model has {'no' if self.target else 'a'} target.")
        if not 1 / _LARGEST <= self.noise <= _LARGEST:
            raise ParameterError(f"gradient: noise must be a positive number. Got {self.noise}.")
        if not isinstance(self.truncation, Soft) and not 0 < self.truncation < math.inf:
            raise ParameterError(f"gradient: radius must be a positive number. Got {self.truncation}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """A coordinate per feature."""
        return self.features

    @property
    def reads(self) -> tuple[str, ...]:
        """The features and the target."""
        return self.features if self.target is None else (*self.features, self.target)

    @property
    def in_ball(self) -> bool:
        """Whether the whole gradient is clipped."""
        return not isinstance(self.truncation, Soft)

    @property
    def description(self) -> str:
        """In words."""
        return f"EM gradients of {listed(self.reads)} in a {'ball' if self.in_ball else 'box'}"

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Gradients on the grid, zero for a record that is not whole."""
        gradients, norms, whole = self.unrounded(batch)
        if not isinstance(self.truncation, Soft):
            return in_ball(gradients, norms, self.truncation, self.steps, whole), whole
        vectors = self.truncation.on_grid(gradients, self.steps)
        vectors[~whole] = 0.0
        return vectors, whole

    def unrounded(self, batch: Batch) -> tuple[Floats, Floats, Flags]:
        """Gradients, their norms, and which records are whole: a x + b θ, with a and b from exact scores.

        No sum over coordinates is taken in floats: products with θ and squared norms are those of integers.
        """
        placed, present, unit = _placed(batch, self.features)
        whole: Flags = np.ones(len(batch), dtype=bool) if self.model == "missing" else np.all(present, axis=1)
        target = np.zeros(len(batch))
        if self.target is not None:
            target = batch.numbers(self.target)
            np.logical_and(whole, ~np.isnan(target), out=whole)
            target = np.where(whole, target, 0.0)
        scores = (placed @ self._grid) * (unit / self._steps_of_grid)
        absent = np.zeros(len(batch))
        if self.model == "missing":
            absent = ((~present).astype(np.float64) @ self._squares) * (1 / self._steps_of_squares)
        first, second = self._coefficients(scores, target, absent)
        theta = self._grid / self._steps_of_grid
        values = placed * unit
        squares = first * first * (squared_norms(placed) * (unit * unit))
        if self.model == "missing":
            gradients = first[:, None] * values + second[:, None] * np.where(present, 0.0, theta)
            squares += second * second * absent
        else:
            gradients = first[:, None] * values + second[:, None] * theta
            squares += second * (2 * first * scores + second * float(self._squares.sum() / self._steps_of_squares))
        np.logical_and(whole, np.isfinite(squares), out=whole)  # what is too large for floats is too large to count
        gradients[~whole] = 0.0  # no number may reach a table
        return gradients, np.sqrt(np.maximum(squares, 0.0)), whole

    def _coefficients(self, scores: Floats, target: Floats, absent: Floats) -> tuple[Floats, Floats]:
        """a and b of the gradient a x + b θ, from <x, θ>, the target and the squared norm of the absent part of θ."""
        variance = self.noise * self.noise
        if self.model == "mixture":
            return hyperbolic_tangent(scores / variance), np.full_like(scores, -1.0)
        if self.model == "regressions":
            return hyperbolic_tangent(target * scores / variance) * target - scores, np.zeros_like(scores)
        total = variance + absent
        filled = (target - scores) / total
        residual = target - scores - filled * absent
        return residual, residual * filled - variance / total

    @cached_property
    def _steps_of_grid(self) -> float:
        """A power of two: the finest grid of the parameters on which their product with a record is exact."""
        return _power_below(EXACT_LIMIT / (2 * GRID_STEPS) / max(1e-6, float(np.abs(self.parameters).sum())))

    @cached_property
    def _grid(self) -> Floats:
        """The parameters on their grid."""
        grid: Floats = np.rint(np.array(self.parameters) * self._steps_of_grid)
        return grid

    @cached_property
    def _steps_of_squares(self) -> float:
        return _power_below(EXACT_LIMIT / 2 / max(1e-6, float(np.square(self.parameters).sum())))

    @cached_property
    def _squares(self) -> Floats:
        """The squared parameters on their grid."""
        squares: Floats = np.rint(np.square(self.parameters) * self._steps_of_squares)
        return squares

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """A record whose gradient points that way and reaches the bound, if the domain lets it.

        In a mixture x = θ + step, on the side where it counts fully. In a regression x is the step: with the target at
        its top, or at zero where θ points against it.
        """
        bound = self.truncation
        if isinstance(bound, Soft):
            bound = bound.scale * len(bound.table) / SOFT_PLACES
        step = np.asarray(place, dtype=np.float64)
        if self.in_ball:
            step = step / max(1e-9, float(np.linalg.norm(step)))
        values = step * ((4.0 if self.model == "regressions" else 1.01) * bound)
        if self.model == "mixture":
            values = values + np.array(self.parameters)
        record: dict[str, float | str | int | bool | None] = dict(zip(self.features, values.tolist(), strict=True))
        if self.target is not None:
            against = self.model == "regressions" and float(step @ np.array(self.parameters)) < 0
            record[self.target] = 0.0 if against else domain.real(self.target).high
        return record

    def coarser(self) -> Gradients | None:
        """The same gradients with half as many steps; at least 2^4 remain."""
        return on_half_the_grid(self)


@dataclass(frozen=True)
class Points:
    """Values of some columns in their own units, pulled into a ball of ``radius`` about zero: for a spectral start.

    With a ``target`` the vector is multiplied by it, as a share of ``ceiling`` between -1 and 1; a missing value is
    then zero where ``gaps`` are allowed. A record without a target, or with another gap, maps to zero.
    """

    features: tuple[str, ...]
    radius: float
    target: str | None = None
    ceiling: float = 1.0
    gaps: bool = False
    steps: int = GRID_STEPS
    in_ball = True

    def __post_init__(self) -> None:
        _check_features(self.features)
        for name, value in (("radius", self.radius), ("ceiling", self.ceiling)):
            if not 0 < value < math.inf:
                raise ParameterError(f"points: {name} must be a positive number. Got {value}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """A coordinate per feature."""
        return self.features

    @property
    def reads(self) -> tuple[str, ...]:
        """The features and the target."""
        return self.features if self.target is None else (*self.features, self.target)

    @property
    def description(self) -> str:
        """In words."""
        factor = "" if self.target is None else f" times {self.target}"
        return f"{listed(self.features)}{factor} in a ball about zero"

    def vectors(self, batch: Batch) -> tuple[Floats, Flags | None]:
        """Values on the grid, into the ball, times the target."""
        placed, present, unit = _placed(batch, self.features)
        whole: Flags = np.ones(len(batch), dtype=bool) if self.gaps else np.all(present, axis=1)
        weights = np.ones(len(batch))
        if self.target is not None:
            target = batch.numbers(self.target)
            np.logical_and(whole, ~np.isnan(target), out=whole)
            weights = np.clip(np.where(whole, target, 0.0) / self.ceiling, -1.0, 1.0)
        return in_ball(placed, lengths(placed), self.radius / unit, self.steps, whole, weights[:, None]), whole

    def record_at(self, domain: Domain, place: Floats) -> Record:
        """The record in that direction, a little beyond the sphere; the target at its ceiling."""
        values = np.asarray(place) * (1.01 * self.radius / max(1e-9, float(np.linalg.norm(place))))
        record: dict[str, float | str | int | bool | None] = dict(zip(self.features, values.tolist(), strict=True))
        return record if self.target is None else {**record, self.target: self.ceiling}

    def coarser(self) -> Points | None:
        """The same ball with half as many steps; at least 2^4 remain."""
        return on_half_the_grid(self)


def _placed(batch: Batch, features: tuple[str, ...]) -> tuple[Floats, Flags, float]:
    """Values of columns on one common grid about zero, which of them are there, and what a step is worth.

    Absent values are zero. The grid has 2^20 steps up to the largest bound of any of the columns.
    """
    bounds = [batch.domain.real(name) for name in features]
    unit = max(max(abs(each.low), abs(each.high)) for each in bounds) / GRID_STEPS
    values = np.stack([batch.numbers(name) for name in features], axis=1)
    present: Flags = ~np.isnan(values)
    values *= 1 / unit
    np.rint(values, out=values)
    values[~present] = 0.0
    return values, present, unit


def _power_below(value: float) -> float:
    """The largest power of two up to a positive number, and up to 2^60."""
    return math.ldexp(1.0, min(60, math.frexp(value)[1] - 1))


def _check_features(features: tuple[str, ...]) -> None:
    if not 0 < len(features) <= LARGEST_DIMENSION or len(set(features)) < len(features):
        raise ParameterError(f"gradient: needs 1 to {LARGEST_DIMENSION} distinct columns. Got {len(features)}.")
