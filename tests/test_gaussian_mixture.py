"""Gaussian mixtures: right without noise, good with noise, never a collapse, and clear about what they cannot do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as PlainMixture

import sordino as so
from sordino.errors import ParameterError
from sordino.models import mixture_steps
from sordino.models.gaussian_mixture import GaussianMixture
from sordino.models.mixture_steps import SHARES
from test_gradient_em import epsilon_by_losses

KINDS = ("spherical", "diag", "tied", "full")
every_kind = pytest.mark.parametrize("kind", KINDS)


def blobs(rows: int = 10_000, dimension: int = 8, components: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(123 + seed)
    means = rng.uniform(-0.5, 0.5, (components, dimension))
    labels = rng.integers(0, components, rows)
    return means[labels] + 0.12 * rng.normal(size=(rows, dimension)), labels


def fitted(rows: np.ndarray, components: int, kind: Any = "spherical", **given: Any) -> GaussianMixture:
    facts: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "bounds": (-1, 1), "random_state": 0}
    return GaussianMixture(components, kind, **{**facts, **given}).fit(rows)


def test_the_shares_add_up_to_the_whole() -> None:
    assert sum(SHARES.values()) == 1


# ---- without noise ---------------------------------------------------------------------------------------------


@every_kind
def test_without_noise_it_is_near_the_plain_mixture(kind: Any) -> None:
    rows, labels = blobs()
    model = fitted(rows, 4, kind, epsilon=math.inf)
    plain = PlainMixture(4, covariance_type=kind, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, model.predict(rows)) > 0.999
    assert model.score(rows) > plain.score(rows) - 0.15
    order = [int(np.argmin(np.linalg.norm(model.means_ - mean, axis=1))) for mean in plain.means_]
    np.testing.assert_allclose(model.means_[order], plain.means_, atol=0.02)
    np.testing.assert_allclose(model.weights_[order], plain.weights_, atol=0.01)


def test_one_component_is_one_gaussian() -> None:
    rng = np.random.default_rng(1)
    rows = rng.multivariate_normal([0.2, -0.1], [[0.04, 0.01], [0.01, 0.02]], 5000)
    model = fitted(rows, 1, "tied", epsilon=math.inf)
    np.testing.assert_allclose(model.means_[0], [0.2, -0.1], atol=0.03)
    np.testing.assert_allclose(model.covariances_[0], [[0.04, 0.01], [0.01, 0.02]], atol=0.02)
    assert model.weights_.tolist() == [1.0]


# ---- with noise: seeded, so the same at every run ----------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "reach"), [(0.1, 0.95), (1.0, 0.995), (10.0, 0.999)])
def test_blobs_are_told_apart(epsilon: float, reach: float) -> None:
    found, likelihoods = [], []
    rows, labels = blobs()
    for seed in range(4):
        model = fitted(rows[:7000], 4, epsilon=epsilon, random_state=seed)
        found.append(adjusted_rand_score(labels[7000:], model.predict(rows[7000:])))
        likelihoods.append(model.score(rows[7000:]))
    assert np.mean(found) >= reach
    assert epsilon < 1 or np.median(likelihoods) >= 4.0


def test_real_tables_of_a_few_hundred_rows_are_told_apart() -> None:
    for load, components, kind, reach in ((load_breast_cancer, 2, "spherical", 0.57), (load_iris, 3, "tied", 0.5)):
        rows, labels = load(return_X_y=True)
        bounds = (rows.min(axis=0), rows.max(axis=0) + 1e-9)  # taken as public, for the test
        found = [
            adjusted_rand_score(labels, fitted(rows, components, kind, bounds=bounds, random_state=seed).predict(rows))
            for seed in range(6)
        ]
        assert np.mean(found) >= reach


@every_kind
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_the_likelihood_never_collapses(kind: Any, epsilon: float) -> None:
    rows, _ = load_breast_cancer(return_X_y=True)
    bounds = (rows.min(axis=0), rows.max(axis=0) + 1e-9)
    halves = np.log((bounds[1] - bounds[0]) / 2).sum()
    for delta in (0.0, 1e-5):
        for seed in range(3):
            model = fitted(rows, 3, kind, epsilon=epsilon, delta=delta, bounds=bounds, random_state=seed)
            assert model.score(rows) + halves > -250


def test_unbalanced_components_are_both_found() -> None:
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(-0.4, 0.05, (9500, 3)), rng.normal(0.4, 0.05, (500, 3))])
    model = fitted(rows, 2, epsilon=2.0)
    assert model.weights_.min() == pytest.approx(0.05, abs=0.01)
    assert adjusted_rand_score(np.repeat([0, 1], [9500, 500]), model.predict(rows)) > 0.95


def test_a_wide_public_box_is_narrowed_by_bought_ranges() -> None:
    rows, labels = blobs()
    assert adjusted_rand_score(labels, fitted(rows, 4, bounds=(-50, 80)).predict(rows)) > 0.99


def of_a_small_table(**given: Any) -> tuple[float, float, str]:
    """Of 420 rows, and seeded noise: the mean of the index, the median likelihood, the last receipt."""
    rows, labels = blobs(1500)
    models = [fitted(rows[:420], 4, "tied", random_state=seed, **given) for seed in range(12)]
    indices = [adjusted_rand_score(labels[420:], model.predict(rows[420:])) for model in models]
    return (
        float(np.mean(indices)),
        float(np.median([model.score(rows[420:]) for model in models])),
        str(models[-1].receipt_),
    )


def test_a_small_table_buys_one_of_few_radii(monkeypatch: pytest.MonkeyPatch) -> None:
    index, _, receipt = of_a_small_table(epsilon=0.75, bounds=(-6, 6))
    assert "ranks of 25 candidates" in receipt
    assert index > 0.6
    monkeypatch.setattr(mixture_steps, "FEW_FRACTIONS", (1.0,))  # twin: the box as it is
    assert of_a_small_table(epsilon=0.75, bounds=(-6, 6))[0] < 0.4


def test_noise_leaves_a_common_covariance_something(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_a_small_table(epsilon=0.9)[1] > 1.5
    monkeypatch.setattr(mixture_steps, "_UNSURE", 0.0)  # twin
    assert of_a_small_table(epsilon=0.9)[1] < 1.0


def test_a_pure_budget_works_too() -> None:
    rows, labels = blobs()
    model = fitted(rows, 4, delta=0.0, epsilon=2.0)
    assert model.receipt_.cost.epsilon <= 2
    assert adjusted_rand_score(labels, model.predict(rows)) > 0.99


# ---- the account -----------------------------------------------------------------------------------------------


@every_kind
def test_the_account_stands_before_distributions_of_losses(kind: Any) -> None:
    rows, _ = blobs(4000)
    receipt = fitted(rows, 4, kind, epsilon=0.8).receipt_
    noisy = [charge for charge in receipt.charges if "maximum" not in charge.mechanism]
    only = so.Receipt(receipt.neighbours, tuple(noisy))
    choices = sum(float(charge.cost.rho) for charge in receipt.charges if charge not in noisy)
    assert 0 < choices < 0.1 * float(receipt.cost.rho)
    assert 0.4 < epsilon_by_losses(only, 1e-5) <= 0.8
    assert receipt.cost.rho <= so.Cost.of(0.8, 1e-5).rho


# ---- what a table can look like, and what cannot be asked ---------------------------------------------------------


@every_kind
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_odd_tables_give_a_model(kind: Any, epsilon: float) -> None:
    rng = np.random.default_rng(0)
    holed = rng.normal(0, 0.3, (400, 2))
    holed[::3, 1] = np.nan
    for rows in (np.zeros((0, 2)), np.zeros((3, 2)), np.full((600, 2), 0.25), holed, rng.normal(0, 0.3, (600, 1))):
        model = fitted(rows, 5, kind, epsilon=epsilon, random_state=None)
        drawn, components = model.sample(20)
        assert np.isfinite(model.score_samples(drawn)).all()
        assert components.shape == (20,)
        assert np.abs(drawn).max() <= 1
        np.testing.assert_allclose(model.predict_proba(drawn).sum(axis=1), 1)


def test_a_budget_too_small_for_a_start_falls_back_and_says_so() -> None:
    rows, _ = blobs(200, 4, 3)
    words = " ".join(fitted(rows, 3, epsilon=0.05).receipt_.caveats)
    assert "the start is public" in words
    assert "no rounds" in words
    assert "the start is public" not in " ".join(fitted(blobs(8000, 4, 3)[0], 3).receipt_.caveats)


def test_a_table_leaves_out_what_is_no_number_and_in_new_rows_the_columns_of_missing_cells() -> None:
    """Twin: the density with the mean in place of the cell is another one."""
    rows, _ = blobs(3000, 2, 2)
    domain = so.Domain({"a": so.Real(-1, 1), "c": so.Category(["x"]), "b": so.Real(-1, 1)})
    table = so.open_table(pa.table({"a": rows[:, 0], "c": ["x"] * 3000, "b": rows[:, 1]}), domain)
    model = GaussianMixture(2, epsilon=1, delta=1e-6).fit(table)
    assert "not used: c" in model.receipt_.caveats
    shares, means, covariances = model.weights_, model.means_[:, 1], model.covariances_[:, 1, 1]
    density = shares @ norm(means, np.sqrt(covariances)).pdf(0.1)
    left_out, filled = pa.table({"a": [None], "b": [0.1]}), pa.table({"a": shares @ model.means_[:, :1], "b": [0.1]})
    np.testing.assert_allclose(model.score_samples(left_out), np.log(density))
    assert abs(model.score_samples(filled) - np.log(density)) > 0.1


def test_the_likelihood_of_private_rows_is_refused() -> None:
    rows, _ = blobs(500)
    with pytest.raises(ParameterError, match=r"score\(X\) on rows of your own"):
        fitted(rows, 4).bic(rows)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.0}, "n_components"),
        ({"n_components": True}, "n_components"),
        ({"n_components": 10**6}, "n_components"),
        ({"covariance_type": "round"}, "covariance_type"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_paid(given: Any, word: str) -> None:
    ledger = so.Ledger(epsilon=1, delta=1e-5)
    with pytest.raises(ParameterError, match=rf"^GaussianMixture: {word}[^\n]*$"):
        GaussianMixture(**{"delta": 1e-5, "bounds": (-1, 1), "ledger": ledger, **given}).fit(np.zeros((5, 2)))
    assert ledger.spent.rho == 0
    with pytest.raises(ParameterError, match="sample: n"):
        fitted(np.zeros((5, 2)), 1).sample(0)


def test_substitute_neighbours_give_a_model_with_a_little_more_noise() -> None:
    rows, labels = blobs()
    model = fitted(rows, 4, neighbours="substitute")
    assert model.receipt_.neighbours == "substitute"
    assert adjusted_rand_score(labels, model.predict(rows)) > 0.99
