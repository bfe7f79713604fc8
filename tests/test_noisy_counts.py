"""Estimators of counts from noisy counts: against formulas, quadrature and brute force, and on real histograms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.optimize import nnls
from scipy.stats import laplace, norm

from sordino import SordinoError
from sordino.datasets.adult import COLUMNS, load_adult
from sordino.domain import Category
from sordino.release import DiscreteGaussian, DiscreteLaplace, Law, NoNoise
from sordino.repair.clamping import clamp
from sordino.repair.consistency import agreed_total, consistent
from sordino.repair.empirical_bayes import empirical_bayes
from sordino.repair.james_stein import james_stein
from sordino.repair.npmle import TOLERANCE, most_likely_weights, npmle
from sordino.repair.simplex import on_simplex
from sordino.repair.smoothing import smoothed
from sordino.repair.spike_exponential import gaussian_tail, laplace_tail, spike_exponential

Estimator = Callable[[Any, Law], np.ndarray]

#: Every estimator of one vector, one line each: a suite runs over all that is registered here.
ESTIMATORS: dict[str, Estimator] = {
    "clamp": clamp,
    "james_stein": james_stein,
    "james_stein, published": lambda counts, law: james_stein(counts, law, form="published"),
    "empirical_bayes": empirical_bayes,
    "empirical_bayes, published": lambda counts, law: empirical_bayes(counts, law, form="published"),
    "spike_exponential": spike_exponential,
    "npmle": npmle,
    "smoothed": smoothed,
}
LAPLACE, GAUSSIAN = DiscreteLaplace(40.0), DiscreteGaussian(40.0)
LAWS: tuple[Law, ...] = (LAPLACE, GAUSSIAN, DiscreteLaplace(0.3), NoNoise())

finite_counts = arrays(np.float64, st.integers(1, 12), elements=st.integers(-500, 5000).map(float))


def noise(law: Law, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    if isinstance(law, DiscreteGaussian):
        return np.rint(generator.normal(0, law.scale, shape))
    both = np.floor(generator.standard_exponential((2, *shape)) * law.scale)
    return both[0] - both[1]


# --- laws of every estimator


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name} {law.scale:g}")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_repetitions_do_not_influence_each_other(name: str, law: Law) -> None:
    generator = np.random.default_rng(1)
    counts = np.rint(generator.exponential(60, (2, 3, 9))) + noise(LAPLACE, (2, 3, 9), generator)
    together = ESTIMATORS[name](counts, law)
    assert together.shape == counts.shape
    for place in np.ndindex(2, 3):
        np.testing.assert_allclose(together[place], ESTIMATORS[name](counts[place], law), atol=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_without_noise_counts_are_left_alone(name: str) -> None:
    counts = np.array([0.0, 3.0, 700.0])
    np.testing.assert_array_equal(ESTIMATORS[name](counts, NoNoise()), counts + (name == "smoothed"))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name} {law.scale:g}")
@given(counts=finite_counts)
def test_every_answer_is_finite(name: str, law: Law, counts: np.ndarray) -> None:
    answer = ESTIMATORS[name](counts, law)
    assert np.isfinite(answer).all()
    if name in ("clamp", "spike_exponential", "npmle", "smoothed"):
        assert (answer >= 0).all()


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("counts", [np.zeros(5), np.full(5, -7.0), np.array([1e9, -1e9, 0.0])])
def test_odd_vectors_are_answered(name: str, counts: np.ndarray) -> None:
    for law in LAWS:
        assert np.isfinite(ESTIMATORS[name](counts, law)).all()


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("counts", [3.0, [], [math.nan], [[1.0], [math.inf]]])
def test_what_is_no_vector_of_counts_is_refused(name: str, counts: Any) -> None:
    with pytest.raises(SordinoError, match="finite counts along the last axis"):
        ESTIMATORS[name](counts, LAPLACE)


def test_a_form_that_does_not_exist_is_refused() -> None:
    for estimator in (james_stein, empirical_bayes):
        with pytest.raises(SordinoError, match=r"'published'\. Got 'other'"):
            estimator([1.0], LAPLACE, form="other")  # type: ignore[operator]
    with pytest.raises(SordinoError, match="strength"):
        smoothed([1.0], LAPLACE, strength=-1)


# --- James and Stein


def test_james_stein_is_its_formula() -> None:
    counts = np.array([300.0, -200.0, 100.0, 50.0])
    square = float(counts @ counts)
    np.testing.assert_allclose(james_stein(counts, LAPLACE), counts * (1 - 2 * LAPLACE.variance / square))
    published = james_stein(counts, LAPLACE, form="published")
    np.testing.assert_allclose(published, counts * (1 - 2 * 40**2 / square), rtol=1e-3)  # discrete: 40² is 1600.04
    np.testing.assert_array_equal(james_stein([10.0, 5.0, -7.0, 1.0], LAPLACE), np.zeros(4))
    np.testing.assert_array_equal(james_stein([10.0, -5.0], LAPLACE), [10.0, -5.0])


def test_james_stein_beats_the_noisy_vector_and_twin_a_wrong_noise_is_worse() -> None:
    """Mean gain over 4000 vectors at more than 6 standard errors: a false alarm in 10⁹."""
    generator = np.random.default_rng(2)
    truth = generator.normal(0, 80, 20)
    noisy = truth + noise(GAUSSIAN, (4000, 20), generator)

    def gain(estimate: np.ndarray) -> float:
        each = ((noisy - truth) ** 2).sum(axis=1) - ((estimate - truth) ** 2).sum(axis=1)
        return float(each.mean() / (each.std() / math.sqrt(len(each))))

    assert gain(james_stein(noisy, GAUSSIAN)) > 6
    assert gain(james_stein(noisy, DiscreteGaussian(400.0))) < -6


# --- empirical Bayes


@pytest.mark.parametrize("width", [45.0, 120.0, 4000.0])
def test_signed_empirical_bayes_is_the_posterior_mean_by_quadrature(width: float) -> None:
    noisy = np.array([-310.0, -4.0, 0.0, 7.0, 95.0, 640.0])
    law = DiscreteLaplace(40.0)
    scale = math.sqrt(law.variance / 2)
    filler = np.full(94, (100 * width - np.abs(noisy).sum()) / 94)  # so that the mean size is the width
    found = empirical_bayes(np.append(noisy, filler), law)[: len(noisy)]

    def integral(x: float, power: int) -> float:
        def density(t: float) -> float:
            return t**power * math.exp(-(abs(x - t) - abs(x)) / scale - abs(t) / width)

        ends = (-3000.0, 3000.0)
        return float(quad(density, *ends, points=sorted({0.0, x}), limit=400)[0])

    np.testing.assert_allclose(found, [integral(x, 1) / integral(x, 0) for x in noisy], rtol=1e-6, atol=1e-6)


def test_signed_empirical_bayes_is_odd_and_never_beyond_the_noisy_count() -> None:
    counts = np.linspace(-500, 500, 101)
    answer = empirical_bayes(counts, LAPLACE)
    np.testing.assert_allclose(answer, -answer[::-1])
    assert (np.abs(answer) <= np.abs(counts)).all()


def test_the_published_form_is_its_formula_and_forgets_the_sign() -> None:
    counts = np.array([300.0, -20.0, 80.0])
    shift = 2 * 3 * (LAPLACE.variance / 2) / 400
    np.testing.assert_allclose(empirical_bayes(counts, LAPLACE, form="published"), counts - shift)
    assert empirical_bayes(counts, LAPLACE, form="published")[1] < -20 < empirical_bayes(counts, LAPLACE)[1]


# --- spike and exponential


def marginal(law: Law, x: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Density of each noisy count under the exponential tail, and mean of the count given it, by the trapezoid rule.

    The rule begins at zero and has a node at every noisy count, where the integrand has its kinks.
    """
    kernel = norm if isinstance(law, DiscreteGaussian) else laplace
    nodes = np.union1d(np.linspace(0, max(x.max(), 0) + 40 * law.scale, 20_001), np.maximum(x, 0))
    prior = rate * np.exp(-rate * nodes)
    joint = prior * kernel.pdf(x[:, np.newaxis] - nodes, scale=law.scale)
    density = np.trapezoid(joint, nodes, axis=1)
    return density, np.trapezoid(joint * nodes, nodes, axis=1) / density


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
def test_spike_exponential_is_a_posterior_mean_of_the_likeliest_prior(law: Law) -> None:
    """Of the priors on a fine grid the likeliest gives the same means, up to the steps of both grids."""
    generator = np.random.default_rng(3)
    truth = np.where(generator.random(30) < 0.4, 0, np.rint(generator.exponential(300, 30)))
    noisy = truth + noise(law, (30,), generator)
    found = spike_exponential(noisy, law)
    kernel = norm if isinstance(law, DiscreteGaussian) else laplace
    weights = np.linspace(0.01, 0.99, 99)[:, np.newaxis]
    best, means = -math.inf, found
    for rate in np.geomspace(1 / 2000, 1 / 20, 40):
        tail, tail_means = marginal(law, noisy, float(rate))
        empty = weights * kernel.pdf(noisy, scale=law.scale)
        densities = empty + (1 - weights) * tail
        likelihoods = np.log(densities).sum(axis=1)
        if likelihoods.max() > best:
            best, place = likelihoods.max(), likelihoods.argmax()
            means = tail_means * (1 - empty[place] / densities[place])
    np.testing.assert_allclose(found, means, rtol=0.01, atol=0.05 * law.scale)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(spike_exponential(noisy, type(law)(80.0)), means, rtol=0.01, atol=0.05 * law.scale)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
@pytest.mark.parametrize("rate", [0.002, 0.6, 1.008, 2.5])
def test_closed_forms_of_the_tail_agree_with_the_trapezoid_rule(law: Law, rate: float) -> None:
    tail = gaussian_tail if isinstance(law, DiscreteGaussian) else laplace_tail
    x = np.array([-5.0, -0.5, 0.0, 1e-3, 0.7, 6.0, 20.0])
    log_density, mean = tail(x, rate)
    density, expected = marginal(type(law)(1.0), x, rate)
    np.testing.assert_allclose(np.exp(log_density), density, rtol=1e-4)
    np.testing.assert_allclose(mean, expected, rtol=1e-4)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
@pytest.mark.parametrize("estimator", [spike_exponential, npmle])
def test_posterior_means_rise_with_the_noisy_count(estimator: Estimator, law: Law) -> None:
    generator = np.random.default_rng(4)
    noisy = np.sort(np.rint(generator.exponential(100, 60)) + noise(law, (60,), generator))
    assert (np.diff(estimator(noisy, law)) >= -1e-9).all()


# --- the nonparametric prior


def mean_log_likelihood(law: Law, noisy: np.ndarray, atoms: np.ndarray) -> float:
    kernel = norm if isinstance(law, DiscreteGaussian) else laplace
    likelihood = kernel.pdf(noisy[:, np.newaxis] - atoms, scale=law.scale)
    return float(np.log(likelihood @ most_likely_weights(likelihood)).mean())


def test_weights_are_optimal_by_brute_force_and_twin_one_atom_is_not() -> None:
    generator = np.random.default_rng(5)
    likelihood = generator.exponential(size=(30, 3))
    steps = np.linspace(0, 1, 201)
    corners = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1])
    best = np.log(np.maximum(likelihood @ corners.T, 1e-300)).mean(axis=0).max()
    found = np.log(likelihood @ most_likely_weights(likelihood)).mean()
    assert found >= best - TOLERANCE
    assert found <= best + 1e-3
    assert np.log(likelihood[:, 0]).mean() < best - 1e-2


def test_weights_are_found_where_the_solver_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held to one step, the solver gives up every time: what EM finds is nearly as likely, far above where it began."""
    likelihood = np.random.default_rng(5).exponential(size=(30, 3))
    best = np.log(likelihood @ most_likely_weights(likelihood)).mean()
    monkeypatch.setattr("sordino.repair.npmle.nnls", partial(nnls, maxiter=1))
    with pytest.raises(RuntimeError):
        nnls(likelihood, np.ones(30), maxiter=1)
    found = most_likely_weights(likelihood)
    np.testing.assert_allclose(found.sum(), 1)
    assert np.log(likelihood @ found).mean() > best - 1e-4
    assert np.log(likelihood.mean(axis=1)).mean() < best - 1e-2


def test_no_other_atom_helps_laplace_noise_and_twin_fewer_atoms_hurt() -> None:
    """The support is {0} and the positive noisy counts: adding a fine grid cannot raise the likelihood."""
    generator = np.random.default_rng(6)
    noisy = np.rint(generator.exponential(200, 40)) + noise(LAPLACE, (40,), generator)
    own = np.unique(np.append(np.maximum(noisy, 0), 0))
    finest = np.union1d(own, np.linspace(0, noisy.max() + 100, 600))
    likelihood = mean_log_likelihood(LAPLACE, noisy, own)
    assert mean_log_likelihood(LAPLACE, noisy, finest) <= likelihood + 2 * TOLERANCE
    assert mean_log_likelihood(LAPLACE, noisy, own[::8]) < likelihood - 1e-3


def test_the_grid_for_gaussian_noise_is_fine_enough() -> None:
    generator = np.random.default_rng(7)
    noisy = np.rint(generator.exponential(200, 40)) + noise(GAUSSIAN, (40,), generator)
    finest = np.arange(0, noisy.max() + 100, 2.0)
    likelihood = norm.pdf(noisy[:, np.newaxis] - finest, scale=40.0)
    weighted = likelihood * most_likely_weights(likelihood)
    means = weighted @ finest / weighted.sum(axis=1)
    np.testing.assert_allclose(npmle(noisy, GAUSSIAN), means, atol=0.1 * 40)


# --- the simplex and consistent histograms


@given(counts=finite_counts, total=st.integers(0, 3000))
def test_the_projection_is_the_nearest_point(counts: np.ndarray, total: int) -> None:
    """It lies in the set, and no vertex of the set is in a direction that comes nearer."""
    point = on_simplex(counts, float(total))
    assert (point >= 0).all()
    assert point.sum() == pytest.approx(total, abs=1e-6)
    towards_vertices = total * (counts - point) - (counts - point) @ point
    assert (towards_vertices <= 1e-5 * (1 + np.abs(counts).max()) ** 2).all()


def test_a_total_below_zero_is_refused() -> None:
    with pytest.raises(SordinoError, match="total"):
        on_simplex([1.0], -1.0)


def test_the_agreed_total_is_generalised_least_squares() -> None:
    generator = np.random.default_rng(8)
    sizes = (2, 5, 16)
    histograms = [generator.normal(100, 30, (3, size)) for size in sizes]
    totals = np.stack([histogram.sum(axis=1) for histogram in histograms])
    root = 1 / np.sqrt(np.array(sizes, dtype=float))
    solved = np.linalg.lstsq(root[:, np.newaxis], root[:, np.newaxis] * totals, rcond=None)[0][0]
    np.testing.assert_allclose(agreed_total(histograms), solved)


def test_consistent_histograms_agree_and_lie_nearest() -> None:
    generator = np.random.default_rng(9)
    truth = [np.array([[500.0, 0, 0], [20, 10, 0]]), np.array([[250.0, 250], [0, 30]])]
    noisy = [table + noise(LAPLACE, table.shape, generator) for table in truth]
    agreed = agreed_total(noisy)
    for table, found in zip(noisy, consistent(noisy, LAPLACE), strict=True):
        np.testing.assert_allclose(found.sum(axis=-1), agreed)
        np.testing.assert_allclose(found, on_simplex(table, agreed))


def test_consistent_totals_are_nearer_and_twin_equal_weights_are_not_as_near() -> None:
    """Squared errors over 4000 repetitions; the variances are 1/Σ(1/k) and Σk/9 per cell: 1.3 and 7.7 of 23."""
    generator = np.random.default_rng(10)
    sizes = (2, 5, 16)
    noisy = [1000 / size + noise(LAPLACE, (4000, size), generator) for size in sizes]
    error = float(((agreed_total(noisy) - 1000) ** 2).mean()) / LAPLACE.variance
    even = float(((np.mean([table.sum(axis=-1) for table in noisy], axis=0) - 1000) ** 2).mean()) / LAPLACE.variance
    expected = 1 / sum(1 / size for size in sizes)
    assert error == pytest.approx(expected, rel=0.15)  # six standard errors
    assert even > 1.5 * expected


def test_a_histogram_with_missing_cells_keeps_its_own_total() -> None:
    whole, half = np.array([400.0, 600.0, 1000.0]), np.array([500.0, 500.0])
    first, second = consistent([whole, half], DiscreteLaplace(5.0))
    assert second.sum() == pytest.approx(1000)
    assert first.sum() == pytest.approx(2000)
    near = consistent([whole, half * 2 - 5], DiscreteLaplace(5.0))
    assert near[0].sum() == pytest.approx(near[1].sum())
    assert near[0].sum() != pytest.approx(2000)


def test_histograms_of_different_leading_axes_are_refused() -> None:
    with pytest.raises(SordinoError, match="leading axes"):
        consistent([np.zeros((2, 3)), np.zeros((3, 3))], LAPLACE)
    with pytest.raises(SordinoError, match="one or more histograms"):
        consistent([], LAPLACE)


def test_smoothing_is_a_dirichlet_posterior_tied_to_the_noise() -> None:
    np.testing.assert_allclose(smoothed([10.0, -3.0], GAUSSIAN, strength=0.25)[1], 1 + 0.25 * 40)
    np.testing.assert_allclose(smoothed([10.0, -3.0], LAPLACE)[0], 11 + 0.5 * 40 * 2**0.5, rtol=1e-3)


# --- on real histograms


def adult_counts() -> np.ndarray:
    """The 204 cells of the paper: eight categories and '?' where the raw file has it, each with two incomes."""
    table, unknown = load_adult(), {"workclass", "occupation", "native-country"}
    high = np.array(table["income"].to_pylist()) == ">50K"
    counts: list[int] = []
    for name, column in COLUMNS.items():
        if isinstance(column, Category) and name != "income":
            cells = np.array(table[name].to_pylist())
            values = [*column.values, *(["?"] if name in unknown else [])]
            counts += [int(((cells == value) & (high == rich)).sum()) for value in values for rich in (False, True)]
    return np.array(counts, dtype=float)


def test_squared_errors_on_adult_have_the_order_that_is_claimed_and_twin_a_wrong_noise_breaks_it() -> None:
    """At epsilon 0.01, over 140 repetitions: each step at more than 5 standard errors, a false alarm in 10⁶."""
    generator = np.random.default_rng(11)
    truth, law = adult_counts(), DiscreteLaplace(8 / 0.01)
    assert len(truth) == 204
    noisy = truth + noise(law, (140, len(truth)), generator)
    errors = {
        "clamp": clamp(noisy),
        "empirical_bayes": clamp(empirical_bayes(clamp(noisy), law, form="published")),
        "spike_exponential": spike_exponential(noisy, law),
        "npmle": npmle(noisy, law),
        "spike_exponential, wrong": spike_exponential(noisy, DiscreteLaplace(law.scale / 20)),
    }
    squares = {name: ((estimate - truth) ** 2).mean(axis=1) for name, estimate in errors.items()}

    def below(first: str, second: str) -> float:
        gap = squares[second] - squares[first]
        return float(gap.mean() / (gap.std() / math.sqrt(len(gap))))

    assert below("empirical_bayes", "clamp") > 5
    assert below("spike_exponential", "empirical_bayes") > 5
    assert below("npmle", "empirical_bayes") > 5
    assert below("spike_exponential, wrong", "empirical_bayes") < -5
