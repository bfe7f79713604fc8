"""Xi, Kantarcioglu and Inan (2011): sensitivities of direct covariances as printed, beside the exact ones.

Private where they are used, but with three times the noise that is needed; and class sizes, the box and the
composition of its queries are not accounted for.
"""

from __future__ import annotations


def printed_entry_sensitivity(rows: int) -> float:
    """Theorems 3.5 to 3.7, upper end: three times (1/n - 1/n^2), for values in [0, 1]."""
    return 3 * (1 / rows - 1 / rows**2)


def exact_entry_sensitivity(rows: int) -> float:
    """(n - 1) / n^2, attained by every entry at once."""
    return (rows - 1) / rows**2
