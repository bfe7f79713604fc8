"""The data of the RON-Gauss study, and what is learned on synthetic rows and tested on real ones.

Rows are in their public boxes, each column from -1 to 1. What the paper had and we have not, REALDISP and Twitter, is
used where the caller's folder holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.cluster import KMeans
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import silhouette_score
from sklearn.svm import SVC

from sordino.attack.membership import MembershipAttack
from sordino.datasets import blog_feedback, gfe, mnist, realdisp, twitter
from sordino.errors import SordinoError
from sordino.studies.published.rongauss import Floats, Placement, Synthetic

#: Groups that K-means looks for: what the paper found best for GFE.
GROUPS = 4

#: The public map of counts that run over many orders: log(1 + |x|) over that of these, and clipped.
_LARGEST_COUNT, _LARGEST_COMMENTS = 3000.0, 1500.0


@dataclass(frozen=True)
class Task:
    """Rows to learn from and rows to test on, with their targets: classes 0 and 1, or numbers in [-1, 1]."""

    name: str
    rows: Floats
    target: Floats
    test_rows: Floats
    test_target: Floats
    published: bool = False

    def at_most(self, count: int, tests: int) -> Task:
        """The same with fewer rows, the first ones."""
        return Task(
            self.name, self.rows[:count], self.target[:count], self.test_rows[:tests], self.test_target[:tests],
            self.published,
        )  # fmt: skip


@dataclass(frozen=True)
class Data:
    """All tasks: rows to cluster, and tables with a class or with a number."""

    faces: Floats
    classes: tuple[Task, ...]
    numbers: tuple[Task, ...]
    digits: tuple[Floats, np.ndarray[Any, Any]]


def load(folder: Path | None) -> Data:
    """Everything that is to be had."""
    frames = gfe.load_gfe(folder)
    highs = np.array([column.high for column in gfe.COLUMNS.values()])
    images, digits = mnist.load_mnist("train", folder)
    faces, expressed = _shuffled(frames.points / highs * 2 - 1, frames.targets.astype(float))
    odd = digits % 2
    tests, test_digits = mnist.load_mnist("test", folder)
    classes = [
        Task("GFE frames", faces[5000:], expressed[5000:], faces[:5000], expressed[:5000]),
        Task("MNIST even or odd", _pixels(images), odd.astype(float), _pixels(tests), (test_digits % 2).astype(float)),
    ]
    posts, comments = blog_feedback.load_blog_feedback("train", folder)
    more_posts, more_comments = blog_feedback.load_blog_feedback("test", folder)
    known = _shuffled(counts(posts), comments_of(comments))
    numbers = [Task("BlogFeedback", *known, counts(more_posts), comments_of(more_comments))]
    return Data(faces, (*classes, *_realdisp(folder)), (*numbers, *_twitter(folder)), (_pixels(images), digits))


def counts(rows: Floats) -> Floats:
    """Counts of any size in [-1, 1], by their order of magnitude."""
    placed: Floats = np.clip(np.log1p(np.abs(rows)) / np.log1p(_LARGEST_COUNT), 0, 1) * 2 - 1
    return placed


def comments_of(target: Floats) -> Floats:
    """Numbers of comments likewise."""
    placed: Floats = np.clip(np.log1p(target) / np.log1p(_LARGEST_COMMENTS), 0, 1) * 2 - 1
    return placed


def _pixels(images: Any) -> Floats:
    placed: Floats = images / 127.5 - 1
    return placed


def _shuffled(rows: Floats, target: Floats) -> tuple[Floats, Floats]:
    order = np.random.default_rng(0).permutation(len(rows))  # public data
    return rows[order], target[order]


def _realdisp(folder: Path | None) -> tuple[Task, ...]:
    try:
        rows, displaced = realdisp.load_realdisp(folder)
    except SordinoError:
        return ()
    rows, target = _shuffled(np.clip(rows / np.abs(rows).max(axis=0, initial=1e-9), -1, 1), displaced.astype(float))
    return (Task("REALDISP", rows[1290:], target[1290:], rows[:1290], target[:1290], published=True),)


def _twitter(folder: Path | None) -> tuple[Task, ...]:
    try:
        rows, buzz = twitter.load_twitter(folder)
    except SordinoError:
        return ()
    rows, target = _shuffled(counts(rows), np.clip(buzz / np.abs(buzz).max(initial=1e-9), 0, 1) * 2 - 1)
    return (Task("Twitter", rows[4715:], target[4715:], rows[:4715], target[:4715], published=True),)


def clustering(synthetic: Synthetic, real: Floats, most: int) -> Mapping[str, float]:
    """The silhouette of synthetic rows, and what their centres cost real rows over what the best centres cost."""
    rows, placed = synthetic.rows[:most], synthetic.place(real[: 2 * most])
    found = KMeans(GROUPS, n_init=4, random_state=0).fit(rows)
    best = KMeans(GROUPS, n_init=4, random_state=0).fit(placed)
    nearest = ((placed[:, None] - found.cluster_centers_) ** 2).sum(axis=2).min(axis=1)
    return {"silhouette": float(silhouette_score(rows, found.labels_)), "cost": float(nearest.sum() / best.inertia_)}


def accuracy(synthetic: Synthetic, task: Task, most: int) -> float:
    """Of a support vector machine on synthetic rows, on real ones; of one class alone, its share."""
    rows, target = _first(synthetic, most)
    if len(np.unique(target)) == 1:
        return float((task.test_target == target[0]).mean())
    scale = _spread(rows)
    learned = SVC().fit(rows / scale, target)
    return float(learned.score(synthetic.place(task.test_rows) / scale, task.test_target))


def error(synthetic: Synthetic, task: Task, most: int) -> float:
    """Root mean square of a kernel ridge regression on synthetic rows, on real test rows."""
    rows, target = _first(synthetic, most)
    scale = _spread(rows)
    learned = KernelRidge(kernel="rbf", alpha=1.0).fit(rows / scale, target - target.mean())
    predicted = learned.predict(synthetic.place(task.test_rows) / scale) + target.mean()
    return float(np.sqrt(np.mean((predicted - task.test_target) ** 2)))


def membership(synthetic: Synthetic, rows: Floats, target: Floats, count: int, method: Any) -> Mapping[str, float]:
    """How well a release gives away who was in its table: accuracy, and members found at 1 % of false alarms.

    The first ``count`` rows were in the table; as many after them were not, and twice as many more everyone knows.
    """
    table = partial(_released, synthetic.place)
    release = pa.table(_columns(synthetic.rows, synthetic.target))
    asked, known = slice(0, 2 * count), slice(2 * count, 4 * count)
    attack = MembershipAttack(method, target="target")
    attack.fit(release, table(rows[asked], target[asked]), table(rows[known], target[known]))
    found = attack.judge(np.arange(2 * count) < count)
    at_one = [each.found[0] for each in found.rates if each.asked == 0.01]
    return {"accuracy": found.accuracy} | ({"members found at 1 %": at_one[0]} if at_one else {})


def _released(place: Placement, rows: Floats, target: Floats) -> pa.Table:
    return pa.table(_columns(place(rows), target))


def _columns(rows: Floats, target: Floats | None) -> dict[str, Any]:
    labels = np.zeros(len(rows)) if target is None else target
    return {f"d{number}": column for number, column in enumerate(rows.T)} | {"target": labels.astype(int).astype(str)}


def _spread(rows: Floats) -> Floats:
    """Standard deviations of the columns, none below their mean: nearly constant pixels must not be blown up."""
    spread = rows.std(axis=0)
    floored: Floats = np.maximum(spread, max(float(spread.mean()), 1e-9))
    return floored


def _first(synthetic: Synthetic, most: int) -> tuple[Floats, Floats]:
    """Some of the synthetic rows, in random order, for classes may come one after the other."""
    target = np.zeros(len(synthetic.rows)) if synthetic.target is None else synthetic.target
    order = np.random.default_rng(0).permutation(len(target))[:most]  # of what was released
    return synthetic.rows[order], target[order]
