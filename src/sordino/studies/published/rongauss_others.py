"""The four methods that the RON-Gauss paper compares itself with, as far as it describes them. NOT PRIVATE.

Class sizes, and which synthetic row has which label, are public in all of them, as the paper has it. Where it is silent
the choices are ours: a sensitivity of 2 sqrt(p) for unit rows in L1, half of the budget for the directions of private
PCA, and 200 random candidate tables judged by 100 half-spaces for the exponential mechanism.
"""

from __future__ import annotations

import math

import numpy as np

from sordino.studies.published.rongauss import Floats, Synthetic, printed_covariance, unit_rows

_CANDIDATES, _QUERIES, _CANDIDATE_ROWS = 200, 100, 500


def li(
    rows: Floats, target: Floats | None, components: int, epsilon: float, generator: np.random.Generator
) -> Synthetic:
    """Li and others: a random projection of signs, and noise on every projected row (the identity query)."""
    signs = generator.choice([-1.0, 1.0], size=(rows.shape[1], components)) / math.sqrt(components)
    return _identity(rows, target, signs, epsilon, generator)


def jiang(
    rows: Floats, target: Floats | None, components: int, epsilon: float, generator: np.random.Generator
) -> Synthetic:
    """Jiang and others: the leading directions of a noisy covariance, and noise on every projected row."""
    units = unit_rows(rows)
    covariance = printed_covariance(units, 2 * math.sqrt(rows.shape[1]), epsilon / 2, generator)
    directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :components]
    return _identity(rows, target, directions, epsilon / 2, generator)


def blum(
    rows: Floats, target: Floats | None, components: int, epsilon: float, generator: np.random.Generator
) -> Synthetic:
    """Blum and others: of random tables the one that half-spaces tell apart least, by the exponential mechanism.

    It reduces no dimension; ``components`` is not used.
    """
    joined = _with(unit_rows(rows), target)
    width = joined.shape[1]
    queries = generator.normal(size=(width, _QUERIES))
    answers = (joined @ queries > 0).mean(axis=0)
    tables = [
        _with(unit_rows(generator.normal(size=(_CANDIDATE_ROWS, rows.shape[1]))), _any_target(target, generator))
        for _ in range(_CANDIDATES)
    ]
    errors = np.array([np.abs((table @ queries > 0).mean(axis=0) - answers).max() for table in tables])
    chosen = tables[int(np.argmax(-errors * epsilon * len(rows) / 2 + generator.gumbel(size=len(tables))))]
    points = chosen[:, : rows.shape[1]]
    return Synthetic(points, None if target is None else chosen[:, -1], unit_rows)


def liu(
    rows: Floats, target: Floats | None, components: int, epsilon: float, generator: np.random.Generator
) -> Synthetic:
    """Liu: one Gaussian of all columns (and the target) without any reduction; ``components`` is not used."""
    joined = _with(unit_rows(rows), target)
    width = joined.shape[1]
    mean = joined.mean(axis=0) + generator.laplace(0, 2 * math.sqrt(width) / (len(joined) * epsilon / 2), size=width)
    covariance = printed_covariance(joined - mean, 2 * math.sqrt(width), epsilon / 2, generator)
    values, vectors = np.linalg.eigh(covariance)
    drawn = mean + generator.normal(size=(4000, width)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    return Synthetic(drawn[:, : rows.shape[1]], None if target is None else drawn[:, -1], unit_rows)


def _identity(
    rows: Floats, target: Floats | None, directions: Floats, epsilon: float, generator: np.random.Generator
) -> Synthetic:
    placed = unit_rows(unit_rows(rows) @ directions)
    scale = 2 * math.sqrt(placed.shape[1]) / epsilon
    noisy = placed + generator.laplace(0, scale, size=placed.shape)
    return Synthetic(noisy, target, lambda real: unit_rows(unit_rows(real) @ directions))


def _with(rows: Floats, target: Floats | None) -> Floats:
    return rows if target is None else np.column_stack([rows, target])


def _any_target(target: Floats | None, generator: np.random.Generator) -> Floats | None:
    """Targets of a random table: between the ends, or one of the two classes."""
    if target is None:
        return None
    values = np.unique(target)
    if len(values) == 2:
        return generator.choice(values, size=_CANDIDATE_ROWS)
    return generator.uniform(-1, 1, size=_CANDIDATE_ROWS)
