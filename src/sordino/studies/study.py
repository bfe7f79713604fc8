"""What a study of a paper hands back: every published number beside ours, charts as plain numbers, and its files.

A study is a module with a function ``run``; ``registry.py`` lists them, and ``titles.py`` says what they are called.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sordino.errors import ParameterError, file_problem
from sordino.release import to_plain
from sordino.report.chart import Chart
from sordino.report.figures import chart_png, require_figures
from sordino.report.page import require_drawing
from sordino.report.report import report_html
from sordino.report.section import Page
from sordino.report.sections import section_of

#: Told the share that is done, from 0 to 1.
Progress = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number: where the paper has it, what it is, theirs and ours.

    ``published`` is absent where we add a number of our own; ``ours`` where the paper's cannot be had honestly, and
    the note then says why. ``low`` and ``high`` are the ends over ``repeats``, or of an interval: the note says which.
    ``reach`` is what this project set itself.
    """

    where: str
    what: str
    published: float | None = None
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    repeats: int | None = None
    reach: float | None = None
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """All rows and charts of one run; ``notes`` are sentences on what differs from the paper, and why."""

    study: str
    title: str
    quick: bool
    rows: tuple[Row, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; the numbers of the charts too."""
        document: dict[str, Any] = to_plain({name: getattr(self, name) for name in _PLAIN})
        document["rows"] = [to_plain(asdict(row)) for row in self.rows]
        document["charts"] = [to_plain(asdict(chart)) for chart in self.charts]
        return document

    def to_csv(self) -> str:
        """The rows as comma-separated text; a missing number is an empty cell."""
        written = io.StringIO()
        writer = csv.DictWriter(written, fieldnames=list(Row.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(to_plain(asdict(row)) for row in self.rows)
        return written.getvalue()


_PLAIN = ("study", "title", "quick", "notes", "settings", "seconds")


class Study(Protocol):
    """A module that runs every experiment of a paper again.

    ``quick`` is for a look: fewer repeats, the same code. ``data`` is the folder of public data sets, as loaders take
    it. A study draws its randomness from fixed seeds, so that it gives the same numbers again.
    """

    def run(self, *, quick: bool = False, data: Path | None = None, progress: Progress = ...) -> StudyResult:
        """Every number of the paper, ours beside theirs."""
        ...


def prepare_folder(folder: Path) -> None:
    """Whatever could go wrong with the files is said before anything runs."""
    require_figures()
    require_drawing()
    problem = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = file_problem(error)
    if problem:
        raise ParameterError(f"study: {str(folder)!r} cannot be made ({problem}). Name another folder with -o.")


def write_files(result: StudyResult, folder: Path) -> list[Path]:
    """Write ``NAME.csv``, ``NAME.json``, ``NAME.html`` and one PNG for each chart; the paths."""
    text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n"
    files = {f"{result.study}.csv": result.to_csv().encode(), f"{result.study}.json": text.encode()}
    files[f"{result.study}.html"] = report_html(studies_page([result])).encode()
    files |= {f"{result.study}-{chart.name}.png": chart_png(chart) for chart in result.charts}
    return write_contents(files, folder)


def studies_page(results: Sequence[StudyResult]) -> Page:
    """All results on one page, every published number beside ours, coloured by agreement."""
    title = results[0].title if len(results) == 1 else f"{len(results)} studies: ours beside the published numbers"
    quick = "A quick look: fewer repeats than the papers made." if any(each.quick for each in results) else ""
    lead = (
        "Green: the published number lies within the ends of ours, or within 5 %. Red: they differ; the last column "
        "and the words above the table say why.",
    )
    sections = tuple(section_of(each.to_dict(), each.title) for each in results)
    return Page(title=title, audience="study", lead=(*lead, quick) if quick else lead, sections=sections)


def write_contents(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write files into a folder; the paths."""
    prepare_folder(folder)
    problem = ""
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        problem = file_problem(error)
    if problem:
        raise ParameterError(f"study: {str(folder)!r} cannot be written ({problem}). Name another folder with -o.")
    return [folder / name for name in files]
