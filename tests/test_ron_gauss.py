"""RON-Gauss made true: against the same model by hand, at the edges of its input, and what its projections are."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sordino as so
from sordino.errors import DomainError, ParameterError
from sordino.models.random_directions import random_directions
from sordino.synthesis.class_gaussians import class_gaussians
from sordino.synthesis.directions import above_noise, between_classes, completed

GENERATOR = np.random.default_rng(11)
WIDTH, SIZE = 12, 3000
LABELS = np.repeat(["a", "b", "c"], SIZE // 3)
SHIFTS = np.repeat(np.array([[-1.0], [0.0], [1.5]]), SIZE // 3, axis=0)
ROWS = GENERATOR.normal(0, 1, (SIZE, WIDTH)) @ np.diag(np.linspace(0.3, 1.5, WIDTH)) + SHIFTS * (np.arange(WIDTH) == 2)
NUMBERS = 2 * ROWS[:, 2] - ROWS[:, 5] + GENERATOR.normal(0, 0.3, SIZE)
MODES: dict[str, dict[str, Any]] = {
    "rows": {},
    "classes": {"classes": ["a", "b", "c"]},
    "number": {"target_bounds": (-20, 20)},
}
TARGETS = {"rows": None, "classes": LABELS, "number": NUMBERS}

every_mode = pytest.mark.parametrize("mode", MODES)
every_projection = pytest.mark.parametrize("projection", ["public", "bought"])


def fitted(mode: str = "rows", rows: Any = ROWS, target: Any = "usual", **given: Any) -> so.RONGauss:
    target = TARGETS[mode] if isinstance(target, str) else target
    return so.RONGauss(**{"n_components": 4, "bounds": (-6, 6), **MODES[mode], **given}).fit(rows, target)


def proper(model: so.RONGauss) -> None:
    """Finite parameters, proportions that add up, and covariances that are symmetric with positive eigenvalues."""
    assert model.proportions_.sum() == pytest.approx(1)
    assert (model.proportions_ > 0).all()
    assert np.isfinite(model.means_).all()
    np.testing.assert_array_equal(model.covariances_, model.covariances_.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(model.covariances_) > 0).all()
    assert model.radius_ > 0


# ---- the model itself ------------------------------------------------------------------------------------------


def test_without_noise_it_is_the_same_model_by_hand() -> None:
    model = fitted("classes", epsilon=math.inf, random_state=0)
    placed = np.clip(ROWS / 6, -1, 1) @ model.projection_
    np.testing.assert_allclose(model.centre_, placed.mean(axis=0), atol=1e-5)
    assert model.radius_ == pytest.approx(np.median(np.linalg.norm(placed - model.centre_, axis=1)), rel=0.08)
    apart = placed - model.centre_
    clipped = apart * np.minimum(1, model.radius_ / np.linalg.norm(apart, axis=1))[:, None]
    for place, label in enumerate(["a", "b", "c"]):
        mine = clipped[label == LABELS]
        np.testing.assert_allclose(model.means_[place], model.centre_ + mine.mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(model.covariances_[place], np.cov(mine.T, bias=True), atol=1e-5)
    np.testing.assert_allclose(model.proportions_, 1 / 3, atol=1e-9)


def test_without_noise_a_number_keeps_its_slope() -> None:
    model = fitted("number", n_components=WIDTH, epsilon=math.inf, random_state=0)
    points, numbers = model.sample(20_000, random_state=1)
    ours = np.linalg.lstsq(np.c_[points, np.ones(len(points))], numbers, rcond=None)[0]
    real = np.linalg.lstsq(np.c_[model.transform(ROWS), np.ones(SIZE)], NUMBERS, rcond=None)[0]
    np.testing.assert_allclose(ours, real, atol=0.05 * np.abs(real).max())


@every_mode
@every_projection
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbours", ["add-remove", "substitute"])
def test_the_charges_add_up_to_the_whole_budget(mode: str, projection: str, delta: float, neighbours: str) -> None:
    model = fitted(mode, epsilon=0.7, delta=delta, projection=projection, neighbours=neighbours)
    spent, asked = model.receipt_.cost, so.Cost.of(0.7, delta)
    assert (spent.epsilon, spent.rho) == (asked.epsilon, asked.rho)
    assert model.receipt_.private
    proper(model)


@every_mode
def test_noise_tells_at_a_small_budget_and_vanishes_at_a_large_one(mode: str) -> None:
    quiet = fitted(mode, epsilon=math.inf, random_state=0)
    gaps = [
        np.abs(fitted(mode, epsilon=epsilon, random_state=seed).covariances_ - quiet.covariances_).mean()
        for epsilon in (0.3, 1e4)
        for seed in range(3)
    ]
    assert min(gaps[:3]) > 10 * max(gaps[3:])
    assert max(gaps[3:]) < 0.01 * np.abs(quiet.covariances_).max()


def test_learned_directions_find_the_classes_where_random_ones_do_not() -> None:
    shift = np.repeat(np.array([[-2.0], [0.0], [2.0]]), SIZE // 3, axis=0) * (np.arange(60) == 7)
    rows = np.random.default_rng(3).normal(0, 1, (SIZE, 60)) + shift

    def found(projection: str, seed: int) -> float:
        model = fitted("classes", rows, LABELS, n_components=3, delta=1e-6, projection=projection, random_state=seed)
        means = model.means_
        distances = ((model.transform(rows)[:, None] - means) ** 2).sum(axis=2)
        return float((np.array(["a", "b", "c"])[distances.argmin(axis=1)] == LABELS).mean())

    for seed in range(3):
        assert found("bought", seed) > found("public", seed) + 0.1


def test_a_default_number_of_components_grows_with_the_budget() -> None:
    sizes = [fitted(n_components=None, epsilon=epsilon, random_state=0).n_components_ for epsilon in (0.001, 0.1, 100)]
    assert sizes == sorted(set(sizes))
    assert sizes[0] == 2
    assert sizes[2] == WIDTH
    assert fitted(n_components=None, epsilon=math.inf, random_state=0).n_components_ == WIDTH


# ---- what is drawn from it ---------------------------------------------------------------------------------------


@every_mode
def test_samples_have_the_moments_of_the_release(mode: str) -> None:
    model = fitted(mode, epsilon=5, random_state=0)
    drawn = model.sample(40_000, random_state=2)
    points = drawn if mode == "rows" else drawn[0]
    assert points.shape == (40_000, 4)
    whole = model.proportions_ @ model.means_[:, :4]
    np.testing.assert_allclose(points.mean(axis=0), whole, atol=5 * model.radius_ / 200)
    if mode == "classes":
        shares = [(drawn[1] == label).mean() for label in ["a", "b", "c"]]
        np.testing.assert_allclose(shares, model.proportions_, atol=5 * 0.5 / 200)
    if mode == "number":
        assert (np.abs(drawn[1]) <= 20).all()


def test_samples_repeat_with_their_seed_and_none_is_asked_of_the_ledger() -> None:
    ledger = so.Ledger(epsilon=1)
    model = fitted("classes", epsilon=1, ledger=ledger)
    spent = ledger.spent
    first, again, other = (model.sample(50, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).any()
    assert model.sample(0)[0].shape == (0, 4)
    assert ledger.spent == spent
    for bad in (-1, 1.5, True, "many"):
        with pytest.raises(ParameterError, match="n must be"):
            model.sample(bad)


def test_rows_go_into_the_small_space_and_come_back() -> None:
    model = fitted(n_components=WIDTH, epsilon=math.inf, random_state=0)
    middle = np.abs(ROWS).max(axis=1) < 2.5
    np.testing.assert_allclose(model.inverse_transform(model.transform(ROWS[middle])), ROWS[middle], atol=1e-9)
    wild = model.transform(np.full((1, WIDTH), 1e9))
    assert np.linalg.norm(wild - model.centre_) <= 3 * model.radius_ * (1 + 1e-9)
    back = model.inverse_transform(100 * model.sample(100, random_state=0))
    assert (np.abs(back) <= 6).all()
    with pytest.raises(ParameterError, match="coordinates"):
        model.inverse_transform(ROWS[:, :3])


def test_a_column_that_is_left_out_of_a_test_row_lies_at_the_released_centre() -> None:
    domain = so.Domain({f"x{place}": so.Real(-6, 6, missing=1.0 if place == 3 else "drop") for place in range(WIDTH)})
    model = so.RONGauss(4, domain=domain).fit(ROWS)
    holed = ROWS[:5].copy()
    holed[:, 3] = np.nan
    holed[:, 4] = np.nan
    filled = ROWS[:5].copy()
    filled[:, 3], filled[:, 4] = 1.0, model.inverse_transform([model.centre_])[0, 4]
    np.testing.assert_allclose(model.transform(holed), model.transform(filled))
    filled[:, 4] = 0.0  # the twin: the middle of the column
    assert np.abs(model.transform(holed) - model.transform(filled)).max() > 1e-4


# ---- what was released -----------------------------------------------------------------------------------------


def test_explained_variance_of_random_directions_is_their_number_over_that_of_columns() -> None:
    rows = np.random.default_rng(1).normal(size=(5000, 40))
    model = fitted("rows", rows, n_components=8, epsilon=math.inf, random_state=0)
    assert model.explained_variance_ratio_.sum() == pytest.approx(8 / 40, rel=0.05)
    assert (np.diff(model.explained_variance_) <= 0).all()
    assert model.normality_["sphericity"] > 0.99
    assert model.normality_["between_classes"] == 0


def test_diagnostics_tell_one_gaussian_from_classes_far_apart_and_from_a_flat_cloud() -> None:
    far = fitted("classes", ROWS + 3 * SHIFTS, epsilon=5, random_state=0).normality_
    near = fitted("classes", ROWS - SHIFTS * (np.arange(WIDTH) == 2), epsilon=5, random_state=0).normality_
    assert far["between_classes"] > 0.6 > 0.1 > near["between_classes"]
    flat = fitted("rows", ROWS[:, :1] + 0.05 * ROWS, epsilon=50, random_state=0).normality_
    assert flat["sphericity"] < 0.4


# ---- projections -------------------------------------------------------------------------------------------------


def test_the_same_public_seed_gives_the_same_projection_whatever_the_rows() -> None:
    first, other = fitted(random_state=0), fitted(rows=ROWS[::-2] / 2, random_state=1)
    np.testing.assert_array_equal(first.projection_, other.projection_)
    np.testing.assert_allclose(first.projection_.T @ first.projection_, np.eye(4), atol=1e-12)
    assert (first.projection_ != fitted(projection_seed=1).projection_).any()


def _fourth_moment(make: Any) -> float:
    """Mean of q11^4 over projections of three columns; 3 / (m (m + 2)) = .2 for uniform ones."""
    return float(np.mean([make(seed)[0, 0] ** 4 for seed in range(4000)]))


def test_random_directions_are_uniform() -> None:
    """q11 is a coordinate of a uniform unit vector; five standard errors of its fourth power: false alarm 6e-7."""
    allowed = 5 * math.sqrt((105 / (3 * 5 * 7 * 9) - 0.2**2) / 4000)
    assert abs(_fourth_moment(lambda seed: random_directions(3, 2, seed)) - 0.2) < allowed
    assert abs(np.mean([random_directions(3, 2, seed)[0, 0] for seed in range(4000)])) < 5 * math.sqrt(1 / 3 / 4000)


def test_twin_the_published_factorisation_of_uniform_entries_is_not() -> None:
    def printed(seed: int) -> np.ndarray:
        return np.linalg.qr(np.random.default_rng(seed).random((3, 3)))[0]

    assert abs(np.mean([printed(seed)[0, 0] for seed in range(4000)])) > 0.3


def test_directions_between_classes_and_above_the_noise_are_the_ones_planted() -> None:
    means = np.zeros((3, 20))
    means[0, 4], means[1, 9] = 3.0, 2.0
    found = between_classes(np.array([100.0, 100.0, 100.0]), 100 * means)
    assert found.shape == (20, 2)
    assert np.linalg.norm(found[[4, 9]]) == pytest.approx(math.sqrt(2), abs=1e-9)
    noise = np.random.default_rng(0).normal(0, 10, (20, 20))
    second = np.diag(np.where(np.arange(20) == 6, 5000.0, 1.0)) + np.triu(noise) + np.triu(noise, 1).T
    planted = above_noise(second, np.zeros(20), 100.0, 10.0)
    assert planted.shape == (20, 1)
    assert abs(planted[6, 0]) > 0.99
    whole = completed(planted, 5, 0)
    np.testing.assert_allclose(whole.T @ whole, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(np.abs(whole[:, 0] @ planted[:, 0]), 1)


# ---- repairs -----------------------------------------------------------------------------------------------------


def test_of_pure_noise_nothing_stays_off_the_diagonal() -> None:
    """Five equal classes with unit covariance, noise ten times as large: entries off the diagonal go to almost zero."""
    rng, classes, size = np.random.default_rng(0), 5, 8
    counts = np.full(classes, 1000.0)
    noise = np.triu(rng.normal(0, 1000, (classes, size, size)))
    noise += np.triu(noise, 1).transpose(0, 2, 1)
    found = class_gaussians(
        counts, np.zeros((classes, size)), 100 * np.eye(size) + noise, 0.0, np.full((size, size), 1e6)
    )
    own = noise / counts[:, None, None]
    off = ~np.eye(size, dtype=bool)
    assert np.abs(found.covariances[:, off]).mean() < 0.35 * np.abs(own[:, off]).mean()
    assert (np.linalg.eigvalsh(found.covariances) > 0).all()
    assert (np.linalg.eigvalsh(100 * np.eye(size) + noise) < 0).any()  # what the paper samples from


def test_without_noise_nothing_is_repaired() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(0, 0.2, (500, 3))
    found = class_gaussians(
        np.array([500.0]), points.sum(axis=0)[None], (points.T @ points)[None], 0.0, np.zeros((3, 3))
    )
    np.testing.assert_allclose(found.covariances[0], np.cov(points.T, bias=True), rtol=1e-9)


# ---- the edges of its input ----------------------------------------------------------------------------------------


@every_mode
@every_projection
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_odd_tables_give_a_defined_model(mode: str, projection: str, delta: float) -> None:
    one = np.ones((60, 3))
    tables: list[tuple[np.ndarray, Any]] = [
        (ROWS[:0], None if mode == "rows" else TARGETS[mode][:0]),
        (ROWS[:1], None if mode == "rows" else TARGETS[mode][:1]),
        (one, None if mode == "rows" else TARGETS[mode][:60]),
        (ROWS[:, :1], TARGETS[mode]),
        (np.full((30, 2), np.nan), None if mode == "rows" else TARGETS[mode][:30]),
    ]
    for seed, (rows, target) in enumerate(tables):
        model = fitted(mode, rows, target, delta=delta, projection=projection, random_state=seed)
        proper(model)
        assert model.n_components_ == min(4, rows.shape[1])
        drawn = model.sample(7, random_state=0)
        assert np.isfinite(drawn if mode == "rows" else drawn[0]).all()


def test_an_empty_class_and_labels_never_declared_are_defined() -> None:
    model = fitted("classes", classes=["a", "b", "c", "nobody"], epsilon=1, delta=1e-6, random_state=0)
    proper(model)
    assert model.proportions_[3] < 0.05
    strange = np.where(np.arange(SIZE) % 2 == 0, "unknown", LABELS.astype("U10"))
    half = fitted("classes", ROWS, strange, epsilon=math.inf, random_state=0)
    np.testing.assert_allclose(half.proportions_, 1 / 3, atol=1e-9)


def test_more_directions_than_columns_are_as_many_as_columns() -> None:
    for projection in ("public", "bought"):
        model = fitted("classes", n_components=500, projection=projection, random_state=0)
        assert model.n_components_ == WIDTH
        assert model.sample(2)[0].shape == (2, WIDTH)


def test_a_target_outside_its_bounds_is_clipped_and_one_without_bounds_is_missing() -> None:
    wild = np.where(np.arange(SIZE) % 3 == 0, 1e9, NUMBERS)
    top = np.where(np.arange(SIZE) % 3 == 0, 20.0, NUMBERS)
    first, other = (fitted("number", target=each, random_state=0) for each in (wild, top))
    np.testing.assert_array_equal(first.covariances_, other.covariances_)
    holed = fitted("number", target=np.where(np.arange(SIZE) % 3 == 0, np.nan, NUMBERS), random_state=0)
    proper(holed)


def test_a_table_says_what_its_target_is() -> None:
    columns = {f"x{place}": ROWS[:, place] for place in range(WIDTH)}
    features = {name: so.Real(-6, 6) for name in columns}
    classes = so.Domain({**features, "kind": so.Category(["a", "b", "c"])})
    number = so.Domain({**features, "amount": so.Real(-20, 20)})
    first = so.RONGauss(4, random_state=0).fit(so.open_table(pa.table({**columns, "kind": LABELS}), classes), "kind")
    np.testing.assert_array_equal(first.covariances_, fitted("classes", random_state=0).covariances_)
    assert set(first.sample(300, random_state=0)[1]) == {"a", "b", "c"}
    table = so.open_table(pa.table({**columns, "amount": NUMBERS}), number)
    second = so.RONGauss(4, random_state=0).fit(table, "amount")
    np.testing.assert_array_equal(second.covariances_, fitted("number", random_state=0).covariances_)
    third = so.RONGauss(4, domain=number, random_state=0).fit(ROWS, NUMBERS)
    np.testing.assert_array_equal(third.covariances_, second.covariances_)
    assert so.RONGauss(4, random_state=0).fit(table).n_features_in_ == WIDTH + 1


def test_a_target_that_nobody_declared_is_not_read_and_the_receipt_says_so() -> None:
    model = so.RONGauss(4, bounds=(-6, 6)).fit(ROWS, LABELS)
    assert "the target was not declared and not read" in model.receipt_.caveats
    assert model.classes_ is None


def test_bad_arguments_are_refused_by_name() -> None:
    for given, words in (
        ({"projection": "best"}, "projection must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"n_components": 2.5}, "n_components must be"),
        ({"projection_seed": -1}, "projection_seed must be"),
        ({"target_bounds": (1, 1)}, "target_bounds must be"),
        ({"target_bounds": 3}, "target_bounds must be"),
        ({"target_bounds": (0, 1), "classes": ["a"]}, "not both"),
    ):
        with pytest.raises((ParameterError, DomainError), match=words):
            so.RONGauss(**{"bounds": (-6, 6), **given}).fit(ROWS, NUMBERS)
    with pytest.raises(ParameterError, match="requires y"):
        so.RONGauss(bounds=(-6, 6), classes=["a"]).fit(ROWS)
    ledger = so.Ledger(epsilon=1)
    with pytest.raises(ParameterError, match="at most 2048 columns"):
        so.RONGauss(bounds=(-6, 6), ledger=ledger).fit(np.zeros((2, 2049)))
    assert not ledger.entries()


def test_uneven_rows_are_refused_without_a_word_on_how_many_there_are() -> None:
    """numpy says how many; here the width of the rows tells whether the domain declares a target beside them."""
    domain = so.Domain({"a": so.Real(0, 1), "b": so.Real(0, 1), "c": so.Real(0, 1)})
    with pytest.raises(ParameterError) as caught:
        so.RONGauss(domain=domain).fit([[0.5, 0.5]] * 137 + [[0.5]], [0.5] * 138)
    assert "138" not in str(caught.value)


@pytest.mark.parametrize("mode", ["classes", "number"])
def test_a_saved_generator_draws_the_same_rows(mode: str, tmp_path: Any) -> None:
    model = fitted(mode, epsilon=1, delta=1e-6)
    model.save(tmp_path / "model.json")
    again = so.load(tmp_path / "model.json")
    for mine, theirs in zip(model.sample(20, random_state=4), again.sample(20, random_state=4), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(model.transform(ROWS), again.transform(ROWS))
    assert again.receipt_.cost == model.receipt_.cost
    assert sum((Fraction(charge.cost.rho) for charge in again.receipt_.charges), Fraction(0)) == so.Cost.of(1, 1e-6).rho
