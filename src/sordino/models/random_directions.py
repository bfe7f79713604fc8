"""Public random directions, for a projection that leans on no row."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


def random_directions(width: int, count: int, seed: int) -> Floats:
    """Orthonormal columns, uniform over all of them (Haar); the same bits for the same public seed."""
    entries = np.random.default_rng(seed).normal(size=(width, count))
    turned, triangle = np.linalg.qr(entries)
    directions: Floats = turned * np.sign(np.diag(triangle))
    return directions
