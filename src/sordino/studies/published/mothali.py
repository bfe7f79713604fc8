"""Naive Bayes as Mothali ran it: clamped counts, corrected or not, with shares of zero; and the numbers of its tables.

V. Mothali, *Attacking Anonymization and Constructing Improved Differentially Private Classifiers*, MSc thesis, The
Pennsylvania State University, 2011. Its guarantee holds (counts, Laplace noise of scale |f|/ε). What is kept here is
its way from noisy counts to probabilities, for comparison: a cell that is zero by noise rules a class out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sordino.release import Law
from sordino.repair.clamping import clamp
from sordino.repair.empirical_bayes import empirical_bayes
from sordino.repair.james_stein import james_stein

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The correction of the clamped counts (Table 8.1, line 6), by the name in the thesis.
CORRECTIONS: dict[str, Callable[[Floats, Law], Floats]] = {
    "ML": clamp,
    "EB": lambda counts, law: empirical_bayes(counts, law, form="published"),
    "JS": lambda counts, law: james_stein(counts, law, form="published"),
}


def printed_probabilities(tables: Sequence[Floats], law: Law, estimator: str) -> tuple[Floats, list[Floats]]:
    """Logarithms of class probabilities and of cell probabilities given the class (Table 8.1); minus infinity for zero.

    The query vector is clamped, corrected as a whole, and clamped again. The thesis does not say which feature's counts
    are the class sizes of its equation 8.2; here it is the first one's, which comes nearest to its tables. A share of a
    class without records, 0/0, is zero.
    """
    vector = clamp(np.concatenate([table.reshape(*table.shape[:-2], -1) for table in tables], axis=-1))
    corrected = clamp(CORRECTIONS[estimator](vector, law))
    ends = np.cumsum([table.shape[-2] * table.shape[-1] for table in tables])
    parts = [
        part.reshape(table.shape) for part, table in zip(np.split(corrected, ends[:-1], axis=-1), tables, strict=True)
    ]
    return _log_shares(parts[0].sum(axis=-1)), [_log_shares(part) for part in parts]


def _log_shares(counts: Floats) -> Floats:
    sums = counts.sum(axis=-1, keepdims=True)
    shares = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


#: Tables 8.2 and 8.6: data, folds, ε: accuracy in % of ML, EB and JS. Nursery, 20 folds, ε = 0.1: the thesis prints
#: 89.45 for ML, where its neighbours are 88.51 and 88.45.
ACCURACY: dict[str, dict[int, dict[float, tuple[float, float, float]]]] = {
    "Adult": {
        5: {
            0.01: (74.63, 75.84, 74.65), 0.02: (76.87, 77.44, 76.87), 0.05: (78.30, 78.36, 78.30),
            0.1: (78.67, 78.72, 78.67), 0.5: (79.03, 79.05, 79.04), 1.0: (79.34, 79.35, 79.34),
        },
        10: {
            0.01: (75.22, 76.43, 75.22), 0.02: (77.04, 77.51, 77.05), 0.05: (77.93, 78.23, 77.95),
            0.1: (78.57, 78.62, 78.58), 0.5: (79.04, 79.10, 79.07), 1.0: (79.24, 79.25, 79.24),
        },
        20: {
            0.01: (75.11, 76.20, 75.12), 0.02: (77.59, 78.00, 77.60), 0.05: (78.35, 78.72, 78.36),
            0.1: (79.15, 79.20, 79.15), 0.5: (79.44, 79.45, 79.44), 1.0: (79.75, 79.76, 79.75),
        },
    },
    "Nursery": {
        5: {
            0.1: (87.76, 87.87, 87.76), 0.25: (89.69, 89.88, 89.80), 0.5: (90.07, 90.08, 90.07),
            0.75: (90.13, 90.14, 90.13), 1.0: (90.16, 90.16, 90.16),
        },
        10: {
            0.1: (87.91, 87.98, 87.92), 0.25: (89.49, 89.53, 89.49), 0.5: (89.76, 89.77, 89.76),
            0.75: (89.79, 89.80, 89.79), 1.0: (89.80, 89.80, 89.80),
        },
        20: {
            0.1: (88.45, 88.51, 88.45), 0.25: (89.95, 89.96, 89.95), 0.5: (90.24, 90.25, 90.24),
            0.75: (90.30, 90.31, 90.30), 1.0: (90.34, 90.34, 90.34),
        },
    },
}  # fmt: skip

#: Tables 8.3 to 8.5 and 8.7 to 8.9: how often, in %, EB was more, equally and less accurate than ML. The thesis prints
#: ε = 0.01 in the first row of the last three, and means 0.1.
DOMINANCE: dict[str, dict[int, dict[float, tuple[float, float, float]]]] = {
    "Adult": {
        5: {
            0.01: (69.6, 0.2, 30.2), 0.02: (68.8, 0.2, 31.0), 0.05: (56.6, 2.2, 41.2), 0.1: (70.8, 4.8, 24.4),
            0.5: (41.4, 37.2, 21.4), 1.0: (18.6, 72.2, 9.2),
        },
        10: {
            0.01: (71.4, 0.6, 28.0), 0.02: (66.9, 1.0, 32.1), 0.05: (61.4, 2.5, 36.1), 0.1: (66.1, 7.2, 26.7),
            0.5: (26.4, 59.1, 14.5), 1.0: (10.4, 85.4, 4.2),
        },
        20: {
            0.01: (71.2, 0.95, 27.85), 0.02: (63.1, 2.2, 34.7), 0.05: (57.8, 5.7, 36.5), 0.1: (58.7, 13.5, 27.8),
            0.5: (18.0, 73.7, 8.3), 1.0: (5.1, 92.0, 2.9),
        },
    },
    "Nursery": {
        5: {
            0.1: (65.9, 6.2, 27.9), 0.25: (36.7, 27.2, 36.1), 0.5: (17.1, 65.3, 17.6), 0.75: (8.6, 83.4, 8.0),
            1.0: (5.1, 90.2, 4.7),
        },
        10: {
            0.1: (54.3, 13.1, 32.6), 0.25: (24.7, 48.4, 26.9), 0.5: (8.8, 82.8, 8.4), 0.75: (3.8, 92.8, 3.4),
            1.0: (2.0, 96.1, 1.9),
        },
        20: {
            0.1: (46.2, 23.1, 30.7), 0.25: (15.5, 69.4, 15.1), 0.5: (4.5, 91.5, 4.0), 0.75: (1.9, 96.3, 1.8),
            1.0: (1.2, 97.9, 0.9),
        },
    },
}  # fmt: skip
