"""What an attack means for the people in the tables: how many are exposed, how surely, against what was promised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sordino.anonymity.columns import read_frame
from sordino.attack.calibration import brier, expected_calibration_error, reliability
from sordino.attack.definetti import DeFinettiAttack
from sordino.errors import ParameterError, file_problem
from sordino.report.chart import Chart, Series
from sordino.report.figures import chart_png, require_figures
from sordino.report.report import write_report
from sordino.report.section import Cell, Page, Section, Tone, row, table_of

#: How surely a value is known, in steps that a reader tells apart.
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)

#: The level that the headline speaks of.
HEADLINE = 0.9

_CURVE = np.linspace(0, 1, 51)

_WHO = "attack"

Document = Mapping[str, Any]


def exposure(attack: DeFinettiAttack) -> dict[str, Any]:
    """Counts of people by how surely their value is known, as plain values."""
    risk = attack.risk_
    people = [
        {"at_least": level, "people": int(np.sum(risk >= level)), "expected_right": float(risk[risk >= level].sum())}
        for level in LEVELS
    ]
    return {
        "people": len(risk),
        "promised": float(attack.promised_.max()),
        "promised_on_average": float(attack.promised_.mean()),
        "expected_accuracy": attack.expected_accuracy_,
        "above_promise": int(np.sum(risk > attack.promised_ * 1.5)),
        "exposed": people,
        "curve": [float(np.mean(risk >= level)) for level in _CURVE],
        "approximated": attack.approximated_,
        "converged": attack.converged_,
        "rounds": attack.rounds_,
        "notes": list(attack.notes_),
    }


def judged(
    attack: DeFinettiAttack,
    qit: Any,
    st: Any,
    *,
    truth: Any = None,
    group: str = "group",
    progress: Callable[[float], None] = lambda share: None,
    **names: str,
) -> dict[str, Any]:
    """Fit the attack, and once more on tables of which the groups were dealt out anew: what chance alone looks like.

    With ``truth``, the sensitive values in the order of ``qit``, also how often the attack is right.
    """
    people = read_frame(qit, _WHO)
    attack.fit(people, st, group=group, progress=lambda share: progress(0.7 * share), **names)
    found = {"attack": "definetti", "sensitive": attack.probabilities_.column_names[1], **exposure(attack)}
    control = DeFinettiAttack(
        random_state=attack.random_state, model=attack.model, step=attack.step, smoothing=attack.smoothing_
    )  # as much is believed as of the real tables: else chance would look more modest than it was
    order = np.random.default_rng(attack.random_state).permutation(len(people))
    place = people.column_names.index(group)
    dealt = people.set_column(place, group, people.column(group).take(pa.array(order)))
    control.fit(dealt, st, group=group, progress=lambda share: progress(0.7 + 0.3 * share), **names)
    found["control"] = {name: exposure(control)[name] for name in ("expected_accuracy", "exposed", "curve")}
    if truth is not None:
        probability, happened = attack.events(truth)
        curve = reliability(probability, happened)
        found["truth"] = {
            "accuracy": attack.score(truth),
            "calibration_error": expected_calibration_error(probability, happened),
            "brier": brier(probability, happened).score,
            "reliability": {"predicted": curve.predicted.tolist(), "observed": curve.observed.tolist()},
        }
    return found


def in_words(found: Document) -> list[str]:
    """The verdict in sentences, the most important first."""
    named = next(each for each in found["exposed"] if each["at_least"] == HEADLINE)
    control = next(each for each in found["control"]["exposed"] if each["at_least"] == HEADLINE)
    sentences = [
        f"Of {found['people']:,} people, the value of {named['people']:,} in column {found['sensitive']!r} can be "
        f"named with at least {HEADLINE:.0%} confidence. The tables promised {found['promised']:.0%} at most for "
        "anybody.",
        f"Guessing everybody's value, {found['expected_accuracy']:.1%} are expected to be right; the groups alone give "
        f"{found['promised_on_average']:.1%}.",
        f"The same attack on the same tables with the groups dealt out anew, where there is nothing to learn, names "
        f"{control['people']:,} people and expects {found['control']['expected_accuracy']:.1%}.",
    ]
    if "truth" in found:
        truth = found["truth"]
        sentences.insert(
            2,
            f"In truth {truth['accuracy']:.1%} of the guesses are right, and probabilities are off by "
            f"{truth['calibration_error']:.1%} on average.",
        )
    return [*sentences, *found["notes"]]


def exposure_chart(found: Document) -> Chart:
    """The share of people whose value is known at least that surely."""
    series = [
        Series(label="these tables", x=_CURVE.tolist(), y=found["curve"]),
        Series(label="dealt out anew: nothing to learn", x=_CURVE.tolist(), y=found["control"]["curve"]),
        Series(label="promised at most", x=[found["promised"]] * 2, y=[0.0, 1.0], style="reference"),
    ]
    named = next(each for each in found["exposed"] if each["at_least"] == HEADLINE)
    return Chart(
        name="exposure",
        title=f"{named['people']:,} of {found['people']:,} people are named with {HEADLINE:.0%} confidence",
        x_label="probability of a person's likeliest value, at least",
        y_label="share of people",
        series=tuple(series),
    )


def verdict_page(found: Document) -> Page:
    """The verdict as a page for whoever published the tables, or is about to."""
    rows = tuple(
        row(f"{each['at_least']:.0%}", _count(each, found), f"{each['expected_right']:,.0f}",
            f"{chance['people']:,}")
        for each, chance in zip(found["exposed"], found["control"]["exposed"], strict=True)
    )  # fmt: skip
    exposed = Section(
        title="Who is exposed",
        words=("A person is exposed at a level when the attack gives one of the group's values at least that "
               "probability. Nothing but the two published tables was used.",),
        head=("named with at least", "people", "of them right, as expected", "with nothing to learn"),
        rows=rows,
        charts=(exposure_chart(found),),
    )  # fmt: skip
    facts = table_of(
        [
            ("people", f"{found['people']:,}"),
            ("promised for anybody, at most", f"{found['promised']:.1%}"),
            ("expected to be right, guessing everybody", f"{found['expected_accuracy']:.1%}"),
            ("half as likely again as promised, or more", f"{found['above_promise']:,} people"),
            ("looked at one by one, not by group", f"{found['approximated']:.1%} of people"),
        ]
    )
    sections = [exposed, Section(title="In numbers", rows=facts)]
    if "truth" in found:
        sections.append(_truth_section(found["truth"]))
    return Page(
        title=f"How much do these tables give away about {found['sensitive']!r}?",
        audience="owner" if "truth" in found else "attack",
        lead=tuple(in_words(found)),
        sections=tuple(sections),
    )


def write_verdict(found: Document, path: Path) -> Path:
    """The verdict as an ``.html`` page, or its chart as a ``.png`` image."""
    require_verdict(path)
    if path.suffix.lower() != ".png":
        return write_report(verdict_page(found), path)
    problem = ""
    try:
        path.write_bytes(chart_png(exposure_chart(found)))
    except OSError as error:
        problem = file_problem(error)
    if problem:
        raise ParameterError(f"{_WHO}: {str(path)!r} cannot be written ({problem}). Name another file with -o.")
    return path


def require_verdict(path: Path, suffixes: tuple[str, ...] = (".html", ".htm", ".png")) -> None:
    """Refuse, before anything runs, a verdict that could not be written afterwards."""
    require_figures()
    if path.suffix.lower() not in suffixes:
        allowed = " or ".join(each for each in suffixes if each != ".htm")
        raise ParameterError(f"{_WHO}: a verdict's name must end in {allowed}. Got {str(path)!r}.")
    if not path.resolve().parent.is_dir():
        raise ParameterError(f"{_WHO}: there is no folder for {str(path)!r}. Make it first.")


def _truth_section(truth: Document) -> Section:
    points = truth["reliability"]
    chart = Chart(
        name="reliability", title="Are the probabilities what they say?", x_label="probability",
        y_label="share that came true",
        series=(Series(label="the attack", x=points["predicted"], y=points["observed"]),
                Series(label="as it should be", x=[0.0, 1.0], y=[0.0, 1.0], style="reference")),
    )  # fmt: skip
    return Section(
        title="Against the truth",
        words=("The truth was given to judge the attack. It took no part in it.",),
        rows=table_of(
            [
                ("guesses that are right", f"{truth['accuracy']:.1%}"),
                ("expected calibration error", f"{truth['calibration_error']:.4f}"),
                ("Brier score", f"{truth['brier']:.4f}"),
            ]
        ),
        charts=(chart,),
    )


def _count(exposed: Document, found: Document) -> Cell:
    """As many at a level that was promised are no news."""
    people, promised = exposed["people"], exposed["at_least"] <= found["promised"]
    tone: Tone = "" if promised else "bad" if people else "good"
    return Cell(f"{people:,} ({people / found['people']:.1%})", tone)
