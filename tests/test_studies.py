"""Studies: what one hands back, what is written, and that each one registered is a study."""

from __future__ import annotations

import csv
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sordino import cli
from sordino.errors import ParameterError
from sordino.report.chart import Chart, Series
from sordino.report.figures import chart_png, chart_svg
from sordino.studies import registry
from sordino.studies.registry import STUDIES, load_study, run_study
from sordino.studies.study import Progress, Row, StudyResult, write_files
from sordino.studies.titles import TITLES

ROWS = (
    Row(where="Table 1", what="a mean", published=71.22, ours=78.5, low=78.4, high=78.6, repeats=3, unit="%"),
    Row(where="ours", what="one more, with a comma", ours=1 / 3, note="the paper stops earlier"),
)
CHARTS = (
    Chart(
        name="line", title="A line", x_label="x", y_label="y",
        series=(
            Series(label="it", x=[0.1, 1.0], y=[0.5, 1.0], low=[0.4, 0.9], high=[0.6, 1.1]),
            Series(label="diagonal", x=[0.1, 1], y=[0.1, 1], style="reference"),
        ),
        x_scale="log",
    ),
    Chart(
        name="bars", title="Bars", x_label="x", y_label="y",
        series=(Series(label="it", x=[0.1, 0.2, 0.3], y=[3, 1, 2], style="bars"),),
    ),
)  # fmt: skip


def result(quick: bool = False) -> StudyResult:
    return StudyResult(study="made-up", title="A paper", quick=quick, rows=ROWS, charts=CHARTS, notes=("It differs.",))


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> str:
    """A study of a made-up paper, registered as every study is."""
    module = ModuleType("made_up_study")

    def run(*, quick: bool, data: Path | None, progress: Progress) -> StudyResult:
        progress(1.0)
        return result(quick)

    vars(module).update(run=run)
    monkeypatch.setitem(sys.modules, "made_up_study", module)
    monkeypatch.setitem(registry.STUDIES, "made-up", "made_up_study")
    return "made-up"


def test_csv_and_json_hold_every_row_and_number(tmp_path: Path) -> None:
    write_files(result(), tmp_path / "new/folder")
    with (tmp_path / "new/folder/made-up.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["ours"]) for row in rows] == [row.ours for row in ROWS]
    assert [row["published"] for row in rows] == ["71.22", ""]
    assert rows[1]["what"] == ROWS[1].what
    document = json.loads((tmp_path / "new/folder/made-up.json").read_text(encoding="utf-8"))
    assert [row["high"] for row in document["rows"]] == [78.6, None]
    assert document["charts"][1]["series"][0]["y"] == [3, 1, 2]
    assert document["notes"] == ["It differs."]


def test_every_chart_becomes_an_image(tmp_path: Path) -> None:
    written = write_files(result(), tmp_path)
    images = [path for path in written if path.suffix == ".png"]
    assert [path.name for path in images] == ["made-up-line.png", "made-up-bars.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in images)


def test_a_chart_in_a_page_holds_its_words_and_is_the_same_again() -> None:
    drawn = chart_svg(CHARTS[0])
    assert drawn.startswith("<svg")
    assert all(word in drawn for word in ("A line", "diagonal", "currentColor"))
    assert drawn == chart_svg(CHARTS[0])
    assert chart_png(CHARTS[1]) == chart_png(CHARTS[1])


@pytest.mark.parametrize(
    ("ends", "words", "others"),
    [((2, 50), ("2", "5", "10", "20", "50"), ("3", "40")), ((0.001, 10), ("0.001", "0.1", "10"), ("0.02", "5"))],
)
def test_powers_along_an_axis_are_numbers_that_do_not_run_into_each_other(
    ends: tuple[float, float], words: tuple[str, ...], others: tuple[str, ...]
) -> None:
    line = Series(label="s", x=ends, y=(-7, -9))
    chart = Chart(name="c", title="t", x_label="x", y_label="y", x_scale="log", series=(line,))
    said = re.findall(r"<text[^>]*>([^<]*)</text>", chart_svg(chart))
    assert set(words) <= set(said)
    assert not set(others) & set(said)


def test_the_words_of_a_legend_stand_below_the_axis_and_every_line_has_its_colour() -> None:
    series = tuple(Series(label=f"line {place}", x=(0, 1), y=(place, place)) for place in range(7))
    drawn = chart_svg(Chart(name="c", title="t", x_label="the axis", y_label="y", series=series))
    heights = {word: float(y) for y, word in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', drawn)}
    assert all(heights[each.label] > heights["the axis"] for each in series)
    assert len(set(re.findall(r"stroke: (#\w{6})", drawn)) - {"#000000"}) >= 7


def test_a_series_whose_parts_differ_in_length_is_refused() -> None:
    with pytest.raises(ParameterError, match="equally long"):
        Series(label="it", x=[1, 2], y=[1])
    with pytest.raises(ParameterError, match="equally long"):
        Series(label="it", x=[1], y=[1], low=[0])


def test_a_study_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ParameterError, match=f"one of {', '.join(STUDIES)}"):
        run_study("made-up")


def test_a_folder_that_cannot_be_made_is_refused_before_the_study_runs(tmp_path: Path, made_up: str) -> None:
    (tmp_path / "taken").write_text("a file")
    told: list[float] = []
    with pytest.raises(ParameterError, match="cannot be made"):
        run_study(made_up, out=tmp_path / "taken", progress=told.append)
    assert told == []


def test_the_command_shows_ours_beside_the_published_numbers(
    tmp_path: Path, made_up: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["study", made_up, "--quick", "-o", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert all(each in shown for each in ("quick", "71.22 %", "78.5 %", "0.3333", "It differs.", str(tmp_path)))
    assert (tmp_path / "made-up.csv").is_file()
    assert cli.main(["study", made_up, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["published"] == 71.22


def test_all_studies_together_are_one_page_that_says_what_it_is(
    tmp_path: Path, made_up: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "STUDIES", {made_up: registry.STUDIES[made_up], "again": registry.STUDIES[made_up]})
    assert cli.main(["study", "all", "--quick", "-o", str(tmp_path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert page.count("<h2") == 2
    assert all(each in page for each in ("No private table was read", "71.22 %", "It differs.", "fewer repeats"))
    assert "<svg" in (tmp_path / "made-up.html").read_text(encoding="utf-8")


def test_the_command_without_a_name_lists_the_studies(made_up: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["study"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*TITLES]
    assert list(TITLES) == [name for name in STUDIES if name != made_up]


def test_the_list_of_studies_loads_none_of_them() -> None:
    program = "import sys; from sordino import cli; cli.main(['study']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(STUDIES)
    assert {"sklearn", "numpy", "sordino.studies.wu"}.isdisjoint(done.stderr.split())


@pytest.mark.parametrize("name", STUDIES)
def test_a_registered_study_is_one(name: str) -> None:
    study = load_study(name)
    assert STUDIES[name].rpartition(".")[2].replace("_", "-") == name
    parameters = inspect.signature(study.run).parameters
    assert list(parameters) == ["quick", "data", "progress"]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters.values())
