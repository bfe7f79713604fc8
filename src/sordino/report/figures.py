"""Figures as SVG text or PNG bytes. The one file that imports matplotlib."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Sequence
from typing import Any

from sordino.errors import ParameterError
from sordino.report.chart import Chart, Series

#: Blue and orange that stay apart for colour-blind readers, on light and on dark paper.
FIRST, SECOND = "#3b7dd8", "#e08214"

#: Replaced by the colour of the text around the figure.
_INK = "#808081"

#: As wide as a phone: a wide screen may enlarge it by half.
_SIZE = (4.8, 3.0)

_CHART_SIZE, _DOTS = (5.6, 3.8), 150

#: Letters of the longest label, and so many columns of a legend; and the height of one of its lines.
_LEGEND_COLUMNS, _LEGEND_LINE = ((18, 3), (34, 2)), 0.18

#: In the order of the series; apart for colour-blind readers.
_COLOURS = (FIRST, SECOND, "#2a9d6f", "#a3529e", "#7a5230", "#5d6f86", "#b8a11c")

#: More letters than this along an axis are written upright.
_TICK_LETTERS = 60

#: A logarithmic axis whose ends are less than this factor apart has names at one, two and five.
_SHORT_AXIS = 100

_CELLS = 40
_OUTERMOST = 100


def can_draw() -> bool:
    """Whether the package behind the figures is installed; it is not loaded."""
    return importlib.util.find_spec("matplotlib") is not None


def require_figures() -> None:
    """Refuse, before anything runs, figures that could not be drawn afterwards."""
    if not can_draw():
        raise ParameterError("report: figures need matplotlib. Install: pip install 'sordino[plots]'.")


def chart_png(chart: Chart) -> bytes:
    """A chart as a PNG image on white paper."""
    written = io.BytesIO()
    _chart_figure(chart, ink="black").savefig(written, format="png", dpi=_DOTS, metadata={"Software": None})
    return written.getvalue()


def chart_svg(chart: Chart, titled: bool = True) -> str:
    """A chart as part of a page, in the page's colour of text; untitled where a caption says the same."""
    from matplotlib import rc_context

    written = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": chart.name}):
        figure = _chart_figure(chart, _INK, titled)
        figure.savefig(written, format="svg", transparent=True, metadata=dict.fromkeys(_METADATA))
    return _part_of_a_page(written.getvalue(), chart.name)


def _chart_figure(chart: Chart, ink: str, titled: bool = True) -> Any:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.family": "sans-serif", "font.size": 9}):
        figure = Figure(figsize=_CHART_SIZE, layout="constrained")
        axes = figure.subplots()
        coloured = [each for each in chart.series if each.style != "reference"]
        for series in chart.series:
            colour = _INK if series.style == "reference" else _COLOURS[coloured.index(series) % len(_COLOURS)]
            _draw(axes, series, colour)
        axes.set_xscale(chart.x_scale)
        axes.set_yscale(chart.y_scale)
        for axis, scale in ((axes.xaxis, chart.x_scale), (axes.yaxis, chart.y_scale)):
            if scale == "log":
                _round_ticks(axis)
        axes.set_title(chart.title if titled else "", color=ink, fontsize=10)
        _plainly(axes, chart.x_label, chart.y_label, ink)
        if chart.ticks:
            long = max(map(len, chart.ticks)) * len(chart.ticks) > _TICK_LETTERS
            axes.set_xticks(range(len(chart.ticks)), chart.ticks, rotation=90 if long else 0)
        if any(series.style == "picture" for series in chart.series):
            axes.set_axis_off()
        if len(chart.series) > 1:
            _legend_below(figure, [series.label for series in chart.series], ink)
    return figure


def _legend_below(figure: Any, labels: Sequence[str], ink: str) -> None:
    """Under the axes, where no line runs through it; the figure grows by its lines."""
    longest = max(map(len, labels))
    columns = next((columns for letters, columns in _LEGEND_COLUMNS if longest <= letters), 1)
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, labelcolor=ink, fontsize=8)
    figure.set_figheight(_CHART_SIZE[1] + _LEGEND_LINE * -(-len(labels) // columns))


def _draw(axes: Any, series: Series, colour: str) -> None:
    if series.style == "picture":
        width = int(max(series.x)) + 1
        shades = [list(series.y[start : start + width]) for start in range(0, len(series.y), width)]
        axes.imshow(shades, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    elif series.style == "bars":
        steps = [after - before for before, after in zip(series.x[:-1], series.x[1:], strict=True)]
        axes.bar(series.x, series.y, width=min(steps, default=1.0), color=colour, alpha=0.4, label=series.label)
    else:
        line, mark = {"line": ("-", "o"), "points": ("", "o"), "reference": ("--", "")}[series.style]
        axes.plot(
            series.x, series.y, linestyle=line, marker=mark, markersize=3, linewidth=1.2, color=colour,
            label=series.label,
        )  # fmt: skip
    if series.low is not None and series.high is not None:
        axes.vlines(series.x, series.low, series.high, color=colour, linewidth=1, alpha=0.7)


def _round_ticks(axis: Any) -> None:
    """Numbers at powers of ten; on a short axis at one, two and five, for every digit would run into the next."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < _SHORT_AXIS * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


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
        _plainly(axes, "score of an output", "runs", _INK)
        figure.legend(loc="outside upper center", ncols=2, frameon=False, labelcolor=_INK)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata=dict.fromkeys(_METADATA))
    return _part_of_a_page(written.getvalue(), name)


_METADATA = ("Date", "Creator", "Format", "Type")


def _plainly(axes: Any, x_label: str, y_label: str, ink: str) -> None:
    """Words and lines in the colour of the page."""
    axes.set_xlabel(x_label, color=ink)
    axes.set_ylabel(y_label, color=ink)
    axes.tick_params(which="both", colors=ink)
    for side, spine in axes.spines.items():
        spine.set_color(ink)
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
