"""Accuracy and time of ``LargeMarginMixture``, into ``benchmarks/results/large_margin.json``.

    python benchmarks/large_margin.py accuracy --repeats 20 --processes 16 --data FOLDER
    python benchmarks/large_margin.py speed

Every repeat is a random split, a public random projection where there is one, and fresh (seeded) noise. Public are
the box and the list of classes. The floors are the figures that this project set itself, the peer is the logistic
regression of another library on features like these, pure ε. Linear algebra runs on one thread per process.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import sordino as so
from sordino.cost import Cost
from sordino.datasets.adult import load_adult
from sordino.datasets.breast_cancer_wisconsin import FEATURES, load_breast_cancer_wisconsin
from sordino.datasets.mnist import load_mnist
from sordino.privacy.margin_losses import Softmax
from sordino.privacy.minimiser import Objective, minimise
from sordino.privacy.noise import SeededNoise
from sordino.privacy.perturbed_minimiser import certificate, linear_term, usual_ridge

RESULTS = Path(__file__).parent / "results" / "large_margin.json"

EPSILONS = (0.1, 1.0, 10.0, math.inf)
DELTA = 1e-5

#: Data and form -> floors at ε .1, 1 and 10; None where nothing was set.
FLOORS: dict[tuple[str, str], tuple[float | None, ...]] = {
    ("wbc", "linear, pure"): (0.90, 0.965, 0.965),
    ("wbc", "quadratic"): (0.86, 0.95, 0.96),
    ("digits", "quadratic"): (None, 0.71, 0.87),
    ("digits", "linear, pure"): (None, 0.67, 0.83),
    ("adult", "quadratic"): (0.805, 0.815, 0.817),
    ("mnist", "quadratic"): (0.44, 0.68, 0.76),
    ("blobs", "three components"): (None, 0.97, 0.99),
    ("blobs", "quadratic"): (None, None, None),
    ("wbc", "descent, quadratic"): (None, None, None),
    ("digits", "descent, quadratic"): (None, None, None),
    ("adult", "descent, quadratic"): (None, None, None),
}

#: Logistic regression of another library at the same ε, and the same features without privacy.
PEERS: dict[str, tuple[float, ...]] = {
    "wbc": (0.694, 0.919, 0.967, 0.966),
    "digits": (0.095, 0.116, 0.261, 0.932),
    "adult": (0.772, 0.796, 0.797, 0.823),
    "mnist": (0.119, 0.181, 0.463, 0.769),
}

FORMS: dict[str, dict[str, Any]] = {
    "linear, pure": {"features": "linear"},
    "quadratic": {"features": "quadratic", "delta": DELTA},
    "three components": {"features": "quadratic", "delta": DELTA, "components": 3},
    "descent, quadratic": {"features": "quadratic", "delta": DELTA, "solver": "gradient-descent"},
}

#: Rows, labels, rows to learn from, rows to test on at most, box, directions of a public projection.
Table = tuple[np.ndarray, np.ndarray, int, int, tuple[Any, Any], int | None]


@cache
def table(name: str, folder: str | None) -> Table:
    if name == "wbc":
        frame = load_breast_cancer_wisconsin(folder)
        rows = np.column_stack([frame[each].to_numpy() for each in FEATURES]).astype(float)
        return rows, np.array(frame["class"].to_pylist()), 583, 100, (1, 10), None
    if name == "digits":
        rows, labels = load_digits(return_X_y=True)
        return rows, labels, 1257, 540, (0, 16), 16
    if name == "adult":
        frame = load_adult("train", folder, complete=False)
        columns = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
        rows = np.column_stack([frame[each].to_numpy() for each in columns]).astype(float)
        box = ([17, 0, 1, 0, 0, 1], [90, 1.5e6, 16, 99_999, 5000, 99])
        return rows, np.array(frame["income"].to_pylist()), 15_000, 17_561, box, None
    if name == "mnist":
        images, labels = load_mnist("train", folder)
        return images.reshape(len(images), -1).astype(float), labels.astype(int), 14_000, 6000, (0, 255), 16
    generator = np.random.default_rng(0)
    place = generator.integers(6, size=10_000)
    rows = generator.normal(size=(10_000, 8)) * 0.5
    rows += 4 * (place - 2.5)[:, None] * np.full(8, math.sqrt(1 / 8))
    return rows, place % 2, 7000, 3000, (-15, 15), None


def one_repeat(task: tuple[str, str, int, str | None]) -> list[dict[str, Any]]:
    """One split of one data set, at every ε."""
    name, form, repeat, folder = task
    rows, labels, train, test, box, directions = table(name, folder)
    public = np.random.default_rng(repeat)
    order = public.permutation(len(rows))
    learn, rest = order[:train], order[train : train + test]
    given = dict(FORMS[form])
    if directions:
        given["projection"] = np.linalg.qr(public.normal(size=(rows.shape[1], directions)))[0]
    found = []
    for epsilon in EPSILONS:
        start = time.perf_counter()
        model = so.LargeMarginMixture(
            epsilon, bounds=box, classes=np.unique(labels).tolist(), random_state=1000 + repeat, **given
        ).fit(rows[learn], labels[learn])
        seconds = time.perf_counter() - start
        accuracy = float(np.mean(model.predict(rows[rest]) == labels[rest]))
        found.append({"data": name, "form": form, "epsilon": epsilon, "accuracy": accuracy, "seconds": seconds})
    return found


def accuracy(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    tasks = [
        (name, form, repeat, arguments.data)
        for name, form in FLOORS
        if arguments.only in (None, name)
        for repeat in range(arguments.repeats)
    ]
    found: list[dict[str, Any]] = []
    with ProcessPoolExecutor(
        arguments.processes, get_context("spawn"), initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        for each in pool.map(one_repeat, tasks):
            found.extend(each)
    lines = list(summary(found))
    for line in lines:
        print(" ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in line.values()))
    return lines


def summary(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Mean and spread over the repeats, beside the floor and the peer."""
    for (name, form), floors in FLOORS.items():
        for place, epsilon in enumerate(EPSILONS):
            mine = [each for each in found if (each["data"], each["form"], each["epsilon"]) == (name, form, epsilon)]
            if not mine:
                continue
            accuracies = [each["accuracy"] for each in mine]
            yield {
                "data": name, "form": form, "epsilon": epsilon if math.isfinite(epsilon) else "infinite",
                "accuracy": float(np.mean(accuracies)), "deviation": float(np.std(accuracies)), "repeats": len(mine),
                "floor": floors[place] if place < 3 else None, "peer": PEERS[name][place] if name in PEERS else None,
                "seconds": float(np.median([each["seconds"] for each in mine])),
            }  # fmt: skip


class Records:
    """Made-up records in blocks, as the solver sees them."""

    in_memory = True

    def __init__(self, rows: int, columns: int, outputs: int) -> None:
        generator = np.random.default_rng(0)
        self.labels = generator.integers(outputs, size=rows)
        centres = generator.normal(size=(outputs, columns))
        directions = np.column_stack(
            [(centres[self.labels] + generator.normal(size=(rows, columns))) / 3, np.ones(rows)]
        )
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        first, second = np.triu_indices(columns + 1)
        self.features = directions[:, first] * directions[:, second] * np.where(first == second, 1, math.sqrt(2))
        self.size, self.exact_records = self.features.shape[1], rows

    def __iter__(self) -> Any:
        for start in range(0, len(self.labels), 6000):
            yield self.features[start : start + 6000], self.labels[start : start + 6000]


def speed(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The solver alone, on one thread, at the ridge and noise of (1, 1e-5); a general quasi-Newton solver as a peer."""
    from scipy.optimize import minimize

    lines = []
    for rows, columns, outputs, limit in ((14_000, 16, 26, 2.0), (50_000, 9, 7, 5.0), (583, 9, 2, None)):
        records, loss, cost = Records(rows, columns, outputs), Softmax(outputs), Cost.of(1, DELTA)
        orders = (so_order(cost),)
        ridge = usual_ridge(loss, records.size, cost, "add-remove", orders)
        linear = linear_term(loss, records.size, ridge, cost, "add-remove", orders).draw(SeededNoise(0))
        objective = Objective(records, loss, ridge, linear)

        def value(
            flat: np.ndarray, objective: Objective = objective, shape: Any = linear.shape
        ) -> tuple[float, np.ndarray]:
            weights = flat.reshape(shape)
            return objective.value(weights), objective.gradient(weights).ravel()

        with threadpool_limits(1):
            ours = [timed(lambda o=objective, r=ridge: minimise(o, certificate(r))) for _ in range(arguments.repeats)]
            theirs = timed(lambda v=value, s=linear.size: minimize(v, np.zeros(s), jac=True, method="L-BFGS-B",
                                                                    options={"gtol": 1e-4, "maxcor": 20}))  # fmt: skip
        gradient = float(np.linalg.norm(objective.gradient(minimise(objective, certificate(ridge)))))
        lines.append({
            "what": f"{rows} x {records.size} x {outputs}", "seconds": float(np.median(ours)), "limit": limit,
            "gradient": gradient, "quasi_newton_to_1e-4": theirs,
        })  # fmt: skip
        print(lines[-1])
    return lines


def so_order(cost: Cost) -> Any:
    from sordino.cost import order_of

    return order_of(float(cost.rho), 1.0)


def timed(job: Callable[[], Any]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=("accuracy", "speed"))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--data", default=None, help="folder of the public data sets")
    parser.add_argument("--only", default=None, help="one data set")
    arguments = parser.parse_args()
    written = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept = [line for line in written.get("accuracy", []) if arguments.only not in (None, line["data"])]
    if arguments.job == "accuracy":
        written["accuracy"] = kept + accuracy(arguments)
    else:
        written["speed"] = speed(arguments)
    RESULTS.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
