"""Replay: with every release frozen, nothing else differs between neighbours. Deterministic: no false alarms."""

from __future__ import annotations

import logging
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import sordino as so
from sordino.audit.registered import DOMAINS, EVERY, claim_of, subjects
from sordino.audit.replay import audit_replay
from sordino.cost import Cost


@pytest.mark.parametrize(("neighbours", "name"), EVERY)
def test_nothing_but_releases_depends_on_the_table(neighbours: str, name: str) -> None:
    report = audit_replay(subjects(neighbours)[name], DOMAINS[neighbours], claim=claim_of(name), name=name)
    assert not report.violated, str(report)
    assert report.releases > 0


def keeps_a_size(table: so.PrivateTable) -> Any:
    table.count(epsilon=1)
    return SimpleNamespace(_seen=sum(len(unread()) for unread in table.session._source.blocks(["a"])))


def keeps_the_table(table: so.PrivateTable) -> Any:
    return SimpleNamespace(count=table.count(epsilon=1), _table=table)


def hides_a_total_in_a_closure(table: so.PrivateTable) -> Any:
    (exact,) = table.session._pass(table.session.price([_count_question()])[:1] and [_count_question().statistic])
    table.count(epsilon=1)
    return lambda: exact


def _count_question() -> Any:
    from sordino.privacy.price import Question
    from sordino.statistics.count import Count

    return Question(Count(), Cost.pure(1))


def warns_with_a_size(table: so.PrivateTable) -> Any:
    warnings.warn(f"{keeps_a_size(table)._seen} rows", stacklevel=1)


def logs_a_size(table: so.PrivateTable) -> Any:
    logging.getLogger("model").debug("%d rows", keeps_a_size(table)._seen)


def prints_a_size(table: so.PrivateTable) -> Any:
    print(keeps_a_size(table)._seen)


def fails_with_a_size(table: so.PrivateTable) -> Any:
    raise ValueError(f"too few rows: {keeps_a_size(table)._seen}")


def chooses_rounds_by_size(table: so.PrivateTable) -> Any:
    for _ in range(1 + keeps_a_size(table)._seen // 64):
        table.count(epsilon=0.1)


def falls_back_to_the_raw_mean(table: so.PrivateTable) -> Any:
    noisy = table.count(epsilon=1)
    return noisy if noisy.value >= 1 else keeps_a_size(table)


def takes_bounds_from_the_rows(table: so.PrivateTable) -> Any:
    first = next(iter(table.session._source.blocks(["a"])), None)
    largest = 10.0 if first is None else float(max(first().column("a").drop_null().to_pylist() or [10.0]))
    edges = (0.0, 5.0, max(6.0, min(10.0, largest)))
    return table.histogram("a", bins=edges, epsilon=1)


def forgets_a_charge(table: so.PrivateTable) -> Any:
    first = table.count(epsilon=1)
    table.sum("a", epsilon=1)
    return first


BUGS = [
    keeps_a_size,
    keeps_the_table,
    hides_a_total_in_a_closure,
    warns_with_a_size,
    logs_a_size,
    prints_a_size,
    fails_with_a_size,
    chooses_rounds_by_size,
    falls_back_to_the_raw_mean,
    takes_bounds_from_the_rows,
    forgets_a_charge,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_replay_complains_about_a_planted_bug(bug: Any) -> None:
    report = audit_replay(bug, DOMAINS["add-remove"], claim=Cost.pure(1), name=bug.__name__)
    assert report.violated, f"{bug.__name__} was not seen"


def test_replay_of_something_that_releases_nothing_is_not_tested() -> None:
    assert audit_replay(lambda table: 1, DOMAINS["add-remove"], sizes=(1,)).verdict == "not tested"
