"""One-column rules: what may be chosen, how it is paid for, and the counts behind the chosen one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.cost import Cost
from sordino.domain import Domain
from sordino.models.estimator import Opening
from sordino.models.thinning import thinned
from sordino.privacy.price import Question
from sordino.privacy.session import Session
from sordino.statistics.by_class import ByClass
from sordino.statistics.choice import ChoiceScores, Joined
from sordino.statistics.count import Count
from sordino.statistics.cut_table import CutTable
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.hits import ConstantHits, CutHits
from sordino.statistics.vectors import Box, placed_rows

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The part of a rule's budget that pays for the choice; the rest pays for the counts on both sides of the cut.
CHOICE = Fraction(9, 10)

#: A paid choice looks at about so many records; a larger table is thinned by a hash of each record.
ENOUGH_RECORDS = 20_000


def _usual_cuts() -> tuple[float, ...]:
    """Parts of the box: even ones, and ever finer ones towards both ends, in [-1, 1]."""
    even = [Fraction(step, 32) for step in range(1, 32)]
    ends = [Fraction(1, 2**power) for power in range(6, 13)]
    places = sorted({*even, *ends, *(1 - each for each in ends)})
    return tuple(float(2 * place - 1) for place in places)


CUTS = _usual_cuts()


@dataclass(frozen=True)
class Rule:
    """A chosen rule: coordinate (the last one is the mean of all), cut in [-1, 1], and class counts on either side."""

    coordinate: int
    cut: float
    table: Floats

    def sides(self, domain: Domain, rows: Floats) -> Any:
        """0 up to the cut and 1 above it, for test rows; 2 where what is cut is missing. A mean is of what is there."""
        columns = tuple(domain.columns)
        read = np.arange(len(columns)) if self.coordinate == len(columns) else np.array([self.coordinate])
        present = ~np.isnan(rows[:, read])
        filled = np.where(np.isnan(rows), [domain.real(name).middle for name in columns], rows)  # 0 in units of the box
        vectors = placed_rows(Box(columns), domain, filled)[0]
        values = vectors[:, read].sum(axis=1) / np.maximum(present.sum(axis=1), 1)
        return np.where(present.any(axis=1), values > self.cut, 2)

    def log_scores(self, domain: Domain, rows: Floats) -> Floats:
        """Logarithms of the shares of the classes on a row's side of the cut; on both, where its side is not known."""
        counts = np.vstack([self.table, self.table.sum(axis=0)])
        scores: Floats = np.log(counts / counts.sum(axis=1, keepdims=True))[self.sides(domain, rows)]
        return scores


def rules_of(columns: tuple[str, ...], classes: CategoryAxis) -> CutHits:
    """Every rule in the declared box."""
    return CutHits(Box(columns), classes, CUTS)


def weighed(session: Session, parts: tuple[ChoiceScores, ...], weights: tuple[float, ...], cost: Cost) -> Joined:
    """The parts in one choice, each with this weight in all, shared by its candidates: public bonuses in the scores."""
    scale = session.price_choice(Joined(parts), cost).scale
    logs = [math.log(weight / part.size) for weight, part in zip(weights, parts, strict=True)]
    return Joined(parts, tuple(round(scale * (log - max(logs))) for log in logs))


def bought_rule(opening: Opening, classes: CategoryAxis, cost: Cost, rows: float) -> Rule:
    """The best rule, or the best constant, by a noisy maximum of hits; then the counts behind it."""
    if classes.cells < 2:
        return _one_class(opening, classes, cost)
    rules, constants = rules_of(opening.features, classes), ConstantHits(classes, opening.features)
    paid = cost.share(CHOICE)
    joined = weighed(opening.session, (constants, rules), (1.0, 1.0), paid)
    index, receipt = opening.session.choose(thinned(joined, rows, ENOUGH_RECORDS), paid)
    opening.receipts.append(receipt)
    part, place = joined.place(index)
    coordinate, cut, low, high = rules.rule(place) if part else (len(opening.features), 0.0, place, place)
    return counted_rule(opening, rules, (coordinate, cut, low, high), cost.share(1 - CHOICE))


def _one_class(opening: Opening, classes: CategoryAxis, cost: Cost) -> Rule:
    """Nothing to choose: its size, on either side of a cut at the end."""
    (total,) = opening.session.answer([Question(ByClass(Count(opening.features), classes), cost)])
    opening.receipts.append(total.receipt)
    return Rule(0, 1.0, np.tile(np.maximum(total.in_units(), 0.5), (2, 1)))


def counted_rule(opening: Opening, rules: CutHits, chosen: tuple[int, float, int, int], cost: Cost) -> Rule:
    """A chosen rule with noisy counts on both sides; the chosen class of a side is never below another."""
    coordinate, cut, *labels = chosen
    table = CutTable(replace(rules, cuts=(cut,)), coordinate)
    (total,) = opening.session.answer([Question(table, cost)])
    opening.receipts.append(total.receipt)
    counts = np.maximum(np.array(total.in_units()).reshape(2, -1), 0.0) + 0.5
    for side, label in enumerate(labels):
        counts[side, label] = max(counts[side].max() * (1 + 1e-6), counts[side, label])
    return Rule(coordinate, cut, counts)
