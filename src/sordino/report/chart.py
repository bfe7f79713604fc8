"""A chart as plain numbers: what is drawn, before it is known how. ``figures`` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sordino.errors import ParameterError

Style = Literal["line", "points", "bars", "reference", "picture"]
Scale = Literal["linear", "log"]


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line, cloud of points or row of bars. A reference is thin and grey: what the others are compared with.

    A picture has shades from 0 (paper) to 1 (ink) in ``y``, row by row, and in ``x`` the column of each.

    ``low`` and ``high`` are drawn as a whisker at each point; bars need the same number of heights as of places.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: Style = "line"
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        lengths = {len(each) for each in (self.x, self.y, self.low, self.high) if each is not None}
        if len(lengths) != 1 or (self.low is None) is not (self.high is None):
            raise ParameterError(f"chart: the parts of series {self.label!r} must be equally long. Got {lengths}.")


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Some series over one pair of axes. ``name`` becomes part of a file's name; ``ticks`` name the places from 0."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    ticks: Sequence[str] = ()
