"""A privacy budget and everything that was paid from it, in exact fractions.

The law. A ledger promises (ε, δ). With δ = 0 it has one lane: the ε of its releases add up to at most ε. With
δ > 0 it has two, fixed at opening: a pure lane of ``pure``, and a lane of ρ = ``rho_within(ε - pure, δ)``. A
pure release is booked in the pure lane when it fits there, else at ε²/2 in the ρ lane; a Gaussian release in
the ρ lane, if its ρ holds at every order or at the ``order`` at which that lane is converted. What fits neither lane
is refused, and a refusal changes nothing. A charge is never given back.

Then everything released under the ledger, in any adaptive order, is (ε, δ)-differentially private together:
``docs/proofs/ledger.md``.
"""

from __future__ import annotations

import getpass
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import NoReturn, Protocol

from sordino.cost import Amount, Cost, delta_of, exact, order_of, positive, probability, rho_within
from sordino.domain import Neighbours
from sordino.errors import BudgetError, LedgerError, ParameterError
from sordino.privacy.ledger_file import Budget, Change, Entry, Lane, LedgerFile, Spent, State, create

__all__ = ["Budget", "Entry", "Ledger", "Spent"]

#: One release to pay for: what it is, its cost, and its receipt as plain values. All public.
Request = tuple[str, Cost, Mapping[str, object]]

#: Longer fractions are refused: sums stay fast, and well below Python's limit on the digits of an integer.
MOST_BITS = 8192

#: Another machine may find the last digits of an order otherwise.
_SAME_ORDER = Fraction(1, 10**9)


class Ledger:
    """A budget that releases are charged to; ``Ledger(...)`` in memory, ``Ledger.open(path, ...)`` on disk.

    >>> ledger = Ledger(epsilon=1)
    >>> ledger.charge([("count", Cost.pure(0.1), {})])
    [1]
    >>> ledger.remaining
    Spent(epsilon=Fraction(9, 10), rho=Fraction(0, 1))

    In memory it is safe for threads, and refuses forked processes and pickling. On disk it is safe for
    threads, forks and processes. A copy is the same ledger, so copying doubles no budget.
    """

    _store: Store

    def __init__(
        self,
        epsilon: Amount,
        delta: Amount = 0,
        pure: Amount = 0,
        name: str | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        self._store = Memory(_opened(budget_of(epsilon, delta, pure), name, neighbours))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        pure: Amount | None = None,
        name: str | None = None,
        neighbours: Neighbours | None = None,
    ) -> Ledger:
        """The ledger in a file, created with this budget if there is no file; another budget is refused."""
        place = _place(path)
        if not os.path.lexists(place):
            if epsilon is None:
                raise LedgerError(f"Ledger: there is no file {place!r}. Give an epsilon to create one.")
            budget = budget_of(epsilon, 0 if delta is None else delta, 0 if pure is None else pure)
            create(place, _opened(budget, name, neighbours))
        ledger = cls._over(LedgerFile(place))
        _refuse_another_budget(place, ledger._store.state().budget, epsilon, delta, pure)
        ledger._store.update(lambda state: (_owned(state, name, neighbours), ()))  # a ledger that can be charged
        return ledger

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Ledger:
        """The ledger in a file, to look at only: it takes no charge, and the file may be read-only."""
        ledger = cls._over(LedgerFile(_place(path), read_only=True))
        ledger._store.state()
        return ledger

    @classmethod
    def _over(cls, store: Store) -> Ledger:
        ledger = cls.__new__(cls)
        ledger._store = store
        return ledger

    def charge(self, costs: Sequence[Request]) -> list[int]:
        """Book all of these releases or none; their entry numbers. On disk the charge is durable on return."""
        requests = [_checked(*request) for request in costs]
        if not requests:
            return []
        return [entry.number for entry in self._store.update(lambda state: booked(state, requests))]

    def require_room(self, costs: Sequence[Request]) -> None:
        """Raise what ``charge`` would raise now, and book nothing: for work that pays in several steps."""
        requests = [_checked(*request) for request in costs]
        if requests:
            booked(self._store.state(), requests)

    def bind(self, name: str, neighbours: Neighbours) -> None:
        """Tie the ledger, for good, to one data set's name and one relation of neighbours; another is refused."""
        if _owned(self._store.state(), name, neighbours) != self._store.state():
            self._store.update(lambda state: (_owned(state, name, neighbours), ()))

    def verify(self) -> list[str]:
        """Recompute sums, limits and digests from the entries; what is wrong, or an empty list."""
        try:
            state, entries, problems = self._store.snapshot()
        except LedgerError as error:
            return [str(error)]
        return problems + problems_of(state, entries)

    def entries(self) -> list[Entry]:
        """Every charge so far, in order."""
        return self._store.entries()

    @property
    def epsilon(self) -> Fraction:
        """ε of the whole promise."""
        return self._store.state().budget.epsilon

    @property
    def delta(self) -> Fraction:
        """δ of the whole promise."""
        return self._store.state().budget.delta

    @property
    def pure(self) -> Fraction:
        """Limit of the pure lane: the part of ε kept for pure releases, all of it when δ = 0."""
        return self._store.state().budget.pure

    @property
    def rho(self) -> Fraction:
        """Limit of the ρ lane, 0 when δ = 0."""
        return self._store.state().budget.rho

    @property
    def order(self) -> Fraction | None:
        """The Rényi order at which the ρ lane is converted; None when there is no such lane."""
        return _order(self._store.state().budget)

    @property
    def name(self) -> str | None:
        """The data set that the ledger is bound to."""
        return self._store.state().name

    @property
    def neighbours(self) -> Neighbours | None:
        """The relation of neighbours that the ledger is bound to."""
        return self._store.state().neighbours

    @property
    def spent(self) -> Spent:
        """What was booked in each lane."""
        return self._store.state().spent

    @property
    def remaining(self) -> Spent:
        """What is left in each lane."""
        return remaining_of(self._store.state())

    @property
    def on_disk(self) -> bool:
        """Whether charges outlive this process."""
        return self._store.on_disk

    @property
    def path(self) -> str | None:
        """The file, if there is one."""
        return self._store.path

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: object) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Callable[..., Ledger], tuple[object, ...]]:
        if not isinstance(self._store, LedgerFile):
            raise LedgerError(
                "Ledger: one in memory cannot be pickled, for a copy would double the budget. Use Ledger.open(path)."
            )
        return _reopened, (self._store.path, self._store.read_only, self._store.seen)

    def __repr__(self) -> str:
        return f"Ledger({self})"

    def __str__(self) -> str:
        """As receipts quote it, which are published: the name of its file, and of no folder."""
        try:
            state = self._store.state()
        except LedgerError as error:
            return str(error)
        return f"{_described(state)}, {'in memory' if self.path is None else f'in {os.path.basename(self.path)!r}'}"


class Store(Protocol):
    """Where a ledger's state and entries live; ``update`` is atomic and, on disk, durable."""

    on_disk: bool

    @property
    def path(self) -> str | None: ...
    def state(self) -> State: ...
    def entries(self) -> list[Entry]: ...
    def snapshot(self) -> tuple[State, list[Entry], list[str]]: ...
    def update(self, change: Change) -> Sequence[Entry]: ...


class Memory:
    """State and entries in this process alone."""

    on_disk = False
    path = None

    def __init__(self, state: State) -> None:
        self._book: tuple[State, tuple[Entry, ...]] = (state, ())
        self._lock = threading.Lock()
        self._process = os.getpid()

    def state(self) -> State:
        """Budget, owner and running sums."""
        return self._book[0]

    def entries(self) -> list[Entry]:
        """Every entry, in order."""
        return list(self._book[1])

    def snapshot(self) -> tuple[State, list[Entry], list[str]]:
        """State and entries of one instant."""
        state, entries = self._book
        return state, list(entries), []

    def update(self, change: Change) -> Sequence[Entry]:
        """Make a change by a single assignment; refused in a forked child, whose charges nobody would see."""
        if os.getpid() != self._process:
            raise BudgetError(
                "Ledger: an in-memory ledger cannot be shared by processes. Nothing was charged. Use Ledger.open(path)."
            )
        with self._lock:
            state, entries = self._book
            new, added = change(state)
            self._book = (new, (*entries, *added))
        return added


def budget_of(epsilon: Amount, delta: Amount = 0, pure: Amount = 0) -> Budget:
    """The limits of both lanes for a promise of (ε, δ) with ``pure`` of ε kept for pure releases."""
    whole, chance, kept = positive("epsilon", epsilon), probability("delta", delta), exact("pure", pure)
    if chance == 0:
        if kept not in (0, whole):
            raise ParameterError(f"pure: with delta=0 all of epsilon is pure. Got {pure}. Leave pure out.")
        return _of_few_digits(Budget(whole, chance, pure=whole, rho=Fraction(0)))
    if not 0 <= kept < whole:
        raise ParameterError(f"pure: must lie in [0, epsilon) when delta is above 0. Got {pure}.")
    return _of_few_digits(Budget(whole, chance, pure=kept, rho=_rho(whole - kept, chance)))


def _rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    limit = Fraction(0)
    with suppress(ValueError, OverflowError, ZeroDivisionError):
        limit = rho_within(epsilon, delta)
    if limit <= 0:
        raise ParameterError(
            f"Ledger: no rho can be bought with epsilon={shown(epsilon)}, delta={shown(delta)}. Raise delta."
        )
    return limit


def placed(budget: Budget, spent: Spent, cost: Cost) -> tuple[Lane, Fraction] | None:
    """The lane that takes a release, and the amount booked there; None when it fits neither.

    The choice depends on the declared cost and on earlier bookings only: public facts, as the proof asks.
    """
    if cost.is_pure and spent.epsilon + cost.epsilon <= budget.pure:
        return "epsilon", cost.epsilon
    if spent.rho + cost.as_rho <= budget.rho and not _at_another_order(budget, cost):
        return "rho", cost.as_rho
    return None


def _at_another_order(budget: Budget, cost: Cost) -> bool:
    return cost.order is not None and cost.order != _order(budget)


def _order(budget: Budget) -> Fraction | None:
    return order_of(float(budget.rho), float(budget.epsilon - budget.pure))


def booked(state: State, requests: Sequence[tuple[str, Cost, str]]) -> tuple[State, list[Entry]]:
    """The state after charging every request, and the entries; a refusal of one refuses all."""
    entries: list[Entry] = []
    when, who = datetime.now(UTC).isoformat(timespec="seconds"), _user()
    for place, (what, cost, receipt) in enumerate(requests, start=1):
        found = placed(state.budget, state.spent, cost)
        if found is None:
            _refuse(state, what, cost, f", number {place} of {len(requests)} charged together," * (len(requests) > 1))
        lane, amount = found
        spent = plus(state.spent, lane, amount)
        if not _short(spent.epsilon, spent.rho):
            raise BudgetError("Ledger: the exact sum would grow too long. Nothing was charged. Ask in short decimals.")
        entry = Entry(state.entries + 1, when, who, what, lane, cost, amount, receipt)
        entry = replace(entry, digest=entry.linked_after(state.digest))
        entries.append(entry)
        state = replace(state, spent=spent, entries=entry.number, digest=entry.digest)
    return state, entries


def plus(spent: Spent, lane: Lane, amount: Fraction) -> Spent:
    """The sums after one more amount in one lane."""
    if lane == "epsilon":
        return replace(spent, epsilon=spent.epsilon + amount)
    return replace(spent, rho=spent.rho + amount)


def remaining_of(state: State) -> Spent:
    """Limits less what was booked."""
    return Spent(state.budget.pure - state.spent.epsilon, state.budget.rho - state.spent.rho)


def problems_of(state: State, entries: Sequence[Entry]) -> list[str]:
    """Everything in which the entries contradict the budget, the running sums or their own digests."""
    problems, sums, digest = [], Spent(), state.genesis
    for number, entry in enumerate(entries, start=1):
        if entry.number != number or entry.linked_after(digest) != entry.digest:
            problems.append(f"entry {entry.number} was changed, or one before it was changed, added or removed")
        digest = entry.digest
        if entry.amount <= 0 or (entry.lane, entry.amount) not in _prices(entry.cost):
            problems.append(f"entry {entry.number} books another amount than its cost")
        if entry.cost.order and abs(entry.cost.order - (_order(state.budget) or 0)) > _SAME_ORDER:
            problems.append(f"entry {entry.number} holds at another order than that of the ledger")
        sums = plus(sums, entry.lane, entry.amount)
    if (state.entries, state.digest) != (len(entries), digest):
        problems.append(f"{state.entries} entries were written, and the last digest is not theirs or some are gone")
    if sums != state.spent:
        problems.append(f"the entries add up to {_lanes(sums)}, but {_lanes(state.spent)} is written as spent")
    if sums.epsilon > state.budget.pure or sums.rho > state.budget.rho:
        problems.append(f"the entries add up to {_lanes(sums)}, above the limits {_lanes(_limits(state.budget))}")
    return problems + _budget_problems(state.budget)


def shown(value: Fraction) -> str:
    """A fraction as a decimal of at most ten digits, rounded down: what is shown as remaining can be asked for."""
    context = Context(prec=10, rounding=ROUND_DOWN)
    return f"{context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context):f}"


def _prices(cost: Cost) -> tuple[tuple[Lane, Fraction], ...]:
    return (("epsilon", cost.epsilon), ("rho", cost.as_rho)) if cost.is_pure else (("rho", cost.rho),)


def _budget_problems(budget: Budget) -> list[str]:
    rest = budget.epsilon - budget.pure
    sound = budget.delta == rest == budget.rho == 0
    with suppress(OverflowError):
        if budget.delta > 0:
            sound = 0 <= budget.pure < budget.epsilon and delta_of(float(budget.rho), float(rest)) <= budget.delta
    return [] if sound else ["the lanes together do not keep the promise of epsilon and delta"]


def _opened(budget: Budget, name: str | None, neighbours: Neighbours | None) -> State:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    state = State(secrets.token_hex(16), created, budget, name=None, neighbours=None, spent=Spent())
    return _owned(replace(state, digest=state.genesis), name, neighbours)


def _owned(state: State, name: str | None, neighbours: Neighbours | None) -> State:
    """The state, bound to whatever is given; an error when it is bound to something else."""
    if neighbours not in (None, "add-remove", "substitute"):
        raise LedgerError(f"Ledger: neighbours must be 'add-remove' or 'substitute'. Got {neighbours!r}.")
    if name is not None:
        _plain_text("name", name)
    bound = replace(state, name=state.name or name, neighbours=state.neighbours or neighbours)
    if (name or bound.name, neighbours or bound.neighbours) != (bound.name, bound.neighbours):
        raise LedgerError(
            f"Ledger: belongs to data set {bound.name!r} with neighbours {bound.neighbours!r}. "
            f"Got {name!r} with {neighbours!r}. Open another ledger for it; or, where it is the same table under "
            f"another name, say so: name={bound.name!r} (--name)."
        )
    return bound


def _refuse_another_budget(
    path: str, stored: Budget, epsilon: Amount | None, delta: Amount | None, pure: Amount | None
) -> None:
    for name, value in (("epsilon", epsilon), ("delta", delta), ("pure", pure)):
        kept = getattr(stored, name)
        meant = None if value is None else exact(name, value)
        all_is_pure = name == "pure" and meant == 0 == stored.delta
        if meant is not None and meant != kept and not all_is_pure:
            raise LedgerError(
                f"Ledger: {path!r} was opened with {name}={shown(kept)}, fixed for good. Got {value}. "
                "Leave the budget out to use the ledger as it is."
            )


def _checked(what: str, cost: object, receipt: Mapping[str, object]) -> tuple[str, Cost, str]:
    """A request that may be booked: one exact amount above zero, and public text."""
    _plain_text("what", what)
    if not isinstance(cost, Cost) or cost.infinite:
        raise BudgetError(f"Ledger: {what!r} has no finite cost. Nothing was charged. Give it a finite epsilon.")
    amounts = (cost.epsilon, cost.rho)
    if not all(isinstance(amount, Fraction) for amount in amounts) or min(amounts) != 0 or max(amounts) <= 0:
        raise BudgetError(
            f"Ledger: a release costs epsilon or rho, one exact fraction above 0. Got {amounts[0]!r} and "
            f"{amounts[1]!r} for {what!r}. Nothing was charged. Make it with Cost.pure or Cost.of."
        )
    if not _short(*amounts, *(cost.stated or ())):
        raise BudgetError(f"Ledger: {what!r} has too many digits. Nothing was charged. Ask in short decimals.")
    return what, cost, _json_of(what, receipt)


def _json_of(what: str, receipt: Mapping[str, object]) -> str:
    text = ""
    with suppress(TypeError, ValueError, RecursionError):
        text = json.dumps(dict(receipt), sort_keys=True, allow_nan=False)
    if not text:
        raise ParameterError(f"Ledger: the receipt of {what!r} must be what JSON can hold. Nothing was charged.")
    return text


def _refuse(state: State, what: str, cost: Cost, among: str) -> NoReturn:
    left = remaining_of(state)
    if state.budget.delta == 0 and not cost.is_pure:
        rule = "this ledger has delta=0 and takes pure releases only. Ask with delta=0, or open one with a delta"
    else:
        rule = "it fits neither lane. Ask for less" if state.budget.delta else "it does not fit. Ask for less"
    if _at_another_order(state.budget, cost):
        rule = "its rho holds at another order than that of this ledger. Price it with this ledger"
    asked = f"epsilon={shown(cost.epsilon)}" if cost.is_pure else f"rho={shown(cost.rho)}"
    if cost.is_pure and state.budget.delta:
        asked += f" in the pure lane or rho={shown(cost.as_rho)} in the rho lane"
    raise BudgetError(
        f"Ledger: {what!r}{among} asks {asked}; remaining are epsilon={shown(left.epsilon)} in the pure lane and "
        f"rho={shown(left.rho)} in the rho lane. Nothing was charged: {rule}."
    )


def _described(state: State) -> str:
    budget = state.budget
    promise = f"epsilon={shown(budget.epsilon)}, delta={shown(budget.delta)}"
    owner = f", of {state.name!r} ({state.neighbours})" if state.name or state.neighbours else ""
    entries = "1 entry" if state.entries == 1 else f"{state.entries} entries"
    spent, limits, left = (_lanes(each, budget) for each in (state.spent, _limits(budget), remaining_of(state)))
    return f"{promise}{owner}: spent {spent} of {limits} in {entries}, left {left}"


def _limits(budget: Budget) -> Spent:
    return Spent(budget.pure, budget.rho)


def _lanes(spent: Spent, budget: Budget | None = None) -> str:
    """Both lanes; with a budget those alone that it has."""
    lanes = [
        (f"pure {shown(spent.epsilon)}", not budget or budget.pure),
        (f"rho {shown(spent.rho)}", not budget or budget.rho),
    ]
    return " + ".join(words for words, there in lanes if there)


def _reopened(path: str, read_only: bool, seen: tuple[int, str] | None) -> Ledger:
    return Ledger._over(LedgerFile(path, read_only, seen))


def _place(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"Ledger: path must be text or a path. Got {type(path).__name__}.")
    return os.path.abspath(os.fsdecode(path))


def _plain_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value or value != value.encode("utf-8", "replace").decode():
        raise ParameterError(f"Ledger: {name} must be text, and not empty. Got {value!r}. Nothing was charged.")


def _of_few_digits(budget: Budget) -> Budget:
    if not _short(budget.epsilon, budget.delta, budget.pure):
        raise ParameterError("Ledger: epsilon, delta or pure has too many digits. Write short decimals.")
    return budget


def _short(*amounts: Fraction) -> bool:
    return all(max(each.numerator.bit_length(), each.denominator.bit_length()) <= MOST_BITS for each in amounts)


def _user() -> str:
    name = ""
    with suppress(Exception):  # no variable, no password database, another system: each raises its own kind
        name = getpass.getuser()
    return name.encode("utf-8", "replace").decode() or "unknown"
