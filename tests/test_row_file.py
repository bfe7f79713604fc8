"""A file of rows appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from sordino.errors import ParameterError
from sordino.row_file import RowFile

ROWS = pa.table({"age": [30.5, None], "sex": ["female", "male"]})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows_come_back_in_their_order(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"
    with RowFile("predict", path) as rows:
        rows.write(ROWS)
        rows.write(ROWS)
    assert rows.written == 4
    read = pyarrow.csv.read_csv(path) if suffix == ".csv" else pyarrow.parquet.read_table(path)
    assert read.to_pydict() == pa.concat_tables([ROWS, ROWS]).to_pydict()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def write_many(path: Path, times: int) -> None:
    with RowFile("predict", path) as rows:
        for _ in range(times):
            rows.write(ROWS)
        raise ZeroDivisionError


def test_what_fails_half_way_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError):
        write_many(path, 1)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    Path(f"{path}.draft").symlink_to("/dev/full")
    with pytest.raises(ParameterError, match=r"^predict: .*cannot be written \(no space left on device\)"):
        write_many(path, 100_000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["rows.txt", "missing/rows.csv"])
def test_a_file_that_cannot_be_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match=r"^predict: "), RowFile("predict", tmp_path / name):
        pytest.fail("the work began")
