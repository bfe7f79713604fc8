"""Loss calibration: how many times more is lost than the declared law of the noise says.

A secret fair bit chooses one of two neighbouring tables; the subject is run on it with the real noise, and again on
the other table with the same values handed out. The two exact totals behind each value and its declared law give the
log-likelihood ratio L of all that was released, through all adaptive rounds. The law of L: if the noise is what was
declared, Pr(bit = 1 | releases) = 1/(1+e^-L). A multiplier c in 1/(1+e^-cL) is fitted, and c = 1 is tested. Proof of
the law and of the level: ``docs/proofs/audit-bounds.md``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.audit.calibration import ALARM, Calibration
from sordino.audit.verdict import AuditReport
from sordino.cost import Cost
from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.privacy.noise import Noise
from sordino.privacy.perturbed_minimiser import MinimumPrice
from sordino.privacy.price import ChoicePrice
from sordino.privacy.rehearsal import ObservedSession, RehearsalSession, Rehearsed
from sordino.queries.private_table import PrivateTable
from sordino.release import DiscreteGaussian, DiscreteLaplace, Law
from sordino.statistics.statistic import Record

#: A loss this large is certainty; an impossible release has it.
_CERTAIN = 1000.0

_PICTURE = 500
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def audit_losses(
    subject: Callable[[PrivateTable], Any],
    d1_records: Sequence[Record],
    d0_records: Sequence[Record],
    domain: Domain,
    *,
    runs: int = 1000,
    random_state: Any = None,
    name: str = "subject",
    noise: Noise | None = None,
    progress: Callable[[float], None] | None = None,
) -> AuditReport:
    """Fit how many times more ``subject`` loses between two neighbouring tables of made-up records than declared.

    The subject asks a private table, and must be settled by what is released to it: no randomness of its own.
    ``random_state`` seeds the secret bits; the noise is the real one, from the operating system, unless ``noise`` is
    another (a planted fault). *Violated* when the multiplier is not 1, in either direction: a low one says that
    the noise has another law than declared, and a cleverer score may win. Whether the declared law is what the cost
    asks for is the business of ``audit_replay``.

    >>> from sordino.domain import Real
    >>> ask = lambda table: table.count(epsilon=1)
    >>> audit_losses(ask, [{"x": 0.5}], [], Domain({"x": Real(0, 1)}), runs=100).verdict
    'not violated at this power'
    """
    _check(d1_records, d0_records, domain, runs)
    bits = np.random.default_rng(random_state).integers(2, size=runs).astype(bool)  # public tables, secret bits
    tables = (d0_records, d1_records)
    losses, observed = np.zeros(runs), []
    for number, bit in enumerate(bits.tolist()):
        run = _observe(subject, tables[bit], tables[not bit], domain, noise)
        losses[number] = run.loss if bit else -run.loss
        observed.append(run)
        if progress:
            progress((number + 1) / runs)
    if not any(run.releases for run in observed):
        said = f" It said: {observed[0].error}" if observed[0].error else ""
        return _not_tested(name, runs, f"The subject released nothing.{said}")
    complaints = [f"{complaint} ({count} of {runs} runs)" for complaint, count in _complaints(observed).items()]
    if not complaints and not np.any(losses):
        return _not_tested(name, runs, "The declared law tells the two tables apart in no run: every loss is zero.")
    return _report(name, Calibration(losses, bits), complaints, max(run.releases for run in observed))


@dataclass(frozen=True)
class _Observed:
    """One run: the loss in favour of the table it ran on, how many releases, and what cannot be right."""

    loss: float
    releases: int
    complaint: str = ""
    error: str = ""


def _observe(
    subject: Callable[[PrivateTable], Any],
    records: Sequence[Record],
    others: Sequence[Record],
    domain: Domain,
    noise: Noise | None,
) -> _Observed:
    """Run with real noise on one table, then on the other with the same values."""
    real = ObservedSession(records, domain, noise)
    error = _ask(subject, real)
    values = [release.handed_out for release in real.releases]
    again = RehearsalSession(others, domain, lambda number, exact_values, laws: values[number])
    other_error = _ask(subject, again)
    mine, theirs = real.releases, again.releases
    if len(mine) != len(theirs) or any(a.price != b.price for a, b in zip(mine, theirs, strict=True)):
        return _Observed(_CERTAIN, len(mine), "after the same values, the neighbour is asked something else")
    if error != other_error:
        return _Observed(_CERTAIN, len(mine), "after the same values, an error differs on the neighbour")
    loss = sum(map(log_ratio, mine, theirs))
    paid = sum(real.charged, Cost())
    if paid.is_pure and not paid.infinite and abs(loss) > float(paid.epsilon) * (1 + 1e-6):
        return _Observed(loss, len(mine), f"a loss is above the {paid} that was paid")
    return _Observed(max(-_CERTAIN, min(_CERTAIN, loss)), len(mine), error=error)


def _ask(subject: Callable[[PrivateTable], Any], session: ObservedSession | RehearsalSession) -> str:
    try:
        subject(PrivateTable(session))
    except Exception as error:  # what was released before counts
        return f"{type(error).__name__}: {error}"
    return ""


def log_ratio(mine: Rehearsed, theirs: Rehearsed) -> float:
    """Log-likelihood ratio of one release: of the total it came from against the other, under the declared law.

    A minimiser with more weights than densities are computed for counts as nothing lost.
    """
    if isinstance(mine.price, MinimumPrice):
        return (mine.log_density or 0.0) - (theirs.log_density or 0.0)
    if isinstance(mine.price, ChoicePrice):
        index, scale, pure = mine.handed_out[0], mine.price.scale, mine.price.cost.is_pure
        return log_choice(mine.exact_values, index, scale, pure) - log_choice(theirs.exact_values, index, scale, pure)
    by_law: defaultdict[Law, int] = defaultdict(int)
    totals = zip(mine.price.laws, mine.handed_out, mine.exact_values, theirs.exact_values, strict=True)
    for law, value, total, other in totals:
        by_law[law] += _excess(law, value, total, other)
    return sum(_in_nats(law, excess) for law, excess in by_law.items())


def _excess(law: Law, value: int, total: int, other: int) -> int:
    """How much farther the value is from the other total, in the exponent's own integers."""
    if isinstance(law, DiscreteLaplace):
        return abs(value - other) - abs(value - total)
    if isinstance(law, DiscreteGaussian):
        return (value - other) ** 2 - (value - total) ** 2
    return abs(value - other)


def _in_nats(law: Law, excess: int) -> float:
    if isinstance(law, DiscreteLaplace):
        return float(excess / Fraction(law.scale))
    if isinstance(law, DiscreteGaussian):
        return float(excess / (2 * Fraction(law.scale) ** 2))
    return _CERTAIN if excess else 0.0


def log_choice(scores: Sequence[int], index: int, scale: float, pure: bool) -> float:
    """Log-probability of an index under a noisy maximum: exponential noise (pure) or Gumbel noise (rho).

    Gumbel: the softmax. Exponential, with w_j = exp((s_j - max s) / scale): w_i times the integral over (0, 1) of the
    product of 1 - u w_j over the others. The integrand falls at least as fast as exp(-u Σ w_j), so it is integrated
    as far as that is above e^-40.

    >>> round(math.exp(log_choice((3, 3), 0, 1.0, True)), 6)
    0.5
    """
    if scale == 0:
        return 0.0 if index == int(np.argmax(scores)) else -_CERTAIN
    highest, unit = max(scores), Fraction(scale)
    by_score = {score: float(Fraction(score - highest) / unit) for score in set(scores)}
    heights = np.array([by_score[score] for score in scores])
    if not pure:
        return float(heights[index] - np.log(np.sum(np.exp(heights))))
    others, times = np.unique(np.exp(np.delete(heights, index)), return_counts=True)
    reach = min(1.0, 40 / max(1e-300, float(others @ times)))
    products = np.exp(np.log1p(-np.outer((_NODES + 1) / 2 * reach, others)) @ times)
    return float(heights[index] + math.log(reach / 2 * float(products @ _WEIGHTS)))


def _complaints(observed: Sequence[_Observed]) -> Counter[str]:
    return Counter(run.complaint for run in observed if run.complaint)


def _report(name: str, fit: Calibration, complaints: list[str], releases: int) -> AuditReport:
    """Violated on a complaint, which is exact, or on an alarm."""
    runs, visible = len(fit.losses), fit.smallest_visible
    evidence: dict[str, Any] = {
        "multiplier": fit.multiplier,
        "interval": list(fit.interval()),
        "z": fit.root,
        "score_z": fit.score,
        "alarm_beyond": ALARM,
        "standard_error": 1 / math.sqrt(fit.information) if fit.information else None,
        "runs": runs,
        "releases": releases,
        "largest_loss": float(np.max(np.abs(fit.losses))),
        "smallest_visible": visible,
        "samples": {
            label: fit.losses[side][:_PICTURE].tolist() for label, side in (("d1", fit.bits), ("d0", ~fit.bits))
        },
    }
    found = f"{fit.multiplier:.3g} times (95 % interval {evidence['interval'][0]:.3g} to {evidence['interval'][1]:.3g})"
    if complaints:
        sentence = f"The declared law is broken on this pair: {complaints[0]}."
        return AuditReport("losses", name, "violated", sentence, tuple(complaints), evidence)
    if abs(fit.root) > ALARM:
        meaning = "more is lost than declared" if fit.root > 0 else "the noise does not have the declared law"
        sentence = (
            f"Over {runs} runs {found} the declared loss was seen, {abs(fit.root):.1f} deviates from 1: {meaning}."
        )
        return AuditReport("losses", name, "violated", sentence, (), evidence)
    seen = "no multiplier up to 10" if visible is None else f"a multiplier of {visible:.3g} or more"
    sentence = (
        f"Over {runs} runs {found} the declared loss was seen, within {ALARM:g} deviates of 1. "
        f"At this power {seen} would have been seen with probability .9."
    )
    return AuditReport("losses", name, "not violated at this power", sentence, (), evidence)


def _not_tested(name: str, runs: int, reason: str) -> AuditReport:
    return AuditReport("losses", name, "not tested", reason, (), {"runs": runs})


def _check(first: Sequence[Record], second: Sequence[Record], domain: Domain, runs: int) -> None:
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise ParameterError(f"audit_losses: runs must be a whole number of at least 1. Got {runs!r}.")
    for records in (first, second):
        if not isinstance(records, list | tuple) or not all(isinstance(record, Mapping) for record in records):
            raise ParameterError(
                "audit_losses: d1_records and d0_records must be lists of made-up records, each a dict from column to "
                f"value. Got {type(records).__name__}. An audit looks behind the noise: nothing about real people."
            )
    counts = [
        Counter(repr([record.get(name) for name in domain.columns]) for record in each) for each in (first, second)
    ]
    apart = sorted(((counts[0] - counts[1]).total(), (counts[1] - counts[0]).total()))
    more, asked = ("more", [0, 1]) if domain.neighbours == "add-remove" else ("changed", [1, 1])
    if apart != asked:
        raise ParameterError(
            f"audit_losses: the tables must be neighbours under {domain.neighbours!r}: one record {more}. "
            f"Got {apart[1]} and {apart[0]} records that the other table does not have."
        )
