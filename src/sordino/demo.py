"""The main job, end to end, on a public table: a declared domain, a ledger, answers with receipts, a refusal.

The table is scikit-learn's breast cancer data: 569 cell samples that anybody may look at, so nobody's privacy is at
stake. It is treated as if it were private. A step is a function in ``STEPS``; what a later release can do is one more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.domain import Category, Column, Domain, Real
from sordino.errors import BudgetError, ParameterError
from sordino.privacy.ledger import Ledger
from sordino.queries.private_table import PrivateTable, open_table
from sordino.wording import answer_in_words, ledger_in_words, ledger_to_dict, plan_in_words, value_in_words

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

#: The promise for the whole table. Half of epsilon is kept for pure answers; the rest buys one lane of Gaussian noise.
EPSILON, DELTA, PURE = "3", "1e-6", "1.5"

LEVEL = 0.95

_MARK = ".sordino-demo"
_FILES = ("cells.parquet", "domain.toml", "cells.ledger")


@dataclass(frozen=True)
class Stage:
    """What the steps work with: a folder, and the table and ledger that were opened from it."""

    folder: Path
    table: PrivateTable
    ledger: Ledger


@dataclass(frozen=True)
class Scene:
    """What a step shows: words for a person, and the same as plain values."""

    words: str
    document: Any


def run(folder: Path, say: Callable[[str], None]) -> dict[str, object]:
    """Play every step; returns what was shown as plain values."""
    stage = _prepare(folder)
    say("SORDINO DEMO · 569 public cell samples, treated as if they were private\n")
    shown: list[dict[str, object]] = []
    for number, (title, step) in enumerate(STEPS, start=1):
        scene = step(stage)
        say(f"{number} · {title}\n\n{_indented(scene.words)}\n")
        shown.append({"title": title, "result": scene.document})
    say(_farewell(folder))
    return {"folder": str(folder), "files": list(_FILES), "steps": shown}


def declare(stage: Stage) -> Scene:
    """The domain that was written down before anybody looked."""
    reals = [f"{name} {column.low:g}–{column.high:g}" for name, column in COLUMNS.items() if isinstance(column, Real)]
    words = (
        f"{'; '.join(reals)}; diagnosis benign or malignant.\n"
        f"Two tables are neighbours when one has one record more. A ledger promises epsilon={EPSILON},\n"
        f"delta={DELTA} for everything that will ever be said about this table."
    )
    return Scene(_wrapped(words), stage.table.domain.to_dict())


def plan(stage: Stage) -> Scene:
    """The noise of an answer before it is paid for."""
    planned = stage.table.plan("mean", "radius", epsilon="0.3", rows=500)
    words = plan_in_words("mean", ["radius"], planned, LEVEL, 500)
    return Scene(_code("table.plan('mean', 'radius', epsilon=0.3, rows=500)", words), planned.to_dict(LEVEL))


def answer(stage: Stage) -> Scene:
    """Pure answers, the first with its whole receipt."""
    first = stage.table.mean("radius", epsilon="0.3")
    words = [_code("table.mean('radius', epsilon=0.3)", answer_in_words("mean", ["radius"], first, LEVEL))]
    documents = [first.to_dict(LEVEL)]
    questions: list[tuple[str, list[Any], str]] = [
        ("count", [], "0.1"),
        ("median", ["radius"], "0.3"),
        ("variance", ["texture"], "0.4"),
        ("histogram", ["diagnosis"], "0.1"),
    ]
    for query, columns, epsilon in questions:
        release = stage.table.ask(query, *columns, epsilon=epsilon)
        call = ", ".join([*map(repr, columns), f"epsilon={epsilon}"])
        words.append(_code(f"table.{query}({call})", value_in_words(query, columns, release, LEVEL)))
        documents.append(release.to_dict(LEVEL))
    return Scene("\n\n".join(words), documents)


def covary(stage: Stage) -> Scene:
    """A matrix under Gaussian noise, from the other lane."""
    columns = ["radius", "texture"]
    release = stage.table.covariance(columns, epsilon="1.4", delta="1e-6")
    words = _code(
        "table.covariance(['radius', 'texture'], epsilon=1.4, delta=1e-6)",
        value_in_words("covariance", columns, release, LEVEL),
    )
    note = "\n\nThe ranges are wide because the table is small: noise hides one record among 569. Plan before you pay."
    return Scene(words + note, release.to_dict(LEVEL))


def refuse(stage: Stage) -> Scene:
    """The same question again, which the budget no longer allows."""
    before, refusal = stage.ledger.spent, ""
    try:
        stage.table.covariance(["radius", "texture"], epsilon="1.4", delta="1e-6")
    except BudgetError as error:
        refusal = str(error)
    unchanged = stage.ledger.spent == before
    words = _wrapped(f"refused: {refusal}") + f"\nThe ledger is {'unchanged' if unchanged else 'CHANGED'}."
    document = {"refusal": refusal, "ledger_unchanged": unchanged}
    return Scene(_code("table.covariance(['radius', 'texture'], epsilon=1.4, delta=1e-6)", words), document)


def account(stage: Stage) -> Scene:
    """Everything that was paid, and whether the file is sound."""
    problems = stage.ledger.verify()
    sound = "\n".join(problems) or "sound: sums, limits and digests agree"
    document = {**ledger_to_dict(stage.ledger), "problems": problems}
    return Scene(f"{ledger_in_words(stage.ledger)}\n\n  {sound}", document)


#: What the demo shows, in order.
STEPS: tuple[tuple[str, Callable[[Stage], Scene]], ...] = (
    ("Declare what is public", declare),
    ("See the noise before paying for it", plan),
    ("Ask, and pay", answer),
    ("A covariance matrix, with Gaussian noise", covary),
    ("A question that the budget does not allow", refuse),
    ("The ledger at the end", account),
)


def _prepare(folder: Path) -> Stage:
    """The demo's own folder, made afresh: a public table's ledger may start again, a private one's never."""
    _clear(folder)
    table, domain_file, ledger_file = (folder / name for name in _FILES)
    _write_cells(table)
    Domain(COLUMNS).to_toml(domain_file)
    ledger = Ledger.open(ledger_file, EPSILON, DELTA, PURE)
    return Stage(folder, open_table(table, Domain.from_toml(domain_file), ledger=ledger), ledger)


def _clear(folder: Path) -> None:
    problem = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _MARK).exists() and any(folder.iterdir()):
            problem = "is not empty, and not the demo's own"
        else:
            (folder / _MARK).touch()
            for path in (found for name in _FILES for found in folder.glob(f"{name}*")):
                path.unlink()
    except OSError as error:
        problem = f"cannot be written ({type(error).__name__})"
    if problem:
        raise ParameterError(f"demo: the folder {str(folder)!r} {problem}. Name another with --folder.")


def _write_cells(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet
    from sklearn.datasets import load_breast_cancer

    cells = load_breast_cancer()
    names = [f"mean {name}" for name in COLUMNS if name != "diagnosis"]
    places = [list(cells.feature_names).index(name) for name in names]
    columns = {name.removeprefix("mean "): cells.data[:, place] for name, place in zip(names, places, strict=True)}
    diagnosis = [str(cells.target_names[code]) for code in cells.target]
    pyarrow.parquet.write_table(pa.table({**columns, "diagnosis": diagnosis}), path)


def _farewell(folder: Path) -> str:
    table, domain, ledger = (str(folder / name) for name in _FILES)
    return (
        f"The files are in {folder}/: {', '.join(_FILES)}.\n"
        "Run the demo again for fresh noise, or ask for something yourself:\n\n"
        f"  sordino plan {table} histogram diagnosis --domain {domain} --epsilon 0.2\n"
        f"  sordino query {table} histogram diagnosis --domain {domain} \\\n"
        f"    --ledger {ledger} --epsilon 0.2"
    )


def _code(call: str, words: str) -> str:
    return f">>> {call}\n{words}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def _wrapped(text: str) -> str:
    import textwrap

    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
