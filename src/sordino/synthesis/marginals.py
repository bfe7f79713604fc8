"""Noisy counts of one column's cells, per class: cut finer where many people are, and made to agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.repair.shrinkage import towards
from sordino.repair.simplex import on_simplex
from sordino.synthesis.cells import Cells, Floats, Integers

#: A cell is cut again when it holds more than this share of all records …
_HEAVY_SHARE = 0.08

#: … and more than this many standard deviations of its noise.
_HEAVY_DEVIATIONS = 8.0

#: So many cells of a column can hold that share, noise aside.
_MOST_HEAVY = int(1 / _HEAVY_SHARE)

#: Missing cells are believed when they are more than this many standard deviations.
_MISSING_DEVIATIONS = 4.0

#: Where so many cells side by side hold fewer than so many standard deviations of noise, nobody is there.
_NEIGHBOURHOOD = 5
_NEARBY_DEVIATIONS = 2.0

Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Marginal:
    """Noisy counts, a row per class and a column per cell, and the variance of the noise in each cell."""

    cells: Cells
    counts: Floats
    variance: Floats

    @property
    def pooled(self) -> Floats:
        """Counts of all classes together."""
        pooled: Floats = self.counts.sum(axis=0)
        return pooled

    def heavy(self, records: float) -> list[bool]:
        """The cells that are worth cutting again."""
        deviation = np.sqrt(len(self.counts) * self.variance)
        heavy = self.pooled > np.maximum(_HEAVY_SHARE * records, _HEAVY_DEVIATIONS * deviation)
        ranks = np.argsort(np.argsort(-self.pooled, kind="stable"), kind="stable")
        return [bool(each) for each in heavy & (ranks < _MOST_HEAVY) & np.array(self.cells.divisible())]

    def refined(self, cells: Cells, parents: Integers, counts: Floats, variance: float) -> Marginal:
        """Counts on finer cells, made to agree with these by inverse variance.

        The sum of a cell's parts is averaged with what was known of the cell, and the parts share the correction.
        """
        parts = np.bincount(parents, minlength=len(self.cells))
        sums = np.zeros_like(self.counts)
        np.add.at(sums.T, parents, counts.T)
        weight = _share(np.asarray(parts * variance, float), self.variance)
        known = weight * self.counts + (1 - weight) * sums
        known_variance = weight**2 * self.variance + (1 - weight) ** 2 * parts * variance
        moved = counts + ((known - sums) / parts)[:, parents]
        left = (variance - variance / parts + known_variance / parts**2)[parents]
        return Marginal(cells, moved, left)


def _share(theirs: Floats, mine: Floats) -> Floats:
    """The weight of a number whose variance is ``mine`` in its mean with another; a half where both are exact."""
    both = mine + theirs
    share = np.full_like(both, 0.5)
    np.divide(theirs, both, out=share, where=both > 0)
    return share


def class_totals(marginals: Sequence[Marginal]) -> Floats:
    """Records per class: the mean of all histograms' sums, weighted by inverse variance; at least one in all."""
    sums = np.array([marginal.counts.sum(axis=1) for marginal in marginals])
    weights = np.array([1 / max(marginal.variance.sum(), 1e-9) for marginal in marginals])
    totals = np.maximum(weights @ sums / weights.sum(), 0.0)
    return totals if totals.sum() >= 1 else np.full_like(totals, 1 / len(totals))


def probabilities(marginal: Marginal, totals: Floats) -> Floats:
    """The distribution over cells in each class: the pooled one, and so much of its own as the noise does not explain.

    James and Stein's factor towards the pooled distribution; both lie on the simplex. Missing cells are kept only when
    there are clearly some, so that a complete column stays complete; and of an interval's cells those with people
    nearby, so that noise puts nobody far out where one value would weigh much.
    """
    kept = np.ones(len(marginal.cells), dtype=bool)
    present = slice(0, len(kept) - marginal.cells.optional)
    if marginal.cells.ordered:
        kept[present] = _inhabited(marginal.pooled[present], len(marginal.counts) * marginal.variance[present])
    if marginal.cells.optional:
        doubt = _MISSING_DEVIATIONS * np.sqrt(len(marginal.counts) * marginal.variance[-1])
        kept[-1] = marginal.pooled[-1] > doubt
    if not kept.any():
        kept[present] = True
    found = np.zeros_like(marginal.counts)
    found[:, kept] = _shrunk(marginal.counts[:, kept], marginal.variance[kept], totals)
    return found


def _inhabited(counts: Floats, variance: Floats) -> Flags:
    """Cells whose neighbourhood of five holds more than twice the deviation of its noise."""
    if len(counts) < _NEIGHBOURHOOD:
        return np.ones(len(counts), dtype=bool)
    around = np.ones(_NEIGHBOURHOOD)
    people, noise = (np.convolve(each, around, mode="same") for each in (counts, variance))
    inhabited: Flags = people > _NEARBY_DEVIATIONS * np.sqrt(noise)
    return inhabited


def _shrunk(counts: Floats, variance: Floats, totals: Floats) -> Floats:
    pooled = on_simplex(counts.sum(axis=0), totals.sum()) / totals.sum()
    if len(counts) == 1:
        alone: Floats = pooled[np.newaxis]
        return alone
    sizes = np.maximum(totals, 1.0)[:, np.newaxis]
    pulled, _ = towards(counts / sizes, pooled, variance / sizes**2, axis=1)
    return on_simplex(pulled, np.ones(len(counts)))
