"""A certified lower bound on ε for any callable, ours or somebody else's, from what it says on two neighbours.

Secret fair bits choose the table of each run. The audit looks after a few, three times as many, … and all runs: at
each look the newest two thirds of the runs are counted once, by a rule that the earlier runs have chosen (a score,
and two thresholds: guess one table, abstain, guess the other). The level is split among the looks, so the audit may
stop at the first look that refutes the claim. Law and proof: ``docs/proofs/audit-bounds.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.audit.guesses import Guesses, runs_needed
from sordino.audit.outcomes import MOST_PARTS, Floats, Outcome, Outcomes, read_outcome
from sordino.audit.rule import Rule, best_rule
from sordino.audit.scores import Bits
from sordino.audit.verdict import AuditReport
from sordino.errors import ParameterError

__all__ = ["audit_epsilon", "check_claim", "looks", "runs_needed"]

#: What is audited: from a table and public randomness to anything.
Runnable = Callable[[Any, np.random.Generator], Any]

#: Each look comes after so many times the runs of the one before, which choose its rule.
GROWTH = 3

#: The fewest runs of a look that is not the last.
FIRST_LOOK = 256

#: The part of the level that the last look keeps; earlier looks share the rest.
LAST_SHARE = 0.8

_PICTURE = 500
_REPORTS = 100
_PLAIN = np.ndarray | np.generic | int | float | complex | str | bytes | None


def audit_epsilon(
    run: Runnable,
    d1: Any,
    d0: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    runs: int = 20_000,
    level: float = 0.05,
    score: Callable[[Any], float] | None = None,
    random_state: Any = None,
    progress: Callable[[float], None] | None = None,
    name: str | None = None,
    stop_early: bool = True,
    unsafe_real_data: bool = False,
) -> AuditReport:
    """Bound ε of ``run(table, rng)`` from below, on the two neighbouring made-up tables ``d1`` and ``d0``.

    With probability at least 1 - ``level`` the evidence ``lower`` is not above the true ε (at the given ``delta``);
    *violated* iff it is above the claimed ``epsilon``. Runs must be independent: ``run`` draws from ``rng`` or from
    randomness of its own, keeps no state, and leaves its tables as they are. An exception is an outcome. ``score``
    replaces the search for one: a number per outcome, larger where ``d1`` is more likely. With
    ``stop_early=False`` the bound is taken as far as the runs allow even after the claim is refuted.

    >>> def laplace(table, rng): return len(table) + rng.laplace(scale=0.5)
    >>> audit_epsilon(laplace, [1], [], epsilon=1.0, runs=2000, random_state=0).verdict
    'violated'
    """
    check_claim(epsilon, delta, runs, level)
    if not unsafe_real_data:
        _refuse_real(d1, "d1")
        _refuse_real(d0, "d0")
    subject = str(name or getattr(run, "__name__", "subject"))
    claim = _Claim(float(epsilon), float(delta), float(level))
    schedule = looks(runs, level)
    if _hopeless(schedule, claim):
        return _not_tested(subject, claim, 0, "Even if every guess were right, so few runs could not refute the claim.")
    record = _Record(run, (d0, d1), score, random_state)
    results: list[_Look] = []
    for end, share in schedule:
        record.extend(end, lambda done: progress(done / runs) if progress else None)
        if record.always_failed:
            return _not_tested(subject, claim, end, f"Every run failed with {record.outcomes[0].words[0]!r}.")
        results.append(_look(record, claim, share))
        if stop_early and results[-1].guesses.lower > claim.epsilon:
            break
    if progress:
        progress(1.0)
    return _report(subject, claim, record, results)


def looks(runs: int, level: float) -> list[tuple[int, float]]:
    """After how many runs the audit looks, and at which part of the level: fixed before anything is seen.

    >>> [end for end, _ in looks(2000, 0.05)]
    [666, 2000]
    """
    ends = [runs]
    while ends[0] // GROWTH >= FIRST_LOOK:
        ends.insert(0, ends[0] // GROWTH)
    early = len(ends) - 1
    return [(end, level * (1 - LAST_SHARE) / early) for end in ends[:-1]] + [
        (runs, level * (LAST_SHARE if early else 1))
    ]


@dataclass(frozen=True)
class _Claim:
    """What is said to hold, and the level of the whole audit."""

    epsilon: float
    delta: float
    level: float

    def __str__(self) -> str:
        return f"epsilon={self.epsilon:g}" + (f", delta={self.delta:g}" if self.delta else "")


class _Record:
    """Runs as they happen: secret bits, and outcomes read at once, since a callable may reuse its arrays."""

    def __init__(self, run: Runnable, tables: tuple[Any, Any], score: Callable[[Any], float] | None, seed: Any) -> None:
        self._run, self._tables, self._score = run, tables, score
        secret, self._public = np.random.default_rng(seed).spawn(2)  # two streams: run never sees the bits
        self._secret = secret
        self.bits: Bits = np.empty(0, dtype=bool)
        self.outcomes: list[Outcome] = []
        self.failures = 0

    def extend(self, end: int, done: Callable[[int], None]) -> None:
        """Run until there are ``end`` outcomes."""
        start = len(self.bits)
        fresh = self._secret.integers(2, size=end - start).astype(bool)
        step = max(1, (end - start) // _REPORTS)
        for number, bit in enumerate(fresh.tolist(), start):
            self.outcomes.append(self._one(self._tables[bit]))
            if number % step == 0:
                done(number)
        self.bits = np.concatenate([self.bits, fresh])

    @property
    def always_failed(self) -> bool:
        """Whether no run has come to an end, and all failed in the same words."""
        return self.failures == len(self.outcomes) and len({each.words for each in self.outcomes}) == 1

    def named(self, score: str) -> str:
        """A score by its name; the only number of a given one is that score."""
        return score if self._score is None else score.replace("number 0", "the given score")

    def _one(self, table: Any) -> Outcome:
        try:
            outcome = self._run(table, self._public)
        except Exception as error:  # an outcome like any other
            self.failures += 1
            outcome = error
        if self._score is None:
            return read_outcome(outcome)
        return Outcome("given", np.array([float(self._score(outcome))]))


@dataclass(frozen=True)
class _Look:
    """What one look counted, by which rule, and the scores behind the picture."""

    guesses: Guesses
    rule: Rule
    scores: Floats
    bits: Bits

    def share_of(self, level: float, epsilon: float) -> float:
        """The p-value at a claim, for the level of the whole audit."""
        return min(1.0, self.guesses.p_value(epsilon) * level / self.guesses.level)


def _look(record: _Record, claim: _Claim, level: float) -> _Look:
    """Choose a rule on the older third of the runs, and count the newer two thirds once."""
    old = len(record.bits) // GROWTH
    width = min(MOST_PARTS, max((len(each.numbers) for each in record.outcomes[:old]), default=0))
    older, newer = (Outcomes.of(part, width) for part in (record.outcomes[:old], record.outcomes[old:]))
    rule = best_rule(older, record.bits[:old], claim.delta)
    scores, bits = rule.score.values(newer), record.bits[old:]
    right, guesses = rule.count(scores, bits)
    return _Look(Guesses(right, guesses, len(bits), claim.delta, level), rule, scores, bits)


def _report(subject: str, claim: _Claim, record: _Record, results: Sequence[_Look]) -> AuditReport:
    """The verdict: the best look speaks, and the level has been split among all of them."""
    best = max(results, key=lambda look: look.guesses.lower)
    shown = best if best.guesses.lower > claim.epsilon else results[-1]
    lower, guesses, runs = best.guesses.lower, shown.guesses, len(record.bits)
    visible = guesses.smallest_visible(claim.epsilon)
    evidence: dict[str, Any] = {
        "lower": lower,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "level": claim.level,
        "runs": runs,
        "failed": record.failures,
        "counted": guesses.runs,
        "guesses": guesses.guesses,
        "right": guesses.right,
        "p_value": min(look.share_of(claim.level, claim.epsilon) for look in results),
        "score": record.named(shown.rule.score.name),
        "thresholds": shown.rule.thresholds,
        "samples": _samples(shown),
        "smallest_visible": visible,
    }
    sure = f"{100 * (1 - claim.level):.6g} % confidence"
    counts = f"{guesses.right} of {guesses.guesses} guesses were right in {guesses.runs} fresh runs"
    if lower > claim.epsilon:
        true = "epsilon" if claim.delta == 0 else f"epsilon at delta={claim.delta:g}"
        sentence = f"With {sure} the true {true} is at least {_down(lower)}, and {claim} was claimed: {counts}."
        return AuditReport("epsilon", subject, "violated", sentence, (), evidence)
    seen = "no true epsilon" if visible is None else f"a true epsilon of {visible:.3g} or more"
    sentence = (
        f"On this pair of tables {claim} was not refuted by {runs} runs ({counts}; at least {_down(lower)} with "
        f"{sure}). At this power {seen} would have been seen with probability .9. That is not a proof of privacy."
    )
    return AuditReport("epsilon", subject, "not violated at this power", sentence, (), evidence)


def _samples(look: _Look) -> dict[str, list[float]]:
    """Finite scores under each table, for a picture; every so many runs, so that both are typical."""
    finite = np.isfinite(look.scores)
    sides = (("d1", look.scores[look.bits & finite]), ("d0", look.scores[~look.bits & finite]))
    return {label: [float(value) for value in scores[:_PICTURE]] for label, scores in sides}


def _down(value: float) -> str:
    """Two decimals, rounded down: a bound is never overstated."""
    return f"{math.floor(value * 100) / 100:.2f}"


def _hopeless(schedule: Sequence[tuple[int, float]], claim: _Claim) -> bool:
    """Whether not even right guesses alone could refute the claim at any look."""
    counted = ((end - end // GROWTH, level) for end, level in schedule)
    return not any(Guesses(n, n, n, claim.delta, level).lower > claim.epsilon for n, level in counted)


def _not_tested(subject: str, claim: _Claim, runs: int, reason: str) -> AuditReport:
    evidence = {"epsilon": claim.epsilon, "delta": claim.delta, "level": claim.level, "runs": runs}
    if runs == 0:
        with suppress(ParameterError):  # more than can be run
            needed = runs_needed(claim.epsilon, 2.0, claim.delta, claim.level)
            evidence["runs_needed"] = needed
            reason += f" To see noise that is half of what it should be, give runs={needed} or more."
    return AuditReport("epsilon", subject, "not tested", reason, (), evidence)


def check_claim(epsilon: float, delta: float, runs: int, level: float) -> None:
    """Refuse what is no claim, or no audit of one."""
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"audit: epsilon must be above 0 and finite. Got {epsilon}.")
    if not (0 <= delta < 1 and 0 < level < 1):
        raise ParameterError(f"audit: delta lies in [0, 1) and level in (0, 1). Got {delta} and {level}.")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise ParameterError(f"audit: runs must be a whole number of at least 1. Got {runs!r}.")


def _refuse_real(table: Any, argument: str) -> None:
    """Only plain values, which somebody made up: an audit prints what it finds."""
    refused = [part for part in _parts(table) if not isinstance(part, _PLAIN)]
    if isinstance(table, str | bytes):
        refused = [table]
    if refused:
        raise ParameterError(
            f"audit: {argument} must be a made-up table: a numpy array, a list, a dict or a number. "
            f"Got {type(refused[0]).__name__}. An audit shows what it finds in its tables, and for data of real people "
            "that is a leak. If these are made up, pass their values, or say unsafe_real_data=True."
        )


def _parts(table: Any) -> Iterator[Any]:
    """A plain table's own parts; of a long list of records the first few."""
    if isinstance(table, Mapping):
        table = list(table.values())
    if not isinstance(table, list | tuple | set | frozenset):
        yield table
        return
    for part in list(table)[:100]:
        yield from _parts(part)
