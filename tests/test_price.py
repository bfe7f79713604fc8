"""A price follows from public numbers: exact scales rounded up, grids that fit 64 bits, budgets that add up."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from registry import ALL_RECORDS, FINISHED, RELATIONS, STATISTICS, domain_of, reals
from sordino.cost import Cost
from sordino.domain import Neighbours
from sordino.errors import NoiseError, ParameterError
from sordino.privacy.noise import _noisy_maximum
from sordino.privacy.price import LARGEST_SCALE, Question, price, price_choice, split
from sordino.release import DiscreteGaussian, DiscreteLaplace, NoNoise
from sordino.statistics.count import Count
from sordino.statistics.moments import SecondMoment
from sordino.statistics.ranks import RankScores
from sordino.statistics.statistic import Sensitivity, Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Ball, Box

#: Where the largest float below infinity, exact fractions and ordinary budgets meet.
AMOUNTS = ("0.001", "0.1", "1", "1/3", "7", "1000", "1e9")


def every_question() -> list[tuple[str, Statistic, Neighbours]]:
    listed = [(name, STATISTICS[name](3, relation)[0], relation) for name in STATISTICS for relation in RELATIONS]
    return [*listed, *((name, FINISHED[name](3, 8)[0], "substitute") for name in FINISHED)]


# ---- scales ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "statistic", "neighbours"), every_question())
def test_laplace_scales_are_the_exact_fraction_rounded_up(
    name: str, statistic: Statistic, neighbours: Neighbours
) -> None:
    for amount in AMOUNTS:
        priced = price(Question(statistic, Cost.pure(amount)), neighbours)
        declared = priced.statistic.sensitivity(neighbours)
        assert priced.laws == (DiscreteLaplace(priced.laws[0].scale),) * priced.statistic.size
        spent = Fraction(declared.l1) / Fraction(priced.laws[0].scale)
        assert spent <= Fraction(amount), name
        assert spent >= Fraction(amount) * (1 - Fraction(1, 2**50))


@pytest.mark.parametrize(("name", "statistic", "neighbours"), every_question())
def test_gaussian_scales_spend_at_most_the_rho_over_all_coordinates(
    name: str, statistic: Statistic, neighbours: Neighbours
) -> None:
    """sum of weight x change^2 / (2 scale^2): with weights, every coordinate's scale carries its own."""
    for amount in AMOUNTS:
        priced = price(Question(statistic, Cost.concentrated(amount)), neighbours)
        declared = priced.statistic.sensitivity(neighbours)
        assert {type(law) for law in priced.laws} == {DiscreteGaussian}
        assert len(priced.laws) == priced.statistic.size
        weights = priced.statistic.weights or (1,) * priced.statistic.size
        for law, weight in zip(priced.laws, weights, strict=True):
            spent = Fraction(declared.l2_squared, weight) / (2 * Fraction(law.scale) ** 2)
            assert spent <= Fraction(amount), name
            assert spent >= Fraction(amount) * (1 - Fraction(1, 2**48))


def test_twin_a_scale_rounded_to_the_nearest_float_spends_too_much() -> None:
    overspent = [Fraction(1) / Fraction(float(1 / Fraction(n))) > n for n in range(1, 200)]
    assert any(overspent)


def test_an_infinite_budget_has_no_noise() -> None:
    priced = price(Question(Count(), Cost.of(math.inf)), "add-remove")
    assert priced.laws == (NoNoise(),)
    assert price_choice(RankScores("x0", (0.0, 1.0)), Cost.of(math.inf), "add-remove").scale == 0


def test_what_is_public_is_not_sold() -> None:
    statistic, _ = ALL_RECORDS(1, "substitute")
    with pytest.raises(ParameterError, match="it is public"):
        price(Question(statistic, Cost.pure(1)), "substitute")
    with pytest.raises(ParameterError, match="it is public"):
        price(Question(FINISHED["direct covariance"](2, 1)[0], Cost.pure(1)), "substitute")


# ---- 64 bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Cost.pure, Cost.concentrated])
def test_a_scale_beyond_64_bits_takes_the_finest_grid_that_fits(make: object) -> None:
    statistic = SecondMoment(Ball(reals(3)))
    for exponent in range(0, 24):
        cost = make(Fraction(1, 10**exponent))  # type: ignore[operator]
        try:
            priced = price(Question(statistic, cost), "add-remove")
        except NoiseError:
            assert exponent > 10
            continue
        scale = max(law.scale for law in priced.laws)
        assert scale <= LARGEST_SCALE
        if priced.statistic != statistic:
            assert scale > LARGEST_SCALE / 5  # one grid finer would have been four times as wide
        assert priced.statistic.sensitivity("add-remove") == priced.sensitivity


@pytest.mark.parametrize(("name", "statistic", "neighbours"), every_question())
def test_no_price_carries_a_scale_whose_draws_would_saturate(
    name: str, statistic: Statistic, neighbours: Neighbours
) -> None:
    for amount, make in itertools.product(("1e-3", "1e-9", "1e-12", "1e-18", "1e-300"), (Cost.pure, Cost.concentrated)):
        with suppress(NoiseError):  # refused on every grid
            priced = price(Question(statistic, make(amount)), neighbours)
            assert max(law.scale for law in priced.laws) <= LARGEST_SCALE, name


def test_a_count_that_needs_more_than_64_bits_is_refused() -> None:
    price(Question(Count(), Cost.pure(Fraction(1, LARGEST_SCALE - 1000))), "add-remove")
    for cost in (Cost.pure(Fraction(1, LARGEST_SCALE + 1000)), Cost.pure("1e-300"), Cost.concentrated("1e-60")):
        with pytest.raises(NoiseError, match="Spend more"):
            price(Question(Count(), cost), "add-remove")


@pytest.mark.parametrize("amount", ["1e-310", "1e-1000"])
def test_a_scale_beyond_floats_is_refused_alike(amount: str) -> None:
    scores = RankScores("x0", (0.0, 1.0))
    for cost in (Cost.pure(amount), Cost.concentrated(amount)):
        with pytest.raises(NoiseError, match="64 bits"):
            price(Question(Sum(Box(("x0",))), cost), "add-remove")
        with pytest.raises(NoiseError, match="64 bits"):
            price_choice(scores, cost, "add-remove")


# ---- choices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 3)])
def test_opendp_agrees_what_a_choice_costs(quantile: Fraction, neighbours: Neighbours) -> None:
    """Its map for the noisy maximum of scores that move by at most D in either direction; half the noise is a twin."""
    scores = RankScores("x0", (0.0, 60.0, 120.0), quantile)
    for amount, make in itertools.product(("0.01", "0.1", "1", "1/3", "8"), (Cost.pure, Cost.concentrated)):
        cost = make(amount)
        priced = price_choice(scores, cost, neighbours)
        spent = _noisy_maximum(priced.scale, cost.is_pure).map(priced.sensitivity)  # type: ignore[attr-defined]
        assert spent == pytest.approx(float(Fraction(amount)), rel=1e-12)
        assert spent <= float(Fraction(amount)) * (1 + 1e-14)
        assert _noisy_maximum(priced.scale / 2, cost.is_pure).map(priced.sensitivity) > float(Fraction(amount))  # type: ignore[attr-defined]


def test_a_choice_falls_short_by_more_than_stated_no_more_often_than_stated() -> None:
    """The worst case for its union bound: all other candidates tie, just beyond the stated shortfall. Exact."""
    scores = RankScores("x0", tuple(map(float, range(64))))
    for cost, level in itertools.product((Cost.pure(1), Cost.concentrated("0.1")), (0.5, 0.9, 0.99)):
        priced = price_choice(scores, cost, "add-remove")
        gap = priced.shortfall(level) / priced.scale
        others = scores.size - 1
        if cost.is_pure:  # exponential noise: Pr(best wins) = integral of e^-t (1 - e^-(t+gap))^others
            grid = (np.arange(200_000) + 0.5) / 200_000
            best = float(np.mean((1 - grid * math.exp(-gap)) ** others))
        else:
            best = 1 / (1 + others * math.exp(-gap))
        assert best >= level
        nearer = gap / 4  # the twin
        assert np.mean((1 - 0.5 * math.exp(-nearer)) ** others) < level


# ---- splitting -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wish:
    """What ``split`` knows of a statistic."""

    l1: int
    l2_squared: int
    size: int
    unit: int = 1

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        return Sensitivity(self.l1, self.l2_squared)


def summed_variance(shares: list[Cost], statistics: list[Statistic], neighbours: Neighbours) -> float:
    total = 0.0
    for share, statistic in zip(shares, statistics, strict=True):
        declared = statistic.sensitivity(neighbours)
        if share.is_pure:
            total += statistic.size * 2 * (declared.l1 / statistic.unit / float(share.epsilon)) ** 2
        else:
            total += statistic.size * declared.l2_squared / statistic.unit**2 / (2 * float(share.rho))
    return total


@pytest.mark.parametrize("cost", [Cost.pure("0.7"), Cost.concentrated("0.02")])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_split_adds_up_exactly_and_no_other_has_less_variance(cost: Cost, neighbours: Neighbours) -> None:
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 12):
        statistics: list[Statistic] = [Count(reals(d)), Sum(Box(reals(d))), SecondMoment(Box(reals(d)))]
        shares = split(cost, statistics, neighbours)
        assert sum(shares, Cost()) == cost
        best = summed_variance(shares, statistics, neighbours)
        weights = [float(share.epsilon or share.rho) for share in shares]
        for _ in range(50):
            moved = np.array(weights) * np.exp(rng.normal(0, 0.2, 3))
            parts = [Fraction(float(part)) for part in moved / moved.sum()]
            others = [Cost(epsilon=cost.epsilon * part, rho=cost.rho * part) for part in parts]
            assert summed_variance(others, statistics, neighbours) >= best * (1 - 1e-6)


def test_an_even_split_is_a_twin_that_has_more_variance() -> None:
    statistics: list[Statistic] = [Count(reals(5)), Sum(Box(reals(5))), SecondMoment(Box(reals(5)))]
    best = summed_variance(split(Cost.pure(1), statistics, "add-remove"), statistics, "add-remove")
    assert summed_variance([Cost.pure("1/3")] * 3, statistics, "add-remove") > 1.2 * best


def test_a_split_never_leaves_a_statistic_without_a_share() -> None:
    for d in (500, 2048):
        statistics: list[Statistic] = [Count(reals(d)), Sum(Box(reals(d))), SecondMoment(Box(reals(d)))]
        for cost in (Cost.pure(1), Cost.concentrated(1)):
            shares = split(cost, statistics, "add-remove")
            assert sum(shares, Cost()) == cost
            assert all((share.epsilon or share.rho) > 0 for share in shares)


# ---- receipts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "statistic", "neighbours"), every_question())
def test_a_charge_says_mechanism_sensitivity_and_scale(name: str, statistic: Statistic, neighbours: Neighbours) -> None:
    for cost, law in ((Cost.pure(1), "Laplace"), (Cost.concentrated(1), "Gaussian")):
        priced = price(Question(statistic, cost), neighbours)
        charge = priced.charge(7)
        document = charge.to_dict()
        assert law in charge.mechanism
        assert charge.entry == document["ledger_entry"] == 7
        assert document["noise_scale"] == pytest.approx(max(l.scale for l in priced.laws) / priced.statistic.unit)  # noqa: E741
        assert ("L1" if cost.is_pure else "L2") in charge.sensitivity
        assert "\n" not in statistic.description


def test_a_price_is_public() -> None:
    """It is made from the domain, the question and the cost: nothing else is handed in."""
    domain = domain_of(2)
    assert price(Question(Count(), Cost.pure(1)), domain.neighbours) == price(
        Question(Count(), Cost.pure(1)), "add-remove"
    )
