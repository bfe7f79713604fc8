"""Weights of a margin classifier by private gradient descent: rounds of exact bounded sums, each paid for.

A record's gradient is bounded by its own form, so nothing is clipped. Steps are of a length that does not look at the
table, divided by its released size; the mean of the later half of the way is what is learned.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sordino.cost import Cost
from sordino.models.estimator import Floats, Opening
from sordino.privacy.price import Question
from sordino.repair.ball import into_ball
from sordino.statistics.directions import Directions, Products
from sordino.statistics.labels import ClassLabels, ComponentLabels
from sordino.statistics.margin_gradients import LONGEST_WEIGHTS, MarginGradients

#: All steps together are about so long, in units in which the curvature of a record is at most one half.
_WAY = 400.0

#: No step is longer than this, however few the rounds.
_LONGEST_STEP = 16.0


def descended(
    opening: Opening,
    features: Directions | Products,
    labels: ClassLabels | ComponentLabels,
    cost: Cost,
    rounds: int,
    records: float,
) -> Floats:
    """A row of weights per output."""
    share = cost.share(Fraction(1, rounds))
    weights = np.zeros((labels.cells, len(features.columns)))
    later = np.zeros_like(weights)
    step = min(_LONGEST_STEP, _WAY / rounds) / records
    for number in range(rounds):
        asked = MarginGradients(features, labels, tuple(map(tuple, weights.tolist())))
        (total,) = opening.session.answer([Question(asked, share)])
        opening.receipts.append(total.receipt)
        moved = weights - step * np.array(total.in_units()).reshape(weights.shape)
        weights = into_ball(moved, LONGEST_WEIGHTS / 2)  # scores stay exact
        later += weights if number >= rounds // 2 else 0.0
    return later / (rounds - rounds // 2)
