"""Laws of sources: re-readable, never sniffed, one odd cell changes nothing but its own record."""

from __future__ import annotations

import csv
import io
import math
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from people import DOMAIN, SOURCES, cases_for, make_records
from sordino.domain import Category, Column, Domain, Real
from sordino.engine.local import accumulate
from sordino.errors import PassError, TableError
from sordino.privacy.ledger import Ledger
from sordino.queries.private_table import open_table
from sordino.statistics.amounts import Amounts
from sordino.statistics.count import Count
from sordino.statistics.histograms import CategoryAxis, Histograms
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box
from sordino.table.opening import check_domain, open_source
from sordino.table.source import Source, as_floats

RECORDS = make_records(50, seed=5)

#: 1 per unit of x in [-1, 1].
GRID = 2**20


def numbers(data: Any, name: str = "x", low: float = -(2.0**20), high: float = 2.0**20, **options: Any) -> list[int]:
    """Rows, present cells and sum of one real column, in whole units when the bounds are the grid's."""
    domain = Domain({name: Real(low, high, **options)})
    source = open_source(data)
    check_domain(source, domain)
    found = accumulate(source, domain, [Count((name,)), Sum(Box((name,)))], threads=2)
    return [found.exact_rows, *(value for values in found.exact_values() for value in values)]


def counts(data: Any, declared: Category, name: str = "x") -> list[int]:
    """How many records fall on each declared value."""
    domain = Domain({name: declared})
    source = open_source(data)
    check_domain(source, domain)
    found = accumulate(source, domain, [Histograms(((CategoryAxis.of(domain, name),),))], threads=1)
    return list(found.exact_values()[0])


def written(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# --- every source ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_source_is_read_again_and_again(name: str, tmp_path: Path) -> None:
    handed = SOURCES[name](RECORDS, tmp_path)
    source = open_source(handed.data, handed.names)
    domain = Domain({column: DOMAIN.columns[column] for column in handed.columns})
    statistics = [case.statistic for case in cases_for(handed.columns).values()]
    first, second, third = (accumulate(source, domain, statistics).exact_values() for _ in range(3))
    assert first == second == third


@pytest.mark.parametrize("name", SOURCES)
def test_source_reads_the_asked_columns_only_in_any_order(name: str, tmp_path: Path) -> None:
    handed = SOURCES[name](RECORDS, tmp_path)
    source = open_source(handed.data, handed.names)
    for columns in (("stage",), ("visits", "age"), ("age", "visits", "smoker")):
        blocks = [unread() for unread in source.blocks(columns)]
        assert sum(len(block) for block in blocks) == len(RECORDS)
        for block in blocks:
            for column in columns:
                assert len(block.column(column)) == len(block)


@pytest.mark.parametrize("name", SOURCES)
def test_slices_of_a_block_are_its_rows(name: str, tmp_path: Path) -> None:
    handed = SOURCES[name](RECORDS, tmp_path)
    source = open_source(handed.data, handed.names)
    for unread in source.blocks(("stage",)):
        block = unread()
        whole = block.column("stage").to_pylist()
        assert block.slice(3, 5).column("stage").to_pylist() == whole[3:8]
        assert len(block.slice(len(block) - 1, 10)) == 1


@pytest.mark.parametrize("name", SOURCES)
def test_missing_column_is_refused_before_any_row_is_read(name: str, tmp_path: Path) -> None:
    handed = SOURCES[name](RECORDS, tmp_path)
    source = open_source(handed.data, handed.names)
    with pytest.raises(TableError, match="no column 'height'"):
        check_domain(source, Domain({"height": Real(0, 1)}))


def test_stored_kind_decides_and_never_a_value() -> None:
    """Text that looks like a number stays text; objects are untyped whatever they hold."""
    frame = pd.DataFrame(
        {
            "text": pd.Series(["1", "2"], dtype="str"),
            "objects": pd.Series([1.5, 2.5], dtype="object"),
            "odd objects": pd.Series([1.5, "x"], dtype="object"),
            "object categories": pd.Categorical(pd.Series([1, "x"], dtype="object")),
            "number": [1, 2],
            "truth": [True, False],
            "moment": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        }
    )
    kinds = ["text", "untyped", "untyped", "untyped", "number", "truth", "unusable"]
    assert list(open_source(frame).kinds.values()) == kinds
    nulls = pa.table({"x": pa.nulls(3)})
    assert open_source(nulls).kinds == {"x": "untyped"}
    assert numbers(nulls) == [3, 0, 0]


def test_frames_of_every_library_are_told_apart_by_type_alone() -> None:
    table = pa.table({"x": [1.0, 2.0]})
    for data in (table, table.to_pandas(), pl.from_arrow(table), table.to_reader(), duckdb.sql("SELECT 1.0 AS x")):
        assert list(open_source(data).kinds) == ["x"]
    for wrong in (3, None, {"x": [1.0]}, [1.0, 2.0], object()):
        with pytest.raises(TableError, match="cannot read"):
            open_source(wrong)


@pytest.mark.parametrize(
    ("array", "columns", "said"),
    [
        (np.zeros((2, 2)), None, "no column names"),
        (np.zeros(3), ["x"], "two-dimensional"),
        (np.zeros((2, 2, 2)), ["x", "y"], "two-dimensional"),
        (np.array([["a"]]), ["x"], "array of numbers"),
        (np.array([[None]]), ["x"], "array of numbers"),
        (np.zeros((2, 2), dtype=complex), ["x", "y"], "array of numbers"),
        (np.zeros((2, 2)), ["x"], "name each of the 2 columns once"),
        (np.zeros((2, 2)), ["x", "x"], "name each of the 2 columns once"),
    ],
)
def test_array_that_is_no_table_is_refused(array: Any, columns: Any, said: str) -> None:
    with pytest.raises(TableError, match=said):
        open_source(array, columns)


DTYPES = ["float64", "float32", "float16", "longdouble", ">f8", ">i4", "int8", "int64", "uint64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_number_type_are_read_as_floats(dtype: str, order: str) -> None:
    array = np.array([[1, 0], [1, 1], [0, 1]], dtype=dtype, order=order)  # type: ignore[call-overload]
    source = open_source(array, ["x", "y"])
    domain = Domain({"x": Real(-GRID, GRID), "y": Real(-GRID, GRID), "z": Real(0, 1)})
    assert accumulate(source, domain, [Sum(Box(("y", "x")))]).exact_values() == [(2, 2)]
    codes = Domain({"x": Category([0, 1])})
    assert accumulate(source, codes, [Histograms(((CategoryAxis.of(codes, "x"),),))]).exact_values() == [(1, 2)]


def test_masked_cell_of_an_array_is_missing() -> None:
    """Whatever number lies under the mask."""
    masked = np.ma.masked_array([[1, 7], [2, 8]], mask=[[False, False], [True, False]])
    domain = Domain({"x": Real(-GRID, GRID), "y": Real(-GRID, GRID)})
    statistics = [Count(("x",)), Sum(Box(("x",))), Sum(Box(("y",)))]
    found = accumulate(open_source(masked, ["x", "y"]), domain, statistics)
    assert found.exact_values() == [(1,), (1,), (15,)]
    assert numbers(pa.table({"x": [1.0, 2.0]})) == [2, 2, 3]


def test_array_of_the_matrix_class_is_read_as_an_array() -> None:
    values = np.array([[1.0, 7.0], [2.0, 8.0]]).view(np.matrix)
    domain = Domain({"x": Real(-GRID, GRID), "y": Real(-GRID, GRID)})
    found = accumulate(open_source(values, ["x", "y"]), domain, [Sum(Box(("y",))), Sum(Box(("x", "y")))])
    assert found.exact_values() == [(15,), (3, 15)]


class Sullen:
    """An object that cannot be written down, and counts who tries."""

    asked = 0

    def __str__(self) -> str:
        type(self).asked += 1
        raise ValueError("SECRET")


class Derived(pd.DataFrame):
    """A frame of another package, as GeoPandas makes them."""


Derived.__module__ = "elsewhere.frames"

ODD_OBJECTS = [
    b"\xff\xfe",
    "\ud800",
    Sullen(),
    [1, 2],
    {"a": 1},
    object,
    np.zeros((2, 2)),
    10**400,
    pd.NaT,
    pd.NA,
    None,
]


@pytest.mark.parametrize("frame", [pd.DataFrame, Derived])
@pytest.mark.parametrize("odd", ODD_OBJECTS, ids=lambda odd: type(odd).__name__)
def test_odd_object_in_a_frame_is_a_missing_cell_of_its_record(odd: Any, frame: type[pd.DataFrame]) -> None:
    """An error would tell the table from its neighbours without that record."""
    cells = pd.Series([1.5, "2.5", b"3", None], dtype="object")
    cells[3] = odd
    data = frame({"x": cells, "y": [1.0, 2.0, 3.0, 4.0]})
    found = numbers(data)
    whole = isinstance(odd, int)  # a huge number is one
    assert found == [4, 3 + whole, GRID + 7] if whole else found == [4, 3, 7]
    assert counts(data, Category([3, 9])) == [1, 0]


@pytest.mark.parametrize("odd", [None, "x", math.nan, pd.NA])
def test_one_odd_cell_of_an_array_leaves_the_missing_cells_of_others_missing(odd: Any) -> None:
    """Numbers become objects with it, and NaN is no category of another name."""
    declared, cells = Category([1, 2, 9], other=9), [1.0, math.nan, math.nan, 2.0]
    domain = Domain({"x": Real(0, 1), "y": declared})
    axis = Histograms(((CategoryAxis.of(domain, "y"),),))
    for values in (np.array(cells), np.array([*cells, odd], dtype=object)):
        others = 1 if isinstance(values[-1], str) else 0
        assert counts(open_source((values[:, None], None), ["x"]), declared) == [1, 1, others]
        labelled = open_source((np.zeros((len(values), 1)), values), ["x", "y"])
        assert accumulate(labelled, domain, [axis]).exact_values() == [(1, 1, others)]


def test_opening_a_frame_converts_no_cell() -> None:
    Sullen.asked = 0
    source = open_source(pd.DataFrame({"x": pd.Series([Sullen(), 1], dtype="object")}))
    assert source.kinds == {"x": "untyped"}
    assert Sullen.asked == 0
    assert counts(source, Category([1, 2])) == [1, 0]
    assert Sullen.asked > 0


def test_opening_a_relation_does_not_run_it() -> None:
    """Its own error would come before the charge, and quote a cell."""
    words = "SELECT CAST(word AS INTEGER) AS x FROM (VALUES ('1'), ('SECRET')) words(word)"
    ledger = Ledger(epsilon=1)
    with duckdb.connect() as connection:
        table = open_table(connection.sql(words), Domain({"x": Real(0, 9)}), ledger=ledger)
        with pytest.raises(PassError, match="The charge stands") as caught:
            table.sum("x", epsilon=1)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert ledger.remaining.epsilon == 0


def test_error_of_a_reader_is_replaced_without_a_trace_of_its_text() -> None:
    def batches() -> Any:
        yield pa.record_batch({"x": [1.0]})
        raise ValueError("SECRET")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64()}), batches())
    with pytest.raises(TableError, match="cannot be read as Arrow columns") as caught:
        open_source(reader)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("name", ["pyarrow", "pandas"])
def test_two_columns_of_one_name_are_refused(name: str) -> None:
    table = pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    data = table if name == "pyarrow" else pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(TableError):
        open_source(data)


def test_pass_changes_no_cell_of_the_table() -> None:
    """A block may be worked on in place only when it is a copy."""
    array = np.array([[0.5, np.nan], [-3.0, 0.25]])
    for layout in (array.copy(), np.asfortranarray(array)):
        before = layout.copy()
        source = open_source(layout, ["x", "y"])
        domain = Domain({"x": Real(-1, 1), "y": Real(-1, 1, missing=0.5)})
        accumulate(source, domain, [Sum(Box(("x", "y"))), Count(("x",)), Sum(Box(("x",)))])
        np.testing.assert_array_equal(layout, before)
    table = pa.table({"x": [0.5, None], "y": [1.0, 7.0]})
    assert numbers(table) == numbers(table)
    assert table.to_pylist() == [{"x": 0.5, "y": 1.0}, {"x": None, "y": 7.0}]


def test_huge_cells_make_no_warning() -> None:
    """A warning about an overflow would tell that there is such a cell."""
    table = pa.table({"x": [1e308, -1e308, 1.7e308, float("inf"), 5e-324]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert numbers(table, low=-1e-90, high=1e-90) == [5, 5, 2 * GRID]
    assert not caught


# --- one cell, one meaning ---------------------------------------------------------------------------------------

CELLS = [
    ("7", 7.0), (" 7 ", 7.0), ("+7", 7.0), ("-7.50", -7.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("1E-3", 0.001),
    ("0007", 7.0), ("-0", 0.0), ("1e9999", np.inf), ("-1e9999", -np.inf), ("1e-9999", 0.0), ("9" * 400, np.inf),
    ("inf", np.inf), ("-Infinity", -np.inf), ("\t3\r", 3.0),
]  # fmt: skip
MISSING = [
    "", " ", "x", "1,5", "1_000", "0x10", "\u0661", "1e", "e5", ".", "+", "--1", "+-1", "1 2", "nan", "NULL",
    "NaN", "None", "1.2.3", "$5", "5%", "inf1", "∞", "1\x00", "\ufeff1", "\u00a01", "1e12345678901234567890", "True",
]  # fmt: skip


@pytest.mark.parametrize(("cell", "value"), CELLS)
def test_untyped_cell_is_the_number_it_says(cell: str, value: float) -> None:
    assert as_floats(pa.array(["0", cell, None])).tolist()[:2] == [0.0, value]


@pytest.mark.parametrize("cell", MISSING)
def test_untyped_cell_that_is_no_number_is_missing_and_stops_nothing(cell: str) -> None:
    found = as_floats(pa.array(["1", cell, "2"]))
    assert np.isnan(found[1])
    assert found[[0, 2]].tolist() == [1.0, 2.0]


@settings(deadline=None)
@given(st.lists(st.text(max_size=12), max_size=8))
@example(["1e400", "9" * 5000, "1e-400"])
def test_untyped_cells_are_read_one_by_one(cells: list[str]) -> None:
    together = as_floats(pa.array(cells, pa.string()))
    alone = [as_floats(pa.array([cell], pa.string()))[0] for cell in cells]
    np.testing.assert_array_equal(together, alone)


@given(st.floats(allow_nan=False))
def test_untyped_cell_holds_every_float_as_python_prints_it(value: float) -> None:
    assert as_floats(pa.array([repr(value)]))[0] == value


STORED_CODES = [
    ("integers", pa.array([1, 2, 9, None], pa.int8())),
    ("unsigned", pa.array([1, 2, 9, None], pa.uint64())),
    ("floats", pa.array([1.0, 2.0, 1.5, None])),
    ("floats with NaN", pa.array([1.0, 2.0, 9.0, float("nan")])),
    ("text", pa.array(["1", " 2.0", "two", None])),
    ("dictionary of text", pa.array(["1", " 2.0", "two", None]).dictionary_encode()),
    ("dictionary of numbers", pa.array([1, 2, 9, None]).dictionary_encode()),
    ("dictionary with NaN", pa.array([1.0, 2.0, 9.0, float("nan")]).dictionary_encode()),
    ("dictionary with a null inside", pa.DictionaryArray.from_arrays([0, 1, 2, 3], pa.array([1, 2, 9, None]))),
    ("decimals", pa.array([1, 2, 9, None], pa.decimal128(9, 3))),
    ("text view", pa.array(["1", " 2.0", "two", None], pa.string_view())),
]


@pytest.mark.parametrize(("stored", "column"), STORED_CODES, ids=[name for name, _ in STORED_CODES])
@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (Category([1, 2, 3]), [1, 1, 0]),
        (Category([1, 2, 3], other=3), [1, 1, 1]),
        (Category([1, 2, 3], replacement=2), [1, 3, 0]),
        (Category([1, 2, 3], replacement=1, other=3), [2, 1, 1]),
    ],
    ids=["drop", "other", "replacement", "both"],
)
def test_codes_are_the_same_in_every_stored_type(
    stored: str, column: pa.Array, declared: Category, expected: list[int]
) -> None:
    assert counts(pa.table({"x": column}), declared) == expected
    assert counts(pa.table({"x": column}).slice(1, 3), declared)[0] == expected[0] - 1


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False, True, None]),
        pa.array([1, 0, 1, None]),
        pa.array([1.0, 0.0, 1.0, None]),
        pa.array(["true", "False", " TRUE ", None]),
        pa.array(["1", "0", "1.0", "yes"]),
        pa.array([True, False, True, None]).dictionary_encode(),
    ],
)
def test_truth_is_the_same_in_every_stored_type(column: pa.Array) -> None:
    for declared in (Category([False, True]), Category([0, 1])):
        assert counts(pa.table({"x": column}), declared) == [1, 2]


@pytest.mark.parametrize("odd", [None, math.nan, "x", 7, b"x"])
@pytest.mark.parametrize("cells", [[True, False, True], [1, 0, 1], [1.0, 0.0, 1.0]], ids=["truth", "whole", "float"])
def test_one_odd_cell_of_a_pandas_column_changes_no_other_record(cells: list[Any], odd: Any) -> None:
    """The column's type changes with it, and the declared sensitivity is one."""
    for declared in (Category([0, 1]), Category([False, True])):
        for frame in (pd.DataFrame({"x": cells}), pd.DataFrame({"x": [*cells, odd]})):
            assert counts(frame, declared) == [1, 2]
            assert counts(frame.astype("category"), declared) == [1, 2]


def test_only_the_spaces_that_are_trimmed_from_cells_are_trimmed_from_declared_values() -> None:
    column = pa.array(["\u00a0a", " \tb\r\n", "\u2003", "\x1fc"])
    assert counts(pa.table({"x": column}), Category(["\u00a0a", " b ", "\u2003", "\x1fc"])) == [1, 1, 1, 1]
    assert len(Category(["a", "\u00a0a"])) == 2


def test_dictionary_may_be_as_long_as_its_indices_reach() -> None:
    indices = pa.array([0, None, 127], pa.int8())
    words = pa.DictionaryArray.from_arrays(indices, pa.array(["a", *(f"w{place}" for place in range(127))]))
    assert counts(pa.table({"x": words}), Category(["a", "w126"])) == [1, 1]


@pytest.mark.parametrize("declared", [Real(0, 1, missing="reject"), Category(["a"], missing="reject")])
def test_declared_complete_column_refuses_a_missing_cell(declared: Column) -> None:
    complete = pa.table({"x": [0.5] if isinstance(declared, Real) else ["a"]})
    incomplete = pa.table({"x": [0.5, None] if isinstance(declared, Real) else ["a", None]})
    domain = Domain({"x": declared})
    assert accumulate(open_source(complete), domain, [Count(("x",))]).exact_values() == [(1,)]
    with pytest.raises(TableError, match="declared complete") as caught:
        accumulate(open_source(incomplete), domain, [Count(("x",))])
    assert "0.5" not in str(caught.value)


# --- CSV ---------------------------------------------------------------------------------------------------------

ODD_ROWS = {
    "no number": b"n/a,1",
    "empty": b",",
    "quoted": b'"5","said ""ninety"" , or so"',
    "line end in quotes": b'5,"two\nlines"',
    "carriage return and line end in quotes": b'5,"two\r\nlines"',
    "many line ends that look like records": b'5,"' + b"9,9\n" * 50 + b'"',
    "quote inside a cell": b'5,6"2',
    "text after a quoted cell": b'5,"a"b',
    "short": b"5",
    "long": b"5,6,7,8",
    "no text": b"\xff\xfe,1",
    "no text elsewhere": b"5,\xff\xfe",
    "nul": b"5\x00,1",
    "nul elsewhere": b"5,\x00",
    "very long": b"5," + b"x" * 100_000,
    "too long for a buffer": b"5," + b"x" * 3_000_000,
    "backslash": b'5,\\"',
    "hash": b"#5,1",
    "other delimiters": b"5;6|7\t8,1",
    "beyond floats": b"1e9999,1",
}

MANY, ODD_AT = 100_000, 70_000


@pytest.fixture(scope="module")
def plain_rows() -> list[bytes]:
    return [b"%d,%d" % (row % 7, row) for row in range(MANY)]


@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS)
def test_one_odd_csv_row_changes_no_other_record(odd: bytes, plain_rows: list[bytes], tmp_path: Path) -> None:
    """The total with the odd row is the total without it, plus what that row has in a file of its own."""
    with_odd = [*plain_rows[:ODD_AT], odd, *plain_rows[ODD_AT:]]
    found = numbers(written(tmp_path, b"x,y\n" + b"\n".join(with_odd) + b"\n"))
    alone = numbers(written(tmp_path, b"x,y\n" + odd + b"\n"))
    without = [MANY, MANY, sum(row % 7 for row in range(MANY))]
    assert found == [a + b for a, b in zip(without, alone, strict=True)]
    assert alone[0] == 1


UNREADABLE = [b"\xff\xfe,1", b"5,\xff", b"5," + b"x" * 3_000_000]


@pytest.mark.parametrize("odd", UNREADABLE, ids=["no text", "no text elsewhere", "too long"])
def test_unreadable_csv_row_is_a_record_with_missing_cells(odd: bytes, tmp_path: Path) -> None:
    """A row left out would count for nothing where the domain replaces a missing cell: farther than substitute allows.

    And its absence would show in the number of rows, which is checked against the declared one.
    """
    domain = Domain({"x": Real(100, 120, missing=110), "y": Real(0, 9, missing=3)}, "substitute")
    statistics = [Amounts.of(domain, ("x", "y")), Count(("x", "y"))]
    rows = [b"101,1", odd, b"119,2", odd, b"120,3"]
    found = accumulate(open_source(written(tmp_path, b"x,y\n" + b"\n".join(rows))), domain, statistics)
    blank = accumulate(open_source(written(tmp_path, b"x,y\n101,1\n,\n119,2\n,\n120,3\n")), domain, statistics)
    assert found.exact_values() == blank.exact_values()
    assert found.exact_rows == blank.exact_rows == 5


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=4)), max_size=8))
def test_csv_of_any_bytes_has_as_many_records_as_were_written(rows: list[tuple[bytes, bytes]], tmp_path: Path) -> None:
    lines = [b"x,y", *(b",".join(b'"' + cell.replace(b'"', b'""') + b'"' for cell in row) for row in rows)]
    source = open_source(written(tmp_path, b"\n".join(lines) + b"\n"))
    for columns in (("x",), ("y",), ("y", "x")):
        assert sum(len(unread()) for unread in source.blocks(columns)) == len(rows)


def test_csv_row_shorter_or_longer_than_the_header_keeps_its_cells(tmp_path: Path) -> None:
    assert numbers(written(tmp_path, "y,x\n1,5\n2\n3,7,8,9\n\n4,\n")) == [4, 2, 12]


HEADERS = [
    "x",
    "age in years",
    'the "age"',
    "größe, cm",
    "naïve\u200b",
    "select",
    "it's",
    "a.b",
    "c0",
    "{x}",
    "`x`",
    "%s",
]


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
def test_column_may_have_any_name(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"names{ending}"
    table = pa.table({"c1": [100.0, 100.0], name: [1.0, 2.0], "other": [7.0, None]})
    if ending == ".csv":
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerows([list(table.column_names), [100, 1, 7], [100, 2, ""]])
        written(tmp_path, line.getvalue(), path.name)
    elif ending == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.feather.write_feather(table, path)
    assert numbers(path, name) == [2, 2, 3]


def test_csv_header_may_have_a_mark_spaces_and_an_empty_name(tmp_path: Path) -> None:
    assert numbers(written(tmp_path, b"\xef\xbb\xbf x , ,y\r\n1,2,3\r\n4,5,6\r\n")) == [2, 2, 5]


def test_csv_names_may_differ_in_case_only(tmp_path: Path) -> None:
    path = written(tmp_path, "x,X\n1,10\n2,20\n")
    assert (numbers(path, "x"), numbers(path, "X")) == ([2, 2, 3], [2, 2, 30])


def test_parquet_names_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    """DuckDB cannot tell them apart, and would hand over the wrong one."""
    pa.parquet.write_table(pa.table({"x": [1.0], "X": [10.0]}), tmp_path / "case.parquet")
    with pytest.raises(TableError, match="'x' and 'X' cannot be told apart"):
        open_source(tmp_path / "case.parquet")


def test_csv_name_with_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="a column name with a line end"):
        open_source(written(tmp_path, '"x\nin cm",y\n1,2\n'))


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("x;y\n1;2\n", "no comma in its first line"),
        ("x\ty\n1\t2\n", "no comma in its first line"),
        ("größe,y\n1,2\n".encode("latin-1"), "is not UTF-8. Convert the file"),
        ("x,y\n1,2\n".encode("utf-16"), "is not UTF-8. Convert the file"),
    ],
)
def test_csv_of_another_program_is_refused_without_a_word_of_its_first_line(
    content: str | bytes, rule: str, tmp_path: Path
) -> None:
    """The line may be a record; one name in quotes may hold any mark."""
    with pytest.raises(TableError, match=rule) as refusal:
        open_source(written(tmp_path, content))
    assert "größe" not in str(refusal.value)
    assert refusal.value.__cause__ is refusal.value.__context__ is None
    assert numbers(written(tmp_path, '"x;y"\n1\n2\n'), "x;y") == [2, 2, 3]


def test_a_folder_and_a_file_that_is_not_there_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").mkdir()
    for name, said in (("rows.csv", "is a folder"), ("no.csv", "there is no file"), ("n*.csv", "no file matches")):
        with pytest.raises(TableError, match=said):
            open_source(tmp_path / name)


@pytest.mark.parametrize("text", ["", "\n", "x,x\n1,2\n"])
def test_csv_without_a_usable_header_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="first line with one distinct name per column"):
        open_source(written(tmp_path, text))


def test_opening_a_csv_file_looks_at_no_record(tmp_path: Path) -> None:
    """Otherwise an odd byte in the first rows would refuse the whole table."""
    assert numbers(written(tmp_path, b'x\n\xff\xfe\n"\x00"\n3\n'))[1:] == [1, 3]
    assert open_source(written(tmp_path, b'x,y\n"never closed')).kinds == {"x": "untyped", "y": "untyped"}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.one_of(st.none(), st.integers(-1000, 1000)), st.text(st.characters(codec="utf-8"), max_size=8)),
        max_size=12,
    )
)
def test_csv_of_any_text_has_the_records_that_were_written(rows: list[tuple[int | None, str]], tmp_path: Path) -> None:
    line = io.StringIO()
    writer = csv.writer(line, quoting=csv.QUOTE_ALL)
    writer.writerows([("x", "note"), *rows])
    found = numbers(written(tmp_path, line.getvalue()))
    present = [number for number, _ in rows if number is not None]
    assert found == [len(rows), len(present), sum(present)]


# --- files -------------------------------------------------------------------------------------------------------


def test_path_that_is_also_a_pattern_means_itself(tmp_path: Path) -> None:
    """DuckDB would take ``a[1].parquet`` for a pattern and read ``a1.parquet``: somebody else's table."""
    for number, name in enumerate(["a[1]", "a1", "b*", "bc", "d?", "de", "f'g", "h{i,j}", "hi"], start=1):
        pa.parquet.write_table(pa.table({"x": [float(number)]}), tmp_path / f"{name}.parquet")
        written(tmp_path, f"x\n{number}\n", f"{name}.csv")
        assert numbers(tmp_path / f"{name}.parquet") == [1, 1, number]
        assert numbers(tmp_path / f"{name}.csv") == [1, 1, number]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
def test_pattern_reads_every_file_once(ending: str, tmp_path: Path) -> None:
    for number in (1, 2, 4):
        table = pa.table({"x": [float(number)]})
        if ending == ".csv":
            written(tmp_path, f"x\n{number}\n", f"{number}.csv")
        elif ending == ".parquet":
            pa.parquet.write_table(table, tmp_path / f"{number}.parquet")
        else:
            pa.feather.write_feather(table, tmp_path / f"{number}.feather")
    assert numbers(str(tmp_path / f"*{ending}")) == [3, 3, 7]
    assert numbers(str(tmp_path / f"[12]{ending}")) == [2, 2, 3]


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize(
    "other", [{"x": [2.7]}, {"x": ["text"]}, {"y": [1]}, {"x": [1], "y": [2]}], ids=["float", "text", "name", "more"]
)
def test_files_of_another_schema_are_refused(ending: str, other: dict[str, list[Any]], tmp_path: Path) -> None:
    """A reader would cast them to the first file's types: 2.7 would become 3, and one word would stop the pass."""
    write = pa.parquet.write_table if ending == ".parquet" else pa.feather.write_feather
    write(pa.table({"x": [1]}), tmp_path / f"a{ending}")
    write(pa.table(other), tmp_path / f"b{ending}")
    with pytest.raises(TableError, match="Give files of one schema"):
        open_source(str(tmp_path / f"*{ending}"))


def test_csv_files_of_another_header_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "x,y\n1,2\n", "a.csv")
    written(tmp_path, "y,x\n1,2\n", "b.csv")
    with pytest.raises(TableError, match="the same in every file"):
        open_source(str(tmp_path / "*.csv"))


@pytest.mark.parametrize("name", ["absent.parquet", "absent*.csv", "", "people", "people.xlsx"])
def test_path_without_a_readable_file_is_refused(name: str, tmp_path: Path) -> None:
    written(tmp_path, "x\n1\n", "people")
    written(tmp_path, "x\n1\n", "people.xlsx")
    with pytest.raises(TableError, match=r"no file|must end in one of"):
        open_source(tmp_path / name if name else "")


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_file_cut_short_is_refused_when_it_is_opened(ending: str, kept: float, tmp_path: Path) -> None:
    path = tmp_path / f"cut{ending}"
    table = pa.table({"x": np.arange(5000) + 0.125})
    pa.parquet.write_table(table, path) if ending == ".parquet" else pa.feather.write_feather(table, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept if kept > 1 else kept * len(whole))])
    with pytest.raises(TableError, match="cut short") as caught:
        open_source(path)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_second_file_cut_short_is_refused_when_the_pattern_is_opened(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pa.parquet.write_table(pa.table({"x": [1.0]}), tmp_path / f"{name}.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError, match="cut short"):
        open_source(str(tmp_path / "*.parquet"))


# --- the twin ----------------------------------------------------------------------------------------------------


class Sniffed(Source):
    """Decides a column's type by trying all of its cells: one odd cell turns the others to missing."""

    kinds = {"x": "untyped", "y": "untyped"}  # noqa: RUF012  # a property in the contract

    def __init__(self, path: Path) -> None:
        with path.open(newline="", encoding="latin-1") as file:
            self._cells = [row[0] if row else "" for row in csv.reader(file)][1:]

    def blocks(self, columns: Any) -> Any:
        try:
            column = pa.array([float(cell) for cell in self._cells])
        except ValueError:
            column = pa.nulls(len(self._cells), pa.float64())
        yield lambda: _Block(column)


class _Block:
    makes_copies = True

    def __init__(self, column: pa.Array) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def slice(self, start: int, length: int) -> _Block:
        return _Block(self._column.slice(start, length))

    def column(self, name: str) -> pa.Array:
        return self._column

    def matrix(self, names: Any) -> np.ndarray:
        return np.array(self._column.to_numpy(zero_copy_only=False))[:, None]


def test_the_check_fails_for_a_sniffing_reader(
    plain_rows: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "open_source", Sniffed)
    test_one_odd_csv_row_changes_no_other_record(b"5,1", plain_rows, tmp_path)
    with pytest.raises(AssertionError):
        test_one_odd_csv_row_changes_no_other_record(ODD_ROWS["no number"], plain_rows, tmp_path)
