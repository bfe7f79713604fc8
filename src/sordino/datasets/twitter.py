"""Buzz in social media: how much a topic is talked about on Twitter. Kawala and others, UCI repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sordino.datasets.folder import PublishedFile, read_published
from sordino.datasets.numbers import read_numbers

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: We had no copy: its digest is not known.
FILE = PublishedFile("twitter/Twitter.data", "", "")


def load_twitter(folder: str | Path | None = None) -> tuple[Floats, Floats]:
    """77 numbers about each topic in a week, and the mean number of active discussions after it.

    The file (the regression task's) is read from a folder alone.
    """
    rows = read_numbers("Twitter", read_published(FILE, folder), 78)
    return rows[:, :-1], rows[:, -1]
