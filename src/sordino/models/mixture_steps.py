"""The paid steps of a private mixture: where the records lie, the space that tells them apart, a start, and rounds.

Each step is a question to the gate, and leans on what the ones before released and on nothing else. Lengths are in
radii of the ball in which the records lie, about its centre.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from sordino.models.estimator import Floats, Opening
from sordino.models.ranges import FEW_FRACTIONS, FRACTIONS, HELD, Ranges, bought_ranges, declared_ranges
from sordino.privacy.price import Question
from sordino.release import NoisyTotal
from sordino.repair.ball import into_ball
from sordino.repair.positive_definite import from_triangle, with_floor
from sordino.repair.shrinkage import spikes, towards
from sordino.statistics.components import (
    ComponentMoments,
    ComponentMoves,
    Components,
    ComponentSizes,
    ComponentSpreads,
)
from sordino.statistics.count import Count
from sordino.statistics.lattice import halved, middles
from sordino.statistics.moments import SecondMoment
from sordino.statistics.projected import Projected
from sordino.statistics.statistic import Statistic
from sordino.statistics.sums import Sum

Kind = Literal["spherical", "diag", "tied", "full"]

#: Shares of the budget; they add up to one.
SHARES = {
    "size": Fraction(1, 100),
    "ranges": Fraction(14, 100),
    "moments": Fraction(20, 100),
    "start": Fraction(30, 100),
    "rounds": Fraction(35, 100),
}

#: Shares of a round: sizes and moves; and with spreads about the means.
_MOVED = (Fraction(1, 5), Fraction(4, 5))
_SPREAD = (Fraction(3, 20), Fraction(9, 20), Fraction(8, 20))

#: How clearly a table can be seen is its released size, less a deviation, times the root of ρ. Below the first of
#: these, rounds would be noise; below the second, a start from the table; below the third, fine ranges.
CLEAR = {"rounds": 5.0, "start": 35.0, "ranges": 60.0}

#: Ranks by which a paid quantile may miss, times the root of the ρ of the whole fit: four times what is usually drawn.
_RANK_NOISE = 100.0

#: The ε of a pure budget that sees as clearly as a ρ of 1: its noise is spread over as many looks, without a root.
_PURE = 12.0

#: Directions that are told apart, at most.
LARGEST_SPACE = 16

#: Lengths are looked at up to so many standard deviations.
_REACH = 2.5

#: The longest side of a cell is halved at most so often: 2^10 cells, where k-means is quick.
_LARGEST_DEPTH = 10

#: No variance is below this part of the usual one: a component that noise made flat would collapse the likelihood.
_FLOOR = 0.02

#: Nor is a variance that all share below what noise adds, up to this part of the usual one: means and variances are
#: bought apart, and where noise is loud the one may leave nothing of the other.
_UNSURE = 0.25

#: What a public start supposes: the standard deviation of a column, in halves of its interval.
_SUPPOSED = 0.4


@dataclass(frozen=True)
class Space:
    """The directions in which records differ by more than noise, their variances, and that of all others.

    ``within`` is a supposed variance about the means, where the space is public; ``noise`` is the standard deviation
    of what noise adds to the variance along a direction.
    """

    ranges: Ranges
    directions: Floats
    variances: Floats
    outside: float
    within: float | None = None
    noise: float = 0.0

    def of(self, columns: tuple[str, ...]) -> Projected:
        """The record map."""
        centre = np.array(self.ranges.centre) @ self.directions
        return Projected.of(columns, self.directions, self.ranges.radius, centre)

    @property
    def floor(self) -> float:
        """The smallest variance that a component may have."""
        return _FLOOR * float(self.variances.mean())

    def within_means(self, mixture: Clusters) -> float:
        """The mean variance about the means of a mixture: that of all records less that of the means."""
        if self.within is not None:
            return self.within
        between = float(mixture.weights @ (mixture.means**2).sum(axis=1))
        total = float(self.variances.sum())
        return max(total - between, 0.05 * total) / len(self.variances)

    def common(self, mixture: Clusters) -> Floats:
        """The covariance about the means that all components share: it costs nothing more."""
        if self.within is not None:
            return self.within * np.eye(len(self.variances))
        between = (mixture.means * mixture.weights[:, None]).T @ mixture.means
        unsure = min(self.noise, _UNSURE * float(self.variances.mean()))
        return with_floor(np.diag(self.variances) - between, max(self.floor, unsure))


@dataclass(frozen=True)
class Clusters:
    """Noisy sizes, means, and covariances within a space."""

    sizes: Floats
    means: Floats
    covariances: Floats

    @property
    def weights(self) -> Floats:
        """Shares of the records."""
        weights: Floats = self.sizes / self.sizes.sum()
        return weights


class Steps:
    """One fit: the gate, the released size of the table, and words for the receipt."""

    def __init__(self, opening: Opening, components: int, kind: Kind) -> None:
        self.opening, self.components, self.kind = opening, components, kind
        self.columns = opening.features
        self.words: list[str] = []
        (size,) = self._asked({Count(self.columns): SHARES["size"]})
        self.size = max(1.0, size.in_units()[0])
        surely = max(0.0, self.size - _deviation(size))
        root = float(opening.cost.epsilon) / _PURE if opening.cost.is_pure else math.sqrt(float(opening.cost.rho))
        self.clarity = math.inf if opening.cost.infinite else surely * root

    def fit(self) -> tuple[Space, Clusters]:
        """All steps, or as many of them as the released size can bear."""
        if self.clarity < CLEAR["start"]:
            return self._publicly_started()
        space = self._space(self._ranges())
        if self.components == 1:
            return space, self._alone(space, SHARES["start"] + SHARES["rounds"])
        return space, self._rounds(space, self._start(space), SHARES["rounds"])

    def _asked(self, statistics: dict[Statistic, Fraction]) -> list[NoisyTotal]:
        questions = [Question(each, self.opening.cost.share(share)) for each, share in statistics.items()]
        totals = self.opening.session.answer(questions)
        self.opening.receipts.extend(total.receipt for total in totals)
        return totals

    # ---- where the records lie -------------------------------------------------------------------------------------

    def _ranges(self) -> Ranges:
        """A centre, and a radius that holds most records."""
        cost = self.opening.cost.share(SHARES["ranges"])
        radii = FRACTIONS if self.clarity >= CLEAR["ranges"] else FEW_FRACTIONS
        bought = bought_ranges(self.opening.session, self.columns, cost, self.size, self._held(), radii)
        self.opening.receipts.extend(bought.receipts)
        return bought

    def _held(self) -> Fraction:
        """The part of the records that the radius holds: as many as the noise of a paid quantile lets be told apart."""
        beyond = float(np.clip(_RANK_NOISE / self.clarity, 0.01, float(1 - HELD)))
        return Fraction(round(1000 * (1 - beyond)), 1000)

    def _space(self, ranges: Ranges) -> Space:
        """The first directions of the second moments about the centre, without what noise adds to their variances."""
        (total,) = self._asked({SecondMoment(ranges.of(self.columns), frobenius=True): SHARES["moments"]})
        matrix = from_triangle(total.in_units()) / self.size
        dimension = len(matrix)
        trace = float(np.clip(np.trace(matrix), 0.1, 1.0))
        deviation = _deviation(total, 1) / self.size  # off the diagonal
        edge = 2 * deviation * math.sqrt(dimension)  # how far noise alone spreads eigenvalues
        values, vectors = np.linalg.eigh(matrix)
        excess, vectors = values[::-1] - trace / dimension, vectors[:, ::-1]
        count = min(dimension, LARGEST_SPACE, max(3, int(np.sum(excess > edge - trace / dimension))))
        seen = np.abs(excess) > edge if edge < trace / 2 else np.zeros(dimension, dtype=bool)
        apart = np.where(seen, spikes(excess, edge), 0.0)
        floor = 0.05 * trace / dimension
        variances = np.clip(trace / dimension + apart[:count], floor, 1.0)
        outside = (trace - float(variances.sum())) / max(1, dimension - count)
        outside = float(np.clip(outside, floor, trace / dimension))
        return Space(ranges, vectors[:, :count], variances, outside, noise=edge / 2)

    # ---- the start -------------------------------------------------------------------------------------------------

    def _start(self, space: Space) -> Floats:
        """Means of the cells that hold more than noise: one noisy lattice over the first directions."""
        of, share = space.of(self.columns), SHARES["start"]
        usual = halved(of, (1.0,), 1)
        (priced,) = self.opening.session.price([Question(usual, self.opening.cost.share(share))])
        deviation = max(math.sqrt(priced.laws[0].variance), 1e-6)
        depth = int(np.clip(round(math.log2(max(1.0, self.size / (4 * deviation)))) + 2, 2, _LARGEST_DEPTH))
        axes = int(np.clip(depth // 2, 1, len(space.variances)))
        reaches = tuple(np.minimum(1.0, _REACH * np.sqrt(space.variances[:axes])).tolist())
        lattice = halved(of, reaches, depth)
        (total,) = self._asked({lattice: share})
        counts = np.array(total.in_units())
        kept = np.flatnonzero(counts > max(3 * deviation, 0.5))
        if len(kept) < self.components:
            self.words.append("the start is along one direction: too few cells stood out of the noise")
            return self._along(space)
        places = np.zeros((len(kept), len(space.variances)))
        places[:, : len(lattice.edges)] = middles(lattice, reaches)[kept]
        with threadpool_limits(1):  # so that its sums have one order
            found = KMeans(self.components, n_init=10, random_state=0).fit(places, sample_weight=counts[kept])
        return into_ball(found.cluster_centers_)

    def _along(self, space: Space) -> Floats:
        """Places along the first direction, as far apart as equal parts of one normal law."""
        places = np.zeros((self.components, len(space.variances)))
        places[:, 0] = _quantiles(self.components) * math.sqrt(space.variances[0])
        return into_ball(places)

    def _publicly_started(self) -> tuple[Space, Clusters]:
        """Places along the diagonal of the declared box, a supposed variance, and rounds if they can be borne."""
        self.words.append("the start is public: by the released size, one from the table would be noise")
        dimension, quantiles = len(self.columns), _quantiles(self.components)
        variance = _SUPPOSED**2 / dimension  # the ball around the box has the radius sqrt(d)
        within = variance * max(0.5, 1 - float(np.mean(quantiles**2)))
        space = Space(declared_ranges(dimension), np.eye(dimension), np.full(dimension, variance), 0.0, within)
        means = np.outer(quantiles, np.full(dimension, math.sqrt(variance)))
        rest = 1 - SHARES["size"]
        if self.components == 1:
            return space, self._alone(space, rest)
        if self.clarity >= CLEAR["rounds"]:
            return space, self._rounds(space, means, rest)
        self.words.append("no rounds: by the released size, they would be noise; sizes alone are bought")
        (total,) = self._asked({ComponentSizes(Components(space.of(self.columns), _rows(means))): rest})
        mixture = Clusters(self._sizes(total), means, np.empty(0))
        return space, replace(mixture, covariances=np.tile(space.common(mixture), (self.components, 1, 1)))

    # ---- rounds ----------------------------------------------------------------------------------------------------

    def _alone(self, space: Space, share: Fraction) -> Clusters:
        """One component: its mean."""
        (total,) = self._asked({Sum(space.of(self.columns)): share})
        mean = towards([total.in_units()], 0.0, _deviation(total) ** 2)[0] / self.size
        alone = Clusters(np.array([self.size]), into_ball(mean), np.empty(0))
        return replace(alone, covariances=space.common(alone)[None])

    def _rounds(self, space: Space, means: Floats, share: Fraction) -> Clusters:
        """Two rounds that give each record to its nearest mean, and one that shares it."""
        of = space.of(self.columns)
        mixture = Clusters(np.full(self.components, self.size / self.components), means, np.empty(0))
        for _ in range(2):
            mixture = self._round(Components(of, _rows(mixture.means)), mixture, space, share / 3)
        logarithms = tuple(np.log(np.maximum(mixture.weights, 1e-6)).tolist())
        precision = 1 / space.within_means(mixture)
        shared = Components(of, _rows(mixture.means), precision, logarithms)
        return self._round(shared, mixture, space, share / 3, last=True)

    def _round(
        self, shared: Components, mixture: Clusters, space: Space, share: Fraction, *, last: bool = False
    ) -> Clusters:
        """Sizes and moves, and in the last round spreads about the means where they are asked for."""
        reach = min(2.0, _REACH * math.sqrt(space.within_means(mixture) * len(space.variances)))
        asked: list[Statistic] = [ComponentSizes(shared), ComponentMoves(shared, reach)]
        if last and self.kind != "tied":
            spread = ComponentSpreads if self.kind == "spherical" else ComponentMoments
            asked.append(spread(shared, reach))
        parts = _SPREAD if len(asked) == 3 else _MOVED
        totals = self._asked({each: share * part for each, part in zip(asked, parts, strict=True)})
        sizes = self._sizes(totals[0])
        moves = np.array(totals[1].in_units()).reshape(self.components, -1) * reach / sizes[:, None]
        noise = (_deviation(totals[1]) * reach / sizes) ** 2
        moves = np.array([towards(move, 0.0, each)[0] for move, each in zip(moves, noise, strict=True)])
        moved = Clusters(sizes, into_ball(mixture.means + moves), np.empty(0))
        if not last:
            return moved
        return replace(moved, covariances=self._covariances(space, moved, moves, reach, totals[2:]))

    def _sizes(self, total: NoisyTotal) -> Floats:
        """Noisy sizes, none so small that its moves would be noise alone."""
        smallest = max(3 * _deviation(total), 1e-3 * self.size / self.components)
        sizes: Floats = np.maximum(total.in_units(), smallest)
        return sizes

    def _covariances(
        self, space: Space, mixture: Clusters, moves: Floats, reach: float, totals: Sequence[NoisyTotal]
    ) -> Floats:
        """The common covariance; each component's own is drawn towards it by the share that is noise."""
        common = space.common(mixture)
        if not totals:
            return np.tile(common, (self.components, 1, 1))
        (total,) = totals
        noise = _deviation(total, 1 if self.kind != "spherical" else 0) * reach**2 / mixture.sizes
        released = np.array(total.in_units()).reshape(self.components, -1) * reach**2 / mixture.sizes[:, None]
        own = []
        for entries, move, deviation in zip(released, moves, noise, strict=True):
            if self.kind == "spherical":
                dimension = len(move)
                variance = (entries[0] - move @ move) / dimension
                drawn = towards(variance, space.within_means(mixture), (deviation / dimension) ** 2)[0]
                own.append(max(float(drawn), space.floor) * np.eye(dimension))
            else:
                drawn = towards(from_triangle(entries) - np.outer(move, move), common, deviation**2)[0]
                own.append(with_floor(drawn, space.floor + deviation / 4))
        return np.array(own)


def _deviation(total: NoisyTotal, place: int = 0) -> float:
    """The standard deviation of the noise in one of the numbers, in units."""
    return math.sqrt(total.laws[min(place, len(total.laws) - 1)].variance) / total.unit


def _quantiles(parts: int) -> Floats:
    """Where the middles of equally likely parts of a standard normal law lie."""
    quantiles: Floats = ndtri((np.arange(parts) + 0.5) / parts)
    return quantiles


def _rows(places: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, np.asarray(places).tolist()))
