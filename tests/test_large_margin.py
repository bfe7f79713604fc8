"""LargeMarginMixture: what it learns, how it can be read, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sordino as so
from sordino.domain import Domain
from sordino.errors import BudgetError, NoiseError, ParameterError
from sordino.privacy.margin_losses import Softmax
from sordino.privacy.minimiser import Objective
from sordino.statistics.directions import Directions, Products
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.labels import ClassLabels, ComponentLabels
from sordino.statistics.margin_gradients import MarginGradients
from sordino.statistics.vectors import Box
from sordino.table.clipping import ClippedBatch
from sordino.table.memory import MatrixBlock

GENERATOR = np.random.default_rng(0)


def rings(rows: int = 4000, columns: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Two classes about one centre, one wide and one narrow: no plane separates them."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(2, size=rows)
    return generator.normal(size=(rows, columns)) * np.where(labels == 1, 1.0, 4.0)[:, None], labels


def blobs(rows: int = 3000, seed: int = 0) -> tuple[Any, Any]:
    """Six blobs on a line, of two classes in turn: no quadric separates them."""
    generator = np.random.default_rng(seed)
    place = generator.integers(6, size=rows)
    found = generator.normal(size=(rows, 2)) * 0.5
    found[:, 0] += 4 * (place - 2.5)
    return found, place % 2


def model(**given: Any) -> Any:
    facts = {"bounds": (-15, 15), "classes": [0, 1], "random_state": 0}
    return so.LargeMarginMixture(**{**facts, **given})


def accuracy(fitted: Any, rows: Any, labels: Any) -> float:
    return float((fitted.predict(rows) == labels).mean())


def lopsided(rows: int) -> tuple[Any, Any]:
    """Two classes in a corner of the box, so that a centre is worth its price."""
    generator = np.random.default_rng(4)
    labels = generator.integers(2, size=rows)
    return generator.normal(size=(rows, 3)) + 8 + 2 * labels[:, None], labels


# ---- what it learns --------------------------------------------------------------------------------------------------


def test_quadratic_features_see_what_linear_ones_cannot() -> None:
    rows, labels = rings()
    assert accuracy(model(epsilon=1, delta=1e-5).fit(rows, labels), rows, labels) > 0.85
    assert accuracy(model(epsilon=1, delta=1e-5, features="linear").fit(rows, labels), rows, labels) < 0.7


def test_features_are_chosen_by_the_kind_of_noise_alone() -> None:
    rows, labels = rings(200)
    for delta, quadratic in ((0, False), (1e-6, True)):
        assert model(delta=delta).fit(rows, labels).quadratic_ is quadratic
        assert model(delta=delta).fit(rows[:3], labels[:3]).quadratic_ is quadratic


def test_components_separate_what_one_form_cannot() -> None:
    rows, labels = blobs()
    tests, truth = blobs(1000, 1)
    assert accuracy(model(epsilon=3, delta=1e-5).fit(rows, labels), tests, truth) < 0.75
    bought = model(epsilon=3, delta=1e-5, components=3).fit(rows, labels)
    assert accuracy(bought, tests, truth) > 0.95
    centres = np.zeros((2, 3, 2))
    centres[:, :, 0] = [[-10, -2, 6], [-6, 2, 10]]
    public = model(epsilon=3, delta=1e-5, components=3, centres=centres).fit(rows, labels)
    assert accuracy(public, tests, truth) > 0.97
    for fitted, paid in ((bought, True), (public, False)):
        assert any("by target" in charge.statistic for charge in fitted.receipt_.charges) is paid


@pytest.mark.parametrize("delta", [0, 1e-5])
def test_gradient_descent_finds_about_the_same_and_is_exact(delta: float) -> None:
    rows, labels = rings(6000)
    rows[:, 0] += 3 * labels
    fitted = model(epsilon=4, delta=delta, solver="gradient-descent", rounds=30).fit(rows, labels)
    assert (
        accuracy(fitted, rows, labels) > accuracy(model(epsilon=4, delta=delta).fit(rows, labels), rows, labels) - 0.05
    )
    assert not any("idealised" in caveat for caveat in fitted.receipt_.caveats)
    assert sum("gradients" in charge.statistic for charge in fitted.receipt_.charges) == 30


def test_huber_losses_learn_too() -> None:
    rows, labels = rings()
    assert accuracy(model(epsilon=2, delta=1e-5, loss="huber").fit(rows, labels), rows, labels) > 0.8


@pytest.mark.parametrize("spoiled", ["constant", "scales", "one of a class", "few", "one class"])
def test_hostile_tables_give_a_model(spoiled: str) -> None:
    rows, labels = rings(400)
    low, high = np.full(2, -15.0), np.full(2, 15.0)
    classes = [0, 1]
    if spoiled == "constant":
        rows[:, 1] = 3.0
    elif spoiled == "scales":
        rows[:, 1] *= 1e9
        low[1], high[1] = -15e9, 15e9
    elif spoiled == "one of a class":
        labels = (np.arange(400) == 7).astype(int)
    elif spoiled == "few":
        rows, labels = rows[:3], labels[:3]
    else:
        labels, classes = np.zeros(400, dtype=int), [0]
    for given in ({}, {"delta": 1e-6, "components": 2}, {"solver": "gradient-descent", "rounds": 3}):
        fitted = model(bounds=(low, high), classes=classes, **given).fit(rows, labels)
        assert np.isfinite(fitted.predict_proba(rows)).all()
        assert np.isfinite(fitted.matrices_).all()
    if spoiled == "scales":
        plain = model(epsilon=8).fit(rings(400)[0], labels)
        scaled = model(epsilon=8, bounds=(low, high)).fit(rows, labels)
        np.testing.assert_allclose(plain.weights_, scaled.weights_, atol=1e-3)


# ---- how it is read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["linear", "quadratic"])
@pytest.mark.parametrize("projection", [None, 2])
def test_gaussians_decide_as_the_weights_do_and_are_positive_semidefinite(features: str, projection: Any) -> None:
    rows, labels = rings(1500, 3)
    rows[:, 0] += 2 * labels
    fitted = model(epsilon=3, delta=1e-5, features=features, projection=projection).fit(rows, labels)
    for matrices in fitted.matrices_:
        assert (np.linalg.eigvalsh(matrices) > 0).all()
    places = rows if projection is None else (rows / 15) @ fitted.projection_
    gaps = places[:, None, None, :] - fitted.centroids_
    forms = np.einsum("nckd,ckde,ncke->nck", gaps, fitted.inverse_covariances_, gaps) + fitted.offsets_
    np.testing.assert_array_equal(fitted.classes_[forms.min(axis=2).argmin(axis=1)], fitted.predict(rows))
    apart = float(np.ptp(fitted.inverse_covariances_, axis=0).max())
    assert (apart < 1e-9) == (features == "linear")


@pytest.mark.parametrize("delta", [0, 1e-5])
@pytest.mark.parametrize("projection", [None, [[1, 0.5], [0, 1], [0.2, 0]]])
def test_a_column_that_is_left_out_adds_nothing_as_seen_from_the_centre(projection: Any, delta: float) -> None:
    """Twin: the middle of the box, where no record is, says something else."""
    rows, labels = lopsided(5000)
    fitted = model(epsilon=5, delta=delta, projection=projection).fit(rows, labels)
    assert fitted.centre_ is not None
    of_nobody = np.exp(fitted.weights_[:, -1])
    nothing = np.full((1, 3), math.nan)
    np.testing.assert_allclose(fitted.predict_proba(nothing)[0], of_nobody / of_nobody.sum())
    assert np.abs(fitted.predict_proba(nothing) - fitted.predict_proba(np.zeros((1, 3)))).max() > 0.01
    holed = rows[:1000].copy()
    holed[:, 1] = math.nan
    assert accuracy(fitted, holed, labels[:1000]) > accuracy(fitted, np.nan_to_num(holed), labels[:1000]) + 0.1


def test_probabilities_are_those_of_the_scores() -> None:
    rows, labels = rings(800)
    probabilities = model(epsilon=3).fit(rows, labels).predict_proba(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


# ---- exact parts -----------------------------------------------------------------------------------------------------


def test_margin_gradients_are_those_in_floats() -> None:
    domain = Domain({"a": so.Real(-15, 15), "b": so.Real(-15, 15), "y": so.Category([0, 1, 2])})
    rows = np.column_stack([GENERATOR.normal(size=(300, 2)) * 5, GENERATOR.integers(3, size=300)])
    batch = ClippedBatch(domain, MatrixBlock(rows, ("a", "b", "y")))
    labels = ClassLabels(CategoryAxis.of(domain, "y"))
    for of in (Directions(Box(("a", "b")), 0.7), Products(Directions(Box(("a", "b")), 0.7))):
        weights = GENERATOR.normal(size=(3, len(of.columns)))
        asked = MarginGradients(of, labels, tuple(map(tuple, weights.tolist())))
        features = of.vectors(batch)[0] / of.steps

        class Blocks:
            in_memory, exact_records, size = True, 300, features.shape[1]

            def __iter__(self, features: Any = features) -> Any:
                yield features, rows[:, 2].astype(int)

        objective = Objective(Blocks(), Softmax(3), 0.0, np.zeros_like(weights))
        np.testing.assert_allclose(
            asked.block_total(batch) / asked.unit, objective.gradient(weights).ravel(), atol=300 * 3 * 2.0**-16
        )
        np.testing.assert_array_equal(asked.record_maps(batch).sum(axis=0), asked.block_total(batch))


def test_components_are_the_nearest_centres_of_their_class() -> None:
    domain = Domain({"a": so.Real(-1, 1), "b": so.Real(-1, 1), "y": so.Category([0, 1])})
    rows = np.column_stack([GENERATOR.uniform(-1, 1, size=(500, 2)), GENERATOR.integers(2, size=500)])
    centres = GENERATOR.uniform(-1, 1, size=(2, 4, 2))
    labels = ComponentLabels(
        CategoryAxis.of(domain, "y"), Box(("a", "b")), tuple(tuple(map(tuple, e)) for e in centres.tolist())
    )
    found = labels.codes(ClippedBatch(domain, MatrixBlock(rows, ("a", "b", "y"))))
    own = rows[:, 2].astype(int)
    nearest = ((rows[:, None, :2] - centres[own]) ** 2).sum(axis=2).argmin(axis=1)
    assert (found == 4 * own + nearest).mean() > 0.999
    assert labels.cells == 8


# ---- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"features": "cubic"}, "features must be"),
        ({"loss": "hinge"}, "loss must be"),
        ({"components": 0}, "components must be"),
        ({"components": True}, "components must be"),
        ({"components": 2, "centres": [[1.0]]}, "centres must be an array of 2 classes"),
        ({"solver": "newton"}, "solver must be"),
        ({"solver": "gradient-descent", "loss": "huber"}, "softmax"),
        ({"rounds": 0}, "rounds must be"),
        ({"ridge": 0.01}, r"Write ridge="),
        ({"ridge": -1}, "ridge"),
        ({"projection": 5}, "projection must be from 1 to 2"),
        ({"projection": [[1.0]]}, "projection must be"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(given: dict[str, Any], said: str) -> None:
    rows, labels = rings(50)
    ledger = so.Ledger(epsilon=1)
    with pytest.raises(ParameterError, match=said) as caught:
        model(ledger=ledger, **given).fit(rows, labels)
    assert "\n" not in str(caught.value)
    assert ledger.entries() == []


def test_the_smallest_ridge_that_is_told_is_allowed() -> None:
    rows, labels = rings(50)
    for given in ({}, {"delta": 1e-6}, {"loss": "huber"}, {"neighbours": "substitute"}):
        with pytest.raises(ParameterError, match="ridge: too small") as caught:
            model(ridge=1e-6, **given).fit(rows, labels)
        smallest = float(str(caught.value).split("ridge=")[1].split()[0])
        assert model(ridge=smallest, **given).fit(rows, labels).ridge_ == smallest


def test_a_spent_ledger_refuses_and_a_fit_within_it_is_charged_at_its_order() -> None:
    rows, labels = rings(300)
    ledger = so.Ledger(epsilon=1, delta=1e-5)
    fitted = so.LargeMarginMixture(1, 1e-5, bounds=(-15, 15), classes=[0, 1], ledger=ledger).fit(rows, labels)
    assert [charge.cost.order for charge in fitted.receipt_.charges][-1] == ledger.order
    assert fitted.receipt_.cost.rho <= ledger.rho
    assert math.isclose(float(ledger.spent.rho), float(ledger.rho), rel_tol=1e-9)
    with pytest.raises(BudgetError):
        so.LargeMarginMixture(1, 1e-5, bounds=(-15, 15), classes=[0, 1], ledger=ledger).fit(rows, labels)


def test_a_ledger_whose_order_is_too_low_refuses_before_anything_is_charged() -> None:
    rows, labels = rings(300)
    ledger = so.Ledger(epsilon=20, delta=1e-5)
    given = {"classes": list(range(12)), "bounds": (-15, 15), "ledger": ledger}
    with pytest.raises(NoiseError, match="delta=0"):
        so.LargeMarginMixture(0.05, 1e-5, **given).fit(rows, labels)
    assert ledger.entries() == []
    assert so.LargeMarginMixture(0.05, **given).fit(rows, labels).receipt_.private
