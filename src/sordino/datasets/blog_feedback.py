"""BlogFeedback: how many comments a blog post gets. Buza, UCI Machine Learning Repository, CC BY 4.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from sordino.datasets.folder import PublishedFile, read_published
from sordino.datasets.numbers import read_numbers
from sordino.errors import ParameterError

Floats = np.ndarray[Any, np.dtype[np.float64]]

_ARCHIVE = "https://archive.ics.uci.edu/static/public/304/blogfeedback.zip"

#: The archive holds the test rows in 60 files, one per day. In a folder they may be merged into two.
FILES = {
    "train": (
        PublishedFile(
            "blog_feedback/blogData_train.csv",
            _ARCHIVE,
            "f3cc953ea9913361be6d3bae2c393eef73eab57b1cb8e5bf8a22f1e5eb5dd05f",
            "blogData_train.csv",
        ),
    ),
    "test": (
        PublishedFile(
            "blog_feedback/blogData_test.csv",
            _ARCHIVE,
            "d4f4b695e7eca89ef844a761e9de4154790d2403279093057ea564864d639e2a",
            "blogData_test.csv",
        ),
        PublishedFile(
            "blog_feedback/blogData_validate.csv",
            _ARCHIVE,
            "5d7f9e91569bc7128713d65d13ae51ba5c5370d6cf657dbb4498cd3824f4f40c",
            "blogData_validate.csv",
        ),
    ),
}


def load_blog_feedback(
    part: Literal["train", "test"] = "train", folder: str | Path | None = None
) -> tuple[Floats, Floats]:
    """280 numbers about each post, and its comments in the next 24 hours: 52,397 to train and 7,624 to test."""
    if part not in FILES:
        raise ParameterError(f"load_blog_feedback: part must be 'train' or 'test'. Got {part!r}.")
    rows = np.vstack([read_numbers("BlogFeedback", read_published(file, folder), 281) for file in FILES[part]])
    return rows[:, :-1], rows[:, -1]
