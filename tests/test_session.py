"""The order of the gate: price, charge, total, noise, release. Whatever fails, the charge stands and nothing is told.

Every cell of the tables here is one planted number. It must be found nowhere: in no message, in no exception that a
message was made from, in no ``repr``, in no warning, in no log.
"""

from __future__ import annotations

import copy
import logging
import math
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import sordino as so
from sordino.cost import Cost
from sordino.engine.accumulation import Accumulation, ExactSum
from sordino.engine.local import accumulate
from sordino.errors import BudgetError, LedgerError, ParameterError, PassError, SordinoError, TableError
from sordino.privacy import session as gate
from sordino.privacy.noise import SecureNoise, SeededNoise
from sordino.privacy.price import Question
from sordino.privacy.session import Session
from sordino.statistics.count import Count
from sordino.statistics.ranks import RankScores
from sordino.statistics.statistic import Statistic, Total
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box
from sordino.table.clipping import Batch, ChosenRows, ClippedBatch, Integers
from sordino.table.memory import MatrixBlock
from sordino.table.opening import open_source
from sordino.table.source import ArrowBlock, Kind, Source, UnreadBlock

SECRET = 73.123456789
DOMAIN = so.Domain({"age": so.Real(0, 120), "sex": so.Category(["f", "m"])})
TABLE = pa.table({"age": [SECRET] * 10, "sex": ["f"] * 10})
COUNT = Question(Count(), Cost.pure("0.25"))
SUM = Question(Sum(Box(("age",))), Cost.pure("0.25"))


def told(*things: object) -> bool:
    """Whether any digits of the planted cell, or of its place on the grid, are in these texts."""
    grid = round((SECRET - 60) / 60 * 2**20)
    return any(digits in str(thing) for thing in things for digits in ("73.12", str(grid), str(10 * grid)))


def everything_behind(error: BaseException) -> list[str]:
    """All text of an exception, its causes and contexts, notes and tracebacks."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and each not in seen:
            seen.append(each)
            waiting += [each.__cause__, each.__context__]
    return [
        text for each in seen for text in (str(each), repr(each), repr(each.args), *traceback.format_exception(each))
    ]


class Spy(Source):
    """A table that notes when it is read, and may fail while it is."""

    kinds: dict[str, Kind] = {"age": "number", "sex": "text"}  # noqa: RUF012  # a property in the contract

    def __init__(self, events: list[str], blocks: int = 1, failure: BaseException | None = None) -> None:
        self._events, self._blocks, self._failure = events, blocks, failure

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        self._events.append("read")
        for batch in TABLE.to_batches() * self._blocks:
            yield partial(ArrowBlock, batch)
        if self._failure is not None:
            raise self._failure


class SpyLedger:
    """A ledger that notes when it is charged."""

    def __init__(self, events: list[str], epsilon: float = 1) -> None:
        self._events, self._ledger = events, so.Ledger(epsilon=epsilon)

    def charge(self, costs: Any) -> list[int]:
        self._events.append("charge")
        return self._ledger.charge(costs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


class SpyNoise(SecureNoise):
    """Noise that notes when it is drawn."""

    def __init__(self, events: list[str]) -> None:
        self._events = events

    def draw(self, laws: Any) -> list[int]:
        self._events.append("noise")
        return super().draw(laws)

    def choose(self, exact_scores: Any, scale: float, pure: bool) -> int:
        self._events.append("noise")
        return super().choose(exact_scores, scale, pure)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    noted: list[str] = []
    for name in ("price", "price_choice"):
        honest = getattr(gate, name)
        monkeypatch.setattr(gate, name, lambda *each, _honest=honest: (noted.append("price"), _honest(*each))[1])
    return noted


def spied(events: list[str], epsilon: float = 1, blocks: int = 1, failure: BaseException | None = None) -> Session:
    return Session(Spy(events, blocks, failure), DOMAIN, SpyLedger(events, epsilon), SpyNoise(events))  # type: ignore[arg-type]


CHOICE = RankScores("age", (0.0, 60.0, 120.0))


# --- the order ---------------------------------------------------------------------------------------------------


def check_order(session: Session, events: list[str]) -> None:
    session.answer([COUNT])
    assert events == ["price", "charge", "read", "noise"]


def test_order_is_price_charge_total_noise(events: list[str]) -> None:
    check_order(spied(events), events)


def test_several_statistics_are_charged_together_before_one_pass(events: list[str]) -> None:
    session = spied(events)
    first, second = session.answer([COUNT, SUM])
    assert events == ["price", "price", "charge", "read", "noise", "noise"]
    assert [first.receipt.charges[0].entry, second.receipt.charges[0].entry] == [1, 2]


def test_order_of_a_choice_is_the_same(events: list[str]) -> None:
    index, receipt = spied(events).choose(CHOICE, Cost.pure("0.25"))
    assert events == ["price", "charge", "read", "noise"]
    assert index in (0, 1, 2)
    assert receipt.charges[0].entry == 1


def test_the_order_check_fails_for_a_gate_that_reads_first(events: list[str]) -> None:
    class ReadsFirst(Session):
        def _charge(self, prices: Any) -> Any:
            self._pass([each.statistic for each in prices])
            return super()._charge(prices)

    honest = spied(events)
    with pytest.raises(AssertionError):
        check_order(ReadsFirst(honest._source, DOMAIN, honest._ledger, honest._noise), events)


def test_refused_charge_reads_nothing_and_draws_nothing(events: list[str]) -> None:
    session = spied(events, epsilon=0.1)
    with pytest.raises(BudgetError, match="Nothing was charged"):
        session.answer([COUNT])
    with pytest.raises(BudgetError, match="Nothing was charged"):
        session.choose(CHOICE, Cost.pure("0.25"))
    assert events == ["price", "charge"] * 2
    assert session._ledger.entries() == []  # type: ignore[union-attr]


def test_refused_price_charges_nothing(events: list[str]) -> None:
    substitute = so.Domain(DOMAIN.columns, neighbours="substitute")
    session = spied(events)
    with pytest.raises(ParameterError, match="nothing to pay for"):
        Session(session._source, substitute, session._ledger, session._noise).answer([COUNT])
    with pytest.raises(SordinoError, match="beyond 64 bits"):
        session.answer([Question(Count(), Cost.pure("1e-18"))])
    assert set(events) == {"price"}


# --- a pass that fails -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fails(Sum):
    """A statistic that fails with a cell in its message, and another error behind it."""

    kind: type[BaseException] = ValueError

    def block_total(self, batch: Batch) -> Integers:
        cell = batch.numbers("age")[0]
        try:
            raise KeyError(cell)
        except KeyError as error:
            raise self.kind(f"cannot use {cell}") from error


@dataclass(frozen=True)
class FailsToFinish(Sum):
    """Fails when everything is added up."""

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        raise ArithmeticError(f"total {total}")


def tells(cell: float) -> Exception:
    return RuntimeError(f"cell {cell}")


BAD_SUM = Question(Fails(Box(("age",))), Cost.pure("0.25"))

FAILURES: dict[str, tuple[Callable[[list[str]], Session], Question]] = {
    "a statistic": (spied, BAD_SUM),
    "a statistic on a thread": (partial(spied, blocks=9), BAD_SUM),
    "memory": (spied, Question(Fails(Box(("age",)), kind=MemoryError), Cost.pure("0.25"))),
    "finishing": (spied, Question(FailsToFinish(Box(("age",))), Cost.pure("0.25"))),
    "the source": (partial(spied, failure=tells(SECRET)), SUM),
    "the source, with threads at work": (partial(spied, blocks=9, failure=tells(SECRET)), SUM),
    "a message of ours": (partial(spied, failure=TableError("table: gone.")), SUM),
}


def check_failure_tells_nothing(session: Session, question: Question) -> None:
    with pytest.raises(PassError, match="The charge stands and nothing was released") as caught:
        session.answer([question])
    assert not told(*everything_behind(caught.value))
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("name", FAILURES)
def test_pass_that_fails_leaves_its_charge_and_tells_nothing(
    name: str, events: list[str], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    opened, question = FAILURES[name]
    session = opened(events)
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_failure_tells_nothing(session, question)
    assert "noise" not in events
    assert len(session._ledger.entries()) == 1  # type: ignore[union-attr]
    assert not told(caplog.text, *capfd.readouterr(), *(each.message for each in caught))


def test_failed_choice_leaves_its_charge_and_tells_nothing(events: list[str]) -> None:
    session = spied(events, failure=tells(SECRET))
    with pytest.raises(PassError, match="charge stands") as caught:
        session.choose(CHOICE, Cost.pure("0.25"))
    assert not told(*everything_behind(caught.value))
    assert len(session._ledger.entries()) == 1  # type: ignore[union-attr]


def test_the_silence_check_fails_for_a_gate_that_lets_errors_through(events: list[str]) -> None:
    class Chained(Session):
        def _pass(self, statistics: Sequence[Statistic]) -> Any:
            try:
                return self._accumulate(statistics).totals()
            except Exception as error:
                raise PassError("table: failed. The charge stands and nothing was released.") from error

    honest = spied(events, failure=tells(SECRET))
    with pytest.raises(AssertionError):
        check_failure_tells_nothing(Chained(honest._source, DOMAIN, honest._ledger, honest._noise), SUM)


def test_interrupted_pass_leaves_its_charge(events: list[str]) -> None:
    session = spied(events, failure=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        session.answer([SUM])
    assert len(session._ledger.entries()) == 1  # type: ignore[union-attr]
    assert "noise" not in events


def test_file_spoiled_after_it_was_opened_fails_after_the_charge_and_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pa.table({"age": np.linspace(0, SECRET, 4000), "sex": ["f"] * 4000}), path)
    ledger = so.Ledger(epsilon=1)
    table = so.open_table(path, DOMAIN, ledger=ledger)
    whole = bytearray(path.read_bytes())
    whole[50:2000] = b"\xff" * 1950
    path.write_bytes(whole)
    with pytest.raises(PassError, match="charge stands") as caught:
        table.mean("age", epsilon=1)
    assert not told(*everything_behind(caught.value))
    assert len(ledger.entries()) == 1


class Telling:
    """A frame whose own errors quote a cell."""

    def __init__(self, opens: int) -> None:
        self._opens = opens

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self._opens -= 1
        if self._opens < 0:
            raise ValueError(f"cannot convert {SECRET}")
        return TABLE.__arrow_c_stream__(requested_schema)


def test_frame_that_cannot_be_opened_tells_nothing() -> None:
    with pytest.raises(TableError, match="cannot be read as Arrow columns") as caught:
        so.open_table(Telling(0), DOMAIN)
    assert not told(*everything_behind(caught.value))
    assert caught.value.__cause__ is caught.value.__context__ is None
    ledger = so.Ledger(epsilon=1)
    table = so.open_table(Telling(1), DOMAIN, ledger=ledger)
    with pytest.raises(PassError, match="charge stands") as later:
        table.count(epsilon=1)
    assert not told(*everything_behind(later.value))
    assert len(ledger.entries()) == 1


ODD = pd.Series([SECRET, "x"], dtype="object")


@pytest.mark.parametrize(
    "data", [pd.DataFrame({"age": ODD, "sex": pd.Categorical(ODD)}), pl.DataFrame({"age": [SECRET], "sex": ["f"]})]
)
def test_odd_frames_answer_or_refuse_without_telling(data: Any) -> None:
    table = so.open_table(data, DOMAIN, random_state=0)
    assert not told(repr(table), repr(table.session), repr(table.session._source))
    table.histogram("sex", epsilon=1)


# --- what may be printed -----------------------------------------------------------------------------------------


def test_no_repr_shows_a_private_value() -> None:
    source = open_source(TABLE)
    statistics = [SUM.statistic, Count()]
    accumulation = accumulate(source, DOMAIN, statistics)
    (unread,) = source.blocks(("age", "sex"))
    block, batch = unread(), ClippedBatch(DOMAIN, unread())
    batch.on_grid(("age",), 2**20)
    exact_sum = ExactSum(1)
    exact_sum.add(np.array([round((SECRET - 60) / 60 * 2**20)]))
    table = so.open_table(TABLE, DOMAIN, ledger=so.Ledger(epsilon=1))
    array = open_source(np.array([[SECRET]]), ["age"])
    matrix = MatrixBlock(np.array([[SECRET]]), ["age"])
    objects = [
        source, block, batch, ChosenRows(batch, np.arange(2)), accumulation, exact_sum, *accumulation.totals(),
        Accumulation(DOMAIN, statistics), table, table.session, array, matrix, unread,
        next(iter(array.blocks(["age"]))),
        table.plan("mean", "age", epsilon=1, rows=10), SecureNoise(), SeededNoise(0),
    ]  # fmt: skip
    for each in objects:
        assert not told(repr(each), str(each), f"{each}"), type(each).__name__
    assert repr(accumulation.totals()[0]) == "Total(1 integers, private)"
    assert "10" not in repr(table)  # the number of rows is private too
    assert "10" not in repr(accumulation)


def test_the_repr_check_fails_for_a_total_that_shows_itself() -> None:
    @dataclass
    class Shown:
        exact_values: tuple[int, ...]

    (total,) = accumulate(open_source(TABLE), DOMAIN, [SUM.statistic]).totals()
    assert told(repr(Shown(total.exact_values)))
    assert told(repr(TABLE.to_pylist()))
    assert not told(repr(Total(total.exact_values)))


def test_answers_log_and_warn_nothing(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings():
        warnings.simplefilter("error")
        table = so.open_table(TABLE, DOMAIN, ledger=so.Ledger(epsilon=10))
        table.mean("age", epsilon=1)
        table.histogram("sex", epsilon=1)
        table.median("age", epsilon=1)
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


# --- receipts ----------------------------------------------------------------------------------------------------


def test_receipt_names_its_ledger_entry_and_its_noise() -> None:
    ledger = so.Ledger(epsilon=1)
    receipt = so.open_table(TABLE, DOMAIN, ledger=ledger).count(epsilon="0.5").receipt
    (entry,) = ledger.entries()
    (charge,) = receipt.charges
    assert charge.entry == entry.number == 1
    assert receipt.private
    assert receipt.secure_noise
    assert receipt.cost.epsilon == entry.amount == Cost.pure("0.5").epsilon
    assert "not part of any budget" not in str(receipt)
    assert receipt.ledger == str(ledger)


def test_receipt_without_a_ledger_says_so() -> None:
    receipt = so.open_table(TABLE, DOMAIN).count(epsilon=1).receipt
    assert "not part of any budget" in str(receipt)
    assert "not part of any budget" in receipt.caveats
    assert receipt.ledger is None
    assert receipt.private


@pytest.mark.parametrize("ledger", [None, so.Ledger(epsilon=5)])
def test_receipt_of_seeded_noise_is_not_private(ledger: so.Ledger | None) -> None:
    table = so.open_table(TABLE, DOMAIN, ledger=ledger)
    for answer in (table.count(epsilon=1, random_state=0), table.median("age", epsilon=1, random_state=0)):
        assert not answer.receipt.private
        assert not answer.receipt.secure_noise
        assert str(answer.receipt).startswith("NOT PRIVATE")
        assert "seeded noise: not private" in answer.receipt.caveats
        assert answer.receipt.to_dict()["private"] is False
    assert table.count(epsilon=1).receipt.private  # the seed was for one question only


def test_same_seed_gives_the_same_answer_and_secure_noise_does_not() -> None:
    table = so.open_table(TABLE, DOMAIN)
    seeded = {table.sum("age", epsilon="1e-6", random_state=7).value for _ in range(3)}
    assert len(seeded) == 1
    secure = {table.sum("age", epsilon="1e-6").value for _ in range(3)}
    assert len(secure) == 3  # false alarm below 1e-12: the scale is above 10^12 grid steps


def test_declared_complete_column_is_said_in_the_receipt() -> None:
    domain = so.Domain({"age": so.Real(0, 120, missing="reject"), "sex": so.Category(["f", "m"], missing="reject")})
    table = so.open_table(TABLE, domain)
    receipt = table.mean("age", epsilon=1).receipt
    assert "the guarantee holds among tables that are complete in age only" in receipt.caveats
    both = table.histogram(["sex", "age"], bins={"age": 3}, epsilon=1).receipt
    assert any("complete in sex, age only" in caveat for caveat in both.caveats)
    assert not any(
        "complete" in caveat for caveat in so.open_table(TABLE, DOMAIN).mean("age", epsilon=1).receipt.caveats
    )


def test_incomplete_table_that_was_declared_complete_fails_after_the_charge() -> None:
    domain = so.Domain({"age": so.Real(0, 120, missing="reject")})
    ledger = so.Ledger(epsilon=1)
    table = so.open_table(pa.table({"age": [SECRET, None]}), domain, ledger=ledger)
    with pytest.raises(PassError, match=r"'age' is declared complete .* The charge stands") as caught:
        table.mean("age", epsilon=1)
    assert not told(*everything_behind(caught.value))
    assert len(ledger.entries()) == 1


# --- public rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [9, 11])
def test_another_number_of_rows_than_declared_is_refused_after_the_charge(rows: int) -> None:
    domain = so.Domain(DOMAIN.columns, neighbours="substitute", rows=rows)
    ledger = so.Ledger(epsilon=1)
    table = so.open_table(TABLE, domain, ledger=ledger)
    with pytest.raises(PassError, match=f"declares {rows} rows as public, and the table has another number") as caught:
        table.mean("age", epsilon=1)
    assert "10" not in str(caught.value)
    assert "charge stands" in str(caught.value)
    assert len(ledger.entries()) == 1


def test_declared_number_of_rows_is_said_in_the_receipt() -> None:
    domain = so.Domain(DOMAIN.columns, neighbours="substitute", rows=10)
    receipt = so.open_table(TABLE, domain).mean("age", epsilon=1).receipt
    assert "10 rows" in receipt.public
    assert receipt.neighbours == "substitute"
    assert "10 rows" not in so.open_table(TABLE, DOMAIN).mean("age", epsilon=1).receipt.public


# --- seeds, infinity and ledgers ---------------------------------------------------------------------------------


def test_seeded_noise_is_refused_by_a_ledger_on_disk(tmp_path: Path) -> None:
    ledger = so.Ledger.open(tmp_path / "people.ledger", epsilon=1)
    with pytest.raises(BudgetError, match="seeded noise is not private"):
        so.open_table(TABLE, DOMAIN, ledger=ledger, random_state=0)
    table = so.open_table(TABLE, DOMAIN, ledger=ledger)
    for ask in (
        lambda: table.count(epsilon="0.1", random_state=0),
        lambda: table.median("age", epsilon="0.1", random_state=np.random.default_rng(0)),
        lambda: table.count(epsilon=math.inf, random_state=0),
    ):
        with pytest.raises(BudgetError, match="ledger on disk is for private releases"):
            ask()
    assert ledger.entries() == []
    assert table.count(epsilon="0.1").receipt.private


def test_infinite_epsilon_needs_a_seed_and_no_ledger(events: list[str]) -> None:
    exact = so.open_table(TABLE, DOMAIN, random_state=0)
    for answer in (exact.count(epsilon=math.inf), exact.count(epsilon=math.inf, delta=1e-6)):
        assert answer.value == 10
        assert not answer.receipt.private
    assert not exact.median("age", epsilon=math.inf).receipt.private
    with pytest.raises(ParameterError, match="infinity means no noise"):
        so.open_table(TABLE, DOMAIN).count(epsilon=math.inf)
    with pytest.raises(ParameterError, match="infinity means no noise"):
        so.open_table(TABLE, DOMAIN).median("age", epsilon=math.inf)
    ledger = so.Ledger(epsilon=1)
    with pytest.raises(ParameterError, match="infinity means no noise"):
        so.open_table(TABLE, DOMAIN, ledger=ledger, random_state=0).count(epsilon=math.inf)
    assert ledger.entries() == []
    events.clear()
    session = spied(events)
    with pytest.raises(ParameterError, match="infinity means no noise"):
        session.answer([Question(Count(), Cost.pure(math.inf))])
    assert events == ["price"]


def test_ledger_belongs_to_one_data_set_and_one_relation() -> None:
    ledger = so.Ledger(epsilon=1)
    so.open_table(TABLE, DOMAIN, ledger=ledger, name="people")
    with pytest.raises(LedgerError, match="belongs to data set 'people'"):
        so.open_table(TABLE, DOMAIN, ledger=ledger, name="others")
    with pytest.raises(LedgerError, match="'add-remove'"):
        so.open_table(TABLE, so.Domain(DOMAIN.columns, neighbours="substitute"), ledger=ledger, name="people")


def test_name_of_a_file_is_the_name_of_its_data_set(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "patients.parquet")
    ledger = so.Ledger(epsilon=1)
    so.open_table(tmp_path / "patients.parquet", DOMAIN, ledger=ledger)
    assert ledger.name == "patients"
    assert so.open_table(TABLE, DOMAIN).session.name == "table"


# --- plans -------------------------------------------------------------------------------------------------------


class Explodes(Source):
    """A table that must not be read."""

    kinds: dict[str, Kind] = {"age": "number", "sex": "text"}  # noqa: RUF012  # a property in the contract

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        raise AssertionError("a row was read")

    def size_hint(self) -> int | None:
        raise AssertionError("rows were counted")


PLANS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "count": ((), {}),
    "sum": (("age",), {}),
    "mean": (("age",), {"rows": 100}),
    "median": (("age",), {}),
    "quantile": (("age", "0.9"), {}),
    "variance": (("age",), {"rows": 100}),
    "covariance": ((["age"],), {"rows": 100}),
    "histogram": (("sex",), {}),
    "histograms": ((["sex", "age"],), {"bins": {"age": 4}}),
}


@pytest.mark.parametrize("query", PLANS)
def test_plan_reads_nothing_and_spends_nothing(query: str) -> None:
    ledger = so.Ledger(epsilon=1)
    table = so.open_table(Explodes(), DOMAIN, ledger=ledger)
    columns, options = PLANS[query]
    for delta in (0, "1e-7"):
        before = ledger.spent
        plan = table.plan(query, *columns, epsilon="0.5", delta=delta, **options)
        assert "nothing was read and nothing was spent" in str(plan)
        assert plan.to_dict()["half_width"] > 0
        assert ledger.spent == before
    assert ledger.entries() == []
    with pytest.raises(PassError, match="charge stands"):  # the twin: the question itself does read
        table.ask(query, *columns, epsilon="0.5", **{k: v for k, v in options.items() if k != "rows"})
    assert ledger.spent.epsilon == Cost.pure("0.5").epsilon


def test_opening_a_table_reads_nothing_and_spends_nothing() -> None:
    ledger = so.Ledger(epsilon=1)
    table = so.open_table(Explodes(), DOMAIN, ledger=ledger)
    assert repr(table)
    assert ledger.entries() == []
    assert copy.copy(ledger).entries() == []


def test_receipt_keeps_what_the_plan_said() -> None:
    table = so.open_table(TABLE, DOMAIN, ledger=so.Ledger(epsilon=5))
    plan, answer = table.plan("sum", "age", epsilon="0.5"), table.sum("age", epsilon="0.5")
    (planned,), (paid,) = plan.receipt.charges, answer.receipt.charges
    assert (planned.scale, planned.unit, planned.cost, planned.sensitivity, planned.mechanism) == (
        paid.scale, paid.unit, paid.cost, paid.sensitivity, paid.mechanism,
    )  # fmt: skip
    low, high = answer.interval(0.9)
    assert plan.half_width(0.9) == pytest.approx((high - low) / 2)


# --- progress ----------------------------------------------------------------------------------------------------


def test_progress_is_a_share_that_ends_at_one() -> None:
    seen: list[float] = []
    table = so.open_table(np.full((200_000, 1), SECRET), so.Domain({"age": so.Real(0, 120)}), columns=["age"])
    table.session.progress = seen.append
    table.count(epsilon=1)
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert all(0 < share <= 1 for share in seen)
