"""Callables of diffprivlib, each with two made-up tables that lie inside the bounds that it is given.

Run in diffprivlib's own environment by ``verdicts.py``, or by hand with ``sordino audit peer``. Neighbours differ in
one replaced record, since the library takes the number of records as public. Each function claims ε = 1 and returns
what its users can look at, or a number made of that; each run has a seed of its own. The pairs were found by reading
the library's code.
"""

from __future__ import annotations

from typing import Any

import diffprivlib.models as models
import diffprivlib.tools as tools
import numpy as np

Table = dict[str, list[float]]
Pair = tuple[Table, Table]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _column(table: Table) -> Any:
    return np.array(table["X"])[:, None]


# --- linear regression -------------------------------------------------------------------------------------------


def one_among_twenty() -> Pair:
    """One record at (1, 1) among nineteen at zero, and twenty at zero."""
    return {"X": [1.0] + [0.0] * 19, "y": [1.0] + [0.0] * 19}, {"X": [0.0] * 20, "y": [0.0] * 20}


def linear_regression(table: Table, rng: np.random.Generator) -> Any:
    """As it is, with bounds."""
    model = models.LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), random_state=_seed(rng))
    return model.fit(_column(table), np.array(table["y"])).coef_


def one_of_two() -> Pair:
    """The same with two records."""
    return {"X": [1.0, 0.0], "y": [1.0, 0.0]}, {"X": [0.0, 0.0], "y": [0.0, 0.0]}


def linear_regression_without_intercept(table: Table, rng: np.random.Generator) -> Any:
    """Its second moments carry no noise."""
    model = models.LinearRegression(
        epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False, random_state=_seed(rng)
    )
    return model.fit(_column(table), np.array(table["y"])).coef_


# --- logistic regression -----------------------------------------------------------------------------------------


def _logistic(table: Table, rng: np.random.Generator, **options: Any) -> list[float]:
    """The slope, its size (a record far out bends the loss where the slope is small), and the intercept."""
    model = models.LogisticRegression(epsilon=1.0, random_state=_seed(rng), **options)
    model.fit(_column(table), np.array(table["y"]))
    slope = float(model.coef_.ravel()[0])
    return [slope, abs(slope), *np.ravel(model.intercept_).tolist()]


def _one_at(place: float) -> Pair:
    return {"X": [place, 0.0, 0.0], "y": [0, 0, 1]}, {"X": [0.0, 0.0, 0.0], "y": [0, 0, 1]}


def one_at_1() -> Pair:
    """One of three records at its norm, and at zero."""
    return _one_at(1.0)


def one_at_12() -> Pair:
    """The same, for the norm of the library's own example."""
    return _one_at(12.0)


def one_at_50() -> Pair:
    """The same, farther out."""
    return _one_at(50.0)


def logistic_of_norm_50(table: Table, rng: np.random.Generator) -> list[float]:
    """All else by default."""
    return _logistic(table, rng, data_norm=50.0)


def logistic_of_norm_50_solved(table: Table, rng: np.random.Generator) -> list[float]:
    """Without an intercept, and solved to the end."""
    return _logistic(table, rng, data_norm=50.0, fit_intercept=False, tol=1e-9)


def logistic_of_norm_12(table: Table, rng: np.random.Generator) -> list[float]:
    """Without an intercept."""
    return _logistic(table, rng, data_norm=12.0, fit_intercept=False)


def logistic_of_norm_1(table: Table, rng: np.random.Generator) -> list[float]:
    """With an intercept."""
    return _logistic(table, rng, data_norm=1.0)


def logistic_of_norm_1_through_zero(table: Table, rng: np.random.Generator) -> list[float]:
    """Without one."""
    return _logistic(table, rng, data_norm=1.0, fit_intercept=False)


# --- Gaussian naive Bayes ----------------------------------------------------------------------------------------

_LABELS = [0] * 10 + [1] * 10
_ANOTHER = [1] + [0] * 9 + [1] * 10


def _bayes(table: Table, rng: np.random.Generator, **options: Any) -> Any:
    model = models.GaussianNB(epsilon=1.0, random_state=_seed(rng), **options)
    return model.fit(_column(table), np.array(table["y"]))


def _numbers(model: Any) -> list[float]:
    return [*model.class_prior_.tolist(), *model.theta_.ravel().tolist(), *model.var_.ravel().tolist()]


def another_label() -> Pair:
    """One label changed; all values in the middle of bounds that lie far from zero, as years do."""
    return {"X": [1960.0] * 20, "y": _LABELS}, {"X": [1960.0] * 20, "y": _ANOTHER}


def bayes_of_years(table: Table, rng: np.random.Generator) -> list[float]:
    """A class's noisy sum lies inside its bounds only where the noisy count is the right one."""
    model = _bayes(table, rng, bounds=(1900, 2020))
    inside = float(1900 < model.theta_[0, 0] < 2020)
    return [inside, inside * model.class_prior_[0], *_numbers(model)]


def another_label_of_shares() -> Pair:
    """One label changed, of values that fill bounds from 0 to 1."""
    values = [1.0] * 10 + [0.0] * 10
    return {"X": values, "y": _LABELS}, {"X": values, "y": _ANOTHER}


def another_share() -> Pair:
    """One value changed from end to end."""
    return {"X": [1.0] * 10 + [0.0] * 10, "y": _LABELS}, {"X": [0.0] + [1.0] * 9 + [0.0] * 10, "y": _LABELS}


def bayes_of_shares(table: Table, rng: np.random.Generator) -> list[float]:
    """Within bounds from 0 to 1."""
    return _numbers(_bayes(table, rng, bounds=(0, 1)))


def a_class_of_one() -> Pair:
    """A class that one record has, and that nobody has."""
    return {"X": [0.5] * 20, "y": [2] + [0] * 9 + [1] * 10}, {"X": [0.5] * 20, "y": _LABELS}


def bayes_classes(table: Table, rng: np.random.Generator) -> int:
    """How many classes it lists."""
    return len(_bayes(table, rng, bounds=(0, 1)).classes_)


def one_value() -> Pair:
    """One value apart from all others, and none."""
    return {"X": [1.0] + [0.0] * 19, "y": _LABELS}, {"X": [0.0] * 20, "y": _LABELS}


def bayes_without_bounds(table: Table, rng: np.random.Generator) -> Any:
    """Bounds read from the rows: it warns."""
    return _bayes(table, rng).var_


# --- k-means, and a mean -----------------------------------------------------------------------------------------


def one_between() -> Pair:
    """One of twenty records between two groups, or in one of them."""
    values = [0.0] * 10 + [1.0] * 9
    return {"X": [*values, 1.0]}, {"X": [*values, 0.5]}


def _kmeans(table: Table, rng: np.random.Generator, bounds: tuple[float, float]) -> Any:
    return models.KMeans(n_clusters=2, epsilon=1.0, bounds=bounds, random_state=_seed(rng)).fit(_column(table))


def kmeans_inertia(table: Table, rng: np.random.Generator) -> bool:
    """Whether ``inertia_`` is the first table's sum of squares about the released centres."""
    model = _kmeans(table, rng, (0, 1))
    squares = (_column(one_between()[0]) - model.cluster_centers_.ravel()) ** 2
    return bool(abs(squares.min(axis=1).sum() - model.inertia_) < 1e-9)


def one_across() -> Pair:
    """One record at the other end of bounds that lie far from zero."""
    values = [1900.0] * 10 + [2020.0] * 9
    return {"X": [*values, 2020.0]}, {"X": [*values, 1900.0]}


def kmeans_centres(table: Table, rng: np.random.Generator) -> list[float]:
    """The released centres in order."""
    centres: list[float] = np.sort(_kmeans(table, rng, (1900, 2020)).cluster_centers_.ravel()).tolist()
    return centres


def one_of_ten() -> Pair:
    """One value from end to end."""
    return {"X": [1.0] + [0.0] * 9}, {"X": [0.0] * 10}


def mean(table: Table, rng: np.random.Generator) -> float:
    """``diffprivlib.tools.mean``."""
    return float(tools.mean(np.array(table["X"]), epsilon=1.0, bounds=(0, 1), random_state=_seed(rng)))
