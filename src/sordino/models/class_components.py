"""Centres of the components of each class, bought: a start along the class's longest axis, then rounds of means.

Every question is asked by class in one vector, so that a record touches its own class alone. What a record belongs to
in a round is decided by centres that were released before.
"""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np

from sordino.cost import Cost
from sordino.models.estimator import Floats, Opening
from sordino.privacy.price import Question
from sordino.repair.positive_definite import from_triangle
from sordino.statistics.by_class import ByClass
from sordino.statistics.count import Count
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.labels import ComponentLabels
from sordino.statistics.moments import SecondMoment
from sordino.statistics.projected import Projected
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box

#: Shares of the cost: sizes, means and second moments of the classes, and each round's sizes and sums.
_START = (Fraction(1, 20), Fraction(3, 20), Fraction(3, 10))
ROUNDS = 3
_ROUND = (Fraction(1, 30), Fraction(2, 15))

#: A component with fewer records than so many deviations of the noise stays where it was.
_FEWEST_DEVIATIONS = 4


def bought_centres(opening: Opening, axis: CategoryAxis, of: Box | Projected, components: int, cost: Cost) -> Floats:
    """Centres of shape (classes, components, coordinates), in units of the map."""
    centres = _start(opening, axis, of, components, cost)
    for _ in range(ROUNDS):
        centres = _moved(opening, ComponentLabels(axis, of, _plain(centres)), centres, cost)
    return centres


def _start(opening: Opening, axis: CategoryAxis, of: Box | Projected, components: int, cost: Cost) -> Floats:
    """Quantiles of a normal law along the longest axis of each class."""
    size = len(of.columns)
    inner = (Count(of.reads), Sum(of), SecondMoment(of, frobenius=True))
    questions = [Question(ByClass(each, axis), cost.share(part)) for each, part in zip(inner, _START, strict=True)]
    totals = opening.session.answer(questions)
    opening.receipts.extend(total.receipt for total in totals)
    counts = np.maximum(totals[0].in_units(), 1.0)
    means = np.clip(np.array(totals[1].in_units()).reshape(-1, size) / counts[:, None], -1, 1)
    triangles = np.array(totals[2].in_units()).reshape(axis.cells, -1) / counts[:, None]
    places = [NormalDist().inv_cdf((place + 0.5) / components) for place in range(components)]
    centres = np.empty((axis.cells, components, size))
    for label, (mean, triangle) in enumerate(zip(means, triangles, strict=True)):
        lengths, directions = np.linalg.eigh(from_triangle(triangle) - np.outer(mean, mean))
        longest = directions[:, -1] * np.sqrt(max(float(lengths[-1]), 0.0))
        centres[label] = np.clip(mean + np.outer(places, longest), -1, 1)
    return centres


def _moved(opening: Opening, labels: ComponentLabels, centres: Floats, cost: Cost) -> Floats:
    """Every centre moved to the noisy mean of its records, where they are enough to be seen."""
    inner = (Count(labels.of.reads), Sum(labels.of))
    questions = [Question(ByClass(each, labels), cost.share(part)) for each, part in zip(inner, _ROUND, strict=True)]
    sizes, sums = opening.session.answer(questions)
    opening.receipts.extend((sizes.receipt, sums.receipt))
    counts = np.array(sizes.in_units()).reshape(centres.shape[:2])
    means = np.array(sums.in_units()).reshape(centres.shape) / np.maximum(counts, 1.0)[:, :, None]
    seen = counts > _FEWEST_DEVIATIONS * np.sqrt(sizes.laws[0].variance) / sizes.unit
    return np.where(seen[:, :, None], np.clip(means, -1, 1), centres)


def _plain(centres: Floats) -> tuple[tuple[tuple[float, ...], ...], ...]:
    return tuple(tuple(map(tuple, each)) for each in centres.tolist())
