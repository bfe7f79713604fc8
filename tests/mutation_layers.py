"""The layers that planted bugs are tried against: each is quick, and says nothing about the code as it is.

A layer is a generator of complaints, the cheapest and likeliest first, so that the first one ends the search. Layers
are made of the audits in ``sordino/audit`` on small subjects; two of them are of this folder alone: totals on every
way to hand rows over, and the promises of a session.

To ask which layers see a bug of your own: ``complaints_of`` in ``test_mutants.py``.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

import people
import sordino as so
import test_architecture
from odd_records import complaints, ways
from registry import FINISHED, STATISTICS, domain_of, reals
from sordino import cli
from sordino.audit.laws import broken_laws
from sordino.audit.ledger import SlowCost, audit_ledger
from sordino.audit.losses import audit_losses
from sordino.audit.neighbours import SIZES, ordinary_records
from sordino.audit.noise import audit_noise, audit_residuals
from sordino.audit.registered import DOMAINS, EVERY, claim_of, subjects
from sordino.audit.replay import audit_replay, constant, differences
from sordino.audit.sensitivity import search
from sordino.cost import Cost, rho_within
from sordino.domain import Domain, Neighbours
from sordino.engine.accumulation import Accumulation, ExactSum
from sordino.engine.local import accumulate
from sordino.errors import BudgetError, PassError, SordinoError, TableError
from sordino.privacy import session as gate
from sordino.privacy.margin_losses import Softmax
from sordino.privacy.noise import SecureNoise
from sordino.privacy.perturbed_minimiser import Minimisation
from sordino.privacy.price import Question
from sordino.privacy.rehearsal import RehearsalSession
from sordino.privacy.session import Session
from sordino.statistics.amounts import Amounts
from sordino.statistics.count import Count
from sordino.statistics.direct import DirectMedian
from sordino.statistics.directions import Directions, Products
from sordino.statistics.histograms import BinAxis, CategoryAxis, Histograms
from sordino.statistics.labels import ClassLabels
from sordino.statistics.moments import SecondMoment
from sordino.statistics.ranks import RankScores
from sordino.statistics.squares import Squares
from sordino.statistics.statistic import Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.unit_split import UnitSplit
from sordino.statistics.vectors import Box
from sordino.table.clipping import ClippedBatch
from sordino.table.memory import MatrixBlock
from sordino.table.opening import open_source
from test_session import CHOICE, COUNT, DOMAIN, SECRET, SUM, TABLE, Fails, everything_behind, spied, told

#: Module names without ``sordino.`` and the texts that a planted bug gives them.
Edited = Mapping[str, str]
Layer = Callable[[Edited], Iterator[str]]

RELATIONS: tuple[Neighbours, ...] = ("add-remove", "substitute")


# --- S: search and laws ------------------------------------------------------------------------------------------


def search_and_laws(edited: Edited) -> Iterator[str]:
    """No record moves a statistic farther than declared, in 3 and in 8 dimensions; totals are sums of pure maps."""
    small, large = list(_registered(3)), list(_registered(8))
    for built in small:
        yield from _found_beyond(*built)
    for built in small[::4]:
        yield from _unlawful(*built)
    for built in large:
        yield from _found_beyond(*built)
    for built in (*_finished(), *_features()):
        yield from _found_beyond(*built)
        yield from _unlawful(*built)
    for built in (*small, *large):
        yield from _unlawful(*built)


def _registered(dimension: int) -> Iterator[tuple[str, Statistic, Domain]]:
    for name, make in STATISTICS.items():
        statistic, domain = make(dimension, "add-remove")
        yield name, statistic, narrowed(domain, statistic)


def _unlawful(name: str, statistic: Statistic, domain: Domain) -> Iterator[str]:
    yield from (f"{name}: {law}" for law in broken_laws(statistic, domain))


def _features() -> Iterator[tuple[str, Statistic, Domain]]:
    """What a minimiser reads of a record, as sums: no longer than one."""
    domain = domain_of(3)
    directions = Directions(Box(reals(3)), 0.5, (0.25, 0.0, -0.25))
    for name, of in (("directions", directions), ("products of directions", Products(directions))):
        yield name, Sum(of), narrowed(domain, Sum(of))


def _finished() -> Iterator[tuple[str, Statistic, Domain]]:
    """Direct statistics of an odd and an even number of rows, the median on few grid points; and scores."""
    for (name, make), rows in itertools.product(FINISHED.items(), (5, 6)):
        statistic, domain = make(3, rows)
        if isinstance(statistic, RankScores) and rows == 6:
            continue
        if isinstance(statistic, DirectMedian):
            statistic = replace(statistic, steps=2**5)
        yield f"{name} of {rows} rows", statistic, narrowed(domain, statistic)


def _found_beyond(name: str, statistic: Statistic, domain: Domain) -> Iterator[str]:
    for finding in search(statistic, domain, 0.2, np.random.default_rng(0)):
        if finding.found > finding.declared:
            where = f"{finding.neighbours}, {finding.measure}"
            yield f"{name}, {where}: found {finding.found}, declared {finding.declared}"


def narrowed(domain: Domain, statistic: Statistic) -> Domain:
    """The domain with the statistic's columns only."""
    columns = statistic.columns or tuple(domain.columns)[:1]
    return Domain({name: domain[name] for name in columns}, neighbours=domain.neighbours, rows=domain.rows)


# --- R: replay ---------------------------------------------------------------------------------------------------

#: From almost nothing to more than anybody spends: where "so small" and "so large" begin is nobody's guess.
EPSILONS = ("1e-13", "1e-6", "0.01", "0.37", "2.5", "12", "40", "1000")


def ladder(table: so.PrivateTable) -> Any:
    """A few statistics at very different costs, pure and concentrated, in one pass."""
    box = Box(("a", "b"))
    few = (Count(("a",)), Sum(box), UnitSplit(("a",), degree=2), Histograms(((CategoryAxis.of(table.domain, "c"),),)))
    costs = [make(epsilon) for make in (Cost.pure, Cost.concentrated) for epsilon in EPSILONS]
    weighted = [Question(SecondMoment(box, frobenius=True), Cost.concentrated("0.5"))]
    totals = table.session.answer([*(Question(each, cost) for each in few for cost in costs), *weighted])
    scores = RankScores("a", (2.0, 5.0, 7.5), Fraction(1, 4))
    chosen = [table.session.choose(scores, cost) for cost in costs[2:8] + costs[10:]]
    return [(total.values, total.laws, total.receipt) for total in totals], chosen


def through_the_gate(neighbours: Neighbours) -> tuple[Callable[[so.PrivateTable], Any], Domain]:
    """Every registered statistic in one pass, paid in either kind, and a domain with rows where they are public."""
    built = [make(3, neighbours) for make in STATISTICS.values()]
    domain = built[0][1]

    def ask(table: so.PrivateTable) -> Any:
        costs = itertools.cycle((Cost.pure("0.7"), Cost.concentrated("0.3")))
        questions = [
            Question(statistic, cost)
            for (statistic, own), cost in zip(built, costs, strict=False)
            if own == domain and statistic.sensitivity(neighbours).l1
        ]
        return [total.values for total in table.session.answer(questions)]

    return ask, domain


def replays(edited: Edited) -> Iterator[str]:
    """With every release frozen nothing differs between neighbours: small tables first, then all sizes for a few."""
    few = EVERY[::6]
    for size, asked in ((2, few), *((each, few[::3]) for each in SIZES[2:]), (11, EVERY), (1, few), (10, few)):
        for neighbours, name in asked:
            asked, domain = subjects(neighbours)[name], DOMAINS[neighbours]
            yield from _replayed(asked, domain, f"{neighbours}, {name}", size, claim_of(name))
        if size == 2:
            for neighbours in RELATIONS:
                yield from _replayed(ladder, DOMAINS[neighbours], f"{neighbours}, ladder", 64)
                yield from _replayed(*through_the_gate(neighbours), f"{neighbours}, every statistic", 64)


def _replayed(subject: Any, domain: Domain, name: str, size: int, claim: Cost | None = None) -> Iterator[str]:
    report = audit_replay(subject, domain, claim=claim, sizes=(size,), name=name)
    yield from (f"{name}: {complaint}" for complaint in report.complaints)
    if size > 1:  # what is public of one row is refused under substitute
        yield from (f"{name}: {error}" for error in report.errors)
    if report.verdict == "not tested" and size > 1:  # a covariance of one row is public
        yield f"{name}: nothing was released"


# --- N: the law of the noise -------------------------------------------------------------------------------------


def noise_laws(edited: Edited) -> Iterator[str]:
    """The ladder of scales, and the residuals of releases at many costs, in cells that are empty and others."""
    for draws in (800, 4000):
        yield from audit_noise(draws=draws).complaints
    records = ordinary_records(DOMAINS["add-remove"], 10)
    for subject, runs in ((ladder, 60), (subjects("add-remove")["crossed histogram"], 150)):
        yield from audit_residuals(subject, records, DOMAINS["add-remove"], runs=runs).complaints
    ask, domain = through_the_gate("substitute")
    yield from audit_residuals(ask, ordinary_records(domain, 3), domain, runs=30).complaints
    for name, subject in subjects("add-remove").items():
        report = audit_residuals(subject, records, DOMAINS["add-remove"], runs=25, name=name)
        yield from (f"{name}: {complaint}" for complaint in report.complaints)


# --- C: loss calibration -----------------------------------------------------------------------------------------

_SMALL = Domain({"a": so.Real(0, 10), "c": so.Category(["x", "y", "z"])})
_SMALL_SUBSTITUTE = Domain(_SMALL.columns, neighbours="substitute", rows=5)


def loss_calibration(edited: Edited) -> Iterator[str]:
    """As much is lost between two tables as the declared law says, for totals and for choices."""
    others = [{"a": value, "c": "x"} for value in (1.0, 2.0, 8.0, 9.0)]
    one, another = {"a": 10.0, "c": "y"}, {"a": 0.0, "c": "z"}
    asked: dict[str, Callable[[so.PrivateTable], Any]] = {
        "count": lambda table: table.count(epsilon=3),
        "median": lambda table: table.median("a", epsilon=6, candidates=2),
        "median, delta": lambda table: table.median("a", epsilon=6, delta=1e-3, candidates=2),
        "histogram": lambda table: table.histogram("c", epsilon=3),
        "sum, delta": lambda table: table.sum("a", epsilon=4, delta=1e-3),
        "mean": lambda table: table.mean("a", epsilon=4),
    }
    for name, ask in asked.items():
        report = audit_losses(ask, [*others, one], others, _SMALL, runs=600, random_state=0, name=name)
        if report.violated:
            yield f"{name}: {report.sentence}"
    margin = audit_losses(
        lambda table: so.LargeMarginMixture(epsilon=2).fit(table, "c"), [*others, one], others, _SMALL, runs=300
    )
    if margin.violated:
        yield f"large margin: {margin.sentence}"
    for name in ("median", "histogram", "mean"):
        report = audit_losses(
            asked[name], [*others, one], [*others, another], _SMALL_SUBSTITUTE, runs=400, random_state=1, name=name
        )
        if report.violated:
            yield f"{name}, substitute: {report.sentence}"


# --- L: the ledger -----------------------------------------------------------------------------------------------


def ledgers(edited: Edited) -> Iterator[str]:
    """The ledger's own audit in memory and on disk; promises of δ, forks, kills, and files that were exchanged."""
    with tempfile.TemporaryDirectory() as folder:
        places = (os.path.join(folder, f"{number}.ledger") for number in itertools.count())
        yield from (f"in memory: {each}" for each in audit_ledger(lambda e, d: so.Ledger(e, d)).complaints)
        yield from _promises_that_are_not_kept()
        yield from _orders()
        yield from _forks_of_memory()
        on_disk = audit_ledger(lambda e, d: so.Ledger.open(next(places), e, d))
        yield from (f"on disk: {each}" for each in on_disk.complaints)
        for check in (_changes_by_hand, _processes_that_race, _kills):
            yield from check(next(places))


def _promises_that_are_not_kept() -> Iterator[str]:
    """Both lanes together imply (ε, δ), by the conversion written down again: a minimum over many orders."""
    for epsilon, delta, pure in ((1, 1e-6, 0), (0.1, 1e-5, 0), (8, 1e-9, 2), (3, 1e-6, 2.5), (20, 1e-3, 0)):
        ledger = so.Ledger(epsilon, delta, pure)
        rest, rho = float(ledger.epsilon - ledger.pure), float(ledger.rho)
        if ledger.pure != Fraction(str(pure)) or rho <= 0:
            yield f"a ledger of ({epsilon}, {delta}) with {pure} for pure releases has other lanes"
        if log_delta(rho, rest) > math.log(delta):
            yield f"the lanes of a ledger of ({epsilon}, {delta}) do not keep its promise"
        if rho_within(Fraction(str(epsilon)), Fraction(repr(delta))) < ledger.rho:
            yield "a ledger's rho is above what its epsilon and delta buy"


def log_delta(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke 2020, Corollary 13: ρ-zCDP implies (ε, δ) for this log δ, the least of all orders."""
    low, high = 1e-6, 1e6
    for _ in range(6):
        above = np.geomspace(low, high, 2001)
        logs = above * ((above + 1) * rho - epsilon) - np.log(above) + (above + 1) * np.log1p(-1 / (above + 1))
        best = int(np.argmin(logs))
        low, high = above[max(0, best - 1)], above[min(2000, best + 1)]
    return float(logs[best])


def _orders() -> Iterator[str]:
    """A ρ that holds at one Rényi order alone is taken at the ledger's own order, and at no other."""
    ledger = so.Ledger(epsilon=1, delta=1e-6)
    assert ledger.order is not None
    for factor, right in ((Fraction(1), True), (Fraction(2), False), (Fraction(1001, 1000), False)):
        if _takes(ledger, Cost(rho=ledger.rho / 4, order=ledger.order * factor)) != right:
            yield f"a rho at {float(factor):g} times the order of the ledger is {'refused' if right else 'taken'}"


def _forks_of_memory() -> Iterator[str]:
    ledger = so.Ledger(1)
    if _in_a_child(lambda: _takes(ledger, "0.5")):
        yield "a ledger in memory is charged by a forked child, whose charges its parent does not see"


def _changes_by_hand(path: str) -> Iterator[str]:
    """Whatever is written into the file past the ledger is seen by ``verify``, and stops the next charge."""
    for number, statement in enumerate(FORGERIES):
        ledger = so.Ledger.open(f"{path}.{number}", epsilon=1)
        for _ in range(2):
            _takes(ledger, "0.4")
        connection = sqlite3.connect(f"{path}.{number}")
        connection.execute(statement)
        connection.commit()
        connection.close()
        if not so.Ledger.read(f"{path}.{number}").verify():
            yield f"verify does not see {statement!r}"
        if "amount" not in statement and _takes(ledger, "0.1"):  # past amounts are left to verify
            yield f"a ledger takes a charge after {statement!r}"


FORGERIES = (
    "UPDATE ledger SET spent_epsilon = '0'",
    "UPDATE ledger SET epsilon = '9'",
    "UPDATE ledger SET pure = '9'",
    "DELETE FROM entry WHERE number = 2",
    "UPDATE entry SET amount = '1/100' WHERE number = 1",
)


def _processes_that_race(path: str) -> Iterator[str]:
    """Four processes, each of which takes its time inside a charge, take ten shares of ten."""
    so.Ledger.open(path, epsilon=1)

    def spend() -> int:
        return sum(_takes(so.Ledger.open(path), SlowCost(Fraction(1, 10))) for _ in range(4))

    children = [_child(spend) for _ in range(4)]
    taken = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    ledger = so.Ledger.read(path)
    if taken != 10 or len(ledger.entries()) != 10 or ledger.spent.epsilon != 1 or ledger.verify():
        yield f"four processes took {taken} shares of ten"


def _kills(path: str) -> Iterator[str]:
    """A charge that was answered survives the end of its process, whatever that process was about to do."""
    so.Ledger.open(path, epsilon=1)
    for _ in range(2):
        _in_a_child(lambda: _takes(so.Ledger.open(path), "0.25"))
    if so.Ledger.open(path).spent.epsilon != Fraction(1, 2):
        yield "a charge is gone after the end of its process"


def _takes(ledger: so.Ledger, amount: str | Cost) -> bool:
    try:
        ledger.charge([("audit", amount if isinstance(amount, Cost) else Cost.pure(amount), {})])
    except SordinoError:
        return False
    return True


def _child(action: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        code = 99
        with suppress(BaseException):
            code = int(action())
        os._exit(code)
    return child


def _in_a_child(action: Callable[[], int]) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(_child(action), 0)[1])


# --- A: the laws of the house ------------------------------------------------------------------------------------


def architecture(edited: Edited) -> Iterator[str]:
    """The rules of ``test_architecture.py`` on the sources as a planted bug leaves them."""
    sources, known = _sources()
    for law in test_architecture.LAWS:
        yield from (f"{law.__name__}: {found}" for found in law({**sources, **edited}) if found not in known)


@cache
def _sources() -> tuple[dict[str, str], set[str]]:
    """The sources, and what they break by themselves: that is for the other file's own tests."""
    sources = test_architecture.read_sources()
    return sources, {found for law in test_architecture.LAWS for found in law(sources)}


# --- T: totals ---------------------------------------------------------------------------------------------------


def totals(edited: Edited) -> Iterator[str]:
    """The total is the sum over all rows, once each: for any threads, blocks, order and source, at full magnitude."""
    yield from _totals_of_sources()
    yield from _each_record_by_itself()
    yield from _totals_of_many_blocks()
    yield from _totals_of_many_rows()
    yield from _totals_of_several_grids()


def _totals_of_sources() -> Iterator[str]:
    """What the records add up to, by the arithmetic of ``people.py``, however they are handed over."""
    records = people.make_records(150)
    records += records[::2]
    expected = {name: case.expected(records) for name, case in people.CASES.items()}
    with tempfile.TemporaryDirectory() as folder:
        for (name, make), threads in zip(people.SOURCES.items(), itertools.cycle((1, 2))):
            handed = make(records, Path(folder))
            domain = Domain({name: people.DOMAIN.columns[name] for name in handed.columns})
            source = open_source(handed.data, handed.names)
            cases = people.cases_for(handed.columns)
            statistics = [case.statistic for case in cases.values()]
            found = accumulate(source, domain, statistics, threads=threads, block_rows=None if threads == 1 else 17)
            yield from _another_number(found, len(records), name)
            for case, total in zip(cases, found.totals(), strict=True):
                if total.exact_values != expected[case]:
                    yield f"{name}, {case}: the total is not what the records add up to"


#: Cells as people write them, each of which could make a type, or a decimal mark, of a whole column.
_CELLS: tuple[Any, ...] = ("x", "2,5", "2.5", 1, True, None, 2.5, "1", " 3 ", b"1", math.nan, "1e1")
_LOOSE = Domain({"number": so.Real(0, 10), "code": so.Category([1, 2, 3]), "word": so.Category(["1", "2.5", "x"])})


def _each_record_by_itself() -> Iterator[str]:
    """Cells without a type of their own add up to what each record adds alone: none says how another one is read."""
    numbers = np.arange(1.0, 1 + len(_CELLS))
    for name, make in _LOOSE_SOURCES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "loose.csv")
            alone = [_read_loosely(make([cell], numbers[:1], path)) for cell in _CELLS]
            together = _read_loosely(make(list(_CELLS), numbers[:1].repeat(len(_CELLS)), path))
        if together is None or None in alone:
            yield f"{name}: the records cannot be read"
        elif {str(each.kinds) for each in alone} != {str(together.kinds)}:
            yield f"{name}: the kinds of its columns follow its cells"
        elif together.totals != [_added(each) for each in zip(*(each.totals for each in alone), strict=True)]:
            yield f"{name}: the records together are not what each of them is by itself"
        elif together.totals[0] != (len(_CELLS),):
            yield f"{name}: another number of rows was counted"
    for missing in (None, 2):
        frame = pd.DataFrame({"number": [1, missing], "code": [1, missing], "word": ["x", missing and "1"]})
        if any(Session.open(frame, _LOOSE).stored_types.values()):
            yield "a pandas frame has stored types, which follow its rows"


def _added(vectors: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*vectors, strict=True)))


def _written_loosely(cells: list[Any], numbers: Any, path: str) -> str:
    """A CSV file; bytes are written as a line that is no text."""
    lines = [b"\xff\xff,1,1" if isinstance(each, bytes) else ",".join([_quoted(each)] * 3).encode() for each in cells]
    Path(path).write_bytes(b"\n".join([b"number,code,word", *lines, b""]))
    return path


def _quoted(cell: Any) -> str:
    return "" if cell is None else f'"{cell}"'


def _objects(cells: list[Any]) -> Any:
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


#: Ways to hand over cells that have no type: a whole table of them, or the labels beside an array.
_LOOSE_SOURCES: dict[str, Callable[[list[Any], Any, str], Any]] = {
    "a CSV file": _written_loosely,
    "a frame of objects": lambda cells, _, path: pd.DataFrame(dict.fromkeys(_LOOSE.columns, cells), dtype=object),
    "an array of objects": lambda cells, _, path: (np.column_stack([_objects(cells)] * 3), None),
    "an array of text": lambda cells, _, path: (np.array([[str(each)] * 3 for each in cells]), None),
    "labels of objects": lambda cells, numbers, path: (np.column_stack([numbers, numbers]), _objects(cells)),
}


class _Loose(NamedTuple):
    """What is public of a source, and what its rows add up to."""

    kinds: Mapping[str, str]
    totals: list[tuple[int, ...]]


def _read_loosely(data: Any) -> _Loose | None:
    """Rows, whole records, amounts and counts of every column; None where it cannot be read."""
    try:
        source = open_source(data, tuple(_LOOSE.columns))
        axes = [CategoryAxis.of(_LOOSE, name) for name in ("code", "word")]
        statistics = [Count(("number",)), Amounts.of(_LOOSE, ("number",)), Histograms(tuple((axis,) for axis in axes))]
        found = accumulate(source, _LOOSE, statistics)
    except Exception:  # a cell that stops the others is what is looked for
        return None
    return _Loose(source.kinds, [(found.exact_rows,), *found.exact_values()])


def _totals_of_many_blocks() -> Iterator[str]:
    """More blocks than a limb takes, of totals that fill it; and parts that are merged."""
    largest = np.array([2**53, -(2**53), 2**53 - 1])
    for blocks in (511, 512, 513, 2500):
        exact_sum = ExactSum(3)
        for _ in range(blocks):
            exact_sum.add(largest)
        if exact_sum.values() != tuple(int(each) * blocks for each in largest):
            yield f"{blocks} full blocks are not added up exactly"
        exact_sum.add_integers((2**80, 1, 0))
        exact_sum.add(np.array([1, 2, 3]))
        exact_sum.add_integers((2**80, 1, 0))
        if exact_sum.values() != tuple(int(a) * blocks + b for a, b in zip(largest, (2**81 + 1, 4, 3), strict=True)):
            yield "sums of blocks and of integers are not added up exactly"


_ROWS = 2 * 65_536 + 1
_TALL = Domain({"a": so.Real(0, 8), "b": so.Real(-1, 1), "c": so.Category([0, 1, 2])})


def _totals_of_many_rows() -> Iterator[str]:
    """Two blocks of an array and a row more, most of them at a corner, where floats would begin to round."""
    generator = np.random.default_rng(0)  # public: made-up rows
    corner = generator.random(_ROWS) < 0.95
    matrix = np.column_stack([
        np.where(corner, 7.99999, generator.random(_ROWS) * 9),
        np.where(corner, 0.999999, generator.normal(size=_ROWS)),
        generator.integers(0, 4, _ROWS),
    ])  # fmt: skip
    matrix[::97, 1] = np.nan
    box, names = Box(("a", "b")), tuple(_TALL.columns)
    cells = Histograms(((CategoryAxis.of(_TALL, "c"), BinAxis.of(_TALL, "b", 5)),))
    statistics = [Count(("b",)), Sum(box), SecondMoment(box), UnitSplit(("a", "b"), degree=2), cells]
    batch = ClippedBatch(_TALL, MatrixBlock(matrix, names))
    expected = [tuple(map(int, statistic.record_maps(batch).sum(axis=0))) for statistic in statistics]
    for threads, block_rows in ((1, None), (3, 9000)):
        found = accumulate(open_source(matrix, names), _TALL, statistics, threads=threads, block_rows=block_rows)
        if found.exact_values() != expected:
            yield f"{threads} threads, blocks of {block_rows}: the total is not the sum of the records' maps"
        yield from _another_number(found, _ROWS, f"{threads} threads")


def _totals_of_several_grids() -> Iterator[str]:
    """The same columns on three grids in one pass, each asked for again after the others, in blocks of many sizes."""
    generator = np.random.default_rng(1)  # public: made-up rows
    matrix, names = generator.normal(4, 3, (_ROWS, 2)), ("a", "b")
    matrix[::89, 1] = np.nan
    fine, coarse, narrow = Box(names), Box(names, 2**12), Box(names, windows=(so.Real(2, 3), so.Real(0, 1)))
    statistics = [kind(of) for kind in (Sum, SecondMoment, Squares) for of in (fine, coarse, narrow)]
    batch = ClippedBatch(_TALL, MatrixBlock(matrix, names))
    expected = [tuple(map(int, statistic.record_maps(batch).sum(axis=0))) for statistic in statistics]
    for threads, block_rows in ((1, None), (1, 20_011), (4, 1024), (4, 9000)):
        found = accumulate(open_source(matrix, names), _TALL, statistics, threads=threads, block_rows=block_rows)
        if found.exact_values() != expected:
            yield f"{threads} threads, blocks of {block_rows}, three grids: the total is not the sum of the maps"


def _another_number(found: Accumulation, rows: int, name: str) -> Iterator[str]:
    if found.exact_rows != rows:
        yield f"{name}: another number of rows was counted"


# --- I: the promises of a session --------------------------------------------------------------------------------


def session_promises(edited: Edited) -> Iterator[str]:
    """Charged before read, in full, for good; refusals that read nothing; silence; declared rules; honest receipts."""
    checks = (
        _order,
        _what_is_drawn,
        _choices_of_one_pass,
        _failures,
        _refusals,
        _declared_rules,
        _receipts,
        _arrays,
        _empty_arrays,
        _messages_about_shapes,
        _saved_receipts,
        _every_release_is_an_entry,
        _reprs,
        _minimisers,
        _commands,
    )
    for check in checks:
        yield from check()


def _order() -> Iterator[str]:
    events: list[str] = []
    spied(events).answer([COUNT, SUM])
    spied(events).choose(CHOICE, Cost.pure("0.25"))
    if events != ["charge", "read", "noise", "noise", "charge", "read", "noise"]:
        yield f"an answer and a choice go {', '.join(events)}"


def _what_is_drawn() -> Iterator[str]:
    """The release is the total and its draw, in whole numbers; and every session draws for itself, unseeded."""
    for handed in (0, 7, -(10**9), 10**12):
        session = RehearsalSession([{"age": 5.0, "sex": "f"}], DOMAIN, constant(handed))
        for total in session.answer([SUM, COUNT]):
            if any(type(value) is not int or value != handed for value in total.values):
                yield "what is released is not the total and its noise, in whole numbers"
    drawn = [Session.open(TABLE, DOMAIN).answer([SUM])[0] for _ in range(4)]
    if len({total.values for total in drawn}) < 3 or not all(total.receipt.private for total in drawn):
        yield "a session that was not asked for seeded noise has it"


class _Told(SecureNoise):
    """Secure noise that writes down the scales of its choices."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def choose(self, exact_scores: Any, scale: float, pure: bool) -> int:
        self.scales.append(scale)
        return super().choose(exact_scores, scale, pure)


def _choices_of_one_pass() -> Iterator[str]:
    """Each of several choices has all of the noise that its receipt states, and that it has when it is alone."""
    costs = [Cost.pure("0.25"), Cost.pure("0.5"), Cost.concentrated("0.1")]
    noise = _Told()
    session = Session(open_source(TABLE), DOMAIN, None, noise)
    alone = [session.price_choice(CHOICE, cost).scale for cost in costs]
    stated = [receipt.charges[0].scale for _, receipt in session.choose_each([(CHOICE, cost) for cost in costs])]
    if noise.scales != stated or stated != alone:
        yield "a choice among others of its pass has other noise than it states"


ASKED: dict[str, tuple[Callable[[Session], Any], int]] = {
    "an answer": (lambda session: session.answer([SUM, COUNT]), 2),
    "a choice": (lambda session: session.choose(CHOICE, Cost.pure("0.25")), 1),
}


def _failures() -> Iterator[str]:
    """A pass that fails in the source or in a statistic leaves its charge and tells nothing."""
    kinds = (RuntimeError, ValueError, KeyError, MemoryError, pa.ArrowInvalid, TableError)
    for kind, (name, (ask, entries)) in itertools.product(kinds, ASKED.items()):
        for failure in (kind("it is gone"), kind(f"cell {SECRET}")):
            events: list[str] = []
            session = spied(events, failure=failure)
            raised = _raised(ask, session)
            if not isinstance(raised, PassError):
                yield f"{name} that fails raises {type(raised).__name__}"
            elif kind is not TableError and told(*everything_behind(raised)):  # a TableError is our own, and public
                yield f"{name} that fails tells a cell"
            if "noise" in events or len(session._ledger.entries()) != entries:  # type: ignore[union-attr]
                yield f"{name} that fails draws noise, or its charge does not stand"
    bad = Question(Fails(Box(("age",))), Cost.pure("0.25"))
    raised = _raised(lambda session: session.answer([bad]), spied([]))
    if not isinstance(raised, PassError) or told(*everything_behind(raised)):
        yield "a statistic that fails tells a cell"


def _raised(ask: Callable[[Any], Any], session: Any) -> Exception | None:
    try:
        ask(session)
    except Exception as error:
        return error
    return None


def _refusals() -> Iterator[str]:
    """What may not be asked is refused before anything is charged, or what is too much before anything is read."""
    for name, (ask, _) in ASKED.items():
        events: list[str] = []
        session = spied(events, epsilon=0.2)
        refused = isinstance(_raised(ask, session), BudgetError)
        if not refused or events != ["charge"] or session._ledger.entries():  # type: ignore[union-attr]
            yield f"{name} beyond the budget is read, or booked in part"
    free = Question(Count(), Cost(infinite=True))
    paid = so.open_table(TABLE, DOMAIN, ledger=so.Ledger(epsilon=1), random_state=0).session
    for session in (spied([]), paid, Session(open_source(TABLE), DOMAIN, None, SecureNoise())):
        if _raised(lambda session: session.answer([free]), session) is None:
            yield "an infinite epsilon is answered without a seed, or on a ledger"
    with tempfile.TemporaryDirectory() as folder:
        table = so.open_table(TABLE, DOMAIN, ledger=so.Ledger.open(os.path.join(folder, "ledger"), epsilon=9))
        if _raised(lambda session: session.seeded(0), table.session) is None:
            yield "a ledger on disk pays for seeded noise"
    ledger = so.Ledger(epsilon=1)
    so.open_table(TABLE, DOMAIN, ledger=ledger, name="one")
    with suppress(SordinoError):
        so.open_table(TABLE, DOMAIN, ledger=ledger, name="another")
        yield "one ledger pays for two tables"
    substitute = Domain(DOMAIN.columns, neighbours="substitute")
    with suppress(SordinoError):
        so.open_table(TABLE, substitute, ledger=ledger, name="one")
        yield "one ledger pays under two relations of neighbours"


def _declared_rules() -> Iterator[str]:
    """Rows and completeness that were declared are checked, alike for every table that breaks them."""
    messages, chosen = set(), {"a choice": ASKED["a choice"][0]}  # the count is public there, and not sold
    for rows in (9, 11, 1000):
        declared = Domain(DOMAIN.columns, neighbours="substitute", rows=rows)
        for name, ask in {**chosen, "a sum": lambda session: session.answer([SUM])}.items():
            raised = _raised(ask, Session(open_source(TABLE), declared, None, SecureNoise()))
            messages.add(str(raised).replace(str(rows), "ROWS"))
            if raised is None:
                yield f"{name} of a table of 10 rows, declared as {rows}"
    if any("10" in message for message in messages):
        yield "the message about another number of rows tells the number"
    rejects = Domain({"age": so.Real(0, 120, missing="reject"), "sex": so.Category(["f", "m"], missing="reject")})
    whole = {"age": [1.0, 2.0, 3.0], "sex": ["f", "m", "f"]}
    questions = {"age": [SUM], "sex": [Question(Histograms(((CategoryAxis("sex", 2),),)), Cost.pure(1))]}
    for column, cell, encoded in (("age", None, False), ("age", np.nan, False), ("sex", None, False),
                                  ("sex", "other", False), ("sex", None, True), ("sex", "other", True)):  # fmt: skip
        table = pa.table(whole | {column: [*whole[column][:2], cell]})
        table = table.set_column(1, "sex", table["sex"].dictionary_encode()) if encoded else table
        session = Session(open_source(table), rejects, None, SecureNoise())
        if not isinstance(_raised(lambda session, asked=questions[column]: session.answer(asked), session), PassError):
            yield f"{cell} in {column}, which was declared complete, is let through"


def _receipts() -> Iterator[str]:
    """What takes a guarantee away is said."""
    table = so.open_table(TABLE, Domain({"age": so.Real(0, 120, missing="reject")}))
    for release in (table.sum("age", epsilon=1), table.median("age", epsilon=1)):
        caveats = "; ".join(release.receipt.caveats)
        if "complete in age" not in caveats or "not part of any budget" not in caveats:
            yield "the receipt does not say what its guarantee leans on"
    for release in (table.sum("age", epsilon=1, random_state=0), table.median("age", epsilon=1, random_state=0)):
        if release.receipt.private or release.receipt.secure_noise or "NOT PRIVATE" not in str(release.receipt):
            yield "the receipt of seeded noise says private"
    known = so.open_table(TABLE, Domain(DOMAIN.columns, neighbours="substitute", rows=10))
    receipt = known.mean("age", epsilon=1).receipt
    if "10 rows" not in receipt.public or receipt.neighbours != "substitute":
        yield "the receipt does not say which facts are public, and under which relation"


def _arrays() -> Iterator[str]:
    """A row of an array without a cell or a label changes nothing that a model holds."""
    rows, labels = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 1.0]]), np.array(["x", "y", "x"])
    more = np.vstack([rows, [np.nan, np.nan]]), np.array([*labels, "?"])
    for make in (so.NaiveBayes, so.GaussianBayes):
        known = {"bounds": (0, 10), "classes": ["x", "y", "z"], "random_state": 0}
        fitted, again = make(**known).fit(rows, labels), make(**known).fit(*more)
        yield from (f"{make.__name__}: {each}" for each in differences(fitted, again, "model"))
        if list(fitted.classes_) != known["classes"]:
            yield f"{make.__name__}: the list of classes is not the declared one"
        if make(**{**known, "classes": "observed"}).fit(rows, labels).receipt_.private:
            yield f"{make.__name__}: a list of classes that was read from the labels is called private"


def _messages_about_shapes() -> Iterator[str]:
    """Rows and labels that are not as many are refused in the same words, however many they are."""
    known = {"bounds": (0, 10), "classes": ["x", "y"], "random_state": 0}
    messages = {
        str(_raised(lambda model, rows=rows, labels=labels: model.fit(np.ones((rows, 2)), ["x"] * labels), model))
        for model in (so.NaiveBayes(**known),)
        for rows, labels in ((2, 3), (3, 2), (0, 1), (70, 69))
    }
    if len(messages) != 1:
        yield "a message about shapes tells the number of rows"


def _empty_arrays() -> Iterator[str]:
    """An array without rows is fitted as one whose only row is missing: that there is nobody is not told."""
    known = {"bounds": (0, 10), "classes": ["x", "y"], "random_state": 0}
    nobody = np.empty((0, 2)), np.empty(0, dtype="<U1")
    absent = np.full((1, 2), np.nan), np.array(["?"])
    for make in (so.NaiveBayes, so.ThresholdRule):
        fitted = []
        for rows, labels in (nobody, absent):
            with suppress(SordinoError):
                fitted.append(make(**known).fit(rows, labels))
        if len(fitted) < 2:
            yield f"{make.__name__}: an array without rows is refused"
        else:
            yield from (f"{make.__name__}, no rows: {each}" for each in differences(*fitted, "model"))


def _saved_receipts() -> Iterator[str]:
    """A model that was saved says of itself what it said before."""
    rows, labels = [[1.0], [9.0], [2.0]], ["x", "y", "x"]
    with tempfile.TemporaryDirectory() as folder:
        for more in ({"random_state": 0}, {"classes": "observed"}, {"delta": 1e-6}, {"ledger": so.Ledger(epsilon=1)}):
            model = so.NaiveBayes(**{"bounds": (0, 10), "classes": ["x", "y"], **more}).fit(rows, labels)
            model.save(os.path.join(folder, "model.json"))
            again = so.load(os.path.join(folder, "model.json"))
            if again.receipt_ != model.receipt_ or again.receipt_.private != model.receipt_.private:
                yield f"a model with {next(iter(more))} has another receipt once it was saved"


def _minimisers() -> Iterator[str]:
    """A solver goes on to its certificate, however many the records are; where noise does not reach nothing leaves."""
    generator, solve = np.random.default_rng(0), gate.minimise  # public: made-up rows
    targets: list[float] = []

    def watched(objective: Any, target: float) -> Any:
        targets.append(target)
        return solve(objective, target) + 2.0**-26

    gate.minimise = watched  # type: ignore[assignment]  # in a forked child
    try:
        for rows, ridge in itertools.product((5, 2000), (10.0, 100.0)):
            table = pa.table({"age": generator.uniform(0, 120, rows), "sex": generator.choice(["f", "m"], rows)})
            features = Directions(Box(("age",)), 0.5)
            asked = Minimisation(features, ClassLabels(CategoryAxis("sex", 2)), Softmax(2), ridge)
            total = Session.open(table, DOMAIN).minimise(asked, Cost.pure(1))
            if targets.pop() > 2.0**-24 * ridge:
                yield f"a solver stops before its certificate, at {rows} rows"
            if np.abs(np.reshape(total.values, (2, -1)).sum(axis=0)).max() > 2:
                yield "a minimiser is released where its noise does not reach"
    finally:
        gate.minimise = solve


def _commands() -> Iterator[str]:
    """No command writes over a ledger, nor pays for what it then refuses; what goes wrong inside is not quoted."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        pays, other, table, facts = (os.path.join(folder, name) for name in ("pays", "other", "rows.csv", "rows.toml"))
        for path in (pays, other):
            so.Ledger.open(path, epsilon=5).charge([("before", Cost.pure(1), {})])
        Path(table).write_text("age,sex\n30,f\n40,m\n", encoding="utf-8")
        DOMAIN.to_toml(facts)
        paid = ["--domain", facts, "--ledger", pays, "--epsilon", "1"]
        fake = os.path.join(folder, "fake.csv")
        writing = (["fit", table, "NaiveBayes", "--target", "sex", "-o"], ["synthesize", table, "-o", fake, "--model"])
        for path, words in itertools.product((pays, other), writing):
            before = [Path(each).read_bytes() for each in (pays, other)]
            with redirect_stderr(io.StringIO()):
                cli.main([*words, path, "--force", *paid])
            if [Path(each).read_bytes() for each in (pays, other)] != before:
                yield f"sordino {words[0]} writes over a ledger, or pays before it refuses to"
        with redirect_stderr(io.StringIO()) as said:
            so.PrivateTable.ask = _fail_with_a_cell  # type: ignore[method-assign]  # in a forked child
            cli.main(["query", table, "count", *paid])
        if told(said.getvalue()) or "internal error" not in said.getvalue():
            yield "the command line quotes an error that holds a cell"


def _fail_with_a_cell(*given: Any, **named: Any) -> Any:
    raise RuntimeError(f"cell {SECRET}")


def _every_release_is_an_entry() -> Iterator[str]:
    """Each release is booked at its cost: whichever query, however many statistics in one pass, and however often."""
    ledger = so.Ledger(epsilon=100, delta=1e-6, pure=50)
    table = so.open_table(TABLE, DOMAIN, ledger=ledger)
    asked: list[tuple[str, Any]] = [("count", ()), ("sum", ("age",)), ("mean", ("age",)), ("median", ("age",)),
        ("variance", ("age",)), ("covariance", (["age"],)), ("histogram", ("sex",))]  # fmt: skip
    releases = 0
    for (name, columns), delta in itertools.product(asked + asked, (0, 1e-7)):
        before = ledger.spent
        receipt = table.ask(name, *columns, epsilon="0.25", delta=delta).receipt
        paid = ledger.spent.epsilon - before.epsilon, ledger.spent.rho - before.rho
        releases += len(receipt.charges)
        if paid != (receipt.cost.epsilon, receipt.cost.rho) or (delta == 0) != (paid == (Fraction(1, 4), 0)):
            yield f"{name}: {paid} was booked for {receipt.cost}"
        entries = [each.number for each in ledger.entries()[-len(receipt.charges) :]]
        if entries != [charge.entry for charge in receipt.charges]:
            yield f"{name}: the receipt names other entries"
    if len(ledger.entries()) != releases or ledger.verify():
        yield f"{releases} releases, {len(ledger.entries())} entries"


def _reprs() -> Iterator[str]:
    """Nothing that a log or a traceback may show holds a cell, a total or a number of rows."""
    source, statistics = open_source(TABLE), [SUM.statistic, Count()]
    accumulation = accumulate(source, DOMAIN, statistics)
    (unread,) = source.blocks(("age", "sex"))
    batch, exact_sum = ClippedBatch(DOMAIN, unread()), ExactSum(1)
    batch.on_grid(("age",), 2**20)
    exact_sum.add(np.array([round((SECRET - 60) / 60 * 2**20)]))
    table = so.open_table(TABLE, DOMAIN, ledger=so.Ledger(epsilon=1))
    private = (source, unread, unread(), batch, accumulation, exact_sum, *accumulation.totals(), table, table.session)
    for each in private:
        if told(repr(each), str(each)) or "10" in repr(each).split(" at 0x")[0]:
            yield f"the repr of {type(each).__name__} tells a cell or a number of rows"


# --- O: one odd record -------------------------------------------------------------------------------------------


def odd_records(edited: Edited) -> Iterator[str]:
    """An odd record adds its own map, and changes no other reading, receipt, error or warning; however handed over."""
    for tables in (slice(1), slice(1, None)):  # the first of every way shows most of what there is to see
        for name in ways():
            yield from complaints(name, tables)


LAYERS: dict[str, Layer] = {
    "S": search_and_laws,
    "R": replays,
    "N": noise_laws,
    "L": ledgers,
    "C": loss_calibration,
    "A": architecture,
    "T": totals,
    "I": session_promises,
    "O": odd_records,
}


def first_complaint(layer: str, edited: Edited) -> str | None:
    """What a layer says first about the code as it now is; None when it finds nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return next(LAYERS[layer](edited), None)


def warm_up() -> None:
    """What every child would otherwise do first: import the samplers and the statistics of scipy, and read."""
    import opendp.measurements
    import scipy.stats  # noqa: F401

    assert opendp.measurements is not None
    _sources()
    for text in _sources()[0].values():
        test_architecture.parsed(text)
