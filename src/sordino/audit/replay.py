"""Replay: hand out the same releases on two neighbouring tables, and complain about whatever still differs.

The idea is that of Re:cord-play (2026); integers make it exact. A method whose only door to the rows is the gate
gives the same result, the same messages and the same charges on both tables once its releases are frozen, and no
total moves by more than was declared. It is blind to the noise itself and to time.
"""

from __future__ import annotations

import contextlib
import io
import logging
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.audit.minima import too_little_noise_for_a_minimum
from sordino.audit.neighbours import SIZES, Pair, pairs
from sordino.audit.verdict import AuditReport
from sordino.cost import Cost
from sordino.domain import Domain, Neighbours
from sordino.privacy.perturbed_minimiser import MinimumPrice
from sordino.privacy.price import ChoicePrice
from sordino.privacy.rehearsal import AnyPrice, RehearsalSession, Rehearsed, Script
from sordino.queries.private_table import PrivateTable
from sordino.release import Law
from sordino.statistics.statistic import Record
from sordino.table.source import Source

#: Anything that asks a private table and returns a result.
Subject = Callable[[PrivateTable], Any]

#: Complaints after which an audit stops looking.
_ENOUGH = 20


def true_values(number: int, exact_values: tuple[int, ...], laws: Sequence[Law]) -> Sequence[int]:
    """Hand out the exact total, as if the noise were zero."""
    return exact_values


def constant(value: int) -> Script:
    """Hand out the same number everywhere: opens branches that honest noise rarely reaches."""
    return lambda number, exact_values, laws: (value,) * len(exact_values)


SCRIPTS: dict[str, Script] = {
    "true values": true_values,
    "all zero": constant(0),
    "all very low": constant(-(10**9)),
    "all very high": constant(10**9),
}


@dataclass
class Run:
    """What one run of a subject did: releases, charges, its result, and everything it said."""

    releases: list[Rehearsed]
    charged: list[Cost]
    result: Any = None
    error: str = ""
    said: dict[str, str] = field(default_factory=dict)


def audit_replay(
    subject: Subject,
    domain: Domain,
    *,
    claim: Cost | None = None,
    witnesses: Sequence[Record] = (),
    sizes: Sequence[int] = SIZES,
    name: str = "subject",
) -> AuditReport:
    """Run ``subject`` on pairs of neighbouring tables made from ``domain``, with every release frozen.

    ``claim`` is what the subject says it costs in all; by default its own receipt is taken at its word.

    >>> from sordino.domain import Real
    >>> audit_replay(lambda table: table.count(epsilon=1), Domain({"x": Real(0, 1)}), sizes=(1, 2)).verdict
    'not violated at this power'
    """
    complaints: list[str] = []
    looked, releases, errors = 0, 0, Counter[str]()
    for pair in pairs(domain, witnesses, sizes):
        for label, script in SCRIPTS.items():
            looked += 1
            found, first = replay_pair(subject, pair, script, claim)
            releases += len(first.releases)
            errors.update(filter(None, [first.error]))
            complaints.extend(f"{pair.label}, {label}: {complaint}" for complaint in found)
        if len(complaints) >= _ENOUGH:
            break
    evidence = {"pairs": looked, "releases": releases, "complaints_found": len(complaints), "errors": dict(errors)}
    if not releases:
        return AuditReport("replay", name, "not tested", "The subject released nothing.", (), evidence)
    if complaints:
        sentence = f"With every release frozen, something still differs between neighbours: {complaints[0]}."
        return AuditReport("replay", name, "violated", sentence, tuple(complaints[:_ENOUGH]), evidence)
    sentence = (
        f"On {looked} pairs of neighbours with {releases} frozen releases nothing else differed, no total moved "
        "farther than declared, and the charges add up. Blind to the noise itself and to time."
    )
    return AuditReport("replay", name, "not violated at this power", sentence, (), evidence)


def replay_pair(subject: Subject, pair: Pair, script: Script, claim: Cost | None) -> tuple[list[str], Run]:
    """Complaints about one pair of tables under one script, and what was seen on the first table."""
    first = rehearse(subject, pair.first, pair.domain, script)
    recorded = [release.handed_out for release in first.releases]
    second = rehearse(subject, pair.second, pair.domain, _again(recorded))
    complaints = [
        *_different_releases(first.releases, second.releases),
        *_moved_too_far(first.releases, second.releases, pair.domain.neighbours),
        *_wrong_charges(first, claim),
        *_different_words(first, second),
        *differences(first.result, second.result, "result"),
    ]
    return complaints, first


def rehearse(subject: Subject, records: Sequence[Record], domain: Domain, script: Script) -> Run:
    """Run a subject once on made-up records, and keep what it does and says."""
    session = RehearsalSession(records, domain, script)
    run = Run(session.releases, session.charged)
    with _listening(run.said):
        try:
            run.result = subject(PrivateTable(session))
        except Exception as error:  # an error is a release too: compared, never hidden
            run.error = f"{type(error).__name__}: {error}"
    return run


def _again(recorded: Sequence[tuple[int, ...]]) -> Script:
    def script(number: int, exact_values: tuple[int, ...], laws: Sequence[Law]) -> Sequence[int]:
        if number < len(recorded) and len(recorded[number]) == len(exact_values):
            return recorded[number]
        return exact_values

    return script


def _different_releases(first: Sequence[Rehearsed], second: Sequence[Rehearsed]) -> Iterator[str]:
    if len(first) != len(second):
        yield f"{len(first)} releases on one table and {len(second)} on its neighbour"
    for number, (mine, theirs) in enumerate(zip(first, second, strict=False)):
        if mine.price != theirs.price:
            yield f"release {number} has another statistic, cost or noise on the neighbour"


def _moved_too_far(first: Sequence[Rehearsed], second: Sequence[Rehearsed], neighbours: Neighbours) -> Iterator[str]:
    for number, (mine, theirs) in enumerate(zip(first, second, strict=False)):
        if len(mine.exact_values) != len(theirs.exact_values):
            yield f"release {number} has another length on the neighbour"
            continue
        moves = [a - b for a, b in zip(mine.exact_values, theirs.exact_values, strict=True)]
        if not all(isinstance(value, int) for value in mine.exact_values + theirs.exact_values):
            yield f"release {number} has a total that is not an integer"
        yield from _beyond_declared(number, mine.price, moves)
        yield from _too_little_noise(number, mine.price)
        if isinstance(mine.price, MinimumPrice) and mine.price.moves != (1 if neighbours == "add-remove" else 2):
            yield f"release {number}: the minimiser is priced for another relation of neighbours"


def _beyond_declared(number: int, price: AnyPrice, moves: Sequence[int]) -> Iterator[str]:
    if isinstance(price, ChoicePrice):
        if max(map(abs, moves)) > price.sensitivity:
            yield f"release {number}: a score moved by {max(map(abs, moves))}, declared {price.sensitivity}"
        if price.monotone and min(moves) < 0 < max(moves):
            yield f"release {number}: scores moved in both directions, declared monotone"
        return
    weights = () if isinstance(price, MinimumPrice) else price.statistic.weights or ()
    weights = weights or (1,) * len(moves)
    squared = sum(weight * move * move for weight, move in zip(weights, moves, strict=True))
    if sum(map(abs, moves)) > price.sensitivity.l1:
        yield f"release {number}: the total moved by {sum(map(abs, moves))} in L1, declared {price.sensitivity.l1}"
    if squared > price.sensitivity.l2_squared:
        yield f"release {number}: the total moved by {squared} in squared L2, declared {price.sensitivity.l2_squared}"


def _too_little_noise(number: int, price: AnyPrice) -> Iterator[str]:
    """The scale, recomputed here from the declared sensitivity and cost: a second opinion on the gate's own."""
    cost = price.cost
    if isinstance(price, ChoicePrice):
        scale, spread = Fraction(price.scale), price.sensitivity * (1 if price.monotone else 2)
        enough = scale * cost.epsilon >= spread if cost.is_pure else 8 * cost.rho * scale**2 >= spread**2
        if not enough:
            yield f"release {number}: the scale of the choice is below what its cost asks"
        return
    if isinstance(price, MinimumPrice):
        if too_little_noise_for_a_minimum(price):
            yield f"release {number}: the noise of the minimiser is below what its cost asks"
        return
    weights = price.statistic.weights or (1,) * len(price.laws)
    for law, weight in zip(price.laws, weights, strict=True):
        scale = Fraction(law.scale)
        enough = (
            scale * cost.epsilon >= price.sensitivity.l1 and law.name == "discrete Laplace"
            if cost.is_pure
            else 2 * cost.rho * weight * scale**2 >= price.sensitivity.l2_squared and law.name == "discrete Gaussian"
        )
        if not enough:
            yield f"release {number}: {law.name} noise of scale {law.scale:g} is below what its cost asks"
            return


def _wrong_charges(run: Run, claim: Cost | None) -> Iterator[str]:
    paid = sum(run.charged, Cost())
    if sum((release.price.cost for release in run.releases), Cost()) != paid:
        yield "the releases do not add up to the charges"
    receipt = getattr(run.result, "receipt", None) or getattr(run.result, "receipt_", None)
    if receipt is not None and (receipt.cost.epsilon, receipt.cost.rho) != (paid.epsilon, paid.rho):
        yield f"the receipt says {receipt.cost}, the charges are {paid}"
    if claim is not None and not paid.within(claim):
        yield f"the charges, {paid}, are above the claim, {claim}"


def _different_words(first: Run, second: Run) -> Iterator[str]:
    if first.error != second.error:
        yield f"an error differs: {first.error or 'none'} against {second.error or 'none'}"
    for where in sorted(set(first.said) | set(second.said)):
        if first.said.get(where) != second.said.get(where):
            yield f"{where} differs"


@contextlib.contextmanager
def _listening(said: dict[str, str]) -> Iterator[None]:
    """Everything a run prints, warns about or logs."""
    out, err, log = io.StringIO(), io.StringIO(), io.StringIO()
    handler, root = logging.StreamHandler(log), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
            warnings.simplefilter("always")
            with contextlib.redirect_stderr(err):
                yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        said.update(stdout=out.getvalue(), stderr=err.getvalue(), log=log.getvalue())
        said["warnings"] = "\n".join(f"{each.category.__name__}: {each.message}" for each in caught)


def differences(first: Any, second: Any, path: str, seen: set[int] | None = None) -> Iterator[str]:
    """Where two results differ, private attributes, closures and nested objects included; or hold the table."""
    seen = set() if seen is None else seen
    if isinstance(first, Source | RehearsalSession | PrivateTable):
        yield f"{path} keeps the table"
        return
    if type(first) is not type(second):
        yield f"{path} is a {type(first).__name__} on one table and a {type(second).__name__} on its neighbour"
        return
    if id(first) in seen or isinstance(first, type | types.ModuleType):
        return
    if not isinstance(first, str | int | float | Fraction | bytes | type(None)):
        seen.add(id(first))
    parts = _parts(first), _parts(second)
    if parts[0] is None or parts[1] is None:
        if not _same(first, second):
            yield f"{path} differs"
        return
    if list(parts[0]) != list(parts[1]):
        yield f"{path} has other parts"
        return
    for key, value in parts[0].items():
        yield from differences(value, parts[1][key], f"{path}{key}", seen)


def _parts(value: Any) -> dict[str, Any] | None:
    """The named parts of a compound value; None for a plain one."""
    if isinstance(value, Mapping):
        return {f"[{key!r}]": part for key, part in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{index}]": part for index, part in enumerate(value)}
    if isinstance(value, types.FunctionType):
        cells = value.__closure__ or ()
        names = value.__code__.co_freevars
        return {f".{name}": cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    if isinstance(value, types.MethodType):
        return {".self": value.__self__}
    if isinstance(value, np.ndarray | np.random.Generator | str | bytes | Fraction) or not hasattr(value, "__dict__"):
        return None
    return {f".{name}": part for name, part in vars(value).items()}


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray):
        return (first.dtype, first.shape, first.tobytes()) == (second.dtype, second.shape, second.tobytes())
    if isinstance(first, np.random.Generator):
        return bool(first.bit_generator.state == second.bit_generator.state)
    if isinstance(first, float):
        return bool(first.hex() == second.hex())
    return bool(first == second)
