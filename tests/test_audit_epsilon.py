"""The certified bound: exact where it can be summed, seeded where it is simulated, secure where it is ours.

Seeded tests give the same result each time. ``test_our_own_claims_are_never_refuted`` draws secure noise: it gives a
false alarm with probability at most 4 × 0.1 %. Each kind of violation has its clean twin, and the auditor has twins
of its own: bounds that must fail the law that the real one keeps.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import sordino as so
from sordino.audit import lower_bound
from sordino.audit.guesses import Guesses, given_away, odds_share, runs_needed
from sordino.audit.lower_bound import audit_epsilon, looks
from sordino.audit.outcomes import Outcomes, read_outcome
from sordino.audit.rule import best_rule
from sordino.errors import ParameterError


def laplace(scale):
    return lambda table, rng: table + rng.laplace(scale=scale)


def audit(run, **options):
    return audit_epsilon(run, 1, 0, **{"epsilon": 1.0, "random_state": 0} | options)


# --- the bound, summed exactly -----------------------------------------------------------------------------------


def chance_above_truth(runs: int, epsilon: float, delta: float, level: float, judged_delta: float | None = None):
    """Of the worst (ε, δ) mechanism: it betrays a bit with probability δ, and else is a coin of odds e^ε."""
    right = np.arange(runs + 1)
    chances = binom.pmf(right, runs, delta + (1 - delta) * odds_share(epsilon))
    judged = delta if judged_delta is None else judged_delta
    above = [Guesses(int(r), runs, runs, judged, level).lower > epsilon for r in right]
    return float(chances @ np.array(above))


@pytest.mark.parametrize("runs", [20, 200, 2000])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0), (1, 0), (4, 0), (1, 1e-3), (1, 0.01), (0.1, 0.05)])
def test_the_bound_exceeds_the_truth_no_more_often_than_its_level(runs, epsilon, delta):
    for level in (0.05, 0.001):
        assert chance_above_truth(runs, epsilon, delta, level) <= level


def test_the_bound_wastes_little_of_its_level():
    assert chance_above_truth(2000, 1, 0, 0.05) > 0.04


def test_twin_a_bound_that_forgets_delta_is_caught():
    assert chance_above_truth(2000, 1, 0.05, 0.05, judged_delta=0.0) > 0.2


def test_betrayed_bits_that_choose_when_to_guess_are_covered():
    """A mechanism that answers only when δ strikes, or when its coin of odds e^ε allows one guess in ten."""
    runs, epsilon, delta, level = 1000, 1.0, 0.01, 0.05
    answers, right = 0.1 * (1 - delta) + delta, 0.1 * (1 - delta) * odds_share(epsilon) + delta
    chance = 0.0
    for guesses in range(int(binom.ppf(1e-7, runs, answers)), int(binom.isf(1e-7, runs, answers)) + 1):
        counts = np.arange(guesses + 1)
        above = np.array([Guesses(int(r), guesses, runs, delta, level).lower > epsilon for r in counts])
        chance += binom.pmf(guesses, runs, answers) * binom.pmf(counts, guesses, right / answers) @ above
    assert chance <= level


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize(("right", "guesses"), [(100, 100), (730, 1000), (55, 100), (9, 10)])
def test_the_bound_inverts_the_p_value(right, guesses, delta):
    found = Guesses(right, guesses, 2000, delta, 0.05)
    if found.lower == 0:
        assert found.p_value(0.0) >= 0.05
    else:
        assert found.p_value(found.lower) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_the_smallest_visible_violation_is_seen_nine_times_in_ten(delta):
    guesses, runs, claim, level = 700, 1000, 1.0, 0.04
    visible = Guesses(500, guesses, runs, delta, level).smallest_visible(claim)
    counts = np.arange(guesses + 1)
    seen = np.array([Guesses(int(r), guesses, runs, delta, level).lower > claim for r in counts])
    assert binom.pmf(counts, guesses, odds_share(visible)) @ seen == pytest.approx(0.9, abs=1e-6)


def test_given_away_bits_cover_all_but_a_twentieth_of_the_level():
    count, tail = given_away(20_000, 1e-4, 0.05)
    assert tail == pytest.approx(binom.sf(count, 20_000, 1e-4))
    assert tail <= 0.05 / 20 < binom.sf(count - 1, 20_000, 1e-4)


# --- how good it is ----------------------------------------------------------------------------------------------


def test_the_bound_reaches_nine_tenths_of_epsilon_with_twenty_thousand_runs():
    lowers = [audit(laplace(1), random_state=seed).lower for seed in range(9)]
    assert np.mean(lowers) >= 0.93
    assert np.median(lowers) >= 0.9


def test_at_most_eight_of_sixty_bounds_are_above_the_truth():
    assert sum(audit(laplace(1), runs=2000, random_state=seed).lower > 1 for seed in range(60)) <= 8


def test_twin_an_auditor_that_counts_the_runs_that_chose_its_rule_is_caught(monkeypatch):
    """Pure noise in twenty coordinates: the truth is 0."""

    def greedy(record, claim, level):
        everything = Outcomes.of(record.outcomes, 20)
        rule = best_rule(everything, record.bits, 0.0)
        scores = rule.score.values(everything)
        right, guesses = rule.count(scores, record.bits)
        return lower_bound._Look(Guesses(right, guesses, len(record.bits), 0.0, level), rule, scores, record.bits)

    def noise(table, rng):
        return rng.normal(size=20)

    honest = sum(audit(noise, runs=600, random_state=seed).lower > 0 for seed in range(60))
    monkeypatch.setattr(lower_bound, "_look", greedy)
    assert honest <= 8 < sum(audit(noise, runs=600, random_state=seed).lower > 0 for seed in range(60))


@pytest.mark.parametrize(
    ("epsilon", "factor", "delta", "table"),
    [(0.1, 1.25, 0, 59_000), (0.1, 2, 0, 3_900), (1, 1.1, 0, 6_900), (1, 1.5, 0, 350), (1, 2, 0, 107),
     (4, 1.1, 0, 8_100), (4, 2, 0, 330), (1, 2, 1e-5, 11_300), (1, 1.5, 1e-5, 133_000), (4, 2, 1e-5, 10_900)],
)  # fmt: skip
def test_runs_needed_agrees_with_the_measured_table(epsilon, factor, delta, table):
    """Of the table in the design notes: counted runs, one and a half times as many in all."""
    assert runs_needed(epsilon, factor, delta) / 1.5 == pytest.approx(table, rel=0.16)


def test_that_many_runs_see_the_violation():
    """Half of the noise, learned thresholds: nine times in ten when the rule is known, somewhat less when it is not."""
    runs = runs_needed(1.0, 2.0, level=0.05)
    seen = sum(audit(laplace(0.5), runs=2 * runs, random_state=seed).violated for seed in range(60))
    assert seen >= 48


# --- what it finds, and the clean twin of each -------------------------------------------------------------------


def atom(share):
    return lambda table, rng: 17.0 if table and rng.random() < share else rng.normal()


def not_a_number(share):
    return lambda table, rng: math.nan if table and rng.random() < share else rng.normal()


def fails(share):
    def run(table, rng):
        if table and rng.random() < share:
            raise ZeroDivisionError("no rows")
        return rng.normal()

    return run


def shared_perturbation(scale):
    def run(table, rng):
        noise = rng.laplace(scale=10)
        return [table + noise, noise + rng.laplace(scale=scale)]

    return run


def whole_noise(fraction):
    return lambda table, rng: fraction * table + rng.integers(-100, 100)


def spread(scale):
    return lambda table, rng: rng.laplace(scale=1 + scale * table)


def label(share):
    return lambda table, rng: {
        "sex": "f" if rng.random() < 0.5 else "m",
        "town": "Ys" if table and rng.random() < share else "Is",
    }


def longer(share):
    return lambda table, rng: [1, 2, 3] if table and rng.random() < share else (1, 2)


CASES = {
    "Laplace noise halved": (laplace(0.5), laplace(1.0)),
    "Gaussian noise where Laplace is declared": (lambda t, rng: t + rng.normal(scale=math.sqrt(2)), laplace(1.0)),
    "an atom": (atom(0.03), atom(0.0)),
    "not a number": (not_a_number(0.03), not_a_number(0.0)),
    "an exception": (fails(0.03), fails(0.0)),
    "one perturbation for two numbers": (shared_perturbation(0.0), shared_perturbation(1.0)),
    "whole noise on a real number": (whole_noise(0.37), whole_noise(0.0)),
    "a spread that tells": (spread(1.0), spread(0.0)),
    "a word that only one table has": (label(0.03), label(0.0)),
    "an outcome of another shape": (longer(0.03), longer(0.0)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_violation_is_certified_and_its_clean_twin_is_not(case):
    bad, clean = CASES[case]
    found = audit(bad, level=0.001)
    assert found.verdict == "violated"
    assert found.lower > 1
    assert found.p_value <= 0.001
    assert audit(clean, level=0.001, runs=4000).verdict == "not violated at this power"


def gaussian(scale):
    return lambda table, rng: table + rng.normal(scale=scale)


def test_half_of_the_gaussian_noise_is_seen_or_its_power_is_reported():
    enough = 3.73  # the smallest scale that keeps (1, 1e-5)
    clean = audit(gaussian(enough), delta=1e-5)
    assert clean.verdict == "not violated at this power"
    assert clean.smallest_visible > 1
    assert audit(gaussian(enough / 2), delta=1e-5, runs=100_000).violated
    blind = audit(gaussian(enough / 1.1), delta=1e-5)
    assert blind.verdict == "not violated at this power"
    assert blind.smallest_visible > 1.1


def test_a_score_of_ones_own_is_used_as_it_is():
    def product(table, rng):
        first, second = rng.normal(), abs(rng.normal())
        return [first, math.copysign(second, first if table else -first)]  # only the sign of the product tells

    found = audit(product, score=lambda outcome: outcome[0] * outcome[1], runs=2000)
    assert found.violated
    assert found.score == "the given score"
    assert audit(product, runs=2000).lower < found.lower


TABLE = np.array([[0.0], [1.0], [1.0]])
DOMAIN = so.Domain({"x": so.Real(0, 1)})
OURS = {
    "count": (lambda table: table.count(epsilon=1.0).value, 0.0),
    "mean": (lambda table: table.mean("x", epsilon=1.0).value, 0.0),
    "median": (lambda table: table.median("x", epsilon=1.0, candidates=16).value, 0.0),
    "histogram": (lambda table: table.histogram("x", bins=3, epsilon=1.0, delta=1e-5).value, 1e-5),
}


@pytest.mark.parametrize("query", OURS)
def test_our_own_claims_are_never_refuted(query):
    """Secure noise; a false alarm has probability at most 0.1 % each."""
    ask, delta = OURS[query]

    def run(rows, rng):
        return ask(so.open_table(rows, DOMAIN, columns=["x"]))

    report = audit_epsilon(run, TABLE, TABLE[:-1], epsilon=1.0, delta=delta, runs=4000, level=0.001, random_state=0)
    assert report.verdict == "not violated at this power"


def test_twin_a_query_that_claims_half_of_what_it_spends_is_caught():
    def run(rows, rng):
        return so.open_table(rows, DOMAIN, columns=["x"]).count(epsilon=2.0).value

    assert audit_epsilon(run, TABLE, TABLE[:-1], epsilon=1.0, runs=3000, level=0.001, random_state=0).violated


# --- looks, and what a rule may see ------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", [1, 100, 767, 768, 2000, 20_000, 1_000_000])
def test_the_looks_share_the_level_and_count_no_run_twice(runs):
    schedule = looks(runs, 0.05)
    ends = [end for end, _ in schedule]
    assert ends[-1] == runs
    assert sum(level for _, level in schedule) == pytest.approx(0.05)
    counted = [(end // lower_bound.GROWTH, end) for end in ends]
    assert all(before <= start for (_, before), (start, _) in itertools.pairwise(counted))


def test_a_certain_violation_stops_early_unless_told_otherwise():
    early, late = audit(laplace(0.5)), audit(laplace(0.5), stop_early=False)
    assert early.runs < 2000 < late.runs == 20_000
    assert 1 < early.lower < late.lower < 2


def test_a_rule_depends_on_the_older_runs_alone():
    """Turning the newest runs upside down changes the count, and neither the score nor the thresholds."""

    def turns(after):
        calls = []

        def run(table, rng):
            calls.append(1)
            return (table if len(calls) <= after else 1 - table) + rng.laplace()

        return run

    straight, turned = (audit(turns(after), runs=600, epsilon=0.5, stop_early=False) for after in (600, 200))
    assert straight.thresholds == turned.thresholds
    assert straight.right > straight.guesses / 2 > turned.right


def test_a_run_never_sees_the_bits():
    """The generator handed to a run gives the same numbers whatever the tables are."""
    seen = {0: [], 1: []}
    for order in (0, 1):
        tables = (0, 1) if order else (1, 0)
        audit_epsilon(
            lambda t, rng, k=order: seen[k].append(rng.random()), *tables, epsilon=1.0, runs=50, random_state=3
        )
    assert seen[0] == seen[1]


def test_the_same_seed_gives_the_same_report_and_progress_rises_to_one():
    shares: list[float] = []
    first = audit(laplace(1), runs=1000, progress=shares.append)
    assert first.to_dict() == audit(laplace(1), runs=1000).to_dict()
    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert shares[-1] == 1.0


# --- not tested, and refused -------------------------------------------------------------------------------------


def test_too_few_runs_to_refute_anything_are_not_started():
    def never(table, rng):
        pytest.fail("ran")

    report = audit(never, runs=10)
    assert report.verdict == "not tested"
    assert report.runs_needed == runs_needed(1.0, 2.0)
    assert audit(never, epsilon=10.0).verdict == "not tested"


def test_runs_that_all_fail_are_not_a_test():
    report = audit(lambda table, rng: table / 0)
    assert report.verdict == "not tested"
    assert "ZeroDivisionError" in report.sentence
    assert report.runs < 1000


def test_an_outcome_that_says_nothing_is_not_a_violation():
    for value in (None, [], "always", np.zeros((2, 0))):
        assert audit(lambda table, rng, value=value: value, runs=2000).verdict == "not violated at this power"


@pytest.mark.parametrize(
    "table",
    [
        "patients.parquet",
        Path("patients.parquet"),
        pa.table({"x": [1.0]}),
        so.open_table(TABLE, DOMAIN, columns=["x"]),
        [Path("a")],
    ],
    ids=lambda table: type(table).__name__,
)
def test_what_may_hold_real_people_is_refused(table):
    with pytest.raises(ParameterError, match="made-up table"):
        audit_epsilon(lambda t, rng: 0.0, table, [], epsilon=1.0)
    with pytest.raises(ParameterError, match="made-up table"):
        audit_epsilon(lambda t, rng: 0.0, [], table, epsilon=1.0)
    assert audit_epsilon(lambda t, rng: 0.0, table, [], epsilon=1.0, runs=300, unsafe_real_data=True).runs == 300


@pytest.mark.parametrize("table", [3, None, 1.5, [{"sex": "f", "age": 3.0}], {"a": np.zeros(3)}, (1, 2), [[]]])
def test_plain_values_are_taken_as_made_up(table):
    assert audit_epsilon(lambda t, rng: 0.0, table, [], epsilon=1.0, runs=100).runs == 100


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"epsilon": math.inf}, {"delta": 1}, {"level": 0}, {"runs": 0}, {"runs": 2.5}]
)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        audit(laplace(1), **wrong)


# --- outcomes of any kind ----------------------------------------------------------------------------------------


def test_outcomes_are_read_by_themselves():
    class Model:
        def __init__(self):
            self.weights, self.name, self.rule = np.array([1.0, math.inf]), "m", lambda: 0

    read = read_outcome({"a": (1, True, None), "b": Model(), "c": {2.5}, "d": 1j, "e": 10**400, "f": np.array(["x"])})
    assert read.numbers.tolist() == [1, 1, 1, math.inf, 2.5, 0, 1, math.inf]
    assert read.words == ("m", "x")
    assert (
        read.kind
        == read_outcome({"a": (3, False, None), "b": Model(), "c": {0}, "d": 0j, "e": -1, "f": np.array(["y"])}).kind
    )
    assert (
        read.kind
        != read_outcome({"a": (3, False, 1), "b": Model(), "c": {0}, "d": 0j, "e": 1, "f": np.array(["y"])}).kind
    )
    assert read_outcome(ValueError("at 0x7f00")).words == ("ValueError: at ",)
    assert read_outcome(np.arange(6).reshape(2, 3)).kind == "array(2, 3)"


def test_an_array_that_is_used_again_is_read_before_it_changes():
    buffer = np.zeros(2)

    def run(table, rng):
        buffer[:] = table + rng.laplace(scale=0.2)
        return buffer

    assert audit(run, runs=2000).violated
