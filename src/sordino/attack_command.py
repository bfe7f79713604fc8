"""``sordino attack``: how much does a published table give away about each person, against what was promised?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.errors import ParameterError
from sordino.terminal import AsJson, Progress, columns, command_group, example, file, number, print_json, require_apart

attacks = command_group("attack", example("sordino attack definetti qit.csv st.csv"))

Qit = Annotated[Path, typer.Argument(metavar="QIT", help="The quasi-identifier table: .csv, .parquet or .feather.")]
St = Annotated[Path, typer.Argument(metavar="ST", help="The sensitive table: group, value, count.")]
Verdict = Annotated[Path | None, file("-o", "--output", words="Write the verdict as .html, or its chart as .png.")]
Truth = Annotated[Path | None, file("--truth", words="To judge the attack: true values in the order of QIT.")]
People = Annotated[Path | None, file("--people", words="Write every probability, row by row: .csv or .parquet.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", metavar="COLUMN", help="The sensitive column of ST.")]
Group = Annotated[str, typer.Option("--group", metavar="COLUMN", help="The column that joins the tables.")]
Count = Annotated[str, typer.Option("--count", metavar="COLUMN", help="The column of ST that counts.")]
Seed = Annotated[int, number("--seed", "For restarts, and among people who look alike.", "INTEGER")]


@attacks.command(
    epilog=example("sordino attack definetti qit.csv st.csv --seed 1"),
    short_help="Two anatomised tables: who has which sensitive value?",
)
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
    require_apart("attack", [output, people], [qit, st, truth])
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


@attacks.command(
    epilog=example("sordino attack membership fake.csv candidates.csv --reference others.csv"),
    short_help="Released rows: who was in the table they were made from?",
)
def membership(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released rows: .csv, .parquet or .feather.")],
    candidates: Annotated[Path, typer.Argument(metavar="CANDIDATES", help="Who may have been in the table.")],
    *,
    reference: Annotated[Path, file("--reference", words="Rows of people who were not in the table.")],
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="nearest, density-ratio or shadow.")
    ] = "nearest",
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="For shadow: what models predict.")
    ] = None,
    member: Annotated[
        str | None, typer.Option("--member", metavar="COLUMN", help="To judge: the column of CANDIDATES with 1 or 0.")
    ] = None,
    scores: Annotated[Path | None, file("--scores", words="Write each candidate's score: .csv or .parquet.")] = None,
    output: Annotated[Path | None, file("-o", "--output", words="Write the verdict as a .html page.")] = None,
    seed: Annotated[int, number("--seed", "For splits and models.", "INTEGER")] = 0,
    as_json: AsJson = False,
) -> None:
    """Ask of each candidate whether a release knows it better than it should."""
    import pyarrow as pa

    from sordino.anonymity.columns import read_frame
    from sordino.anonymity.writing import require_table, write_table
    from sordino.attack.membership import MembershipAttack
    from sordino.attack.membership_verdict import membership_found, membership_words, write_membership
    from sordino.attack.verdict import require_verdict

    if output is not None:
        require_verdict(output, (".html", ".htm"))
    if scores is not None:
        require_table(scores)
    require_apart("attack", [output, scores], [release, candidates, reference])
    chosen: Any = method  # checked by the attack
    with Progress("attacking"):
        asked, truth = read_frame(candidates, "attack"), None
        if member is not None:
            truth = _ones_and_zeros(asked, member)
            asked = asked.drop_columns(member)
        attack = MembershipAttack(chosen, target=target, random_state=seed).fit(release, asked, reference)
        found = membership_found(attack, truth)
        if scores is not None:
            write_table(pa.table({"candidate": range(len(attack.scores_)), "score": attack.scores_}), scores)
        if output is not None:
            write_membership(found, output)
    written = {"output": str(output) if output else None, "scores": str(scores) if scores else None}
    if as_json:
        return print_json({**found, "files": written})
    typer.echo("\n".join(membership_words(found)))
    typer.echo("".join(f"Wrote {each}.\n" for each in written.values() if each), nl=False)


def _ones_and_zeros(table: Any, name: str) -> Any:
    """The truth: a column of 1 and 0, as numbers, text or truth values."""
    if name not in table.column_names:
        raise ParameterError(
            f"attack: the candidates must have the column {name!r}, with 1 for members and 0 for others."
        )
    said = [str(each).lower() for each in table.column(name).to_pylist()]
    if not set(said) <= {"1", "0", "true", "false"}:
        raise ParameterError(f"attack: column {name!r} must hold 1 for members and 0 for others.")
    return [each in ("1", "true") for each in said]
