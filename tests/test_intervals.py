"""Intervals cover the exact answer on the clipped table at their level, and where the law is exact, no more often.

The exact answers are computed here by numpy from the clipped table. Noise is seeded, so a run repeats: the tests
allow four standard deviations of a binomial share, which a fresh seed would exceed with probability 3e-5 per
comparison (about 600 of them: 2 % per choice of the seed, once, not per run).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import sordino as so
from sordino.domain import Neighbours
from sordino.errors import ParameterError
from sordino.privacy.price import ChoicePrice
from sordino.privacy.session import Session
from sordino.queries import ratio
from sordino.queries.private_table import PrivateTable
from sordino.queries.ratio import share_interval
from sordino.queries.variance import _variance_range
from sordino.release import LARGEST_LEVEL, DiscreteGaussian, DiscreteLaplace, Law, NoisyTotal, Release

LEVELS = (0.5, 0.9, 0.95)
REPEATS = 1000
ROWS = 400
X, Y = (0.0, 10.0), (-3.0, 1.0)
EDGES = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)

#: An interval may cover a little more often than stated: the noise has atoms, and the grid is allowed for.
ATOMS = 0.012

Table = np.ndarray


# ---- the table, and exact answers by numpy ---------------------------------------------------------------------


def columns_of(neighbours: Neighbours, rows: int | None) -> so.Domain:
    declared = {"x": so.Real(*X), "y": so.Real(*Y), "c": so.Category([1, 2, 3])}
    return so.Domain(declared, neighbours=neighbours, rows=rows if neighbours == "substitute" else None)


def table_of(rows: int) -> Table:
    """Correlated columns that reach beyond their bounds, and a category; some cells are missing."""
    rng = np.random.default_rng(rows)
    x = rng.normal(4, 3, rows)
    y = 0.3 * (x - 4) + rng.normal(-1, 1, rows)
    table = np.column_stack([x, y, rng.integers(1, 4, rows)])
    if rows >= 50:
        table[rng.random((rows, 3)) < 0.03] = np.nan
    return table


def clipped(table: Table) -> tuple[np.ndarray, np.ndarray]:
    return np.clip(table[:, 0], *X), np.clip(table[:, 1], *Y)


def whole(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Both columns of the records that have both."""
    x, y = clipped(table)
    both = ~np.isnan(x) & ~np.isnan(y)
    return x[both], y[both]


def filled(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """As direct answers read them: records with a missing cell stand at the middle of the box."""
    x, y = clipped(table)
    gone = np.isnan(x) | np.isnan(y)
    return np.where(gone, sum(X) / 2, x), np.where(gone, sum(Y) / 2, y)


def alone(table: Table) -> np.ndarray:
    x = clipped(table)[0]
    return np.where(np.isnan(x), sum(X) / 2, x)


def counted(table: Table) -> np.ndarray:
    x, c = clipped(table)[0], table[:, 2]
    kept = ~np.isnan(x) & ~np.isnan(c)
    cells = np.minimum(np.searchsorted(EDGES, x[kept], side="right") - 1, len(EDGES) - 2)
    table_of_counts = np.zeros((3, len(EDGES) - 1))
    np.add.at(table_of_counts, (c[kept].astype(int) - 1, cells), 1)
    return table_of_counts


@dataclass(frozen=True)
class Case:
    """A question, its exact answer, and whether its interval is exact or only safe."""

    ask: Callable[..., Release]
    answer: Callable[[Table], Any]
    epsilon: float
    relations: tuple[Neighbours, ...] = ("add-remove", "substitute")
    is_exact: bool = True


BOTH = ("x", "y")
CASES: dict[str, Case] = {
    "count": Case(lambda t, **paid: t.count(**paid), len, 0.02, ("add-remove",)),
    "sum": Case(lambda t, **paid: t.sum("x", **paid), lambda table: np.nansum(clipped(table)[0]), 0.5),
    "sums": Case(lambda t, **paid: t.sum(BOTH, **paid), lambda table: np.nansum(clipped(table), axis=1), 0.5),
    "mean by sum and size": Case(
        lambda t, **paid: t.mean("x", method="sum-and-size", **paid), lambda table: np.nanmean(clipped(table)[0]), 0.5
    ),
    "means by sum and size": Case(
        lambda t, **paid: t.mean(BOTH, method="sum-and-size", **paid), lambda table: np.mean(whole(table), axis=1), 0.8
    ),
    "direct mean": Case(
        lambda t, **paid: t.mean("x", method="direct", **paid), lambda table: alone(table).mean(), 0.5, ("substitute",)
    ),
    "direct means": Case(
        lambda t, **paid: t.mean(BOTH, **paid), lambda table: np.mean(filled(table), axis=1), 0.5, ("substitute",)
    ),
    "variance by sum and size": Case(
        lambda t, **paid: t.variance("x", method="sum-and-size", **paid),
        lambda table: np.nanvar(clipped(table)[0]),
        0.5,
        is_exact=False,
    ),
    "direct variance": Case(
        lambda t, **paid: t.variance("x", method="direct", **paid),
        lambda table: alone(table).var(),
        0.5,
        ("substitute",),
    ),
    "covariance by sum and size": Case(
        lambda t, **paid: t.covariance(BOTH, method="sum-and-size", **paid),
        lambda table: np.cov(np.array(whole(table)), bias=True),
        1.0,
        is_exact=False,
    ),
    "direct covariance": Case(
        lambda t, **paid: t.covariance(BOTH, method="direct", **paid),
        lambda table: np.cov(np.array(filled(table)), bias=True),
        0.5,
        ("substitute",),
    ),
    "histogram": Case(lambda t, **paid: t.histogram(["c", "x"], bins={"x": EDGES}, **paid), counted, 0.02),
    "histograms": Case(
        lambda t, **paid: t.histograms(["c"], **paid),
        lambda table: np.bincount(table[~np.isnan(table[:, 2]), 2].astype(int), minlength=4)[1:],
        0.02,
    ),
    "direct median": Case(
        lambda t, **paid: t.median("x", method="direct", **paid),
        lambda table: np.median(alone(table)),
        1.0,
        ("substitute",),
    ),
}
DELTAS = (0, 1e-6)
ASKED = [(name, relation, delta) for name, case in CASES.items() for relation in case.relations for delta in DELTAS]


def ends(release: Release, level: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = release.interval(level)
    if isinstance(low, dict):
        low, high = (np.concatenate([np.ravel(part) for part in each.values()]) for each in (low, high))
    return np.asarray(low, dtype=float), np.asarray(high, dtype=float)


def opened(table: Table, neighbours: Neighbours, seed: int) -> PrivateTable:
    return so.open_table(table, columns_of(neighbours, len(table)), columns=["x", "y", "c"], random_state=seed)


def coverage(name: str, neighbours: Neighbours, delta: float, repeats: int = REPEATS) -> dict[float, np.ndarray]:
    """The share of repeated releases whose interval holds the exact answer, per level and entry."""
    case, table = CASES[name], table_of(ROWS)
    private = opened(table, neighbours, seed=len(name))
    exact = np.asarray(case.answer(table), dtype=float)
    held: dict[float, Any] = dict.fromkeys(LEVELS, 0.0)
    for _ in range(repeats):
        release = case.ask(private, epsilon=case.epsilon, delta=delta)
        for level in LEVELS:
            low, high = ends(release, level)
            assert low.shape == exact.shape
            held[level] = held[level] + ((low <= exact) & (exact <= high))
    return {level: np.asarray(count) / repeats for level, count in held.items()}


def allowed(level: float, repeats: int = REPEATS) -> float:
    return 4 * math.sqrt(level * (1 - level) / repeats)


def covers(shares: dict[float, np.ndarray], repeats: int = REPEATS) -> bool:
    return all((share >= level - allowed(level, repeats)).all() for level, share in shares.items())


# ---- coverage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "neighbours", "delta"), ASKED)
def test_intervals_cover_at_their_level_and_exact_ones_no_more_often(
    name: str, neighbours: Neighbours, delta: float
) -> None:
    """1,000 repeats; four standard deviations either way."""
    shares = coverage(name, neighbours, delta)
    assert covers(shares), shares
    if CASES[name].is_exact:
        assert all((share <= level + allowed(level) + ATOMS).all() for level, share in shares.items()), shares


def with_laws(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """Plant a bug: every answer states a law whose scale is off by ``factor``."""
    answer = Session.answer

    def stated(law: Law) -> Law:
        return type(law)(law.scale * factor)  # type: ignore[call-arg]

    def planted(session: Session, questions: Any) -> list[NoisyTotal]:
        return [replace(total, laws=tuple(map(stated, total.laws))) for total in answer(session, questions)]

    monkeypatch.setattr(Session, "answer", planted)


@pytest.mark.parametrize(("name", "neighbours", "delta"), ASKED)
def test_twin_intervals_from_half_the_scale_do_not_cover(
    name: str, neighbours: Neighbours, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Safe intervals have room to spare: for them the twin states a twentieth of the scale."""
    with_laws(monkeypatch, 0.5 if CASES[name].is_exact else 0.05)
    assert not covers(coverage(name, neighbours, delta, repeats=300), repeats=300)


# ---- quantiles -------------------------------------------------------------------------------------------------


def ranks_off(values: np.ndarray, quantile: float, candidate: np.ndarray) -> np.ndarray:
    """How many ranks each candidate is from being a quantile."""
    below, at_most = (values[:, None] < candidate).sum(axis=0), (values[:, None] <= candidate).sum(axis=0)
    return np.maximum(0, np.maximum(quantile * len(values) - at_most, below - quantile * len(values)))


def rank_coverage(values: np.ndarray, quantile: float, paid: dict[str, float], repeats: int, level: float) -> float:
    """How often the chosen candidate is no more ranks farther off than the best one than the interval says."""
    private = so.open_table(values[:, None], so.Domain({"x": so.Real(*X)}), columns=["x"], random_state=5)
    candidates = np.linspace(*X, 256)
    best = ranks_off(values, quantile, candidates).min()
    held = 0
    for _ in range(repeats):
        release = private.quantile("x", quantile, candidates=256, **paid)
        low, high = release.interval(level)
        assert release.interval(level).unit == "ranks"
        assert low == -high
        held += ranks_off(values, quantile, np.array([release.value]))[0] - best <= high + 1e-9
    return held / repeats


PAID = ({"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6})


@pytest.mark.parametrize("paid", PAID)
@pytest.mark.parametrize("quantile", [0.5, 0.1, 0.95])
def test_a_chosen_quantile_is_as_near_in_ranks_as_its_interval_says(quantile: float, paid: dict[str, float]) -> None:
    values = clipped(table_of(200))[0]
    for level in LEVELS:
        assert rank_coverage(values[~np.isnan(values)], quantile, paid, 200, level) >= level - allowed(level, 200)


@pytest.mark.parametrize("paid", PAID)
def test_twin_a_rank_interval_from_half_the_scale_does_not_hold(
    paid: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case of the union bound: most records at one candidate, so that all others tie far below it."""
    level, share = 0.9, 0.6
    session = so.open_table(np.zeros((1, 1)), so.Domain({"x": so.Real(*X)}), columns=["x"]).session
    query = so.open_table(np.zeros((1, 1)), session.domain, columns=["x"]).plan("median", "x", candidates=256, **paid)
    gap = share * query.half_width(level)
    crowd = round(2 * gap)
    values = np.concatenate([np.full(crowd, X[0] + 100 * (X[1] - X[0]) / 255), np.array([0.0, 10.0])])
    assert rank_coverage(values, 0.5, paid, 200, level) >= level
    right = ChoicePrice.shortfall
    monkeypatch.setattr(ChoicePrice, "shortfall", lambda self, wanted: right(self, wanted) / 2)
    assert rank_coverage(values, 0.5, paid, 200, level) < level - allowed(level, 200)


def value_coverage(level: float, delta: float, quantile: float, repeats: int) -> float:
    """How often the interval by a paid histogram holds the exact quantile, where a cell ends exactly at it."""
    values = np.concatenate([np.full(30, 1.0), np.full(270, 7.0)])
    exact = float(np.quantile(values, quantile, method="inverted_cdf"))
    private = so.open_table(values[:, None], so.Domain({"x": so.Real(*X)}), columns=["x"], random_state=8)
    held = 0
    for _ in range(repeats):
        histogram = private.histogram("x", bins=2, epsilon=0.2, delta=delta)
        low, high = private.quantile("x", quantile, epsilon=1).interval(level, histogram=histogram)
        held += low <= exact <= high
    return held / repeats


@pytest.mark.parametrize("delta", DELTAS)
def test_a_quantiles_interval_in_values_covers_and_a_quarter_of_the_scale_is_seen(
    delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A safe interval (all cells hold at once), and the twin states a quarter of the scale."""
    for level in LEVELS:
        assert value_coverage(level, delta, 0.1, 200) >= level - allowed(level, 200)
    with_laws(monkeypatch, 0.25)
    assert value_coverage(0.95, delta, 0.1, 500) < 0.95 - allowed(0.95, 500)


def test_without_noise_a_quantiles_interval_in_values_is_the_cell_that_holds_it() -> None:
    """Exactly, ties included: 0.07 x 100 is 7 records, not a little more."""
    for below, quantile in ((7, "0.07"), (29, "0.29"), (1, "0.01"), (57, "0.57"), (33, Fraction(1, 3))):
        rows = 99 if quantile == Fraction(1, 3) else 100
        values = np.concatenate([np.full(below, 5.0), np.full(rows - below, 15.0)])
        private = so.open_table(values[:, None], so.Domain({"x": so.Real(0, 20)}), columns=["x"], random_state=0)
        histogram = private.histogram("x", bins=[0, 10, 20], epsilon=math.inf)
        low, high = private.quantile("x", quantile, epsilon=1).interval(0.9, histogram=histogram)
        assert low == 0 <= 5 <= high
        (low, high) = private.quantile("x", "0.99", epsilon=1).interval(0.9, histogram=histogram)
        assert (low, high) == (10, 20)


def test_an_interval_in_values_needs_a_histogram_of_the_same_column_over_its_whole_interval() -> None:
    private = opened(table_of(50), "add-remove", 0)
    median = private.median("x", epsilon=1)
    for histogram in (
        private.histogram("y", bins=4, epsilon=1),
        private.histogram("x", bins=[2, 5, 10], epsilon=1),
        private.histogram("x", bins=[0, 5, 9], epsilon=1),
        private.histogram("c", epsilon=1),
        private.histogram(["c", "x"], bins={"x": 3}, epsilon=1),
        private.histograms(["x"], bins=3, epsilon=1),
        private.count(epsilon=1),
    ):
        with pytest.raises(ParameterError, match="interval"):
            median.interval(0.9, histogram=histogram)


# ---- small tables ----------------------------------------------------------------------------------------------

#: What an interval can never leave, whatever the noise; direct and unbounded answers are not cut.
BOUNDS: dict[str, tuple[Any, Any]] = {
    "count": (0, math.inf),
    "mean by sum and size": X,
    "means by sum and size": (np.array([X[0], Y[0]]), np.array([X[1], Y[1]])),
    "variance by sum and size": (0, 25),
    "direct mean": X,
    "direct means": (np.array([X[0], Y[0]]), np.array([X[1], Y[1]])),
    "direct variance": (0, math.inf),
    "covariance by sum and size": (-25.01, 25.01),
    "histogram": (0, math.inf),
    "histograms": (0, math.inf),
    "direct median": X,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize(("name", "neighbours", "delta"), ASKED)
def test_intervals_of_tiny_tables_are_finite_ordered_and_within_the_bounds(
    name: str, neighbours: Neighbours, delta: float, rows: int
) -> None:
    if "direct" in name and rows == 0:
        with pytest.raises(so.SordinoError, match="at least 1"):
            columns_of("substitute", 0)
        return
    domain = columns_of(neighbours, rows or None)
    private = so.open_table(table_of(rows), domain, columns=["x", "y", "c"], random_state=3)
    low_end, high_end = BOUNDS.get(name, (-math.inf, math.inf))
    for epsilon in (0.001, 1.0, 1000.0):
        if rows == 1 and name in ("direct variance", "direct covariance"):
            with pytest.raises(ParameterError, match="public"):  # of one record it is zero
                CASES[name].ask(private, epsilon=epsilon, delta=delta)
            continue
        for _ in range(20):
            release = CASES[name].ask(private, epsilon=epsilon, delta=delta)
            for level in (0.01, 0.5, 0.95, LARGEST_LEVEL):
                low, high = ends(release, level)
                assert np.isfinite(low).all()
                assert np.isfinite(high).all()
                assert (low <= high).all()
                assert (low >= low_end).all()
                assert (high <= high_end).all()


def test_quantiles_of_tiny_tables_are_inside_the_bounds() -> None:
    for rows, neighbours in ((0, "add-remove"), (1, "add-remove"), (3, "substitute")):
        private = so.open_table(
            table_of(rows)[:, :1],
            so.Domain({"x": so.Real(*X)}, neighbours=neighbours),
            columns=["x"],
            random_state=1,  # type: ignore[arg-type]
        )
        for delta in DELTAS:
            release = private.median("x", epsilon=0.5, delta=delta)
            assert X[0] <= release.value <= X[1]
            assert all(map(math.isfinite, release.interval(0.9)))
            low, high = release.interval(0.9, histogram=private.histogram("x", bins=4, epsilon=1, delta=delta))
            assert X[0] <= low <= high <= X[1]


def test_the_count_of_a_table_of_public_size_is_not_sold() -> None:
    with pytest.raises(ParameterError, match="public"):
        opened(table_of(3), "substitute", 0).count(epsilon=1)


# ---- the shape of intervals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "neighbours", "delta"), ASKED)
def test_intervals_widen_with_their_level_and_hold_the_value(name: str, neighbours: Neighbours, delta: float) -> None:
    private = opened(table_of(ROWS), neighbours, 4)
    release = CASES[name].ask(private, epsilon=CASES[name].epsilon, delta=delta)
    before: Any = None
    for level in (0.1, 0.5, 0.9, 0.99, 0.999):
        low, high = ends(release, level)
        if before is not None:
            assert (low <= before[0] + 1e-9).all()
            assert (high >= before[1] - 1e-9).all()
        before = low, high
    value = release.value["c"] if isinstance(release.value, dict) else release.value
    assert (before[0] <= np.maximum(value, before[0])).all()


@pytest.mark.parametrize("name", ["sum", "sums", "direct mean", "direct means", "direct covariance"])
@pytest.mark.parametrize("delta", DELTAS)
def test_a_plan_states_the_half_width_that_the_answer_carries(name: str, delta: float) -> None:
    """Reading nothing: the plan is made before the answer, and by the same lines."""
    private = opened(table_of(ROWS), "substitute", 6)
    query, columns = name.removeprefix("direct ").removesuffix("s"), "x" if name in ("sum", "direct mean") else BOTH
    plan = private.plan(query, columns, epsilon=0.5, delta=delta)
    low, high = ends(CASES[name].ask(private, epsilon=0.5, delta=delta), 0.9)
    assert plan.half_width(0.9) == pytest.approx(float((high - low).max() / 2), rel=1e-9)


@pytest.mark.parametrize(("neighbours", "epsilon"), [("substitute", 20.0), ("add-remove", 1.0)])
def test_a_plan_has_a_width_for_each_entry_of_a_matrix(neighbours: Neighbours, epsilon: float) -> None:
    """Each kind of entry has its own: those of the answer where they do not depend on the rows; no other entry's."""
    private = opened(table_of(ROWS), neighbours, 6)
    plan = private.plan("covariance", BOTH, epsilon=epsilon, rows=ROWS)
    widths = np.array(plan.half_widths(0.9))
    if neighbours == "substitute":
        low, high = ends(private.covariance(BOTH, epsilon=epsilon), 0.9)
        assert widths == pytest.approx((high - low) / 2, rel=1e-6)
    assert widths == pytest.approx(widths.T)
    assert len({round(each, 9) for each in (widths[0, 0], widths[0, 1], widths[1, 1])}) == 3
    assert plan.half_width(0.9) == widths.max()
    assert plan.to_dict(0.9)["half_widths"] == widths.tolist()


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_no_variance_is_below_zero(neighbours: Neighbours) -> None:
    """Where noise drowns the matrix; covariances may be, and some are."""
    matrices = [opened(table_of(20), neighbours, seed).covariance(BOTH, epsilon=0.1) for seed in range(30)]
    values = np.array([each.value for each in matrices])
    assert (values[:, [0, 1], [0, 1]] >= 0).all()
    assert (values[:, 0, 1] < 0).any()  # all 30 positive: one in a billion
    for each in matrices:
        low, high = ends(each, 0.9)
        assert (np.diag(low) >= 0).all()
        assert (low <= high).all()


@pytest.mark.parametrize("level", [0, 1, -1, 2, math.nan, "0.9", None, True])
def test_an_impossible_level_is_refused(level: object) -> None:
    private = opened(table_of(50), "add-remove", 0)
    for release in (private.count(epsilon=1), private.mean("x", epsilon=1), private.median("x", epsilon=1)):
        with pytest.raises(ParameterError, match="level"):
            release.interval(level)  # type: ignore[arg-type]


# ---- the share of two noisy ends, on its own -------------------------------------------------------------------


@cache
def share_coverage(law: Law, ends_of: tuple[float, float], unit: int, level: float, factor: float) -> float:
    """Exact ends with 4,000 pairs of noise; ``factor`` plants a wrong scale."""
    rng = np.random.default_rng(9)
    if isinstance(law, DiscreteLaplace):
        noise = np.floor(rng.exponential(law.scale, (4000, 2))) - np.floor(rng.exponential(law.scale, (4000, 2)))
    else:
        noise = np.rint(rng.normal(0, law.scale, (4000, 2)))
    share = ends_of[1] / sum(ends_of)
    stated = type(law)(law.scale * factor)  # type: ignore[call-arg]
    held = 0
    for first, second in noise / unit:
        low, high = share_interval(ends_of[0] + first, ends_of[1] + second, stated, unit, level)
        held += low <= share <= high
    return held / len(noise)


@pytest.mark.parametrize("law", [DiscreteLaplace(1000.0), DiscreteGaussian(1000.0)])
@pytest.mark.parametrize("ends_of", [(50.0, 50.0), (99.0, 1.0), (100.0, 0.0), (30.0, 70.0), (0.0, 40.0)])
def test_the_interval_of_a_share_is_exact_when_the_size_is_well_above_the_noise(
    law: Law, ends_of: tuple[float, float]
) -> None:
    """Four standard deviations of 4,000 either way; the noise has scale one in these units."""
    for level in (0.5, 0.95):
        found = share_coverage(law, ends_of, 1000, level, 1.0)
        assert found >= level - allowed(level, 4000)
        if min(ends_of) > 0:  # at 0 and 1 the cut at the bounds adds to the coverage
            assert found <= level + allowed(level, 4000) + 0.004
            assert share_coverage(law, ends_of, 1000, level, 0.5) < level - allowed(level, 4000)


@pytest.mark.parametrize("law", [DiscreteLaplace(1000.0), DiscreteGaussian(1000.0)])
@pytest.mark.parametrize("ends_of", [(1.0, 1.0), (0.0, 1.0), (0.5, 2.0)])
def test_the_interval_of_a_share_still_covers_when_the_noise_drowns_the_size(
    law: Law, ends_of: tuple[float, float]
) -> None:
    for level in (0.5, 0.95):
        assert share_coverage(law, ends_of, 1000, level, 1.0) >= level - allowed(level, 4000)


def test_the_interval_of_a_share_covers_on_a_coarse_grid() -> None:
    """Noise of a few grid steps: atoms are allowed for."""
    for law in (DiscreteLaplace(2.0), DiscreteGaussian(2.0)):
        for level in (0.5, 0.95):
            assert share_coverage(law, (30.0, 50.0), 4, level, 1.0) >= level - allowed(level, 4000)


def sizes(levels: Sequence[float]) -> list[float]:
    return [
        hi - lo for lo, hi in (share_interval(60.0, 40.0, DiscreteLaplace(5000.0), 1000, level) for level in levels)
    ]


def test_the_interval_of_a_share_widens_with_its_level() -> None:
    widths = sizes((0.1, 0.5, 0.9, 0.99, 0.999999))
    assert widths == sorted(widths)
    assert widths[0] > 0


# ---- the pieces of the proofs (docs/proofs/intervals.md) -------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 0.5, 0.4999999, 0.9, 1.0])
def test_the_tail_of_two_laplace_variables_is_that_of_the_law(share: float) -> None:
    """Pr(|(1-m) X - m Y| > t) by summing one variable out: Pr(|a X - y| > t) in closed form, over a fine grid of y."""
    a, b = max(share, 1 - share), min(share, 1 - share)
    y, width = np.linspace(-60, 60, 400_001, retstep=True)
    density = np.exp(-np.abs(y)) / 2 * width

    def above(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)

    for t in (0.01, 0.5, 2.0, 8.0):
        summed = float((density * (above((t - b * y) / a) + above((t + b * y) / a))).sum())
        found = float(ratio._two_laplace_tail(np.array([t]), np.array([share]))[0])
        assert found == pytest.approx(summed, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.9, 0.95, 0.999, LARGEST_LEVEL])
def test_the_quantile_of_a_share_is_convex_and_symmetric(law: type, level: float) -> None:
    """Then the larger of two neighbours bounds what lies between them, and no piece of the set is missed."""
    table = ratio._quantiles(law, level)
    assert (np.diff(table, 2) >= -1e-9 * table.max()).all()
    assert table == pytest.approx(table[::-1], rel=1e-6)
    if law is DiscreteLaplace:
        tail = ratio._two_laplace_tail(table, np.linspace(0, 1, len(table)))
        assert tail == pytest.approx(np.full(len(table), 1 - level), rel=1e-6)
        assert table[0] == pytest.approx(-math.log(1 - level), rel=1e-6)


def test_the_range_of_a_variance_over_a_box_of_parts_is_that_of_a_dense_grid() -> None:
    rng = np.random.default_rng(13)
    for _ in range(60):
        ranges = [tuple(sorted(pair)) for pair in rng.choice([0, 1], (3, 2)) * rng.exponential(10, (3, 2))]
        low, high = _variance_range(*ranges)  # type: ignore[arg-type]
        a, b, c = np.meshgrid(*[np.linspace(*each, 25) for each in ranges], indexing="ij")
        size = np.maximum(a + b + c, 1e-9)  # where nothing is left the variance is zero
        variances = np.clip((a * c - b * b / 4) / size**2, 0, 0.25)
        assert low <= variances.min() + 1e-12
        assert high >= variances.max() - 1e-12
        if sum(each[0] for each in ranges) > 0:  # else the range is the whole one
            assert low == pytest.approx(variances.min(), abs=1e-12)
            assert high == pytest.approx(variances.max(), abs=0.01)


def test_an_interval_of_largest_level_is_still_an_interval() -> None:
    """Parts of a joint interval go nearer to one than the level that a user may ask for."""
    private = opened(table_of(ROWS), "add-remove", 0)
    histogram = private.histogram("x", bins=1000, epsilon=1)
    low, high = private.median("x", epsilon=1).interval(LARGEST_LEVEL, histogram=histogram)
    assert X[0] <= low < high <= X[1]
