"""What each group of an anonymised table must have: k rows, and no sensitive value in more than 1/l of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.anonymity.columns import Coded, Codes
from sordino.errors import ParameterError

Truths = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Requirement:
    """At least ``k`` rows in a group; with ``l``, no value of ``values`` makes up more than 1/l of it."""

    k: int
    l: int | None
    values: Coded | None

    def __post_init__(self) -> None:
        for name, number, least in (("k", self.k, 1), ("l", self.l, 2)):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < least):
                raise ParameterError(f"k_anonymize: {name} must be a whole number, {least} at least. Got {number!r}.")
        if self.l is not None and self.values is None:
            raise ParameterError("k_anonymize: l is about a sensitive column. Write sensitive='its name'.")

    def holds(self, group: Codes, rows: Codes | None = None) -> Truths:
        """For each group whether it may be published; ``group`` numbers from 0 the groups of ``rows``, or of all."""
        sizes = np.bincount(group)
        enough = sizes >= self.k
        if self.l is None or self.values is None:
            return enough
        values = self.values.codes if rows is None else self.values.codes[rows]
        pairs, counts = np.unique(group * self.values.size + values, return_counts=True)
        most = np.zeros(len(sizes), np.int64)
        np.maximum.at(most, pairs // self.values.size, counts)
        held: Truths = enough & (most * self.l <= sizes)
        return held

    def one_group(self, rows: Codes) -> bool:
        """Whether some rows may be one group."""
        return len(rows) > 0 and bool(self.holds(np.zeros(len(rows), np.int64), rows)[0])
