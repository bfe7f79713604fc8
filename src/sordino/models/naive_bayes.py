"""Naive Bayes on histograms by class, after Mothali (2011, chapter 8), with the noise of its counts smoothed away.

One record touches one cell of each feature's table, so that the noise grows with the number of features, and neither
with that of cells nor with that of classes. Class sizes are read off the same tables. Proof of what a record can move:
``docs/proofs/histogram.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sordino.cost import Amount
from sordino.domain import Category, Domain, Neighbours, Real
from sordino.errors import ParameterError
from sordino.models.classifier import Classifier
from sordino.models.estimator import Floats, Opening
from sordino.privacy.price import Question
from sordino.queries.histogram import Bins, axis_of
from sordino.release import NoisyTotal
from sordino.repair.class_tables import class_estimator, log_probabilities
from sordino.statistics.histograms import BinAxis, CategoryAxis, Histograms
from sordino.statistics.own_rows import cells_of

#: Cells of a Real column for which no bins are given.
_USUAL_BINS = 16


class NaiveBayes(Classifier):
    """Naive Bayes on categories: class sizes, and the share of each value in each class, all from noisy counts.

    ``estimator`` says how shares are made of noisy counts. ``"smoothed"``, the default, adds half a standard
    deviation of the noise to every cell; ``"consistent"`` first makes the tables agree on the class sizes;
    ``"clamp"``, ``"james_stein"``, ``"empirical_bayes"``, ``"spike_exponential"`` and ``"npmle"`` are for comparison.

    A ``Real`` column is cut at public edges: ``bins`` is a number of equal cells between the bounds, or a list of
    edges, or says either for each column by name. A cell outside the domain, or a missing one, counts nowhere when
    fitting and says nothing when predicting. A feature with one value says nothing at all, and is not paid for.

    >>> import numpy as np, sordino as so
    >>> domain = so.Domain({"colour": so.Category(["red", "blue"]), "kind": so.Category(["berry", "sea"])})
    >>> X, y = np.array([["red"], ["blue"]] * 500), np.array(["berry", "sea"] * 500)
    >>> model = so.NaiveBayes(epsilon=1.0, domain=domain).fit(X, y)
    >>> model.predict([["blue"], ["red"]]).tolist()
    ['sea', 'berry']

    Learned: ``classes_``, ``class_log_prior_``; for each of ``informative_`` (the features that are used)
    ``feature_log_prob_`` and the released ``counts_``, both with a row per class and a column per cell.
    """

    edges_: Mapping[str, Sequence[float]]
    informative_: tuple[str, ...]
    counts_: list[Floats]
    class_log_prior_: Floats
    feature_log_prob_: list[Floats]

    feature_kinds = (Category, Real)

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        estimator: str = "smoothed",
        bins: Bins = None,
        bounds: Any = None,
        domain: Domain | None = None,
        classes: Any = None,
        neighbours: Neighbours = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.estimator = estimator
        self.bins = bins
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NaiveBayes:
        """Learn from a private table and the name of its target, or from arrays."""
        class_estimator(self.estimator)
        opening = self._open(X, y)
        axes = self._axes(opening)
        informative = [axis for axis in axes if axis.cells > 1]
        counts = _counts_by_class(CategoryAxis.of(opening.domain, str(opening.target)), informative)
        (total,) = opening.session.answer([Question(counts, opening.cost)])
        opening.receipts.append(total.receipt)
        self.classes_ = np.asarray(opening.classes)
        self.edges_ = {axis.column: axis.edges for axis in axes if isinstance(axis, BinAxis)}
        self.informative_ = tuple(axis.column for axis in informative)
        self.counts_ = _as_tables(total, counts)
        self.class_log_prior_, shares = log_probabilities(self.counts_, total.laws[0], self.estimator)
        self.feature_log_prob_ = shares[: len(informative)]
        alone = [axis.column for axis in axes if axis.cells == 1]
        self.receipt_ = opening.receipt(*([f"one value, so not paid for: {', '.join(alone)}"] if alone else []))
        return self

    def _axes(self, opening: Opening) -> list[CategoryAxis | BinAxis]:
        """The cells of each feature, in the order of the features."""
        given = self.bins if isinstance(self.bins, Mapping) else {}
        for name in given:
            if name not in opening.features:
                raise ParameterError(f"NaiveBayes: bins must be for features. Got {name!r}.")
        usual = _USUAL_BINS if self.bins is None or isinstance(self.bins, Mapping) else self.bins
        return [axis_of(opening.domain, name, given.get(name, usual)) for name in opening.features]

    def _test_rows(self, X: Any) -> Any:
        """The cell of each test row in each informative feature; -1 for one that is left out."""
        rows = self._test_matrix(X)
        axes = [axis_of(self.domain_, name, self.edges_) for name in self.informative_]
        return cells_of(type(self).__name__, self.domain_, rows, axes)

    def _log_scores(self, rows: Any) -> Floats:
        scores = np.tile(self.class_log_prior_, (len(rows), 1))
        for cells, shares in zip(rows.T, self.feature_log_prob_, strict=True):
            scores += np.pad(shares, ((0, 0), (0, 1)))[:, cells].T  # the last column, zero, is for what is left out
        return scores


def _counts_by_class(classes: CategoryAxis, features: Sequence[CategoryAxis | BinAxis]) -> Histograms:
    """One table per feature, of classes by cells; of classes alone where no feature has two cells."""
    return Histograms(tuple((classes, axis) for axis in features) or ((classes,),))


def _as_tables(total: NoisyTotal, counts: Histograms) -> list[Floats]:
    """The released counts, a row per class."""
    parts = np.split(np.array(total.in_units()), np.cumsum(counts.table_sizes)[:-1])
    return [part.reshape(table[0].cells, -1) for part, table in zip(parts, counts.tables, strict=True)]
