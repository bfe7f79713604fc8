"""A paid choice among released candidates: Gaussian classes, one-column rules, and the majority class."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sordino.cost import Amount, Cost
from sordino.domain import Domain, Neighbours
from sordino.models.class_counts import Accounts, bought_counts, choice_strength, stated_epsilon
from sordino.models.classifier import Classifier
from sordino.models.estimator import Floats, Opening
from sordino.models.gaussian_bayes import learned
from sordino.models.gaussians import Gaussians, candidates, questions, spreads
from sordino.models.ranges import Ranges, checked_ranges, declared_ranges
from sordino.models.rules import CHOICE, ENOUGH_RECORDS, Rule, bought_rule, counted_rule, rules_of, weighed
from sordino.models.thinning import thinned
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.hits import ConstantHits, Discriminant, ModelHits

#: Below this many rows x ε, for two classes, nothing but a rule is worth buying.
RULE_ALONE = 140

#: The noise of a mean, in units of its column's spread, up to which means are worth buying: two classes, and more.
USEFUL_MEANS = (0.6, 2.0)

#: The choice pays: at least and at most this part for two classes, and this part for more when the choice is sharp.
PARTS = (0.1, 0.4)

#: The weight of all rules together against that of all models, before anything is looked at.
RULES_WEIGHT = math.exp(-1)

#: With more than two classes the choice must be at least so sharp (rows x e), and none needs to be sharper than this.
SHARP, SHARPEST = 200.0, 5000.0

#: Steps of the grid on which candidates are compared, record by record.
COMPARED_STEPS = 2**12


class PrivateClassifier(Classifier):
    """Buys several candidates and pays for a look at which of them is right most often.

    Class sizes first. Where rows x ε is small, all that is left goes to a one-column rule (see ``ThresholdRule``).
    Otherwise ranges and moments are bought as in ``GaussianBayes``, several classifiers are made of the same moments,
    and a noisy maximum of training hits chooses among them, every one-column rule and every constant answer. The hits
    under add-remove are monotone, so this costs no factor 2. ``chosen_`` says what was taken.

    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> rows = np.vstack([generator.normal(-2, 1, (500, 2)), generator.normal(2, 1, (500, 2))])
    >>> labels = np.repeat(["left", "right"], 500)
    >>> model = PrivateClassifier(epsilon=0.5, bounds=(-100, 100), classes=["left", "right"], random_state=0)
    >>> model.fit(rows, labels).predict([[-2, -2], [3, 1]]).tolist()
    ['left', 'right']
    """

    chosen_: str
    class_count_: Floats
    centre_: Floats | None
    radius_: float | None
    class_prior_: Floats | None
    means_: Floats | None
    covariances_: Floats | None
    tempered_: float | None
    coordinate_: int | None
    cut_: float | None
    table_: Floats | None

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
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
        self.ranges = ranges
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> PrivateClassifier:
        """Buy candidates, then the choice; ``y`` names the target of a private table, or is the labels of arrays."""
        ranges = checked_ranges(type(self).__name__, self.ranges)
        opening = self._open(X, y)
        classes = CategoryAxis.of(opening.domain, str(opening.target))
        if classes.cells > 1:
            rules_of(opening.features, classes)  # too many candidates are refused before a charge
        accounts = Accounts.of(opening)
        counts = bought_counts(opening, classes, accounts.counts)
        self.classes_ = np.array([]) if opening.classes is None else opening.classes
        self.class_count_ = counts
        if only_a_rule(opening, classes, accounts.rest, counts):
            self._keep_rule(bought_rule(opening, classes, accounts.rest_pure, float(counts.sum())), "rule")
            self.receipt_ = opening.receipt("too little budget for Gaussians: all of it went to a one-column rule")
            return self
        part = part_for_choice(accounts.rest, counts)
        found, moments = learned(opening, classes, accounts.rest.share(1 - part), counts, ranges, "auto")
        listed = candidates(moments)
        if part:
            self._choose(opening, classes, found, listed, accounts.rest.share(part))
        else:
            self._keep_gaussians(found, listed[0])
        self.receipt_ = opening.receipt()
        return self

    def _choose(
        self, opening: Opening, classes: CategoryAxis, found: Ranges, listed: list[Gaussians], cost: Cost
    ) -> None:
        """Pay for the candidate that is right most often; a rule or a constant also for the counts behind it."""
        constants, rules = ConstantHits(classes, opening.features), rules_of(opening.features, classes)
        compared = tuple(_compared(each) for each in listed)
        models = ModelHits(found.of(opening.features, COMPARED_STEPS), classes, compared)
        weights, paid = (1.0, 1 / len(listed), RULES_WEIGHT), cost.share(CHOICE)
        joined = weighed(opening.session, (models, constants, rules), weights, paid)
        rows = float(self.class_count_.sum())
        index, receipt = opening.session.choose(thinned(joined, rows, ENOUGH_RECORDS), paid)
        opening.receipts.append(receipt)
        part, place = joined.place(index)
        if part == 0:
            return self._keep_gaussians(found, listed[place])
        chosen = rules.rule(place) if part == 2 else (len(opening.features), 0.0, place, place)
        name = "rule" if part == 2 else "one class"
        return self._keep_rule(counted_rule(opening, rules, chosen, cost.share(1 - CHOICE)), name)

    def _keep_gaussians(self, found: Ranges, gaussians: Gaussians) -> None:
        self.chosen_ = gaussians.name
        self.centre_, self.radius_ = np.array(found.centre), found.radius
        self.class_prior_, self.tempered_ = gaussians.priors, gaussians.tempered
        self.means_, self.covariances_ = gaussians.means, gaussians.covariances
        self.coordinate_ = self.cut_ = self.table_ = None

    def _keep_rule(self, rule: Rule, name: str) -> None:
        self.chosen_ = name
        self.coordinate_, self.cut_, self.table_ = rule.coordinate, rule.cut, rule.table
        self.centre_ = self.radius_ = self.tempered_ = None
        self.class_prior_ = self.means_ = self.covariances_ = None

    def _log_scores(self, rows: Floats) -> Floats:
        if self.table_ is not None and self.coordinate_ is not None and self.cut_ is not None:
            return Rule(self.coordinate_, self.cut_, self.table_).log_scores(self.domain_, rows)
        assert self.centre_ is not None
        assert self.radius_ is not None
        assert self.class_prior_ is not None
        assert self.means_ is not None
        assert self.covariances_ is not None
        assert self.tempered_ is not None
        gaussians = Gaussians(self.chosen_, self.class_prior_, self.means_, self.covariances_, self.tempered_)
        return gaussians.log_scores(Ranges(tuple(self.centre_.tolist()), self.radius_).placed(self.domain_, rows))


def only_a_rule(opening: Opening, classes: CategoryAxis, cost: Cost, counts: Floats) -> bool:
    """Whether means would drown in noise: by known noise and released class sizes."""
    if classes.cells < 2:
        return True
    many, dimension, infinite = float(np.sort(counts)[(len(counts) - 1) // 2]), len(opening.features), cost.infinite
    two = classes.cells == 2
    if two and not infinite and float(counts.sum()) * stated_epsilon(opening) < RULE_ALONE:
        return True
    asked = questions(opening, "means", declared_ranges(dimension).of(opening.features), classes, cost)
    noise = spreads(opening, asked)[0] * math.sqrt(dimension) / many
    return noise > USEFUL_MEANS[0 if two else 1]


def part_for_choice(cost: Cost, counts: Floats) -> Fraction:
    """The part of a cost that pays for the choice; none where it would be a toss among many classes."""
    rows = float(counts.sum())
    if cost.infinite:
        return Fraction(1, 10)
    if len(counts) == 2:
        wish = 60 / (rows * float(cost.epsilon)) if cost.is_pure else (60 / rows) ** 2 / (8 * float(cost.rho))
        part = min(max(wish, PARTS[0]), PARTS[1])
    else:
        part = PARTS[0]
        if rows * choice_strength(cost.share(Fraction(part).limit_denominator(1000))) < SHARP:
            return Fraction(0)
    seen = min(rows, float(ENOUGH_RECORDS)) * choice_strength(cost)
    sharp = seen * part if cost.is_pure else seen * math.sqrt(part)
    if sharp > SHARPEST:
        part *= SHARPEST / sharp if cost.is_pure else (SHARPEST / sharp) ** 2
    return Fraction(part).limit_denominator(2**20)


def _compared(gaussians: Gaussians) -> Discriminant:
    return Discriminant.of(*gaussians.coefficients(), gaussians.means.shape[1], COMPARED_STEPS)
