"""What a ledger writes down, and the SQLite file that keeps it through crashes and races.

The file holds one row (budget, owner, running sums) and numbered entries, each linked to the one before by a
SHA-256 digest. The law of ``LedgerFile.update``: when it returns, the change is on the disk and survives a kill
or a power cut; when it raises a refusal, no byte of the file has changed. Argument: ``docs/proofs/ledger.md``.

Never ``open()`` a ledger file as plain bytes while it is in use: closing that handle would drop the locks that
SQLite holds on it in this process (POSIX advisory locks belong to the process).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from sordino.cost import Cost
from sordino.domain import Neighbours
from sordino.errors import LedgerError

Lane = Literal["epsilon", "rho"]
T = TypeVar("T")

#: "SORD" in the header of the SQLite file: how a ledger is told from any other database.
APPLICATION_ID = 0x534F5244

#: Meanings never change; a new meaning gets a new number.
FORMAT = 1

#: How long a charge waits for the other processes, in seconds.
PATIENCE = 60.0

#: Held through every use of a file and across every fork, so that no child inherits a half-used SQLite library.
_FILE_ACCESS = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_FILE_ACCESS.acquire, after_in_parent=_FILE_ACCESS.release, after_in_child=_FILE_ACCESS.release
    )

_SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE ledger (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), identity TEXT, created TEXT, "
    "epsilon TEXT, delta TEXT, pure TEXT, rho TEXT, name TEXT, neighbours TEXT, "
    "spent_epsilon TEXT, spent_rho TEXT, entries INTEGER, digest TEXT, seal TEXT)",
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, moment TEXT, who TEXT, what TEXT, lane TEXT, cost TEXT, "
    "amount TEXT, receipt TEXT, digest TEXT)",
)

_EXPLANATIONS = {
    sqlite3.SQLITE_NOTADB: "is not a Sordino ledger. Give the path of one, or a path where no file exists.",
    sqlite3.SQLITE_CORRUPT: "is damaged or cut short, so what was spent is unknown. Nothing was charged.",
    sqlite3.SQLITE_READONLY: "is read-only, so nothing can be charged. Make the file and its folder writable, "
    "or only look at it with Ledger.read.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened or its folder cannot be written. Nothing was charged. "
    "Check the path and its permissions.",
    sqlite3.SQLITE_BUSY: f"was held by other processes for {PATIENCE:g} seconds. Nothing was charged. Try again.",
    sqlite3.SQLITE_FULL: "has no room left on its disk. Nothing was charged. Make room, then try again.",
    sqlite3.SQLITE_IOERR: "met a disk error. Nothing is released; the charge may stand. Look with Ledger.read.",
}


@dataclass(frozen=True)
class Spent:
    """Amounts in the two lanes: pure ε, and ρ."""

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)


@dataclass(frozen=True)
class Budget:
    """What was fixed at opening: the promise (``epsilon``, ``delta``) and the limits of its two lanes."""

    epsilon: Fraction
    delta: Fraction
    pure: Fraction
    rho: Fraction


@dataclass(frozen=True)
class Entry:
    """One release that was paid for: public facts, in exact fractions."""

    number: int
    when: str
    who: str
    what: str
    lane: Lane
    cost: Cost
    amount: Fraction
    receipt: str
    digest: str = ""

    def linked_after(self, previous: str) -> str:
        """SHA-256 of the digest before this entry and of everything the entry says."""
        return _sha256(previous + _canonical(self.as_row()[:-1]))

    def as_row(self) -> tuple[Any, ...]:
        """Plain values in the order of the table's columns."""
        cost = {"epsilon": str(self.cost.epsilon), "rho": str(self.cost.rho)}
        if self.cost.order:
            cost["order"] = str(self.cost.order)
        if self.cost.stated:
            cost |= {"for_epsilon": str(self.cost.stated[0]), "for_delta": str(self.cost.stated[1])}
        labels = (self.number, self.when, self.who, self.what, self.lane)
        return (*labels, _canonical(cost), str(self.amount), self.receipt, self.digest)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Entry:
        """The entry that ``as_row`` wrote."""
        number, *texts = row
        when, who, what, lane, cost_text, amount, receipt, digest = map(_text, texts)
        cost = {name: Fraction(value) for name, value in json.loads(cost_text).items()}
        stated = (cost["for_epsilon"], cost["for_delta"]) if "for_epsilon" in cost else None
        paid = Cost(epsilon=cost["epsilon"], rho=cost["rho"], stated=stated, order=cost.get("order"))
        return cls(int(number), when, who, what, cast(Lane, lane), paid, Fraction(amount), receipt, digest)


@dataclass(frozen=True)
class State:
    """A ledger without its entries: budget, owner, running sums, and the digest of the last entry."""

    identity: str
    created: str
    budget: Budget
    name: str | None
    neighbours: Neighbours | None
    spent: Spent
    entries: int = 0
    digest: str = ""

    @property
    def genesis(self) -> str:
        """The digest before the first entry: it pins the budget, and which ledger this is."""
        return _sha256(_canonical([self.identity, self.created, *map(str, astuple(self.budget))]))

    def as_row(self) -> tuple[Any, ...]:
        """Plain values in the order of the table's columns, without the seal."""
        budget, spent = map(str, astuple(self.budget)), map(str, astuple(self.spent))
        return (self.identity, self.created, *budget, self.name, self.neighbours, *spent, self.entries, self.digest)

    @property
    def seal(self) -> str:
        """SHA-256 of the whole row, so that a changed sum or owner is seen before the next charge."""
        return _sha256(_canonical(self.as_row()))

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> State:
        """The state that ``as_row`` wrote."""
        identity, created, epsilon, delta, pure, rho, name, neighbours, spent_epsilon, spent_rho, entries, digest = row
        budget = Budget(*(Fraction(_text(value)) for value in (epsilon, delta, pure, rho)))
        spent = Spent(Fraction(_text(spent_epsilon)), Fraction(_text(spent_rho)))
        return cls(_text(identity), _text(created), budget, name, neighbours, spent, int(entries), _text(digest))


#: From the state to the next one and the entries that lead there; it raises to refuse.
Change = Callable[[State], tuple[State, Sequence[Entry]]]


class LedgerFile:
    """A ledger in an SQLite file. It holds a path only, so it may be forked, pickled and used from any thread.

    ``seen`` is the number and digest of the last entry that this object has seen: a file in which that entry is
    gone is an old copy, and is refused.
    """

    on_disk = True

    def __init__(self, path: str, read_only: bool = False, seen: tuple[int, str] | None = None) -> None:
        self.path = path
        self.read_only = read_only
        self.seen = seen

    def state(self) -> State:
        """Budget, owner and running sums."""
        return self._within(lambda connection: self._state(connection)[0])

    def entries(self) -> list[Entry]:
        """Every entry, in order."""
        return self._within(lambda connection: [_parsed(self.path, Entry.from_row, row) for row in _rows(connection)])

    def snapshot(self) -> tuple[State, list[Entry], list[str]]:
        """State and readable entries of one instant, and what is wrong with the file itself."""
        return self._within(self._snapshot)

    def update(self, change: Change) -> Sequence[Entry]:
        """Make a change, whole or not at all; on return it is durable."""
        if self.read_only:
            raise LedgerError(f"Ledger: {self.path!r} was opened to look at. Open it with Ledger.open to charge it.")
        state, entries = self._within(lambda connection: self._changed(connection, change), writing=True)
        if self.seen is None or self.seen[0] <= state.entries:
            self.seen = (state.entries, state.digest)
        return entries

    def _within(self, action: Callable[[sqlite3.Connection], T], writing: bool = False) -> T:
        _refuse_what_is_no_file(self.path)
        with _FILE_ACCESS:
            return _transaction(self.path, action, writing=writing)

    def _state(self, connection: sqlite3.Connection) -> tuple[State, str]:
        _refuse_other_databases(connection, self.path)
        _refuse_a_file_cut_short(connection, self.path)
        columns = "identity, created, epsilon, delta, pure, rho, name, neighbours, spent_epsilon, spent_rho"
        rows = connection.execute(f"SELECT {columns}, entries, digest, seal FROM ledger").fetchall()
        if len(rows) != 1:
            raise LedgerError(f"Ledger: {self.path!r} has lost its budget. Nothing was charged.")
        state = _parsed(self.path, State.from_row, rows[0][:-1])
        self._refuse_an_old_copy(connection, state)
        return state, str(rows[0][-1])

    def _refuse_an_old_copy(self, connection: sqlite3.Connection, state: State) -> None:
        if self.seen is not None and _digest_at(connection, self.seen[0], state) != self.seen[1]:
            raise LedgerError(
                f"Ledger: {self.path!r} no longer holds entry {self.seen[0]}, seen earlier: an old copy took its "
                "place. Nothing was charged. Bring the newer file back."
            )
        self.seen = (state.entries, state.digest)

    def _snapshot(self, connection: sqlite3.Connection) -> tuple[State, list[Entry], list[str]]:
        state, seal = self._state(connection)
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check").fetchall()]
        problems = [f"file: {line}" for line in found if line != "ok"]
        if seal != state.seal:
            problems.append("the row of budget, owner and sums was changed by hand: its seal does not match")
        entries = []
        for row in _rows(connection):
            try:
                entries.append(Entry.from_row(row))
            except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError):
                problems.append(f"entry {row[0]} cannot be read")
        return state, entries, problems

    def _changed(self, connection: sqlite3.Connection, change: Change) -> tuple[State, Sequence[Entry]]:
        state, seal = self._state(connection)
        last = connection.execute("SELECT COALESCE(MAX(number), 0) FROM entry").fetchall()[0][0]
        if seal != state.seal or (last, _digest_at(connection, last, state)) != (state.entries, state.digest):
            raise LedgerError(
                f"Ledger: {self.path!r} was changed by hand, so it takes no charge. "
                "Ledger.read(path).verify() lists what is wrong."
            )
        new, entries = change(state)
        connection.executemany(
            "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [each.as_row() for each in entries]
        )
        _write_state(connection, new)  # even when it is the old one: opening proves that a charge can be written
        return new, entries


def create(path: str, state: State) -> None:
    """Write a whole new ledger beside ``path`` and then give it its name, unless the name was taken meanwhile.

    A kill leaves a whole ledger at ``path`` or none; of many racing creators one wins, and the file is theirs all.
    """
    draft, problem = f"{path}.{secrets.token_hex(8)}.new", ""

    def written(connection: sqlite3.Connection) -> None:
        for statement in _SCHEMA:
            connection.execute(statement)
        _write_state(connection, state)

    try:
        with _FILE_ACCESS:
            _transaction(draft, written, writing=True, mode="rwc", shown=path)
        os.link(draft, path)
        _sync_folder(os.path.dirname(path))
    except FileExistsError:
        pass
    except OSError as error:
        problem = type(error).__name__
    finally:
        with suppress(OSError):
            os.unlink(draft)
    if problem:
        raise LedgerError(f"Ledger: {path!r} cannot be created ({problem}). Choose a folder on a local disk.")


def _transaction(
    path: str, action: Callable[[sqlite3.Connection], T], writing: bool, mode: str = "rw", shown: str | None = None
) -> T:
    """Run an action in one transaction of a fresh connection: committed as a whole, or rolled back."""
    results: list[T] = []
    connection, problem = None, ""
    try:
        uri = f"{Path(path).as_uri()}?mode={mode}"  # rw: a deleted ledger is not silently made anew
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
        _prepare(connection, writing, shown or path)
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        results.append(action(connection))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        problem = _EXPLANATIONS.get(code, f"cannot be used as a Sordino ledger ({name}). Nothing was charged.")
    finally:
        _close(connection)
    if problem:
        raise LedgerError(f"Ledger: {shown or path!r} {problem}")
    return results[0]


def _prepare(connection: sqlite3.Connection, writing: bool, path: str) -> None:
    """A rollback journal, synced with its folder on every commit; the file alone then holds each charge."""
    if not writing:
        connection.execute("PRAGMA query_only = ON")
        return
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")
    if connection.execute("PRAGMA journal_mode = DELETE").fetchall() != [("delete",)]:
        raise LedgerError(f"Ledger: {path!r} was put into another journal mode. Close the tool that holds it open.")


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is None:
        return
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    connection.close()


def _write_state(connection: sqlite3.Connection, state: State) -> None:
    row = (1, *state.as_row(), state.seal)
    connection.execute(f"INSERT OR REPLACE INTO ledger VALUES ({', '.join('?' * len(row))})", row)


def _rows(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    columns = "number, moment, who, what, lane, cost, amount, receipt, digest"
    return connection.execute(f"SELECT {columns} FROM entry ORDER BY number").fetchall()


def _digest_at(connection: sqlite3.Connection, number: int, state: State) -> str | None:
    if number == 0:
        return state.genesis
    rows = connection.execute("SELECT digest FROM entry WHERE number = ?", (number,)).fetchall()
    return rows[0][0] if rows else None


def _refuse_what_is_no_file(path: str) -> None:
    """A missing path, a folder, a pipe and an empty file are refused by name, before SQLite sees them."""
    if not os.path.exists(path):
        raise LedgerError(f"Ledger: there is no file {path!r}. Give an epsilon to Ledger.open to create one.")
    if not os.path.isfile(path):
        raise LedgerError(f"Ledger: {path!r} is not a file. Give the path of a ledger.")
    if os.path.getsize(path) == 0:
        raise LedgerError(f"Ledger: {path!r} is empty, not a Sordino ledger. Remove it if it never was one.")


def _refuse_a_file_cut_short(connection: sqlite3.Connection, path: str) -> None:
    """SQLite reads a last page that is cut as if it ended in zeros."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchall()[0][0] for name in ("page_count", "page_size"))
    if os.path.getsize(path) < pages * size:
        raise LedgerError(f"Ledger: {path!r} {_EXPLANATIONS[sqlite3.SQLITE_CORRUPT]}")


def _refuse_other_databases(connection: sqlite3.Connection, path: str) -> None:
    if connection.execute("PRAGMA application_id").fetchall()[0][0] != APPLICATION_ID:
        raise LedgerError(f"Ledger: {path!r} is an SQLite file but not a Sordino ledger. Give another path.")
    if (found := connection.execute("PRAGMA user_version").fetchall()[0][0]) != FORMAT:
        raise LedgerError(f"Ledger: {path!r} has format {found}; this Sordino reads {FORMAT}. Use the newer one.")


def _parsed(path: str, maker: Callable[[Sequence[Any]], T], row: Sequence[Any]) -> T:
    made: list[T] = []
    with suppress(ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError):
        made.append(maker(row))
    if not made:
        raise LedgerError(f"Ledger: {path!r} holds a row that no ledger writes. Nothing was charged.")
    return made[0]


def _sync_folder(folder: str) -> None:
    """Make the new name durable (a folder cannot be opened on Windows, where this is not needed)."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
