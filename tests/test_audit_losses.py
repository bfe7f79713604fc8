"""Loss calibration: every query keeps to its declared law, and planted faults of the noise are seen.

The noise is the real one, so clean tests can fail by chance: 17 calibrations, each with probability at most 6.8e-4
(``docs/proofs/audit-bounds.md``), 1.2 % together; by the normal tail, which is what is seen, 0.1 %. Each twin is one
that must be seen with 300 runs; what needs 5000 is in ``benchmarks/audit.py``.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, chi2

import sordino as so
from sordino.audit.calibration import ALARM, Calibration
from sordino.audit.losses import audit_losses, log_choice, log_ratio
from sordino.audit.neighbours import ordinary_records
from sordino.cost import Cost
from sordino.domain import Category, Domain, Real
from sordino.errors import ParameterError
from sordino.privacy.noise import SecureNoise
from sordino.privacy.price import Price, Question
from sordino.privacy.rehearsal import ObservedSession, Rehearsed
from sordino.queries.private_table import QUERIES, PrivateTable
from sordino.release import DiscreteGaussian, DiscreteLaplace
from sordino.statistics.count import Count
from sordino.statistics.statistic import Sensitivity

COLUMNS = {"x": Real(0, 10), "y": Real(-1, 3), "c": Category(["a", "b", "z"])}

#: Every query, and how many records its tables share: few where the choice would otherwise be certain.
ASKS = {
    "count": (lambda table, **cost: table.count(**cost), 9),
    "sum": (lambda table, **cost: table.sum(["x", "y"], **cost), 9),
    "mean": (lambda table, **cost: table.mean(["x", "y"], **cost), 9),
    "median": (lambda table, **cost: table.median("x", candidates=32, **cost), 2),
    "quantile": (lambda table, **cost: table.quantile("x", 0.9, candidates=32, **cost), 9),
    "variance": (lambda table, **cost: table.variance("x", **cost), 9),
    "covariance": (lambda table, **cost: table.covariance(["x", "y"], **cost), 9),
    "histogram": (lambda table, **cost: table.histogram("c", **cost), 9),
    "histograms": (lambda table, **cost: table.histograms(["c", "x"], bins=3, **cost), 9),
}

PURE, RHO = {"epsilon": 1}, {"epsilon": 4, "delta": 1e-6}


def calibrate(query, neighbours="add-remove", cost=PURE, runs=300, noise=None):
    ask, shared = ASKS[query]
    domain = Domain(COLUMNS, neighbours=neighbours)
    common = ordinary_records(domain, shared)
    other = [] if neighbours == "add-remove" else [{"x": 0.0, "y": -1.0, "c": "z"}]
    first = [*common, {"x": 10.0, "y": 3.0, "c": "a"}]
    return audit_losses(
        lambda table: ask(table, **cost), first, [*common, *other], domain, runs=runs, random_state=0, noise=noise
    )


# --- every query -------------------------------------------------------------------------------------------------


def test_every_query_is_here():
    assert set(ASKS) == set(QUERIES)


@pytest.mark.parametrize(
    ("query", "neighbours", "cost"),
    [(query, "add-remove", PURE) for query in ASKS]
    + [(query, "substitute", RHO) for query in ASKS if query != "count"],  # under substitute a count is public
)
def test_a_query_loses_what_it_declares(query, neighbours, cost):
    report = calibrate(query, neighbours, cost)
    assert report.verdict == "not violated at this power"
    assert abs(report.z) < ALARM
    assert report.largest_loss > 0
    assert report.smallest_visible < 4


@dataclass(frozen=True)
class Faulty(SecureNoise):
    """Noise with a planted fault: laws are changed before the draw, and draws afterwards."""

    law: object = None
    drawn: object = None

    def draw(self, laws):
        drawn = super().draw([self.law(law) for law in laws] if self.law else laws)
        return self.drawn(drawn) if self.drawn else drawn


def thinner(factor):
    return lambda law: replace(law, scale=law.scale / factor)


HALVED = Faulty(law=thinner(2))
VARIANCE = Faulty(law=lambda law: replace(law, scale=math.sqrt(law.scale)))
GAUSSIAN = Faulty(law=lambda law: DiscreteGaussian(law.scale / 2))
SHARED = Faulty(drawn=lambda drawn: drawn[:1] * len(drawn))
NONE_IN_FIRST = Faulty(drawn=lambda drawn: [0, *drawn[1:]])


@pytest.mark.parametrize(
    ("fault", "query", "neighbours", "cost"),
    [
        ("variance passed as scale", "mean", "add-remove", PURE),
        ("variance passed as scale", "covariance", "substitute", RHO),
        ("noise halved", "mean", "add-remove", RHO),
        ("noise halved", "histograms", "add-remove", RHO),
        ("noise halved", "count", "add-remove", PURE),
        ("no noise in one cell", "histogram", "add-remove", PURE),
    ],
)
def test_twin_too_little_noise_is_seen_as_more_loss(fault, query, neighbours, cost):
    """Each is missed with probability below 1 %: they lie five standard errors and more beyond the alarm."""
    noise = {"variance passed as scale": VARIANCE, "noise halved": HALVED, "no noise in one cell": NONE_IN_FIRST}
    runs = 1000 if (query, cost) == ("count", PURE) else 300
    report = calibrate(query, neighbours, cost, runs=runs, noise=noise[fault])
    assert report.verdict == "violated"
    assert report.multiplier > 1.5
    assert report.z > ALARM


def test_twin_gaussian_noise_where_laplace_is_declared_is_seen():
    report = calibrate("sum", runs=1000, noise=GAUSSIAN)
    assert report.violated


def test_twin_one_draw_for_all_coordinates_is_seen_as_a_law_that_is_not_the_declared_one():
    """A low multiplier: the declared losses promise more than the outcomes keep."""
    report = calibrate("sum", runs=2000, noise=SHARED)
    assert report.violated
    assert report.z < -ALARM
    assert report.multiplier < 0.7
    assert "does not have the declared law" in report.sentence


# --- rounds that depend on each other ----------------------------------------------------------------------------

DOMAIN = Domain(COLUMNS)
BASE = ordinary_records(DOMAIN, 4)
EXTRA = {"x": 10.0, "y": 3.0, "c": "a"}


def three_rounds(table):
    """What is asked second and third depends on what was released before."""
    size = table.count(epsilon=1).value
    first = table.sum("x", epsilon=0.5).value if size > 4 else table.median("y", epsilon=0.5, candidates=8).value
    return table.histogram("c", epsilon=1 if first > 0 else 0.5)


def test_adaptive_rounds_lose_what_they_declare():
    report = audit_losses(three_rounds, [*BASE, EXTRA], BASE, DOMAIN, runs=300, random_state=0)
    assert report.verdict == "not violated at this power"
    assert report.releases == 3


class Reused(SecureNoise):
    """Every draw is handed out twice."""

    def __init__(self):
        self.waiting = []

    def draw(self, laws):
        if self.waiting:
            return self.waiting.pop()
        self.waiting.append(super().draw(laws))
        return list(self.waiting[0])


def test_twin_noise_that_is_used_again_is_seen():
    def twice(table):
        return table.count(epsilon=1), table.count(epsilon=1)

    def audit(runs, noise=None):
        return audit_losses(twice, [*BASE, EXTRA], BASE, DOMAIN, runs=runs, random_state=0, noise=noise)

    assert audit(300).verdict == "not violated at this power"
    assert audit(1000, Reused()).violated


def test_twin_another_question_on_the_neighbour_is_a_violation():
    def peeks(table):
        (exact_rows,) = table.session._pass([Count()])[0]
        return table.count(epsilon=1 if exact_rows > 4 else 2)

    report = audit_losses(peeks, [*BASE, EXTRA], BASE, DOMAIN, runs=20, random_state=0)
    assert report.violated
    assert "something else" in report.complaints[0]


@dataclass(frozen=True)
class Understated(Count):
    """Three times a count, with the sensitivity of a count."""

    def finish(self, total):
        return tuple(3 * value for value in total)

    def sensitivity(self, neighbours):
        return Sensitivity(1, 1)


def test_twin_a_total_that_moves_more_than_declared_is_a_violation_at_once():
    def ask(table):
        return table.session.answer([Question(Understated(), Cost.pure(1))])

    report = audit_losses(ask, [*BASE, EXTRA], BASE, DOMAIN, runs=100, random_state=0)
    assert report.violated
    assert "a loss is above the epsilon=1 that was paid" in report.complaints[0]
    assert report.largest_loss > 2


# --- the ratio, against definitions ------------------------------------------------------------------------------


def test_the_ratio_of_a_total_is_that_of_the_masses():
    laws = (DiscreteLaplace(3.5), DiscreteLaplace(3.5), DiscreteGaussian(2.25))
    price = Price(Count(), Cost.pure(1), Sensitivity(1, 1), laws)
    mine, theirs = Rehearsed(price, (5, -2, 7), (9, 1, 3)), Rehearsed(price, (6, -2, 4), (9, 1, 3))
    exact = Fraction(2, 7) * (3 + 3 - 4 - 3) + Fraction(8, 81) * ((3 - 4) ** 2 - (3 - 7) ** 2)
    assert log_ratio(mine, theirs) == pytest.approx(float(exact), rel=1e-12)
    assert log_ratio(theirs, mine) == -log_ratio(mine, theirs)


SCORES = [(0, 0), (3, 1, 0), (5, 5, 5, 2), tuple(range(-20, 1)), (0, *[-7] * 100), (0,) * 100]


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("pure", [True, False])
def test_choices_have_probabilities_that_sum_to_one(scores, pure):
    for scale in (0.3, 2.0, 50.0):
        total = sum(math.exp(log_choice(scores, index, scale, pure)) for index in range(len(scores)))
        assert total == pytest.approx(1, abs=1e-9)


def test_a_choice_with_exponential_noise_has_the_probability_of_a_plain_quadrature():
    scores, scale = (4, 3, 3, -2), 1.7
    for index, score in enumerate(scores):
        others = [score - other for place, other in enumerate(scores) if place != index]

        def density(noise, others=others):
            return math.exp(-noise) * math.prod(max(0.0, 1 - math.exp(-(noise + gap / scale))) for gap in others)

        kinks = sorted({max(0.0, -gap / scale) for gap in others})
        ends = [*kinks, 60.0] if kinks[0] == 0 else [0.0, *kinks, 60.0]
        plain = sum(quad(density, low, high)[0] for low, high in itertools.pairwise(ends))
        assert math.exp(log_choice(scores, index, scale, True)) == pytest.approx(plain, abs=1e-8)


@pytest.mark.parametrize("pure", [True, False])
def test_the_real_noise_chooses_with_those_probabilities(pure):
    """Chi-square on 20,000 secure choices; a false alarm has probability 1e-6."""
    scores, draws = (4, 3, 3, -2), 20_000
    expected = np.array([draws * math.exp(log_choice(scores, index, 2.0, pure)) for index in range(4)])
    noise = SecureNoise()
    counted = Counter(noise.choose(scores, 2.0, pure) for _ in range(draws))
    statistic = sum((counted[index] - expected[index]) ** 2 / expected[index] for index in range(4))
    assert statistic < chi2.isf(1e-6, 3)


def test_twin_gumbel_noise_in_place_of_exponential_noise_would_be_seen():
    shares = [[math.exp(log_choice((4, 3, 3, -2), index, 2.0, pure)) for index in range(4)] for pure in (True, False)]
    statistic = sum(20_000 * (a - b) ** 2 / a for a, b in zip(*shares, strict=True))
    assert statistic > 2 * chi2.isf(1e-6, 3)


# --- the test statistic, summed exactly --------------------------------------------------------------------------


def alarms(loss: float, runs: int, statistic: str, multiplier: float = 1.0) -> float:
    """The probability of an alarm when every loss has the same size: only the number of contradictions counts."""
    chance = 0.0
    for wrong in range(runs + 1):
        bits = np.arange(runs) >= wrong
        weight = binom.pmf(wrong, runs, 1 / (1 + math.exp(multiplier * loss)))
        if weight > 1e-12 and abs(getattr(Calibration(np.full(runs, loss), bits), statistic)) > ALARM:
            chance += weight
    return chance


@pytest.mark.parametrize("runs", [10, 100, 300])
@pytest.mark.parametrize("loss", [0.02, 0.3, 1.0, 3.0, 6.0, 8.0])
def test_a_false_alarm_has_at_most_the_proved_probability(loss, runs):
    assert alarms(loss, runs, "root") <= 2 * math.exp(-(ALARM**2) / 2)


def test_twin_the_score_test_alone_would_raise_more_false_alarms():
    assert alarms(8.0, 1000, "score") > 2 * math.exp(-(ALARM**2) / 2)


def test_a_multiplier_of_two_raises_an_alarm():
    assert alarms(1.0, 300, "root", multiplier=2.0) > 0.9


def test_the_multiplier_and_its_interval_are_those_of_a_coin():
    """With equal losses L, c L is the log-odds of the right bits."""
    fit = Calibration(np.full(1000, 0.5), np.arange(1000) < 700)
    assert fit.multiplier == pytest.approx(2 * math.log(7 / 3), abs=1e-9)
    low, high = fit.interval()
    assert low < fit.multiplier < high
    assert high - low == pytest.approx(2 * 1.96 * 2 / math.sqrt(1000 * 0.21), rel=0.01)
    assert Calibration(np.full(50, 1.0), np.ones(50, dtype=bool)).multiplier == pytest.approx(100)


# --- what cannot be tested, and what is refused ------------------------------------------------------------------


def test_nothing_released_and_nothing_lost_are_not_tested():
    silent = audit_losses(lambda table: None, [*BASE, EXTRA], BASE, DOMAIN, runs=20)
    assert silent.verdict == "not tested"
    public = audit_losses(lambda table: table.count(epsilon=-1), [*BASE, EXTRA], BASE, DOMAIN, runs=20)
    assert public.verdict == "not tested"
    assert "epsilon" in public.sentence
    absent = {"x": None, "y": 0.0, "c": "a"}
    blind = audit_losses(lambda table: table.sum("x", epsilon=1), [*BASE, absent], BASE, DOMAIN, runs=20)
    assert blind.verdict == "not tested"
    assert "zero" in blind.sentence


def test_only_made_up_neighbours_are_taken():
    ask = lambda table: table.count(epsilon=1)  # noqa: E731
    for wrong in ("people.csv", so.open_table(np.zeros((2, 1)), Domain({"x": Real(0, 1)}), columns=["x"]), [1.0]):
        with pytest.raises(ParameterError, match="made-up records"):
            audit_losses(ask, wrong, BASE, DOMAIN)
    with pytest.raises(ParameterError, match="neighbours under 'add-remove'"):
        audit_losses(ask, [*BASE, EXTRA, EXTRA], BASE, DOMAIN)
    with pytest.raises(ParameterError, match="neighbours under 'substitute'"):
        audit_losses(ask, [*BASE, EXTRA], BASE, replace(DOMAIN, neighbours="substitute"))
    with pytest.raises(ParameterError, match="runs"):
        audit_losses(ask, [*BASE, EXTRA], BASE, DOMAIN, runs=0)


def test_an_observed_session_is_never_private_and_has_no_ledger():
    session = ObservedSession(BASE, DOMAIN)
    release = PrivateTable(session).count(epsilon=1, random_state=3)
    assert not release.receipt.private
    assert release.receipt.ledger is None
    assert release.receipt.secure_noise
    (kept,) = session.releases
    assert kept.exact_values == (4,)
    assert kept.handed_out == (release.value,)
    index = PrivateTable(session).median("x", epsilon=1, candidates=8).value
    assert session.releases[1].price.scores.candidates[session.releases[1].handed_out[0]] == index
