"""Every audit of this package's own parts, over all that is registered."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from sordino.audit.ledger import audit_ledger
from sordino.audit.losses import audit_losses
from sordino.audit.neighbours import SIZES
from sordino.audit.noise import audit_noise, audit_residuals
from sordino.audit.registered import DOMAINS, STATISTICS, WIDE, Subject, claim_of, far_apart, subjects
from sordino.audit.replay import audit_replay
from sordino.audit.sensitivity import audit_sensitivity
from sordino.audit.verdict import AuditReport
from sordino.domain import Neighbours
from sordino.privacy.ledger import Ledger
from sordino.statistics.statistic import Statistic

#: A report that is still to be made.
Pending = Callable[[], AuditReport]

_QUICK_SIZES = (2,)


def audit_ourselves(*, quick: bool = False, progress: Callable[[float], None] | None = None) -> Iterator[AuditReport]:
    """Search, replay, noise and ledger; unless quick, also residuals and losses of whatever asks a table."""
    waiting = [*_statistics(quick), *_noise(quick), *_ledgers()]
    for neighbours in DOMAINS:
        for name, subject in subjects(neighbours).items():
            waiting.extend(_subject(neighbours, name, subject, quick))
    for number, make in enumerate(waiting, start=1):
        yield make()
        if progress:
            progress(number / len(waiting))


def _statistics(quick: bool) -> Iterator[Pending]:
    seconds = 0.1 if quick else 1.0
    for name, statistic in STATISTICS.items():
        yield partial(_statistic, name, statistic, seconds)


def _statistic(name: str, statistic: Statistic, seconds: float) -> AuditReport:
    return replace(audit_sensitivity(statistic, WIDE, seconds=seconds), subject=name)


def _noise(quick: bool) -> Iterator[Pending]:
    yield lambda: audit_noise(draws=800 if quick else 4000)


def _ledgers() -> Iterator[Pending]:
    yield lambda: audit_ledger(lambda epsilon, delta: Ledger(epsilon, delta), "ledger in memory")
    yield _ledger_on_disk


def _ledger_on_disk() -> AuditReport:
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(1000))
        return audit_ledger(
            lambda epsilon, delta: Ledger.open(Path(folder) / f"{next(numbers)}.ledger", epsilon, delta),
            "ledger on disk",
        )


def _subject(neighbours: Neighbours, name: str, subject: Subject, quick: bool) -> Iterator[Pending]:
    domain, named = DOMAINS[neighbours], f"{name} ({neighbours})"
    sizes = _QUICK_SIZES if quick else SIZES
    yield lambda: audit_replay(subject, domain, claim=claim_of(name), sizes=sizes, name=named)
    if quick:
        return
    more, fewer = far_apart(neighbours)
    yield lambda: audit_residuals(subject, more, domain, runs=100, name=named)
    yield lambda: audit_losses(subject, more, fewer, domain, runs=100, name=named)
