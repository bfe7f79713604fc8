"""The law of the perturbed minimiser: searched for counter-examples, compared with exact densities, and attacked.

A mark "twin" stands for a planted fault that the same check must see. Independent oracles: numerical integration of the
densities of neighbours, cvxpy, finite differences.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import sordino as so
from sordino.audit.losses import audit_losses
from sordino.audit.minima import made_up_records, too_little_noise_for_a_minimum
from sordino.audit.neighbours import ordinary_records
from sordino.audit.registered import DOMAINS
from sordino.cost import Cost, order_of
from sordino.domain import Neighbours
from sordino.engine import feature_blocks
from sordino.engine.feature_blocks import FeatureBlocks
from sordino.errors import BudgetError, ParameterError, PassError
from sordino.privacy import minimiser as solver
from sordino.privacy import perturbed_minimiser as mechanism
from sordino.privacy import session as session_module
from sordino.privacy.margin_losses import Huber, Loss, Softmax
from sordino.privacy.minimiser import Objective, log_determinant, minimise
from sordino.privacy.noise import SecureNoise, SeededNoise
from sordino.privacy.perturbed_minimiser import Minimisation, Perturbation, divergence, linear_term, smallest_ridge
from sordino.privacy.session import Session
from sordino.statistics.directions import Directions, Products
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.labels import ClassLabels
from sordino.statistics.vectors import Box
from sordino.studies.published import pathak
from sordino.table.opening import open_source

LOSSES = (Softmax(2), Softmax(3), Softmax(5), Huber(2), Huber(3))


class Records:
    """Records in memory, as the solver sees them."""

    in_memory = True

    def __init__(self, features: Any, labels: Any) -> None:
        self.features = np.asarray(features, dtype=float)
        self.labels = np.asarray(labels, dtype=np.int64)
        self.size, self.exact_records = self.features.shape[1], len(self.labels)

    def __iter__(self) -> Any:
        yield self.features, self.labels


def made_up(rows: int, features: int, outputs: int, seed: int = 0) -> Records:
    generator = np.random.default_rng(seed)
    drawn = generator.normal(size=(rows, features))
    labels = generator.integers(outputs, size=rows)
    drawn[:, 0] += labels
    return Records(drawn / np.maximum(1, np.linalg.norm(drawn, axis=1))[:, None], labels)


def orders_of(epsilon: float, delta: float) -> tuple[Cost, tuple[Fraction, ...]]:
    cost = Cost.of(epsilon, delta)
    order = order_of(float(cost.rho), epsilon)
    return cost, () if order is None else (order,)


# ---- the curvature that costs nothing ----------------------------------------------------------------------------


def worst_pure_loss(loss: Loss, ridge: float, scale: float, seed: int = 0) -> float:
    """The largest loss of one made-up record over random scores, from a hundredth to sixty long."""
    slopes, bends = made_up_records(loss, ridge, np.random.default_rng(seed))
    return float((np.linalg.norm(slopes, axis=1) / scale + bends).max())


@pytest.mark.parametrize("outputs", [2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 10.0])
def test_curvature_costs_nothing_from_the_smallest_ridge_on(outputs: int, epsilon: float) -> None:
    loss, scale = Softmax(outputs), math.sqrt(2) / epsilon
    for ridge in np.array([1, 1.5, 4]) * (2 if outputs == 2 else 4) / epsilon:
        worst = max(worst_pure_loss(loss, ridge, scale, seed) for seed in range(3))
        assert 0.9999 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize(("outputs", "at_least"), [(2, 0.57), (3, 0.72)])
def test_twin_a_ridge_of_half_over_epsilon_is_caught(outputs: int, at_least: float) -> None:
    assert worst_pure_loss(Softmax(outputs), 0.5 / 0.5, math.sqrt(2) / 0.5) > at_least


def test_the_bound_for_three_outputs_is_nearly_sharp() -> None:
    """At 3.6/ε some probability vector already loses more than ε, so 4/ε cannot be replaced by the 2/ε of two."""
    u = np.linspace(0.9, 1, 2001)
    rest = np.array([[1 - a, a * b, a * (1 - b)] for a in u for b in (0.5, 0.9, 0.99, 0.999)])
    lengths = np.linalg.norm(rest - np.eye(3)[0], axis=1)
    curves = np.eye(3) + (np.apply_along_axis(np.diag, 1, rest) - rest[:, :, None] * rest[:, None, :]) / (2 / 0.01)
    assert float((lengths * 0.01 / math.sqrt(2) + np.linalg.slogdet(curves)[1]).max()) > 0.01
    curves = np.eye(3) + (curves - np.eye(3)) / 2
    assert float((lengths * 0.01 / math.sqrt(2) + np.linalg.slogdet(curves)[1]).max()) <= 0.01


def loss_at(weights: Any, base: Records, one: tuple[Any, int], loss: Loss, ridge: float, law: Perturbation) -> float:
    """The exact log-ratio of the densities of two neighbours at some weights, by change of variables."""
    more = Records(np.vstack([base.features, one[0]]), np.append(base.labels, one[1]))
    densities = []
    for records in (base, more):
        term = -Objective(records, loss, ridge, np.zeros_like(weights)).gradient(weights)
        densities.append(law.log_density(term) + log_determinant(records, loss, ridge, weights))
    return abs(densities[1] - densities[0])


def largest_loss(loss: Loss, ridge: float, law: Perturbation, tries: int = 150, seed: int = 0) -> float:
    """Random search, each start improved by shrinking steps, over weights, records and the record that differs."""
    generator = np.random.default_rng(seed)
    best = 0.0
    for _ in range(tries):
        rows = int(generator.integers(0, 4))
        base = (
            made_up(rows, 2, loss.outputs, int(generator.integers(1 << 30))) if rows else Records(np.zeros((0, 2)), [])
        )
        angle = generator.uniform(0, 2 * math.pi)
        one = np.array([math.cos(angle), math.sin(angle)]), int(generator.integers(loss.outputs))
        weights = generator.normal(size=(loss.outputs, 2)) * 10 ** generator.uniform(-1, 1.3)
        weights -= weights.mean(axis=0)
        found, step = loss_at(weights, base, one, loss, ridge, law), 1.0
        for _ in range(12):
            trial = weights * (1 + step * generator.normal() / 3) + generator.normal(size=weights.shape) * step
            trial -= trial.mean(axis=0)
            value = loss_at(trial, base, one, loss, ridge, law)
            weights, found, step = (trial, value, step) if value > found else (weights, found, step * 0.8)
        best = max(best, found)
    return best


@pytest.mark.parametrize("loss", [Softmax(2), Softmax(3), Softmax(4), Huber(3)])
def test_no_pair_of_neighbours_has_a_density_ratio_above_the_cost(loss: Loss) -> None:
    cost = Cost.pure(0.5)
    ridge = smallest_ridge(loss, cost, "add-remove")
    assert largest_loss(loss, ridge, linear_term(loss, 2, ridge, cost, "add-remove")) <= 0.5 * (1 + 1e-9)


@pytest.mark.parametrize("outputs", [2, 3])
def test_twin_a_small_ridge_has_a_density_ratio_above_the_cost(outputs: int) -> None:
    law = Perturbation("sphere", outputs, 2, math.sqrt(2) / 0.5)
    assert largest_loss(Softmax(outputs), 0.5 / 0.5, law) > 0.5 * 1.02


@pytest.mark.parametrize("neighbours", ["add-remove", "substitute"])
@pytest.mark.parametrize("loss", [*LOSSES, Softmax(10), Huber(6)])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_second_opinion_finds_enough_noise_and_sees_half_of_it(
    loss: Loss, neighbours: Neighbours, delta: float
) -> None:
    cost, orders = orders_of(0.7, delta)
    ridge = mechanism.usual_ridge(loss, 3, cost, neighbours, orders)
    asked = Minimisation(Directions(Box(("a", "b")), 1.0), ClassLabels(CategoryAxis("c", loss.outputs)), loss, ridge)
    priced = mechanism.price_minimum(asked, cost, neighbours, orders)
    assert not too_little_noise_for_a_minimum(priced)
    linear = priced.linear
    halved = Perturbation(linear.kind, linear.outputs, linear.features, linear.scale / 2)
    twin = mechanism.MinimumPrice(asked, priced.cost, halved, priced.finish, priced.sensitivity, priced.moves)
    assert too_little_noise_for_a_minimum(twin)


# ---- Gaussian terms ------------------------------------------------------------------------------------------------


def densities(loss: Loss, ridge: float, scale: float, neighbours: Neighbours, rows: int) -> tuple[Any, Any, float]:
    """Log-densities of the released weight on two neighbours with one feature and two outputs, on a fine grid."""
    base = Records(np.ones((rows, 1)), np.arange(rows) % 2)
    more = Records(np.ones((rows + 1, 1)), [*base.labels, 1])
    if neighbours == "substitute":
        base = Records(np.ones((rows + 1, 1)), [*base.labels, 0])
    law = Perturbation("normal", 2, 1, scale)
    grid = np.linspace(-14, 14, 2001) * scale / ridge
    found = []
    for records in (base, more):
        logs = []
        for weight in grid:
            weights = np.array([[weight], [-weight]])
            term = -Objective(records, loss, ridge, np.zeros((2, 1))).gradient(weights)
            logs.append(law.log_density(term) + log_determinant(records, loss, ridge, weights))
        logs = np.array(logs)
        found.append(logs - math.log(np.exp(logs - logs.max()).sum() * (grid[1] - grid[0])) - logs.max())
    return found[0], found[1], float(grid[1] - grid[0])


@pytest.mark.parametrize(
    ("loss", "neighbours"), [(Softmax(2), "add-remove"), (Softmax(2), "substitute"), (Huber(2), "add-remove")]
)
def test_exact_divergence_and_delta_are_below_the_bound_and_the_cost(loss: Loss, neighbours: Neighbours) -> None:
    epsilon, delta = 1.0, 1e-3
    cost, orders = orders_of(epsilon, delta)
    order = float(orders[0])
    ridge = smallest_ridge(loss, cost, neighbours, orders) * 1.2
    scale = linear_term(loss, 1, ridge, cost, neighbours, orders).scale
    bound = divergence(loss, ridge, scale, neighbours, order)
    assert bound <= order * float(cost.rho)
    first, second, step = densities(loss, ridge, scale, neighbours, 1)
    for p, q in ((first, second), (second, first)):
        exact = math.log(float(np.exp(order * p - (order - 1) * q).sum()) * step) / (order - 1)
        assert 0.05 * bound < exact <= bound
        assert float(np.maximum(np.exp(p) - math.exp(epsilon) * np.exp(q), 0).sum()) * step <= delta
    first, second, step = densities(loss, ridge, scale / 4, neighbours, 1)  # twin: a quarter of the noise
    worst = max(
        float(np.maximum(np.exp(p) - math.exp(epsilon) * np.exp(q), 0).sum()) * step
        for p, q in ((first, second), (second, first))
    )
    assert worst > delta


@pytest.mark.parametrize("outputs", [2, 3, 10])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-5), (10.0, 1e-6)])
def test_divergence_bounds_the_largest_loss_of_any_probabilities(outputs: int, epsilon: float, delta: float) -> None:
    """For drawn noise b, the loss is searched over probability vectors; its exponential mean is below the bound.

    The search is a lower bound on the supremum, 20,000 draws have a relative error of the mean far below one, and the
    exponent is taken at an order at which that mean is seen: a false alarm needs a deviation of ten standard errors.
    """
    cost, orders = orders_of(epsilon, delta)
    loss = Softmax(outputs)
    ridge = mechanism.usual_ridge(loss, 5, cost, "add-remove", orders)
    scale = linear_term(loss, 5, ridge, cost, "add-remove", orders).scale
    generator = np.random.default_rng(1)
    gaps = generator.normal(size=(20_000, outputs)) * scale
    gaps = gaps[:, 1:] - gaps[:, :1]
    best = np.zeros(len(gaps))
    for _ in range(100):
        sharp = generator.choice([0.05, 0.3, 1.0, 5.0])
        tilted = np.exp(gaps * sharp / scale + generator.normal(size=(1, outputs - 1)))
        u = generator.uniform(size=(len(gaps), 1))
        p = u * tilted / tilted.sum(axis=1, keepdims=True)
        length = ((1 - p.sum(axis=1) - 1) ** 2 + (p**2).sum(axis=1)) / 2
        curve = (1 - (1 - p.sum(axis=1)) ** 2 - (p**2).sum(axis=1)) / ridge
        best = np.maximum(best, ((p * gaps).sum(axis=1) + length) / scale**2 + np.log1p(curve / (outputs - 1)) * 1.0)
    order = 1 + 2 * scale / 2
    seen = float(np.log(np.exp((order - 1) * best).mean())) / (order - 1)
    assert seen <= divergence(loss, ridge, scale, "add-remove", order) * 1.02


def test_quadrature_is_within_its_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        (Softmax(c), r, s, o) for c in (2, 10) for r, s, o in ((5.0, 6.0, 18.0), (50.0, 60.0, 125.0), (0.5, 0.8, 3.4))
    ]
    coarse = [divergence(loss, ridge, scale, "add-remove", order) for loss, ridge, scale, order in cases]
    monkeypatch.setattr(mechanism, "_NODES", 2**16)
    monkeypatch.setattr(mechanism, "_QUADRATURE_SLACK", 0.0)
    for (loss, ridge, scale, order), found in zip(cases, coarse, strict=True):
        assert divergence(loss, ridge, scale, "add-remove", order) <= found


# ---- the linear term -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(3)], ids=["secure", "seeded"])
def test_continuous_noise_follows_its_law(noise: Any) -> None:
    """Kolmogorov and Smirnov at 1e-6 each, twice six tests; a scale of 1.1 is seen in the twin."""
    for drawn, law in ((noise.normals(40_000), stats.norm), (noise.exponentials(40_000), stats.expon)):
        assert stats.kstest(drawn, law.cdf).pvalue > 1e-6
        assert stats.kstest(1.1 * drawn, law.cdf).pvalue < 1e-6
    lengths = [np.linalg.norm(Perturbation("sphere", 3, 2, 2.0).draw(noise)) for _ in range(4000)]
    assert stats.kstest(lengths, stats.gamma(4, scale=2.0).cdf).pvalue > 1e-6
    assert stats.kstest(lengths, stats.gamma(4, scale=2.2).cdf).pvalue < 1e-6
    rows = [np.linalg.norm(Perturbation("blocks", 4, 3, 2.0).draw(noise)[1]) for _ in range(4000)]
    assert stats.kstest(rows, stats.gamma(3, scale=2.0).cdf).pvalue > 1e-6


def test_terms_of_one_length_sum_to_zero_over_the_outputs_and_spread_as_stated() -> None:
    noise = SeededNoise(0)
    for law in (
        Perturbation("sphere", 3, 4, 1.5),
        Perturbation("normal", 3, 4, 1.5),
        Perturbation("blocks", 5, 4, 1.5),
    ):
        drawn = np.array([law.draw(noise) for _ in range(4000)])
        if law.kind != "blocks":
            assert np.abs(drawn.sum(axis=1)).max() < 1e-9
        centred = drawn - drawn.mean(axis=1, keepdims=True)
        assert math.sqrt(float((centred**2).mean())) == pytest.approx(law.spread, rel=0.05)
    assert not Perturbation("none", 3, 4, 0.0).draw(noise).any()


# ---- the solver ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_and_curvature_agree_with_differences(loss: Loss) -> None:
    records, generator = made_up(30, 4, loss.outputs), np.random.default_rng(1)
    objective = Objective(records, loss, 0.7, generator.normal(size=(loss.outputs, 4)))
    weights, direction = generator.normal(size=(2, loss.outputs, 4))
    gradient, curved = objective.gradient(weights), objective.curved(direction)
    step = 1e-6
    slope = (objective.value(weights + step * direction) - objective.value(weights - step * direction)) / (2 * step)
    assert float((gradient * direction).sum()) == pytest.approx(slope, rel=1e-6, abs=1e-6)
    bent = (objective.gradient(weights + step * direction) - objective.gradient(weights - step * direction)) / (
        2 * step
    )
    np.testing.assert_allclose(curved, bent, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loss", [Softmax(2), Softmax(4), Huber(3), Huber(2, 0.1)])
def test_minimum_agrees_with_another_solver(loss: Loss) -> None:
    import cvxpy

    records = made_up(60, 5, loss.outputs, 2)
    linear = np.random.default_rng(3).normal(size=(loss.outputs, 5))
    linear -= linear.mean(axis=0)
    objective = Objective(records, loss, 0.8, linear)
    ours = minimise(objective, 2**-24)
    weights = cvxpy.Variable(linear.shape)
    scores = records.features @ weights.T
    own = np.eye(loss.outputs)[records.labels]
    if isinstance(loss, Softmax):
        losses = cvxpy.sum(cvxpy.log_sum_exp(scores, axis=1)) - cvxpy.sum(cvxpy.multiply(own, scores))
    else:  # the smoothed hinge is the smallest of (p + h)² / (4h) + excess over p in [-h, h], p + excess >= v
        mine = cvxpy.reshape(cvxpy.sum(cvxpy.multiply(own, scores), axis=1), (60, 1), order="C")
        violations = 1 - mine @ np.ones((1, loss.outputs)) + scores
        inner, excess = cvxpy.Variable(own.shape), cvxpy.Variable(own.shape, nonneg=True)
        pieces = cvxpy.square(inner + loss.width) / (4 * loss.width) + excess
        losses = cvxpy.sum(cvxpy.multiply(1 - own, pieces))
        limits = [inner + excess >= violations, inner >= -loss.width, inner <= loss.width]
    value = losses + 0.4 * cvxpy.sum_squares(weights) + cvxpy.sum(cvxpy.multiply(linear, weights))
    problem = cvxpy.Problem(cvxpy.Minimize(value), limits if isinstance(loss, Huber) else [])
    problem.solve(solver=cvxpy.CLARABEL)
    assert objective.value(ours) == pytest.approx(problem.value, abs=1e-6)
    assert objective.value(ours) <= objective.value(weights.value) + 1e-9
    assert np.abs(ours - weights.value).max() < 1e-3


@pytest.mark.parametrize("loss", [Softmax(2), Softmax(6), Huber(3)])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 1e3])
def test_certificate_is_reached_on_hostile_records(loss: Loss, ridge: float) -> None:
    generator = np.random.default_rng(0)
    tables = [
        Records(np.zeros((0, 3)), []),
        Records(np.tile([[1.0, 0, 0]], (3000, 1)), np.zeros(3000)),  # all alike, of one class
        Records(np.vstack([np.eye(3)] * 200), np.tile(np.arange(3) % loss.outputs, 200)),
        Records(np.vstack([np.eye(3)] * 200), generator.integers(loss.outputs, size=600)),
    ]
    for records in tables:
        linear = generator.normal(size=(loss.outputs, 3)) * ridge * 10 ** generator.uniform(-1, 2)
        objective = Objective(records, loss, ridge, linear)
        assert np.linalg.norm(objective.gradient(minimise(objective, 2**-24))) <= 2**-24 * 1.01


def test_longer_floats_take_over_where_rounding_is_in_the_way() -> None:
    records = made_up(4000, 3, 2)
    objective = Objective(records, Softmax(2), 5.0, np.ones((2, 3)) * 1e4)
    weights = np.random.default_rng(0).normal(size=(2, 3))
    plain = objective.gradient(weights)
    assert objective.be_precise()
    assert not objective.be_precise()
    np.testing.assert_allclose(objective.gradient(weights), plain, rtol=1e-12)
    with pytest.raises(PassError, match="charge stands"):
        minimise(objective, 1e-30)  # below any float: it ends all the same


# ---- through the gate ----------------------------------------------------------------------------------------------

DOMAIN = so.Domain({"a": so.Real(-3, 3), "b": so.Real(-3, 3), "c": so.Category(["x", "y"])})
DIRECTIONS = Directions(Box(("a", "b")), 1.0)


def table(rows: int = 300, seed: int = 0) -> pa.Table:
    generator = np.random.default_rng(seed)
    side = generator.integers(2, size=rows)
    drawn = generator.normal(size=(rows, 2)) + 2.0 * side[:, None] - 1
    return pa.table({"a": drawn[:, 0], "b": drawn[:, 1], "c": np.where(side == 1, "y", "x")})


def asked(cost: Cost, ridge: float | None = None, features: Any = DIRECTIONS) -> Minimisation:
    order = order_of(float(cost.rho), float(cost.stated[0])) if cost.stated else None
    usual = mechanism.usual_ridge(Softmax(2), len(features.columns), cost, "add-remove", (order,) if order else ())
    return Minimisation(features, ClassLabels(CategoryAxis("c", 2)), Softmax(2), ridge or usual, order)


def test_charge_comes_first_and_stands_when_the_solver_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = so.Ledger(epsilon=1)
    session = Session.open(table(), DOMAIN, ledger=ledger)
    monkeypatch.setattr(solver, "MOST_STEPS", 0)
    monkeypatch.setattr(solver.minimise, "__defaults__", (0,))
    with pytest.raises(PassError, match="charge stands"):
        session.minimise(asked(Cost.pure(0.4)), Cost.pure(0.4))
    assert float(ledger.spent.epsilon) == pytest.approx(0.4)


def test_what_a_solver_adds_where_no_noise_is_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise sums to zero over the outputs; so must what it is added to, whatever the rounding of the solver."""
    for cost in (Cost.pure(1), Cost.of(1, 1e-6)):
        found = Session.open(table(), DOMAIN, random_state=0).minimise(asked(cost), cost)
        with monkeypatch.context() as patched:
            patched.setattr(session_module, "minimise", lambda *given: minimise(*given) + 2.0**-26)
            drifted = Session.open(table(), DOMAIN, random_state=0).minimise(asked(cost), cost)
        assert np.abs(np.array(drifted.values) - np.array(found.values)).max() <= 1


def test_a_refusal_changes_nothing_and_a_small_ridge_is_told_the_smallest() -> None:
    ledger = so.Ledger(epsilon=1)
    session = Session.open(table(), DOMAIN, ledger=ledger)
    with pytest.raises(ParameterError, match=r"ridge: too small .* Write ridge=2\.02") as caught:
        session.minimise(asked(Cost.pure(1), 0.5), Cost.pure(1))
    allowed = float(str(caught.value).split("ridge=")[1].split(" ")[0])
    assert ledger.spent.epsilon == 0
    session.minimise(asked(Cost.pure(1), allowed), Cost.pure(1))
    with pytest.raises(BudgetError):
        session.minimise(asked(Cost.pure(1)), Cost.pure(1))


def test_a_rho_without_an_order_is_refused() -> None:
    session = Session.open(table(), DOMAIN)
    with pytest.raises(ParameterError, match="needs the order"):
        session.minimise(asked(Cost.pure(1)), Cost.concentrated(0.1))


def test_receipt_says_what_the_arithmetic_is() -> None:
    for cost in (Cost.pure(1), Cost.of(1, 1e-6)):
        total = Session.open(table(), DOMAIN).minimise(asked(cost), cost)
        assert mechanism.IDEALISED in total.receipt.caveats
        assert total.receipt.private
        assert "idealised" in str(total.receipt)
        again = so.Receipt.from_dict(total.receipt.to_dict())
        assert again.to_dict() == total.receipt.to_dict()


def test_a_ledger_pays_at_its_own_order_and_refuses_another(tmp_path: Any) -> None:
    cost = Cost.of(0.5, 1e-6)
    for ledger in (so.Ledger(1, 1e-6), so.Ledger.open(tmp_path / "a.ledger", 1, 1e-6)):
        session = Session.open(table(), DOMAIN, ledger=ledger)
        total = session.minimise(asked(cost), cost)
        (charge,) = total.receipt.charges
        assert charge.cost.order == ledger.order
        assert ledger.verify() == []
        assert ledger.entries()[0].cost.order == ledger.order
    strange = Cost(rho=Fraction(1, 10**6), order=Fraction(7))
    with pytest.raises(BudgetError, match="another order"):
        ledger.charge([("minimiser", strange, {})])
    alone = Session.open(table(), DOMAIN).minimise(asked(cost), cost).receipt.charges[0]
    assert charge.scale >= alone.scale  # two orders to satisfy, not one


def test_blocks_read_again_give_the_same_minimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = Cost.pure(1)
    kept = Session.open(table(), DOMAIN, random_state=1).minimise(asked(cost), cost)
    monkeypatch.setattr(feature_blocks, "_CELLS_PER_BLOCK", 256)
    blocks = FeatureBlocks(open_source(table(2000), None), DOMAIN, DIRECTIONS, ClassLabels(CategoryAxis("c", 2)))
    blocks.load(most_cells=3 * 1999)
    assert not blocks.in_memory
    assert blocks.exact_rows == sum(len(labels) for _, labels in blocks) == 2000
    monkeypatch.setattr(FeatureBlocks.load, "__defaults__", (0,))
    again = Session.open(table(), DOMAIN, random_state=1).minimise(asked(cost), cost)
    np.testing.assert_allclose(kept.in_units(), again.in_units(), atol=1e-6)


def test_features_are_functions_of_the_record_and_have_length_one_at_most() -> None:
    rows = table(500)
    source = open_source(rows, None)
    for features in (DIRECTIONS, Products(DIRECTIONS), Products(Directions(Box(("a", "b")), 0.3, (0.2, -0.4)))):
        labels = ClassLabels(CategoryAxis("c", 2))
        whole = FeatureBlocks(source, DOMAIN, features, labels)
        (all_at_once,) = [q for q, _ in whole]
        assert (np.linalg.norm(all_at_once, axis=1) <= 1).all()
        assert np.linalg.norm(all_at_once, axis=1).min() > 1 - 1e-4
        one = FeatureBlocks(open_source(rows.slice(77, 1), None), DOMAIN, features, labels)
        assert next(iter(one))[0].tobytes() == all_at_once[77:78].tobytes()


def test_records_without_a_cell_or_a_class_are_left_out() -> None:
    holed = pa.table({"a": [1.0, None, 2.0], "b": [0.0, 1.0, 2.0], "c": ["x", "y", "unknown"]})
    blocks = FeatureBlocks(open_source(holed, None), DOMAIN, DIRECTIONS, ClassLabels(CategoryAxis("c", 2)))
    blocks.load()
    assert (blocks.exact_rows, blocks.exact_records) == (3, 1)


# ---- attacks and audits --------------------------------------------------------------------------------------------


def attacked(released: Any, quiet: tuple[Any, Any], runs: int = 40) -> int:
    """Right guesses of which neighbour a difference of classes came from: the nearer one of the two without privacy."""
    right = 0
    for run in range(runs):
        side = run % 2
        found = released(side, run)
        distances = [float(np.abs(found - each).max()) for each in quiet]
        right += int(np.argmin(distances)) == side
    return right


def test_the_published_noise_cancels_and_ours_does_not() -> None:
    """Forty secret bits: the published release gives away all, ours is within three deviates of chance (p = .003)."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(40, 2)) * 0.3
    labels = (features[:, 0] + 0.1 * generator.normal(size=40) > 0).astype(float)
    tables = (features[:-1], labels[:-1]), (features, labels)

    def difference(matrices: Any) -> Any:
        return (matrices[0] - matrices[1])[np.triu_indices(3)]

    quiet = tuple(difference(pathak.minimiser(*each, np.zeros((3, 3)))) for each in tables)

    def published(side: int, run: int) -> Any:
        return difference(pathak.perturbed_matrices(*tables[side], 0.01, np.random.default_rng(run)))

    assert attacked(published, quiet) == 40
    cost, domain = Cost.pure(1), so.Domain({"a": so.Real(-1, 1), "b": so.Real(-1, 1), "c": so.Category([0, 1])})
    products = Products(Directions(Box(("a", "b")), 1.0))
    drawn = [pa.table({"a": x[:, 0], "b": x[:, 1], "c": y.astype(int)}) for x, y in tables]

    def ours(side: int, run: int, price: Cost = cost) -> Any:
        session = Session.open(drawn[side], domain, random_state=run)
        return np.array(session.minimise(asked(cost, features=products), price).values[:6])

    still = tuple(ours(side, 0, Cost.pure(math.inf)) for side in (0, 1))
    assert abs(attacked(ours, still) - 20) <= 9.5


@pytest.mark.parametrize("delta", [0, 1e-3])
def test_losses_are_those_of_the_declared_law_and_a_fifth_of_the_noise_is_seen(
    delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An alarm beyond 4 deviates: false in 6 of 100,000."""
    domain = DOMAINS["add-remove"]
    epsilon = 8.0 if delta else 3.0
    cost = Cost.of(epsilon, delta)
    records = ordinary_records(domain, 6)
    more = [*records, {"a": 10.0, "b": 5.0, "c": "x"}]
    labels = ClassLabels(CategoryAxis("c", 3))
    order = order_of(float(cost.rho), epsilon) if delta else None
    orders = (order,) if order else ()
    ridge = mechanism.usual_ridge(Softmax(3), 3, cost, "add-remove", orders)
    question = Minimisation(DIRECTIONS, labels, Softmax(3), ridge, order)

    def subject(private: Any) -> Any:
        return private.session.minimise(question, cost)

    assert (
        audit_losses(subject, more, records, domain, runs=120, random_state=1).verdict == "not violated at this power"
    )
    usual = Perturbation.draw
    monkeypatch.setattr(Perturbation, "draw", lambda law, noise: usual(law, noise) / 5)
    assert audit_losses(subject, more, records, domain, runs=120, random_state=1).verdict == "violated"
