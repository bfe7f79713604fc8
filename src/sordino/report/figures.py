"""Figures as SVG text. The one file that imports matplotlib."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Sequence
from typing import Any

#: Blue and orange that stay apart for colour-blind readers, on light and on dark paper.
FIRST, SECOND = "#3b7dd8", "#e08214"

#: Replaced by the colour of the text around the figure.
_INK = "#808081"

#: As wide as a phone: a wide screen may enlarge it by half.
_SIZE = (4.8, 3.0)

_CELLS = 40
_OUTERMOST = 100


def can_draw() -> bool:
    """Whether the package behind the figures is installed; it is not loaded."""
    return importlib.util.find_spec("matplotlib") is not None


def two_distributions(
    first: Sequence[float],
    second: Sequence[float],
    labels: tuple[str, str],
    thresholds: Sequence[float] = (),
    *,
    name: str = "figure",
) -> str:
    """Histograms of one score under two neighbouring tables, with the thresholds at which a guess was made.

    ``name`` begins every name inside the drawing, so that several fit on one page.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    edges = _edges([*first, *second])
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif", "font.size": 9}):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        for values, colour, line, label in ((first, FIRST, "-", labels[0]), (second, SECOND, "--", labels[1])):
            cells = [min(max(value, edges[0]), edges[-1]) for value in values]
            axes.hist(cells, bins=edges, histtype="stepfilled", alpha=0.35, color=colour)
            axes.hist(cells, bins=edges, histtype="step", color=colour, linestyle=line, linewidth=1.4, label=label)
        for threshold in thresholds:
            if edges[0] <= threshold <= edges[-1]:
                axes.axvline(threshold, color=_INK, linestyle=":", linewidth=1.2)
        _plainly(axes)
        figure.legend(loc="outside upper center", ncols=2, frameon=False, labelcolor=_INK)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata=dict.fromkeys(_METADATA))
    return _part_of_a_page(written.getvalue(), name)


_METADATA = ("Date", "Creator", "Format", "Type")


def _plainly(axes: Any) -> None:
    """Words and lines in the colour of the page."""
    axes.set_xlabel("score of an output", color=_INK)
    axes.set_ylabel("runs", color=_INK)
    axes.tick_params(colors=_INK)
    for side, spine in axes.spines.items():
        spine.set_color(_INK)
        spine.set_visible(side in ("left", "bottom"))


def _edges(values: Sequence[float]) -> list[float]:
    """Cells over the middle 98 % of the values; what lies beyond is counted in the outermost two."""
    ordered = sorted(values)
    beyond = len(ordered) // _OUTERMOST
    low, high = ordered[beyond], ordered[-1 - beyond]
    if not low < high:
        low, high = ordered[0], ordered[-1]
    if not low < high:
        low, high = low - 0.5, high + 0.5
    return [low + (high - low) * step / _CELLS for step in range(_CELLS)] + [high]


def _part_of_a_page(text: str, name: str) -> str:
    """The drawing alone, with names of its own and the page's colour of text."""
    svg = text[text.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
