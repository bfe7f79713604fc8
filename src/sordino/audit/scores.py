"""Scores that tell the outcomes of one table from those of its neighbour.

A score is a number per outcome, larger where the second table is more likely. Each candidate is fitted on runs whose
bits are known; how good it is, is judged on other runs (``lower_bound.py``). None of this touches validity: any
function of the outcome gives a valid bound, and a poor one only a small bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.audit.outcomes import Floats, Outcomes

Bits = np.ndarray[Any, np.dtype[np.bool_]]

#: How many coordinates are looked at one by one: those that differ most on the fitting runs.
MOST_COORDINATES = 200

#: A value that makes up at least this share of the fitting runs is an atom, and a cell of its own.
ATOM_SHARE = 1 / 500

_MOST_ATOMS = 128
_MOST_BINS = 24
_RUNS_PER_BIN = 30
_FEWEST_OF_AN_ATOM = 6
_RIDGES = (1e-6, 0.1)
_FARTHEST = 8.0

#: Fractional parts are looked at when an outcome has at most this many numbers.
_MOST_FRACTIONS = 32


@dataclass(frozen=True)
class Score:
    """A named number per outcome."""

    name: str
    values: Callable[[Outcomes], Floats]


def plain_scores(outcomes: Outcomes, bits: Bits) -> Iterator[Score]:
    """Scores with nothing to fit: the numbers as they are; or, where there is none, one score for all outcomes."""
    if outcomes.numbers.shape[1] == 0:
        yield Score("none", lambda outcomes: np.zeros(len(outcomes)))
    for place in _picked(outcomes.numbers, bits):
        yield Score(f"number {place}", _Coordinate(place).values)


def fitted_scores(outcomes: Outcomes, bits: Bits) -> Iterator[Score]:
    """Log-ratios of cells (atoms and bins), their sum, and linear directions."""
    picked = _picked(outcomes.numbers, bits)
    named: list[tuple[str, Cells]] = [*_number_cells(outcomes, bits, picked), *_word_cells(outcomes, bits)]
    yield from (Score(f"log-ratio of {name}", cells.values) for name, cells in named)
    if len(named) > 1:
        parts = [cells.values for _, cells in named]
        yield Score("sum of log-ratios", lambda outcomes: _summed(parts, outcomes))
    if len(picked) > 1:
        for ridge in _RIDGES:
            direction = _Direction.fit(outcomes.numbers, bits, picked, ridge)
            yield Score(f"linear direction, ridge {ridge:g}", direction.values)


def _picked(numbers: Floats, bits: Bits) -> list[int]:
    """The coordinates in which place or spread differs most, in order of place; all of them when they are few."""
    if numbers.shape[1] <= MOST_COORDINATES:
        return list(range(numbers.shape[1]))
    whitened = _Whitening.fit(numbers)(numbers)
    gaps = [np.abs(each[bits].mean(axis=0) - each[~bits].mean(axis=0)) for each in (whitened, np.abs(whitened))]
    return sorted(int(place) for place in np.argsort(-np.maximum(*gaps), kind="stable")[:MOST_COORDINATES])


@dataclass(frozen=True)
class _Coordinate:
    """One number as it is; NaN lies beyond infinity."""

    place: int

    def values(self, outcomes: Outcomes) -> Floats:
        column = outcomes.numbers[:, self.place]
        return np.where(np.isnan(column), np.inf, column)


def _number_cells(outcomes: Outcomes, bits: Bits, picked: Sequence[int]) -> Iterator[tuple[str, _NumberCells]]:
    for place in picked:
        yield f"number {place}", _NumberCells.fit(outcomes, bits, place, fraction=False)
    if len(picked) > _MOST_FRACTIONS:
        return
    for place in picked:
        column = outcomes.numbers[:, place]
        if np.any(np.mod(column[np.isfinite(column)], 1.0)):
            yield f"the fraction of number {place}", _NumberCells.fit(outcomes, bits, place, fraction=True)


def _word_cells(outcomes: Outcomes, bits: Bits) -> Iterator[tuple[str, _WordCells]]:
    if len(set(outcomes.kinds)) > 1:
        yield "the kind of outcome", _WordCells.fit(outcomes, bits, None)
    for place in range(min(MOST_COORDINATES, max(map(len, outcomes.words), default=0))):
        yield f"word {place}", _WordCells.fit(outcomes, bits, place)


@dataclass(frozen=True)
class _NumberCells:
    """The log-ratio of a number's cell: an atom, a bin between quantiles, or NaN."""

    place: int
    fraction: bool
    atoms: Floats
    edges: Floats
    ratios: Floats

    @classmethod
    def fit(cls, outcomes: Outcomes, bits: Bits, place: int, fraction: bool) -> _NumberCells:
        """Atoms are the frequent values, and bins hold as many of the others each."""
        blank = cls(place, fraction, np.empty(0), np.empty(0), np.empty(0))
        column = blank._column(outcomes)
        known = column[~np.isnan(column)]
        atoms = _atoms(known)
        others = known[np.isfinite(known) & ~np.isin(known, atoms)]
        bins = min(_MOST_BINS, len(others) // _RUNS_PER_BIN)
        edges = np.unique(np.quantile(others, np.linspace(0, 1, bins + 1)[1:-1])) if bins > 1 else np.empty(0)
        shape = cls(place, fraction, atoms, edges, np.empty(0))
        return cls(place, fraction, atoms, edges, _log_ratios(shape._cells(column), bits, shape._size))

    def values(self, outcomes: Outcomes) -> Floats:
        ratios: Floats = self.ratios[self._cells(self._column(outcomes))]
        return ratios

    @property
    def _size(self) -> int:
        return len(self.atoms) + len(self.edges) + 2

    def _column(self, outcomes: Outcomes) -> Floats:
        column = outcomes.numbers[:, self.place]
        if not self.fraction:
            return column
        with np.errstate(invalid="ignore"):  # infinity has no fraction: NaN
            fraction: Floats = np.mod(column, 1.0)
        return fraction.round(9)

    def _cells(self, column: Floats) -> np.ndarray[Any, np.dtype[np.intp]]:
        cells = len(self.atoms) + np.searchsorted(self.edges, column, side="right")
        cells[np.isnan(column)] = self._size - 1
        if len(self.atoms):
            nearest = np.minimum(np.searchsorted(self.atoms, column), len(self.atoms) - 1)
            cells = np.where(self.atoms[nearest] == column, nearest, cells)
        return cells


@dataclass(frozen=True)
class _WordCells:
    """The log-ratio of a word among the frequent ones; all others share a cell. Without a place: of the kind."""

    place: int | None
    cells: dict[str, int]
    ratios: Floats

    @classmethod
    def fit(cls, outcomes: Outcomes, bits: Bits, place: int | None) -> _WordCells:
        """Count the words."""
        column = cls(place, {}, np.empty(0))._column(outcomes)
        least = _fewest(len(column))
        frequent = [word for word, count in Counter(column).most_common(_MOST_ATOMS) if count >= least]
        cells = {word: cell for cell, word in enumerate(frequent)}
        codes = np.array([cells.get(word, len(cells)) for word in column])
        return cls(place, cells, _log_ratios(codes, bits, len(cells) + 1))

    def values(self, outcomes: Outcomes) -> Floats:
        codes = [self.cells.get(word, len(self.cells)) for word in self._column(outcomes)]
        ratios: Floats = self.ratios[np.array(codes, dtype=np.intp)]
        return ratios

    def _column(self, outcomes: Outcomes) -> Sequence[str]:
        return outcomes.kinds if self.place is None else outcomes.word_column(self.place)


#: What knows the log-ratio of the cell that an outcome falls into.
Cells = _NumberCells | _WordCells


def _fewest(runs: int) -> float:
    return max(_FEWEST_OF_AN_ATOM, runs * ATOM_SHARE)


def _atoms(known: Floats) -> Floats:
    values, counts = np.unique(known, return_counts=True)
    frequent = np.flatnonzero(counts >= _fewest(len(known)))
    most = frequent[np.argsort(-counts[frequent], kind="stable")[:_MOST_ATOMS]]
    return np.sort(values[most])


def _log_ratios(cells: np.ndarray[Any, np.dtype[np.intp]], bits: Bits, size: int) -> Floats:
    """log(count with bit 1 / count with bit 0) per cell, each count raised by one half."""
    ones, zeros = (np.bincount(cells[side], minlength=size) + 0.5 for side in (bits, ~bits))
    ratios: Floats = np.log(ones / ones.sum()) - np.log(zeros / zeros.sum())
    return ratios


def _summed(parts: Sequence[Callable[[Outcomes], Floats]], outcomes: Outcomes) -> Floats:
    total: Floats = np.sum([part(outcomes) for part in parts], axis=0)
    return total


@dataclass(frozen=True)
class _Whitening:
    """Numbers less their median, over their spread, and cut at a few spreads; NaN in the middle."""

    centre: Floats
    spread: Floats

    @classmethod
    def fit(cls, numbers: Floats) -> _Whitening:
        """Medians and interquartile ranges of the finite numbers."""
        quartiles = np.zeros((3, numbers.shape[1]))
        for place, column in enumerate(numbers.T):
            finite = column[np.isfinite(column)]
            if len(finite):
                quartiles[:, place] = np.quantile(finite, (0.25, 0.5, 0.75))
        spread = quartiles[2] - quartiles[0]
        return cls(quartiles[1], np.where(spread > 0, spread, 1.0))

    def __call__(self, numbers: Floats) -> Floats:
        scaled = (np.where(np.isnan(numbers), self.centre, numbers) - self.centre) / self.spread
        cut: Floats = np.clip(scaled, -_FARTHEST, _FARTHEST)
        return cut


@dataclass(frozen=True)
class _Direction:
    """The direction that separates the two tables best, for one shared covariance with a ridge."""

    places: Sequence[int]
    whitening: _Whitening
    weights: Floats

    @classmethod
    def fit(cls, numbers: Floats, bits: Bits, places: Sequence[int], ridge: float) -> _Direction:
        """Difference of means over covariance."""
        chosen = numbers[:, list(places)]
        whitening = _Whitening.fit(chosen)
        rows = whitening(chosen)
        means = [rows[side].mean(axis=0) if side.any() else np.zeros(rows.shape[1]) for side in (~bits, bits)]
        centred = rows - np.where(bits[:, None], means[1], means[0])
        covariance = centred.T @ centred / len(rows) + ridge * np.eye(rows.shape[1])
        return cls(places, whitening, np.linalg.solve(covariance, means[1] - means[0]))

    def values(self, outcomes: Outcomes) -> Floats:
        direction: Floats = self.whitening(outcomes.numbers[:, list(self.places)]) @ self.weights
        return direction
