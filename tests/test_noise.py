"""Noise follows its law, exactly and independently, and a draw that does not fit is never used.

False alarms. Tests of the secure sampler draw afresh in every run. Each of them compares draws with their law in
three ways: chi-square over cells (level 1e-9), the score for the scale (6 standard deviations, below 1e-8 with the
skewness of the smallest counts), and the number of zeros (level 1e-9). There are fewer than 100 such comparisons,
so a run of this file fails by chance with probability below 2e-6. Tests of seeded noise are repeatable.

Power. A scale 10 % off moves the score of 15,000 draws by 12 standard deviations or more (of 45,000 draws by 10 at
the smallest scale of the Laplace law, where 1.3 % of draws are not zero), and 6 are enough to be seen: a twin is
missed with probability below 1e-7 each. For the Gaussian law at scale 0.2 one draw in 130,000 differs from zero, so
there no sample of this size can tell, and it has no twin.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import integrate, stats

from sordino.cost import Cost
from sordino.domain import Domain, Real
from sordino.errors import NoiseError, ParameterError
from sordino.privacy import noise as noise_module
from sordino.privacy.ledger import Ledger
from sordino.privacy.noise import Noise, SecureNoise, SeededNoise
from sordino.privacy.price import LARGEST_SCALE, Question
from sordino.privacy.session import Session
from sordino.release import LARGEST_PART, SUMMED_GAUSSIAN_SCALE, DiscreteGaussian, DiscreteLaplace, Law, NoNoise
from sordino.statistics.count import Count
from sordino.statistics.direct import DirectCovariance

#: Small scales catch "large budget, so no noise"; halves catch floor(scale); large ones catch overflow.
LADDER = (0.2, 0.5, 0.7, 1.5, 2.7, 33.3, 1e4, 1e7, 1e13, 2.0**40, float(LARGEST_SCALE))
LAWS = [law(scale) for law in (DiscreteLaplace, DiscreteGaussian) for scale in LADDER]
TWINS = [law for law in LAWS if law != DiscreteGaussian(0.2)]

CELLS = np.array([0.0025, 0.01, 0.03, 0.06, *np.arange(0.1, 0.91, 0.1), 0.94, 0.97, 0.99, 0.9975])
SMALLEST_P, LARGEST_SCORE = 1e-9, 6.0


def draws_for(law: Law) -> int:
    return 45_000 if law == DiscreteLaplace(0.2) else 15_000


# ---- the laws, computed here on their own ----------------------------------------------------------------------


def at_most(law: Law, k: np.ndarray) -> np.ndarray:
    """Pr(Z <= k): geometric tails for Laplace; summed masses, or the normal law at k + 1/2, for Gaussian."""
    k = np.asarray(k, dtype=float)
    if isinstance(law, DiscreteLaplace):
        base = 1 + math.exp(-1 / law.scale)
        with np.errstate(over="ignore"):
            return np.where(k >= 0, 1 - np.exp(-(k + 1) / law.scale) / base, np.exp(k / law.scale) / base)
    if law.scale > 3000:  # relative error of the continuous cells: 1 / (24 scale^2)
        return stats.norm.cdf((k + 0.5) / law.scale)
    reach = math.ceil(14 * law.scale) + 3
    support = np.arange(-reach, reach + 1)
    masses = np.exp(-(support**2) / (2 * law.scale**2))
    summed = np.concatenate([[0.0], np.cumsum(masses) / masses.sum()])
    return summed[np.clip(np.floor(k).astype(int) + reach + 1, 0, len(summed) - 1)]


def smallest_with(law: Law, share: float) -> int:
    """The smallest k with Pr(Z <= k) >= share, by bisection."""
    low, high = -int(60 * law.scale) - 3, int(60 * law.scale) + 3
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at_most(law, middle) >= share else (middle, high)
    return high


def moments(law: Law) -> tuple[float, float]:
    """Mean and variance of |Z| for Laplace and of Z^2 for Gaussian: the scores for the scale."""
    s = law.scale
    if isinstance(law, DiscreteLaplace):
        q, gap = math.exp(-1 / s), -math.expm1(-1 / s)
        mean = 2 * q / (gap * (1 + q))
        return mean, 2 * q / gap**2 - mean**2
    if s > 30:
        return s**2, 2 * s**4
    support = np.arange(-math.ceil(14 * s) - 3, math.ceil(14 * s) + 4)
    masses = np.exp(-(support**2) / (2 * s**2))
    masses /= masses.sum()
    mean = float((support**2 * masses).sum())
    return mean, float((support**4 * masses).sum()) - mean**2


def disagreement(draws: Sequence[int], law: Law) -> str:
    """How draws contradict their law; empty when they do not."""
    values, count = np.array(draws, dtype=float), len(draws)
    zero = float(at_most(law, 0) - at_most(law, -1))
    if stats.binomtest(int((values == 0).sum()), count, min(1.0, zero)).pvalue < SMALLEST_P:
        return "zeros"
    edges = np.unique([smallest_with(law, share) for share in CELLS]).astype(float)
    ends = np.concatenate([[0.0], at_most(law, edges), [1.0]])
    expected, seen = [0.0], [0]
    for share, number in zip(np.diff(ends), np.histogram(values, [-np.inf, *(edges + 0.5), np.inf])[0], strict=True):
        if expected[-1] >= 0.0025:
            expected.append(0.0)
            seen.append(0)
        expected[-1] += share
        seen[-1] += number
    if expected[-1] < 0.0025 and len(expected) > 1:
        expected[-2:], seen[-2:] = [sum(expected[-2:])], [sum(seen[-2:])]
    if len(expected) > 1 and stats.chisquare(seen, count * np.array(expected)).pvalue < SMALLEST_P:
        return "cells"
    mean, variance = moments(law)
    scores = np.abs(values) if isinstance(law, DiscreteLaplace) else values**2
    enough = count * (1 - zero) >= 500
    if enough and abs(scores.mean() - mean) > LARGEST_SCORE * math.sqrt(variance / count):
        return "scale"
    return ""


# ---- goodness of fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_secure_noise_follows_its_law(law: Law) -> None:
    """False-alarm rate: see above. Draws are fresh."""
    assert disagreement(SecureNoise().draw([law] * draws_for(law)), law) == ""


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize("law", TWINS, ids=repr)
def test_twin_a_scale_ten_percent_off_is_seen(law: Law, factor: float) -> None:
    wrong = type(law)(law.scale * factor)
    assert disagreement(SecureNoise().draw([wrong] * draws_for(law)), law) != ""


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_seeded_noise_follows_the_same_law(law: Law) -> None:
    """Repeatable: 200,000 draws from a fixed seed."""
    draws = SeededNoise(7).draw_many(law, 200_000)
    assert draws.dtype == np.int64
    assert disagreement(draws, law) == ""


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize("law", TWINS, ids=repr)
def test_twin_seeded_noise_ten_percent_off_is_seen(law: Law, factor: float) -> None:
    assert disagreement(SeededNoise(7).draw_many(type(law)(law.scale * factor), draws_for(law)), law) != ""


def floored(law: Law, count: int) -> np.ndarray:
    return SeededNoise(1).draw_many(type(law)(max(1.0, math.floor(law.scale))), count)


def truncated(law: Law, count: int) -> np.ndarray:
    reach = int((5 if isinstance(law, DiscreteLaplace) else 2.5) * law.scale)
    return np.clip(SeededNoise(1).draw_many(law, count), -reach, reach)


def one_sided(law: Law, count: int) -> np.ndarray:
    return np.abs(SeededNoise(1).draw_many(law, count))


def of_the_other_law(law: Law, count: int) -> np.ndarray:
    other = (
        DiscreteGaussian(law.scale * 2**0.5)
        if isinstance(law, DiscreteLaplace)
        else DiscreteLaplace(law.scale / 2**0.5)
    )
    return SeededNoise(1).draw_many(other, count)


def variance_for_scale(law: Law, count: int) -> np.ndarray:
    return SeededNoise(1).draw_many(type(law)(law.scale**2), count)


def rounded_continuous(law: Law, count: int) -> np.ndarray:
    generator = np.random.default_rng(1)
    draw = generator.laplace if isinstance(law, DiscreteLaplace) else generator.normal
    return np.rint(draw(0, law.scale, count)).astype(np.int64)


@pytest.mark.parametrize(
    ("bug", "scales"),
    [
        (floored, (0.2, 0.7, 1.5, 2.7)),
        (truncated, (1.5, 2.7, 33.3, 1e7)),
        (one_sided, (0.7, 1.5, 33.3, 1e7)),
        (of_the_other_law, (1.5, 2.7, 33.3, 1e7)),
        (variance_for_scale, (0.2, 0.5, 0.7, 1.5, 33.3)),
        (rounded_continuous, (0.2, 0.5)),
    ],
)
def test_twin_a_planted_sampler_is_seen(bug: Callable[[Law, int], np.ndarray], scales: tuple[float, ...]) -> None:
    for law, scale in itertools.product((DiscreteLaplace, DiscreteGaussian), scales):
        if (law, scale) == (DiscreteGaussian, 0.2) and bug is variance_for_scale:
            continue  # hardly any draw differs from zero either way
        assert disagreement(bug(law(scale), 20_000), law(scale)) != "", (law, scale)


@pytest.mark.parametrize("law", [DiscreteLaplace(1e13), DiscreteGaussian(1e13), DiscreteLaplace(float(LARGEST_SCALE))])
def test_the_low_digits_of_large_draws_are_even(law: Law) -> None:
    """Noise made from floats has holes. Chi-square of draws modulo 2, 16 and 10, level 1e-9 each."""
    draws = SecureNoise().draw([law] * 10_000)
    for modulus in (2, 10, 16):
        seen = np.bincount([draw % modulus for draw in draws], minlength=modulus)
        assert stats.chisquare(seen).pvalue > SMALLEST_P


def test_twin_noise_made_from_floats_has_holes() -> None:
    draws = (np.random.default_rng(1).laplace(0, 1e17, 10_000)).astype(np.int64)
    assert stats.chisquare(np.bincount(draws % 16, minlength=16)).pvalue < SMALLEST_P


# ---- independence ----------------------------------------------------------------------------------------------

WIDE = DiscreteLaplace(float(LARGEST_SCALE))


def test_no_draw_is_used_twice() -> None:
    """Between coordinates, laws, calls and sessions. 4,000 draws of scale 1e17 meet with probability below 1e-9."""
    first, second = SecureNoise(), SecureNoise()
    draws = [draw for source in (first, second, first) for draw in source.draw([WIDE] * 1000)]
    draws += [first.draw([WIDE])[0] for _ in range(500)]
    wider = DiscreteGaussian(float(LARGEST_SCALE))
    draws += first.draw([WIDE, wider] * 250)
    assert len(set(draws)) == len(draws)
    assert 0 not in draws


def test_coordinates_and_calls_are_uncorrelated() -> None:
    """Correlation of 10,000 pairs below 6 / sqrt(10,000): false alarms below 1e-8 for signs."""
    laws: list[Law] = [DiscreteLaplace(1e9), DiscreteGaussian(1e9)]
    draws = np.sign(SecureNoise().draw(laws * 10_000)).astype(float)
    laplace, gaussian = draws[::2], draws[1::2]
    for left, right in ((laplace, gaussian), (laplace[1:], laplace[:-1]), (gaussian[1:], gaussian[:-1])):
        assert abs(float((left * right).mean())) < 0.06


def test_secure_noise_is_deaf_to_seeds_of_other_generators() -> None:
    """Two runs of 20 draws of scale 1e17 agree anywhere with probability below 1e-14."""
    runs = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002  # the seed that must not matter
        runs.append(SecureNoise().draw([WIDE] * 20))
    assert not set(runs[0]) & set(runs[1])
    assert SecureNoise().secure
    assert not SeededNoise(0).secure


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_draw_apart() -> None:
    """A generator that kept its state in memory would hand both children the same noise."""
    SecureNoise().draw([WIDE])
    runs = []
    for _ in range(2):
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                os.write(writing, repr(SecureNoise().draw([WIDE] * 20)).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            runs.append({int(part) for part in pipe.read().strip("[]").split(",")})
        os.waitpid(child, 0)
    runs.append(set(SecureNoise().draw([WIDE] * 20)))
    assert len(set().union(*runs)) == 60


def test_seeded_noise_repeats_with_its_seed_and_only_with_it() -> None:
    laws: list[Law] = [DiscreteLaplace(1e6), DiscreteGaussian(1e6), NoNoise(), DiscreteLaplace(1e5)] * 5
    first = SeededNoise(3).draw(laws)
    assert first == SeededNoise(3).draw(laws) == SeededNoise(np.random.default_rng(3)).draw(laws)
    assert first != SeededNoise(4).draw(laws)
    assert [draw for draw, law in zip(first, laws, strict=True) if law == NoNoise()] == [0] * 5
    legacy = [SeededNoise(np.random.RandomState(5)).draw(laws) for _ in range(2)]
    assert legacy[0] == legacy[1]
    generator = SeededNoise(3)
    assert generator.draw(laws) != generator.draw(laws)


@pytest.mark.parametrize("state", ["seed", -1, 1.5, object()])
def test_an_impossible_random_state_is_refused(state: object) -> None:
    with pytest.raises(ParameterError, match="random_state"):
        SeededNoise(state)


@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(0)])
def test_no_noise_is_none_and_nothing_is_drawn_for_nothing(source: Noise) -> None:
    assert source.draw([]) == []
    assert source.draw([NoNoise()] * 3) == [0, 0, 0]
    assert source.choose([3, 9, 9, 1], 0.0, pure=True) == 1


# ---- what a law says about itself ------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("level", [0.001, 0.5, 0.9, 0.95, 0.999999])
def test_half_width_is_the_smallest_that_holds_the_level(law: Law, level: float) -> None:
    k = law.half_width(level)
    inside = float(at_most(law, k) - at_most(law, -k - 1))
    assert inside >= level * (1 - 1e-12)
    narrower = 2 if isinstance(law, DiscreteGaussian) and law.scale >= SUMMED_GAUSSIAN_SCALE else 1
    if k >= narrower and law.scale < 1e12:  # beyond, one step is less than a float tells apart
        assert float(at_most(law, k - narrower) - at_most(law, narrower - k - 1)) < level
    if law.scale >= 1e12:
        continuous = -math.log(1 - level) if isinstance(law, DiscreteLaplace) else stats.norm.ppf((1 + level) / 2)
        assert k == pytest.approx(continuous * law.scale, rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_half_width_holds_for_levels_next_to_one(law: Law) -> None:
    tail = 1 - LARGEST_PART
    k = law.half_width(LARGEST_PART)
    continuous = -math.log(tail) if isinstance(law, DiscreteLaplace) else -stats.norm.ppf(tail / 2)
    assert k == pytest.approx(law.scale * continuous, rel=1e-9, abs=3)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_variance_is_that_of_the_law(law: Law) -> None:
    scale = law.scale
    if scale > 2000:
        expected = 2 * scale**2 - 1 / 6 if isinstance(law, DiscreteLaplace) else scale**2
    else:
        support = np.arange(-math.ceil(45 * scale) - 2, math.ceil(45 * scale) + 3)
        size = np.abs(support) / scale if isinstance(law, DiscreteLaplace) else (support / scale) ** 2 / 2
        expected = float((support**2 * np.exp(-size)).sum() / np.exp(-size).sum())
    assert law.variance == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, math.nan, "0.9", None])
def test_an_impossible_level_is_refused(level: object) -> None:
    for law in (DiscreteLaplace(1.0), DiscreteGaussian(1.0), DiscreteGaussian(1e9), NoNoise()):
        with pytest.raises(ParameterError, match="level"):
            law.half_width(level)  # type: ignore[arg-type]


# ---- 64 bits ---------------------------------------------------------------------------------------------------


def test_a_draw_at_the_end_of_64_bits_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for end in (2**63 - 1, -(2**63), -(2**63) + 1):

        def planted(*_: object, end: int = end) -> Callable[[list[int]], list[int]]:
            return lambda zeros: [*zeros[1:], end]

        monkeypatch.setattr(noise_module, "_sampler", planted)
        with pytest.raises(NoiseError, match="end of 64 bits"):
            SecureNoise().draw([DiscreteLaplace(5.0)] * 4)


def test_beyond_the_largest_scale_draws_do_saturate_and_are_refused() -> None:
    """At 2^62 a draw leaves 64 bits with probability 0.135 (Laplace) or 0.046 (Gaussian).

    None of 600 does with probability below 1e-12. That is why ``price`` stops at 2^63/80.
    """
    for law in (DiscreteLaplace(2.0**62), DiscreteGaussian(2.0**62)):
        with pytest.raises(NoiseError, match="not used"):
            SecureNoise().draw([law] * 600)


def test_a_refused_draw_leaves_its_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(epsilon=1)
    session = Session.open(np.zeros((4, 1)), Domain({"a": Real(0, 1)}), ledger=ledger, columns=["a"])
    monkeypatch.setattr(noise_module, "_sampler", lambda *_: lambda zeros: [2**63 - 1] * len(zeros))
    with pytest.raises(NoiseError) as refusal:
        session.answer([Question(Count(), Cost.pure("0.3"))])
    assert str(2**63 - 1) not in str(refusal.value)
    assert ledger.spent.epsilon == Cost.pure("0.3").epsilon


@pytest.mark.parametrize("random_state", [None, 0])
def test_totals_beyond_63_bits_work(random_state: int | None) -> None:
    """n^2 times a covariance of one, in grid steps: 2^64."""
    rows = 4096
    values = np.where(np.arange(rows) % 2 == 0, 1.0, 0.0)[:, None]
    domain = Domain({"a": Real(0, 1)}, neighbours="substitute", rows=rows)
    session = Session.open(values, domain, columns=["a"], random_state=random_state)
    (total,) = session.answer([Question(DirectCovariance(("a",), rows), Cost.pure(100))])
    assert total.values[0] > 2**63
    assert total.in_units()[0] == pytest.approx(1, abs=50 * total.laws[0].scale / total.unit)


# ---- paid choices ----------------------------------------------------------------------------------------------


def permute_and_flip(scores: Sequence[int], scale: float) -> np.ndarray:
    """Exact law of the noisy maximum with exponential noise (Ding et al. 2021).

    Candidates come in random order, and each is taken with probability exp((score - best) / scale).
    """
    taken = [math.exp((score - max(scores)) / scale) for score in scores]
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            law[candidate] += reached * taken[candidate] / len(orders)
            reached *= 1 - taken[candidate]
    return law


def exponential_mechanism(scores: Sequence[int], scale: float) -> np.ndarray:
    weights = np.exp((np.array(scores) - max(scores)) / scale)
    return weights / weights.sum()


LAW_OF_CHOICE = {True: permute_and_flip, False: exponential_mechanism}


def test_permute_and_flip_is_the_maximum_of_scores_with_exponential_noise() -> None:
    """The oracle itself, by quadrature."""
    for scores, scale in (((0, 3, 5), 2.0), ((1, 1, 0), 0.7), ((0, -10, -2), 5.0)):
        for i, law in enumerate(permute_and_flip(scores, scale)):

            def density(noise: float, i: int = i, scores: Sequence[int] = scores, scale: float = scale) -> float:
                others = [max(0.0, noise + (scores[i] - each) / scale) for j, each in enumerate(scores) if j != i]
                return math.exp(-noise) * math.prod(-math.expm1(-each) for each in others)

            kinks = sorted({max(0.0, (each - scores[i]) / scale) for each in scores})
            found = sum(
                integrate.quad(density, low, high)[0] for low, high in itertools.pairwise([*kinks, kinks[-1] + 60])
            )
            found += integrate.quad(density, 0, kinks[0])[0] if kinks[0] > 0 else 0.0
            assert found == pytest.approx(law, abs=1e-9)


SCORES = ((0, 3, 5, 5), (-7, -7, -7, -6), (0, -1, -40, -2), (12, 9, 3, 0))


def chosen(source: Noise, scores: Sequence[int], scale: float, pure: bool, count: int) -> np.ndarray:
    return np.bincount([source.choose(scores, scale, pure) for _ in range(count)], minlength=len(scores))


def fits(seen: np.ndarray, law: np.ndarray) -> bool:
    kept = law * seen.sum() >= 10
    if seen[~kept].sum() > 10 * max(1.0, float(law[~kept].sum()) * seen.sum()) + 30:
        return False
    expected = law[kept] / law[kept].sum() * seen[kept].sum()
    return bool(stats.chisquare(seen[kept], expected).pvalue > SMALLEST_P)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(11)], ids=["secure", "seeded"])
def test_a_choice_follows_the_law_of_the_noisy_maximum(source: Noise, pure: bool) -> None:
    """Chi-square over candidates, level 1e-9 for each of 16 secure comparisons."""
    for scores, scale in itertools.product(SCORES, (2.0, 5.5)):
        assert fits(chosen(source, scores, scale, pure, 1000), LAW_OF_CHOICE[pure](scores, scale)), (scores, scale)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_twin_a_choice_with_half_or_twice_the_noise_is_seen(pure: bool, factor: float) -> None:
    seen = chosen(SecureNoise(), SCORES[0], 2.0 * factor, pure, 3000)
    assert not fits(seen, LAW_OF_CHOICE[pure](SCORES[0], 2.0))


def test_twin_the_two_laws_of_choice_are_told_apart() -> None:
    """Of 5,000 choices the worse of two gets 920 or 1,345: thirteen standard deviations apart; six are enough."""
    scores = (0, 2)
    assert not fits(chosen(SecureNoise(), scores, 2.0, True, 5000), exponential_mechanism(scores, 2.0))
    assert not fits(chosen(SecureNoise(), scores, 2.0, False, 5000), permute_and_flip(scores, 2.0))


def neighbouring_scores(move: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    vectors = list(itertools.product(range(0, 7, 2), repeat=3))
    steps = list(itertools.product((-move, 0, move), repeat=3))
    return [(one, tuple(a + b for a, b in zip(one, step, strict=True))) for one in vectors for step in steps]


def largest_loss(scale: float, move: int) -> float:
    """The largest log-ratio of exact probabilities between score vectors that differ by at most ``move`` each."""
    losses = []
    for one, other in neighbouring_scores(move):
        losses.append(float(np.log(permute_and_flip(one, scale) / permute_and_flip(other, scale)).max()))
    return max(losses)


@pytest.mark.parametrize(("epsilon", "move"), [(0.1, 1), (1.0, 1), (1.0, 3), (4.0, 2)])
def test_a_pure_choice_costs_its_epsilon_and_all_of_it(epsilon: float, move: int) -> None:
    """Exact probabilities of every outcome over neighbouring scores; the noise halved is a twin."""
    assert 0.95 * epsilon <= largest_loss(2 * move / epsilon, move) <= epsilon * (1 + 1e-9)
    assert largest_loss(move / epsilon, move) > 1.5 * epsilon


@pytest.mark.parametrize(("rho", "move"), [(0.005, 1), (0.5, 1), (0.5, 3), (2.0, 2)])
def test_a_choice_in_rho_costs_at_most_its_rho_at_every_order(rho: float, move: int) -> None:
    """Renyi divergence of exact probabilities at most order x rho; the noise halved is a twin."""

    def largest(scale: float) -> float:
        costs = []
        for one, other in neighbouring_scores(move):
            p, q = exponential_mechanism(one, scale), exponential_mechanism(other, scale)
            for order in (1.01, 1.5, 2.0, 4.0, 16.0):
                costs.append(math.log((p**order * q ** (1 - order)).sum()) / (order - 1) / order)
        return max(costs)

    scale = move / math.sqrt(2 * rho)
    assert 0.5 * rho <= largest(scale) <= rho * (1 + 1e-9)
    assert largest(scale / 2) > rho
