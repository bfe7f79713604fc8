"""Shares among components, and gradients: the same in any batch, whole in integers, and what EM says they are."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import logsumexp

from registry import TARGET, batch_of, gradient_domain, reals
from sordino.domain import Domain, Real
from sordino.engine.local import accumulate
from sordino.errors import ParameterError
from sordino.statistics.components import (
    PARTS,
    ComponentMoments,
    ComponentMoves,
    Components,
    ComponentSizes,
    ComponentSpreads,
)
from sordino.statistics.elementary import LOWEST, exponential, hyperbolic_tangent
from sordino.statistics.gradients import Gradients, Model, Points, Soft
from sordino.statistics.lattice import LatticeCells, halved, middles
from sordino.statistics.vectors import Ball
from sordino.table.opening import open_source

WIDE = 16
COLUMNS = reals(WIDE)
DOMAIN = Domain({name: Real(-1, 1) for name in COLUMNS})
GENERATOR = np.random.default_rng(8)
MEANS = GENERATOR.uniform(-0.3, 0.3, (8, WIDE))
ROWS = MEANS[GENERATOR.integers(0, 8, 3000)] + GENERATOR.normal(0, 0.2, (3000, WIDE))
WEIGHTS = tuple(math.log(each) for each in GENERATOR.dirichlet(np.full(8, 5.0)))


def components(precision: float | None = 40.0) -> Components:
    of = Ball(COLUMNS, radius=2.0)
    return Components(of, tuple(map(tuple, (MEANS / 2).tolist())), precision, () if precision is None else WEIGHTS)


# ---- element-wise functions ------------------------------------------------------------------------------------


def test_elementary_functions_are_those_of_the_standard_library_to_thirteen_digits() -> None:
    values = np.concatenate([-np.geomspace(1e-300, 47.9, 4000), np.linspace(-40, 0, 4001)])
    np.testing.assert_allclose(exponential(values), [math.exp(each) for each in values], rtol=1e-13)
    np.testing.assert_allclose(hyperbolic_tangent(values), [math.tanh(each) for each in values], rtol=1e-8, atol=1e-15)
    assert exponential(np.array([-math.inf, -1e308, LOWEST])).tolist() == [exponential(np.array([LOWEST]))[0]] * 3
    assert hyperbolic_tangent(np.array([1e308, -1e308])).tolist() == [1.0, -1.0]


def test_elementary_functions_do_not_depend_on_the_place_in_an_array() -> None:
    values = -np.random.default_rng(0).exponential(5, 1021)
    whole = exponential(values)
    for start in range(0, 40):
        assert np.array_equal(exponential(values[start : start + 7]), whole[start : start + 7])
    assert np.array_equal(exponential(values[::-3]), whole[::-3])


# ---- shares ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [None, 0.0, 40.0, 1e9])
def test_shares_of_a_record_add_up_to_one_whole(precision: float | None) -> None:
    shares = components(precision).shares(batch_of(DOMAIN, ROWS))[0]
    assert (shares >= 0).all()
    assert np.array_equal(shares, np.rint(shares))
    assert (shares.sum(axis=1) == PARTS).all()
    holed = ROWS[:5].copy()
    holed[2, 3] = np.nan
    assert components(precision).shares(batch_of(DOMAIN, holed))[0].sum(axis=1).tolist() == [
        PARTS,
        PARTS,
        0,
        PARTS,
        PARTS,
    ]


@pytest.mark.parametrize("precision", [None, 40.0])
def test_shares_do_not_depend_on_the_batch(precision: float | None) -> None:
    of = components(precision)
    whole = of.shares(batch_of(DOMAIN, ROWS))[0]
    for chosen in (slice(1, None), slice(None, None, -1), slice(7, 8), slice(0, 1001)):
        assert np.array_equal(of.shares(batch_of(DOMAIN, ROWS[chosen]))[0], whole[chosen])


def test_twin_shares_from_scores_in_floats_depend_on_the_batch() -> None:
    weights = MEANS.T * 40.0

    def scores(rows: np.ndarray) -> np.ndarray:
        return rows @ weights

    alone = np.vstack([scores(ROWS[place : place + 1]) for place in range(500)])
    assert not np.array_equal(scores(ROWS)[:500], alone)


def test_shares_and_sums_are_those_of_em() -> None:
    """Against the textbook formulas in floats, on records that are not clipped."""
    of, batch = components(), batch_of(DOMAIN, ROWS)
    z = np.clip(ROWS, -1, 1)
    z /= np.maximum(1, np.linalg.norm(z, axis=1, keepdims=True) / 2)
    steps = z[:, None] / 2 - MEANS / 2
    squares = (steps**2).sum(axis=2)
    scores = np.array(WEIGHTS) - 20 * squares
    r = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    for statistic, expected in (
        (ComponentSizes(of), r.sum(axis=0)),
        (ComponentMoves(of, 2.0), (r[:, :, None] * steps).sum(axis=0).ravel() / 2),
        (ComponentSpreads(of, 2.0), (r * squares).sum(axis=0) / 4),
        (
            ComponentMoments(of, 1.5),
            np.einsum("nk,nki,nkj->kij", r, steps, steps)[:, *np.triu_indices(WIDE)].ravel() / 2.25,
        ),
    ):
        total = statistic.block_total(batch) / statistic.unit
        np.testing.assert_allclose(total, expected, atol=2e-3 * max(1.0, np.abs(expected).max()))


def test_moves_beyond_the_reach_keep_their_direction() -> None:
    of = Components(Ball(COLUMNS, 2.0), ((0.0,) * WIDE, (1.0,) + (0.0,) * (WIDE - 1)))
    rows = np.zeros((1, WIDE))
    rows[0, 3] = 0.8
    moves = ComponentMoves(of, 0.1).record_maps(batch_of(DOMAIN, rows))[0] / ComponentMoves(of, 0.1).unit
    assert moves[3] == pytest.approx(1, abs=1e-4)
    assert np.abs(np.delete(moves, 3)).max() < 1e-4


@pytest.mark.parametrize(
    "make",
    [
        lambda: Components(Ball(COLUMNS), ((0.0,) * WIDE,)),
        lambda: Components(Ball(COLUMNS), ((0.0,), (1.0,))),
        lambda: Components(Ball(COLUMNS), ((0.0,) * WIDE, (1.5,) * WIDE)),
        lambda: Components(Ball(COLUMNS), ((0.0,) * WIDE, (math.nan,) * WIDE)),
        lambda: Components(Ball(COLUMNS), ((0.0,) * WIDE,) * 2, -1.0, (0.0, 0.0)),
        lambda: Components(Ball(COLUMNS), ((0.0,) * WIDE,) * 2, 1.0, (0.0,)),
        lambda: Components(Ball(COLUMNS), ((0.0,) * WIDE,) * 2, 1.0, (0.0, -math.inf)),
        lambda: ComponentMoves(components(), 0.0),
        lambda: ComponentSpreads(components(), 3.0),
        lambda: ComponentMoments(components(), math.nan),
        lambda: LatticeCells(Ball(COLUMNS), ()),
        lambda: LatticeCells(Ball(COLUMNS), ((0.5, 0.5),)),
        lambda: LatticeCells(Ball(COLUMNS), ((0.5, 1.5),)),
        lambda: LatticeCells(Ball(("x0",)), ((0.5,), (0.5,))),
        lambda: Gradients(COLUMNS, "mixture", (0.0,), 1.0, 1.0),
        lambda: Gradients(("a",), "mixture", (0.0,), 0.0, 1.0),
        lambda: Gradients(("a",), "mixture", (0.0,), 1.0, 0.0),
        lambda: Gradients(("a",), "mixture", (math.nan,), 1.0, 1.0),
        lambda: Gradients(("a",), "mixture", (0.0,), 1.0, 1.0, "y"),
        lambda: Gradients(("a",), "regressions", (0.0,), 1.0, 1.0),
        lambda: Gradients(("a",), "other", (0.0,), 1.0, 1.0),  # type: ignore[arg-type]
        lambda: Soft(0.0, (0.0, 1.0)),
        lambda: Soft(-1.0, (0.0, 1.0)),
        lambda: Soft(1.0, (0.0,)),
        lambda: Points(("a",), 0.0),
        lambda: Points(("a",), 1.0, "y", -1.0),
    ],
)
def test_impossible_statistics_of_em_are_refused(make: Any) -> None:
    with pytest.raises(ParameterError, match=r"^[^\n]+$"):
        make()


# ---- cells -----------------------------------------------------------------------------------------------------


def test_a_halved_grid_counts_every_record_once_in_the_cell_of_its_middle() -> None:
    reaches = (0.9, 0.5, 0.2)
    grid = halved(Ball(COLUMNS, radius=2.0), reaches, depth=5)
    assert grid.size == 2**5
    assert grid.shape == (8, 4)
    counts = grid.block_total(batch_of(DOMAIN, ROWS))
    assert counts.sum() == len(ROWS)
    places = middles(grid, reaches)
    assert places.shape == (32, 2)
    z = np.clip(ROWS, -1, 1)
    z = z[:, :2] / np.maximum(2, np.linalg.norm(z, axis=1, keepdims=True))
    sides = (np.abs(z[:, None] - places) / [0.9 / 8, 0.5 / 4]).max(axis=2)
    nearest = np.argmin(sides, axis=1)
    assert (sides.min(axis=1) < 1 + 1e-4).all()
    assert np.array_equal(counts, np.bincount(nearest, minlength=32))


# ---- gradients -------------------------------------------------------------------------------------------------

DIMENSION = 4
FEATURES = reals(DIMENSION)
THETA = np.array([1.5, -0.5, 0.25, 1.0])
NOISE = 2 / 3


def log_likelihood(model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Per record, up to a constant; written from the models and not from their gradients."""
    variance = NOISE**2
    if model == "mixture":
        squares = np.stack([((x - sign * theta) ** 2).sum(axis=1) for sign in (1, -1)])
        return logsumexp(-squares / (2 * variance), axis=0)
    if model == "regressions":
        return logsumexp(np.stack([-((y - sign * x @ theta) ** 2) / (2 * variance) for sign in (1, -1)]), axis=0)
    absent = np.isnan(x)
    total = variance + (absent * theta**2).sum(axis=1)
    return -((y - np.nan_to_num(x) @ theta) ** 2) / (2 * total) - np.log(total) / 2


@pytest.mark.parametrize("model", ["mixture", "regressions", "missing"])
def test_gradients_are_numerical_derivatives_of_the_likelihood(model: Model) -> None:
    domain = gradient_domain(DIMENSION)
    rng = np.random.default_rng(2)
    grid = 12 / 2**20
    x = np.rint(rng.normal(0, 1.5, (200, DIMENSION)) / grid) * grid  # on the grid, so that rounding is out of the way
    y = x @ THETA + rng.normal(0, NOISE, 200)
    if model == "missing":
        x[rng.random(x.shape) < 0.3] = np.nan
    rows = np.column_stack([x, y, np.zeros(200)])
    of = Gradients(FEATURES, model, tuple(THETA.tolist()), NOISE, 5.0, None if model == "mixture" else TARGET)
    found, norms, whole = of.unrounded(batch_of(domain, rows))
    step = 1e-5
    numerical = np.stack(
        [
            (log_likelihood(model, THETA + step * unit, x, y) - log_likelihood(model, THETA - step * unit, x, y))
            / (2 * step)
            for unit in np.eye(DIMENSION)
        ],
        axis=1,
    )
    assert whole.all()
    assert np.abs(found - NOISE**2 * numerical).max() < 1e-6
    np.testing.assert_allclose(norms, np.linalg.norm(found, axis=1), atol=1e-6)


def test_clipped_gradients_keep_their_direction_and_others_their_value() -> None:
    domain = gradient_domain(DIMENSION)
    rows = np.column_stack([np.random.default_rng(3).normal(0, 3, (300, DIMENSION)), np.zeros((300, 2))])
    of = Gradients(FEATURES, "mixture", tuple(THETA.tolist()), NOISE, 3.0)
    vectors = of.vectors(batch_of(domain, rows))[0] * 3.0 / of.steps
    whole, norms, _ = of.unrounded(batch_of(domain, rows))
    np.testing.assert_allclose(vectors, whole * np.minimum(1, 3 / norms)[:, None], atol=3e-5)


def test_a_record_too_large_for_floats_counts_nothing() -> None:
    domain = Domain({"a": Real(-1e90, 1e90), "y": Real(-1e90, 1e90)})
    of = Gradients(("a",), "regressions", (2.0,), 1.0, 1.0, "y")
    with np.errstate(all="ignore"):
        vectors, whole = of.vectors(batch_of(domain, np.array([[1e90, 1e90], [0.0, 0.0], [np.nan, 1.0]])))
    assert np.isfinite(vectors).all()
    assert whole is not None
    assert whole.tolist() == [False, True, False]


def test_no_record_makes_a_soft_truncation_fail() -> None:
    """An error would tell of it: a gradient that is no number has no place in the table."""
    domain = Domain({"a": Real(-1e90, 1e90), "y": Real(-1, 1)})
    of = Gradients(("a",), "missing", (1e100,), 1e-100, Soft(1.0, (0.0, 0.5, 1.0)), "y")
    with np.errstate(all="ignore"):
        vectors, whole = of.vectors(batch_of(domain, np.array([[1e90, 1.0], [0.0, 0.0]])))
    assert whole is not None
    assert whole.tolist() == [False, True]
    assert np.isfinite(vectors).all()
    assert not vectors[0].any()


# ---- the same bits from everywhere -------------------------------------------------------------------------------


def test_a_round_has_the_same_bits_from_a_file_in_any_blocks_and_on_any_threads(tmp_path: Path) -> None:
    domain, names = Domain({name: Real(-1, 1) for name in COLUMNS}), list(COLUMNS)
    pq.write_table(pa.table(list(ROWS.T), names=names), tmp_path / "rows.parquet", row_group_size=700)
    asked = (ComponentSizes(components()), ComponentMoves(components(), 0.5), ComponentMoments(components(), 0.5))
    found = {
        tuple(accumulate(source, domain, asked, threads=threads, block_rows=block).exact_values())
        for source in (open_source(ROWS, names), open_source(ROWS[::-1], names), open_source(tmp_path / "rows.parquet"))
        for threads, block in ((1, None), (2, 1000), (3, 17))
    }
    assert len(found) == 1


@pytest.mark.parametrize("radius", [1e-320, 1e-60, 1e-12])
def test_a_gradient_that_floats_lose_stays_in_the_ball(radius: float) -> None:
    """A norm that cancels to zero, or a quotient beyond floats: such a record counts no more, nor for ever."""
    domain = Domain({"a": Real(-8, 8), "b": Real(-8, 8)})
    of = Gradients(("a", "b"), "mixture", (3.0, 1 - 10 * 2.0**-30), 0.1, radius)
    rows = batch_of(domain, np.array([[3.0, 1.0], [1.0, 2.0], [0.0, 0.0]]))
    with np.errstate(all="ignore"):
        gradients, norms, _ = of.unrounded(rows)
        vectors, _ = of.vectors(rows)
    assert norms[0] == 0 < np.abs(gradients[0]).max()
    assert (np.square(vectors).sum(axis=1) <= float(of.steps) ** 2).all()


def test_a_gradient_whose_norm_floats_lose_costs_one_step() -> None:
    """Found by search: the norm is .9 and cancels to 0, so the vector is 1.8 times as long as the ball's radius.

    One grid step at a time it needs more than half a million steps, each over the whole batch: its twin needs too many.
    """
    domain = Domain({"a": Real(-(2.0**30), 2.0**30), "b": Real(-(2.0**30), 2.0**30)})
    record = np.array([[-475995136.0, 219651072.0]])
    of = Gradients(("a", "b"), "mixture", (-475995135.4630408, 219651071.18653885), 1.0, 0.5)
    gradients, norms, _ = of.unrounded(batch_of(domain, record))
    ratio = float(np.linalg.norm(gradients) / max(norms[0], 0.5))
    assert 1.5 < ratio < 2
    assert rounds_one_step_at_a_time(gradients[0] * (of.steps / 0.5), of.steps, most=1000) == 1000
    started = time.thread_time()
    vectors, _ = of.vectors(batch_of(domain, np.repeat(record, 4000, axis=0)))
    assert time.thread_time() - started < 2  # 2 ms; the twin would take minutes
    np.testing.assert_allclose(vectors / of.steps, np.repeat(gradients / np.linalg.norm(gradients), 4000, 0), atol=1e-5)
    assert (np.square(vectors).sum(axis=1) <= float(of.steps) ** 2).all()


def rounds_one_step_at_a_time(vector: np.ndarray, steps: int, most: int) -> int:
    sizes = np.abs(np.rint(vector))
    for rounds in range(most):
        if float(sizes @ sizes) <= float(steps) ** 2:
            return rounds
        sizes = np.maximum(sizes - 1, 0)
    return most
