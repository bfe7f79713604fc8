"""Steps about answers: what is public, the noise before it is paid, answers, a refusal, the ledger at the end."""

from __future__ import annotations

from typing import Any

from sordino.demo.stage import COLUMNS, DELTA, EPSILON, LEVEL, Scene, Stage, code, wrapped
from sordino.domain import Real
from sordino.errors import BudgetError
from sordino.release import Release
from sordino.report.sections import section_of
from sordino.wording import answer_in_words, ledger_in_words, ledger_to_dict, plan_in_words, value_in_words


def declare(stage: Stage) -> Scene:
    """The domain that was written down before anybody looked."""
    reals = [f"{name} {column.low:g}–{column.high:g}" for name, column in COLUMNS.items() if isinstance(column, Real)]
    words = (
        f"{'; '.join(reals)}; diagnosis benign or malignant.\n"
        f"Two tables are neighbours when one has one record more. A ledger promises epsilon={EPSILON},\n"
        f"delta={DELTA} for everything that will ever be said about this table."
    )
    return Scene(wrapped(words), stage.table.domain.to_dict())


def plan(stage: Stage) -> Scene:
    """The noise of an answer before it is paid for."""
    planned = stage.table.plan("mean", "radius", epsilon="0.3", rows=500)
    words = plan_in_words("mean", ["radius"], planned, LEVEL, 500)
    return Scene(code("table.plan('mean', 'radius', epsilon=0.3, rows=500)", words), planned.to_dict(LEVEL))


def answer(stage: Stage) -> Scene:
    """Pure answers, the first with its whole receipt."""
    first = stage.table.mean("radius", epsilon="0.3")
    words = [code("table.mean('radius', epsilon=0.3)", answer_in_words("mean", ["radius"], first, LEVEL))]
    documents = [_kept(stage, "mean", ["radius"], first)]
    questions: list[tuple[str, list[Any], str]] = [
        ("count", [], "0.1"),
        ("median", ["radius"], "0.3"),
        ("variance", ["texture"], "0.4"),
        ("histogram", ["diagnosis"], "0.1"),
    ]
    for query, columns, epsilon in questions:
        release = stage.table.ask(query, *columns, epsilon=epsilon)
        call = ", ".join([*map(repr, columns), f"epsilon={epsilon}"])
        words.append(code(f"table.{query}({call})", value_in_words(query, columns, release, LEVEL)))
        documents.append(_kept(stage, query, columns, release))
    return Scene("\n\n".join(words), documents)


def covary(stage: Stage) -> Scene:
    """A matrix under Gaussian noise, from the other lane."""
    columns = ["radius", "texture"]
    release = stage.table.covariance(columns, epsilon="1.4", delta="1e-6")
    words = code(
        "table.covariance(['radius', 'texture'], epsilon=1.4, delta=1e-6)",
        value_in_words("covariance", columns, release, LEVEL),
    )
    note = "\n\nThe ranges are wide because the table is small: noise hides one record among 569. Plan before you pay."
    return Scene(words + note, _kept(stage, "covariance", columns, release))


def refuse(stage: Stage) -> Scene:
    """A question that the budget no longer allows."""
    before, refusal = stage.ledger.spent, ""
    try:
        stage.table.covariance(["radius", "texture"], epsilon="2", delta="1e-6")
    except BudgetError as error:
        refusal = str(error)
    unchanged = stage.ledger.spent == before
    words = wrapped(f"refused: {refusal}") + f"\nThe ledger is {'unchanged' if unchanged else 'CHANGED'}."
    document = {"refusal": refusal, "ledger_unchanged": unchanged}
    return Scene(code("table.covariance(['radius', 'texture'], epsilon=2, delta=1e-6)", words), document)


def account(stage: Stage) -> Scene:
    """Everything that was paid, and whether the file is sound."""
    problems = stage.ledger.verify()
    sound = "\n".join(problems) or "sound: sums, limits and digests agree"
    document = {**ledger_to_dict(stage.ledger), "problems": problems}
    stage.published.append(section_of(document, "The budget"))
    return Scene(f"{ledger_in_words(stage.ledger)}\n\n  {sound}", document)


def _kept(stage: Stage, query: str, columns: list[Any], release: Release) -> dict[str, Any]:
    """An answer for the page that may be published, as ``sordino query --json`` prints it."""
    document = {"query": query, "columns": columns, "options": {}, **release.to_dict(LEVEL)}
    stage.published.append(section_of(document))
    return document
