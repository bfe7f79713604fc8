"""Gaussians from noisy sums: which moments the noise allows, what is bought, and what becomes of it.

Everything here is public: released totals, the known variance of their noise, and decisions made from these alone. The
coordinates are those of a record map in a ball of radius one; the variance of a coordinate is thought to be about 1/d,
for the radius was bought to hold most records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from sordino.cost import Cost
from sordino.models.checks import check_word
from sordino.models.estimator import Opening
from sordino.models.gaps import by_gaps
from sordino.privacy.price import Question
from sordino.release import NoisyTotal
from sordino.repair.positive_definite import from_triangle, with_floor
from sordino.repair.shrinkage import spectral, towards
from sordino.statistics.by_class import ByClass
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.moments import SecondMoment
from sordino.statistics.squares import Squares
from sordino.statistics.statistic import Statistic
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import VectorMap

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: What is bought about the spread: a matrix per class, one for all, squares per class, or nothing.
Structure = Literal["full", "pooled", "diagonal", "means"]

Covariance = Literal["auto", "full", "shrunk", "pooled", "diagonal"]

#: A structure is bought when its noise, in units of what it measures, is below this.
LIMITS: dict[Structure, float] = {"full": 1.0, "pooled": 1.5, "diagonal": 0.35}

#: No eigenvalue falls below this part of the usual variance.
FLOOR = 0.03


@dataclass(frozen=True)
class Moments:
    """Released moments of the classes, with the variance of noise and sampling in an entry of each.

    ``means`` and ``means_noise`` are shrunk and say how badly each mean is known. ``within`` is C x d x d, 1 x d x d or
    C x d, as ``structure`` says, not yet repaired, and None when no second moment was bought.
    """

    structure: Structure
    counts: Floats
    means: Floats
    means_noise: Floats
    within: Floats | None
    within_noise: Floats
    usual_variance: float

    @property
    def priors(self) -> Floats:
        """Shares of the classes."""
        shares: Floats = self.counts / self.counts.sum()
        return shares


def statistics_of(structure: Structure, of: VectorMap, classes: CategoryAxis, pure: bool) -> list[Statistic]:
    """The sums by class, and the second moments of a structure."""
    moments = SecondMoment(of, frobenius=not pure)
    spreads: dict[Structure, list[Statistic]] = {
        "full": [ByClass(moments, classes)],
        "pooled": [moments],
        "diagonal": [ByClass(Squares(of), classes)],
        "means": [],
    }
    return [ByClass(Sum(of), classes), *spreads[structure]]


def questions(
    opening: Opening, structure: Structure, of: VectorMap, classes: CategoryAxis, cost: Cost
) -> list[Question]:
    """What is asked, each with the share of the cost that makes the summed variance least."""
    asked = statistics_of(structure, of, classes, cost.is_pure)
    shares = opening.session.split(cost, asked)
    return [Question(each, share) for each, share in zip(asked, shares, strict=True)]


def affordable(opening: Opening, of: VectorMap, classes: CategoryAxis, cost: Cost, counts: Floats) -> Structure:
    """The richest structure whose noise stays below its limit: by known noise and released counts."""
    dimension, several = len(of.columns), float(np.sort(counts)[(len(counts) - 1) // 2])
    many: dict[Structure, tuple[float, float]] = {
        "full": (several, 2 * math.sqrt(dimension)),
        "pooled": (float(counts.sum()), 2 * math.sqrt(dimension)),
        "diagonal": (several, 1.0),
    }
    for structure, (records, factor) in many.items():
        noise = spreads(opening, questions(opening, structure, of, classes, cost)[1:])[0]
        if factor * noise * dimension / records < LIMITS[structure]:
            return structure
    return "means"


def spreads(opening: Opening, asked: Sequence[Question]) -> list[float]:
    """The standard deviation, in units, of the noise in the least noisy entry of each answer."""
    prices = opening.session.price(asked)
    return [math.sqrt(min(law.variance for law in set(each.laws))) / each.statistic.unit for each in prices]


def bought_moments(
    opening: Opening, structure: Structure, of: VectorMap, classes: CategoryAxis, cost: Cost, counts: Floats
) -> Moments:
    """Pay for the totals of a structure, and make moments of them."""
    asked = questions(opening, structure, of, classes, cost)
    totals = opening.session.answer(asked)
    opening.receipts.extend(total.receipt for total in totals)
    noises = spreads(opening, asked)
    means, unsure = _means(totals[0], counts, noises[0])
    if structure == "means":
        return Moments(structure, counts, means, unsure, None, np.zeros(1), 1.0 / means.shape[1])
    within, noise = _within(structure, totals[1], counts, means, unsure, noises[1])
    usual = _usual(within, counts, noise)
    many = counts.sum() if structure == "pooled" else counts
    return Moments(structure, counts, means, unsure, within, noise + usual**2 / many, usual)


def _usual(within: Floats, counts: Floats, noise: Floats) -> float:
    """The mean variance of a coordinate: not below its noise, nor above what a ball of radius one allows."""
    dimension = within.shape[-1]
    diagonals = within if within.ndim == 2 else np.einsum("cii->ci", within)
    shares = counts / counts.sum() if len(diagonals) > 1 else np.ones(1)
    unsure = math.sqrt(float(np.sum(shares**2 * noise)) / dimension)
    return float(min(max(float(shares @ diagonals.mean(axis=1)), unsure, 1e-12), 1 / dimension))


def _means(total: NoisyTotal, counts: Floats, noise: float) -> tuple[Floats, Floats]:
    """Means of the classes, pulled towards each other and their mean towards the middle; the variance that is left.

    A class whose mean is badly known keeps little of its distance from the others: a factor A / (A + v) with A the
    variance between classes, estimated with weights that trust the well-known ones, and not below its own error.
    """
    values = np.array(total.in_units()).reshape(len(counts), -1)
    means, variance = values / counts[:, None], (noise / counts) ** 2
    shares = counts / counts.sum()
    grand = towards(shares @ means, 0.0, float(np.sum((shares**2) * variance)))[0]
    apart = means - shares @ means
    weights = 1 / (variance + 1 / means.shape[1] / counts) ** 2
    between = np.sum(weights[:, None] * (apart**2 - variance[:, None])) / (weights.sum() * means.shape[1])
    unsure = float(variance.mean()) * math.sqrt(2 / apart.size)  # of the estimate: never all alike by bad luck
    between = max(float(between), unsure)
    kept = between / (between + variance + 1e-300)
    return grand + kept[:, None] * apart, kept * variance


def _within(
    structure: Structure, total: NoisyTotal, counts: Floats, means: Floats, unsure: Floats, noise: float
) -> tuple[Floats, Floats]:
    """Second moments less the squared means; the variance of the noise in an entry."""
    values = np.array(total.in_units())
    if structure == "diagonal":
        within = values.reshape(len(counts), -1) / counts[:, None] - means**2 + unsure[:, None]
        return within, (noise / counts) ** 2
    products = means[:, :, None] * means[:, None, :]
    if structure == "full":
        identity = unsure[:, None, None] * np.eye(means.shape[1])
        within = from_triangle(values.reshape(len(counts), -1)) / counts[:, None, None] - products + identity
        return within, (noise / counts) ** 2
    shares = counts / counts.sum()
    within = from_triangle(values) / counts.sum() - np.tensordot(shares, products, 1)
    within = within + float(shares @ unsure) * np.eye(means.shape[1])
    return within[None], np.array([(noise / counts.sum()) ** 2])


# --- from moments to classifiers --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gaussians:
    """One Gaussian per class, in the coordinates of a record map: a candidate classifier."""

    name: str
    priors: Floats
    means: Floats
    covariances: Floats
    tempered: float = 1.0

    def coefficients(self) -> tuple[Floats, Floats, Floats | None]:
        """Constants, slopes and matrices of the log scores; no matrices when all covariances are one."""
        precisions: Any = np.linalg.inv(self.covariances)
        log_sizes: Any = np.linalg.slogdet(self.covariances)[1]
        slopes = np.einsum("cij,cj->ci", precisions, self.means)
        constants = -0.5 * log_sizes - 0.5 * np.einsum("ci,ci->c", slopes, self.means)
        alike = bool(np.all(precisions == precisions[0]))
        matrices = None if alike else -0.5 * self.tempered * precisions
        return np.log(self.priors) + self.tempered * constants, self.tempered * slopes, matrices

    def log_scores(self, vectors: Floats) -> Floats:
        """One row of log scores per vector; a coordinate that is NaN is left out of every Gaussian."""
        scores = np.empty((len(vectors), len(self.priors)))
        for places, columns in by_gaps(vectors):
            left = replace(
                self, means=self.means[:, columns], covariances=self.covariances[:, columns[:, None], columns]
            )
            scores[places] = log_scores(*left.coefficients(), vectors[np.ix_(places, columns)])
        return scores


def log_scores(constants: Floats, slopes: Floats, matrices: Floats | None, vectors: Floats) -> Floats:
    """Constant + slope · x + x' M x, per class: what ``coefficients`` say of vectors."""
    scores: Floats = constants + vectors @ slopes.T
    if matrices is not None:
        for place, matrix in enumerate(matrices):
            scores[:, place] += np.einsum("ij,ij->i", vectors @ matrix, vectors)
    return scores


def usual_gaussians(moments: Moments, covariance: Covariance) -> Gaussians:
    """The classifier that ``GaussianBayes`` uses: by structure, without a further look at the table."""
    if moments.structure == "full" and covariance == "full":
        return _matrices(moments, mix=None, ridge=0.25)
    if moments.structure in ("full", "pooled"):
        return _matrices(moments, mix=1.0, ridge=0.25 if moments.structure == "full" else 1.0)
    return _diagonals(moments)


def candidates(moments: Moments) -> list[Gaussians]:
    """Classifiers made of the same moments, to choose among: more and less shrunk, and with fewer parameters."""
    listed = []
    if moments.structure == "full":
        listed += [_matrices(moments, mix=mix, ridge=ridge) for mix in (0.0, 0.5, 1.0) for ridge in (0.25, 1.5)]
    if moments.structure == "pooled":
        listed += [_matrices(moments, mix=0.0, ridge=ridge) for ridge in (0.25, 1.0, 4.0)]
    if moments.structure in ("full", "diagonal"):
        listed += [_diagonals(moments), _diagonals(moments, tempered=1 / 3)]
    return [*listed, _diagonals(moments, alike=True), _diagonals(moments, alike=True, tempered=1 / 3)]


def _pooled(moments: Moments) -> tuple[Floats, float]:
    """One covariance for all classes, and the variance of an entry."""
    assert moments.within is not None
    if moments.structure == "pooled":
        return moments.within[0], float(moments.within_noise[0])
    shares = moments.priors
    return np.tensordot(shares, moments.within, 1), float(np.sum(shares**2 * moments.within_noise))


def _matrices(moments: Moments, mix: float | None, ridge: float) -> Gaussians:
    """Full covariances: the pooled one, and of each class's own as much as is more than noise; ``mix`` of that."""
    dimension, usual = moments.means.shape[1], moments.usual_variance
    pooled, noise = _pooled(moments)
    assert moments.within is not None
    common = spectral(pooled, noise, FLOOR * usual)
    identity = np.eye(dimension)
    listed = []
    for place in range(len(moments.means)):
        own, own_noise = (
            (pooled, noise)
            if moments.structure == "pooled"
            else (moments.within[place], float(moments.within_noise[place]))
        )
        if mix is None:
            matrix = with_floor(own, FLOOR * usual)
        elif mix == 0 or moments.structure == "pooled":
            matrix, own_noise = common, noise
        else:
            apart = (own - pooled)[~np.eye(dimension, dtype=bool)] if dimension > 1 else (own - pooled)[0]
            share = mix * float(towards(apart, 0.0, own_noise)[1].item())
            own_noise = (1 - share) ** 2 * noise + share**2 * own_noise
            matrix = (1 - share) * common + share * spectral(own, float(moments.within_noise[place]), FLOOR * usual)
        listed.append(matrix + ridge * math.sqrt(own_noise * dimension) * identity)
    unsure = moments.means_noise if mix != 0 else np.full(len(listed), moments.priors @ moments.means_noise)
    covariances = np.array(listed) + unsure[:, None, None] * identity
    return Gaussians(f"mix {mix}, ridge {ridge}", moments.priors, moments.means, covariances)


def _diagonals(moments: Moments, alike: bool = False, tempered: float = 1.0) -> Gaussians:
    """Independent coordinates: the variances of each class pulled towards the common ones, or these alone."""
    classes, dimension = moments.means.shape
    usual, shares = moments.usual_variance, moments.priors
    if moments.within is None:
        between = shares @ (moments.means - shares @ moments.means) ** 2
        variances = np.full((classes, dimension), max(usual - float(between.mean()), usual / 4))
    elif moments.structure == "pooled":
        variances = np.tile(np.maximum(np.diag(moments.within[0]), 0.15 * usual), (classes, 1))
    else:
        own = np.einsum("cii->ci", moments.within) if moments.structure == "full" else moments.within
        common = np.maximum(shares @ own, 0.15 * usual)
        noise = moments.within_noise[:, None] * (2 if moments.structure == "full" else 1)
        pulled = towards(own, common, noise, axis=1)[0]
        variances = np.tile(common, (classes, 1)) if alike else np.maximum(pulled, 0.15 * common)
    unsure = np.full(classes, float(shares @ moments.means_noise)) if alike else moments.means_noise
    covariances = (variances + unsure[:, None])[:, :, None] * np.eye(dimension)
    name = ("equal " if alike else "") + "variances" + ("" if tempered == 1 else ", tempered")
    return Gaussians(name, shares, moments.means, covariances, tempered)


def checked_covariance(who: str, covariance: Any) -> Covariance:
    """One of the known words."""
    check_word(f"{who}: covariance", covariance, get_args(Covariance))
    known: Covariance = covariance
    return known
