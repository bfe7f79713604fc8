"""Scores for a paid choice of a quantile: how far each public candidate is from it in ranks.

For the quantile a/b of N values a candidate e scores ``-max(0, a N - b atmost(e), b below(e) - a N)``, an integer
that is 0 exactly at the quantiles, ties or not. Proof: ``docs/proofs/ranks.md``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.domain import Domain, Neighbours, Real
from sordino.errors import ParameterError
from sordino.statistics.choice import ChoiceScores
from sordino.statistics.statistic import Norm, Record, Sensitivity
from sordino.table.clipping import Batch, Floats, Integers

#: Quantiles are fractions with at most this denominator: scores and their sensitivity stay small integers.
LARGEST_DENOMINATOR = 1000


class Ranks(ChoiceScores):
    """Scores of candidates for a quantile of one number per record, whatever the number is."""

    candidates: tuple[float, ...]
    quantile: Fraction
    largest_entry = 1

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1 or self.quantile.denominator > LARGEST_DENOMINATOR:
            raise ParameterError(
                "quantile: must lie between 0 and 1 (0.9, say), a fraction with a denominator of at most "
                f"{LARGEST_DENOMINATOR}. Got {self.quantile}."
            )
        if not self.candidates or any(a >= b for a, b in zip(self.candidates, self.candidates[1:], strict=False)):
            raise ParameterError("quantile: candidates must be one or more rising numbers.")

    @abstractmethod
    def _numbers(self, batch: Batch) -> Floats:
        """The number of each record, in the unit of ``_points``; NaN where it has none."""

    def _points(self) -> Floats:
        """The candidates as the numbers are compared with them."""
        return np.array(self.candidates)

    @property
    def size(self) -> int:
        """A score per candidate."""
        return len(self.candidates)

    @property
    def inner_size(self) -> int:
        """Counts of records at and between candidates."""
        return 2 * len(self.candidates) + 1

    def _cells(self, batch: Batch) -> tuple[Integers, Integers]:
        """Present records, and the cell of each: odd at a candidate, even between two."""
        values = self._numbers(batch)
        present = np.flatnonzero(~np.isnan(values))
        points, values = self._points(), values[present]
        cells = np.searchsorted(points, values, side="left") + np.searchsorted(points, values, side="right")
        return present, cells.astype(np.int64)

    def record_maps(self, batch: Batch) -> Integers:
        """A one in the record's cell."""
        present, cells = self._cells(batch)
        maps = np.zeros((len(batch), self.inner_size), dtype=np.int64)
        maps[present, cells] = 1
        return maps

    def block_total(self, batch: Batch) -> Integers:
        """Counts per cell."""
        return np.bincount(self._cells(batch)[1], minlength=self.inner_size).astype(np.int64)

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """Scores from the counts below and up to each candidate."""
        part, whole = self.quantile.numerator, self.quantile.denominator
        target, below, scores = part * sum(total), 0, []
        for index in range(self.size):
            below += total[2 * index]
            at_most = below + total[2 * index + 1]
            scores.append(-max(0, target - whole * at_most, whole * below - target))
            below = at_most
        return tuple(scores)

    def score_sensitivity(self, neighbours: Neighbours) -> int:
        """The largest change of any one score."""
        part, whole = self.quantile.numerator, self.quantile.denominator
        return max(part, whole - part) if neighbours == "add-remove" else whole

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of the counts, were they released: one cell, or two."""
        moves = 1 if neighbours == "add-remove" else 2
        return Sensitivity(moves, moves)


@dataclass(frozen=True)
class RankScores(Ranks):
    """Integer scores of candidates for a quantile of one real column; released only through a paid choice."""

    column: str
    candidates: tuple[float, ...]
    quantile: Fraction = Fraction(1, 2)

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def _numbers(self, batch: Batch) -> Floats:
        """The column, clipped to its bounds."""
        return batch.numbers(self.column)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """The two ends of the column."""
        declared = domain.real(self.column)
        return {self.column: declared.low}, None if neighbours == "add-remove" else {self.column: declared.high}

    @property
    def description(self) -> str:
        """In words."""
        return f"ranks of {self.size} candidates for the {self.quantile} quantile of {self.column}"


def grid_candidates(declared: Real, count: int) -> tuple[float, ...]:
    """Evenly spaced public candidates over a column's interval; whole numbers for an integer column."""
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= 2**16:
        raise ParameterError(f"quantile: candidates must be a whole number from 2 to {2**16}. Got {count!r}.")
    if declared.integer:
        first, last = math.ceil(declared.low), math.floor(declared.high)
        step = max(1, -(-(last - first) // (count - 1)))
        return tuple(float(value) for value in range(first, last + 1, step))
    return tuple(float(value) for value in np.linspace(declared.low, declared.high, count))
