"""``sordino audit``: is it private, as far as can be seen? Each command is one library call; the words are public.

Exit codes: 1 when a claim is violated, 0 when it is not or was not tested, 2 on an error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from sordino import __version__
from sordino.errors import ParameterError
from sordino.terminal import (
    AsJson,
    Progress,
    columns,
    command_group,
    example,
    number,
    one_of,
    print_json,
    require_apart,
)

if TYPE_CHECKING:
    from sordino.audit.target import Target
    from sordino.audit.verdict import AuditReport

#: Sizes of a violation for which it is said beforehand how many runs see it: noise too small by these factors.
FACTORS = (2.0, 1.5, 1.25, 1.1)

PAPER_NAMES = "pathak wu rongauss xi all"

#: The mark of a mechanism that could not be checked to run on made-up tables.
REAL = "The tables were not checked to be made up: treat this verdict as private data."


class _Shortened(TyperGroup):
    """The words ``mechanism`` and ``outputs`` may be left out: what follows tells them apart."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is named, or that a function or a file stands for."""
        first = args[0]
        if first not in self.commands and (":" in first or first.endswith(".py")):
            args = ["mechanism", *args]
        elif first not in self.commands and Path(first).is_file():
            args = ["outputs", *args]
        return super().resolve_command(ctx, args)


audits = command_group("audit", example("sordino audit noisy_count.py:noisy_count --epsilon 1 --seed 1"), _Shortened)


_TARGET_HELP = "FUNCTION(table, rng) in a Python file or an importable module."
_TABLES_HELP = "Function that gives the two made-up neighbouring tables; neighbours() in MODULE unless told otherwise."
_UNSAFE_HELP = "Do not check that the tables are made up. What is shown may then be private."

Mechanism = Annotated[str, typer.Argument(metavar="MODULE:FUNCTION", help=_TARGET_HELP)]
Neighbours = Annotated[str | None, typer.Option("--neighbours", metavar="MODULE:FUNCTION", help=_TABLES_HELP)]
Epsilon = Annotated[float, number("--epsilon", "What is claimed.")]
Delta = Annotated[float, number("--delta", "Claimed too, where it is not 0.")]
Runs = Annotated[int, number("--runs", "The most runs.")]
Level = Annotated[float, number("--level", "How likely a false alarm may be.")]
Seed = Annotated[int | None, number("--seed", "Repeatable secret bits, and a repeatable rng.", "INTEGER")]
Unsafe = Annotated[bool, typer.Option("--unsafe-real-data", help=_UNSAFE_HELP)]
Page = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the verdict as a .html page.")]
Quick = Annotated[bool, typer.Option("--quick", help="Search, replay, noise and ledger only, with fewer tables.")]


@audits.command(
    epilog=example("sordino audit mechanism noisy_count.py:noisy_count --epsilon 1 --seed 1"),
    short_help="A Python function: its ε bounded from below by runs.",
)
def mechanism(
    target: Mechanism,
    *,
    epsilon: Epsilon,
    delta: Delta = 0,
    neighbours: Neighbours = None,
    runs: Runs = 20_000,
    level: Level = 0.05,
    seed: Seed = None,
    unsafe_real_data: Unsafe = False,
    output: Page = None,
    as_json: AsJson = False,
) -> None:
    """Bound the ε of a Python function from below, by running it on two neighbouring made-up tables."""
    from sordino.audit.target import load_target

    _check_page(output)
    with _prints_apart():
        loaded = load_target(target, neighbours, unsafe_real_data)
    needed = _announce(epsilon, delta, level, runs, seed)
    report = _bounded(
        loaded, epsilon, delta, runs=runs, level=level, random_state=seed, unsafe_real_data=unsafe_real_data
    )
    _finish(report, needed, output, as_json, REAL if unsafe_real_data else "")


@audits.command(
    epilog=example("sordino audit outputs with.csv without.csv --epsilon 1 --seed 1"),
    short_help="Outputs that somebody recorded on two tables.",
)
def outputs(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Outputs on one table, one per line.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Outputs on its neighbour.")],
    *,
    epsilon: Epsilon,
    delta: Delta = 0,
    level: Level = 0.05,
    seed: Annotated[int | None, number("--seed", "A repeatable order of the lines.", "INTEGER")] = None,
    output: Page = None,
    as_json: AsJson = False,
) -> None:
    """Bound ε from below from outputs that somebody recorded on two neighbouring tables."""
    from sordino.audit.target import recorded_target

    _check_page(output, first, second)
    _check_seed(seed)
    recorded, runs = recorded_target(first, second, seed)
    needed = _announce(epsilon, delta, level, runs, seed)
    report = _bounded(recorded, epsilon, delta, runs=runs, level=level, random_state=seed, stop_early=False)
    _finish(report, needed, output, as_json)


@audits.command(
    epilog=example("sordino audit peer --python python3 noisy_count.py:noisy_count --epsilon 1 --seed 1"),
    short_help="A function that needs another library's environment.",
)
def peer(
    target: Mechanism,
    *,
    python: Annotated[str, typer.Option("--python", metavar="FILE", help="The other environment's interpreter.")],
    epsilon: Epsilon,
    delta: Delta = 0,
    neighbours: Neighbours = None,
    runs: Runs = 20_000,
    level: Level = 0.05,
    seconds: Annotated[float, number("--seconds", "The longest wait for one answer.")] = 60.0,
    seed: Seed = None,
    unsafe_real_data: Unsafe = False,
    output: Page = None,
    as_json: AsJson = False,
) -> None:
    """Bound the ε of a Python function that needs another library's own environment."""
    from sordino.audit.peers import audit_peer

    _check_page(output)
    needed = _announce(epsilon, delta, level, runs, seed)
    with Progress("auditing") as progress:
        report = audit_peer(
            python, target, epsilon=epsilon, delta=delta, runs=runs, level=level, neighbours=neighbours,
            seconds=seconds, random_state=seed, progress=progress, unsafe_real_data=unsafe_real_data,
        )  # fmt: skip
    _finish(report, needed, output, as_json, REAL if unsafe_real_data else "")


@audits.command(epilog=example("sordino audit paper wu"), short_help="Published methods, from their printed formulas.")
def paper(
    name: Annotated[str, one_of("PAPER", PAPER_NAMES)],
    output: Page = None,
    as_json: AsJson = False,
) -> None:
    """Verdicts on published methods, each from its printed formulas."""
    from sordino.studies.verdicts import VERDICTS, paper_verdict

    _check_page(output)
    chosen = list(VERDICTS) if name == "all" else [name]
    with Progress("auditing") as progress:
        reports = []
        for number, each in enumerate(chosen, start=1):
            reports.append(paper_verdict(each))
            progress(number / len(chosen))
    _finish_many(reports, f"Verdict on {name}" if len(chosen) == 1 else "Verdicts on papers", output, as_json, True)


@audits.command(
    name="self", epilog=example("sordino audit self --quick"), short_help="This package: all that is registered."
)
def ourselves(quick: Quick = False, output: Page = None, as_json: AsJson = False) -> None:
    """Audit this package: every registered statistic and query, the noise and the ledger."""
    from sordino.audit.ourselves import audit_ourselves

    _check_page(output)
    with Progress("auditing") as progress:
        reports = list(audit_ourselves(quick=quick, progress=progress))
    _finish_many(reports, f"Sordino {__version__} audits itself", output, as_json, False)


def _announce(epsilon: float, delta: float, level: float, runs: int, seed: int | None) -> dict[str, int]:
    """Say how many runs see a violation of a given size, before anything runs."""
    from sordino.audit.lower_bound import check_claim, runs_needed

    check_claim(epsilon, delta, runs, level)
    _check_seed(seed)
    needed: dict[str, int] = {}
    for factor in FACTORS:
        try:
            needed[f"{factor:g}"] = runs_needed(epsilon, factor, delta, level)
        except ParameterError:  # more than can be run
            break
    typer.echo(f"Up to {runs} runs. {runs_in_words(needed, runs)}", err=True)
    return needed


def _check_seed(seed: int | None) -> None:
    if seed is not None and seed < 0:
        raise ParameterError(f"audit: seed must be at least 0. Got {seed}.")


def _prints_apart() -> AbstractContextManager[object]:
    """What an audited function prints goes to standard error: the verdict is alone on standard output."""
    return redirect_stdout(sys.stderr)


def runs_in_words(needed: Mapping[str, int], runs: int) -> str:
    """How many runs see how large a violation.

    >>> runs_in_words({"2": 184, "1.5": 544}, 200)
    'Noise too small by a factor of 2 is seen in 184 runs, 1.5 in 544 (probability .9; one number, many can need more).'
    """
    if not needed:
        return f"No number of runs that can be made sees noise too small by a factor of {FACTORS[0]:g}."
    (first, fewest), *others = needed.items()
    seen = ", ".join([f"{first} is seen in {fewest} runs", *(f"{factor} in {count}" for factor, count in others)])
    few = "" if runs >= fewest else " These are too few even for the first."
    return f"Noise too small by a factor of {seen} (probability .9; one number, many can need more).{few}"


def _bounded(target: Target, epsilon: float, delta: float, **options: Any) -> AuditReport:
    """The certified bound, with what a library warned about and the tables that it was found on."""
    from dataclasses import replace

    from sordino.audit.lower_bound import audit_epsilon
    from sordino.audit.peer_worker import listening
    from sordino.audit.peers import warned

    said: list[str] = []
    with Progress("auditing") as progress, listening(said), _prints_apart():
        report = audit_epsilon(
            target.run, target.d1, target.d0, epsilon=epsilon, delta=delta, name=target.name, progress=progress,
            **options,
        )  # fmt: skip
    more = {"library_warnings": said, "tables": list(target.tables)}
    return replace(report, evidence={**report.evidence, **more}, sentence=report.sentence + warned(said))


def _finish(report: AuditReport, needed: Mapping[str, int], page: Path | None, as_json: bool, note: str = "") -> None:
    """Page, words or JSON, and the exit code of one verdict."""
    quote = f"{report.subject}, audited by Sordino {__version__}: {report.sentence} {note}".strip()
    document = {**report.to_dict(), "quote": quote, "runs_needed": dict(needed)}
    _write(page, f"Audit of {report.subject}", "", [{**document, "sentence": quote}])
    if as_json:
        print_json({**document, "page": str(page) if page else None})
    else:
        typer.echo(f"{report.verdict.upper()} · {report.subject}\n\n  To quote: {quote}\n")
        typer.echo(_tables_in_words(report.evidence) + _page_in_words(page), nl=False)
    raise typer.Exit(int(report.violated))


def _finish_many(reports: Sequence[AuditReport], title: str, page: Path | None, as_json: bool, in_full: bool) -> None:
    """The same for several verdicts: each in full, or in one table with the violated ones in full below it."""
    summary = _summary(reports)
    documents = [report.to_dict() for report in reports]
    _write(page, title, summary, documents, in_full)
    if as_json:
        print_json({"summary": summary, "verdicts": documents, "page": str(page) if page else None})
    else:
        table = [] if in_full else ["\n".join(columns([[r.audit, r.subject, r.verdict] for r in reports]))]
        full = [str(report) for report in reports if in_full or report.violated]
        typer.echo("\n\n".join([*table, *full, summary]))
        typer.echo(_page_in_words(page), nl=False)
    raise typer.Exit(int(any(report.violated for report in reports)))


def _summary(reports: Sequence[AuditReport]) -> str:
    verdicts = [report.verdict for report in reports]
    counts = ", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))
    return f"{len(reports)} audit{'' if len(reports) == 1 else 's'}: {counts}."


def _tables_in_words(evidence: Mapping[str, Any]) -> str:
    pairs = zip(("first", "second"), evidence.get("tables", ()), strict=False)
    return "".join(f"  {which} table: {table}\n" for which, table in pairs)


def _page_in_words(page: Path | None) -> str:
    return f"  page: {page}\n" if page else ""


def _check_page(page: Path | None, *read: Path) -> None:
    """Whatever could go wrong with a page is said before anything runs."""
    if page is None:
        return
    from sordino.report.page import require_drawing

    require_drawing()
    if page.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"audit: a page's name must end in .html. Got {str(page)!r}.")
    if not page.resolve().parent.is_dir():
        raise ParameterError(f"audit: there is no folder for {str(page)!r}. Make it first.")
    require_apart("audit", [page], read)


def _write(
    page: Path | None, title: str, summary: str, documents: Sequence[Mapping[str, Any]], in_full: bool = True
) -> None:
    if page is None:
        return
    from sordino.release import to_plain
    from sordino.report.page import verdict_page
    from sordino.report.report import write_html

    write_html(verdict_page(title, [to_plain(each) for each in documents], summary=summary, in_full=in_full), page)
