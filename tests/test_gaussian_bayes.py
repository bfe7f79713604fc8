"""GaussianBayes, ThresholdRule and PrivateClassifier: what they learn, what they spend, and odd input."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import train_test_split

import sordino as so
from sordino.cost import Cost
from sordino.errors import BudgetError, ParameterError
from sordino.models.gaussians import Gaussians, log_scores
from sordino.models.private_classifier import COMPARED_STEPS, _compared

LABELS = ["left", "right"]
MODELS = (so.GaussianBayes, so.PrivateClassifier, so.ThresholdRule)


def clouds(rows: int, dimension: int = 3, apart: float = 2.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian clouds of different shape, in equal numbers."""
    generator = np.random.default_rng(seed)
    labels = np.array(LABELS)[np.arange(rows) % 2]
    shapes = np.where((labels == "left")[:, None], 1.0, np.linspace(0.5, 2, dimension))
    middles = np.where((labels == "left")[:, None], -apart / 2, apart / 2)
    return middles + shapes * generator.normal(size=(rows, dimension)), labels


def test_without_noise_it_is_the_quadratic_discriminant_of_scikit_learn() -> None:
    rows, labels = clouds(4000, 4)
    model = so.GaussianBayes(math.inf, covariance="full", ranges="declared", bounds=(-12, 12), classes=LABELS,
                             random_state=0).fit(rows, labels)  # fmt: skip
    peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(rows, labels)
    assert model.means_ == pytest.approx(peer.means_, abs=1e-4)
    for own, theirs in zip(model.covariances_, peer.covariance_, strict=True):
        assert own == pytest.approx(theirs, abs=0.05)  # a ridge of the size of sampling noise
    tests, _ = clouds(4000, 4, seed=1)
    assert np.mean(model.predict(tests) == peer.predict(tests)) > 0.99


@pytest.mark.parametrize("covariance", ["full", "shrunk", "pooled", "diagonal", "auto"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_every_covariance_learns(covariance: str, delta: float) -> None:
    rows, labels = clouds(6000)
    model = so.GaussianBayes(1, delta, covariance=covariance, bounds=(-50, 50), classes=LABELS, random_state=4)  # type: ignore[arg-type]
    tests, wanted = clouds(4000, seed=9)
    assert model.fit(rows, labels).score(tests, wanted) > 0.9
    if covariance == "pooled":
        assert np.array_equal(model.covariances_[0], model.covariances_[1])
    if covariance == "diagonal":
        assert not (model.covariances_ * (1 - np.eye(3))).any()


def test_what_is_bought_grows_with_the_budget_and_the_receipt_says_when_it_is_little() -> None:
    rows, labels = clouds(2000, 8)
    found = []
    for epsilon in (0.05, 0.5, 5, 100):
        model = so.GaussianBayes(epsilon, bounds=(-20, 20), classes=LABELS, random_state=1).fit(rows, labels)
        found.append(model.structure_)
        assert any("too little budget" in caveat for caveat in model.receipt_.caveats) == (model.structure_ == "means")
    richness = ["means", "diagonal", "pooled", "full"]
    assert [richness.index(each) for each in found] == sorted(richness.index(each) for each in found)
    assert found[0] == "means"
    assert found[-1] == "full"


def accuracy(make: Any, epsilon: float, delta: float, shuffled: bool = False, splits: int = 4) -> float:
    rows, labels = load_breast_cancer(return_X_y=True)
    box = rows.min(axis=0), rows.max(axis=0)
    found = []
    for seed in range(splits):
        train, test, known, wanted = train_test_split(rows, labels, test_size=0.3, stratify=labels, random_state=seed)
        if shuffled:
            known = np.random.default_rng(seed).permutation(known)
        model = make(epsilon, delta, bounds=box, classes=[0, 1], random_state=seed).fit(train, known)
        found.append(np.mean(model.predict(test) == wanted))
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"), [(0.1, 0, 0.83), (0.1, 1e-6, 0.83), (1, 0, 0.89), (10, 1e-6, 0.93)]
)
def test_the_choice_is_accurate_at_every_budget(epsilon: float, delta: float, least: float) -> None:
    """Four seeded splits of breast cancer; the floors lie about .02 below means over 30 (benchmarks/)."""
    assert accuracy(so.PrivateClassifier, epsilon, delta) >= least


def test_twin_shuffled_labels_teach_nothing() -> None:
    assert accuracy(so.PrivateClassifier, 1, 0, shuffled=True) < 0.75


def test_a_rule_finds_the_cut_and_a_table_without_signal_gets_the_majority() -> None:
    generator = np.random.default_rng(3)
    rows = generator.uniform(0, 1, size=(600, 4))
    labels = np.where(rows[:, 2] <= 0.25, "left", "right")
    model = so.ThresholdRule(1, bounds=(0, 1), classes=LABELS, random_state=0).fit(rows, labels)
    assert model.column_ == "x2"
    assert (model.cut_ + 1) / 2 == pytest.approx(0.25, abs=0.04)
    assert model.predict([[0, 0, 0.1, 0], [1, 1, 0.6, 1]]).tolist() == LABELS
    assert model.predict_proba([[0, 0, 0.1, 0]])[0, 0] > 0.9
    by_mean = so.ThresholdRule(5, bounds=(0, 1), classes=LABELS, random_state=0)
    by_mean.fit(rows, np.where(rows.mean(axis=1) <= 0.5, *LABELS))
    assert by_mean.column_ is None
    noise = so.ThresholdRule(0.3, bounds=(0, 1), classes=LABELS, random_state=0)
    noise.fit(rows, np.where(generator.uniform(size=600) < 0.9, *LABELS))
    assert np.mean(noise.predict(rows) == "left") > 0.9


def test_candidates_are_compared_by_the_classes_that_they_predict() -> None:
    generator = np.random.default_rng(5)
    means = generator.normal(0, 0.3, (3, 4))
    roots = generator.normal(0, 0.2, (3, 4, 4))
    gaussians = Gaussians("any", np.array([0.5, 0.3, 0.2]), means, roots @ roots.swapaxes(1, 2) + 0.02 * np.eye(4))
    points = generator.uniform(-0.5, 0.5, (3000, 4))
    grid = np.rint(points * COMPARED_STEPS)
    floats = log_scores(*gaussians.coefficients(), grid / COMPARED_STEPS).argmax(axis=1)
    whole = _compared(gaussians).scores(grid, COMPARED_STEPS).argmax(axis=1)
    assert np.mean(floats == whole) > 0.999


def test_test_rows_are_clipped_as_records_were() -> None:
    rows, labels = clouds(3000)
    model = so.GaussianBayes(5, bounds=(-1000, 1000), classes=LABELS, random_state=2).fit(rows, labels)
    centre = model.record_map.scales(model.domain_)[0]
    direction = np.array([1.0, 2.0, 3.0])
    far, farther = centre + 300 * direction, centre + 320 * direction
    assert model.predict_proba([far])[0] == pytest.approx(model.predict_proba([farther])[0], abs=1e-3)


@pytest.mark.parametrize("covariance", ["full", "pooled", "diagonal"])
def test_a_missing_cell_leaves_its_column_out_of_every_gaussian(covariance: Any) -> None:
    """Twins: the middle of the column, and the mean of all records, say something else."""
    generator = np.random.default_rng(3)
    root = np.array([[1, 0.9, 0], [0, 0.5, 0], [0.3, 0, 0.7]])
    rows = np.vstack([generator.normal(size=(3000, 3)) @ root - [1.5, 0, 0], generator.normal(size=(6000, 3)) + 1])
    labels = np.repeat(LABELS, [3000, 6000])
    model = so.GaussianBayes(1000, covariance=covariance, ranges="declared", bounds=(-8, 8), classes=LABELS)
    model.set_params(random_state=2).fit(rows, labels)
    some = rows[::600]
    for kept in ([], [0, 2], [1]):
        holed = np.full_like(some, np.nan)
        holed[:, kept] = some[:, kept]
        laws = zip(model.means_[:, kept], model.covariances_[:, kept][:, :, kept], model.class_prior_, strict=True)
        joint = [
            prior * (multivariate_normal(mean, law).pdf(some[:, kept]) if kept else np.ones(len(some)))
            for mean, law, prior in laws
        ]
        np.testing.assert_allclose(model.predict_proba(holed).T, joint / np.sum(joint, axis=0), atol=1e-3)
    filled = np.where(np.isnan(holed), 0.0, some), np.where(np.isnan(holed), rows.mean(axis=0), some)
    for each in filled:
        assert np.abs(model.predict_proba(each) - model.predict_proba(holed)).max() > 0.05


@pytest.mark.parametrize("epsilon", [0.05, 3.0])
def test_a_rule_whose_column_is_missing_says_what_both_its_sides_say(epsilon: float) -> None:
    """``PrivateClassifier`` with a small budget is such a rule; a rule by the mean takes that of the other cells."""
    rows, labels = clouds(3000)
    model = so.ThresholdRule(epsilon, bounds=(-10, 10), classes=LABELS, random_state=1).fit(rows, labels)
    model.column_, model.cut_ = "x1", 0.1
    holed = [[9.0, math.nan, 9.0]]
    np.testing.assert_allclose(model.predict_proba(holed)[0], model.table_.sum(axis=0) / model.table_.sum())
    model.column_ = None
    for cells, side in (([9.0, math.nan, -6.0], 1), ([math.nan, math.nan, 0.5], 0)):
        np.testing.assert_allclose(model.predict_proba([cells])[0], model.table_[side] / model.table_[side].sum())


def test_samples_look_like_the_table_and_stay_inside_the_bounds() -> None:
    rows, labels = clouds(8000)
    model = so.GaussianBayes(5, bounds=(-4, 4), classes=LABELS, random_state=2).fit(rows, labels)
    drawn, classes = model.sample(4000, random_state=1)
    assert np.abs(drawn).max() <= 4
    assert drawn[classes == "left"].mean(axis=0) == pytest.approx(rows[labels == "left"].mean(axis=0), abs=0.2)
    assert np.mean(classes == "left") == pytest.approx(0.5, abs=0.05)
    assert np.array_equal(model.sample(5, random_state=3)[0], model.sample(5, random_state=3)[0])
    for bad in (0, -1, 2.5, True):
        with pytest.raises(ParameterError, match="sample"):
            model.sample(bad)  # type: ignore[arg-type]


# ---- what is spent ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbours", ["add-remove", "substitute"])
def test_no_shape_and_no_budget_spends_more_than_was_asked(neighbours: str, delta: float) -> None:
    """Random shapes, with no ledger, and with one that has a pure lane or none; a ledger refuses what is too much."""
    generator = np.random.default_rng(7)
    for _ in range(6):
        rows, dimension = int(generator.integers(0, 3000)), int(generator.integers(1, 9))
        epsilon = round(float(10 ** generator.uniform(-2, 1.5)), 3)
        table, labels = clouds(rows, dimension, seed=int(generator.integers(100)))
        for make, budget in itertools.product(MODELS, ("none", "lane", "shared")):
            ledger = None
            if budget == "lane" and delta:
                ledger = so.Ledger(epsilon=2 * epsilon, delta=delta, pure=epsilon)
            elif budget != "none":
                ledger = so.Ledger(epsilon=epsilon, delta=delta)
            facts: dict[str, Any] = {"bounds": (-20, 20), "classes": LABELS, "neighbours": neighbours}
            model = make(epsilon, delta, ledger=ledger, **facts).fit(table, labels)
            assert model.receipt_.cost.within(Cost.of(epsilon, delta))
            assert model.receipt_.private


def test_a_choice_needs_twice_the_noise_under_substitute() -> None:
    rows, labels = clouds(3000)
    scales = {}
    for neighbours in ("add-remove", "substitute"):
        facts: dict[str, Any] = {"bounds": (-20, 20), "classes": LABELS, "neighbours": neighbours}
        model = so.ThresholdRule(1, random_state=0, **facts).fit(rows, labels)
        scales[neighbours] = model.receipt_.charges[0].scale
    assert scales["substitute"] == pytest.approx(2 * scales["add-remove"])


def test_with_delta_a_small_budget_is_spent_in_pure_epsilon_where_a_ledger_has_room_for_it() -> None:
    rows, labels = clouds(400)
    facts: dict[str, Any] = {"bounds": (-20, 20), "classes": LABELS}
    alone = so.PrivateClassifier(0.1, 1e-6, **facts).fit(rows, labels)
    assert alone.receipt_.cost.rho == 0
    assert alone.receipt_.cost.epsilon <= Cost.pure("0.1").epsilon
    shared = so.PrivateClassifier(0.1, 1e-6, ledger=so.Ledger(epsilon="0.1", delta="1e-6"), **facts).fit(rows, labels)
    assert shared.receipt_.cost.epsilon == 0
    assert shared.receipt_.cost.rho <= Cost.of("0.1", 1e-6).rho


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("make", [so.GaussianBayes, so.PrivateClassifier])
def test_a_fit_that_a_ledger_cannot_pay_whole_is_refused_before_its_first_step(make: Any, delta: float) -> None:
    rows, labels = clouds(400)
    ledger = so.Ledger(epsilon=1, delta=delta)
    model = make(0.8, delta, bounds=(-20, 20), classes=LABELS, ledger=ledger)
    model.fit(rows, labels)
    entries, spent = len(ledger.entries()), ledger.spent
    with pytest.raises(BudgetError):
        model.fit(rows, labels)
    assert (len(ledger.entries()), ledger.spent) == (entries, spent)


@pytest.mark.parametrize("make", [so.GaussianBayes, so.PrivateClassifier])
def test_a_fit_in_both_lanes_is_refused_before_its_first_step_where_one_has_no_room(make: Any) -> None:
    rows, labels = clouds(400)
    spent = so.Ledger(epsilon=2, delta=1e-6, pure=1)
    spent.charge([("all of the rho lane", Cost.concentrated(spent.remaining.rho), {})])
    for ledger in (spent, so.Ledger(epsilon=2)):
        entries = len(ledger.entries())
        with pytest.raises(BudgetError):
            make(1, 1e-6, bounds=(-20, 20), classes=LABELS, ledger=ledger).fit(rows, labels)
        assert len(ledger.entries()) == entries


def test_more_columns_than_can_be_fitted_are_refused_before_anything_is_paid() -> None:
    many = np.zeros((10, 2049))
    classes = list(range(60))
    for make, rows in ((so.GaussianBayes, many), (so.PrivateClassifier, many), (so.PrivateClassifier, many[:, :40])):
        ledger = so.Ledger(epsilon=1)
        with pytest.raises(ParameterError):
            make(1, bounds=(-1, 1), classes=classes, ledger=ledger).fit(rows, np.zeros(10, int))
        assert ledger.entries() == []


# ---- odd input --------------------------------------------------------------------------------------------------


def odd_tables() -> dict[str, tuple[np.ndarray, np.ndarray, Any]]:
    rows, labels = clouds(1200)
    lonely = labels.copy()
    lonely[:] = "left"
    one = lonely.copy()
    one[0] = "right"
    constant = rows.copy()
    constant[:, 1] = 1.5
    scaled = rows * [1e-9, 1.0, 1e9]
    holes = rows.copy()
    holes[::3, 0] = np.nan
    limits = np.array([1e-8, 10, 1e10])
    return {
        "a class with one row": (rows, one, (-10, 10)),
        "a class with none": (rows, lonely, (-10, 10)),
        "more columns than rows": (*clouds(12, 40), (-10, 10)),
        "a constant column": (constant, labels, (-10, 10)),
        "duplicated columns": (np.hstack([rows, rows, rows]), labels, (-10, 10)),
        "columns on scales far apart": (scaled, labels, (-limits, limits)),
        "scales far apart in one box": (scaled, labels, (-1e10, 1e10)),
        "a box a thousand times too wide": (rows, labels, (-10_000, 10_000)),
        "missing cells": (holes, labels, (-10, 10)),
        "nothing but missing cells": (np.full((50, 2), np.nan), labels[:50], (-10, 10)),
    }


@pytest.mark.parametrize("name", odd_tables())
@pytest.mark.parametrize("make", MODELS)
def test_odd_tables_are_no_error_and_end_in_probabilities(make: Any, name: str) -> None:
    rows, labels, bounds = odd_tables()[name]
    for epsilon, delta in ((0.01, 0), (1, 1e-6), (100, 0)):
        model = make(epsilon, delta, bounds=bounds, classes=LABELS, random_state=1).fit(rows, labels)
        chances = model.predict_proba(rows[:20])
        assert np.isfinite(chances).all()
        assert chances.sum(axis=1) == pytest.approx(1)
    if name in ("duplicated columns", "columns on scales far apart", "a constant column"):
        assert model.score(rows, labels) > 0.8


def test_private_ranges_save_what_a_wide_box_costs() -> None:
    """The same cloud in a box a hundred times too wide; declared ranges are the twin that must do worse."""
    rows, labels = clouds(4000, 4)
    tests, wanted = clouds(2000, 4, seed=5)
    facts: dict[str, Any] = {"bounds": (-600, 600), "classes": LABELS, "random_state": 3}
    bought = so.GaussianBayes(1, **facts).fit(rows, labels).score(tests, wanted)
    declared = so.GaussianBayes(1, ranges="declared", **facts).fit(rows, labels).score(tests, wanted)
    assert bought > 0.95
    assert declared < bought - 0.02


def test_words_that_are_not_known_are_refused() -> None:
    rows, labels = clouds(20)
    for given in ({"covariance": "round"}, {"ranges": "peeked"}):
        with pytest.raises(ParameterError, match=next(iter(given))):
            so.GaussianBayes(bounds=(0, 1), classes=LABELS, **given).fit(rows, labels)  # type: ignore[arg-type]
