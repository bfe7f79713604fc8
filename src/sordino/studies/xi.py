"""Xi, Kantarcioglu and Inan (2011) again: figures 1 to 5, table 1, Parkinsons, and what theorem 4.1 does not bound.

Every experiment draws a training table from a mixture, fits, and counts errors on 50,000 fresh points. Side by side:
their method with their sensitivities, the same with the exact ones, ours with pure ε, ours with (ε, 10⁻⁶), and no
privacy. Theirs takes class sizes and labels as public and has a box per class; ours has one box, private labels and
private sizes, under ``add-remove``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sordino.models.bayes_error import (
    Mixture,
    bayes_error,
    bhattacharyya,
    chernoff,
    exponent_interval,
    plug_in_excess,
)
from sordino.models.private_classifier import PrivateClassifier
from sordino.repair.positive_definite import with_floor
from sordino.repair.shrinkage import off_diagonal
from sordino.report.chart import Chart, Series
from sordino.studies.published.xi import exact_entry_sensitivity, noisy_gaussians, printed_exponent_interval
from sordino.studies.study import Progress, Row, StudyResult
from sordino.studies.titles import TITLES
from sordino.studies.xi_mixture import FIVE, class_boxes, correlated, drawn, parkinsons, six_sigma_box

EPSILON, DELTA = 0.1, 1e-6

SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
DIMENSIONS = (5, 10, 15, 20)
SIGMAS = (1, 2, 3, 4, 5)

#: Table 1: errors without noise, 500 training rows, by dimension and sigma.
TABLE_1 = {
    5: (0.18, 0.22, 0.20, 0.17, 0.14),
    10: (0.12, 0.19, 0.16, 0.12, 0.09),
    15: (0.10, 0.18, 0.15, 0.09, 0.06),
    20: (0.08, 0.18, 0.14, 0.08, 0.05),
}

#: What a fitted method makes of test rows.
Fitted = Callable[[Any], Any]
Method = Callable[[Mixture, Any, Any, np.random.Generator], Fitted]

#: Two classes 2.5 standard deviations apart, for theorem 4.1.
_THEOREM_MEANS, _THEOREM_SIZES = (20.0, 22.5), (1000, 1000)


def published(mixture: Mixture, rows: Any, labels: Any, generator: np.random.Generator, **options: Any) -> Fitted:
    """Their method: NOT PRIVATE where labels are."""
    shares, means, covariances = noisy_gaussians(rows, labels, class_boxes(mixture), EPSILON, generator, **options)
    return partial(_likeliest, shares, means, covariances)


def ours(mixture: Mixture, rows: Any, labels: Any, generator: np.random.Generator, delta: float = 0.0) -> Fitted:
    """The paid choice among Gaussians, rules and the majority."""
    seed = int(generator.integers(2**31))
    model = PrivateClassifier(EPSILON, delta, bounds=six_sigma_box(mixture), classes=[0, 1], random_state=seed)
    fitted: Fitted = model.fit(rows, labels).predict
    return fitted


def without_privacy(mixture: Mixture, rows: Any, labels: Any, generator: np.random.Generator) -> Fitted:
    """Shares, means and covariances of the clipped table as they are."""
    clipped = np.clip(rows, *six_sigma_box(mixture))
    groups = [clipped[labels == each] for each in (0, 1)]
    shares = np.array([len(each) for each in groups]) / len(rows)
    means = np.array([each.mean(axis=0) for each in groups])
    return partial(_likeliest, shares, means, np.array([np.cov(each.T) for each in groups]))


METHODS: dict[str, Method] = {
    "published": published,
    "published, exact sensitivities": partial(published, sensitivity=exact_entry_sensitivity),
    "ours, pure": ours,
    "ours, (ε, 1e-6)": partial(ours, delta=DELTA),
    "no privacy": without_privacy,
}


#: Their covariance with exact sensitivities, repaired in three ways: theirs, the nearest matrix above a floor tied to
#: the noise, and the same after the entries off the diagonal were shrunk by what is noise.
REPAIRS: dict[str, Method] = {
    "eigenvalues replaced, as published": METHODS["published, exact sensitivities"],
    "nearest above a quarter of the noise": partial(
        published, sensitivity=exact_entry_sensitivity, repair=lambda matrix, noise: with_floor(matrix, noise / 4)
    ),
    "shrunk off the diagonal, then nearest": partial(
        published,
        sensitivity=exact_entry_sensitivity,
        repair=lambda matrix, noise: with_floor(off_diagonal(matrix, noise**2), noise / 4),
    ),
}


def _likeliest(shares: Any, means: Any, covariances: Any, rows: Any) -> Any:
    """The class with the largest share x density."""
    scores = np.empty((len(rows), len(shares)))
    for place, (share, mean, covariance) in enumerate(zip(shares, means, covariances, strict=True)):
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, values[-1] * 1e-12)
        apart = (rows - mean) @ vectors
        scores[:, place] = math.log(max(share, 1e-12)) - 0.5 * (np.log(values).sum() + (apart**2 / values).sum(axis=1))
    return scores.argmax(axis=1)


def run(*, quick: bool = False, data: Path | None = None, progress: Progress = lambda share: None) -> StudyResult:
    """Every experiment again; quick: one repeat, three sizes, one sigma, 20,000 test points."""
    repeats, points = (1, 20_000) if quick else (5, 50_000)
    sizes = (500, 8000, 32_000) if quick else SIZES
    sigmas = (3,) if quick else SIGMAS
    errors = partial(_errors, repeats=repeats, points=points)
    rows: list[Row] = []
    charts: list[Chart] = []
    progress(0.0)
    rows += _bounds()
    found = errors(FIVE, sizes, METHODS)
    rows += _figure_rows("Figure 1", "5 dimensions", found, sizes, repeats, "they print only that it stays above .1")
    charts.append(_chart("figure-1", "Figure 1: five dimensions, ε = 0.1", found, sizes))
    rows += _figure_rows("Footnote 5", "repair", errors(FIVE, sizes, REPAIRS), sizes, repeats, "")
    progress(0.2)
    for place, dimension in enumerate(DIMENSIONS):
        for sigma in sigmas:
            found = errors(correlated(dimension, sigma), sizes, METHODS)
            where, what = f"Figure {place + 2}", f"{dimension} dimensions, σ = {sigma}"
            rows += _figure_rows(where, what, found, sizes, repeats, "the figure's numbers are not printed")
            if sigma == 3:
                charts.append(_chart(f"figure-{place + 2}", f"{where}: {what}, ε = 0.1", found, sizes))
        progress(0.2 + 0.15 * (place + 1))
    rows += _table_1(errors)
    if data is not None:
        found = errors(parkinsons(data), sizes, METHODS)
        note = "they print: with privacy about .24 at every size, without below .01; the majority class .2462"
        rows += _figure_rows("Parkinsons", "22 dimensions", found, sizes, repeats, note)
        charts.append(_chart("parkinsons", "Parkinsons: 22 dimensions, ε = 0.1", found, sizes))
    progress(0.95)
    rows += _theorem(200 if quick else 4000)
    progress(1.0)
    settings = {"epsilon": EPSILON, "delta": DELTA, "repeats": repeats, "test points": points}
    return StudyResult(
        study="xi",
        title=TITLES["xi"],
        quick=quick,
        rows=tuple(rows),
        charts=tuple(charts),
        notes=NOTES,
        settings=settings,
    )


NOTES = (
    "Their method is given class sizes, labels and a box per class for nothing, and ε is shared honestly between means "
    "and covariances; ours buys all of it inside one box that holds both classes.",
    "The mixing probability of figures 2 to 5 and table 1 is not printed. With halves every cell of table 1 comes out "
    "within .02; with the .7 of figure 1 they would be up to .07 too low.",
    "Theorem 4.1 is about the exponent K computed from noisy numbers. It bounds no classifier's error: with much noise "
    "the classifier that uses the noisy numbers errs far more often than the bound says.",
    "Footnote 5 asks for the positive matrix nearest to the noisy one: it is the one with its eigenvalues cut at a "
    "floor (docs/proofs/nearest-covariance.md). Theirs is another.",
    "The Parkinsons table is read from the folder of data sets; without one that experiment is left out.",
)


def _errors(
    mixture: Mixture, sizes: Sequence[int], methods: dict[str, Method], *, repeats: int, points: int
) -> dict[str, list[list[float]]]:
    """Test errors by method, size and repeat: the same tables for every method."""
    found: dict[str, list[list[float]]] = {name: [[] for _ in sizes] for name in methods}
    for repeat in range(repeats):
        generator = np.random.default_rng([repeat, mixture.means.shape[1]])
        test, wanted = drawn(mixture, points, generator)
        for place, size in enumerate(sizes):
            rows, labels = drawn(mixture, size, generator)
            for name, method in methods.items():
                said = method(mixture, rows, labels, generator)(test)
                found[name][place].append(float(np.mean(said != wanted)))
    return found


def _figure_rows(
    where: str, what: str, found: dict[str, list[list[float]]], sizes: Sequence[int], repeats: int, note: str
) -> Iterator[Row]:
    """A row per method and size; the ends are those of the repeats."""
    for name, by_size in found.items():
        for size, errors in zip(sizes, by_size, strict=True):
            yield Row(
                where=where, what=f"{what}: {name}, {size} rows", ours=float(np.mean(errors)), low=min(errors),
                high=max(errors), repeats=repeats, reach=_reach(where, name, size),
                note=note if name.startswith("published") else "",
            )  # fmt: skip


def _reach(where: str, name: str, size: int) -> float | None:
    """What this project set itself for figure 1."""
    goals = {("ours, pure", 500): 0.06, ("ours, (ε, 1e-6)", 500): 0.06}
    goals |= {("ours, pure", 32_000): 0.016, ("ours, (ε, 1e-6)", 32_000): 0.014}
    return goals.get((name, size)) if where == "Figure 1" else None


def _chart(name: str, title: str, found: dict[str, list[list[float]]], sizes: Sequence[int]) -> Chart:
    """Mean test error against the number of training rows."""
    series = [
        Series(
            label=method, x=list(sizes), y=[float(np.mean(each)) for each in by_size],
            low=[min(each) for each in by_size], high=[max(each) for each in by_size],
        )
        for method, by_size in found.items()
    ]  # fmt: skip
    return Chart(
        name=name, title=title, x_label="training rows", y_label="test error", x_scale="log", series=tuple(series)
    )


def _table_1(errors: Callable[..., dict[str, list[list[float]]]]) -> Iterator[Row]:
    """Errors without privacy at 500 rows, beside the printed ones."""
    for dimension, printed in TABLE_1.items():
        for sigma, value in zip(SIGMAS, printed, strict=True):
            (found,) = errors(correlated(dimension, sigma), (500,), {"no privacy": without_privacy})["no privacy"]
            yield Row(
                where="Table 1", what=f"{dimension} dimensions, σ = {sigma}", published=value,
                ours=float(np.mean(found)), low=min(found), high=max(found), repeats=len(found),
                note="no privacy, 500 rows; the mixing probability is not printed, halves here",
            )  # fmt: skip


def _bounds() -> Iterator[Row]:
    """The error of the mixture of figure 1, and bounds on it."""
    facts = FIVE.priors, FIVE.means, FIVE.covariances
    error = bayes_error(*facts)
    ends = error.value - 2 * error.standard_error, error.value + 2 * error.standard_error
    yield Row(where="Section 4", what="Bayes error of figure 1", ours=error.value, low=ends[0], high=ends[1],
              note="Monte Carlo, two standard errors; they print that it is below .01")  # fmt: skip
    yield Row(where="Section 4", what="Bhattacharyya bound on it", ours=bhattacharyya(*facts))
    yield Row(where="Section 4", what="Chernoff bound on it", ours=chernoff(*facts))


def _theorem(runs: int) -> Iterator[Row]:
    """How often the exponent lies where theorem 4.1 says, as printed and as it should read; and what it leaves open."""
    generator = np.random.default_rng(4)
    exponents = [_noisy_exponent(generator, 0.05) for _ in range(runs)]
    facts = _THEOREM_MEANS, (1.0, 1.0), _THEOREM_SIZES, (0.05, 0.05, 0.01, 0.01)
    low, high, claimed = printed_exponent_interval(*facts, 0.95)
    yield Row(where="Theorem 4.1", what="as printed, p = .95: how often K lies between its ends", published=claimed,
              ours=_share(exponents, low, high), repeats=runs,
              note="quantiles of the wrong side, and a product of squares in place of a product")  # fmt: skip
    low, high, claimed = exponent_interval(*facts, 0.05)
    yield Row(where="Theorem 4.1", what="as it should read, level .05: how often K lies between its ends",
              ours=_share(exponents, low, high), low=claimed, high=1.0, repeats=runs,
              note="at least .95 to the eighth power")  # fmt: skip
    yield from _what_it_does_not_bound(generator, runs)


def _share(exponents: Sequence[float], low: float, high: float) -> float:
    return float(np.mean([low < each < high for each in exponents]))


def _noisy_exponent(generator: np.random.Generator, scale: float) -> float:
    """K from sample means and variances with Laplace noise, in one dimension."""
    size = _THEOREM_SIZES[0]
    means = np.array(_THEOREM_MEANS) + generator.normal(0, 1 / math.sqrt(size), 2) + generator.laplace(0, scale, 2)
    variances = generator.chisquare(size - 1, 2) / size + generator.laplace(0, 0.01, 2)
    total = float(variances.sum())
    return float(
        (means[0] - means[1]) ** 2 / (4 * total) + math.log(total) / 2 - math.log(4 * variances[0] * variances[1]) / 4
    )


def _what_it_does_not_bound(generator: np.random.Generator, runs: int) -> Iterator[Row]:
    """Means with Laplace noise of scale 3: the error of the classifier that uses them, beside its own K."""
    truth = Mixture.of([0.5, 0.5], [0.0, 2.5], [1.0, 1.0])
    best = bayes_error(truth.priors, truth.means, truth.covariances).value
    errors, beyond, within = [], [], []
    for _ in range(runs):
        noisy = Mixture.of([0.5, 0.5], np.array([0.0, 2.5]) + generator.laplace(0, 3, 2), [1.0, 1.0])
        cut, order = float(noisy.means.mean()), 1 if noisy.means[0, 0] < noisy.means[1, 0] else -1
        tails = [0.5 * math.erfc(order * (cut - mean) / math.sqrt(2)) for mean in (0.0, 2.5)]
        errors.append(0.5 * (tails[0] + 1 - tails[1]))
        beyond.append(errors[-1] > bhattacharyya(noisy.priors, noisy.means, noisy.covariances))
        within.append(errors[-1] <= best + plug_in_excess(truth, noisy) + 1e-12)
    note = "two classes 2.5 standard deviations apart, Laplace noise of scale 3 on the means"
    yield Row(
        where="Theorem 4.1", what="Bayes error", ours=bayes_error([0.5, 0.5], [0.0, 2.5], [1, 1]).value, note=note
    )
    yield Row(
        where="Theorem 4.1", what="error of the classifier with noisy means", ours=float(np.mean(errors)), note=note
    )
    yield Row(where="Theorem 4.1", what="how often it is above the bound from the noisy K", ours=float(np.mean(beyond)),
              note="so the bound is none for the noisy classifier")  # fmt: skip
    yield Row(where="Theorem 4.1", what="how often it keeps to the plug-in inequality", ours=float(np.mean(within)),
              note="error ≤ Bayes error + L1 distances of prior x density: always")  # fmt: skip
