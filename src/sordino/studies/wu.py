"""Wu's figures again: the error of a symmetric mixture's parameter against the round, every variant beside ours.

Rows are N(θ, 1) or N(-θ, 1) with |θ| = 3. Rounds that need a start get a public one at distance 1.5 from θ, as the
paper's theorems suppose; ours starts from the table, privately. All private variants pay for all rounds and all
coordinates, for add-remove neighbours, and buy the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sordino.models.gradient_em import GradientEM
from sordino.report.chart import Chart, Series
from sordino.studies.published import wu as published
from sordino.studies.study import Progress, Row, StudyResult
from sordino.studies.titles import TITLES

Floats = np.ndarray[Any, np.dtype[np.float64]]

LENGTH, ROUNDS, DELTA, NEAR = 3.0, 10, 1e-5, 1.5

REPEATS = 12

#: Clipping radii of Figure 1; the last one is about the length of a gradient.
RADII = (0.5, 1.0, 2.0, 3.0, 5.6)

#: The radius that the paper finds best, by ε.
BEST = {0.2: 1.0, 0.5: 2.0, 1.0: 2.0}


@dataclass(frozen=True)
class Cell:
    """One panel at one value: rows, columns, ε."""

    figure: str
    rows: int
    columns: int
    epsilon: float

    @property
    def words(self) -> str:
        """In words."""
        return f"n = {self.rows}, d = {self.columns}, ε = {self.epsilon:g}"


FIRST = tuple(Cell("Figure 1", 1000, 20, epsilon) for epsilon in BEST)

SECOND = (
    *(Cell("Figure 2a", 2000, 10, epsilon) for epsilon in (0.2, 0.5, 1.0)),
    *(Cell("Figure 2b", 2000, columns, 0.5) for columns in (5, 20)),
    *(Cell("Figure 2c", rows, 10, 0.5) for rows in (1000, 10_000)),
)

THIRD = (
    *(Cell("Figure 3a", 2000, 100, epsilon) for epsilon in (0.2, 0.5, 1.0)),
    *(Cell("Figure 3b", 2000, columns, 0.5) for columns in (40, 80, 160)),
    *(Cell("Figure 3c", rows, 100, 0.5) for rows in (5000, 10_000)),
    *(Cell("ours", rows, columns, 0.5) for rows, columns in ((10_000, 40), (10_000, 80), (5000, 160), (10_000, 160))),
)

#: What this project set itself, by rows, columns and ε.
REACH = {(2000, 10, 0.5): 0.25, (10_000, 40, 0.5): 0.16, (5000, 160, 0.5): 1.3}

Variant = Callable[[Floats, Floats, Cell, int], Floats]


def _clipped(rows: Floats, start: Floats, cell: Cell, seed: int, radius: float) -> Floats:
    return _path(rows, cell, seed, start=start, rounds=ROUNDS, clip=radius)


def _soft(rows: Floats, start: Floats, cell: Cell, seed: int) -> Floats:
    return _path(rows, cell, seed, start=start, rounds=ROUNDS, truncation="soft")


def _made_true(rows: Floats, start: Floats, cell: Cell, seed: int) -> Floats:
    scale = published.printed_scale(len(rows), LENGTH**2 + 1)
    return _path(rows, cell, seed, start=start, rounds=ROUNDS, truncation="soft", scale=scale, length=1e3)


def _path(rows: Floats, cell: Cell, seed: int, **given: Any) -> Floats:
    """The path of ``GradientEM``, with seeded noise."""
    facts = {"length": LENGTH, "bounds": (-9, 9), "epsilon": cell.epsilon, "delta": DELTA, "random_state": seed}
    return GradientEM(**{**facts, **given}).fit(rows).path_


def _printed(rows: Floats, start: Floats, cell: Cell, seed: int) -> Floats:
    generator = np.random.default_rng(seed)  # public: an experiment
    return published.printed_dg_em(rows, start, LENGTH**2 + 1, cell.epsilon, DELTA, ROUNDS, generator)


#: What is compared, by name.
VARIANTS: Mapping[str, Variant] = {
    "no privacy": lambda rows, start, cell, seed: published.plain_em(rows, start, ROUNDS),
    "DG-EM as printed, NOT private": _printed,
    "DG-EM made private, its own scale": _made_true,
    "softly truncated, scale of a coordinate": _soft,
    "clipped": lambda rows, start, cell, seed: _clipped(
        rows, start, cell, seed, 1.05 * math.hypot(LENGTH, math.sqrt(cell.columns))
    ),
    "private start alone": lambda rows, start, cell, seed: _path(rows, cell, seed, rounds=0),
    "ours: private start, three rounds": lambda rows, start, cell, seed: _path(rows, cell, seed),
}


def made_rows(cell: Cell, seed: int) -> tuple[Floats, Floats, Floats]:
    """Rows, θ, and a public start at distance 1.5 from it."""
    generator = np.random.default_rng([seed, cell.rows, cell.columns])  # public: made-up rows
    theta, away = generator.normal(size=(2, cell.columns))
    theta *= LENGTH / np.linalg.norm(theta)
    rows = generator.choice([-1.0, 1.0], (cell.rows, 1)) * theta + generator.normal(size=(cell.rows, cell.columns))
    return rows, theta, theta + NEAR * away / np.linalg.norm(away)


def errors(path: Floats, theta: Floats) -> Floats:
    """Distances to θ or to -θ, whichever is nearer, along a path."""
    found: Floats = np.minimum(np.linalg.norm(path - theta, axis=1), np.linalg.norm(path + theta, axis=1))
    return found


def measured(cell: Cell, variants: Mapping[str, Variant], repeats: int) -> dict[str, Floats]:
    """Errors along the path of each variant, a row per repeat."""
    found: dict[str, list[Floats]] = {name: [] for name in variants}
    for seed in range(repeats):
        rows, theta, start = made_rows(cell, seed)
        for name, variant in variants.items():
            found[name].append(errors(variant(rows, start, cell, seed), theta))
    return {name: np.array(paths) for name, paths in found.items()}


def run(*, quick: bool = False, data: Path | None = None, progress: Progress = lambda share: None) -> StudyResult:
    """Figures 1 to 3, ours beside every variant. No data set is needed."""
    repeats = 2 if quick else REPEATS
    second, third = (SECOND[1:2], THIRD[5:6]) if quick else (SECOND, THIRD)
    work = len(FIRST) + sum(_weight(cell) for cell in (*second, *third))
    rows: list[Row] = []
    charts: list[Chart] = []
    done = 0.0
    for cell in FIRST:
        found = measured(cell, {f"C = {radius:g}": _with_radius(radius) for radius in RADII}, repeats)
        rows.extend(_radius_rows(cell, found))
        charts.append(_chart(cell, found, "clipped EM at radius C"))
        progress((done := done + 1) / work)
    for cell in (*second, *third):
        found = measured(cell, VARIANTS, repeats)
        rows.extend(_rows(cell, found))
        charts.append(_chart(cell, found, "variants"))
        progress((done := done + _weight(cell)) / work)
    return StudyResult(
        study="wu",
        title=TITLES["wu"],
        quick=quick,
        rows=(*rows, *_chances()),
        charts=tuple(charts),
        notes=_NOTES,
        settings={"repeats": repeats, "delta": DELTA, "length of θ": LENGTH, "rounds": ROUNDS, "start": NEAR},
    )


_NOTES = (
    "The paper shows curves and no table; its text names only the best clipping radius for three budgets.",
    "DG-EM as printed adds integers to real numbers, and calibrates them for one coordinate of one round: it is not "
    "private at any ε. Its curves look good because its noise is zero nearly always, as the last rows say.",
    "The paper's γ and τ are not printed: γ = 0.05 and τ = |θ|² + 1 here. Medians; whiskers are quartiles.",
    "Made private, on a grid and with all rounds and coordinates paid for, DG-EM drowns at its scale sqrt(n τ / β). "
    "At the scale of a coordinate it is two to three times worse than clipping the whole gradient.",
)


def _with_radius(radius: float) -> Variant:
    return lambda rows, start, cell, seed: _clipped(rows, start, cell, seed, radius)


def _weight(cell: Cell) -> float:
    return 0.2 + cell.rows * cell.columns / 1e5


def _summary(paths: Floats) -> tuple[float, float, float]:
    """Median and quartiles of the final errors."""
    low, middle, high = np.percentile(paths[:, -1], [25, 50, 75])
    return float(middle), float(low), float(high)


def _rows(cell: Cell, found: Mapping[str, Floats]) -> list[Row]:
    rows = []
    for name, paths in found.items():
        middle, low, high = _summary(paths)
        reach = REACH.get((cell.rows, cell.columns, cell.epsilon)) if name.startswith("ours") else None
        note = "median and quartiles" + (", not private" if "NOT" in name or name == "no privacy" else "")
        rows.append(
            Row(where=cell.figure, what=f"{cell.words}: {name}", ours=middle, low=low, high=high, repeats=len(paths),
                reach=reach, note=note)
        )  # fmt: skip
    return rows


def _radius_rows(cell: Cell, found: Mapping[str, Floats]) -> list[Row]:
    finals = {radius: _summary(paths)[0] for radius, paths in zip(RADII, found.values(), strict=True)}
    best = min(finals, key=lambda radius: finals[radius])
    note = "all rounds paid for: " + ", ".join(f"{radius:g} {error:.2f}" for radius, error in finals.items())
    return [
        Row(where=cell.figure, what=f"{cell.words}: best radius", published=BEST[cell.epsilon], ours=best, note=note)
    ]


def _chances() -> list[Row]:
    rows = []
    for count in (1000, 2000, 5000, 10_000):
        sigma = published.printed_sigma(count, LENGTH**2 + 1, 0.5, DELTA)
        honest = sigma * math.sqrt(ROUNDS * 10)
        rows.append(
            Row(where="ours", what=f"n = {count}, ε = 0.5: chance that a coordinate of DG-EM as printed has no noise",
                ours=published.chance_of_no_noise(sigma),
                note=f"width {sigma:.2f} on the integers; all rounds of 10 coordinates need {honest:.1f}")
        )  # fmt: skip
    return rows


def _chart(cell: Cell, found: Mapping[str, Floats], what: str) -> Chart:
    series = []
    for name, paths in found.items():
        low, middle, high = np.percentile(paths, [25, 50, 75], axis=0)
        places: Sequence[float] = list(range(paths.shape[1]))
        series.append(Series(label=name, x=places, y=middle.tolist(), low=low.tolist(), high=high.tolist()))
    name = cell.figure.lower().replace(" ", "-")
    return Chart(
        name=f"{name}-n{cell.rows}-d{cell.columns}-e{cell.epsilon:g}",
        title=f"{cell.figure}, {cell.words}: {what}",
        x_label="round",
        y_label="|θ̂ - θ|",
        y_scale="log",
        series=tuple(series),
    )
