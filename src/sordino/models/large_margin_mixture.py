"""A margin classifier with Gaussians inside: one quadratic form, or several, per class, by the perturbed minimiser.

After Pathak and Raj (2012), whose own perturbation cancels in every decision (``studies/published/pathak.py``). Here
the random linear term is one matrix per class, with rows that sum to zero, and the guarantee is proved:
``docs/proofs/perturbed-minimiser.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.cost import Cost, order_of, positive
from sordino.errors import ParameterError
from sordino.models.checks import check_word
from sordino.models.class_components import bought_centres
from sordino.models.classifier import Classifier
from sordino.models.estimator import Floats, Opening
from sordino.models.margin_descent import descended
from sordino.models.quadratic_forms import QuadraticForms, gaussians_of
from sordino.models.random_directions import random_directions
from sordino.privacy.margin_losses import Huber, Loss, Softmax
from sordino.privacy.perturbed_minimiser import Minimisation, usual_ridge
from sordino.privacy.price import Question
from sordino.statistics.count import Count
from sordino.statistics.directions import Directions, Products
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.labels import ClassLabels, ComponentLabels
from sordino.statistics.projected import Projected
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box

#: Shares of the cost: the number of records, which decides whether a centre is worth its price, and the centre.
COUNT_SHARE = Fraction(1, 100)
CENTRE_SHARE = {True: Fraction(1, 10), False: Fraction(1, 25)}  # pure, or not

#: What of the rest pays for the centres of components.
COMPONENTS_SHARE = Fraction(1, 5)

#: A centre whose coordinates would be off by more than this (a column runs from -1 to 1) is not bought.
WORST_CENTRE = 0.6

#: How far a record goes, in shares of the box's half diagonal, until the constant is no longer the longest coordinate.
REACH_CENTRED, REACH_UNCENTRED = 0.25, 0.5


class LargeMarginMixture(Classifier):
    """Class matrices Φ with margins as wide as privacy allows; a row belongs to the class whose form x'Φx is least.

    ``features`` are ``"linear"``, ``"quadratic"`` or ``"auto"``: quadratic where δ is above 0, linear under pure ε,
    whose noise grows with the number of features. ``loss`` is ``"softmax"`` or ``"huber"`` (smoothed hinges, as in the
    paper). ``components`` above 1 gives each class as many forms; which one a record belongs to is decided by
    ``centres``, public and of shape (classes, components, columns), or by centres bought with a fifth of the cost.
    ``projection`` is a number of public random directions, or a matrix with a row per column: quadratic features are
    for some twenty coordinates at most. ``ridge`` is chosen from public numbers; one too small is refused.
    ``solver="gradient-descent"`` finds the softmax's weights by ``rounds`` of exact noisy sums instead: it streams,
    runs on Spark, and its arithmetic is not idealised.

    Learned: ``weights_``, a row per output, on the features of records seen from ``centre_`` (None where that was not
    worth its price); and what they read as, per class and component: ``matrices_``, ``centroids_``,
    ``inverse_covariances_`` and ``offsets_``. ``records_`` is the released number of records, ``ridge_`` the ridge.

    >>> model = LargeMarginMixture(epsilon=1, bounds=(0, 10), classes=["a", "b"], random_state=0)
    >>> model = model.fit([[1, 2], [2, 1], [8, 9], [9, 8]] * 50, ["a", "a", "b", "b"] * 50)
    >>> model.predict([[0, 0], [10, 10]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        epsilon: Any = 1.0,
        delta: Any = 0.0,
        components: Any = 1,
        loss: Any = "softmax",
        features: Any = "auto",
        ridge: Any = None,
        centres: Any = None,
        projection: Any = None,
        solver: Any = "minimiser",
        rounds: Any = 100,
        bounds: Any = None,
        domain: Any = None,
        classes: Any = None,
        neighbours: Any = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.components = components
        self.loss = loss
        self.features = features
        self.ridge = ridge
        self.centres = centres
        self.projection = projection
        self.solver = solver
        self.rounds = rounds
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LargeMarginMixture:
        """Learn from a private table and the name of its target, or from arrays."""
        self._check()
        opening = self._open(X, y)
        self._learn_coordinates(opening)
        of = self._coordinates(opening)
        self.quadratic_ = self._quadratic(opening.cost)
        self._refuse_early(opening, of)
        rest = self._learn_centre(opening, of)
        labels, rest = self._labels(opening, of, rest)
        directions = Directions(of, self.reach_, None if self.centre_ is None else tuple(self.centre_.tolist()))
        asked = Products(directions) if self.quadratic_ else directions
        self.classes_ = np.array(opening.classes)
        self._learn_weights(opening, asked, labels, rest)
        self.receipt_ = opening.receipt()
        return self

    def _check(self) -> None:
        who = type(self).__name__
        check_word(f"{who}: features", self.features, ("auto", "linear", "quadratic"))
        check_word(f"{who}: loss", self.loss, ("softmax", "huber"))
        check_word(f"{who}: solver", self.solver, ("minimiser", "gradient-descent"))
        if self.solver == "gradient-descent" and self.loss != "softmax":
            raise ParameterError(f"{who}: gradient descent is for the softmax loss. Got loss={self.loss!r}.")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 1 <= self.rounds <= 10_000:
            raise ParameterError(f"{who}: rounds must be a whole number from 1 to 10,000. Got {self.rounds!r}.")
        whole = isinstance(self.components, int) and not isinstance(self.components, bool)
        if not whole or not 1 <= self.components <= 100:
            raise ParameterError(f"{who}: components must be a whole number from 1 to 100. Got {self.components!r}.")

    def _learn_coordinates(self, opening: Opening) -> None:
        """Public numbers that turn a row into coordinates."""
        columns = [opening.domain.real(name) for name in opening.features]
        self.middles_ = np.array([column.middle for column in columns])
        self.half_widths_ = np.array([column.half_width for column in columns])
        self.projection_ = _projection(self.projection, len(columns))

    def _coordinates(self, opening: Opening) -> Box | Projected:
        if self.projection_ is None:
            return Box(opening.features)
        radius = float(np.abs(self.projection_).sum(axis=0).max())
        return Projected.of(opening.features, self.projection_, min(radius, math.sqrt(len(opening.features))) * 1.01)

    def _refuse_early(self, opening: Opening, of: Box | Projected) -> None:
        """Whatever would be refused later is refused before anything is charged: with the least that can be left."""
        axis = CategoryAxis.of(opening.domain, str(opening.target))
        if self.components > 1 and self.centres is not None:
            self._public_centres(axis.cells, of)
        if self.solver != "minimiser" or axis.cells * self.components == 1:
            return
        rest = _shares(opening.cost)[2]
        labels: ClassLabels | ComponentLabels = ClassLabels(axis)
        if self.components > 1:
            labels = ComponentLabels(axis, of, (((0.0,) * len(of.columns),) * self.components,) * axis.cells)
            rest = rest if self.centres is not None else _split(rest)[1]
        directions = Directions(of, REACH_UNCENTRED * math.sqrt(len(of.columns)))
        features = Products(directions) if self.quadratic_ else directions
        for records in (0.0, math.inf):  # the largest ridge and the smallest
            opening.session.price_minimum(self._asked(opening, features, labels, rest, records), rest)

    def _learn_centre(self, opening: Opening, of: Box | Projected) -> Cost:
        """Buy the centre of all records where that many records make it worth its price; what is left of the cost."""
        size = len(of.columns)
        self.centre_: Floats | None = None
        self.reach_ = REACH_UNCENTRED * math.sqrt(size)
        shares = _shares(opening.cost)
        (records,) = opening.session.answer([Question(Count(opening.features), shares[0])])
        opening.receipts.append(records.receipt)
        self.records_ = number = max(1.0, records.in_units()[0])
        summed = Sum(of if isinstance(of, Box) else Projected.of(of.reads, self.projection_, math.sqrt(size)))
        question = Question(summed, shares[1])
        (price,) = opening.session.price([question])
        unit = price.statistic.unit / (1.0 if isinstance(of, Box) else math.sqrt(size))
        if math.sqrt(price.laws[0].variance) / unit / number > WORST_CENTRE:
            return sum(shares[1:], Cost())
        (total,) = opening.session.answer([question])
        opening.receipts.append(total.receipt)
        widest = 1.0 if isinstance(of, Box) else of.radius
        self.centre_ = np.clip(np.array(total.values) / unit / number, -widest, widest)
        self.reach_ = REACH_CENTRED * math.sqrt(size)
        return shares[2]

    def _labels(self, opening: Opening, of: Box | Projected, cost: Cost) -> tuple[ClassLabels | ComponentLabels, Cost]:
        """What is told apart, and what is left of the cost."""
        axis = CategoryAxis.of(opening.domain, str(opening.target))
        if self.components == 1:
            return ClassLabels(axis), cost
        if self.centres is not None:
            centres, rest = self._public_centres(axis.cells, of), cost
        else:
            bought, rest = _split(cost)
            centres = bought_centres(opening, axis, of, self.components, bought)
        return ComponentLabels(axis, of, tuple(tuple(map(tuple, each)) for each in centres.tolist())), rest

    def _public_centres(self, classes: int, of: Box | Projected) -> Floats:
        """Centres in the columns' own units, in units of the map."""
        who, columns = type(self).__name__, len(self.middles_)
        given = np.asarray(self.centres, dtype=float)
        if given.shape != (classes, self.components, columns):
            raise ParameterError(
                f"{who}: centres must be an array of {classes} classes, {self.components} components and {columns} "
                f"columns. Got shape {given.shape}."
            )
        places: Floats = np.clip((given - self.middles_) / self.half_widths_, -1, 1)
        if isinstance(of, Box) or self.projection_ is None:
            return places
        projected: Floats = places @ self.projection_ / of.radius
        return projected

    def _quadratic(self, cost: Cost) -> bool:
        """By the kind of noise alone."""
        if self.features == "auto":
            return not cost.is_pure or cost.infinite
        return bool(self.features == "quadratic")

    def _learn_weights(
        self, opening: Opening, features: Directions | Products, labels: ClassLabels | ComponentLabels, cost: Cost
    ) -> None:
        """Weights per output, and the Gaussians that can be read from them."""
        self.ridge_ = math.nan
        if labels.cells == 1:
            weights = np.zeros((1, len(features.columns)))
        elif self.solver == "minimiser":
            weights = self._minimised(opening, features, labels, cost)
        else:
            weights = descended(opening, features, labels, cost, self.rounds, self.records_)
        self.weights_ = weights - weights.mean(axis=0)
        found = self._gaussians()
        self.matrices_, self.centroids_ = found.matrices, found.centroids
        self.inverse_covariances_, self.offsets_ = found.inverse_covariances, found.offsets

    def _minimised(
        self, opening: Opening, features: Directions | Products, labels: ClassLabels | ComponentLabels, cost: Cost
    ) -> Floats:
        """By the perturbed minimiser."""
        asked = self._asked(opening, features, labels, cost, self.records_)
        self.ridge_ = asked.ridge
        total = opening.session.minimise(asked, cost)
        opening.receipts.append(total.receipt)
        weights: Floats = np.array(total.in_units()).reshape(labels.cells, -1)
        return weights

    def _asked(
        self,
        opening: Opening,
        features: Directions | Products,
        labels: ClassLabels | ComponentLabels,
        cost: Cost,
        records: float,
    ) -> Minimisation:
        """What to minimise, with a ridge that was given or follows from public numbers and the number of records."""
        loss: Loss = Softmax(labels.cells) if self.loss == "softmax" else Huber(labels.cells)
        order = order_of(float(opening.cost.rho), float(opening.cost.stated[0])) if opening.cost.stated else None
        neighbours, orders = opening.domain.neighbours, opening.session.orders(order)
        given = None if self.ridge is None else float(positive("ridge", self.ridge))
        ridge = given or usual_ridge(loss, len(features.columns), cost, neighbours, orders, records)
        return Minimisation(features, labels, loss, ridge, order)

    def _gaussians(self) -> QuadraticForms:
        """In the units of the columns, or of the projected coordinates where there is a projection."""
        size = len(self.middles_) if self.projection_ is None else self.projection_.shape[1]
        middles = np.zeros(size) if self.centre_ is None else self.centre_
        widths = np.full(size, self.reach_)
        if self.projection_ is None:
            middles, widths = self.middles_ + self.half_widths_ * middles, self.half_widths_ * widths
        return gaussians_of(self.weights_, len(self.classes_), self.quadratic_, middles, widths)

    def _log_scores(self, rows: Floats) -> Floats:
        """Weights times features, summed over the components of a class; a column that is left out adds nothing."""
        places = (rows - self.middles_) / self.half_widths_
        places = np.where(np.isnan(places), self._nothing(), places)
        if self.projection_ is not None:
            places = places @ self.projection_
        if self.centre_ is not None:
            places = places - self.centre_
        directions = np.column_stack([places, np.full(len(places), self.reach_)])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        if self.quadratic_:
            first, second = np.triu_indices(directions.shape[1])
            directions = directions[:, first] * directions[:, second] * np.where(first == second, 1.0, math.sqrt(2))
        scores = (directions @ self.weights_.T).reshape(len(rows), len(self.classes_), -1)
        highest: Floats = scores.max(axis=2)
        found: Floats = highest + np.log(np.exp(scores - highest[:, :, None]).sum(axis=2))
        return found

    def _nothing(self) -> Any:
        """Where a column adds nothing to the features: where the released centre lies, from which they are seen."""
        if self.centre_ is None or self.projection_ is None:
            return 0.0 if self.centre_ is None else self.centre_
        return self.centre_ @ np.linalg.pinv(self.projection_)


def _shares(cost: Cost) -> list[Cost]:
    """For the number of records, for the centre, and for the rest."""
    centre = CENTRE_SHARE[cost.is_pure]
    return [cost.share(part) for part in (COUNT_SHARE, centre, 1 - COUNT_SHARE - centre)]


def _split(cost: Cost) -> tuple[Cost, Cost]:
    """What the components cost, and what is left."""
    return cost.share(COMPONENTS_SHARE), cost.share(1 - COMPONENTS_SHARE)


def _projection(asked: Any, columns: int) -> Floats | None:
    """No projection, a public random one of so many directions (orthonormal, always the same), or the given one."""
    if asked is None:
        return None
    if isinstance(asked, int) and not isinstance(asked, bool):
        if not 1 <= asked <= columns:
            raise ParameterError(f"LargeMarginMixture: projection must be from 1 to {columns} directions. Got {asked}.")
        return random_directions(columns, asked, seed=0)
    matrix = np.asarray(asked, dtype=float)
    if matrix.ndim != 2 or len(matrix) != columns or not np.isfinite(matrix).all():
        raise ParameterError(f"LargeMarginMixture: projection must be a number, or a matrix of {columns} rows.")
    return matrix
