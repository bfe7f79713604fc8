"""The whole vectors of a ball: places are scaled to a public radius, rounded to the grid, and pulled in.

Every map into a ball ends here, each record by itself. Proof: ``docs/proofs/grid.md``.
"""

from __future__ import annotations

import math

import numpy as np

from sordino.statistics.statistic import EXACT_LIMIT
from sordino.table.clipping import Flags, Floats


def in_ball(
    places: Floats,
    norms: Floats | float,
    radius: float,
    steps: int,
    whole: Flags | None = None,
    weights: Floats | float = 1.0,
) -> Floats:
    """Each place over the radius, or over its norm where that is larger, as a whole vector of length ``steps`` at most.

    ``norms`` is 0 where no place can lie beyond the radius. ``weights``, in columns for records or in a row for
    coordinates, multiply the places. Records that are not ``whole`` become zero.
    """
    room = steps - math.ceil(math.sqrt(places.shape[1]) / 2)  # rounding lengthens no vector by more than the rest
    factors = np.reshape(room / np.maximum(norms, radius), (-1, 1))
    vectors = places * (factors * weights)
    np.rint(vectors, out=vectors)
    if whole is not None:
        vectors[~whole] = 0.0
    return inside(vectors, steps)


def inside(vectors: Floats, steps: int) -> Floats:
    """Whole vectors, those longer than the bound shrunk to it and rounded towards zero, in one step.

    What floats lost altogether, no number or too long for an exact square, becomes zero.
    """
    squares = squared_norms(vectors)
    vectors[~(squares < EXACT_LIMIT)] = 0.0
    far = (squares > float(steps) ** 2) & (squares < EXACT_LIMIT)
    vectors[far] = np.trunc(vectors[far] * (steps / np.sqrt(squares[far]))[:, None])
    return vectors


def lengths(vectors: Floats) -> Floats:
    """Square roots of exact squared norms."""
    roots: Floats = np.sqrt(squared_norms(vectors))
    return roots


def squared_norms(vectors: Floats) -> Floats:
    """Exact: integers below 2^22 in at most 2^11 dimensions."""
    norms: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return norms
