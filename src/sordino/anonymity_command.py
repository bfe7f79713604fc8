"""``sordino anatomize``, ``k-anonymize`` and ``diversity``: rows of people go out, and nothing is private."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.terminal import AsJson, Progress, columns, example, file, number, print_json, require_apart

Table = Annotated[Path, typer.Argument(metavar="TABLE", help="A .parquet, .feather or .csv file.")]
Sensitive = Annotated[str, typer.Option("--sensitive", metavar="COLUMN", help="What nobody should learn of a person.")]
MaybeSensitive = Annotated[
    str | None, typer.Option("--sensitive", metavar="COLUMN", help="What nobody should learn of a person.")
]
Identifiers = Annotated[str, typer.Option("--quasi-identifiers", metavar="COLUMNS", help="With commas: age,sex,zip.")]
SomeIdentifiers = Annotated[
    str | None,
    typer.Option("--quasi-identifiers", metavar="COLUMNS", help="With commas: age,sex,zip; else all others."),
]
Seed = Annotated[int | None, number("--seed", "For groups that can be had again.", "INTEGER")]

ANATOMIZE = example("sordino anatomize patients.parquet --sensitive bmi --l 4 --owner owner.csv")
K_ANONYMIZE = example("sordino k-anonymize patients.parquet --k 5 --quasi-identifiers age,sex --sensitive diagnosis")
DIVERSITY = example("sordino diversity patients.parquet --quasi-identifiers sex --sensitive diagnosis")


def anatomize(
    table: Table,
    *,
    sensitive: Sensitive,
    l: Annotated[int, number("--l", "No value makes up more than 1/l of its group.", "INTEGER")],  # noqa: E741
    size: Annotated[int | None, number("--size", "Tuples in a group: l, or a multiple of it.", "INTEGER")] = None,
    quasi_identifiers: SomeIdentifiers = None,
    seed: Seed = None,
    qit: Annotated[Path, file("--qit", words="The quasi-identifier table to write.")] = Path("qit.csv"),
    st: Annotated[Path, file("--st", words="The sensitive table to write.")] = Path("st.csv"),
    owner: Annotated[Path | None, file("--owner", words="For the owner alone: row and value of each tuple.")] = None,
    as_json: AsJson = False,
) -> None:
    """Split a table into quasi-identifiers and sensitive values, joined by groups only. NOT private."""
    import pyarrow as pa

    from sordino.anonymity.anatomy import anatomize as split
    from sordino.anonymity.columns import read_frame
    from sordino.anonymity.writing import require_table, write_table

    targets = [each for each in (qit, st, owner) if each is not None]
    for target in targets:
        require_table(target)
    require_apart("anatomize", targets, [table])
    with Progress("grouping"):
        frame = read_frame(table, "anatomize")
        made = split(
            frame, sensitive=sensitive, l=l, size=size, quasi_identifiers=_names(quasi_identifiers), random_state=seed
        )
        write_table(made.qit, qit)
        write_table(made.st, st)
        if owner is not None:
            rows = pa.array(made.rows_)
            write_table(pa.table({"row": rows, sensitive: frame.column(sensitive).take(rows)}), owner)
    if as_json:
        return print_json({**made.metadata, "qit": str(qit), "st": str(st), "owner": str(owner) if owner else None})
    typer.echo(f"Wrote {qit} and {st}: {made.metadata['groups']} groups, no value above 1/{l} of any.")
    if owner is not None:
        typer.echo(f"Wrote {owner}: for the owner ALONE. It undoes the grouping.")
    typer.echo(made.metadata["statement"])
    typer.echo(f"Next: sordino attack definetti {qit} {st}")


def k_anonymize(
    table: Table,
    *,
    k: Annotated[int, number("--k", "Rows that must look alike.", "INTEGER")],
    quasi_identifiers: Identifiers,
    sensitive: MaybeSensitive = None,
    l: Annotated[int | None, number("--l", "No value above 1/l of a group.", "INTEGER")] = None,  # noqa: E741
    method: Annotated[str, typer.Option("--method", metavar="NAME", help="mondrian, global or anatomy.")] = "mondrian",
    suppress: Annotated[float, number("--suppress", "The share of rows that global may leave out.")] = 0.0,
    seed: Seed = None,
    output: Annotated[Path, file("-o", "--output", words="The table to write.")] = Path("anonymized.csv"),
    as_json: AsJson = False,
) -> None:
    """Write quasi-identifiers so coarsely that at least k rows look alike. NOT private."""
    from sordino.anonymity.recoding import k_anonymize as recode
    from sordino.anonymity.writing import require_table, write_table

    require_table(output)
    require_apart("k-anonymize", [output], [table])
    chosen: Any = method  # checked by the function
    with Progress("recoding"):
        made = recode(
            table, k=k, quasi_identifiers=_names(quasi_identifiers) or (), sensitive=sensitive, l=l, method=chosen,
            suppress=suppress, random_state=seed,
        )  # fmt: skip
        write_table(made.table, output)
    if as_json:
        return print_json({**made.metadata, "output": str(output)})
    left_out = f", {made.suppressed:.1%} of the rows left out" if made.suppressed else ""
    typer.echo(f"Wrote {output}: {made.metadata['groups']} groups of at least {k} rows{left_out}.")
    typer.echo(made.metadata["statement"])


def diversity(table: Table, *, quasi_identifiers: Identifiers, sensitive: Sensitive, as_json: AsJson = False) -> None:
    """Measure k, l and t of a table by every definition, each under its name. The measures are NOT private."""
    from sordino.anonymity.diversity import diversity as measure

    with Progress("measuring"):
        found = measure(table, quasi_identifiers=_names(quasi_identifiers) or (), sensitive=sensitive)
    if as_json:
        return print_json(found.to_dict())
    ordered = "–" if found.t_closeness_ordered is None else f"{found.t_closeness_ordered:.4g}"
    lines = [
        ("rows, groups", f"{found.rows}, {found.groups}"),
        ("k: rows in the smallest group", str(found.k)),
        ("distinct: different values in a group", str(found.distinct)),
        ("entropy l", f"{found.entropy:.4g}"),
        ("recursive (c, l) with c = 3", str(found.recursive(3.0))),
        ("frequency bound: largest share in a group", f"{found.frequency_bound:.4g}"),
        ("l of Xiao and Tao: 1/l is at least that share", str(found.l)),
        ("prose ratio: most over least frequent", f"{found.prose_ratio:.4g}"),
        ("t-closeness: total variation; ordered", f"{found.t_closeness:.4g}; {ordered}"),
    ]
    typer.echo("\n".join([*columns(lines), found.statement]))


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]
