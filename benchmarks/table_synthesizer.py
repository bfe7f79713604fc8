"""How near are synthetic rows, what do learners learn from them, how long does it take? The figures of the documents.

    python benchmarks/table_synthesizer.py                              # everything, five seeds each
    python benchmarks/table_synthesizer.py adult --repeats 20 --processes 16
    python benchmarks/table_synthesizer.py stream --rows 10000000       # ten million rows of 15 columns, from a file

adult    15 columns, its published split: distances, AUC on real test rows, distinct rows, seconds; also pure ε
cancer   breast cancer (diagnostic), 7 features and 30 features with the diagnosis, 70/30
skewed   amounts from 0 to a million, most below a thousand: never farther than shuffled columns at ε 0.1
without  the Adult figures at ε = ∞, and of columns shuffled apart
stream   time and memory of a fit on a file that is larger than what it may use

Noise is seeded: the figures repeat, and are not a release. Adult is read from $SORDINO_DATA, or downloaded once.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import sordino as so
from sordino.datasets.adult import COLUMNS, load_adult
from sordino.quality import distances, lessons, rows_of, shuffled

RESULTS = Path(__file__).parent / "results" / "table_synthesizer.json"

DELTA = 1e-6
EPSILONS = (0.1, 1.0, 10.0)

Row = dict[str, Any]

#: What the issue asks for: measure -> the limit at each ε; distances at most, all else at least.
ADULT_LIMITS = {
    "two_way": (0.090, 0.035, 0.022),
    "logistic AUC": (0.855, 0.874, 0.894),
    "boosted trees AUC": (0.845, 0.888, 0.897),
    "distinct": (0.95, 0.95, 0.95),
    "seconds": (5.0, 5.0, 5.0),
}
AT_MOST = ("two_way", "seconds")

#: The same for breast cancer, 8 columns; at ε = 0.1 the figures are only reported.
CANCER_LIMITS = {"two_way": (1.0, 0.36, 0.24), "logistic accuracy": (0.0, 0.87, 0.93)}


def measured(table: pa.Table, test: pa.Table, domain: so.Domain, target: str, given: tuple[float, float, int]) -> Row:
    """One fit and one sample of as many rows, timed, and compared with the table it was fitted on."""
    epsilon, delta, seed = given
    private = so.open_table(table, domain)
    started = time.perf_counter()
    model = so.TableSynthesizer(epsilon, delta, target=target, random_state=seed).fit(private)
    fake = model.sample(table.num_rows, random_state=seed)
    seconds = time.perf_counter() - started
    found = distances(table, fake, domain)
    row = {"one_way": found.one_way, "two_way": found.two_way, "correlation": found.correlation, "seconds": seconds}
    row["distinct"] = fake.group_by(fake.column_names).aggregate([]).num_rows / fake.num_rows
    for each in lessons(fake, test, domain, target):
        row[f"{each.learner} {each.measure}"] = each.score
    return row


def measured_numbers(
    table: pa.Table, test: pa.Table, domain: so.Domain, target: str, given: tuple[float, float, int]
) -> Row:
    """The same where all columns but the target are numbers, and how often a logistic regression is right."""
    row = measured(table, test, domain, target, given)
    epsilon, delta, seed = given
    model = so.TableSynthesizer(epsilon, delta, target=target, random_state=seed).fit(so.open_table(table, domain))
    train, scored = (rows_of(each, domain) for each in (model.sample(table.num_rows, random_state=seed), test))
    points, tests = (_points(each, domain, target) for each in (train, scored))
    learned = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    one_class = len(np.unique(train[target])) < 2
    found = train[target][:1] if one_class else learned.fit(points, train[target]).predict(tests)
    return {**row, "logistic accuracy": float(np.mean(found == scored[target]))}


def _points(columns: Any, domain: so.Domain, target: str) -> Any:
    names = [name for name in domain.columns if name != target]
    return np.column_stack([np.where(np.isnan(columns[name]), domain[name].middle, columns[name]) for name in names])


def summary(what: str, epsilon: float, rows: list[Row], limits: dict[str, tuple[float, ...]] | None) -> Row:
    """Means and standard deviations, and whether each limit is kept."""
    place = EPSILONS.index(epsilon) if epsilon in EPSILONS else None
    found: Row = {"what": what, "epsilon": epsilon if math.isfinite(epsilon) else "infinite", "repeats": len(rows)}
    for name in rows[0]:
        values = [row[name] for row in rows]
        found[name] = round(float(np.mean(values)), 4)
        found[f"sd {name}"] = round(float(np.std(values)), 4)
        if limits and name in limits and place is not None:
            limit = limits[name][place]
            found[f"kept {name}"] = bool(found[name] <= limit if name in AT_MOST else found[name] >= limit)
    return found


def adult(repeats: int, pool: Any, rows: int) -> Iterator[Row]:
    """The published split, missing cells and all."""
    train, test = load_adult("train", complete=False), load_adult("test", complete=False)
    task = partial(measured, train, test, so.Domain(COLUMNS), "income")
    for words, delta in (("Adult", DELTA), ("Adult, pure", 0.0)):
        for epsilon in EPSILONS:
            given = [(epsilon, delta, seed) for seed in range(repeats)]
            yield summary(words, epsilon, list(pool(task, given)), None if delta == 0 else ADULT_LIMITS)


def without(repeats: int, pool: Any, rows: int) -> Iterator[Row]:
    """What the method gives without noise, and what columns give without their dependence."""
    train, test = load_adult("train", complete=False), load_adult("test", complete=False)
    domain = so.Domain(COLUMNS)
    yield summary("Adult", math.inf, [measured(train, test, domain, "income", (math.inf, 0.0, 0))], None)
    real = rows_of(train, domain)
    yield {"what": "Adult, columns shuffled", "two_way": round(distances(real, shuffled(real), domain).two_way, 4)}
    best = {f"{each.learner} {each.measure}": round(each.score, 4) for each in lessons(train, test, domain, "income")}
    yield {"what": "Adult, trained on real rows", **best}


def cancer_table(features: int) -> tuple[pa.Table, so.Domain]:
    """Features in bounds that are round numbers above what was ever seen, and the diagnosis."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = {name: data.data[:, place] for place, name in enumerate(data.feature_names[:features])}
    facts: dict[str, Any] = {name: so.Real(0, _round_above(float(each.max()))) for name, each in columns.items()}
    facts["diagnosis"] = so.Category(["malignant", "benign"])
    return pa.table({**columns, "diagnosis": np.array(["malignant", "benign"])[data.target]}), so.Domain(facts)


def _round_above(value: float) -> float:
    digit = 10.0 ** math.floor(math.log10(value))
    return float(math.ceil(value / digit) * digit)


def cancer(repeats: int, pool: Any, rows: int) -> Iterator[Row]:
    """569 rows are few: at ε 0.1 nothing works, and the figures say so."""
    for features in (7, 30):
        table, domain = cancer_table(features)
        order = np.random.default_rng(0).permutation(table.num_rows)
        train, test = table.take(order[:398]), table.take(order[398:])
        real = rows_of(train, domain)
        words = f"breast cancer, {features + 1} columns"
        yield {"what": f"{words}, shuffled", "two_way": round(distances(real, shuffled(real), domain).two_way, 4)}
        task = partial(measured_numbers, train, test, domain, "diagnosis")
        for kind, delta in ((words, DELTA), (f"{words}, pure", 0.0)):
            for epsilon in EPSILONS:
                given = [(epsilon, delta, seed) for seed in range(repeats)]
                yield summary(
                    kind, epsilon, list(pool(task, given)), CANCER_LIMITS if features == 7 and delta else None
                )


def amounts(shape: str, size: int = 30_000) -> tuple[pa.Table, so.Domain]:
    """Three dependent amounts and a group; most amounts are below a thousand, in bounds from 0 to a million."""
    generator = np.random.default_rng(len(shape))
    joint = generator.multivariate_normal(np.zeros(3), 0.4 * np.eye(3) + 0.6, size)
    group = (joint[:, 0] + generator.normal(size=size) > 0.5).astype(int)
    if shape == "log-normal":
        values = np.exp(5 + joint)
    elif shape == "exponential":
        values = -300 * np.log1p(-np.clip(_normal_below(joint), 0, 1 - 1e-12))
    else:
        values = np.where(joint < 0.25, 0.0, np.exp(5 + 1.5 * joint))
    columns = {f"x{place}": np.floor(np.minimum(values[:, place], 1e6)) for place in range(3)}
    domain = so.Domain({**{name: so.Real(0, 1e6) for name in columns}, "group": so.Category([0, 1])})
    return pa.table({**columns, "group": group}), domain


def _normal_below(values: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return np.asarray(ndtr(values))


def skewed_once(shape: str, given: tuple[float, float, int]) -> Row:
    table, domain = amounts(shape)
    epsilon, delta, seed = given
    fake = so.TableSynthesizer(epsilon, delta, domain=domain, random_state=seed).fit(table).sample(table.num_rows)
    found = distances(table, fake, domain)
    return {"one_way": found.one_way, "two_way": found.two_way, "correlation": found.correlation}


def skewed(repeats: int, pool: Any, rows: int) -> Iterator[Row]:
    """The rule: two-way distance never above that of the real columns, each shuffled by itself."""
    for shape in ("log-normal", "exponential", "mostly zero"):
        table, domain = amounts(shape)
        real = rows_of(table, domain)
        apart = distances(real, shuffled(real), domain).two_way
        for words, delta in (("", DELTA), (", pure", 0.0)):
            found = list(pool(partial(skewed_once, shape), [(0.1, delta, seed) for seed in range(repeats)]))
            row = summary(f"0 to a million, {shape}{words}", 0.1, found, None)
            worst = round(max(each["two_way"] for each in found), 4)
            yield {**row, "largest two_way": worst, "shuffled two_way": round(apart, 4), "kept": worst <= apart}


def stream(repeats: int, pool: Any, rows: int) -> Iterator[Row]:
    """Fifteen columns of a Parquet file that is written in parts; the peak is that of this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        domain = _write_rows(path, rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        model = so.TableSynthesizer(1, DELTA, target="c0").fit(so.open_table(path, domain))
        fitted = time.perf_counter() - started
        drawn = sum(batch.num_rows for batch in model.batches(rows))
        yield {
            "what": "stream",
            "rows": rows,
            "fit seconds": round(fitted, 1),
            "sample seconds": round(time.perf_counter() - started - fitted, 1),
            "drawn": drawn,
            "file MB": round(path.stat().st_size / 1e6),
            "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
            "peak MB before": round(before / 1e3),
        }


def _write_rows(path: Path, rows: int) -> so.Domain:
    generator = np.random.default_rng(0)
    names = [f"x{place}" for place in range(10)]
    mixing = generator.normal(size=(10, 10)) / 3
    writer = None
    for start in range(0, rows, 500_000):
        values = generator.normal(size=(min(500_000, rows - start), 10)) @ mixing
        columns: dict[str, Any] = dict(zip(names, values.T, strict=True))
        columns |= {f"c{place}": (values[:, place] > place / 3).astype(int) for place in range(5)}
        table = pa.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    facts: dict[str, Any] = {name: so.Real(-5, 5) for name in names}
    return so.Domain({**facts, **{f"c{place}": so.Category([0, 1]) for place in range(5)}})


PARTS: dict[str, Callable[[int, Any, int], Iterator[Row]]] = {
    "adult": adult,
    "cancer": cancer,
    "skewed": skewed,
    "without": without,
    "stream": stream,
}


def on_one_core(places: Any) -> None:
    """Each process has a core of its own, as far as there are enough, and one thread."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[places.get() % len(cores)]})
    threadpool_limits(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="which parts; all when none is named")
    parser.add_argument("--repeats", type=int, default=5, help="seeds for each figure")
    parser.add_argument("--processes", type=int, default=1, help="how many run at once")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the streamed table")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the JSON to write; parts not asked for are kept")
    options = parser.parse_args()
    kept = json.loads(options.output.read_text()) if options.output.exists() else {}
    cores: Any = multiprocessing.Queue()
    for place in range(options.processes):
        cores.put(place)
    with ProcessPoolExecutor(options.processes, initializer=on_one_core, initargs=(cores,)) as executor:
        pool = executor.map
        for name in options.parts or PARTS:
            rows = []
            for row in PARTS[name](options.repeats, pool, options.rows):
                print(json.dumps(row, ensure_ascii=False), flush=True)
                rows.append(row)
            kept[name] = {"when": datetime.now(UTC).isoformat(timespec="minutes"), "rows": rows}
    options.output.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
