"""Ranges that are bought: where the records are inside a wide public box, and how far they spread.

The result is public once it is released, and is used twice: as the record map of all that is asked after it, and on
test rows, so that clipping does the same to both. Four paid steps, each a small share: where the records lie in
common (the median of each record's mean coordinate), how far they reach (a quantile of the norm), where each column
has its centre (a noisy sum), and how far they reach from there. A step whose noise would outweigh what it finds is
left out, by the known noise and the released size of the table alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sordino.cost import Cost
from sordino.domain import Domain
from sordino.models.checks import check_word
from sordino.models.thinning import thinned
from sordino.privacy.price import Question
from sordino.privacy.session import Session
from sordino.release import Receipt
from sordino.repair.shrinkage import towards
from sordino.statistics.norm_ranks import NormRanks
from sordino.statistics.ranks import Ranks
from sordino.statistics.statistic import GRID_STEPS
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Ball, Box, placed_rows

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Shares of what may be spent on ranges: common centre, first radius, centre of each column, last radius.
SHARES = {"common": Fraction(1, 6), "radius": Fraction(1, 6), "centre": Fraction(1, 2), "reach": Fraction(1, 6)}

#: The part of the records that a radius should hold.
HELD = Fraction(7, 10)

#: A choice looks at about so many records; a larger table is thinned by a hash of each record.
ENOUGH_RECORDS = 50_000

#: Candidates for a common centre, and for a radius: halves of the largest, finely graded, down to 2^-16 of it.
_CENTRES = tuple(float(each) for each in np.linspace(-1, 1, 201))
FRACTIONS = tuple(float(each) for each in np.exp2(np.linspace(-16, 0, 129)))

#: Where noise is loud: every empty radius is one more chance of choosing it, and one that holds nobody ruins the rest.
FEW_FRACTIONS = tuple(float(each) for each in np.exp2(np.linspace(-6, 0, 25)))


@dataclass(frozen=True)
class Ranges:
    """What was bought: a centre and a radius, in units in which every declared interval runs from -1 to 1.

    ``of(columns)`` is the record map. ``receipts`` are those of the paid steps.
    """

    centre: tuple[float, ...]
    radius: float
    receipts: tuple[Receipt, ...] = field(default=(), compare=False)

    def of(self, columns: tuple[str, ...], steps: int = GRID_STEPS) -> Ball:
        """Vectors in the ball: moved by the centre, pulled into the radius, in units of the radius."""
        return Ball(columns, self.radius, self.centre, steps)

    def placed(self, domain: Domain, rows: Floats) -> Floats:
        """Test rows in the coordinates of the map; a missing cell, which stays NaN, is no distance from the centre."""
        columns = tuple(domain.columns)
        middles = np.array([domain.real(name).middle for name in columns])
        widths = np.array([domain.real(name).half_width for name in columns])
        missing = np.isnan(rows)
        filled = np.where(missing, middles + widths * np.array(self.centre), rows)
        return np.where(missing, np.nan, placed_rows(self.of(columns), domain, filled)[0])

    def scales(self, domain: Domain) -> tuple[Floats, Floats]:
        """Middle, and what one unit of the map is worth, of each column in its own units."""
        widths = np.array([domain.real(name).half_width for name in domain.columns])
        middles = np.array([domain.real(name).middle for name in domain.columns])
        return middles + widths * np.array(self.centre), widths * self.radius


def declared_ranges(dimension: int) -> Ranges:
    """The box as it is: the ball around it."""
    return Ranges((0.0,) * dimension, math.sqrt(dimension))


def bought_ranges(
    session: Session,
    columns: tuple[str, ...],
    cost: Cost,
    rows: float,
    held: Fraction = HELD,
    fractions: tuple[float, ...] = FRACTIONS,
) -> Ranges:
    """Centre and radius for about ``rows`` records, a released or declared number; the last radius holds ``held``."""
    dimension, receipts = len(columns), []

    def chosen(scores: Ranks, share: str) -> float:
        index, receipt = session.choose(thinned(scores, rows, ENOUGH_RECORDS), cost.share(SHARES[share]))
        receipts.append(receipt)
        return scores.candidates[index]

    def radius_around(centre: Floats, share: str, held: Fraction = HELD) -> float:
        largest = 2 * math.sqrt(dimension)  # no record of the box is farther from a centre in it
        return largest * chosen(NormRanks(Ball(columns, largest, tuple(centre)), fractions, held), share)

    common = chosen(NormRanks(Box(columns), _CENTRES, measure="mean"), "common")
    centre = np.full(dimension, common)
    radius = radius_around(centre, "radius")
    sums = Question(Sum(Ball(columns, radius, tuple(centre))), cost.share(SHARES["centre"]))
    noise = math.sqrt(session.price([sums])[0].laws[0].variance) / sums.statistic.unit * radius / max(rows, 1.0)
    if noise > 0.3 * radius / math.sqrt(dimension):
        return Ranges(tuple(centre.tolist()), radius, tuple(receipts))
    (total,) = session.answer([sums])
    receipts.append(total.receipt)
    moved = np.array(total.in_units()) * radius / max(rows, 1.0)
    moved = towards(moved, moved.mean(), noise**2)[0]
    centre = np.clip(centre + moved, -1, 1)
    return Ranges(tuple(centre.tolist()), radius_around(centre, "reach", held), tuple(receipts))


def checked_ranges(who: str, ranges: Any) -> Literal["private", "declared"]:
    """One of the two words."""
    check_word(f"{who}: ranges", ranges, ("private", "declared"))
    known: Literal["private", "declared"] = ranges
    return known
