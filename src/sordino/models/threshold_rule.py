"""A threshold rule: one column, one cut, two labels. All that can be bought when rows x ε is small."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sordino.cost import Amount
from sordino.domain import Domain, Neighbours
from sordino.models.class_counts import best_for_one_choice
from sordino.models.classifier import Classifier
from sordino.models.estimator import Floats
from sordino.models.rules import Rule, bought_rule
from sordino.statistics.histograms import CategoryAxis


class ThresholdRule(Classifier):
    """Says one class up to a cut in one column (or in the mean of all), and another class above it.

    Every rule on a public list of cuts is scored by the records that it gets right, and one is bought with a noisy
    maximum; so is the answer "always this class". Nine tenths of the budget pay for the choice, one tenth for the
    counts behind it, from which the probabilities come. The class of a side is that of the choice.

    >>> import numpy as np
    >>> rows = np.array([[0.1], [0.2], [0.8], [0.9]] * 50)
    >>> labels = ["low", "low", "high", "high"] * 50
    >>> model = ThresholdRule(epsilon=5, bounds=(0, 1), classes=["low", "high"], random_state=0).fit(rows, labels)
    >>> model.predict([[0.05], [0.95]]).tolist()
    ['low', 'high']
    """

    column_: str | None
    cut_: float
    table_: Floats

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        bounds: Any = None,
        domain: Domain | None = None,
        classes: Any = None,
        neighbours: Neighbours = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ThresholdRule:
        """Choose a rule; ``y`` names the target of a private table, or is the labels of arrays."""
        opening = self._open(X, y)
        classes = CategoryAxis.of(opening.domain, str(opening.target))
        rule = bought_rule(opening, classes, best_for_one_choice(opening), float(opening.domain.rows or 0))
        names = (*opening.features, None)
        self.classes_ = np.array([]) if opening.classes is None else opening.classes
        self.column_, self.cut_, self.table_ = names[rule.coordinate], rule.cut, rule.table
        self.receipt_ = opening.receipt()
        return self

    @property
    def rule(self) -> Rule:
        """What was chosen; the cut is in units in which every column runs from -1 to 1."""
        check_is_fitted(self, "receipt_")
        names = (*self.domain_.columns, None)
        return Rule(names.index(self.column_), self.cut_, self.table_)

    def _log_scores(self, rows: Floats) -> Floats:
        return self.rule.log_scores(self.domain_, rows)
