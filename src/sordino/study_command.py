"""``sordino study``: the tables and figures of a paper again, ours beside the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino.terminal import AsJson, Progress, columns, print_json

if TYPE_CHECKING:
    from sordino.studies.study import Row, StudyResult


def _begun(incomplete: str) -> list[str]:
    """The studies that the shell may complete to."""
    from sordino.studies.titles import TITLES

    return [each for each in (*TITLES, "all") if each.startswith(incomplete)]


_NAME_HELP = "Which one, or all; without it, they are listed."
Name = Annotated[str | None, typer.Argument(metavar="STUDY", help=_NAME_HELP, autocompletion=_begun)]
Quick = Annotated[bool, typer.Option("--quick", help="A look: fewer repeats.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Write HTML, CSV, JSON and PNG files into it.")
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="FOLDER", help="Where the data sets are; else they are downloaded.")
]


def study(
    name: Name = None, *, quick: Quick = False, output: Output = None, data: Data = None, as_json: AsJson = False
) -> None:
    """Run the experiments of a paper again, and set our numbers beside the published ones."""
    from sordino.studies.titles import TITLES

    if name is None:
        return print_json(TITLES) if as_json else typer.echo("\n".join(columns(list(TITLES.items()))))
    from sordino.studies.registry import ALL, run_all, run_study

    with Progress("studying") as progress:
        if name == ALL:
            results = run_all(quick=quick, data=data, out=output, progress=progress)
        else:
            results = [run_study(name, quick=quick, data=data, out=output, progress=progress)]
    documents = [{**each.to_dict(), "output": str(output) if output else None} for each in results]
    if as_json:
        return print_json(documents if name == ALL else documents[0])
    typer.echo("\n\n".join("\n".join(_in_words(each)) for each in results))
    if output:
        typer.echo(f"\nWritten to {output}; open {output / name}.html.")


def _in_words(result: StudyResult) -> list[str]:
    table = columns([["where", "what", "published", "ours", "from", "to", "reach", "note"], *map(_cells, result.rows)])
    notes = [f"- {note}" for note in result.notes]
    return [f"{result.title} ({result.seconds:g} s{', quick' if result.quick else ''})", "", *table, "", *notes]


def _cells(row: Row) -> list[str]:
    numbers = (row.published, row.ours, row.low, row.high, row.reach)
    return [row.where, row.what, *(_number(each, row.unit) for each in numbers), row.note]


def _number(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{value:.4g}{' ' + unit if unit else ''}"
