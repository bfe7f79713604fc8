"""``sordino synthesize``: rows that nobody lived, in the columns of a private table, written as they are drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.errors import ParameterError
from sordino.row_file import RowFile
from sordino.terminal import (
    AsJson,
    Force,
    Progress,
    budget,
    example,
    file,
    number,
    print_json,
    require_apart,
    require_unpaid,
    require_writable,
    saved,
)

if TYPE_CHECKING:
    import pyarrow as pa

Table = Annotated[str, typer.Argument(metavar="TABLE", help="A .parquet, .csv, .feather or .arrow file, or a glob.")]
Output = Annotated[Path, file("-o", "--output", words="The synthetic rows to write: .csv or .parquet.")]
DomainFile = Annotated[Path, file("--domain", words="Public facts about the table: see 'sordino init'.")]
Epsilon = Annotated[str, number("--epsilon", "What the synthetic table may cost.")]
Delta = Annotated[str, number("--delta", "Above 0: Gaussian noise. 0: pure privacy.")]
Target = Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="The column that matters most.")]
Rows = Annotated[int | None, number("--rows", "How many rows; by default as many as were counted, with noise.")]
Seed = Annotated[int, number("--seed", "Public: other rows from the same releases.")]
ReportPage = Annotated[Path | None, file("--report", words="A page about it as well, .html: it may be published.")]
Model = Annotated[Path | None, file("--model", words="Where the synthesiser goes; beside the rows by default.")]
LedgerFile = Annotated[Path | None, file("--ledger", words="The budget that pays: see 'sordino ledger'.")]
NoLedger = Annotated[bool, typer.Option("--no-ledger", help="Keep no budget; the receipt says so.")]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="The data set's name in the ledger.")]

EXAMPLE = example(
    "sordino synthesize patients.parquet --target diagnosis --domain patients.toml --ledger patients.ledger "
    "--epsilon 1 -o fake.parquet"
)


#: A fit reads the table about so many times.
_USUAL_PASSES = 7

#: Synthetic rows on the page.
_SHOWN = 10


def synthesize(
    table: Table,
    *,
    output: Output = Path("fake.parquet"),
    domain: DomainFile,
    epsilon: Epsilon,
    delta: Delta = "0",
    target: Target = None,
    rows: Rows = None,
    seed: Seed = 0,
    model: Model = None,
    report: ReportPage = None,
    force: Force = False,
    ledger: LedgerFile = None,
    no_ledger: NoLedger = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Pay for a synthetic table, and write it with its receipt. All of it may be published."""
    import pyarrow as pa

    from sordino import Domain, TableSynthesizer, open_table

    if rows is not None and rows < 0:
        raise ParameterError(f"synthesize: --rows must be at least 0. Got {rows}.")
    if seed < 0:
        raise ParameterError(f"synthesize: --seed must be at least 0. Got {seed}.")
    kept = model or output.with_suffix(".json")
    require_apart("synthesize", [output, kept, report], [table, domain, ledger])
    facts = Domain.from_toml(domain)
    if target is not None:
        facts[target]  # said before anything is paid
    opened = open_table(table, facts, ledger=budget("synthesize", ledger, no_ledger), name=name)
    synthesizer = TableSynthesizer(epsilon, delta, target=target)
    require_unpaid("synthesize", kept, force)
    require_writable("synthesize", kept)
    if report is not None:
        _require_page(report)
    shown: list[dict[str, Any]] = []
    with RowFile("synthesize", output) as written:
        with Progress("learning") as progress:
            opened.session.progress = _Passes(progress)
            synthesizer.fit(opened)
        if not saved("synthesize", synthesizer, kept, force):
            raise typer.Exit(2)
        with Progress("writing") as progress:
            wanted = round(synthesizer.rows_) if rows is None else rows
            written.write(_storable(synthesizer.sample(0), output))
            for batch in synthesizer.batches(wanted, seed):
                drawn = _storable(pa.Table.from_batches([batch]), output)
                written.write(drawn)
                shown = shown or drawn.slice(0, _SHOWN).to_pylist()
                progress(written.written / wanted)
    if report is not None:
        _write_page(report, output, shown, kept)
    if as_json:
        document = {"path": str(output), "rows": written.written, "model": str(kept),
                    "report": str(report) if report else None}  # fmt: skip
        return print_json({**document, "receipt": synthesizer.receipt_.to_dict()})
    typer.echo(
        f"Wrote {output}: {written.written} synthetic rows, and {kept}, which draws more of them at no cost. "
        f"Both may be published.\n\n{synthesizer.receipt_}"
    )
    if report is not None:
        typer.echo(f"\nWrote {report}: it may be published.")


def _require_page(page: Path) -> None:
    """Whatever could go wrong with a page is said before anything is paid."""
    from sordino.report.page import require_drawing

    require_drawing()
    if page.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"synthesize: a page's name must end in .html. Got {str(page)!r}.")
    require_writable("synthesize", page)


def _write_page(page: Path, output: Path, shown: Sequence[Mapping[str, Any]], kept: Path) -> None:
    """The first rows, and the synthesiser with its receipt: nothing that does not follow from releases."""
    from sordino.report.report import write_report
    from sordino.report.section import Page
    from sordino.report.sections import section_of, synthetic_section

    sections = synthetic_section(output.name, shown), section_of(json.loads(kept.read_text(encoding="utf-8")))
    write_report(Page(title="A synthetic table", audience="anyone", sections=sections), page)


class _Passes:
    """The progress of several passes over a table as one: a pass begins where the share falls back."""

    def __init__(self, progress: Callable[[float], None]) -> None:
        self._progress = progress
        self._done, self._last = 0, 0.0

    def __call__(self, share: float) -> None:
        self._done += share < self._last
        self._last = share
        self._progress(min(1.0, (self._done + share) / _USUAL_PASSES))


def _storable(rows: pa.Table, output: Path) -> pa.Table:
    """The rows as they are; for a CSV file, which knows no dictionaries, with their categories written out."""
    import pyarrow as pa

    if output.suffix.lower() != ".csv":
        return rows
    fields = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))
