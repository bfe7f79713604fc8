"""How many records there are. Proof: ``docs/proofs/count.md``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino.domain import Category, Domain, Neighbours
from sordino.statistics.statistic import GRID_STEPS, Norm, Record, Sensitivity, Statistic, listed
from sordino.table.clipping import Batch, Integers


@dataclass(frozen=True)
class Count(Statistic):
    """Records without a missing cell in ``columns``; all records when no column is named."""

    reads: tuple[str, ...] = ()
    size = 1
    unit = 1
    largest_entry = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be whole."""
        return self.reads

    def record_maps(self, batch: Batch) -> Integers:
        """One for a whole record, zero for another."""
        return whole_records(batch, self.columns).astype(np.int64)[:, None]

    def block_total(self, batch: Batch) -> Integers:
        """The number of whole records."""
        return np.array([np.count_nonzero(whole_records(batch, self.columns))], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One; under substitute zero for all records, since their number is public."""
        moves = 1 if neighbours == "add-remove" or self.columns else 0
        return Sensitivity(moves, moves)

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """Any whole record; in place of one with a missing cell."""
        record = {name: _any_value(domain, name) for name in self.columns or tuple(domain.columns)}
        return record, None if neighbours == "add-remove" else dict.fromkeys(record, None)

    @property
    def description(self) -> str:
        """In words."""
        return f"count of records with {listed(self.columns)}" if self.columns else "count of records"


def whole_records(batch: Batch, columns: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A flag per record: no cell of ``columns`` is missing."""
    whole = np.ones(len(batch), dtype=bool)
    reals = tuple(name for name in columns if not isinstance(batch.domain[name], Category))
    for name in columns:
        if name not in reals:
            whole &= batch.codes(name) >= 0
    if reals and (present := batch.on_grid(reals, GRID_STEPS)[1]) is not None:  # shared with sums and moments
        whole &= present
    return whole


def _any_value(domain: Domain, name: str) -> float | str | int | bool:
    declared = domain[name]
    return declared.values[0] if isinstance(declared, Category) else declared.middle
