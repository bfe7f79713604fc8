"""What ``make demo`` installs is all that the demo needs: other packages of this environment are hidden from it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import sordino

ROOT = Path(__file__).parents[1]
SOURCE = Path(sordino.__file__).parent

#: Starts the command line where the modules that are named first are not installed: the path's finder passes them over.
PROGRAM = """
import sys
from importlib.machinery import PathFinder

hidden = set(sys.argv[1].split(","))

class Others(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Others
%s
"""
COMMAND_LINE = "from sordino import cli; sys.exit(cli.main(sys.argv[2:]))"


def extras_of_the_demo() -> set[str]:
    """As the Makefile installs them into an environment that is not there yet."""
    planned = subprocess.run(
        ["make", "--dry-run", "demo", "VENV=nowhere"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (installed,) = re.findall(r"--editable '\.(?:\[([\w,]+)\])?'", planned)
    return set(installed.split(","))


def installed_with(extras: Collection[str]) -> set[str]:
    """The distributions that come with this package and these extras, and with those, and so on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(each for name in extras for each in project["optional-dependencies"][name])]
    found: set[str] = set()
    waiting = [Requirement(each) for each in asked]
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if each.marker is not None and not each.marker.evaluate():
            continue
        if name in found and not each.extras:
            continue
        found.add(name)
        try:
            further = map(Requirement, requires(name) or ())
        except PackageNotFoundError:
            continue
        waiting += [one for one in further if one.marker is None or _wanted(one, each.extras)]
    return found


def _wanted(requirement: Requirement, extras: Collection[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def modules_beside(extras: Collection[str]) -> set[str]:
    """Modules of this environment that would not be there."""
    there = installed_with(extras) | {"sordino"}
    return {
        module
        for module, distributions in packages_distributions().items()
        if there.isdisjoint(map(canonicalize_name, distributions)) and module not in sys.stdlib_module_names
    }


def run(hidden: Collection[str], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM % code, ",".join(hidden), *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
    )  # fmt: skip


def test_the_demo_runs_with_what_make_demo_installs(tmp_path: Path) -> None:
    done = run(modules_beside(extras_of_the_demo()), COMMAND_LINE, "demo", "--folder", str(tmp_path / "shown"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "shown/report.html").read_text(encoding="utf-8").count("<svg") > 0


def test_twin_without_an_extra_the_demo_says_at_once_what_to_install(tmp_path: Path) -> None:
    done = run(modules_beside(()), COMMAND_LINE, "demo", "--folder", str(tmp_path / "shown"))
    assert done.returncode == 2
    assert "pip install 'sordino[plots]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "shown").exists()


@pytest.mark.parametrize("module", ["pandas", "polars", "pyspark", "cvxpy", "hypothesis", "pytest"])
def test_twin_a_package_for_development_cannot_be_imported(module: str) -> None:
    done = run(modules_beside(extras_of_the_demo()), f"import {module}")
    assert done.returncode == 1
    assert f"No module named '{module}'" in done.stderr


def imported() -> Iterator[tuple[str, str]]:
    """Every import of the source, deferred ones too: file and top-level module."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path.name, each.name.partition(".")[0]) for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield path.name, str(node.module).partition(".")[0]


def unmet(extras: Collection[str]) -> set[str]:
    beside = modules_beside(extras)
    return {module for _, module in imported() if module in beside}


def test_every_import_of_the_source_is_a_dependency_or_an_extra() -> None:
    assert unmet(["plots"]) == set()
    assert unmet([]) == {"matplotlib", "jinja2", "markupsafe"}  # the twin: an extra is extra
