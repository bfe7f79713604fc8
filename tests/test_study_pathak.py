"""The study of Pathak and Raj: bounds that hold on what is measured, and a figure with every line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.privacy.noise import SeededNoise
from sordino.privacy.perturbed_minimiser import Perturbation
from sordino.studies import pathak
from sordino.studies.margin_risk import empirical_excess, longest_term, printed_excess, true_excess
from sordino.studies.pathak import Split, _attack_rows, _figure, _one_split, _risk_rows


def made_up(rows: int = 583, seed: int = 0) -> Split:
    """Nine whole numbers from 1 to 10 and a class, as in the data set."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(rows + 100) < 0.35).astype(float)
    cells = np.clip(np.rint(generator.normal(2 + 4 * labels[:, None], 1.5, (rows + 100, 9))), 1, 10)
    return Split(cells[:rows], labels[:rows], cells[rows:], labels[rows:])


@pytest.mark.parametrize("kind", ["sphere", "normal", "blocks"])
def test_terms_are_longer_than_their_bound_as_rarely_as_stated(kind: str) -> None:
    """2000 draws at chance .05: ten standard deviations of room above, and for exact laws below."""
    law, noise = Perturbation(kind, 4, 3, 2.0), SeededNoise(0)  # type: ignore[arg-type]
    drawn = [law.draw(noise) for _ in range(2000)]
    lengths = np.array([np.linalg.norm(each - each.mean(axis=0)) for each in drawn])
    beyond = float((lengths > longest_term(law, 0.05)).mean())
    assert beyond < 0.1
    assert (beyond > 0.02) == (kind != "blocks")


def test_bounds_hold_on_measured_risks_and_fall_with_n() -> None:
    found = {row.what: row.ours for row in _risk_rows(made_up(), 60)}
    for epsilon in ("0.1", "1", "10"):
        start = f"excess risk per record, ε = {epsilon}: "
        measured, bound = (
            found[start + "measured, 95 % of the runs are below"],
            found[start + "theorem 5.2 corrected, 95 %"],
        )
        assert measured <= bound <= 4 * measured
        assert found[start + "theorem 5.2 as printed, 95 %"] > 1e4 * bound
    law = Perturbation("sphere", 2, 55, 1.4)
    assert empirical_excess(law, 5.0, 2000) == empirical_excess(law, 5.0, 1000) / 2
    assert empirical_excess(Perturbation("none", 2, 55, 0.0), 5.0, 2000) == 0
    assert true_excess(law, 5.0, 1000, 2.0) > 2 * empirical_excess(law, 5.0, 1000)
    assert printed_excess(1, 2, 9, 0.31) == pytest.approx(8 * 10**4 * 2 * math.log(9 / 0.05) ** 2 / 0.31)


def test_figure_has_every_line_and_the_published_noise_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pathak, "EPSILONS", (0.1, 10.0))
    errors = {name: {} for name in (*pathak.OURS, pathak.PUBLISHED, pathak.QUIET)}
    apart = dict.fromkeys(pathak.EPSILONS, 0.0)
    _one_split(made_up(), 0, errors, apart)
    assert max(apart.values()) < 1e-3
    chart = _figure(errors)
    assert {each.label for each in chart.series} == {*pathak.OURS, pathak.PUBLISHED, pathak.QUIET}
    assert all(0 <= value < 0.5 for each in chart.series for value in each.y)


def test_attack_is_right_on_the_published_release_alone() -> None:
    """At chance: within four deviates of half of forty."""
    for row in _attack_rows(40):
        if pathak.PUBLISHED in row.what:
            assert row.ours == 40
        elif "ε = 10" not in row.what:
            assert abs(row.ours - 20) <= 4 * math.sqrt(10)
