"""The jobs: data, splits, bounds and budget, written once for every library; and how an answer is scored.

A job is a folder of arrays and a JSON of public facts. A worker reads it, never this module, so that a peer's
environment needs nothing of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
Score = Callable[[Arrays, Mapping[str, Any]], dict[str, float]]


@dataclass(frozen=True)
class Job:
    """What is asked of every library: arrays, public facts, and the score of an answer; ``better`` is less or more.

    Scores nearer to each other than ``level``, relative to the best one, are level: these repeats tell no more.
    """

    name: str
    title: str
    measure: str
    better: str
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]
    score: Callable[[dict[str, np.ndarray]], float]
    level: float = 0.01

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "arrays.npz", **self.arrays)
        (folder / "facts.json").write_text(json.dumps(self.facts))


def mean_job(epsilon: float) -> Job:
    """One mean of 10,000 skewed values in [0, 100], asked 200 times."""
    values = 100 * np.random.default_rng(0).beta(2, 5, size=10_000)
    truth = float(values.mean())
    return Job(
        f"mean-{epsilon:g}", f"mean of 10,000 values in [0, 100], ε = {epsilon:g}", "root mean square error", "less",
        {"values": values}, {"kind": "mean", "low": 0.0, "high": 100.0, "epsilon": epsilon, "repeats": 200},
        lambda answer: float(np.sqrt(np.mean((answer["answers"] - truth) ** 2))), 0.15,
    )  # fmt: skip


def counts_job(epsilon: float) -> Job:
    """Counts of 40 public categories among 30,000 records, asked 50 times."""
    generator = np.random.default_rng(1)
    weights = 1 / np.arange(1, 41) ** 1.5
    codes = generator.choice(40, size=30_000, p=weights / weights.sum())
    truth = np.bincount(codes, minlength=40)
    return Job(
        f"counts-{epsilon:g}", f"counts of 40 categories, 30,000 records, ε = {epsilon:g}",
        "mean absolute error", "less",
        {"codes": codes}, {"kind": "counts", "cells": 40, "epsilon": epsilon, "repeats": 50},
        lambda answer: float(np.mean(np.abs(answer["answers"] - truth))), 0.06,
    )  # fmt: skip


def classify_job(name: str, title: str, X: np.ndarray, y: np.ndarray, low: Any, high: Any, epsilon: float) -> Job:
    """Five 70/30 splits, the same for all; the box and the classes are public."""
    generator = np.random.default_rng(2)
    orders = np.array([generator.permutation(len(X)) for _ in range(5)])
    cut = int(0.7 * len(X))

    def score(answer: dict[str, np.ndarray]) -> float:
        return float(np.mean([
            np.mean(predicted == y[order[cut:]]) for predicted, order in zip(answer["predictions"], orders, strict=True)
        ]))  # fmt: skip

    facts = {"kind": "classify", "low": np.asarray(low, float).tolist(), "high": np.asarray(high, float).tolist(),
             "classes": np.unique(y).tolist(), "cut": cut, "epsilon": epsilon}  # fmt: skip
    return Job(
        f"{name}-{epsilon:g}", f"{title}, ε = {epsilon:g}", "accuracy on test rows", "more",
        {"X": X, "y": y, "orders": orders}, facts, score,
    )  # fmt: skip


def breast_cancer_job(epsilon: float) -> Job:
    """569 rows, 30 columns; the box is what peers are usually given: the table's own ends, a peek."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return classify_job("breast-cancer", "breast cancer, 569 × 30", X, y, X.min(axis=0), X.max(axis=0), epsilon)


#: A wide public box around Adult's numeric columns.
ADULT_BOX = {"age": (0, 120), "fnlwgt": (0, 3e6), "education-num": (1, 16), "capital-gain": (0, 2e5),
             "capital-loss": (0, 1e4), "hours-per-week": (0, 168)}  # fmt: skip


def adult_job(epsilon: float, data: Path | None) -> Job:
    """Adult's six numeric columns in a wide public box."""
    train, _, columns = adult_table(data)
    rows = coded(train, columns)
    numeric = [place for place, name in enumerate(columns) if name in ADULT_BOX]
    low, high = zip(*ADULT_BOX.values(), strict=True)
    X, y = rows[:, numeric], rows[:, -1].astype(int)
    return classify_job("adult", "Adult, 30,162 × 6", X, y, low, high, epsilon)


def cluster_job(epsilon: float) -> Job:
    """Four Gaussian blobs in eight dimensions, in the box [-10, 10]."""
    from sklearn.datasets import make_blobs
    from sklearn.metrics import adjusted_rand_score

    X, labels = make_blobs(
        n_samples=10_000, n_features=8, centers=4, cluster_std=1.0, center_box=(-6, 6), random_state=3
    )
    return Job(
        f"cluster-{epsilon:g}", f"four blobs, 10,000 × 8, ε = {epsilon:g}", "adjusted Rand index", "more",
        {"X": np.clip(X, -10, 10)},
        {"kind": "cluster", "low": -10.0, "high": 10.0, "clusters": 4, "epsilon": epsilon, "repeats": 3},
        lambda answer: float(np.mean([adjusted_rand_score(labels, each) for each in answer["labels"]])),
    )  # fmt: skip


def synthesize_job(epsilon: float, data: Path | None) -> Job:
    """Adult's 15 columns as codes and numbers; scored by two-way distances and by learning from the synthetic rows."""
    train, test, columns = adult_table(data)
    real, held_out = coded(train, columns), coded(test, columns)
    edges = [None if facts["values"] else np.unique(np.quantile(real[:, place], np.linspace(0, 1, 11)[1:-1]))
             for place, facts in enumerate(columns.values())]  # fmt: skip

    def score(answer: dict[str, np.ndarray]) -> float:
        return float(np.mean([two_way_distance(real, each, edges) for each in answer["tables"]]))

    return Job(
        f"synthesize-{epsilon:g}", f"synthetic Adult, 30,162 × 15, ε = {epsilon:g}", "two-way total variation", "less",
        {"rows": real, "test": held_out},
        {"kind": "synthesize", "columns": columns, "target": "income", "epsilon": epsilon, "delta": 1e-6, "repeats": 1},
        score,
    )  # fmt: skip


def two_way_distance(real: np.ndarray, made: np.ndarray, edges: list[Any]) -> float:
    """Mean total variation over all pairs of columns; numbers in ten cells of equal mass in the REAL rows."""

    def cells(table: np.ndarray) -> list[np.ndarray]:
        return [table[:, place].astype(int) if cut is None else np.searchsorted(cut, table[:, place], side="right")
                for place, cut in enumerate(edges)]  # fmt: skip

    first, second = cells(real), cells(made)
    gaps = []
    for one in range(len(edges)):
        for other in range(one):
            width = 1 + max(first[other].max(), second[other].max())
            size = width * (1 + max(first[one].max(), second[one].max()))
            shares = [
                np.bincount(each[one] * width + each[other], minlength=size) / len(each[one])
                for each in (first, second)
            ]
            gaps.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(gaps))


def adult_table(data: Path | None) -> tuple[Any, Any, dict[str, Any]]:
    """Adult's complete training and test rows, and what its code book says of each column."""
    from sordino.datasets.adult import COLUMNS, load_adult
    from sordino.domain import Category

    columns: dict[str, Any] = {}
    for name, declared in COLUMNS.items():
        if isinstance(declared, Category):
            columns[name] = {"values": list(declared.values)}
        else:
            columns[name] = {"values": [], "low": declared.low, "high": declared.high, "integer": declared.integer}
    return load_adult("train", data), load_adult("test", data), columns


def coded(table: Any, columns: Mapping[str, Any]) -> np.ndarray:
    """A table as numbers: a category is its place in the public list."""
    drawn = []
    for name, facts in columns.items():
        cells = table[name].to_pylist()
        places = {value: place for place, value in enumerate(facts["values"])}
        drawn.append([float(places[cell]) for cell in cells] if places else [float(cell) for cell in cells])
    return np.column_stack(drawn)
