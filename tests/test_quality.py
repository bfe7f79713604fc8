"""How near a synthetic table is to the real one: against counts done by hand, and tables made to be near or far."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.stats import spearmanr

import sordino as so
from sordino import cli
from sordino.errors import ParameterError
from sordino.owner import owner_page
from sordino.quality import distances, halves, lessons, rows_of, shuffled
from sordino.report.report import report_html

GENERATOR = np.random.default_rng(3)
SIZE = 3000
_ILL = GENERATOR.random(SIZE) < 0.5
REAL = pa.table(
    {
        "age": np.clip(GENERATOR.normal(np.where(_ILL, 65, 45), 10), 0, 120),
        "weight": GENERATOR.normal(70, 10, SIZE),
        "ill": np.where(_ILL, "yes", "no"),
    }
)
DOMAIN = so.Domain({"age": so.Real(0, 120), "weight": so.Real(0, 200), "ill": so.Category(["no", "yes"])})


def test_distances_are_those_counted_by_hand() -> None:
    domain = so.Domain({"a": so.Category(["x", "y"]), "b": so.Category(["x", "y"])})
    real = pa.table({"a": ["x", "x", "y", "y"], "b": ["x", "x", "y", "y"]})
    fake = pa.table({"a": ["x", "x", "y", None], "b": ["x", "y", "x", "y"]})
    found = distances(real, fake, domain)
    assert found.columns == {"a": 0.25, "b": 0.0}
    assert found.one_way == 0.125
    assert found.two_way == 0.75  # half of 1/4 + 1/4 + 1/4 + 1/2 + 1/4: xx, xy, yx, yy, and a missing cell with y
    assert found.correlation == 0.0


def test_rank_correlations_are_those_of_scipy() -> None:
    rows = {name: np.asarray(values) for name, values in rows_of(REAL, DOMAIN).items()}
    moved = {**rows, "weight": rows["weight"] + rows["age"]}
    expected = abs(spearmanr(rows["age"], rows["weight"])[0] - spearmanr(moved["age"], moved["weight"])[0])
    assert distances(rows, moved, DOMAIN).correlation == pytest.approx(expected)


def test_a_table_is_no_distance_from_itself_and_shuffled_columns_keep_each_column() -> None:
    rows = rows_of(REAL, DOMAIN)
    assert distances(rows, rows, DOMAIN).two_way == 0.0
    apart = distances(rows, shuffled(rows), DOMAIN)
    assert apart.one_way == 0.0
    assert apart.two_way > 0.05


def test_learners_tell_rows_with_a_pattern_from_rows_without() -> None:
    """AUC .92 is what the ages allow; shuffled rows teach nothing: .5, with a standard deviation of .02 or so."""
    train, test = halves(rows_of(REAL, DOMAIN))
    assert min(each.score for each in lessons(train, test, DOMAIN, "ill")) > 0.85
    for lesson in lessons(shuffled(train), test, DOMAIN, "ill"):
        assert abs(lesson.score - 0.5) < 0.2
    numeric = lessons(train, test, DOMAIN, "age")
    assert {each.measure for each in numeric} == {"R²"}
    assert numeric[0].score > 0.3


def test_no_rows_and_a_single_class_are_defined() -> None:
    with pytest.raises(ParameterError, match="at least one row"):
        distances(REAL, REAL.slice(0, 0), DOMAIN)
    rows = rows_of(REAL, DOMAIN)
    single = {name: values[rows["ill"] == 1] for name, values in rows.items()}
    assert [each.score for each in lessons(single, rows, DOMAIN, "ill")] == [0.5, 0.5]


def test_the_owners_page_compares_rows_and_says_that_it_is_not_private(tmp_path: Path) -> None:
    from sordino.models.saved import document_of

    model = so.TableSynthesizer(2.0, target="ill").fit(so.open_table(REAL, DOMAIN))
    page = report_html(owner_page("People", {"fake.json": document_of(model)}, REAL, DOMAIN))
    assert "NOT private" in page
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    place = cells.index("two-way tables, total variation")
    assert 0 < float(cells[place + 1]) < float(cells[place + 2])
    assert "logistic, AUC on real rows" in cells


def test_a_synthetic_table_from_the_command_line_and_its_owners_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(REAL, "people.parquet")
    DOMAIN.to_toml("people.toml")
    typed = ["synthesize", "people.parquet", "--domain", "people.toml", "--epsilon", "2", "--no-ledger"]
    assert cli.main([*typed, "--target", "ill", "-o", "fake.parquet", "--report", "fake.html"]) == 0
    assert "may be published" in capsys.readouterr().out
    fake = pyarrow.parquet.read_table("fake.parquet")
    assert fake.schema == REAL.schema
    assert abs(fake.num_rows - SIZE) < 500  # over twelve standard deviations of the noise in what columns add up to
    assert so.load("fake.json").sample(fake.num_rows).equals(fake)
    published = Path("fake.html").read_text(encoding="utf-8")
    assert '<meta name="sordino-audience" content="anyone">' in published
    assert "The first rows of fake.parquet" in published
    assert "PRIVATE" in published
    assert cli.main([*typed, "--rows", "70000", "--seed", "4", "--model", "m.json", "-o", "fake.csv", "--json"]) == 0
    assert '"rows": 70000' in capsys.readouterr().out
    assert len(Path("fake.csv").read_text().splitlines()) == 70_001
    owner = ["--owner", "owner.html", "--table", "people.parquet", "--domain", "people.toml"]
    assert cli.main(["report", "fake.json", "-o", "page.html", *owner]) == 0
    assert "boosted trees" in Path("owner.html").read_text()
    assert "boosted trees" not in Path("page.html").read_text()


def test_written_rows_keep_the_types_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = pa.array(["é", "a, b", "é"] * 100)
    stored = {"größe, m": pa.array([1.5, None, 2.0] * 100, pa.float32()), "word": words.dictionary_encode()}
    people = pa.table({**stored, "years": pa.array([1, 2, 3] * 100, pa.int8())})
    pyarrow.parquet.write_table(people, "people.parquet")
    facts = {"größe, m": so.Real(0, 3), "word": so.Category(["é", "a, b"]), "years": so.Real(0, 9)}
    so.Domain(facts).to_toml("people.toml")
    typed = ["synthesize", "people.parquet", "--domain", "people.toml", "--epsilon", "5", "--no-ledger", "-o"]
    assert cli.main([*typed, "fake.parquet"]) == 0
    assert pyarrow.parquet.read_table("fake.parquet").schema == people.schema
    assert cli.main([*typed, "fake.csv", "--model", "another.json"]) == 0
    assert pyarrow.csv.read_csv("fake.csv").column_names == people.column_names


def test_what_is_typed_is_checked_before_it_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(REAL, "people.parquet")
    DOMAIN.to_toml("people.toml")
    ledger = so.Ledger.open("people.ledger", epsilon=1)
    typed = ["synthesize", "people.parquet", "--domain", "people.toml", "--epsilon", "1", "--ledger", "people.ledger"]
    wrong = (["--rows", "-1"], ["--seed", "-1"], ["--target", "height"], ["-o", "fake.xlsx"], ["--model", "no/m.json"],
             ["--report", "fake.txt"], ["--report", "no/fake.html"])  # fmt: skip
    same = (["-o", "./people.parquet"], ["--model", "people.parquet"], ["-o", "fake.csv", "--model", "fake.csv"],
            ["--model", "people.ledger"], ["--model", "people.toml"])  # fmt: skip
    for more in (*wrong, *same):
        assert cli.main([*typed, *more]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert pyarrow.parquet.read_table("people.parquet").equals(REAL)
    assert ledger.spent.epsilon == 0
    assert not list(tmp_path.glob("fake*"))
