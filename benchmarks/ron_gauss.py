"""RONGauss beside the figures that this project set itself; seeded noise, so that a row can be had again.

    python benchmarks/ron_gauss.py [--repeats 5] [--processes N] [--data FOLDER] [--only WORD] [--secure]

Each row is a mean over projections and noises. Accuracies and errors are of models learned on 20,000 synthetic rows and
tested on real ones: logistic regression, ridge; the cost is that of K-means on real rows with centres learned on 4,000
synthetic ones, over the best. ``--secure`` draws secure noise instead. Rows go
to ``results/ron_gauss.json``, in place of those of the same name.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge

from sordino.datasets import blog_feedback, gfe, mnist
from sordino.studies.rongauss_tasks import comments_of, counts
from sordino.synthesis.ron_gauss import RONGauss

RESULTS = Path(__file__).parent / "results/ron_gauss.json"
DRAWN, GROUPS = 20_000, 4


@dataclass(frozen=True)
class Case:
    """One row: data, budget and space, and the figure to reach; at most it where it is an error."""

    data: str
    epsilon: float
    delta: float
    components: int | None
    projection: str
    reach: float

    @property
    def name(self) -> str:
        noise = "pure" if self.delta == 0 else "delta 1e-6"
        return f"{self.data}, ε = {self.epsilon:g}, {noise}, {self.projection}, {self.components} directions"


CASES = (
    Case("mnist", 0.1, 1e-6, 50, "public", 0.60),
    Case("mnist", 1, 1e-6, 50, "public", 0.785),
    Case("mnist", 10, 1e-6, 50, "public", 0.815),
    Case("mnist", 0.1, 1e-6, 10, "bought", 0.77),
    Case("mnist", 1, 1e-6, 50, "bought", 0.85),
    Case("mnist", 10, 1e-6, 50, "bought", 0.86),
    Case("mnist", 0.1, 0, 10, "public", 0.40),
    Case("mnist", 1, 0, 20, "public", 0.64),
    Case("mnist", 10, 0, 50, "public", 0.80),
    Case("gfe", 0.1, 1e-6, 20, "public", 0.68),
    Case("gfe", 1, 1e-6, 50, "public", 0.725),
    Case("gfe", 10, 1e-6, 50, "public", 0.755),
    Case("cluster", 0.1, 1e-6, 4, "public", 1.15),
    Case("cluster", 1, 1e-6, 4, "public", 1.15),
    Case("cluster", 10, 1e-6, 4, "public", 1.15),
    Case("cluster", 1, 0, 4, "public", 1.12),
    Case("blog", 0.1, 1e-6, 20, "bought", 0.245),
    Case("blog", 1, 1e-6, 20, "bought", 0.222),
    Case("blog", 10, 1e-6, 20, "bought", 0.215),
    Case("blog", 0.1, 1e-6, 20, "public", 0.245),
    Case("blog", 1, 1e-6, 20, "public", 0.222),
    Case("mnist", math.inf, 1e-6, 50, "public", 0.815),
    Case("mnist", 0.1, 1e-6, None, "public", 0.60),
    Case("mnist", 1, 1e-6, None, "bought", 0.85),
    Case("gfe", 1, 1e-6, None, "public", 0.725),
)


@cache
def mnist_data(folder: str | None) -> tuple[Any, ...]:
    return (*mnist.load_mnist("train", folder), *mnist.load_mnist("test", folder))


@cache
def gfe_data(folder: str | None) -> tuple[Any, ...]:
    """Shuffled once; 5,000 rows to test on."""
    frames = gfe.load_gfe(folder)
    order = np.random.default_rng(0).permutation(len(frames.targets))
    return frames.points[order], frames.targets[order]


@cache
def blog_data(folder: str | None) -> tuple[Any, ...]:
    parts = [blog_feedback.load_blog_feedback(part, folder) for part in ("train", "test")]
    return tuple((counts(posts), comments_of(comments)) for posts, comments in parts)


def fitted(case: Case, seed: int | None, rows: Any, target: Any, bounds: Any, **given: Any) -> RONGauss:
    return RONGauss(
        case.components, case.epsilon, case.delta, bounds=bounds, projection=case.projection,
        projection_seed=seed or 0, random_state=seed, **given,
    ).fit(rows, target)  # fmt: skip


def accuracy(case: Case, model: RONGauss, rows: Any, target: Any, seed: int) -> float:
    points, labels = model.sample(DRAWN, random_state=seed)
    scale = points.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = LogisticRegression(max_iter=500).fit(points / scale, labels)
    return float(learned.score(model.transform(rows) / scale, target))


def measured(case: Case, seed: int, folder: str | None, secure: bool) -> float:
    noise = None if secure and math.isfinite(case.epsilon) else seed
    if case.data == "mnist":
        rows, digits, tests, test_digits = mnist_data(folder)
        model = fitted(case, noise, rows, digits, (0, 255), classes=list(range(10)))
        return accuracy(case, model, tests, test_digits, seed)
    if case.data in ("gfe", "cluster"):
        points, targets = gfe_data(folder)
        bounds = (np.zeros(300), np.array([column.high for column in gfe.COLUMNS.values()]))
        if case.data == "gfe":
            model = fitted(case, noise, points[5000:], targets[5000:], bounds, classes=[0, 1])
            return accuracy(case, model, points[:5000], targets[:5000], seed)
        model = fitted(case, noise, points[5000:], None, bounds)
        return cost(model, points[5000:9000], bounds, seed)
    (rows, target), (tests, test_target) = blog_data(folder)
    model = fitted(case, noise, rows, target, (-1, 1), target_bounds=(-1, 1))
    points, drawn = model.sample(DRAWN, random_state=seed)
    predicted = Ridge(1.0).fit(points, drawn).predict(model.transform(tests))
    return float(np.sqrt(np.mean((predicted - test_target) ** 2)))


def cost(model: RONGauss, rows: Any, bounds: Any, seed: int) -> float:
    """Real rows are projected as they are, without being pulled in."""
    placed = (rows / bounds[1] * 2 - 1) @ model.projection_
    found = KMeans(GROUPS, n_init=4, random_state=0).fit(model.sample(4000, random_state=seed))
    best = KMeans(GROUPS, n_init=4, random_state=0).fit(placed)
    nearest = ((placed[:, None] - found.cluster_centers_) ** 2).sum(axis=2).min(axis=1)
    return float(nearest.sum() / best.inertia_)


def job(asked: tuple[Case, int, str | None, bool]) -> float:
    return measured(*asked)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--repeats", type=int, default=5)
    asked.add_argument("--processes", type=int, default=1)
    asked.add_argument("--data", default=None)
    asked.add_argument("--only", default="", help="a word in the names of the rows to run")
    asked.add_argument("--secure", action="store_true")
    given = asked.parse_args()
    cases = [case for case in CASES if given.only in case.name]
    jobs = [(case, seed, given.data, given.secure) for case in cases for seed in range(given.repeats)]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.processes) as pool:
        values = iter(pool.map(job, jobs) if given.processes > 1 else map(job, jobs))
        for case in cases:
            found = [next(values) for _ in range(given.repeats)]
            is_error = case.data in ("cluster", "blog")
            mean = float(np.mean(found))
            reached = mean <= case.reach if is_error else mean >= case.reach
            rows.append({"name": case.name, "mean": mean, "values": found, "reach": case.reach, "reached": reached})
            words = f"reach {'<=' if is_error else '>='} {case.reach}{'' if reached else '  NOT REACHED'}"
            print(f"{case.name}: {mean:.4f} ({min(found):.4f} to {max(found):.4f}), {words}", flush=True)
            write(given, rows)


def write(given: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """The rows of this run in place of those of the same name: a run that is stopped leaves what it has."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else []
    named = {row["name"]: row for row in (*kept, *rows)}
    ordered = [named[case.name] for case in CASES if case.name in named]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"rows": ordered}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
