"""Mothali (2011), chapters 7 and 8: estimators of noisy counts, and the naive Bayes classifiers made of them.

Figures 7.1 and 7.2, and Tables 8.2 to 8.9: accuracy on Adult and Nursery by 5-, 10- and 20-fold cross-validation, and
how often one estimator beats another. Ours is what ``NaiveBayes`` does by default.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sordino.datasets import adult, nursery
from sordino.domain import Category, Column
from sordino.release import NoNoise
from sordino.repair.class_tables import CLASS_ESTIMATORS, log_probabilities
from sordino.report.chart import Chart, Series
from sordino.studies import shrinkage_risk
from sordino.studies.noisy_folds import CodedTable, Fit, Floats, draws, folds, noisy_accuracies
from sordino.studies.published.mothali import ACCURACY, CORRECTIONS, DOMINANCE, printed_probabilities
from sordino.studies.study import Progress, Row, StudyResult
from sordino.studies.titles import TITLES

#: The number of each table.
_ACCURACY_TABLE = {"Adult": "8.2", "Nursery": "8.6"}
_DOMINANCE_TABLE = {"Adult": {5: "8.3", 10: "8.4", 20: "8.5"}, "Nursery": {5: "8.7", 10: "8.8", 20: "8.9"}}

#: What this project set itself, in % of five folds; also at two ε where the thesis stops.
REACH = {
    "Adult": {0.01: 75.8, 0.02: 77.6, 0.05: 78.8, 0.1: 78.7},
    "Nursery": {0.02: 65.0, 0.05: 84.6, 0.1: 88.5},
}

#: As the thesis runs them, and what ``NaiveBayes`` does.
FITS: dict[str, Fit] = {
    **{name: partial(printed_probabilities, estimator=name) for name in CORRECTIONS},
    "ours": log_probabilities,
}

#: Further than this from the published accuracy, a row says so, in %.
_NEAR = 0.5

_SEED = 2011


@dataclass(frozen=True)
class Size:
    """How much is repeated: the thesis splits 20 times, and draws noise 500 times for each split."""

    splits: int
    noises: int
    risks: int
    slow: int


FULL, QUICK = Size(splits=20, noises=500, risks=50_000, slow=1000), Size(splits=1, noises=10, risks=2000, slow=100)

#: Accuracies by estimator, one for each split, fold and noise.
Runs = dict[tuple[str, int, float], dict[str, Floats]]


def run(*, quick: bool = False, data: Path | None = None, progress: Progress = lambda share: None) -> StudyResult:
    """Every figure and table, ours beside theirs."""
    return run_sized(QUICK if quick else FULL, load(data), progress)


def run_sized(size: Size, tables: Mapping[str, CodedTable], progress: Progress = lambda share: None) -> StudyResult:
    """The same, repeated as often as ``size`` says."""
    runs = _all_runs(tables, size, progress)
    figure_rows, figure_charts = shrinkage_risk.figures(size.risks, size.slow)
    rows = (
        *_accuracy_rows(runs),
        *_dominance_rows(runs),
        *_noiseless_rows(tables),
        *_estimator_rows(tables, size),
        *_squared_error_rows(tables["Adult"], size),
        *figure_rows,
    )
    return StudyResult(
        study="mothali-classifier", title=TITLES["mothali-classifier"], quick=size != FULL, rows=rows,
        charts=(*figure_charts, *(_accuracy_chart(name, runs) for name in tables)), notes=NOTES,
        settings={"splits": size.splits, "noises": size.noises, "vectors": size.risks, "seed": _SEED},
    )  # fmt: skip


def load(folder: Path | None) -> dict[str, CodedTable]:
    """Both data sets. Adult has the cells of the thesis, 204: '?' is one where the raw file has it."""
    columns: dict[str, Column] = dict(adult.COLUMNS)
    for name in ("workclass", "occupation", "native-country"):
        declared = adult.COLUMNS[name]
        if isinstance(declared, Category):
            columns[name] = Category([*declared.values, "?"])
    return {
        "Adult": CodedTable.of(adult.load_adult(folder=folder), columns, "income"),
        "Nursery": CodedTable.of(nursery.load_nursery(folder), nursery.COLUMNS, "class"),
    }


def _all_runs(tables: Mapping[str, CodedTable], size: Size, progress: Progress) -> Runs:
    """All accuracies: each split of each data set is a job of its own."""
    jobs = [(name, number, split) for name in tables for number in ACCURACY[name] for split in range(size.splits)]
    collected: dict[tuple[str, int, float], list[dict[str, Floats]]] = {}
    with (
        threadpool_limits(limits=1, user_api="blas"),
        ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers,
    ):
        done = workers.map(lambda job: one_split(tables[job[0]], job[0], job[1], job[2], size.noises), jobs)
        for place, ((name, number, _), found) in enumerate(zip(jobs, done, strict=True)):
            for epsilon, accuracies in found.items():
                collected.setdefault((name, number, epsilon), []).append(accuracies)
            progress((place + 1) / len(jobs))
    return {
        key: {name: np.stack([each[name] for each in splits]) for name in FITS} for key, splits in collected.items()
    }


def one_split(data: CodedTable, name: str, number: int, split: int, noises: int) -> dict[float, dict[str, Floats]]:
    """Accuracies by ε and estimator, with axes for folds and noises."""
    found: dict[float, dict[str, list[Floats]]] = {}
    for place, (trained, tested) in enumerate(folds(data, number, [_SEED, number, split])):
        for step, epsilon in enumerate(_epsilons(name, number)):
            law = data.law(epsilon)
            noise = draws(data, law, noises, [_SEED, number, split, place, step])
            for fit, accuracies in noisy_accuracies(data, trained, tested, noise, law, FITS).items():
                found.setdefault(epsilon, {}).setdefault(fit, []).append(accuracies)
    return {
        epsilon: {fit: np.stack(parts) for fit, parts in accuracies.items()} for epsilon, accuracies in found.items()
    }


def _epsilons(name: str, number: int) -> list[float]:
    """Those of the thesis; in five folds those for which we set ourselves a figure too."""
    return sorted({*ACCURACY[name][number], *(REACH[name] if number == 5 else ())})


def _accuracy_rows(runs: Runs) -> Iterator[Row]:
    for (name, number, epsilon), accuracies in runs.items():
        published = dict(zip(CORRECTIONS, ACCURACY[name][number].get(epsilon, ()), strict=False))
        for fit, found in accuracies.items():
            percent = 100 * found
            low, high = np.quantile(percent, [0.05, 0.95])
            printed = published.get(fit)
            beside = f"published EB: {published['EB']:g} %" if fit == "ours" and published else ""
            yield Row(
                where=f"Table {_ACCURACY_TABLE[name]}", what=f"{name}, {number}-fold, ε = {epsilon:g}, {fit}",
                published=printed, ours=float(percent.mean()), low=float(low), high=float(high),
                repeats=percent.size, unit="%", note=beside or _apart(printed, float(percent.mean())),
                reach=REACH[name].get(epsilon) if fit == "ours" and number == 5 else None,
            )  # fmt: skip


def _apart(printed: float | None, ours: float) -> str:
    if printed is None or abs(printed - ours) <= _NEAR:
        return ""
    return f"more than {_NEAR:g} from the published"


def _dominance_rows(runs: Runs) -> Iterator[Row]:
    for (name, number, epsilon), accuracies in runs.items():
        pairs = {"EB": ("EB", "ML"), "ours": ("ours", "EB")}
        for challenger, (first, second) in pairs.items():
            printed = DOMINANCE[name][number].get(epsilon, (None,) * 3) if challenger == "EB" else (None,) * 3
            gap = accuracies[first] - accuracies[second]
            shares = [100 * float(np.mean(each)) for each in (gap > 0, gap == 0, gap < 0)]
            for sign, theirs, share in zip(">=<", printed, shares, strict=True):
                yield Row(
                    where=f"Table {_DOMINANCE_TABLE[name][number]}" if challenger == "EB" else "ours",
                    what=f"{name}, {number}-fold, ε = {epsilon:g}, {first} {sign} {second}",
                    published=theirs, ours=share, repeats=gap.size, unit="%",
                )  # fmt: skip


def _noiseless_rows(tables: Mapping[str, CodedTable]) -> Iterator[Row]:
    """What naive Bayes has when nothing is added: the number of folds hardly matters."""
    for name, data in tables.items():
        silence = np.zeros((1, data.classes * sum(data.cells)), dtype=np.int64)
        for number in ACCURACY[name]:
            hits = [
                len(tested)
                * float(noisy_accuracies(data, trained, tested, silence, NoNoise(), {"ours": FITS["ours"]})["ours"][0])
                for trained, tested in folds(data, number, [_SEED, number, 0])
            ]
            yield Row(
                where="ours", what=f"{name}, {number}-fold, without noise, ours", ours=100 * sum(hits) / len(data),
                repeats=1, unit="%",
            )  # fmt: skip


def _estimator_rows(tables: Mapping[str, CodedTable], size: Size) -> Iterator[Row]:
    """Every estimator of ``NaiveBayes`` in five folds, to choose its default; fewer noises, for some are slow."""
    noises = max(2, size.noises // 10)
    fits: dict[str, Fit] = {name: partial(log_probabilities, estimator=name) for name in CLASS_ESTIMATORS}
    for name, data in tables.items():
        for step, epsilon in enumerate(REACH[name]):
            law, found = data.law(epsilon), dict[str, list[Floats]]()
            for place, (trained, tested) in enumerate(folds(data, 5, [_SEED, 5, 0])):
                noise = draws(data, law, noises, [_SEED, 0, place, step])
                for fit, accuracies in noisy_accuracies(data, trained, tested, noise, law, fits).items():
                    found.setdefault(fit, []).append(100 * accuracies)
            for fit, parts in found.items():
                percent: Any = np.stack(parts)
                error = float(percent.mean(axis=0).std() / np.sqrt(noises))
                yield Row(
                    where="ours", what=f"{name}, 5-fold, ε = {epsilon:g}, NaiveBayes(estimator={fit!r})",
                    ours=float(percent.mean()), low=float(percent.mean()) - 2 * error,
                    high=float(percent.mean()) + 2 * error, repeats=percent.size, unit="%",
                    note="from and to are two standard errors",
                )  # fmt: skip


def _squared_error_rows(data: CodedTable, size: Size) -> Iterator[Row]:
    counts = data.counts(np.arange(len(data))).astype(np.float64)
    for name, errors in shrinkage_risk.squared_errors(counts, data.law(0.01), max(20, size.slow // 5)).items():
        error = 2 * float(errors.std() / np.sqrt(len(errors)))
        yield Row(
            where="ours", what=f"squared error of a cell, Adult, ε = 0.01, {name}", ours=float(errors.mean()),
            low=float(errors.mean()) - error, high=float(errors.mean()) + error, repeats=len(errors),
            note="from and to are two standard errors",
        )  # fmt: skip


def _accuracy_chart(name: str, runs: Runs) -> Chart:
    epsilons = _epsilons(name, 5)
    series = [
        Series(label=fit, x=epsilons, y=[100 * float(runs[name, 5, each][fit].mean()) for each in epsilons])
        for fit in ("ours", "EB", "ML")
    ]
    printed = ACCURACY[name][5]
    theirs = Series(label="EB, as published", x=list(printed), y=[each[1] for each in printed.values()], style="points")
    return Chart(
        name=name.lower(), title=f"{name}: accuracy of noisy naive Bayes, 5 folds", x_label="ε", y_label="%",
        x_scale="log", series=(*series, theirs),
    )  # fmt: skip


NOTES = (
    "ML, EB and JS are run as Table 8.1 says, on the thesis' 204 and 135 cells, with discrete Laplace noise. It is not "
    "said there whose counts are the class sizes; the first feature's come nearest to the printed tables.",
    "In 5 folds they land within half a point of Tables 8.2 and 8.6. In 10 folds on Nursery the printed numbers lie "
    "half a point lower at every ε, and in 20 folds on Adult up to a point higher, from ε = 0.02 on. Nothing can bring "
    "ours nearer: without noise the number of folds hardly matters (79.0 to 79.1 % and 90.3 %, in rows of their own), "
    "yet for Adult at ε = 1 the thesis prints 79.34, 79.24 and 79.75 %. Its accuracies are not means over all rows.",
    "The shares of Tables 8.3 to 8.5 are multiples of 1/500, 1/1000 and 1/2000: 100 noisy runs per fold, where the "
    "text says 20 × 500.",
    "Table 8.6 prints 89.45 for ML at ε = 0.1 in 20 folds, and means 88.45; Tables 8.7 to 8.9 print ε = 0.01 in their "
    "first row, and mean 0.1. Nursery's class is neither health nor salary.",
    "Figures 7.1 and 7.2 cannot be had: the boxed estimator never has a smaller risk than ML for counts "
    "(docs/proofs/boxed-estimator.md). Clamped before and after, as chapter 8 runs it, it has.",
    "ours is NaiveBayes() as it is: clamp, add one and half a standard deviation of the noise to every cell, class "
    "sizes from all tables together. Where the noise is small (Adult, ε = 1) it loses 0.04 points to ML.",
    "from and to hold the middle 90 % of single noisy runs, unless a row says otherwise.",
)
