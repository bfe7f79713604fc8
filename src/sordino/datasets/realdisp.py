"""REALDISP: body-worn sensors during 33 exercises. Banos, Toth and Amft, UCI Machine Learning Repository, CC BY 4.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sordino.datasets.folder import PublishedFile, read_published
from sordino.datasets.numbers import read_numbers

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Sensors placed as they should be, one file for each of 17 people. We had none of them: their digests are not known.
FILES = tuple(PublishedFile(f"realdisp/subject{person}_ideal.log", "", "") for person in range(1, 18))

#: Exercises that carry a person from one place to another: walking, jogging, running and cycling.
DISPLACING = (1, 2, 3, 33)


def load_realdisp(folder: str | Path | None = None) -> tuple[Floats, np.ndarray[Any, np.dtype[np.int64]]]:
    """117 sensor readings of each moment of an exercise, and whether it carries the person elsewhere (1) or not (0).

    The files are read from a folder alone. Moments between exercises are left out.
    """
    rows = np.vstack([read_numbers("REALDISP", read_published(file, folder), 120, None) for file in FILES])
    exercise = rows[:, -1].astype(np.int64)
    kept = exercise > 0
    return rows[kept, 2:-1], np.isin(exercise[kept], DISPLACING).astype(np.int64)
