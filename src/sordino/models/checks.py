"""Checks of public arguments that estimators have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sordino.domain import Real
from sordino.errors import ParameterError


def check_whole(what: str, value: Any, least: int, most: int | None = None) -> None:
    """A whole number, of Python or of numpy, within the ends."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        ends = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise ParameterError(f"{what} must be a whole number {ends}. Got {value!r}.")


def check_word(what: str, value: Any, allowed: Sequence[str]) -> None:
    """One of some words."""
    if value not in allowed:
        *others, last = map(repr, allowed)
        raise ParameterError(f"{what} must be {', '.join(others)} or {last}. Got {value!r}.")


def interval_of_target(who: str, bounds: Any) -> Real:
    """The public interval of a target of arrays that is a number."""
    try:
        low, high = bounds
        return Real(float(low), float(high))
    except (TypeError, ValueError):
        raise ParameterError(
            f"{who}: target_bounds must be a pair (LOW, HIGH) of rising numbers. Got {bounds!r}."
        ) from None
