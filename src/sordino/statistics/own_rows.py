"""Test rows: the caller's own, read by the very lines that read the private ones; and one rule for what they lack.

A cell that is empty, no number or not listed is missing, as in ``fit``. Where the domain declares a replacement, that
stands in. Where it declares the column complete, the row is refused by the column's name. Everywhere else the column
is left out of that row (NaN, or cell -1), and a model answers from the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sordino.domain import Domain, Real
from sordino.errors import ParameterError
from sordino.statistics.histograms import Axis
from sordino.table.clipping import ClippedBatch, Flags, Floats, Integers
from sordino.table.opening import check_domain, open_source


def numbers_of(who: str, domain: Domain, rows: np.ndarray[Any, Any]) -> Floats:
    """The rows, clipped to the declared bounds; NaN where a column is left out.

    ``rows`` is a matrix of numbers, or of text and objects, with the columns of the domain in their order.
    """
    numbers = np.empty((len(rows), len(domain.columns)))
    for places, batch in _batches(who, domain, rows):
        for place, name in enumerate(domain.columns):
            numbers[places, place] = batch.numbers(name)
    return numbers


def cells_of(who: str, domain: Domain, rows: np.ndarray[Any, Any], axes: Sequence[Axis]) -> Integers:
    """The cell of each row along each axis, one column per axis; -1 where a column is left out."""
    cells = np.empty((len(rows), len(axes)), dtype=np.int64)
    for places, batch in _batches(who, domain, rows):
        for place, axis in enumerate(axes):
            cells[places, place] = axis.codes(batch)
    return cells


def _batches(who: str, domain: Domain, rows: np.ndarray[Any, Any]) -> Iterator[tuple[slice, ClippedBatch]]:
    """The rows in blocks, and where each lies."""
    names = tuple(domain.columns)
    source = open_source((rows, None), names)
    check_domain(source, domain)
    complete = [name for name, column in domain.columns.items() if column.missing == "reject"]
    read = Domain({**domain.columns, **{name: replace(domain[name], missing="drop") for name in complete}})
    start = 0
    for unread in source.blocks(names):
        batch = ClippedBatch(read, unread())
        for name in complete:
            if _absent(batch, name).any():
                raise ParameterError(
                    f"{who}: column {name!r} is declared complete (missing='reject'). Got a test row without a value "
                    "in it. Fill the cell in, or leave the row out."
                )
        yield slice(start, start + len(batch)), batch
        start += len(batch)


def _absent(batch: ClippedBatch, name: str) -> Flags:
    """Which rows have no value in a column."""
    if isinstance(batch.domain[name], Real):
        return np.isnan(batch.numbers(name))
    absent: Flags = batch.codes(name) < 0
    return absent
