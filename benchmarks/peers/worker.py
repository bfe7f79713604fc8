"""One library at one job, in the library's own environment: read the job's folder, write answers and measurements.

    python worker.py METHOD FOLDER

Imports nothing of this project but ``sordino`` itself, and that only for its own methods.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402

Arrays = dict[str, np.ndarray]
Answer = tuple[dict[str, Any], list[float]]


def timed(call: Callable[[], Any], repeats: int) -> tuple[list[Any], list[float]]:
    answers, seconds = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        answers.append(call())
        seconds.append(time.perf_counter() - start)
    return answers, seconds


# ---- one number, and counts --------------------------------------------------------------------------------------


def asked(call: Callable[[], Any], facts: dict[str, Any]) -> Answer:
    call()  # the first call loads what is loaded lazily; it is not counted
    answers, seconds = timed(call, facts["repeats"])
    return {"answers": np.array(answers, dtype=float)}, seconds


def mean_none(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    return asked(lambda: arrays["values"].mean(), facts)


def mean_sordino(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    import sordino as so

    domain = so.Domain({"value": so.Real(facts["low"], facts["high"])})
    table = so.open_table(arrays["values"][:, None], domain, columns=["value"])
    return asked(lambda: table.mean("value", epsilon=facts["epsilon"]).value, facts)


def mean_diffprivlib(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    from diffprivlib import tools

    bounds = (facts["low"], facts["high"])
    return asked(lambda: tools.mean(arrays["values"], epsilon=facts["epsilon"], bounds=bounds), facts)


def mean_opendp(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    """A sum and a count, each for half: n is private, as with us."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    half = facts["epsilon"] / 2
    largest = max(abs(facts["low"]), abs(facts["high"]))
    total = (
        space >> dp.t.then_clamp((facts["low"], facts["high"])) >> dp.t.then_sum() >> dp.m.then_laplace(largest / half)
    )
    size = space >> dp.t.then_count() >> dp.m.then_laplace(1 / half)
    values = arrays["values"].tolist()
    return asked(lambda: total(values) / max(1, size(values)), facts)


def _aggregate(
    rows: list[tuple[int, int, float]], metric: str, partitions: list[int], facts: dict[str, Any]
) -> dict[int, Any]:
    import pipeline_dp

    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=facts["epsilon"], total_delta=1e-15)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    bounds = {"min_value": facts["low"], "max_value": facts["high"]} if metric == "MEAN" else {}
    parameters = pipeline_dp.AggregateParams(
        metrics=[getattr(pipeline_dp.Metrics, metric)], noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1, max_contributions_per_partition=1, **bounds,
    )  # fmt: skip
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    result = engine.aggregate(rows, parameters, extractors, public_partitions=partitions)
    accountant.compute_budgets()
    return dict(result)


def mean_pipeline_dp(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    rows = [(place, 0, float(value)) for place, value in enumerate(arrays["values"])]
    return asked(lambda: _aggregate(rows, "MEAN", [0], facts)[0].mean, facts)


def counts_none(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    return asked(lambda: np.bincount(arrays["codes"], minlength=facts["cells"]), facts)


def counts_sordino(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    import sordino as so

    domain = so.Domain({"code": so.Category(range(facts["cells"]))})
    table = so.open_table(arrays["codes"][:, None], domain, columns=["code"])
    return asked(lambda: table.histogram("code", epsilon=facts["epsilon"]).value, facts)


def counts_diffprivlib(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    from diffprivlib import tools

    cells = facts["cells"]
    return asked(
        lambda: tools.histogram(arrays["codes"], epsilon=facts["epsilon"], bins=cells, range=(-0.5, cells - 0.5))[0],
        facts,
    )


def counts_opendp(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
    counted = space >> dp.t.then_count_by_categories(list(range(facts["cells"])), null_category=False)
    asking = counted >> dp.m.then_laplace(1 / facts["epsilon"])
    codes = arrays["codes"].tolist()
    return asked(lambda: asking(codes), facts)


def counts_pipeline_dp(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    rows, cells = [(place, int(code), 0.0) for place, code in enumerate(arrays["codes"])], list(range(facts["cells"]))

    def ask() -> list[float]:
        answers = _aggregate(rows, "COUNT", cells, facts)
        return [answers[cell].count for cell in cells]

    return asked(ask, facts)


# ---- classifiers -------------------------------------------------------------------------------------------------


def classified(arrays: Arrays, facts: dict[str, Any], make: Callable[[int], Any], scaled: bool = False) -> Answer:
    X, y, cut = arrays["X"], arrays["y"], facts["cut"]
    if scaled:  # into the unit ball, by the public box
        low, high = np.array(facts["low"]), np.array(facts["high"])
        X = (2 * (X - low) / np.maximum(high - low, 1e-12) - 1) / np.sqrt(X.shape[1])
    predictions, seconds = [], []
    for place, order in enumerate(arrays["orders"]):
        model, start = make(place), time.perf_counter()
        model.fit(X[order[:cut]], y[order[:cut]])
        seconds.append(time.perf_counter() - start)
        predictions.append(model.predict(X[order[cut:]]))
    return {"predictions": np.array(predictions)}, seconds


def _bounds(facts: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.array(facts["low"]), np.array(facts["high"])
    return low, np.where(high > low, high, low + 1)


def _ours(name: str, **more: Any) -> Callable[[Arrays, dict[str, Any]], Answer]:
    def run(arrays: Arrays, facts: dict[str, Any]) -> Answer:
        import sordino as so

        kind = getattr(so, name)
        return classified(
            arrays,
            facts,
            lambda _: kind(epsilon=facts["epsilon"], bounds=_bounds(facts), classes=facts["classes"], **more),
        )

    return run


def _diffprivlib(name: str, scaled: bool = False, **more: Any) -> Callable[[Arrays, dict[str, Any]], Answer]:
    def run(arrays: Arrays, facts: dict[str, Any]) -> Answer:
        from diffprivlib import models

        given = dict(more) if scaled else {"bounds": _bounds(facts), **more}
        if name == "RandomForestClassifier":
            given["classes"] = np.array(facts["classes"])
        return classified(arrays, facts, lambda _: getattr(models, name)(epsilon=facts["epsilon"], **given), scaled)

    return run


def _sklearn(make: Callable[[], Any]) -> Callable[[Arrays, dict[str, Any]], Answer]:
    return lambda arrays, facts: classified(arrays, facts, lambda _: make(), scaled=True)


def _gaussian_nb() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1e3, max_iter=2000)


# ---- clusters ----------------------------------------------------------------------------------------------------


def clustered(arrays: Arrays, facts: dict[str, Any], make: Callable[[int], Any]) -> Answer:
    X, labels, seconds = arrays["X"], [], []
    for place in range(facts["repeats"]):
        model, start = make(place), time.perf_counter()
        model.fit(X)
        seconds.append(time.perf_counter() - start)
        labels.append(model.predict(X))
    return {"labels": np.array(labels)}, seconds


def cluster_none(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    from sklearn.mixture import GaussianMixture

    return clustered(arrays, facts, lambda place: GaussianMixture(facts["clusters"], random_state=place))


def cluster_sordino(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    import sordino as so

    bounds = (facts["low"], facts["high"])
    return clustered(
        arrays, facts,
        lambda _: so.GaussianMixture(facts["clusters"], epsilon=facts["epsilon"], delta=1e-5, bounds=bounds),
    )  # fmt: skip


def cluster_diffprivlib(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    from diffprivlib.models import KMeans

    width = arrays["X"].shape[1]
    bounds = (np.full(width, facts["low"]), np.full(width, facts["high"]))
    return clustered(arrays, facts, lambda _: KMeans(facts["clusters"], epsilon=facts["epsilon"], bounds=bounds))


# ---- synthetic tables --------------------------------------------------------------------------------------------


def made(facts: dict[str, Any], make: Callable[[], np.ndarray]) -> Answer:
    tables, seconds = timed(make, facts["repeats"])
    return {"tables": np.array(tables)}, seconds


def synthesize_none(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    """Every column shuffled by itself: right margins, no dependence. What a synthesiser has to beat; not private."""
    generator = np.random.default_rng(0)
    return made(facts, lambda: np.column_stack([generator.permutation(column) for column in arrays["rows"].T]))


def synthesize_sordino(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    import pyarrow as pa

    import sordino as so

    columns, declared, cells = facts["columns"], {}, {}
    for place, (name, each) in enumerate(columns.items()):
        column = arrays["rows"][:, place]
        if each["values"]:
            declared[name] = so.Category(range(len(each["values"])))
            cells[name] = pa.array(column.astype(np.int64))
        else:
            declared[name] = so.Real(each["low"], each["high"], integer=True)
            cells[name] = pa.array(column)
    private = so.open_table(pa.table(cells), so.Domain(declared))

    def make() -> np.ndarray:
        settings = {name: facts[name] for name in ("epsilon", "delta", "target")}
        rows = so.TableSynthesizer(**settings).fit(private).sample(len(arrays["rows"]))
        return np.column_stack([np.asarray(rows[name], dtype=float) for name in columns])

    return made(facts, make)


def synthesize_smartnoise(arrays: Arrays, facts: dict[str, Any]) -> Answer:
    """MST on 16 equal cells of each numeric column; a cell's value is drawn evenly inside it."""
    import pandas as pd
    from snsynth import Synthesizer

    columns, cells = facts["columns"], 16
    frame = pd.DataFrame()
    for place, (name, each) in enumerate(columns.items()):
        column = arrays["rows"][:, place]
        if not each["values"]:
            column = np.clip((column - each["low"]) / (each["high"] - each["low"]) * cells, 0, cells - 1)
        frame[name] = column.astype(int)
    generator = np.random.default_rng(0)

    def make() -> np.ndarray:
        synthesizer = Synthesizer.create("mst", epsilon=facts["epsilon"], delta=facts["delta"])
        rows = synthesizer.fit_sample(frame, categorical_columns=list(frame.columns), preprocessor_eps=0.0)
        drawn = rows.to_numpy(dtype=float)
        for place, each in enumerate(columns.values()):
            if not each["values"]:
                width = (each["high"] - each["low"]) / cells
                drawn[:, place] = each["low"] + width * (drawn[:, place] + generator.random(len(drawn)))
        return drawn

    return made(facts, make)


METHODS: dict[str, Callable[[Arrays, dict[str, Any]], Answer]] = {
    "mean:none": mean_none,
    "mean:sordino": mean_sordino,
    "mean:diffprivlib": mean_diffprivlib,
    "mean:opendp": mean_opendp,
    "mean:pipeline-dp": mean_pipeline_dp,
    "counts:none": counts_none,
    "counts:sordino": counts_sordino,
    "counts:diffprivlib": counts_diffprivlib,
    "counts:opendp": counts_opendp,
    "counts:pipeline-dp": counts_pipeline_dp,
    "classify:none GaussianNB": _sklearn(_gaussian_nb),
    "classify:none LogisticRegression": _sklearn(_logistic),
    "classify:sordino GaussianBayes": _ours("GaussianBayes"),
    "classify:sordino PrivateClassifier": _ours("PrivateClassifier"),
    "classify:sordino LargeMarginMixture": _ours("LargeMarginMixture"),
    "classify:diffprivlib GaussianNB": _diffprivlib("GaussianNB"),
    "classify:diffprivlib LogisticRegression": _diffprivlib("LogisticRegression", scaled=True, data_norm=1.0),
    "classify:diffprivlib RandomForest": _diffprivlib("RandomForestClassifier", n_estimators=10),
    "cluster:none GaussianMixture": cluster_none,
    "cluster:sordino GaussianMixture": cluster_sordino,
    "cluster:diffprivlib KMeans": cluster_diffprivlib,
    "synthesize:none shuffled columns": synthesize_none,
    "synthesize:sordino TableSynthesizer": synthesize_sordino,
    "synthesize:smartnoise-synth MST": synthesize_smartnoise,
}


def peak_megabytes() -> float:
    """The most memory that this program held; getrusage would count the one that started it, too."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def main() -> None:
    method, folder = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")
    facts = json.loads((folder / "facts.json").read_text())
    arrays = dict(np.load(folder / "arrays.npz"))
    answers, seconds = METHODS[f"{facts['kind']}:{method}"](arrays, facts)
    np.savez(folder / "answer.npz", **answers)
    measured = {"seconds": float(np.median(seconds)), "peak_mb": peak_megabytes()}
    (folder / "measured.json").write_text(json.dumps(measured))


if __name__ == "__main__":
    main()
