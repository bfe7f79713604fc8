"""Is a probability worth its number? Scores of probabilities against what came true, and a published repair of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.errors import ParameterError

Floats = np.ndarray[Any, np.dtype[np.float64]]

_WHO = "calibration"


@dataclass(frozen=True)
class Reliability:
    """For each bin that holds a probability: its mean, how often it came true, and how many there are."""

    predicted: Floats
    observed: Floats
    count: Any


@dataclass(frozen=True)
class Brier:
    """The Brier score and its parts.

    ``calibration`` is the mean squared distance of probabilities from how often they came true, ``refinement`` the
    mean of r (1 - r) over what came true with frequency r. The score is their sum where every distinct probability is
    a bin of its own. With wider bins it is not: what is lost is the spread of probabilities within a bin less twice
    their covariance with what came true, ``within``. Then score = calibration + refinement + within, for bins that are
    represented by their mean probability; represented by their middle, not even that holds.
    """

    score: float
    calibration: float
    refinement: float
    within: float


def brier(probability: Any, happened: Any, bins: int | None = None) -> Brier:
    """The Brier score, split by ``bins`` equally wide bins; by distinct probabilities without a number."""
    p, y = _events(probability, happened)
    score = float(np.mean((p - y) ** 2))
    place = np.unique(p, return_inverse=True)[1].ravel() if bins is None else _bins(p, bins)
    count = np.bincount(place)
    count = np.maximum(count, 1)
    mean, rate = np.bincount(place, p) / count, np.bincount(place, y) / count
    calibration = float(np.mean((rate[place] - mean[place]) ** 2))
    refinement = float(np.mean(rate[place] * (1 - rate[place])))
    return Brier(score, calibration, refinement, score - calibration - refinement)


def expected_calibration_error(probability: Any, happened: Any, bins: int = 10) -> float:
    """Mean distance, over the events, of the mean probability of their bin from how often it came true."""
    p, y = _events(probability, happened)
    place = _bins(p, bins)
    return float(np.abs(np.bincount(place, p - y, bins)).sum() / len(p))


def reliability(probability: Any, happened: Any, bins: int = 10) -> Reliability:
    """The points of a reliability diagram, which lie on the diagonal where probabilities are what they say."""
    p, y = _events(probability, happened)
    place = _bins(p, bins)
    count = np.bincount(place, minlength=bins)
    there = count > 0
    return Reliability(
        np.bincount(place, p, bins)[there] / count[there], np.bincount(place, y, bins)[there] / count[there],
        count[there],
    )  # fmt: skip


def averaged(alone: Floats, counts: Sequence[int]) -> Floats:
    """The published repair: a way to share out a group's values has the mean of its tuples' probabilities as weight.

    ``alone`` is tuples x values x groups: each tuple's probabilities over its group's values, others left out of
    account. In a group of g tuples the result is p/g plus the mean over the other tuples of (count - p')/g: even if
    one tuple surely has a value and all others surely have not, it is 1/g + 1/g. So no probability of a value that
    occurs once is ever above ``cap`` = 2/g: two thirds in groups of 3, a half in groups of 4. It makes
    probabilities modest, not right.
    """
    size = alone.shape[0]
    if size == 1:
        return alone
    others = alone.sum(axis=0, keepdims=True) - alone
    times = np.asarray(counts, float)[None, :, None]
    found: Floats = alone / size + ((size - 1) * times - others) / (size * (size - 1))
    return found


def cap(size: int) -> float:
    """The largest probability that averaging gives in a group of that size, for a value that occurs once."""
    return min(1.0, 2 / size)


def _events(probability: Any, happened: Any) -> tuple[Floats, Floats]:
    p, y = np.asarray(probability, float).ravel(), np.asarray(happened, float).ravel()
    if len(p) != len(y) or not len(p) or not ((p >= 0) & (p <= 1)).all() or not np.isin(y, (0, 1)).all():
        raise ParameterError(f"{_WHO}: give equally many probabilities, from 0 to 1, and truths, at least one of each.")
    return p, y


def _bins(p: Floats, bins: int) -> Any:
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ParameterError(f"{_WHO}: bins must be a whole number, 1 at least. Got {bins!r}.")
    return np.minimum((p * bins).astype(np.int64), bins - 1)
