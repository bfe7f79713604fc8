"""Sections from documents: what a release, a model, a ledger, an audit or a study wrote as JSON, laid out to be read.

Nothing but the document is looked at, so a page made of releases holds what follows from them and no more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sordino.errors import ParameterError
from sordino.report.chart import Chart, Series
from sordino.report.section import Cell, Section, Tone, row, table_of

Document = Mapping[str, Any]

#: A published number and ours agree when ours comes this near to it, relative to its size.
NEAR = 0.05

_LANES = {"epsilon": "ε", "rho": "ρ"}
_IN_VALUES = "Each range holds the exact answer on the clipped table with {level} confidence."
_IN_RANKS = (
    "How many ranks of the clipped table lie between the exact answer and the released one, with {level} confidence."
)
_MOST_CELLS = 60
_WIDEST = 8
_DIGITS = 6


def section_of(document: Document, title: str = "", file: str = "") -> Section:
    """The section for a document, by what it holds; ``file`` is where it was found."""
    for holds, make in _KINDS:
        if holds(document):
            return make(document, title)
    raise ParameterError(
        f"report: {file or title or 'the document'!r} is none of an answer, a model, a ledger, an audit or a study. "
        "Give what query, fit, synthesize, ledger, audit or study printed with --json, a saved model, or a ledger."
    )


def answer_section(document: Document, title: str = "") -> Section:
    """A released answer with its interval, a picture of counts, and its receipt."""
    asked = f"{document['query']} of {', '.join(document['columns'])}" if document.get("columns") else document["query"]
    values, (low, high) = document["value"], document["interval"]
    level = f"{100 * document['level']:g} %"
    in_ranks = document["interval_unit"] == "ranks"
    names = _names(document, values)
    flat, lows, highs = (list(_flat(each)) for each in (values, low, high))
    if in_ranks:  # as the command says it: whole ranks, away from the exact one
        lows, highs = [math.floor(each) for each in lows], [math.ceil(each) for each in highs]
    if len(lows) != len(flat):  # one interval in ranks for one value
        lows, highs = (list(itertools.islice(itertools.cycle(each), len(flat))) for each in (lows, highs))
    rows = [row(*each) for each in zip(names, map(_short, flat), map(_short, lows), map(_short, highs), strict=True)]
    more = [f"{len(rows) - _MOST_CELLS} further values are in the file."] if len(rows) > _MOST_CELLS else []
    return Section(
        title=title or asked,
        words=((_IN_RANKS if in_ranks else _IN_VALUES).format(level=level), *more),
        head=("", "released", *(("ranks from", "ranks to") if in_ranks else ("from", "to"))),
        rows=tuple(rows[:_MOST_CELLS]),
        charts=tuple(_counts(asked, names, flat, lows, highs)) if document["query"] == "histogram" else (),
        code=receipt_words(document["receipt"]),
    )


def model_section(document: Document, title: str = "") -> Section:
    """A fitted model: what it is, and its receipt."""
    learned = document["learned"]
    facts = [("model", document["estimator"])]
    facts += [(name, _short(value)) for name, value in document["parameters"].items() if _plain(value)]
    shapes = [(name, "x".join(map(str, value["shape"]))) for name, value in learned.items() if _is_array(value)]
    return Section(
        title=title or document["estimator"],
        words=("Everything that the model learned follows from the releases in its receipt.",),
        head=("", ""),
        rows=table_of([*facts, *((f"learned: {name.rstrip('_')}", f"{shape} values") for name, shape in shapes)]),
        code=receipt_words(learned["receipt_"]["receipt"]),
    )


def paid_section(document: Document, title: str = "") -> Section:
    """What ``fit`` and ``synthesize`` print: the receipt, and where the rest is."""
    return Section(
        title=title or str(document["path"]),
        words=(f"Paid for, and written to {document['path']}.",),
        code=receipt_words(document["receipt"]),
    )


def synthetic_section(file: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    """The first rows of a synthetic table, with as many columns as a page is wide."""
    names = list(rows[0])[:_WIDEST] if rows else []
    further = len(rows[0]) - len(names) if rows else 0
    more = [f"{further} further columns are in the file."] if further else []
    return Section(
        title="Synthetic rows",
        words=(f"The first rows of {file}. Nobody in it exists; it follows from releases alone.", *more),
        head=tuple(names),
        rows=tuple(row(*("missing" if each[name] is None else _short(each[name]) for name in names)) for each in rows),
    )


def ledger_section(document: Document, title: str = "") -> Section:
    """A budget: its promise, its lanes, and every charge."""
    lanes = [
        f"{words}: {document['spent'][lane]} of {document['limit'][lane]} is spent"
        for words, lane in (("pure ε", "epsilon"), ("ρ", "rho"))
        if document["limit"][lane] != "0"
    ]
    owner = document["name"] and f" for {document['name']!r}, neighbours {document['neighbours']}"
    return Section(
        title=title or "The budget",
        words=(
            f"The promise{owner or ''}: ε = {document['epsilon']}, δ = {document['delta']}, for everything that is "
            "ever paid from this ledger, in any order.",
            *lanes,
        ),
        head=("entry", "when (UTC)", "what", "lane", "charged"),
        rows=tuple(
            row(
                str(each["number"]),
                each["when"][:16].replace("T", " "),
                each["what"],
                _LANES[each["lane"]],
                f"{float(each['amount']):.{_DIGITS}g}",
            )
            for each in document["entries"]
        ),
    )


def audit_section(document: Document, title: str = "") -> Section:
    """A verdict, in its own sentence."""
    verdict = str(document["verdict"])
    return Section(
        title=title or f"Audit of {document['subject']}",
        words=(verdict, document["sentence"], *map(str, document.get("complaints", ()))),
        tone=_verdict_tone(verdict),
    )


def audits_section(document: Document, title: str = "") -> Section:
    """Several verdicts, each in its own sentence."""
    return Section(
        title=title or "Audits",
        words=(document["summary"],),
        head=("audit", "of", "verdict", "in words"),
        rows=tuple(
            row(each["audit"], each["subject"], Cell(each["verdict"], _verdict_tone(each["verdict"])), each["sentence"])
            for each in document["verdicts"]
        ),
    )


def _verdict_tone(verdict: str) -> Tone:
    return "bad" if verdict == "violated" else ""


def study_section(document: Document, title: str = "") -> Section:
    """Every published number beside ours, coloured by agreement."""
    return Section(
        title=title or document["title"],
        words=tuple(document["notes"]),
        head=("where", "what", "published", "ours", "reach", "reason or remark"),
        rows=tuple(_study_row(each) for each in document["rows"]),
        charts=tuple(chart_from(each) for each in document["charts"]),
    )


def chart_from(document: Document) -> Chart:
    """A chart that ``StudyResult.to_dict`` wrote."""
    return Chart(**{**document, "series": tuple(Series(**each) for each in document["series"])})


def agrees(study_row: Document) -> bool | None:
    """Whether a published number and ours agree: within the ends of ours, or near; None where one is absent."""
    published, ours = study_row["published"], study_row["ours"]
    if published is None or ours is None:
        return None
    low, high = study_row["low"], study_row["high"]
    between = low is not None and high is not None and low <= published <= high
    return bool(between or abs(ours - published) <= NEAR * max(abs(published), abs(ours)))


def receipt_words(receipt: Document) -> str:
    """A receipt as lines."""
    cost = ", ".join(f"{name} = {receipt['cost'][name]:g}" for name in ("epsilon", "rho") if _costs(receipt, name))
    stated = receipt["cost"].get("stated")
    bought = f" (bought as ε = {stated['epsilon']:g}, δ = {stated['delta']:g})" if stated else ""
    lines = [
        f"{'PRIVATE' if receipt['private'] else 'NOT PRIVATE'} · neighbours {receipt['neighbours']} · {cost}{bought}",
        *(
            f"  {each['statistic']}: {each['mechanism']}, sensitivity {each['sensitivity']}, "
            f"scale {each['noise_scale']:.6g}"
            for each in receipt["charges"]
        ),
        f"  public: {'; '.join(receipt['public'])}",
        *(f"  note: {caveat}" for caveat in receipt["caveats"]),
    ]
    return "\n".join(lines)


def _costs(receipt: Document, name: str) -> bool:
    value = receipt["cost"][name]
    return isinstance(value, int | float) and value > 0


def _study_row(each: Document) -> tuple[Cell, ...]:
    published, reach = _number(each["published"], each), _number(each["reach"], each)
    return row(each["where"], each["what"], published, _ours(each), reach, each["note"])


def _ours(each: Document) -> Cell:
    tones: dict[bool | None, Tone] = {True: "good", False: "bad", None: ""}
    return Cell(_number(each["ours"], each), tones[agrees(each)])


def _number(value: float | None, each: Document) -> str:
    return "–" if value is None else f"{value:.4g}{' ' + each['unit'] if each['unit'] else ''}"


def _names(document: Document, value: Any) -> list[str]:
    """What each value is called: its cell, its column, or nothing."""
    labels, columns = list(document.get("labels") or ()), list(document.get("columns") or ())
    if isinstance(value, Mapping):
        tables = zip(value, labels, strict=True)
        return [f"{name}: {cell}" for name, axes in tables for cell in _cells(axes)]
    if document["query"] == "histogram":
        return _cells(labels if len(columns) > 1 else [labels])
    if isinstance(value, list) and isinstance(value[0], list):
        return [f"{first}, {second}" for first in columns for second in columns]
    return columns if isinstance(value, list) else [", ".join(columns) or document["query"]]


def _cells(axes: Sequence[Sequence[Any]]) -> list[str]:
    named = ([_label(each) for each in axis] for axis in axes)
    return [" · ".join(cell) for cell in itertools.product(*named)]


def _label(label: Any) -> str:
    return f"{label[0]:g} to {label[1]:g}" if isinstance(label, list) else str(label)


def _counts(
    asked: str, names: Sequence[str], values: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> Iterator[Chart]:
    if 1 < len(values) <= _MOST_CELLS:
        places = [float(place) for place in range(len(values))]
        series = Series(label="released", x=places, y=values, style="bars", low=low, high=high)
        yield Chart(name="counts", title=asked, x_label="", y_label="records", series=(series,), ticks=tuple(names))


def _flat(nested: Any) -> Iterator[Any]:
    if isinstance(nested, Mapping):
        nested = list(nested.values())
    if isinstance(nested, list):
        for each in nested:
            yield from _flat(each)
    else:
        yield nested


def _short(value: Any) -> str:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> bool:
    return value is not None and isinstance(value, bool | int | float | str)


def _is_array(value: Any) -> bool:
    return isinstance(value, Mapping) and "array" in value


_KINDS: tuple[tuple[Callable[[Document], bool], Callable[[Document, str], Section]], ...] = (
    (lambda each: {"query", "value", "receipt"} <= set(each), answer_section),
    (lambda each: each.get("format") == "sordino model", model_section),
    (lambda each: {"limit", "spent", "entries"} <= set(each), ledger_section),
    (lambda each: {"audit", "verdict", "sentence"} <= set(each), audit_section),
    (lambda each: {"verdicts", "summary"} <= set(each), audits_section),
    (lambda each: {"study", "rows", "charts"} <= set(each), study_section),
    (lambda each: {"path", "receipt"} <= set(each), paid_section),
)
