"""The command line: exit codes, one-line errors, no private value anywhere, JSON that parses, progress without rows."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import sordino
from sordino import Domain, Ledger, Real, cli, terminal
from sordino.audit_command import PAPER_NAMES
from sordino.demo.stage import COLUMNS
from sordino.demo.story import STEPS
from sordino.model_command import ESTIMATOR_NAMES
from sordino.models.saved import ESTIMATORS
from sordino.privacy.session import Session
from sordino.queries.private_table import QUERIES
from sordino.studies.verdicts import VERDICTS
from sordino.wording import rounded

SECRET = "73.123456"
SECRET_WORD = "Zanzibarbarossa"
SECRET_ROWS = 4321

DOMAIN = """
[columns.age]
kind = "real"
low = 0
high = 120
[columns.bmi]
kind = "real"
low = 10
high = 60
[columns.sex]
kind = "category"
values = ["female", "male"]
"""


@dataclass
class Outcome:
    code: int
    out: str
    err: str


Runner = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table in three formats; every numeric cell and one category is a recognisable secret."""
    monkeypatch.chdir(tmp_path)
    people = pa.table(
        {
            "age": [float(SECRET)] * SECRET_ROWS,
            "bmi": [float(SECRET) - 50] * SECRET_ROWS,
            "sex": ([SECRET_WORD, "male"] * SECRET_ROWS)[:SECRET_ROWS],
        }
    )
    pa.parquet.write_table(people, "people.parquet")
    pa.feather.write_feather(people, "people.feather")
    lines = [f"{SECRET},{SECRET}abc,{SECRET_WORD}"] * SECRET_ROWS
    Path("people.csv").write_text("\n".join(["age,bmi,sex", *lines, f"{SECRET},{SECRET},male,{SECRET}"]))
    Path("people.toml").write_text(DOMAIN)
    Ledger.open("people.ledger", epsilon=3, delta="1e-6", pure=2)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Runner:
    """Runs a command line in this process."""

    def runner(command: str, *arguments: object) -> Outcome:
        code = cli.main([*shlex.split(command), *map(str, arguments)])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return runner


ASK = "--domain people.toml --ledger people.ledger"


def refused(outcome: Outcome, *words: str) -> None:
    """One line on standard error, exit code 2, and nothing on standard output."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("sordino: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


def entries() -> int:
    return len(Ledger.read("people.ledger").entries())


# --- each bad input is one line, exit code 2, and costs nothing

BAD_QUESTIONS = {
    "column not declared": ("mean height --epsilon 0.1", ["'height'", "'age'"]),
    "a category where a number is needed": ("mean sex --epsilon 0.1", ["'sex'", "Category"]),
    "no column": ("mean --epsilon 0.1", ["name at least one column"]),
    "a column too many": ("count age --epsilon 0.1", ["takes no column"]),
    "two columns too many": ("median age bmi --epsilon 0.1", ["takes one column"]),
    "unknown query": ("average age --epsilon 0.1", ["'average'", "mean"]),
    "unknown method": ("mean age --method guess --epsilon 0.1", ["'guess'"]),
    "an option of another query": ("mean age --bins 3 --epsilon 0.1", ["--bins", "--method"]),
    "bins that are no number": ("histogram age --bins many --epsilon 0.1", ["'many'"]),
    "edges that fall": ("histogram age --bins 3,2 --epsilon 0.1", ["rising"]),
    "edges that are not numbers": ("histogram age --bins 0,nan,3 --epsilon 0.1", ["rising"]),
    "no bins": ("histogram age --epsilon 0.1", ["bins"]),
    "bins given twice": ("histogram age bmi --bins 3 --bins 4 --epsilon 0.1", ["age=10"]),
    "quantile above 1": ("quantile age --quantile 1.5 --epsilon 0.1", ["quantile"]),
    "one candidate": ("median age --candidates 1 --epsilon 0.1", ["candidates"]),
    "candidates that are no number": ("median age --candidates few --epsilon 0.1", ["--candidates"]),
    "epsilon zero": ("count --epsilon 0", ["epsilon", "above 0"]),
    "epsilon negative": ("count --epsilon -1", ["epsilon", "above 0"]),
    "epsilon not a number": ("count --epsilon nan", ["epsilon", "finite"]),
    "epsilon infinite": ("count --epsilon inf", ["epsilon", "finite"]),
    "epsilon in words": ("count --epsilon lots", ["epsilon", "'lots'"]),
    "epsilon above what is left": ("count --epsilon 2.5", ["pure lane", "rho", "Nothing was charged"]),
    "no epsilon": ("count", ["--epsilon"]),
    "delta one": ("count --epsilon 0.1 --delta 1", ["delta"]),
    "delta negative": ("count --epsilon 0.1 --delta -0.1", ["delta"]),
    "delta not a number": ("count --epsilon 0.1 --delta nan", ["delta"]),
    "level one": ("count --epsilon 0.1 --level 1", ["level"]),
    "level that would round to one": ("count --epsilon 0.1 --level 0.9999999999999999", ["level"]),
    "level not a number": ("count --epsilon 0.1 --level nan", ["level"]),
    "another data set": ("count --epsilon 0.1 --name others", ["'people'", "'others'"]),
    "unknown option": ("count --epsilon 0.1 --verbose", ["--verbose"]),
}


@pytest.mark.parametrize(("question", "words"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS.keys())
def test_a_bad_question_is_refused_in_one_line_and_costs_nothing(
    folder: Path, run: Runner, question: str, words: list[str]
) -> None:
    Ledger.open("people.ledger").bind("people", "add-remove")
    refused(run(f"query people.parquet {question} {ASK}"), *words)
    assert entries() == 0


BAD_DOMAINS = {
    "bounds reversed": (DOMAIN.replace("low = 0", "low = 200"), ["'age'", "below high"]),
    "bounds equal": (DOMAIN.replace("low = 0", "low = 120"), ["'age'", "below high"]),
    "bound infinite": (DOMAIN.replace("high = 120", "high = inf"), ["'age'", "finite"]),
    "bound not a number": (DOMAIN.replace("low = 0", "low = nan"), ["'age'", "nan"]),
    "text column declared Real": (
        DOMAIN.replace('kind = "category"\nvalues = ["female", "male"]', 'kind = "real"\nlow = 0\nhigh = 1'),
        ["'sex'", "stored as text", "Real"],
    ),
    "column that the table has not": (DOMAIN + '[columns.height]\nkind = "real"\nlow = 0\nhigh = 3\n', ["'height'"]),
    "not filled in": (DOMAIN.replace("high = 120", 'high = "fill in"'), ["'age'", "Write high = NUMBER"]),
    "not TOML": ("age,bmi\n1,2\n", ["TOML"]),
    "no column": ("", ["at least one column"]),
}


@pytest.mark.parametrize(("text", "words"), BAD_DOMAINS.values(), ids=BAD_DOMAINS.keys())
def test_a_bad_domain_is_refused_in_one_line_that_names_the_column(
    folder: Path, run: Runner, text: str, words: list[str]
) -> None:
    Path("people.toml").write_text(text)
    refused(run(f"query people.parquet count --epsilon 0.1 {ASK}"), *words)
    refused(run("plan people.parquet count --epsilon 0.1 --domain people.toml"), *words)
    assert entries() == 0


def test_a_file_that_cannot_be_used_is_refused_in_one_line(folder: Path, run: Runner) -> None:
    whole = Path("people.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    refused(run(f"query cut.parquet count --epsilon 0.1 {ASK}"), "cut.parquet", "cut short")
    refused(run("init cut.parquet"), "cut.parquet")
    refused(run(f"query absent.parquet count --epsilon 0.1 {ASK}"), "absent.parquet")
    refused(run(f"query people.toml count --epsilon 0.1 {ASK}"), "people.toml", ".parquet")
    refused(run("query people.parquet count --epsilon 0.1 --domain absent.toml --no-ledger"), "absent.toml")
    refused(run("query people.parquet count --epsilon 0.1 --no-ledger"), "--domain")
    assert entries() == 0


def test_a_ledger_that_cannot_be_used_is_refused_in_one_line(folder: Path, run: Runner) -> None:
    count = "query people.parquet count --epsilon 0.1 --domain people.toml --ledger"
    refused(run(f"{count} people.csv"), "not a Sordino ledger")
    refused(run(f"{count} absent.ledger"), "absent.ledger", "sordino ledger create")
    refused(run("ledger show people.csv"), "not a Sordino ledger")
    refused(run("ledger verify people.csv"), "not a Sordino ledger")
    refused(run("ledger show absent.ledger"), "absent.ledger")
    refused(run("ledger create people.ledger --epsilon 5"), "people.ledger", "exists")
    refused(run("ledger create new.ledger --epsilon 0"), "epsilon")
    refused(run("ledger create new.ledger --epsilon 1 --delta 1"), "delta")
    refused(run("ledger create new.ledger --epsilon 1 --pure 3 --delta 1e-6"), "pure")
    refused(run("ledger create absent/new.ledger --epsilon 1"), "absent/new.ledger")
    assert not Path("new.ledger").exists()
    Ledger.open("others.ledger", epsilon=1, name="people", neighbours="substitute")
    refused(run(f"{count} others.ledger"), "substitute", "add-remove")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_read_only_ledger_can_be_shown_and_not_charged() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "people.toml").write_text(DOMAIN)
        ledger = str(place / "people.ledger")
        Ledger.open(ledger, epsilon=1)
        os.chmod(ledger, 0o444)
        ask = ["query", "people.parquet", "count", "--epsilon", "0.1"]
        asked = as_somebody_else([*ask, "--domain", str(place / "people.toml"), "--ledger", ledger])
        refused(asked, "is read-only", "people.ledger")
        assert as_somebody_else(["ledger", "show", ledger]).code == 0


def as_somebody_else(arguments: list[str]) -> Outcome:
    """The command line in a forked child that is not root: root may write to everything."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            code = 99
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)
                sys.stdout, sys.stderr = out, err
                code = cli.main(arguments)
                out.flush()
                err.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return Outcome(code, out.read(), err.read())


def test_a_question_needs_a_ledger_or_a_plain_word_that_there_is_none(folder: Path, run: Runner) -> None:
    count = "query people.parquet count --epsilon 0.1 --domain people.toml"
    refused(run(count), "--ledger", "--no-ledger")
    refused(run(f"{count} --ledger people.ledger --no-ledger"), "--ledger", "--no-ledger")
    outcome = run(f"{count} --no-ledger")
    assert outcome.code == 0
    assert "not part of any budget" in outcome.out
    assert entries() == 0


def test_a_wrong_command_is_one_line_and_no_command_shows_help(run: Runner) -> None:
    refused(run("guess"), "guess")
    refused(run("ledger"), "sordino ledger --help")
    refused(run("query"), "sordino query --help")
    refused(run("qurey"), "'query'? Try")
    refused(run("init"), "TABLE")
    outcome = run("")
    assert outcome.code == 0
    assert "Commands:" in outcome.out
    assert run("--version").out == f"sordino {sordino.__version__}\n"


# --- no private value anywhere

PASSES = [
    "init TABLE -o drafted.toml --force",
    "init TABLE -o drafted.toml --force --json",
    "plan TABLE mean age --epsilon 0.1 --domain people.toml",
    f"query TABLE count --epsilon 0.0001 {ASK}",  # the noisy count is the exact one in 1 of 20,000 runs
    f"query TABLE mean age --epsilon 0.01 {ASK}",
    f"query TABLE covariance age bmi --epsilon 0.01 {ASK} --json",
    f"query TABLE median age --epsilon 0.01 {ASK}",
    f"query TABLE histogram sex --epsilon 0.01 {ASK}",
    f"query TABLE mean height --epsilon 0.01 {ASK}",
    f"query TABLE count --epsilon 99 {ASK}",
    "query TABLE count --epsilon 0.01 --domain TABLE --ledger people.ledger",
    "query TABLE count --epsilon 0.01 --domain people.toml --ledger TABLE",
    "query TABLE count --epsilon 0.01 --domain counted.toml --ledger counted.ledger",
    "ledger show TABLE",
    "ledger verify TABLE",
    "ledger show people.ledger --json",
]


@pytest.mark.parametrize(
    "table", ["people.parquet", "people.csv", "people.feather", "broken.parquet", "broken.feather"]
)
def test_no_output_and_no_file_holds_a_private_value(
    folder: Path, run: Runner, caplog: pytest.LogCaptureFixture, table: str
) -> None:
    for ending in ("parquet", "feather"):
        broken = bytearray(Path(f"people.{ending}").read_bytes())
        broken[8 : len(broken) // 3] = SECRET_WORD.encode() * (len(broken) // 3 // len(SECRET_WORD))
        Path(f"broken.{ending}").write_bytes(broken)
    Path("counted.toml").write_text('neighbours = "substitute"\nrows = 4000\n' + DOMAIN)
    Ledger.open("counted.ledger", epsilon=1)
    for command in PASSES:
        outcome = run(command.replace("TABLE", table))
        assert outcome.code in (0, 2)
        holds_no_secret(outcome.out + outcome.err + caplog.text)
    for path in ("people.ledger", "counted.ledger", "drafted.toml"):
        if Path(path).exists():
            holds_no_secret(Path(path).read_bytes().decode("latin-1"))


def holds_no_secret(text: str) -> None:
    for secret in (SECRET, SECRET[:5], SECRET_WORD, SECRET_WORD[:6]):
        assert secret not in text
    for rows in (SECRET_ROWS, SECRET_ROWS + 1):  # a number of its own: further digits of noise may hold any four
        assert not re.search(rf"(?<![\d.]){rows}(?!\d)", text)


@pytest.mark.parametrize("line", [
    "init people.parquet -o people.parquet --force",
    "init people.parquet -o people.ledger --force",
    "fit people.parquet NaiveBayes --target sex --epsilon 0.1 -o people.ledger " + ASK,
    "fit people.parquet NaiveBayes --target sex --epsilon 0.1 -o people.ledger --domain people.toml --no-ledger",
    "fit p*.parquet NaiveBayes --target sex --epsilon 0.1 -o people.parquet " + ASK,
    "synthesize people.parquet --epsilon 0.1 --model ./people.ledger -o fake.csv " + ASK,
    "synthesize people.parquet --epsilon 0.1 --model people.toml -o fake.csv " + ASK,
    "report people.ledger -o people.ledger",
    "fit people.parquet NaiveBayes --target sex --epsilon 0.1 -o other "
    "--domain people.toml --ledger other.draft",
    "fit people.parquet NaiveBayes --target sex --epsilon 0.1 -o other --domain people.toml --no-ledger",
    "synthesize people.parquet --epsilon 0.1 --model rows.csv.draft -o rows.csv " + ASK,
    "report people.toml -o other",
    "fit people.parquet NaiveBayes --target sex --epsilon 0.1 -o people.ledger-journal " + ASK,
    "audit paper wu -o ledger.html",
    "audit outputs ledger.html people.csv --epsilon 1 -o ledger.html",
    "anatomize people.csv --sensitive sex --l 2 --qit ledger.csv",
    "anatomize people.csv --sensitive sex --l 2 --st people.csv",
    "k-anonymize people.csv --k 2 --quasi-identifiers age -o ledger.csv",
])  # fmt: skip
def test_no_command_writes_over_what_it_reads_or_over_a_ledger(folder: Path, run: Runner, line: str) -> None:
    """Nor over what has the name of a draft, which is put beside a file until it is whole."""
    for name in ("other.draft", "ledger.html", "ledger.csv"):
        Ledger.open(name, epsilon=1)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    refused(run(line), "must not be written over", "Name another file")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_a_pass_that_fails_says_that_the_charge_stands(folder: Path, run: Runner) -> None:
    broken = bytearray(Path("people.parquet").read_bytes())
    broken[4:200] = b"\xff" * 196
    Path("people.parquet").write_bytes(broken)
    refused(run(f"query people.parquet mean age --epsilon 0.1 {ASK}"), "The charge stands", "nothing was released")
    assert entries() == 1


def test_an_unforeseen_error_is_named_by_its_type_alone(
    folder: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> Domain:
        try:
            raise KeyError(SECRET_WORD)
        except KeyError as error:
            raise ValueError(SECRET) from error

    monkeypatch.setattr(Domain, "from_toml", fail)
    outcome = run(f"query people.parquet mean age --epsilon 0.1 {ASK}")
    refused(outcome)
    assert outcome.err == "sordino: internal error (ValueError); nothing more was released\n"
    assert "SORDINO_DEBUG" not in inspect.getsource(cli)


def test_a_message_stays_one_line_whatever_the_names_in_it_hold(folder: Path, run: Runner) -> None:
    refused(run("query people.parquet mean", "one\ntwo\x1b[31m", *f"--epsilon 0.1 {ASK}".split()))


# --- interrupted

INTERRUPTED = "sordino: interrupted; a charge already made stands\n"


def test_an_interrupt_exits_with_130_and_the_charge_stands(
    folder: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Session, statistics: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "_pass", interrupted)
    outcome = run(f"query people.parquet mean age --epsilon 0.1 {ASK}")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", INTERRUPTED)
    assert entries() == 1


def test_a_long_pass_in_another_process_stops_at_once_when_interrupted(folder: Path) -> None:
    program = """
        import sys, time
        import numpy as np, sordino
        from sordino import cli
        from sordino.table.memory import MatrixBlock
        from sordino.table.source import Source

        class Endless(Source):
            name = "people"
            kinds = {"age": "number", "bmi": "number", "sex": "text"}
            def blocks(self, columns):
                while True:
                    time.sleep(0.001)
                    yield lambda: MatrixBlock(np.zeros((10, 1)), ["age"])

        opened = sordino.open_table
        sordino.open_table = lambda data, *rest, **options: opened(Endless(), *rest, **options)
        sys.exit(cli.main(sys.argv[1:]))
    """
    command = [sys.executable, "-c", textwrap.dedent(program), *f"query x mean age --epsilon 0.1 {ASK}".split()]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as long:
        deadline = time.monotonic() + 15
        while entries() == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        long.send_signal(signal.SIGINT)
        out, err = long.communicate(timeout=10)
    assert (long.returncode, out, err) == (130, "", INTERRUPTED)
    assert entries() == 1


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(sordino.__file__).parents[1])}


# --- output

QUESTIONS = [
    "count",
    "sum age",
    "mean age",
    "mean age bmi",
    "median age",
    "quantile age --quantile 0.9 --candidates 121",
    "variance age",
    "covariance age bmi --delta 1e-6",
    "histogram sex",
    "histogram age --bins 0,18,65,120",
    "histogram sex age --bins age=3",
    "histograms age bmi --by sex --bins age=3 --bins bmi=10,25,60",
]


def test_every_query_is_asked_here_and_named_in_the_help(run: Runner) -> None:
    assert {question.split()[0] for question in QUESTIONS} == set(QUERIES) == set(cli.QUERY_NAMES.split())


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_has_value_interval_and_receipt_in_words_and_in_json(
    folder: Path, run: Runner, question: str
) -> None:
    words = run(f"query people.parquet {question} --epsilon 0.1 {ASK} --level 0.9")
    assert (words.code, words.err) == (0, "")
    for said in ("90 % confidence", "not about a population", "PRIVATE · neighbours add-remove", "ledger: epsilon=3"):
        assert said in words.out
    outcome = run(f"query people.parquet {question} --epsilon 0.1 {ASK} --level 0.9 --json")
    document = parsed(outcome)
    assert [document["query"], *document["columns"]] == words_of(question)
    assert document["level"] == 0.9
    assert document["receipt"]["private"] is True
    planned = parsed(run(f"plan people.parquet {question} --epsilon 0.1 --domain people.toml --rows 4000 --json"))
    charges = [{**charge, "ledger_entry": None} for charge in document["receipt"]["charges"]]
    assert planned["charges"] == charges
    assert planned["half_width"] > 0


def words_of(question: str) -> list[str]:
    return question.split(" --")[0].split()


def parsed(outcome: Outcome) -> dict[str, Any]:
    """JSON that survives a round trip, from a command that succeeded."""
    assert (outcome.code, outcome.err) == (0, "")
    document = json.loads(outcome.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert json.loads(json.dumps(document)) == document
    return document


def test_json_of_a_matrix_and_of_histograms_is_nested_lists(folder: Path, run: Runner) -> None:
    ask = f"--epsilon 0.5 {ASK} --json"
    matrix = parsed(run(f"query people.parquet covariance age bmi --delta 1e-6 {ask}"))
    assert np.shape(matrix["value"]) == (2, 2)
    assert np.shape(matrix["interval"]) == (2, 2, 2)
    counts = parsed(run(f"query people.parquet histograms age bmi --by sex --bins 3 {ask}"))
    assert {name: np.shape(value) for name, value in counts["value"].items()} == {"age": (2, 3), "bmi": (2, 3)}


def test_a_plan_reads_no_row_and_spends_nothing(folder: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "_pass", lambda *_: pytest.fail("a row was read"))
    plan = run("plan people.parquet mean age --epsilon 0.1 --domain people.toml")
    assert plan.code == 0
    assert "--rows NUMBER" in plan.out
    assert "nothing was spent" in plan.out
    guessed = run("plan people.parquet mean age --epsilon 0.1 --domain people.toml --rows 1000")
    assert "± " in guessed.out
    refused(run("plan people.parquet mean age --epsilon 0.1 --domain people.toml --rows 0"), "rows")


def test_a_plan_of_a_matrix_shows_a_width_for_each_entry(folder: Path, run: Runner) -> None:
    asked = "plan people.parquet covariance age bmi --epsilon 1 --domain people.toml --rows 1000"
    widths = parsed(run(f"{asked} --json"))["half_widths"]
    lines = [line.split() for line in run(asked).out.splitlines()[1:4]]
    assert [line[:2] for line in lines] == [["age", "age"], ["age", "bmi"], ["bmi", "bmi"]]
    shown = [float(line[-1]) for line in lines]
    assert shown == pytest.approx([widths[0][0], widths[0][1], widths[1][1]], rel=0.1)
    assert len(set(shown)) == 3


def test_every_paid_receipt_ends_with_the_budget_that_paid(folder: Path, run: Runner) -> None:
    paid = "--domain people.toml --ledger people.ledger --epsilon 0.1"
    for command in ("query people.csv count", "fit people.csv NaiveBayes --target sex -o m.json",
                    "synthesize people.csv -o fake.csv"):  # fmt: skip
        last = run(f"{command} {paid}").out.splitlines()[-1]
        assert last == f"  ledger: {sordino.Ledger.read('people.ledger')}"
        assert ", left " in last


def test_a_ledger_is_created_shown_and_verified(folder: Path, run: Runner) -> None:
    created = parsed(run("ledger create new.ledger --epsilon 3 --delta 1e-6 --pure 1 --json"))
    assert (created["epsilon"], created["delta"], created["entries"]) == ("3", "0.000001", [])
    run("query people.parquet count --epsilon 0.1 --domain people.toml --ledger new.ledger")
    shown = parsed(run("ledger show new.ledger --json"))
    assert Fraction(shown["exact"]["spent"]["epsilon"]) == Fraction(1, 10)
    assert shown["entries"][0]["what"] == "count of records"
    words = run("ledger show new.ledger").out
    for said in ("data set 'people'", "0.9", "count of records"):
        assert said in words
    assert parsed(run("ledger verify new.ledger --json")) == {"path": "new.ledger", "sound": True, "problems": []}
    assert "sound" in run("ledger verify new.ledger").out


def test_verify_exits_with_1_when_the_ledger_was_changed_behind_our_back(folder: Path, run: Runner) -> None:
    import sqlite3

    run(f"query people.parquet count --epsilon 0.1 {ASK}")
    with sqlite3.connect("people.ledger") as connection:
        connection.execute("UPDATE entry SET amount = '1/1000'")
    connection.close()
    outcome = run("ledger verify people.ledger")
    assert outcome.code == 1
    assert "entry 1" in outcome.out
    tampered = run("ledger verify people.ledger --json")
    assert tampered.code == 1
    assert json.loads(tampered.out)["sound"] is False


# --- init


def test_init_reads_no_row_and_its_draft_asks_for_what_is_missing(
    folder: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"age": [1.5], "n": [2], "name": ["x"], "ok": [True], "born": pa.array([0], pa.date32())})
    pa.parquet.write_table(table, "kinds.parquet")
    monkeypatch.setattr("duckdb.connect", lambda *_, **__: pytest.fail("rows were read"))
    drafted = parsed(run("init kinds.parquet -o kinds.toml --json"))
    assert drafted["columns"] == {"age": "real", "n": "real", "name": "category", "ok": "truth"}
    assert drafted["left_out"] == ["born"]
    text = Path("kinds.toml").read_text()
    assert text.count('= "fill in"') == 5
    refused(run("plan kinds.parquet count --epsilon 1 --domain kinds.toml"), "'age'", "Write low = NUMBER")
    filled = text.replace('low = "fill in"', "low = 0").replace('high = "fill in"', "high = 9")
    Path("kinds.toml").write_text(filled)
    refused(run("plan kinds.parquet count --epsilon 1 --domain kinds.toml"), "'name'", "Write values = [")
    Path("kinds.toml").write_text(filled.replace('values = "fill in"', 'values = ["x"]'))
    assert Domain.from_toml("kinds.toml").real("age") == Real(0, 9)


def test_init_of_a_csv_takes_names_only_and_overwrites_nothing_unasked(folder: Path, run: Runner) -> None:
    assert set(parsed(run("init people.csv -o csv.toml --json"))["columns"].values()) == {"unknown"}
    Path("csv.toml").write_text("mine")
    refused(run("init people.csv -o csv.toml"), "csv.toml", "--force")
    assert Path("csv.toml").read_text() == "mine"
    assert run("init people.csv -o csv.toml --force").code == 0
    assert "mine" not in Path("csv.toml").read_text()
    refused(run("init people.csv -o absent/csv.toml"), "absent/csv.toml")


# --- progress


class Terminal:
    """Standard error as a terminal that remembers what was written."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, patience: float = 0.02) -> Terminal:
    """Called within a test: pytest sets standard error anew between a fixture and its test."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(terminal, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return screen


def appeared(screen: Terminal) -> None:
    """Wait until something is shown."""
    deadline = time.monotonic() + 10
    while "reading" not in screen.text and time.monotonic() < deadline:
        time.sleep(0.01)


def test_progress_is_in_percent_and_never_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at_a_terminal(monkeypatch)
    with terminal.Progress("reading") as progress:
        for rows in range(0, SECRET_ROWS, 100):
            progress(rows / SECRET_ROWS)
            time.sleep(0.005)
        appeared(screen)
    assert "reading" in seen(screen)
    assert re.search(r"\d+%", seen(screen))
    assert re.findall(r"\d+(?!\d*%)", seen(screen)) == []


def test_a_source_of_unknown_length_shows_that_it_is_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at_a_terminal(monkeypatch)
    with terminal.Progress("reading"):
        appeared(screen)
    assert "reading" in seen(screen)
    assert not re.search(r"\d", seen(screen))


def test_a_short_pass_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at_a_terminal(monkeypatch, patience=60)
    with terminal.Progress("reading") as progress:
        progress(0.5)
    assert screen.text == ""


def test_progress_goes_to_a_terminal_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0)
    with terminal.Progress("reading") as progress:
        progress(0.5)
        time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


def seen(screen: Terminal) -> str:
    """What a reader sees: the text without the codes that move and colour it."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.text)


# --- the demo


def test_the_demo_runs_twice_in_its_folder_and_leaves_others_alone(folder: Path, run: Runner) -> None:
    first, second = run("demo --folder shown"), parsed(run("demo --folder shown --json"))
    assert first.code == 0
    for said in ("PRIVATE", "refused: ", "The ledger is unchanged", "sound: ", "sordino query"):
        assert said in first.out
    assert [step["title"] for step in second["steps"]] == [title for title, _ in STEPS]
    assert max(len(line) for line in first.out.splitlines() if "  ledger: " not in line) < 160
    Path("mine").mkdir()
    Path("mine/domain.toml").write_text("mine")
    refused(run("demo --folder mine"), "mine", "--folder")
    assert Path("mine/domain.toml").read_text() == "mine"
    command = re.search(r"sordino (query .*\\\n.*)", first.out)
    assert command is not None
    assert run(command[1].replace("\\\n", " ")).code == 0


def test_the_bounds_of_the_demo_are_not_those_of_its_table(folder: Path, run: Runner) -> None:
    run("demo --folder shown")
    table = pa.parquet.read_table("shown/cells.parquet")
    assert table.num_rows == 569
    for name, column in COLUMNS.items():
        if isinstance(column, Real):
            values = np.array(table[name])
            assert column.low == 0 <= values.min()
            assert column.high > 1.25 * values.max()
            assert column.high == float(f"{column.high:.1g}")  # a round number


# --- real processes


def test_help_is_quick_and_loads_none_of_the_rooms() -> None:
    program = "import sys; from sordino import cli; cli.main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), check=True
    )
    loaded = set(done.stderr.split())
    assert loaded.isdisjoint({"numpy", "pyarrow", "duckdb", "opendp", "sklearn", "sordino.table", "sordino.privacy"})
    assert "Commands:" in done.stdout
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sordino.cli", "--help"], capture_output=True, env=environment(), check=True)
    bare = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import rich.console, email.message"], check=True)
    assert bare - started < max(0.5, 5 * (time.perf_counter() - bare))  # a busy machine is slow at both


@pytest.mark.parametrize("group", ["", "ledger", "attack", "audit"])
def test_help_of_a_group_has_whole_sentences_and_an_example(group: str, run: Runner) -> None:
    said = run(f"{group} --help").out
    assert "..." not in said.partition("Commands:")[2]
    assert "Example:\n    sordino " in said


def test_help_names_every_command_in_order_and_no_type_of_python(run: Runner) -> None:
    _, _, listed = run("--help").out.partition("Commands:\n")
    assert [line.split()[0] for line in listed.split("\n\n")[0].splitlines()] == list(cli.ORDER)
    for command in cli.ORDER:
        assert not re.search(r"<[a-zA-Z\[\]]+>", run(f"{command} --help").out)
    assert set(ESTIMATORS) == set(ESTIMATOR_NAMES.split())
    assert PAPER_NAMES.split() == [*VERDICTS, "all"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("sordino que", {"query"}),
        ("sordino query --le", {"--ledger", "--level"}),
        ("sordino plan people.csv me", {"mean", "median"}),
        ("sordino fit people.csv Gau", {"GaussianBayes", "GaussianMixture"}),
        ("sordino ledger ", {"create", "show", "verify"}),
        ("sordino audit paper p", {"pathak"}),
        ("sordino study m", {"mothali-attack", "mothali-classifier"}),
    ],
)
def test_bash_completes_commands_options_and_names(typed: str, expected: set[str], tmp_path: Path) -> None:
    """With the script that ``--show-completion`` prints, in a real shell."""
    command = tmp_path / "sordino"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m sordino.cli "$@"\n')
    command.chmod(0o755)
    words = typed.split(" ")
    script = (
        'eval "$(sordino --show-completion bash)"; '
        f"COMP_WORDS=({typed}{'' if words[-1] else ' ' + repr('')}); COMP_CWORD={len(words) - 1}; "
        '_sordino_completion sordino; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    surroundings = {**environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=surroundings, check=True)
    assert set(done.stdout.split()) == expected


def test_a_real_process_answers_and_refuses(folder: Path) -> None:
    command = [sys.executable, "-m", "sordino.cli", *f"query people.csv count {ASK} --epsilon".split()]
    good = subprocess.run([*command, "0.1"], capture_output=True, text=True, env=environment(), check=False)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("count: ")
    bad = subprocess.run([*command, "9"], capture_output=True, text=True, env=environment(), check=False)
    refused(Outcome(bad.returncode, bad.stdout, bad.stderr), "Nothing was charged")


def test_a_terminal_without_our_letters_does_not_lose_a_paid_answer(folder: Path) -> None:
    command = [sys.executable, "-m", "sordino.cli", *f"query people.parquet histogram sex {ASK} --epsilon 0.1".split()]
    plain = {**environment(), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=plain, check=False)
    assert done.returncode == 0
    assert "female" in done.stdout


# --- numbers


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (54.31728, 0.83, "54.32"),
        (54.31728, 12.0, "54"),
        (-0.001, 0.5, "0.00"),
        (1021, 23, "1021"),
        (3.0, 0.0, "3.000000"),
        (1e-12, 1e-13, "1e-12"),
        (1e20, 1.0, "1e+20"),
        (float("inf"), 1.0, "inf"),
    ],
)
def test_a_number_has_the_digits_that_its_noise_leaves_meaning_in(value: float, width: float, text: str) -> None:
    assert rounded(value, width) == text


# --- the twin: what looks for secrets finds one


@pytest.mark.parametrize(
    "leak", [f"cannot cast '{SECRET}' to a number", f"bad cell {SECRET_WORD}", f"{SECRET_ROWS} rows"]
)
def test_a_leak_would_be_noticed(leak: str) -> None:
    with pytest.raises(AssertionError):
        holds_no_secret(leak)


def test_a_message_that_quotes_a_cell_would_be_noticed(
    folder: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quoting(self: Session, statistics: object) -> None:
        raise sordino.SordinoError(f"table: cannot read {SECRET}")

    monkeypatch.setattr(Session, "_pass", quoting)
    with pytest.raises(AssertionError):
        holds_no_secret(run(f"query people.parquet mean age --epsilon 0.1 {ASK}").err)
