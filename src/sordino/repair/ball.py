"""The nearest vector in a ball about zero."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


def into_ball(vectors: Floats, radius: float = 1.0) -> Floats:
    """Vectors along the last axis, the longer ones pulled back to the radius.

    >>> into_ball(np.array([[3.0, 4.0], [0.0, 0.5]])).tolist()
    [[0.6, 0.8], [0.0, 0.5]]
    """
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    pulled: Floats = vectors / np.maximum(lengths / radius, 1.0)
    return pulled
