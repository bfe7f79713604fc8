"""The ledger's own audit: races, refunds, tolerance, odd amounts, names that collide, copies that double a budget.

Each check is one small function that takes a maker of fresh ledgers and yields complaints.
"""

from __future__ import annotations

import copy
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction

from sordino.audit.verdict import AuditReport
from sordino.cost import Cost
from sordino.errors import SordinoError
from sordino.privacy.ledger import Ledger

#: Makes a fresh ledger of a given (ε, δ).
Factory = Callable[[float, float], Ledger]

#: Smaller than any tolerance that a careless comparison would allow.
_CRUMB = Fraction(1, 10**30)


class SlowCost(Cost):
    """A pure cost that lets others run while it is looked at, so that races happen every time and not by luck."""

    @property
    def is_pure(self) -> bool:
        """True, after a while."""
        time.sleep(0.002)
        return True


def audit_ledger(factory: Factory, name: str = "ledger") -> AuditReport:
    """Try to overspend, to be refunded, to confuse: a ledger must refuse, and change nothing when it refuses.

    >>> audit_ledger(lambda epsilon, delta: Ledger(epsilon, delta)).verdict
    'not violated at this power'
    """
    complaints = [complaint for check in CHECKS for complaint in check(factory)]
    evidence = {"checks": [check.__name__.strip("_") for check in CHECKS]}
    if complaints:
        return AuditReport("ledger", name, "violated", f"{complaints[0]}.", tuple(complaints), evidence)
    sentence = f"{len(CHECKS)} attempts to overspend, to be refunded or to confuse the ledger all failed."
    return AuditReport("ledger", name, "not violated at this power", sentence, (), evidence)


def _tenths(factory: Factory) -> Iterator[str]:
    ledger = factory(1.0, 0.0)
    taken = sum(_takes(ledger, Cost.pure(0.1)) for _ in range(12))
    if taken != 10:
        yield f"{taken} releases of 0.1 were taken from a budget of 1.0, not 10"


def _no_tolerance(factory: Factory) -> Iterator[str]:
    if _takes(factory(1.0, 0.0), Cost(epsilon=1 + _CRUMB)):
        yield "a release just above the budget was taken"
    if not _takes(factory(1.0, 0.0), Cost(epsilon=Fraction(1))):
        yield "a release of exactly the budget was refused"
    ledger = factory(1.0, 1e-6)
    if _takes(ledger, Cost(rho=ledger.rho + _CRUMB)):
        yield "a release just above the rho lane was taken"


def _odd_amounts(factory: Factory) -> Iterator[str]:
    odd: list[object] = [Fraction(0), Fraction(-1), math.nan, math.inf, -0.0, True]
    for amount in odd:
        ledger = factory(1.0, 0.0)
        before = ledger.spent
        if _takes(ledger, Cost(epsilon=amount)) or ledger.spent != before:  # type: ignore[arg-type]
            yield f"an amount of {amount!r} was taken"
    if _takes(factory(1.0, 0.0), Cost(infinite=True)):
        yield "a release without noise was taken"


def _refusal_changes_nothing(factory: Factory) -> Iterator[str]:
    ledger = factory(1.0, 0.0)
    _takes(ledger, Cost.pure(0.7))
    before = ledger.spent, len(ledger.entries())
    _takes(ledger, Cost.pure(0.4))
    if (ledger.spent, len(ledger.entries())) != before:
        yield "a refused charge changed the ledger"
    with_batch = factory(1.0, 0.0)
    try:
        with_batch.charge([("first", Cost.pure(0.6), {}), ("second", Cost.pure(0.6), {})])
        yield "two releases that do not fit together were taken"
    except SordinoError:
        if with_batch.spent.epsilon or with_batch.entries():
            yield "a refused batch was booked in part"


def _same_name_counts_twice(factory: Factory) -> Iterator[str]:
    ledger = factory(1.0, 0.0)
    for _ in range(3):
        ledger.charge([("count", Cost.pure(0.2), {})])
    if ledger.spent.epsilon != Fraction(3, 5) or len(ledger.entries()) != 3:
        yield "charges of one name overwrite each other"


def _lanes_are_kept(factory: Factory) -> Iterator[str]:
    if _takes(factory(1.0, 0.0), Cost.concentrated(0.001)):
        yield "a Gaussian release was taken by a ledger without delta"
    ledger = factory(1.0, 1e-6)
    _takes(ledger, Cost.pure(0.1))
    if ledger.spent.rho != Fraction(1, 200) or ledger.spent.epsilon:
        yield "a pure release in the rho lane was not booked at half its square"


def _copies_share_the_budget(factory: Factory) -> Iterator[str]:
    ledger = factory(1.0, 0.0)
    both = [ledger, copy.deepcopy(ledger)]
    if sum(_takes(each, Cost.pure(1.0)) for each in both) > 1:
        yield "a copy of the ledger doubled its budget"


def _owner_is_kept(factory: Factory) -> Iterator[str]:
    ledger = factory(1.0, 0.0)
    ledger.bind("patients", "add-remove")
    for name, neighbours in (("others", "add-remove"), ("patients", "substitute")):
        try:
            ledger.bind(name, neighbours)  # type: ignore[arg-type]
            yield f"a ledger of patients under add-remove was taken over by {name} under {neighbours}"
        except SordinoError:
            pass


def _threads_never_overspend(factory: Factory) -> Iterator[str]:
    ledger, taken = factory(1.0, 0.0), []
    gate = threading.Barrier(8)

    def spend() -> None:
        gate.wait()
        for _ in range(3):
            taken.append(_takes(ledger, SlowCost(Fraction(1, 10))))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if sum(taken) != 10 or ledger.spent.epsilon != 1:
        yield f"eight threads took {sum(taken)} shares of ten"


def _old_copies_are_refused(factory: Factory) -> Iterator[str]:
    """A file that was put aside before a charge and brought back after it would give the charge back."""
    ledger = factory(1.0, 0.0)
    if ledger.path is None:
        return
    _takes(ledger, Cost.pure(0.5))
    aside = f"{ledger.path}.aside"
    shutil.copyfile(ledger.path, aside)
    _takes(ledger, Cost.pure(0.5))
    os.replace(aside, ledger.path)
    if _takes(ledger, Cost.pure(0.5)):
        yield "an old copy of the ledger took its place and gave a charge back"


def _no_refund(factory: Factory) -> Iterator[str]:
    ledger = factory(1.0, 0.0)
    refunds = [
        name for name in dir(ledger) if any(word in name.lower() for word in ("refund", "undo", "reset", "clear"))
    ]
    if refunds:
        yield f"the ledger offers {refunds[0]}"


def _takes(ledger: Ledger, cost: Cost) -> bool:
    try:
        ledger.charge([("audit", cost, {})])
    except SordinoError:
        return False
    return True


CHECKS = (
    _tenths,
    _no_tolerance,
    _odd_amounts,
    _refusal_changes_nothing,
    _same_name_counts_twice,
    _lanes_are_kept,
    _copies_share_the_budget,
    _owner_is_kept,
    _threads_never_overspend,
    _old_copies_are_refused,
    _no_refund,
)
