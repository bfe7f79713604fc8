"""Everything that asks a private table, as callables: one line registers a query, an estimator, a synthesiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sordino as so

Subject = Callable[[so.PrivateTable], Any]

COLUMNS = {"a": so.Real(0, 10), "b": so.Real(-5, 5), "c": so.Category(["x", "y", "z"])}

DOMAINS = {
    "add-remove": so.Domain(COLUMNS),
    "substitute": so.Domain(COLUMNS, neighbours="substitute", rows=10),
}

#: Asked under both relations; candidates are few so that replays are quick.
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
    "histograms": lambda table: table.histograms(["a", "b"], by="c", bins=4, epsilon=1, delta=1e-6),
    "median": lambda table: table.median("a", epsilon=1, candidates=32),
    "quantile, delta": lambda table: table.quantile("b", 0.9, epsilon=1, delta=1e-6, candidates=32),
}

#: Asked under one relation only.
ONLY: dict[str, dict[str, Subject]] = {
    "add-remove": {"count": lambda table: table.count(epsilon=1)},
    "substitute": {"direct median": lambda table: table.median("a", epsilon=1, method="direct")},
}


def subjects(neighbours: str) -> dict[str, Subject]:
    """All that can be asked under one relation."""
    return {**QUERIES, **ONLY[neighbours]}


EVERY = [(neighbours, name) for neighbours in DOMAINS for name in subjects(neighbours)]
