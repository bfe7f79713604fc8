"""The command line: each command is one library call, its words are public, and its errors are one line.

Exit codes: 0 done, 1 a verified ledger has a fault or an audited claim is violated, 2 an error, 130 interrupted. What
is typed is checked before it is paid for, and nothing that could fail stands between a paid answer and its reader.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sordino import __version__
from sordino.anonymity_command import ANATOMIZE, DIVERSITY, K_ANONYMIZE, anatomize, diversity, k_anonymize
from sordino.attack_command import attacks
from sordino.audit_command import audits
from sordino.errors import DomainError, LedgerError, ParameterError, SordinoError, file_problem
from sordino.model_command import FIT_EXAMPLE, PREDICT_EXAMPLE, fit, predict
from sordino.report_command import EXAMPLE, report
from sordino.study_command import study
from sordino.synthesis_command import EXAMPLE as SYNTHESIS_EXAMPLE
from sordino.synthesis_command import synthesize
from sordino.terminal import (
    AsJson,
    Progress,
    budget,
    command_group,
    example,
    existing_ledger,
    file,
    number,
    one_of,
    print_json,
    require_apart,
)

#: Beyond this, parts of a level would round to certainty.
LARGEST_LEVEL = 1 - 1e-9

QUERY_NAMES = "count sum mean median quantile variance covariance histogram histograms"

_DONE, _FAULT, _ERROR, _INTERRUPTED = 0, 1, 2, 130

# Typer brings click along, or has it built in, depending on its version: its base of usage errors, wherever it lives.
_UsageError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


#: In the order in which they are first needed.
ORDER = (
    "demo", "init", "ledger", "plan", "query", "fit", "predict", "synthesize", "report", "audit",
    "diversity", "k-anonymize", "anatomize", "attack", "study",
)  # fmt: skip


class _Ordered(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """The names as help shows them."""
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = command_group("sordino", example("sordino init patients.parquet -o patients.toml"), _Ordered)
ledgers = command_group("ledger", example("sordino ledger create patients.ledger --epsilon 3"))
app.add_typer(ledgers, help="A privacy budget in a file: create it, look at it, check it.")
app.add_typer(attacks, help="What does a published table give away about each person?")
app.add_typer(audits, help="Is it private, as far as can be seen? Yours, ours, others'.")

_TABLE_HELP = "A .parquet, .csv, .feather or .arrow file, or a quoted glob."
_METHOD_HELP = "auto, direct or sum-and-size; ranks for a median."
_BINS_HELP = "A number of bins, or edges: 10, 0,18,65,120, age=10."

Table = Annotated[str, typer.Argument(metavar="TABLE", help=_TABLE_HELP)]
Asked = Annotated[str, one_of("QUERY", QUERY_NAMES)]
Columns = Annotated[list[str] | None, typer.Argument(metavar="COLUMN", help="The columns it is about.")]
Book = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file.")]
DomainFile = Annotated[Path, file("--domain", words="Public facts about the table: see 'sordino init'.")]
LedgerFile = Annotated[Path | None, file("--ledger", words="The budget that pays: see 'sordino ledger'.")]
Epsilon = Annotated[str, number("--epsilon", "What the answer may cost.")]
Delta = Annotated[str, number("--delta", "Above 0: Gaussian noise. 0: pure privacy.")]
Rows = Annotated[int | None, number("--rows", "A public guess at the number of rows.")]
Level = Annotated[float, number("--level", "Confidence of the interval.")]
Candidates = Annotated[int | None, number("--candidates", "Public points that a quantile chooses among.")]
Quantile = Annotated[str | None, number("--quantile", "Which quantile, between 0 and 1.")]
Method = Annotated[str | None, typer.Option("--method", metavar="NAME", help=_METHOD_HELP)]
Bins = Annotated[list[str] | None, typer.Option("--bins", metavar="[COLUMN=]BINS", help=_BINS_HELP)]
By = Annotated[str | None, typer.Option("--by", metavar="COLUMN", help="Cross each histogram with this category.")]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="The data set's name in the ledger.")]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Answer questions about a table of people under differential privacy, with a receipt for each answer."""
    if version:
        typer.echo(f"sordino {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=example("sordino init patients.parquet -o patients.toml"))
def init(
    table: Table,
    output: Annotated[Path, file("-o", "--output", words="The file to draft.")] = Path("domain.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over the file if there is one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draft a domain from column names and stored types alone. No row is read."""
    from sordino.domain import draft_toml
    from sordino.table.opening import open_source

    require_apart("init", [output], [table])
    kinds = open_source(table).kinds
    drafted = {name: _DRAFTED[kind] for name, kind in kinds.items() if kind in _DRAFTED}
    left_out = [name for name in kinds if name not in drafted]
    _write(output, draft_toml(drafted), force)
    if as_json:
        return print_json({"path": str(output), "columns": drafted, "left_out": left_out})
    many = "1 column" if len(drafted) == 1 else f"{len(drafted)} columns"
    typer.echo(f"Drafted {output}: {many}, from names and stored types. No row was read.")
    if left_out:
        typer.echo(f"Left out, stored as a type that cannot be used: {', '.join(left_out)}.")
        typer.echo("A date can be stored as a number (days since some day) or as a category (its year).")
    if "unknown" in drafted.values():
        typer.echo("A CSV file has names only, taken from its first line. Say for each column what it is.")
    typer.echo('Next: replace every "fill in" by a public fact, then run sordino ledger create.')


_DRAFTED = {"number": "real", "text": "category", "truth": "truth", "untyped": "unknown"}


@app.command(epilog=example("sordino plan patients.parquet mean age --domain patients.toml --epsilon 0.1 --rows 5000"))
def plan(
    table: Table,
    query: Asked,
    columns: Columns = None,
    *,
    domain: DomainFile,
    epsilon: Epsilon,
    delta: Delta = "0",
    rows: Rows = None,
    level: Level = 0.95,
    method: Method = None,
    candidates: Candidates = None,
    quantile: Quantile = None,
    bins: Bins = None,
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Show the noise that an answer would carry. No row is read and nothing is spent."""
    from sordino import Domain, open_table
    from sordino.question import Question
    from sordino.wording import plan_in_words

    _require_level(level)
    asked = Question.typed(query, columns, bins, method=method, candidates=candidates, quantile=quantile, by=by)
    opened = open_table(table, Domain.from_toml(domain))
    planned = opened.plan(*asked.arguments, epsilon=epsilon, delta=delta, rows=rows, **asked.options)
    if as_json:
        return print_json({**asked.to_dict(), **planned.to_dict(level)})
    typer.echo(plan_in_words(query, asked.columns, planned, level, rows or opened.domain.rows))


@app.command(
    short_help="Pay for an answer; with its interval and receipt.",
    epilog=example(
        "sordino query patients.parquet mean age --domain patients.toml --ledger patients.ledger --epsilon 0.1"
    ),
)
def query(
    table: Table,
    query: Asked,
    columns: Columns = None,
    *,
    domain: DomainFile,
    epsilon: Epsilon,
    delta: Delta = "0",
    ledger: LedgerFile = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Keep no budget; the receipt says so.")] = False,
    name: Name = None,
    level: Level = 0.95,
    method: Method = None,
    candidates: Candidates = None,
    quantile: Quantile = None,
    bins: Bins = None,
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Pay for an answer, and print it with its interval and receipt."""
    from sordino import Domain, open_table
    from sordino.question import Question
    from sordino.wording import answer_in_words

    _require_level(level)
    asked = Question.typed(query, columns, bins, method=method, candidates=candidates, quantile=quantile, by=by)
    opened = open_table(table, Domain.from_toml(domain), ledger=budget("query", ledger, no_ledger), name=name)
    with Progress("reading") as opened.session.progress:
        release = opened.ask(*asked.arguments, epsilon=epsilon, delta=delta, **asked.options)
    if as_json:
        return print_json({**asked.to_dict(), **release.to_dict(level)})
    typer.echo(answer_in_words(query, asked.columns, release, level))


@ledgers.command(epilog=example("sordino ledger create patients.ledger --epsilon 3 --delta 1e-6 --pure 1"))
def create(
    file: Book,
    epsilon: Annotated[str, number("--epsilon", "Epsilon of the whole promise.")],
    delta: Annotated[str, number("--delta", "Delta of the whole promise.")] = "0",
    pure: Annotated[str, number("--pure", "With delta: the part of epsilon kept for pure answers.")] = "0",
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Make a ledger with a budget that is fixed for good."""
    from sordino import Ledger

    if os.path.lexists(file):
        raise LedgerError(f"ledger: {str(file)!r} exists already. Look at it with sordino ledger show.")
    _show_ledger(Ledger.open(file, epsilon, delta, pure, name=name), as_json)


@ledgers.command(epilog=example("sordino ledger show patients.ledger"))
def show(file: Book, as_json: AsJson = False) -> None:
    """Show the promise, what is left of it, and every charge."""
    from sordino import Ledger

    _show_ledger(Ledger.read(existing_ledger(file)), as_json)


@ledgers.command(epilog=example("sordino ledger verify patients.ledger"))
def verify(file: Book, as_json: AsJson = False) -> None:
    """Recompute sums, limits and digests from the entries. Exits with 1 when something is wrong."""
    from sordino import Ledger

    problems = Ledger.read(existing_ledger(file)).verify()
    if as_json:
        print_json({"path": str(file), "sound": not problems, "problems": problems})
    else:
        typer.echo("\n".join(problems) or f"{file} is sound: sums, limits and digests agree.")
    raise typer.Exit(_FAULT if problems else _DONE)


@app.command(epilog=example("sordino demo --folder sordino-demo"), short_help="The whole story on a public table.")
def demo(
    folder: Annotated[Path, typer.Option("--folder", metavar="FOLDER", help="Where the demo keeps its files.")] = Path(
        "sordino-demo"
    ),
    as_json: AsJson = False,
) -> None:
    """Play the whole story on a public table: answers, models, synthetic rows, an attack, audits, and a report."""
    from sordino.demo.story import run

    silent: list[str] = []
    with Progress("playing") as progress:
        document = run(folder, silent.append if as_json else progress.say, progress)
    if as_json:
        print_json(document)


app.command(epilog=SYNTHESIS_EXAMPLE, short_help="Pay for a synthetic table; with its receipt.")(synthesize)
app.command(epilog=FIT_EXAMPLE, short_help="Pay for a model; as plain JSON, with its receipt.")(fit)
app.command(epilog=PREDICT_EXAMPLE)(predict)
app.command(epilog=ANATOMIZE, short_help="Split a table in two, joined by groups only. NOT private.")(anatomize)
app.command(epilog=K_ANONYMIZE, short_help="Make at least k rows look alike. NOT private.")(k_anonymize)
app.command(epilog=DIVERSITY, short_help="Measure k, l and t of a table. NOT private.")(diversity)
app.command(epilog=example("sordino study"), short_help="Five papers again, ours beside the published numbers.")(study)
app.command(epilog=EXAMPLE, short_help="Write what was released as one HTML page.")(report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. Whatever goes wrong becomes one line that holds no private value."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without a letter must not lose a paid answer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning of a library may quote a cell
        code, message = _run(None if arguments is None else list(arguments))
    if message:
        typer.echo("sordino: " + _one_line(message), err=True)
    return code


def _run(arguments: list[str] | None) -> tuple[int, str]:
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="sordino", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except _UsageError as problem:
        command = getattr(getattr(problem, "ctx", None), "command_path", "sordino")
        words = problem.format_message().rstrip(".")
        return _ERROR, f"{words}{'' if words.endswith('?') else '.'} Try {command} --help."
    except SordinoError as problem:
        return _ERROR, str(problem)
    except Exception as problem:  # its text, or that of an error behind it, may quote a cell
        return _ERROR, f"internal error ({type(problem).__name__}); nothing more was released"
    return (code, "interrupted; a charge already made stands") if code == _INTERRUPTED else (int(code or _DONE), "")


def _require_level(level: float) -> None:
    if not 0 < level <= LARGEST_LEVEL:
        raise ParameterError(f"level: must lie above 0 and be at most {LARGEST_LEVEL:.9f}; 0.95 is 95 %. Got {level}.")


def _show_ledger(ledger: Any, as_json: bool) -> None:
    from sordino.wording import ledger_in_words, ledger_to_dict

    if as_json:
        return print_json(ledger_to_dict(ledger))
    typer.echo(ledger_in_words(ledger))


def _write(path: Path, text: str, force: bool) -> None:
    problem = ""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        problem = "exists already. Write over it with --force, or name another file with -o"
    except OSError as error:
        problem = f"cannot be written ({file_problem(error)})"
    if problem:
        raise DomainError(f"init: {str(path)!r} {problem}.")


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


if __name__ == "__main__":
    sys.exit(main())
