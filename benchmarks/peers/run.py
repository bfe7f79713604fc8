"""The same jobs, data, splits, bounds and ε through other libraries and through ours, in one run.

    python benchmarks/peers/run.py [--jobs mean counts …] [--peers diffprivlib …] [--data FOLDER]

Each peer gets an environment of its own under benchmarks/scratch/, made once, with the versions that environments.toml
pins. Results go to benchmarks/results/: peers.csv, peers.json and peers.png; the README's table is written from them.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import subprocess
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jobs
import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE.parent / "results"
SCRATCH = HERE.parent / "scratch" / "peers"
OURS, NONE = "sordino", "none"

#: Who counts as a neighbour, and what is public besides the declared bounds: without it an ε says little.
TERMS = {
    "sordino": "add-remove",
    "none": "no privacy",
    "diffprivlib": "substitute, n public",
    "opendp": "add-remove",
    "pipeline-dp": "add-remove of a person, δ = 1e-15",
    "smartnoise-synth": "add-remove, δ = 1e-6",
}

MARK = "<!-- peers: written by benchmarks/peers/run.py -->"


def job_makers(data: Path | None) -> dict[str, Any]:
    """Every job by its kind; made when it is run."""
    return {
        "mean": lambda: [jobs.mean_job(0.1), jobs.mean_job(1.0)],
        "counts": lambda: [jobs.counts_job(0.1)],
        "classify": lambda: [
            *map(jobs.breast_cancer_job, (0.1, 1.0, 10.0)),
            *(jobs.adult_job(epsilon, data) for epsilon in (0.1, 1.0)),
        ],
        "cluster": lambda: [jobs.cluster_job(0.1), jobs.cluster_job(1.0)],
        "synthesize": lambda: [jobs.synthesize_job(1.0, data)],
    }


def methods() -> list[str]:
    """What ``worker.py`` knows, by its own list."""
    code = "import worker; print('\\n'.join(worker.METHODS))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=HERE, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def peer_of(method: str) -> str:
    return method.split()[0]


def environment(peer: str) -> str:
    """The peer's interpreter, its environment made if it is not there."""
    if peer in (OURS, NONE):
        return sys.executable
    wanted = tomllib.loads((HERE / "environments.toml").read_text())[peer]["packages"]
    folder, stamp = SCRATCH / peer, SCRATCH / f"{peer}.json"
    if not (stamp.exists() and json.loads(stamp.read_text()) == wanted):
        print(f"making an environment for {peer} …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run(
            [str(folder / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *wanted],
            check=True,
        )
        stamp.write_text(json.dumps(wanted))
    return str(folder / "bin/python")


def import_seconds(peer: str) -> float | None:
    """Seconds to import what its users import; the median of three, after one that is not counted."""
    if peer == NONE:
        return None
    what = (
        "sordino; sordino.open_table, sordino.GaussianBayes"
        if peer == OURS
        else tomllib.loads((HERE / "environments.toml").read_text())[peer]["import"]
    )
    code = f"import time; start = time.perf_counter(); import {what}; print(time.perf_counter() - start)"
    runs = [
        float(
            subprocess.run([environment(peer), "-c", code], check=True, capture_output=True, text=True).stdout.split()[
                -1
            ]
        )
        for _ in range(4)
    ]
    return round(float(np.median(runs[1:])), 3)


def installed_megabytes(peer: str) -> float | None:
    """Size of site-packages; ours without extras is measured by ``benchmarks/installed.py``."""
    if peer in (OURS, NONE):
        return None
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    folder = subprocess.run([environment(peer), "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    return round(sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 2**20)


def run_one(job: jobs.Job, method: str, limit: float) -> dict[str, Any]:
    """One library at one job; whatever goes wrong becomes a word in its row."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job.write(folder)
        row: dict[str, Any] = {"job": job.title, "measure": job.measure, "method": method}
        row |= {"terms": TERMS[peer_of(method)], "score": None, "seconds": None, "peak_mb": None, "note": ""}
        try:
            done = subprocess.run(
                [environment(peer_of(method)), str(HERE / "worker.py"), method, str(folder)],
                capture_output=True, text=True, timeout=limit, cwd=folder,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {**row, "note": f"no result in {limit:g} s"}
        if done.returncode:
            return {**row, "note": (done.stderr.strip().splitlines() or ["failed"])[-1][:120]}
        measured = json.loads((folder / "measured.json").read_text())
        score = job.score(dict(np.load(folder / "answer.npz")))
        return {
            **row,
            "score": round(score, 5),
            "seconds": round(measured["seconds"], 5),
            "peak_mb": round(measured["peak_mb"]),
        }


def marked(rows: list[dict[str, Any]], asked: dict[str, jobs.Job]) -> None:
    """Says in each row whether it is the best private one of its job, or level with it, and where a peer beats us."""
    for title, job in asked.items():
        private = [
            row for row in rows if row["job"] == title and peer_of(row["method"]) != NONE and row["score"] is not None
        ]
        if private:
            best = (min if job.better == "less" else max)(row["score"] for row in private)
            for row in private:
                if abs(row["score"] - best) <= job.level * abs(best):
                    row["note"] = "best private"
            if not any(row["note"] and peer_of(row["method"]) == OURS for row in private):
                for row in private:
                    row["note"] = row["note"] and "beats ours"


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These rows, in the place of what was measured before of the same jobs; the other jobs keep theirs."""
    path = RESULTS / "peers.json"
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    titles = dict.fromkeys([row["job"] for row in before] + [row["job"] for row in rows])
    fresh = {row["job"] for row in rows}
    return [row for title in titles for row in (rows if title in fresh else before) if row["job"] == title]


def write(rows: list[dict[str, Any]], machine: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "peers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "peers.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    draw(rows)
    write_readme(rows, machine)


def draw(rows: list[dict[str, Any]]) -> None:
    """A panel per job: a bar per method, ours dark, others light, no privacy hollow."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    titles = list(dict.fromkeys(row["job"] for row in rows))
    columns = 3
    figure, axes = pyplot.subplots(-(-len(titles) // columns), columns, figsize=(15, 2.6 * -(-len(titles) // columns)))
    for axis in np.ravel(axes)[len(titles) :]:
        axis.axis("off")
    for axis, title in zip(np.ravel(axes), titles, strict=False):
        shown = [row for row in rows if row["job"] == title and row["score"] is not None]
        kinds = {OURS: ("#1b4b72", "#1b4b72"), NONE: ("white", "#777777")}
        for place, row in enumerate(reversed(shown)):
            face, edge = kinds.get(peer_of(row["method"]), ("#c9a227", "#c9a227"))
            axis.barh(place, row["score"], color=face, edgecolor=edge)
            axis.text(row["score"], place, f" {row['score']:.3g}", va="center", fontsize=8)
        axis.set_yticks(range(len(shown)), [row["method"] for row in reversed(shown)], fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(shown[0]["measure"] if shown else "", fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.15)
    figure.tight_layout()
    figure.savefig(RESULTS / "peers.png", dpi=110)


def table(rows: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    """The table of the README, in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        f"Measured on {machine['when']} on {machine['cores']} cores with {versions}. "
        "The same data, splits, bounds and ε; neighbours as each library defines them.", "",
        "| job | method | neighbours | score | seconds | |", "| --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    last = ""
    for row in rows:
        job = f"{row['job']}: {row['measure']}" if row["job"] != last else ""
        last = row["job"]
        score = "–" if row["score"] is None else f"{row['score']:.3g}"
        seconds = "–" if row["seconds"] is None else f"{row['seconds']:.2g}"
        lines.append(f"| {job} | {row['method']} | {row['terms']} | {score} | {seconds} | {row['note']} |")
    return "\n".join(lines)


def write_readme(rows: list[dict[str, Any]], machine: dict[str, Any]) -> None:
    """Between the two marks of the README stands this table and nothing else."""
    path = ROOT / "README.md"
    before, opened, rest = path.read_text(encoding="utf-8").partition(MARK)
    if not opened:
        return
    _, _, after = rest.partition(MARK)
    path.write_text(f"{before}{MARK}\n\n{table(rows, machine)}\n\n{MARK}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--jobs", nargs="*", help="kinds of job, the others kept as they were measured before; all unless named"
    )
    parser.add_argument("--peers", nargs="*", help="peers beside ours and no privacy; all unless named")
    parser.add_argument("--data", type=Path, help="the folder of public data sets")
    parser.add_argument("--limit", type=float, default=900, help="seconds for one library at one job")
    arguments = parser.parse_args()
    known, rows, asked = methods(), [], {}
    for kind, make in job_makers(arguments.data).items():
        if arguments.jobs and kind not in arguments.jobs:
            continue
        for job in make():
            asked[job.title] = job
            for method in (name.partition(":")[2] for name in known if name.startswith(f"{kind}:")):
                if arguments.peers is not None and peer_of(method) not in (*arguments.peers, OURS, NONE):
                    continue
                rows.append(run_one(job, method, arguments.limit))
                print({name: value for name, value in rows[-1].items() if name not in ("terms", "measure")}, flush=True)
    marked(rows, asked)
    rows = in_order(rows)
    seen = list(dict.fromkeys(peer_of(row["method"]) for row in rows if peer_of(row["method"]) != NONE))
    machine = {
        "when": datetime.now(UTC).strftime("%Y-%m-%d"), "cores": len(__import__("os").sched_getaffinity(0)),
        "versions": {"Python": platform.python_version(), **{peer: _version(peer) for peer in seen}},
        "import_seconds": {peer: import_seconds(peer) for peer in seen},
        "installed_mb": {peer: installed_megabytes(peer) for peer in seen},
    }  # fmt: skip
    print(json.dumps(machine, indent=1))
    if arguments.peers is not None:
        print(table(rows, machine))
    else:
        write(rows, machine)


def _version(peer: str) -> str:
    code = f"from importlib.metadata import version; print(version({peer!r}))"
    return subprocess.run([environment(peer), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
