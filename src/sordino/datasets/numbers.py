"""Lines of numbers as a matrix, checked for their width."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from sordino.errors import TableError

Floats = np.ndarray[Any, np.dtype[np.float64]]


def read_numbers(name: str, content: bytes, width: int, separator: str | None = ",", names: bool = False) -> Floats:
    """Rows of ``width`` numbers, below one line of names where there is one; ``separator`` None: blanks."""
    problem = "another number of them"
    try:
        rows = np.loadtxt(io.BytesIO(content), skiprows=int(names), delimiter=separator, ndmin=2)
        if rows.shape[1] == width:
            return rows
    except ValueError as error:
        problem = type(error).__name__
    raise TableError(f"datasets: {name} must hold lines of {width} numbers. Got {problem}. Fetch the file again.")
