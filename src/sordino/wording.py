"""Releases, plans and ledgers in plain words, for a terminal. It draws public numbers and reads nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any

from sordino.release import to_plain

if TYPE_CHECKING:
    from sordino.privacy.ledger import Ledger
    from sordino.queries.query import Plan
    from sordino.release import Release

#: What every interval is about.
COVERS = "about the exact answer on the clipped table, not about a population"

_BAR = 30

#: What was asked is shown up to this many letters; the whole of it stands in the ledger and in its JSON.
_LONGEST = 70


def answer_in_words(query: str, columns: Sequence[str], release: Release, level: float) -> str:
    """Value, interval and receipt."""
    document = release.to_dict(level)
    lines = [
        *_answer(asked(query, columns), columns, document, _percent(level)),
        f"  ({COVERS})",
        "",
        str(release.receipt),
    ]
    return "\n".join(lines)


def value_in_words(query: str, columns: Sequence[str], release: Release, level: float) -> str:
    """Value and interval alone."""
    return "\n".join(_answer(asked(query, columns), columns, release.to_dict(level), _percent(level)))


def plan_in_words(query: str, columns: Sequence[str], plan: Plan, level: float, rows: int | None) -> str:
    """The noise to expect, and what it would cost."""
    document: dict[str, Any] = plan.to_dict(level)
    lines = _planned(asked(query, columns), columns, document, _percent(level))
    if document["half_width"] is not None and rows is not None and document["unit"] != "ranks":
        lines.append(f"  on a table of {rows} rows{f', {plan.assumed}' if plan.assumed else ''}")
    if plan.assumed:
        lines.append("  (elsewhere within the bounds the interval can be wider)")
    lines += ["", f"PLAN · neighbours {plan.receipt.neighbours} · {plan.receipt.cost}"]
    for charge in document["charges"]:
        noise = f"{charge['mechanism']}, sensitivity {charge['sensitivity']}, scale {charge['noise_scale']:.6g}"
        lines.append(f"  {charge['statistic']}: {noise}")
    return "\n".join([*lines, "  no row was read and nothing was spent"])


def _planned(title: str, columns: Sequence[str], document: dict[str, Any], percent: str) -> list[str]:
    """Half of each width; of a matrix those of its upper triangle."""
    if document["half_width"] is None:
        return [f"{title}: the noise depends on how many rows there are. Add --rows NUMBER, a public guess."]
    widths = document.get("half_widths")
    if not isinstance(widths, list):
        unit = " ranks" if document["unit"] == "ranks" else ""
        return [f"{title}: ± {_rounded_up(document['half_width'])}{unit} with {percent} confidence"]
    if isinstance(widths[0], list):
        places = range(len(columns))
        rows = [[columns[i], columns[j], f"± {_rounded_up(widths[i][j])}"] for i in places for j in places if i <= j]
    else:
        rows = [[name, f"± {_rounded_up(width)}"] for name, width in zip(columns, widths, strict=True)]
    return [f"{title}:", *_columns(rows, left=range(len(rows[0]) - 1)), f"  each with {percent} confidence"]


def _rounded_up(width: float) -> str:
    return rounded(width, width, ROUND_CEILING) if width else "0"


def ledger_in_words(ledger: Ledger) -> str:
    """Promise, lanes, and one line per entry."""
    document: dict[str, Any] = ledger_to_dict(ledger)
    neighbours = ledger.neighbours or "not settled yet"
    owner = f"data set {ledger.name!r}, neighbours {neighbours}" if ledger.name else "not bound to a data set yet"
    lines = [
        f"Ledger {ledger.path}",
        f"  {owner}",
        f"  promise: epsilon={ledger.epsilon}, delta={float(ledger.delta):g}",
    ]
    lanes = [("pure epsilon", "epsilon"), ("rho", "rho")]
    rows = [["lane", "limit", "spent", "remaining"]]
    for title, lane in lanes:
        if document["limit"][lane] == "0":
            continue
        rows.append([title, *(document[part][lane] for part in ("limit", "spent", "remaining"))])
    lines += ["", *_columns(rows), ""]
    if not document["entries"]:
        return "\n".join([*lines, "  nothing was charged yet"])
    entries = [["entry", "when (UTC)", "who", "what", "charged"]]
    for entry in document["entries"]:
        when = entry["when"][:16].replace("T", " ")
        charged = f"{entry['lane']} {entry['amount']}"
        entries.append([str(entry["number"]), when, entry["who"], _shortened(entry["what"]), charged])
    return "\n".join([*lines, *_columns(entries, left=(1, 2, 3, 4))])


def ledger_to_dict(ledger: Ledger) -> dict[str, object]:
    """Plain values of a ledger, ready for JSON: amounts as decimals rounded down, exact fractions beside them."""
    from sordino.privacy.ledger import shown

    lanes = {
        "limit": (ledger.pure, ledger.rho),
        "spent": (ledger.spent.epsilon, ledger.spent.rho),
        "remaining": (ledger.remaining.epsilon, ledger.remaining.rho),
    }
    return {
        "path": ledger.path,
        "name": ledger.name,
        "neighbours": ledger.neighbours,
        "epsilon": shown(ledger.epsilon),
        "delta": shown(ledger.delta),
        **{part: {"epsilon": shown(pure), "rho": shown(rho)} for part, (pure, rho) in lanes.items()},
        "exact": {part: {"epsilon": str(pure), "rho": str(rho)} for part, (pure, rho) in lanes.items()},
        "entries": [
            {
                "number": entry.number,
                "when": entry.when,
                "who": entry.who,
                "what": entry.what,
                "lane": entry.lane,
                "amount": shown(entry.amount),
                "exact_amount": str(entry.amount),
            }
            for entry in ledger.entries()
        ],
    }


def asked(query: str, columns: Sequence[str]) -> str:
    """The question in words: ``mean of age, bmi``."""
    return f"{query} of {', '.join(columns)}" if columns else query


def rounded(value: float, width: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number with the digits that an uncertainty of ``width`` leaves meaning in: two beyond its first.

    >>> rounded(54.31728, 0.83), rounded(1021, 23)
    ('54.32', '1021')
    """
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value) or abs(value) >= 1e15 or 0 < abs(value) < 1e-9:
        return f"{value:.6g}"
    places = min(15, max(0, 1 - math.floor(math.log10(width)))) if 0 < width < math.inf else 6
    number = Decimal(value).quantize(Decimal(1).scaleb(-places), rounding, Context(prec=60))
    return f"{number if number else abs(number):f}"


def _answer(title: str, columns: Sequence[str], document: dict[str, Any], percent: str) -> list[str]:
    value, (low, high) = document["value"], document["interval"]
    each = f"  each range with {percent} confidence"
    if isinstance(value, dict):
        tables = zip(value, document["labels"], strict=True)
        return [line for name, axes in tables for line in _cells(name, axes, value[name], low[name], high[name])] + [
            each
        ]
    if title.startswith("histogram"):
        axes = document["labels"] if len(columns) > 1 else [document["labels"]]
        return [*_cells(title, axes, value, low, high), each]
    if isinstance(value, list):
        body = _matrix if isinstance(value[0], list) else _vector
        return [f"{title}:", *body(columns, value, low, high), each]
    return _number(title, value, low, high, document["interval_unit"], percent)


def _number(title: str, value: float, low: float, high: float, unit: str, percent: str) -> list[str]:
    width = (high - low) / 2
    if unit == "ranks":
        return [
            f"{title}: {value:.6g}",
            f"  at most {math.ceil(high)} ranks from the exact one with {percent} confidence",
        ]
    ends = f"{rounded(low, width, ROUND_FLOOR)} to {rounded(high, width, ROUND_CEILING)}"
    return [f"{title}: {rounded(value, width)}", f"  {ends} with {percent} confidence"]


def _vector(columns: Sequence[str], value: list[float], low: list[float], high: list[float]) -> list[str]:
    rows = [_row([name], *numbers) for name, *numbers in zip(columns, value, low, high, strict=True)]
    return _columns([["", "value", "from", "to"], *rows])


def _matrix(columns: Sequence[str], value: Any, low: Any, high: Any) -> list[str]:
    """The matrix; then the range of each entry of its upper triangle."""
    places = range(len(columns))
    entry = [[rounded(value[i][j], (high[i][j] - low[i][j]) / 2) for j in places] for i in places]
    whole = [["", *columns], *([name, *numbers] for name, numbers in zip(columns, entry, strict=True))]
    pairs = [(i, j) for i in places for j in places if i <= j]
    rows = [_row([columns[i], columns[j]], value[i][j], low[i][j], high[i][j]) for i, j in pairs]
    return [*_columns(whole), "", *_columns([["", "", "value", "from", "to"], *rows], left=(1,))]


def _cells(title: str, axes: Sequence[Sequence[Any]], value: Any, low: Any, high: Any) -> list[str]:
    """One line per cell, whatever the number of crossed columns, with a bar."""
    counts, lows, highs = ([int(number) for number in _flat(each)] for each in (value, low, high))
    largest = max(1, *counts)
    names = itertools.product(*([_label(label, label == axis[-1]) for label in axis] for axis in axes))
    rows = [
        [*labels, str(count), str(least), str(most), "█" * round(_BAR * max(0, count) / largest)]
        for labels, count, least, most in zip(names, counts, lows, highs, strict=True)
    ]
    blank = [""] * len(axes)
    return [
        f"{title}:",
        *_columns([[*blank, "count", "from", "to", ""], *rows], left=(*range(len(axes)), len(axes) + 3)),
    ]


def _row(names: list[str], value: float, low: float, high: float) -> list[str]:
    width = (high - low) / 2
    return [*names, rounded(value, width), rounded(low, width, ROUND_FLOOR), rounded(high, width, ROUND_CEILING)]


def _label(label: Any, last: bool) -> str:
    """A category, or a bin: closed below, the last one on both sides."""
    if isinstance(label, list):
        return f"[{label[0]:.6g}, {label[1]:.6g}{']' if last else ')'}"
    return str(to_plain(label))


def _shortened(words: str) -> str:
    """Words without their middle where they are long."""
    if len(words) <= _LONGEST:
        return words
    half = _LONGEST // 2
    return f"{words[: half - 1].rstrip()} … {words[1 - half :].lstrip()}"


def _flat(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list):
        for each in nested:
            yield from _flat(each)
    else:
        yield nested


def _columns(rows: Sequence[Sequence[str]], left: Iterable[int] = ()) -> list[str]:
    """Rows as aligned text: the first column and those in ``left`` to the left, numbers to the right."""
    to_left = {0, *left}
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if place in to_left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _percent(level: float) -> str:
    return f"{100 * level:.10g} %"
