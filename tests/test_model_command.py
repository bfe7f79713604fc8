"""``sordino fit`` and ``predict``: the model of Python, one-line errors, and a paid model that is never lost."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import sordino as so
from sordino import cli
from sordino.models import saved
from sordino.privacy.session import Session

SEXES = ("female", "male")
DOMAIN = so.Domain(
    {"age": so.Real(0, 120), "sex": so.Category(SEXES), "diagnosis": so.Category(["benign", "malignant"])}
)
FIT = ["fit", "people.parquet", "NaiveBayes", "--target", "diagnosis", "--domain", "people.toml", "--epsilon", "1"]
SECRET_ROWS = 4321


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    DOMAIN.to_toml("people.toml")
    generator = np.random.default_rng(0)
    sick = generator.random(SECRET_ROWS) < 0.4
    age = np.where(sick, 75, 35) + generator.normal(0, 5, SECRET_ROWS)
    people = pa.table(
        {
            "age": pa.array([None if place == 7 else float(each) for place, each in enumerate(age)]),
            "sex": generator.choice(SEXES, SECRET_ROWS),
            "diagnosis": np.where(sick, "malignant", "benign"),
        }
    )
    pyarrow.parquet.write_table(people, "people.parquet")
    pyarrow.csv.write_csv(people, "people.csv")
    pyarrow.feather.write_feather(people, "people.feather")
    so.Ledger.open("people.ledger", epsilon=3)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_model_is_paid_for_saved_and_predicts_the_same_from_every_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said, _ = run(capsys, *FIT, "--ledger", "people.ledger", "--set", "bins=12")
    assert code == 0
    assert "PRIVATE" in said
    assert so.Ledger.read("people.ledger").spent.epsilon == 1
    model = so.load("model.json")
    assert model.bins == 12
    expected = model.predict(pyarrow.parquet.read_table("people.parquet")).tolist()
    for table in ("people.parquet", "people.csv", "people.feather"):
        code, said, _ = run(capsys, "predict", "model.json", table, "--probabilities", "-o", "out.parquet", "--json")
        assert (code, json.loads(said)["rows"]) == (0, SECRET_ROWS)
        written = pyarrow.parquet.read_table("out.parquet")
        assert written["prediction"].to_pylist() == expected
        assert np.allclose(sum(np.array(written[f"probability of {each}"]) for each in model.classes_), 1)
    truth = pyarrow.parquet.read_table("people.parquet")["diagnosis"].to_pylist()
    assert np.mean(np.array(expected) == truth) > 0.95


def test_components_have_probabilities_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = [each for each in FIT if each not in ("--target", "diagnosis")]
    fit[2] = "GaussianMixture"
    assert run(capsys, *fit, "--no-ledger", "--set", "n_components=3")[0] == 0
    assert run(capsys, "predict", "model.json", "people.csv", "--probabilities", "-o", "out.parquet")[0] == 0
    written = pyarrow.parquet.read_table("out.parquet")
    assert written.column_names == ["prediction", *(f"probability of {each}" for each in range(3))]
    assert np.allclose(sum(np.array(written[f"probability of {each}"]) for each in range(3)), 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({2: "NaiveBays"}, "estimator must be one of"),
        ({4: "nobody"}, "no column 'nobody'"),
        ({4: "age"}, "must be a Category"),
        ({8: "-1"}, "epsilon"),
        ({1: "nothing.parquet"}, "nothing.parquet"),
        ({6: "nothing.toml"}, "cannot be read"),
    ],
)
def test_a_bad_argument_is_one_line_and_nothing_is_charged(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[int, str], words: str
) -> None:
    asked = [change.get(place, each) for place, each in enumerate(FIT)]
    code, _, complaint = run(capsys, *asked, "--ledger", "people.ledger")
    assert (code, complaint.count("\n")) == (2, 1)
    assert words in complaint
    assert str(SECRET_ROWS) not in complaint
    assert so.Ledger.read("people.ledger").spent.epsilon == 0
    assert not os.path.lexists("model.json")


def test_a_model_that_was_paid_for_is_not_written_over_unasked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paying = [*FIT[:7], "--epsilon", "0.5", "--ledger", "people.ledger"]
    assert run(capsys, *paying)[0] == 0
    first = Path("model.json").read_bytes()
    for again in (paying, ["synthesize", "people.csv", *paying[5:], "--model", "model.json", "-o", "fake.csv"]):
        code, _, complaint = run(capsys, *again)
        assert (code, complaint.count("\n")) == (2, 1)
        assert "--force" in complaint
        assert Path("model.json").read_bytes() == first
        assert so.Ledger.read("people.ledger").spent.epsilon == Fraction(1, 2)
    assert run(capsys, *paying, "--force")[0] == 0
    assert Path("model.json").read_bytes() != first
    assert so.Ledger.read("people.ledger").spent.epsilon == 1


@pytest.mark.parametrize(
    "more", [["--ledger", "people.ledger", "--set", "bin=3"], ["--ledger", "people.ledger", "--set", "epsilon=9"], [],
             ["--ledger", "people.ledger", "-o", "nowhere/model.json"], ["--ledger", "people.ledger", "-o", "."]]
)  # fmt: skip
def test_what_could_fail_later_is_refused_before_it_is_paid(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    code, _, complaint = run(capsys, *FIT, *more)
    assert (code, complaint.count("\n")) == (2, 1)
    assert so.Ledger.read("people.ledger").spent.epsilon == 0


def test_a_disk_that_fills_up_after_the_charge_does_not_lose_the_model(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = saved.write_model

    def filled(estimator: object, path: str) -> None:
        Path(f"{path}.draft").symlink_to("/dev/full")
        whole(estimator, path)

    monkeypatch.setattr("sordino.models.estimator.write_model", filled)
    code, said, complaint = run(capsys, *FIT, "--ledger", "people.ledger")
    assert code == 2
    assert "the charge stands" in complaint
    assert "Traceback" not in complaint
    Path("rescued.json").write_text(said)
    assert so.load("rescued.json").receipt_.private
    assert not any("draft" in each.name or each.name == "model.json" for each in folder.iterdir())


def test_of_two_fits_at_once_neither_model_is_lost(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both found no file when they began, and both were paid for."""
    answer = Session.answer

    def meanwhile(self: Session, questions: object) -> object:
        Path("model.json").write_text("the other model")
        return answer(self, questions)

    monkeypatch.setattr(Session, "answer", meanwhile)
    code, said, complaint = run(capsys, *FIT, "--ledger", "people.ledger")
    assert (code, Path("model.json").read_text()) == (2, "the other model")
    assert "the charge stands" in complaint
    Path("rescued.json").write_text(said)
    assert so.load("rescued.json").receipt_.private


@pytest.mark.parametrize("name", ["model.json", "model.json.draft"])
def test_a_ledger_that_came_meanwhile_is_kept_and_so_is_the_model(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Session.answer

    def meanwhile(self: Session, questions: object) -> object:
        so.Ledger.open(name, epsilon=1)
        return answer(self, questions)

    monkeypatch.setattr(Session, "answer", meanwhile)
    code, said, complaint = run(capsys, *FIT, "--ledger", "people.ledger", "--force")
    assert (code, complaint.count("\n")) == (2, 1)
    assert "a ledger is there by now" in complaint
    assert so.Ledger.read(name).verify() == []
    Path("rescued.json").write_text(said)
    assert so.load("rescued.json").receipt_.private


def test_ctrl_c_in_the_middle_of_a_fit_leaves_the_charge_and_no_model(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Session, statistics: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "_pass", interrupted)
    assert run(capsys, *FIT, "--ledger", "people.ledger") == (
        130, "", "sordino: interrupted; a charge already made stands\n",
    )  # fmt: skip
    assert so.Ledger.read("people.ledger").spent.epsilon == 1
    assert not os.path.lexists("model.json")


@pytest.mark.parametrize(
    ("model", "table", "output", "words"),
    [
        ("nothing.json", "people.csv", "out.csv", "cannot be read"),
        ("people.toml", "people.csv", "out.csv", "cannot be read as JSON"),
        ("model.json", "nothing.csv", "out.csv", "there is no file 'nothing.csv'"),
        ("model.json", "people.toml", "out.csv", "must be a .parquet"),
        ("model.json", "short.csv", "out.csv", "has no column 'sex'"),
        ("model.json", "people.csv", "out.txt", "must end in .csv or .parquet"),
        ("model.json", "people.csv", "nowhere/out.csv", "cannot be written"),
    ],
)
def test_predictions_that_cannot_be_made_are_one_line_and_leave_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str], model: str, table: str, output: str, words: str
) -> None:
    assert run(capsys, *FIT, "--no-ledger")[0] == 0
    Path("short.csv").write_text("age\n30\n")
    code, _, complaint = run(capsys, "predict", model, table, "-o", output)
    assert (code, complaint.count("\n")) == (2, 1)
    assert words in complaint
    assert not any(each.name.startswith("out") for each in folder.iterdir())


def test_a_model_of_an_array_has_no_columns_to_look_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 2))
    so.GaussianMixture(2, epsilon=1, bounds=(-4, 4)).fit(rows).save("array.json")
    code, _, error = run(capsys, "predict", "array.json", "people.csv")
    assert (code, error.count("\n")) == (2, 1)
    assert "was learned from an array" in error


def test_an_empty_table_gives_predictions_for_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *FIT, "--no-ledger")[0] == 0
    Path("nobody.csv").write_text("age,sex\n")
    assert run(capsys, "predict", "model.json", "nobody.csv", "-o", "out.csv")[0] == 0
    assert Path("out.csv").read_text().strip() == '"prediction"'
