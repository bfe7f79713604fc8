"""Rows of any columns as points between which distances mean something, by public and reference rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sordino.anonymity.columns import Codes, coded, numbers
from sordino.attack.group_marginals import Floats
from sordino.errors import TableError

_WHO = "MembershipAttack"


@dataclass(frozen=True)
class Column:
    """A number in units of its spread, or a word as one of those that were seen."""

    name: str
    centre: float = 0.0
    spread: float = 1.0
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, parts: Sequence[pa.Table]) -> Column:
        """From all given rows; a column is of numbers where it is in every part."""
        values = [_numbers(part, name) for part in parts]
        if any(each is None for each in values):
            return cls(name, words=tuple(sorted({word for part in parts for word in _words(part, name)[0]})))
        together = np.concatenate([each for each in values if each is not None])
        return cls(name, float(np.median(together)), float(np.std(together)) or 1.0)

    def points(self, table: pa.Table) -> Floats:
        """One coordinate for a number; for a word one for each, so that two words are 1 apart."""
        if not self.words:
            values = _numbers(table, self.name)
            if values is None:
                raise TableError(f"{_WHO}: column {self.name!r} must hold numbers, as in the other tables.")
            return ((values - self.centre) / self.spread)[:, None]
        seen, codes = _words(table, self.name)
        place = {word: number for number, word in enumerate(self.words)}
        table_of = np.zeros((len(seen), len(self.words)))
        for row, word in enumerate(seen):
            if word in place:
                table_of[row, place[word]] = np.sqrt(0.5)
        return table_of[codes]


@dataclass(frozen=True)
class Points:
    """The columns of some tables."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, *parts: pa.Table) -> Points:
        """Columns as all the parts have them."""
        return cls(tuple(Column.of(name, parts) for name in parts[0].column_names))

    def __call__(self, table: pa.Table) -> Floats:
        """The rows as points."""
        return np.hstack([column.points(table) for column in self.columns])


def words_of(table: pa.Table, name: str) -> Any:
    """The cells of a column as text."""
    seen, codes = _words(table, name)
    return np.array(seen, object)[codes]


def _numbers(table: pa.Table, name: str) -> Floats | None:
    column = coded(table, name, _WHO)
    found = numbers(column)
    return None if found is None else found[column.codes]


def _words(table: pa.Table, name: str) -> tuple[list[str], Codes]:
    column = coded(table, name, _WHO)
    return [str(each) for each in column.values.to_pylist()], column.codes
