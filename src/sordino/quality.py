"""How near a synthetic table is to the real one: distances, correlations, and what learners learn from it.

NOT private: every number here is computed from real rows, without noise. It is for the one who holds them anyway.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sordino.domain import Category, Domain, Real
from sordino.errors import ParameterError
from sordino.table.clipping import ClippedBatch
from sordino.table.opening import check_domain, open_source

Numbers = np.ndarray[Any, np.dtype[Any]]

#: A column of rows: clipped numbers with NaN, or codes with -1, for a missing cell.
Columns = Mapping[str, Numbers]

#: A real column is compared in this many cells that hold equally many real rows.
CELLS = 10

#: Rows that learners are trained on, at most.
_LARGEST_TRAINING = 50_000

Measure = Literal["AUC", "accuracy", "R²"]


@dataclass(frozen=True)
class Distances:
    """Mean total variation of all one-way and all two-way tables, and mean error of rank correlations."""

    one_way: float
    two_way: float
    correlation: float
    columns: Mapping[str, float]


@dataclass(frozen=True)
class Lesson:
    """What one learner scores on real rows."""

    learner: str
    measure: Measure
    score: float


def rows_of(data: Any, domain: Domain, columns: Sequence[str] | None = None) -> Columns:
    """All rows of a table in memory, clipped to the domain."""
    source = open_source(data, columns)
    check_domain(source, domain)
    pieces: dict[str, list[Numbers]] = {name: [] for name in domain.columns}
    for unread in source.blocks(list(domain.columns)):
        batch = ClippedBatch(domain, unread())
        for name, declared in domain.columns.items():
            pieces[name].append(batch.numbers(name) if isinstance(declared, Real) else batch.codes(name))
    return {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in pieces.items()}


def distances(real: Any, synthetic: Any, domain: Domain) -> Distances:
    """Distances of a synthetic table from the real one, both in cells that hold equally many real rows.

    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]})
    >>> distances(table, table, Domain({"a": Real(0, 5), "b": Real(0, 5)})).two_way
    0.0
    """
    ours, theirs = _as_columns(real, domain), _as_columns(synthetic, domain)
    if not all(len(next(iter(each.values()))) for each in (ours, theirs)):
        raise ParameterError("quality: both tables need at least one row.")
    codes = {name: _codes(domain, name, ours[name], theirs[name]) for name in domain.columns}
    single = {name: _apart(mine, yours, cells) for name, (mine, yours, cells) in codes.items()}
    pairs = [_pair_apart(codes[one], codes[other]) for one, other in itertools.combinations(codes, 2)]
    return Distances(
        one_way=float(np.mean(list(single.values()))),
        two_way=float(np.mean(pairs)) if pairs else float(np.mean(list(single.values()))),
        correlation=_correlation_error(ours, theirs, domain),
        columns=single,
    )


def lessons(synthetic: Any, test: Any, domain: Domain, target: str) -> list[Lesson]:
    """A linear model and boosted trees, trained on synthetic rows, scored on real ones that nothing was fitted on."""
    train, scored = (_features(_as_columns(each, domain), domain, target) for each in (synthetic, test))
    if isinstance(domain[target], Real):
        learners: dict[str, Any] = {"ridge": Ridge(), "boosted trees": HistGradientBoostingRegressor(random_state=0)}
    else:
        boosting = HistGradientBoostingClassifier(random_state=0, early_stopping=False)
        learners = {"logistic": LogisticRegression(max_iter=300), "boosted trees": boosting}
    return [Lesson(name, *_score(learner, train, scored, domain, target)) for name, learner in learners.items()]


def halves(columns: Columns) -> tuple[Columns, Columns]:
    """Two random halves of the rows, with a fixed seed."""
    order = np.random.default_rng(0).permutation(len(next(iter(columns.values()))))
    middle = len(order) // 2
    first, second = (
        {name: values[part] for name, values in columns.items()} for part in (order[:middle], order[middle:])
    )
    return first, second


def shuffled(columns: Columns) -> Columns:
    """Every column shuffled by itself: right in each column, and without any dependence."""
    generator = np.random.default_rng(0)
    return {name: generator.permutation(values) for name, values in columns.items()}


def _as_columns(table: Any, domain: Domain) -> Columns:
    return table if isinstance(table, Mapping) else rows_of(table, domain)


def _codes(domain: Domain, name: str, real: Numbers, synthetic: Numbers) -> tuple[Numbers, Numbers, int]:
    """Cells of either table, the last one for missing cells, and how many cells there are."""
    declared = domain[name]
    if isinstance(declared, Category):
        size = len(declared)
        return np.where(real < 0, size, real), np.where(synthetic < 0, size, synthetic), size + 1
    present = real[~np.isnan(real)]
    edges = np.unique(np.quantile(present, np.linspace(0, 1, CELLS + 1))) if len(present) else np.zeros(1)
    size = max(len(edges) - 1, 1)

    def placed(values: Numbers) -> Numbers:
        cells = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, size - 1)
        return np.where(np.isnan(values), size, cells)

    return placed(real), placed(synthetic), size + 1


def _apart(real: Numbers, synthetic: Numbers, cells: int) -> float:
    shares = [np.bincount(each, minlength=cells) / len(each) for each in (real, synthetic)]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def _pair_apart(one: tuple[Numbers, Numbers, int], other: tuple[Numbers, Numbers, int]) -> float:
    cells = one[2] * other[2]
    return _apart(one[0] * other[2] + other[0], one[1] * other[2] + other[1], cells)


def _correlation_error(real: Columns, synthetic: Columns, domain: Domain) -> float:
    """Mean difference of the rank correlations of real columns; 0 where there are fewer than two."""
    names = [name for name, declared in domain.columns.items() if isinstance(declared, Real)]
    pairs = list(itertools.combinations(names, 2))
    errors = [abs(_rank_correlation(real, *pair) - _rank_correlation(synthetic, *pair)) for pair in pairs]
    return float(np.mean(errors)) if errors else 0.0


def _rank_correlation(columns: Columns, one: str, other: str) -> float:
    whole = ~(np.isnan(columns[one]) | np.isnan(columns[other]))
    ranks = [rankdata(columns[name][whole]) for name in (one, other)]
    if min((np.ptp(each) if len(each) else 0.0) for each in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks)[0, 1])


def _features(columns: Columns, domain: Domain, target: str) -> tuple[Numbers, Numbers]:
    """Features and target of the rows that have one: numbers, and one column per category."""
    labels = columns[target]
    kept = np.flatnonzero(~np.isnan(labels) if isinstance(domain[target], Real) else labels >= 0)[:_LARGEST_TRAINING]
    parts = []
    for name, declared in domain.columns.items():
        if name == target:
            continue
        values = columns[name][kept]
        if isinstance(declared, Real):
            parts.append(np.where(np.isnan(values), declared.middle, values)[:, np.newaxis])
        else:
            parts.append(np.eye(len(declared) + 1)[values][:, :-1])  # a missing cell, -1, is none of them
    return np.hstack(parts) if parts else np.zeros((len(kept), 1)), labels[kept]


def _score(
    learner: Any, train: tuple[Numbers, Numbers], test: tuple[Numbers, Numbers], domain: Domain, target: str
) -> tuple[Measure, float]:
    """A learner that sees a single class says that one."""
    declared = domain[target]
    measure: Measure = "R²" if isinstance(declared, Real) else "AUC" if len(declared) == 2 else "accuracy"
    if len(train[1]) == 0 or len(test[1]) == 0:
        return measure, float("nan")
    if measure != "R²" and len(np.unique(train[1])) < 2:
        return measure, 0.5 if measure == "AUC" else float(np.mean(test[1] == train[1][0]))
    model = make_pipeline(StandardScaler(), learner).fit(*train)
    if measure == "AUC" and len(np.unique(test[1])) == 2:
        return measure, float(roc_auc_score(test[1], model.predict_proba(test[0])[:, 1]))
    return ("accuracy" if measure == "AUC" else measure), float(model.score(*test))
