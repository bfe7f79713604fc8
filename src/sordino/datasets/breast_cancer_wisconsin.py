"""Breast Cancer Wisconsin (Original). Wolberg and Mangasarian, UCI Machine Learning Repository, CC BY 4.0."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sordino.datasets.folder import PublishedFile, read_published
from sordino.datasets.text import complete_rows, parse
from sordino.domain import Category, Column, Real

FILE = PublishedFile(
    "breast_cancer_wisconsin_original/breast-cancer-wisconsin.data",
    "https://archive.ics.uci.edu/static/public/15/breast+cancer+wisconsin+original.zip",
    "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
    "breast-cancer-wisconsin.data",
)

#: The nine judgements of a pathologist, each a whole number from 1 to 10 by definition.
FEATURES = (
    "clump-thickness", "cell-size", "cell-shape", "marginal-adhesion", "epithelial-cell-size", "bare-nuclei",
    "bland-chromatin", "normal-nucleoli", "mitoses",
)  # fmt: skip

COLUMNS: dict[str, Column] = {name: Real(1, 10, integer=True) for name in FEATURES} | {
    "class": Category(["benign", "malignant"])
}

#: How the file writes the class.
_CODES = ["2", "4"]


def load_breast_cancer_wisconsin(folder: str | Path | None = None, *, complete: bool = True) -> pa.Table:
    """Nine whole numbers and the class, in the order of the file; the sample number, which repeats, is left out.

    ``complete`` leaves out the 16 rows with a missing cell: 683 of 699 remain. Otherwise a missing cell is null.
    """
    as_written = {"sample": Real(0, 10**9, integer=True), **COLUMNS, "class": Category(_CODES)}
    table = parse("Breast Cancer Wisconsin", read_published(FILE, folder), as_written, ",").drop_columns(["sample"])
    places = pc.index_in(table["class"], value_set=pa.array(_CODES))
    names = pa.array(["benign", "malignant"]).take(places.combine_chunks())
    table = table.set_column(table.column_names.index("class"), "class", names)
    return complete_rows(table) if complete else table
