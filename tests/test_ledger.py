"""Laws of the ledger: exact sums, two lanes, no refund, no change by a refusal, and a file that can be trusted."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import shutil
import sqlite3
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from sordino.cost import Cost, rho_within
from sordino.errors import BudgetError, LedgerError, ParameterError, SordinoError
from sordino.privacy import ledger as ledger_module
from sordino.privacy.ledger import Budget, Ledger, Spent, budget_of, placed, plus
from sordino.privacy.ledger_file import LedgerFile, State

TENTH = Fraction(1, 10)
Opener = Callable[..., Ledger]


def pay(ledger: Ledger, *costs: Cost, what: str = "a count") -> list[int]:
    return ledger.charge([(what, cost, {"statistic": what}) for cost in costs])


def accepted(ledger: Ledger, costs: Sequence[Cost]) -> list[Cost]:
    """The costs that the ledger takes, offered one by one."""
    taken = []
    for cost in costs:
        try:
            pay(ledger, cost)
        except BudgetError:
            continue
        taken.append(cost)
    return taken


class Holder(BaseEstimator):  # type: ignore[misc]
    """An estimator that is given a ledger; cross-validation clones it."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger


@pytest.fixture(params=["memory", "disk"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens a ledger of either kind, so that each law below is tested on both."""
    if request.param == "memory":
        return Ledger
    return lambda **budget: Ledger.open(tmp_path / "test.ledger", **budget)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger file with both lanes and one entry in each."""
    place = tmp_path / "patients.ledger"
    ledger = Ledger.open(place, epsilon=3, delta=1e-6, pure=1, name="patients", neighbours="add-remove")
    pay(ledger, Cost.pure(TENTH), Cost.of("0.5", 1e-6), Cost.pure("0.2"))
    return place


# ---- the budget ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tenth", [0.1, "0.1", TENTH])
def test_ten_tenths_pass_and_the_eleventh_is_refused(opened: Opener, tenth: float | str | Fraction) -> None:
    ledger = opened(epsilon=1.0)
    assert len(accepted(ledger, [Cost.pure(tenth)] * 11)) == 10
    assert ledger.spent == Spent(epsilon=Fraction(1))
    assert ledger.remaining == Spent()
    with pytest.raises(BudgetError):
        pay(ledger, Cost.pure("1e-300"))


def overspent(ledger: Ledger, offers: Sequence[Cost]) -> bool:
    """Whether what a ledger accepts, added up here and in integers, exceeds its limits."""
    unit = 10**40
    lanes = {"epsilon": 0, "rho": 0}
    accepted(ledger, offers)
    for entry in ledger.entries():
        scaled = entry.amount * unit
        assert scaled.denominator == 1
        lanes[entry.lane] += scaled.numerator
    return lanes["epsilon"] > ledger.pure * unit or lanes["rho"] > ledger.rho * unit


TENTHS_AND_A_CRUMB = [*[Cost.pure("0.1")] * 10, Cost.pure("1e-12")]


def test_nothing_above_the_limit_is_accepted(opened: Opener) -> None:
    assert not overspent(opened(epsilon=1), TENTHS_AND_A_CRUMB)


def test_twin_a_tolerance_of_one_billionth_is_caught(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def tolerant(budget: Budget, spent: Spent, cost: Cost) -> object:
        wider = Budget(budget.epsilon, budget.delta, budget.pure + Fraction(1, 10**9), budget.rho)
        return placed(wider, spent, cost)

    monkeypatch.setattr(ledger_module, "placed", tolerant)
    ledger = opened(epsilon=1)
    assert overspent(ledger, TENTHS_AND_A_CRUMB)
    assert any("above the limits" in problem for problem in ledger.verify())


def test_twin_sums_in_floating_point_refuse_the_third_tenth_of_three_tenths() -> None:
    spent, passed = 0.0, 0
    for _ in range(3):
        if spent + 0.1 <= 0.3:
            spent, passed = spent + 0.1, passed + 1
    assert passed == 2
    assert len(accepted(Ledger(epsilon=0.3), [Cost.pure(0.1)] * 4)) == 3


def test_there_is_no_way_to_give_a_charge_back() -> None:
    public = {name for name in dir(Ledger) if not name.startswith("_")}
    assert public == {
        *("open", "read", "charge", "require_room", "bind", "verify", "entries"),
        *("epsilon", "delta", "pure", "rho", "order", "name", "neighbours", "spent", "remaining", "on_disk", "path"),
    }


def test_asking_for_room_refuses_what_a_charge_would_refuse_and_books_nothing(opened: Opener) -> None:
    ledger = opened(epsilon=1)
    ledger.charge([("first", Cost.pure("0.5"), {})])
    steps = [("second", Cost.pure("0.3"), {}), ("third", Cost.pure("0.3"), {})]
    ledger.require_room(steps[:1])
    ledger.require_room([])
    with pytest.raises(BudgetError):
        ledger.require_room(steps)
    assert ledger.remaining.epsilon == Fraction(1, 2)
    assert [entry.what for entry in ledger.entries()] == ["first"]
    ledger.charge(steps[:1])


def test_twin_a_ledger_that_refunds_is_caught(opened: Opener) -> None:
    honest = opened(epsilon=1)

    class Refunding(Ledger):
        def charge(self, costs: Sequence[ledger_module.Request]) -> list[int]:
            numbers = super().charge(costs)
            self._store.update(lambda state: (replace(state, spent=Spent()), ()))
            return numbers

    ledger = Refunding._over(honest._store)
    assert overspent(ledger, TENTHS_AND_A_CRUMB)
    assert any("is written as spent" in problem for problem in ledger.verify())


# ---- two lanes -------------------------------------------------------------------------------------------------


def test_the_lanes_are_fixed_by_the_budget() -> None:
    ledger = Ledger(epsilon=3, delta=1e-6, pure=1)
    assert (ledger.epsilon, ledger.delta, ledger.pure) == (Fraction(3), Fraction(1, 10**6), Fraction(1))
    assert ledger.rho == rho_within(Fraction(2), Fraction(1, 10**6))
    assert Ledger(epsilon=3).rho == 0
    assert Ledger(epsilon=3).pure == Ledger(epsilon=3, pure=3).pure == 3


def test_a_pure_release_takes_the_pure_lane_while_it_fits_and_then_half_its_square(opened: Opener) -> None:
    ledger = opened(epsilon=3, delta=1e-6, pure="0.25")
    pay(ledger, *[Cost.pure(TENTH)] * 3, Cost.concentrated("0.01"))
    assert [entry.lane for entry in ledger.entries()] == ["epsilon", "epsilon", "rho", "rho"]
    assert ledger.spent == Spent(epsilon=Fraction(2, 10), rho=Fraction(1, 200) + Fraction(1, 100))
    pay(ledger, Cost.pure("0.05"))
    assert ledger.remaining.epsilon == 0


def test_a_gaussian_release_never_takes_the_pure_lane(opened: Opener) -> None:
    ledger = opened(epsilon=2, delta=1e-6, pure="1.99")
    with pytest.raises(BudgetError):
        pay(ledger, Cost.concentrated(ledger.rho + Fraction(1, 10**12)))
    pay(ledger, Cost.concentrated(ledger.rho))
    assert ledger.remaining == Spent(epsilon=Fraction(199, 100))


def test_a_ledger_without_delta_refuses_gaussian_releases_and_says_why(opened: Opener) -> None:
    with pytest.raises(BudgetError, match="delta=0 and takes pure releases only"):
        pay(opened(epsilon=100), Cost.of(1, 1e-6))


def test_a_refusal_names_both_lanes(opened: Opener) -> None:
    ledger = opened(epsilon=3, delta=1e-6, pure=1)
    pay(ledger, Cost.pure("0.75"))
    with pytest.raises(BudgetError) as refusal:
        pay(ledger, Cost.pure("2"))
    text = str(refusal.value)
    assert "epsilon=2 in the pure lane or rho=2 in the rho lane" in text
    assert f"epsilon=0.25 in the pure lane and rho={ledger_module.shown(ledger.rho)} in the rho lane" in text


steps = st.lists(
    st.tuples(st.booleans(), st.integers(1, 400), st.sampled_from([100, 128, 333, 1000])), min_size=1, max_size=30
)


@settings(max_examples=150, deadline=None)
@given(steps, st.sampled_from(["0", "0.3", "1"]))
def test_what_fits_a_lane_passes_and_what_fits_none_is_refused(offers: list[tuple[bool, int, int]], pure: str) -> None:
    ledger = Ledger(epsilon=2, delta=1e-4, pure=pure)
    pure_sum, rho_sum = Fraction(0), Fraction(0)
    for is_pure, number, scale in offers:
        amount = Fraction(number, scale) if is_pure else Fraction(number, scale * 40)
        taken = bool(accepted(ledger, [Cost.pure(amount) if is_pure else Cost.concentrated(amount)]))
        in_rho = amount**2 / 2 if is_pure else amount
        if is_pure and pure_sum + amount <= Fraction(pure):
            pure_sum += amount
        elif rho_sum + in_rho <= ledger.rho:
            rho_sum += in_rho
        else:
            assert not taken
            continue
        assert taken
    assert ledger.spent == Spent(pure_sum, rho_sum)
    assert ledger.verify() == []


# ---- the theorem of docs/proofs/ledger.md, by summing over every path of small adaptive interactions ---------------


def randomised_response(epsilon: float) -> list[tuple[float, float]]:
    """Probabilities of both answers, for a data set and for its neighbour."""
    likely = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [(likely, 1 - likely), (1 - likely, likely)]


def discrete_gaussian(rho: float) -> list[tuple[float, float]]:
    """Probabilities of the answers of a count, for two data sets that differ in one record."""
    variance = 1 / (2 * rho)
    reach = math.ceil(7 * math.sqrt(variance))
    norm = sum(math.exp(-(k**2) / (2 * variance)) for k in range(-20 * reach, 20 * reach))
    mass = {k: math.exp(-(k**2) / (2 * variance)) / norm for k in range(-reach - 1, reach + 2)}
    return [(mass[k], mass.get(k - 1, 0.0)) for k in range(-reach, reach + 1)]


Choose = Callable[[float, int], list[Cost]]
Place = Callable[[Budget, Spent, Cost], "tuple[str, Fraction] | None"]


def excess(budget: Budget, choose: Choose, place: Place) -> float:
    """Σ max(0, P - e^ε Q) over all transcripts: the exact δ of the whole interaction at the promised ε."""
    promise = math.exp(budget.epsilon)
    laws: dict[Cost, list[tuple[float, float]]] = {}

    def walk(spent: Spent, here: float, there: float, length: int) -> float:
        loss = math.log(here / there) if here and there else math.inf
        for cost in choose(loss, length):
            found = place(budget, spent, cost)
            if found is None:
                continue
            law = laws.setdefault(
                cost,
                randomised_response(float(cost.epsilon)) if cost.is_pure else discrete_gaussian(float(cost.rho)),
            )
            after = plus(spent, *found)  # type: ignore[arg-type]
            return sum(walk(after, here * p, there * q, length + 1) for p, q in law)
        return max(0.0, here - promise * there)

    return walk(Spent(), 1.0, 1.0, 0)


PURE, GAUSSIAN = Cost.pure("0.5"), Cost.concentrated("0.12")

ADVERSARIES: dict[str, Choose] = {
    "gaussian first": lambda loss, length: [GAUSSIAN, PURE],
    "pure first": lambda loss, length: [PURE, GAUSSIAN],
    "gaussian after bad luck": lambda loss, length: [PURE, GAUSSIAN] if loss > 0 else [GAUSSIAN, PURE],
    "pure after bad luck": lambda loss, length: [GAUSSIAN, PURE] if loss > 0 else [PURE, GAUSSIAN],
    "stops while ahead": lambda loss, length: [] if loss > 1 else [PURE, GAUSSIAN] if length % 2 else [GAUSSIAN, PURE],
}

SMALL = budget_of("2.1", "0.02", pure="0.5")


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_a_whole_adaptive_interaction_keeps_the_promise(adversary: str) -> None:
    assert GAUSSIAN.rho * 2 <= SMALL.rho < GAUSSIAN.rho * 2 + PURE.as_rho * 2
    assert excess(SMALL, ADVERSARIES[adversary], placed) <= SMALL.delta


def test_the_interactions_above_come_near_the_promise() -> None:
    assert excess(SMALL, ADVERSARIES["gaussian first"], placed) > SMALL.delta / 10


def test_twin_two_lanes_that_each_have_all_of_epsilon_break_the_promise() -> None:
    both = Budget(SMALL.epsilon, SMALL.delta, pure=SMALL.epsilon, rho=rho_within(SMALL.epsilon, SMALL.delta))
    assert excess(both, ADVERSARIES["pure first"], placed) > 3 * SMALL.delta


# ---- refusals change nothing -----------------------------------------------------------------------------------

REFUSED = {
    "above both lanes": Cost.pure(50),
    "infinite": Cost.pure(math.inf),
    "zero": Cost(),
    "negative": Cost(epsilon=Fraction(-1, 10)),
    "negative rho": Cost(rho=Fraction(-1, 10)),
    "not a number": Cost(epsilon=math.nan),  # type: ignore[arg-type]
    "a float": Cost(epsilon=0.1),  # type: ignore[arg-type]
    "both kinds at once": Cost(epsilon=TENTH, rho=TENTH),
    "endless digits": Cost(epsilon=Fraction(1, 3**6000)),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_charge_leaves_the_ledger_unchanged(opened: Opener, kind: str) -> None:
    ledger = opened(epsilon=3, delta=1e-6, pure=1)
    pay(ledger, Cost.pure("0.5"))
    before = (ledger.spent, ledger.entries(), ledger.path and Path(ledger.path).read_bytes())
    for costs in ([REFUSED[kind]], [Cost.pure("0.1"), REFUSED[kind]], [Cost.of("0.1", 1e-6), REFUSED[kind]]):
        with pytest.raises(BudgetError) as refusal:
            pay(ledger, *costs)
        assert one_line_without_a_chain(refusal.value)
    assert (ledger.spent, ledger.entries(), ledger.path and Path(ledger.path).read_bytes()) == before
    assert pay(ledger, Cost.pure("0.5")) == [2]


def test_releases_charged_together_are_booked_all_or_none(opened: Opener) -> None:
    ledger = opened(epsilon=1)
    with pytest.raises(BudgetError, match="number 3 of 3"):
        pay(ledger, *[Cost.pure("0.4")] * 3)
    assert ledger.entries() == []
    assert pay(ledger, *[Cost.pure("0.5")] * 2) == [1, 2]
    assert ledger.charge([]) == []


@pytest.mark.parametrize("receipt", [{"value": math.nan}, {"value": object()}, {1: {2, 3}}])
def test_a_receipt_that_json_cannot_hold_is_refused_before_the_charge(
    opened: Opener, receipt: dict[str, object]
) -> None:
    ledger = opened(epsilon=1)
    with pytest.raises(ParameterError) as refusal:
        ledger.charge([("a count", Cost.pure("0.1"), receipt)])
    assert one_line_without_a_chain(refusal.value)
    assert ledger.entries() == []


def test_sums_that_would_grow_without_end_are_refused(opened: Opener) -> None:
    ledger = opened(epsilon=1)
    primes = (2**4423 - 1, 2**4253 - 1)
    pay(ledger, Cost.pure(Fraction(1, primes[0])))
    with pytest.raises(BudgetError, match="short decimals"):
        pay(ledger, Cost.pure(Fraction(1, primes[1])))
    assert len(ledger.entries()) == 1
    assert ledger.verify() == []


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": "much"},
        {"epsilon": None},
        {"epsilon": True},
        {"epsilon": Fraction(1, 3**6000)},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-6},
        {"epsilon": 1, "delta": math.nan},
        {"epsilon": 1, "delta": "1e-400"},
        {"epsilon": Fraction(10**400), "delta": 1e-6},
        {"epsilon": 1, "pure": 0.5},
        {"epsilon": 1, "delta": 1e-6, "pure": 1},
        {"epsilon": 1, "delta": 1e-6, "pure": -0.1},
        {"epsilon": 1, "delta": 1e-6, "pure": math.nan},
    ],
)
def test_an_impossible_budget_is_refused_and_makes_no_file(budget: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^[^\n]+$"):
        Ledger(**budget)  # type: ignore[arg-type]
    with pytest.raises((ParameterError, LedgerError)):
        Ledger.open(tmp_path / "new.ledger", **budget)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


# ---- one data set, one relation, one budget --------------------------------------------------------------------


def test_a_ledger_belongs_to_the_first_name_and_relation_for_good(opened: Opener) -> None:
    ledger = opened(epsilon=1)
    ledger.bind("patients", "add-remove")
    ledger.bind("patients", "add-remove")
    before = ledger.path and Path(ledger.path).read_bytes()
    for name, neighbours in (("staff", "add-remove"), ("patients", "substitute"), ("staff", "substitute")):
        with pytest.raises(LedgerError, match="belongs to data set 'patients' with neighbours 'add-remove'") as refusal:
            ledger.bind(name, neighbours)  # type: ignore[arg-type]
        assert one_line_without_a_chain(refusal.value)
    assert (ledger.name, ledger.neighbours) == ("patients", "add-remove")
    assert (ledger.path and Path(ledger.path).read_bytes()) == before


def test_a_relation_that_does_not_exist_is_refused(opened: Opener) -> None:
    ledger = opened(epsilon=1)
    with pytest.raises(LedgerError, match="add-remove"):
        ledger.bind("patients", "swap")  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        ledger.bind("", "substitute")
    assert ledger.name is None
    assert ledger.neighbours is None


def test_the_owner_is_remembered_by_the_file(path: Path) -> None:
    with pytest.raises(LedgerError, match="belongs to"):
        Ledger.open(path, name="staff")
    with pytest.raises(LedgerError, match="belongs to"):
        Ledger.open(path).bind("patients", "substitute")
    assert Ledger.open(path, name="patients", neighbours="add-remove").name == "patients"


@pytest.mark.parametrize("other", [{"epsilon": 4}, {"epsilon": 3, "delta": 1e-5}, {"pure": 0}, {"delta": 0}])
def test_another_budget_than_the_stored_one_is_refused(path: Path, other: dict[str, float]) -> None:
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="fixed for good") as refusal:
        Ledger.open(path, **other)  # type: ignore[arg-type]
    assert one_line_without_a_chain(refusal.value)
    assert path.read_bytes() == before


def test_the_same_budget_in_other_words_opens_the_file(path: Path, tmp_path: Path) -> None:
    assert Ledger.open(str(path), epsilon="3.0", delta=Fraction(1, 10**6), pure=1.0).spent.epsilon == Fraction(3, 10)
    Ledger.open(tmp_path / "pure.ledger", epsilon=1)
    assert Ledger.open(tmp_path / "pure.ledger", epsilon=1, delta=0, pure=0).pure == 1


def test_a_ledger_on_disk_is_found_again_as_it_was_left(path: Path) -> None:
    ledger = Ledger.open(path)
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3]
    assert [entry.lane for entry in ledger.entries()] == ["epsilon", "rho", "epsilon"]
    assert ledger.entries()[1].cost == Cost.of("0.5", 1e-6)
    assert json.loads(ledger.entries()[0].receipt) == {"statistic": "a count"}
    assert ledger.entries() == Ledger.read(path).entries()
    assert ledger.verify() == []


def test_entries_say_who_and_when(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(epsilon=1)
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    pay(ledger, Cost.pure(TENTH))
    monkeypatch.setattr("getpass.getuser", lambda: dict[str, str]()["no such user"])
    pay(ledger, Cost.pure(TENTH))
    assert [entry.who for entry in ledger.entries()] == ["ada", "unknown"]
    assert all(entry.when.endswith("+00:00") for entry in ledger.entries())


def test_it_prints_well_and_in_one_line(opened: Opener) -> None:
    ledger = opened(epsilon=3, delta=1e-6, pure=1)
    ledger.bind("patients", "substitute")
    pay(ledger, Cost.pure("0.25"))
    assert str(ledger).startswith("epsilon=3, delta=0.000001, of 'patients' (substitute): spent pure 0.25 + rho 0 of")
    assert "\n" not in repr(ledger)
    assert repr(ledger) == f"Ledger({ledger})"


def test_what_is_shown_as_remaining_can_be_asked_for() -> None:
    ledger = Ledger(epsilon=1, delta=1e-6)
    pay(ledger, Cost.pure(Fraction(1, 7)))
    assert pay(ledger, Cost.concentrated(ledger_module.shown(ledger.remaining.rho)))


# ---- copies, pickles, threads ----------------------------------------------------------------------------------


def test_a_copy_is_the_same_ledger(opened: Opener) -> None:
    ledger = opened(epsilon=1)
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy({"ledger": ledger})["ledger"] is ledger
    assert clone(Holder(ledger)).ledger is ledger


def test_twin_a_copied_budget_would_be_spent_twice() -> None:
    class Copied(Ledger):
        def __deepcopy__(self, memo: object) -> Ledger:
            return Copied(self.epsilon)

    ledger = Copied(epsilon=1)
    assert len(accepted(ledger, [Cost.pure(1)]) + accepted(copy.deepcopy(ledger), [Cost.pure(1)])) == 2


def test_a_ledger_in_memory_cannot_be_pickled() -> None:
    with pytest.raises(LedgerError, match=r"Ledger\.open") as refusal:
        pickle.dumps(Ledger(epsilon=1))
    assert one_line_without_a_chain(refusal.value)


def test_a_pickled_ledger_on_disk_spends_from_the_same_file(path: Path) -> None:
    ledger = Ledger.open(path)
    other = pickle.loads(pickle.dumps(ledger))
    pay(other, Cost.pure(TENTH))
    assert ledger.spent == other.spent
    assert ledger.spent.epsilon == Fraction(4, 10)
    looking = pickle.loads(pickle.dumps(Ledger.read(path)))
    with pytest.raises(LedgerError, match="opened to look at"):
        pay(looking, Cost.pure(TENTH))


def test_racing_threads_spend_the_whole_budget_and_no_more(opened: Opener) -> None:
    ledger = opened(epsilon=1)
    start = threading.Barrier(8)

    def race() -> int:
        start.wait()
        return len(accepted(ledger, [Cost.pure("0.01")] * 20))

    with ThreadPoolExecutor(8) as pool:
        assert sum(future.result() for future in [pool.submit(race) for _ in range(8)]) == 100
    assert ledger.remaining == Spent()
    assert ledger.verify() == []


def test_a_changed_working_folder_does_not_change_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("odd name %41?#.ledger", epsilon=1)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    pay(ledger, Cost.pure(TENTH))
    assert Ledger.read(tmp_path / "odd name %41?#.ledger").spent.epsilon == TENTH
    assert sorted(each.name for each in tmp_path.iterdir()) == ["elsewhere", "odd name %41?#.ledger"]


# ---- files that are no ledger, or no longer the one they were ------------------------------------------------------


def one_line_without_a_chain(error: BaseException) -> bool:
    return (
        isinstance(error, SordinoError)
        and "\n" not in str(error)
        and error.__context__ is None
        and error.__cause__ is None
    )


def other_database(place: Path) -> None:
    connection = sqlite3.connect(place)
    connection.execute("CREATE TABLE ledger (epsilon)")
    connection.close()


def marked_but_empty(place: Path) -> None:
    connection = sqlite3.connect(place)
    connection.execute(f"PRAGMA application_id = {0x534F5244}")
    connection.execute("PRAGMA user_version = 1")
    connection.close()


def from_the_future(place: Path) -> None:
    Ledger.open(place, epsilon=1)
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA user_version = 2")
    connection.close()


BAD_FILES: dict[str, Callable[[Path], object]] = {
    "missing": lambda place: None,
    "text": lambda place: place.write_text("epsilon = 1\n" * 100),
    "short text": lambda place: place.write_text("x"),
    "empty": lambda place: place.touch(),
    "folder": lambda place: place.mkdir(),
    "pipe": lambda place: os.mkfifo(place),
    "dangling link": lambda place: place.symlink_to("nowhere"),
    "other database": other_database,
    "marked but empty": marked_but_empty,
    "from the future": from_the_future,
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_is_no_ledger_is_refused_in_one_line_and_left_alone(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "x.ledger"
    BAD_FILES[kind](place)
    before = place.read_bytes() if place.is_file() else None
    budgets: list[dict[str, object]] = [{}] if kind == "missing" else [{}, {"epsilon": 1}]
    calls: list[Callable[[], object]] = [lambda: Ledger.read(place)]
    calls += [lambda budget=budget: Ledger.open(place, **budget) for budget in budgets]  # type: ignore[misc]
    for call in calls:
        with pytest.raises(LedgerError) as refusal:
            call()
        assert one_line_without_a_chain(refusal.value)
        assert "x.ledger" in str(refusal.value)
    assert before == (place.read_bytes() if place.is_file() else None)
    assert [each.name for each in tmp_path.iterdir()] == ([] if kind == "missing" else ["x.ledger"])


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.01, 0.2, 0.5, 0.9, 0.9999])
def test_a_ledger_cut_short_is_refused(path: Path, kept: float) -> None:
    ledger = Ledger.open(path)
    os.truncate(path, int(path.stat().st_size * kept))
    for call in (
        lambda: pay(ledger, Cost.pure(TENTH)),
        lambda: Ledger.open(path, epsilon=3),
        lambda: Ledger.read(path),
    ):
        with pytest.raises(LedgerError) as refusal:
            call()
        assert one_line_without_a_chain(refusal.value)
    assert ledger.verify() != []
    assert "patients.ledger" in str(ledger)


def test_a_ledger_names_its_file_and_no_folder(tmp_path: Path) -> None:
    """Receipts quote it, and receipts are published."""
    ledger = Ledger.open(tmp_path / "patients.ledger", epsilon=1)
    assert str(ledger).endswith("in 'patients.ledger'")
    assert str(tmp_path) not in repr(ledger)


def test_a_folder_that_cannot_hold_a_ledger_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="nowhere") as refusal:
        Ledger.open(tmp_path / "nowhere" / "x.ledger", epsilon=1)
    assert one_line_without_a_chain(refusal.value)
    with pytest.raises(ParameterError):
        Ledger.open(3, epsilon=1)  # type: ignore[arg-type]


def test_a_deleted_ledger_is_not_silently_made_anew(path: Path) -> None:
    ledger = Ledger.open(path)
    path.unlink()
    for call in (lambda: pay(ledger, Cost.pure(TENTH)), lambda: ledger.spent, lambda: ledger.bind("x", "substitute")):
        with pytest.raises(LedgerError, match="there is no file"):
            call()
    assert not path.exists()


def test_an_old_copy_put_back_is_refused_by_whoever_saw_more(path: Path, tmp_path: Path) -> None:
    ledger = Ledger.open(path)
    shutil.copy(path, tmp_path / "backup")
    pay(ledger, Cost.pure(TENTH))
    os.replace(tmp_path / "backup", path)
    for _ in range(2):
        with pytest.raises(LedgerError, match="an old copy took its place"):
            pay(ledger, Cost.pure(TENTH))
    pay(Ledger.open(path), Cost.pure("0.05"))  # now as many entries as were seen, but not the same
    with pytest.raises(LedgerError, match="an old copy took its place"):
        pay(pickle.loads(pickle.dumps(ledger)), Cost.pure(TENTH))


def test_a_fresh_ledger_with_the_same_budget_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "x.ledger", epsilon=1)
    (tmp_path / "x.ledger").unlink()
    Ledger.open(tmp_path / "x.ledger", epsilon=1)
    with pytest.raises(LedgerError, match="an old copy"):
        pay(ledger, Cost.pure(TENTH))


def test_another_journal_mode_is_put_right_before_a_charge(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    pay(Ledger.open(path), Cost.pure(TENTH))
    assert path.read_bytes()[18:20] == b"\x01\x01"  # the header's mark of a rollback journal
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def settings_at_each_commit(call: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """``synchronous`` and ``journal_mode`` of every connection that commits during a call."""
    found: list[tuple[object, ...]] = []

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if statement == "COMMIT":
                names = ("synchronous", "journal_mode")
                found.append(tuple(super(Watched, self).execute(f"PRAGMA {name}").fetchall()[0][0] for name in names))
            return super().execute(statement, *values)

    original = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *args, **options: original(*args, factory=Watched, **options))
        call()
    return found


def test_every_charge_is_synced_to_the_disk_with_its_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.open(path)
    assert settings_at_each_commit(lambda: pay(ledger, Cost.pure(TENTH)), monkeypatch) == [(3, "delete")]


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user may enter (pytest's own are closed to others)."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_an_ordinary_user(job: Callable[[], None]) -> int:
    """Exit status of a forked child that runs the job without the rights of root."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            job()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_read_only_file_can_be_looked_at_and_not_charged(shared_folder: Path) -> None:
    place = shared_folder / "x.ledger"
    ledger = Ledger.open(place, epsilon=1)
    pay(ledger, Cost.pure(TENTH))
    place.chmod(0o444)

    def look_and_try() -> None:
        for call in (lambda: Ledger.open(place), lambda: pay(ledger, Cost.pure(TENTH))):
            with pytest.raises(LedgerError, match="is read-only") as refusal:
                call()
            assert one_line_without_a_chain(refusal.value)
        reader = Ledger.read(place)
        assert reader.verify() == []
        assert reader.spent.epsilon == TENTH
        assert len(reader.entries()) == 1

    assert as_an_ordinary_user(look_and_try) == 0
    place.chmod(0o644)
    pay(ledger, Cost.pure(TENTH))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_writable_file_in_a_read_only_folder_can_be_looked_at_and_not_charged(shared_folder: Path) -> None:
    place = shared_folder / "x.ledger"
    Ledger.open(place, epsilon=1)
    place.chmod(0o666)
    shared_folder.chmod(0o555)

    def look_and_try() -> None:
        for path in (place, shared_folder / "new.ledger"):
            with pytest.raises(LedgerError, match="its folder") as refusal:
                Ledger.open(path, epsilon=1)
            assert one_line_without_a_chain(refusal.value)
        assert Ledger.read(place).verify() == []

    assert as_an_ordinary_user(look_and_try) == 0
    shared_folder.chmod(0o755)


# ---- verify finds what was changed by hand ---------------------------------------------------------------------


def reseal(connection: sqlite3.Connection) -> None:
    """A careful forger also rewrites the seal of the row he changed."""
    row = connection.execute("SELECT * FROM ledger").fetchall()[0]
    seal = State.from_row(row[1:-1]).seal
    connection.execute("UPDATE ledger SET seal = ?", (seal,))


FORGERIES: dict[str, tuple[str, str]] = {
    "an amount": ("UPDATE entry SET amount = '1/1000' WHERE number = 1", "entry 1"),
    "an amount and its cost": (
        """UPDATE entry SET amount = '1/1000', cost = '{"epsilon":"1/1000","rho":"0"}' WHERE number = 2""",
        "entry 2",
    ),
    "a lane": ("UPDATE entry SET lane = 'rho' WHERE number = 1", "another amount than its cost"),
    "a receipt": ("UPDATE entry SET receipt = '{}' WHERE number = 2", "entry 2"),
    "a name": ("UPDATE entry SET who = 'somebody else' WHERE number = 3", "entry 3"),
    "a digest": ("UPDATE entry SET digest = 'f00' WHERE number = 2", "entry 3"),
    "a deleted entry": ("DELETE FROM entry WHERE number = 2", "entry 3"),
    "the last entry deleted": ("DELETE FROM entry WHERE number = 3", "some are gone"),
    "all entries deleted": ("DELETE FROM entry", "some are gone"),
    "an added entry": (
        "INSERT INTO entry SELECT 4, moment, who, what, lane, cost, amount, receipt, digest FROM entry WHERE number=1",
        "entry 4",
    ),
    "unreadable amount": ("UPDATE entry SET amount = 'nothing' WHERE number = 1", "entry 1 cannot be read"),
    "amount of another type": ("UPDATE entry SET amount = x'00' WHERE number = 1", "entry 1 cannot be read"),
    "unreadable cost": ("UPDATE entry SET cost = '[]' WHERE number = 1", "entry 1 cannot be read"),
    "sums": ("UPDATE ledger SET spent_epsilon = '0'", "is written as spent"),
    "sums of rho": ("UPDATE ledger SET spent_rho = '0'", "is written as spent"),
    "budget": ("UPDATE ledger SET epsilon = '100'", "entry 1"),
    "limit of rho": ("UPDATE ledger SET rho = '100'", "do not keep the promise"),
    "limit of the pure lane": ("UPDATE ledger SET pure = '29/10'", "do not keep the promise"),
    "count of entries": ("UPDATE ledger SET entries = 2", "some are gone"),
    "unreadable sums": ("UPDATE ledger SET spent_rho = '1/0'", "no ledger writes"),
    "no row": ("DELETE FROM ledger", "lost its budget"),
}


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_verify_finds_what_was_changed_by_hand(path: Path, forgery: str, careful: bool) -> None:
    statement, finding = FORGERIES[forgery]
    assert Ledger.read(path).verify() == []
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    if careful and "ledger SET" in statement and "1/0" not in statement:
        reseal(connection)
    connection.close()
    verdict = Ledger._over(LedgerFile(str(path))).verify()
    assert any(finding in problem for problem in verdict), verdict
    assert all("\n" not in problem for problem in verdict)


@pytest.mark.parametrize(
    "forgery",
    [
        "sums",
        "sums of rho",
        "budget",
        "limit of rho",
        "the last entry deleted",
        "an added entry",
        "count of entries",
        "all entries deleted",
    ],
)
def test_a_ledger_changed_by_hand_takes_no_charge(path: Path, forgery: str) -> None:
    ledger = Ledger.open(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(FORGERIES[forgery][0])
    connection.close()
    for call in (lambda: pay(ledger, Cost.pure(TENTH)), lambda: Ledger.open(path)):
        with pytest.raises(LedgerError) as refusal:
            call()
        assert one_line_without_a_chain(refusal.value)


def test_the_owner_cannot_be_changed_by_hand_unnoticed(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE ledger SET name = NULL, neighbours = NULL")
    connection.close()
    with pytest.raises(LedgerError, match="changed by hand"):
        Ledger.open(path, name="staff", neighbours="substitute")
    assert any("seal" in problem for problem in Ledger.read(path).verify())
