"""One odd record: every kind of source, every kind of odd cell, and what such a record must add to a total.

What a cell means is written down here once, in plain Python, and none of Sordino's reading is used. A way to hand
records over is one line in ``WAYS``; a kind of odd cell is one entry in a list.
"""

from __future__ import annotations

import csv
import datetime
import math
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

import sordino as so
from people import placed
from sordino import Category, Domain, Real
from sordino.cost import Cost
from sordino.privacy.price import Question
from sordino.privacy.session import Session
from sordino.statistics.count import Count
from sordino.statistics.histograms import CategoryAxis, Histograms
from sordino.statistics.statistic import GRID_STEPS, Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box

Row = dict[str, Any]

DOMAIN = Domain(
    {
        "number": Real(-1, 1),
        "replaced": Real(-2, 2, missing=0.25),
        "code": Category([0, 1, 2]),
        "other code": Category([0, 1, 9], other=9, replacement=1),
        "truth": Category([False, True]),
        "word": Category(["a", "b"]),
        "other word": Category(["a", "1", "else"], other="else", replacement="a"),
    }
)
NAMES = tuple(DOMAIN.columns)
#: What a matrix of numbers can hold.
NUMERIC = ("number", "replaced", "code", "other code", "truth")


def domain_of(names: Sequence[str]) -> Domain:
    return Domain({name: DOMAIN.columns[name] for name in names})


def statistics_of(names: Sequence[str]) -> list[Statistic]:
    """All records; the present cells and the sum of each real column; every category column's histogram."""
    real = [name for name in names if isinstance(DOMAIN.columns[name], Real)]
    axes = tuple((CategoryAxis.of(DOMAIN, name),) for name in names if name not in real)
    numbers: list[Statistic] = [Count(), *(Count((name,)) for name in real), *(Sum(Box((name,))) for name in real)]
    return [*numbers, Histograms(axes)] if axes else numbers


# --- what a cell means -------------------------------------------------------------------------------------------

SPACES = " \t\n\v\f\r"
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?|inf|infinity)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """How a way to hand records over sees an object; what is stored with a type is seen alike everywhere."""

    truth_is_a_number: bool = False
    forgets_last_nuls: bool = False
    #: Bytes that are no text are an unknown word, not a missing one.
    keeps_bytes: bool = False

    def text(self, cell: Any) -> str | None:
        """An object as text; None where it is missing or cannot be written."""
        if _absent(cell):
            return None
        if self.truth_is_a_number and isinstance(cell, bool | np.bool_):
            return str(int(cell))
        with suppress(Exception):
            plain = cell.real if isinstance(cell, complex) and cell.imag == 0 else cell
            plain = float(plain) if isinstance(plain, np.floating) else plain
            errors = "replace" if self.keeps_bytes else "strict"
            text = plain.decode(errors=errors) if isinstance(plain, bytes) else str(plain)
            text.encode()
            return text.rstrip("\0") if self.forgets_last_nuls else text
        return None

    def number(self, cell: Any) -> float | None:
        """An object as a number; None where it is none."""
        text = self.text(cell)
        text = "" if text is None else text.strip(SPACES)
        return float(text) if NUMBER.fullmatch(text) else None

    def code(self, name: str, cell: Any) -> int | None:
        """The position of an object among the declared values, by the rules for unknown and for missing ones."""
        declared, text = DOMAIN.category(name), self.text(cell)
        if text is None:
            return None if declared.replacement is None else declared.values.index(declared.replacement)
        value: Any = text.strip(SPACES)
        if not isinstance(declared.values[0], str):
            value = {"false": 0.0, "true": 1.0}.get(value.lower(), self.number(cell))
        if value in declared.values:
            return declared.values.index(value)
        if declared.other is not None:
            return declared.values.index(declared.other)
        return None if declared.replacement is None else declared.values.index(declared.replacement)

    def map(self, row: Row) -> list[int]:
        """What one record adds to each of the statistics of its columns, one after the other."""
        real = [name for name in row if isinstance(DOMAIN.columns[name], Real)]
        places = [placed(name, self.number(row[name]), GRID_STEPS, DOMAIN) for name in real]
        added = [1, *(int(place is not None) for place in places), *(place or 0 for place in places)]
        for name in (each for each in row if each not in real):
            code = self.code(name, row[name])
            added += [int(code == place) for place in range(len(DOMAIN.category(name)))]
        return added


def _absent(cell: Any) -> bool:
    with suppress(Exception):
        return cell is None or cell is pd.NA or not bool(cell == cell)
    return True


# --- odd cells ---------------------------------------------------------------------------------------------------


class Sullen:
    """An object that cannot be written down, and is not equal to itself without an error."""

    def __str__(self) -> str:
        raise ValueError("SECRET")


TEXTS = [
    "", " ", "x", "1", " 1 ", "+1", "\uff11", "1_000", "0x10", "1,5", "nan", "NaN", "NULL", "None", "True", "FALSE",
    "1.0", "1e9999", "1e99999", "-1e-9999", "9" * 400, "inf", "-Infinity", "infinit", "-0.0", "a\0", "1\0", "\0a",
    "two\nlines", "a\r", 'the "a"', "a,b", "Łódź", "\ud800", "a" * 100_000, "2.0", "only here", "\ufeffa", "\x1ca",
    "a\0b", "1\0b",
]  # fmt: skip
FLOATS = [None, math.nan, math.inf, -math.inf, -0.0, 0.1, 1e308, -5e-324, 2.0**53, 2.0**63, 1e22, 1 / 3]
WHOLE = [None, 0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
TRUTHS = [None, True, False]
OBJECTS = [
    *TEXTS, *FLOATS, *WHOLE, *TRUTHS, 2**63, 2**64, -(2**70), 10**400, 10**5000, 1j, b"a", b"1", b"\xff", Sullen(),
    pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("0.1"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e400"),
    Fraction(1, 3), datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1),
    np.float16(0.1), np.float32(0.1), np.float64(0.1), np.longdouble("0.1"), np.longdouble("1e4000"), np.int8(1),
    np.uint64(2**64 - 1), np.bool_(True), np.str_("a"), np.bytes_(b"a"), [1], [], (1, 2), {"a": 1}, {1}, object,
    np.array([1.0]), np.array([1.0, 2.0]), np.zeros((2, 2)), np.ma.masked,
]  # fmt: skip

#: Tables before the odd record comes: cells of one kind, and of all kinds together. Columns take them in turn.
_NUMBERS: dict[str, Callable[[float], Any]] = {
    "floats": float,
    "single precision": np.float32,
    "half precision": np.float16,
    "whole numbers": round,
    "decimals": lambda value: Decimal(str(value)),
}
_MIXED_NUMBERS = [0.1, None, "0.3", np.float16(0.1), " 1 ", True, "1e99999", b"0.5", Decimal("-0.7"), math.nan, "x"]
_MIXED_CODES = ["1", True, 2.0, None, np.float32(1), "true", b"2", "x", Decimal(0), " 1.0 ", math.nan]
_MIXED_WORDS = ["a", " b ", 1, None, "a\0", True, b"b", "else", np.str_("a"), math.nan, "x"]


def plain_tables() -> dict[str, list[Row]]:
    """Tables without an odd record, by name."""
    made = {}
    for name, kind in _NUMBERS.items():
        numbers = [kind(value) for value in (0.1, -0.7, 0.30001, 1.0, 0.0)]
        codes = [round(value) if name == "floats" else kind(value) for value in (1.0, 0.0, 2.0, 1.0, 0.0)]
        truths = [True, False, True, True, False] if name == "floats" else [kind(value) for value in (1, 0, 1, 1, 0)]
        made[name] = _rows(numbers, codes, truths, ["a", "b", "a", "else", "1"])
    return made | {"all kinds": _rows(_MIXED_NUMBERS, _MIXED_CODES, _MIXED_CODES[::-1], _MIXED_WORDS)}


def every_table() -> dict[str, list[Row]]:
    """The same, and one of numbers in text, which a column of pandas' own text may not be declared as."""
    numbers, codes = ["0.1", " 1 ", "1e99999", "-.5e0"], ["1", "2.0", "0", "1e99999"]
    return plain_tables() | {"numbers in text": _rows(numbers, codes, codes[::-1], ["a", "1", "b", "a"])}


def _rows(numbers: list[Any], codes: list[Any], truths: list[Any], words: list[Any]) -> list[Row]:
    columns = [numbers, numbers[::-1], codes, codes[::-1], truths, words, words[::-1]]
    return [dict(zip(NAMES, cells, strict=True)) for cells in zip(*columns, strict=True)]


# --- ways to hand them over --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """How rows become a session; which tables and odd cells it takes, and how it reads objects."""

    open: Callable[[list[Row], Path], Session]
    names: Sequence[str] = NAMES
    reading: Reading = field(default_factory=Reading)
    tables: Callable[[], Mapping[str, list[Row]]] = every_table
    odd: Callable[[], list[Row]] = lambda: [dict.fromkeys(NAMES, cell) for cell in OBJECTS]
    #: What a record counts as that has this cell; by default itself.
    seen: Callable[[Row], Row] = lambda row: row


class CannotBeMadeError(Exception):
    """The library that holds the table refuses the cell, before Sordino sees it."""


def _made(make: Callable[[], Any]) -> Any:
    """A table of another library, whose own errors and warnings are none of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make()
        except Exception:
            raise CannotBeMadeError from None


def _session(make: Callable[[], Any], names: Sequence[str], columns: Sequence[str] | None = None) -> Session:
    return Session.open(_made(make), domain_of(names), columns=columns, random_state=0)


def _vector(cells: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Objects one by one, as numpy takes no list apart then."""
    vector = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        vector[place] = cell
    return vector


def _series(cells: Sequence[Any], kind: Any = None) -> pd.Series[Any]:
    """As pandas finds its type from the cells, unless one is given."""
    nested = any(isinstance(cell, list | tuple | dict | set | np.ndarray) for cell in cells)
    return pd.Series(_vector(cells) if nested else list(cells), dtype=kind)


def _real_series(cells: Sequence[Any]) -> pd.Series[Any]:
    """One complex number would make complex numbers of all: estimators refuse that stored type."""
    return _series(cells, object if any(isinstance(cell, complex) for cell in cells) else None)


def _frame(rows: list[Row], kind: Any = None) -> pd.DataFrame:
    return pd.DataFrame({name: _series([row[name] for row in rows], kind) for name in NAMES})


def _as_python_text(rows: list[Row]) -> pd.DataFrame:
    """Columns of words in pandas' own type for Python's text."""
    frame = _frame(rows)
    for name in ("word", "other word"):
        frame[name] = pd.Series([row[name] for row in rows], dtype=pd.StringDtype("python"))
    return frame


def _with_labels(rows: list[Row]) -> pd.DataFrame:
    """Good numbers whose rows are labelled by the cells."""
    frame = _frame(rows)
    frame.index = pd.Index(_vector([row["word"] for row in rows]), dtype=object)
    return frame


def _matrix(rows: list[Row], names: Sequence[str]) -> np.ndarray[Any, Any]:
    """A matrix of the type that numpy finds, of numbers, or else of objects."""
    cells = [row[name] for row in rows for name in names]
    if all(isinstance(cell, int | float | np.number | np.bool_) for cell in cells):
        natural = np.array(cells)
        if natural.dtype.kind in "fiub":
            return natural.reshape(len(rows), len(names))
    return _vector(cells).reshape(len(rows), len(names))


def _labels(rows: list[Row], name: str) -> np.ndarray[Any, Any]:
    """A vector of the type that numpy finds where its cells are of one kind, or else of objects."""
    cells = [row[name] for row in rows]
    for kinds in (int | float | np.number, bool | np.bool_, str):
        if all(isinstance(cell, kinds) for cell in cells):
            return np.array(cells)
    return _vector(cells)


def _fitted(make: Callable[[], tuple[Any, Any]], names: Sequence[str]) -> Session:
    """What an estimator hands to the gate; the last column is its target."""
    rows, labels = _made(make)
    return so.NaiveBayes(epsilon=math.inf, domain=domain_of(names), random_state=0)._open(rows, labels).session


def _csv(rows: list[Row], folder: Path) -> Session:
    """By Python's own writer; text without an encoding as the bytes that it stands for."""
    path = folder / "table.csv"
    with path.open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        writer.writerows([_csv_text(row[name]) for name in NAMES] for row in rows)
    return _session(lambda: path, NAMES)


def _csv_text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _csv_seen(row: Row) -> Row:
    """A record that cannot be read, for its bytes or its length, has missing cells only."""
    texts = {name: _csv_text(cell) for name, cell in row.items()}
    whole = all(_encodes(text) for text in texts.values()) and sum(map(len, texts.values())) < 2_000_000
    return {name: (text or None) if whole else None for name, text in texts.items()}


def _encodes(text: str) -> bool:
    with suppress(UnicodeError):
        return bool(text.encode() or True)
    return False


def _csv_odd() -> list[Row]:
    cells = [*TEXTS, *FLOATS, *WHOLE, *TRUTHS, 10**400]
    long = {**plain_tables()["floats"][0], "word": "x" * 2_500_000}
    return [*(dict.fromkeys(NAMES, cell) for cell in cells), long]


#: Tables that differ by more than by the type that a column gets.
_TABLES = ("floats", "numbers in text", "all kinds")


def _csv_tables() -> Mapping[str, list[Row]]:
    return {name: [_csv_seen(row) for row in every_table()[name]] for name in _TABLES}


# --- tables whose columns have types ------------------------------------------------------------------------------

#: What each stored type can hold that is odd.
_ODD_OF: dict[str, list[Any]] = {
    "floats": FLOATS,
    "narrow floats": [None, math.nan, math.inf, -0.0, float(np.float16(0.1)), 65504.0],
    "whole": WHOLE,
    "unsigned": [None, 0, 2**63, 2**64 - 1, 2**53 + 1],
    "small": [None, 0, -128, 127],
    "decimals": [None, Decimal("0.10"), Decimal("-0.00"), Decimal(10**30), Decimal("-99999999.99")],
    "truth": TRUTHS,
    "text": [None, *(cell for cell in TEXTS if _encodes(cell)), b"\xff", b"a\xff", b"\xed\xa0\x80"],
    "null": [None],
}


@dataclass(frozen=True)
class Stored:
    """A column's type: what is odd in it, how it is made, and what a usual cell is."""

    odd: str
    type: pa.DataType
    make: Callable[[pa.Array], pa.Array] = lambda column: column

    def column(self, cells: Sequence[Any]) -> pa.Array:
        if self.odd == "text":
            plain = [cell.encode() if isinstance(cell, str) else cell for cell in cells]
            return self.make(_unchecked_text(plain))
        if pa.types.is_float16(self.type):
            return self.make(pa.array([None if cell is None else np.float16(cell) for cell in cells], self.type))
        return self.make(pa.array(cells, self.type))


def _unchecked_text(cells: Sequence[bytes | None]) -> pa.Array:
    column = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(column), column.buffers(), column.null_count)


def _with_unused_entries(column: pa.Array) -> pa.Array:
    """A dictionary as long as its narrow indices reach, most of whose entries no record has."""
    encoded = column.dictionary_encode()
    unused = range(128 - len(encoded.dictionary))
    words = pa.types.is_string(column.type)
    more = pa.array([f"word {place}" if words else 1000 + place for place in unused], column.type)
    words = pa.concat_arrays([encoded.dictionary, more])
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(pa.int8()), words)


def _kinds(number: Stored, replaced: Stored, code: Stored, truth: Stored, word: Stored) -> dict[str, Stored]:
    return dict(zip(NAMES, (number, replaced, code, code, truth, word, word), strict=True))


_TEXT = Stored("text", pa.string())
_TRUTH = Stored("truth", pa.bool_())
TYPINGS: dict[str, dict[str, Stored]] = {
    "plain": _kinds(
        Stored("floats", pa.float64()), Stored("whole", pa.int64()), Stored("whole", pa.int64()), _TRUTH, _TEXT),
    "narrow": _kinds(
        Stored("narrow floats", pa.float16()), Stored("narrow floats", pa.float32()), Stored("small", pa.int8()),
        Stored("small", pa.int8()), Stored("text", pa.large_string(), lambda column: column.cast(pa.large_string()))),
    "wide": _kinds(
        Stored("decimals", pa.decimal128(38, 2)), Stored("unsigned", pa.uint64()), Stored("floats", pa.float64()),
        Stored("floats", pa.float64()), _TEXT),
    "dictionaries": _kinds(
        Stored("floats", pa.float64()), Stored("whole", pa.int64()),
        Stored("floats", pa.float64(), _with_unused_entries), Stored("text", pa.string(), _with_unused_entries),
        Stored("text", pa.string(), _with_unused_entries)),
    "text": _kinds(Stored("null", pa.null()), Stored("floats", pa.float64()), _TEXT, _TEXT, _TEXT),
}  # fmt: skip

_USUAL: dict[str, list[Any]] = {
    "floats": [0.125, 1.0, 0.0, math.nan, None, 2.0],
    "narrow floats": [0.125, 1.0, -0.5, math.nan, None, 0.0],
    "whole": [1, 0, 2, None, -1, 9],
    "unsigned": [1, 0, 2, None, 5, 9],
    "small": [1, 0, 2, None, -1, 9],
    "decimals": [Decimal("0.10"), Decimal("1.00"), Decimal("-0.70"), None, Decimal("5.00"), Decimal("0.00")],
    "truth": [True, False, True, None, False, True],
    "text": ["1", "true", " a ", None, "b", "1e99999"],
    "null": [None] * 6,
}


def typed_table(rows: list[Row], typing: str, chunk: int = 4) -> pa.Table:
    """Arrow columns in chunks; every chunk of a dictionary has its own."""
    stored = TYPINGS[typing]
    chunks = [rows[start : start + chunk] for start in range(0, len(rows), chunk)]
    return pa.Table.from_batches([
        pa.record_batch({name: kind.column([row[name] for row in part]) for name, kind in stored.items()})
        for part in chunks
    ])  # fmt: skip


def _typed_odd(typing: str, text: Callable[[Any], bool] = lambda cell: True) -> list[Row]:
    lists = {
        name: [cell for cell in _ODD_OF[kind.odd] if kind.odd != "text" or text(cell)]
        for name, kind in TYPINGS[typing].items()
    }
    longest = max(map(len, lists.values()))
    return [{name: cells[place % len(cells)] for name, cells in lists.items()} for place in range(longest)]


def _typed_tables(typing: str) -> Mapping[str, list[Row]]:
    usual = {name: _USUAL[kind.odd] for name, kind in TYPINGS[typing].items()}
    return {typing: [{name: cells[place] for name, cells in usual.items()} for place in range(6)]}


def _typed(
    hand_over: Callable[[pa.Table, Path], Any], typing: str, text: Callable[[Any], bool] = lambda cell: True
) -> Way:
    return Way(
        lambda rows, folder: _session(lambda: hand_over(typed_table(rows, typing), folder), NAMES),
        reading=Reading(keeps_bytes=True),
        tables=partial(_typed_tables, typing),
        odd=partial(_typed_odd, typing, text),
    )


def _relation(table: pa.Table, folder: Path) -> Any:
    connection = duckdb.connect()
    connection.register("handed", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM handed")
    return connection.sql("SELECT * FROM people")


def _parquet(table: pa.Table, folder: Path, **options: Any) -> Path:
    path = folder / "table.parquet"
    pa.parquet.write_table(table, path, row_group_size=5, **options)
    return path


def _feather(table: pa.Table, folder: Path) -> Path:
    path = folder / "table.feather"
    unified = table.unify_dictionaries()  # a file has one dictionary for each column
    with pa.ipc.new_file(path, unified.schema) as file:
        file.write_table(unified, max_chunksize=4)
    return path


def _as_pandas_arrow(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _as_pandas_nullable(table: pa.Table, folder: Path) -> pd.DataFrame:
    kinds = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.float64(): pd.Float64Dtype()}
    return table.to_pandas(types_mapper=kinds.get)


def _complete(rows: list[Row], folder: Path) -> Session:
    """Declared complete, as it is: an entry that no record has is no missing cell."""
    words = _with_unused_entries(pa.array([row["word"] for row in rows]))
    declared = Domain({"word": Category(DOMAIN.category("word").values, missing="reject")})
    return Session.open(pa.table({"word": words}), declared, random_state=0)


def _is_text(cell: Any) -> bool:
    return not isinstance(cell, bytes)


@cache
def ways() -> dict[str, Way]:
    """Every way to hand records over, by name."""
    made = {
        "pyarrow, complete": Way(
            _complete,
            ("word",),
            tables=lambda: {"complete": [{"word": "a"}, {"word": "b"}]},
            odd=lambda: [{"word": " b "}, {"word": "a\n"}],
        )
    }
    for typing in TYPINGS:
        made |= {
            f"pyarrow, {typing}": _typed(lambda table, _: table, typing),
            f"reader, {typing}": _typed(lambda table, _: table.to_reader(), typing),
            f"polars, {typing}": _typed(lambda table, _: pl.from_arrow(table), typing, _is_text),
            f"feather, {typing}": _typed(_feather, typing),
            f"pandas of Arrow, {typing}": _typed(_as_pandas_arrow, typing, _is_text),
            f"parquet, {typing}": _typed(_parquet, typing),
        }
    for typing in ("plain", "wide", "text"):
        made[f"pandas nullable, {typing}"] = _typed(_as_pandas_nullable, typing, _is_text)
        made[f"duckdb, {typing}"] = _typed(_relation, typing, _is_text)
    cells = Reading(truth_is_a_number=True, forgets_last_nuls=True)
    made |= {
        "parquet without dictionaries": _typed(partial(_parquet, use_dictionary=False), "plain"),
        "array": Way(lambda rows, _: _pair(lambda: (_matrix(rows, NUMERIC), None), NUMERIC), NUMERIC, cells),
        "masked array": Way(_masked, NUMERIC, tables=_tables_of_numbers, odd=_odd_numbers),
        "csv": Way(_csv, tables=_csv_tables, odd=_csv_odd, seen=_csv_seen),
    }
    for kind, name in _FITS:
        target = _TARGETS[name]
        made[f"fit of {kind}, labels of {name}"] = _fit(
            kind, target, (*(each for each in NUMERIC if each != target), target)
        )
    return made | {
        "pandas": Way(lambda rows, _: _session(lambda: _frame(rows), NAMES), tables=plain_tables),
        "pandas text of Python": Way(
            lambda rows, _: _session(lambda: _as_python_text(rows), NAMES), tables=_two_tables, odd=_odd_texts
        ),
        "pandas categories": Way(
            lambda rows, _: _session(lambda: _frame(rows).astype("category"), NAMES),
            tables=_tables_of_numbers,
            odd=_odd_categories,
        ),
        "pandas labels of rows": Way(lambda rows, _: _session(lambda: _with_labels(rows), NAMES), tables=_two_tables),
        "pandas objects": Way(lambda rows, _: _session(lambda: _frame(rows, object), NAMES)),
    }


_FITS = [
    *(("lists", name) for name in ("numbers", "truth", "text")),
    *(("arrays", name) for name in ("numbers", "text")),
    *(("frames", name) for name in ("numbers", "truth")),
    ("lists of lists", "numbers"),
]
_TARGETS = {"text": "other word", "numbers": "code", "truth": "truth"}


def _fit(kind: str, target: str, names: Sequence[str]) -> Way:
    """What estimators are fitted on: labels are read as text, and a truth value there is a word."""
    features = names[:-1]
    given: dict[str, Callable[[list[Row]], tuple[Any, Any]]] = {
        "lists": lambda rows: ([[row[each] for each in features] for row in rows], [row[target] for row in rows]),
        "lists of lists": lambda rows: (
            [[row[each] for each in features] for row in rows],
            [[cell] if type(cell := row[target]) in (int, float) else cell for row in rows],  # an odd one is bare
        ),
        "arrays": lambda rows: (_matrix(rows, features), _labels(rows, target)),
        "frames": lambda rows: (
            pd.DataFrame({each: _real_series([row[each] for row in rows]) for each in features}),
            _real_series([row[target] for row in rows]),
        ),
    }
    return Way(
        lambda rows, _: _fitted(lambda: given[kind](rows), names),
        names,
        _LabelledReading(truth_is_a_number=True, forgets_last_nuls=True, target=target),
        odd=partial(_odd_arrays, target),
    )


@dataclass(frozen=True)
class _LabelledReading(Reading):
    """Objects of a matrix, and labels beside it."""

    target: str = ""

    def code(self, name: str, cell: Any) -> int | None:
        if name != self.target:
            return super().code(name, cell)
        return Reading(forgets_last_nuls=True).code(name, cell)


def _odd_arrays(target: str) -> list[Row]:
    """In the features, in the label, and in both; an entry of a list that is itself a list of one is that one."""
    usual = plain_tables()["floats"][0]
    both = [dict.fromkeys(NAMES, cell) for cell in OBJECTS]
    label = [{**usual, target: cell} for cell in OBJECTS if not isinstance(cell, list)]
    return [{**row, target: usual[target] if isinstance(row[target], list) else row[target]} for row in both] + label


def _odd_categories() -> list[Row]:
    """No truth value, which pandas itself takes for the same category as 1.0: the table is another."""
    return [dict.fromkeys(NAMES, cell) for cell in OBJECTS if not isinstance(cell, bool | np.bool_)]


def _odd_texts() -> list[Row]:
    return [{**plain_tables()["floats"][0], "word": cell, "other word": cell} for cell in TEXTS]


def _two_tables() -> Mapping[str, list[Row]]:
    return {name: rows for name, rows in plain_tables().items() if name in _TABLES}


def _tables_of_numbers() -> Mapping[str, list[Row]]:
    return {name: rows for name, rows in plain_tables().items() if name not in ("all kinds", "decimals")}


def _odd_numbers() -> list[Row]:
    return [dict.fromkeys(NAMES, cell) for cell in (*FLOATS, 0, 1, -1, 2**53 + 1)]


def _pair(make: Callable[[], Any], names: Sequence[str]) -> Session:
    return _session(make, names, names)


def _masked(rows: list[Row], folder: Path) -> Session:
    """What is missing lies under the mask, with a good number below."""
    cells = [[row[name] for name in NUMERIC] for row in rows]
    hidden = np.array([[cell is None for cell in row] for row in cells])
    values = np.array([[1 if cell is None else cell for cell in row] for row in cells])
    return _pair(lambda: np.ma.MaskedArray(values, mask=hidden), NUMERIC)


# --- the law -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a table gives: exact totals and receipts, or an error; and every warning on the way."""

    totals: tuple[int, ...] = ()
    receipts: tuple[str, ...] = ()
    error: str = ""
    warned: tuple[str, ...] = ()


def outcome(way: Way, rows: list[Row], folder: Path) -> Outcome:
    """Ask everything of a table that is opened anew; without noise, for the law is about totals."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            session = way.open([{name: row[name] for name in way.names} for row in rows], folder)
            answers = session.answer([Question(each, Cost.pure(math.inf)) for each in statistics_of(way.names)])
        except CannotBeMadeError:
            raise
        except Exception as error:
            return Outcome(error=f"{type(error).__name__}: {error}", warned=_said(caught))
    totals = tuple(value for answer in answers for value in answer.values)
    return Outcome(totals, tuple(str(answer.receipt.to_dict()) for answer in answers), warned=_said(caught))


def _said(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Warnings on the way, which would tell of a cell; those of PySpark's open sockets come with any table."""
    told = (f"{each.category.__name__}: {each.message}" for each in caught)
    return tuple(each for each in told if not each.startswith("ResourceWarning: unclosed <socket.socket"))


def complaints(name: str, tables: slice = slice(None)) -> Iterator[str]:
    """What one odd record does to a table that it should not, in one of the ways to hand it over."""
    yield from broken(ways()[name], name, tables)


def broken(way: Way, name: str, tables: slice = slice(None)) -> Iterator[str]:
    """Where the law does not hold; of tables that differ by types alone, with every third kind of odd record."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for table, rows in list(way.tables().items())[tables]:
            try:
                without = outcome(way, rows, folder)
            except CannotBeMadeError:
                continue
            if without.error:
                yield f"{name}, {table}: {without.error}"
                continue
            yield from _other_than(way, rows, without, f"{name}, {table}")
            every = 1 if table in (*_TABLES, *TYPINGS) else 3
            for number, odd in enumerate(way.odd()[::every]):
                place_of_it = (0, len(rows) // 2, len(rows))[number % 3]
                with suppress(CannotBeMadeError):
                    with_it = outcome(way, [*rows[:place_of_it], odd, *rows[place_of_it:]], folder)
                    yield from _difference(way, odd, without, with_it, f"{name}, {table}, {_shown(odd, way)}")


def _other_than(way: Way, rows: list[Row], found: Outcome, where: str) -> Iterator[str]:
    maps = [_map(way, row) for row in rows]
    expected = tuple(map(sum, zip(*maps, strict=True)))
    if found.totals != expected:
        yield f"{where}: {_first_difference(found.totals, expected)}"


def _difference(way: Way, odd: Row, without: Outcome, with_it: Outcome, where: str) -> Iterator[str]:
    if with_it.error or with_it.warned != without.warned:
        yield f"{where}: {with_it.error or with_it.warned}"
        return
    if with_it.receipts != without.receipts:
        yield f"{where}: the receipts are others"
    added = tuple(a - b for a, b in zip(with_it.totals, without.totals, strict=True))
    if added != (expected := tuple(_map(way, odd))):
        yield f"{where}: {_first_difference(added, expected)}"


def _map(way: Way, row: Row) -> list[int]:
    seen = way.seen({name: row[name] for name in way.names})
    return way.reading.map(seen)


def _first_difference(found: Sequence[int], expected: Sequence[int]) -> str:
    pairs = enumerate(zip(found, expected, strict=True))
    place, (one, other) = next((place, pair) for place, pair in pairs if pair[0] != pair[1])
    return f"number {place} changes by {one}, and the record's own map is {other}"


def _shown(odd: Row, way: Way) -> str:
    """A cell for a message: its type, for a value may be long or may not like to be written."""
    cell = odd[way.names[-1]]
    with suppress(Exception):
        return f"{type(cell).__name__} {str(cell)[:20]!r}"
    return type(cell).__name__
