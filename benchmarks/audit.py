"""Do the audits see what they should, and nothing else? The long versions of what CI checks quickly.

    python benchmarks/audit.py                        # everything: ten minutes or so
    python benchmarks/audit.py coverage calibration   # some of it
    python benchmarks/audit.py --scale 0.1            # a quick look

coverage     60 audits of Laplace noise at ε = 1 with 20,000 runs: share of ε certified, and bounds above the truth
claims       our own queries with secure noise, 20,000 runs each at the level 0.1 %: never refuted
calibration  every query, 5000 runs with the real noise: within 4 deviates of 1; with half of the noise: beyond
estimators   every registered estimator and synthesiser, likewise: two hours, so only when it is named
power        how often as many runs as ``runs_needed`` says see noise that is too small
speed        what an audit costs beside the runs themselves
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import sordino as so
from sordino.audit.guesses import runs_needed
from sordino.audit.losses import audit_losses
from sordino.audit.lower_bound import audit_epsilon
from sordino.audit.neighbours import ordinary_records
from sordino.audit.registered import DOMAINS, EVERY, QUERIES, far_apart, subjects
from sordino.privacy.noise import SecureNoise

RESULTS = Path(__file__).parent / "results" / "audit.json"

Row = dict[str, Any]


class Halved(SecureNoise):
    """Half of the declared noise."""

    def draw(self, laws: Any) -> list[int]:
        return super().draw([replace(law, scale=law.scale / 2) for law in laws])

    def choose(self, exact_scores: Any, scale: float, pure: bool) -> int:
        return super().choose(exact_scores, scale / 2, pure)

    def normals(self, count: int) -> Any:
        return super().normals(count) / 2

    def exponentials(self, count: int) -> Any:
        return super().exponentials(count) / 2


def laplace(scale: float) -> Callable[[Any, np.random.Generator], float]:
    return lambda table, rng: float(table + rng.laplace(scale=scale))


def row(what: str, measured: float, limit: float, more: bool, **others: Any) -> Row:
    """``more``: the figure must be at least the limit; otherwise at most."""
    reached = measured >= limit if more else measured <= limit
    return {"what": what, "measured": round(float(measured), 4), "limit": limit, "reached": bool(reached), **others}


def coverage(scale: float) -> Iterator[Row]:
    runs = int(20_000 * scale)
    for epsilon in (1.0, 4.0):
        lowers = [audit_epsilon(laplace(1 / epsilon), 1, 0, epsilon=epsilon, runs=runs, random_state=seed).lower
                  for seed in range(60)]  # fmt: skip
        share = np.array(lowers) / epsilon
        yield row(f"share of ε = {epsilon:g} certified, Laplace, {runs} runs, mean of 60", share.mean(), 0.9, True,
                  smallest=float(share.min()), share_above_nine_tenths=float(np.mean(share >= 0.9)))  # fmt: skip
        yield row(f"bounds above the truth, ε = {epsilon:g}, of 60 at 5 %", np.sum(share > 1), 8, False)


CLAIMS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "count": (lambda table: table.count(epsilon=1).value, 0.0),
    "sum": (lambda table: table.sum("x", epsilon=1).value, 0.0),
    "mean": (lambda table: table.mean("x", epsilon=1).value, 0.0),
    "median": (lambda table: table.median("x", epsilon=1, candidates=16).value, 0.0),
    "variance": (lambda table: table.variance("x", epsilon=1).value, 0.0),
    "histogram": (lambda table: table.histogram("x", bins=3, epsilon=1).value, 0.0),
    "mean, δ = 1e-5": (lambda table: table.mean("x", epsilon=1, delta=1e-5).value, 1e-5),
    "median, δ = 1e-5": (lambda table: table.median("x", epsilon=1, delta=1e-5, candidates=16).value, 1e-5),
}


def claims(scale: float) -> Iterator[Row]:
    table, domain, runs = np.array([[0.0], [1.0], [1.0]]), so.Domain({"x": so.Real(0, 1)}), int(20_000 * scale)
    for name, (ask, delta) in CLAIMS.items():

        def run(rows: Any, rng: Any, ask: Callable[[Any], Any] = ask) -> Any:
            return ask(so.open_table(rows, domain, columns=["x"]))

        report = audit_epsilon(run, table, table[:-1], epsilon=1.0, delta=delta, runs=runs, level=0.001)
        yield row(f"certified of a claim of 1: {name}", report.lower, 1.0, False, p_value=report.p_value,
                  smallest_visible=report.smallest_visible)  # fmt: skip


ASKS: dict[str, tuple[Callable[..., Any], int]] = {
    "count": (lambda table, **cost: table.count(**cost), 9),
    "sum": (lambda table, **cost: table.sum(["x", "y"], **cost), 9),
    "mean": (lambda table, **cost: table.mean(["x", "y"], **cost), 9),
    "median": (lambda table, **cost: table.median("x", candidates=32, **cost), 2),
    "quantile": (lambda table, **cost: table.quantile("x", 0.9, candidates=32, **cost), 9),
    "variance": (lambda table, **cost: table.variance("x", **cost), 9),
    "covariance": (lambda table, **cost: table.covariance(["x", "y"], **cost), 9),
    "histogram": (lambda table, **cost: table.histogram("c", **cost), 9),
    "histograms": (lambda table, **cost: table.histograms(["c", "x"], bins=3, **cost), 9),
}


def calibration(scale: float) -> Iterator[Row]:
    columns = {"x": so.Real(0, 10), "y": so.Real(-1, 3), "c": so.Category(["a", "b", "z"])}
    runs = int(5000 * scale)
    for neighbours, other in (("add-remove", []), ("substitute", [{"x": 0.0, "y": -1.0, "c": "z"}])):
        domain = so.Domain(columns, neighbours=neighbours)
        for cost in ({"epsilon": 1}, {"epsilon": 4, "delta": 1e-6}):
            for name, (ask, shared) in ASKS.items():
                if name == "count" and neighbours == "substitute":
                    continue  # public
                common = ordinary_records(domain, shared)
                pair = [*common, {"x": 10.0, "y": 3.0, "c": "a"}], [*common, *other]
                for noise in (None, Halved()):
                    report = audit_losses(lambda table, ask=ask, cost=cost: ask(table, **cost), *pair, domain,
                                          runs=runs, noise=noise)  # fmt: skip
                    label = f"{'half of the noise' if noise else 'deviates from 1'}: {name}, {neighbours}, {cost}"
                    yield row(label, report.z if noise else abs(report.z), 4.0, more=noise is not None,
                              multiplier=report.multiplier, interval=report.interval)  # fmt: skip


def estimators(scale: float) -> Iterator[Row]:
    runs = int(5000 * scale)
    for neighbours, name in EVERY:
        if name in QUERIES:
            continue
        for noise in (None, Halved()):
            report = audit_losses(subjects(neighbours)[name], *far_apart(neighbours), DOMAINS[neighbours],
                                  runs=runs, noise=noise, name=name)  # fmt: skip
            label = f"{'half of the noise' if noise else 'deviates from 1'}: {name}, {neighbours}"
            yield row(label, report.z if noise else abs(report.z), 4.0, more=noise is not None,
                      multiplier=report.multiplier, interval=report.interval)  # fmt: skip


def power(scale: float) -> Iterator[Row]:
    audits = int(100 * scale)
    for factor in (1.25, 1.5, 2.0):
        runs = runs_needed(1.0, factor)
        seen = sum(audit_epsilon(laplace(1 / factor), 1, 0, epsilon=1.0, runs=runs, random_state=seed).violated
                   for seed in range(audits))  # fmt: skip
        yield row(f"share of audits that see noise too small by {factor}, {runs} runs", seen / audits, 0.5, True)


def speed(scale: float) -> Iterator[Row]:
    for numbers in (1, 16, 200):
        noise = np.random.default_rng(0).laplace(size=numbers)
        start = time.perf_counter()
        audit_epsilon(lambda table, rng, noise=noise: noise + rng.random(), 1, 0, epsilon=1.0, random_state=0)
        yield row(f"seconds for 20,000 runs of {numbers} numbers", time.perf_counter() - start, 15.0, False)


JOBS = {"coverage": coverage, "claims": claims, "calibration": calibration, "power": power, "speed": speed}

#: Run only when named.
LONG = {"estimators": estimators}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, *LONG, []], help="which jobs; all when none is named")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the numbers of runs, for a quick look")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.jobs or JOBS:
        start = time.perf_counter()
        for each in (JOBS | LONG)[name](arguments.scale):
            rows.append({"job": name, **each})
            mark = "reached" if each["reached"] else "MISSED"
            print(f"{mark:8}{each['measured']:>10}  limit {each['limit']:<6} {each['what']}", flush=True)
        print(f"        {name}: {time.perf_counter() - start:.0f} s", flush=True)
    if arguments.scale == 1.0 and not arguments.jobs:
        document = {"when": datetime.now(UTC).strftime("%Y-%m-%d"), "rows": rows}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
