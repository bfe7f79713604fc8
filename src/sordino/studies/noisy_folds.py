"""Cross-validation of naive Bayes with the noise drawn again and again over the exact counts of public data.

A fit of ``NaiveBayes`` counts, adds noise and normalises. The counts of a fold do not change with the noise, so that
they are taken once, and hundreds of noisy fits are made and judged together by one product of matrices. A test shows
that the accuracies are those of ``NaiveBayes`` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sordino.domain import Category, Column
from sordino.privacy.noise import SeededNoise
from sordino.release import DiscreteLaplace, Law

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

#: From the noisy tables of one fold (repetitions, classes, cells) to the logarithms of class and cell probabilities.
Fit = Callable[[Sequence[Floats], Law], tuple[Floats, list[Floats]]]

#: Stands for the logarithm of zero in a sum of logarithms: whatever is below half of it was impossible.
_IMPOSSIBLE = -1e4

#: So many noisy fits are judged together that their scores stay in the processor's memory.
_TOGETHER = 100


@dataclass(frozen=True)
class CodedTable:
    """A public table of categories as whole numbers: a row of ``codes`` per record, and its class."""

    codes: Integers
    labels: Integers
    cells: tuple[int, ...]
    classes: int

    @classmethod
    def of(cls, table: pa.Table, columns: Mapping[str, Column], target: str) -> CodedTable:
        """The categories of a table by their place in the declared lists; all other columns are left out."""
        lists = {name: each.values for name, each in columns.items() if isinstance(each, Category)}
        places = {name: [lists[name].index(cell) for cell in table[name].to_pylist()] for name in lists}
        features = [name for name in lists if name != target]
        return cls(
            np.array([places[name] for name in features]).T,
            np.array(places[target]),
            tuple(len(lists[name]) for name in features),
            len(lists[target]),
        )

    def __len__(self) -> int:
        return len(self.labels)

    def counts(self, rows: Integers) -> Integers:
        """Records of each class in each cell of each feature: what ``NaiveBayes`` asks for, in its order."""
        labels, codes = self.labels[rows], self.codes[rows]
        return np.concatenate(
            [
                np.bincount(labels * cells + codes[:, place], minlength=self.classes * cells)
                for place, cells in enumerate(self.cells)
            ]
        )

    def tables(self, counts: Floats) -> list[Floats]:
        """The counts of each feature, with axes for classes and cells."""
        parts = np.split(counts, np.cumsum([self.classes * cells for cells in self.cells])[:-1], axis=-1)
        return [
            part.reshape(*part.shape[:-1], self.classes, cells) for part, cells in zip(parts, self.cells, strict=True)
        ]

    def indicators(self, rows: Integers) -> Floats:
        """A one in the cell of each feature of each row."""
        starts = np.cumsum((0, *self.cells[:-1]))
        found = np.zeros((len(rows), sum(self.cells)))
        found[np.arange(len(rows))[:, np.newaxis], self.codes[rows] + starts] = 1
        return found

    def law(self, epsilon: float) -> Law:
        """The noise of a fit at ε: a record added or removed touches one cell of each feature."""
        return DiscreteLaplace(len(self.cells) / epsilon)


def folds(data: CodedTable, number: int, seed: Sequence[int]) -> Iterator[tuple[Integers, Integers]]:
    """Rows to train on and rows to test on, each row tested once."""
    shuffled = np.random.default_rng(seed).permutation(len(data))
    for tested in np.array_split(shuffled, number):
        yield np.setdiff1d(shuffled, tested, assume_unique=True), tested


def noisy_accuracies(
    data: CodedTable, trained: Integers, tested: Integers, noise: Integers, law: Law, fits: Mapping[str, Fit]
) -> dict[str, Floats]:
    """The accuracy on the tested rows of every fit, once for each row of ``noise``."""
    counts, indicators, labels = data.counts(trained), data.indicators(tested), data.labels[tested]
    found: dict[str, list[Floats]] = {name: [] for name in fits}
    for start in range(0, len(noise), _TOGETHER):
        tables = data.tables((counts + noise[start : start + _TOGETHER]).astype(np.float64))
        for name, fit in fits.items():
            found[name].append(np.mean(_predicted(indicators, *fit(tables, law)) == labels[:, np.newaxis], axis=0))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def draws(data: CodedTable, law: Law, repeats: int, seed: Sequence[int]) -> Integers:
    """Noise for so many fits, a row each."""
    cells = data.classes * sum(data.cells)
    return SeededNoise(seed).draw_many(law, repeats * cells).reshape(repeats, cells)


def _predicted(indicators: Floats, log_priors: Floats, log_shares: Sequence[Floats]) -> Integers:
    """The likeliest class of each row (first axis) after each noisy fit (second axis); the first one of a tie."""
    best = np.full((len(indicators), len(log_priors)), -np.inf)
    predicted = np.zeros(best.shape, dtype=np.int64)
    for place in range(log_priors.shape[-1]):
        shares = np.concatenate([each[:, place] for each in log_shares], axis=-1)
        scores = indicators @ np.maximum(shares, _IMPOSSIBLE).T + np.maximum(log_priors[:, place], _IMPOSSIBLE)
        np.maximum(scores, _IMPOSSIBLE / 2, out=scores)
        np.copyto(predicted, place, where=scores > best)
        np.maximum(best, scores, out=best)
    return predicted
