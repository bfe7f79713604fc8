"""Nursery: applications to nursery schools. Rajkovic, Bohanec, Zupan, UCI Machine Learning Repository, CC BY 4.0."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from sordino.datasets.folder import PublishedFile, read_published
from sordino.datasets.text import parse
from sordino.domain import Category, Column

FILE = PublishedFile(
    "nursery/nursery.data",
    "https://archive.ics.uci.edu/static/public/76/nursery.zip",
    "8e0389c3dd37590248a921c2726d869ee96b817761a35eb8416afa24f31f931d",
    "nursery.data",
)

#: Every column is a category with its values in the order of the code book; the rows are all combinations of the
#: first eight, each once.
COLUMNS: dict[str, Column] = {
    "parents": Category(["usual", "pretentious", "great_pret"]),
    "has_nurs": Category(["proper", "less_proper", "improper", "critical", "very_crit"]),
    "form": Category(["complete", "completed", "incomplete", "foster"]),
    "children": Category(["1", "2", "3", "more"]),
    "housing": Category(["convenient", "less_conv", "critical"]),
    "finance": Category(["convenient", "inconv"]),
    "social": Category(["nonprob", "slightly_prob", "problematic"]),
    "health": Category(["recommended", "priority", "not_recom"]),
    "class": Category(["not_recom", "recommend", "very_recom", "priority", "spec_prior"]),
}


def load_nursery(folder: str | Path | None = None) -> pa.Table:
    """The 12,960 rows in the order of the file, all text."""
    return parse("Nursery", read_published(FILE, folder), COLUMNS, ",")
