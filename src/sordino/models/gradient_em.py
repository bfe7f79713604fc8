"""Gradient EM with private steps, after Wu: the three canonical models, clipped or softly truncated, made true.

Every round asks for one bounded integer sum, the gradients at the public parameters of the round before, and all
rounds and coordinates are paid for. So rounds are dear: a private start that looks at second moments once, and a few
rounds after it, beat many rounds from a public start.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sordino.cost import Amount
from sordino.domain import Category, Column, Domain, Neighbours
from sordino.errors import DomainError, ParameterError
from sordino.models.checks import check_word, interval_of_target
from sordino.models.estimator import Floats, Opening, PrivateEstimator
from sordino.models.soft_truncation import soft_table
from sordino.privacy.price import Question
from sordino.release import NoisyTotal
from sordino.repair.ball import into_ball
from sordino.repair.positive_definite import from_triangle
from sordino.repair.shrinkage import spikes
from sordino.statistics.count import Count
from sordino.statistics.gradients import Gradients, Model, Points, Soft
from sordino.statistics.moments import SecondMoment
from sordino.statistics.statistic import Statistic
from sordino.statistics.sums import Sum

#: The share of the budget that buys the number of records.
SIZE_SHARE = Fraction(1, 32)

#: Rounds that pay, by model: a mixture's start needs few.
_ROUNDS: dict[str, int] = {"mixture": 3, "regressions": 10, "missing": 10}


class GradientEM(PrivateEstimator):
    """Parameters θ of one of three canonical models, by gradient EM with private steps.

    ``model="mixture"``: rows are N(θ, σ²) or N(-θ, σ²), with equal chances. ``"regressions"``: the target is <x, θ> or
    -<x, θ>, plus noise. ``"missing"``: the target is <x, θ> plus noise, and cells of x, which is N(0, 1), are missing.
    Public are ``length``, a bound on the length of θ, and ``noise``, the σ.

    ``truncation="clip"`` pulls a record's gradient into a ball of radius ``clip``; ``"soft"`` truncates each coordinate
    by Catoni's function, scaled by ``scale`` and smoothed by noise of precision ``beta``; it has no advantage, and is
    here because the paper's method is made of it. ``start="private"`` spends half of the budget on a spectral start;
    an array is a public one. ``rounds`` (3 for a mixture and 10 for the others, if not given) and ``step`` are EM's.

    >>> import numpy as np, sordino as so
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1, 1], (20000, 1)) * [[2.0, -1.0]] + rng.normal(size=(20000, 2))
    >>> model = so.GradientEM(epsilon=1.0, delta=1e-6, bounds=(-8, 8)).fit(X)
    >>> bool(min(np.linalg.norm(model.parameters_ - [2, -1]), np.linalg.norm(model.parameters_ + [2, -1])) < 0.3)
    True

    Learned: ``parameters_``; ``path_``, the parameters after each round, the start first; ``size_``, the released
    number of records. The sign of θ cannot be told in a mixture and in two regressions.
    """

    parameters_: Floats
    path_: Floats
    size_: float

    def __init__(
        self,
        model: Model = "mixture",
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        length: float = 3.0,
        noise: float = 1.0,
        truncation: Literal["clip", "soft"] = "clip",
        clip: float | None = None,
        scale: float | None = None,
        beta: float = 6.0,
        rounds: int | None = None,
        step: float = 1.0,
        start: Any = "private",
        bounds: Any = None,
        target_bounds: Any = None,
        domain: Domain | None = None,
        neighbours: Neighbours = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.epsilon = epsilon
        self.delta = delta
        self.length = length
        self.noise = noise
        self.truncation = truncation
        self.clip = clip
        self.scale = scale
        self.beta = beta
        self.rounds = rounds
        self.step = step
        self.start = start
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.domain = domain
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @property
    def needs_target(self) -> bool:
        """Whether ``fit`` needs a target: not for a mixture."""
        return self.model != "mixture"

    def fit(self, X: Any, y: Any = None) -> GradientEM:
        """Learn from a private table (and the name of its target), or from arrays."""
        self._check()
        opening = self._open(X, y)
        dimension = len(opening.features)
        given, left = self._given_start(dimension), 1 - SIZE_SHARE
        self.size_ = max(1.0, self._asked(opening, Count(self._counted(opening)), SIZE_SHARE).in_units()[0])
        rounds = _ROUNDS[self.model] if self.rounds is None else self.rounds
        if given is None:
            share = left / 2 if rounds else left
            parameters, left = self._private_start(opening, share), left - share
        else:
            parameters = given
        path = [parameters]
        for _ in range(rounds):
            path.append(self._next(opening, path[-1], left / rounds))
        self.path_, self.parameters_ = np.array(path), path[-1]
        self.receipt_ = opening.receipt()
        return self

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """For a mixture the side of each row, 0 or 1; else <x, θ>. A column that is left out adds nothing."""
        rows = self._test_rows(X)
        lines: Floats = np.nansum(rows * self.parameters_, axis=1)
        return (lines < 0).astype(np.int64) if self.model == "mixture" else lines

    # ---- what is asked ---------------------------------------------------------------------------------------------

    def _asked(self, opening: Opening, statistic: Statistic, share: Fraction) -> NoisyTotal:
        (total,) = opening.session.answer([Question(statistic, opening.cost.share(share))])
        opening.receipts.append(total.receipt)
        return total

    def _counted(self, opening: Opening) -> tuple[str, ...]:
        """The columns that must be whole for a record to count."""
        features = () if self.model == "missing" else opening.features
        return features if opening.target is None else (*features, opening.target)

    def _next(self, opening: Opening, parameters: Floats, share: Fraction) -> Floats:
        """One round: a step along the mean gradient, kept within the public length."""
        truncation, unit = self._truncation(len(parameters))
        of = Gradients(opening.features, self.model, tuple(parameters.tolist()), self.noise, truncation, opening.target)
        total = self._asked(opening, Sum(of), share)
        return self._within(parameters + self.step * np.array(total.in_units()) * (unit / self.size_))

    def _truncation(self, dimension: int) -> tuple[float | Soft, float]:
        """What keeps a record's gradient within bounds, and what one unit of their sums is worth."""
        if self.truncation == "clip":
            radius = self._radius(dimension)
            return radius, radius
        soft = soft_table(self._scale(), self.beta)
        return soft, soft.scale * soft.limit

    def _radius(self, dimension: int) -> float:
        """The radius of the ball for gradients: half of the length of one at the truth.

        Clipped gradients still cancel at θ where they are as often turned one way as the other, so a small radius costs
        speed rather than truth.
        """
        if self.clip is not None:
            return float(self.clip)
        variance, square = self.noise**2, self.length**2
        if self.model == "mixture":
            return math.sqrt(square + dimension * variance) / 2
        part = 0.3 if self.model == "regressions" else 0.25
        return math.sqrt(dimension * (variance + part * square)) / 2

    def _scale(self) -> float:
        """The scale of soft truncation: the size of a coordinate, and not, as printed, that times the root of n."""
        return float(self.scale) if self.scale is not None else math.sqrt(self.length**2 + self.noise**2)

    def _within(self, parameters: Floats) -> Floats:
        """No longer than the public bound."""
        return into_ball(parameters, self.length)

    # ---- the start -------------------------------------------------------------------------------------------------

    def _given_start(self, dimension: int) -> Floats | None:
        if isinstance(self.start, str) and self.start == "private":
            return None
        start = np.asarray(self.start, dtype=np.float64)
        if start.shape != (dimension,) or not np.isfinite(start).all():
            raise ParameterError(f"GradientEM: start must be 'private', or {dimension} public numbers.")
        return self._within(start)

    def _private_start(self, opening: Opening, share: Fraction) -> Floats:
        """From second moments, asked once: the direction in which they exceed those of the noise."""
        dimension, variance = len(opening.features), self.noise**2
        if self.model == "mixture":
            points = Points(opening.features, 1.2 * math.sqrt(self.length**2 + dimension * variance))
            values, vectors = self._spectrum(opening, points, points.radius**2, share)
            return self._within(vectors[:, -1] * math.sqrt(max(values[-1] - variance, 0.1 * variance)))
        ceiling = 3 * math.sqrt(self.length**2 + variance)
        points = Points(
            opening.features, 1.05 * math.sqrt(dimension), opening.target, ceiling, gaps=self.model == "missing"
        )
        if self.model == "missing":
            total = self._asked(opening, Sum(points), share)
            return self._within(np.array(total.in_units()) * (points.radius * ceiling / self.size_))
        values, vectors = self._spectrum(opening, points, (points.radius * ceiling) ** 2, share)
        excess = (values[-1] - float(np.median(values))) / 2
        return self._within(vectors[:, -1] * math.sqrt(max(excess, 0.1 * variance)))

    def _spectrum(self, opening: Opening, points: Points, unit: float, share: Fraction) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of the mean of x x'; the largest one without what noise adds to it."""
        total = self._asked(opening, SecondMoment(points, frobenius=True), share)
        matrix = from_triangle(total.in_units()) * (unit / self.size_)
        values, vectors = np.linalg.eigh(matrix)
        deviation = math.sqrt(total.laws[-1].variance / 2) / total.unit * unit / self.size_
        rest = float(np.median(values))
        values[-1] = rest + float(spikes(values[-1] - rest, 2 * math.sqrt(len(values) - 1) * deviation))
        return values, vectors

    # ---- public choices --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for name, allowed in (("model", tuple(_ROUNDS)), ("truncation", ("clip", "soft"))):
            check_word(f"GradientEM: {name}", getattr(self, name), allowed)
        for name in ("length", "noise", "clip", "scale", "beta", "step"):
            value = getattr(self, name)
            if value is None and name in ("clip", "scale"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-100 < value < 1e100:
                raise ParameterError(f"GradientEM: {name} must be a positive number, below 1e100. Got {value!r}.")
        whole = isinstance(self.rounds, int) and not isinstance(self.rounds, bool)
        if self.rounds is not None and not (whole and 0 <= self.rounds <= 1000):
            raise ParameterError(f"GradientEM: rounds must be a whole number from 0 to 1000. Got {self.rounds!r}.")

    def _refuse_target(self, name: str, declared: Column) -> None:
        if isinstance(declared, Category):
            raise DomainError(f"GradientEM: the target must be a Real. Got {name!r}, a Category.")

    def _target_column(self, labels: np.ndarray[Any, Any] | None) -> Column:
        """The public bounds of the target of arrays."""
        if self.target_bounds is None:
            raise DomainError(
                "GradientEM: no bounds are declared for the target. Values are never peeked at: "
                "write target_bounds=(LOW, HIGH)."
            )
        return interval_of_target("GradientEM", self.target_bounds)
