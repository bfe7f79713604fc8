"""The parts of the table synthesiser against independent answers: least squares, quadrature, counting."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import sordino as so
from sordino.synthesis.cells import Cells, leaning
from sordino.synthesis.copula import Copula, correlation_of, nearest_correlation, order_of
from sordino.synthesis.marginals import Marginal, class_totals, probabilities
from sordino.synthesis.pairs import Pair, beyond, coarse
from sordino.synthesis.raking import raked, resampled
from sordino.synthesis.storage import stored, stored_type
from sordino.table.clipping import ClippedBatch
from sordino.table.source import ArrowBlock

GENERATOR = np.random.default_rng(11)

DECLARED = {
    "real": so.Real(-3, 7.5),
    "whole": so.Real(0, 1_000_000, integer=True),
    "few": so.Real(17, 90, integer=True),
    "odd whole": so.Real(0.5, 9.25, integer=True),
    "huge": so.Real(-1e100, 1e100),
    "tiny": so.Real(0, 1e-90),
    "complete": so.Real(0, 1, missing="reject"),
    "category": so.Category(["a", "b", "c"]),
    "numbers": so.Category([5, 3, 8], missing="reject"),
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_value_drawn_from_a_cell_lies_in_that_cell(name: str) -> None:
    domain = so.Domain({"x": DECLARED[name]})
    cells = Cells.of("x", DECLARED[name], 8)
    for _ in range(3):
        codes = np.repeat(np.arange(len(cells)), 50)
        places = np.concatenate([[0.0, 1.0], GENERATOR.random(len(codes) - 2)])[GENERATOR.permutation(len(codes))]
        column = stored(cells.draw(codes, places), DECLARED[name], stored_type(DECLARED[name], ""))
        block = ArrowBlock(pa.RecordBatch.from_arrays([column], ["x"]))
        np.testing.assert_array_equal(cells.axis.codes(ClippedBatch(domain, block)), codes)
        if not any(cells.divisible()):
            break
        cells, parents = cells.cut([place == 0 for place in range(len(cells))], 8)
        assert (np.diff(parents[: len(cells.edges) - 1]) >= 0).all()


def test_the_lower_end_gets_a_cell_of_its_own_when_it_is_cut() -> None:
    cells, parents = Cells.of("x", so.Real(0, 1000, integer=True), 4).cut([True, False, False, False, False], 4)
    assert cells.edges[:3] == (0.0, 1.0, 62.0)
    assert parents.tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 4]


def test_finer_counts_are_the_least_squares_answer() -> None:
    """Two parents, of three parts and of one; every measurement weighted by its inverse variance."""
    cells = Cells.of("x", so.Real(0, 4, missing="reject"), 2)
    finer, parents = cells.cut([True, False], 2)
    counts, variance = np.array([[90.0, 41.0]]), np.array([25.0, 9.0])
    measured, noise = np.array([[30.0, 35.0, 31.0, 44.0]]), 16.0
    found = Marginal(cells, counts, variance).refined(finer, parents, measured, noise)

    sums = np.equal.outer(np.arange(2), parents).astype(float)
    design = np.vstack([sums, np.eye(4)])
    weights = np.diag(1 / np.concatenate([variance, np.full(4, noise)]))
    information = design.T @ weights @ design
    answer = np.linalg.solve(information, design.T @ weights @ np.concatenate([counts[0], measured[0]]))
    np.testing.assert_allclose(found.counts[0], answer)
    np.testing.assert_allclose(found.variance, np.diag(np.linalg.inv(information)))


def test_missing_cells_that_noise_explains_are_none_and_clear_ones_stay() -> None:
    cells = Cells.of("x", so.Category(["a", "b"]), 2)
    for missing, kept in ((300.0, 0.0), (500.0, 500 / 2500)):
        marginal = Marginal(cells, np.array([[1000.0, 1000.0, missing]]), np.full(3, 100.0**2))
        found = probabilities(marginal, class_totals([marginal]))
        assert found[0, -1] == pytest.approx(kept)
        assert found.sum() == pytest.approx(1.0)


def test_noise_puts_nobody_far_out_and_takes_nobody_out_of_a_smooth_column() -> None:
    """A tail of 200 empty cells keeps 2 % of them, by a normal tail beyond two deviations, before the simplex."""
    cells = Cells.of("x", so.Real(0, 1, missing="reject"), 232)
    truth = np.concatenate([np.full(32, 40.0), np.zeros(200)])
    noisy = truth + np.random.default_rng(2).normal(0, 20, (1, 232))
    found = probabilities(Marginal(cells, noisy, np.full(232, 400.0)), np.array([truth.sum()]))
    assert (found[0, :32] > 0).sum() > 28
    assert found[0, 34:].sum() < 0.03


def test_classes_that_noise_explains_become_one_distribution() -> None:
    cells = Cells.of("x", so.Category(list("abcdefgh"), missing="reject"), 2)
    truth = np.tile(np.linspace(100, 300, 8), (2, 1))
    noisy = truth + GENERATOR.normal(0, 30, truth.shape)
    marginal = Marginal(cells, noisy, np.full(8, 30.0**2))
    alike = probabilities(marginal, class_totals([marginal]))
    assert np.abs(alike[0] - alike[1]).sum() < 0.5 * np.abs(noisy[0] - noisy[1]).sum() / truth[0].sum()
    marginal = Marginal(cells, np.array([truth[0], truth[0][::-1]]), np.full(8, 1.0))
    np.testing.assert_allclose(probabilities(marginal, class_totals([marginal]))[0], truth[0] / 1600, atol=1e-3)


def whole(margins: list[np.ndarray], correlation: np.ndarray) -> Copula:
    orders = tuple(np.arange(margin.shape[1]) for margin in margins)
    return Copula(tuple(margins), orders, np.array([1000.0]), correlation)


def test_scores_are_means_of_a_normal_variable_between_quantiles() -> None:
    margin = np.array([[0.05, 0.6, 0.25, 0.1]])
    (found,) = whole([margin], np.eye(1)).scores()
    ends = stats.norm.ppf(np.concatenate([[0], np.cumsum(margin[0])[:-1], [1]]))
    expected = [stats.truncnorm.mean(low, high) for low, high in itertools.pairwise(ends)]
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_the_correlation_of_cells_is_recovered() -> None:
    """From 200,000 rows the error is a hundredth; first order in r, and so more for large r and few cells."""
    correlation = np.array([[1, 0.5, -0.3], [0.5, 1, 0.2], [-0.3, 0.2, 1]])
    copula = whole([np.full((1, cells), 1 / cells) for cells in (16, 32, 8)], correlation)
    _, codes, _ = copula.draw(200_000, np.random.default_rng(0))
    scores = np.column_stack([table[0][codes[:, place]] for place, table in enumerate(copula.scores())])
    variances = [(margin * table**2).sum(axis=1) for margin, table in zip(copula.margins, copula.scores(), strict=True)]
    found = correlation_of(scores.T @ scores, np.zeros((3, 3)), variances, np.array([200_000.0]))
    np.testing.assert_allclose(found, correlation, atol=0.03)


def test_rows_take_every_cell_as_often_as_its_share_and_rise_together_within_it() -> None:
    """Two columns of two cells: independent draws would miss a count by 16 on average, and be level within a cell."""
    margin = np.array([[0.3, 0.7]])
    copula = whole([margin, margin], np.array([[1, 0.9], [0.9, 1]]))
    _, codes, within = copula.draw(1000, np.random.default_rng(3))
    assert np.abs(np.bincount(codes[:, 0]) - [300, 700]).max() <= 1
    assert np.abs(np.bincount(codes[:, 1]) - [300, 700]).max() <= 1
    both = (codes == 1).all(axis=1)
    assert np.corrcoef(within[both].T)[0, 1] > 0.6
    assert 0 <= within.min() <= within.max() <= 1
    for side in range(2):
        assert stats.kstest(within[codes[:, side] == 1, side], "uniform").pvalue > 0.5


def test_values_lean_towards_the_neighbour_with_more() -> None:
    """A density that rises from 1 - l to 1 + l has its mean at 1/2 + l/6; a peak is level."""
    ranks = (np.arange(10_000) + 0.5) / 10_000
    for lean in (-1.0, -0.4, 0.0, 1e-12, 0.7, 1.0):
        placed = leaning(ranks, np.full(len(ranks), lean))
        assert placed.mean() == pytest.approx(0.5 + lean / 6, abs=1e-4)
        assert (np.diff(placed) > 0).all()
    cells = Cells.of("x", so.Real(0, 4), 4)
    found = cells.leans(np.array([[0.1, 0.2, 0.3, 0.2, 0.2], [0.9, 0.0, 0.0, 0.1, 0.0]]))
    np.testing.assert_allclose(found[0], [0.5, 0.25, 0, -0.25, 0])
    assert (np.abs(found) <= 1).all()
    assert not Cells.of("x", so.Category(["a", "b"]), 2).leans(np.full((1, 3), 1 / 3)).any()


def test_a_correlation_of_pure_noise_is_none() -> None:
    """A third of the noise is left on average; .4 is more than ten standard errors away."""
    variances, upper = [np.array([0.9, 0.9])] * 10, np.triu_indices(10, 1)
    generator, left, raw = np.random.default_rng(11), 0.0, 0.0
    for _ in range(100):
        gram = generator.normal(0, 40, (10, 10))
        gram = np.triu(gram) + np.triu(gram, 1).T
        np.fill_diagonal(gram, 0.9 * 2000)
        found = correlation_of(gram, np.full((10, 10), 40.0**2), variances, np.array([1000.0, 1000.0]))
        left += np.abs(found)[upper].mean()
        raw += np.abs(gram / (0.81 * 2000))[upper].mean()
    assert left < 0.4 * raw


def test_a_repaired_correlation_can_be_drawn_from() -> None:
    wild = np.clip(GENERATOR.normal(0, 0.9, (12, 12)), -0.97, 0.97)
    found = nearest_correlation((wild + wild.T) / 2)
    np.testing.assert_allclose(np.diag(found), 1.0)
    assert np.linalg.eigvalsh(found).min() > 1e-3
    good = np.array([[1, 0.4], [0.4, 1]])
    np.testing.assert_allclose(nearest_correlation(good), good)


def test_categories_follow_the_class_they_go_with_and_frequency_without() -> None:
    cells = Cells.of("x", so.Category(["a", "b", "c"], missing="reject"), 2)
    margin = np.array([[0.1, 0.6, 0.3], [0.7, 0.05, 0.25]])
    assert order_of(cells, margin, np.array([500.0, 500.0])).tolist() in ([1, 2, 0], [0, 2, 1])
    assert order_of(cells, margin[:1], np.array([500.0])).tolist() == [1, 2, 0]


def test_weights_bring_back_a_table_and_rows_follow_the_weights() -> None:
    generator = np.random.default_rng(5)
    first, second = generator.integers(0, 4, 20_000), generator.integers(0, 3, 20_000)
    shares = generator.dirichlet(np.ones(12))
    weights = raked([(first * 3 + second, shares)], 20_000)
    np.testing.assert_allclose(np.bincount(first * 3 + second, weights), shares, atol=1e-6)
    chosen = resampled(weights, 50_000, generator)
    assert np.abs(np.bincount(chosen, minlength=20_000) - 50_000 * weights).max() < 1
    assert not (np.diff(chosen) >= 0).all()


def test_a_table_takes_over_its_columns_margins_and_keeps_its_odds() -> None:
    pair = Pair((0, 1), ((0, 0, 1), (0, 1)))
    margins = [np.array([[0.1, 0.3, 0.6]]), np.array([[0.25, 0.75]])]
    table = np.array([0.4, 0.1, 0.2, 0.3])
    found = pair.agreeing(table, margins).reshape(2, 2)
    np.testing.assert_allclose(found.sum(axis=1), [0.4, 0.6], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=0), [0.25, 0.75], atol=1e-6)
    assert found[0, 0] * found[1, 1] / found[0, 1] / found[1, 0] == pytest.approx(6.0)


def test_a_noisy_table_says_what_noise_does_not_explain() -> None:
    guess = np.full(16, 100.0)
    noise = GENERATOR.normal(0, 20, 16)
    assert np.abs(beyond(guess, guess + noise, 400.0) - guess).sum() < 0.5 * np.abs(noise).sum()
    clear = np.repeat([0.0, 200.0], 8)
    np.testing.assert_allclose(beyond(guess, clear, 1.0), clear, atol=1)
    assert beyond(guess, -clear, 1.0).sum() == pytest.approx(1600)


def test_coarse_cells_hold_equal_mass_and_rare_categories_go_together() -> None:
    cells = Cells.of("x", so.Real(0, 1), 32)
    mass = np.append(GENERATOR.random(32), 0.0)
    groups = np.array(coarse(cells, mass, 6))
    assert (np.diff(groups[:-1]) >= 0).all()
    assert groups.max() == 5
    assert np.bincount(groups, mass).max() < 2 * mass.sum() / 6
    names = Cells.of("x", so.Category(list("abcdef"), missing="reject"), 2)
    assert coarse(names, np.array([1.0, 50, 2, 30, 1, 3]), 3) == (2, 0, 2, 1, 2, 2)
