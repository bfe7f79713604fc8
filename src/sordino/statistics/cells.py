"""Cells of rows that are nobody's secret: test rows are read by the very lines that read the private ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sordino.domain import Domain
from sordino.statistics.histograms import Axis
from sordino.table.clipping import ClippedBatch, Integers
from sordino.table.opening import check_domain, open_source


def cells_of(axes: Sequence[Axis], domain: Domain, rows: np.ndarray[Any, Any]) -> Integers:
    """The cell of each row along each axis, one column per axis; -1 where the row has none.

    ``rows`` is a matrix of numbers, or of text and objects, with the columns of the domain in their order.
    """
    names = tuple(domain.columns)
    source = open_source((rows, None), names)
    check_domain(source, domain)
    cells = np.full((len(rows), len(axes)), -1, dtype=np.int64)
    start = 0
    for unread in source.blocks(names):
        batch = ClippedBatch(domain, unread())
        for place, axis in enumerate(axes):
            cells[start : start + len(batch), place] = axis.codes(batch)
        start += len(batch)
    return cells
