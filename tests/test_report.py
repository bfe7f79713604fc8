"""Reports: what may be published holds what follows from releases alone, and a browser finds nothing wrong with it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import browser
import sordino as so
from sordino import cli
from sordino.audit.registered import DOMAINS
from sordino.errors import LedgerError, ParameterError
from sordino.owner import owner_page
from sordino.release import to_plain
from sordino.report.report import report_html, write_report
from sordino.report.section import Page, Section, row
from sordino.report.sections import agrees, section_of, study_section
from sordino.statistics.count import Count
from sordino.whole_file import write_whole

GENERATOR = np.random.default_rng(3)
TABLE = pa.table(
    {
        "age": GENERATOR.uniform(0, 100, 400),
        "bmi": GENERATOR.normal(25, 5, 400),
        "diagnosis": ["benign", "malignant", "not known at all at the time of writing", "benign"] * 100,
    }
)
DOMAIN = so.Domain(
    {
        "age": so.Real(0, 120),
        "bmi": so.Real(10, 60),
        "diagnosis": so.Category(["benign", "malignant", "not known at all at the time of writing"]),
    }
)


def answered(table: so.PrivateTable, query: str, *columns: Any, **cost: Any) -> dict[str, Any]:
    """A release as ``sordino query --json`` prints it."""
    options = {name: value for name, value in cost.items() if name not in ("epsilon", "delta")}
    named = [each for column in columns for each in ([column] if isinstance(column, str) else column)]
    release = table.ask(query, *columns, **cost)
    return to_plain({"query": query, "columns": named, "options": options, **release.to_dict()})


def every_answer(table: so.PrivateTable) -> dict[str, dict[str, Any]]:
    return {
        "diagnoses": answered(table, "histogram", "diagnosis", epsilon=0.1),
        "ages": answered(table, "histogram", "age", epsilon=0.1, bins=12),
        "crossed": answered(table, "histogram", ["diagnosis", "age"], epsilon=0.1, bins={"age": [0, 18, 65, 120]}),
        "several": answered(table, "histograms", ["age", "bmi"], epsilon=0.1, bins=3, by="diagnosis"),
        "mean": answered(table, "mean", ["age", "bmi"], epsilon=0.1),
        "covariance": answered(table, "covariance", ["age", "bmi"], epsilon=0.5, delta=1e-6),
        "median": answered(table, "median", "age", epsilon=0.2, candidates=32),
        "count": answered(table, "count", epsilon=0.1),
    }


STUDY = {
    "study": "example", "title": "A study", "quick": True, "notes": ["What differs, and why."], "settings": {},
    "seconds": 1.0,
    "rows": [
        {"where": "table 1", "what": what, "published": published, "ours": ours, "low": low, "high": high,
         "repeats": 3, "reach": 0.9, "unit": "", "note": note}
        for what, published, ours, low, high, note in (
            ("near", 0.80, 0.81, None, None, ""),
            ("far", 0.80, 0.95, None, None, "theirs is not private"),
            ("within the ends", 0.80, 0.95, 0.7, 1.0, ""),
            ("ours alone", None, 0.9, None, None, "an addition"),
        )
    ],
    "charts": [
        {"name": "curve", "title": "Error", "x_label": "epsilon", "y_label": "error", "x_scale": "log",
         "y_scale": "linear", "ticks": [],
         "series": [{"label": label, "x": [0.1, 1.0, 10.0], "y": [0.3, 0.2, shift], "style": "line", "low": None,
                     "high": None} for label, shift in (("ours", 0.1), ("published", 0.15))]}
    ],
}  # fmt: skip


def public_page(answers: dict[str, dict[str, Any]]) -> Page:
    sections = [section_of(document, name) for name, document in answers.items()]
    return Page(title="Patients", audience="anyone", sections=(*sections, section_of(STUDY)))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    answers = every_answer(so.open_table(TABLE, DOMAIN, ledger=so.Ledger(3, 1e-6, pure=2)))
    owner = owner_page("Patients", answers, TABLE, DOMAIN)
    return {
        "public": write_report(public_page(answers), folder / "public.html"),
        "owner": write_report(owner, folder / "owner.html"),
    }


# --- what may be published


def page_of(table: so.PrivateTable) -> Page:
    answers = {
        "c": answered(table, "histogram", "c", epsilon=0.5),
        "mean": answered(table, "mean", "a", epsilon=0.5, method="sum-and-size"),
    }
    return public_page(answers)


def page_with_a_row(table: so.PrivateTable) -> Page:
    """The twin: it looks behind the gate for one number."""
    page, ((exact,),) = page_of(table), table.session._pass([Count()])
    return replace(page, lead=(f"{exact} rows",))


@pytest.mark.parametrize("neighbours", DOMAINS)
def test_a_page_of_frozen_releases_is_the_same_on_neighbouring_tables(neighbours: Any) -> None:
    """Its text is a function of the page, so the page itself is compared."""
    report = so.audit_replay(page_of, DOMAINS[neighbours], claim=so.Cost.of(1), sizes=(1, 10))
    assert report.verdict == "not violated at this power", report.complaints


def test_the_replay_sees_a_page_with_an_exact_count() -> None:
    report = so.audit_replay(page_with_a_row, DOMAINS["add-remove"], claim=so.Cost.of(1), sizes=(10,))
    assert report.verdict == "violated"


def test_the_text_is_a_function_of_the_page() -> None:
    page = Page(title="A page", audience="anyone", sections=(section_of(STUDY),))
    assert report_html(page) == report_html(page)


def test_the_two_pages_say_who_may_see_them(pages: dict[str, Path]) -> None:
    public, owner = (pages[name].read_text() for name in ("public", "owner"))
    assert '<meta name="sordino-audience" content="anyone">' in public
    assert "May be published" in public
    assert '<meta name="sordino-audience" content="owner">' in owner
    assert "NOT private" in owner
    assert "exact" in owner
    assert '<th scope="col">exact</th>' not in public


def test_the_owners_page_holds_the_exact_answer(pages: dict[str, Path]) -> None:
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", pages["owner"].read_text())
    place = cells.index("benign")
    assert cells[place + 2] == "200"


# --- one file, no network, and nothing that a reader could not see


def test_a_page_is_self_contained_and_forbids_scripts(pages: dict[str, Path]) -> None:
    for page in pages.values():
        text = page.read_text()
        assert "default-src 'none'" in text
        assert "<script" not in text
        assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", text)
        assert "url(http" not in text


def test_words_are_escaped() -> None:
    section = Section(title="<b>x</b>", words=("<script>",), rows=(row("<i>"),), code="</pre><script>")
    text = report_html(Page(title="<u>", audience="anyone", sections=(section,)))
    assert "<script" not in text
    assert "<b>" not in text


@pytest.mark.parametrize("name", ["public", "owner"])
@pytest.mark.parametrize("width", browser.WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_renders_every_figure_and_nothing_overflows(
    pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    seen = browser.looked_at(pages[name], width, dark)
    assert seen["sections"] >= 8
    assert seen["figures"] == seen["drawings"] == (4 if name == "public" else 0)
    assert (seen["wide"], seen["empty"], seen["outside"]) == ([], 0, [])
    assert seen["scroll"] <= seen["shown"]
    bright = [sum(map(int, re.findall(r"\d+", seen[part])[:3])) for part in ("ink", "paper")]
    assert (bright[0] > bright[1]) is dark


def test_the_browser_sees_what_overflows_and_what_did_not_render(pages: dict[str, Path], tmp_path: Path) -> None:
    text = pages["public"].read_text()
    broken = text.replace("<h2", '<p style="width:3000px">wide</p><h2', 1)
    broken = re.sub(r"<svg.*?</svg>", '<svg width="200" height="200"></svg>', broken, count=1, flags=re.DOTALL)
    (tmp_path / "broken.html").write_text(broken)
    seen = browser.looked_at(tmp_path / "broken.html", 390)
    assert seen["wide"]
    assert seen["empty"] == 1


# --- studies


def test_numbers_that_agree_are_told_apart() -> None:
    assert [agrees(each) for each in STUDY["rows"]] == [True, False, True, None]
    tones = [cells[3].tone for cells in study_section(STUDY).rows]
    assert tones == ["good", "bad", "good", ""]


# --- the command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(TABLE, "patients.parquet")
    DOMAIN.to_toml("patients.toml")
    table = so.open_table("patients.parquet", DOMAIN, ledger=so.Ledger.open("patients.ledger", 3, 1e-6, pure=2))
    for name, answer in every_answer(table).items():
        Path(f"{name}.json").write_text(json.dumps(answer))
    return tmp_path


def test_command_writes_both_pages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = ["diagnoses.json", "mean.json", "patients.ledger"]
    owner = ["--owner", "owner.html", "--table", "patients.parquet", "--domain", "patients.toml"]
    assert cli.main(["report", *items, "-o", "page.html", *owner]) == 0
    assert "ALONE" in capsys.readouterr().out
    page = Path("page.html").read_text()
    assert "diagnosis" in page
    assert "The budget" in page
    assert "exact" in Path("owner.html").read_text()
    assert not list(folder.glob("*.draft"))


def test_items_of_one_name_are_all_on_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("last").mkdir()
    Path("last/mean.json").write_text(Path("mean.json").read_text())
    assert cli.main(["report", "mean.json", "last/mean.json", "-o", "page.html"]) == 0
    assert Path("page.html").read_text().count("<section") == 2


def test_whatever_a_command_prints_as_json_is_a_section(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paid = "--domain patients.toml --epsilon 1 --no-ledger --json"
    for number, command in enumerate((
        f"query patients.parquet count {paid}", f"fit patients.parquet NaiveBayes --target diagnosis {paid}",
        f"synthesize patients.parquet -o fake.csv {paid}", "ledger show patients.ledger --json",
        "audit paper wu --json",
    )):  # fmt: skip
        assert cli.main(command.split()) == ("audit" in command)
        Path(f"{number}.json").write_text(capsys.readouterr().out)
    assert cli.main(["report", *(f"{number}.json" for number in range(5)), "-o", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert page.count("<section") == 5
    assert page.count("PRIVATE · neighbours") == 3
    capsys.readouterr()
    assert cli.main(["plan", "patients.parquet", "count", "--domain", "patients.toml", "--epsilon", "1", "--json"]) == 0
    Path("plan.json").write_text(capsys.readouterr().out)
    assert cli.main(["report", "plan.json", "-o", "page.html"]) == 2  # a plan is no release
    assert "'plan.json' is none of" in capsys.readouterr().err


def test_what_is_not_private_stays_off_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = so.open_table(TABLE, DOMAIN, random_state=0)
    Path("seeded.json").write_text(json.dumps(answered(table, "count", epsilon=1)))
    assert cli.main(["report", "seeded.json", "-o", "page.html"]) == 2
    assert "not private" in capsys.readouterr().err
    assert not Path("page.html").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"a": 1}', "\x00"])
def test_what_is_no_release_is_refused_in_one_line(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.json").write_text(text)
    assert cli.main(["report", "odd.json"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("report.html").exists()


def test_a_page_that_cannot_be_written_leaves_the_old_one(folder: Path) -> None:
    place = folder / "page.html"
    place.write_text("old")
    (folder / "page.html.draft").mkdir()
    with pytest.raises(ParameterError, match="cannot be written"):
        write_report(Page(title="new", audience="anyone", sections=()), place)
    assert place.read_text() == "old"


@pytest.mark.parametrize("ledger", ["page.html", "page.html.draft"])
def test_a_page_takes_the_place_of_no_ledger(folder: Path, ledger: str) -> None:
    so.Ledger.open(ledger, epsilon=1)
    before = Path(ledger).read_bytes()
    with pytest.raises(LedgerError, match="must not be written over"):
        write_report(Page(title="new", audience="anyone", sections=()), "page.html")
    assert Path(ledger).read_bytes() == before


def test_a_pipe_is_written_to_and_not_replaced(folder: Path) -> None:
    pipe, model = Path("pipe"), so.NaiveBayes(epsilon=1).fit(so.open_table(TABLE, DOMAIN), "diagnosis")
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # a reader is there, so that writing does not wait for one
    write_whole(pipe, "a page")
    assert os.read(end, 2**16) == b"a page"
    model.save(pipe)
    assert json.loads(os.read(end, 2**16))["estimator"] == "NaiveBayes"
    os.close(end)
    assert pipe.is_fifo()
    assert not list(folder.glob("*.draft"))


def test_the_owners_page_needs_all_three(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--owner", "o.html"], ["--table", "patients.parquet"], ["--domain", "patients.toml"]):
        assert cli.main(["report", "mean.json", *options]) == 2
        assert "together" in capsys.readouterr().err


def test_the_owners_page_never_takes_the_place_of_the_public_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--owner", "./page.html", "--table", "patients.parquet", "--domain", "patients.toml"]
    assert cli.main(["report", "mean.json", "-o", "page.html", *options]) == 2
    assert "another file" in capsys.readouterr().err
    assert not Path("page.html").exists()
