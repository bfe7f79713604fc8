"""Who has which value in a group, given how well each tuple goes with each value: over all ways to share them out.

A way to share out a group's values gives each tuple one, and each value as often as it was published. Its weight is the
product of its tuples' weights. The probability that a tuple has a value is the weight of all ways in which it has,
over the weight of all. A sum over ways is a sum over subsets: walk through the tuples, and remember only *how much* of
each value is used up. That takes (number of states) x (values) steps for a group, at most 2^g g, instead of g!.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: A group is computed exactly when it has no more states than this: every group of up to 12 tuples.
MOST_STATES = 2**12

#: Groups computed together: so many that a step is worth its call, and so few that small groups stay in the cache.
_TOGETHER, _NUMBERS = 2**11, 2**17

#: Weights are at most 1, so what underflows is lost from a sum that is at least this: nothing that could be seen.
_SMALLEST_TOTAL = 1e-250


def states(counts: Sequence[int]) -> int:
    """How many ways there are to have used up parts of the values."""
    return prod(count + 1 for count in counts)


@dataclass(frozen=True)
class Walk:
    """The steps from nothing used up to everything: (state, tuple, value, state after), tuple by tuple."""

    counts: tuple[int, ...]
    states: int
    steps: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def through(cls, counts: Sequence[int]) -> Walk:
        """The walk of groups in which value v occurs ``counts[v]`` times."""
        used = sorted(itertools.product(*(range(count + 1) for count in counts)), key=sum)
        place = {each: number for number, each in enumerate(used)}
        steps = []
        for state, each in enumerate(used):
            for value, count in enumerate(counts):
                if each[value] < count:
                    after = (*each[:value], each[value] + 1, *each[value + 1 :])
                    steps.append((state, sum(each), value, place[after]))
        return cls(tuple(counts), len(used), tuple(steps))


def exact_marginals(scores: Floats, walk: Walk) -> tuple[Floats, Floats]:
    """Probability that each tuple has each value, and the logarithm of the weight of all ways.

    ``scores`` are logarithms of weights: tuples x values x groups. Scores that differ by a constant for one tuple, or
    for one value, say the same: the best of each is taken off first, so that weights are at most 1. Groups whose
    total is tiny even so are computed in logarithms throughout.
    """
    groups = scores.shape[2]
    found, total = np.empty_like(scores), np.empty(groups)
    width = max(_TOGETHER, _NUMBERS // walk.states)
    for start in range(0, groups, width):
        part = slice(start, start + width)
        by_value = scores[:, :, part].max(axis=0)
        scaled = scores[:, :, part] - by_value
        by_tuple = scaled.max(axis=1)
        scaled -= by_tuple[:, None]
        found[:, :, part], total[part] = _sums(np.exp(scaled), walk)
        tiny = np.flatnonzero(~(total[part] >= _SMALLEST_TOTAL))
        taken_off = by_tuple.sum(axis=0) + np.asarray(walk.counts) @ by_value
        total[part] = np.log(np.maximum(total[part], _SMALLEST_TOTAL)) + taken_off
        if len(tiny):
            found[:, :, start + tiny], total[start + tiny] = _log_sums(scores[:, :, start + tiny], walk)
    return found, total


def _sums(weights: Floats, walk: Walk) -> tuple[Floats, Floats]:
    """Forward: the weight of all ways to a state; backward: from it to the end. Their products are the marginals."""
    forward, backward = (np.zeros((walk.states, weights.shape[2])) for _ in range(2))
    forward[0] = backward[-1] = 1.0
    through = np.empty(weights.shape[2])
    for state, who, value, after in walk.steps:
        np.multiply(forward[state], weights[who, value], out=through)
        forward[after] += through
    found = np.zeros_like(weights)
    for state, who, value, after in reversed(walk.steps):
        np.multiply(backward[after], weights[who, value], out=through)
        backward[state] += through
        through *= forward[state]
        found[who, value] += through
    with np.errstate(divide="ignore", invalid="ignore"):
        found /= forward[-1]
    return found, forward[-1]


def _log_sums(scores: Floats, walk: Walk) -> tuple[Floats, Floats]:
    """The same sums of logarithms: slower, for weights beyond the range of a float."""
    forward, backward = (np.full((walk.states, scores.shape[2]), -np.inf) for _ in range(2))
    forward[0] = backward[-1] = 0.0
    for state, who, value, after in walk.steps:
        np.logaddexp(forward[after], forward[state] + scores[who, value], out=forward[after])
    found = np.full_like(scores, -np.inf)
    for state, who, value, after in reversed(walk.steps):
        through = backward[after] + scores[who, value]
        np.logaddexp(backward[state], through, out=backward[state])
        np.logaddexp(found[who, value], through + forward[state], out=found[who, value])
    return np.exp(found - forward[-1]), forward[-1]


def restricted_marginals(scores: Floats, counts: Sequence[int]) -> tuple[Floats, Floats]:
    """Each tuple for itself, among its group's values by their counts: that others take values is left out of account.

    The second result is the sum of the tuples' log-likelihoods, which is not that of the group.
    """
    weighted = scores + np.log(np.asarray(counts, float) / sum(counts))[None, :, None]
    best = weighted.max(axis=1, keepdims=True)
    found = np.exp(weighted - best)
    total = found.sum(axis=1, keepdims=True)
    return found / total, (np.log(total) + best).sum(axis=(0, 1))
