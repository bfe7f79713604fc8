"""RON-Gauss made true: a Gaussian (per class) in a small space, and rows drawn from it.

The idea is that of Chanyaswad, Liu and Mittal (Proceedings on Privacy Enhancing Technologies, 2019).
The paper normalises records in the large space, projects them, and releases a covariance there with too little noise
(its Lemma 4 is false). Here one projection serves all classes; records are projected first, and clipped in the small
space, to a ball about a released centre with a released radius; class sizes are released with noise as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sordino.cost import Amount
from sordino.domain import Column, Domain, Neighbours
from sordino.errors import ParameterError
from sordino.models.checks import check_whole, check_word, interval_of_target
from sordino.models.estimator import Floats, PrivateEstimator
from sordino.models.mixture_law import drawn
from sordino.privacy.price import Question
from sordino.queries.private_table import PrivateTable
from sordino.repair.positive_definite import from_triangle
from sordino.statistics.moments import triangle
from sordino.statistics.projected import Projected
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import LARGEST_DIMENSION, Ball
from sordino.synthesis.class_gaussians import class_gaussians
from sordino.synthesis.small_space import Questions, SmallSpace, bought_space, public_space, sliced

#: Quantiles of the norms that become radii. A clipped record keeps its direction, by which classes and slopes are told;
#: without a target the spread is what is asked for. A clipped target keeps nothing.
_RADIUS, _WHOLE_RADIUS, _TARGET_RADIUS = Fraction(1, 2), Fraction(9, 10), Fraction(49, 50)

#: Test rows farther out than this many radii are pulled in.
_REACH = 3.0

#: Components, when none are asked for: from 2 to this many.
_MOST_COMPONENTS = 100

#: Draws, from a fixed seed, by which a release is compared with a Gaussian.
_DRAWS = 4096


class RONGauss(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """Synthetic rows from a Gaussian in a small space: ``fit``, ``sample(n)``, and ``transform`` for real test rows.

    Without a target one Gaussian is learned. With ``classes`` (or a Category of a table) it is one per class, and
    labels are drawn in the released proportions. With ``target_bounds`` (or a Real of a table) the target is one more
    coordinate, beside the projection. A target of arrays that nobody declared is not read.

    ``n_components``: directions of the small space; by default a public rule of the released count and the noise.
    ``projection="public"``: orthonormal directions drawn from the public ``projection_seed``. ``projection="bought"``:
    three tenths of the budget go into directions in which class means, the target or records differ; random ones fill
    up.

    >>> rows = np.random.default_rng(0).normal(size=(2000, 8))
    >>> model = RONGauss(n_components=3, epsilon=1, bounds=(-4, 4), random_state=0).fit(rows)
    >>> model.sample(5, random_state=1).shape, model.transform(rows).shape
    ((5, 3), (2000, 3))
    """

    n_components_: int
    projection_: Floats
    centre_: Floats
    radius_: float
    proportions_: Floats
    means_: Floats
    covariances_: Floats
    explained_variance_: Floats
    normality_: Mapping[str, float]
    classes_: np.ndarray[Any, Any] | None
    target_: tuple[float, float] | None

    def __init__(
        self,
        n_components: int | None = None,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        bounds: Any = None,
        domain: Domain | None = None,
        classes: Any = None,
        target_bounds: tuple[float, float] | None = None,
        projection: str = "public",
        projection_seed: int = 0,
        neighbours: Neighbours = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.target_bounds = target_bounds
        self.projection = projection
        self.projection_seed = projection_seed
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @property
    def needs_target(self) -> bool:
        """Whether a target is declared beside arrays."""
        declared = self.classes is not None or self.target_bounds is not None
        return declared or getattr(self, "_declared_by_domain", False)

    @property
    def learns_classes(self) -> bool:
        """Whether that target is a class."""
        return self.classes is not None

    def fit(self, X: Any, y: Any = None) -> RONGauss:
        """Learn from a private table (and the name of its target), or from arrays."""
        self._check()
        arrays = self.domain is not None and y is not None and not isinstance(X, PrivateTable)
        self._declared_by_domain = arrays and self._has_spare_column(X)
        opening = self._open(X, y)
        asked = Questions(opening, self.projection == "bought")
        self._remember(opening.domain, opening.features, asked.number, opening.classes)
        if len(opening.features) + len(asked.number) > LARGEST_DIMENSION:
            raise ParameterError(f"{type(self).__name__}: takes at most {LARGEST_DIMENSION} columns. Leave some out.")
        opening.session.require_room([opening.cost])
        counts = asked.counts()
        self.n_components_ = self._components(asked, counts)
        make = bought_space if self.projection == "bought" else public_space
        space = make(asked, counts, self.n_components_, self.projection_seed)
        whole = Projected.of(asked.features, space.directions, space.reach, space.centre)
        self.radius_ = space.reach * asked.quantile(whole, "radius", _RADIUS if asked.slices else _WHOLE_RADIUS)
        target = asked.target(counts.sum(), _TARGET_RADIUS) if asked.number else None
        self._learn(asked, counts, space, target)
        ignored = ("the target was not declared and not read",) if y is not None and opening.target is None else ()
        self.receipt_ = opening.receipt(*ignored)
        return self

    def _check(self) -> None:
        who = type(self).__name__
        check_word(f"{who}: projection", self.projection, ("public", "bought"))
        if self.n_components is not None:
            check_whole(f"{who}: n_components", self.n_components, 1)
        check_whole(f"{who}: projection_seed", self.projection_seed, 0)
        if self.classes is not None and self.target_bounds is not None:
            raise ParameterError(f"{who}: the target is a class or a number. Give classes or target_bounds, not both.")

    def _has_spare_column(self, X: Any) -> bool:
        """Whether the domain declares one column more than the rows have: the target."""
        width = self._checked_matrix(X, reset=True).shape[1]
        return self.domain is not None and len(self.domain.columns) == width + 1

    def _target_column(self, labels: Any) -> Column:
        """The interval of a target that is a number."""
        if self.target_bounds is None:
            return super()._target_column(labels)
        return interval_of_target(type(self).__name__, self.target_bounds)

    def _remember(self, domain: Domain, features: tuple[str, ...], number: tuple[str, ...], classes: Any) -> None:
        """The public facts by which test rows come into the small space and samples out of it."""
        columns = [domain.real(name) for name in features]
        self.middles_ = np.array([column.middle for column in columns])
        self.half_widths_ = np.array([column.half_width for column in columns])
        self.classes_ = classes
        self.target_ = (domain.real(number[0]).low, domain.real(number[0]).high) if number else None

    def _components(self, asked: Questions, counts: Floats) -> int:
        """What was asked for, or the most directions whose covariance stands out of its noise; never more than columns.

        The noise of a second moment has spectrum 2 s(p) sqrt(p), and the variance of a direction in the unit ball
        is about 1 / p of the class's size: a public rule of the noise s(p) and of released counts.
        """
        width = len(asked.features)
        if self.n_components is not None:
            return min(int(self.n_components), width)
        found, cost = min(2, width), asked.cost("moments")
        if cost.infinite:
            return min(width, _MOST_COMPONENTS)
        for components in range(found + 1, min(width, _MOST_COMPONENTS) + 1):
            moments = asked.moments_of(Ball(asked.features[:components]), cost)
            law = asked.session.price([Question(moments, cost)])[0].laws[1]
            if math.sqrt(law.variance) / moments.unit * components**1.5 > (
                counts.mean() if asked.classes else counts.sum()
            ):
                break
            found = components
        return found

    def _learn(self, asked: Questions, counts: Floats, space: SmallSpace, target: tuple[float, float] | None) -> None:
        """Sums and second moments about the centre, in the unit ball; then a Gaussian per class, in the small space."""
        of, scales, centre = _unit_ball(asked, space, self.radius_, target)
        cost = asked.cost("moments")
        sums, moments = asked.answer(
            Question(sliced(Sum(of), asked.classes), asked.cost("sums")),
            Question(sliced(asked.moments_of(of, cost), asked.classes), cost),
        )
        sizes = counts if asked.classes else counts.sum(keepdims=True)
        size, classes = len(scales), len(sizes)
        entries = triangle(size)
        variances = np.array([law.variance for law in moments.laws[:entries]]) / moments.unit**2
        found = class_gaussians(
            sizes,
            np.array(sums.in_units()).reshape(classes, size),
            from_triangle(np.array(moments.in_units()).reshape(classes, entries)),
            sums.laws[0].variance / sums.unit**2,
            from_triangle(variances),
        )
        self.projection_, self.centre_ = space.directions, space.centre
        self.proportions_ = found.proportions
        self.means_ = centre + scales * found.means
        self.covariances_ = found.covariances * np.outer(scales, scales)
        self._describe(space.learned)

    def _describe(self, learned: int) -> None:
        """Explained variance, and how near what was released is to one Gaussian, from released numbers alone."""
        count = self.n_components_
        means, within = self.means_[:, :count], self.covariances_[:, :count, :count]
        common = self.proportions_ @ means
        apart = np.sqrt(self.proportions_)[:, None] * (means - common)
        between, own = apart.T @ apart, np.einsum("k,kij->ij", self.proportions_, within)
        whole = between + own
        values = np.linalg.eigvalsh(whole)[::-1]
        self.explained_variance_ = values
        random = np.diag(whole)[learned:]
        rest = (len(self.middles_) - count) * float(random.mean() if len(random) else np.diag(whole).min())
        self.explained_variance_ratio_ = values / (values.sum() + rest)
        norms = np.linalg.norm(self._draw(_DRAWS, np.random.default_rng(0))[0][:, :count] - self.centre_, axis=1)
        self.normality_ = {
            "sphericity": float(values.sum() ** 2 / (count * (values**2).sum())),
            "between_classes": float(np.trace(between) / values.sum()),
            "radius_of_model": float(np.median(norms)),
            "radius_released": float(self.radius_),
        }

    def _draw(self, count: int, generator: np.random.Generator) -> tuple[Floats, np.ndarray[Any, Any]]:
        """Points of the small space (and a target beside them), and the class of each."""
        return drawn(self.proportions_, self.means_, self.covariances_, count, generator)

    def sample(self, n: int = 1, random_state: Any = 0) -> Any:
        """``n`` synthetic rows of the small space; with a target, the pair of rows and targets.

        Costs nothing: it is public randomness about a release. Classes come in the released proportions.
        """
        check_is_fitted(self)
        check_whole("sample: n", n, 0)
        rows, chosen = self._draw(n, np.random.default_rng(random_state))
        points = rows[:, : self.n_components_]
        if self.classes_ is not None:
            return points, self.classes_[chosen]
        if self.target_ is None:
            return points
        low, high = self.target_
        return points, np.clip((low + high) / 2 + (high - low) / 2 * rows[:, -1], low, high)

    def transform(self, X: Any) -> Floats:
        """Real test rows in the small space: projected, and pulled in where they lie far outside.

        A column that is left out lies where the released centre does, and so adds nothing to the way from there.
        """
        places = (self._test_rows(X) - self.middles_) / self.half_widths_
        places = np.where(np.isnan(places), self.projection_ @ self.centre_, places)
        placed = places @ self.projection_ - self.centre_
        far = np.linalg.norm(placed, axis=1, keepdims=True) / (_REACH * self.radius_)
        moved: Floats = self.centre_ + placed / np.maximum(far, 1.0)
        return moved

    def inverse_transform(self, X: Any) -> Floats:
        """Points of the small space as rows of the original columns, inside their bounds."""
        check_is_fitted(self)
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.n_components_:
            raise ParameterError(
                f"{type(self).__name__}: points must have {self.n_components_} coordinates. Got shape {points.shape}."
            )
        rows: Floats = self.middles_ + self.half_widths_ * np.clip(points @ self.projection_.T, -1, 1)
        return rows

    @property
    def _n_features_out(self) -> int:
        """For the names of the new features."""
        return self.n_components_


def _unit_ball(
    asked: Questions, space: SmallSpace, radius: float, target: tuple[float, float] | None
) -> tuple[Projected, Floats, Floats]:
    """The map into the unit ball, what one unit is in each coordinate, and its centre; a target is a last coordinate.

    Record and target each fill their own ball or interval, so the ball of both has radius sqrt(2) in a common unit, the
    smaller of the two. What lies outside is pulled towards the centre together with its target: its slope stays.
    """
    if target is None:
        scales = np.full(len(space.centre), radius)
        return Projected.of(asked.features, space.directions, radius, space.centre), scales, space.centre
    middle, spread = target
    unit = min(radius, spread)
    width, count = space.directions.shape
    matrix = np.zeros((width + 1, count + 1))
    matrix[:width, :count], matrix[width, count] = space.directions * (unit / radius), unit / spread
    centre = np.append(space.centre * (unit / radius), middle * (unit / spread))
    scales = math.sqrt(2) * np.append(np.full(count, radius), spread)
    of = Projected.of((*asked.features, *asked.number), matrix, math.sqrt(2) * unit, centre)
    return of, scales, np.append(space.centre, middle)
