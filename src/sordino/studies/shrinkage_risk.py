"""Figures 7.1 and 7.2 of Mothali (2011): the risk of estimators of noisy counts, against the number of counts.

The thesis gives neither the scale of its noise nor the ranges of its counts. Here the noise has scale 10; a random
number of counts lies below 10, the others below 1000.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sordino.privacy.noise import SeededNoise
from sordino.release import DiscreteLaplace, Law
from sordino.repair.clamping import clamp
from sordino.repair.empirical_bayes import empirical_bayes
from sordino.repair.james_stein import james_stein
from sordino.repair.npmle import npmle
from sordino.repair.spike_exponential import spike_exponential
from sordino.report.chart import Chart, Series
from sordino.studies.study import Row

Floats = np.ndarray[Any, np.dtype[np.float64]]
Estimator = Callable[[Floats, Law], Floats]

#: Numbers of counts.
DIMENSIONS = (2, 3, 5, 10, 20, 50)

LAW = DiscreteLaplace(10.0)
_SMALL, _LARGE = 10.0, 1000.0

#: Chapter 7: the noisy counts as they are, and the two corrections as printed.
PRINTED: dict[str, Estimator] = {
    "ML": lambda counts, law: counts,
    "JS": lambda counts, law: james_stein(counts, law, form="published"),
    "EB": lambda counts, law: empirical_bayes(counts, law, form="published"),
}

#: Chapter 8: counts are clamped before the correction and after it.
CLAMPED: dict[str, Estimator] = {
    "ML, clamped": clamp,
    "EB, clamped": lambda counts, law: clamp(empirical_bayes(clamp(counts), law, form="published")),
}

#: One prior for each vector, found by a search: quicker to run on fewer vectors.
OURS: dict[str, Estimator] = {"spike_exponential": spike_exponential}


def vectors(dimension: int, number: int, generator: np.random.Generator) -> Floats:
    """Counts of which a random number, none of the ends, is small (section 7.2)."""
    few = generator.integers(1, dimension, size=(number, 1))
    bounds = np.where(np.arange(dimension) < few, _SMALL, _LARGE)
    return np.asarray(np.rint(generator.uniform(0, bounds)))


def risks(dimension: int, repeats: int, fewer: int, seed: int = 7) -> dict[str, tuple[float, float, float]]:
    """Of each estimator: its mean squared norm of the error, that less the risk of ML, and its standard error.

    Both are over the same vectors for all estimators; ``fewer`` of them for ours.
    """
    truth = vectors(dimension, repeats, np.random.default_rng([seed, dimension]))
    noisy = truth + SeededNoise([seed, dimension, 1]).draw_many(LAW, truth.size).reshape(truth.shape)
    raw = ((noisy - truth) ** 2).sum(axis=1)
    found = {}
    for estimators, number in ((PRINTED, repeats), (CLAMPED, repeats), (OURS, fewer)):
        for name, estimator in estimators.items():
            losses = ((estimator(noisy[:number], LAW) - truth[:number]) ** 2).sum(axis=1)
            gap = losses - raw[:number]
            found[name] = (float(losses.mean()), float(gap.mean()), float(gap.std() / np.sqrt(number)))
    return found


def figures(repeats: int, fewer: int) -> tuple[list[Row], list[Chart]]:
    """Rows and charts of both figures."""
    found = {dimension: risks(dimension, repeats, fewer) for dimension in DIMENSIONS}
    names = [*PRINTED, *CLAMPED, *OURS]
    rows = [
        Row(
            where="Figure 7.2", what=f"risk less that of ML, p = {dimension}, {name}",
            ours=gap, low=gap - 2 * error, high=gap + 2 * error, repeats=fewer if name in OURS else repeats,
            note="no numbers are printed; from and to are two standard errors",
        )
        for dimension, each in found.items()
        for name, (_, gap, error) in each.items()
        if name != "ML"
    ]  # fmt: skip

    def lines(place: int, chosen: list[str]) -> tuple[Series, ...]:
        return tuple(
            Series(label=name, x=DIMENSIONS, y=[found[dimension][name][place] / dimension for dimension in DIMENSIONS])
            for name in chosen
        )

    per_count = "per count, noise of scale 10"
    charts = [
        Chart(name="figure-7-1", title=f"Risk {per_count}", x_label="counts p", y_label="risk / p", x_scale="log",
              series=lines(0, names)),
        Chart(name="figure-7-2", title=f"Risk less that of ML, {per_count}", x_label="counts p", x_scale="log",
              y_label="difference / p", series=lines(1, names[1:])),
    ]  # fmt: skip
    return rows, charts


#: Estimators whose squared errors on Adult's cells are compared.
ON_ADULT: Mapping[str, Estimator] = {
    "clamp": clamp,
    "empirical_bayes": CLAMPED["EB, clamped"],
    "spike_exponential": spike_exponential,
    "npmle": npmle,
}


def squared_errors(counts: Floats, law: Law, repeats: int, seed: int = 8) -> dict[str, Floats]:
    """Mean squared error of a cell in each repetition, for each estimator."""
    noisy = counts + SeededNoise(seed).draw_many(law, repeats * len(counts)).reshape(repeats, len(counts))
    return {name: np.mean((each(noisy, law) - counts) ** 2, axis=1) for name, each in ON_ADULT.items()}
