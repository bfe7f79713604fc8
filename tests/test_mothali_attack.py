"""The study of the attack, small: every published number has its row, and ours lies where it should."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sordino.studies import mothali_attack
from sordino.studies.mothali_attack import (
    IDENTIFIERS,
    PUBLISHED_BRIER,
    PUBLISHED_EXACT,
    PUBLISHED_KIFER,
    PUBLISHED_UNRESTRICTED,
    SENSITIVE,
    Case,
    Size,
)
from sordino.studies.study import StudyResult


def adult_like(rows: int = 1500) -> pa.Table:
    """Made-up people with the columns of the study, and 14 occupations that depend on them."""
    generator = np.random.default_rng(1)
    job = generator.integers(14, size=rows)
    table = {name: (job * (place + 1) + generator.integers(3, size=rows)) % 6 for place, name in enumerate(IDENTIFIERS)}
    return pa.table({**table, SENSITIVE: [f"job {each:02d}" for each in job]})


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return mothali_attack.run_sized(Size(restarts=3, others=2, larger=1, rounds=4, share=0.1), adult_like())


def test_every_published_number_has_its_row_and_every_figure_its_chart(result: StudyResult) -> None:
    published = {row.published for row in result.rows}
    for group in PUBLISHED_EXACT:
        assert {PUBLISHED_EXACT[group][2], PUBLISHED_KIFER[group][2], PUBLISHED_UNRESTRICTED[group][2]} <= published
        assert {each for parts in PUBLISHED_BRIER[group] for each in parts} <= published
    assert {chart.name.removeprefix("figure-") for chart in result.charts} == {f"5-{n}" for n in (2, 3, 4, 5, 7, 8, 9)}
    assert any("Figures 5.6 and 5.7" in chart.title for chart in result.charts)


def test_ours_beats_chance_and_stays_below_the_ceiling(result: StudyResult) -> None:
    ours = {row.what: row.ours for row in result.rows if row.where == "Table 4.3"}
    for group in PUBLISHED_EXACT:
        found, ceiling = ours[f"groups of {group}: ours"], ours[f"groups of {group}: ceiling"]
        assert found is not None
        assert ceiling is not None
        assert 100 / group + 5 < found < ceiling + 3


def test_larger_groups_have_their_rows(result: StudyResult) -> None:
    assert {"groups of 6", "groups of 8", "groups of 12"} <= {row.what for row in result.rows}


def test_groups_are_of_one_release_and_a_part_of_them_too() -> None:
    case = Case.of(adult_like(), 3, 3, "drawn", share=0.3)
    assert 50 < case.tables.groups < 250
    assert len(case.truth) == case.tables.tuples
