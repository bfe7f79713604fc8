"""Membership attacks: they see a planted leak, see nothing where there is none, and say how surely."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta

import sordino as so
from sordino import cli
from sordino.attack.membership import MembershipAttack, judge
from sordino.errors import ParameterError, TableError

METHODS: dict[str, dict[str, Any]] = {
    "nearest": {},
    "density-ratio": {},
    "shadow": {"target": "kind"},
}

#: A leak is certain at this p-value, and nothing is claimed above it: a false alarm in 10,000 runs of each method.
LEVEL = 1e-4


def crowd(rows: int, generator: np.random.Generator) -> pa.Table:
    """People of one kind: three numbers and two words."""
    numbers = generator.normal(size=(rows, 3))
    town = generator.integers(5, size=rows)
    kind = (numbers[:, 0] + 0.5 * town + generator.normal(size=rows) > 1).astype(int)
    columns = {f"x{place}": numbers[:, place] for place in range(3)}
    return pa.table({**columns, "town": [f"t{each}" for each in town], "kind": [f"k{each}" for each in kind]})


def scene(seed: int, leak: bool) -> tuple[pa.Table, pa.Table, Any, pa.Table]:
    """A release, candidates of whom half were in its table, who they are, and others of the same kind.

    Without a leak the release is of people of whom nobody is a candidate. With one, it repeats its members with a
    tenth of their spread as noise.
    """
    generator = np.random.default_rng(seed)
    members, others, reference = crowd(300, generator), crowd(300, generator), crowd(600, generator)
    release = crowd(300, generator)
    if leak:
        release = members
        for place in range(3):
            moved = np.asarray(members[f"x{place}"]) + 0.1 * generator.normal(size=300)
            release = release.set_column(place, f"x{place}", pa.array(moved))
    return release, pa.concat_tables([members, others]), np.repeat([1, 0], 300), reference


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_found_in_a_release_of_other_people_and_a_planted_leak_is(method: Any) -> None:
    release, candidates, member, reference = scene(1, leak=False)
    quiet = MembershipAttack(method, **METHODS[method]).fit(release, candidates, reference).judge(member)
    assert quiet.p_value > LEVEL
    release, candidates, member, reference = scene(1, leak=True)
    loud = MembershipAttack(method, **METHODS[method]).fit(release, candidates, reference).judge(member)
    assert loud.p_value < LEVEL
    assert loud.area > 0.5


def test_exact_copies_are_found_without_a_false_alarm() -> None:
    release, candidates, member, reference = scene(2, leak=False)
    release = pa.concat_tables([release, candidates.slice(0, 60)])
    attack = MembershipAttack().fit(release, candidates, reference)
    verdict = attack.judge(member)
    low_rate = verdict.rates[0]
    assert low_rate.asked == 0.01
    assert low_rate.false_alarms[0] <= 0.01
    assert low_rate.found[0] >= 60 / 300
    assert low_rate.found[1] > 0.1 > low_rate.false_alarms[2] - 0.1
    assert verdict.accuracy < 0.75  # what a paper would report; it hides that the sixty are certain
    assert attack.accused(0.01)[:60].all()
    assert attack.accused(0.01)[300:].mean() < 0.05


def test_intervals_are_exact_and_rates_that_cannot_be_shown_are_left_out() -> None:
    scores, member = np.arange(400.0), np.repeat([0, 1], 200)
    verdict = judge(scores, member)
    assert [each.asked for each in verdict.rates] == [0.01, 0.1]
    assert all(each.found == (1.0, pytest.approx(beta.ppf(0.025, 200, 1)), 1.0) for each in verdict.rates)
    assert all(each.false_alarms[0] <= each.asked for each in verdict.rates)
    assert (verdict.area, verdict.accuracy) == (1.0, 1.0)
    assert judge(-scores, member).area == 0.0


def test_ties_are_no_evidence() -> None:
    verdict = judge(np.zeros(100), np.repeat([0, 1], 50))
    assert (verdict.area, verdict.accuracy, verdict.p_value) == (0.5, 0.5, 1.0)
    assert all(each.found[0] == 0 for each in verdict.rates)


def test_p_values_without_a_leak_are_spread_evenly() -> None:
    """Of 200, at most 24 below 0.05: a false alarm in 3,000 runs. The twin adds a fifth of a deviation to members."""
    generator = np.random.default_rng(3)
    member = np.repeat([0, 1], 100)
    noise = generator.normal(size=(200, 200))
    assert sum(judge(each, member).p_value < 0.05 for each in noise) <= 24
    assert sum(judge(each + 0.3 * member, member).p_value < 0.05 for each in noise) > 24


def test_a_generator_that_is_known_is_used_by_the_shadow_models() -> None:
    release, candidates, member, reference = scene(4, leak=True)
    asked: list[int] = []

    def repeat(rows: pa.Table, generator: np.random.Generator) -> pa.Table:
        asked.append(len(rows))
        return rows.take(pa.array(generator.integers(len(rows), size=len(rows))))

    attack = MembershipAttack("shadow", target="kind", generator=repeat).fit(release, candidates, reference)
    assert asked == [150] * 10
    assert len(attack.scores_) == len(member)


BAD: dict[str, Any] = {
    "a method that does not exist": lambda r, c, k: MembershipAttack("guess").fit(r, c, k),  # type: ignore[arg-type]
    "no target": lambda r, c, k: MembershipAttack("shadow").fit(r, c, k),
    "a column that is missing": lambda r, c, k: MembershipAttack().fit(r, c.drop_columns("town"), k),
    "a cell that is missing": lambda r, c, k: MembershipAttack().fit(
        r, c.set_column(0, "x0", pa.array([None] * len(c), pa.float64())), k
    ),
    "words for numbers": lambda r, c, k: MembershipAttack().fit(r, c.set_column(0, "x0", pa.array(["y"] * len(c))), k),
    "no rows": lambda r, c, k: MembershipAttack().fit(r.slice(0, 0), c, k),
    "too few to compare with": lambda r, c, k: MembershipAttack().fit(r, c, k.slice(0, 5)),
    "a truth that is too short": lambda r, c, k: MembershipAttack().fit(r, c, k).judge([1, 0]),
    "a truth that is neither": lambda r, c, k: MembershipAttack().fit(r, c, k).judge([2] * len(c)),
    "nobody else": lambda r, c, k: MembershipAttack().fit(r, c, k).judge([1] * len(c)),
    "a rate that cannot be shown": lambda r, c, k: MembershipAttack().fit(r, c, k).accused(0.001),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_line_without_a_cell(name: str) -> None:
    release, candidates, _, reference = scene(5, leak=False)
    with pytest.raises((ParameterError, TableError)) as caught:
        BAD[name](release, candidates, reference)
    assert str(caught.value).startswith("MembershipAttack: ")
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_release_is_attacked_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    release, candidates, member, reference = scene(6, leak=True)
    release.to_pandas().to_csv("fake.csv", index=False)
    reference.to_pandas().to_csv("others.csv", index=False)
    candidates.append_column("inside", pa.array(member)).to_pandas().to_csv("candidates.csv", index=False)
    typed = ["attack", "membership", "fake.csv", "candidates.csv", "--reference", "others.csv"]
    assert cli.main([*typed, "--scores", "scores.csv"]) == 0
    assert "Without the truth" in capsys.readouterr().out
    assert Path("scores.csv").read_text(encoding="utf-8").count("\n") == 601
    assert cli.main([*typed, "--member", "inside", "--json", "-o", "verdict.html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["p_value"] < LEVEL
    assert [each["asked"] for each in found["verdict"]["rates"]] == [0.01, 0.1]
    assert "members are found" in Path("verdict.html").read_text(encoding="utf-8")
    assert cli.main([*typed, "--member", "nothing"]) == 2
    assert cli.main([*typed, "-o", "verdict.png"]) == 2
    assert so.MembershipAttack is MembershipAttack
