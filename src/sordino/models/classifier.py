"""What every classifier shares: classes, probabilities from log scores, and test rows as numbers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from sordino.models.estimator import Floats, PrivateEstimator


class Classifier(ClassifierMixin, PrivateEstimator):
    """A classifier that says, for each row, a log score per class."""

    classes: Any
    classes_: np.ndarray[Any, Any]

    needs_target = True
    learns_classes = True

    @abstractmethod
    def _log_scores(self, rows: Floats) -> Floats:
        """One row of unnormalised log probabilities per test row; NaN in ``rows`` marks a column that is left out."""

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The likeliest class of each row; the first one of a tie."""
        scores = self._log_scores(self._test_rows(X))
        predicted: np.ndarray[Any, Any] = self.classes_[np.argmax(scores, axis=1)]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, in the order of ``classes_``."""
        scores = self._log_scores(self._test_rows(X))
        weights: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
        return probabilities

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.predict_proba(X))
        return logarithms
