"""The steps of the demo in their order, what is said around them, and the pages at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sordino.demo import answers, attacked, learning
from sordino.demo.stage import FILES, Stage, Step, prepared, wrapped
from sordino.report.page import require_drawing
from sordino.report.report import write_report
from sordino.report.section import Page

#: What the demo shows, in order.
STEPS: tuple[tuple[str, Step], ...] = (
    ("Declare what is public", answers.declare),
    ("See the noise before paying for it", answers.plan),
    ("Ask, and pay", answers.answer),
    ("A covariance matrix, with Gaussian noise", answers.covary),
    ("Classifiers, beside the same without privacy", learning.classify),
    ("A synthetic table in the original columns", learning.synthesise),
    ('The same table "anonymised", and attacked', attacked.attack),
    ("An audit of a count, and of a planted bug", attacked.audit),
    ("A question that the budget does not allow", answers.refuse),
    ("The ledger at the end", answers.account),
)


def run(
    folder: Path, say: Callable[[str], None], progress: Callable[[float], None] = lambda share: None
) -> dict[str, object]:
    """Play every step; returns what was shown as plain values."""
    require_drawing()  # the pages at the end need it: said before anything is done
    started, stage = time.perf_counter(), prepared(folder)
    say("SORDINO DEMO · 569 public cell samples, treated as if they were private\n")
    shown: list[dict[str, object]] = []
    for number, (title, step) in enumerate(STEPS, start=1):
        progress((number - 1) / len(STEPS))
        scene = step(stage)
        say(f"{number} · {title}\n\n{_indented(scene.words)}\n")
        shown.append({"title": title, "result": scene.document})
    _write_pages(stage)
    say(_farewell(folder, time.perf_counter() - started))
    return {"folder": str(folder), "files": list(FILES), "steps": shown}


def _write_pages(stage: Stage) -> None:
    """Two files: what may be published, and what was compared with real rows."""
    title = "569 cell samples: what was released"
    write_report(Page(title=title, audience="anyone", sections=tuple(stage.published)), stage.folder / "report.html")
    lead = ("In this demo the rows are public. With a private table, this page stays in the house.",)
    owners = Page(
        title="569 cell samples: beside the real rows", audience="owner", lead=lead, sections=tuple(stage.owners)
    )
    write_report(owners, stage.folder / "owner.html")


def _farewell(folder: Path, seconds: float) -> str:
    table, domain, ledger = (str(folder / name) for name in FILES[:3])
    return (
        f"The files are in {folder}/:\n{_indented(wrapped(', '.join(FILES)))}\nThat took {seconds:.0f} s.\n"
        "Run the demo again for fresh noise, or ask for something yourself:\n\n"
        f"  sordino plan {table} histogram diagnosis --domain {domain} --epsilon 0.2\n"
        f"  sordino query {table} histogram diagnosis --domain {domain} \\\n"
        f"    --ledger {ledger} --epsilon 0.2\n\n"
        f"For the data owner alone, beside real rows: {folder / 'owner.html'}\n"
        f"The report, all of which may be published: {folder / 'report.html'}"
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
