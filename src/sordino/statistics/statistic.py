"""The contract of a statistic: a bounded map from one record to integers, summed over the records.

The law: ``total(table) = sum of record_maps``, and a record's map depends on the record and on public numbers
alone. Then the largest change that one record can cause is a fact about integers, stated by ``sensitivity``.
A *direct* statistic also has ``finish``, a fixed integer function of the whole total; its sensitivity is
proved for the finished numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sordino.domain import CategoryValue, Domain, Neighbours
from sordino.errors import ParameterError
from sordino.table.clipping import Batch, Integers

#: One record as a person would write it: column name to value; None is a missing cell.
Record = Mapping[str, float | CategoryValue | None]

Norm = Literal["l1", "l2"]

#: Default grid: a coordinate in [-1, 1] becomes an integer in [-2^20, 2^20].
GRID_STEPS = 2**20

#: A receipt names this many columns one by one.
LISTED = 32

#: Every sum inside one block stays at or below this, so that float64 arithmetic on it is exact.
EXACT_LIMIT = 2**53


@dataclass(frozen=True)
class Sensitivity:
    """The largest change between neighbours, in integers: L1, and L2 squared (with the statistic's weights)."""

    l1: int
    l2_squared: int

    def times(self, factor: int) -> Sensitivity:
        """Sensitivity of independent blocks that can all change at once."""
        return Sensitivity(self.l1 * factor, self.l2_squared * factor)


class Total:
    """An exact total. It may not leave: its ``repr`` shows nothing but its size."""

    def __init__(self, exact_values: tuple[int, ...]) -> None:
        self.exact_values = exact_values

    def __len__(self) -> int:
        return len(self.exact_values)

    def __repr__(self) -> str:
        return f"Total({len(self)} integers, private)"


class Statistic(ABC):
    """A bounded record map and its exact sum."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many integers are released."""

    @property
    def inner_size(self) -> int:
        """How many integers a record maps to; differs from ``size`` for direct statistics only."""
        return self.size

    @property
    @abstractmethod
    def unit(self) -> int:
        """Grid steps in one unit of the released numbers."""

    @property
    @abstractmethod
    def largest_entry(self) -> int:
        """Bound on the size of every entry of a record's map."""

    @abstractmethod
    def record_maps(self, batch: Batch) -> Integers:
        """One row of integers per record: the definition of the statistic."""

    @abstractmethod
    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """The largest change between neighbours, proved in ``docs/proofs/``."""

    @abstractmethod
    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """Records that attain the sensitivity: one to add, or one to put in place of another."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What it is, in words, for plans and receipts."""

    @property
    def weights(self) -> tuple[int, ...] | None:
        """Weights of the squared L2 norm per released coordinate; None when all are one.

        The noise variance of a coordinate is divided by its weight.
        """
        return None

    def block_total(self, batch: Batch) -> Integers:
        """Sum of the record maps of a batch of at most ``rows_per_block`` records."""
        total: Integers = self.record_maps(batch).sum(axis=0, dtype=np.int64)
        return total

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers to release, from the exact sum of the record maps."""
        return total

    def coarser(self) -> Statistic | None:
        """The same statistic on a grid half as fine, or None when there is no coarser one."""
        return None

    @property
    def rows_per_block(self) -> int:
        """How many records may be summed in floats without rounding."""
        if self.largest_entry > EXACT_LIMIT:
            raise ParameterError(f"{self.description}: one record's entry exceeds 53 bits. Take a coarser grid.")
        return EXACT_LIMIT // self.largest_entry

    @property
    def public_facts(self) -> tuple[str, ...]:
        """Facts beyond the domain on which the statistic leans."""
        return ()


def unit_record(domain: Domain, columns: tuple[str, ...], position: Any) -> Record:
    """The record at given coordinates in [-1, 1] of its box."""
    places = np.broadcast_to(np.asarray(position, dtype=float), (len(columns),))
    return {
        name: domain.real(name).middle + domain.real(name).half_width * float(place)
        for name, place in zip(columns, places, strict=True)
    }


def listed(columns: tuple[str, ...]) -> str:
    """Names of columns for a receipt; of very many the first and the last one, and their number.

    >>> listed(("age", "bmi"))
    'age, bmi'
    """
    if len(columns) <= LISTED:
        return ", ".join(columns)
    return f"{columns[0]} to {columns[-1]} ({len(columns)} columns)"


def scaled(value: int, factor: Fraction) -> int:
    """An integer times a fraction, rounded up: sensitivities are never rounded down."""
    return -((-value * factor.numerator) // factor.denominator)
