"""A real browser without a screen: opens a page at a width, in light or dark, and says what is wrong with it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

#: Widths of a phone and of a desk.
WIDTHS = (390, 1280)

#: Looks at the page from inside: what is wider than it, figures that did not render, text that ran out of its picture.
_LOOK = """
<script>
addEventListener("load", () => {
  const wide = [...document.querySelectorAll("body *")].filter(each => {
    if (each.closest(".wide, pre, svg")) return false;
    const box = each.getBoundingClientRect();
    return box.width > 0 && (box.right > document.documentElement.clientWidth + 1 || box.left < -1);
  });
  const drawings = [...document.querySelectorAll("figure svg")];
  const empty = drawings.filter(each => {
    const box = each.getBoundingClientRect();
    return box.width < 100 || box.height < 60 || each.querySelectorAll("path, rect, use").length < 3;
  });
  const outside = drawings.flatMap(each => {
    const frame = each.getBoundingClientRect();
    return [...each.querySelectorAll("text")].filter(text => {
      const box = text.getBoundingClientRect();
      return box.width > 0 && (box.right > frame.right + 2 || box.left < frame.left - 2 ||
                               box.bottom > frame.bottom + 2 || box.top < frame.top - 2);
    });
  });
  const style = getComputedStyle(document.body);
  const seen = {
    wide: wide.map(each => each.outerHTML.slice(0, 120)),
    figures: document.querySelectorAll("figure").length, drawings: drawings.length, empty: empty.length,
    outside: outside.map(each => each.textContent),
    sections: document.querySelectorAll("section").length,
    ink: style.color, paper: style.backgroundColor, scroll: document.documentElement.scrollWidth,
    shown: document.documentElement.clientWidth,
  };
  document.body.innerHTML = "<pre id=seen>" + JSON.stringify(seen).replaceAll("<", "&lt;") + "</pre>";
});
</script>
"""

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


def looked_at(page: Path, width: int, dark: bool = False) -> dict[str, Any]:
    """What a browser finds on a page: see ``_LOOK``. The page's ban on scripts is lifted in a copy."""
    text = page.read_text(encoding="utf-8")
    before, _, after = text.partition('<meta http-equiv="Content-Security-Policy"')
    assert after, "a page must forbid scripts and the network"
    copy = before + after[after.index(">") + 1 :].replace("</body>", _LOOK + "</body>")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "page.html"
        # A browser without a screen is never narrower than some 500 pixels: a frame has the width that is asked for.
        place.write_text(copy, encoding="utf-8")
        frame = Path(folder) / "frame.html"
        frame.write_text(
            f'<body><iframe id=f src="page.html" style="border:0;width:{width}px;height:900px"></iframe>'
            "<script>addEventListener('load', () => setTimeout(() => {"
            "document.body.innerHTML = f.contentDocument.body.innerHTML }, 300))</script>",
            encoding="utf-8",
        )
        written = _run(folder, f"--window-size={max(width, 600)},900", "--allow-file-access-from-files",
                       "--virtual-time-budget=3000", *(["--blink-settings=preferredColorScheme=0"] if dark else []),
                       "--dump-dom", frame.as_uri())  # fmt: skip
    found = written[written.index('<pre id="seen">') + len('<pre id="seen">') : written.index("</pre>")]
    return json.loads(found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def photograph(page: Path, image: Path, width: int = 1280, height: int = 2400, dark: bool = False) -> None:
    """A picture of a page, for people to look at."""
    with tempfile.TemporaryDirectory() as folder:
        scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        _run(folder, f"--window-size={width},{height}", f"--screenshot={image}", *scheme, page.resolve().as_uri())


def _run(folder: str, *arguments: str) -> str:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "install Chromium: scripts/ensure-chromium.sh"
    finished = subprocess.run(
        [program, *_FLAGS, f"--user-data-dir={folder}/profile", *arguments],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return finished.stdout


if __name__ == "__main__":
    import sys

    photograph(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:5]), dark="dark" in sys.argv)
