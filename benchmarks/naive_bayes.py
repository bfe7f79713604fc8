"""NaiveBayes on 10^7 rows of 8 attributes, streamed from Parquet: time, memory, and the same bits however it is read.

Memory is that of a process above what it had when all was imported; a tenth of the rows stand beside all of them, for
constant memory means that they take the same. The counts are compared, bit for bit, with those kept while the file was
written; with ``--spark`` also with those of a Spark DataFrame on the same file.

    python benchmarks/naive_bayes.py [--rows 10000000] [--repeats 3] [--spark]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

RESULTS = Path(__file__).parent / "results"
#: Cells of the attributes and of the class: those of Adult.
CELLS = {"workclass": 8, "education": 16, "marital": 7, "occupation": 14, "relationship": 6, "race": 5, "sex": 2,
         "country": 41, "income": 2}  # fmt: skip
TARGET = "income"
_ROWS_PER_GROUP = 1_000_000

#: A fit in a process of its own: seconds, MB above import, and a digest of the exact counts.
FIT = """
import hashlib, sys, threading, time
import duckdb, numpy, psutil, pyarrow, pyarrow.parquet, sklearn.base, threadpoolctl
import sordino as so
path, engine, target = sys.argv[1:4]
cells = dict(zip(sys.argv[4::2], map(int, sys.argv[5::2])))
domain = so.Domain({name: so.Category([f"{name}-{code}" for code in range(size)]) for name, size in cells.items()})
if engine == "spark":
    from pyspark.sql import SparkSession
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    data = session.read.parquet(path)
else:
    data = path
model, table = so.NaiveBayes(epsilon=float("inf"), random_state=0), so.open_table(data, domain)
process = psutil.Process(); before = process.memory_info().rss; peak = [before]; done = threading.Event()
def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], process.memory_info().rss)
watcher = threading.Thread(target=watch); watcher.start()
start = time.perf_counter()
model.fit(table, target)
seconds = time.perf_counter() - start
done.set(); watcher.join()
counts = numpy.concatenate([table.ravel() for table in model.counts_]).astype(numpy.int64)
print(seconds, (peak[0] - before) / 2**20, hashlib.sha256(counts.tobytes()).hexdigest())
"""


def write_table(path: Path, rows: int) -> str:
    """Write made-up people; the digest of their exact counts, as ``FIT`` takes it."""
    import hashlib

    generator = np.random.default_rng(0)
    words = {name: pa.array([f"{name}-{code}" for code in range(size)]) for name, size in CELLS.items()}
    schema = pa.schema([(name, pa.dictionary(pa.int8(), pa.string())) for name in CELLS])
    counts = {name: np.zeros((CELLS[TARGET], size), dtype=np.int64) for name, size in CELLS.items() if name != TARGET}
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, _ROWS_PER_GROUP):
            number = min(_ROWS_PER_GROUP, rows - start)
            codes = {name: generator.integers(size, size=number, dtype=np.int8) for name, size in CELLS.items()}
            for name, table in counts.items():
                np.add.at(table, (codes[TARGET], codes[name]), 1)
            columns = [pa.DictionaryArray.from_arrays(codes[name], words[name]) for name in CELLS]
            writer.write_table(pa.table(columns, schema=schema))
    return hashlib.sha256(np.concatenate([table.ravel() for table in counts.values()]).tobytes()).hexdigest()


def fitted(path: Path, engine: str = "local") -> tuple[float, float, str]:
    """Seconds, MB above import, and the digest of the counts."""
    words = [word for name, size in CELLS.items() for word in (name, str(size))]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(path), engine, TARGET, *words],
        check=True, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    seconds, memory, digest = done.stdout.split()[-3:]
    return float(seconds), float(memory), digest


def measured(folder: Path, rows: int, repeats: int, spark: bool) -> dict[str, Any]:
    """One size: medians over repeats."""
    path = folder / f"{rows}.parquet"
    expected = write_table(path, rows)
    runs = [fitted(path) for _ in range(repeats)]
    found: dict[str, Any] = {
        "rows": rows,
        "attributes": len(CELLS) - 1,
        "seconds": round(statistics.median(run[0] for run in runs), 3),
        "MB above import": round(max(run[1] for run in runs), 1),
        "same counts": all(run[2] == expected for run in runs),
    }
    if spark:
        seconds, _, digest = fitted(path, "spark")
        found |= {"seconds on Spark": round(seconds, 2), "same counts on Spark": digest == expected}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--spark", action="store_true", help="count on Spark too (needs Java)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = (arguments.rows // 10, arguments.rows)
        rows = [measured(Path(folder), number, arguments.repeats, arguments.spark) for number in sizes]
    for each in rows:
        print(json.dumps(each))
    machine = {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
               **{name: version(name) for name in ("numpy", "pyarrow", "duckdb")}}  # fmt: skip
    if arguments.rows == 10_000_000:
        document = {"when": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine, "rows": rows}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "naive_bayes.json").write_text(json.dumps(document, indent=2) + "\n")
    sys.exit(0 if all(value for each in rows for name, value in each.items() if name.startswith("same")) else 1)


if __name__ == "__main__":
    main()
