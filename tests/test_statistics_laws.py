"""The laws of a statistic, for every registered one: additive, pure, integer, bounded, deaf to missing cells.

Additive: a block's total is exactly the sum of its records' maps. Pure: a record's map does not depend on its
neighbours in the batch. With the bounds, these turn "over all tables" into "over all records", which is what
the search in ``test_sensitivity.py`` can cover.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry import BOUNDS, TARGET, batch_of, domain_of, every_statistic, maps_of, reals
from sensitivity_search import change
from sordino.domain import Category, Domain, Real
from sordino.engine.accumulation import Accumulation
from sordino.errors import ParameterError, TableError
from sordino.statistics.amounts import Amounts
from sordino.statistics.by_class import ByClass
from sordino.statistics.count import Count
from sordino.statistics.direct import DirectCovariance, DirectMedian
from sordino.statistics.grid_ball import inside
from sordino.statistics.histograms import BinAxis, CategoryAxis, Histograms
from sordino.statistics.margin_gradients import MarginGradients
from sordino.statistics.misfits import Misfits
from sordino.statistics.moments import SecondMoment
from sordino.statistics.ranks import RankScores
from sordino.statistics.statistic import EXACT_LIMIT, Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.unit_split import UnitSplit
from sordino.statistics.vectors import LARGEST_DIMENSION, Ball, Box
from sordino.table.memory import MatrixBlock

DIMENSION = 3
NAMES = list(every_statistic(DIMENSION))

#: Cells that programmers forget.
HOSTILE = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, 1.7976931348623157e308, math.nextafter(1, 2), math.nextafter(1, 0),
    5e-324, -5e-324, 2.2e-308, -0.0, 0.0, 1.0, -1.0, 2.0**53, 2.0**63, -(2.0**63), 5.0, 6.0, 6.5, 0.1, 1e-300, 1e16,
)  # fmt: skip
SIZES = (0, 1, 2, 9, 511, 4097)

#: Huge cells overflow on their way to the clip; the engine hears no warning (it would tell of the cell), nor do we.
quietly = np.errstate(over="ignore")


def built(name: str, dimension: int = DIMENSION) -> tuple[Statistic, Domain]:
    return every_statistic(dimension)[name]


def ordinary_rows(domain: Domain, size: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [
        rng.uniform(c.low, c.high, size) if isinstance(c, Real) else rng.choice(np.array(c.values, dtype=float), size)
        for c in domain.columns.values()
    ]
    return np.array(columns).T.reshape(size, len(columns))


@quietly
def mixed_rows(domain: Domain, size: int, seed: int = 0) -> np.ndarray:
    """Ordinary records, outliers, hostile cells and duplicates, in any order."""
    rng = np.random.default_rng(seed)
    rows = ordinary_rows(domain, size, seed)
    spoiled = rng.random(rows.shape) < 0.1
    rows[spoiled] = rng.choice(np.array(HOSTILE), spoiled.sum())
    outliers = rng.random(rows.shape) < 0.05
    rows[outliers] *= 1000
    copies = rng.random(size) < 0.2
    rows[copies] = rows[rng.integers(0, max(1, size), copies.sum())]
    return rows


def hostile_rows(domain: Domain) -> np.ndarray:
    """Each hostile cell alone in each column, and in all columns at once."""
    usual = ordinary_rows(domain, 1, 3)[0]
    rows = [np.where(np.arange(len(usual)) == place, cell, usual) for place in range(len(usual)) for cell in HOSTILE]
    rows += [np.full(len(usual), cell) for cell in HOSTILE]
    return np.array(rows)


def additive(total: np.ndarray, maps: np.ndarray) -> bool:
    return total.tolist() == [sum(column) for column in maps.T.tolist()]


# ---- additive --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@quietly
def test_a_blocks_total_is_the_sum_of_its_record_maps(name: str) -> None:
    statistic, domain = built(name)
    for size in SIZES:
        rows = mixed_rows(domain, size, seed=size)
        maps = statistic.record_maps(batch_of(domain, rows))
        total = statistic.block_total(batch_of(domain, rows))
        assert maps.shape == (size, statistic.inner_size)
        assert total.shape == (statistic.inner_size,)
        assert maps.dtype.kind == total.dtype.kind == "i"
        assert additive(total, maps), size


@pytest.mark.parametrize("name", NAMES)
def test_the_fullest_block_of_the_largest_records_is_exact(name: str) -> None:
    """``rows_per_block`` copies of one extreme record, or 40,000 where more fit: every partial sum below 2^53."""
    statistic, domain = built(name)
    size = min(40_000, statistic.rows_per_block)
    assert statistic.rows_per_block * statistic.largest_entry <= EXACT_LIMIT
    corner = np.array([c.high if isinstance(c, Real) else float(c.values[-1]) for c in domain.columns.values()])
    rows = np.tile(corner, (size, 1))
    one = statistic.record_maps(batch_of(domain, rows[:1]))[0].tolist()
    total = statistic.block_total(batch_of(domain, rows)).tolist()
    assert total == [size * entry for entry in one]
    assert max(map(abs, total)) <= EXACT_LIMIT


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_table_has_the_total_zero(name: str) -> None:
    statistic, domain = built(name)
    accumulation = Accumulation(domain, [statistic])
    accumulation.add(MatrixBlock(np.zeros((0, len(domain.columns))), tuple(domain.columns)))
    assert accumulation.exact_values() == [(0,) * statistic.inner_size]


@pytest.mark.parametrize("cap", [10, 4096])
@quietly
def test_twin_a_block_that_forgets_its_last_rows_is_seen(cap: int) -> None:
    statistic, domain = built("sum in a box")
    rows = mixed_rows(domain, 4097)
    assert not additive(
        statistic.block_total(batch_of(domain, rows[:cap])), statistic.record_maps(batch_of(domain, rows))
    )


def test_twin_a_total_in_single_precision_is_seen() -> None:
    statistic, domain = built("second moments in a box")
    rows = ordinary_rows(domain, 511, 1)
    maps = statistic.record_maps(batch_of(domain, rows))
    assert not additive(maps.astype(np.float32).sum(axis=0), maps)


# ---- pure ------------------------------------------------------------------------------------------------------


def pure(maps: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> bool:
    """The same maps for permuted, sliced, reversed, column-ordered, repeated and lonely records."""
    whole = maps(rows)
    order = np.random.default_rng(1).permutation(len(rows))
    middle = slice(len(rows) // 3, 2 * len(rows) // 3)
    alone = [maps(rows[[place]])[0] for place in range(len(rows))]
    return (
        np.array_equal(maps(rows[order]), whole[order])
        and np.array_equal(maps(rows[middle]), whole[middle])
        and np.array_equal(maps(rows[::-2]), whole[::-2])
        and np.array_equal(maps(np.asfortranarray(rows)), whole)
        and np.array_equal(maps(np.vstack([rows, rows])), np.vstack([whole, whole]))
        and np.array_equal(np.array(alone), whole)
    )


@pytest.mark.parametrize("dimension", [1, DIMENSION, 8])
@pytest.mark.parametrize("name", NAMES)
@quietly
def test_a_records_map_depends_on_the_record_alone(name: str, dimension: int) -> None:
    statistic, domain = built(name, dimension)
    rows = np.vstack([mixed_rows(domain, 150, seed=2), hostile_rows(domain)[:: 2 * dimension]])
    assert pure(lambda chosen: statistic.record_maps(batch_of(domain, chosen)), rows)


def test_a_record_in_a_large_batch_has_the_map_that_it_has_alone() -> None:
    """Blocks beyond 8192 rows take another path through numpy."""
    for name in ("sum in a box", "sum in a small ball", "amounts", "split of degree 2", "histograms of bins"):
        statistic, domain = built(name)
        rows = ordinary_rows(domain, 20_001, 4)
        whole = statistic.record_maps(batch_of(domain, rows))
        assert np.array_equal(whole, maps_of(statistic, domain, rows))


def test_twin_a_cell_imputed_by_its_columns_mean_is_seen() -> None:
    statistic, domain = built("sum in a box")

    def imputed(rows: np.ndarray) -> np.ndarray:
        mean = np.nanmean(np.append(rows[:, 0][np.isfinite(rows[:, 0])], 1.0))
        filled = np.where(np.isnan(rows), np.where(np.arange(rows.shape[1]) == 0, mean, rows), rows)
        return statistic.record_maps(batch_of(domain, filled))

    rows = ordinary_rows(domain, 50, 5)
    rows[::7, 0] = np.nan
    assert pure(lambda chosen: statistic.record_maps(batch_of(domain, chosen)), rows)
    assert not pure(imputed, rows)


# ---- bounded ---------------------------------------------------------------------------------------------------


def bounded(statistic: Statistic, maps: np.ndarray) -> bool:
    """No entry above ``largest_entry``, and no record that moves more than one record may, in exact integers."""
    if maps.size and int(np.abs(maps).max()) > statistic.largest_entry:
        return False
    try:
        declared = statistic.sensitivity("add-remove")
    except ParameterError:  # direct answers know no such relation
        return True
    return change(maps, np.zeros_like(maps), statistic.weights).verdict(declared) != "violated"


@pytest.mark.parametrize("dimension", [1, 2, DIMENSION, 8])
@pytest.mark.parametrize("name", NAMES)
@quietly
def test_no_record_is_larger_than_declared(name: str, dimension: int) -> None:
    statistic, domain = built(name, dimension)
    rows = np.vstack([hostile_rows(domain), mixed_rows(domain, 200)])
    assert bounded(statistic, statistic.record_maps(batch_of(domain, rows)))


any_cell = st.one_of(st.floats(width=64), st.sampled_from(HOSTILE), st.floats(-200, 200))
any_rows = st.lists(st.lists(any_cell, min_size=11, max_size=11), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(any_rows)
def test_any_record_of_floats_obeys_every_law(cells: list[list[float]]) -> None:
    for statistic, domain in every_statistic(DIMENSION).values():
        rows = np.array(cells)[:, : len(domain.columns)]
        with np.errstate(over="ignore"):
            maps = statistic.record_maps(batch_of(domain, rows))
            total = statistic.block_total(batch_of(domain, rows))
            last = statistic.record_maps(batch_of(domain, rows[-1:]))
        assert maps.dtype.kind == "i"
        assert bounded(statistic, maps), statistic
        assert additive(total, maps), statistic
        assert np.array_equal(last[0], maps[-1]), statistic


@pytest.mark.parametrize("steps", [16, 64, 2**20])
@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 64])
@quietly
def test_vectors_in_a_ball_have_an_integer_norm_of_at_most_the_grid(dimension: int, steps: int) -> None:
    domain = domain_of(dimension)
    rng = np.random.default_rng(dimension)
    rows = mixed_rows(domain, 3000, seed=6)
    middles, halves = np.array([(c.middle, c.half_width) for c in map(domain.real, reals(dimension))]).T
    directions = rng.normal(size=(1500, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rows[:1500, :dimension] = middles + halves * directions  # on the sphere
    for ball in (Ball(reals(dimension), steps=steps), Ball(reals(dimension), 0.3, (0.5,) * dimension, steps)):
        vectors, _ = ball.vectors(batch_of(domain, rows))
        assert np.array_equal(vectors, np.rint(vectors))
        norms = [sum(int(entry) ** 2 for entry in vector) for vector in vectors.tolist()]
        assert max(norms) <= steps**2
        assert max(norms) >= 0.5 * steps**2 or steps == 16


def test_vectors_beyond_the_ball_are_pulled_in_and_others_left_alone() -> None:
    """The second line of defence, on its own: the scale of the grid keeps vectors inside already."""
    rng = np.random.default_rng(4)
    for dimension in (1, 2, 8, 64):
        directions = rng.normal(size=(500, dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        vectors = np.rint(directions * rng.choice([2**19, 2**20, 2**20 + 3, 2**20 + 2**12, 2**25], (500, 1)))
        norms = (vectors.astype(object) ** 2).sum(axis=1)
        pulled = inside(vectors.copy(), 2**20)
        assert ((pulled.astype(object) ** 2).sum(axis=1) <= 2**40).all()
        assert np.array_equal(pulled[norms <= 2**40], vectors[norms <= 2**40])
        assert np.array_equal(np.sign(pulled * vectors), np.abs(np.sign(pulled)))  # towards zero, never past it
        far = norms > 2**40
        apart = pulled[far] - vectors[far] * (2**20 / np.sqrt(norms[far].astype(float)))[:, None]
        assert np.abs(apart).max() <= 1 + 1e-6  # along the same line
        every = np.arange(len(vectors))
        assert all(np.array_equal(inside(vectors[[row]], 2**20)[0], pulled[row]) for row in every[far][:20])
    lost = np.array([[np.nan, 1.0], [np.inf, -np.inf], [2.0**27, 0.0], [1e200, 1e200], [3.0, 4.0]])
    assert inside(lost.copy(), 2**20).tolist() == [[0.0, 0.0]] * 4 + [[3.0, 4.0]]


def test_twin_vectors_rounded_without_the_check_leave_the_ball() -> None:
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(1000, 8))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rounded = np.rint(directions * 2**20).astype(np.int64)
    assert ((rounded**2).sum(axis=1) > 2**40).any()


def test_twin_an_infinite_cell_that_is_not_clipped_is_seen() -> None:
    statistic, domain = built("sum in a box")
    maps = statistic.record_maps(batch_of(domain, ordinary_rows(domain, 5, 7)))
    maps[2, 1] = statistic.largest_entry + 1
    assert not bounded(statistic, maps)


# ---- missing cells ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_record_without_its_cells_contributes_zero_or_the_declared_middle(name: str) -> None:
    statistic, domain = built(name)
    rows = ordinary_rows(domain, 3, 8)
    absent = rows.copy()
    absent[1] = np.nan
    maps, gone = (statistic.record_maps(batch_of(domain, each)) for each in (rows, absent))
    assert np.array_equal(gone[[0, 2]], maps[[0, 2]])
    if name == "count of all records":
        assert gone[1].tolist() == [1]
    elif isinstance(statistic, DirectMedian):
        assert np.flatnonzero(gone[1]).tolist() == [statistic.steps]
    elif isinstance(statistic, Histograms) and "missing" in name:
        assert gone[1].sum() == len(statistic.tables)
    else:
        assert not gone[1].any()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("count of all records", "amounts", "amounts by class")])
def test_one_missing_cell_takes_out_what_is_read_together(name: str) -> None:
    """A vector is whole or zero; histograms lose the tables that read the cell; sums of amounts lose one column.

    A scored cell that is missing scores zero, and its record keeps the other columns; without a class none is kept.
    Where gaps are allowed a missing value is zero, or filled in by its expectation; without a target none is kept.
    """
    statistic, domain = built(name)
    names = tuple(domain.columns)
    for place, column in enumerate(names):
        rows = ordinary_rows(domain, 2, 9)
        rows[1, place] = np.nan
        gone = statistic.record_maps(batch_of(domain, rows))[1]
        if column not in statistic.columns:
            assert gone.any() or isinstance(statistic, DirectCovariance | MarginGradients)  # none far on its own side
        elif "scores" in name and column != "class":
            coordinates = _entries_of(name, statistic.columns.index(column))
            assert not gone[coordinates].any()
            assert gone.any()
        elif "gaps" in name and column != TARGET:
            assert gone.any()
            assert "points" not in name or gone[place] == 0
        elif isinstance(statistic, Misfits):
            assert gone.sum() == statistic.size - 1
        elif isinstance(statistic, Histograms) and "missing" in name:
            assert gone.sum() == len(statistic.tables)
        elif isinstance(statistic, Histograms):
            assert gone.sum() == sum(all(axis.column != column for axis in table) for table in statistic.tables)
        elif isinstance(statistic, ByClass) and isinstance(statistic.inner, Histograms) and column != "class":
            assert gone.sum() == len(statistic.inner.tables) - 1
        elif isinstance(statistic, DirectMedian):
            assert np.flatnonzero(gone).tolist() == [statistic.steps]
        else:
            assert not gone.any()


def _entries_of(name: str, place: int) -> np.ndarray:
    """Which entries read a coordinate: of a sum, of a triangle, of a triangle per class."""
    if name.startswith("sum"):
        return np.arange(DIMENSION) == place
    rows, columns = np.triu_indices(DIMENSION)
    return np.tile((rows == place) | (columns == place), 3 if "by class" in name else 1)


def test_a_missing_amount_takes_out_its_own_column_alone() -> None:
    statistic, domain = built("amounts")
    rows = ordinary_rows(domain, 1, 10)
    kept = statistic.record_maps(batch_of(domain, rows))[0]
    rows[0, 1] = np.nan
    assert statistic.record_maps(batch_of(domain, rows))[0].tolist() == [kept[0], 0, kept[2]]


def test_a_declared_replacement_stands_in_for_a_missing_cell() -> None:
    domain = Domain(
        {
            "x0": Real(0, 10, missing=7.5),
            "x1": Real(-1, 1, missing=-1),
            "c": Category([1, 2, 3], replacement=2, other=3),
        }
    )
    classes, columns = CategoryAxis.of(domain, "c"), ("x0", "x1")
    replaced = np.array([[np.nan, np.nan, np.nan], [7.5, np.nan, np.nan], [2.0, 0.5, np.nan], [2.0, 0.5, 99.0]])
    meant = np.array([[7.5, -1, 2], [7.5, -1, 2], [2.0, 0.5, 2], [2.0, 0.5, 3]])
    for statistic in (
        Count(("x0", "c")), Sum(Box(columns)), Sum(Ball(columns)), SecondMoment(Box(columns)), UnitSplit(columns),
        Amounts.of(domain, columns), Histograms(((classes, BinAxis.of(domain, "x0", 4)),)),
        ByClass(SecondMoment(Ball(columns)), classes), RankScores("x0", (0.0, 5.0, 10.0)), DirectMedian("x0", 4),
    ):  # fmt: skip
        assert np.array_equal(maps_of(statistic, domain, replaced), maps_of(statistic, domain, meant)), statistic


def test_a_column_declared_complete_refuses_a_missing_cell_without_saying_where() -> None:
    domain = Domain({"x0": Real(0, 10, missing="reject"), "c": Category([1, 2], missing="reject")})
    for column, statistic in (("x0", Sum(Box(("x0",)))), ("c", Histograms(((CategoryAxis.of(domain, "c"),),)))):
        for cell in (math.nan, 77.0)[: 1 if column == "x0" else 2]:
            rows = np.tile([5.0, 1.0], (4, 1))
            rows[2, list(domain.columns).index(column)] = cell
            with pytest.raises(TableError, match=f"'{column}' is declared complete") as refusal:
                statistic.record_maps(batch_of(domain, rows))
            assert not any(text in str(refusal.value) for text in ("77", "2", "5.0", "nan"))


# ---- meaning: independent arithmetic on ordinary records -------------------------------------------------------


def test_totals_mean_what_their_names_say() -> None:
    domain = domain_of(DIMENSION)
    rows = ordinary_rows(domain, 400, 11)
    batch, names = batch_of(domain, rows), reals(DIMENSION)
    lows, highs = np.array(BOUNDS[:DIMENSION]).T
    x = rows[:, :DIMENSION]
    z = (x - (lows + highs) / 2) / ((highs - lows) / 2)
    h = (x - lows) / (highs - lows)
    norms = np.linalg.norm(z, axis=1, keepdims=True)
    w = z / np.maximum(1, norms)
    triangle = np.triu_indices(DIMENSION)
    largest = np.maximum(np.abs(lows), np.abs(highs))
    expected: dict[Statistic, np.ndarray] = {
        Count(names): np.array([400.0]),
        Sum(Box(names)): z.sum(axis=0),
        Sum(Ball(names)): w.sum(axis=0),
        SecondMoment(Box(names)): (z.T @ z)[triangle],
        SecondMoment(Ball(names)): (w.T @ w)[triangle],
        Amounts.of(domain, names): x.sum(axis=0) / largest,
        UnitSplit(names): np.stack([1 - h, h], axis=2).sum(axis=0).ravel(),
        UnitSplit(names, degree=2): np.stack([(1 - h) ** 2, 2 * h * (1 - h), h**2], axis=2).sum(axis=0).ravel(),
        Histograms(((BinAxis.of(domain, "x0", 5),),)): np.histogram(x[:, 0], 5, (lows[0], highs[0]))[0],
    }
    for statistic, meant in expected.items():
        found = statistic.block_total(batch) / statistic.unit
        assert found == pytest.approx(meant, abs=400 * 6 / 2**20), statistic
    labels = rows[:, list(domain.columns).index("class")]
    split = ByClass(Sum(Box(names)), CategoryAxis.of(domain, "class")).block_total(batch) / 2**20
    assert split == pytest.approx(np.concatenate([z[labels == k].sum(axis=0) for k in range(3)]), abs=4e-4)


def test_finished_totals_mean_what_their_names_say() -> None:
    for size in (1, 2, 7, 50, 51):
        domain = domain_of(DIMENSION, "substitute", rows=size)
        rows = ordinary_rows(domain, size, size)
        lows, highs = np.array(BOUNDS[:DIMENSION]).T
        z = (rows[:, :DIMENSION] - (lows + highs) / 2) / ((highs - lows) / 2)
        covariance, median = DirectCovariance(reals(DIMENSION), size), DirectMedian("x0", size)
        meant = np.cov(z.T, bias=True)[np.triu_indices(DIMENSION)]
        for statistic, expected, width in ((covariance, meant, 8 / 2**20), (median, np.median(z[:, 0]), 1 / 2**11)):
            total = statistic.block_total(batch_of(domain, rows))
            finished = np.array([each / statistic.unit for each in statistic.finish(tuple(map(int, total)))])
            assert finished == pytest.approx(np.atleast_1d(expected), abs=width)


def test_scores_of_a_choice_are_distances_in_ranks() -> None:
    """For the median: by how many records, twice over, a candidate misses half of them at or below it, or below it."""
    rng = np.random.default_rng(12)
    domain = Domain({"x0": Real(0, 10)})
    for size in (0, 1, 2, 40, 41):
        values = np.where(rng.random(size) < 0.5, rng.integers(0, 11, size), rng.uniform(-2, 12, size))
        scores = RankScores("x0", (0.0, 2.0, 5.0, 9.0, 10.0))
        total = scores.block_total(batch_of(domain, values[:, None]))
        clipped = np.clip(values, 0, 10)
        meant = [
            -max(0, size - 2 * int((clipped <= c).sum()), 2 * int((clipped < c).sum()) - size)
            for c in scores.candidates
        ]
        assert list(scores.finish(tuple(map(int, total)))) == meant


# ---- what cannot be asked --------------------------------------------------------------------------------------


def test_statistics_are_values_and_say_what_they_are() -> None:
    for name, (statistic, domain) in every_statistic(DIMENSION).items():
        assert statistic == every_statistic(DIMENSION)[name][0]
        assert hash(statistic) == hash(every_statistic(DIMENSION)[name][0])
        assert dataclasses.is_dataclass(statistic)
        assert statistic.description
        assert set(statistic.columns) <= set(domain.columns)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box(()),
        lambda: Box(("a", "a")),
        lambda: Box(tuple(map(str, range(LARGEST_DIMENSION + 1)))),
        lambda: Ball(("a",), radius=0),
        lambda: Ball(("a",), radius=math.inf),
        lambda: Ball(("a",), radius=math.nan),
        lambda: Ball(("a",), centre=(0.0, 0.0)),
        lambda: Ball(("a",), centre=(2.0,)),
        lambda: Ball(("a",), centre=(math.nan,)),
        lambda: Histograms(()),
        lambda: Histograms(((),)),
        lambda: Histograms(((CategoryAxis("a", 10_001), CategoryAxis("b", 10_001)),)),
        lambda: BinAxis("a", (0.0,)),
        lambda: BinAxis("a", (0.0, 0.0)),
        lambda: BinAxis("a", (0.0, math.inf)),
        lambda: BinAxis("a", (0.0, math.nan, 1.0)),
        lambda: ByClass(DirectMedian("a", 3), CategoryAxis("c", 2)),
        lambda: RankScores("a", ()),
        lambda: RankScores("a", (1.0, 1.0)),
        lambda: RankScores("a", (1.0,), quantile=0),
        lambda: RankScores("a", (1.0,), quantile=1),
    ],
)
def test_an_impossible_statistic_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ParameterError, match=r"^[^\n]+$"):
        make()
