"""A latent Gaussian per class: cells are intervals of normal variables, and one correlation matrix joins them.

The score of a cell is the mean of a standard normal variable over the cell's interval. Where the latent correlation
is r, the mean product of two scores is r V W to first order, for V and W the variances of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from sordino.repair.positive_definite import with_floor
from sordino.synthesis.cells import Cells, Floats, Integers

#: Scores stay within this many standard deviations.
_LARGEST_SCORE = 4.0

#: Correlations stay below this, and eigenvalues above the other.
_LARGEST_CORRELATION = 0.97
_SMALLEST_EIGENVALUE = 0.01


#: Classes, a row of cells for each, and how far up in its cell each value lies, from 0 to 1.
Drawn = tuple[Integers, Integers, Floats]


@dataclass(frozen=True)
class Copula:
    """How cells come together.

    ``margins[column][class][cell]`` are distributions, ``orders[column]`` the cells from the lowest to the highest,
    ``totals`` the classes' sizes, and ``correlation`` that of the latent variables, the same in every class.
    """

    margins: tuple[Floats, ...]
    orders: tuple[Integers, ...]
    totals: Floats
    correlation: Floats

    def scores(self) -> list[Floats]:
        """The score of each cell in each class, column by column."""
        scores = []
        for margin, order in zip(self.margins, self.orders, strict=True):
            placed = np.empty_like(margin)
            placed[:, order] = _interval_means(margin[:, order])
            scores.append(placed)
        return scores

    def draw(self, size: int, generator: np.random.Generator) -> Drawn:
        """Rows in the order of their classes; ranks spread evenly in each column of a class."""
        counts = _rounded(self.totals / self.totals.sum() * size, size)
        ends = np.cumsum(counts)
        root = np.linalg.cholesky(self.correlation)
        ranks = ndtr(generator.standard_normal((size, len(root))) @ root.T)
        for start, stop in zip(ends - counts, ends, strict=True):
            ranks[start:stop] = _evenly(ranks[start:stop], generator)
        codes, within = np.empty((size, len(self.margins)), dtype=np.int64), np.empty((size, len(self.margins)))
        for column, (margin, order) in enumerate(zip(self.margins, self.orders, strict=True)):
            for label, (start, stop) in enumerate(zip(ends - counts, ends, strict=True)):
                shares, rank = margin[label][order], ranks[start:stop, column]
                below = np.cumsum(shares) - shares
                place = np.searchsorted(below[1:], rank, side="right")
                codes[start:stop, column] = order[place]
                within[start:stop, column] = np.clip((rank - below[place]) / np.maximum(shares[place], 1e-12), 0, 1)
        return np.repeat(np.arange(len(counts)), counts), codes, within


def _evenly(ranks: Floats, generator: np.random.Generator) -> Floats:
    """The same order in each column, in as many equal parts of it as there are rows."""
    places = np.argsort(np.argsort(ranks, axis=0), axis=0)
    even: Floats = (places + generator.random(ranks.shape)) / max(len(ranks), 1)
    return even


def order_of(cells: Cells, margin: Floats, totals: Floats) -> Integers:
    """Cells from low to high: intervals as they lie, missing ones first; categories by the classes they go with.

    Categories follow the first singular vector of their shares of the classes; without classes their frequency.
    """
    if cells.ordered:
        places = np.arange(len(cells))
        return np.roll(places, 1) if cells.optional else places
    joint = margin * (totals / totals.sum())[:, np.newaxis]
    mass = joint.sum(axis=0)
    if len(totals) == 1:
        return np.argsort(-mass, kind="stable")
    usable = np.maximum(mass, 1e-12)
    apart = joint / usable - joint.sum(axis=1, keepdims=True)
    directions, _, _ = np.linalg.svd(apart * np.sqrt(usable), full_matrices=False)
    return np.argsort(directions[:, 0] @ apart, kind="stable")


def _rounded(amounts: Floats, total: int) -> Integers:
    """Whole numbers near the amounts that add up to the total: largest remainders."""
    whole = np.floor(amounts).astype(np.int64)
    whole[np.argsort(whole - amounts, kind="stable")[: total - int(whole.sum())]] += 1
    return whole


def _interval_means(margin: Floats) -> Floats:
    """Means of a standard normal variable over intervals of the given probabilities, side by side."""
    upper = np.minimum(np.cumsum(margin, axis=1), 1.0)
    places = np.clip(ndtri(np.pad(upper, ((0, 0), (1, 0)))), -12, 12)
    densities = np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)
    means = (places[:, :-1] + places[:, 1:]) / 2
    np.divide(densities[:, :-1] - densities[:, 1:], margin, out=means, where=margin > 1e-9)
    scores: Floats = np.clip(means, -_LARGEST_SCORE, _LARGEST_SCORE)
    return scores


def correlation_of(gram: Floats, noise: Floats, variances: Sequence[Floats], totals: Floats) -> Floats:
    """The latent correlation that a noisy sum of score products shows; ``noise`` is the variance in each entry.

    The diagonal says how much clipping took away. Each entry shrinks by the part of its square that noise explains.
    """
    spread = np.array(variances)
    expected = (spread * totals) @ spread.T
    whole = float((spread @ totals).sum())
    kept = float(np.clip(np.trace(gram) / whole, 0.1, 1.0)) if whole > 0 else 1.0
    usable = expected > 1e-9 * max(totals.sum(), 1.0)
    scale = np.where(usable, kept * expected, 1.0)
    raw = np.where(usable, gram / scale, 0.0)
    shrunk = raw * np.maximum(0.0, 1 - noise / scale**2 / np.maximum(raw**2, 1e-300))
    return nearest_correlation(np.clip(shrunk, -_LARGEST_CORRELATION, _LARGEST_CORRELATION))


def nearest_correlation(matrix: Floats) -> Floats:
    """Ones on the diagonal, and eigenvalues lifted to the floor."""
    whole = matrix.copy()
    np.fill_diagonal(whole, 1.0)
    lifted = with_floor(whole, _SMALLEST_EIGENVALUE)
    scale = 1 / np.sqrt(np.diag(lifted))
    repaired: Floats = lifted * scale[:, np.newaxis] * scale
    return repaired
