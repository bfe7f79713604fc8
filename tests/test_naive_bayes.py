"""Naive Bayes: against scikit-learn without noise, in every form of input, on odd input, and what it pays for."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.naive_bayes import CategoricalNB

import sordino as so
from sordino import SordinoError
from sordino.datasets import nursery
from sordino.errors import DomainError, ParameterError, TableError
from sordino.release import DiscreteGaussian, DiscreteLaplace, Law, NoNoise
from sordino.repair.class_tables import CLASS_ESTIMATORS, log_probabilities

COLOURS, SIZES, KINDS = ["red", "blue", "green"], [5, 6], ["berry", "sea", "moss"]
FEATURES = {"colour": so.Category(COLOURS), "size": so.Category(SIZES), "weight": so.Real(0, 10)}
DOMAIN = so.Domain({**FEATURES, "kind": so.Category(KINDS)})
BINS = {"weight": [0, 2, 5, 10]}

GENERATOR = np.random.default_rng(7)
KIND = GENERATOR.integers(3, size=600)
COLOUR = np.where(GENERATOR.random(600) < 0.7, KIND, GENERATOR.integers(3, size=600))
SIZE = GENERATOR.integers(2, size=600)
WEIGHT = np.round(np.clip(GENERATOR.normal(2 + 3 * KIND, 2), -1, 12), 3)
CELLS = {"colour": np.array(COLOURS)[COLOUR], "size": np.array(SIZES)[SIZE], "weight": WEIGHT}
LABELS = np.array(KINDS)[KIND]

every_estimator = pytest.mark.parametrize("estimator", CLASS_ESTIMATORS)


def frame() -> pd.DataFrame:
    return pd.DataFrame(CELLS)


def named(rows: list[list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(CELLS))


def exact(**given: Any) -> so.NaiveBayes:
    """A model without noise."""
    return so.NaiveBayes(**{"epsilon": math.inf, "domain": DOMAIN, "bins": BINS, "random_state": 0, **given})


def counted(cells: np.ndarray, sizes: int) -> np.ndarray:
    return np.array([np.bincount(cells[kind == KIND], minlength=sizes) for kind in range(3)])


# --- against scikit-learn


@every_estimator
def test_without_noise_it_is_the_naive_bayes_of_scikit_learn(estimator: str) -> None:
    """Laplace's rule, alpha = 1, for cells and for classes."""
    table = nursery.load_nursery()
    codes = np.column_stack(
        [np.array(list(map(column.values.index, table[name].to_pylist()))) for name, column in nursery.COLUMNS.items()]
    )
    X, y = codes[:, :-1], codes[:, -1]
    domain = so.Domain({name: so.Category(range(len(column.values))) for name, column in nursery.COLUMNS.items()})
    ours = so.NaiveBayes(math.inf, domain=domain, estimator=estimator, random_state=0).fit(X, y)
    priors = (np.bincount(y) + 1) / (len(y) + 5)
    theirs = CategoricalNB(alpha=1, class_prior=priors).fit(X, y)
    for found, expected in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_counts_without_noise_are_those_of_a_direct_count() -> None:
    model = exact().fit(frame(), LABELS)
    cut = np.digitize(np.clip(WEIGHT, 0, 10), BINS["weight"][1:-1])
    expected = [counted(COLOUR, 3), counted(SIZE, 2), counted(cut, 3)]
    for found, counts in zip(model.counts_, expected, strict=True):
        np.testing.assert_array_equal(found, counts)


# --- forms of input


def test_codes_text_frames_and_a_table_give_the_same_model() -> None:
    columns = {**CELLS, "kind": LABELS}
    arrow = pa.table(columns)
    matrix = np.column_stack([np.asarray(each, dtype=object) for each in CELLS.values()])
    by_code = so.Domain(
        {**FEATURES, "colour": so.Category(range(3)), "kind": so.Category(range(3))}
    )  # the same table with its colours and kinds as whole numbers
    codes = np.column_stack([COLOUR, CELLS["size"], WEIGHT])
    dictionary = frame().astype({"colour": "category"})
    fits = {
        "objects": exact(epsilon=1).fit(matrix, LABELS),
        "text": exact(epsilon=1).fit(matrix.astype(str), LABELS),
        "pandas": exact(epsilon=1).fit(frame(), LABELS),
        "pandas categories": exact(epsilon=1).fit(dictionary, LABELS),
        "polars": exact(epsilon=1).fit(pl.DataFrame(CELLS), LABELS),
        "arrow": exact(epsilon=1).fit(arrow.drop_columns(["kind"]), LABELS),
        "table": so.NaiveBayes(1, bins=BINS, random_state=0).fit(so.open_table(arrow, DOMAIN), "kind"),
        "codes": exact(epsilon=1, domain=by_code).fit(codes, KIND),
    }
    for name, model in fits.items():
        for found, expected in zip(model.counts_, fits["objects"].counts_, strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=name)
    expected = fits["objects"].predict(matrix)
    np.testing.assert_array_equal(fits["table"].predict(pl.DataFrame(columns)), expected)
    np.testing.assert_array_equal(fits["pandas"].predict(dictionary), expected)
    np.testing.assert_array_equal(np.array(KINDS)[fits["codes"].predict(codes)], expected)


def test_a_saved_model_predicts_the_same_text(tmp_path: Path) -> None:
    model = exact(epsilon=1).fit(frame(), LABELS)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(so.load(tmp_path / "model.json").predict_proba(frame()), model.predict_proba(frame()))


def test_real_columns_are_cut_at_public_edges_and_clipped() -> None:
    model = exact().fit(frame(), LABELS)
    rows = [["red", 5, weight] for weight in (-40, 0, 1.99, 2, 4.99, 5, 10, 1e9)]
    cells = model.predict_proba(named(rows))
    for first, second in ((0, 1), (1, 2), (3, 4), (5, 6), (6, 7)):
        np.testing.assert_array_equal(cells[first], cells[second])
    assert not np.allclose(cells[2], cells[3])
    assert not np.allclose(cells[4], cells[5])
    assert [table.shape for table in exact(bins=4).fit(frame(), LABELS).counts_] == [(3, 3), (3, 2), (3, 4)]
    assert exact(bins=None).fit(frame(), LABELS).counts_[2].shape == (3, 16)


# --- what is paid for


def fitted(domain: so.Domain = DOMAIN, **given: Any) -> so.NaiveBayes:
    return so.NaiveBayes(epsilon=0.5, domain=domain, bins=BINS, **given).fit(frame(), LABELS)


def test_noise_grows_with_the_features_and_not_with_their_cells() -> None:
    (charge,) = fitted().receipt_.charges
    assert charge.scale == 3 / 0.5
    assert charge.sensitivity == "3 (L1)"
    other = so.Domain(DOMAIN.columns, neighbours="substitute", rows=600)
    assert fitted(other).receipt_.charges[0].scale == 2 * 3 / 0.5
    gaussian = fitted(delta=1e-6).receipt_.charges[0]
    assert gaussian.mechanism == "discrete Gaussian noise"
    assert gaussian.sensitivity == f"{math.sqrt(3):.6g} (L2)"
    assert fitted(other, delta=1e-6).receipt_.charges[0].scale == pytest.approx(math.sqrt(2) * gaussian.scale)


def test_a_feature_with_one_value_says_nothing_and_is_not_paid_for() -> None:
    domain = so.Domain({**DOMAIN.columns, "size": so.Category([5])})
    model = exact(epsilon=0.5, domain=domain).fit(frame(), LABELS)
    assert model.receipt_.charges[0].scale == 2 / 0.5
    assert model.informative_ == ("colour", "weight")
    assert "one value, so not paid for: size" in model.receipt_.caveats
    other = frame().assign(size=6)
    np.testing.assert_array_equal(model.predict_proba(frame()), model.predict_proba(other))


def test_without_any_informative_feature_the_class_sizes_remain() -> None:
    domain = so.Domain({"size": so.Category([5]), "kind": so.Category(KINDS)})
    model = exact(domain=domain, bins=None).fit(frame()[["size"]], LABELS)
    expected = (np.bincount(KIND) + 1) / (len(KIND) + 3)
    np.testing.assert_allclose(model.predict_proba(frame()[["size"]])[0], expected)
    assert model.feature_log_prob_ == []


def test_only_the_neighbours_that_were_declared_are_protected() -> None:
    domain = so.Domain(DOMAIN.columns, neighbours="substitute", rows=600)
    assert fitted(domain).receipt_.neighbours == "substitute"
    assert so.NaiveBayes(bounds=(0, 10), classes=KINDS, neighbours="substitute").fit(
        WEIGHT[:, None], LABELS
    ).receipt_.neighbours == ("substitute")


# --- odd input


def test_a_category_outside_the_domain_counts_nowhere_and_says_nothing() -> None:
    strange = frame()
    strange.loc[::5, "colour"] = "ultraviolet"
    model = exact().fit(strange, LABELS)
    kept = np.arange(600) % 5 > 0
    np.testing.assert_array_equal(model.counts_[0].sum(axis=1), np.bincount(KIND[kept]))
    np.testing.assert_array_equal(model.counts_[1].sum(axis=1), np.bincount(KIND))
    row, without = [["ultraviolet", 5, 3.0]], [[None, 5, math.nan]]
    shares = np.exp(model.class_log_prior_ + model.feature_log_prob_[1][:, 0])
    np.testing.assert_allclose(model.predict_proba(named(without))[0], shares / shares.sum())
    third = np.exp(model.class_log_prior_ + model.feature_log_prob_[1][:, 0] + model.feature_log_prob_[2][:, 1])
    np.testing.assert_allclose(model.predict_proba(named(row))[0], third / third.sum())


def test_an_unlisted_category_follows_the_rule_of_the_domain() -> None:
    domain = so.Domain({**DOMAIN.columns, "colour": so.Category(COLOURS, other="green")})
    model = exact(domain=domain).fit(frame().replace({"colour": {"green": "ultraviolet"}}), LABELS)
    np.testing.assert_array_equal(model.counts_[0], exact().fit(frame(), LABELS).counts_[0])
    rows = [["ultraviolet", 5, 3.0], ["green", 5, 3.0]]
    np.testing.assert_array_equal(*model.predict_proba(named(rows)))


@every_estimator
def test_a_class_never_seen_has_a_probability(estimator: str) -> None:
    domain = so.Domain({**DOMAIN.columns, "kind": so.Category([*KINDS, "dragon"])})
    for epsilon in (0.5, math.inf):
        model = exact(epsilon=epsilon, domain=domain, estimator=estimator).fit(frame(), LABELS)
        assert list(model.classes_) == [*KINDS, "dragon"]
        probabilities = model.predict_proba(frame())
        assert (probabilities > 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_an_empty_table_is_answered_without_a_complaint() -> None:
    model = fitted()
    empty = so.NaiveBayes(domain=DOMAIN, bins=BINS).fit(frame()[:0], LABELS[:0])
    assert empty.predict(frame()).shape == model.predict(frame()).shape
    np.testing.assert_allclose(empty.predict_proba(frame()).sum(axis=1), 1)


noisy_tables = st.tuples(
    arrays(np.float64, (2, 3), elements=st.integers(-(10**6), 10**6).map(float)),
    arrays(np.float64, (2, 4), elements=st.integers(-(10**6), 10**6).map(float)),
)
LAWS: tuple[Law, ...] = (DiscreteLaplace(40.0), DiscreteGaussian(40.0), NoNoise())


@every_estimator
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@settings(max_examples=25)
@given(tables=noisy_tables)
def test_any_noisy_counts_give_probabilities(estimator: str, law: Law, tables: tuple[np.ndarray, ...]) -> None:
    for counts in (tables, [np.zeros_like(table) for table in tables], [-np.abs(table) for table in tables]):
        priors, shares = log_probabilities(counts, law, estimator)
        for each in (priors, *shares):
            assert np.isfinite(each).all()
            np.testing.assert_allclose(np.exp(each).sum(axis=-1), 1)


@every_estimator
def test_repetitions_along_the_first_axis_do_not_influence_each_other(estimator: str) -> None:
    generator, law = np.random.default_rng(1), DiscreteLaplace(40.0)
    tables = [np.rint(generator.normal(60, 80, (5, 3, cells))) for cells in (2, 4)]
    priors, shares = log_probabilities(tables, law, estimator)
    for place in range(5):
        alone, each = log_probabilities([table[place] for table in tables], law, estimator)
        np.testing.assert_allclose(priors[place], alone)
        for together, by_itself in zip(shares, each, strict=True):
            np.testing.assert_allclose(together[place], by_itself)


def test_a_real_target_is_refused_by_its_name() -> None:
    domain = so.Domain({**FEATURES, "kind": so.Real(0, 2)})
    with pytest.raises(DomainError, match=r"target must be a Category\. Got 'kind', a Real"):
        exact(domain=domain).fit(frame(), KIND)
    table = so.open_table(pa.table({**CELLS, "kind": KIND}), domain)
    with pytest.raises(DomainError, match=r"target must be a Category\. Got 'kind', a Real"):
        so.NaiveBayes().fit(table, "kind")


def test_bad_parameters_are_named_before_anything_is_spent() -> None:
    ledger = so.Ledger(epsilon=1)
    for wrong, words in (
        ({"estimator": "guess"}, "estimator: must be one of smoothed, consistent"),
        ({"estimator": None}, "estimator: must be one of"),
        ({"bins": {"hue": 3}}, "bins must be for features. Got 'hue'"),
        ({"bins": {"weight": [5, 2]}}, "rising numbers"),
        ({"bins": 0}, "bins"),
    ):
        with pytest.raises(ParameterError, match=words):
            so.NaiveBayes(0.5, domain=DOMAIN, ledger=ledger, **wrong).fit(frame(), LABELS)
    assert ledger.spent.epsilon == 0


def test_columns_that_do_not_fit_their_declaration_are_refused() -> None:
    numbers = np.column_stack([COLOUR, CELLS["size"], WEIGHT])
    with pytest.raises(TableError, match="'colour' is stored as numbers but declared as Category of str"):
        exact().fit(numbers, LABELS)
    model = exact().fit(frame().to_numpy(), LABELS)
    with pytest.raises(SordinoError, match="'colour' is stored as numbers"):
        model.predict(numbers)
    with pytest.raises(ValueError, match="features"):
        model.predict(frame().to_numpy()[:, :2])


def test_no_error_shows_a_cell() -> None:
    secret = frame()
    secret.loc[3, "colour"] = "Rumpelstiltskin"
    complete = so.Domain({**DOMAIN.columns, "colour": so.Category(COLOURS, missing="reject")})
    with pytest.raises(SordinoError, match="'colour' is declared complete") as caught:
        so.NaiveBayes(domain=complete, bins=BINS).fit(secret, LABELS)
    assert "Rumpelstiltskin" not in str(caught.value)
    number = so.Domain({**DOMAIN.columns, "colour": so.Real(0, 1)})  # then no colour is a number: all are missing
    assert (so.NaiveBayes(math.inf, domain=number, random_state=0).fit(secret, LABELS).counts_[0] == 0).all()


# --- in size


def test_a_file_is_streamed_into_the_counts_that_were_written(tmp_path: Path) -> None:
    """The benchmark of ten million rows, on a few: it compares the counts bit for bit, and says so by its exit code."""
    benchmark = Path(__file__).parents[1] / "benchmarks/naive_bayes.py"
    command = [sys.executable, str(benchmark), "--rows", "20000", "--repeats", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [json.loads(line)["same counts"] for line in done.stdout.splitlines()] == [True, True]
