"""``sordino audit`` as a stranger types it: short forms, what is said before and after, and refusals in one line."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from sordino import cli

MODULE = '''
def neighbours():
    return [1, 2, 3], [1, 2]

def same():
    return [1, 2], [1, 2]

def strangers():
    import pandas
    return pandas.DataFrame({"age": [30, 40]}), pandas.DataFrame({"age": [30]})

def shows(table, rng):
    """No noise at all, and words of its own on the screen."""
    print("hello from inside")
    return len(table)

def coin(table, rng):
    return rng.random() < 0.5

def warns(table, rng):
    import warnings
    warnings.warn("bounds were read from the rows", RuntimeWarning)
    return len(table)

def ends(table, rng):
    import os
    os._exit(3)

def waits(table, rng):
    import time
    time.sleep(30)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mechanisms.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_words_mechanism_and_outputs_may_be_left_out(folder, capsys):
    assert cli.main(["audit", "mechanisms.py:shows", "--epsilon", "1", "--seed", "1"]) == 1
    short = capsys.readouterr().out
    assert cli.main(["audit", "mechanism", "mechanisms.py:shows", "--epsilon", "1", "--seed", "1"]) == 1
    assert capsys.readouterr().out == short
    for name, value in (("with.csv", 1), ("without.csv", 0)):
        Path(name).write_text(f"{value}\n" * 2000, encoding="utf-8")
    assert cli.main(["audit", "with.csv", "without.csv", "--epsilon", "1"]) == 1
    assert "VIOLATED · with.csv and without.csv" in capsys.readouterr().out


def test_it_says_how_many_runs_first_and_stops_when_certain_with_a_page_to_quote(folder, capsys):
    assert cli.main(["audit", "mechanisms.py:shows", "--epsilon", "1", "--seed", "1", "-o", "page.html"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("Up to 20000 runs. Noise too small by a factor of 2 is seen in ")
    quote = re.search(r"To quote: (.*)\n", said.out)
    assert quote
    assert int(re.search(r"in (\d+) fresh runs", quote[1])[1]) < 2000
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "[1, 2, 3]" in page
    assert re.search(r"(first|second) table (from|up to): ", page)
    assert quote[1].split(": ", 1)[1] in page


def test_what_a_function_prints_is_no_part_of_the_verdict(folder, capsys):
    assert cli.main(["audit", "mechanisms.py:shows", "--epsilon", "1", "--seed", "1", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["verdict"] == "violated"
    assert "hello from inside" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mechanisms.py:coin", "--epsilon", "-1"], "epsilon must be above 0"),
        (["mechanisms.py:coin", "--epsilon", "nan"], "epsilon must be above 0"),
        (["mechanisms.py:coin", "--epsilon", "1", "--level", "2"], r"level in \(0, 1\)"),
        (["mechanisms.py:coin", "--epsilon", "1", "--seed", "-1"], "seed must be at least 0"),
        (["mechanisms.py:coin", "--epsilon", "1", "--runs", "0"], "runs must be"),
        (["mechanisms.py", "--epsilon", "1"], "write MODULE:FUNCTION"),
        (["mechanisms.py:coin", "--epsilon", "1", "--neighbours", "mechanisms.py:same"], "both tables are the same"),
        (
            ["mechanisms.py:coin", "--epsilon", "1", "--neighbours", "mechanisms.py:strangers"],
            "must give made-up tables",
        ),
        (["mechanisms.py:coin", "--epsilon", "1", "-o", "page.pdf"], "must end in .html"),
    ],
)
def test_a_refusal_is_one_line_in_the_words_of_the_command(folder, capsys, arguments, words):
    assert cli.main(["audit", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    line = said.err.splitlines()[-1]
    assert re.match(rf"sordino: audit: .*{words}", line)
    assert "runs_needed" not in line


def test_a_claim_that_no_number_of_runs_refutes_is_not_tested(folder, capsys):
    assert cli.main(["audit", "mechanisms.py:coin", "--epsilon", "500"]) == 0
    said = capsys.readouterr()
    assert "No number of runs that can be made" in said.err
    assert said.out.startswith("NOT TESTED")


def test_real_tables_are_taken_on_demand_and_the_verdict_says_that_it_is_private(folder, capsys):
    asked = ["audit", "mechanisms.py:coin", "--epsilon", "1", "--neighbours", "mechanisms.py:strangers"]
    assert cli.main([*asked, "--unsafe-real-data", "--runs", "300", "--seed", "1"]) == 0
    said = capsys.readouterr().out
    assert "treat this verdict as private data" in said
    assert "table:" not in said


PEER = ["audit", "peer", "--python", sys.executable, "--epsilon", "1", "--seed", "1"]


def test_another_interpreter_is_audited_and_what_it_warns_about_is_said(folder, capsys):
    assert cli.main([*PEER, "mechanisms.py:shows"]) == 1
    said = capsys.readouterr().out
    assert "VIOLATED" in said
    assert "first table: [1, 2, 3]" in said
    assert "hello" not in said
    assert sys.executable not in said
    assert cli.main([*PEER, "mechanisms.py:warns"]) == 1
    assert "The library warns: RuntimeWarning: bounds were read from the rows." in capsys.readouterr().out
    assert cli.main([*PEER, "mechanisms.py:coin", "--runs", "500"]) == 0
    assert "NOT VIOLATED AT THIS POWER" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "seconds", "words"), [("ends", "60", "ended with code 3"), ("waits", "1", "no answer within 1 s")]
)
def test_an_interpreter_that_ends_or_is_silent_was_not_tested(folder, capsys, function, seconds, words):
    assert cli.main([*PEER, f"mechanisms.py:{function}", "--seconds", seconds]) == 0
    said = capsys.readouterr().out
    assert said.startswith("NOT TESTED")
    assert words in said


def test_a_refusal_over_there_is_one_line_here(folder, capsys):
    for given, words in (
        (["mechanisms.py:absent"], "has no function"),
        (["mechanisms.py:coin", "--neighbours", "mechanisms.py:same"], "both tables are the same"),
        (["mechanisms.py:coin", "--neighbours", "mechanisms.py:strangers"], "must give made-up tables"),
        (["mechanisms.py:coin", "--python", "no such interpreter"], "there is no interpreter"),
    ):
        assert cli.main([*PEER, *given]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert words in said.err.splitlines()[-1]
