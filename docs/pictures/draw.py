"""Draw the pictures of the documentation again: ``python docs/pictures/draw.py``. They are kept beside this file."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import sordino as so
from sordino.quality import distances
from sordino.report.chart import Chart, Series
from sordino.report.figures import chart_svg
from sordino.studies import pathak, wu
from sordino.studies.mothali_classifier import FITS, load
from sordino.studies.noisy_folds import CodedTable, Fit, draws, folds, noisy_accuracies
from sordino.studies.published.rongauss import printed_with_classes

HERE = Path(__file__).parent

#: The colour that is readable on light paper and on dark.
INK = "#808080"


def epsilon() -> Chart:
    """Half-widths that a plan names, against ε: no row is read for them."""
    domain = so.Domain({"age": so.Real(0, 120), "sex": so.Category(["female", "male"])})
    empty = so.open_table(pa.table({"age": pa.array([], pa.float64()), "sex": pa.array([], pa.string())}), domain)
    epsilons = [0.01 * 10 ** (step / 4) for step in range(10)]
    means = {
        rows: [empty.plan("mean", "age", epsilon=each, rows=rows).half_width(0.95) for each in epsilons]
        for rows in (500, 5000, 50_000)
    }
    return Chart(
        name="epsilon",
        title="± of a mean age between 0 and 120, with 95 % confidence",
        x_label="ε",
        y_label="years",
        x_scale="log",
        y_scale="log",
        series=tuple(Series(label=f"{rows} rows", x=epsilons, y=found) for rows, found in means.items()),
    )


def gaussian_bayes() -> Chart:
    """Mean accuracy over ten seeded fits on 1000 rows of two clouds, in a box fifty times too wide."""
    epsilons = [0.02 * 2**step for step in range(9)]
    found: dict[str, list[float]] = {name: [] for name in ("GaussianBayes", "PrivateClassifier", "ThresholdRule")}
    for name, scores in found.items():
        for each in epsilons:
            hits = []
            for seed in range(10):
                generator = np.random.default_rng(seed)
                labels = generator.integers(2, size=3000)
                rows = generator.normal(1.2 * labels[:, None], (1, 1, 2, 3), (3000, 4))
                model = getattr(so, name)(each, bounds=(-150, 150), classes=[0, 1], random_state=seed)
                hits.append(model.fit(rows[:1000], labels[:1000]).score(rows[1000:], labels[1000:]))
            scores.append(float(np.mean(hits)))
    return Chart(
        name="gaussian_bayes",
        title="Accuracy on 1000 rows of two clouds",
        x_label="ε",
        y_label="accuracy",
        x_scale="log",
        series=tuple(Series(label=name, x=epsilons, y=scores) for name, scores in found.items()),
    )


def naive_bayes() -> Chart:
    """Accuracy on a public data set against ε: five folds, seeded noise drawn 40 times for each."""
    data = load(None)["Nursery"]
    epsilons = [0.01 * 10 ** (step / 5) for step in range(11)]
    shown = {"NaiveBayes()": FITS["ours"], "the thesis' estimator": FITS["EB"], "clamped counts": FITS["ML"]}
    found = {label: [accuracy(data, each, fit) for each in epsilons] for label, fit in shown.items()}
    return Chart(
        name="naive_bayes",
        title="Nursery, 12,960 rows, 8 attributes, 5 classes: accuracy against ε",
        x_label="ε",
        y_label="%",
        x_scale="log",
        series=tuple(Series(label=label, x=epsilons, y=each) for label, each in found.items()),
    )


def accuracy(data: CodedTable, epsilon: float, fit: Fit) -> float:
    law = data.law(epsilon)
    folded = enumerate(folds(data, 5, [0]))
    found = [
        noisy_accuracies(data, trained, tested, draws(data, law, 40, [place]), law, {"it": fit})["it"].mean()
        for place, (trained, tested) in folded
    ]
    return 100 * float(np.mean(found))


def ron_gauss() -> Chart:
    """Accuracy on real rows of what is learned on synthetic ones: 10,000 made-up rows of 100 columns, 5 classes."""
    generator = np.random.default_rng(0)
    labels = generator.integers(5, size=12_000)
    rows = np.clip(generator.normal(0, 0.3, (12_000, 100)) + generator.normal(0, 0.1, (5, 100))[labels], -1, 1)
    epsilons = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]

    def score(points: Any, drawn: Any, placed: Any) -> float:
        return float(LinearDiscriminantAnalysis().fit(points, drawn).score(placed, labels[10_000:]))

    def ours(epsilon: float, seed: int, **given: Any) -> float:
        model = so.RONGauss(10, epsilon, 1e-6, bounds=(-1, 1), classes=list(range(5)), random_state=seed, **given)
        model.fit(rows[:10_000], labels[:10_000])
        return score(*model.sample(5000, random_state=seed), model.transform(rows[10_000:]))

    def published(epsilon: float, seed: int) -> float:
        known, generator = labels[:10_000].astype(float), np.random.default_rng(seed)
        made = printed_with_classes(rows[:10_000], known, 10, epsilon, 5000, generator)
        return score(made.rows, made.target, made.place(rows[10_000:]))

    methods: dict[str, Callable[[float, int], float]] = {
        "bought projection": partial(ours, projection="bought"),
        "public projection": ours,
        "as published (not private)": published,
    }
    return Chart(
        name="ron_gauss",
        title="Learned on synthetic rows, tested on real ones: 100 columns, 5 classes",
        x_label="ε",
        y_label="accuracy",
        x_scale="log",
        series=tuple(
            Series(label=name, x=epsilons, y=[np.mean([method(each, seed) for seed in range(5)]) for each in epsilons])
            for name, method in methods.items()
        ),
    )


def table_synthesizer() -> Chart:
    """Distances of synthetic tables from a made-up one, against ε, beside its own columns shuffled; seeded."""
    generator = np.random.default_rng(0)
    age, group = generator.uniform(20, 90, 20_000), generator.integers(0, 4, 20_000)
    paid = np.floor(np.exp(generator.normal(4 + age / 60 + group / 2)))
    made_up = pa.table({"age": age, "group": group, "paid": np.minimum(paid, 1e6)})
    domain = so.Domain(
        {"age": so.Real(0, 120), "group": so.Category(range(4)), "paid": so.Real(0, 1_000_000, integer=True)}
    )
    epsilons = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]

    def apart(delta: float, epsilon: float) -> float:
        fake = so.TableSynthesizer(epsilon, delta, domain=domain, random_state=0).fit(made_up).sample(20_000)
        return distances(made_up, fake, domain).two_way

    mixed = pa.table({name: made_up[name].take(generator.permutation(20_000)) for name in made_up.column_names})
    shuffled = distances(made_up, mixed, domain).two_way
    lines = {"pure ε": [apart(0, each) for each in epsilons], "δ = 1e-6": [apart(1e-6, each) for each in epsilons]}
    lines["columns shuffled"] = [shuffled] * len(epsilons)
    return Chart(
        name="table_synthesizer",
        title="Distance of all pairs of columns from a made-up table of 20 000 rows",
        x_label="ε",
        y_label="total variation",
        x_scale="log",
        y_scale="log",
        series=tuple(Series(label=label, x=epsilons, y=found) for label, found in lines.items()),
    )


def large_margin_mixture() -> Chart:
    """Figure 2 of Pathak and Raj again: ten splits of Breast Cancer Wisconsin, seeded."""
    return pathak.figure(10, None)


def gaussian_mixture() -> Chart:
    """How well components are found, against ε: measured by benchmarks/mixture.py, and read from its results."""
    results = HERE.parents[1] / "benchmarks" / "results" / "mixture.json"
    rows = [row for row in json.loads(results.read_text(encoding="utf-8"))["rows"] if row["job"] == "clusters"]
    shown = {name: [row for row in rows if row["data"] == name] for name in dict.fromkeys(row["data"] for row in rows)}
    series = []
    for name, found in shown.items():
        usual = [row for row in found if row["covariance_type"] == found[0]["covariance_type"]]
        heights = np.array([row["ari"] for row in usual])
        errors = np.array([2 * row["error"] for row in usual])
        epsilons = [row["epsilon"] for row in usual]
        low, high = (heights - errors).tolist(), (heights + errors).tolist()
        series.append(Series(label=name, x=epsilons, y=heights.tolist(), low=low, high=high))
    return Chart(
        name="gaussian_mixture",
        title="GaussianMixture on held-out rows, δ = 1e-5",
        x_label="ε",
        y_label="adjusted Rand index",
        x_scale="log",
        series=tuple(series),
    )


def gradient_em() -> Chart:
    """The error of a mixture's parameter against the round, every variant: medians of five made-up tables."""
    found = wu.measured(wu.Cell("Figure 2a", 2000, 10, 0.5), wu.VARIANTS, 5)
    medians = {name: np.median(paths, axis=0).tolist() for name, paths in found.items()}
    return Chart(
        name="gradient_em",
        title="Error of θ, |θ| = 3, for n = 2000, d = 10, ε = 0.5, δ = 1e-5",
        x_label="round",
        y_label="distance to θ",
        y_scale="log",
        series=tuple(Series(label=name, x=list(range(len(path))), y=path) for name, path in medians.items()),
    )


PICTURES: tuple[Callable[[], Chart], ...] = (
    gaussian_mixture,
    gradient_em,
    epsilon,
    gaussian_bayes,
    large_margin_mixture,
    naive_bayes,
    ron_gauss,
    table_synthesizer,
)


if __name__ == "__main__":
    for picture in PICTURES:
        drawn = chart_svg(picture()).replace("currentColor", INK)
        namespace = "" if "xmlns=" in drawn.split(">")[0] else ' xmlns="http://www.w3.org/2000/svg"'
        (HERE / f"{picture.__name__}.svg").write_text(drawn.replace("<svg", f"<svg{namespace}", 1), encoding="utf-8")
