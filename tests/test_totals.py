"""One law: the exact total is the same bits for every source, row order, block size, thread count and split.

The reference is computed record by record in Python integers (``people.py``). The seeds are fixed, so there are no
false alarms. The twins at the end feed a wrong statistic to the very same checks, which must then fail.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from people import (
    CASES,
    COUNT,
    DOMAIN,
    SOURCES,
    Case,
    Handed,
    Record,
    added,
    arrow,
    box,
    cases_for,
    make_records,
    numpy_array,
    placed,
    products,
)
from sordino.domain import Domain, Real
from sordino.engine.accumulation import Accumulation, ExactSum
from sordino.engine.local import accumulate
from sordino.engine.self_test import integer_products_are_exact
from sordino.statistics.count import Count
from sordino.statistics.moments import SecondMoment
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box
from sordino.table.clipping import Batch, Integers
from sordino.table.memory import MatrixBlock
from sordino.table.opening import check_domain, open_source
from sordino.table.source import Kind, Source, UnreadBlock

RECORDS = make_records(COUNT)
EXPECTED = {name: case.expected(RECORDS) for name, case in CASES.items()}


def totals(handed: Handed, cases: dict[str, Case], threads: int = 1, block_rows: int | None = None) -> dict[str, tuple]:
    """Every case in one pass, from a source that is opened anew."""
    domain = Domain({name: DOMAIN.columns[name] for name in handed.columns})
    source = open_source(handed.data, handed.names)
    check_domain(source, domain)
    statistics = [case.statistic for case in cases.values()]
    accumulation = accumulate(source, domain, statistics, threads=threads, block_rows=block_rows)
    return dict(zip(cases, (total.exact_values for total in accumulation.totals()), strict=True))


def shuffled(records: Sequence[Record], seed: int) -> list[Record]:
    return random.Random(seed).sample(records, len(records))


def split(records: Sequence[Record], rows: int) -> Handed:
    """The records in many small batches, so that several threads have work."""
    return Handed(pa.Table.from_batches(arrow(records).to_batches(max_chunksize=rows)))


def check_every_split(cases: dict[str, Case], records: Sequence[Record] = RECORDS) -> None:
    """The law on one table: any order, block size and thread count gives what the records add up to."""
    expected = {name: case.expected(records) for name, case in cases.items()}
    for seed, (threads, block_rows, batch_rows) in enumerate(
        [(1, None, 600), (1, 1, 600), (2, 7, 50), (3, 64, 31), (4, None, 10), (1, 65_536, 600), (2, 599, 300)]
    ):
        assert totals(split(shuffled(records, seed), batch_rows), cases, threads, block_rows) == expected


def test_records_hold_every_kind_of_odd_cell() -> None:
    ages = [record["age"] for record in RECORDS]
    assert None in ages
    assert any(age != age for age in ages if age is not None)
    assert {float("inf"), float("-inf"), -5.0, 1e308} <= set(ages)
    assert all(None in {record[name] for record in RECORDS} for name in DOMAIN.columns)
    assert {"two\nlines", 'the "Hague"', "Paris, Texas"} <= {record["town"] for record in RECORDS}


@pytest.mark.parametrize("name", SOURCES)
def test_total_is_the_same_for_every_source(name: str, tmp_path) -> None:
    handed = SOURCES[name](RECORDS, tmp_path)
    cases = cases_for(handed.columns)
    assert totals(handed, cases) == {name: EXPECTED[name] for name in cases}


@pytest.mark.parametrize("name", SOURCES)
def test_total_of_every_source_is_the_same_for_any_threads_blocks_and_order(name: str, tmp_path) -> None:
    handed = SOURCES[name](shuffled(RECORDS, 2), tmp_path)
    cases = cases_for(handed.columns)
    if name == "record batch reader":
        handed = Handed(open_source(handed.data))
    for threads, block_rows in ((4, 3), (2, 100)):
        assert totals(handed, cases, threads, block_rows) == {name: EXPECTED[name] for name in cases}


@pytest.mark.parametrize("name", SOURCES)
def test_total_of_an_empty_table_is_zero(name: str, tmp_path) -> None:
    handed = SOURCES[name]([], tmp_path)
    cases = cases_for(handed.columns)
    found = totals(handed, cases)
    assert found == {name: case.expected([]) for name, case in cases.items()}
    assert not any(number for name, values in found.items() for number in values)


@pytest.mark.parametrize("name", CASES)
def test_total_is_the_same_for_every_split(name: str) -> None:
    check_every_split({name: CASES[name]})


def test_total_of_several_statistics_in_one_pass_is_the_same_for_every_split() -> None:
    check_every_split(CASES)


@pytest.mark.parametrize("block_rows", [1, 2, 13, 512, 8192, 65_536])
@pytest.mark.parametrize("order", ["C", "F"])
def test_total_of_an_array_is_the_same_for_every_layout_and_block_size(order: str, block_rows: int) -> None:
    handed = numpy_array(RECORDS, order)
    cases = cases_for(handed.columns)
    assert totals(handed, cases, 1, block_rows) == {name: EXPECTED[name] for name in cases}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    order=st.permutations(range(40)),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    threads=st.integers(1, 4),
    block_rows=st.integers(1, 65_536),
)
def test_total_is_the_same_for_every_partition(
    order: list[int], cuts: list[int], threads: int, block_rows: int
) -> None:
    table = arrow([RECORDS[place] for place in order])
    ends = [0, *sorted(cuts), 40]
    parts = [table.slice(low, high - low).combine_chunks() for low, high in itertools.pairwise(ends)]
    cases = {name: case for name, case in CASES.items() if name != "direct covariance"}
    expected = {name: case.expected(RECORDS[:40]) for name, case in cases.items()}
    assert totals(Handed(pa.concat_tables(parts)), cases, threads, block_rows) == expected


MANY = 70_001
WIDE = ("age", "dose")


@pytest.fixture(scope="module")
def many() -> np.ndarray:
    """More rows than any source puts into one block."""
    generator = np.random.default_rng(3)
    table = np.column_stack([generator.uniform(-10, 130, MANY), generator.normal(0, 0.7, MANY)])
    table[generator.random((MANY, 2)) < 0.05] = np.nan
    return table


@pytest.fixture(scope="module")
def many_expected(many: np.ndarray) -> list[tuple[int, ...]]:
    records = [dict(zip(WIDE, row, strict=True)) for row in many.tolist()]
    vectors = [vector for record in records if (vector := box(record, WIDE))]
    return [added([products(vector, 2) for vector in vectors], 3), added(vectors, 2), (len(vectors),)]


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", ["C", "F", "parquet", "csv"])
def test_total_of_many_blocks_is_the_same_for_every_thread_count(
    layout: str, threads: int, many: np.ndarray, many_expected: list[tuple[int, ...]], tmp_path
) -> None:
    domain = Domain({name: DOMAIN.columns[name] for name in WIDE})
    statistics = [SecondMoment(Box(WIDE)), Sum(Box(WIDE)), Count(WIDE)]
    if layout in ("C", "F"):
        source = open_source(np.array(many, order=layout), WIDE)
    else:
        source = open_source(_written(many, tmp_path / f"many.{layout}"))
    found = accumulate(source, domain, statistics, threads=threads)
    assert found.exact_values() == many_expected
    assert found.exact_rows == MANY


def _written(many: np.ndarray, path):
    if path.suffix == ".csv":
        path.write_text("age,dose\n" + "".join(f"{age!r},{dose!r}\n" for age, dose in many.tolist()))
    else:
        table = pa.table({"age": many[:, 0], "dose": many[:, 1]})
        pyarrow.parquet.write_table(table, path, row_group_size=10_000)
    return path


# --- beyond 63 bits ----------------------------------------------------------------------------------------------


class Repeated(Source):
    """One block again and again: a table too large to hold."""

    kinds: dict[str, Kind] = {"x": "number", "y": "number"}  # noqa: RUF012  # a property in the contract

    def __init__(self, block: np.ndarray, times: int) -> None:
        self._block, self._times = block, times

    def blocks(self, columns: Sequence[str]) -> Iterator[UnreadBlock]:
        for _ in range(self._times):
            yield partial(MatrixBlock, self._block, ("x", "y"))


@pytest.mark.parametrize("threads", [1, 2])
def test_totals_beyond_63_bits_are_exact(threads: int) -> None:
    rows, times = 65_536, 140
    source = Repeated(np.tile([1.0, -1.0], (rows, 1)), times)
    domain = Domain({"x": Real(-1, 1), "y": Real(-1, 1)})
    found = accumulate(source, domain, [SecondMoment(Box(("x", "y")))], threads=threads)
    whole = rows * times * 2**40
    assert whole > 2**63
    assert found.exact_values() == [(whole, -whole, whole)]
    with np.errstate(over="ignore"):  # the twin: 63 bits alone would have turned negative
        assert int(np.int64(2**40 * rows) * np.int64(times)) != whole


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(-(2**53), 2**53))
def test_exact_sum_counts_its_blocks(blocks: int, value: int) -> None:
    exact_sum = ExactSum(1)
    for _ in range(blocks):
        exact_sum.add(np.array([value], dtype=np.int64))
    assert exact_sum.values() == (blocks * value,)


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(-(2**53), 2**53), st.integers(-(2**200), 2**200)), max_size=50))
def test_exact_sum_of_blocks_and_of_sums_is_the_python_sum(values: list[int]) -> None:
    exact_sum = ExactSum(1)
    for value in values:
        if abs(value) <= 2**53:
            exact_sum.add(np.array([value], dtype=np.int64))
        else:
            exact_sum.add_integers([value])
    assert exact_sum.values() == (sum(values),)


def test_merged_accumulations_are_the_accumulation_of_all_rows() -> None:
    statistics = [case.statistic for case in CASES.values()]
    parts = [Accumulation(DOMAIN, statistics) for _ in range(3)]
    for number, batch in enumerate(arrow(RECORDS).to_batches(max_chunksize=101)):
        for unread in open_source(pa.Table.from_batches([batch])).blocks(tuple(DOMAIN.columns)):
            parts[number % 3].add(unread())
    whole, *others = parts
    for other in others:
        whole.merge(other.exact_rows, other.exact_values())
    assert whole.exact_rows == COUNT
    assert [total.exact_values for total in whole.totals()] == list(EXPECTED.values())


# --- the machine -------------------------------------------------------------------------------------------------


def test_self_test_refuses_arithmetic_that_is_not_exact() -> None:
    def float32(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return (left.astype(np.float32) @ right.astype(np.float32)).astype(np.float64)

    def off_by_one_step(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.nextafter(left @ right, np.inf)

    def float32_sums(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return float32(left, right) if left.ndim == 1 else left @ right

    assert integer_products_are_exact()
    assert not integer_products_are_exact(float32)
    assert not integer_products_are_exact(float32_sums)
    assert not integer_products_are_exact(lambda left, right: np.rint(off_by_one_step(left, right) * (1 + 2**-50)))


# --- the twins: the same checks on statistics that are wrong ------------------------------------------------------


@dataclass(frozen=True)
class Float32Sum(Sum):
    """Adds up in single precision."""

    def block_total(self, batch: Batch) -> Integers:
        total = self.of.vectors(batch)[0].astype(np.float32).sum(axis=0)
        return np.rint(total).astype(np.int64)


@dataclass(frozen=True)
class MeanImputed(Sum):
    """Fills a missing cell with the mean of the rows that happen to share its block."""

    def block_total(self, batch: Batch) -> Integers:
        vectors, whole = self.of.vectors(batch)
        if whole is not None and whole.any():
            vectors = np.where(whole[:, None], vectors, np.rint(vectors[whole].mean(axis=0)))
        return vectors.sum(axis=0).astype(np.int64)


@dataclass(frozen=True)
class FirstRowTwice(Sum):
    """Counts the first row of a block twice: right in total for one block only."""

    def block_total(self, batch: Batch) -> Integers:
        vectors = self.of.vectors(batch)[0]
        return (vectors.sum(axis=0) + vectors[0]).astype(np.int64)


@dataclass(frozen=True)
class Float32Moment(SecondMoment):
    """Multiplies in single precision."""

    def block_total(self, batch: Batch) -> Integers:
        vectors = self.of.vectors(batch)[0].astype(np.float32)
        gram = vectors.T @ vectors
        return gram[np.triu_indices(len(self.columns))].astype(np.int64)


@pytest.mark.parametrize("wrong", [Float32Sum, MeanImputed, FirstRowTwice])
def test_the_check_fails_for_a_wrong_sum(wrong: type[Sum]) -> None:
    right = CASES["sum in a box"]
    with pytest.raises(AssertionError):
        check_every_split({"wrong": Case(wrong(right.statistic.of), right.expected)})


def test_the_check_fails_for_products_in_single_precision() -> None:
    right = CASES["second moment in a box"]
    with pytest.raises(AssertionError):
        check_every_split({"wrong": Case(Float32Moment(right.statistic.of), right.expected)})


def test_the_reference_is_not_the_engine() -> None:
    """The fractions round as the law says: to the even side on a tie, to the bound outside."""
    assert [placed("dose", value) for value in (2.0**-21, 3 * 2.0**-21, -(2.0**-21), 2.0, None)] == [
        0,
        2,
        0,
        2**20,
        None,
    ]
    assert placed("age", 45.0) == -(2**18)
    assert placed("body mass", None) == round((Fraction(51, 2) - 35) / 25 * 2**20)
