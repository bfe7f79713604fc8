"""The perturbed minimiser: a strongly convex sum over records plus a random linear term, minimised and released.

    W* = argmin sum_i loss(W q_i, y_i) + ridge/2 |W|² + <B, W>,   |q_i| <= 1

Its law. *Pure*: B has density exp(-|B| / scale) on the subspace of matrices whose columns sum to zero, or, for many
outputs, exp(-sum_c |B_c| / scale) over the rows B_c. *Concentrated*: B is Gaussian, and the cost is a ρ at one Rényi
order. The minimiser is found up to a gradient of length g, ``certificate``; noise for what that can move, 2 g / ridge,
is added at a hundredth of the cost. Proof: ``docs/proofs/perturbed-minimiser.md``. The noise is continuous and the
solver works in floats: the receipt says *idealised arithmetic*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Literal, Protocol

import numpy as np

from sordino.cost import Cost, readable
from sordino.domain import Neighbours
from sordino.errors import NoiseError, ParameterError
from sordino.privacy.margin_losses import Loss, Softmax
from sordino.release import Charge
from sordino.statistics.labels import Labels
from sordino.statistics.statistic import Sensitivity
from sordino.statistics.vectors import VectorMap
from sordino.table.clipping import Floats

#: The gradient at what is released is at most this long, times the ridge where that is above one.
CERTIFICATE = 2.0**-24

#: What of the cost pays for the distance to the exact minimiser.
CERTIFICATE_SHARE = Fraction(1, 100)

#: Weights are released as whole multiples of 2^-30.
RELEASE_STEPS = 2**30

#: What the receipt says of the arithmetic.
IDEALISED = "idealised arithmetic: continuous noise and a solver in floats, not exact integers"

#: From so many outputs on, one length per output needs less noise than one for all.
_FEWEST_BLOCKS = 4

#: Without noise nothing asks for a ridge; the problem needs one all the same.
_SMALLEST_RIDGE = 0.01

#: Records per feature and unit of the ridge from which on the ridge only holds back what they say; and how much smaller
#: it becomes at the most, for no table has records in every direction.
_BENT, _SMALLER = 8.0, 3.0

#: A ledger may ask for so many times the noise that a fit would carry alone; beyond, the price is refused.
MOST_FOR_A_LEDGER = 3.0

Kind = Literal["sphere", "blocks", "normal", "none"]


class ContinuousNoise(Protocol):
    """What the mechanism asks of a source of noise."""

    def normals(self, count: int) -> Floats:
        """Standard normal numbers."""
        ...

    def exponentials(self, count: int) -> Floats:
        """Standard exponential numbers."""
        ...


@dataclass(frozen=True)
class Minimisation:
    """What to minimise, in public numbers: features of length at most one, labels, a loss and its ridge.

    ``order`` is the Rényi order at which a concentrated cost is converted where no ledger says another.
    """

    features: VectorMap
    labels: Labels
    loss: Loss
    ridge: float
    order: Fraction | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(dict.fromkeys((*self.features.reads, *self.labels.columns)))

    @property
    def public_facts(self) -> tuple[str, ...]:
        """Facts beyond the domain on which it leans."""
        return ("the ridge and the map of features",)

    @property
    def description(self) -> str:
        """In words."""
        kind = type(self.loss).__name__.lower()
        return f"minimiser of {kind} losses of {self.features.description}, ridge {self.ridge:.6g}"


@dataclass(frozen=True)
class Perturbation:
    """The law of the linear term, or of the noise on the minimiser: a matrix with a row per output."""

    kind: Kind
    outputs: int
    features: int
    scale: float

    @property
    def dimension(self) -> int:
        """Free coordinates."""
        return (self.outputs if self.kind == "blocks" else self.outputs - 1) * self.features

    @property
    def spread(self) -> float:
        """Root mean square of one entry, once the rows sum to zero."""
        centred = math.sqrt(1 - 1 / self.outputs)
        if self.kind == "sphere":
            return self.scale * math.sqrt(self.dimension * (self.dimension + 1) / (self.outputs * self.features))
        if self.kind == "blocks":
            return self.scale * math.sqrt(self.features + 1) * centred
        return self.scale * centred

    def draw(self, noise: ContinuousNoise) -> Floats:
        """One matrix."""
        if self.kind == "none":
            return np.zeros((self.outputs, self.features))
        drawn = noise.normals(self.outputs * self.features).reshape(self.outputs, self.features)
        if self.kind == "blocks":
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
            lengths = noise.exponentials(self.outputs * self.features).reshape(drawn.shape).sum(axis=1)
            drawn *= (self.scale * lengths)[:, None]
            return drawn
        drawn -= drawn.mean(axis=0)
        if self.kind == "normal":
            return drawn * self.scale
        length = float(noise.exponentials(self.dimension).sum())
        return drawn * (self.scale * length / float(np.linalg.norm(drawn)))

    def within(self, matrix: Floats) -> Floats:
        """The part of a matrix that this noise reaches: the minimiser lies there, but a solver's rounding may not."""
        return matrix - matrix.mean(axis=0) if self.kind in ("sphere", "normal") else matrix

    def log_density(self, matrix: Floats) -> float:
        """Up to a constant, for audits."""
        if self.kind == "blocks":
            return -float(np.linalg.norm(matrix, axis=1).sum()) / self.scale
        if self.kind == "normal":
            return -float((matrix**2).sum()) / (2 * self.scale**2)
        return -float(np.linalg.norm(matrix)) / self.scale if self.kind == "sphere" else 0.0


@dataclass(frozen=True)
class MinimumPrice:
    """A minimisation with its cost, the law of its linear term and that of the noise on its solution.

    ``moves`` records differ between neighbours; ``sensitivity`` is that of the minimiser for a fixed linear term.
    """

    minimisation: Minimisation
    cost: Cost
    linear: Perturbation
    finish: Perturbation
    sensitivity: Sensitivity
    moves: int

    def charge(self, entry: int | None = None) -> Charge:
        """The line of the receipt."""
        names = {"sphere": "norm-Gamma", "blocks": "norm-Gamma by output", "normal": "Gaussian", "none": "no"}
        return Charge(
            statistic=self.minimisation.description,
            mechanism=f"perturbed minimiser, {names[self.linear.kind]} term",
            cost=self.cost,
            sensitivity=f"{math.sqrt(max(r for _, r in self.minimisation.loss.vertices)):.6g} (gradient)",
            scale=self.linear.scale,
            unit=1,
            entry=entry,
        )


def price_minimum(
    minimisation: Minimisation, cost: Cost, neighbours: Neighbours, orders: tuple[Fraction, ...] = ()
) -> MinimumPrice:
    """The noise for a minimisation; a ridge too small for the guarantee is refused.

    ``orders`` are the Rényi orders at which a concentrated cost must hold: the ledger's first, where there is one.
    """
    if not (cost.is_pure or cost.infinite or orders):
        raise ParameterError("minimiser: a cost in rho needs the order at which it is converted. Got none.")
    loss, ridge, size = minimisation.loss, minimisation.ridge, len(minimisation.features.columns)
    smallest = smallest_ridge(loss, cost, neighbours, orders)
    if not smallest <= ridge < math.inf:
        raise ParameterError(
            f"ridge: too small for the guarantee at this cost. Got {ridge:.6g}. Write ridge={_up(smallest)} or more."
        )
    moved = (moves(neighbours) * gradient_bound(loss) + 2 * certificate(ridge)) / ridge * RELEASE_STEPS
    most = loss.outputs * size
    sensitivity = Sensitivity(math.ceil(moved * math.sqrt(most)) + most, math.ceil((moved + math.sqrt(most)) ** 2))
    if cost.infinite:
        nothing = Perturbation("none", loss.outputs, size, 0.0)
        return MinimumPrice(minimisation, cost, nothing, nothing, sensitivity, moves(neighbours))
    linear = linear_term(loss, size, ridge, _main(cost), neighbours, orders)
    _refuse_a_ledger_far_too_large(linear, loss, ridge, _main(cost), neighbours, orders)
    paid = Cost(cost.epsilon, cost.rho, order=None if cost.is_pure else orders[0])
    return MinimumPrice(minimisation, paid, linear, _finish(linear, ridge, cost), sensitivity, moves(neighbours))


def _refuse_a_ledger_far_too_large(
    linear: Perturbation, loss: Loss, ridge: float, cost: Cost, neighbours: Neighbours, orders: tuple[Fraction, ...]
) -> None:
    """Not silently: noise that the ledger's order makes many times as large as the fit alone would carry."""
    if cost.is_pure or len(orders) < 2:
        return
    own = linear_term(loss, linear.features, ridge, cost, neighbours, orders[-1:]).scale
    if linear.scale > MOST_FOR_A_LEDGER * own:
        raise NoiseError(
            f"minimiser: this ledger is so much larger than the fit that its order asks for {linear.scale / own:.3g} "
            "times the noise. Ask with delta=0, or for more of the ledger, or open a ledger for fits of this size."
        )


def usual_ridge(
    loss: Loss,
    features: int,
    cost: Cost,
    neighbours: Neighbours,
    orders: tuple[Fraction, ...] = (),
    records: float = 0.0,
) -> float:
    """The ridge at which noise alone gives scores whose largest of C is about 1, if that is enough for the guarantee.

    At least twice the smallest one where the curvature is paid for. Where ``records``, a released or declared number,
    bend the objective more than the ridge does, it is smaller. It looks at public and at released numbers only.
    """
    smallest = smallest_ridge(loss, cost, neighbours, orders)
    if cost.infinite:
        return smallest
    free = _curvature_is_free(loss, cost)
    ridge = least = max(_SMALLEST_RIDGE, smallest * (1 if free else 2))
    largest = math.sqrt(2 * math.log(loss.outputs))
    for _ in range(3):
        ridge = max(least, largest * linear_term(loss, features, ridge, _main(cost), neighbours, orders).spread)
    bent = max(1.0, records / features / ridge / _BENT)  # a record's curvature is spread over all features
    return max(least, ridge / min(math.sqrt(bent), _SMALLER))


@lru_cache(maxsize=256)
def smallest_ridge(loss: Loss, cost: Cost, neighbours: Neighbours, orders: tuple[Fraction, ...] = ()) -> float:
    """The smallest ridge that the guarantee allows: curvature may take half of the cost, or is free from here on."""
    if cost.infinite:
        return 0.001
    if _curvature_is_free(loss, cost):
        return (2 if loss.outputs == 2 else 4) * moves(neighbours) / float(_main(cost).epsilon) * (1 + 1e-12)
    low, high = 1e-12, 1e12
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _curvature_fits(loss, middle, _main(cost), neighbours, orders) else (middle, high)
    return high


def linear_term(
    loss: Loss, features: int, ridge: float, cost: Cost, neighbours: Neighbours, orders: tuple[Fraction, ...] = ()
) -> Perturbation:
    """The law of the linear term at a ridge and a cost."""
    if not cost.is_pure:
        scale = max(_normal_scale(loss, ridge, float(cost.rho), neighbours, float(order)) for order in orders)
        return Perturbation("normal", loss.outputs, features, scale)
    epsilon = float(cost.epsilon)
    if not _curvature_is_free(loss, cost):
        epsilon -= loss.curvature(ridge)
    if isinstance(loss, Softmax) and loss.outputs >= _FEWEST_BLOCKS:
        return Perturbation("blocks", loss.outputs, features, 2 * moves(neighbours) / epsilon * (1 + 1e-12))
    scale = moves(neighbours) * gradient_bound(loss) / epsilon * (1 + 1e-12)
    return Perturbation("sphere", loss.outputs, features, scale)


def gradient_bound(loss: Loss) -> float:
    """The longest gradient of one record."""
    return math.sqrt(max(squared for _, squared in loss.vertices))


def certificate(ridge: float) -> float:
    """The longest gradient with which the solver may stop."""
    return CERTIFICATE * max(1.0, ridge)


def moves(neighbours: Neighbours) -> int:
    """Gradients that differ between neighbours."""
    return 1 if neighbours == "add-remove" else 2


def rounded_release(weights: Floats) -> tuple[int, ...]:
    """Weights as whole multiples of the released grid."""
    return tuple(int(value) for value in np.rint(weights.ravel() * RELEASE_STEPS).tolist())


def released_weights(values: Sequence[int], outputs: int) -> Floats:
    """What ``rounded_release`` was made from, up to rounding."""
    weights: Floats = np.array([value / RELEASE_STEPS for value in values]).reshape(outputs, -1)
    return weights


def divergence(loss: Loss, ridge: float, scale: float, neighbours: Neighbours, order: float) -> float:
    """A bound on the Rényi divergence of this order for a Gaussian term of this scale."""
    beta = order - 1
    logs, weights = [], []
    for number, squared in _vertices(loss, neighbours):
        mean, spread = squared / (2 * scale**2), math.sqrt(squared) / scale
        grid = np.linspace(-10, beta * spread + 12, _NODES)
        losses = _with_curvature(loss, ridge, scale, neighbours, mean + spread * grid)
        logs.append(beta * losses)
        weights.append(math.log(number) - grid**2 / 2 + math.log((grid[1] - grid[0]) / math.sqrt(2 * math.pi)))
    bounds = []
    for threshold in np.linspace(0, 2 / ridge, 5):
        least = beta * float(_with_curvature(loss, ridge, scale, neighbours, np.array([threshold]))[0])
        terms = [np.array([least]), *map(partial(_above, least), weights, logs)]
        bounds.append(_log_sum(np.concatenate(terms)))
    return (min(bounds) + _QUADRATURE_SLACK) / beta


def _above(least: float, weights: Floats, logs: Floats) -> Floats:
    """Logarithms of weight (e^log - e^least) where that is positive."""
    seen = logs > least
    found: Floats = weights[seen] + logs[seen] + np.log(-np.expm1(least - logs[seen]))
    return found


def _log_sum(logs: Floats) -> float:
    highest = float(logs.max())
    return highest + math.log(float(np.exp(logs - highest).sum()))


#: Nodes of the trapezoid rule, and a slack in the logarithm that covers its error.
_NODES = 2**10
_QUADRATURE_SLACK = 1e-4


def _with_curvature(loss: Loss, ridge: float, scale: float, neighbours: Neighbours, losses: Floats) -> Floats:
    """The privacy loss at a vertex, raised by all that the curvature can add to it.

    For the softmax under add-remove both are bounded together: sup over u in [0, 1] of u V + k (u - g u²).
    """
    if not isinstance(loss, Softmax) or neighbours == "substitute":
        raised: Floats = np.maximum(losses, 0) + loss.curvature(ridge)
        return raised
    excess = max(0.0, 2 / ridge - 1 / scale**2)
    share = loss.outputs / (2 * (loss.outputs - 1))
    if excess == 0:
        return np.maximum(losses, 0)
    best = np.clip((losses + excess) / (2 * share * excess), 0, 1)
    found: Floats = best * losses + excess * (best - share * best**2)
    return found


def _vertices(loss: Loss, neighbours: Neighbours) -> list[tuple[int, float]]:
    """Vertices of the difference of the gradients of neighbours; of two records, all pairs, as far apart as can be."""
    one = list(loss.vertices)
    if neighbours == "add-remove":
        return one
    pairs = [(m * k, (math.sqrt(r) + math.sqrt(t)) ** 2) for m, r in one for k, t in one]
    return [*((2 * m, r) for m, r in one), *pairs]


@lru_cache(maxsize=256)
def _normal_scale(loss: Loss, ridge: float, rho: float, neighbours: Neighbours, order: float) -> float:
    """The smallest Gaussian scale, rounded up, whose divergence of this order is at most order · ρ."""
    low = gradient_bound(loss) / math.sqrt(2 * rho) / 4
    high = low
    while divergence(loss, ridge, high, neighbours, order) > order * rho:
        low, high = high, 2 * high
        if high > 2.0**60:
            raise NoiseError("price: at this order of the ledger no noise is enough. Ask with delta=0.")
    while high > low * (1 + 1e-5):
        middle = (low + high) / 2
        enough = divergence(loss, ridge, middle, neighbours, order) <= order * rho
        low, high = (low, middle) if enough else (middle, high)
    return high


def _curvature_is_free(loss: Loss, cost: Cost) -> bool:
    """Pure noise of one length: where the gradient is longest the curvature vanishes."""
    return isinstance(loss, Softmax) and cost.is_pure and loss.outputs < _FEWEST_BLOCKS


def _curvature_fits(loss: Loss, ridge: float, cost: Cost, neighbours: Neighbours, orders: tuple[Fraction, ...]) -> bool:
    if cost.is_pure:
        return loss.curvature(ridge) <= float(cost.epsilon) / 2
    return all(
        divergence(loss, ridge, 2.0**40, neighbours, float(order)) <= float(order * cost.rho) / 2 for order in orders
    )


def _main(cost: Cost) -> Cost:
    """What pays for the linear term."""
    return cost if cost.infinite else cost.share(1 - CERTIFICATE_SHARE)


def _finish(linear: Perturbation, ridge: float, cost: Cost) -> Perturbation:
    """Noise on the solution, which is at most CERTIFICATE / ridge from the exact minimiser on either table."""
    share = cost.share(CERTIFICATE_SHARE)
    moved = 2 * certificate(ridge) / ridge * (1 + 1e-9)
    if linear.kind == "blocks":  # the lengths of all rows together are at most so many times the whole length
        moved *= math.sqrt(linear.outputs) * (1 + 1e-12)
    scale = moved / float(share.epsilon) if cost.is_pure else moved / math.sqrt(2 * float(share.rho))
    return Perturbation(linear.kind, linear.outputs, linear.features, scale)


def _up(value: float) -> str:
    """A short decimal that is not below."""
    return readable(Fraction(value) * Fraction(1_000_01, 1_000_00))
