"""Costs are exact, and conversions between (epsilon, delta) and rho err on the side of privacy, never by much."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import opendp.combinators as opendp_combinators
import opendp.domains as opendp_domains
import opendp.measurements as opendp_measurements
import opendp.metrics as opendp_metrics
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp.mod import enable_features
from scipy import optimize, stats

from sordino.cost import (
    Cost,
    delta_of,
    epsilon_of,
    exact,
    order_of,
    positive,
    probability,
    rho_within,
    up_to_float,
)
from sordino.errors import ParameterError
from sordino.privacy.price import Question, price
from sordino.statistics.count import Count

EPSILONS = ("0.001", "0.01", "0.1", "0.5", "1", "3", "10", "100")
DELTAS = ("1e-30", "1e-12", "1e-9", "1e-6", "1e-3", "0.01")
PAIRS = [(Fraction(epsilon), Fraction(delta)) for epsilon in EPSILONS for delta in DELTAS]


# ---- exact amounts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_amount", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(3), Fraction(3)),
        (np.array(0.3), Fraction(3, 10)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.07"), Fraction(7, 100)),
        (1e-6, Fraction(1, 10**6)),
        (1e300, Fraction(10**300)),
        (5, Fraction(5)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_an_amount_is_what_a_person_meant(given_amount: object, meant: Fraction) -> None:
    assert exact("epsilon", given_amount) == meant  # type: ignore[arg-type]
    assert positive("epsilon", given_amount) == meant  # type: ignore[arg-type]


def test_ten_tenths_are_one_and_binary_floats_would_not_be() -> None:
    assert sum((Cost.pure(0.1) for _ in range(10)), Cost()).epsilon == 1
    assert sum(Fraction(0.1) for _ in range(10)) != 1  # the twin


@pytest.mark.parametrize(
    "amount",
    [
        0, -1, -0.1, math.nan, -math.inf, True, False, np.bool_(True), None, "much", "nan", "inf", "", [1], 1j,
        np.float64("nan"), Decimal("nan"), Decimal("inf"), np.array([1.0, 2.0]), "1/0", b"1",
    ],
)  # fmt: skip
def test_an_amount_that_cannot_be_spent_is_refused(amount: object) -> None:
    for make in (Cost.pure, Cost.concentrated, Cost.of):
        with pytest.raises(ParameterError, match=r"^(epsilon|rho): [^\n]+$"):
            make(amount)  # type: ignore[operator]


@pytest.mark.parametrize("delta", [1, 1.5, -1e-9, math.nan, math.inf, True, None, "small", "1e-400"])
def test_an_impossible_delta_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError, match=r"^delta: [^\n]+$"):
        Cost.of(1, delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", ["1e400", "1e-400", 10**301])
def test_an_amount_beyond_floats_is_refused_and_does_not_overflow(epsilon: object) -> None:
    for delta in (0, 1e-6):
        with pytest.raises(ParameterError, match="epsilon"):
            Cost.of(epsilon, delta)  # type: ignore[arg-type]


def test_infinite_epsilon_is_marked_and_its_rho_is_refused() -> None:
    cost = Cost.of(math.inf)
    assert cost.infinite
    assert Cost.of(math.inf, 1e-6).infinite
    assert "no privacy" in str(cost)
    with pytest.raises(ParameterError):
        Cost.concentrated(math.inf)


def test_probability_takes_zero_and_refuses_one() -> None:
    assert probability("delta", 0) == 0
    assert probability("delta", np.float64(1e-5)) == Fraction(1, 10**5)


def test_costs_add_and_split_exactly() -> None:
    pure, gaussian = Cost.pure("0.3"), Cost.concentrated("0.02")
    assert pure + gaussian == Cost(Fraction(3, 10), Fraction(1, 50))
    assert sum((pure.share(Fraction(1, 3)) for _ in range(3)), Cost()) == pure
    assert sum((gaussian.share(Fraction(1, 7)) for _ in range(7)), Cost()) == gaussian
    assert pure.is_pure
    assert not gaussian.is_pure
    assert (pure.as_rho, gaussian.as_rho) == (Fraction(9, 200), Fraction(1, 50))
    for part in (Fraction(0), Fraction(-1), Fraction(3, 2)):
        with pytest.raises(ParameterError):
            pure.share(part)


def test_a_rho_of_one_order_is_worth_nothing_at_another() -> None:
    claim = Cost.of(1, 1e-6)
    own = order_of(float(claim.rho), 1.0)
    assert own is not None
    assert Cost(rho=claim.rho, order=own).within(claim)
    assert not Cost(rho=claim.rho, order=Fraction(2)).within(claim)  # delta at order 2: a tenth
    assert not Cost(rho=claim.rho, order=own).within(Cost.concentrated(claim.rho))
    part, rest = Cost.pure("0.4"), Cost.of("0.6", 1e-6)
    moved = order_of(float(rest.rho), 0.6)
    assert (part + rest).within(claim)
    assert (part + Cost(rho=rest.rho, order=moved)).within(claim)
    assert not (part + Cost(rho=rest.rho, order=own)).within(claim)
    assert Cost(rho=claim.rho, order=own).share(Fraction(1, 2)).order == own
    assert (Cost(rho=claim.rho, order=own) + Cost.concentrated(1)).order == own
    with pytest.raises(ParameterError, match="one order"):
        Cost(rho=claim.rho, order=own) + Cost(rho=claim.rho, order=Fraction(2))


def test_a_cost_prints_and_becomes_json() -> None:
    for cost in (Cost.pure(0.1), Cost.of(1, 1e-6), Cost.of(math.inf), Cost(), Cost.pure("1/3") + Cost.concentrated(1)):
        assert "\n" not in str(cost)
        document = json.loads(json.dumps(cost.to_dict(), allow_nan=False))
        assert Fraction(document["exact"]["epsilon"]) == cost.epsilon
        assert Fraction(document["exact"]["rho"]) == cost.rho
    assert Cost.of(1, 1e-6).to_dict()["stated"] == {"epsilon": 1.0, "delta": 1e-6}


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_a_scale_is_the_smallest_float_that_is_not_below_its_fraction(value: Fraction) -> None:
    up = up_to_float(value)
    assert Fraction(up) >= value
    assert Fraction(math.nextafter(up, 0)) < value


def test_a_scale_beyond_floats_is_infinite() -> None:
    assert up_to_float(Fraction(10**400)) == math.inf


# ---- rho, against the definition, OpenDP and dp-accounting -----------------------------------------------------


def log_delta_bound(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke (2020), Corollary 13, by a generic optimiser over log(order - 1)."""

    def at(shift: float) -> float:
        a = 1 + math.exp(shift)
        return (a - 1) * (a * rho - epsilon) - shift + a * math.log1p(-1 / a)

    coarse = min(np.linspace(-12, 45, 400), key=at)
    found = optimize.minimize_scalar(
        at, bounds=(coarse - 0.2, coarse + 0.2), method="bounded", options={"xatol": 1e-12}
    )
    return float(min(found.fun, at(coarse)))


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_rho_is_the_largest_that_the_bound_allows(epsilon: Fraction, delta: Fraction) -> None:
    rho = float(rho_within(epsilon, delta))
    goal = math.log(delta)
    assert log_delta_bound(rho, float(epsilon)) <= goal
    assert log_delta_bound(rho * (1 + 1e-6), float(epsilon)) > goal  # the twin: a millionth more is too much


def opendp_profile(rho: float) -> object:
    """The (epsilon, delta) curve of OpenDP for the Gaussian that costs rho."""
    enable_features("contrib")
    scale = 1 / math.sqrt(2 * rho)
    domain = opendp_domains.atom_domain(T="i64")
    gaussian = opendp_measurements.make_gaussian(domain, opendp_metrics.absolute_distance(T="f64"), scale=scale)
    return opendp_combinators.make_zCDP_to_approxDP(gaussian).map(1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [pair for pair in PAIRS if pair[1] >= Fraction(1, 10**12)])
def test_opendp_allows_our_rho_and_hardly_more(epsilon: Fraction, delta: Fraction) -> None:
    rho = float(rho_within(epsilon, delta))
    assert opendp_profile(rho).epsilon(float(delta)) <= float(epsilon) * (1 + 1e-12)  # type: ignore[attr-defined]
    more = rho * (1 + 2e-6)
    assert opendp_profile(more).epsilon(float(delta)) > float(epsilon)  # type: ignore[attr-defined]


def accounted_epsilon(rho: float, delta: float) -> float:
    """dp-accounting on rho-zCDP as a curve of Renyi orders, on a grid around the best order."""
    best = 1 + math.sqrt(math.log(1 / delta) / rho)
    orders = np.unique(np.concatenate([1.0101 + np.logspace(-4, 6, 200), 1 + (best - 1) * np.linspace(0.2, 1.5, 2000)]))
    orders = orders[orders > 1.01]
    return float(rdp_privacy_accountant.compute_epsilon(orders, rho * orders, delta)[0])


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(e, d) for e, d in PAIRS if Fraction(1, 20) < e <= 10 and Fraction(1, 10**12) <= d <= Fraction(1, 10**6)],
)
def test_dp_accounting_allows_our_rho_and_hardly_more(epsilon: Fraction, delta: Fraction) -> None:
    """Its grid of orders finds the optimum to a few parts in a million, never below it."""
    rho = float(rho_within(epsilon, delta))
    assert accounted_epsilon(rho, float(delta)) <= float(epsilon) * (1 + 3e-6)
    assert accounted_epsilon(rho * (1 + 1e-5), float(delta)) > float(epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_conversions_round_towards_privacy_there_and_back(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_within(epsilon, delta)
    back = epsilon_of(rho, delta)
    assert back <= float(epsilon) * (1 + 1e-12)
    assert back >= float(epsilon) * (1 - 1e-6)
    assert log_delta_bound(float(rho), back) <= math.log(delta)
    assert delta_of(float(rho), float(epsilon)) <= float(delta)
    assert delta_of(float(rho), float(epsilon)) >= float(delta) * (1 - 1e-6) ** 2
    assert rho_within(exact("epsilon", back), delta) >= rho * Fraction(10**10 - 1, 10**10)


@pytest.mark.parametrize(
    ("rho", "delta"), [(r, d) for r in (1e-9, 1e-4, 0.01, 0.5, 3.0, 50.0) for d in (1e-12, 1e-6, 0.01)]
)
def test_epsilon_is_the_smallest_that_the_bound_allows(rho: float, delta: float) -> None:
    epsilon = epsilon_of(rho, delta)
    assert log_delta_bound(rho, epsilon) <= math.log(delta)
    if epsilon > 1e-6:
        assert log_delta_bound(rho, epsilon * (1 - 1e-6)) > math.log(delta)


def gaussian_profile(rho: float, e: float) -> float:
    """Balle and Wang (2018): delta = Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m) for shift m = sqrt(2 rho) in scales."""
    m = math.sqrt(2 * rho)
    return float(stats.norm.cdf(m / 2 - e / m) - math.exp(e + stats.norm.logcdf(-m / 2 - e / m)))


amounts = st.fractions(min_value=Fraction(1, 1000), max_value=50)
chances = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 10))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(amounts, amounts, chances, chances)
def test_more_epsilon_or_delta_buys_more_rho(e1: Fraction, e2: Fraction, d1: Fraction, d2: Fraction) -> None:
    small, large = sorted((e1, e2))
    rare, common = sorted((d1, d2))
    assert rho_within(small, rare) <= rho_within(large, rare) <= rho_within(large, common)
    assert epsilon_of(small, common) <= epsilon_of(large, common) <= epsilon_of(large, rare)
    assert gaussian_profile(float(rho_within(small, rare)), float(small)) <= float(rare)  # an oracle of its own


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_exact_profile_of_the_gaussian_that_costs_rho_is_within_delta(epsilon: Fraction, delta: Fraction) -> None:
    rho = float(rho_within(epsilon, delta))
    assert gaussian_profile(rho, float(epsilon)) <= float(delta)
    assert gaussian_profile(4 * rho, float(epsilon)) > float(delta)  # the twin: half the scale


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_the_discrete_gaussian_that_is_bought_is_private_by_its_exact_loss(epsilon: float, delta: float) -> None:
    """dp-accounting's privacy loss distribution of the discrete law, rounded pessimistically.

    The continuous profile is no safe bound on a coarse grid (science, part C3); rho is. Half the scale is a twin.
    """
    scale = price(Question(Count(), Cost.of(epsilon, delta)), "add-remove").laws[0].scale

    def delta_at(sigma: float) -> float:
        loss = privacy_loss_distribution.from_discrete_gaussian_mechanism(
            sigma, value_discretization_interval=1e-4 * epsilon
        )
        return float(loss.get_delta_for_epsilon(epsilon))

    assert delta_at(scale) <= delta
    assert delta_at(scale / 2) > delta
