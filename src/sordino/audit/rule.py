"""The rule that turns an outcome into a guess: a score and two thresholds, with abstention between them.

A rule is chosen on runs of its own: scores are fitted on one half of them and judged on the other, by the bound that
they would certify with their best thresholds at a strict level, since thousands of rules compete.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from sordino.audit.guesses import given_away
from sordino.audit.outcomes import Floats, Outcomes
from sordino.audit.scores import Bits, Score, fitted_scores, plain_scores

#: The level at which rules are compared, and the normal deviate that belongs to it.
STRICT_LEVEL = 1e-6
_STRICT_DEVIATE = 4.753

_CUTS = 60


@dataclass(frozen=True)
class Rule:
    """Guess one table at or below ``low``, the other at or above ``high``; None: never. ``rising``: high means d1."""

    score: Score
    low: float | None
    high: float | None
    rising: bool

    @property
    def thresholds(self) -> dict[str, float | str | None]:
        """By the table that is guessed, in plain values."""
        below, above = ("second", "first") if self.rising else ("first", "second")
        return {f"{below} table up to": _plain(self.low), f"{above} table from": _plain(self.high)}

    def count(self, scores: Floats, bits: Bits) -> tuple[int, int]:
        """Right guesses, and guesses."""
        nothing = np.zeros(len(scores), dtype=bool)
        below = nothing if self.low is None else scores <= self.low
        above = nothing if self.high is None else scores >= self.high
        right = np.sum(below & (bits != self.rising)) + np.sum(above & (bits == self.rising))
        return int(right), int(np.sum(below) + np.sum(above))


def best_rule(outcomes: Outcomes, bits: Bits, delta: float) -> Rule:
    """The rule with the largest bound at the strict level; scores that were fitted are judged on the other half."""
    half = len(outcomes) // 2
    fitting, judging = outcomes.part(slice(None, half)), outcomes.part(slice(half, None))
    plain = (_best_cuts(score, score.values(outcomes), bits, delta) for score in plain_scores(fitting, bits[:half]))
    fitted = (
        _best_cuts(score, score.values(judging), bits[half:], delta) for score in fitted_scores(fitting, bits[:half])
    )
    return max(itertools.chain(plain, fitted), key=lambda each: each[0])[1]


def _best_cuts(score: Score, values: Floats, bits: Bits, delta: float) -> tuple[float, Rule]:
    """The best pair of thresholds for one score, in either direction."""
    given, _ = given_away(len(values), delta, STRICT_LEVEL)
    order = np.argsort(values, kind="stable")
    ordered, ones = values[order], np.concatenate([[0], np.cumsum(bits[order])])
    cuts = _cut_places(ordered)
    first, second = np.triu_indices(len(cuts))
    below, above = cuts[first], cuts[second]
    guesses = below + len(values) - above
    rising = below - ones[below] + ones[-1] - ones[above]
    bounds = [_ranking_bound(right - given, guesses - given) for right in (rising, guesses - rising)]
    side = int(np.max(bounds[1]) > np.max(bounds[0]))
    best = int(np.argmax(bounds[side]))
    low = None if below[best] == 0 else float(ordered[below[best] - 1])
    high = None if above[best] == len(values) else float(ordered[above[best]])
    return float(bounds[side][best]), Rule(score, low, high, rising=side == 0)


def _cut_places(ordered: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """How many values may lie below a threshold: denser towards both ends, and never inside a run of equal values."""
    size = len(ordered)
    ends = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [size]])
    wished = np.unique(np.geomspace(1, size, _CUTS).round()).astype(np.intp)
    wished = np.concatenate([[0], wished, size - wished])
    found: np.ndarray[tuple[int], np.dtype[np.intp]] = np.unique(
        ends[np.minimum(np.searchsorted(ends, wished), len(ends) - 1)]
    )
    return found


def _ranking_bound(
    right: np.ndarray[tuple[int], np.dtype[np.intp]], guesses: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> Floats:
    """Wilson's lower limit of the share of right guesses at the strict level: close to exact, and quick."""
    count, squared = np.maximum(guesses, 1), _STRICT_DEVIATE**2
    share = np.clip(right / count, 0, 1)
    spread = _STRICT_DEVIATE * np.sqrt(share * (1 - share) / count + squared / (4 * count**2))
    limit: Floats = (share + squared / (2 * count) - spread) / (1 + squared / count)
    return np.where(guesses > 0, limit, 0.0)


def _plain(threshold: float | None) -> float | str | None:
    return threshold if threshold is None or np.isfinite(threshold) else str(threshold)
