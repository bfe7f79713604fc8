"""One self-contained HTML page of verdicts: no network, no script, readable on a phone and in print, light and dark."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from sordino.errors import ParameterError
from sordino.report.figures import can_draw, two_distributions

FOOTER = (
    "There are three verdicts: violated, not violated at this power, and not tested. The second never proves privacy. "
    "Time, memory and other side channels were not looked at."
)

#: What a piece of evidence is, in words; a name that is not here is shown as it is.
LABELS = {
    "epsilon": "claimed ε",
    "delta": "claimed δ",
    "lower": "the true ε is at least",
    "level": "chance of a false alarm, at most",
    "counted": "fresh runs that were counted",
    "guesses": "guesses of the table",
    "right": "right guesses",
    "failed": "runs that ended in an error",
    "p_value": "p-value of the claim",
    "score": "score that tells the tables apart",
    "thresholds": "when the audit guessed",
    "smallest_visible": "smallest true ε that would have been seen, with probability .9",
    "library_warnings": "the library warns",
    "runs_needed": "runs that see noise too small by a factor",
    "python": "Python of the other environment",
}

#: Shown as the picture, or already said above it.
_ELSEWHERE = ("samples", "tables", "argument")

_WORDS = {True: "yes", False: "no", None: "never"}
_DIGITS = 6
_LONG = 12


def require_drawing() -> None:
    """Refuse, before anything runs, what could not be written afterwards."""
    missing = [
        name
        for name, there in (("jinja2", importlib.util.find_spec("jinja2") is not None), ("matplotlib", can_draw()))
        if not there
    ]
    if missing:
        raise ParameterError(f"report: a page needs {' and '.join(missing)}. Install: pip install 'sordino[plots]'.")


def verdict_page(title: str, documents: Sequence[Mapping[str, Any]], *, summary: str = "", in_full: bool = True) -> str:
    """The page of some verdicts, each a mapping of plain values as an audit's report gives it.

    Every verdict has its sentence, picture and numbers; unless ``in_full``, only the violated ones, and all are in
    one table above.
    """
    return filled_in(
        "verdict.html",
        title=title,
        summary=summary,
        footer=FOOTER,
        overview=[_row(number, each) for number, each in enumerate(documents)] if len(documents) > 1 else [],
        parts=[
            _part(number, each)
            for number, each in enumerate(documents)
            if in_full or _tone(str(each["verdict"])) == "violated"
        ],
    )


def filled_in(template: str, **values: Any) -> str:
    """A template of this folder as text; every value is escaped unless it is a drawing of ours."""
    require_drawing()
    from jinja2 import Environment, FunctionLoader

    folder = files("sordino.report")
    loader = FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8"))
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(template).render(**values).rstrip() + "\n"


def _tone(verdict: str) -> str:
    return verdict.split()[0]


def _row(number: int, document: Mapping[str, Any]) -> dict[str, Any]:
    verdict = str(document["verdict"])
    return {"number": number, "tone": _tone(verdict), **{name: document[name] for name in ("audit", "subject")},
            "verdict": verdict, "sentence": document["sentence"]}  # fmt: skip


def _part(number: int, document: Mapping[str, Any]) -> dict[str, Any]:
    evidence: Mapping[str, Any] = document["evidence"]
    figure, caption = _picture(number, evidence)
    return {
        **_row(number, document),
        "argument": evidence.get("argument", ""),
        "complaints": list(document["complaints"]),
        "tables": list(zip(("first table", "second table"), evidence.get("tables", ()), strict=False)),
        "figure": figure,
        "caption": caption,
        "rows": list(_rows({**evidence, "runs_needed": document.get("runs_needed")})),
    }


def _picture(number: int, evidence: Mapping[str, Any]) -> tuple[Any, str]:
    """The two distributions; nothing when there is nothing to tell apart."""
    from markupsafe import Markup

    samples = evidence.get("samples") or {}
    first, second = samples.get("d1") or [], samples.get("d0") or []
    if not (first and second):
        return "", ""
    thresholds = [float(each) for each in (evidence.get("thresholds") or {}).values() if each is not None]
    drawn = two_distributions(
        first, second, ("first table", "second table"), [each for each in thresholds if math.isfinite(each)],
        name=f"picture{number}",
    )  # fmt: skip
    caption = (
        f"What was seen in {len(first)} runs on the first table and {len(second)} on its neighbour. Dotted lines: "
        "beyond them the audit guessed which table it was. Outermost bars hold all that lies farther out."
    )
    return Markup(drawn), caption  # our own drawing; all else on the page is escaped


def _rows(evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in evidence.items():
        if name not in _ELSEWHERE and value is not None and value != [] and value != {}:
            yield LABELS.get(name, name.replace("_", " ")), _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_shown(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value)) if len(value) <= _LONG else f"{len(value)} values"
    return _WORDS[value] if value is None or isinstance(value, bool) else str(value)
