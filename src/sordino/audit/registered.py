"""All that ``sordino audit self`` looks at, one line each: statistics, and whatever asks a private table.

A new statistic, query, estimator or synthesiser is one line here, and a test misses it when the line is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sordino.audit.neighbours import ordinary_records
from sordino.cost import Cost
from sordino.domain import Category, Column, Domain, Neighbours, Real
from sordino.models.gaussian_bayes import GaussianBayes
from sordino.models.gaussian_mixture import GaussianMixture
from sordino.models.gradient_em import GradientEM
from sordino.models.large_margin_mixture import LargeMarginMixture
from sordino.models.naive_bayes import NaiveBayes
from sordino.models.private_classifier import PrivateClassifier
from sordino.models.threshold_rule import ThresholdRule
from sordino.queries.private_table import PrivateTable
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
from sordino.statistics.gradients import Gradients, Points, Soft
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
from sordino.synthesis.ron_gauss import RONGauss
from sordino.synthesis.table_synthesizer import TableSynthesizer

#: Anything that asks a private table and returns a result.
Subject = Callable[[PrivateTable], Any]

COLUMNS: dict[str, Column] = {"a": Real(0, 10), "b": Real(-5, 5), "c": Category(["x", "y", "z"])}

DOMAINS: dict[Neighbours, Domain] = {
    "add-remove": Domain(COLUMNS),
    "substitute": Domain(COLUMNS, neighbours="substitute", rows=10),
}

#: The domain of the statistics: one column more, so that odd dimensions occur.
WIDE = Domain({**COLUMNS, "d": Real(10, 60)})

_REALS = ("a", "b", "d")
_CLASSES = CategoryAxis.of(WIDE, "c")
_SMALL_BALL = Ball(_REALS, radius=0.5, centre=(0.25, -0.25, 0.25))

#: Two directions that are neither orthogonal nor of length one, about a centre that is not the middle.
_PROJECTED = Projected.of(_REALS, ((0.8, 0.1), (-0.4, 0.7), (0.3, 0.6)), radius=0.5, centre=(0.125, -0.125))

#: Long weights, at a right angle to equal features.
_LEAN = (8000.0, 0.0, 0.0, -8000.0)

#: Scores that run evenly over each interval, far beyond the ball.
_STEPS = tuple(step / 128 for step in range(-128, 129))
_SCORES = Scores(
    axes=tuple(BinAxis.of(WIDE, name, len(_STEPS)) for name in _REALS),
    tables=((_STEPS, _STEPS[::-1], _STEPS),) * len(_REALS),
    radius=0.5,
    by=_CLASSES,
)

_MODEL = Discriminant.of((0, 0.1, 0), ((1, 1, 1), (0, 0, 0), (-1, -1, 0)), None, 3, 2**12)
_HITS = Joined(
    (
        ConstantHits(_CLASSES, _REALS),
        CutHits(Box(_REALS), _CLASSES, (-0.5, 0.5)),
        ModelHits(Box(_REALS, steps=2**12), _CLASSES, (_MODEL,)),
    )
)

#: Three means of which the first is the middle of a ball that lies in the box, and soft shares among them.
_COMPONENTS = Components(
    Ball(_REALS, radius=0.5), ((0.0, 0.0, 0.0), (0.7, 0.0, 0.0), (0.0, 0.0, -0.7)), 400.0, (0.0, -0.5, -0.25)
)

#: Of one column, b, that lies on both sides of zero; its target is a.
_GRADIENTS = Gradients(("b",), "mixture", (2.0,), 0.5, 1.0)

STATISTICS: dict[str, Statistic] = {
    "count of whole records": Count(("a", "c")),
    "histograms": Histograms(((_CLASSES,), (_CLASSES, BinAxis.of(WIDE, "a", 3)), (BinAxis.of(WIDE, "b", 4),))),
    "sum in a box": Sum(Box(_REALS)),
    "sum in a ball": Sum(Ball(_REALS)),
    "sum in a small ball": Sum(_SMALL_BALL),
    "amounts": Amounts.of(WIDE, _REALS),
    "second moments in a box": SecondMoment(Box(_REALS)),
    "second moments in a box, Frobenius": SecondMoment(Box(_REALS), frobenius=True),
    "second moments in a ball": SecondMoment(Ball(_REALS)),
    "split of degree 2": UnitSplit(_REALS, degree=2),
    "second moments by class": ByClass(SecondMoment(Box(_REALS)), _CLASSES),
    "histograms of merged cells": Histograms(((MergedAxis(_CLASSES, (0, 1, 0)), BinAxis.of(WIDE, "a", 3)),)),
    "histograms with missing cells": Histograms(((MissingAxis(_CLASSES),), (MissingAxis(BinAxis.of(WIDE, "a", 3)),))),
    "second moments of scores by class": ByClass(SecondMoment(_SCORES), _CLASSES),
    "sum in a projected ball": Sum(_PROJECTED),
    "second moments in a projected ball": SecondMoment(_PROJECTED, frobenius=True),
    "sizes of components": ComponentSizes(_COMPONENTS),
    "moves of components": ComponentMoves(_COMPONENTS, 0.25),
    "spreads of components": ComponentSpreads(_COMPONENTS, 0.25),
    "second moments of components": ComponentMoments(_COMPONENTS, 0.25),
    "cells": LatticeCells(_PROJECTED, ((-0.5, 0.0, 0.5), (0.25,))),
    "gradients of a mixture": Sum(_GRADIENTS),
    "gradients of a mixture, softly truncated": Sum(
        Gradients(("b",), "mixture", (2.0,), 0.5, Soft(0.125, (0.0, 0.5, 1.0)))
    ),
    "gradients of regressions": Sum(Gradients(("b",), "regressions", (2.0,), 0.5, 1.0, "a")),
    "gradients with gaps": Sum(Gradients(("b",), "missing", (1.0,), 0.5, 1.0, "a")),
    "second moments of points": SecondMoment(Points(("b",), 2.0, "a", 5.0)),
    "margin gradients": MarginGradients(
        Directions(Box(_REALS), 0.5), ClassLabels(_CLASSES), (_LEAN, tuple(-each for each in _LEAN), (0.0,) * 4)
    ),
    "count by component": ByClass(
        Count(_REALS), ComponentLabels(_CLASSES, Box(_REALS), (((-0.5,) * 3, (0.5,) * 3),) * 3)
    ),
    "misfits": Misfits(Histograms(((_CLASSES,), (_CLASSES, BinAxis.of(WIDE, "a", 2)))), (0, 0, 9, *(0,) * 5, 9)),
    "direct covariance": DirectCovariance(("a", "b"), 10),
    "direct median": DirectMedian("a", 10),
    "ranks": RankScores("a", grid_candidates(WIDE.real("a"), 8), Fraction(1, 2)),
    "ranks of norms": NormRanks(_SMALL_BALL, (0.1, 0.5, 0.9), Fraction(7, 10)),
    "hits": _HITS,
    "squares in a small ball": Squares(_SMALL_BALL),
    "counts behind a cut": CutTable(CutHits(Box(_REALS), _CLASSES, (0.25,)), 3),
    "hits of a subsample": Subsample(_HITS, 2**31),
}

#: Asked under both relations at ε = 1, or at (1, 1e-6) where the name says delta; few candidates, so that replays are
#: quick.
QUERIES: dict[str, Subject] = {
    "sum": lambda table: table.sum(["a", "b"], epsilon=1),
    "sum, delta": lambda table: table.sum("b", epsilon=1, delta=1e-6),
    "mean": lambda table: table.mean("a", epsilon=1),
    "mean by sum and size": lambda table: table.mean(["a", "b"], epsilon=1, method="sum-and-size"),
    "mean, delta": lambda table: table.mean(["a", "b"], epsilon=1, delta=1e-6),
    "variance": lambda table: table.variance("a", epsilon=1),
    "variance by sum and size": lambda table: table.variance("b", epsilon=1, method="sum-and-size"),
    "covariance": lambda table: table.covariance(["a", "b"], epsilon=1),
    "covariance by sum and size": lambda table: table.covariance(["a", "b"], epsilon=1, method="sum-and-size"),
    "covariance, delta": lambda table: table.covariance(["a", "b"], epsilon=1, delta=1e-6),
    "histogram": lambda table: table.histogram("c", epsilon=1),
    "crossed histogram": lambda table: table.histogram(["c", "a"], bins={"a": 3}, epsilon=1),
    "histograms, delta": lambda table: table.histograms(["a", "b"], by="c", bins=4, epsilon=1, delta=1e-6),
    "median": lambda table: table.median("a", epsilon=1, candidates=32),
    "quantile, delta": lambda table: table.quantile("b", 0.9, epsilon=1, delta=1e-6, candidates=32),
}

#: Fitted on the same tables at the same prices; few cells, so that replays are quick.
ESTIMATORS: dict[str, Subject] = {
    "mixture, full, delta": lambda table: GaussianMixture(3, "full", epsilon=1, delta=1e-6).fit(table),
    "gradient EM": lambda table: GradientEM(epsilon=1).fit(table),
    "gradient EM, soft, delta": lambda table: GradientEM(
        epsilon=1, delta=1e-6, truncation="soft", start=(1.0, 1.0), rounds=1
    ).fit(table),
    "gradient EM, regressions, delta": lambda table: GradientEM("regressions", epsilon=1, delta=1e-6, rounds=1).fit(
        table, "b"
    ),
    "gradient EM, missing, delta": lambda table: GradientEM("missing", epsilon=1, delta=1e-6, rounds=1).fit(table, "b"),
    "large margin": lambda table: LargeMarginMixture(epsilon=1).fit(table, "c"),
    "large margin, descent": lambda table: LargeMarginMixture(
        epsilon=1, solver="gradient-descent", rounds=2, components=2
    ).fit(table, "c"),
    "large margin, delta": lambda table: LargeMarginMixture(epsilon=1, delta=1e-6).fit(table, "c"),
    "naive Bayes": lambda table: NaiveBayes(epsilon=1, bins=3).fit(table, "c"),
    "naive Bayes, delta": lambda table: NaiveBayes(epsilon=1, delta=1e-6, bins=3).fit(table, "c"),
    "naive Bayes, consistent": lambda table: NaiveBayes(epsilon=1, estimator="consistent", bins=3).fit(table, "c"),
    "naive Bayes, npmle": lambda table: NaiveBayes(epsilon=1, estimator="npmle", bins=3).fit(table, "c"),
    "Gaussian Bayes": lambda table: GaussianBayes(epsilon=1).fit(table, "c"),
    "Gaussian Bayes, pooled, delta": lambda table: GaussianBayes(1, 1e-6, covariance="pooled").fit(table, "c"),
    "private classifier": lambda table: PrivateClassifier(epsilon=1).fit(table, "c"),
    "private classifier, delta": lambda table: PrivateClassifier(epsilon=1, delta=1e-6).fit(table, "c"),
    "threshold rule": lambda table: ThresholdRule(epsilon=1).fit(table, "c"),
    "RONGauss": lambda table: RONGauss(epsilon=1).fit(table),
    "RONGauss, classes, delta": lambda table: RONGauss(2, epsilon=1, delta=1e-6, projection="bought").fit(table, "c"),
    "RONGauss, target": lambda table: RONGauss(1, epsilon=1, projection="bought").fit(table, "b"),
    "RONGauss, target, delta": lambda table: RONGauss(1, epsilon=1, delta=1e-6).fit(table, "b"),
}

#: Asked under one relation only.
ONLY: dict[Neighbours, dict[str, Subject]] = {
    "add-remove": {
        "count": lambda table: table.count(epsilon=1),
        "table synthesizer": lambda table: TableSynthesizer(epsilon=1, target="c").fit(table),
    },
    "substitute": {
        "direct median": lambda table: table.median("a", epsilon=1, method="direct"),
        "table synthesizer, delta": lambda table: TableSynthesizer(epsilon=1, delta=1e-6).fit(table),
    },
}


def subjects(neighbours: Neighbours) -> dict[str, Subject]:
    """All that can be asked under one relation."""
    return {**QUERIES, **ESTIMATORS, **ONLY[neighbours]}


def claim_of(name: str) -> Cost:
    """What a registered subject says that it costs in all."""
    return Cost.of(1, 1e-6) if "delta" in name else Cost.of(1)


def far_apart(neighbours: Neighbours) -> tuple[list[Record], list[Record]]:
    """Two neighbouring tables of ten records; what sets them apart is as far out as the domain allows."""
    shared = ordinary_records(DOMAINS[neighbours], 9)
    top: Record = {"a": 10.0, "b": 5.0, "c": "x"}
    bottom: Record = {"a": 0.0, "b": -5.0, "c": "z"}
    return [*shared, top], shared if neighbours == "add-remove" else [*shared, bottom]


#: Every registered subject under each of its relations.
EVERY: tuple[tuple[Neighbours, str], ...] = tuple(
    (neighbours, name) for neighbours in DOMAINS for name in subjects(neighbours)
)
