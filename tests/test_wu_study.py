"""Wu's figures again: the published method as printed, and rows and charts of a small run."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.studies import wu
from sordino.studies.published import wu as published


def test_the_printed_noise_is_zero_nearly_always_where_rows_are_many() -> None:
    """Summed by hand: 1 / sum of exp(-k² / (2 σ²))."""
    chances = {}
    for rows in (1000, 2000, 5000):
        sigma = published.printed_sigma(rows, 10.0, 0.5, 1e-5)
        by_hand = 1 / sum(np.exp(-(k**2) / (2 * sigma**2)) for k in range(-50, 51))
        chances[rows] = published.chance_of_no_noise(sigma)
        assert chances[rows] == pytest.approx(by_hand, rel=1e-12)
    assert chances[1000] == pytest.approx(0.674, abs=0.002)
    assert chances[2000] == pytest.approx(0.898, abs=0.002)
    assert chances[5000] == pytest.approx(0.9985, abs=0.0002)


def test_plain_em_finds_the_parameter_and_printed_dg_em_moves_by_integers() -> None:
    cell = wu.Cell("a figure", 3000, 4, 0.5)
    rows, theta, start = wu.made_rows(cell, 0)
    assert np.linalg.norm(start - theta) == pytest.approx(1.5)
    assert wu.errors(published.plain_em(rows, start, 10), theta)[-1] < 0.1
    quiet = published.printed_dg_em(rows, start, 10.0, 1e6, 1e-5, 1, np.random.default_rng(0))
    noisy = published.printed_dg_em(rows, start, 10.0, 0.01, 1e-5, 1, np.random.default_rng(0))
    moved = noisy[1] - quiet[1]
    assert np.abs(moved).max() > 1
    np.testing.assert_allclose(moved, np.rint(moved), atol=1e-9)


def test_a_small_run_has_every_variant_and_ours_is_better_than_other_rounds() -> None:
    cell = wu.Cell("Figure 2a", 2000, 10, 0.5)
    found = wu.measured(cell, wu.VARIANTS, 3)
    finals = {name: float(np.median(paths[:, -1])) for name, paths in found.items()}
    ours = finals.pop("ours: private start, three rounds")
    assert ours <= wu.REACH[2000, 10, 0.5]
    assert ours < min(finals["clipped"], finals["softly truncated, scale of a coordinate"]) / 1.5
    assert finals["DG-EM made private, its own scale"] > 5


def test_the_study_hands_back_rows_and_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wu, "FIRST", (wu.Cell("Figure 1", 300, 3, 0.5),))
    monkeypatch.setattr(wu, "SECOND", (wu.Cell("Figure 2a", 300, 3, 0.5),) * 2)
    monkeypatch.setattr(wu, "THIRD", (wu.Cell("Figure 3a", 300, 4, 0.5),) * 6)
    told: list[float] = []
    result = wu.run(quick=True, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    assert len(result.charts) == 3
    assert len(result.rows) == 1 + 2 * len(wu.VARIANTS) + 4
    assert all(row.ours is not None and np.isfinite(row.ours) for row in result.rows)
