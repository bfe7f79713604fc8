"""A self-test of the machine: does its BLAS multiply integers below 2^53 exactly?

Float64 products of integers are exact when every partial sum stays below 2^53, whatever the order of addition.
A BLAS that computes in less (TF32, float32, emulated float64) or by Strassen's method breaks this. It is asked
once per process, at the full magnitude, and a wrong answer stops every pass.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sordino.errors import PassError

_ROWS, _COLUMNS = 8192, 24


def integer_products_are_exact(multiply: object = None) -> bool:
    """Compare products at the full magnitude, of matrices and of ones with a matrix, with integer arithmetic."""
    product = multiply if callable(multiply) else np.matmul
    generator = np.random.default_rng(0)  # public: fixed integers for a test of the machine
    values = generator.integers(-(2**20), 2**20, size=(_ROWS, _COLUMNS), endpoint=True)
    values[:, 0] = 2**20
    values[:, 1] = 2**20 - 1
    expected = values.T @ values  # int64 arithmetic does not go through BLAS
    floats = values.astype(np.float64)
    ones, total = np.ones(_ROWS), values.sum(axis=0)  # sums are products with ones, which another kernel computes
    for layout in (floats, np.asfortranarray(floats)):
        if not np.array_equal(product(layout.T, layout).astype(np.int64), expected):
            return False
        if not np.array_equal(product(ones, layout).astype(np.int64), total):
            return False
    return True


@cache
def require_exact_products() -> None:
    """Refuse to run on a machine whose float64 products of integers are not exact."""
    if not integer_products_are_exact():
        raise PassError(
            "engine: the linear algebra library of this machine does not multiply integers exactly, so no total "
            "would be exact. Use another build of numpy, without reduced or emulated precision."
        )
