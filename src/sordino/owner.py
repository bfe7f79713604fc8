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

#: Synthetic rows that are compared, at most.
_MOST_SYNTHETIC = 100_000


def owner_page(title: str, documents: Mapping[str, Document], data: Any, domain: Domain) -> Page:
    """The owner's page: every answer beside the exact one, and every synthetic table beside the real rows."""
    table = open_table(data, domain)
    sections = [
        synthetic_beside_real(name, document, data, domain)
        if document.get("estimator") == "TableSynthesizer"
        else beside_the_truth(name, document, table)
        for name, document in documents.items()
    ]
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
    released = section_of(document)
    exact = table.ask(
        *_arguments(document), epsilon=math.inf, random_state=0, **dict(document.get("options") or {})
    ).to_dict(document["level"])
    truth = section_of({**document, **to_plain(exact)})
    rows = [
        row(mine[0], mine[1], theirs[1], mine[2], mine[3])
        for mine, theirs in zip(released.rows, truth.rows, strict=True)
    ]
    head = ("", "released", "exact", *released.head[2:])
    return Section(title=f"{released.title} ({name})", head=head, rows=tuple(rows))


def synthetic_beside_real(name: str, document: Document, data: Any, domain: Domain) -> Section:
    """How near rows of a synthesiser are to the real ones, and what learners learn from them."""
    from sordino.models.saved import restored  # scikit-learn is needed for this section alone
    from sordino.quality import distances, halves, lessons, rows_of, shuffled

    synthesizer = restored(document, name)
    real = rows_of(data, domain)
    if not len(next(iter(real.values()))):
        return Section(title=f"{name}: synthetic rows", words=("The real table has no rows to compare with.",))
    size = min(len(next(iter(real.values()))), _MOST_SYNTHETIC)
    fake = rows_of(synthesizer.sample(max(size, 1)), domain)
    found, apart = distances(real, fake, domain), distances(real, shuffled(real), domain)
    rows = [
        row("one-way tables, total variation", f"{found.one_way:.3f}", f"{apart.one_way:.3f}"),
        row("two-way tables, total variation", f"{found.two_way:.3f}", f"{apart.two_way:.3f}"),
        row("rank correlations, mean error", f"{found.correlation:.3f}", f"{apart.correlation:.3f}"),
        *(row(f"one-way: {column}", f"{value:.3f}", "0.000") for column, value in found.columns.items()),
    ]
    target = synthesizer.target_
    if target is not None and len(domain.columns) > 1:
        train, test = halves(real)
        rows.extend(
            row(f"{mine.learner}, {mine.measure} on real rows", f"{mine.score:.3f}", f"{best.score:.3f} (real rows)")
            for mine, best in zip(*(lessons(each, test, domain, target) for each in (fake, train)), strict=True)
        )
    words = (
        "Distances from the real rows, 0 at best; beside them, those of the real columns each shuffled by itself. "
        "Learners are trained on synthetic rows, and on half of the real rows; both are scored on the other half.",
    )
    return Section(title=f"{name}: synthetic rows", words=words, head=("", "synthetic", "beside"), rows=tuple(rows))


def _arguments(document: Document) -> Sequence[Any]:
    columns = list(document.get("columns") or ())
    return [document["query"], *([columns[0] if len(columns) == 1 else columns] if columns else [])]
