"""What every step of the demo works with: the public table in a file, its declared domain, a ledger, and scenes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sordino.domain import Category, Column, Domain, Real
from sordino.errors import ParameterError, file_problem
from sordino.privacy.ledger import Ledger
from sordino.queries.private_table import PrivateTable, open_table
from sordino.report.section import Section

#: Public bounds, chosen by what a column means or as round numbers, never computed from this table: a nucleus has a
#: radius of some tens at most, so a perimeter below 2 pi 40 and an area below pi 40^2; a texture is the standard
#: deviation of grey values, far below its largest possible 127.5; the rest are fractions, and a coastline's dimension
#: less one.
COLUMNS: dict[str, Column] = {
    "radius": Real(0, 40),
    "texture": Real(0, 60),
    "perimeter": Real(0, 300),
    "area": Real(0, 5000),
    "smoothness": Real(0, 1),
    "compactness": Real(0, 1),
    "concavity": Real(0, 1),
    "concave points": Real(0, 1),
    "symmetry": Real(0, 1),
    "fractal dimension": Real(0, 1),
    "diagnosis": Category(["benign", "malignant"]),
}

#: The promise for the whole table. Four of epsilon are kept for pure answers; the rest buys one lane of Gaussian noise.
EPSILON, DELTA, PURE = "7", "1e-6", "4"

LEVEL = 0.95

TARGET = "diagnosis"

_MARK = ".sordino-demo"
FILES = (
    "cells.parquet",
    "domain.toml",
    "cells.ledger",
    "gaussian-bayes.json",
    "naive-bayes.json",
    "synthetic.parquet",
    "quasi-identifiers.csv",
    "sensitive.csv",
    "report.html",
    "owner.html",
)


@dataclass
class Stage:
    """What the steps work with: a folder, the table and ledger opened from it, and the pages that grow on the way.

    ``published`` follows from releases; ``owners`` holds what was compared with real rows.
    """

    folder: Path
    table: PrivateTable
    ledger: Ledger
    published: list[Section] = field(default_factory=list)
    owners: list[Section] = field(default_factory=list)


@dataclass(frozen=True)
class Scene:
    """What a step shows: words for a person, and the same as plain values."""

    words: str
    document: Any


Step = Callable[[Stage], Scene]


def prepared(folder: Path) -> Stage:
    """The demo's own folder, made afresh: a public table's ledger may start again, a private one's never."""
    _clear(folder)
    table, domain_file, ledger_file = (folder / name for name in FILES[:3])
    _write_cells(table)
    Domain(COLUMNS).to_toml(domain_file)
    ledger = Ledger.open(ledger_file, EPSILON, DELTA, PURE)
    return Stage(folder, open_table(table, Domain.from_toml(domain_file), ledger=ledger), ledger)


def real_rows() -> Any:
    """The public table as Arrow columns: what the owner holds."""
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    cells = load_breast_cancer()
    names = [f"mean {name}" for name in COLUMNS if name != TARGET]
    places = [list(cells.feature_names).index(name) for name in names]
    columns = {name.removeprefix("mean "): cells.data[:, place] for name, place in zip(names, places, strict=True)}
    return pa.table({**columns, TARGET: [str(cells.target_names[code]) for code in cells.target]})


def code(call: str, words: str) -> str:
    """A line of Python, and what it says."""
    return f">>> {call}\n{words}"


def wrapped(text: str) -> str:
    """Words in lines that fit a terminal."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _clear(folder: Path) -> None:
    problem = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _MARK).exists() and any(folder.iterdir()):
            problem = "is not empty, and not the demo's own"
        else:
            (folder / _MARK).touch()
            for path in (found for name in FILES for found in folder.glob(f"{name}*")):
                path.unlink()
    except OSError as error:
        problem = f"cannot be written ({file_problem(error)})"
    if problem:
        raise ParameterError(f"demo: the folder {str(folder)!r} {problem}. Name another with --folder.")


def _write_cells(path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(real_rows(), path)
