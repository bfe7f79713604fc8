"""The deFinetti attack (Kifer, 2009) on Anatomy, by expectation and maximisation as in Mothali (2011), made exact.

Anatomy publishes who is in which group, and which sensitive values the group has. Within one group every way to share
them out is as likely; but over all groups the same quasi-identifiers keep meeting the same values, and that can be
learned. Nothing but the two published tables is used, and no step looks at the truth, stopping included.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from scipy.optimize import linear_sum_assignment

from sordino.anonymity.columns import Codes
from sordino.attack.belief import MODELS, STEPS, Learner, Model, Step, drawn_scores
from sordino.attack.group_marginals import MOST_STATES, Floats, states
from sordino.attack.published import PublishedTables, codes_of, read_published
from sordino.errors import ParameterError

Start = Literal["groups", "drawn"]

#: Probabilities held at once: restarts are computed together as long as they fit.
_MOST_NUMBERS = 2**21

#: In groups up to this size all assignments are tried, for all groups at once: faster than the Hungarian method.
_TRIED = 4

#: Imaginary tuples per value that are tried, and the rounds of a trial; fewer groups than that are not halved.
_SMOOTHINGS, _LOOK, _FEWEST_GROUPS = (1.0, 10.0, 100.0, 1000.0, 10_000.0), 10, 20

#: In nats: what the other half gains or loses by less than this is chance, and then less is believed.
_NOTHING = 1.0

#: A column is called nearly unique when so many tuples are alone with their value of it.
_ALONE = 0.5

#: In rounds of EM.
_LONGEST_JUMP = 64.0

_WHO = "DeFinettiAttack"


class DeFinettiAttack:
    """Learn from anatomised tables who has which sensitive value, and how sure one can be of it.

    Args:
        random_state: For restarts, and for the order among tuples that look alike.
        restarts: Times to begin again from elsewhere; the most likely result is kept.
        model: ``"log-linear"``, or ``"naive-bayes"`` as published: see ``sordino.attack.belief``.
        step: What a round knows of a group: ``"exact"`` (all ways to share out its values), ``"group"`` (each tuple
            alone, among its group's values) or ``"unrestricted"`` (as published; it learns next to nothing).
        start: Begin with what the groups say, or with anything (``"drawn"``, as published).
        smoothing: Imaginary tuples for each value, spread like all tuples. Unless told, as many as let one half of
            the groups foretell the other half best: where there is little to learn, little is believed.
        tolerance: Stop when a round moves less than this share of the tuples' beliefs.
        max_rounds: Stop after so many rounds at the latest; ``converged_`` then says False.

    Attributes:
        probabilities_: Table of row (of the quasi-identifier table, from 0), sensitive value and probability: for each
            tuple all values of its group.
        assignment_: The most likely way to share out the values, one for each row.
        most_hits_: The way that is expected to be right for most tuples.
        risk_: For each tuple the probability of its likeliest value.
        promised_: What its group alone says: the share of the group's most frequent value, at most 1/l.
        expected_accuracy_: The share of ``assignment_`` that is right, by the attack's own probabilities.
        log_likelihoods_: Of each restart, per tuple; the largest was kept.
        rounds_: Rounds that the kept restart took.
        converged_: Whether it came to rest.
        smoothing_: The imaginary tuples of each value.
        approximated_: The share of tuples in groups with too many ways to share out their values, for which each
            tuple was looked at alone.
        notes_: In words, what else there is to know.
    """

    def __init__(
        self,
        *,
        random_state: int | None = None,
        restarts: int = 1,
        model: Model = "log-linear",
        step: Step = "exact",
        start: Start = "groups",
        smoothing: float | None = None,
        tolerance: float = 1e-4,
        max_rounds: int = 500,
    ) -> None:
        self.random_state = random_state
        self.restarts = restarts
        self.model = model
        self.step = step
        self.start = start
        self.smoothing = smoothing
        self.tolerance = tolerance
        self.max_rounds = max_rounds

    def fit(
        self,
        qit: Any,
        st: Any,
        *,
        sensitive: str | None = None,
        group: str = "group",
        count: str = "count",
        progress: Callable[[float], None] = lambda share: None,
    ) -> DeFinettiAttack:
        """Learn from the quasi-identifier table and the sensitive table, as they were published.

        Args:
            qit: Frame or file: quasi-identifiers and the group of each tuple.
            st: Frame or file: group, sensitive value, and how many tuples of the group have it.
            sensitive: The sensitive column; the third one of ``st`` unless told otherwise.
            group: The column that joins the tables.
            count: The column of numbers in ``st``.
            progress: Told the share of the work that is done.
        """
        self._check()
        generator = np.random.default_rng(self.random_state)
        tables = read_published(qit, st, generator, sensitive=sensitive, group=group, count=count)
        self.smoothing_ = self._chosen_smoothing(tables, generator) if self.smoothing is None else self.smoothing
        learned = self.learn(tables, generator, progress)
        self._tables = tables
        self._keep(tables, learned, int(np.argmax(learned.log_likelihoods)))
        return self

    def score(self, truth: Any) -> float:
        """The share of tuples that ``assignment_`` gives their true value; for whoever knows the truth."""
        return float((self._assigned == codes_of(truth, self._tables)).mean())

    def events(self, truth: Any) -> tuple[Floats, Any]:
        """Every probability, and whether it came true: what the scores of ``sordino.attack.calibration`` ask for."""
        true = codes_of(truth, self._tables)
        return self._probability, true[self._row] == self._value

    def learn(
        self, tables: PublishedTables, generator: np.random.Generator, progress: Callable[[float], None]
    ) -> Learned:
        """Scores of every restart, computed as many at a time as fit."""
        learner = Learner(tables, self.model, self.step, self._imaginary)
        together = max(1, min(self.restarts, _MOST_NUMBERS // max(1, learner.numbers)))
        parts = []
        for first in range(0, self.restarts, together):
            scores, shares = self._begin(learner, first, min(together, self.restarts - first), generator)
            done = first / self.restarts

            def within(share: float, done: float = done, part: float = together / self.restarts) -> None:
                progress(min(1.0, done + part * share))

            parts.append(self._converge(learner, scores, shares, within, self.max_rounds))
        progress(1.0)
        return Learned.joined(parts)

    @property
    def _imaginary(self) -> float:
        return getattr(self, "smoothing_", _SMOOTHINGS[0]) if self.smoothing is None else self.smoothing

    def _chosen_smoothing(self, tables: PublishedTables, generator: np.random.Generator) -> float:
        """Learn from half of the groups with more and more imaginary tuples, until the others become less likely.

        As likely is no reason to believe more: of two that foretell as well, the larger is taken.
        """
        chosen = generator.permutation(tables.groups) < tables.groups / 2
        if self.model != "log-linear" or tables.groups < _FEWEST_GROUPS:
            return _SMOOTHINGS[0]
        half, other = tables.part(chosen), Learner(tables.part(~chosen), smoothing=0.0)
        best, reached, one = _SMOOTHINGS[0], -np.inf, np.ones((len(tables.values), 1))
        for smoothing in _SMOOTHINGS:
            learner = Learner(half, self.model, self.step, smoothing)
            scores, shares = learner.from_groups(np.ones((tables.combinations, len(tables.values), 1))), one.copy()
            found = self._converge(learner, scores, shares, lambda share: None, min(_LOOK, self.max_rounds)).scores
            likelihood = float(other.expected(other.by_value(found), shares)[1][0])
            if likelihood < reached - _NOTHING:
                break
            best, reached = smoothing, max(reached, likelihood)
        return best

    def _begin(
        self, learner: Learner, first: int, restarts: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Scores and shares of the values to begin with; the very first restart takes the groups at their word."""
        tables = learner.tables
        shares = np.repeat(tables.totals[:, None] / tables.tuples, restarts, axis=1)
        if self.start == "drawn":
            drawn = generator.gamma(1.0, size=shares.shape) + 1e-300
            return drawn_scores(tables, restarts, generator), drawn / drawn.sum(axis=0)
        noise = generator.gamma(1.0, size=(tables.combinations, len(tables.values), restarts))
        if first == 0:
            noise[:, :, 0] = 1.0
        return learner.from_groups(noise), shares

    def _converge(
        self,
        learner: Learner,
        scores: Floats,
        shares: Floats,
        progress: Callable[[float], None],
        most: int,
    ) -> Learned:
        """Rounds of EM, two at a time; restarts that have come to rest are left alone.

        Two rounds show where they lead to: the log-linear model jumps ahead (squared extrapolation, Varadhan and
        Roland, 2008), and a jump that made the tables less likely is taken back.
        """
        restarts, tuples = scores.shape[2], learner.tables.tuples
        likelihood, rounds = np.full(restarts, -np.inf), np.zeros(restarts, np.int64)
        converged, active = np.full(restarts, learner.tables.groups == 1), np.arange(restarts)
        if self.model == "log-linear":
            scores = learner.normalised(scores)
        safe = scores.copy()
        for done in range(2, most + 2, 2):
            at = scores[:, :, active]
            first, reached = learner.expected(at, shares[:, active])
            worse = reached < likelihood[active]
            if worse.any():
                at[:, :, worse] = safe[:, :, active[worse]]
                first[:, :, worse], reached[worse] = learner.expected(at[:, :, worse], shares[:, active[worse]])
            shares[:, active] = self._shares(first, tuples)
            once = learner.scores(first, at)
            second, likelihood[active] = learner.expected(once, shares[:, active])
            shares[:, active] = self._shares(second, tuples)
            twice = learner.scores(second, once)
            rounds[active] = done
            converged[active] |= np.abs(second - first).sum(axis=(0, 1)) <= 2 * tuples * self.tolerance
            safe[:, :, active] = scores[:, :, active] = twice
            going = ~converged[active]
            if self.model == "log-linear":
                scores[:, :, active[going]] = learner.normalised(_ahead(*(e[:, :, going] for e in (at, once, twice))))
            active = active[going]
            progress(max(done / most, 1 - len(active) / restarts))
            if not len(active):
                break
        return Learned(safe, likelihood / tuples, rounds, converged)

    def _shares(self, expected: Floats, tuples: int) -> Floats:
        """How frequent each value is believed to be; only the unrestricted step asks."""
        found: Floats = (expected.sum(axis=0) + self._imaginary) / (tuples + len(expected[0]) * self._imaginary)
        return found

    def _keep(self, tables: PublishedTables, learned: Learned, best: int) -> None:
        scores = learned.scores[:, :, best]
        marginals = tuple_marginals(tables, scores)
        self._row, self._value, self._probability = _long(tables, marginals)
        self._assigned = assigned(tables, [scores[each.combinations[:, :, None], each.values[:, None, :]]
                                           for each in tables.shapes])  # fmt: skip
        with np.errstate(divide="ignore"):
            hits = assigned(tables, [np.maximum(each, 0).transpose(2, 0, 1) for each in marginals])
        self.assignment_ = tables.values.take(pa.array(self._assigned))
        self.most_hits_ = tables.values.take(pa.array(hits))
        self.probabilities_ = pa.table(
            [pa.array(self._row), tables.values.take(pa.array(self._value)), pa.array(self._probability)],
            names=["row", tables.sensitive, "probability"],
        )
        self.risk_ = np.zeros(tables.tuples)
        np.maximum.at(self.risk_, self._row, self._probability)
        self.promised_ = tables.promised()
        believed = self._probability[self._assigned[self._row] == self._value]
        self.expected_accuracy_ = float(believed.sum() / tables.tuples)
        self.log_likelihoods_ = learned.log_likelihoods
        self.rounds_, self.converged_ = int(learned.rounds[best]), bool(learned.converged[best])
        large = sum(each.rows.size for each in tables.shapes if states(each.counts) > MOST_STATES)
        self.approximated_ = large / tables.tuples
        self.notes_ = tuple(self._notes(tables))

    def _notes(self, tables: PublishedTables) -> list[str]:
        notes = []
        if tables.groups == 1:
            notes.append("There is one group only: nothing can be learned, and everybody's risk is what was promised.")
        if alone := _nearly_unique(tables):
            notes.append(
                f"Most people are alone with their value of {', '.join(map(repr, alone))}: nothing can be learned from "
                "such a column, and the attack may be surer than it should be. Cut it into bands, or leave it out."
            )
        if self.approximated_:
            notes.append(
                "Some groups have too many ways to share out their values: there each tuple was looked at alone, and "
                "the risk is underestimated."
            )
        if not self.converged_:
            notes.append("The attack had not come to rest: give it more rounds with max_rounds.")
        return notes

    def _check(self) -> None:
        for name, allowed in (("model", MODELS), ("step", STEPS), ("start", get_args(Start))):
            if (got := getattr(self, name)) not in allowed:
                raise ParameterError(f"{_WHO}: {name} must be one of {', '.join(allowed)}. Got {got!r}.")
        for name in ("restarts", "max_rounds"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
                raise ParameterError(f"{_WHO}: {name} must be a whole number, 1 at least. Got {number!r}.")
        for name in ("smoothing", "tolerance"):
            number = getattr(self, name)
            if not (name == "smoothing" and number is None) and not 0 < number < np.inf:
                raise ParameterError(f"{_WHO}: {name} must be a number above 0. Got {number!r}.")
        if self.step == "unrestricted" and self.model != "naive-bayes":
            raise ParameterError(
                f"{_WHO}: step='unrestricted' learns from combinations alone, for which a log-linear model is content "
                "with anything. Write model='naive-bayes'."
            )


def _nearly_unique(tables: PublishedTables) -> list[str]:
    """The columns in which most tuples have a value that nobody else has."""
    found = []
    for name, codes in zip(tables.names, tables.columns, strict=True):
        times = np.bincount(codes[tables.combination])
        if np.sum(times == 1) > _ALONE * tables.tuples:
            found.append(name)
    return found


@dataclass(frozen=True)
class Learned:
    """What the restarts came to: scores (the restarts last), log-likelihoods per tuple, rounds, and rest or not."""

    scores: Floats
    log_likelihoods: Floats
    rounds: Codes
    converged: Any

    @classmethod
    def joined(cls, parts: list[Learned]) -> Learned:
        """Several as one."""
        return cls(
            np.concatenate([each.scores for each in parts], axis=2),
            np.concatenate([each.log_likelihoods for each in parts]),
            np.concatenate([each.rounds for each in parts]),
            np.concatenate([each.converged for each in parts]),
        )


def _ahead(at: Floats, once: Floats, twice: Floats) -> Floats:
    """Where the rounds seem to lead to, for each restart: as far ahead as their last change was small."""
    step, bend = once - at, twice - 2 * once + at
    length = np.sqrt((step**2).sum(axis=(0, 1)) / np.maximum((bend**2).sum(axis=(0, 1)), 1e-300))
    length = np.clip(length, 1.0, _LONGEST_JUMP)
    found: Floats = at + 2 * length * step + length**2 * bend
    return found


def tuple_marginals(tables: PublishedTables, scores: Floats) -> list[Floats]:
    """For each shape the probabilities under given scores: tuples x values x kinds of group."""
    learner = Learner(tables)
    return [each.marginals(scores[:, :, None])[0] for each in learner.shapes]


def assigned(tables: PublishedTables, weights: list[Floats]) -> Codes:
    """For each tuple the value that the heaviest way to share out gives it (Hungarian), by kind of group.

    ``weights`` are kinds x tuples x values. Among tuples of a group that look alike any order is as good: values go to
    them in ascending order, whatever the rounding, and their own order was drawn when the tables were read.
    """
    found = np.empty(tables.tuples, np.int64)
    for shape, weight in zip(tables.shapes, weights, strict=True):
        slots = np.repeat(np.arange(len(shape.counts)), shape.counts)
        chosen = _heaviest(weight[:, :, slots])
        values = np.take_along_axis(shape.values, slots[chosen], axis=1)
        keys = np.sort(shape.combinations * len(tables.values) + values, axis=1)
        found[shape.rows] = (keys % len(tables.values))[shape.kind]
    return found


def _heaviest(weights: Floats) -> Codes:
    """For each group (groups x tuples x places) the place of each tuple in the heaviest assignment."""
    size = weights.shape[1]
    if size > _TRIED:
        return np.array([linear_sum_assignment(each, maximize=True)[1] for each in weights], np.int64)
    ways = np.array(list(itertools.permutations(range(size))), np.int64)
    heavy = sum(weights[:, who, ways[:, who]] for who in range(size))
    found: Codes = ways[np.argmax(heavy, axis=1)]
    return found


def _long(tables: PublishedTables, marginals: list[Floats]) -> tuple[Codes, Codes, Floats]:
    """Row, value and probability, ordered by row and value."""
    parts = []
    for shape, found in zip(tables.shapes, marginals, strict=True):
        each = found.transpose(2, 0, 1)[shape.kind]
        rows = np.broadcast_to(shape.rows[:, :, None], each.shape)
        values = np.broadcast_to(shape.values[shape.kind][:, None, :], each.shape)
        parts.append((rows.ravel(), values.ravel(), each.ravel()))
    row, value, probability = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((value, row))
    return row[order], value[order], np.clip(probability[order], 0.0, 1.0)
