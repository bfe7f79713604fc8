"""``sordino attack``: how much does a published table give away about each person, against what was promised?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.errors import ParameterError
from sordino.terminal import AsJson, Progress, columns, command_group, example, file, number, print_json

attacks = command_group("attack")

Qit = Annotated[Path, typer.Argument(metavar="QIT", help="The quasi-identifier table: .csv, .parquet or .feather.")]
St = Annotated[Path, typer.Argument(metavar="ST", help="The sensitive table: group, value, count.")]
Verdict = Annotated[Path | None, file("-o", "--output", words="Write the verdict as .html, or its chart as .png.")]
Truth = Annotated[Path | None, file("--truth", words="To judge the attack: true values in the order of QIT.")]
People = Annotated[Path | None, file("--people", words="Write every probability, row by row: .csv or .parquet.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", metavar="COLUMN", help="The sensitive column of ST.")]
Group = Annotated[str, typer.Option("--group", metavar="COLUMN", help="The column that joins the tables.")]
Count = Annotated[str, typer.Option("--count", metavar="COLUMN", help="The column of ST that counts.")]
Seed = Annotated[int, number("--seed", "For restarts, and among people who look alike.", "INTEGER")]


@attacks.command(epilog=example("sordino attack definetti qit.csv st.csv --seed 1"))
def definetti(
    qit: Qit,
    st: St,
    *,
    restarts: Annotated[int, number("--restarts", "Times to begin again from elsewhere.", "INTEGER")] = 3,
    seed: Seed = 0,
    truth: Truth = None,
    output: Verdict = None,
    people: People = None,
    sensitive: Sensitive = None,
    group: Group = "group",
    count: Count = "count",
    as_json: AsJson = False,
) -> None:
    """Learn from anatomised tables who has which sensitive value, and how surely."""
    from sordino.anonymity.writing import require_table, write_table
    from sordino.attack.definetti import DeFinettiAttack
    from sordino.attack.verdict import in_words, judged, require_verdict, write_verdict

    if output is not None:
        require_verdict(output)
    if people is not None:
        require_table(people)
    attack = DeFinettiAttack(random_state=seed, restarts=restarts)
    names: dict[str, Any] = {"count": count} if sensitive is None else {"count": count, "sensitive": sensitive}
    with Progress("attacking") as progress:
        known = None if truth is None else _truth(truth, st, sensitive, group, count)
        found = judged(attack, qit, st, truth=known, group=group, progress=progress, **names)
        if people is not None:
            write_table(attack.probabilities_, people)
        if output is not None:
            write_verdict(found, output)
    written = {"output": str(output) if output else None, "people": str(people) if people else None}
    if as_json:
        return print_json({**found, "files": written})
    exposed = [["named with at least", "people", "of them right, as expected"]]
    exposed += [[f"{each['at_least']:.0%}", str(each["people"]), f"{each['expected_right']:.0f}"]
                for each in found["exposed"]]  # fmt: skip
    typer.echo("\n".join([*in_words(found), "", *columns(exposed)]))
    typer.echo("".join(f"Wrote {each}.\n" for each in written.values() if each), nl=False)


def _truth(path: Path, st: Path, sensitive: str | None, group: str, count: str) -> Any:
    """The true values: the column of the truth's file that is named like the sensitive one."""
    from sordino.anonymity.columns import read_frame

    others = [name for name in read_frame(st, "attack").column_names if name not in (group, count)]
    name, table = sensitive or (others or [""])[0], read_frame(path, "attack")
    if name not in table.column_names:
        raise ParameterError(f"attack: the file of the truth must have the column {name!r}. Got {str(path)!r}.")
    return table.column(name)
