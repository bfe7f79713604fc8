"""Histograms of the same people agree on how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sordino.errors import ParameterError
from sordino.release import Law
from sordino.repair.noisy_counts import Floats, checked_counts
from sordino.repair.simplex import on_simplex

#: A histogram whose own total lies further than this many standard deviations (and half a record, when there is no
#: noise) from the agreed one counts other people.
_DISAGREEMENT = 5.0


def agreed_total(histograms: Sequence[Any]) -> Floats:
    """The mean of the histograms' own totals, weighted by inverse variance, and never negative.

    The total of k noisy cells has k times the variance of one cell, so that its weight is 1/k.
    """
    tables = [checked_counts("consistent", histogram) for histogram in histograms]
    if not tables or len({table.shape[:-1] for table in tables}) > 1:
        raise ParameterError("consistent: needs one or more histograms with the same leading axes.")
    weights = np.array([1 / table.shape[-1] for table in tables])
    totals = np.stack([table.sum(axis=-1) for table in tables], axis=-1)
    return np.asarray(np.maximum(totals @ (weights / weights.sum()), 0.0))


def consistent(histograms: Sequence[Any], law: Law) -> list[Floats]:
    """Every histogram, moved to the nearest one without negative cells whose total is the agreed one.

    The last axis of each histogram is its cells; the axes before it, such as classes, are shared. A histogram with
    missing cells counts fewer people: one whose own total is further from the agreed one than the noise explains keeps
    its own.

    Best when the totals matter, and as the first step before smoothing for a classifier.
    """
    agreed = agreed_total(histograms)
    return [on_simplex(table, _total_for(table, agreed, law)) for table in map(np.asarray, histograms)]


def _total_for(table: Floats, agreed: Floats, law: Law) -> Floats:
    own = table.sum(axis=-1)
    apart = np.abs(own - agreed) > 0.5 + _DISAGREEMENT * np.sqrt(table.shape[-1] * law.variance)
    return np.where(apart, np.maximum(own, 0.0), agreed)
