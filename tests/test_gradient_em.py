"""Gradient EM: plain EM without noise, good with noise, paid for in all its rounds, and clear about bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from scipy.integrate import quad

import sordino as so
from sordino.errors import DomainError, ParameterError
from sordino.models.gradient_em import GradientEM
from sordino.models.soft_truncation import LIMIT, smoothed_truncation, soft_table, soft_truncation
from sordino.release import Receipt

NOISE = 2 / 3


def mixture(rows: int, dimension: int, seed: int, length: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=dimension)
    theta *= length / np.linalg.norm(theta)
    return rng.choice([-1, 1], (rows, 1)) * theta + rng.normal(size=(rows, dimension)), theta


def regression(rows: int, dimension: int, seed: int, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=dimension)
    theta *= 2 / np.linalg.norm(theta)
    x = rng.normal(size=(rows, dimension))
    signs = 1 if missing else rng.choice([-1, 1], rows)
    y = signs * (x @ theta) + NOISE * rng.normal(size=rows)
    x[rng.random(x.shape) < missing] = np.nan
    return x, y, theta


def distance(found: np.ndarray, theta: np.ndarray) -> float:
    return float(min(np.linalg.norm(found - theta), np.linalg.norm(found + theta)))


# ---- soft truncation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.5, 2.0, 5.99, 50.0])
def test_the_closed_form_of_the_smoothed_truncation_is_the_integral(beta: float) -> None:
    for a in (0.01, 0.5, 1.0, math.sqrt(2), 1.6, 3.0, 8.0, 29.0, -0.7, -4.0):
        b = abs(a) / math.sqrt(beta)

        def weighted(z: float, a: float = a, b: float = b) -> float:
            return float(soft_truncation(a + b * z)) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        kinks = [each for each in ((math.sqrt(2) - a) / b, (-math.sqrt(2) - a) / b) if abs(each) < 12]
        integral = quad(weighted, -12, 12, points=kinks or None, limit=300, epsabs=1e-13)[0]
        assert float(smoothed_truncation(a, beta)) == pytest.approx(integral, abs=1e-10)


def test_the_smoothed_truncation_is_guarded_where_the_closed_form_cancels() -> None:
    values = np.array([-1e300, -1e5, -31, 31, 1e5, 1e300, math.inf])
    found = smoothed_truncation(values, 6.0)
    assert (np.abs(found) <= LIMIT).all()
    np.testing.assert_array_equal(found, np.sign(values) * found[-1])
    assert abs(float(smoothed_truncation(0.0, 6.0))) < 1e-12


def test_the_public_table_is_the_closed_form_to_six_digits() -> None:
    soft = soft_table(3.0, 6.0)
    values = np.random.default_rng(0).normal(0, 10, 4000)
    found = soft.on_grid(values, 2**20) * (soft.limit / 2**20)
    assert np.abs(found - smoothed_truncation(values / 3.0, 6.0)).max() < 3e-6


# ---- without noise ---------------------------------------------------------------------------------------------


def plain_em(x: np.ndarray, theta: np.ndarray, rounds: int) -> np.ndarray:
    for _ in range(rounds):
        theta = (np.tanh(x @ theta)[:, None] * x).mean(axis=0)
    return theta


def test_without_noise_or_clipping_it_is_plain_em() -> None:
    x, theta = mixture(4000, 4, 0)
    start = theta + 0.5
    model = GradientEM(
        epsilon=math.inf, random_state=0, bounds=(-9, 9), clip=100.0, length=9.0, start=start, rounds=6
    ).fit(x)
    np.testing.assert_allclose(model.parameters_, plain_em(x, start, 6), atol=2e-4)
    assert model.path_.shape == (7, 4)


@pytest.mark.parametrize("truncation", ["clip", "soft"])
@pytest.mark.parametrize("model", ["mixture", "regressions", "missing"])
def test_every_model_finds_its_parameters_without_noise(model: Any, truncation: Any) -> None:
    if model == "mixture":
        x, theta = mixture(20000, 5, 1)
        y, facts = None, {}
    else:
        x, y, theta = regression(20000, 5, 1, missing=0.1 * (model == "missing"))
        facts = {"length": 2.0, "noise": NOISE, "target_bounds": (-12, 12)}
    found = GradientEM(model, epsilon=math.inf, random_state=0, bounds=(-9, 9), truncation=truncation, **facts).fit(
        x, y
    )
    assert distance(found.parameters_, theta) < (0.12 if truncation == "clip" else 0.3)


# ---- with noise: medians of seeded runs, so the same at every run ------------------------------------------------


def test_a_mixture_is_found_from_few_records() -> None:
    for rows, dimension, reach in ((2000, 10, 0.25), (10_000, 40, 0.16)):
        errors = []
        for seed in range(5):
            x, theta = mixture(rows, dimension, seed)
            model = GradientEM(epsilon=0.5, delta=1e-5, bounds=(-9, 9), random_state=seed).fit(x)
            errors.append(distance(model.parameters_, theta))
        assert np.median(errors) <= reach


@pytest.mark.parametrize(("model", "reach"), [("regressions", 0.04), ("missing", 0.05)])
def test_regressions_are_found_from_a_private_start(model: Any, reach: float) -> None:
    errors = []
    for seed in range(5):
        x, y, theta = regression(10_000, 10, seed, missing=0.1 * (model == "missing"))
        found = GradientEM(
            model, epsilon=1, delta=1e-5, length=2.0, noise=NOISE, bounds=(-6, 6), target_bounds=(-12, 12),
            random_state=seed,
        ).fit(x, y)  # fmt: skip
        errors.append(distance(found.parameters_, theta))
    assert np.median(errors) <= reach


# ---- the account -----------------------------------------------------------------------------------------------


def epsilon_by_losses(receipt: Receipt, delta: float, only: slice = slice(None)) -> float:
    """ε of the Gaussian releases of a receipt, composed as distributions of privacy losses: a second opinion."""
    events = []
    for charge in receipt.charges[only]:
        sensitivity = float(charge.sensitivity.split()[0]) * charge.unit
        events.append(GaussianDpEvent(charge.scale / sensitivity))
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(ComposedDpEvent(events))
    return float(accountant.get_epsilon(delta))


def test_the_account_of_all_rounds_stands_before_distributions_of_losses() -> None:
    x, _ = mixture(500, 6, 0)
    for truncation in ("clip", "soft"):
        model = GradientEM(epsilon=0.7, delta=1e-5, bounds=(-9, 9), rounds=7, truncation=truncation).fit(x)
        assert len(model.receipt_.charges) == 9
        assert 0.5 < epsilon_by_losses(model.receipt_, 1e-5) <= 0.7


def test_twin_rounds_that_each_spend_the_whole_are_seen() -> None:
    x, _ = mixture(500, 6, 0)
    one = GradientEM(epsilon=0.7, delta=1e-5, bounds=(-9, 9), rounds=0).fit(x).receipt_
    several = so.Receipt.joined([one] * 7)
    assert epsilon_by_losses(several, 1e-5) > 1.4


# ---- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"model": "other"}, "model"),
        ({"truncation": "hard"}, "truncation"),
        ({"truncation": "soft", "scale": 0.0}, "scale"),
        ({"truncation": "soft", "scale": -1.0}, "scale"),
        ({"truncation": "soft", "beta": 0}, "beta"),
        ({"clip": -1.0}, "clip"),
        ({"clip": math.nan}, "clip"),
        ({"length": math.inf}, "length"),
        ({"noise": 0}, "noise"),
        ({"step": "long"}, "step"),
        ({"rounds": -1}, "rounds"),
        ({"rounds": 1.5}, "rounds"),
        ({"rounds": True}, "rounds"),
        ({"start": [1.0]}, "start"),
        ({"start": [math.nan, 0.0]}, "start"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_paid(given: Any, word: str) -> None:
    ledger = so.Ledger(epsilon=1, delta=1e-5)
    with pytest.raises(ParameterError, match=rf"^GradientEM: {word}[^\n]*$"):
        GradientEM(**{"delta": 1e-5, "bounds": (-9, 9), "ledger": ledger, **given}).fit(np.zeros((5, 2)))
    assert ledger.spent.rho == 0


def test_a_target_needs_bounds_and_must_be_a_number() -> None:
    x, y = np.zeros((5, 2)), np.zeros(5)
    with pytest.raises(DomainError, match=r"target_bounds=\(LOW, HIGH\)"):
        GradientEM("missing", bounds=(-1, 1)).fit(x, y)
    for wrong in ((1, 1), 3, ("a", 2), (1, 2, 3)):
        with pytest.raises((ParameterError, DomainError), match=r"target_bounds|low must be below"):
            GradientEM("missing", bounds=(-1, 1), target_bounds=wrong).fit(x, y)
    domain = so.Domain({"a": so.Real(-1, 1), "c": so.Category(["x", "y"])})
    table = so.open_table(pa.table({"a": [0.5], "c": ["x"]}), domain)
    with pytest.raises(DomainError, match="must be a Real"):
        GradientEM("regressions").fit(table, "c")


@pytest.mark.parametrize("rows", [np.zeros((0, 2)), np.ones((40, 2)), np.full((6, 2), np.nan), np.zeros((1, 2))])
def test_odd_tables_give_a_model_of_public_length(rows: np.ndarray) -> None:
    for model in ("mixture", "missing"):
        found = GradientEM(model, epsilon=0.1, delta=1e-6, bounds=(-9, 9), target_bounds=(-5, 5)).fit(
            rows, None if model == "mixture" else np.zeros(len(rows))
        )
        assert np.isfinite(found.parameters_).all()
        assert np.linalg.norm(found.parameters_) <= 3.0 + 1e-9


def test_one_column_and_substitute_neighbours() -> None:
    x, theta = mixture(5000, 1, 3)
    for neighbours in ("add-remove", "substitute"):
        model = GradientEM(epsilon=2, delta=1e-6, bounds=(-9, 9), neighbours=neighbours, random_state=1).fit(x)
        assert distance(model.parameters_, theta) < 0.3
        assert set(model.predict(x).tolist()) == {0, 1}
