"""The error of the best classifier of a Gaussian mixture, bounds on it, and what a noisy copy of it may lose.

All of it is arithmetic on parameters: give released ones, and it costs nothing. It speaks of the mixture that is
given, not of the people behind it; ``plug_in_excess`` bounds what a classifier built from other parameters loses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import chi2, norm

from sordino.errors import ParameterError
from sordino.models.mixture_law import drawn, log_joint

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class BayesError:
    """An error rate, and the standard error of its estimate: 0 where it is exact."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class Mixture:
    """Classes with Gaussian densities: priors, a mean per class, and a covariance per class (a variance in 1-d)."""

    priors: Floats
    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, priors: Any, means: Any, covariances: Any) -> Mixture:
        """Checked, and priors divided by their sum; one-dimensional classes may be given by numbers."""
        try:
            shares = np.asarray(priors, float).reshape(-1)
            middles = np.asarray(means, float).reshape(len(shares), -1)
            dimension = middles.shape[1]
            shapes = np.asarray(covariances, float).reshape(len(shares), dimension, dimension)
        except (TypeError, ValueError):
            raise ParameterError(
                "bayes_error: needs for each class a prior, a mean, and a covariance with a row and a column for each "
                "number of the mean. The shapes given do not fit each other."
            ) from None
        if not (shares > 0).all() or not np.isfinite(middles).all() or not np.isfinite(shapes).all():
            raise ParameterError("bayes_error: priors must be above 0, means and covariances finite numbers.")
        if (np.linalg.eigvalsh(shapes)[:, 0] <= 0).any():
            raise ParameterError("bayes_error: covariances must be positive definite. Repair them first.")
        return cls(shares / shares.sum(), middles, shapes)

    def log_joint(self, points: Floats) -> Floats:
        """log (prior x density), a column per class."""
        return log_joint(self.priors, self.means, self.covariances, points)


def bayes_error(
    priors: Any, means: Any, covariances: Any, *, draws: int = 100_000, generator: np.random.Generator | None = None
) -> BayesError:
    """The smallest error that any classifier has on a Gaussian mixture.

    Exact in one dimension, from normal tails between the points where classes tie. Beyond, the mean of one minus the
    largest posterior over points drawn from the mixture, with its standard error.

    >>> round(bayes_error([0.5, 0.5], [-1, 1], [1, 1]).value, 6)
    0.158655
    """
    mixture = Mixture.of(priors, means, covariances)
    if mixture.means.shape[1] == 1:
        return BayesError(_exact(mixture), 0.0)
    public = np.random.default_rng(0) if generator is None else generator
    points, _ = drawn(mixture.priors, mixture.means, mixture.covariances, draws, public)
    joint = mixture.log_joint(points)
    losses = 1 - np.exp(joint.max(axis=1) - logsumexp(joint, axis=1))
    return BayesError(float(losses.mean()), float(losses.std(ddof=1) / math.sqrt(draws)))


def _exact(mixture: Mixture) -> float:
    """One minus the mass of the likeliest class, interval by interval."""
    ends = np.concatenate([[-np.inf], _ties(mixture), [np.inf]])
    inner = ends[1:-1]
    middles = (
        np.array([0.0])
        if not len(inner)
        else np.concatenate([[inner[0] - 1], (inner[1:] + inner[:-1]) / 2, [inner[-1] + 1]])
    )
    winners = mixture.log_joint(middles[:, None]).argmax(axis=1)
    middle, spread = mixture.means[winners, 0], np.sqrt(mixture.covariances[winners, 0, 0])
    mass = norm.cdf((ends[1:] - middle) / spread) - norm.cdf((ends[:-1] - middle) / spread)
    return float(1 - np.sum(mixture.priors[winners] * mass))


def _ties(mixture: Mixture) -> Floats:
    """Every point at which two classes have the same prior x density, in order."""
    variances, means = mixture.covariances[:, 0, 0], mixture.means[:, 0]
    forms = np.column_stack(
        [-0.5 / variances, means / variances, np.log(mixture.priors) - 0.5 * (np.log(variances) + means**2 / variances)]
    )
    pairs = [(first, second) for second in range(len(means)) for first in range(second)]
    found: list[Any] = [np.roots(np.trim_zeros(forms[first] - forms[second], "f")) for first, second in pairs]
    roots = np.concatenate([*found, np.zeros(0)])
    ties: Floats = np.unique(roots[np.abs(roots.imag) < 1e-12].real)
    return ties


# --- bounds for two classes ---------------------------------------------------------------------------------------


def bhattacharyya(priors: Any, means: Any, covariances: Any) -> float:
    """sqrt(P1 P2) exp(-K) >= the Bayes error of two classes."""
    mixture = _of_two(priors, means, covariances)
    return float(math.sqrt(mixture.priors[0] * mixture.priors[1]) * math.exp(-_exponent(mixture, 0.5)))


def chernoff(priors: Any, means: Any, covariances: Any) -> float:
    """The smallest P1^b P2^(1-b) exp(-K(b)) over b: never above ``bhattacharyya``."""
    mixture = _of_two(priors, means, covariances)
    first, second = np.log(mixture.priors)

    def logarithm(power: float) -> float:
        return float(power * first + (1 - power) * second - _exponent(mixture, power))

    best = minimize_scalar(logarithm, bounds=(0.0, 1.0), method="bounded")
    return float(math.exp(min(best.fun, logarithm(0.5), logarithm(0.0), logarithm(1.0))))


def _exponent(mixture: Mixture, power: float) -> float:
    """K(b) with exp(-K(b)) the integral of f1^b f2^(1-b)."""
    first, second = mixture.covariances
    apart = mixture.means[1] - mixture.means[0]
    mixed = (1 - power) * first + power * second
    sizes = [np.linalg.slogdet(each)[1] for each in (mixed, first, second)]
    distance = power * (1 - power) / 2 * float(apart @ np.linalg.solve(mixed, apart))
    return float(distance + 0.5 * (sizes[0] - (1 - power) * sizes[1] - power * sizes[2]))


def _of_two(priors: Any, means: Any, covariances: Any) -> Mixture:
    mixture = Mixture.of(priors, means, covariances)
    if len(mixture.priors) != 2:
        raise ParameterError(f"bayes_error: this bound is for two classes. Got {len(mixture.priors)}.")
    return mixture


# --- what noise does to it -----------------------------------------------------------------------------------------


def exponent_interval(
    means: tuple[float, float],
    variances: tuple[float, float],
    sizes: tuple[int, int],
    scales: tuple[float, float, float, float],
    level: float,
) -> tuple[float, float, float]:
    """Theorem 4.1 of Xi, Kantarcioglu and Inan (2011) as it should read: ends for the noisy exponent, and how surely.

    The exponent K of ``bhattacharyya`` in one dimension, computed from sample means and variances of ``sizes`` records
    plus Laplace noise of ``scales`` (two means, two variances), lies between the ends with probability at least
    (1 - level)^8: eight independent numbers, each within its central 1 - level. Both means must stay above zero, and
    both variances, or the interval arithmetic does not hold. It speaks of K with noise in it, not of any error rate.
    """
    tail = -math.log(level)
    reach = [
        math.sqrt(variance / size) * float(norm.ppf(1 - level / 2)) + scale * tail
        for variance, size, scale in zip(variances, sizes, scales[:2], strict=True)
    ]
    low = [mean - each for mean, each in zip(means, reach, strict=True)]
    high = [mean + each for mean, each in zip(means, reach, strict=True)]
    least = _spread_end(variances, sizes, scales, level / 2, -tail)
    most = _spread_end(variances, sizes, scales, 1 - level / 2, tail)
    if min(low) <= 0 or min(least) <= 0:
        raise ParameterError("exponent_interval: means and variances must be positive at both ends. Give more data.")
    lower = sum(each**2 for each in low) / (4 * sum(most)) - high[0] * high[1] / (2 * sum(least))
    upper = sum(each**2 for each in high) / (4 * sum(least)) - low[0] * low[1] / (2 * sum(most))
    lower += math.log(sum(least)) / 2 - math.log(4 * most[0] * most[1]) / 4
    upper += math.log(sum(most)) / 2 - math.log(4 * least[0] * least[1]) / 4
    return lower, upper, (1 - level) ** 8


def _spread_end(
    variances: tuple[float, float], sizes: tuple[int, int], scales: tuple[float, ...], quantile: float, tail: float
) -> list[float]:
    """One end of both noisy variances."""
    return [
        variance / size * float(chi2.ppf(quantile, size - 1)) + scale * tail
        for variance, size, scale in zip(variances, sizes, scales[2:], strict=True)
    ]


def plug_in_excess(mixture: Mixture, noisy: Mixture) -> float:
    """At most so much more often than the best classifier errs one that takes ``noisy`` for the truth.

    The excess is at most the sum over classes of the L1 distance between prior x density, true and noisy: wherever the
    noisy classifier prefers another class, it loses no more than the two differences there. The distance is bounded by
    abs(p - q) + 2 q TV, and the total variation by Pinsker's inequality.
    """
    total = 0.0
    for place in range(len(mixture.priors)):
        total += abs(mixture.priors[place] - noisy.priors[place])
        total += 2 * noisy.priors[place] * min(1.0, math.sqrt(max(0.0, _divergence(mixture, noisy, place)) / 2))
    return min(1.0, total)


def _divergence(mixture: Mixture, noisy: Mixture, place: int) -> float:
    """Kullback-Leibler divergence of one class's density from its noisy copy."""
    truth, copy = mixture.covariances[place], noisy.covariances[place]
    apart = noisy.means[place] - mixture.means[place]
    sizes = np.linalg.slogdet(copy)[1] - np.linalg.slogdet(truth)[1]
    trace = np.trace(np.linalg.solve(copy, truth))
    return float(0.5 * (trace + apart @ np.linalg.solve(copy, apart) - len(apart) + sizes))
