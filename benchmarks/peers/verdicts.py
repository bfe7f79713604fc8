"""Verdicts on another library, in its own environment: the audits of ``audited_diffprivlib.py``, all at once.

    python benchmarks/peers/verdicts.py

The environment is the one of ``run.py``, made under benchmarks/scratch/ if it is not there. All audits together raise a
false alarm with probability at most .05: each has its share of that level. Results go to
benchmarks/results/peer_verdicts.json: per audit its sentence, bound, runs, tables and what the library warned about.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import run

from sordino.audit.peers import audit_peer

AUDITED = Path(__file__).with_name("audited_diffprivlib.py")

#: Function, neighbours, and the most runs.
AUDITS = (
    ("linear_regression", "one_among_twenty", 1_500),
    ("linear_regression_without_intercept", "one_of_two", 20_000),
    ("logistic_of_norm_50", "one_at_50", 60_000),
    ("logistic_of_norm_50_solved", "one_at_50", 20_000),
    ("logistic_of_norm_12", "one_at_12", 100_000),
    ("logistic_of_norm_1", "one_at_1", 20_000),
    ("logistic_of_norm_1_through_zero", "one_at_1", 20_000),
    ("bayes_of_years", "another_label", 20_000),
    ("bayes_of_shares", "another_label_of_shares", 20_000),
    ("bayes_of_shares", "another_share", 20_000),
    ("bayes_classes", "a_class_of_one", 400),
    ("bayes_without_bounds", "one_value", 400),
    ("kmeans_inertia", "one_between", 400),
    ("kmeans_centres", "one_across", 20_000),
    ("mean", "one_of_ten", 40_000),
)

LEVEL = 0.05


def audited(python: str, function: str, neighbours: str, runs: int) -> dict[str, Any]:
    """One verdict, for what claims ε = 1."""
    report = audit_peer(
        python, f"{AUDITED}:{function}", epsilon=1.0, runs=runs, level=LEVEL / len(AUDITS),
        neighbours=f"{AUDITED}:{neighbours}",
    )  # fmt: skip
    kept = ("lower", "runs", "counted", "failed", "p_value", "smallest_visible", "tables", "library_warnings")
    return {
        "function": function, "neighbours": neighbours, "verdict": report.verdict, "sentence": report.sentence,
        **{name: report.evidence.get(name) for name in kept},
    }  # fmt: skip


def main() -> None:
    python, rows = run.environment("diffprivlib"), []
    for function, neighbours, runs in AUDITS:
        rows.append(audited(python, function, neighbours, runs))
        print(f"{rows[-1]['verdict']:27} {function}, {neighbours}: {rows[-1]['sentence']}", flush=True)
    stamp = json.loads((run.SCRATCH / "diffprivlib.json").read_text())
    document = {
        "when": datetime.now(UTC).strftime("%Y-%m-%d"), "python": sys.version.split()[0], "packages": stamp,
        "claimed": 1.0, "level": LEVEL, "verdicts": rows,
    }  # fmt: skip
    run.RESULTS.mkdir(exist_ok=True)
    (run.RESULTS / "peer_verdicts.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
