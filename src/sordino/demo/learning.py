"""Steps about models: classifiers beside the same ones without privacy, and a synthetic table."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from sordino.demo.stage import TARGET, Scene, Stage, code, real_rows, wrapped
from sordino.models.gaussian_bayes import GaussianBayes
from sordino.models.naive_bayes import NaiveBayes
from sordino.report.chart import Chart, Series
from sordino.report.section import Section, row
from sordino.report.sections import section_of
from sordino.synthesis.table_synthesizer import TableSynthesizer
from sordino.terminal import columns

#: What each classifier may cost.
EPSILON = "1"

#: What the synthetic table may cost.
SYNTHETIC_EPSILON, SYNTHETIC_DELTA = "2", "1e-6"

_SHOWN = 5


def classify(stage: Stage) -> Scene:
    """Two classifiers, each beside its twin without noise: what privacy costs here, in accuracy."""
    kinds = {"gaussian-bayes.json": GaussianBayes, "naive-bayes.json": NaiveBayes}
    rows, lines, documents = real_rows(), [], []
    truth = np.array(rows[TARGET])
    for name, kind in kinds.items():
        model = kind(epsilon=EPSILON).fit(stage.table, TARGET)
        model.save(stage.folder / name)
        noiseless = kind(epsilon=math.inf, random_state=0).fit(_without_ledger(stage), TARGET)
        private, plain = (float(np.mean(each.predict(rows) == truth)) for each in (model, noiseless))
        lines.append([f"{kind.__name__}(epsilon={EPSILON})", f"{private:.3f}", f"{plain:.3f}"])
        documents.append({"model": kind.__name__, "accuracy": private, "accuracy_without_privacy": plain})
        saved = json.loads((stage.folder / name).read_text(encoding="utf-8"))
        stage.published.append(section_of(saved, f"{kind.__name__}, a classifier of {TARGET}"))
    majority = max(float(np.mean(truth == label)) for label in set(truth.tolist()))
    lines.append(["always the more frequent diagnosis", f"{majority:.3f}", ""])
    head = ["accuracy on the table's own rows", "private", "without privacy"]
    stage.owners.append(
        Section(
            title="Classifiers",
            head=tuple(head),
            rows=tuple(row(*each) for each in lines),
            words=("Measured on the real rows: for the owner alone.",),
            charts=(_accuracies(documents, majority),),
        )
    )
    note = "The models are saved as JSON and may be published. Accuracy was measured on real rows: that may not."
    call = f"GaussianBayes(epsilon={EPSILON}).fit(table, {TARGET!r})"
    return Scene(code(call, "\n".join(columns([head, *lines]))) + "\n\n" + wrapped(note), documents)


def synthesise(stage: Stage) -> Scene:
    """A synthetic table in the original columns and types."""
    import pyarrow.parquet

    synthesizer = TableSynthesizer(epsilon=SYNTHETIC_EPSILON, delta=SYNTHETIC_DELTA, target=TARGET).fit(stage.table)
    fake = synthesizer.sample()
    pyarrow.parquet.write_table(fake, stage.folder / "synthetic.parquet")
    names = ["radius", "texture", "concavity", TARGET]
    shown = [[_cell(fake[name][place].as_py()) for name in names] for place in range(min(_SHOWN, fake.num_rows))]
    stage.published.append(
        Section(
            title="A synthetic table",
            head=tuple(names),
            rows=tuple(row(*each) for each in shown),
            words=("The first rows of synthetic.parquet. Nobody in it exists; it follows from releases alone.",),
            code=str(synthesizer.receipt_),
        )
    )
    call = (
        f"TableSynthesizer(epsilon={SYNTHETIC_EPSILON}, delta={SYNTHETIC_DELTA}, target={TARGET!r}).fit(table).sample()"
    )
    note = "Nobody in these rows exists. The file has the original columns and types, and may be published."
    words = "\n".join(columns([names, *shown])) + f"\n… {fake.num_rows} rows in synthetic.parquet\n\n" + wrapped(note)
    return Scene(code(call, words), {"rows": fake.num_rows, "receipt": synthesizer.receipt_.to_dict()})


def _accuracies(documents: list[dict[str, Any]], majority: float) -> Chart:
    """Each classifier with and without privacy, beside the more frequent label alone."""
    names = ["majority", *(name for each in documents for name in (each["model"], "no privacy"))]
    values = [majority, *(each[key] for each in documents for key in ("accuracy", "accuracy_without_privacy"))]
    bars = Series(label="accuracy", x=[float(place) for place in range(len(values))], y=values, style="bars")
    return Chart(
        name="accuracy", title="Accuracy on the real rows", x_label="", y_label="share that is right", series=(bars,),
        ticks=tuple(names),
    )  # fmt: skip


def _without_ledger(stage: Stage) -> Any:
    """The same public table for a fit without noise, which no budget pays for."""
    from sordino.queries.private_table import open_table

    return open_table(real_rows(), stage.table.domain)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
