"""Probabilities for a naive Bayes classifier, from noisy counts of cells by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from sordino.errors import ParameterError
from sordino.release import Law
from sordino.repair.clamping import clamp
from sordino.repair.consistency import agreed_total, consistent
from sordino.repair.empirical_bayes import empirical_bayes
from sordino.repair.james_stein import james_stein
from sordino.repair.noisy_counts import Floats
from sordino.repair.npmle import npmle
from sordino.repair.smoothing import smoothed
from sordino.repair.spike_exponential import spike_exponential

#: One table per feature. The last two axes are classes and cells; axes before them are repetitions.
Tables = Sequence[Floats]


def _each_smoothed(tables: Tables, law: Law) -> list[Floats]:
    return [smoothed(table, law) for table in tables]


def _agreeing_and_smoothed(tables: Tables, law: Law) -> list[Floats]:
    return _each_smoothed(consistent(tables, law), law)


def _as_one_vector(estimator: Callable[[Any, Law], Floats], tables: Tables, law: Law) -> list[Floats]:
    """All cells of all tables estimated together, clamped, and one more in each: Laplace's rule."""
    counts = np.concatenate([table.reshape(*table.shape[:-2], -1) for table in tables], axis=-1)
    ends = np.cumsum([table.shape[-2] * table.shape[-1] for table in tables])
    parts = np.split(clamp(estimator(counts, law)) + 1.0, ends[:-1], axis=-1)
    return [part.reshape(table.shape) for part, table in zip(parts, tables, strict=True)]


#: How counts are estimated, by name. All but the first two are for comparison: they leave a cell at the mercy of noise.
CLASS_ESTIMATORS: dict[str, Callable[[Tables, Law], list[Floats]]] = {
    "smoothed": _each_smoothed,
    "consistent": _agreeing_and_smoothed,
    "clamp": partial(_as_one_vector, clamp),
    "james_stein": partial(_as_one_vector, james_stein),
    "empirical_bayes": partial(_as_one_vector, empirical_bayes),
    "spike_exponential": partial(_as_one_vector, spike_exponential),
    "npmle": partial(_as_one_vector, npmle),
}


def class_estimator(name: Any) -> Callable[[Tables, Law], list[Floats]]:
    """An estimator of all tables by its name."""
    if not isinstance(name, str) or name not in CLASS_ESTIMATORS:
        raise ParameterError(f"estimator: must be one of {', '.join(CLASS_ESTIMATORS)}. Got {name!r}.")
    return CLASS_ESTIMATORS[name]


def log_probabilities(tables: Tables, law: Law, estimator: str = "smoothed") -> tuple[Floats, list[Floats]]:
    """Logarithms of the probability of each class, and of each cell given the class.

    The tables of all features count the same people, so that the class sizes are their agreed totals, plus one: a class
    is never impossible. The noise in them is small beside that of the cells, and is not smoothed.
    """
    priors = agreed_total(tables) + 1.0
    estimated = class_estimator(estimator)(tables, law)
    return _log_shares(priors), [_log_shares(counts) for counts in estimated]


def _log_shares(counts: Floats) -> Floats:
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True)))
