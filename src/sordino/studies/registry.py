"""The studies, by the name that the command line uses. A study is one line here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import cast

from sordino.errors import ParameterError
from sordino.report.report import report_html
from sordino.studies.study import Study, StudyResult, prepare_folder, studies_page, write_contents, write_files

#: Name, and the module that runs it; loaded when it is asked for.
STUDIES: dict[str, str] = {
    "mothali-attack": "sordino.studies.mothali_attack",
    "mothali-classifier": "sordino.studies.mothali_classifier",
    "wu": "sordino.studies.wu",
    "xi": "sordino.studies.xi",
    "rongauss": "sordino.studies.rongauss",
    "pathak": "sordino.studies.pathak",
}


#: In place of a name: every study, and one page for them together.
ALL = "all"


def load_study(name: str) -> Study:
    """The module of a study."""
    if name not in STUDIES:
        raise ParameterError(f"study: must be {ALL}, or one of {', '.join(STUDIES)}. Got {name!r}.")
    return cast(Study, import_module(STUDIES[name]))


def run_study(
    name: str,
    *,
    quick: bool = False,
    data: Path | None = None,
    out: Path | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> StudyResult:
    """Run a study; with ``out``, write its rows, numbers and charts into that folder."""
    study = load_study(name)
    if out is not None:
        prepare_folder(out)
    started = time.perf_counter()
    result = study.run(quick=quick, data=data, progress=progress)
    result = replace(result, seconds=round(time.perf_counter() - started, 1))
    if out is not None:
        write_files(result, out)
    return result


def run_all(
    *,
    quick: bool = False,
    data: Path | None = None,
    out: Path | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> list[StudyResult]:
    """Run every study; with ``out``, write the files of each, and ``all.html``, one page for them together."""
    if out is not None:
        prepare_folder(out)
    results = []
    for place, name in enumerate(STUDIES):
        each = run_study(
            name, quick=quick, data=data, out=out,
            progress=lambda share, place=place: progress((place + share) / len(STUDIES)),  # type: ignore[misc]
        )  # fmt: skip
        results.append(each)
    if out is not None:
        write_contents({f"{ALL}.html": report_html(studies_page(results)).encode()}, out)
    return results
