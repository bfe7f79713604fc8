"""What the owner of a table may see and nobody else: releases beside the exact answers, without noise.

Nothing here is private, and nothing here costs: it is for the one who holds the rows anyway, and goes into a file of
its own. An exact answer is the same question asked again with infinite epsilon, so it is about the clipped table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sordino.domain import Domain
from sordino.queries.private_table import PrivateTable, open_table
from sordino.release import to_plain
from sordino.report.section import Page, Section, row
from sordino.report.sections import section_of

Document = Mapping[str, Any]


def owner_page(title: str, documents: Mapping[str, Document], data: Any, domain: Domain) -> Page:
    """The owner's page: every answer beside the exact one, and every classifier's accuracy on the real rows."""
    table = open_table(data, domain)
    sections = [beside_the_truth(name, document, table) for name, document in documents.items()]
    return Page(
        title=title,
        audience="owner",
        lead=("The same releases, compared with the rows they were made from.",),
        sections=tuple(section for section in sections if section is not None),
    )


def beside_the_truth(name: str, document: Document, table: PrivateTable) -> Section | None:
    """A section that compares one document with the rows; None for a document that says nothing about them."""
    if "query" not in document:
        return None
    released = section_of(document, name)
    exact = table.ask(
        *_arguments(document), epsilon=math.inf, random_state=0, **dict(document.get("options") or {})
    ).to_dict(document["level"])
    truth = section_of({**document, **to_plain(exact)}, name)
    rows = [
        row(mine[0], mine[1], theirs[1], mine[2], mine[3])
        for mine, theirs in zip(released.rows, truth.rows, strict=True)
    ]
    return Section(title=released.title, head=("", "released", "exact", "from", "to"), rows=tuple(rows))


def _arguments(document: Document) -> Sequence[Any]:
    columns = list(document.get("columns") or ())
    return [document["query"], *([columns[0] if len(columns) == 1 else columns] if columns else [])]
