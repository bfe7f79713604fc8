"""Asking a session for one statistic at a time: what is paid for each, what is left, and how much noise came."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sordino.cost import Cost
from sordino.domain import Column
from sordino.privacy.price import Question
from sordino.privacy.session import Session
from sordino.release import Receipt
from sordino.statistics.statistic import Statistic
from sordino.synthesis.cells import Floats


@dataclass
class Measurement:
    """A session, its columns, what may be spent in all, and what was received.

    The shares add up to the whole, exactly.
    """

    session: Session
    columns: Mapping[str, Column]
    cost: Cost
    left: Fraction = Fraction(1)
    receipts: list[Receipt] = field(default_factory=list)

    def ask(self, statistic: Statistic, part: Fraction) -> tuple[Floats, Floats]:
        """Noisy numbers in units, and the variance of the noise in each; ``part`` is of what may be spent in all."""
        self.left -= part
        (total,) = self.session.answer([Question(statistic, self.cost.share(part))])
        self.receipts.append(total.receipt)
        variances = {law: law.variance / total.unit**2 for law in set(total.laws)}
        return np.array(total.in_units()), np.array([variances[law] for law in total.laws])

    def deviation(self, statistic: Statistic, part: Fraction) -> float:
        """Standard deviation of the largest noise that an answer would carry. Nothing is read, nothing spent."""
        (priced,) = self.session.price([Question(statistic, self.cost.share(part))])
        return max(math.sqrt(law.variance) for law in set(priced.laws)) / priced.statistic.unit
