"""Weights on rows of cells, so that weighted counts agree with tables: iterative proportional fitting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sordino.synthesis.cells import Floats, Integers

_SWEEPS = 12

#: One table changes a weight by at most this factor at a time, so that tables that disagree settle.
_LARGEST_CHANGE = 5.0


def raked(tables: Sequence[tuple[Integers, Floats]], size: int) -> Floats:
    """Weights that add up to one. A table is the cell of each row, and the share of each cell."""
    weights = np.full(size, 1 / size)
    for _ in range(_SWEEPS):
        for codes, shares in tables:
            present = np.maximum(np.bincount(codes, weights, minlength=len(shares)), 1e-300)
            ratios = np.minimum(shares, _LARGEST_CHANGE * present) / present
            weights *= np.maximum(ratios, 1 / _LARGEST_CHANGE)[codes]
        weights /= weights.sum()
    return weights


def resampled(weights: Floats, size: int, generator: np.random.Generator) -> Integers:
    """Row numbers, each about as often as its weight says, in random order: systematic resampling."""
    places = (np.arange(size) + generator.random()) / max(size, 1)
    chosen = np.searchsorted(np.cumsum(weights), places * weights.sum()).astype(np.int64)
    return generator.permutation(np.minimum(chosen, len(weights) - 1))
