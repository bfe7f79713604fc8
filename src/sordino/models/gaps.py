"""Rows with gaps: those that lack the same columns go together, and a model of the other columns scores them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


def by_gaps(rows: Floats) -> Iterator[tuple[Integers, Integers]]:
    """Places of rows with the same gaps, and the columns in which they have none; NaN is a gap."""
    present = ~np.isnan(rows)
    if present.all():
        yield np.arange(len(rows)), np.arange(rows.shape[1])
        return
    kinds, kind_of_row = np.unique(present, axis=0, return_inverse=True)
    order = np.argsort(kind_of_row.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(kind_of_row.ravel()))[:-1]
    for kind, places in zip(kinds, np.split(order, ends), strict=True):
        yield places, np.flatnonzero(kind)
