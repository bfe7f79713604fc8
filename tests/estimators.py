"""Every estimator, one line each: the laws of ``test_estimators.py`` run over all that is listed here.

A member is a factory that takes the common parameters. ``UNEXPLAINED`` checks of scikit-learn there are none: what an
estimator is excused from stands in ``EXCUSED``, with the argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sordino as so
from sordino.models.classifier import Classifier
from sordino.models.gaussian_mixture import GaussianMixture
from sordino.models.gradient_em import GradientEM
from sordino.models.naive_bayes import NaiveBayes
from sordino.privacy.price import Question
from sordino.statistics.by_class import ByClass
from sordino.statistics.count import Count
from sordino.statistics.histograms import CategoryAxis
from sordino.synthesis.table_synthesizer import TableSynthesizer


class MostFrequent(Classifier):
    """The smallest classifier there is: noisy class counts, and no feature. It keeps the suite honest."""

    def __init__(
        self,
        epsilon: Any = 1.0,
        delta: Any = 0.0,
        bounds: Any = None,
        domain: Any = None,
        classes: Any = None,
        neighbours: Any = "add-remove",
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

    def fit(self, X: Any, y: Any = None) -> MostFrequent:
        opening = self._open(X, y)
        counts = ByClass(Count(opening.features), CategoryAxis.of(opening.domain, opening.target))
        (total,) = opening.session.answer([Question(counts, opening.cost)])
        opening.receipts.append(total.receipt)
        self.classes_ = opening.classes
        self.counts_ = np.maximum(total.in_units(), 0.5)
        self.receipt_ = opening.receipt()
        return self

    def _log_scores(self, rows: np.ndarray) -> np.ndarray:
        return np.tile(np.log(self.counts_), (len(rows), 1))


#: Name of the public class (or of one of this folder) -> its factory.
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "LargeMarginMixture": so.LargeMarginMixture,
    "MostFrequent": MostFrequent,
    "GaussianBayes": so.GaussianBayes,
    "GaussianMixture": GaussianMixture,
    "GradientEM": GradientEM,
    "NaiveBayes": NaiveBayes,
    "PrivateClassifier": so.PrivateClassifier,
    "RONGauss": so.RONGauss,
    "ThresholdRule": so.ThresholdRule,
    "TableSynthesizer": TableSynthesizer,
}

#: Checks of scikit-learn that every estimator here is excused from, and why.
EXCUSED: dict[str, str] = {
    "check_estimators_empty_data_messages": (
        "an empty table is no error: an error against none would tell it from a table of one row"
    ),
}

#: Further checks that one estimator is excused from, and why.
EXCUSED_ALONE: dict[str, dict[str, str]] = {
    "ThresholdRule": {
        "check_classifiers_train": "one cut tells two classes apart, and the check asks for three",
    },
    "MostFrequent": {
        "check_classifiers_train": "it looks at no feature, and so cannot learn what the check asks for",
    },
}
