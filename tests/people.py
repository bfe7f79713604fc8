"""Records, the integers that they must add up to, and every way to hand the same records over.

The expected totals are computed here record by record, in Python integers and fractions: none of Sordino's
arithmetic is used. A new source is one line in ``SOURCES``; every law about totals then runs on it.
"""

from __future__ import annotations

import csv
import math
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from sordino import Category, Domain, Real
from sordino.statistics.amounts import Amounts
from sordino.statistics.by_class import ByClass
from sordino.statistics.count import Count
from sordino.statistics.direct import DirectCovariance
from sordino.statistics.histograms import BinAxis, CategoryAxis, Histograms
from sordino.statistics.moments import SecondMoment
from sordino.statistics.ranks import RankScores
from sordino.statistics.statistic import Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.unit_split import UnitSplit
from sordino.statistics.vectors import Ball, Box

Record = Mapping[str, Any]

GRID = 2**20

DOMAIN = Domain(
    {
        "age": Real(0, 120),
        "body mass": Real(10, 60, missing=25.5),
        "dose": Real(-1, 1),
        "income": Real(-1000, 250_000),
        "visits": Real(0, 50, integer=True),
        "stage": Category([1, 2, 3]),
        "smoker": Category([True, False], replacement=False),
        "sex": Category(["female", "male"]),
        "town": Category(["Łódź", "New York", "elsewhere"], other="elsewhere", replacement="New York"),
        "diagnosis": Category(["benign", "malignant"]),
    }
)

#: What a numpy array of floats can hold.
NUMERIC = ("age", "body mass", "dose", "visits", "stage", "smoker")

SCHEMA = pa.schema(
    {
        "age": pa.float64(),
        "body mass": pa.float64(),
        "dose": pa.float32(),
        "income": pa.decimal128(12, 2),
        "visits": pa.int32(),
        "stage": pa.int64(),
        "smoker": pa.bool_(),
        "sex": pa.string(),
        "town": pa.string(),
        "diagnosis": pa.string(),
    }
)


def make_records(count: int, seed: int = 1) -> list[Record]:
    """People with every kind of odd cell: missing, NaN, infinite, far out of bounds, unlisted, on a rounding tie."""
    draw = random.Random(seed)

    def odd(value: Any, *instead: Any) -> Any:
        return draw.choice(instead) if draw.random() < 0.3 else value

    def person() -> Record:
        tie = draw.choice([1, 3, 5, -1, -3]) * 2.0**-21
        return {
            "age": odd(draw.uniform(0, 120), None, math.nan, math.inf, -math.inf, -5.0, 1e308, 60.0),
            "body mass": odd(draw.gauss(27, 6), None, math.nan, 10.0, 60.0, 75.25),
            "dose": odd(_float32(draw.uniform(-1, 1)), None, tie, 1.0, 0.0, -7.5),
            "income": odd(Decimal(draw.randrange(0, 30_000_000)) / 100, None, Decimal("-5000.00"), Decimal("0.01")),
            "visits": odd(draw.randrange(0, 51), None, 51, -3),
            "stage": odd(draw.choice([1, 2, 3]), None, 9, 0),
            "smoker": odd(draw.random() < 0.3, None),
            "sex": odd(draw.choice(["female", "male"]), None, "other", " male ", "Male"),
            "town": odd(draw.choice(["Łódź", "New York"]), None, "Paris, Texas", 'the "Hague"', "two\nlines"),
            "diagnosis": odd(draw.choice(["benign", "malignant"]), None, "unknown"),
        }

    return [person() for _ in range(count)]


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


# --- what the records must add up to -----------------------------------------------------------------------------


def placed(name: str, cell: Any, steps: int = GRID, domain: Domain = DOMAIN) -> int | None:
    """The grid point of one cell of a real column, by exact fractions; None for a missing cell."""
    declared = domain.columns[name]
    cell = _present(cell)
    if cell is None:
        if declared.missing == "drop":
            return None
        cell = declared.missing
    low, high = Fraction(declared.low), Fraction(declared.high)
    if math.isinf(cell):
        return steps if cell > 0 else -steps
    place = (Fraction(float(cell)) - (low + high) / 2) * 2 / (high - low)
    return max(-steps, min(steps, round(place * steps)))


def category(name: str, cell: Any, domain: Domain = DOMAIN) -> int | None:
    """The position of one cell of a category column; None for a missing one."""
    declared = domain.columns[name]
    cell = cell.strip() if isinstance(cell, str) else _present(cell)
    if cell is not None and cell not in declared.values:
        cell = declared.other
    if cell is None:
        cell = declared.replacement
    return None if cell is None else declared.values.index(cell)


def _present(cell: Any) -> Any:
    return None if cell is None or (isinstance(cell, float) and math.isnan(cell)) else cell


def box(record: Record, columns: Sequence[str], steps: int = GRID) -> list[int] | None:
    """The grid vector of a record; None when a cell is missing."""
    places = [placed(name, record[name], steps) for name in columns]
    return None if None in places else places  # type: ignore[return-value]


def ball(record: Record, columns: Sequence[str], radius: Fraction, centre: Sequence[Fraction]) -> list[int] | None:
    """The grid vector of a record pulled into a ball: 60 decimal digits, and a check in integers."""
    vector = box(record, columns)
    if vector is None:
        return None
    exact, many = Context(prec=60), Decimal(GRID)
    shifted = [place - round(middle * GRID) for place, middle in zip(vector, centre, strict=True)]
    norm = exact.sqrt(Decimal(sum(place * place for place in shifted)))
    reach = GRID - (math.isqrt(len(columns) - 1) + 2) // 2  # d = 1 to 4: half a root of d, rounded up, is 1
    factor = exact.divide(Decimal(reach), max(norm, exact.multiply(Decimal(float(radius)), many)))
    pulled = [int(exact.multiply(Decimal(place), factor).to_integral_value(context=exact)) for place in shifted]
    assert sum(place * place for place in pulled) <= GRID * GRID
    return pulled


def products(vector: Sequence[int] | None, size: int) -> list[int]:
    """The upper triangle of x x', zero for a missing vector."""
    pairs = combinations_with_replacement(range(size), 2)
    return [0 if vector is None else vector[left] * vector[right] for left, right in pairs]


def added(rows: Sequence[Sequence[int]], size: int) -> tuple[int, ...]:
    """Column sums in Python integers."""
    return tuple(sum(row[place] for row in rows) for place in range(size))


def one_hot(cell: int | None, size: int) -> list[int]:
    """A one in a cell, or zeros."""
    return [int(place == cell) for place in range(size)]


@dataclass(frozen=True)
class Case:
    """A statistic, and what it must give on some records."""

    statistic: Statistic
    expected: Callable[[Sequence[Record]], tuple[int, ...]]


def _sum_case(statistic: Statistic, vector: Callable[[Record], Sequence[int] | None]) -> Case:
    def expected(records: Sequence[Record]) -> tuple[int, ...]:
        return added([vector(record) or [0] * statistic.size for record in records], statistic.size)

    return Case(statistic, expected)


def _by_class(case: Case) -> Case:
    values = DOMAIN.columns["diagnosis"].values
    statistic = ByClass(case.statistic, CategoryAxis.of(DOMAIN, "diagnosis"))

    def expected(records: Sequence[Record]) -> tuple[int, ...]:
        by_class = [
            [r for r in records if category("diagnosis", r["diagnosis"]) == code] for code in range(len(values))
        ]
        return tuple(number for part in by_class for number in case.expected(part))

    return Case(statistic, expected)


def _unit_split(record: Record, columns: Sequence[str], degree: int) -> list[int] | None:
    places = box(record, columns, GRID // 2)
    if places is None:
        return None
    ends = [(GRID // 2 - place, GRID // 2 + place) for place in places]
    if degree == 1:
        return [part for pair in ends for part in pair]
    return [part for low, high in ends for part in (low * low, 2 * low * high, high * high)]


def _crossed(record: Record) -> list[int]:
    sex, age = category("sex", record["sex"]), _clipped(record, "age")
    if sex is None or age is None:
        return [0] * 6
    return one_hot(sex * 3 + (age >= 18) + (age >= 40), 6)


def _clipped(record: Record, name: str) -> float | None:
    cell, declared = _present(record[name]), DOMAIN.columns[name]
    return None if cell is None else min(max(float(cell), declared.low), declared.high)


def _covariance(records: Sequence[Record]) -> tuple[int, ...]:
    columns = ("age", "dose")
    vectors = [box(record, columns) or [0, 0] for record in records]
    sums = added(vectors, 2)
    moments = added([products(vector, 2) for vector in vectors], 3)
    pairs = combinations_with_replacement(range(2), 2)
    return tuple(COUNT * moment - sums[a] * sums[b] for moment, (a, b) in zip(moments, pairs, strict=True))


def _rank_scores(records: Sequence[Record]) -> tuple[int, ...]:
    """How far a quarter of the present values lies, in quarters of a rank, outside those at or beside a candidate."""
    values = [value for record in records if (value := _clipped(record, "age")) is not None]
    scores = []
    for candidate in _CANDIDATES:
        below, at_most = sum(v < candidate for v in values), sum(v <= candidate for v in values)
        scores.append(-max(0, len(values) - 4 * at_most, 4 * below - len(values)))
    return tuple(scores)


def _amounts(record: Record) -> list[int]:
    largest = {"income": 250_000, "visits": 50}
    clipped = [(name, _clipped(record, name)) for name in largest]
    return [0 if value is None else round(Fraction(value) * 2**40 / largest[name]) for name, value in clipped]


#: How many records the shared table has: public for the direct covariance.
COUNT = 600

_CANDIDATES = tuple(float(value) for value in range(0, 121, 12))
_PAIR, _FOUR = ("age", "dose"), ("age", "body mass", "dose", "visits")
_CENTRE = (Fraction(1, 4), Fraction(-1, 2))

_moment = _sum_case(SecondMoment(Box(_FOUR)), lambda record: products(box(record, _FOUR), 4))
_sexes = _sum_case(
    Histograms(((CategoryAxis.of(DOMAIN, "sex"),),)), lambda record: one_hot(category("sex", record["sex"]), 2)
)

CASES: dict[str, Case] = {
    "count": _sum_case(Count(), lambda record: [1]),
    "count of whole records": _sum_case(
        Count(("age", "stage")),
        lambda r: [int(placed("age", r["age"]) is not None and category("stage", r["stage"]) is not None)],
    ),
    "sum in a box": _sum_case(Sum(Box(_FOUR)), lambda record: box(record, _FOUR)),
    "sum with a replacement": _sum_case(Sum(Box(("body mass",))), lambda record: box(record, ("body mass",))),
    "sum in a ball": _sum_case(
        Sum(Ball(_PAIR, radius=0.5, centre=(0.25, -0.5))), lambda record: ball(record, _PAIR, Fraction(1, 2), _CENTRE)
    ),
    "second moment in a box": _moment,
    "second moment in a ball": _sum_case(
        SecondMoment(Ball(_FOUR)), lambda record: products(ball(record, _FOUR, Fraction(1), [Fraction(0)] * 4), 4)
    ),
    "unit split": _sum_case(UnitSplit(_PAIR), lambda record: _unit_split(record, _PAIR, 1)),
    "unit split of degree 2": _sum_case(UnitSplit(_PAIR, degree=2), lambda record: _unit_split(record, _PAIR, 2)),
    "rank scores": Case(RankScores("age", _CANDIDATES, Fraction(1, 4)), _rank_scores),
    "direct covariance": Case(DirectCovariance(_PAIR, COUNT), _covariance),
    "codes": _sum_case(
        Histograms(((CategoryAxis.of(DOMAIN, "stage"),), (CategoryAxis.of(DOMAIN, "smoker"),))),
        lambda r: one_hot(category("stage", r["stage"]), 3) + one_hot(category("smoker", r["smoker"]), 2),
    ),
    "sums of decimals and whole numbers": _sum_case(Amounts.of(DOMAIN, ("income", "visits")), _amounts),
    "sexes": _sexes,
    "towns": _sum_case(
        Histograms(((CategoryAxis.of(DOMAIN, "town"),),)), lambda record: one_hot(category("town", record["town"]), 3)
    ),
    "sex by age": _sum_case(
        Histograms(((CategoryAxis.of(DOMAIN, "sex"), BinAxis("age", (0.0, 18.0, 40.0, 120.0))),)), _crossed
    ),
    "sexes by class": _by_class(_sexes),
    "second moment by class": _by_class(_moment),
}


def cases_for(columns: Sequence[str]) -> dict[str, Case]:
    """The cases that read these columns only."""
    return {name: case for name, case in CASES.items() if set(case.statistic.columns) <= set(columns)}


# --- every way to hand them over ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Handed:
    """Data as ``open_source`` takes it, and the columns that it has."""

    data: Any
    columns: Sequence[str] = tuple(DOMAIN.columns)
    names: Sequence[str] | None = None


def arrow(records: Sequence[Record]) -> pa.Table:
    """An Arrow table with a type per column."""
    return pa.Table.from_pylist([dict(record) for record in records], schema=SCHEMA)


def numpy_array(records: Sequence[Record], order: str = "C") -> Handed:
    cells = [[math.nan if (cell := record[name]) is None else float(cell) for name in NUMERIC] for record in records]
    array = np.array(cells, dtype=float, order=order).reshape(len(records), len(NUMERIC))  # type: ignore[call-overload]
    return Handed(np.asfortranarray(array) if order == "F" else array, NUMERIC, NUMERIC)


def _column(records: Sequence[Record], name: str) -> list[Any]:
    return [record[name] for record in records]


def pandas_frame(records: Sequence[Record]) -> Handed:
    types = {
        "age": "float64", "body mass": "float64", "dose": "float32", "income": "object", "visits": "Int64",
        "stage": "float64", "smoker": "boolean", "sex": "str", "town": "category", "diagnosis": "category",
    }  # fmt: skip
    return Handed(pd.DataFrame({name: pd.Series(_column(records, name), dtype=types[name]) for name in types}))


def pandas_objects(records: Sequence[Record]) -> Handed:
    columns: dict[str, Any] = {name: pd.Series(_column(records, name), dtype="object") for name in DOMAIN.columns}
    return Handed(pd.DataFrame(columns | {"stage": pd.Categorical(_column(records, "stage"))}))


def polars_frame(records: Sequence[Record]) -> Handed:
    schema = {
        "age": pl.Float64, "body mass": pl.Float64, "dose": pl.Float32, "income": pl.Decimal(12, 2),
        "visits": pl.Int16, "stage": pl.UInt8, "smoker": pl.Boolean, "sex": pl.String,
        "town": pl.Categorical, "diagnosis": pl.Enum(["malignant", "unknown", "benign"]),
    }  # fmt: skip
    return Handed(pl.DataFrame({name: _column(records, name) for name in schema}, schema=schema))


def arrow_dictionaries(records: Sequence[Record]) -> Handed:
    """Each batch with a dictionary of its own, in its own order, and text of the other widths."""
    table = arrow(records).cast(
        SCHEMA.set(7, pa.field("sex", pa.large_string())).set(8, pa.field("town", pa.string_view()))
    )
    batches = [
        pa.RecordBatch.from_arrays(
            [each.dictionary_encode() if name in ("sex", "stage", "diagnosis") else each for name, each in named],
            names=list(SCHEMA.names),
        )
        for batch in table.to_batches(max_chunksize=53)
        for named in [list(zip(SCHEMA.names, batch.columns, strict=True))]
    ]
    return Handed(pa.Table.from_batches(batches) if batches else table)


def duckdb_relation(records: Sequence[Record]) -> Handed:
    connection = duckdb.connect()
    connection.register("handed", arrow(records))
    connection.execute("CREATE TABLE people AS SELECT * FROM handed")
    return Handed(connection.sql("SELECT * FROM people"))


def parquet_file(records: Sequence[Record], folder: Path) -> Handed:
    pa.parquet.write_table(arrow(records), folder / "people.parquet", row_group_size=101)
    return Handed(folder / "people.parquet")


def parquet_files(records: Sequence[Record], folder: Path) -> Handed:
    third = len(records) // 3
    for number, part in enumerate((records[:third], records[third : 2 * third], records[2 * third :])):
        pa.parquet.write_table(arrow(part), folder / f"part {number}.parquet")
    return Handed(str(folder / "part *.parquet"))


def feather_file(records: Sequence[Record], folder: Path) -> Handed:
    pa.feather.write_feather(arrow(records), folder / "people.feather", chunksize=97)
    return Handed(folder / "people.feather")


def csv_file(records: Sequence[Record], folder: Path) -> Handed:
    """By Python's own writer; NaN and infinity as Python prints them."""
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(DOMAIN.columns)
        writer.writerows([record[name] for name in DOMAIN.columns] for record in records)
    return Handed(folder / "people.csv")


def csv_by_pandas(records: Sequence[Record], folder: Path) -> Handed:
    """Nullable whole numbers as 1.0, and an index column without a name."""
    # In double precision: the digits that pandas and polars write for a float32 are another float64.
    pandas_frame(records).data.astype({"dose": "float64"}).to_csv(folder / "pandas.csv")
    return Handed(folder / "pandas.csv")


def csv_by_polars(records: Sequence[Record], folder: Path) -> Handed:
    polars_frame(records).data.with_columns(pl.col("dose").cast(pl.Float64)).write_csv(folder / "polars.csv")
    return Handed(folder / "polars.csv")


#: Every source that runs in this process.
SOURCES: dict[str, Callable[[Sequence[Record], Path], Handed]] = {
    "numpy": lambda records, _: numpy_array(records),
    "numpy, Fortran order": lambda records, _: numpy_array(records, "F"),
    "pandas": lambda records, _: pandas_frame(records),
    "pandas objects": lambda records, _: pandas_objects(records),
    "polars": lambda records, _: polars_frame(records),
    "pyarrow": lambda records, _: Handed(arrow(records)),
    "pyarrow dictionaries": lambda records, _: arrow_dictionaries(records),
    "record batch reader": lambda records, _: Handed(arrow(records).to_reader(max_chunksize=41)),
    "duckdb": lambda records, _: duckdb_relation(records),
    "parquet": parquet_file,
    "parquet files": parquet_files,
    "feather": feather_file,
    "csv": csv_file,
    "csv by pandas": csv_by_pandas,
    "csv by polars": csv_by_polars,
}
