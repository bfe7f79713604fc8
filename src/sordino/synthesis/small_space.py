"""The small space of a RON-Gauss fit: its directions, its centre and its radii, public or bought; each with its share.

Shares are weights in one table, so that they add up to the budget whatever is asked. No number here is computed from
rows: it is public, or a release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.cost import Cost
from sordino.domain import Real
from sordino.models.estimator import Opening
from sordino.models.random_directions import random_directions
from sordino.privacy.price import Question
from sordino.release import NoisyTotal
from sordino.repair.ball import into_ball
from sordino.repair.positive_definite import from_triangle
from sordino.statistics.by_class import ByClass
from sordino.statistics.count import Count
from sordino.statistics.histograms import Axis, BinAxis, CategoryAxis
from sordino.statistics.moments import SecondMoment
from sordino.statistics.norm_ranks import NormRanks
from sordino.statistics.projected import Projected
from sordino.statistics.statistic import Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Ball, Box, VectorMap
from sordino.synthesis.directions import above_noise, between_classes, completed

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: What each part of a fit weighs in the budget.
WEIGHTS: Mapping[str, int] = {"counts": 4, "radius": 5, "sums": 12, "moments": 70}
_CENTRE, _PROJECTION, _TARGET = {"centre": 9}, {"projection": 39}, {"target": 4, "target radius": 5}

#: Second moments of all columns are bought where a direction with this share of the largest variance that there can
#: be would stand out of their noise; they then take this part of what the projection may cost.
_VISIBLE, _SECOND_MOMENTS = 0.02, Fraction(1, 2)

#: Candidates for a radius form a geometric grid that ends at the largest norm there can be.
_CANDIDATES, _RATIO = 100, 1.08

#: Equal parts of the interval of a numeric target: directions are bought in which records of different parts differ.
_SLICES = 4

#: A target is never told apart more finely than this share of its half interval.
_SMALLEST_SPREAD = 1 / 500


@dataclass(frozen=True)
class SmallSpace:
    """Orthonormal directions in the box's coordinates, the centre in the small space, and the largest norm about it.

    ``learned`` directions come first; the others are random.
    """

    directions: Floats
    centre: Floats
    reach: float
    learned: int = 0


class Questions:
    """What one fit asks, each part at its share of the budget; receipts are kept in the opening.

    ``slices`` part the records: by class, or by where a numeric target lies in its interval.
    """

    def __init__(self, opening: Opening, bought: bool) -> None:
        self.opening, self.session, self.features = opening, opening.session, opening.features
        target, declared = opening.target, None if opening.target is None else opening.domain[opening.target]
        self.number = (target,) if target is not None and isinstance(declared, Real) else ()
        self.slices: Axis | None = None
        if target is not None:
            bins = self.number and BinAxis.of(opening.domain, target, _SLICES)
            self.slices = bins or CategoryAxis.of(opening.domain, target)
        self.weights = {**WEIGHTS, **(_PROJECTION if bought else _CENTRE), **(_TARGET if self.number else {})}

    @property
    def classes(self) -> Axis | None:
        """The slices, where they are classes."""
        return None if self.number else self.slices

    def cost(self, part: str) -> Cost:
        """What a part may cost."""
        return self.opening.cost.share(Fraction(self.weights[part], sum(self.weights.values())))

    def answer(self, *questions: Question) -> list[NoisyTotal]:
        """Noisy totals from one pass."""
        totals = self.session.answer(questions)
        self.opening.receipts.extend(total.receipt for total in totals)
        return totals

    def counts(self) -> Floats:
        """Noisy numbers of whole records in each slice, at least one each."""
        (total,) = self.answer(
            Question(sliced(Count((*self.features, *self.number)), self.slices), self.cost("counts"))
        )
        counts: Floats = np.maximum(np.array(total.in_units()), 1.0)
        return counts

    def moments_of(self, of: VectorMap, cost: Cost) -> Statistic:
        """Second moments with the cheaper weights for the kind of noise."""
        return SecondMoment(of, frobenius=not cost.is_pure)

    def quantile(self, of: VectorMap, part: str, quantile: Fraction) -> float:
        """A bought quantile of the norms, as a share of the map's radius."""
        candidates = tuple(_RATIO ** (place - _CANDIDATES + 1) for place in range(_CANDIDATES))
        index, receipt = self.session.choose(NormRanks(of, candidates, quantile), self.cost(part))
        self.opening.receipts.append(receipt)
        return candidates[index]

    def target(self, count: float, quantile: Fraction) -> tuple[float, float]:
        """Middle and spread of a numeric target, in halves of its interval."""
        (total,) = self.answer(Question(Sum(Box(self.number)), self.cost("target")))
        middle = float(np.clip(total.in_units()[0] / count, -1, 1))
        share = self.quantile(Ball(self.number, 2.0, (middle,)), "target radius", quantile)
        return middle, max(2.0 * share, _SMALLEST_SPREAD)


def public_space(asked: Questions, counts: Floats, components: int, seed: int) -> SmallSpace:
    """Random directions, and a bought centre. A box record is about sqrt(components) long after the projection."""
    directions = random_directions(len(asked.features), components, seed)
    radius = 1.5 * math.sqrt(components)
    asked_for = Sum(Projected.of(asked.features, directions, radius))
    (total,) = asked.answer(Question(asked_for, asked.cost("centre")))
    centre = radius * into_ball(np.array(total.in_units()) / counts.sum())
    return SmallSpace(directions, centre, 2 * radius)


def bought_space(asked: Questions, counts: Floats, components: int, seed: int) -> SmallSpace:
    """Directions in which slices differ, then those in which records do, then random ones; the centre is of the sums.

    Records: as far as the variance of a direction stands out of the noise.
    """
    width, cost = len(asked.features), asked.cost("projection")
    of = Ball(asked.features, math.sqrt(width))
    part = cost.share(_SECOND_MOMENTS)
    moments = asked.moments_of(of, part)
    scale = math.sqrt(asked.session.price([Question(moments, part)])[0].laws[min(1, width - 1)].variance) / moments.unit
    visible = 2 * scale * math.sqrt(width) <= _VISIBLE * counts.sum()
    sums_cost = cost.share(1 - _SECOND_MOMENTS) if visible else cost
    questions = [Question(sliced(Sum(of), asked.slices), sums_cost), *([Question(moments, part)] if visible else [])]
    totals = [np.array(total.in_units()) for total in asked.answer(*questions)]
    sums = totals[0].reshape(len(counts), width)
    mean = sums.sum(axis=0) / counts.sum()
    found = [between_classes(counts, sums)]
    if visible:
        found.append(above_noise(from_triangle(totals[1]), mean, counts.sum(), scale))
    learned = np.hstack(found)
    directions = completed(learned, components, seed)
    centre = of.radius * into_ball(mean) @ directions
    return SmallSpace(directions, centre, 2 * of.radius, min(learned.shape[1], components))


def sliced(statistic: Statistic, slices: Axis | None) -> Statistic:
    """Once per slice, where there are slices."""
    return statistic if slices is None else ByClass(statistic, slices)
