"""The laws that every estimator keeps, run over ``estimators.ESTIMATORS``."""

from __future__ import annotations

import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import EstimatorCheckFailedWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import sordino as so
from estimators import ESTIMATORS, EXCUSED, EXCUSED_ALONE
from sordino.errors import BudgetError, DomainError, LedgerError, ModelError, ParameterError
from sordino.models import saved
from sordino.models.estimator import Opening
from sordino.privacy.price import Question
from sordino.statistics.by_class import ByClass
from sordino.statistics.count import Count
from sordino.statistics.histograms import CategoryAxis

GENERATOR = np.random.default_rng(5)
ROWS = np.vstack([GENERATOR.normal(-2, 1, (40, 3)), GENERATOR.normal(2, 1, (40, 3))])
LABELS = np.repeat(["left", "right"], 40)
CLASSES = ["left", "right"]
COLUMNS = ("x0", "x1", "x2")
FEATURES = so.Domain({name: so.Real(-10, 10) for name in COLUMNS})
DOMAIN = so.Domain({**{name: so.Real(-10, 10) for name in COLUMNS}, "target": so.Category(CLASSES)})

every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def declared(name: str, **given: Any) -> Any:
    """An estimator with public facts about ``ROWS``."""
    make = ESTIMATORS[name]
    facts: dict[str, Any] = {"bounds": (-10, 10)}
    if make().learns_classes:
        facts["classes"] = CLASSES
    return make(**{**facts, **given})


def fitted(name: str, rows: Any = ROWS, labels: Any = LABELS, **given: Any) -> Any:
    estimator = declared(name, **given)
    return estimator.fit(rows, labels if estimator.needs_target else None)


def table(ledger: Any = None) -> so.PrivateTable:
    columns = {name: ROWS[:, place] for place, name in enumerate(COLUMNS)}
    return so.open_table(pa.table({**columns, "target": LABELS}), DOMAIN, ledger=ledger)


def learned(estimator: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(estimator).items() if key.endswith("_") and key != "receipt_"}


def assert_same(first: Any, second: Any) -> None:
    assert learned(first).keys() == learned(second).keys()
    for key, value in learned(first).items():
        np.testing.assert_equal(value, learned(second)[key], err_msg=key)


@every_estimator
@pytest.mark.filterwarnings("ignore")
def test_estimator_passes_the_checks_of_scikit_learn(name: str) -> None:
    estimator = ESTIMATORS[name](epsilon=1e4, bounds=(-100, 100), random_state=0)
    if estimator.learns_classes:
        estimator.set_params(classes="observed")
    excused = {**EXCUSED, **EXCUSED_ALONE.get(name, {})}
    found = check_estimator(estimator, expected_failed_checks=excused, on_fail=None, on_skip=None)
    failed = {each["check_name"]: repr(each["exception"]) for each in found if each["status"] == "failed"}
    assert failed == {}


@every_estimator
def test_excuses_are_needed(name: str) -> None:
    alone = EXCUSED_ALONE.get(name, {})
    if not alone:
        return
    estimator = ESTIMATORS[name](epsilon=1e4, bounds=(-100, 100), random_state=0)
    if estimator.learns_classes:
        estimator.set_params(classes="observed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimatorCheckFailedWarning)
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, expected_failed_checks=alone, on_fail=None, on_skip=None)
    assert {each["check_name"] for each in found if each["status"] == "xfail"} == set(alone)


@every_estimator
def test_bare_estimator_refuses_to_fit_and_shows_the_line_to_write(name: str) -> None:
    with pytest.raises(DomainError, match=r"bounds=\(LOW, HIGH\)"):
        ESTIMATORS[name]().fit(ROWS, LABELS)
    if ESTIMATORS[name]().learns_classes:
        with pytest.raises(DomainError, match="classes=\\["):
            ESTIMATORS[name](bounds=(-10, 10)).fit(ROWS, LABELS)


@every_estimator
def test_a_table_and_arrays_give_the_same_model(name: str) -> None:
    estimator = ESTIMATORS[name](random_state=3)
    whole = table() if estimator.needs_target else so.open_table(ROWS, FEATURES, columns=COLUMNS)
    from_table = estimator.fit(whole, "target" if estimator.needs_target else None)
    assert_same(from_table, fitted(name, pd.DataFrame(ROWS, columns=COLUMNS), random_state=3))


@every_estimator
def test_a_frame_with_more_columns_is_read_by_name(name: str) -> None:
    model = fitted(name, pd.DataFrame(ROWS, columns=COLUMNS), random_state=3)
    if not hasattr(model, "predict"):
        return
    more = {"id": np.arange(len(ROWS)), **dict(zip(COLUMNS, ROWS.T, strict=True)), "target": LABELS}
    expected = model.predict(pd.DataFrame(ROWS, columns=COLUMNS))
    for frame in (pd.DataFrame(more), pa.table(more), pl.DataFrame(more)):
        np.testing.assert_array_equal(model.predict(frame), expected)


@every_estimator
def test_receipt_states_what_was_asked_and_no_more_is_spent(name: str) -> None:
    for delta in (0, 1e-6):
        ledger = so.Ledger(epsilon=1, delta=delta)
        model = fitted(name, epsilon=1, delta=delta, ledger=ledger)
        spent = so.Cost.of(1, delta)
        assert model.receipt_.private
        if delta == 0:
            assert model.receipt_.cost.epsilon <= 1
            assert model.receipt_.cost.rho == 0
            assert ledger.spent.epsilon <= spent.epsilon
        else:
            assert model.receipt_.cost.stated == spent.stated
        assert all(charge.entry is not None for charge in model.receipt_.charges)
        assert "not part of any budget" not in model.receipt_.caveats


@every_estimator
def test_a_spent_ledger_refuses_a_second_fit_and_a_clone(name: str) -> None:
    ledger = so.Ledger(epsilon=1)
    model = fitted(name, epsilon=0.9, ledger=ledger)
    with pytest.raises(BudgetError):
        fitted(name, epsilon=0.9, ledger=ledger)
    again = clone(model)
    with pytest.raises(BudgetError):
        again.fit(ROWS, LABELS if again.needs_target else None)


def _refused(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"ledger": so.Ledger(epsilon="1/8")}


def _interrupted(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """When all is learned, and the receipt alone is missing."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Opening, "receipt", stop)
    return {"ledger": None}


@pytest.mark.parametrize("fails", [_refused, _interrupted])
@every_estimator
def test_a_fit_that_fails_leaves_the_model_and_the_receipt_of_the_fit_before(
    name: str, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else numbers of the second table would be saved with the price of the first, read in bounds of the second."""
    model = fitted(name, epsilon=0.5)
    before = dict(vars(model))
    model.set_params(bounds=(100, 120), **fails(name, monkeypatch))
    asked = vars(model).copy()
    with pytest.raises((BudgetError, KeyboardInterrupt)):
        model.fit(ROWS[:, :2] + 110, LABELS if model.needs_target else None)
    assert vars(model).keys() == asked.keys() == before.keys()
    assert all(vars(model)[key] is asked[key] for key in asked)
    assert model.receipt_ is before["receipt_"]


@every_estimator
def test_without_a_ledger_the_receipt_says_so(name: str) -> None:
    assert "not part of any budget" in fitted(name).receipt_.caveats


@every_estimator
def test_seeded_noise_and_observed_classes_are_not_private(name: str) -> None:
    assert not fitted(name, random_state=0).receipt_.private
    if ESTIMATORS[name]().learns_classes:
        receipt = fitted(name, classes="observed").receipt_
        assert not receipt.private
        assert any("classes" in caveat for caveat in receipt.caveats)


@every_estimator
def test_infinite_epsilon_needs_a_seed_and_no_ledger(name: str) -> None:
    assert fitted(name, epsilon=math.inf, random_state=0).receipt_.cost.infinite
    with pytest.raises(ParameterError, match="infinity"):
        fitted(name, epsilon=math.inf)
    with pytest.raises(ParameterError, match="infinity"):
        fitted(name, epsilon=math.inf, random_state=0, ledger=so.Ledger(epsilon=1))


@every_estimator
def test_a_saved_model_is_plain_json_and_comes_back_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "ESTIMATORS", {"MostFrequent": "estimators", **saved.ESTIMATORS})
    model = fitted(name, epsilon=2, delta=1e-6)
    model.save(tmp_path / "model.json")
    json.loads((tmp_path / "model.json").read_text())
    again = so.load(tmp_path / "model.json")
    assert_same(model, again)
    assert again.receipt_.to_dict() == model.receipt_.to_dict()
    assert str(again.receipt_) == str(model.receipt_)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(model.predict(ROWS), again.predict(ROWS))
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


@every_estimator
def test_missing_cells_unknown_labels_and_an_empty_table_are_no_error(name: str) -> None:
    holed = ROWS.copy()
    holed[::7, 1] = np.nan
    holed[3, 0], holed[4, 2] = np.inf, -1e308
    strange = np.where(np.arange(len(LABELS)) == 5, "nobody", LABELS.astype("U10"))
    assert fitted(name, holed, strange).receipt_.private
    assert fitted(name, ROWS[:0], LABELS[:0]).receipt_.private


@every_estimator
def test_a_column_that_is_no_number_counts_as_missing(name: str) -> None:
    cells = ROWS.astype(object)
    cells[0, 0], cells[1, 1] = "a private word", {"a": "mapping"}
    holed = ROWS.copy()
    holed[0, 0], holed[1, 1] = np.nan, np.nan
    assert_same(fitted(name, cells, random_state=1), fitted(name, holed, random_state=1))


# --- test rows: one rule for what they lack

ANSWERS = ("score_samples", "predict_proba", "transform", "predict")

#: What each model says of a row without any cell: every column is left out, and what is known of nobody is left.
OF_NOBODY: dict[str, Any] = {
    "LargeMarginMixture": lambda model: _shares(model.weights_[:, -1]),
    "MostFrequent": lambda model: _shares(np.log(model.counts_)),
    "GaussianBayes": lambda model: model.class_prior_,
    "GaussianMixture": lambda model: 0.0,
    "GradientEM": lambda model: 0,
    "NaiveBayes": lambda model: np.exp(model.class_log_prior_),
    "PrivateClassifier": lambda model: (
        model.table_.sum(axis=0) / model.table_.sum() if model.class_prior_ is None else model.class_prior_
    ),
    "RONGauss": lambda model: model.centre_,
    "ThresholdRule": lambda model: model.table_.sum(axis=0) / model.table_.sum(),
}


def _shares(logarithms: np.ndarray) -> np.ndarray:
    return np.exp(logarithms) / np.exp(logarithms).sum()


def answers(model: Any, rows: Any) -> Any:
    """What a model says of test rows, in the most telling of its ways."""
    return getattr(model, next(way for way in ANSWERS if hasattr(model, way)))(rows)


def fitted_with(name: str, column: so.Real, **given: Any) -> Any:
    """A model of ``ROWS`` whose column x1 is declared so."""
    domain = so.Domain({**FEATURES.columns, "x1": column})
    return fitted(name, bounds=None, domain=domain, epsilon=5, random_state=1, **given)


every_reader = pytest.mark.parametrize("name", OF_NOBODY)


def test_every_estimator_that_reads_test_rows_keeps_the_rule_for_missing_cells() -> None:
    assert set(OF_NOBODY) == {name for name, make in ESTIMATORS.items() if any(hasattr(make, way) for way in ANSWERS)}


@every_reader
@pytest.mark.parametrize("delta", [0, 1e-3])
def test_a_missing_cell_of_a_test_row_leaves_its_column_out(name: str, delta: float) -> None:
    """However it is written, and without a word on other rows; nothing at all leaves what is known of nobody."""
    model = fitted_with(name, so.Real(-10, 10), delta=delta)
    holed = ROWS.copy()
    holed[::2, 1] = np.nan
    expected = answers(model, holed)
    np.testing.assert_allclose(expected[1::2], answers(model, ROWS)[1::2], rtol=1e-12)
    odd = holed.astype(object)
    odd[0, 1], odd[2, 1], odd[4, 1], odd[6, 1] = None, pd.NA, "n/a", {}
    masked = np.ma.MaskedArray(ROWS, mask=np.isnan(holed))
    for rows in (odd, masked, odd.tolist()):
        np.testing.assert_allclose(answers(model, rows), expected, rtol=1e-12)
    nobody = answers(model, np.full((2, 3), np.nan))
    np.testing.assert_allclose(nobody, np.broadcast_to(OF_NOBODY[name](model), nobody.shape), atol=1e-12)


@every_reader
def test_a_replacement_stands_in_for_a_missing_cell_of_a_test_row(name: str) -> None:
    model, holed, filled = fitted_with(name, so.Real(-10, 10, missing=9.0)), ROWS.copy(), ROWS.copy()
    holed[:, 1], filled[:, 1] = np.nan, 9.0
    np.testing.assert_array_equal(answers(model, holed), answers(model, filled))


@every_reader
def test_a_test_row_that_lacks_what_is_declared_complete_is_refused_by_the_name_of_the_column(name: str) -> None:
    model, holed = fitted_with(name, so.Real(-10, 10, missing="reject")), ROWS.copy()
    answers(model, holed)
    holed[3, 1] = np.nan
    words = rf"{type(model).__name__}: column 'x1' is declared complete .*Fill the cell in, or leave the row out"
    with pytest.raises(ParameterError, match=words):
        answers(model, holed)


@every_reader
def test_test_rows_are_clipped_as_records_are(name: str) -> None:
    model = fitted_with(name, so.Real(-10, 10))
    np.testing.assert_array_equal(answers(model, [[1, math.inf, -1e300]]), answers(model, [[1, 10, -10]]))


@every_estimator
def test_bad_arguments_are_named(name: str) -> None:
    for bounds in ((1, 1), (2, 1), (0, math.inf), (math.nan, 1), 3, ([0, 0], [1, 1]), ("a", "b")):
        with pytest.raises((DomainError, ParameterError), match="bounds"):
            fitted(name, bounds=bounds)
    for epsilon in (0, -1, math.nan, "much", None):
        with pytest.raises(ParameterError, match="epsilon"):
            fitted(name, epsilon=epsilon)
    with pytest.raises(ParameterError, match="delta"):
        fitted(name, delta=1)


@every_estimator
def test_kinds_that_are_wrong_are_named(name: str) -> None:
    with pytest.raises(ParameterError, match=r"domain must be a Domain, or None\. Got dict"):
        fitted(name, bounds=None, domain={"x0": (0, 1)})
    with pytest.raises(ParameterError, match=r"ledger: must be a Ledger\. Got int"):
        fitted(name, ledger=1)
    if ESTIMATORS[name]().learns_classes:
        for classes in ([], [0, 0], [0.5, 1], [None, 1], ["a", 1]):
            with pytest.raises(DomainError, match=rf"{declared(name).__class__.__name__}: classes: Category: "):
                fitted(name, classes=classes)


@every_estimator
def test_what_is_not_fitted_says_so(name: str) -> None:
    asked = {
        "predict": lambda model: model.predict(ROWS),
        "sample": lambda model: model.sample(3),
        "rule": lambda model: model.rule,
        "record_map": lambda model: model.record_map,
    }
    for way, ask in asked.items():
        if hasattr(ESTIMATORS[name], way):
            with pytest.raises(NotFittedError):
                ask(declared(name))


@every_estimator
def test_refused_arrays_are_refused_without_a_word_on_how_many_rows_there_are(name: str) -> None:
    """What numpy and scikit-learn say quotes the shape, and the number of rows is private."""
    odd_rows = ([*ROWS.tolist(), [0.0]], ROWS[:, 0], ROWS[:, :, None], np.zeros((80, 0)))
    odd_labels = (np.zeros((80, 2)), np.zeros((80, 1, 1)), LABELS[1:])
    wrong = [(rows, LABELS) for rows in odd_rows]
    wrong += [(ROWS, labels) for labels in odd_labels] if declared(name).needs_target else []
    for rows, labels in wrong:
        with pytest.raises(ParameterError) as caught:
            fitted(name, rows, labels)
        assert not {"79", "80", "81"} & set(re.findall(r"\d+", str(caught.value)))


@every_estimator
def test_a_table_with_other_facts_beside_it_is_refused(name: str) -> None:
    if not ESTIMATORS[name]().needs_target:
        with pytest.raises(ParameterError, match="brings its own bounds"):
            ESTIMATORS[name](bounds=(-10, 10)).fit(table())
        return
    with pytest.raises(ParameterError, match="brings its own bounds"):
        ESTIMATORS[name](bounds=(-10, 10)).fit(table(), "target")
    with pytest.raises(DomainError, match="no column 'diagnosis'"):
        ESTIMATORS[name]().fit(table(), "diagnosis")
    with pytest.raises(ParameterError, match="name the target"):
        ESTIMATORS[name]().fit(table())


def exact_classes(rows: Any, labels: Any, classes: Any) -> list[int]:
    """How many whole records of each class an estimator hands to the gate."""
    estimator = so.ThresholdRule(epsilon=math.inf, bounds=(-10, 10), classes=classes, random_state=0)
    opening = estimator._open(rows, labels)
    counted = ByClass(Count(opening.features), CategoryAxis.of(opening.domain, str(opening.target)))
    (total,) = opening.session.answer([Question(counted, opening.cost)])
    return list(total.values)


@pytest.mark.parametrize(
    ("rows", "labels", "classes", "odd_row", "odd_label"),
    [
        (ROWS.tolist(), [True, False] * 40, [0, 1], [0.0] * 3, None),
        (ROWS.tolist(), [True, False] * 40, [0, 1], [0.0] * 3, "other"),
        (ROWS.tolist(), [0, 1] * 40, ["0", "1"], [0.0] * 3, "other"),
        (ROWS.tolist(), [0, 1] * 40, [0, 1], [0.0] * 3, 1j),
        (ROWS.tolist(), [0, 1] * 40, [0, 1], [0.0] * 3, [0, 1]),
        (ROWS.tolist(), CLASSES * 40, CLASSES, [0.0] * 3, "\ud800"),
        ((ROWS > 0).tolist(), [0, 1] * 40, [0, 1], [None] * 3, 0),
        (ROWS.tolist(), [0, 1] * 40, [0, 1], [0.0, 1j, [2]], 0),
    ],
)
def test_one_odd_record_in_a_list_changes_no_other(
    rows: Any, labels: Any, classes: Any, odd_row: Any, odd_label: Any
) -> None:
    without = exact_classes(rows, labels, classes)
    with_it = exact_classes([*rows, odd_row], [*labels, odd_label], classes)
    assert sum(without) == len(labels)
    assert sum(abs(one - other) for one, other in zip(without, with_it, strict=True)) <= 1


def test_truth_values_are_read_alike_with_a_missing_one_among_them() -> None:
    labels = pd.Series([True, False] * 40, dtype="boolean")
    missing = pd.Series([True, False] * 39 + [True, None], dtype="boolean")  # numpy makes objects of these
    assert exact_classes(ROWS, labels, [0, 1]) == [40, 40]
    assert exact_classes(ROWS, missing, [0, 1]) == [39, 40]


def test_a_text_that_has_no_encoding_is_a_missing_label() -> None:
    odd = ["left\0of", " right ", "other"]  # the first is another word, though Arrow ends a text at its first NUL
    for kind in ("U10", object):
        assert exact_classes(ROWS, np.array([*CLASSES * 38, *odd, "left\0"], dtype=kind), CLASSES) == [39, 39]
        assert exact_classes(ROWS, np.array([*CLASSES * 38, *odd, "\ud800"], dtype=kind), CLASSES) == [38, 39]


def test_a_masked_cell_of_an_array_is_missing() -> None:
    masked = np.ma.MaskedArray(ROWS, mask=np.arange(240).reshape(80, 3) == 0)
    assert exact_classes(masked, LABELS, CLASSES) == [39, 40]


@every_estimator
@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (ROWS, np.arange(80) + 1j),
        (ROWS, np.column_stack([LABELS, LABELS])),
        (ROWS, LABELS[:77]),
        (ROWS + 1j, LABELS),
        (ROWS[:77, 0], LABELS),
        ([*ROWS.tolist(), [1.0]], LABELS),
        ([np.zeros((3, 7)), np.zeros((3, 8))], LABELS),
    ],
)
def test_a_refusal_of_arrays_tells_neither_cells_nor_how_many_rows(name: str, rows: Any, labels: Any) -> None:
    if rows is ROWS and not ESTIMATORS[name]().needs_target:
        return
    with pytest.raises(ParameterError) as caught:
        declared(name).fit(rows, labels)
    assert not {"77", "80", "81", "left", "7", "8"} & set(re.findall(r"\w+", str(caught.value)))
    assert "j" not in str(caught.value).replace("object", "")


@every_estimator
def test_another_relation_than_that_of_the_domain_is_refused(name: str) -> None:
    model = ESTIMATORS[name](neighbours="substitute")
    with pytest.raises(ParameterError, match="neighbours"):
        model.fit(table(), "target" if model.needs_target else None)
    with pytest.raises(ParameterError, match="neighbours"):
        ESTIMATORS[name](neighbours="substitute", domain=DOMAIN if model.learns_classes else FEATURES).fit(ROWS, LABELS)


@every_estimator
def test_a_feature_that_a_model_cannot_use_is_refused_before_a_charge(name: str) -> None:
    if so.Category in ESTIMATORS[name]().feature_kinds:
        return
    facts = {**FEATURES.columns, "x1": so.Category([0, 1])}
    if ESTIMATORS[name]().learns_classes:
        facts["target"] = so.Category(CLASSES)
    ledger = so.Ledger(epsilon=1)
    with pytest.raises(DomainError, match="column 'x1' must be a Real"):
        ESTIMATORS[name](domain=so.Domain(facts), ledger=ledger).fit(ROWS, LABELS)
    assert ledger.entries() == []


def test_observed_classes_are_refused_by_a_ledger_on_disk(tmp_path: Path) -> None:
    ledger = so.Ledger.open(tmp_path / "ledger.db", epsilon=10)
    with pytest.raises(BudgetError, match="observed"):
        fitted("ThresholdRule", classes="observed", ledger=ledger)
    assert ledger.entries() == []


def test_an_unfitted_model_is_not_saved_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not fitted"):
        ESTIMATORS["MostFrequent"]().save(tmp_path / "model.json")
    for text in ("", "[]", "{}", '{"format": "sordino model", "version": 1, "estimator": "os.system"}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ModelError):
            so.load(tmp_path / "bad.json")
    with pytest.raises(ModelError, match="cannot be read"):
        so.load(tmp_path / "absent.json")


@pytest.mark.parametrize("saved_as", ["people.ledger", "people"])
def test_a_model_is_not_saved_over_a_ledger_nor_over_one_that_has_the_name_of_its_draft(
    saved_as: str, tmp_path: Path
) -> None:
    model = fitted("ThresholdRule")
    for name in ("people.ledger", "people.draft"):
        so.Ledger.open(tmp_path / name, epsilon=1, name=name)
    with pytest.raises(LedgerError, match="must not be written over"):
        model.save(tmp_path / saved_as)
    for name in ("people.ledger", "people.draft"):
        assert so.Ledger.read(tmp_path / name).verify() == []


def test_a_saved_model_sets_no_name_that_is_not_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "ESTIMATORS", {"MostFrequent": "estimators"})
    fitted("MostFrequent").save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    for name in ("predict", "__class__", "_x_", "a b_"):
        document["learned"] = {name: 1}
        (tmp_path / "bad.json").write_text(json.dumps(document))
        with pytest.raises(ModelError, match="damaged"):
            so.load(tmp_path / "bad.json")
