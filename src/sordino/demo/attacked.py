"""Steps about other people's promises: the same table made "anonymous" and attacked; a mechanism and a bug, audited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sordino.anonymity.anatomy import anatomize
from sordino.attack.definetti import DeFinettiAttack
from sordino.audit.lower_bound import audit_epsilon
from sordino.demo.stage import Scene, Stage, code, real_rows, wrapped
from sordino.domain import Domain, Real
from sordino.queries.private_table import open_table
from sordino.report.chart import Chart, Series
from sordino.report.section import Section, row
from sordino.report.sections import section_of

#: Public edges that cut each column into bands, so that a row looks as "anonymised" tables do.
BANDS = {
    "texture": (0, 15, 18, 21, 60),
    "smoothness": (0, 0.08, 0.09, 0.1, 0.11, 1),
    "concavity": (0, 0.03, 0.06, 0.1, 0.15, 1),
    "area": (0, 400, 500, 600, 800, 1200, 5000),
}

SENSITIVE, PROMISED = "area", 3

#: Runs of an audit: enough to see noise that is half of what it should be.
RUNS = 3000


def attack(stage: Stage) -> Scene:
    """Anatomy promises that a guess is right one time in three at most. The attack is right more often."""
    banded = _banded()
    published = anatomize(banded, sensitive=SENSITIVE, l=PROMISED)
    for name, frame in (("quasi-identifiers.csv", published.qit), ("sensitive.csv", published.st)):
        pyarrow.csv.write_csv(frame, stage.folder / name)
    truth = banded[SENSITIVE].take(pa.array(published.rows_))
    guessed = DeFinettiAttack(random_state=0).fit(published.qit, published.st)
    right = guessed.score(truth)
    words = wrapped(
        f"Anatomy cut the table in two, so that {SENSITIVE} is tied to groups of {PROMISED} or more people and never "
        f"to one: a guess should be right 1 time in {PROMISED}, {1 / PROMISED:.0%}. The attack sees the two published "
        f"files, knows nothing else, and is right about {right:.0%} of the people. Such a table is NOT differentially "
        "private."
    )
    document = {"promised": 1 / PROMISED, "accuracy": right}
    stage.owners.append(
        Section(
            title="The same table, anonymised and attacked",
            words=(words.replace("\n", " "),),
            tone="bad",
            head=("", "share of people"),
            rows=(
                row("promised by Anatomy", f"{1 / PROMISED:.3f}"),
                row("guessed right by the attack", f"{right:.3f}"),
            ),
            charts=(_guesses(right),),
        )
    )
    call = f"anatomize(rows, sensitive={SENSITIVE!r}, l={PROMISED}); DeFinettiAttack().fit(qit, st)"
    return Scene(code(call, words), document)


def audit(stage: Stage) -> Scene:
    """Is a count as private as it says? One that is, and one with a planted bug."""
    without = [{"age": 40.0}, {"age": 50.0}, {"age": 60.0}]
    tables = [*without, {"age": 70.0}], without
    reports = [
        audit_epsilon(run, *tables, epsilon=1.0, runs=RUNS, random_state=0, name=name)
        for name, run in (("count(epsilon=1)", _count), ("a count with half of the noise", _hasty_count))
    ]
    words = "\n\n".join(wrapped(f"{each.subject}: {each.verdict}. {each.sentence}") for each in reports)
    documents = [each.to_dict() for each in reports]
    stage.published.extend(section_of(each) for each in documents)
    return Scene(code("audit_epsilon(count, with_her, without_her, epsilon=1)", words), documents)


def _guesses(right: float) -> Chart:
    """What was promised beside what the attack reached."""
    bars = Series(label="share of people", x=[0.0, 1.0], y=[1 / PROMISED, right], style="bars")
    return Chart(
        name="guesses", title="Whose value is guessed right", x_label="", y_label="share of people", series=(bars,),
        ticks=("at most, says Anatomy", "the attack"),
    )  # fmt: skip


def _count(table: list[dict[str, float]], generator: np.random.Generator) -> float:
    """The library's own count."""
    frame = pa.table({"age": [each["age"] for each in table]})
    opened = open_table(frame, Domain({"age": Real(0, 120)}), random_state=generator)
    return float(opened.count(epsilon=1.0).value)


def _hasty_count(table: list[dict[str, float]], generator: np.random.Generator) -> float:
    """A planted bug: the scale of the noise is half of what the promise asks for."""
    return len(table) + float(generator.laplace(scale=0.5))


def _banded() -> pa.Table:
    rows: Any = real_rows()
    bands = {name: np.digitize(np.array(rows[name]), edges[1:-1]) for name, edges in BANDS.items()}
    named = {
        name: [f"{BANDS[name][code]:g} to {BANDS[name][code + 1]:g}" for code in codes] for name, codes in bands.items()
    }
    return pa.table({**named, "diagnosis": rows["diagnosis"]})
