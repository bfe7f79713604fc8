"""Every statistic, mechanism and composition has its page of proof, and every page names a test that exists.

The formulas of ``joint-moments.md``, which no statistic uses yet, are searched for counter-examples here.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from registry import every_statistic
from sordino.audit.registered import STATISTICS
from test_architecture import read_sources, room

ROOT = Path(__file__).parents[1]
PROOFS = ROOT / "docs" / "proofs"

#: Modules that state no sensitivity, no noise and no composition of their own.
NO_CLAIM = {
    "statistics": "an empty room",
    "statistics.statistic": "the contract",
    "statistics.own_rows": "the caller's own rows, of which nothing is protected",
    "privacy": "an empty room",
    "privacy.rehearsal": "for audits, on made-up records",
}

Row = tuple[str, str, str, str]


def rows(text: str) -> list[Row]:
    """Page, claim, code and test of each line of the table."""
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip() for cell in line) for line in lines]  # type: ignore[misc]


TABLE = rows((PROOFS / "README.md").read_text(encoding="utf-8"))


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def without_a_page(modules: list[str], table: list[Row]) -> list[str]:
    code = {path for _, _, cell, _ in table for path in named(cell)}
    files = {module: f"{module.replace('.', '/')}.py" for module in modules}
    return [module for module, file in files.items() if file not in code]


PRIVATE = [m for m in read_sources() if room(m) in ("statistics", "privacy") and m not in NO_CLAIM]


def test_every_module_of_statistics_and_mechanisms_has_a_page() -> None:
    assert without_a_page(PRIVATE, TABLE) == []
    assert "privacy.new_mechanism" in without_a_page([*PRIVATE, "privacy.new_mechanism"], TABLE)


def test_every_page_is_in_the_table_and_names_tests_that_are_there() -> None:
    pages = {name for row in TABLE for name in named(row[0])}
    assert pages == {path.name for path in PROOFS.glob("*.md")} - {"README.md"}
    for page, _, code, test in TABLE:
        assert named(test), page
        for path in named(test):
            assert (ROOT / path).is_file(), f"{page} names {path}"
        for path in named(code):
            assert (ROOT / "src" / "sordino" / path).exists(), f"{page} names {path}"


KINDS = {type(each).__name__ for each in (*STATISTICS.values(), *(built for built, _ in every_statistic(3).values()))}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_registered_statistic_is_spoken_of_in_a_proof(kind: str) -> None:
    assert any(f"`{kind}`" in path.read_text(encoding="utf-8") for path in PROOFS.glob("*.md"))


# ---- joint-moments.md -----------------------------------------------------------------------------------------------


def joint(points: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(points.shape[1])
    return np.hstack([points, points[:, first] * points[:, second]])


def largest(dimension: int, power: int) -> float:
    """Coordinate ascent over pairs on a grid that holds the ends, the middle and ±1/(d+1)."""
    public = np.random.default_rng(dimension)
    places = np.array(sorted({-1.0, 1.0, 0.0, 1 / (dimension + 1), -1 / (dimension + 1), 0.5, -0.5, 0.9, -0.9}))
    found = 0.0
    for _ in range(12):
        pair, before = public.choice(places, size=(2, dimension)), -1.0
        now = 0.0
        while now > before:
            before = now
            for which, coordinate in itertools.product((0, 1), range(dimension)):
                tried = np.repeat(pair[None], len(places), axis=0)
                tried[:, which, coordinate] = places
                moves = np.abs(joint(tried[:, 0]) - joint(tried[:, 1])) ** power
                pair = tried[int(moves.sum(axis=1).argmax())]
                now = float(moves.sum(axis=1).max())
        found = max(found, now)
    return found


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_the_joint_formulas_are_reached_and_never_passed(d: int) -> None:
    triangle = d * (d + 1) // 2
    assert largest(d, 1) == pytest.approx(d + triangle + d / (2 * (d + 1)), rel=1e-9)
    assert largest(d, 2) == pytest.approx((d + 1) ** 2 - (d + 1) % 2, rel=1e-9)


@pytest.mark.parametrize("d", [2, 5])
def test_twin_vertices_alone_miss_the_joint_formula(d: int) -> None:
    corners = joint(np.array(list(itertools.product((-1.0, 1.0), repeat=d))))
    farthest = np.abs(corners[:, None] - corners[None]).sum(axis=2).max()
    assert farthest < d + d * (d + 1) / 2 + d / (2 * (d + 1)) - 0.1
    assert math.isclose(largest(d, 1), farthest) is False
