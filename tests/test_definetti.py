"""The deFinetti attack: exact against brute force, right about itself, and blind where there is nothing to see."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino as so
from sordino import cli
from sordino.attack.belief import Learner
from sordino.attack.calibration import averaged, brier, cap, expected_calibration_error, reliability
from sordino.attack.definetti import DeFinettiAttack, assigned
from sordino.attack.group_marginals import MOST_STATES, Walk, exact_marginals, restricted_marginals, states
from sordino.attack.published import read_published
from sordino.attack.verdict import judged, verdict_page
from sordino.errors import ParameterError, TableError

SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=5).filter(lambda counts: sum(counts) <= 6)


def people(rows: int, secrets: int, seed: int, strength: float = 3.0, columns: int = 3) -> pa.Table:
    """Made-up people whose columns depend on their secret, and on nothing else: naive Bayes is true of them."""
    generator = np.random.default_rng(seed)
    secret = generator.integers(secrets, size=rows)
    table = {}
    for column in range(columns):
        odds = np.exp(strength * generator.random((secrets, 4)))
        odds /= odds.sum(axis=1, keepdims=True)
        table[f"c{column}"] = (generator.random(rows)[:, None] > np.cumsum(odds, axis=1)[secret]).sum(axis=1)
    return pa.table({**table, "secret": secret})


def published(table: pa.Table, l: int, seed: int = 0, **options: Any) -> tuple[Any, Any, Any]:  # noqa: E741
    """Both tables and the truth, in the order of the first."""
    made = so.anatomize(table, sensitive="secret", l=l, random_state=seed, **options)
    return made.qit, made.st, table.column("secret").take(pa.array(made.rows_))


# --- sums over all ways to share out a group's values


def ways(counts: Any) -> set[tuple[int, ...]]:
    """Every way to share out values, one by one."""
    return set(itertools.permutations(np.repeat(np.arange(len(counts)), counts).tolist()))


@settings(deadline=None, max_examples=60)
@given(COUNTS, SEEDS, st.sampled_from([1.0, 30.0, 2000.0]))
def test_marginals_are_those_of_all_ways_added_up(counts: list[int], seed: int, spread: float) -> None:
    """The widest spread is far beyond the range of a float, so that the sums of logarithms are checked too."""
    scores = np.random.default_rng(seed).normal(scale=spread, size=(sum(counts), len(counts), 3))
    found, total = exact_marginals(scores, Walk.through(counts))
    for group in range(3):
        weights = {way: sum(scores[who, value, group] for who, value in enumerate(way)) for way in ways(counts)}
        expected_total = np.logaddexp.reduce(list(weights.values()))
        expected = np.zeros(scores.shape[:2])
        for way, weight in weights.items():
            for who, value in enumerate(way):
                expected[who, value] += np.exp(weight - expected_total)
        assert found[:, :, group] == pytest.approx(expected, abs=1e-9)
        assert total[group] == pytest.approx(expected_total, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("counts", [(1,) * 12, (2,) * 6, (3, 3, 2, 2, 1, 1), (12,), (6, 6)])
def test_groups_of_twelve_are_exact(counts: tuple[int, ...]) -> None:
    """Each tuple has one value, and each value is had as often as it was published."""
    assert states(counts) <= MOST_STATES
    scores = np.random.default_rng(1).normal(scale=3, size=(12, len(counts), 2))
    found, _ = exact_marginals(scores, Walk.through(counts))
    assert found.sum(axis=1) == pytest.approx(np.ones((12, 2)))
    assert found.sum(axis=0) == pytest.approx(np.repeat(np.asarray(counts, float)[:, None], 2, axis=1))


def test_the_restricted_step_leaves_others_out_of_account() -> None:
    scores = np.log(np.array([[[0.2], [0.8]], [[0.5], [0.5]], [[0.9], [0.1]]]))
    found, total = restricted_marginals(scores, (2, 1))
    alone = np.array([[0.4, 0.8], [1.0, 0.5], [1.8, 0.1]])
    assert found[:, :, 0] == pytest.approx(alone / alone.sum(axis=1, keepdims=True))
    assert total[0] == pytest.approx(np.log(alone.sum(axis=1) / 3).sum())


@settings(deadline=None, max_examples=30)
@given(SEEDS)
def test_the_assignment_is_the_likeliest_of_all(seed: int) -> None:
    qit, sensitive, _ = published(people(24, 4, 1), 2)
    tables = read_published(qit, sensitive, np.random.default_rng(0), sensitive=None, group="group", count="count")
    scores = np.random.default_rng(seed).normal(size=(tables.combinations, len(tables.values)))
    weights = [scores[each.combinations[:, :, None], each.values[:, None, :]] for each in tables.shapes]
    found = assigned(tables, weights)
    for shape in tables.shapes:
        for rows, kind in zip(shape.rows, shape.kind, strict=True):
            told = np.repeat(shape.values[kind], shape.counts)
            weight = lambda way, rows=rows: scores[tables.combination[rows], list(way)].sum()  # noqa: E731
            best = max(weight(way) for way in set(itertools.permutations(told.tolist())))
            assert sorted(found[rows]) == sorted(told)
            assert weight(found[rows]) == pytest.approx(best)


# --- the attack


SMOKERS = [
    ("y", 1), ("y", 1), ("n", 2), ("n", 2), ("y", 3), ("n", 3), ("y", 4), ("y", 4), ("n", 5), ("n", 5), ("y", 6),
    ("n", 6),
]  # fmt: skip
DISEASES = [(1, "Cancer"), (1, "Flu"), (2, "Flu"), (2, "None"), (3, "Cancer"), (3, "None"), (4, "Flu"), (4, "None"),
            (5, "Flu"), (5, "None"), (6, "Cancer"), (6, "None")]  # fmt: skip


def test_smokers_of_table_3_3_are_told_from_the_others() -> None:
    """The paper's example: the smokers of groups 3 and 6 have cancer, probably, and the others have not."""
    qit = pa.table([pa.array(each) for each in zip(*SMOKERS, strict=True)], names=["smokes", "group"])
    told = pa.table([pa.array(each) for each in zip(*DISEASES, strict=True)], names=["group", "disease"])
    attack = DeFinettiAttack(random_state=0).fit(qit, told.append_column("count", pa.array([1] * 12)))
    frame = attack.probabilities_.to_pandas().set_index(["row", "disease"])["probability"]
    for smoker, other in ((4, 5), (10, 11)):
        assert frame[smoker, "Cancer"] > 0.7
        assert frame[other, "None"] > 0.7
    assert attack.assignment_.to_pylist()[4] == "Cancer"


@pytest.mark.parametrize("model", ["log-linear", "naive-bayes"])
@pytest.mark.parametrize("l", [2, 3, 4])
def test_strong_correlations_are_found_and_the_probabilities_are_right(l: int, model: Any) -> None:  # noqa: E741
    """Far above the promise, and calibrated: over 9000 probabilities and more, within 0.02 on average."""
    qit, sensitive, truth = published(people(6000, 8, 3, strength=5.0), l)
    attack = DeFinettiAttack(random_state=0, model=model).fit(qit, sensitive)
    assert attack.converged_
    assert attack.score(truth) > 1 / l + 0.3
    assert attack.score(truth) == pytest.approx(attack.expected_accuracy_, abs=0.03)
    assert expected_calibration_error(*attack.events(truth)) < 0.02
    hits = np.mean(np.asarray(attack.most_hits_) == np.asarray(truth))
    assert hits == pytest.approx(attack.score(truth), abs=0.02)


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    """The same people, each with somebody else's secret."""
    order = np.random.default_rng(seed).permutation(len(table))
    return table.set_column(len(table.column_names) - 1, "secret", table.column("secret").take(pa.array(order)))


def standard_errors_above_the_baseline(table: pa.Table, l: int) -> float:  # noqa: E741
    qit, sensitive, truth = published(table, l)
    accuracy = DeFinettiAttack(random_state=0).fit(qit, sensitive).score(truth)
    # In a group dealt out at random the number of right guesses has mean 1 and variance 1.
    return (accuracy - 1 / l) / (np.sqrt(len(table) / l) / len(table))


@pytest.mark.parametrize("l", [2, 3, 4])
def test_nothing_is_found_where_the_sensitive_column_was_shuffled(l: int) -> None:  # noqa: E741
    """Four standard errors: a false alarm in 16,000 runs of each. The twin, not shuffled, lies far beyond."""
    table = people(3000, 6, 4)
    assert abs(standard_errors_above_the_baseline(shuffled(table, l), l)) < 4
    assert standard_errors_above_the_baseline(table, l) > 8


def test_where_there_is_nothing_to_learn_little_is_believed() -> None:
    """Of a thousand shuffled people the attack hardly believes more than the groups say; told to, it does."""
    qit, sensitive, truth = published(shuffled(people(1000, 6, 17), 1), 3)
    careful = DeFinettiAttack(random_state=0).fit(qit, sensitive)
    bold = DeFinettiAttack(random_state=0, smoothing=1.0).fit(qit, sensitive)
    assert careful.smoothing_ > 10
    assert careful.expected_accuracy_ < 0.42
    assert bold.expected_accuracy_ > 0.45
    assert expected_calibration_error(*careful.events(truth)) < 0.05


def believed_and_true(attack: DeFinettiAttack) -> tuple[float, float]:
    """Expected and true accuracy on frequent and rare secrets, beside columns of fifty values that have no say."""
    generator = np.random.default_rng(1)
    secret = generator.choice(4, size=1200, p=[0.45, 0.45, 0.07, 0.03])
    table = pa.table({**{name: generator.integers(0, 50, 1200) for name in "abc"}, "secret": secret})
    qit, sensitive, truth = published(table, 2)
    attack.fit(qit, sensitive)
    return attack.expected_accuracy_, attack.score(truth)


def test_rare_values_and_columns_of_many_values_are_no_reason_to_believe_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 600 pairs each is guessed right or wrong as one: five standard errors of 0.02, a false alarm in a million.

    The twin compares beliefs by likelihoods that constants of the values move, and is sure of everybody.
    """
    believed, true = believed_and_true(DeFinettiAttack(random_state=0))
    assert abs(believed - true) < 0.1
    monkeypatch.setattr(Learner, "by_value", lambda self, scores: scores)
    believed, true = believed_and_true(DeFinettiAttack(random_state=0))
    assert believed > true + 0.2


def test_only_people_named_above_the_promise_are_news() -> None:
    qit, sensitive, _ = published(people(600, 3, 3, strength=5.0), 2)
    page = verdict_page(judged(DeFinettiAttack(random_state=0), qit, sensitive))
    tones = {cells[0].text: cells[1].tone for cells in page.sections[0].rows}
    assert (tones["50%"], tones["80%"]) == ("", "bad")


def test_a_number_of_everybodys_own_exposes_nobody() -> None:
    """The groups agree on nothing, so no half foretells the other; told to believe all the same, the attack does."""
    table = shuffled(people(600, 3, 18), 1)
    numbered = table.add_column(0, "number", pa.array([f"{each}" for each in range(len(table))]))
    qit, sensitive, _ = published(numbered, 2)
    careful = DeFinettiAttack(random_state=0).fit(qit, sensitive)
    bold = DeFinettiAttack(random_state=0, smoothing=1.0).fit(qit, sensitive)
    assert careful.expected_accuracy_ < 0.6
    assert bold.expected_accuracy_ > 0.9
    assert any("'number'" in note for note in careful.notes_)
    control = judged(DeFinettiAttack(random_state=0, smoothing=1.0), qit, sensitive)["control"]
    assert control["expected_accuracy"] > 0.9  # chance looks as bold as the attack, and says so


def test_the_unrestricted_step_learns_next_to_nothing_and_the_group_step_learns() -> None:
    """Nothing ties a component to a value: from drawn beginnings, right and wrong cancel, as the paper found."""
    qit, sensitive, truth = published(people(2000, 6, 5), 3)

    def accuracy(seed: int, **options: Any) -> float:
        return DeFinettiAttack(random_state=seed, start="drawn", model="naive-bayes", **options).fit(
            qit, sensitive
        ).score(truth)  # fmt: skip

    unrestricted = [accuracy(seed, step="unrestricted", max_rounds=100) for seed in range(12)]
    assert np.mean(unrestricted) == pytest.approx(1 / 3, abs=0.1)
    assert max(unrestricted) - min(unrestricted) > 0.1
    assert accuracy(0, step="group") > 0.5
    assert accuracy(0, step="exact") > 0.5


def test_no_round_makes_the_tables_less_likely() -> None:
    qit, sensitive, _ = published(people(600, 6, 6), 3)
    tables = read_published(qit, sensitive, np.random.default_rng(0), sensitive=None, group="group", count="count")
    learner = Learner(tables)
    scores = learner.normalised(np.random.default_rng(1).normal(size=(tables.combinations, len(tables.values), 4)))
    shares, before = np.ones((len(tables.values), 4)), np.full(4, -np.inf)
    for _ in range(30):
        expected, likelihood = learner.expected(scores, shares)
        assert (likelihood >= before - 1e-9 * np.abs(likelihood)).all()
        scores, before = learner.scores(expected, scores), likelihood


def test_restarts_together_are_those_alone_and_the_likeliest_is_kept() -> None:
    qit, sensitive, truth = published(people(900, 6, 7, strength=1.5), 3)
    many = DeFinettiAttack(random_state=3, restarts=4).fit(qit, sensitive)
    once = DeFinettiAttack(random_state=3).fit(qit, sensitive)
    assert many.log_likelihoods_.max() >= once.log_likelihoods_[0] - 1e-6
    assert len(many.log_likelihoods_) == 4
    again = DeFinettiAttack(random_state=3, restarts=4).fit(qit, sensitive)
    assert again.score(truth) == many.score(truth)
    assert (again.risk_ == many.risk_).all()


@settings(deadline=None, max_examples=10)
@given(SEEDS)
def test_the_result_owes_nothing_to_the_order_of_rows_or_the_names_of_groups(seed: int) -> None:
    qit, sensitive, _ = published(people(200, 5, 8), 2)
    order = np.random.default_rng(seed).permutation(len(qit))
    renamed = [f"g{1000 - each}" for each in qit.column("group").to_pylist()]
    other = qit.set_column(qit.column_names.index("group"), "group", pa.array(renamed)).take(pa.array(order))
    told = [f"g{1000 - each}" for each in sensitive.column("group").to_pylist()]
    first = DeFinettiAttack(random_state=0).fit(qit, sensitive)
    second = DeFinettiAttack(random_state=1).fit(other, sensitive.set_column(0, "group", pa.array(told)))
    assert second.risk_ == pytest.approx(first.risk_[order], abs=1e-6)


def test_every_kind_of_frame_gives_the_same_result(tmp_path: Path) -> None:
    qit, sensitive, truth = published(people(300, 5, 9), 2)
    expected = DeFinettiAttack(random_state=0).fit(qit, sensitive)
    qit.to_pandas().to_csv(tmp_path / "qit.csv", index=False)
    sensitive.to_pandas().to_csv(tmp_path / "st.csv", index=False)
    for tables in ((qit.to_pandas(), sensitive.to_pandas()), (tmp_path / "qit.csv", str(tmp_path / "st.csv"))):
        attack = DeFinettiAttack(random_state=0).fit(*tables)
        assert attack.risk_ == pytest.approx(expected.risk_)
        assert attack.score(truth) == pytest.approx(expected.score(truth), abs=0.02)


# --- odd tables


def test_a_group_above_the_exact_limit_falls_back_and_says_so() -> None:
    qit, sensitive, truth = published(people(1300, 20, 10), 13)
    attack = DeFinettiAttack(random_state=0).fit(qit, sensitive)
    assert attack.approximated_ == 1
    assert any("too many ways" in note for note in attack.notes_)
    assert attack.score(truth) > 1.3 / 13
    assert attack.probabilities_.to_pandas().groupby("row")["probability"].sum().to_numpy() == pytest.approx(
        np.ones(1300)
    )


def test_a_single_group_is_what_was_promised() -> None:
    table = people(6, 6, 11)
    attack = DeFinettiAttack(random_state=0, restarts=3).fit(
        table.drop_columns("secret").append_column("group", pa.array([1] * 6)),
        pa.table({"group": [1] * 3, "secret": ["a", "b", "c"], "count": [3, 2, 1]}),
    )
    assert attack.risk_ == pytest.approx(np.full(6, 0.5))
    assert attack.promised_ == pytest.approx(np.full(6, 0.5))
    assert any("one group only" in note for note in attack.notes_)


def test_values_that_occur_several_times_in_a_group_are_shared_out_as_often() -> None:
    qit, sensitive, truth = published(people(1200, 6, 12), 3, size=6)
    attack = DeFinettiAttack(random_state=0).fit(qit, sensitive)
    given = pd.DataFrame({"group": qit.column("group"), "secret": attack.assignment_})
    told = sensitive.to_pandas().set_index(["group", "secret"])["count"]
    assert (given.groupby(["group", "secret"]).size() == told).all()
    assert attack.score(truth) > 0.4


BAD: dict[str, Callable[[pa.Table, pa.Table], Any]] = {
    "a group in one table only": lambda q, s: fit(q, s.slice(1).filter(pa.compute.not_equal(s.slice(1)["group"], 2))),
    "a group without its people": lambda q, s: fit(q.filter(pa.compute.not_equal(q["group"], 2)), s),
    "counts that do not add up": lambda q, s: fit(q, s.set_column(2, "count", pa.array([2] * len(s)))),
    "a count of nothing": lambda q, s: fit(q, s.set_column(2, "count", pa.array([0] * len(s)))),
    "half a count": lambda q, s: fit(q, s.set_column(2, "count", pa.array([0.5] * len(s)))),
    "a count in words": lambda q, s: fit(q, s.set_column(2, "count", pa.array(["one"] * len(s)))),
    "a value twice": lambda q, s: fit(q, s.set_column(1, "secret", pa.array(["x"] * len(s)))),
    "a missing quasi-identifier": lambda q, s: fit(q.set_column(0, "c0", pa.array([None] + [1] * (len(q) - 1))), s),
    "a missing value": lambda q, s: fit(q, s.set_column(1, "secret", pa.array([None] + [1] * (len(s) - 1)))),
    "no quasi-identifier": lambda q, s: fit(q.select(["group"]), s),
    "no column that joins": lambda q, s: fit(q, s, group="nothing"),
    "no rows": lambda q, s: fit(q.slice(0, 0), s),
    "a column too many": lambda q, s: fit(q, s.append_column("more", s["count"])),
    "a model that does not exist": lambda q, s: fit(q, s, {"model": "oracle"}),
    "a step that does not exist": lambda q, s: fit(q, s, {"step": "approximate"}),
    "no restart": lambda q, s: fit(q, s, {"restarts": 0}),
    "half a restart": lambda q, s: fit(q, s, {"restarts": 1.5}),
    "no smoothing": lambda q, s: fit(q, s, {"smoothing": 0.0}),
    "a step that learns nothing": lambda q, s: fit(q, s, {"step": "unrestricted"}),
    "a truth outside its group": lambda q, s: fit(q, s).score(["elsewhere"] * len(q)),
    "a truth that is too short": lambda q, s: fit(q, s).score(["elsewhere"]),
}


def fit(qit: Any, sensitive: Any, options: Any = None, **names: Any) -> DeFinettiAttack:
    return DeFinettiAttack(random_state=0, **(options or {})).fit(qit, sensitive, **names)


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_line_without_a_cell(name: str) -> None:
    table = people(40, 4, 13)
    secret = pa.array([f"secret-{each}" for each in table.column("secret").to_pylist()])
    qit, sensitive, _ = published(table.set_column(3, "secret", secret), 2)
    with pytest.raises((ParameterError, TableError)) as caught:
        BAD[name](qit, sensitive)
    message = str(caught.value)
    assert message.startswith("DeFinettiAttack: ")
    assert "\n" not in message
    assert "secret-" not in message
    assert caught.value.__cause__ is None


# --- probabilities against what came true


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=50))
def test_the_brier_score_is_its_parts_and_wider_bins_break_the_sum(events: list[tuple[float, bool]]) -> None:
    p, y = np.array([each for each, _ in events]), np.array([each for _, each in events])
    parts = brier(p, y)
    assert parts.score == pytest.approx(np.mean((p - y) ** 2))
    assert parts.within == pytest.approx(0, abs=1e-12)
    wide = brier(p, y, bins=1)
    spread, shared = np.var(p), 2 * np.mean((p - p.mean()) * (y - y.mean()))
    assert wide.within == pytest.approx(spread - shared, abs=1e-12)
    assert wide.score == parts.score


def test_probabilities_that_are_right_have_no_calibration_error_and_bold_ones_have() -> None:
    """100,000 events: the error is about 0.003 by chance. The twin doubles the odds."""
    generator = np.random.default_rng(14)
    p = generator.random(100_000)
    happened = generator.random(100_000) < p
    assert expected_calibration_error(p, happened) < 0.01
    bold = p**2 / (p**2 + (1 - p) ** 2)
    assert expected_calibration_error(bold, happened) > 0.05
    curve = reliability(p, happened)
    assert curve.observed == pytest.approx(curve.predicted, abs=0.03)
    assert curve.count.sum() == 100_000


@settings(deadline=None, max_examples=40)
@given(COUNTS, SEEDS)
def test_averaging_is_the_published_sum_over_all_ways(counts: list[int], seed: int) -> None:
    size = sum(counts)
    alone = np.random.default_rng(seed).dirichlet(np.ones(len(counts)), size=size)[:, :, None]
    slots = np.repeat(np.arange(len(counts)), counts)
    expected = np.zeros((size, len(counts)))
    orders = list(itertools.permutations(range(size)))
    for order in orders:
        weight = np.mean([alone[who, slots[slot], 0] / counts[slots[slot]] for who, slot in enumerate(order)])
        for who, slot in enumerate(order):
            expected[who, slots[slot]] += weight * size / len(orders)
    assert averaged(alone, counts)[:, :, 0] == pytest.approx(expected)


@pytest.mark.parametrize(("size", "most"), [(2, 1.0), (3, 2 / 3), (4, 0.5), (6, 1 / 3)])
def test_averaging_never_goes_above_its_cap(size: int, most: float) -> None:
    """Even where every tuple is sure: the one reason why the averaged probabilities look modest."""
    sure = np.eye(size)[:, :, None]
    assert averaged(sure, (1,) * size).max() == pytest.approx(most) == pytest.approx(cap(size))


@pytest.mark.parametrize("bad", [([0.5], []), ([], []), ([1.5], [1]), ([0.5], [0.5]), ([float("nan")], [1])])
def test_events_that_are_none_are_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="calibration: "):
        brier(*bad)


# --- on the command line


def test_a_table_is_split_attacked_and_judged_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    people(1200, 6, 15).to_pandas().to_csv("table.csv", index=False)
    split = ["anatomize", "table.csv", "--sensitive", "secret", "--l", "3", "--seed", "1", "--st", "st.parquet"]
    assert cli.main([*split, "--owner", "owner.csv"]) == 0
    said = capsys.readouterr().out
    assert "NOT differentially private" in said
    assert "owner ALONE" in said
    assert json.loads(Path("qit.csv.json").read_text(encoding="utf-8"))["differentially_private"] is False
    attack = ["attack", "definetti", "qit.csv", "st.parquet", "--truth", "owner.csv"]
    assert cli.main([*attack, "--json", "--people", "people.parquet", "-o", "verdict.html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["people"] == 1200
    assert found["promised"] == pytest.approx(1 / 3)
    assert found["truth"]["accuracy"] > 0.5
    assert found["expected_accuracy"] > found["control"]["expected_accuracy"] + 0.1
    assert len(found["exposed"]) == 5
    page = Path("verdict.html").read_text(encoding="utf-8")
    assert '<meta name="sordino-audience" content="owner">' in page  # it was compared with the truth
    assert "<script" not in page
    assert "can be named" in page
    assert Path("people.parquet").is_file()
    assert cli.main([*attack, "-o", "verdict.png"]) == 0
    assert Path("verdict.png").read_bytes().startswith(b"\x89PNG")
    assert "In truth" in capsys.readouterr().out


@pytest.mark.parametrize("line", [
    "anatomize table.csv --sensitive secret --l 9",
    "anatomize table.csv --sensitive secret --l 2 --qit table.csv",
    "anatomize table.csv --sensitive secret --l 2 --qit qit.txt",
    "anatomize table.csv --sensitive nothing --l 2",
    "k-anonymize table.csv --k 2 --quasi-identifiers c0,c1 -o table.csv",
    "k-anonymize table.csv --k 2 --quasi-identifiers c9",
    "diversity table.csv --quasi-identifiers c0 --sensitive nothing",
    "attack definetti table.csv table.csv",
    "attack definetti table.csv none.csv",
    "attack definetti table.csv table.csv -o verdict.txt",
    "attack definetti table.csv table.csv -o nowhere/verdict.html",
])  # fmt: skip
def test_what_cannot_be_done_is_one_line_and_writes_nothing(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    people(60, 4, 16).to_pandas().to_csv("table.csv", index=False)
    assert cli.main(line.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
