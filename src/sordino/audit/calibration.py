"""A multiplier for log-likelihood ratios: are bits as predictable from them as they say?

Law: bits are independent given the losses L, with Pr(bit = 1) = 1/(1+e^-cL), and c = 1 when the losses are right. The
signed root of the likelihood ratio of c = 1 has tails that are bounded for any losses, few or large; the usual score
test has not (``docs/proofs/audit-bounds.md``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino.audit.outcomes import Floats
from sordino.audit.scores import Bits

#: An alarm is a signed root beyond this. Without a fault, for any losses, it has probability at most 2 e^-8 = 6.8e-4;
#: where no single loss weighs much it is that of a normal deviate, 6e-5.
ALARM = 4.0

#: Multipliers beyond this are not told apart.
_MOST = 100.0

#: A violation counts as visible up to this multiplier.
_LARGEST_VISIBLE = 10.0


@dataclass(frozen=True)
class Calibration:
    """Losses with the bits behind them, and the multiplier that fits them best."""

    losses: Floats
    bits: Bits

    @property
    def multiplier(self) -> float:
        """Where the likelihood of the bits under sigmoid(c L) is largest, within ±100."""
        return _falling_root(self._slope, -_MOST, _MOST)

    @property
    def information(self) -> float:
        """Σ L² s(1-s): one over the squared standard error of the multiplier at 1."""
        return float(np.sum(self.losses**2 * _sigmoid(self.losses) * _sigmoid(-self.losses)))

    @property
    def score(self) -> float:
        """The score test of c = 1: near-normal while no single loss weighs much."""
        return self._slope(1.0) / math.sqrt(self.information) if self.information else 0.0

    @property
    def root(self) -> float:
        """The signed root of twice the gain in log-likelihood over c = 1: beyond r with probability ≤ 2e^(-r²/2)."""
        fitted = self.multiplier
        return math.copysign(math.sqrt(max(0.0, 2 * (self._likelihood(fitted) - self._likelihood(1.0)))), fitted - 1)

    def interval(self, deviate: float = 1.96) -> tuple[float, float]:
        """The multipliers that are not refuted: their log-likelihood is within deviate²/2 of the largest."""
        fitted = self.multiplier
        least = self._likelihood(fitted) - deviate**2 / 2
        below = _falling_root(lambda c: least - self._likelihood(c), -_MOST, fitted)
        above = _falling_root(lambda c: self._likelihood(c) - least, fitted, _MOST)
        return below, above

    @property
    def smallest_visible(self) -> float | None:
        """The multiplier above 1 that would have given an alarm with probability .9; None: not even 10."""
        if not self.information:
            return None
        multiplier = 1 + (ALARM + 1.282) / math.sqrt(self.information)
        return multiplier if multiplier <= _LARGEST_VISIBLE else None

    @property
    def _margins(self) -> Floats:
        margins: Floats = np.where(self.bits, self.losses, -self.losses)
        return margins

    def _likelihood(self, multiplier: float) -> float:
        return -float(np.sum(np.logaddexp(0, -multiplier * self._margins)))

    def _slope(self, multiplier: float) -> float:
        return float(np.sum(self._margins * _sigmoid(-multiplier * self._margins)))


def _sigmoid(values: Floats) -> Floats:
    inverse: Floats = np.exp(-np.logaddexp(0, -values))
    return inverse


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses zero, by bisection; an end where it does not."""
    if function(low) <= 0:
        return low
    for _ in itertools.repeat(None, 60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return low
