"""Gaussian classes with noisy counts, means and covariances: quadratic, linear or naive, as the noise allows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sordino.cost import Amount, Cost
from sordino.domain import Domain, Neighbours
from sordino.models.checks import check_whole
from sordino.models.class_counts import Accounts, bought_counts, remaining
from sordino.models.classifier import Classifier
from sordino.models.estimator import Floats, Opening
from sordino.models.gaussians import (
    Covariance,
    Gaussians,
    Moments,
    Structure,
    affordable,
    bought_moments,
    checked_covariance,
    usual_gaussians,
)
from sordino.models.mixture_law import drawn
from sordino.models.ranges import Ranges, bought_ranges, checked_ranges, declared_ranges
from sordino.statistics.histograms import CategoryAxis

#: The part of what is left after the class sizes that pays for private ranges.
RANGES = Fraction(1, 4)

_BOUGHT: dict[Covariance, Structure] = {
    "full": "full",
    "shrunk": "full",
    "pooled": "pooled",
    "diagonal": "diagonal",
}


class GaussianBayes(Classifier):
    """A Gaussian per class: the likeliest class under noisy class sizes, means and covariances.

    ``covariance`` is ``"full"`` (a matrix per class), ``"shrunk"`` (towards the common one, by the share that is more
    than noise), ``"pooled"`` (one for all classes), ``"diagonal"`` (a variance per class and column) or ``"auto"``: the
    richest of them whose noise is small beside what it measures, by public facts and released counts alone.
    ``ranges="private"`` first buys where the records lie and how far they reach, and clips to that, test rows too;
    ``"declared"`` takes the box as it is.

    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> rows = np.vstack([generator.normal(-2, 1, (500, 2)), generator.normal(2, 1, (500, 2))])
    >>> labels = np.repeat(["left", "right"], 500)
    >>> model = GaussianBayes(epsilon=1, bounds=(-100, 100), classes=["left", "right"], random_state=0)
    >>> model.fit(rows, labels).predict([[-2, -2], [3, 1]]).tolist()
    ['left', 'right']
    """

    class_prior_: Floats
    class_count_: Floats
    means_: Floats
    covariances_: Floats
    centre_: Floats
    radius_: float
    structure_: str

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        covariance: Covariance = "auto",
        ranges: Literal["private", "declared"] = "private",
        bounds: Any = None,
        domain: Domain | None = None,
        classes: Any = None,
        neighbours: Neighbours = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.covariance = covariance
        self.ranges = ranges
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> GaussianBayes:
        """Learn from noisy totals; ``y`` names the target of a private table, or is the labels of arrays."""
        who = type(self).__name__
        covariance, ranges = checked_covariance(who, self.covariance), checked_ranges(who, self.ranges)
        opening = self._open(X, y)
        classes = CategoryAxis.of(opening.domain, str(opening.target))
        declared_ranges(len(opening.features)).of(opening.features)  # too many columns are refused before a charge
        accounts = Accounts.of(opening)
        counts = bought_counts(opening, classes, accounts.counts)
        found, moments = learned(opening, classes, accounts.rest, counts, ranges, covariance)
        self._keep(opening, found, usual_gaussians(moments, covariance), counts, moments)
        self.receipt_ = opening.receipt(*_poor(moments, covariance))
        return self

    def _keep(self, opening: Opening, found: Ranges, gaussians: Gaussians, counts: Floats, moments: Moments) -> None:
        """The Gaussians in the columns' own units, and the record map."""
        self.classes_ = np.array([]) if opening.classes is None else opening.classes
        middles, units = found.scales(self.domain_)
        self.centre_, self.radius_ = np.array(found.centre), found.radius
        self.class_count_, self.class_prior_ = counts, gaussians.priors
        self.means_ = middles + units * gaussians.means
        self.covariances_ = gaussians.covariances * units[:, None] * units
        self.structure_ = moments.structure

    @property
    def record_map(self) -> Ranges:
        """What was bought, or declared, about the ranges."""
        check_is_fitted(self, "receipt_")
        return Ranges(tuple(self.centre_.tolist()), self.radius_)

    def _log_scores(self, rows: Floats) -> Floats:
        middles, units = self.record_map.scales(self.domain_)
        means = (self.means_ - middles) / units
        covariances = self.covariances_ / units[:, None] / units
        gaussians = Gaussians("fitted", self.class_prior_, means, covariances)
        return gaussians.log_scores(self.record_map.placed(self.domain_, rows))

    def sample(self, n: int, random_state: Any = 0) -> tuple[Floats, np.ndarray[Any, Any]]:
        """Made-up rows and labels from the fitted Gaussians, clipped to the declared bounds. Costs nothing."""
        check_is_fitted(self, "receipt_")
        check_whole("sample: n", n, 1)
        generator = np.random.default_rng(random_state)
        points, labels = drawn(self.class_prior_, self.means_, self.covariances_, n, generator)
        lows = [self.domain_.real(name).low for name in self.domain_.columns]
        highs = [self.domain_.real(name).high for name in self.domain_.columns]
        return np.clip(points, lows, highs), self.classes_[labels]


def learned(
    opening: Opening,
    classes: CategoryAxis,
    cost: Cost,
    counts: Floats,
    ranges: Literal["private", "declared"],
    covariance: Covariance,
) -> tuple[Ranges, Moments]:
    """The record map, and the moments that what is left can buy."""
    found = declared_ranges(len(opening.features))
    if ranges == "private":
        found = bought_ranges(opening.session, opening.features, cost.share(RANGES), float(counts.sum()))
        opening.receipts.extend(found.receipts)
        cost = remaining(cost, sum((each.cost for each in found.receipts), Cost()))
    of = found.of(opening.features)
    structure = _BOUGHT.get(covariance) or affordable(opening, of, classes, cost, counts)
    return found, bought_moments(opening, structure, of, classes, cost, counts)


def _poor(moments: Moments, covariance: Covariance) -> tuple[str, ...]:
    if covariance == "auto" and moments.structure == "means":
        return ("too little budget for any covariance: equal variances, and means alone tell the classes apart",)
    return ()
