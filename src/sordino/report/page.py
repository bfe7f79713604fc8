"""One self-contained HTML page: no network, readable on a phone and in print, light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from sordino.errors import ParameterError

_FOOTER = (
    "Three verdicts exist: violated, not violated at this power, and not tested. The second never proves privacy. "
    "Time, memory and other side channels are not looked at."
)


def verdict_page(
    title: str,
    verdict: str,
    sentence: str,
    *,
    complaints: Sequence[str] = (),
    evidence: Mapping[str, Any],
    figure: str = "",
    caption: str = "",
) -> str:
    """The page of one verdict: what was found, the picture, the numbers, and a sentence to quote."""
    markup = _markup()
    page: str = markup.render(
        title=title,
        verdict=verdict,
        tone="violated" if verdict == "violated" else "",
        sentence=sentence,
        complaints=list(complaints),
        figure=_safe(figure),
        caption=caption,
        rows=[(name.replace("_", " "), _shown(value)) for name, value in evidence.items()],
        footer=_FOOTER,
    )
    return page


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple) and len(value) > 12:
        return f"{len(value)} values"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(each) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(each)}" for name, each in value.items())
    return str(value)


def _markup() -> Any:
    environment: Any = None
    try:
        from jinja2 import Environment, select_autoescape

        environment = Environment(autoescape=select_autoescape(default_for_string=True, default=True))
    except ImportError:
        pass
    if environment is None:
        raise ParameterError("report: pages need jinja2. Install it with: pip install 'sordino[plots]'.")
    template = files("sordino.report").joinpath("verdict.html").read_text(encoding="utf-8")
    return environment.from_string(template)


def _safe(svg: str) -> Any:
    """SVG of our own making passes unescaped; everything else on the page is escaped."""
    from markupsafe import Markup

    return Markup(svg)
