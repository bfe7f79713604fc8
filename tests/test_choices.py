"""Paid choices: scores move no farther than declared, hits are exact, and the noise is what the cost asks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from registry import RELATIONS, domain_of, maps_of, reals, rows_of
from sordino.audit.sensitivity import audit_sensitivity
from sordino.cost import Cost
from sordino.domain import Category, Domain, Neighbours, Real
from sordino.errors import ParameterError
from sordino.models.ranges import bought_ranges
from sordino.privacy.noise import _noisy_maximum
from sordino.privacy.price import price_choice
from sordino.privacy.session import Session
from sordino.statistics.choice import HASH_BITS, ChoiceScores, Joined, Subsample
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.hits import ConstantHits, CutHits, Discriminant, ModelHits, largest_score
from sordino.statistics.norm_ranks import NormRanks
from sordino.statistics.ranks import RankScores
from sordino.statistics.vectors import Ball, Box, placed_rows

DOMAIN = Domain({"a": Real(0, 10), "b": Real(-5, 5), "class": Category([0, 1, 2])})
CLASSES = CategoryAxis.of(DOMAIN, "class")
COARSE = Box(("a", "b"), steps=2**12)
MODEL = Discriminant.of(
    [0.2, 0, -0.1], [[1, 0], [-1, 0.5], [0, -1]], [np.eye(2), -np.eye(2), np.ones((2, 2))], 2, 2**12
)
LINEAR = Discriminant.of([0, 0, 0], [[1, 1], [-1, 1], [0, -2]], None, 2, 2**12)
CUTS = CutHits(COARSE, CLASSES, (-0.5, 0.0, 0.5))

SCORES: dict[str, ChoiceScores] = {
    "constants": ConstantHits(CLASSES),
    "cuts": CUTS,
    "models": ModelHits(COARSE, CLASSES, (MODEL, LINEAR)),
    "joined": Joined((ConstantHits(CLASSES), CUTS, ModelHits(COARSE, CLASSES, (MODEL,))), (5, 0, -2)),
    "subsample": Subsample(CUTS, 2**31),
    "norms": NormRanks(Ball(("a", "b"), 0.75), (0.0, 0.3, 0.7, 0.9)),
    "norms, L1": NormRanks(Box(("a", "b")), (0.1, 0.5, 1.5), Fraction(9, 10), "l1"),
    "means": NormRanks(Box(("a", "b")), (-0.5, 0.0, 0.5), measure="mean"),
    "ranks": RankScores("a", (2.0, 5.0, 7.0)),
    "ranks and norms": Joined((RankScores("a", (2.0, 5.0)), NormRanks(COARSE, (0.5, 1.0), Fraction(1, 3)))),
}

CELLS = [{"a": a, "b": b, "class": label} for a, b in ((5, 0), (0, 0), (9, 3), (None, 1)) for label in (0, 1, None)]


def moves(scores: ChoiceScores, neighbours: Neighbours) -> np.ndarray:
    """Every change of the scores between neighbours, over all tables of up to three records and one that differs."""
    maps = maps_of(scores, DOMAIN, rows_of(DOMAIN, CELLS))
    found = []
    for size in range(4):
        for table in itertools.combinations_with_replacement(range(len(maps)), size):
            base = maps[list(table)].sum(axis=0) if table else np.zeros(scores.inner_size, dtype=np.int64)
            around = np.array([scores.finish(tuple(map(int, base + each))) for each in maps])
            if neighbours == "add-remove":
                found.append(around - np.array(scores.finish(tuple(map(int, base)))))
            else:
                found.append((around[:, None] - around[None]).reshape(-1, scores.size))
    return np.vstack(found)


def both_ways(changes: np.ndarray) -> bool:
    return bool(((changes.min(axis=1) < 0) & (changes.max(axis=1) > 0)).any())


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("name", SCORES)
def test_no_score_moves_farther_than_declared_nor_in_both_directions(name: str, neighbours: Neighbours) -> None:
    scores = SCORES[name]
    changes = moves(scores, neighbours)
    assert np.abs(changes).max() == scores.score_sensitivity(neighbours)
    assert not (scores.monotone(neighbours) and both_ways(changes))


def test_twin_hits_under_substitute_and_ranks_are_not_monotone() -> None:
    assert both_ways(moves(SCORES["cuts"], "substitute"))
    assert both_ways(moves(SCORES["ranks"], "add-remove"))
    assert not SCORES["cuts"].monotone("substitute")
    assert not SCORES["ranks"].monotone("add-remove")


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("name", ["cuts", "ranks", "joined"])
def test_opendp_agrees_what_a_choice_costs(name: str, neighbours: Neighbours) -> None:
    """Its own map, told the metric; half the noise is a twin that costs more."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence, zero_concentrated_divergence
    from opendp.metrics import linf_distance

    scores = SCORES[name]
    _noisy_maximum(1.0, True)  # switches the library's features on
    integers = vector_domain(atom_domain(T="i64"))
    metric = linf_distance(T="i64", monotonic=scores.monotone(neighbours))
    for amount, pure in itertools.product(("0.01", "1", "1/3"), (True, False)):
        cost = Cost.pure(amount) if pure else Cost.concentrated(amount)
        priced = price_choice(scores, cost, neighbours)
        measure = max_divergence() if pure else zero_concentrated_divergence()
        spent = make_noisy_max(integers, metric, measure, scale=priced.scale).map(priced.sensitivity)
        assert spent == pytest.approx(float(Fraction(amount)), rel=1e-12)
        half = make_noisy_max(integers, metric, measure, scale=priced.scale / 2).map(priced.sensitivity)
        assert half > float(Fraction(amount))


def test_hits_are_those_of_exact_arithmetic() -> None:
    generator = np.random.default_rng(2)
    rows = np.column_stack([generator.uniform(-1, 11, 60), generator.normal(0, 3, 60), generator.integers(0, 3, 60)])
    rows[3, 0], rows[5, 2] = np.nan, np.nan
    rows[7] = (5, 0, 0)  # the middle: all scores of LINEAR tie, and the first class wins
    found = maps_of(ModelHits(COARSE, CLASSES, (MODEL, LINEAR)), DOMAIN, rows)
    grid = [[round(Fraction(2**12) * place(each)) for place in _PLACES] for each in np.nan_to_num(rows)]
    for row, vector, hits in zip(rows, grid, found, strict=True):
        expected = [int(not np.isnan(row).any() and winner(model, vector) == row[2]) for model in (MODEL, LINEAR)]
        assert hits.tolist() == expected
    assert found[7].tolist()[1] == 1


_PLACES = (
    lambda row: min(Fraction(1), max(Fraction(-1), (Fraction(float(row[0])) - 5) / 5)),
    lambda row: min(Fraction(1), max(Fraction(-1), Fraction(float(row[1])) / 5)),
)


def winner(model: Discriminant, vector: Sequence[int], steps: int = 2**12) -> int:
    scores = []
    for place, constant in enumerate(model.constant):
        score = steps**2 * constant + steps * sum(a * x for a, x in zip(model.linear[place], vector, strict=True))
        pairs = [(i, j) for i in range(len(vector)) for j in range(i, len(vector))]
        quadratic = model.quadratic[place] if model.quadratic else (0,) * len(pairs)
        scores.append(score + sum(a * vector[i] * vector[j] for a, (i, j) in zip(quadratic, pairs, strict=True)))
    return scores.index(max(scores))


def test_coefficients_keep_every_sum_below_53_bits_and_their_meaning() -> None:
    generator = np.random.default_rng(3)
    for dimension in (1, 5, 40):
        matrices = generator.normal(size=(3, dimension, dimension))
        matrices = (matrices + matrices.swapaxes(1, 2)) * 10.0 ** generator.integers(-3, 6)
        slopes, constants = generator.normal(size=(3, dimension)) * 100, generator.normal(size=3)
        model = Discriminant.of(constants, slopes, matrices, dimension, 2**12)
        assert largest_score(model) * 2**24 <= 2**53
        points = generator.uniform(-1, 1, size=(50, dimension))
        wanted = constants + points @ slopes.T + np.einsum("ni,cij,nj->nc", points, matrices, points)
        scores = model.scores(np.rint(points * 2**12), 2**12)
        assert np.mean(scores.argmax(axis=1) == wanted.argmax(axis=1)) >= 0.98
    with pytest.raises(ParameterError, match="53 bits"):
        ModelHits(Box(("a", "b")), CLASSES, (MODEL,))


@pytest.mark.parametrize(("steps", "most"), [(2**20, 43), (2**16, 722)])
def test_a_grid_too_fine_for_so_many_columns_is_refused(steps: int, most: int) -> None:
    """Both sides: up to there a model names the class that its floats name, and its sums stay exact."""
    generator = np.random.default_rng(5)
    points = generator.uniform(-1, 1, size=(60, most))
    slopes, matrix = 3 * generator.normal(size=(3, most)), np.eye(most)
    model = Discriminant.of(np.zeros(3), slopes, [matrix] * 3, most, steps)
    assert largest_score(model) * steps**2 <= 2**53
    scores = model.scores(np.rint(points * steps), steps)
    wanted = points @ slopes.T
    assert np.mean(scores.argmax(axis=1) == wanted.argmax(axis=1)) >= 0.7  # a third would be chance
    for more in (most + 1, 2 * most):
        with pytest.raises(ParameterError, match=f"models of {more} columns .* Take a coarser grid"):
            Discriminant.of(np.zeros(3), np.zeros((3, more)), [np.eye(more)] * 3, more, steps)
    assert Discriminant.of(np.zeros(3), np.zeros((3, more)), None, more, steps).quadratic == ()


def test_cut_rules_count_what_they_say() -> None:
    generator = np.random.default_rng(4)
    rows = np.column_stack([generator.uniform(0, 10, 80), generator.uniform(-5, 5, 80), generator.integers(0, 3, 80)])
    total = maps_of(CUTS, DOMAIN, rows).sum(axis=0)
    scores = CUTS.finish(tuple(map(int, total)))
    vectors = np.column_stack([(rows[:, 0] - 5) / 5, rows[:, 1] / 5])
    vectors = np.column_stack([vectors, vectors.mean(axis=1)])
    for index in range(CUTS.size):
        coordinate, cut, low, high = CUTS.rule(index)
        said = np.where(vectors[:, coordinate] <= cut, low, high)
        assert scores[index] == np.sum(said == rows[:, 2])


def test_a_subsample_is_of_the_stated_size_and_looks_at_the_record_alone() -> None:
    """A share of 1/4 of 20,000 records lies within five standard deviations: false alarm 6e-7."""
    generator = np.random.default_rng(6)
    n = 20_000
    rows = np.column_stack([generator.uniform(0, 10, n), generator.uniform(-5, 5, n), generator.integers(0, 3, n)])
    quarter = Subsample(ConstantHits(CLASSES), 2 ** (HASH_BITS - 2))
    by_label = maps_of(quarter, DOMAIN, rows).sum()
    assert by_label in {sum(np.sum(rows[:, 2] == each) for each in kept) for kept in _subsets(range(3))}
    wide = Subsample(CUTS, 2 ** (HASH_BITS - 2))
    kept = maps_of(wide, DOMAIN, rows)
    share = np.mean(kept.any(axis=1))
    assert abs(share - 0.25) < 5 * np.sqrt(0.25 * 0.75 / n)
    order = generator.permutation(n)
    assert np.array_equal(maps_of(wide, DOMAIN, rows[order]), kept[order])
    assert not np.array_equal(kept, maps_of(Subsample(CUTS, 2 ** (HASH_BITS - 2), key=1), DOMAIN, rows))


def _subsets(items: Sequence[int]) -> list[tuple[int, ...]]:
    return [kept for size in range(len(items) + 1) for kept in itertools.combinations(items, size)]


@pytest.mark.parametrize("measure", ["l2", "l1", "mean"])
def test_the_best_candidate_for_a_norm_is_a_quantile_of_it(measure: str) -> None:
    generator = np.random.default_rng(8)
    rows = np.column_stack([generator.uniform(0, 10, 201), generator.normal(0, 2, 201), np.zeros(201)])
    box = Box(("a", "b"))
    candidates = tuple(np.linspace(-1 if measure == "mean" else 0, 2, 400).tolist())
    scores = NormRanks(box, candidates, Fraction(7, 10), measure)  # type: ignore[arg-type]
    total = maps_of(scores, DOMAIN, rows).sum(axis=0)
    best = candidates[int(np.argmax(scores.finish(tuple(map(int, total)))))]
    vectors = placed_rows(box, DOMAIN, rows[:, :2])[0]
    sizes = {
        "l2": np.linalg.norm(vectors, axis=1), "l1": np.abs(vectors).sum(axis=1), "mean": vectors.mean(axis=1)
    }[measure]  # fmt: skip
    assert best == pytest.approx(np.quantile(sizes, 0.7), abs=0.02)


def test_windows_clip_to_bought_intervals_on_their_own_grid() -> None:
    windows = (Real(4, 4.001), Real(-1, 1))
    rows = np.array([[4.0005, 0.5], [4.00075, -7], [9, 0], [np.nan, 0]])
    vectors, whole = placed_rows(Box(("a", "b"), windows=windows), DOMAIN, rows)
    assert vectors[:3] == pytest.approx(np.array([[0, 0.5], [0.5, -1], [1, 0]]), abs=1e-5)
    assert whole is not None
    assert whole.tolist() == [True, True, True, False]
    domain = domain_of(3)
    windowed = Ball(reals(3), radius=0.5, windows=(Real(1, 2), Real(0, 1), Real(0.2, 0.3)))
    record = windowed.record_at(domain, np.array([0.0, 1.0, 0.0]))
    placed = placed_rows(windowed, domain, np.array([[record[name] for name in reals(3)]], dtype=float))[0]
    assert placed[0] == pytest.approx([0, 1, 0], abs=1e-4)
    with pytest.raises(ParameterError, match="window"):
        Box(("a", "b"), windows=(Real(0, 1),))


@pytest.mark.parametrize("pure", [True, False])
def test_bought_ranges_find_a_cloud_in_a_wide_box(pure: bool) -> None:
    """Seeded, so it says nothing about luck: the centre within a tenth of the cloud's width, most records inside."""
    generator = np.random.default_rng(1)
    middles = np.array([3.0, -2.0, 40.0])
    rows = middles + generator.normal(size=(4000, 3))
    domain = Domain({name: Real(-1000, 1000) for name in "xyz"})
    session = Session.open(rows, domain, columns=list("xyz"), random_state=3)
    cost = Cost.pure(1) if pure else Cost.of(1, 1e-6)
    ranges = bought_ranges(session, tuple("xyz"), cost, 4000)
    assert np.array(ranges.centre) * 1000 == pytest.approx(middles, abs=12)
    inside = np.linalg.norm(rows / 1000 - ranges.centre, axis=1) <= ranges.radius
    assert 0.4 <= inside.mean() <= 1
    assert ranges.radius * 1000 < 100
    assert sum((each.cost for each in ranges.receipts), Cost()).within(cost)


@dataclass(frozen=True)
class Falling(ConstantHits):
    """A twin that lies: scores that fall and rise, declared monotone."""

    def finish(self, total: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(value if place else -value for place, value in enumerate(total))


def test_twin_scores_that_move_both_ways_are_seen() -> None:
    assert Falling(CLASSES).monotone("add-remove")
    joined = Joined((Falling(CLASSES), ConstantHits(CLASSES)))
    assert audit_sensitivity(joined, DOMAIN, seconds=0.1).verdict == "violated"
    assert audit_sensitivity(SCORES["joined"], DOMAIN, seconds=0.1).verdict == "not violated at this power"
    assert both_ways(moves(joined, "add-remove"))
