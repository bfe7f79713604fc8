"""What a membership attack means: how many members are found at how many false alarms, in words and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sordino.attack.membership import MembershipAttack
from sordino.report.chart import Chart, Series
from sordino.report.report import write_report
from sordino.report.section import Page, Section, row, table_of

#: A p-value below this is called a leak.
LEVEL = 0.001

Document = Mapping[str, Any]


def membership_found(attack: MembershipAttack, member: Any = None) -> dict[str, Any]:
    """The attack's result as plain values; with the truth, its verdict."""
    accused = {
        f"{rate:g}": None if threshold is None else int(np.sum(attack.scores_ > threshold))
        for rate, threshold in attack.thresholds_.items()
    }
    found: dict[str, Any] = {
        "attack": "membership", "method": attack.method, "candidates": len(attack.scores_), "accused": accused,
    }  # fmt: skip
    if member is not None:
        found["verdict"] = attack.judge(member).to_dict()
    return found


def membership_words(found: Document) -> list[str]:
    """The verdict in sentences."""
    if "verdict" not in found:
        lines = [f"{count} of {found['candidates']} candidates score higher than all but {float(rate):.1%} of the "
                 f"known non-members; were nobody a member, about {float(rate) * found['candidates']:.0f} would."
                 for rate, count in found["accused"].items() if count is not None]  # fmt: skip
        return [*lines, "Without the truth nobody can say whether these are members."]
    verdict = found["verdict"]
    seen = "The attack tells members from others" if verdict["p_value"] < LEVEL else "Nothing was found"
    lines = [
        f"{seen} (p-value {verdict['p_value']:.2g}; a leak is claimed below {LEVEL:g}).",
        *(f"At {each['asked']:.1%} false alarms {each['found'][0]:.1%} of the members are found "
          f"({each['found'][1]:.1%} to {each['found'][2]:.1%})." for each in verdict["rates"]),
        f"Accuracy over as many members as others: {verdict['accuracy']:.1%}, at the best threshold in hindsight; area "
        f"under the curve {verdict['area']:.3f}.",
    ]  # fmt: skip
    if verdict["p_value"] >= LEVEL:
        lines.append("That is what this attack finds. Another one, or one that knows more, may find more.")
    return lines


def write_membership(found: Document, path: Path) -> Path:
    """The verdict as a page."""
    verdict = found.get("verdict")
    sections = [Section(title="Who would be accused", rows=table_of(
        [(f"at {float(rate):.1%} false alarms", "too few known non-members" if count is None else str(count))
         for rate, count in found["accused"].items()]))]  # fmt: skip
    if verdict is not None:
        rates = verdict["rates"]
        rows = tuple(row(f"{each['asked']:.1%}", *(_share(each[name]) for name in ("false_alarms", "found")))
                     for each in rates)  # fmt: skip
        sections.insert(0, Section(title="Found at a rate of false alarms", rows=rows, charts=_charts(rates),
                                   head=("asked", "false alarms (95 %)", "members are found (95 %)")))  # fmt: skip
    page = Page(
        title="Were these people in the table?",
        audience="owner" if verdict else "attack",
        lead=tuple(membership_words(found)),
        sections=tuple(sections),
    )
    return write_report(page, path)


def _charts(rates: Any) -> tuple[Chart, ...]:
    if not rates:
        return ()
    x, parts = [each["asked"] for each in rates], [each["found"] for each in rates]
    y, low, high = ([each[place] for each in parts] for place in range(3))
    return (
        Chart(
            name="membership", title="Members found, by the rate of false alarms", x_label="false alarms",
            y_label="members found", x_scale="log",
            series=(Series(label="the attack", x=x, y=y, low=low, high=high),
                    Series(label="chance", x=x, y=x, style="reference")),
        ),
    )  # fmt: skip


def _share(parts: Any) -> str:
    return f"{parts[0]:.1%} ({parts[1]:.1%} to {parts[2]:.1%})"
