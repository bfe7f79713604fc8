"""Bad input gets one clear message of the right kind, and loses nothing: no budget, no file, no row read.

Every message says who refuses and what to do; ``Got`` shows the public value that broke the rule. What a domain
refuses by itself is in ``test_domain.py``; what a source refuses, in ``test_sources.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import sordino as so
from sordino.errors import BudgetError, DomainError, LedgerError, ParameterError, SordinoError, TableError

DOMAIN = so.Domain({"age": so.Real(0, 120), "bmi": so.Real(10, 60), "sex": so.Category(["f", "m"])})
TABLE = pa.table(
    {"age": [41.0625, 52.0], "bmi": [20.0, 30.0], "sex": ["f", "m"], "when": pa.array([1, 2], pa.date32())}
)
ARRAY = np.array([[41.0625, 20.0]])


def opened(data: Any = TABLE, domain: so.Domain = DOMAIN, **options: Any) -> so.PrivateTable:
    return so.open_table(data, domain, **options)


def check_refusal(act: Callable[[], Any], kind: type[SordinoError], said: str, ledger: so.Ledger | None = None) -> None:
    """The right class, the right words, nothing of the rows, and nothing spent."""
    with pytest.raises(SordinoError) as caught:
        act()
    assert type(caught.value) is kind
    text = str(caught.value)
    assert re.search(said, text), text
    assert re.match(r"[\w .'-]+: ", text), f"who refuses? {text}"
    assert text.endswith("."), text
    assert "\n" not in text
    assert "41.06" not in text
    if ledger is not None:
        assert ledger.entries() == []


def only(**columns: Any) -> so.Domain:
    return so.Domain(columns)


TABLES: dict[str, tuple[Callable[[], Any], type[SordinoError], str]] = {
    "column missing from the table": (
        lambda: opened(domain=only(height=so.Real(0, 3))), TableError,
        "no column 'height'. It has 'age', 'bmi', 'sex', 'when'"),
    "column missing from a frame": (
        lambda: opened(pd.DataFrame({"age": [1.0]})), TableError, "no column 'bmi'. It has 'age'"),
    "text declared as a number": (
        lambda: opened(domain=only(sex=so.Real(0, 1))), TableError,
        "'sex' is stored as text but declared as Real. Declare it as it is stored, or convert"),
    "number declared as text": (
        lambda: opened(domain=only(age=so.Category(["a"]))), TableError,
        "stored as numbers but declared as Category of"),
    "truth declared as a number": (
        lambda: opened(pa.table({"age": [True]}), only(age=so.Real(0, 1))), TableError, "stored as true/false"),
    "a date": (
        lambda: opened(domain=only(when=so.Real(0, 1))), TableError, "stored as a type that cannot be used"),
    "a list": (
        lambda: opened(pa.table({"age": [[1.0]]}), only(age=so.Real(0, 1))), TableError, "a type that cannot be used"),
    "no table": (lambda: opened(3), TableError, "cannot read int. Give a path"),
    "no names": (lambda: opened(ARRAY), TableError, r"an array has no column names. Write columns=\["),
    "too few names": (lambda: opened(ARRAY, columns=["age"]), TableError, "name each of the 2 columns once. Got 1"),
    "three dimensions": (lambda: opened(np.zeros((2, 2, 2)), columns=["age"]), TableError, "two-dimensional .* Got 3"),
    "a domain that is none": (lambda: opened(domain={"age": 3}), ParameterError, "must be a Domain. Got dict"),
    "a ledger that is none": (lambda: opened(ledger=3), ParameterError, r"must be a Ledger. Got int. Write so.Ledger"),
    "no file": (lambda: opened("absent.parquet"), TableError, "there is no file 'absent.parquet'"),
    "unknown ending": (lambda: opened(__file__), TableError, "must end in one of"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_table_that_does_not_match_is_refused(name: str) -> None:
    check_refusal(*TABLES[name])


QUESTIONS: dict[str, tuple[Callable[[so.PrivateTable], Any], type[SordinoError], str]] = {
    "epsilon zero": (lambda t: t.count(epsilon=0), ParameterError, "epsilon: must be above 0. Got 0"),
    "epsilon negative": (lambda t: t.count(epsilon=-1), ParameterError, "epsilon: must be above 0. Got -1"),
    "epsilon NaN": (lambda t: t.count(epsilon=math.nan), ParameterError, "epsilon: must be a finite number. Got nan"),
    "epsilon minus infinity": (lambda t: t.count(epsilon=-math.inf), ParameterError, "epsilon: .* Got -inf"),
    "epsilon infinite": (lambda t: t.count(epsilon=math.inf), ParameterError, "epsilon: infinity means no noise"),
    "epsilon text": (lambda t: t.count(epsilon="much"), ParameterError, "epsilon: must be a finite number. Got 'much'"),
    "epsilon nothing": (lambda t: t.count(epsilon=None), ParameterError, "epsilon: must be a number. Got NoneType"),
    "epsilon true": (lambda t: t.count(epsilon=True), ParameterError, "epsilon: must be a number. Got bool"),
    "epsilon above the budget": (lambda t: t.count(epsilon=2), BudgetError, "asks epsilon=2.*remaining .*epsilon=1"),
    "delta negative": (lambda t: t.count(epsilon=1, delta=-1e-9), ParameterError, r"delta: must lie in \[0, 1\)"),
    "delta one": (lambda t: t.count(epsilon=1, delta=1), ParameterError, r"delta: must lie in \[0, 1\). Got 1"),
    "delta NaN": (lambda t: t.count(epsilon=1, delta=math.nan), ParameterError, "delta: must be a finite number"),
    "delta on a pure ledger": (lambda t: t.count(epsilon=1, delta="1e-6"), BudgetError, "takes pure releases only"),
    "seed": (lambda t: t.count(epsilon=1, random_state="x"), ParameterError, "random_state: must be a whole number"),
    "column missing from the domain": (
        lambda t: t.mean("height", epsilon=1), DomainError,
        "no column 'height' is declared. Declared are 'age', 'bmi'"),
    "category for a mean": (lambda t: t.mean("sex", epsilon=1), DomainError, "'sex' is a Category; this needs a Real"),
    "column twice": (lambda t: t.sum(["age", "age"], epsilon=1), ParameterError, "distinct columns"),
    "no column": (lambda t: t.covariance([], epsilon=1), ParameterError, "columns"),
    "no column for a sum": (
        lambda t: t.ask("sum", epsilon=1), ParameterError, "sum: missing a required argument: 'columns'. It takes"),
    "columns by themselves": (
        lambda t: t.ask("sum", "age", "bmi", epsilon=1), ParameterError, "too many positional arguments. It takes"),
    "a column for a count": (
        lambda t: t.plan("count", "age", epsilon=1), ParameterError, "too many .* It takes: nothing"),
    "an option of another query": (
        lambda t: t.ask("mean", "age", epsilon=1, bins=3), ParameterError, "mean: got an unexpected .* 'bins'"),
    "a number for a column": (lambda t: t.mean(3, epsilon=1), ParameterError, "a name or a list of names. Got 3"),
    "a list for one column": (lambda t: t.median(["age"], epsilon=1), DomainError, r"no column \['age'\] is declared"),
    "bins for a category": (
        lambda t: t.histogram("sex", epsilon=1, bins=3), ParameterError, "bins are for the Real columns .* for 'sex'"),
    "bins for a column that is not asked for": (
        lambda t: t.histograms(["age", "sex"], epsilon=1, bins={"age": 2, "bmi": 3}), ParameterError,
        "bins are for the Real columns .* for 'bmi'"),
    "bins as text": (
        lambda t: t.histogram("age", epsilon=1, bins="x"), ParameterError, "whole number or a list of edges. Got 'x'"),
    "method": (lambda t: t.mean("age", epsilon=1, method="best"), ParameterError, "method must be .* Got 'best'"),
    "direct without rows": (
        lambda t: t.mean("age", epsilon=1, method="direct"), ParameterError, "Declare Domain.*rows=NUMBER"),
    "direct median without rows": (
        lambda t: t.median("age", epsilon=1, method="direct"), ParameterError, "Declare Domain.*rows=NUMBER"),
    "quantile above one": (lambda t: t.quantile("age", 1.5, epsilon=1), ParameterError, "quantile: must lie between"),
    "one candidate": (lambda t: t.median("age", epsilon=1, candidates=1), ParameterError, "candidates must .* Got 1"),
    "bins missing": (lambda t: t.histogram("age", epsilon=1), ParameterError, "bins"),
    "no bins": (lambda t: t.histogram("age", bins=0, epsilon=1), ParameterError, "bins must be .* Got 0"),
    "falling edges": (lambda t: t.histogram("age", bins=[2, 1], epsilon=1), ParameterError, "rising numbers"),
    "unknown query": (lambda t: t.ask("mode", epsilon=1), ParameterError, "query: must be one of count, .* Got 'mode'"),
    "plan rows": (lambda t: t.plan("mean", "age", epsilon=1, rows=0), ParameterError, "rows must be .* Got 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_impossible_question_is_refused_and_spends_nothing(name: str) -> None:
    ask, kind, said = QUESTIONS[name]
    ledger = so.Ledger(epsilon=1)
    table = opened(ledger=ledger)
    check_refusal(lambda: ask(table), kind, said, ledger)
    assert table.count(epsilon=1).receipt.private  # the whole budget is still there


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan, "0.95", None])
def test_impossible_level_is_refused(level: Any) -> None:
    answer = opened().count(epsilon=1)
    check_refusal(lambda: answer.interval(level), ParameterError, "interval: level must lie .* Got")


@pytest.mark.parametrize("wrong", [3, "age", [1, 2], {"labels": 3}])
def test_a_histogram_that_is_none_is_refused(wrong: Any) -> None:
    answer = opened().median("age", epsilon=1)
    said = r"interval: histogram must be a release of table.histogram\('age', bins=…\)"
    check_refusal(lambda: answer.interval(0.9, histogram=wrong), ParameterError, said)


def not_a_ledger(path: Path) -> None:
    path.write_text("age\n41.0625\n")


def another_budget(path: Path) -> None:
    so.Ledger.open(path, epsilon=2)


def another_data_set(path: Path) -> None:
    so.Ledger.open(path, epsilon=1, name="others")


def another_relation(path: Path) -> None:
    so.Ledger.open(path, epsilon=1, neighbours="substitute")


LEDGERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "not a ledger": (not_a_ledger, "not a Sordino ledger"),
    "a folder": (lambda path: path.mkdir(), "Ledger: "),
    "another budget": (another_budget, "epsilon=2, fixed for good. Got 1"),
    "another data set": (another_data_set, "belongs to data set 'others'"),
    "another relation": (another_relation, "'substitute'"),
}


@pytest.mark.parametrize("name", LEDGERS)
def test_ledger_that_does_not_belong_is_refused(name: str, tmp_path: Path) -> None:
    prepare, said = LEDGERS[name]
    path = tmp_path / "people.ledger"
    prepare(path)
    before = said_of(path)
    check_refusal(lambda: opened(ledger=so.Ledger.open(path, epsilon=1), name="people"), LedgerError, said)
    assert said_of(path) == before


def said_of(path: Path) -> Any:
    """All that a ledger says of itself, or the bytes of what is none."""
    if path.is_dir() or not path.read_bytes().startswith(b"SQLite"):
        return path.is_dir() or path.read_bytes()
    ledger = so.Ledger.read(path)
    return str(ledger), ledger.entries(), ledger.verify()


@pytest.mark.parametrize("kept", [0, 4, 100, -1, -8])
def test_parquet_file_cut_short_is_refused_and_spends_nothing(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:kept])
    ledger = so.Ledger(epsilon=1)
    check_refusal(lambda: opened(path, ledger=ledger), TableError, "cannot be read as Parquet .* cut short", ledger)
    assert ledger.name is None  # a table that was not opened does not take the ledger


def test_refused_domain_leaves_the_ledger_free(tmp_path: Path) -> None:
    ledger = so.Ledger(epsilon=1)
    check_refusal(lambda: opened(domain=only(height=so.Real(0, 1)), ledger=ledger, name="a"), TableError, "height")
    opened(ledger=ledger, name="b")
    assert ledger.name == "b"


def test_csv_cell_that_is_no_number_is_missing_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,bmi,sex\nold,20,f\n50,thin,m\n")
    table = opened(tmp_path / "people.csv", random_state=0)
    assert table.histogram("age", bins=1, epsilon=math.inf).value.tolist() == [1]
    assert table.histogram("sex", epsilon=math.inf).value.tolist() == [1, 1]


def test_the_check_fails_for_a_message_that_quotes_a_cell() -> None:
    def quotes() -> None:
        raise TableError("table: a cell cannot be used. Got 41.0625.")

    with pytest.raises(AssertionError):
        check_refusal(quotes, TableError, "cannot be used")
