"""Figures as SVG text. The one file that imports matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from sordino.errors import ParameterError

#: Blue and orange that stay apart for colour-blind readers, on light and on dark paper.
FIRST, SECOND = "#3b7dd8", "#e08214"


def two_distributions(
    first: Sequence[float], second: Sequence[float], labels: tuple[str, str], thresholds: Sequence[float] = ()
) -> str:
    """Histograms of one score under two neighbouring tables, with the thresholds at which a guess was made."""
    pyplot = _pyplot()
    with pyplot.rc_context({"svg.fonttype": "none", "font.size": 10, "text.color": "#808080"}):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.0), layout="constrained")
        edges = _edges([*first, *second])
        for values, colour, label in ((first, FIRST, labels[0]), (second, SECOND, labels[1])):
            axes.hist(values, bins=edges, alpha=0.55, color=colour, label=label)
        for threshold in thresholds:
            axes.axvline(threshold, color="#808080", linestyle="--", linewidth=1)
        axes.set_xlabel("score of an output", color="#808080")
        axes.set_ylabel("runs", color="#808080")
        axes.tick_params(colors="#808080")
        for side in axes.spines.values():
            side.set_color("#808080")
        axes.legend(frameon=False)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    text = written.getvalue()
    return text[text.index("<svg") :]


def _edges(values: Sequence[float]) -> list[float]:
    """Forty cells over the middle 98 % of the values; the outer ones are collected at the ends."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 100], ordered[-1 - len(ordered) // 100]
    width = (high - low) / 40 or 1.0
    return [low + width * step for step in range(41)]


def _pyplot() -> Any:
    pyplot: Any = None
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as found

        pyplot = found
    except ImportError:
        pass
    if pyplot is None:
        raise ParameterError("report: figures need matplotlib. Install it with: pip install 'sordino[plots]'.")
    return pyplot
