"""What an attacker comes to believe about how sensitive values go with quasi-identifiers, and how: by EM.

A belief is a table of scores: for each combination of quasi-identifiers u and each value s, the logarithm of how much
more often u goes with s than without knowing s. Two models give it from expected counts N(u, s):

- ``naive-bayes``, as published: quasi-identifiers are independent given the value, so that the score is the sum of
  log P(column | s). Where two columns say the same ("husband", "male") it counts their word twice, and is too sure.
- ``log-linear``: each column shifts the odds of each value, and that is all; how columns go with each other is taken
  from the quasi-identifier table, where it is published. Fitted by scaling a table E(u, s) until its totals by column
  and value are those of N, and its totals by u the published ones (iterative proportional fitting). Each such step
  raises the likelihood, so that two sweeps in a round of EM will do.

Both get ``smoothing`` imaginary tuples per value, spread like all tuples. Arrays have the restarts last, so that all
restarts are computed at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_matrix

from sordino.anonymity.columns import Codes
from sordino.attack.group_marginals import (
    MOST_STATES,
    Floats,
    Walk,
    exact_marginals,
    restricted_marginals,
    states,
)
from sordino.attack.published import PublishedTables, Shape

Model = Literal["log-linear", "naive-bayes"]
Step = Literal["exact", "group", "unrestricted"]
MODELS, STEPS = get_args(Model), get_args(Step)

_SWEEPS = 2


@dataclass(frozen=True)
class ShapeStep:
    """One shape in the E-step: how its groups are walked through, and where their tuples' beliefs are counted."""

    shape: Shape
    walk: Walk | None
    counted: Any

    @classmethod
    def of(cls, shape: Shape, combinations: int, values: int, exact: bool) -> ShapeStep:
        """``walk`` is None where the groups have too many states, or where only an approximation is asked for."""
        cells = shape.combinations.T[:, None, :] * values + shape.values.T[None, :, :]
        times = np.broadcast_to(shape.times.astype(float), cells.shape)
        places = np.arange(cells.size)
        counted = csr_matrix((times.ravel(), (cells.ravel(), places)), shape=(combinations * values, cells.size))
        walk = Walk.through(shape.counts) if exact and states(shape.counts) <= MOST_STATES else None
        return cls(shape, walk, counted)

    def marginals(self, scores: Floats) -> tuple[Floats, Floats]:
        """Tuples x values x (kinds of group x restarts), and the log-likelihood of each kind."""
        here = scores[self.shape.combinations.T[:, None, :], self.shape.values.T[None, :, :]]
        here = here.reshape(*here.shape[:2], -1)
        if self.walk is not None:
            return exact_marginals(here, self.walk)
        return restricted_marginals(here, self.shape.counts)


@dataclass(frozen=True)
class Learner:
    """One round of EM on two published tables, for all restarts at once.

    ``step``: *exact* takes into account that the values of a group are shared out among its tuples; *group* looks at
    each tuple alone, among its group's values; *unrestricted* at each tuple alone, among all values there are.
    """

    tables: PublishedTables
    model: Model = "log-linear"
    step: Step = "exact"
    smoothing: float = 1.0
    shapes: tuple[ShapeStep, ...] = field(init=False)
    frequency: Floats = field(init=False)
    margins: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        tables = self.tables
        sizes = tables.combinations, len(tables.values)
        steps = tuple(ShapeStep.of(shape, *sizes, self.step == "exact") for shape in tables.shapes)
        object.__setattr__(self, "shapes", steps)
        frequency = np.bincount(tables.combination, minlength=tables.combinations).astype(float)
        object.__setattr__(self, "frequency", frequency)
        object.__setattr__(self, "margins", tuple(map(_one_hot, tables.columns)))

    @property
    def numbers(self) -> int:
        """Probabilities in one E-step."""
        return sum(each.counted.shape[1] for each in self.shapes)

    def expected(self, scores: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """The E-step: expected counts of combination and value, and the log-likelihood of each restart.

        For the log-linear model it is that of all tuples, the imaginary ones too, and no round of EM lowers it.
        """
        if self.step == "unrestricted":
            return self._unrestricted(scores, shares)
        restarts = scores.shape[2]
        expected = np.zeros(scores.shape)
        likelihood = self._spread @ scores.sum(axis=1)
        for each in self.shapes:
            found, total = each.marginals(scores)
            expected += (each.counted @ found.reshape(-1, restarts)).reshape(scores.shape)
            likelihood += each.shape.times @ total.reshape(-1, restarts)
        return expected, likelihood

    def _unrestricted(self, scores: Floats, shares: Floats) -> tuple[Floats, Floats]:
        weighted = scores + np.log(shares)
        best = weighted.max(axis=1, keepdims=True)
        found = np.exp(weighted - best)
        total = found.sum(axis=1, keepdims=True)
        likelihood = self.frequency @ (np.log(total) + best)[:, 0]
        return self.frequency[:, None, None] * found / total, likelihood

    @property
    def _spread(self) -> Floats:
        """The imaginary tuples of one value."""
        found: Floats = self.smoothing * self.frequency / self.tables.tuples
        return found

    def scores(self, expected: Floats, before: Floats) -> Floats:
        """The M-step: scores from expected counts; the log-linear model moves on from the scores ``before``."""
        smoothed = expected + self._spread[:, None, None]
        if self.model == "naive-bayes":
            return self._naive_bayes(smoothed)
        fitted = self._fitted(smoothed, self.frequency[:, None, None] * self._shares * np.exp(before))
        return self.normalised(np.log(fitted / (self.frequency[:, None, None] * self._shares)))

    def normalised(self, scores: Floats) -> Floats:
        """Scores such that the probabilities of values add up to one for each combination."""
        best = scores.max(axis=1, keepdims=True)
        found: Floats = scores - best - np.log((self._shares * np.exp(scores - best)).sum(axis=1, keepdims=True))
        return found

    def by_value(self, scores: Floats) -> Floats:
        """Scores such that the probabilities of combinations add up to one for each value.

        Within a group no constant of a value matters: its values are published. Between beliefs it does.
        """
        weights = (self.frequency / self.frequency.sum())[:, None, None]
        best = scores.max(axis=0, keepdims=True)
        found: Floats = scores - best - np.log((weights * np.exp(scores - best)).sum(axis=0, keepdims=True))
        return found

    @property
    def _shares(self) -> Floats:
        """How frequent each value is: published."""
        return (self.tables.totals / self.tables.tuples)[None, :, None]

    def _naive_bayes(self, counts: Floats) -> Floats:
        scores, whole = np.zeros_like(counts), counts.sum(axis=0)
        for margin, codes in zip(self.margins, self.tables.columns, strict=True):
            scores += np.log(_totals(margin, counts) / whole)[codes]
        return scores

    def _fitted(self, counts: Floats, fitted: Floats) -> Floats:
        by_combination = counts.sum(axis=1, keepdims=True)
        for _ in range(_SWEEPS):
            for margin, codes in zip(self.margins, self.tables.columns, strict=True):
                fitted = fitted * (_totals(margin, counts) / _totals(margin, fitted))[codes]
            fitted *= by_combination / fitted.sum(axis=1, keepdims=True)
        return fitted

    def from_groups(self, noise: Floats) -> Floats:
        """Scores to begin with: what the groups say, each cell times its noise."""
        restarts = noise.shape[2]
        counts = np.zeros(noise.shape[:2])
        for each in self.shapes:
            share = np.asarray(each.shape.counts, float) / each.shape.size
            told = np.broadcast_to(share[:, None], (each.shape.size, len(share), len(each.shape.times)))
            counts += (each.counted @ told.ravel()).reshape(counts.shape)
        return self._naive_bayes(np.repeat(counts[:, :, None], restarts, axis=2) * noise + 1e-9)


def drawn_scores(tables: PublishedTables, restarts: int, generator: np.random.Generator) -> Floats:
    """Scores to begin with that owe nothing to the tables: column given value, drawn uniformly."""
    scores = np.zeros((tables.combinations, len(tables.values), restarts))
    for codes in tables.columns:
        drawn = generator.gamma(1.0, size=(int(codes.max()) + 1, len(tables.values), restarts)) + 1e-300
        scores += np.log(drawn / drawn.sum(axis=0))[codes]
    return scores


def _one_hot(codes: Codes) -> Any:
    return csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))))


def _totals(margin: Any, table: Floats) -> Floats:
    found: Floats = (margin @ table.reshape(len(table), -1)).reshape(-1, *table.shape[1:])
    return found
