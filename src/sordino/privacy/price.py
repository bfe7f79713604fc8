"""What a release would cost and carry: computed from public numbers alone, before anything is read.

The scale of the noise is an exact fraction of integer sensitivity and cost, rounded up to a float. A draw has
64 bits and saturates, so a scale above 2^63/80 is refused, or the statistic is put on a coarser grid: at that
limit a saturated draw has probability exp(-80). Law and proof: ``docs/proofs/noise.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sordino.cost import Cost, up_to_float
from sordino.domain import Neighbours
from sordino.errors import NoiseError, ParameterError
from sordino.release import Charge, DiscreteGaussian, DiscreteLaplace, Law, NoNoise
from sordino.statistics.choice import ChoiceScores
from sordino.statistics.statistic import Sensitivity, Statistic

#: The largest scale whose draws fit into 64 bits.
LARGEST_SCALE = 2**63 // 80

#: Shares of a budget are multiples of this, so that they add up exactly.
SHARE_STEP = Fraction(1, 2**20)


@dataclass(frozen=True)
class Question:
    """A statistic, and what may be paid for it."""

    statistic: Statistic
    cost: Cost


@dataclass(frozen=True)
class Price:
    """A question with its final grid, its sensitivity and the law of the noise in each coordinate."""

    statistic: Statistic
    cost: Cost
    sensitivity: Sensitivity
    laws: tuple[Law, ...]

    def charge(self, entry: int | None = None) -> Charge:
        """The line of the receipt."""
        pure = self.cost.is_pure
        root = math.sqrt(self.sensitivity.l2_squared)
        amount = self.sensitivity.l1 if pure else root
        return Charge(
            statistic=self.statistic.description,
            mechanism=f"{self.laws[0].name} noise",
            cost=self.cost,
            sensitivity=f"{amount / self.statistic.unit:.6g} ({'L1' if pure else 'L2'})",
            scale=max(law.scale for law in self.laws),
            unit=self.statistic.unit,
            entry=entry,
        )


@dataclass(frozen=True)
class ChoicePrice:
    """A paid choice among candidates: the sensitivity of its integer scores and the scale of the noise."""

    scores: ChoiceScores
    cost: Cost
    sensitivity: int
    scale: float
    monotone: bool = False

    def charge(self, entry: int | None = None) -> Charge:
        """The line of the receipt."""
        return Charge(
            statistic=self.scores.description,
            mechanism="noisy maximum",
            cost=self.cost,
            sensitivity=f"{self.sensitivity} (largest change of a score{', all in one direction' * self.monotone})",
            scale=self.scale,
            unit=1,
            entry=entry,
        )

    def shortfall(self, level: float) -> float:
        """With this probability the chosen score is at most this far below the best one."""
        return self.scale * math.log(self.scores.size / (1 - level))


def price(question: Question, neighbours: Neighbours) -> Price:
    """The noise for a question; on a coarser grid when the finest one needs more than 64 bits."""
    statistic: Statistic | None = question.statistic
    while statistic is not None:
        sensitivity = statistic.sensitivity(neighbours)
        _refuse_public(statistic, sensitivity, neighbours)
        laws = _laws(statistic, sensitivity, question.cost)
        if max(law.scale for law in laws) <= LARGEST_SCALE:
            return Price(statistic, question.cost, sensitivity, laws)
        statistic = statistic.coarser()
    raise NoiseError(
        f"price: {question.statistic.description} at {question.cost} needs noise beyond 64 bits on every grid. "
        "Spend more on it."
    )


def price_choice(scores: ChoiceScores, cost: Cost, neighbours: Neighbours) -> ChoicePrice:
    """The noise for a choice: exponential of scale 2 D / epsilon, or Gumbel of scale D / sqrt(2 rho).

    Half of either where scores are monotone: ``docs/proofs/choice.md``.
    """
    moves, monotone = scores.score_sensitivity(neighbours), scores.monotone(neighbours)
    if cost.infinite:
        return ChoicePrice(scores, cost, moves, 0.0, monotone)
    spread = moves if monotone else 2 * moves
    scale = up_to_float(spread / cost.epsilon) if cost.is_pure else _root_up(spread * spread / (8 * cost.rho))
    if scale > LARGEST_SCALE:
        raise NoiseError(f"price: {scores.description} at {cost} needs noise beyond 64 bits. Spend more on it.")
    return ChoicePrice(scores, cost, moves, scale, monotone)


def split(cost: Cost, statistics: Sequence[Statistic], neighbours: Neighbours) -> list[Cost]:
    """Shares that minimise the summed variance in units: closed forms of ``docs/proofs/split.md``.

    Laplace: share proportional to S^(2/3) k^(1/3), Gaussian: to D sqrt(k), for sensitivity S or D in units and
    k released numbers.
    """
    wishes = [_wish(statistic, neighbours, cost.is_pure) for statistic in statistics]
    steps = [math.floor(wish / sum(wishes) / SHARE_STEP) for wish in wishes]
    steps[0] += int(1 / SHARE_STEP) - sum(steps)
    return [cost.share(step * SHARE_STEP) for step in steps]


def _wish(statistic: Statistic, neighbours: Neighbours, pure: bool) -> float:
    sensitivity = statistic.sensitivity(neighbours)
    if pure:
        return float((sensitivity.l1 / statistic.unit) ** (2 / 3) * statistic.size ** (1 / 3))
    return float(math.sqrt(sensitivity.l2_squared) / statistic.unit * math.sqrt(statistic.size))


def _refuse_public(statistic: Statistic, sensitivity: Sensitivity, neighbours: Neighbours) -> None:
    if sensitivity.l1 == 0:
        raise ParameterError(
            f"price: the {statistic.description} is the same for all neighbours under {neighbours!r}; "
            "it is public, and there is nothing to pay for."
        )


def _laws(statistic: Statistic, sensitivity: Sensitivity, cost: Cost) -> tuple[Law, ...]:
    if cost.infinite:
        return (NoNoise(),) * statistic.size
    if cost.is_pure:
        return (DiscreteLaplace(up_to_float(sensitivity.l1 / cost.epsilon)),) * statistic.size
    variance = sensitivity.l2_squared / (2 * cost.rho)
    if statistic.weights is None:
        return (DiscreteGaussian(_root_up(variance)),) * statistic.size
    by_weight = {weight: DiscreteGaussian(_root_up(variance / weight)) for weight in set(statistic.weights)}
    return tuple(by_weight[weight] for weight in statistic.weights)


def _root_up(value: Fraction) -> float:
    """The square root of a fraction, as a float that is not below it. Infinite beyond all floats."""
    root = math.sqrt(up_to_float(value))
    while math.isfinite(root) and Fraction(root) ** 2 < value:
        root = math.nextafter(root, math.inf)
    return root
