"""What the documents show runs as it stands, and every command and option is in them."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import sordino
from sordino import Domain, cli

ROOT = Path(__file__).parents[1]
COMMAND_LINE = ROOT / "docs/command-line.md"
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "proofs"),
]
TEACHES_PYTHON = [path for path in DOCUMENTS if "\n```python\n" in path.read_text(encoding="utf-8")]
SHOWS_COMMANDS = [path for path in DOCUMENTS if "\nsordino " in path.read_text(encoding="utf-8")]
TABLES = ("patients.parquet", "patients.csv", "noisy_count.py", "with.csv", "without.csv")

#: What a command is followed by in a document when it is meant to exit with 1.
FINDS = "# exits with 1"


def blocks(path: Path, language: str) -> list[str]:
    """Fenced blocks whose fence names the language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def shell_lines(path: Path) -> list[str]:
    """Every ``sordino`` command that a document shows, with its comment."""
    text = "\n".join(blocks(path, "sh")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.startswith("sordino ")]


def filled_in() -> str:
    """The domain that the documents show as filled in."""
    (text,) = blocks(COMMAND_LINE, r"toml patients\.toml")
    return text


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made-up")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        runpy.run_path(str(ROOT / "examples/make_patients.py"))
        shutil.copy(ROOT / "examples/noisy_count.py", place)
        runpy.run_path("noisy_count.py", run_name="__main__")
    assert all((place / name).is_file() for name in TABLES)
    return place


@pytest.fixture
def folder(made_up: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new folder with the made-up patients, as the documents say."""
    for name in TABLES:
        shutil.copy(made_up / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- what is shown runs


@pytest.mark.parametrize("path", TEACHES_PYTHON, ids=lambda path: path.name)
def test_python_in_the_documents_runs(path: Path, folder: Path) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks(path, "python"):
        exec(compile(block, path.name, "exec"), namespace)


def test_the_documents_that_teach_hold_python() -> None:
    assert blocks(ROOT / "README.md", "python")
    assert len(blocks(ROOT / "docs/tutorial.md", "python")) > 4
    assert {path.stem for path in TEACHES_PYTHON} >= {"README", "start", "epsilon", "tables", "receipts", "audit"}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_python_for_spark_in_the_documents_runs(folder: Path) -> None:
    """In a process of its own, as a reader would run it: the session it ends is not that of other tests."""
    path = ROOT / "docs/tables.md"
    code = "\n".join([*blocks(path, "python"), *blocks(path, "python spark")])
    assert "pyspark" in code
    Path("tables.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment.pop("SPARK_HOME", None)
    done = subprocess.run([sys.executable, "tables.py"], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = [float(line) for line in done.stdout.splitlines() if line.replace(".", "").isdigit()]
    assert len(counts) == 7
    assert max(counts) - min(counts) < 150  # noise of scale 1; one row of the CSV in 1000 is odd


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(script: Path, folder: Path) -> None:
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("path", SHOWS_COMMANDS, ids=lambda path: path.name)
def test_commands_in_the_documents_run(path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in shell_lines(path):
        _, *arguments = shlex.split(line, comments=True)
        arguments, written = (arguments[:-2], arguments[-1]) if ">" in arguments else (arguments, "")
        capsys.readouterr()
        assert cli.main(arguments) == int(line.endswith(FINDS)), (line, capsys.readouterr().err)
        if written:
            Path(written).write_text(capsys.readouterr().out, encoding="utf-8")
        if arguments[0] == "init":  # where a person fills in the draft
            Path(arguments[-1] if "-o" in arguments else "domain.toml").write_text(filled_in(), encoding="utf-8")


def test_the_documents_that_show_commands_are_found() -> None:
    assert {path.stem for path in SHOWS_COMMANDS} >= {"README", "command-line", "start", "audit", "papers"}
    assert all(len(shell_lines(path)) > 1 for path in SHOWS_COMMANDS)


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    options = ["--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for path in (ROOT / "docs").rglob("*.md"):
        assert (tmp_path / path.relative_to(ROOT / "docs")).with_suffix(".html").is_file(), path


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"sordino\.(\w+)$", text, re.MULTILINE)) - {"errors"}) == sorted(
        set(sordino.__all__) - {"SordinoError"}
    )


def test_the_domain_in_the_documents_is_the_one_in_the_readme(folder: Path) -> None:
    namespace: dict[str, Any] = {}
    exec(blocks(ROOT / "README.md", "python")[0], namespace)
    assert Domain.from_toml_text(filled_in()) == namespace["domain"]


# --- every command and option is there


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def all_commands() -> dict[str, Any]:
    root = typer.main.get_command(cli.app)
    return {"sordino": root} | {" ".join(("sordino", *path)): command for path, command in commands(root)}


def section(heading: str) -> str:
    _, _, rest = COMMAND_LINE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert rest, f"docs/command-line.md has no section {heading!r}"
    return rest.split("\n## ")[0]


@pytest.mark.parametrize("name", all_commands())
def test_every_option_is_in_the_section_of_its_command(name: str) -> None:
    documented = set(re.findall(r"`([^`\n]+)`", section(name)))
    for parameter in all_commands()[name].params:
        names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
        missing = {each.replace("COLUMN", "COLUMN…") for each in names} - documented - {"--help"}
        assert not missing, f"{name}: {missing}"


def test_no_section_is_about_a_command_that_does_not_exist() -> None:
    headings = re.findall(r"^## (.+)$", COMMAND_LINE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(all_commands())


@pytest.mark.parametrize("name", [name for name in all_commands() if name != "sordino"])
def test_help_shows_an_example_that_runs_and_json_is_an_option(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = name.split()[1:]
    assert cli.main([*arguments, "--help"]) == 0
    text = capsys.readouterr().out
    assert "--json" in text
    _, _, example = text.partition("Example:\n")
    _, *example_arguments = shlex.split(example.replace("\\\n", " "))
    assert example_arguments[: len(arguments)] == arguments
    if name != "sordino init":
        Path("patients.toml").write_text(filled_in(), encoding="utf-8")
    if name != "sordino ledger create":
        cli.main(["ledger", "create", "patients.ledger", "--epsilon", "1"])
    if name == "sordino report":
        _write_an_answer(capsys)
    if name == "sordino predict":
        _write_a_model(capsys)
    if name == "sordino attack membership":
        for each in ("fake.csv", "candidates.csv", "others.csv"):
            assert (
                cli.main(["k-anonymize", "patients.parquet", "--k", "5", "--quasi-identifiers", "age,sex", "-o", each])
                == 0
            )
    if name == "sordino attack definetti":
        assert cli.main(["anatomize", "patients.parquet", "--sensitive", "bmi", "--l", "4"]) == 0
    assert cli.main(example_arguments) == int(name == "sordino audit paper"), capsys.readouterr().err


def _write_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["fit", "patients.parquet", "NaiveBayes", "--target", "diagnosis", "--domain", "patients.toml"]
    assert cli.main([*asked, "--epsilon", "1", "--no-ledger"]) == 0, capsys.readouterr().err


def _write_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["query", "patients.parquet", "count", "--domain", "patients.toml", "--ledger", "patients.ledger"]
    capsys.readouterr()
    assert cli.main([*asked, "--epsilon", "0.1", "--json"]) == 0
    Path("answer.json").write_text(capsys.readouterr().out, encoding="utf-8")


# --- what a document must say


def test_links_between_documents_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
            assert "://" in target or (path.parent / target).exists(), (path.name, target)


def test_the_changelog_says_what_changed_for_privacy() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text
    assert "### Privacy" in text.split("## [Unreleased]")[1].split("\n## ")[0]


def test_the_readme_names_its_two_commands_and_what_is_not_claimed() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for said in ("make demo", "make test", "not claim", "add-remove", "Public", "Time", "many rows", "population"):
        assert said in text


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "docs/tutorial.md"], ids=lambda path: path.name)
def test_whoever_states_an_epsilon_says_who_is_a_neighbour_and_what_is_public(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "epsilon=" in text
    assert "add-remove" in text
    assert re.search(r"public", text, re.IGNORECASE)
