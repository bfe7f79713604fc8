"""Every number that private code compares with a size, a budget or a scale, and a test on both sides of each.

Bugs that nobody sees live beyond a number that no test crosses: "no noise where the scale is above 2^31", "only the
first 4096 rows". So the numbers are listed by reading the source, and the list here must be the same. Comparisons
with -1, 0, 1, 2 and infinity are left out: they ask whether something is there, not how much of it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from registry import batch_of, domain_of, reals
from sordino.audit.minima import too_little_noise_for_a_minimum
from sordino.audit.neighbours import ordinary_records
from sordino.cost import LARGEST_AMOUNT, Cost
from sordino.domain import LARGEST_BOUND, LARGEST_WHOLE, Category, Domain, Real
from sordino.engine import accumulation
from sordino.engine.accumulation import Accumulation, ExactSum
from sordino.errors import NoiseError, ParameterError, SordinoError
from sordino.privacy import minimiser, noise, perturbed_minimiser
from sordino.privacy.ledger import MOST_BITS, Ledger, problems_of
from sordino.privacy.margin_losses import Huber, Softmax
from sordino.privacy.minimiser import Objective, minimise
from sordino.privacy.noise import SecureNoise
from sordino.privacy.price import LARGEST_SCALE, Question, price, price_choice
from sordino.privacy.rehearsal import ObservedSession
from sordino.release import DiscreteLaplace
from sordino.statistics import components, gradients
from sordino.statistics.amounts import Amounts
from sordino.statistics.choice import HASH_BITS, Subsample
from sordino.statistics.components import ComponentMoments, Components, ComponentSizes, ComponentSpreads
from sordino.statistics.count import Count
from sordino.statistics.direct import DirectCovariance, DirectMedian
from sordino.statistics.directions import Directions, Products
from sordino.statistics.elementary import LOWEST, exponential, hyperbolic_tangent
from sordino.statistics.gradients import Gradients
from sordino.statistics.grid_ball import inside
from sordino.statistics.histograms import LARGEST_TABLE, MOST_BINS, BinAxis, CategoryAxis, Histograms
from sordino.statistics.hits import MOST_CANDIDATES, ConstantHits, CutHits, Discriminant, ModelHits
from sordino.statistics.labels import ClassLabels
from sordino.statistics.lattice import LatticeCells
from sordino.statistics.margin_gradients import LONGEST_WEIGHTS, MarginGradients
from sordino.statistics.projected import LARGEST_DIRECTION, Projected
from sordino.statistics.ranks import LARGEST_DENOMINATOR, RankScores, grid_candidates
from sordino.statistics.scores import LARGEST_SCORE, Scores
from sordino.statistics.statistic import EXACT_LIMIT, GRID_STEPS, LISTED, listed
from sordino.statistics.sums import Sum
from sordino.statistics.unit_split import UnitSplit
from sordino.statistics.vectors import LARGEST_DIMENSION, Ball, Box
from sordino.table import files
from sordino.table.clipping import _TILE, ClippedBatch
from sordino.table.memory import MatrixBlock
from test_architecture import read_sources, room
from test_perturbed_minimiser import made_up

PRIVATE = ("domain", "cost", "table", "statistics", "engine", "privacy")

DOMAIN = domain_of(3)
X = reals(3)
CLASSES = CategoryAxis.of(DOMAIN, "class")


def refuses(make: Callable[[], Any], error: type[SordinoError] = SordinoError) -> bool:
    try:
        make()
    except error:
        return True
    return False


def maps(statistic: Any, rows: np.ndarray, domain: Domain = DOMAIN) -> np.ndarray:
    found: np.ndarray = statistic.record_maps(batch_of(domain, rows))
    return found


def rows_of_reals(places: Any, domain: Domain = DOMAIN) -> np.ndarray:
    """Records of ``domain`` at places of the box of its real columns, all in the first class."""
    rows = np.array([[column.values[0] if isinstance(column, Category) else 0.0 for column in domain.columns.values()]])
    rows = np.repeat(rows, len(places), axis=0).astype(float)
    declared = [column for column in domain.columns.values() if isinstance(column, Real)]
    rows[:, : len(declared)] = [
        [c.middle + c.half_width * part for c, part in zip(declared, place, strict=True)] for place in places
    ]
    return rows


# --- both sides --------------------------------------------------------------------------------------------------


def amounts_of_money() -> None:
    for held, outside in (
        (LARGEST_AMOUNT, LARGEST_AMOUNT + 1),
        (Fraction(1, LARGEST_AMOUNT), Fraction(1, LARGEST_AMOUNT + 1)),
    ):
        assert Cost.of(held).epsilon == held
        assert refuses(lambda amount=outside: Cost.of(amount), ParameterError)


def bounds_of_columns() -> None:
    assert Real(0, LARGEST_BOUND).high == LARGEST_BOUND
    assert refuses(lambda: Real(0, math.nextafter(LARGEST_BOUND, math.inf)))
    assert Real(0, 2.0 / LARGEST_BOUND).half_width >= 1 / LARGEST_BOUND
    assert refuses(lambda: Real(0, 1.999 / LARGEST_BOUND))


def whole_numbers() -> None:
    assert Category([LARGEST_WHOLE]).values == (LARGEST_WHOLE,)
    assert refuses(lambda: Category([LARGEST_WHOLE + 1]))


def blocks_of_a_limb() -> None:
    for blocks in (accumulation._BLOCKS_PER_LIMB + extra for extra in (-1, 0, 1)):
        exact_sum = ExactSum(1)
        for _ in range(blocks):
            exact_sum.add(np.array([EXACT_LIMIT]))
        assert exact_sum.values() == (blocks * EXACT_LIMIT,)


def rows_of_a_block() -> None:
    """Totals over one row fewer, as many and one more than fit into a block, of whatever width and kind."""
    box, counts = Sum(Box(X)), Count(X)
    narrow = max(512, min(65_536, accumulation._CELLS_PER_BLOCK // len(X)))
    for statistic, rows_per_block in ((box, 512), (box, narrow), (counts, accumulation._ROWS_OF_COUNTS)):
        for rows in (rows_per_block - 1, rows_per_block, rows_per_block + 1):
            matrix = np.zeros((rows, len(DOMAIN.columns)))
            matrix[-1, : len(X)] = [DOMAIN.real(name).high for name in X]
            added = Accumulation(DOMAIN, [statistic])
            added.add(MatrixBlock(matrix, tuple(DOMAIN.columns)))
            few = maps(statistic, matrix[[0, -1]]).tolist()
            assert added.exact_values()[0] == tuple((rows - 1) * a + b for a, b in zip(*few, strict=True))


def long_fractions() -> None:
    for bits, taken in ((MOST_BITS - 1, True), (MOST_BITS + 1, False)):
        ledger = Ledger(epsilon=1)
        assert refuses(lambda b=bits, to=ledger: to.charge([("x", Cost(epsilon=Fraction(1, 2**b)), {})])) != taken
        assert bool(ledger.entries()) == taken


def the_end_of_64_bits() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for drawn, used in ((2**63 - 2, True), (2**63 - 1, False), (-(2**63) + 2, True), (-(2**63) + 1, False)):
            patch.setattr(noise, "_sampler", lambda law, scale, drawn=drawn: lambda zeros: [drawn] * len(zeros))
            assert refuses(lambda: SecureNoise().draw([DiscreteLaplace(1.0)]), NoiseError) != used


def the_largest_scale() -> None:
    scores = RankScores("x0", (1.0, 2.0))
    for factor, sold in ((Fraction(999, 1000), True), (Fraction(1001, 1000), False)):
        cost = Cost.pure(1 / (LARGEST_SCALE * factor))
        assert refuses(lambda cost=cost: price(Question(Count(X), cost), "add-remove"), NoiseError) != sold
        asked = Cost.pure(2 / (LARGEST_SCALE * factor))
        assert refuses(lambda cost=asked: price_choice(scores, cost, "add-remove"), NoiseError) != sold
    for factor, unit in ((Fraction(999, 1000), GRID_STEPS), (Fraction(1001, 1000), GRID_STEPS // 2)):
        cost = Cost.pure(len(X) * GRID_STEPS / (LARGEST_SCALE * factor))
        assert price(Question(Sum(Box(X)), cost), "add-remove").statistic.unit == unit


def the_coarsest_grid() -> None:
    """Each statistic is halved down to its last grid, and there its record maps still are what it declares."""
    shared = Components(Ball(X), ((0.0,) * 3, (0.5,) * 3))
    chains = {
        Amounts.of(DOMAIN, X): 2**4, DirectMedian("x0", 5): 2**4, DirectCovariance(X, 5): 2**4, UnitSplit(X): 2**4,
        Sum(Box(X)): 2**5, shared: 2**6,
    }  # fmt: skip
    for statistic, last in chains.items():
        each: Any = statistic
        while (coarser := each.coarser()) is not None:
            each = coarser
        steps = getattr(each, "steps", getattr(each, "width", getattr(each, "parts", None))) or each.of.steps
        assert steps == last
        if each is not shared and hasattr(each, "record_maps"):
            assert np.abs(maps(each, rows_of_reals([(-1, 0, 1), (9, 9, 9)]))).max() <= each.largest_entry


def hashes_that_are_kept() -> None:
    inner = ConstantHits(CLASSES, X)
    assert np.array_equal(maps(Subsample(inner, 2**HASH_BITS), ROWS), maps(inner, ROWS))
    assert maps(Subsample(inner, 2**HASH_BITS - 1), ROWS).sum() >= maps(inner, ROWS).sum() - 1
    assert refuses(lambda: Subsample(inner, 2**HASH_BITS + 1))


ROWS = rows_of_reals(np.random.default_rng(0).uniform(-1.2, 1.2, (50, 3)))


def records_about_the_reach() -> None:
    """Just within the reach of a mean, at it, and beyond: entries grow up to the unit and stay there."""
    of = Components(Ball(X), ((0.0,) * 3, (-1.0, 0.0, 0.0)))
    for statistic in (ComponentSpreads(of, 0.25), ComponentMoments(of, 0.25)):
        places = [(step, 0.0, 0.0) for step in (0.249, 0.2499999, 0.25, 0.2500001, 0.251, 0.4)]
        entries = np.abs(maps(statistic, rows_of_reals(places))[:, 0])
        assert entries.max() <= statistic.unit
        assert entries[0] >= 0.97 * statistic.unit
        assert np.ptp(entries[3:]) <= 0.01 * statistic.unit


def a_direction_of_no_length() -> None:
    """Where a witness is made from a mean at the middle, and from one that is not."""
    of = Components(Ball(X), ((0.0,) * 3, (1e-12, 0.0, 0.0), (0.5, 0.0, 0.0)))
    for relation in ("add-remove", "substitute"):
        first, _ = ComponentSpreads(of, 0.25).witness(DOMAIN, relation, "l1")  # type: ignore[arg-type]
        assert all(math.isfinite(float(cell)) for cell in first.values())  # type: ignore[arg-type]
    for place in (np.zeros(1), np.full(1, 1e-12), np.ones(1)):
        record = Gradients(("x1",), "mixture", (1.0,), 0.5, 1.0).record_at(DOMAIN, place)
        assert all(math.isfinite(float(cell)) for cell in record.values())  # type: ignore[arg-type]
        record = gradients.Points(("x1",), 2.0).record_at(DOMAIN, place)
        assert all(math.isfinite(float(cell)) for cell in record.values())  # type: ignore[arg-type]


def exponents() -> None:
    values = np.array([LOWEST * 1.01, LOWEST, LOWEST * 0.99, -1.0, 0.0])
    expected = np.exp(np.maximum(values, LOWEST))
    assert np.allclose(exponential(values), expected, rtol=1e-13, atol=0)
    for value in (-LOWEST / 2 - 0.01, -LOWEST / 2 + 0.01, -LOWEST - 0.01, -LOWEST + 0.01, 1e300):
        assert np.allclose(hyperbolic_tangent(np.array([value, -value])), [math.tanh(value), -math.tanh(value)])


def powers_of_two() -> None:
    for value, power in ((2.0**59, 59), (2.0**60, 60), (2.0**60 * 1.5, 60), (2.0**61, 60), (2.0**300, 60)):
        assert gradients._power_below(value) == 2.0**power


def numbers_that_floats_would_lose() -> None:
    """The largest public numbers of EM leave every map within its bound; what is a little larger is refused."""
    most = gradients._LARGEST
    for parameter, sigma in ((most, 1.0), (-most, 1 / most), (1.0, most), (1.0, 1 / most)):
        for model, target in (("mixture", None), ("regressions", "x0"), ("missing", "x0")):
            statistic = Sum(Gradients(("x1",), model, (parameter,), sigma, 1.0, target))  # type: ignore[arg-type]
            with np.errstate(all="ignore"):
                assert np.abs(maps(statistic, ROWS)).max() <= statistic.largest_entry
    for parameter, sigma in ((1.01 * most, 1.0), (-1.01 * most, 1.0), (1.0, 1.01 * most), (1.0, 0.99 / most)):
        assert refuses(lambda theta=parameter, sigma=sigma: Gradients(("x1",), "mixture", (theta,), sigma, 1.0))
    means, most = ((0.0,) * 3, (0.5,) * 3), components._LARGEST
    for precision, weights in ((most, (0.0, 0.0)), (1.0, (most, -most)), (most, (-most, most))):
        statistic = ComponentSizes(Components(Ball(X), means, precision, weights))
        with np.errstate(all="ignore"):
            assert (maps(statistic, rows_of_reals([(-1, 0, 1), (0.1, 0.2, 0.3)])).sum(axis=1) == statistic.unit).all()
    for precision, weights in ((1.01 * most, (0.0, 0.0)), (1.0, (1.01 * most, 0.0)), (1.0, (0.0, -1.01 * most))):
        assert refuses(lambda one=precision, other=weights: Components(Ball(X), means, one, other))


def small_parameters() -> None:
    """Parameters of zero and on both sides of a millionth: the same bound, and records still move the gradient."""
    for parameter in (0.0, 0.9e-6, 1.1e-6, 0.9e-3, 1.1e-3):
        statistic = Sum(Gradients(("x1",), "missing", (parameter,), 0.5, 1.0, "x0"))
        found = np.abs(maps(statistic, ROWS))
        assert 0 < found.max() <= statistic.largest_entry


def bins_of_a_column() -> None:
    domain = Domain({"a": Real(0, 1)})
    assert BinAxis.of(domain, "a", MOST_BINS).cells == MOST_BINS
    for more in (MOST_BINS + 1, 10**12):
        assert refuses(lambda more=more: BinAxis.of(domain, "a", more))


def cells_of_a_table() -> None:
    assert Histograms(((CategoryAxis("c", LARGEST_TABLE),),)).size == LARGEST_TABLE
    assert refuses(lambda: Histograms(((CategoryAxis("c", LARGEST_TABLE + 1),),)))
    side = math.isqrt(LARGEST_TABLE)
    edges = tuple(np.linspace(-1, 1, side - 1).tolist())
    assert LatticeCells(Ball(X), (edges, edges)).size == LARGEST_TABLE
    assert refuses(lambda: LatticeCells(Ball(X), (edges, edges, (0.0,))))


def candidates_of_a_rule() -> None:
    pairs = CLASSES.cells * (CLASSES.cells - 1)
    most = MOST_CANDIDATES // (4 * pairs)
    cuts = tuple(np.linspace(-1, 1, most + 1).tolist())
    assert CutHits(Box(X), CLASSES, cuts[:-1]).size <= MOST_CANDIDATES
    assert refuses(lambda: CutHits(Box(X), CLASSES, cuts))


def coefficients_of_a_model() -> None:
    steps = 2**12
    for extra, refused in ((0, False), (1, True)):
        constant = (EXACT_LIMIT // steps**2 + extra, 0, 0)
        model = Discriminant(constant, ((0, 0, 0),) * 3)
        assert refuses(lambda model=model: ModelHits(Box(X, steps), CLASSES, (model,))) == refused


def long_directions() -> None:
    def direction(reach: float) -> Projected:
        return Projected(X, ((reach,), (0.0,), (0.0,)), radius=1.0)

    assert refuses(lambda: direction(LARGEST_DIRECTION + 1))
    assert refuses(lambda: direction(-LARGEST_DIRECTION - 1))
    largest = direction(LARGEST_DIRECTION)
    for reach, width in ((1.0, 1), (30.0, 1), (LARGEST_DIRECTION, 1), (8.0, 64), (500.0, 64)):
        of = Projected(X, ((reach,) * width, (0.0,) * width, (0.0,) * width), radius=1.0)
        held, twice = (width * (2 * (reach + 1) * scale + 2) ** 2 for scale in (of._scale, 2 * of._scale))
        assert held <= EXACT_LIMIT
        assert twice > EXACT_LIMIT or of._scale == GRID_STEPS
        assert np.abs(maps(Sum(of), ROWS)).max() <= of.steps
    assert np.abs(maps(Sum(largest), ROWS)).max() <= largest.steps


def parts_of_a_quantile() -> None:
    assert RankScores("x0", (1.0,), Fraction(1, LARGEST_DENOMINATOR)).size == 1
    assert refuses(lambda: RankScores("x0", (1.0,), Fraction(1, LARGEST_DENOMINATOR + 1)))


def candidates_of_a_quantile() -> None:
    assert len(grid_candidates(Real(0, 1), 2**16)) == 2**16
    assert refuses(lambda: grid_candidates(Real(0, 1), 2**16 + 1))


def sizes_of_scores() -> None:
    def scores(score: float) -> Scores:
        return Scores((CategoryAxis("c0", 2),), (((score, -score),),), radius=1.0)

    rows = rows_of_reals([(0, 0, 0)])
    assert np.abs(maps(Sum(scores(LARGEST_SCORE)), rows)).max() <= GRID_STEPS
    assert refuses(lambda: scores(math.nextafter(LARGEST_SCORE, math.inf)))


def entries_of_53_bits() -> None:
    assert UnitSplit(X, degree=2, width=2**26).rows_per_block == 2
    assert Amounts(("x0",), ((0.0, 1.0),), steps=EXACT_LIMIT).rows_per_block == 1
    assert refuses(lambda: Amounts(("x0",), ((0.0, 1.0),), steps=EXACT_LIMIT + 1).rows_per_block)


def test_records_on_either_side_of_a_radius_are_pulled_in_or_left_alone() -> None:
    """Records within the radius keep their length, records beyond it are pulled to it, and none is longer."""
    ball = Ball(X, radius=0.5)
    lengths = np.array([0.25, 0.499, 0.5, 0.501, 1.0])
    norms = np.linalg.norm(ball.vectors(batch_of(DOMAIN, rows_of_reals(lengths[:, None] * [(1, 0, 0)])))[0], axis=1)
    assert np.allclose(norms / ball.steps, np.minimum(lengths / 0.5, 1), atol=1e-5)
    assert norms.max() <= ball.steps
    axis = CategoryAxis.of(DOMAIN, "c0")
    for score, length in ((0.99, 0.99), (1.0, 1.0), (1.01, 1.0), (2.0, 1.0)):
        (first, *_), _ = Scores((axis,), (((score, 0.0),),), radius=1.0).vectors(batch_of(DOMAIN, ROWS[:1]))
        assert abs(first[0]) <= GRID_STEPS
        assert first[0] / GRID_STEPS == pytest.approx(length, abs=1e-4)


def vectors_far_beyond() -> None:
    """On either side of the bound, and of where squares are no longer exact, every vector ends inside."""
    for length in (0.99, 1.0, 1.01, 2.0, 50.0, 63.99, 64.0, 64.01, 1000.0):
        vectors = np.rint(np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.577, 0.577, 0.577]]) * length * GRID_STEPS)
        assert (inside(vectors, GRID_STEPS) ** 2).sum(axis=1).max() <= float(GRID_STEPS) ** 2


def the_end_of_a_soft_table() -> None:
    soft = gradients.Soft(1.0, (0.0, 0.5, 0.75))
    values = np.array([1.9, 2.0, 2.1, 1e9, 0.5]) / gradients.SOFT_PLACES
    assert np.allclose(soft.on_grid(values, 2**20) / 2**20 * 0.75, [0.725, 0.75, 0.75, 0.75, 0.25], atol=1e-5)
    assert np.array_equal(soft.on_grid(-values, 2**20), -soft.on_grid(values, 2**20))


def models_of_nothing() -> None:
    for size in (0.0, 1e-310, 1e-290, 1.0):
        model = Discriminant.of((size, 0), ((0, 0, 0), (0, 0, 0)), None, 3, 2**12)
        assert not refuses(lambda model=model: ModelHits(Box(X, 2**12), CategoryAxis.of(DOMAIN, "c0"), (model,)))


def names_on_a_receipt() -> None:
    names = [f"c{place}" for place in range(LISTED + 1)]
    assert listed(tuple(names[:-1])) == ", ".join(names[:-1])
    assert listed(tuple(names)) == f"c0 to c{LISTED} ({LISTED + 1} columns)"


def dimensions() -> None:
    names = tuple(f"x{place}" for place in range(LARGEST_DIMENSION + 1))

    def made(columns: tuple[str, ...]) -> list[Callable[[], Any]]:
        axes = tuple(CategoryAxis(name, 1) for name in columns)
        return [
            lambda: Box(columns),
            lambda: Ball(columns),
            lambda: Projected(columns, ((0.0,),) * len(columns), 1.0),
            lambda: Projected(("x0",), ((0.0,) * len(columns),), 1.0),
            lambda: Scores(axes, (((0.0,),),) * len(axes), 1.0),
            lambda: Gradients(columns, "mixture", (0.0,) * len(columns), 0.5, 1.0),
        ]

    assert not any(map(refuses, made(names[:-1])))
    assert all(map(refuses, made(names)))


def rows_of_a_tile() -> None:
    for rows in (_TILE - 1, _TILE, _TILE + 1):
        block = MatrixBlock(np.resize(ROWS, (rows, ROWS.shape[1])), tuple(DOMAIN.columns))
        grid, _ = ClippedBatch(DOMAIN, block).on_grid(X, GRID_STEPS)
        alone, _ = batch_of(DOMAIN, ROWS).on_grid(X, GRID_STEPS)
        assert np.array_equal(grid, np.resize(alone, grid.shape))


def rows_that_cannot_be_read() -> None:
    for extra in (-1, 0, 1):
        lost = files._ROWS_PER_BLOCK + extra
        starts = range(0, lost, files._ROWS_PER_BLOCK)
        blocks = [files._missing_cells(("x0",), min(files._ROWS_PER_BLOCK, lost - start)) for start in starts]
        assert sum(map(len, blocks)) == lost


# --- the perturbed minimiser -------------------------------------------------------------------------------------


def least_of(loss: Softmax | Huber, rows: int, ridge: float = 0.5, linear: float = 0.0) -> tuple[Objective, np.ndarray]:
    """An objective over made-up records, and what the solver finds."""
    objective = Objective(made_up(rows, 3, loss.outputs), loss, ridge, np.full((loss.outputs, 3), linear))
    return objective, minimise(objective, 1e-9)


def paces_of_the_solver() -> None:
    """No record at all, one, and many; steps that are taken whole and steps that are searched: one certificate."""
    assert not least_of(Softmax(3), 0)[1].any()
    for loss, rows, ridge in (
        (Softmax(3), 1, 0.5),
        (Softmax(2), 300, 1e-3),
        (Huber(3), 300, 1e-3),
        (Huber(3), 5, 50.0),
    ):
        objective, weights = least_of(loss, rows, ridge, 1.0)
        assert np.linalg.norm(objective.gradient(weights)) <= 1e-9
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(minimiser, "_shorter", lambda *_: None)  # every step is searched
            searched = minimise(objective, 1e-9)
        assert np.allclose(weights, searched, atol=4e-9 / ridge)


def slopes_that_are_kept() -> None:
    rows, loss = 40, Softmax(3)
    _, expected = least_of(loss, rows)
    for kept in (rows * loss.outputs - 1, rows * loss.outputs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(minimiser, "_KEPT_SLOPES", kept)
            objective, weights = least_of(loss, rows)
        assert np.allclose(weights, expected, atol=1e-8)
        assert (objective._bends is None) == (kept < rows * loss.outputs)


def outputs_of_a_minimiser() -> None:
    """Either side of four outputs, at the smallest ridge that is taken and at one that is not."""
    for outputs in (2, 3, 4, 5):
        for cost, orders in ((Cost.pure(1), ()), (Cost.concentrated("0.02"), (Fraction(20),))):
            loss = Softmax(outputs)
            least = perturbed_minimiser.smallest_ridge(loss, cost, "add-remove", orders)

            def priced(
                factor: float, loss: Softmax = loss, cost: Cost = cost, orders: Any = orders, to: float = least
            ) -> Any:
                asked = perturbed_minimiser.Minimisation(Ball(X), ClassLabels(CLASSES), loss, to * factor)
                return perturbed_minimiser.price_minimum(asked, cost, "add-remove", orders)

            assert refuses(lambda ask=priced: ask(0.99), ParameterError)
            assert not too_little_noise_for_a_minimum(priced(1.01))
            assert priced(1.01).linear.kind == ("normal" if orders else "blocks" if outputs >= 4 else "sphere")
            usual = perturbed_minimiser.usual_ridge(loss, 3, cost, "add-remove", orders)
            assert usual >= max(least, 0.01)
            assert not too_little_noise_for_a_minimum(priced(usual / least))
    large = perturbed_minimiser.usual_ridge(Softmax(2), 3, Cost.pure(10**6), "add-remove")
    assert large >= 0.01


def records_that_bend_the_objective() -> None:
    """Up to so many records the ridge is as without any; then it falls with their root, to a third; noise is enough."""
    loss, cost, orders = Softmax(10), Cost.concentrated("1.5"), (Fraction(5),)
    usual = partial(perturbed_minimiser.usual_ridge, loss, 40, cost, "add-remove", orders)
    turn = 8 * 40 * usual()
    assert usual(0.5 * turn) == usual(turn) == usual()
    assert usual(4 * turn) == pytest.approx(usual() / 2)
    assert usual(9.1 * turn) == usual(1e12) == usual(math.inf) == pytest.approx(usual() / 3)
    for records in (0.0, 4 * turn, math.inf):
        asked = perturbed_minimiser.Minimisation(Ball(X), ClassLabels(CLASSES), loss, usual(records))
        assert not too_little_noise_for_a_minimum(perturbed_minimiser.price_minimum(asked, cost, "add-remove", orders))
    for loss in (Softmax(2), Softmax(4)):  # but never below what the guarantee asks for
        dear = partial(perturbed_minimiser.usual_ridge, loss, 1, Cost.pure(1), "add-remove")
        assert dear(math.inf) >= perturbed_minimiser.smallest_ridge(loss, Cost.pure(1), "add-remove")


def noise_for_a_ledger() -> None:
    """A ledger's order may cost up to three times the noise, and no more."""
    loss, cost, own, ridge = Softmax(5), Cost.concentrated("0.5"), Fraction(30), 6.0
    asked = perturbed_minimiser.Minimisation(Ball(X), ClassLabels(CLASSES), loss, ridge)
    term, seen = partial(perturbed_minimiser.linear_term, loss, len(X), ridge, perturbed_minimiser._main(cost)), set()
    for order in ("1.001", "1.01", "1.1", "2", "30"):
        orders = (Fraction(order), own)
        dear = term("add-remove", orders).scale > 3 * term("add-remove", (own,)).scale
        assert (
            refuses(partial(perturbed_minimiser.price_minimum, asked, cost, "add-remove", orders), NoiseError) == dear
        )
        seen.add(dear)
    assert seen == {False, True}


def scales_of_a_minimiser() -> None:
    """The Gaussian scale is just enough: a little less is not; and where none is enough that is said."""
    loss, order = Huber(2), 20.0
    scale = perturbed_minimiser._normal_scale(loss, 10.0, 0.05, "add-remove", order)
    for factor, enough in ((1.0, True), (0.999, False)):
        loss_of = perturbed_minimiser.divergence(loss, 10.0, scale * factor, "add-remove", order)
        assert (loss_of <= order * 0.05) == enough
    assert refuses(lambda: perturbed_minimiser._normal_scale(loss, 1e-3, 1e-4, "add-remove", order), NoiseError)


def weights_of_a_density() -> None:
    columns = {f"f{place}": Real(-1, 1) for place in range(26)} | {"class": Category(range(4))}
    for features, seen in ((25, True), (26, False)):
        domain = Domain(dict(list(columns.items())[:features]) | {"class": columns["class"]})
        session = ObservedSession(ordinary_records(domain, 5), domain)
        names = tuple(name for name in domain.columns if name != "class")
        labels = ClassLabels(CategoryAxis.of(domain, "class"))
        session.minimise(perturbed_minimiser.Minimisation(Ball(names), labels, Softmax(4), 10.0), Cost.pure(1))
        assert (session.releases[0].log_density is not None) == seen


def orders_of_a_ledger() -> None:
    for nudge, taken in ((Fraction(0), True), (Fraction(1, 10**6), False)):
        ledger = Ledger(epsilon=1, delta=1e-6)
        cost = Cost(rho=ledger.rho / 2, order=(ledger.order or Fraction(0)) + nudge)
        assert refuses(lambda to=ledger, cost=cost: to.charge([("x", cost, {})])) != taken
    state = Ledger(epsilon=1, delta=1e-6)
    state.charge([("x", Cost(rho=state.rho / 2, order=state.order), {})])
    kept, (entry,) = state._store.state(), state.entries()
    for nudge, fine in ((Fraction(1, 10**10), True), (Fraction(1, 10**8), False)):
        moved = replace(entry, cost=replace(entry.cost, order=entry.cost.order + nudge))
        assert any("another order" in problem for problem in problems_of(kept, [moved])) != fine


def reaches_of_directions() -> None:
    for reach in (2.0**-10, 2.0**10):
        vectors, _ = Directions(Box(X), reach).vectors(batch_of(DOMAIN, ROWS))
        assert np.linalg.norm(vectors, axis=1).max() <= GRID_STEPS
        assert refuses(lambda reach=reach: Directions(Box(X), reach * (0.99 if reach < 1 else 1.01)))
        for last in (0.0, 1e-12, 1e-6, 1.0):
            record = Directions(Box(X), reach).record_at(DOMAIN, np.array([1.0, 0.0, 0.0, last]))
            assert all(math.isfinite(float(cell)) for cell in record.values())  # type: ignore[arg-type]


def coordinates_of_directions() -> None:
    def directions(size: int) -> Directions:
        return Directions(Box(tuple(f"x{place}" for place in range(size))), 1.0)

    assert len(directions(LARGEST_DIMENSION - 1).columns) == LARGEST_DIMENSION
    assert refuses(lambda: directions(LARGEST_DIMENSION))
    assert len(Products(directions(126)).columns) == 127 * 128 // 2 <= 2**13
    assert refuses(lambda: Products(directions(127)))


def gradients_of_margins() -> None:
    """The longest weights that are taken, and longer ones; slopes that add up to one, or would to more."""

    def margins(*rows: tuple[float, ...]) -> MarginGradients:
        return MarginGradients(Directions(Box(X), 0.5), ClassLabels(CLASSES), rows)

    longest = LONGEST_WEIGHTS / 2
    even, far = margins(*[(0.0,) * 4] * 3), margins((longest,) * 4, (-longest,) * 4, (longest,) * 4)
    assert refuses(lambda: margins((longest * 1.0001,) * 4, (0.0,) * 4, (0.0,) * 4))
    for statistic in (even, far, margins((1e-12,) * 4, (0.0,) * 4, (1.0,) * 4)):
        found = maps(statistic, ROWS)
        assert np.abs(found).max() <= statistic.largest_entry
        assert np.abs(found).sum(axis=1).max() <= statistic.sensitivity("add-remove").l1
        assert (found.reshape(len(ROWS), 3, 4).sum(axis=1) == 0).all()
        record, _ = statistic.witness(DOMAIN, "add-remove", "l1")
        assert all(math.isfinite(float(cell)) for cell in record.values())  # type: ignore[arg-type]


#: The comparison as it stands in the source, and the test of both of its sides.
THRESHOLDS: dict[tuple[str, str], Callable[[], None]] = {
    ("cost", "1 <= amount * LARGEST_AMOUNT <= LARGEST_AMOUNT ** 2"): amounts_of_money,
    ("domain", "abs(number) > LARGEST_BOUND"): bounds_of_columns,
    ("domain", "self.half_width < 1 / LARGEST_BOUND"): bounds_of_columns,
    ("domain", "abs(plain) > LARGEST_WHOLE"): whole_numbers,
    ("engine.accumulation", "self._added >= _BLOCKS_PER_LIMB"): blocks_of_a_limb,
    ("engine.accumulation", "max(512, min(65536, _CELLS_PER_BLOCK // width))"): rows_of_a_block,
    (
        "privacy.ledger",
        "max(each.numerator.bit_length(), each.denominator.bit_length()) <= MOST_BITS",
    ): long_fractions,
    ("privacy.noise", "abs(value) >= _LARGEST_DRAW"): the_end_of_64_bits,
    ("privacy.price", "max((law.scale for law in laws)) <= LARGEST_SCALE"): the_largest_scale,
    ("privacy.price", "scale > LARGEST_SCALE"): the_largest_scale,
    ("statistics.amounts", "self.steps > 2 ** 4"): the_coarsest_grid,
    ("statistics.components", "self.parts > 2 ** 6"): the_coarsest_grid,
    ("statistics.direct", "self.steps > 2 ** 4"): the_coarsest_grid,
    ("statistics.unit_split", "self.width > 2 ** 4"): the_coarsest_grid,
    ("statistics.choice", "0 < self.kept <= 2 ** HASH_BITS"): hashes_that_are_kept,
    ("statistics.components", "np.maximum(squared_norms(steps), _PRODUCT_STEPS ** 2)"): records_about_the_reach,
    ("statistics.components", "np.minimum(near, _SPREAD_STEPS, out=near)"): records_about_the_reach,
    ("statistics.components", "max(1e-09, float(np.linalg.norm(place)))"): a_direction_of_no_length,
    ("statistics.gradients", "max(1e-09, float(np.linalg.norm(place)))"): a_direction_of_no_length,
    ("statistics.gradients", "max(1e-09, float(np.linalg.norm(step)))"): a_direction_of_no_length,
    ("statistics.elementary", "np.maximum(values, LOWEST)"): exponents,
    ("statistics.elementary", "np.minimum(np.abs(values), -LOWEST)"): exponents,
    ("statistics.components", "0 <= self.precision <= _LARGEST"): numbers_that_floats_would_lose,
    ("statistics.components", "abs(each) <= _LARGEST"): numbers_that_floats_would_lose,
    ("statistics.gradients", "abs(each) <= _LARGEST"): numbers_that_floats_would_lose,
    ("statistics.gradients", "1 / _LARGEST <= self.noise <= _LARGEST"): numbers_that_floats_would_lose,
    ("statistics.gradients", "min(60, math.frexp(value)[1] - 1)"): powers_of_two,
    ("statistics.gradients", "max(1e-06, float(np.abs(self.parameters).sum()))"): small_parameters,
    ("statistics.gradients", "max(1e-06, float(np.square(self.parameters).sum()))"): small_parameters,
    ("statistics.gradients", "np.minimum(np.abs(values) * (SOFT_PLACES / self.scale), len(table) - 1.0)"): (
        the_end_of_a_soft_table
    ),
    ("statistics.histograms", "bins > MOST_BINS"): bins_of_a_column,
    ("statistics.histograms", "cells > LARGEST_TABLE"): cells_of_a_table,
    ("statistics.lattice", "self.size > LARGEST_TABLE"): cells_of_a_table,
    ("statistics.hits", "largest_score(model) * self.of.steps ** 2 > EXACT_LIMIT"): coefficients_of_a_model,
    ("statistics.hits", "max(float(reach.max()), 1e-300)"): models_of_nothing,
    ("statistics.hits", "self.size > MOST_CANDIDATES"): candidates_of_a_rule,
    ("statistics.projected", "reach <= LARGEST_DIRECTION"): long_directions,
    (
        "statistics.projected",
        "len(self.matrix[0]) * (2 * reach * scale + 2) ** 2 > EXACT_LIMIT",
    ): long_directions,
    ("statistics.projected", "0 < len(self.reads) <= LARGEST_DIMENSION"): dimensions,
    ("statistics.projected", "0 < max(widths) <= LARGEST_DIMENSION"): dimensions,
    ("statistics.gradients", "0 < len(features) <= LARGEST_DIMENSION"): dimensions,
    ("statistics.scores", "0 < len(names) <= LARGEST_DIMENSION"): dimensions,
    ("statistics.vectors", "0 < len(columns) <= LARGEST_DIMENSION"): dimensions,
    ("statistics.ranks", "self.quantile.denominator > LARGEST_DENOMINATOR"): parts_of_a_quantile,
    ("statistics.ranks", "2 <= count <= 2 ** 16"): candidates_of_a_quantile,
    ("statistics.scores", "abs(score) <= LARGEST_SCORE"): sizes_of_scores,
    ("statistics.grid_ball", "squares < EXACT_LIMIT"): vectors_far_beyond,
    ("statistics.statistic", "self.largest_entry > EXACT_LIMIT"): entries_of_53_bits,
    ("statistics.statistic", "len(columns) <= LISTED"): names_on_a_receipt,
    ("privacy.ledger", "abs(entry.cost.order - (_order(state.budget) or 0)) > _SAME_ORDER"): orders_of_a_ledger,
    ("privacy.minimiser", "float(np.linalg.norm(found)) <= (1 - part / 4) * length"): paces_of_the_solver,
    ("privacy.minimiser", "max(length / first, target / length / 4)"): paces_of_the_solver,
    ("privacy.minimiser", "min(0.1, max(length / first, target / length / 4))"): paces_of_the_solver,
    ("privacy.minimiser", "max(length, 1e-300)"): paces_of_the_solver,
    ("privacy.minimiser", "slope <= steepest / 10"): paces_of_the_solver,
    ("privacy.minimiser", "self._blocks.exact_records * len(weights) <= _KEPT_SLOPES"): slopes_that_are_kept,
    ("privacy.perturbed_minimiser", "high > 2.0 ** 60"): scales_of_a_minimiser,
    ("privacy.perturbed_minimiser", "high > low * (1 + 1e-05)"): scales_of_a_minimiser,
    ("privacy.perturbed_minimiser", "high > low * 1.001"): outputs_of_a_minimiser,
    ("privacy.perturbed_minimiser", "loss.outputs < _FEWEST_BLOCKS"): outputs_of_a_minimiser,
    ("privacy.perturbed_minimiser", "loss.outputs >= _FEWEST_BLOCKS"): outputs_of_a_minimiser,
    ("privacy.perturbed_minimiser", "max(_SMALLEST_RIDGE, smallest * (1 if free else 2))"): outputs_of_a_minimiser,
    ("privacy.perturbed_minimiser", "linear.scale > MOST_FOR_A_LEDGER * own"): noise_for_a_ledger,
    ("privacy.perturbed_minimiser", "max(1.0, records / features / ridge / _BENT)"): records_that_bend_the_objective,
    ("privacy.perturbed_minimiser", "min(math.sqrt(bent), _SMALLER)"): records_that_bend_the_objective,
    ("privacy.rehearsal", "weights.size > _MOST_WEIGHTS"): weights_of_a_density,
    ("statistics.directions", "2 ** (-10) <= self.reach <= 2 ** 10"): reaches_of_directions,
    ("statistics.directions", "max(float(place[-1]), 1e-09)"): reaches_of_directions,
    ("statistics.directions", "len(self.columns) > 2 ** 13"): coordinates_of_directions,
    ("statistics.directions", "len(self.columns) > LARGEST_DIMENSION"): coordinates_of_directions,
    ("statistics.margin_gradients", "math.hypot(*row) <= LONGEST_WEIGHTS"): gradients_of_margins,
    ("statistics.margin_gradients", "max(float(np.linalg.norm(lean)), 1e-09)"): gradients_of_margins,
    ("statistics.margin_gradients", "np.minimum(slopes[:, output], PARTS - together)"): gradients_of_margins,
    ("table.clipping", "len(values) <= _TILE"): rows_of_a_tile,
    ("table.files", "min(_ROWS_PER_BLOCK, unreadable - start)"): rows_that_cannot_be_read,
}


_ORDERED = ast.Lt | ast.LtE | ast.Gt | ast.GtE


def comparisons(sources: Mapping[str, str]) -> set[tuple[str, str]]:
    """Modules of the private side, and comparisons in them with a number: < <= > >=, min, max, clip."""
    found = set()
    for module, text in sources.items():
        if room(module) in PRIVATE:
            parts = ((node, _compared(node)) for node in ast.walk(ast.parse(text)))
            found |= {(module, ast.unparse(node)) for node, each in parts if _with_a_number(each)}
    return found


def _compared(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Compare) and any(
        isinstance(each, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for each in node.ops
    ):
        return [node.left, *node.comparators]
    smaller = ("min", "max", "np.minimum", "np.maximum", "np.clip")
    return node.args if isinstance(node, ast.Call) and ast.unparse(node.func) in smaller else []


def _with_a_number(parts: list[ast.expr]) -> bool:
    amounts = [_amount(part) for part in parts]
    return any(amounts) and not all(amounts)


def _amount(node: ast.expr) -> bool:
    """Whether it is a number that says how much, or the name of a constant, or is made of one."""
    if isinstance(node, ast.Constant):
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return number and node.value not in (0, 1, 2)
    if isinstance(node, ast.UnaryOp):
        return _amount(node.operand)
    if isinstance(node, ast.BinOp):
        return _amount(node.left) or _amount(node.right)
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return name.lstrip("_").isupper() and len(name) > 1
    return False


def test_every_number_that_private_code_compares_with_has_a_test_of_both_sides() -> None:
    assert comparisons(read_sources()) == set(THRESHOLDS)


@pytest.mark.parametrize("check", dict.fromkeys(THRESHOLDS.values()), ids=lambda check: check.__name__)
def test_both_sides_of_a_number_keep_the_law(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize(
    "line",
    [
        "if len(rows) > 4096: rows = rows[:4096]",
        "noise = drawn if scale < 2**31 else 0",
        "n = min(n, _MOST)",
        "a = 9 <= b",
    ],
)
def test_twin_a_number_that_nobody_crosses_is_listed(line: str) -> None:
    assert comparisons({"engine.local": line})
    assert not comparisons({"report.page": line})  # draws plain numbers


def test_twin_a_check_that_crosses_nothing_fails_where_the_code_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulation, "_BLOCKS_PER_LIMB", 2**11)
    with pytest.raises(AssertionError):
        blocks_of_a_limb()
