"""Run every benchmark of the river and write the ratios to ``benchmarks/results/``.

Each job and its peer alternate within one run, five times each, and the medians are compared; machines are noisy,
ratios less so. Beside every limit in seconds stands the time of a fixed numpy job. Jobs that measure memory or
import time run in processes of their own.

    python benchmarks/run.py [JOB …] [--scale 1.0]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
REPEATS = 5


def timed(job: Callable[[], Any]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def medians(*jobs: Callable[[], Any], repeats: int = REPEATS) -> list[float]:
    """Median seconds of each job; the jobs take turns, after one round that is not counted."""
    rounds = [[timed(job) for job in jobs] for _ in range(repeats + 1)][1:]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def fixed_numpy_job() -> float:
    """Seconds of a job that never changes: how fast this machine is just now."""
    values = np.random.default_rng(0).random((1000, 1000))
    return medians(lambda: np.linalg.svd(values, compute_uv=False), repeats=3)[0]


def row(job: str, what: str, measured: float, limit: float, unit: str, **more: Any) -> dict[str, Any]:
    return {"job": job, "what": what, "measured": round(measured, 4), "limit": limit, "unit": unit,
            "reached": measured <= limit, **more}  # fmt: skip


def moments_in_memory(scale: float) -> list[dict[str, Any]]:
    """Exact count, sum and second moment of an array against numpy's float product on the same threads."""
    from sordino.domain import Domain, Real
    from sordino.engine.local import accumulate
    from sordino.statistics.count import Count
    from sordino.statistics.moments import SecondMoment
    from sordino.statistics.sums import Sum
    from sordino.statistics.vectors import Box
    from sordino.table.opening import open_source

    rows, width = int(2_000_000 * scale), 50
    values = np.random.default_rng(0).random((rows, width))
    names = tuple(f"x{index}" for index in range(width))
    domain = Domain({name: Real(0, 1) for name in names})
    source, box = open_source(values, names), Box(names)
    asked = (Count(names), Sum(box), SecondMoment(box))
    ours, numpy_seconds = medians(lambda: accumulate(source, domain, asked), lambda: values.T @ values)
    return [row("moments-in-memory", f"count+sum+second moment, {rows:,} x {width}, over numpy X.T @ X",
                ours / numpy_seconds, 1.5, "ratio", seconds=ours, peer_seconds=numpy_seconds)]  # fmt: skip


STREAM = """
import sys, time, resource, threading
sys.path.insert(0, "src")
import numpy, pyarrow, duckdb, threadpoolctl
from sordino.domain import Domain, Real
from sordino.engine.local import accumulate
from sordino.statistics.count import Count
from sordino.statistics.moments import SecondMoment
from sordino.statistics.sums import Sum
from sordino.statistics.vectors import Box
from sordino.table.opening import open_source
import psutil
path, width = sys.argv[1], int(sys.argv[2])
names = tuple(f"x{index}" for index in range(width))
domain, source, box = Domain({name: Real(0, 1) for name in names}), open_source(path), Box(names)
process = psutil.Process(); before = process.memory_info().rss; peak = [before]; done = threading.Event()
def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], process.memory_info().rss)
watcher = threading.Thread(target=watch); watcher.start()
start = time.perf_counter()
accumulate(source, domain, (Count(names), Sum(box), SecondMoment(box)))
seconds = time.perf_counter() - start
done.set(); watcher.join()
print(seconds, (peak[0] - before) / 2**20)
"""

STREAM_PEER = """
import sys, time, duckdb
path, width = sys.argv[1], int(sys.argv[2])
products = ", ".join(f"sum(x{i}*x{j})" for i in range(width) for j in range(i, width))
duckdb.execute("SET enable_progress_bar = false")
start = time.perf_counter()
duckdb.execute(f"SELECT count(*), {products} FROM read_parquet(?)", [path]).fetchall()
print(time.perf_counter() - start)
"""


def moments_from_parquet(scale: float) -> list[dict[str, Any]]:
    """The same, streamed from Parquet: memory above import, and time over DuckDB summing the same products."""
    import pyarrow as pa
    import pyarrow.parquet

    rows, width = int(20_000_000 * scale), 10
    with tempfile.TemporaryDirectory() as folder:
        path, generator = f"{folder}/table.parquet", np.random.default_rng(0)
        schema = pa.schema([(f"x{index}", pa.float64()) for index in range(width)])
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            for start in range(0, rows, 1_000_000):
                count = min(1_000_000, rows - start)
                writer.write_table(pa.table([generator.random(count) for _ in range(width)], schema=schema))
        runs = [(_child(STREAM, path, width), _child(STREAM_PEER, path, width)) for _ in range(3)]
    ours = statistics.median(first[0] for first, _ in runs)
    peer = statistics.median(second[0] for _, second in runs)
    memory = max(first[1] for first, _ in runs)
    name = f"count+sum+second moment from Parquet, {rows:,} x {width}"
    return [row("moments-from-parquet", f"{name}, MB above import", memory, 500, "MB"),
            row("moments-from-parquet", f"{name}, over DuckDB's sums of the same products", ours / peer, 2.0, "ratio",
                seconds=ours, peer_seconds=peer)]  # fmt: skip


def _child(code: str, *arguments: Any) -> list[float]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return [float(word) for word in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]


def one_mean(scale: float) -> list[dict[str, Any]]:
    """A whole private mean of one column of 10,000 rows, with a ledger in memory and one on disk."""
    import sordino as so

    values = np.random.default_rng(0).random((10_000, 4))
    names = ["a", "b", "c", "d"]
    domain = so.Domain({name: so.Real(0, 1) for name in names})
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ledgers = (("in memory", so.Ledger(epsilon=1000), 0.005),
                   ("on disk", so.Ledger.open(f"{folder}/bench.ledger", epsilon=1000), 0.025))  # fmt: skip
        for where, ledger, limit in ledgers:
            table = so.open_table(values, domain, columns=names, ledger=ledger)
            (seconds,) = medians(lambda table=table: table.mean("a", epsilon=0.1), repeats=25)
            rows.append(row("one-mean", f"mean of one column, 10,000 rows, ledger {where}", seconds, limit, "seconds",
                            fixed_numpy_job=fixed_numpy_job()))  # fmt: skip
    return rows


def histograms_by_class(scale: float) -> list[dict[str, Any]]:
    """Eight categorical columns by class against polars group-by counts of the same, on dictionary codes."""
    import polars as pl

    import sordino as so
    from sordino.engine.local import accumulate
    from sordino.statistics.histograms import CategoryAxis, Histograms
    from sordino.table.opening import open_source

    rows, generator = int(1_000_000 * scale), np.random.default_rng(0)
    sizes = {"class": 2, "c1": 8, "c2": 16, "c3": 7, "c4": 14, "c5": 6, "c6": 5, "c7": 2, "c8": 41}
    kinds = {name: [f"{name}-{code}" for code in range(size)] for name, size in sizes.items()}
    drawn = {name: np.array(labels)[generator.integers(len(labels), size=rows)] for name, labels in kinds.items()}
    frame = pl.DataFrame({name: pl.Series(drawn[name], dtype=pl.Enum(labels)) for name, labels in kinds.items()})
    domain = so.Domain({name: so.Category(labels) for name, labels in kinds.items()})
    tables = tuple((CategoryAxis.of(domain, "class"), CategoryAxis.of(domain, name)) for name in list(sizes)[1:])
    source = open_source(frame)

    def peer() -> None:
        pl.collect_all([frame.lazy().group_by("class", name).len() for name in list(sizes)[1:]])

    ours, polars_seconds = medians(lambda: accumulate(source, domain, (Histograms(tables),)), peer)
    return [row("histograms-by-class", f"8 categorical columns by class, {rows:,} rows, over polars group-by",
                ours / polars_seconds, 1.5, "ratio", seconds=ours, peer_seconds=polars_seconds)]  # fmt: skip


def import_time(scale: float) -> list[dict[str, Any]]:
    """``import sordino`` with its table door, beside importing numpy and pyarrow."""
    code = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    ours, door, both = (
        [_child(code.format(what))[0] for _ in range(REPEATS + 1)][1:]
        for what in ("import sordino", "import sordino; sordino.open_table, sordino.Ledger", "import numpy, pyarrow")
    )
    plain, opened, peer = map(statistics.median, (ours, door, both))
    return [row("import", "import sordino", plain, 0.5, "seconds", fixed_numpy_job=fixed_numpy_job()),
            row("import", "import sordino, over importing numpy and pyarrow", plain / peer, 2.0, "ratio"),
            row("import", "import sordino and first use of open_table, over the same", opened / peer, 2.0, "ratio",
                seconds=opened, peer_seconds=peer)]  # fmt: skip


def noise_draws(scale: float) -> list[dict[str, Any]]:
    """10^7 seeded draws of each law; and secure draws for comparison, without a limit."""
    from sordino.privacy.noise import SecureNoise, SeededNoise
    from sordino.release import DiscreteGaussian, DiscreteLaplace

    count, rows = int(10_000_000 * scale), []
    for law in (DiscreteLaplace(1e6), DiscreteGaussian(1e6)):
        seconds = statistics.median(timed(lambda law=law: SeededNoise(0).draw_many(law, count)) for _ in range(3))
        secure = timed(lambda law=law: SecureNoise().draw([law] * 20_000)) / 20_000
        rows.append(row("noise", f"{count:,} seeded draws, {law.name}", seconds, 5.0, "seconds",
                        fixed_numpy_job=fixed_numpy_job(), secure_microseconds_per_draw=secure * 1e6))  # fmt: skip
    return rows


JOBS = {
    "moments-in-memory": moments_in_memory,
    "moments-from-parquet": moments_from_parquet,
    "one-mean": one_mean,
    "histograms-by-class": histograms_by_class,
    "import": import_time,
    "noise": noise_draws,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []], help="which jobs; all when none is named")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the tables, for a quick look")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.jobs or JOBS:
        for each in JOBS[name](arguments.scale):
            rows.append(each)
            mark = "reached" if each["reached"] else "MISSED"
            print(
                f"{mark:8}{each['measured']:>10} {each['unit']:8} limit {each['limit']:<6} {each['what']}", flush=True
            )
    packages = {name: version(name) for name in ("numpy", "pyarrow", "duckdb", "opendp", "polars")}
    machine = {"cores": len(__import__("os").sched_getaffinity(0)), "python": platform.python_version(), **packages}
    document = {"when": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine, "rows": rows}
    if arguments.scale == 1.0 and not arguments.jobs:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "river.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
