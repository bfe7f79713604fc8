"""What a report says, as plain values: sections of words, a table, charts and a receipt, for one audience."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sordino.report.chart import Chart

#: ``anyone``: everything follows from releases. ``owner``: something was compared with real rows. ``study``: computed
#: from public data, with methods of which some are not private. ``attack``: learned from tables that somebody published
#: without noise.
Audience = Literal["anyone", "owner", "study", "attack"]
Tone = Literal["", "good", "bad"]


@dataclass(frozen=True)
class Cell:
    """A cell of a table, and whether it is good news."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of a report. ``code`` keeps its line breaks: a receipt, a command."""

    title: str
    words: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    charts: tuple[Chart, ...] = ()
    code: str = ""
    tone: Tone = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole report."""

    title: str
    audience: Audience
    sections: tuple[Section, ...]
    lead: tuple[str, ...] = ()


def row(*cells: str | Cell) -> tuple[Cell, ...]:
    """Cells of a table; bare text has no tone."""
    return tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)


def table_of(values: Sequence[tuple[str, str]]) -> tuple[tuple[Cell, ...], ...]:
    """Names beside values."""
    return tuple(row(name, value) for name, value in values)
