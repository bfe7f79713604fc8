"""Xi, Kantarcioglu and Inan (2011): what they release of a mixture, and their sensitivities beside the exact ones.

NOT PRIVATE at the stated ε where labels are private: class sizes go out as they are. The covariance itself gets
three times the noise that it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


def printed_entry_sensitivity(rows: int) -> float:
    """Theorems 3.5 to 3.7, upper end: three times (1/n - 1/n²), for values in [0, 1]."""
    return 3 * (1 / rows - 1 / rows**2)


def exact_entry_sensitivity(rows: int) -> float:
    """(n - 1) / n², attained by every entry at once."""
    return (rows - 1) / rows**2


def released_class_sizes(labels: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """The sizes of two classes, behind the priors and the scales of the noise: taken to have sensitivity 0."""
    return np.array([np.sum(labels == label) for label in (0, 1)], dtype=float)
