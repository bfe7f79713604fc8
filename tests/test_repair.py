"""Repaired covariances: nearest, positive, and nearer to the truth than what was noisy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import ParameterError
from sordino.repair.ball import into_ball
from sordino.repair.positive_definite import from_triangle, replaced_eigenvalues, symmetric, with_floor
from sordino.repair.shrinkage import off_diagonal, spectral, spikes, towards


def noisy_symmetric(generator: np.random.Generator, size: int, scale: float) -> np.ndarray:
    noise = generator.normal(0, scale, size=(size, size))
    return np.triu(noise) + np.triu(noise, 1).T


def covariance(generator: np.random.Generator, size: int) -> np.ndarray:
    root = generator.normal(size=(size, size))
    return root @ root.T / size


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0, 1))
def test_the_floor_is_the_nearest_of_all_matrices_above_it(seed: int, size: int, floor: float) -> None:
    generator = np.random.default_rng(seed)
    matrix = noisy_symmetric(generator, size, 2)
    repaired = with_floor(matrix, floor)
    assert np.linalg.eigvalsh(repaired)[0] >= floor - 1e-9
    own = np.linalg.norm(repaired - matrix)
    for _ in range(10):
        step = generator.uniform(0, 1)
        other = (1 - step) * repaired + step * (covariance(generator, size) + floor * np.eye(size))
        assert np.linalg.norm(other - matrix) >= own - 1e-9
    assert np.linalg.norm(with_floor(repaired, floor) - repaired) < 1e-9


def test_the_published_repair_is_positive_but_not_the_nearest_and_its_precision_has_no_bound() -> None:
    generator = np.random.default_rng(0)
    farther, precisions = 0, []
    for _ in range(200):
        matrix = covariance(generator, 5) + noisy_symmetric(generator, 5, 0.8)
        published = replaced_eigenvalues(matrix)
        values = np.linalg.eigvalsh(published)
        assert values[0] > 0
        precisions.append(1 / values[0])
        farther += np.linalg.norm(published - matrix) > np.linalg.norm(with_floor(matrix, 1e-9) - matrix) + 1e-9
    assert farther > 100
    assert max(precisions) > 100 > 1 / np.linalg.eigvalsh(with_floor(matrix, 0.05))[0]
    assert np.array_equal(replaced_eigenvalues(-np.eye(3)), np.eye(3))
    assert np.array_equal(replaced_eigenvalues(np.diag([2.0, 3.0])), np.diag([2.0, 3.0]))


@pytest.mark.parametrize("repair", [off_diagonal, spectral])
def test_shrinkage_brings_noisy_covariances_nearer_to_the_truth(repair: object) -> None:
    """Mean squared distance over 60 draws; the gain is above 10 %, ten standard errors. Half the noise gains less."""
    generator = np.random.default_rng(1)
    raw, shrunk = [], []
    for _ in range(60):
        truth = np.diag(generator.uniform(0.5, 1.5, 12)) + 0.05 * covariance(generator, 12)
        noisy = truth + noisy_symmetric(generator, 12, 0.3)
        raw.append(np.sum((with_floor(noisy, 0.03) - truth) ** 2))
        shrunk.append(np.sum((with_floor(repair(noisy, 0.09), 0.03) - truth) ** 2))  # type: ignore[operator]
    assert np.mean(shrunk) < 0.9 * np.mean(raw)


def test_no_noise_changes_nothing() -> None:
    matrix = covariance(np.random.default_rng(2), 6)
    assert off_diagonal(matrix, 0) == pytest.approx(matrix)
    assert spectral(matrix, 0) == pytest.approx(matrix)
    assert off_diagonal(np.eye(1), 3.0).tolist() == [[1.0]]
    kept, factor = towards([1.0, 3.0], 2.0, 0.0)
    assert kept.tolist() == [1.0, 3.0]
    assert factor.item() == 1
    assert towards([1.0, 3.0], 2.0, 5.0)[0].tolist() == [2.0, 2.0]
    assert towards([2.0, 2.0], 2.0, 0.0)[0].tolist() == [2.0, 2.0]


def test_a_spike_that_noise_made_longer_is_brought_back() -> None:
    """Mean over 60 draws of 200 x 200 noise: within 2 % of the truth, six standard errors; as seen it is 6 % off."""
    generator, edge = np.random.default_rng(4), 2 * np.sqrt(200)
    direction = np.full(200, 200**-0.5)
    seen = []
    for _ in range(60):
        noise = generator.normal(size=(200, 200))
        noise = np.triu(noise) + np.triu(noise, 1).T
        seen.append(float(np.linalg.eigvalsh(2 * edge * np.outer(direction, direction) + noise)[-1]))
    assert np.mean(spikes(seen, edge)) == pytest.approx(2 * edge, rel=0.02)
    assert np.mean(seen) > 1.04 * 2 * edge
    assert spikes([-3.0, 0.0, 5.0], 0.0).tolist() == [-3.0, 0.0, 5.0]


def test_vectors_outside_a_ball_are_pulled_to_its_sphere_and_no_other_moves() -> None:
    vectors = np.random.default_rng(3).normal(size=(50, 4))
    vectors[0] = 0
    lengths, pulled = np.linalg.norm(vectors, axis=1), into_ball(vectors, 1.5)
    assert 0 < (lengths > 1.5).sum() < 50
    np.testing.assert_allclose(np.linalg.norm(pulled, axis=1), np.minimum(lengths, 1.5))
    np.testing.assert_array_equal(pulled[lengths <= 1.5], vectors[lengths <= 1.5])
    np.testing.assert_allclose(pulled * np.maximum(lengths / 1.5, 1)[:, None], vectors)


def test_triangles_and_bad_matrices() -> None:
    assert np.array_equal(from_triangle(np.arange(6)), [[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    assert from_triangle(np.zeros((4, 10))).shape == (4, 4, 4)
    for bad in ([1, 2], []):
        with pytest.raises(ParameterError, match="triangle"):
            from_triangle(np.array(bad))
    with pytest.raises(ParameterError, match="square"):
        symmetric(np.ones((2, 3)))
    with pytest.raises(ParameterError, match="finite"):
        with_floor([[np.nan]])
