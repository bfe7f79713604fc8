"""Membership: was this person in the table that a release was made from? Attacks that need the released rows alone.

Whoever has a release, and some records of the same kind of people, asks of each candidate how much better the release
knows it than it should. A score has no meaning by itself: it is compared with the scores of people who are known not to
have been in the table. What counts is how many members are found at a low rate of false alarms; the accuracy over as
many members as others, which papers report, hides an attack that is sure of a few.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from sordino.anonymity.columns import read_frame, require_columns
from sordino.attack.group_marginals import Floats
from sordino.attack.points import Points, words_of
from sordino.errors import ParameterError, TableError

Method = Literal["nearest", "density-ratio", "shadow"]

#: Rates of false alarms at which members are counted.
RATES = (0.001, 0.01, 0.1)

#: Shadow models, as in the published attack.
_SHADOWS = 10

#: Fewer records than this on a side can tell nothing.
_FEWEST = 10

_WHO = "MembershipAttack"

#: The candidates, and known non-members.
Asked = tuple[pa.Table, pa.Table]

#: From rows and public randomness to as many synthetic rows: what is known of how the release was made.
Generator = Callable[[pa.Table, np.random.Generator], pa.Table]


class MembershipAttack:
    """Score candidates by how much better a release knows them than it should.

    Args:
        method: ``"nearest"``: how much nearer the nearest released row is than the nearest one of the reference.
            ``"density-ratio"``: how much denser released rows lie around it than those of the reference, by a
            classifier that tells the two apart. ``"shadow"``: as published (Shokri and others, 2017): models of the
            target column trained on known rows teach what a model does with rows it has seen; it asks the same of a
            model trained on the release.
        target: For ``"shadow"``: the column that models predict.
        generator: For ``"shadow"``: how releases are made from rows, if that is known; else shadow models are trained
            on rows as they are.
        random_state: For splits and models.

    Attributes:
        scores_: One for each candidate; higher means more likely a member.
        thresholds_: For each of ``RATES``, the score above which that share of known non-members lies; None where
            there are too few of them to tell.
    """

    def __init__(
        self,
        method: Method = "nearest",
        *,
        target: str | None = None,
        generator: Generator | None = None,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.target = target
        self.generator = generator
        self.random_state = random_state

    def fit(self, release: Any, candidates: Any, reference: Any) -> MembershipAttack:
        """Score candidates.

        Args:
            release: Frame or file: the rows that were published.
            candidates: Frame or file: who may have been in the table; with the columns of the release.
            reference: Frame or file: people of the same kind who were not in the table. A half of them serves for
                comparison; the other half tells how high scores of non-members are.
        """
        if self.method not in get_args(Method):
            raise ParameterError(f"{_WHO}: method must be one of {', '.join(get_args(Method))}. Got {self.method!r}.")
        tables = [read_frame(each, _WHO) for each in (release, candidates, reference)]
        names = tables[0].column_names
        for table in tables[1:]:
            require_columns(table, names, _WHO)
        tables = [table.select(names) for table in tables]
        if len(tables[0]) < _FEWEST or len(tables[2]) < 2 * _FEWEST:
            raise TableError(f"{_WHO}: the release must have {_FEWEST} rows at least, and the reference twice as many.")
        generator = np.random.default_rng(self.random_state)
        order = generator.permutation(len(tables[2]))
        half = len(order) // 2
        known, others = (tables[2].take(pa.array(part)) for part in (order[:half], order[half:]))
        scores = self._scores(tables[0], (tables[1], others), known, generator)
        self.scores_, outside = scores[: len(tables[1])], scores[len(tables[1]) :]
        self.thresholds_ = {
            rate: float(np.quantile(outside, 1 - rate, method="higher")) if len(outside) * rate >= 1 else None
            for rate in RATES
        }
        return self

    def accused(self, rate: float) -> Any:
        """Which candidates score higher than all but that share of the known non-members."""
        threshold = self.thresholds_.get(rate)
        if threshold is None:
            raise ParameterError(
                f"{_WHO}: rate must be one of {', '.join(map(str, RATES))}, and the reference large enough for it. "
                f"Got {rate!r}."
            )
        return self.scores_ > threshold

    def judge(self, member: Any) -> MembershipVerdict:
        """How well scores tell members from others, for whoever knows who was in the table."""
        return judge(self.scores_, member)

    def _scores(self, release: pa.Table, asked: Asked, known: pa.Table, generator: np.random.Generator) -> Floats:
        if self.method == "shadow":
            return self._shadow(release, asked, known, generator)
        points = Points.of(release, known)
        made, real = points(release), points(known)
        wanted = np.vstack([points(each) for each in asked])
        if self.method == "nearest":
            return _nearest(made, wanted, real)
        return _density_ratio(made, wanted, real, self.random_state)

    def _shadow(self, release: pa.Table, asked: Asked, known: pa.Table, generator: np.random.Generator) -> Floats:
        """Shadow models, each on a half of the known rows, teach an attack model what having been seen looks like."""
        if self.target not in release.column_names or len(release.column_names) < 2:
            raise ParameterError(f"{_WHO}: method='shadow' asks for target=, a column that models predict from others.")
        shadow = Shadow(str(self.target), Points.of(*(_without(each, str(self.target)) for each in (release, known))))
        examples, seen = [], []
        for _ in range(_SHADOWS):
            inside = generator.permutation(len(known)) < len(known) // 2
            trained = known.filter(pa.array(inside))
            shadow.train(trained if self.generator is None else self.generator(trained, generator), self.random_state)
            examples.append(shadow.confidence(known))
            seen.append(inside)
        shadow.train(release, self.random_state)
        wanted = np.vstack([shadow.confidence(each) for each in asked])
        return _taught(np.vstack(examples), np.concatenate(seen), wanted, self.random_state)


class Shadow:
    """A model of the target column, and how sure it is of a row: its highest probabilities, and that of the truth."""

    def __init__(self, target: str, points: Points) -> None:
        self._target, self._points = target, points
        self._model: Any = None

    def train(self, rows: pa.Table, seed: int) -> None:
        """Fit to some rows, as closely as forests do."""
        from sklearn.ensemble import RandomForestClassifier

        self._model = RandomForestClassifier(50, random_state=seed)
        self._model.fit(self._points(_without(rows, self._target)), words_of(rows, self._target).astype(str))

    def confidence(self, rows: pa.Table) -> Floats:
        """What the model says of each row."""
        said = self._model.predict_proba(self._points(_without(rows, self._target)))
        place = {word: number for number, word in enumerate(self._model.classes_)}
        truth = [place.get(str(word), -1) for word in words_of(rows, self._target)]
        said = np.hstack([said, np.zeros((len(said), 3))])  # the last column: a class that the model never saw
        right = said[np.arange(len(said)), truth]
        found: Floats = np.column_stack([-np.sort(-said, axis=1)[:, :3], right])
        return found


def _without(table: pa.Table, name: str) -> pa.Table:
    return table.drop_columns(name)


def _taught(examples: Floats, seen: Any, asked: Floats, seed: int) -> Floats:
    """The published attack model: a neural network, 50 epochs, learning rate 0.01."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    attack = MLPClassifier((64,), learning_rate_init=0.01, max_iter=50, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many epochs were asked for
        attack.fit(examples, seen)
    found: Floats = attack.predict_proba(asked)[:, 1]
    return found


@dataclass(frozen=True)
class Found:
    """Members found at a rate of false alarms: the rate asked for and the true ones, with 95 % intervals."""

    asked: float
    threshold: float
    false_alarms: tuple[float, float, float]
    found: tuple[float, float, float]


@dataclass(frozen=True)
class MembershipVerdict:
    """How well scores tell members from others.

    Attributes:
        rates: At each rate of false alarms that so many non-members can show: how many members are found.
        accuracy: Of the best threshold over as many members as others: what papers report. Half is chance; chosen
            on the same people, it is above half even where there is nothing.
        area: Probability that a member scores higher than another; half is chance.
        p_value: Of scores that have nothing to do with membership, by ranks (Mann and Whitney), two-sided.
    """

    members: int
    others: int
    rates: tuple[Found, ...]
    accuracy: float
    area: float
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def judge(scores: Any, member: Any) -> MembershipVerdict:
    """Compare scores with the truth. Thresholds are scores of non-members, so that false alarms are what is said."""
    from scipy.stats import mannwhitneyu

    score, inside = np.asarray(scores, float).ravel(), np.asarray(member).ravel()
    if len(score) != len(inside) or not np.isin(inside, (0, 1)).all() or not np.isfinite(score).all():
        raise ParameterError(f"{_WHO}: give one score, and yes or no, for each candidate.")
    inside = inside.astype(bool)
    members, others = np.sort(score[inside]), np.sort(score[~inside])
    if min(len(members), len(others)) < _FEWEST:
        raise ParameterError(f"{_WHO}: the truth must have {_FEWEST} members and {_FEWEST} others at least.")
    rates = tuple(_found(members, others, rate) for rate in RATES if len(others) * rate >= 1)
    test = mannwhitneyu(members, others, alternative="two-sided")
    places = np.unique(score)
    hits = 1 - np.searchsorted(members, places, side="left") / len(members)
    misses = np.searchsorted(others, places, side="left") / len(others)
    return MembershipVerdict(
        len(members), len(others), rates, float(np.max(hits + misses) / 2),
        float(test.statistic / (len(members) * len(others))), float(test.pvalue),
    )  # fmt: skip


def _found(members: Floats, others: Floats, rate: float) -> Found:
    threshold = float(others[len(others) - 1 - int(len(others) * rate)])
    alarms, found = int(np.sum(others > threshold)), int(np.sum(members > threshold))
    return Found(rate, threshold, _interval(alarms, len(others)), _interval(found, len(members)))


def _interval(count: int, of: int, level: float = 0.95) -> tuple[float, float, float]:
    """A share with its exact interval (Clopper and Pearson)."""
    from scipy.stats import beta

    low = float(beta.ppf((1 - level) / 2, count, of - count + 1)) if count else 0.0
    high = float(beta.ppf((1 + level) / 2, count + 1, of - count)) if count < of else 1.0
    return count / of, low, high


def _nearest(made: Floats, wanted: Floats, real: Floats) -> Floats:
    """Logarithm of the distance to the nearest known row over that to the nearest released one."""
    from sklearn.neighbors import NearestNeighbors

    distances = [NearestNeighbors(n_neighbors=1).fit(rows).kneighbors(wanted)[0][:, 0] for rows in (real, made)]
    smallest = 1e-6
    found: Floats = np.log(distances[0] + smallest) - np.log(distances[1] + smallest)
    return found


def _density_ratio(made: Floats, wanted: Floats, real: Floats, seed: int) -> Floats:
    """Log-odds that a row was released rather than known, by boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(random_state=seed, early_stopping=True)
    model.fit(np.vstack([made, real]), np.repeat([1, 0], [len(made), len(real)]))
    found: Floats = model.decision_function(wanted)
    return found
