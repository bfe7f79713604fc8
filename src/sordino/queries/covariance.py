"""The covariance matrix of real columns (divisor n), asked in either of two ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sordino.domain import Domain
from sordino.privacy.price import Price
from sordino.queries.mean import chosen_method, direct_caveats
from sordino.queries.query import Query, named_columns
from sordino.queries.variance import direct_rounding
from sordino.release import Interval, NoisyTotal, Receipt, Release
from sordino.statistics.count import Count
from sordino.statistics.direct import DirectCovariance
from sordino.statistics.moments import SecondMoment
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box

Matrix = np.ndarray[Any, np.dtype[np.float64]]


def covariance_query(domain: Domain, columns: Sequence[str], method: str = "auto") -> Query:
    """The query for a covariance matrix by the chosen method."""
    by_method = {"direct": DirectMatrix, "sum-and-size": MomentMatrix}
    return by_method[chosen_method("covariance", method, domain)](domain, columns)


class _MatrixQuery(Query):
    """What both ways share: the columns and their half-widths."""

    def __init__(self, domain: Domain, columns: str | Sequence[str]) -> None:
        super().__init__(domain)
        self._columns = named_columns(columns)
        halves = np.array([domain.real(name).half_width for name in self._columns])
        self._scale: Matrix = np.outer(halves, halves)

    def _symmetric(self, triangle: Sequence[float]) -> Matrix:
        """The whole matrix from its upper triangle."""
        dimension = len(self._columns)
        matrix = np.zeros((dimension, dimension))
        matrix[np.triu_indices(dimension)] = triangle
        return matrix + np.triu(matrix, 1).T

    @staticmethod
    def _possible(matrix: Matrix) -> Matrix:
        """The matrix without variances below zero, which noise can make and no table has."""
        return np.where(np.eye(len(matrix), dtype=bool), np.maximum(matrix, 0.0), matrix)


class MomentMatrix(_MatrixQuery):
    """Size, sums and second moments, with the split of the budget that minimises their noise."""

    needs_rows = True
    imagined = "values spread evenly over their bounds"

    def statistics(self) -> tuple[Count, Sum, SecondMoment]:
        """All three over records without a missing cell."""
        box = Box(self._columns)
        return (Count(self._columns), Sum(box), SecondMoment(box))

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """M/n - (s/n)(s/n)', with the noisy size at least one."""
        count, sums, moments = totals
        size = max(1.0, count.in_units()[0])
        means = np.array(sums.in_units()) / size
        noisy = self._symmetric(moments.in_units()) / size - np.outer(means, means)
        value = self._possible(self._scale * np.clip(noisy, -1, 1))  # no covariance is larger in these units
        receipt = Receipt.joined([total.receipt for total in totals])

        def interval(level: float) -> Interval:
            alone = 1 - (1 - level) / 4  # an entry reads four noisy numbers at most
            low, high = self._range(count, sums, moments, alone)
            rounding = 4 / min(sums.unit, moments.unit**0.5)  # four grid steps: more than the grid may move it
            low, high = self._scale * (low - rounding), self._scale * (high + rounding)
            return Interval(self._possible(low), self._possible(high), level)

        return Release(value, receipt, interval, self._columns)

    def _range(self, count: NoisyTotal, sums: NoisyTotal, moments: NoisyTotal, level: float) -> tuple[Matrix, Matrix]:
        """Interval arithmetic on the four noisy numbers of each entry; no covariance is beyond 1 in these units."""
        width = count.half_widths(level)[0]
        sizes = max(1.0, count.in_units()[0] - width), max(1.0, count.in_units()[0] + width)
        middle, reach = np.array(sums.in_units()), np.array(sums.half_widths(level))
        mean_low, mean_high = _quotient(middle - reach, middle + reach, sizes)
        mean_low, mean_high = np.clip(mean_low, -1, 1), np.clip(mean_high, -1, 1)
        moment, moment_reach = self._symmetric(moments.in_units()), self._symmetric(moments.half_widths(level))
        moment_low, moment_high = _quotient(moment - moment_reach, moment + moment_reach, sizes)
        products = np.stack([np.outer(a, b) for a in (mean_low, mean_high) for b in (mean_low, mean_high)])
        low = np.clip(moment_low, -1, 1) - products.max(axis=0)
        high = np.clip(moment_high, -1, 1) - products.min(axis=0)
        return np.clip(low, -1, 1), np.clip(high, -1, 1)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Independent columns spread evenly over their intervals."""
        dimension = len(self._columns)
        diagonal = np.equal(*np.triu_indices(dimension))
        return [[float(rows)], [0.0] * dimension, [rows / 3 if here else 0.0 for here in diagonal]]


class DirectMatrix(_MatrixQuery):
    """The covariance matrix itself, whose sensitivity is known because n is public."""

    def statistics(self) -> tuple[DirectCovariance]:
        """The upper triangle."""
        return (DirectCovariance(self._columns, self.domain.rows or 1),)

    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """The noisy triangle, mirrored."""
        (total,) = totals
        noisy = self._scale * self._symmetric(total.in_units())

        def interval(level: float) -> Interval:
            widths = self._scale * (self._symmetric(total.half_widths(level)) + 4 * direct_rounding(total, self.domain))
            return Interval(self._possible(noisy - widths), self._possible(noisy + widths), level)

        receipt = total.receipt.with_caveat(*direct_caveats(self.domain, self._columns))
        return Release(self._possible(noisy), receipt, interval, self._columns)

    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Variances far from zero, where the interval is whole; the noise does not depend on them."""
        diagonal = np.equal(*np.triu_indices(len(self._columns)))
        return [[1e6 if here else 0.0 for here in diagonal]]


def _quotient(low: Matrix, high: Matrix, sizes: tuple[float, float]) -> tuple[Matrix, Matrix]:
    """Interval division by a positive range."""
    corners = np.stack([low / sizes[0], low / sizes[1], high / sizes[0], high / sizes[1]])
    return corners.min(axis=0), corners.max(axis=0)
