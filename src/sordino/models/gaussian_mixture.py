"""A Gaussian mixture from noisy totals: for clusters, for densities, and for made-up rows."""

from __future__ import annotations

from typing import Any, NoReturn, get_args

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from sordino.cost import Amount
from sordino.domain import Domain, Neighbours
from sordino.errors import ParameterError
from sordino.models.checks import check_whole, check_word
from sordino.models.estimator import Floats, PrivateEstimator
from sordino.models.mixture_law import drawn, log_joint
from sordino.models.mixture_steps import Clusters, Kind, Space, Steps

#: More components than this are a mistake rather than a question.
LARGEST_COMPONENTS = 1000


class GaussianMixture(DensityMixin, PrivateEstimator):
    """K Gaussians, found by a few paid looks: ranges, second moments, one lattice of counts, and three rounds of EM.

    ``n_components`` is K; it is given, not found. ``covariance_type``: ``"tied"`` is one covariance for all, and costs
    nothing more; ``"spherical"`` is a variance per component within the space that tells components apart, and one for
    all outside of it; ``"full"`` is a matrix per component within that space; ``"diag"`` is that without correlations.
    A table too small for its budget gets a public start, and the receipt says so.

    >>> import numpy as np, sordino as so
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-3, 1, (2000, 2)), rng.normal(3, 1, (2000, 2))])
    >>> model = so.GaussianMixture(2, epsilon=1.0, delta=1e-6, bounds=(-10, 10)).fit(X)
    >>> len(set(model.predict([[-3, -3], [3, 3]]).tolist()))
    2

    Learned: ``weights_``, ``means_`` and ``covariances_``, a matrix per component whatever the kind, in the columns'
    own units; ``size_``, the released number of records; ``directions_``, how many directions are told apart.
    """

    weights_: Floats
    means_: Floats
    covariances_: Floats
    size_: float
    directions_: int

    def __init__(
        self,
        n_components: int = 2,
        covariance_type: Kind = "spherical",
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        bounds: Any = None,
        domain: Domain | None = None,
        neighbours: Neighbours = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> GaussianMixture:
        """Learn from a private table or from an array; ``y`` is not looked at."""
        self._check()
        opening = self._open(X)
        steps = Steps(opening, self.n_components, self.covariance_type)
        space, mixture = steps.fit()
        self.size_, self.directions_ = steps.size, len(space.variances)
        self._keep(space, mixture)
        self.receipt_ = opening.receipt(*steps.words)
        return self

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The likeliest component of each row, from 0."""
        components: np.ndarray[Any, Any] = np.argmax(self._log_densities(X), axis=1)
        return components

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the components."""
        scores = self._log_densities(X)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
        return probabilities

    def score_samples(self, X: Any) -> Floats:
        """The logarithm of the density at each row."""
        scores = self._log_densities(X)
        best = scores.max(axis=1)
        densities: Floats = best + np.log(np.exp(scores - best[:, None]).sum(axis=1))
        return densities

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ``score_samples``. It is exact, so give it rows of your own, not those that are protected."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> NoReturn:
        """Refused: it is the likelihood of the protected rows, which nobody paid for."""
        raise ParameterError(
            "GaussianMixture: the BIC is an exact likelihood of the private rows and is not released. "
            "Compare numbers of components by score(X) on rows of your own."
        )

    def sample(self, n: int, random_state: Any = 0) -> tuple[Floats, np.ndarray[Any, Any]]:
        """Made-up rows and their components, clipped to the declared bounds. Costs nothing."""
        check_is_fitted(self, "receipt_")
        check_whole("sample: n", n, 1)
        generator = np.random.default_rng(random_state)
        points, components = drawn(self.weights_, self.means_, self.covariances_, n, generator)
        return np.clip(points, *self._limits()), components

    def _keep(self, space: Space, mixture: Clusters) -> None:
        """The mixture in the columns' own units: within the space as found, outside of it round."""
        columns = [self.domain_.real(name) for name in self.domain_.columns]
        widths = np.array([column.half_width for column in columns])
        directions, radius = space.directions, space.ranges.radius
        means = np.array(space.ranges.centre) + radius * mixture.means @ directions.T
        within = directions @ mixture.covariances @ directions.T
        outside = space.outside * (np.eye(len(columns)) - directions @ directions.T)
        covariances = radius**2 * (within + outside)
        if self.covariance_type == "diag":
            covariances = covariances * np.eye(len(columns))
        self.weights_ = mixture.weights
        self.means_ = np.array([column.middle for column in columns]) + widths * means
        self.covariances_ = covariances * widths[:, None] * widths

    def _log_densities(self, X: Any) -> Floats:
        """Log weight plus log density of each component; rows are clipped as in ``fit``, a missing cell is left out."""
        rows = self._test_rows(X)
        return log_joint(self.weights_, self.means_, self.covariances_, rows)

    def _limits(self) -> tuple[Floats, Floats]:
        columns = [self.domain_.real(name) for name in self.domain_.columns]
        return np.array([column.low for column in columns]), np.array([column.high for column in columns])

    def _check(self) -> None:
        check_word("GaussianMixture: covariance_type", self.covariance_type, get_args(Kind))
        check_whole("GaussianMixture: n_components", self.n_components, 1, LARGEST_COMPONENTS)
