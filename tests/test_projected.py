"""A public projection as a record map: exact products, the same record in any batch, the bound in the small space."""

from __future__ import annotations

import numpy as np
import pytest

from registry import batch_of
from sordino.domain import Domain, Real
from sordino.errors import ParameterError
from sordino.statistics.projected import LARGEST_DIRECTION, MATRIX_STEPS, Projected
from sordino.statistics.statistic import GRID_STEPS
from sordino.statistics.sums import Sum

WIDE = 784
COLUMNS = tuple(f"x{place}" for place in range(WIDE))
DOMAIN = Domain({name: Real(0, 255) for name in COLUMNS})


def orthonormal(width: int, directions: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(width, directions)))[0]


def pictures(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((count, WIDE)) < 0.8, 0.0, rng.uniform(0, 255, (count, WIDE)))


@pytest.mark.parametrize("directions", [1, 9, 100, 392])
def test_a_record_has_the_same_vector_alone_and_in_any_batch(directions: int) -> None:
    of = Projected.of(COLUMNS, orthonormal(WIDE, directions), radius=5.0, centre=np.full(directions, 0.3))
    rows = pictures(65)
    together = of.vectors(batch_of(DOMAIN, rows))[0]
    alone = np.vstack([of.vectors(batch_of(DOMAIN, rows[place : place + 1]))[0] for place in (0, 7, 64)])
    np.testing.assert_array_equal(together[[0, 7, 64]], alone)
    np.testing.assert_array_equal(of.vectors(batch_of(DOMAIN, rows[::-1]))[0], together[::-1])


def test_the_product_is_that_of_pythons_integers() -> None:
    matrix = orthonormal(WIDE, 3)
    of = Projected.of(COLUMNS, matrix, radius=1e6)
    rows = pictures(4)
    placed = batch_of(DOMAIN, rows).on_grid(COLUMNS, GRID_STEPS)[0]
    exact = [
        [sum(int(b) * int(w) for b, w in zip(row, direction, strict=True)) for direction in of._integers.T]
        for row in placed
    ]
    assert (placed @ of._integers).astype(object).tolist() == exact
    np.testing.assert_allclose(
        np.array(exact, dtype=float) / (GRID_STEPS * MATRIX_STEPS), (rows / 127.5 - 1) @ matrix, atol=1e-4
    )


def test_twin_products_of_floats_depend_on_the_batch() -> None:
    rows, matrix = pictures(64) / 127.5 - 1, orthonormal(WIDE, 50)
    together, alone = rows @ matrix, np.vstack([rows[place : place + 1] @ matrix for place in range(64)])
    assert (together != alone).any()


def test_no_vector_leaves_the_ball_and_inside_it_is_the_projection_itself() -> None:
    matrix, radius = orthonormal(WIDE, 20), 6.0
    centre = matrix.T @ np.full(WIDE, -0.75)
    of = Projected.of(COLUMNS, matrix, radius, centre)
    rows = pictures(300)
    vectors = of.vectors(batch_of(DOMAIN, rows))[0]
    assert (np.einsum("ij,ij->i", vectors, vectors) <= float(of.steps) ** 2).all()
    expected = (rows / 127.5 - 1) @ matrix - centre
    expected *= np.minimum(1, radius / np.linalg.norm(expected, axis=1))[:, None] / radius
    np.testing.assert_allclose(vectors / of.steps, expected, atol=1e-4)


def test_twin_a_bound_carried_over_from_the_large_space_is_broken_by_a_rounded_projection() -> None:
    """Clip in the large space, then project by a matrix rounded up to eighths: the vector is longer than the radius."""
    coarse = np.ceil(np.abs(orthonormal(6, 2, seed=3)) * 8) / 8
    place = np.linalg.svd(coarse)[0][:, 0]
    domain = Domain({f"x{i}": Real(-1, 1) for i in range(6)})
    assert np.linalg.norm(place @ coarse) > 1.01 * np.linalg.norm(place)
    vector = Projected.of(tuple(domain.columns), coarse, 1.0).vectors(batch_of(domain, place[None]))[0]
    assert (vector**2).sum() <= float(GRID_STEPS) ** 2


def test_a_receipt_does_not_name_hundreds_of_columns() -> None:
    of = Projected.of(COLUMNS, orthonormal(WIDE, 2), 1.0)
    assert Sum(of).description == "sum of x0 to x783 (784 columns) projected on 2 directions in a ball"


def test_bad_projections_are_refused_by_name() -> None:
    two = ("a", "b")
    for matrix, words in (
        (np.eye(3), "row per column"),
        (np.zeros((2, 0)), "as many entries"),
        (np.full((2, 1), LARGEST_DIRECTION), "add up"),
        (np.full((2, 1), np.nan), "add up"),
    ):
        with pytest.raises(ParameterError, match=words):
            Projected.of(two, matrix, 1.0)
    for radius in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="radius"):
            Projected.of(two, np.eye(2), radius)
    with pytest.raises(ParameterError, match="centre needs"):
        Projected(two, ((1.0, 0.0), (0.0, 1.0)), 1.0, (0.0,))
    with pytest.raises(ParameterError, match="reach"):
        Projected(two, ((1.0, 0.0), (0.0, 1.0)), 1.0, (0.0, 1.5))
    assert Projected.of(two, np.eye(2), 1.0, (0.0, 9.0)).centre == (0.0, 1.0)
    with pytest.raises(ParameterError, match="distinct"):
        Projected.of(("a", "a"), np.eye(2), 1.0)
