"""Every member of a family, one line each: a suite runs over all that is registered here.

Statistics are built for a dimension and a relation of neighbours, on domains whose categories are whole numbers,
so that a table of records is a matrix of floats with NaN for a missing cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from sordino.domain import Category, Column, Domain, Neighbours, Real
from sordino.statistics.amounts import Amounts
from sordino.statistics.by_class import ByClass
from sordino.statistics.choice import Joined, Subsample
from sordino.statistics.components import (
    ComponentMoments,
    ComponentMoves,
    Components,
    ComponentSizes,
    ComponentSpreads,
)
from sordino.statistics.count import Count
from sordino.statistics.cut_table import CutTable
from sordino.statistics.direct import DirectCovariance, DirectMedian
from sordino.statistics.directions import Directions
from sordino.statistics.gradients import Gradients, Model, Points, Soft
from sordino.statistics.histograms import BinAxis, CategoryAxis, Histograms, MergedAxis, MissingAxis
from sordino.statistics.hits import ConstantHits, CutHits, Discriminant, ModelHits
from sordino.statistics.labels import ClassLabels, ComponentLabels
from sordino.statistics.lattice import LatticeCells
from sordino.statistics.margin_gradients import MarginGradients
from sordino.statistics.misfits import Misfits
from sordino.statistics.moments import SecondMoment
from sordino.statistics.norm_ranks import NormRanks
from sordino.statistics.projected import Projected
from sordino.statistics.ranks import RankScores, grid_candidates
from sordino.statistics.scores import Scores
from sordino.statistics.squares import Squares
from sordino.statistics.statistic import Record, Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.unit_split import UnitSplit
from sordino.statistics.vectors import Ball, Box
from sordino.table.clipping import ClippedBatch
from sordino.table.memory import MatrixBlock

Built = tuple[Statistic, Domain]
Matrix = np.ndarray

RELATIONS: tuple[Neighbours, ...] = ("add-remove", "substitute")

#: Bounds of real columns, taken in turn: with and without zero inside, wide and narrow, never symmetric alone.
BOUNDS = ((0.0, 120.0), (-5.0, 3.0), (-1.0, 1.0), (10.0, 60.0), (-60.0, -10.0), (0.1, 1e6))


def domain_of(
    dimension: int, neighbours: Neighbours = "add-remove", classes: int = 3, rows: int | None = None
) -> Domain:
    """Real columns x0 …, category columns c0 … with 2, 3 or 4 values each, and a class."""
    columns: dict[str, Column] = {f"x{i}": Real(*BOUNDS[i % len(BOUNDS)]) for i in range(dimension)}
    columns |= {f"c{i}": Category(range(5, 7 + i % 3)) for i in range(dimension)}
    columns["class"] = Category(range(classes))
    return Domain(columns, neighbours=neighbours, rows=rows)


def reals(dimension: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(dimension))


def _axes(domain: Domain, dimension: int) -> list[CategoryAxis]:
    return [CategoryAxis.of(domain, f"c{i}") for i in range(dimension)]


def _plain(make: Callable[[Domain, int], Statistic], classes: int = 3) -> Callable[[int, Neighbours], Built]:
    def build(dimension: int, neighbours: Neighbours) -> Built:
        domain = domain_of(dimension, neighbours, classes)
        return make(domain, dimension), domain

    return build


def _by_class(make: Callable[[Domain, int], Statistic], classes: int = 3) -> Callable[[int, Neighbours], Built]:
    return _plain(lambda domain, d: ByClass(make(domain, d), CategoryAxis.of(domain, "class")), classes)


def _histograms(domain: Domain, d: int) -> Statistic:
    return Histograms(tuple((axis,) for axis in _axes(domain, d)))


def _crossed(domain: Domain, d: int) -> Statistic:
    return Histograms(tuple((CategoryAxis.of(domain, "class"), axis) for axis in _axes(domain, d)))


def _all_crossed(domain: Domain, d: int) -> Statistic:
    return Histograms(((*_axes(domain, min(d, 4)), BinAxis.of(domain, "x0", 3)),))


def _bins(domain: Domain, d: int) -> Statistic:
    return Histograms(tuple((BinAxis.of(domain, name, 7),) for name in reals(d)))


def _whole_count(domain: Domain, d: int) -> Statistic:
    return Count((*reals(d), "c0"))


def _behind_a_cut(domain: Domain, d: int) -> Statistic:
    return CutTable(CutHits(Box(reals(d)), CategoryAxis.of(domain, "class"), (0.25,)), d)


#: A ball that does not fill the box and is not at its middle.
def _small_ball(d: int) -> Ball:
    return Ball(reals(d), radius=0.5, centre=tuple(0.3 if i % 2 else -0.25 for i in range(d)))


def _projected(d: int) -> Projected:
    """A public projection of two columns more than directions, about a centre that is not the middle."""
    turned = np.linalg.qr(np.random.default_rng(d).normal(size=(d + 2, d)))[0]
    return Projected.of(reals(d + 2), turned, radius=0.5, centre=turned.T @ np.full(d + 2, 0.1))


def _of_projection(
    make: Callable[[Projected], Statistic], by_class: bool = False
) -> Callable[[int, Neighbours], Built]:
    def build(dimension: int, neighbours: Neighbours) -> Built:
        domain = domain_of(dimension + 2, neighbours)
        statistic = make(_projected(dimension))
        return ByClass(statistic, CategoryAxis.of(domain, "class")) if by_class else statistic, domain

    return build


#: Scores that run evenly over each interval, far beyond the ball, and the other way round in the second class.
RISING = tuple(step / 128 for step in range(-128, 129))


def _scores(domain: Domain, d: int) -> Scores:
    axes = tuple(BinAxis.of(domain, name, len(RISING)) for name in reals(d))
    rows = tuple(RISING[:: -1 if each == 1 else 1] for each in range(len(domain.category("class"))))
    return Scores(axes, (rows,) * d, radius=0.25, by=CategoryAxis.of(domain, "class"))


def _merged(domain: Domain, d: int) -> Statistic:
    groups = [tuple(cell % 2 for cell in range(axis.cells)) for axis in _axes(domain, d)]
    pairs = zip(_axes(domain, d), groups, strict=True)
    return Histograms(tuple((MergedAxis(axis, each), BinAxis.of(domain, "x0", 3)) for axis, each in pairs))


def _with_missing(domain: Domain, d: int) -> Statistic:
    axes = [*_axes(domain, d), *(BinAxis.of(domain, name, 3) for name in reals(d))]
    return Histograms((*((MissingAxis(axis),) for axis in axes), (MergedAxis(MissingAxis(axes[0]), (0, 1, 0)),)))


def _misfits(d: int, rows: int) -> Built:
    """Guesses of nothing but in the last cell, where there is always less than guessed."""
    domain = domain_of(d, "substitute", rows=rows)
    counts = Histograms(tuple((axis,) for axis in _axes(domain, d)))
    guess = [1000 * (cell + 1 == cells) for cells in counts.table_sizes for cell in range(cells)]
    return Misfits(counts, tuple(guess)), domain


def _components(d: int, soft: bool = True) -> Components:
    """Three means of which the first is the middle of a ball, far enough apart for whole records."""
    means = [[0.0] * d, [0.7] + [0.0] * (d - 1), [0.0] * (d - 1) + [-0.8 if d == 1 else -0.7]]
    of = Ball(reals(d), radius=0.5)
    weights = (0.0, -0.5, -0.25) if soft else ()
    return Components(of, tuple(map(tuple, means)), 400.0 if soft else None, weights)


def _of_components(make: Callable[[Components], Statistic], soft: bool = True) -> Callable[[int, Neighbours], Built]:
    return _plain(lambda domain, d: make(_components(d, soft)))


def _projected_cells(d: int) -> LatticeCells:
    axes = min(d, 2)
    return LatticeCells(_projected(d), ((-0.5, 0.0, 0.5), (0.25,))[:axes])


#: The target of models that have one; in a domain of its own, in which values lie on both sides of zero.
TARGET = "y"

_SOFT = Soft(0.125, tuple(min(place / 256, 1.0) for place in range(400)))


def gradient_domain(d: int, neighbours: Neighbours = "add-remove") -> Domain:
    columns: dict[str, Column] = dict.fromkeys(reals(d), Real(-12, 12))
    return Domain({**columns, TARGET: Real(-60, 60), "class": Category(range(3))}, neighbours=neighbours)


def gradients(d: int, model: Model, truncation: float | Soft = 1.0) -> Gradients:
    """Parameters of which one is large, so that a record counts fully."""
    target = None if model == "mixture" else TARGET
    return Gradients(reals(d), model, (2.0, *(0.1,) * (d - 1)), 0.5, truncation, target)


def _in_own_units(make: Callable[[int], Statistic]) -> Callable[[int, Neighbours], Built]:
    return lambda dimension, neighbours: (make(dimension), gradient_domain(dimension, neighbours))


#: Weights of outputs 0 and 1 are opposite and long, at a right angle to equal features.
def _margin_gradients(domain: Domain, d: int) -> Statistic:
    row = np.array([1.0, *([0.0] * (d - 1)), -1.0]) * 8000.0
    weights = tuple(map(tuple, np.array([row, -row, 0 * row]).tolist()))
    return MarginGradients(Directions(Box(reals(d)), 0.5), ClassLabels(CategoryAxis.of(domain, "class")), weights)


def _component_labels(domain: Domain, d: int) -> ComponentLabels:
    centres = (((-0.5,) * d, (0.5,) * d),) * 3
    return ComponentLabels(CategoryAxis.of(domain, "class"), Box(reals(d)), centres)


#: Statistics whose total is the sum of the records' maps: name -> (dimension, neighbours) -> statistic and domain.
STATISTICS: dict[str, Callable[[int, Neighbours], Built]] = {
    "count of whole records": _plain(_whole_count),
    "histogram": _plain(lambda domain, d: Histograms((tuple(_axes(domain, 1)),))),
    "histograms": _plain(_histograms),
    "histograms crossed with a class": _plain(_crossed),
    "crossed histogram": _plain(_all_crossed),
    "histograms of bins": _plain(_bins),
    "histograms crossed with one class": _plain(_crossed, classes=1),
    "histogram of one cell": _plain(lambda domain, d: Histograms(((CategoryAxis.of(domain, "class"),),)), classes=1),
    "sum in a box": _plain(lambda domain, d: Sum(Box(reals(d)))),
    "sum in a ball": _plain(lambda domain, d: Sum(Ball(reals(d)))),
    "sum in a small ball": _plain(lambda domain, d: Sum(_small_ball(d))),
    "second moments in a box": _plain(lambda domain, d: SecondMoment(Box(reals(d)))),
    "second moments in a box, Frobenius": _plain(lambda domain, d: SecondMoment(Box(reals(d)), frobenius=True)),
    "second moments in a ball": _plain(lambda domain, d: SecondMoment(Ball(reals(d)))),
    "second moments in a ball, Frobenius": _plain(lambda domain, d: SecondMoment(Ball(reals(d)), frobenius=True)),
    "second moments in a small ball": _plain(lambda domain, d: SecondMoment(_small_ball(d))),
    "squares in a box": _plain(lambda domain, d: Squares(Box(reals(d)))),
    "squares in a ball": _plain(lambda domain, d: Squares(Ball(reals(d)))),
    "squares in a ball by class": _by_class(lambda domain, d: Squares(Ball(reals(d)))),
    "counts behind a cut": _plain(_behind_a_cut),
    "split of degree 1": _plain(lambda domain, d: UnitSplit(reals(d))),
    "split of degree 2": _plain(lambda domain, d: UnitSplit(reals(d), degree=2)),
    "histograms of merged cells": _plain(_merged),
    "histograms with missing cells": _plain(_with_missing),
    "sum of scores in a ball": _plain(lambda domain, d: Sum(_scores(domain, d))),
    "second moments of scores": _plain(lambda domain, d: SecondMoment(_scores(domain, d), frobenius=True)),
    "second moments of scores by class": _by_class(lambda domain, d: SecondMoment(_scores(domain, d))),
    "sum in a projected ball": _of_projection(Sum),
    "second moments in a projected ball": _of_projection(SecondMoment),
    "second moments in a projected ball by class, Frobenius": _of_projection(
        lambda of: SecondMoment(of, frobenius=True), by_class=True
    ),
    "sizes of components": _of_components(ComponentSizes),
    "sizes of nearest components": _of_components(ComponentSizes, soft=False),
    "moves of components": _of_components(lambda of: ComponentMoves(of, 0.25)),
    "moves of nearest components": _of_components(lambda of: ComponentMoves(of, 0.25), soft=False),
    "spreads of components": _of_components(lambda of: ComponentSpreads(of, 0.25)),
    "second moments of components": _of_components(lambda of: ComponentMoments(of, 0.25)),
    "cells of a ball": _plain(lambda domain, d: LatticeCells(_small_ball(d), ((-0.5, 0.0, 0.5),))),
    "cells of a projection": _of_projection(lambda of: _projected_cells(len(of.columns))),
    "gradients of a mixture": _in_own_units(lambda d: Sum(gradients(d, "mixture"))),
    "gradients of a mixture, softly truncated": _in_own_units(lambda d: Sum(gradients(d, "mixture", _SOFT))),
    "gradients of regressions": _in_own_units(lambda d: Sum(gradients(d, "regressions"))),
    "gradients with gaps": _in_own_units(lambda d: Sum(gradients(d, "missing"))),
    "points": _in_own_units(lambda d: Sum(Points(reals(d), 2.0))),
    "points with gaps": _in_own_units(lambda d: Sum(Points(reals(d), 2.0, TARGET, 30.0, gaps=True))),
    "second moments of points": _in_own_units(lambda d: SecondMoment(Points(reals(d), 2.0, TARGET, 30.0))),
    "amounts": _plain(lambda domain, d: Amounts.of(domain, reals(d))),
    "count by class": _by_class(lambda domain, d: Count()),
    "count by one class": _by_class(lambda domain, d: Count(), classes=1),
    "count of whole records by class": _by_class(_whole_count),
    "histograms by class": _by_class(_histograms),
    "sum in a box by class": _by_class(lambda domain, d: Sum(Box(reals(d)))),
    "sum in a ball by class": _by_class(lambda domain, d: Sum(Ball(reals(d)))),
    "sum in a ball by bins of another column": lambda d, neighbours: (
        ByClass(Sum(Ball(reals(d))), BinAxis.of(domain_of(d + 1, neighbours), f"x{d}", 4)),
        domain_of(d + 1, neighbours),
    ),
    "second moments in a box by class": _by_class(lambda domain, d: SecondMoment(Box(reals(d)))),
    "second moments in a box by class, Frobenius": _by_class(
        lambda domain, d: SecondMoment(Box(reals(d)), frobenius=True)
    ),
    "second moments in a box by one class": _by_class(lambda domain, d: SecondMoment(Box(reals(d))), classes=1),
    "second moments in a ball by class": _by_class(lambda domain, d: SecondMoment(Ball(reals(d)))),
    "split of degree 2 by class": _by_class(lambda domain, d: UnitSplit(reals(d), degree=2)),
    "margin gradients": _plain(_margin_gradients),
    "count by component": _plain(lambda domain, d: ByClass(Count(reals(d)), _component_labels(domain, d))),
    "amounts by class": _by_class(lambda domain, d: Amounts.of(domain, reals(d))),
}

#: The count of all records, apart: under ``substitute`` it is public and its sensitivity is zero.
ALL_RECORDS = _plain(lambda domain, d: Count())


def _ranks(dimension: int, rows: int, quantile: Fraction = Fraction(1, 2), kept: int = 0) -> Built:
    domain = domain_of(dimension, "substitute", rows=rows)
    scores = RankScores("x0", grid_candidates(domain.real("x0"), 4), quantile)
    return (Subsample(scores, kept) if kept else scores), domain


def _hits(d: int, rows: int, kept: int = 0) -> Built:
    """Constants, cuts, and a quadratic model that tells the classes apart along the diagonal."""
    domain = domain_of(d, "substitute", rows=rows)
    box, classes = Box(reals(d), steps=2**12), CategoryAxis.of(domain, "class")
    model = Discriminant.of([0, 0.1, 0], [[1] * d, [0] * d, [-1] * d], [np.eye(d)] * 3, d, 2**12)
    parts = (ConstantHits(classes, reals(d)), CutHits(box, classes, (-0.5, 0.5)), ModelHits(box, classes, (model,)))
    joined = Joined(parts, (3, 0, 0))
    return (Subsample(joined, kept) if kept else joined), domain


#: Statistics that finish their total: name -> (dimension, rows) -> statistic and domain, under ``substitute``.
FINISHED: dict[str, Callable[[int, int], Built]] = {
    "direct covariance": lambda d, n: (DirectCovariance(reals(d), n), domain_of(d, "substitute", rows=n)),
    "direct median": lambda d, n: (DirectMedian("x0", n), domain_of(d, "substitute", rows=n)),
    "misfits": _misfits,
    "ranks": _ranks,
    "ranks for a tail": lambda d, n: _ranks(d, n, Fraction(9, 10)),
    "ranks of a subsample": lambda d, n: _ranks(d, n, Fraction(1, 4), kept=2**31),
    "ranks of norms": lambda d, n: (NormRanks(Ball(reals(d)), (0.2, 0.5, 0.9)), domain_of(d, "substitute", rows=n)),
    "hits": lambda d, n: _hits(d, n),
    "hits of a subsample": lambda d, n: _hits(d, n, kept=2**31),
}


def every_statistic(dimension: int) -> dict[str, Built]:
    """All registered statistics, for their record maps; finished ones for five rows."""
    built = {name: make(dimension, "add-remove") for name, make in STATISTICS.items()}
    built["count of all records"] = ALL_RECORDS(dimension, "add-remove")
    return built | {name: make(dimension, 5) for name, make in FINISHED.items()}


def rows_of(domain: Domain, records: Iterable[Record]) -> Matrix:
    """Records as a matrix in the domain's order of columns; a column that a record lacks gets its first value."""
    usual = {
        name: column.middle if isinstance(column, Real) else column.values[0] for name, column in domain.columns.items()
    }
    cells = [[{**usual, **record}[name] for name in domain.columns] for record in records]
    matrix = np.array(cells, dtype=object).reshape(len(cells), len(usual))
    return np.where(np.equal(matrix, None), np.nan, matrix).astype(np.float64)


def batch_of(domain: Domain, matrix: Matrix) -> ClippedBatch:
    return ClippedBatch(domain, MatrixBlock(matrix, tuple(domain.columns)))


def maps_of(statistic: Statistic, domain: Domain, matrix: Matrix) -> Matrix:
    """Record maps of many records, in batches of one block; a huge cell may overflow on its way to the clip."""
    starts = range(0, len(matrix), 4096)
    with np.errstate(over="ignore"):  # as in the engine
        pieces = [statistic.record_maps(batch_of(domain, matrix[start : start + 4096])) for start in starts]
    return np.concatenate(pieces) if pieces else np.zeros((0, statistic.inner_size), dtype=np.int64)
