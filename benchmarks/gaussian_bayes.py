"""Accuracy and time of ``GaussianBayes``, ``PrivateClassifier`` and ``ThresholdRule``, into ``benchmarks/results/``.

    python benchmarks/gaussian_bayes.py accuracy --repeats 30 --processes 16 --data FOLDER
    python benchmarks/gaussian_bayes.py xi --repeats 20 --processes 16
    python benchmarks/gaussian_bayes.py speed

Every repeat is a stratified 70/30 split with fresh (seeded) noise, the same for every method. Class sizes and labels
are private; public are the box and the list of classes. The floors are the figures that this project set itself, the
best peer was measured with another library. Linear algebra runs on one thread per process.
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
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import sordino as so
from sordino.datasets.adult import load_adult
from sordino.datasets.breast_cancer_wisconsin import FEATURES, load_breast_cancer_wisconsin

RESULTS = Path(__file__).parent / "results"

METHODS: dict[str, Callable[..., Any]] = {
    "GaussianBayes": so.GaussianBayes,
    "PrivateClassifier": so.PrivateClassifier,
    "ThresholdRule": so.ThresholdRule,
}

EPSILONS = (0.1, 1.0, 10.0)
DELTAS = (0.0, 1e-6)

#: What the better of GaussianBayes and PrivateClassifier should reach, pure and (epsilon, 1e-6).
FLOORS: dict[tuple[str, str, float], tuple[float, float]] = {
    ("breast cancer", "observed", 0.1): (0.85, 0.85),
    ("breast cancer", "observed", 1.0): (0.915, 0.905),
    ("breast cancer", "observed", 10.0): (0.925, 0.945),
    ("digits", "observed", 1.0): (0.62, 0.855),
    ("digits", "observed", 10.0): (0.85, 0.905),
    ("wbc", "observed", 0.1): (0.89, 0.89),
    ("wbc", "observed", 1.0): (0.95, 0.945),
    ("adult", "wide", 0.1): (0.785, 0.795),
    ("adult", "wide", 1.0): (0.80, 0.805),
}

#: The best of naive Bayes, logistic regression and a forest of another library, on splits like these.
PEERS: dict[tuple[str, float], float] = {
    ("breast cancer", 0.1): 0.754,
    ("breast cancer", 1.0): 0.858,
    ("breast cancer", 10.0): 0.935,
    ("digits", 1.0): 0.419,
    ("digits", 10.0): 0.594,
    ("wbc", 0.1): 0.793,
    ("wbc", 1.0): 0.924,
    ("wbc", 10.0): 0.965,
    ("adult", 0.1): 0.781,
    ("adult", 1.0): 0.809,
    ("adult", 10.0): 0.809,
}

Table = tuple[np.ndarray, np.ndarray]
Box = tuple[np.ndarray, np.ndarray]


@cache
def table(name: str, folder: str | None) -> Table:
    """Rows and labels of one data set."""
    if name == "adult":
        frame = load_adult("train", folder)
        columns = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
        return np.column_stack([frame[each].to_numpy() for each in columns]).astype(float), frame["income"].to_numpy()
    if name == "wbc":
        frame = load_breast_cancer_wisconsin(folder)
        return np.column_stack([frame[each].to_numpy() for each in FEATURES]).astype(float), frame["class"].to_numpy()
    if name == "parkinsons":
        lines = (Path(folder or "") / "parkinsons" / "parkinsons.data").read_text().split()[1:]
        cells = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines if "," in line])
        return np.delete(cells, 16, axis=1), cells[:, 16].astype(int)
    loaders = {"breast cancer": load_breast_cancer, "digits": load_digits, "iris": load_iris, "wine": load_wine}
    rows, labels = loaders[name](return_X_y=True)
    return rows, labels


def box(name: str, kind: str, rows: np.ndarray) -> Box:
    """The table's own range, or what its definition says, or a round number at least twice the largest value."""
    if kind == "observed":
        return rows.min(axis=0), np.maximum(rows.max(axis=0), rows.min(axis=0) + 1e-9)
    defined = {"digits": (0, 16), "wbc": (1, 10)}
    if name in defined:
        low, high = defined[name]
        return np.full(rows.shape[1], low, float), np.full(rows.shape[1], high, float)
    if name == "adult":
        return np.array([0, 0, 1, 0, 0, 0.0]), np.array([120, 3e6, 16, 2e5, 1e4, 168])
    largest = 2 * np.abs(rows).max(axis=0)
    powers = 10.0 ** np.floor(np.log10(largest))
    steps = np.select([largest <= powers, largest <= 2 * powers, largest <= 5 * powers], [1, 2, 5], 10)
    high = steps * powers
    return np.where(rows.min(axis=0) < 0, -high, 0.0), high


def one_split(task: tuple[str, str, int, str | None]) -> list[dict[str, Any]]:
    """All methods on one split of one data set."""
    name, kind, repeat, folder = task
    rows, labels = table(name, folder)
    low, high = box(name, kind, rows)
    classes = np.unique(labels).tolist()
    train, test, known, wanted = train_test_split(rows, labels, test_size=0.3, stratify=labels, random_state=repeat)
    values, sizes = np.unique(known, return_counts=True)
    majority = float(np.mean(wanted == values[np.argmax(sizes)]))
    found = []
    for epsilon in EPSILONS:
        for delta in DELTAS:
            for method, make in METHODS.items():
                start = time.perf_counter()
                model = make(epsilon, delta, bounds=(low, high), classes=classes, random_state=1000 + repeat)
                model.fit(train, known)
                seconds = time.perf_counter() - start
                accuracy = float(np.mean(model.predict(test) == wanted))
                what = getattr(model, "chosen_", getattr(model, "structure_", ""))
                facts = {"data": name, "box": kind, "epsilon": epsilon, "delta": delta, "method": method}
                found.append({**facts, "accuracy": accuracy, "majority": majority, "seconds": seconds, "what": what})
    return found


def summary(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Mean and spread over the repeats, beside the floors and the best peer."""
    keys = sorted({(each["data"], each["box"], each["epsilon"], each["delta"], each["method"]) for each in found})
    for key in keys:
        data, kind, epsilon, delta, method = key
        mine = [e for e in found if (e["data"], e["box"], e["epsilon"], e["delta"], e["method"]) == key]
        scores = np.array([each["accuracy"] for each in mine])
        whats = [each["what"] for each in mine]
        floors = FLOORS.get((data, kind, epsilon))
        yield {
            "data": data,
            "box": kind,
            "epsilon": epsilon,
            "delta": delta,
            "method": method,
            "repeats": len(scores),
            "accuracy": round(float(scores.mean()), 4),
            "spread": round(float(scores.std(ddof=1)) if len(scores) > 1 else 0.0, 4),
            "floor": None if floors is None else floors[delta > 0],
            "best_peer": PEERS.get((data, epsilon)),
            "majority": round(float(np.mean([each["majority"] for each in mine])), 4),
            "seconds": round(float(np.mean([each["seconds"] for each in mine])), 3),
            "chosen": max(set(whats), key=whats.count),
        }


def spread_out(work: Callable[[Any], Any], tasks: list[Any], processes: int) -> Iterator[Any]:
    """Results of the tasks, in order."""
    if processes == 1:
        yield from map(work, tasks)
        return
    with ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        yield from pool.map(work, tasks)


def accuracy(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The accuracy table."""
    tasks = [
        (name, kind, repeat, arguments.data)
        for name in arguments.sets.split(",")
        for kind in arguments.boxes.split(",")
        for repeat in range(arguments.repeats)
    ]
    found = [each for split in spread_out(one_split, tasks, arguments.processes) for each in split]
    return list(summary(found))


# --- the five-dimensional mixture of the paper -----------------------------------------------------------------------

XI_GRID = ((0.1, 500), (0.1, 8000), (0.1, 32000), (1.0, 2000), (1.0, 8000))
XI_FLOORS = {(0.1, 500): (0.06, 0.06), (0.1, 32000): (0.016, 0.014), (1.0, 8000): (0.011, 0.008)}


def one_mixture(task: tuple[float, int, float, int]) -> list[dict[str, Any]]:
    """Our classifiers on one drawn table of the paper's two Gaussians."""
    from sordino.studies.xi_mixture import FIVE, drawn, six_sigma_box

    epsilon, rows, delta, repeat = task
    generator = np.random.default_rng([repeat, rows])
    train, known = drawn(FIVE, rows, generator)
    test, wanted = drawn(FIVE, 50_000, generator)
    found = []
    for method in ("GaussianBayes", "PrivateClassifier"):
        for kind, bounds in (("six sigma", six_sigma_box(FIVE)), ("wide", (-50, 50))):
            model = METHODS[method](epsilon, delta, bounds=bounds, classes=[0, 1], random_state=repeat)
            error = float(np.mean(model.fit(train, known).predict(test) != wanted))
            facts = {"epsilon": epsilon, "rows": rows, "delta": delta, "method": method, "box": kind}
            found.append({**facts, "error": error})
    return found


def xi(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Test errors on the mixture."""
    tasks = [(e, n, d, repeat) for e, n in XI_GRID for d in DELTAS for repeat in range(arguments.repeats)]
    found = [each for one in spread_out(one_mixture, tasks, arguments.processes) for each in one]
    listed = []
    for key in dict.fromkeys((e["epsilon"], e["rows"], e["delta"], e["method"], e["box"]) for e in found):
        epsilon, rows, delta, method, kind = key
        errors = [e["error"] for e in found if (e["epsilon"], e["rows"], e["delta"], e["method"], e["box"]) == key]
        floors = XI_FLOORS.get((epsilon, rows)) if kind == "six sigma" else None
        listed.append(
            {
                "epsilon": epsilon,
                "rows": rows,
                "delta": delta,
                "method": method,
                "box": kind,
                "repeats": len(errors),
                "error": round(float(np.mean(errors)), 4),
                "spread": round(float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0, 4),
                "at_most": None if floors is None else floors[delta > 0],
            }
        )
    return listed


# --- time ----------------------------------------------------------------------------------------------------------


def speed(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Seconds of a fit, the best of several, beside scikit-learn's quadratic discriminant on the same array."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, arguments.rows)
    rows = generator.normal(size=(arguments.rows, 20)) + labels[:, None]
    ours = {"bounds": (-10, 10), "classes": [0, 1, 2], "random_state": 0}
    made: dict[str, Callable[[], Any]] = {
        "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis,
        "GaussianBayes, declared ranges": lambda: so.GaussianBayes(1.0, ranges="declared", **ours),
        "GaussianBayes, private ranges": lambda: so.GaussianBayes(1.0, **ours),
        "PrivateClassifier": lambda: so.PrivateClassifier(1.0, **ours),
    }
    best = dict.fromkeys(made, math.inf)
    for _ in range(arguments.repeats):
        for name, make in made.items():
            start = time.perf_counter()
            make().fit(rows, labels)
            best[name] = min(best[name], time.perf_counter() - start)
    peer = best["QuadraticDiscriminantAnalysis"]
    return [
        {"method": name, "rows": len(rows), "seconds": round(seconds, 3), "ratio": round(seconds / peer, 2)}
        for name, seconds in best.items()
    ]


WORK: dict[str, Callable[[argparse.Namespace], list[dict[str, Any]]]] = {"accuracy": accuracy, "xi": xi, "speed": speed}


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=WORK)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--data", default=None, help="folder of the public data sets; else they are downloaded")
    parser.add_argument("--sets", default="breast cancer,digits,wbc,adult")
    parser.add_argument("--boxes", default="observed,wide")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.what == "speed":
        listed = speed(arguments)  # as a user runs it
    else:
        with threadpool_limits(1):
            listed = WORK[arguments.what](arguments)
    for each in listed:
        print("  ".join(str(value) for value in each.values()))
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"what": arguments.what, "repeats": arguments.repeats, "results": listed}, indent=1)
    (arguments.output / f"gaussian_bayes_{arguments.what}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
