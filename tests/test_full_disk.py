"""When a file cannot grow any further, nothing is half-written, nothing unpaid leaves, and the error is one line.

The limit is the operating system's own on the size of a file, set in a process of its own: the write that would go
beyond it fails as on a full disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sordino as so

LIMITED = """
import resource, sys
from sordino import cli
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.exit(cli.main(sys.argv[2:]))
"""

ASK = ["query", "people.parquet", "count", "--domain", "people.toml", "--ledger", "people.ledger", "--epsilon", "0.1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    so.Domain({"age": so.Real(0, 120)}).to_toml("people.toml")
    pyarrow.parquet.write_table(pa.table({"age": np.linspace(20, 80, 4321)}), "people.parquet")
    so.Ledger.open("people.ledger", epsilon=3)
    return tmp_path


def limited(limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *arguments], capture_output=True, text=True, check=False
    )


def test_a_ledger_that_cannot_grow_answers_nothing_and_stays_sound(folder: Path) -> None:
    done = limited(0, *ASK)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "4321" not in done.stderr
    ledger = so.Ledger.open("people.ledger")
    assert (ledger.spent.epsilon, ledger.verify()) == (0, [])
    assert so.open_table("people.parquet", so.Domain.from_toml("people.toml"), ledger=ledger).count(epsilon=1)


def test_a_ledger_that_fills_up_in_the_middle_never_gives_an_answer_without_its_charge(folder: Path) -> None:
    size, answered = os.path.getsize("people.ledger"), 0
    for _ in range(8):
        done = limited(size + 8192, *ASK)
        answered += done.returncode == 0
        assert done.returncode in (0, 2), done.stderr
    ledger = so.Ledger.read("people.ledger")
    assert ledger.verify() == []
    assert answered <= len(ledger.entries())


@pytest.mark.parametrize("limit", [0, 2000])
def test_a_report_that_does_not_fit_leaves_the_old_one_and_no_draft(folder: Path, limit: int) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "sordino.cli", *ASK, "--json"], capture_output=True, text=True, check=True
    )
    Path("answer.json").write_text(json.dumps(json.loads(answer.stdout)))
    Path("report.html").write_text("the old one")
    done = limited(limit, "report", "answer.json", "-o", "report.html")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert Path("report.html").read_text() == "the old one"
    assert not list(folder.glob("*.draft"))
