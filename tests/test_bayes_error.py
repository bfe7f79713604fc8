"""The error of Gaussian mixtures: against quadrature, its bounds, theorem 4.1, and the study of the paper."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

import sordino as so
from sordino.errors import ParameterError
from sordino.models.bayes_error import Mixture, bhattacharyya, chernoff, exponent_interval, plug_in_excess
from sordino.studies import xi
from sordino.studies.published.xi import exact_entry_sensitivity, noisy_gaussians, printed_exponent_interval
from sordino.studies.xi_mixture import FIVE, class_boxes, drawn, parkinsons


def random_line(generator: np.random.Generator, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return generator.dirichlet(np.ones(classes)), generator.normal(0, 2, classes), generator.uniform(0.2, 3, classes)


@pytest.mark.parametrize("seed", range(6))
def test_in_one_dimension_the_error_is_the_integral(seed: int) -> None:
    generator = np.random.default_rng(seed)
    priors, means, variances = random_line(generator, 2 + seed % 3)

    def losing(x: float) -> float:
        joint = priors * norm.pdf(x, means, np.sqrt(variances))
        return float(joint.sum() - joint.max())

    points = np.linspace(-15, 15, 301)
    expected = sum(quad(losing, a, b)[0] for a, b in itertools.pairwise(points))
    assert so.bayes_error(priors, means, variances).value == pytest.approx(expected, abs=1e-6)
    assert so.bayes_error(priors, means, variances).standard_error == 0


def test_beyond_one_dimension_the_estimate_agrees_within_its_standard_error() -> None:
    """Two spheres apart along one axis: the error is that of the line. Five standard errors: false alarm 6e-7."""
    found = so.bayes_error([0.5, 0.5], [[-1, 0, 0], [1, 0, 0]], [np.eye(3), np.eye(3)])
    assert abs(found.value - norm.cdf(-1)) < 5 * found.standard_error
    assert 0 < found.standard_error < 0.002
    assert abs(found.value - norm.cdf(-1.1)) > 5 * found.standard_error  # the twin: classes a tenth farther apart


@pytest.mark.parametrize("seed", range(5))
def test_chernoff_lies_between_the_error_and_bhattacharyya(seed: int) -> None:
    priors, means, variances = random_line(np.random.default_rng(seed), 2)
    error = so.bayes_error(priors, means, variances).value
    assert error <= chernoff(priors, means, variances) + 1e-12
    assert chernoff(priors, means, variances) <= bhattacharyya(priors, means, variances) + 1e-12
    first, second = (norm(mean, math.sqrt(variance)) for mean, variance in zip(means, variances, strict=True))
    overlap = quad(lambda x: math.sqrt(first.pdf(x) * second.pdf(x)), -30, 30, limit=200)[0]
    assert bhattacharyya(priors, means, variances) == pytest.approx(math.sqrt(priors.prod()) * overlap, rel=1e-6)


def test_bounds_in_two_dimensions_are_integrals() -> None:
    means, shapes = [[0, 0], [1, 2]], [np.diag([1.0, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]])]
    grid = np.stack(np.meshgrid(*[np.linspace(-12, 14, 521)] * 2), axis=-1)
    densities = [multivariate_normal(m, s).pdf(grid) for m, s in zip(means, shapes, strict=True)]
    cell = (26 / 520) ** 2
    powers = np.linspace(0, 1, 101)
    sums = [0.3**b * 0.7 ** (1 - b) * np.sum(densities[0] ** b * densities[1] ** (1 - b)) * cell for b in powers]
    assert chernoff([0.3, 0.7], means, shapes) == pytest.approx(min(sums), rel=1e-3)
    assert bhattacharyya([0.3, 0.7], means, shapes) == pytest.approx(sums[50], rel=1e-3)


def noisy_exponents(runs: int, generator: np.random.Generator) -> np.ndarray:
    """K by its formula from samples and Laplace noise, without the library."""
    size, found = 1000, []
    for _ in range(runs):
        m = np.array([20, 22.5]) + generator.normal(0, 1 / math.sqrt(size), 2) + generator.laplace(0, 0.05, 2)
        v = generator.chisquare(size - 1, 2) / size + generator.laplace(0, 0.01, 2)
        found.append(0.25 * (m[0] - m[1]) ** 2 / v.sum() + 0.5 * math.log(v.sum() / (2 * math.sqrt(v[0] * v[1]))))
    return np.array(found)


FACTS = (20.0, 22.5), (1.0, 1.0), (1000, 1000), (0.05, 0.05, 0.01, 0.01)


def test_the_corrected_theorem_holds_and_the_printed_one_is_its_twin() -> None:
    exponents = noisy_exponents(500, np.random.default_rng(0))
    low, high, claimed = exponent_interval(*FACTS, 0.05)
    assert claimed == pytest.approx(0.95**8)
    assert np.mean((low < exponents) & (exponents < high)) >= claimed
    low, high, claimed = printed_exponent_interval(*FACTS, 0.95)
    assert np.mean((low < exponents) & (exponents < high)) < claimed - 0.5
    with pytest.raises(ParameterError, match="positive"):
        exponent_interval((0.1, 2.5), *FACTS[1:3], (3, 3, 0.01, 0.01), 0.05)


def test_no_classifier_built_on_other_parameters_loses_more_than_the_plug_in_excess() -> None:
    generator = np.random.default_rng(2)
    for _ in range(30):
        truth = Mixture.of(*random_line(generator, 2))
        noisy = Mixture.of(truth.priors + generator.uniform(0, 0.3, 2), truth.means + generator.normal(0, 0.5, (2, 1)),
                           truth.covariances * generator.uniform(0.7, 1.4))  # fmt: skip
        points = np.linspace(-20, 20, 20_001)[:, None]
        joint, said = np.exp(truth.log_joint(points)), noisy.log_joint(points).argmax(axis=1)
        error = float(np.sum(joint[np.arange(len(points)), 1 - said]) * 0.002)
        best = so.bayes_error(truth.priors, truth.means, truth.covariances).value
        assert best - 1e-3 <= error <= best + plug_in_excess(truth, noisy) + 1e-3
        assert plug_in_excess(truth, truth) == pytest.approx(0, abs=1e-6)


def test_bad_mixtures_are_named() -> None:
    with pytest.raises(ParameterError, match="positive definite"):
        so.bayes_error([0.5, 0.5], [0, 1], [1, -1])
    with pytest.raises(ParameterError, match="priors"):
        so.bayes_error([0.5, 0.0], [0, 1], [1, 1])
    for means, covariances in (([[0, 0], [2]], [[1], [1]]), ([[0], [2]], np.ones((2, 3, 3))), ([0, 1, 2], [1, 1])):
        with pytest.raises(ParameterError, match="do not fit each other"):
            so.bayes_error([0.5, 0.5], means, covariances)
    with pytest.raises(ParameterError, match="two classes"):
        chernoff([0.2, 0.3, 0.5], [0, 1, 2], [1, 1, 1])


def test_the_published_method_without_noise_is_the_discriminant_and_exact_sensitivities_need_a_third() -> None:
    generator = np.random.default_rng(1)
    rows, labels = drawn(FIVE, 20_000, generator)
    shares, means, covariances = noisy_gaussians(rows, labels, class_boxes(FIVE), 1e9, generator)
    assert shares == pytest.approx(FIVE.priors, abs=0.02)
    assert means == pytest.approx(FIVE.means, abs=0.1)
    assert covariances == pytest.approx(FIVE.covariances, abs=0.25)
    moved = {}
    for name, options in {"printed": {}, "exact": {"sensitivity": exact_entry_sensitivity}}.items():
        noise = [
            noisy_gaussians(rows, labels, class_boxes(FIVE), 10, np.random.default_rng(seed), **options)[2]
            for seed in range(20)
        ]
        moved[name] = np.std([each[0][0, 1] for each in noise])
    assert moved["printed"] == pytest.approx(3 * moved["exact"], rel=0.4)


def test_the_study_agrees_with_table_1_and_ours_beats_the_published_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small part of it; the whole is ``sordino study xi``."""
    monkeypatch.setattr(xi, "DIMENSIONS", ())
    monkeypatch.setattr(xi, "TABLE_1", {5: xi.TABLE_1[5]})
    result = xi.run(quick=True)
    by_name = {row.what: row for row in result.rows}
    for row in result.rows:
        if row.where == "Table 1":
            assert row.ours == pytest.approx(row.published, abs=0.03)
    published = by_name["5 dimensions: published, 32000 rows"].ours
    for name in ("ours, pure", "ours, (ε, 1e-6)"):
        own = by_name[f"5 dimensions: {name}, 32000 rows"]
        assert own.ours is not None
        assert published is not None
        assert own.reach is not None
        assert own.ours < min(own.reach + 0.01, published / 2)
    assert len(result.charts) == 1


def test_parkinsons_is_read_from_a_folder_and_missed_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Parkinsons"):
        parkinsons(tmp_path)
    (tmp_path / "parkinsons").mkdir()
    generator = np.random.default_rng(0)
    lines = ["name,a,status,b"]
    lines += [f"r{i},{generator.normal():.6f},{int(i % 4 > 0)},{generator.normal():.6f}" for i in range(40)]
    (tmp_path / "parkinsons" / "parkinsons.data").write_text("\n".join(lines) + "\n")
    mixture = parkinsons(tmp_path)
    assert mixture.priors.tolist() == [0.75, 0.25]
    assert mixture.means.shape == (2, 2)
