"""``sordino report``: answers, models, audits, studies and budgets as one page; beside real rows, as another one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.errors import ParameterError, file_problem
from sordino.ledger_header import SQLITE
from sordino.terminal import AsJson, example, file, print_json, require_apart

Items = Annotated[
    list[Path],
    typer.Argument(
        metavar="ITEM",
        help="What query, fit, synthesize, audit … printed with --json, a saved model, or a ledger; several.",
    ),
]
Output = Annotated[Path, file("-o", "--output", words="The page to write: all of it may be published.")]
Title = Annotated[str, typer.Option("--title", metavar="WORDS", help="The page's heading.")]
Owner = Annotated[Path | None, file("--owner", words="A second page, for the data owner alone: beside real rows.")]
RealRows = Annotated[str | None, typer.Option("--table", metavar="TABLE", help="With --owner: the private table.")]
OwnDomain = Annotated[Path | None, file("--domain", words="With --owner: public facts about the table.")]

EXAMPLE = example("sordino report answer.json patients.ledger -o report.html")


def report(
    items: Items,
    *,
    output: Output = Path("report.html"),
    title: Title = "What was released",
    owner: Owner = None,
    table: RealRows = None,
    domain: OwnDomain = None,
    as_json: AsJson = False,
) -> None:
    """Write what was released as one HTML page that needs no network, and may be published."""
    from sordino.report.page import require_drawing
    from sordino.report.report import write_report
    from sordino.report.section import Page
    from sordino.report.sections import section_of

    require_drawing()
    if (owner is None) is not (table is None and domain is None) or (owner and (table is None or domain is None)):
        raise ParameterError("report: the owner's page needs --owner FILE, --table TABLE and --domain FILE together.")
    if owner is not None and owner.resolve() == output.resolve():
        raise ParameterError("report: the owner's page holds exact answers. Name another file than with -o.")
    require_apart("report", [output, owner], [*items, table, domain])
    documents = {_label(path, items): _document(path) for path in items}
    for name, document in documents.items():
        _require_private(name, document)
    sections = tuple(section_of(document, _title(name, document), name) for name, document in documents.items())
    written = [write_report(Page(title=title, audience="anyone", sections=sections), output)]
    if owner is not None:
        written.append(_owners(title, documents, owner, str(table), domain))
    if as_json:
        return print_json({"public": str(output), "owner": None if owner is None else str(owner)})
    many = "1 section, which" if len(sections) == 1 else f"{len(sections)} sections, all of which"
    typer.echo(f"Wrote {output}: {many} may be published.")
    if len(written) > 1:
        typer.echo(f"Wrote {owner}: for the data owner ALONE. It holds exact answers.")


def _owners(title: str, documents: Mapping[str, Any], owner: Path, table: str, domain: Path | None) -> Path:
    from sordino.domain import Domain
    from sordino.owner import owner_page
    from sordino.report.report import write_report

    return write_report(owner_page(title, documents, table, Domain.from_toml(domain or "")), owner)


def _label(path: Path, items: Sequence[Path]) -> str:
    """Its name; the whole path where another item has the same name."""
    return path.name if [each.name for each in items].count(path.name) == 1 else str(path)


def _document(path: Path) -> Mapping[str, Any]:
    problem = ""
    try:
        content = path.read_bytes()
        if content.startswith(SQLITE):
            return _ledger(path)
        document = json.loads(content)
        if isinstance(document, dict):
            return document
        problem = "not a JSON object"
    except json.JSONDecodeError:
        problem = "not JSON"
    except (OSError, ValueError) as error:
        problem = file_problem(error)
    raise ParameterError(f"report: {str(path)!r} is no release, model, study or ledger that can be read ({problem}).")


def _ledger(path: Path) -> Mapping[str, Any]:
    from sordino.privacy.ledger import Ledger
    from sordino.wording import ledger_to_dict

    return ledger_to_dict(Ledger.read(path))


def _require_private(name: str, document: Mapping[str, Any]) -> None:
    """A page that may be published holds nothing whose own receipt says that it is not private."""
    learned = document.get("learned", {})
    receipt = document.get("receipt") or learned.get("receipt_", {}).get("receipt") or {"private": True}
    if not receipt["private"]:
        raise ParameterError(
            f"report: {name!r} is not private, as its receipt says, and a report may be published. Leave it out."
        )


def _title(name: str, document: Mapping[str, Any]) -> str:
    if _named(document, ("query", "study", "audit", "entries", "verdicts")):
        return ""
    return f"{document['estimator']} ({name})" if "estimator" in document else name


def _named(document: Mapping[str, Any], keys: Sequence[str]) -> bool:
    return any(key in document for key in keys)
