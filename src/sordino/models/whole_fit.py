"""A fit as a whole: it succeeds, or it leaves the estimator as it was.

Else what a fit learned half-way stands beside the receipt of the fit before: numbers from one table, and the price of
another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

Fit = Callable[..., Any]


def all_or_nothing(fit: Fit) -> Fit:
    """A fit that, refused or interrupted, puts back what was learned before. What was charged stays charged."""

    @wraps(fit)
    def whole(self: Any, *given: Any, **named: Any) -> Any:
        learned = dict(vars(self))
        try:
            return fit(self, *given, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(learned)
            raise

    return whole
