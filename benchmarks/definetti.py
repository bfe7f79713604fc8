"""The attack on Anatomy, measured on Adult in groups of 2 to 12: time, accuracy, calibration; diversity of 10^6 rows.

python benchmarks/definetti.py FOLDER              # FOLDER holds the public data sets
python benchmarks/definetti.py FOLDER --restarts 1000
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sordino as so
from sordino.attack.calibration import expected_calibration_error
from sordino.datasets.adult import load_adult
from sordino.studies.mothali_attack import IDENTIFIERS, REACH, SENSITIVE, Case

RESULTS = Path(__file__).parent / "results" / "definetti.json"

#: l, size, and the longest time that one run may take, in seconds.
GROUPS = ((2, 2, None), (3, 3, None), (4, 4, 2.0), (6, 6, None), (4, 8, None), (6, 12, 60.0))

Row = dict[str, Any]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def runs(table: pa.Table) -> Iterator[Row]:
    """One converged run for each size of groups, both ways to break ties."""
    for l, size, limit in GROUPS:  # noqa: E741
        for ties in ("by-value", "drawn"):
            made = so.anatomize(table, sensitive=SENSITIVE, l=l, size=size, ties=ties, random_state=2011)
            truth = table.column(SENSITIVE).take(pa.array(made.rows_))
            attack, seconds = timed(lambda made=made: so.DeFinettiAttack(random_state=0).fit(made.qit, made.st))
            yield {
                "what": f"groups of {size}, ties {ties}", "accuracy": round(100 * attack.score(truth), 2),
                "expected": round(100 * attack.expected_accuracy_, 2),
                "calibration error": round(expected_calibration_error(*attack.events(truth)), 4),
                "rounds": attack.rounds_, "converged": attack.converged_, "seconds": round(seconds, 2), "limit": limit,
                "reached": limit is None or seconds <= limit,
            }  # fmt: skip


def restarts(table: pa.Table, number: int) -> Iterator[Row]:
    """The published number of restarts, from drawn beginnings: mean accuracy, spread and time."""
    for size in REACH:
        case = Case.of(table, size, size, "by-value")
        learned, seconds = timed(lambda case=case: case.learned(number))
        accuracies = case.accuracies(learned)
        yield {
            "what": f"{number} restarts, groups of {size}", "accuracy": round(float(accuracies.mean()), 3),
            "spread": round(float(np.ptp(accuracies)), 3), "limit": REACH[size],
            "reached": bool(accuracies.mean() >= REACH[size] and np.ptp(accuracies) <= 0.5),
            "seconds": round(seconds, 1),
        }  # fmt: skip


def diversity() -> Row:
    """A million rows."""
    generator = np.random.default_rng(1)
    columns = {"age": generator.integers(17, 91, 10**6), "sex": generator.integers(2, size=10**6),
               "area": generator.integers(100, size=10**6), "secret": generator.integers(14, size=10**6)}  # fmt: skip
    table = pa.table(columns)
    _, seconds = timed(lambda: so.diversity(table, quasi_identifiers=["age", "sex", "area"], sensitive="secret"))
    return {"what": "diversity of 1,000,000 rows", "seconds": round(seconds, 2), "limit": 2.0, "reached": seconds <= 2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--restarts", type=int, default=100)
    asked = parser.parse_args()
    table = load_adult(folder=asked.folder).select([*IDENTIFIERS, SENSITIVE])
    rows = []
    for row in (diversity(), *runs(table), *restarts(table, asked.restarts)):
        print(json.dumps(row))
        rows.append(row)
    document = {"measured": datetime.now(UTC).date().isoformat(), "rows": rows}
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
