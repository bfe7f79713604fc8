"""The contract of scores for a paid choice: one integer per public candidate; only the index of the winner leaves.

The law: between neighbours no score moves by more than ``score_sensitivity``. Where scores are *monotone*, all of
them move in one direction or stay, and the choice costs half as much. Proof: ``docs/proofs/choice.md``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from sordino.domain import Domain, Neighbours, Real
from sordino.errors import ParameterError
from sordino.statistics.statistic import GRID_STEPS, Norm, Record, Sensitivity, Statistic
from sordino.table.clipping import Batch, ChosenRows, Flags, Integers

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

#: Kept and dropped records are told apart by the upper bits of their hash.
HASH_BITS = 32


class ChoiceScores(Statistic):
    """Integer scores, one for each candidate; never released themselves."""

    unit = 1

    @abstractmethod
    def score_sensitivity(self, neighbours: Neighbours) -> int:
        """The largest change of any one score between neighbours."""

    def monotone(self, neighbours: Neighbours) -> bool:
        """Whether a neighbour moves all scores in one direction."""
        return False


@dataclass(frozen=True)
class Joined(ChoiceScores):
    """Several sets of candidates in one choice; ``bonuses`` are public whole numbers, added to all scores of a set."""

    parts: tuple[ChoiceScores, ...]
    bonuses: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts or len(self.bonuses) not in (0, len(self.parts)):
            raise ParameterError("choice: needs one or more sets of candidates, and a bonus for each or none.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def size(self) -> int:
        """The candidates of all parts, in order."""
        return sum(part.size for part in self.parts)

    @property
    def inner_size(self) -> int:
        """The maps of all parts, side by side."""
        return sum(part.inner_size for part in self.parts)

    @property
    def largest_entry(self) -> int:
        """The largest of the parts."""
        return max(part.largest_entry for part in self.parts)

    def record_maps(self, batch: Batch) -> Integers:
        """Side by side."""
        return np.hstack([part.record_maps(batch) for part in self.parts])

    def block_total(self, batch: Batch) -> Integers:
        """Side by side."""
        return np.concatenate([part.block_total(batch) for part in self.parts])

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """The scores of each part, with its bonus."""
        ends = accumulate((part.inner_size for part in self.parts), initial=0)
        bonuses = self.bonuses or (0,) * len(self.parts)
        return tuple(
            score + bonus
            for part, bonus, (start, end) in zip(self.parts, bonuses, pairwise(ends), strict=True)
            for score in part.finish(total[start:end])
        )

    def place(self, index: int) -> tuple[int, int]:
        """The part that a candidate belongs to, and its number there."""
        for number, part in enumerate(self.parts):
            if index < part.size:
                return number, index
            index -= part.size
        raise ParameterError("choice: there are not so many candidates.")

    def score_sensitivity(self, neighbours: Neighbours) -> int:
        """The largest of the parts."""
        return max(part.score_sensitivity(neighbours) for part in self.parts)

    def monotone(self, neighbours: Neighbours) -> bool:
        """Only if every part rises with every record: parts that fall would move against those that rise."""
        return all(part.monotone(neighbours) for part in self.parts)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of the maps, were they released: the sum of the parts."""
        each = [part.sensitivity(neighbours) for part in self.parts]
        return Sensitivity(sum(one.l1 for one in each), sum(one.l2_squared for one in each))

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """Those of the parts, laid over each other."""
        pairs = [part.witness(domain, neighbours, norm) for part in self.parts]
        first = {name: cell for record, _ in pairs for name, cell in record.items()}
        if neighbours == "add-remove":
            return first, None
        return first, {name: cell for _, record in pairs for name, cell in (record or {}).items()}

    @property
    def description(self) -> str:
        """In words."""
        return " and ".join(part.description for part in self.parts)


@dataclass(frozen=True)
class Subsample(ChoiceScores):
    """Scores over a part of the records, picked by a keyed hash of the record itself.

    Whether a record is kept depends on its own cells and on public numbers alone, never on its place in the table,
    so the sensitivities are those of ``inner``. ``kept`` of 2^32 hashes are kept.
    """

    inner: ChoiceScores
    kept: int
    key: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.kept <= 2**HASH_BITS:
            raise ParameterError(f"choice: kept must be a whole number from 1 to 2^{HASH_BITS}. Got {self.kept!r}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the scores, which are hashed too."""
        return self.inner.columns

    @property
    def size(self) -> int:
        """As the inner one."""
        return self.inner.size

    @property
    def inner_size(self) -> int:
        """As the inner one."""
        return self.inner.inner_size

    @property
    def largest_entry(self) -> int:
        """As the inner one."""
        return self.inner.largest_entry

    def record_maps(self, batch: Batch) -> Integers:
        """The inner map of a kept record; zero for another."""
        maps = self.inner.record_maps(batch)
        maps[~self._kept(batch)] = 0
        return maps

    def block_total(self, batch: Batch) -> Integers:
        """The inner total of the kept records."""
        return self.inner.block_total(ChosenRows(batch, np.flatnonzero(self._kept(batch))))

    def _kept(self, batch: Batch) -> Flags:
        reals = tuple(name for name in self.columns if isinstance(batch.domain[name], Real))
        cells = [batch.codes(name) for name in self.columns if name not in reals]
        if reals:
            cells.extend(batch.on_grid(reals, GRID_STEPS)[0].T.astype(np.int64))
        state: Hashes = np.full(len(batch), self.key, dtype=np.uint64)
        for cell in cells:
            state = _mixed(state ^ cell.astype(np.uint64))
        kept: Flags = (state >> np.uint64(64 - HASH_BITS)) < np.uint64(self.kept)
        return kept

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        """As the inner one."""
        return self.inner.finish(total)

    def score_sensitivity(self, neighbours: Neighbours) -> int:
        """As the inner one: under substitute a kept record may take the place of a dropped one."""
        return max(self.inner.score_sensitivity(neighbours), self.inner.score_sensitivity("add-remove"))

    def monotone(self, neighbours: Neighbours) -> bool:
        """As the inner one."""
        return self.inner.monotone(neighbours)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of the maps, were they released: the inner one's, or that of one record that comes or goes."""
        one, other = self.inner.sensitivity(neighbours), self.inner.sensitivity("add-remove")
        return Sensitivity(max(one.l1, other.l1), max(one.l2_squared, other.l2_squared))

    def witness(self, domain: Domain, neighbours: Neighbours, norm: Norm) -> tuple[Record, Record | None]:
        """As the inner one."""
        return self.inner.witness(domain, neighbours, norm)

    @property
    def description(self) -> str:
        """In words."""
        return f"{self.inner.description}, on {100 * self.kept / 2**HASH_BITS:.3g} % of the records"


def _mixed(state: Hashes) -> Hashes:
    """Steele, Lea and Flood's (2014) mixing of 64 bits, element by element."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = state ^ (state >> np.uint64(31))
    return mixed
