"""What right guesses of a secret bit say about ε: the bound, its p-value, and what a number of runs can see.

Law: a secret fair bit chooses one of two neighbouring tables, and a fixed rule guesses the bit from the outcome, or
abstains. Under ε-DP the right ones of g guesses are stochastically at most Binomial(g, 1/(1+e^-ε)). Under (ε, δ)-DP
this holds once Binomial(runs, δ) guesses are given away as right. Proof: ``docs/proofs/audit-bounds.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sordino.errors import ParameterError

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The part of a level that pays for the chance that δ betrays more bits than were given away.
DELTA_SHARE = 1 / 20

#: How likely a violation must be to be found before it counts as one that would have been seen.
POWER = 0.9

#: Bounds are lowered by this much, far more than the rounding of the functions behind them.
_ROUNDING = 1e-9

_MOST_RUNS = 10**13


@dataclass(frozen=True)
class Guesses:
    """Right guesses among the guesses made in ``runs`` runs, judged at one ``level`` for a given ``delta``."""

    right: int
    guesses: int
    runs: int
    delta: float
    level: float

    @cached_property
    def _given(self) -> tuple[int, float]:
        return given_away(self.runs, self.delta, self.level)

    def p_value(self, epsilon: float) -> float:
        """The largest probability, under (ε, δ)-DP, of a count as telling as this one."""
        from scipy.stats import binom

        given, tail = self._given
        luck = binom.sf(self.right - given - 1, max(0, self.guesses - given), odds_share(epsilon))
        return min(1.0, float(luck) + tail)

    @property
    def lower(self) -> float:
        """The ε whose p-value is the level, rounded down: smaller ones are refuted. Never below 0."""
        from scipy.special import betaincinv

        given, tail = self._given
        right, guesses = self.right - given, self.guesses - given
        if right <= 0:
            return 0.0
        return max(0.0, log_odds(float(betaincinv(right, guesses - right + 1, self.level - tail))) - _ROUNDING)

    def smallest_visible(self, epsilon: float) -> float | None:
        """The true ε at which this many guesses would have refuted the claim with probability .9; None: no ε.

        That is for a mechanism whose guesses reach the odds e^ε, as the tails of Laplace noise do.
        """
        from scipy.special import betaincinv

        needed = int(_needed(np.array([self.guesses]), self.runs, self.delta, self.level, epsilon)[0])
        if needed > self.guesses:
            return None
        return log_odds(float(betaincinv(needed, self.guesses - needed + 1, POWER)))


def odds_share(epsilon: float) -> float:
    """1/(1+e^-ε): the share of right guesses at odds e^ε.

    >>> odds_share(0.0)
    0.5
    """
    return 1 / (1 + math.exp(-epsilon))


def log_odds(share: float) -> float:
    """The ε with a given share of right guesses."""
    return math.inf if share >= 1 else math.log(share) - math.log1p(-share)


def given_away(runs: int, delta: float, level: float) -> tuple[int, float]:
    """How many bits are taken as betrayed by δ, and the probability that even more are: at most level/20."""
    from scipy.stats import binom

    if delta == 0:
        return 0, 0.0
    count = int(binom.isf(level * DELTA_SHARE, runs, delta))
    return count, float(binom.sf(count, runs, delta))


def runs_needed(epsilon: float, factor: float, delta: float = 0.0, level: float = 0.05) -> int:
    """How many ``runs`` let ``audit_epsilon`` see, with probability .9, noise whose scale is too small by ``factor``.

    Reckoned for one released number of sensitivity one: Laplace noise for δ = 0, Gaussian noise for δ > 0. A third
    of the runs finds the rule, and the others are counted. An outcome of many numbers can need many times more.

    >>> 150 < runs_needed(1.0, 2.0) < 250
    True
    """
    if not (0 < epsilon < math.inf and 1 < factor < math.inf and 0 <= delta < 1 and 0 < level < 1):
        raise ParameterError(
            "runs_needed: epsilon must be above 0, factor above 1, delta in [0, 1) and level between 0 and 1. "
            f"Got {epsilon}, {factor}, {delta} and {level}."
        )
    shares, right = _gaussian_rules(epsilon, delta, factor) if delta else _laplace_rule(epsilon * factor)
    few, many = 1, 2
    while not _seen(many, shares, right, epsilon, delta, level):
        few, many = many, 2 * many
        if many > _MOST_RUNS:
            raise ParameterError(f"runs_needed: more than {_MOST_RUNS:g} runs. Ask for a larger factor.")
    while many - few > max(1, few // 200):
        middle = (few + many) // 2
        few, many = (few, middle) if _seen(middle, shares, right, epsilon, delta, level) else (middle, many)
    return many * 3 // 2 + 1


def _laplace_rule(epsilon: float) -> tuple[Floats, Floats]:
    """Guess in both tails beyond the two answers: the share of runs with a guess, and of right guesses among them."""
    return np.array([(1 + math.exp(-epsilon)) / 2]), np.array([odds_share(epsilon)])


def _gaussian_rules(epsilon: float, delta: float, factor: float) -> tuple[Floats, Floats]:
    """The same for thresholds farther and farther out, for noise ``factor`` times below what (ε, δ) asks."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    def excess(log_scale: float) -> float:
        scale = math.exp(log_scale)
        least, most = 1 / (2 * scale) - epsilon * scale, -1 / (2 * scale) - epsilon * scale
        return float(norm.cdf(least) - math.exp(epsilon + norm.logcdf(most)) - delta)

    scale = math.exp(brentq(excess, -12.0, 25.0)) / factor
    beyond = np.linspace(0, max(1.0, 8 * scale), 400)
    right, wrong = norm.sf((beyond - 0.5) / scale), norm.sf((beyond + 0.5) / scale)
    return np.minimum(1.0, right + wrong), right / (right + wrong)


def _seen(runs: int, shares: Floats, right: Floats, epsilon: float, delta: float, level: float) -> bool:
    """Whether some rule refutes the claim with probability .9 in this many counted runs."""
    from scipy.stats import binom

    guesses = np.floor(runs * shares).astype(np.int64)
    needed = _needed(guesses, runs, delta, level, epsilon)
    return bool(np.any((needed <= guesses) & (binom.sf(needed - 1, guesses, right) >= POWER)))


def _needed(
    guesses: np.ndarray[Any, np.dtype[np.int64]], runs: int, delta: float, level: float, epsilon: float
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The fewest right guesses that refute the claim."""
    from scipy.stats import binom

    given, tail = given_away(runs, delta, level)
    most = binom.isf(level - tail, np.maximum(0, guesses - given), odds_share(epsilon))
    needed: np.ndarray[Any, np.dtype[np.int64]] = (most + 1 + given).astype(np.int64)
    return needed
