"""Noisy sizes of the classes, and how a fit's (ε, δ) is split into a pure part for them and the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.cost import Cost
from sordino.models.estimator import Opening
from sordino.privacy.price import Question
from sordino.repair.shrinkage import towards
from sordino.statistics.by_class import ByClass
from sordino.statistics.count import Count
from sordino.statistics.histograms import CategoryAxis

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The part of a fit's budget that pays for the sizes of the classes.
COUNTS = Fraction(8, 100)


@dataclass(frozen=True)
class Accounts:
    """What pays for the class sizes, for all else, and for all else where pure noise serves better.

    With δ above 0 and room in a pure lane, the sizes and a single paid choice are bought with pure ε, and the rest with
    the ρ of what ε is left: ε₁ + (ε₂, δ). Without room all is bought with shares of one ρ, which any ledger books.
    """

    counts: Cost
    rest: Cost
    rest_pure: Cost

    @classmethod
    def of(cls, opening: Opening) -> Accounts:
        """By the public budget alone. A ledger without room for the whole fit refuses here, before anything is paid."""
        cost = opening.cost
        if cost.stated is None or not opening.session.can_pay_pure(Cost.pure(cost.stated[0])):
            rest = cost.share(1 - COUNTS)
            opening.session.require_room([cost.share(COUNTS), rest])
            return cls(cost.share(COUNTS), rest, rest)
        epsilon, delta = cost.stated
        left = epsilon * (1 - COUNTS)
        rest = Cost.of(left, delta)
        opening.session.require_room([rest])  # of pure room there is enough
        return cls(Cost.pure(epsilon * COUNTS), rest, Cost.pure(left))


def bought_counts(opening: Opening, classes: CategoryAxis, cost: Cost) -> Floats:
    """Noisy class sizes, pulled towards equal ones by the share of their scatter that is noise, and never tiny."""
    asked = Question(ByClass(Count(opening.features), classes), cost)
    (total,) = opening.session.answer([asked])
    opening.receipts.append(total.receipt)
    noisy, variance = np.array(total.in_units()), max(law.variance for law in total.laws)
    rows = opening.domain.rows
    largest = float(rows) if rows is not None else max(float(noisy.sum()), 1.0)
    mean = noisy.mean()
    kept = towards(noisy, mean, variance)[1]
    pulled = np.maximum(largest / len(noisy) + kept * (noisy - mean), 0.05 * largest / len(noisy))
    counts: Floats = pulled * (largest / pulled.sum())
    return counts


def remaining(cost: Cost, paid: Cost) -> Cost:
    """What is left of a cost."""
    if cost.infinite:
        return cost
    return Cost(epsilon=cost.epsilon - paid.epsilon, rho=cost.rho - paid.rho)


def choice_strength(cost: Cost) -> float:
    """The e of a monotone choice: its weights are exp(e u)."""
    if cost.infinite:
        return math.inf
    return float(cost.epsilon) if cost.is_pure else math.sqrt(8 * float(cost.rho))


def best_for_one_choice(opening: Opening) -> Cost:
    """All of a fit's budget, in pure ε where there is room for it: one choice is worth more there."""
    cost = opening.cost
    if cost.stated is None or not opening.session.can_pay_pure(Cost.pure(cost.stated[0])):
        return cost
    return Cost.pure(cost.stated[0])


def stated_epsilon(opening: Opening) -> float:
    """The ε that the user asked for."""
    cost = opening.cost
    return float(cost.epsilon if cost.stated is None else cost.stated[0])
