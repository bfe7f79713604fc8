"""A page of sections as one self-contained HTML file: no network, no script, figures as SVG, light, dark and print."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sordino.errors import ParameterError, file_problem
from sordino.report.chart import Chart
from sordino.report.figures import chart_svg
from sordino.report.page import filled_in
from sordino.report.section import Page, Section
from sordino.whole_file import write_whole

FOOTER = (
    "Made by Sordino. An epsilon is per record and holds for the stated neighbours; timing, several records of one "
    "person, and statements about a population are not covered by it."
)

AUDIENCES = {
    "anyone": (
        "May be published: everything on this page follows from releases and their receipts. No row was read for it."
    ),
    "owner": (
        "For the data owner alone. This page compares with real rows, without noise: it is NOT private and must not "
        "leave the house."
    ),
    "study": (
        "A study: experiments on public data sets, with published methods beside ours. Some of the published methods "
        "are not private, and are here to show it. No private table was read."
    ),
    "attack": (
        "Learned from what was published, by an attack that anybody who has it could run. What is found is about "
        "people, and nothing here is private: think before you pass it on."
    ),
}

_ATTACK_FOOTER = (
    "Made by Sordino. This is what one attack finds: another one, or one that knows more, may find more. Few exposed "
    "people do not prove that the tables are safe."
)


def report_html(page: Page) -> str:
    """The page as text."""
    return filled_in(
        "report.html",
        title=page.title,
        page=page,
        audience=AUDIENCES[page.audience],
        footer=_ATTACK_FOOTER if page.audience == "attack" else FOOTER,
        figures=[_figures(place, section) for place, section in enumerate(page.sections)],
    )


def write_report(page: Page, path: str | os.PathLike[str]) -> Path:
    """Write the page; a file that was there is replaced whole, and nothing half-written is left behind."""
    return write_html(report_html(page), path)


def write_html(text: str, path: str | os.PathLike[str]) -> Path:
    """Write the text of a page, or leave what was there as it was."""
    place, problem = Path(path), ""
    try:
        write_whole(place, text)
    except OSError as error:
        problem = file_problem(error)
    if problem:
        raise ParameterError(f"report: {str(place)!r} cannot be written ({problem}). Name another file with -o.")
    return place


def _figures(place: int, section: Section) -> Sequence[tuple[Any, str]]:
    from markupsafe import Markup

    drawn = [_named(chart, f"part{place}-{number}") for number, chart in enumerate(section.charts)]
    return [(Markup(chart_svg(each, titled=False)), each.title) for each in drawn]  # our own; all else is escaped


def _named(chart: Chart, name: str) -> Chart:
    """The chart under a name of its own, so that several fit on one page."""
    return replace(chart, name=f"{name}-{chart.name}")
