"""Anonymised tables: what each must have, checked from what is published alone, and that each says what it is not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sordino as so
from sordino.anonymity.hierarchy import intervals, masked
from sordino.anonymity.writing import write_table
from sordino.errors import ParameterError, TableError

#: Table 1.1 of Mothali (2011): gender, age, zip code, disease.
PATIENTS = [
    ("M", 25, "90210", "AIDS"), ("F", 43, "90211", "AIDS"), ("M", 29, "90212", "Cancer"), ("M", 41, "90213", "AIDS"),
    ("F", 41, "07620", "Cancer"), ("F", 40, "33109", "Cancer"), ("F", 40, "07620", "Flu"), ("F", 24, "33109", "None"),
    ("M", 48, "07620", "None"), ("F", 40, "07620", "Flu"), ("M", 48, "33109", "Flu"), ("M", 49, "33109", "None"),
]  # fmt: skip
WHO = ["gender", "age", "zip"]
NAMES = [*WHO, "disease"]
HIERARCHIES = {"zip": masked(4, 0), "age": intervals(25, 50)}


def patients() -> pa.Table:
    return pa.table([pa.array(column) for column in zip(*PATIENTS, strict=True)], names=NAMES)


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


# --- Anatomy


def require_anatomized(made: Any, original: pa.Table, who: list[str], sensitive: str, l: int) -> None:  # noqa: E741
    """Everything that anatomised tables promise, from the tables themselves and the owner's map."""
    qit, published = made.qit.to_pydict(), rows_of(made.st)
    assert sorted(made.rows_.tolist()) == list(range(len(original)))
    for name in who:
        assert qit[name] == original.column(name).take(pa.array(made.rows_)).to_pylist()
    secret = original.column(sensitive).take(pa.array(made.rows_)).to_pylist()
    truth = Counter(zip(qit["group"], secret, strict=True))
    assert {(group, value): count for group, value, count in published} == truth
    sizes = Counter(qit["group"])
    assert all(count * l <= sizes[group] for group, _, count in published)


@pytest.mark.parametrize("seed", range(5))
def test_table_of_patients_is_split_as_in_tables_1_4_and_3_2(seed: int) -> None:
    made = so.anatomize(patients(), sensitive="disease", l=4, random_state=seed)
    require_anatomized(made, patients(), WHO, "disease", 4)
    assert made.qit.column_names == [*WHO, "group"]
    assert made.st.column_names == ["group", "disease", "count"]
    assert set(Counter(made.qit.column("group").to_pylist()).values()) == {4}
    assert made.st.column("count").to_pylist() == [1] * 12


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=60),
    st.integers(2, 5),
    st.integers(1, 3),
    st.integers(0, 99),
    st.sampled_from(["drawn", "by-value"]),
)
def test_every_feasible_table_is_anatomized(
    secret: list[int],
    l: int,  # noqa: E741
    together: int,
    seed: int,
    ties: Any,
) -> None:
    assume(max(Counter(secret).values()) * l <= len(secret))
    table = pa.table({"who": [place // 2 for place in range(len(secret))], "what": secret})
    made = so.anatomize(table, sensitive="what", l=l, size=l * together, ties=ties, random_state=seed)
    require_anatomized(made, table, ["who"], "what", l)
    sizes = Counter(made.qit.column("group").to_pylist())
    assert min(sizes.values()) >= min(l * together, len(secret) // l * l)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_infeasible_l_is_refused_with_the_largest_feasible_one(secret: list[int]) -> None:
    largest = len(secret) // max(Counter(secret).values())
    table = pa.table({"who": list(range(len(secret))), "what": secret})
    with pytest.raises(ParameterError, match=f"largest feasible l is {largest}" if largest > 1 else "No l is feasible"):
        so.anatomize(table, sensitive="what", l=max(2, largest + 1))
    if largest > 1:
        assert so.anatomize(table, sensitive="what", l=largest).l == largest


def published_order_tells(made: Any, table: pa.Table) -> float:
    """How far the order of tuples within groups is from chance: correlation of place with secret within groups."""
    secret = np.asarray(table.column("what").take(pa.array(made.rows_)))
    group = np.asarray(made.qit.column("group"))
    place = np.arange(len(group)) - np.searchsorted(group, group)
    return abs(float(np.corrcoef(place, secret)[0, 1]))


def test_the_published_order_says_nothing_about_secrets() -> None:
    """The rows come sorted by secret. All identifiers are equal to the eye: any trace would be the order's.

    Within groups of two the correlation over 2000 pairs has a standard deviation of 0.016 by chance; above 0.08 is
    five of them: a false alarm in 1.7 million runs. The twin publishes groups in the original order.
    """
    generator = np.random.default_rng(5)
    secret = np.repeat(np.arange(20), 200)
    table = pa.table({"who": generator.random(4000), "what": secret})
    made = so.anatomize(table, sensitive="what", l=2, random_state=1)
    assert published_order_tells(made, table) < 0.08
    order = np.lexsort((made.rows_, np.asarray(made.qit.column("group"))))
    planted = so.anonymity.anatomy.Anatomized(
        made.qit.take(pa.array(order)), made.st, made.rows_[order], 2, made.metadata
    )
    assert published_order_tells(planted, table) > 0.08


def test_the_same_seed_gives_the_same_tables_and_none_gives_others() -> None:
    first, second = (so.anatomize(patients(), sensitive="disease", l=3, random_state=7) for _ in range(2))
    assert first.qit.equals(second.qit)
    assert first.st.equals(second.st)
    others = {str(so.anatomize(patients(), sensitive="disease", l=3).qit.to_pydict()) for _ in range(5)}
    assert len(others) > 1


def test_a_residual_tuple_joins_a_group_that_lacks_its_value() -> None:
    table = pa.table({"who": range(7), "what": list("aabbccd")})
    made = so.anatomize(table, sensitive="what", l=3)
    require_anatomized(made, table, ["who"], "what", 3)
    assert sorted(Counter(made.qit.column("group").to_pylist()).values()) == [3, 4]
    assert set(made.st.column("count").to_pylist()) == {1}


# --- every kind of frame


def frames(folder: Path) -> dict[str, Any]:
    table = patients()
    pyarrow.parquet.write_table(table, folder / "patients.parquet")
    pd.DataFrame(table.to_pydict()).to_csv(folder / "patients.csv", index=False)
    return {
        "arrow": table,
        "pandas": pd.DataFrame(table.to_pydict(), index=range(50, 62)),
        "polars": pl.DataFrame(table.to_pydict()),
        "parquet": folder / "patients.parquet",
        "csv": str(folder / "patients.csv"),
    }


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet", "csv"])
def test_every_kind_of_frame_gives_the_same_tables_with_the_statement(kind: str, tmp_path: Path) -> None:
    given = frames(tmp_path)[kind]
    made = so.anatomize(given, sensitive="disease", l=4, random_state=3)
    coarse = so.k_anonymize(given, k=4, quasi_identifiers=WHO, sensitive="disease")
    expected = so.anatomize(patients(), sensitive="disease", l=4, random_state=3)
    for published, same in ((made.qit, expected.qit), (made.st, expected.st)):
        assert [tuple(map(str, row)) for row in _rows(published)] == [tuple(map(str, row)) for row in _rows(same)]
    for published in (made.qit, made.st, coarse.table):
        assert isinstance(published, pd.DataFrame if kind == "pandas" else pa.Table)
        metadata = published.attrs["sordino"] if kind == "pandas" else json.loads(published.schema.metadata[b"sordino"])
        assert metadata["differentially_private"] is False
        assert "NOT differentially private" in metadata["statement"]


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return list(frame.itertuples(index=False)) if isinstance(frame, pd.DataFrame) else rows_of(frame)


def test_every_output_says_that_it_is_not_differentially_private() -> None:
    made = so.anatomize(patients(), sensitive="disease", l=4)
    coarse = so.k_anonymize(patients(), k=4, quasi_identifiers=WHO)
    measured = so.diversity(patients(), quasi_identifiers=WHO, sensitive="disease")
    for each in (made, coarse, measured):
        assert "NOT differentially private" in repr(each)
    for each in (made, coarse):
        assert each.metadata["differentially_private"] is False
        assert not any(secret in repr(each) for secret in ("AIDS", "90210"))
    assert measured.to_dict()["differentially_private"] is False
    for function in (so.anatomize, so.k_anonymize, so.Anatomized if hasattr(so, "Anatomized") else type(made)):
        assert "NOT differentially private" in str(function.__doc__)


# --- recoding


def require_anonymous(made: Any, original: pa.Table, k: int, l: int | None = None) -> None:  # noqa: E741
    """k rows look alike and no value is too frequent among them, from what is published; each row covers its own."""
    alike: dict[tuple[Any, ...], Counter[Any]] = {}
    table = made.table.to_pydict()
    for *who, secret in zip(*(table[name] for name in NAMES), strict=True):
        alike.setdefault(tuple(who), Counter())[secret] += 1
    assert min(sum(each.values()) for each in alike.values()) >= k
    if l is not None:
        assert all(max(each.values()) * l <= sum(each.values()) for each in alike.values())
    assert len(set(made.groups_.tolist())) == len(alike)
    for place, row in enumerate(made.rows_.tolist()):
        source = {name: original.column(name)[row].as_py() for name in NAMES}
        assert table["disease"][place] == source["disease"]
        assert all(covers(table[name][place], source[name]) for name in WHO)


def covers(label: Any, value: Any) -> bool:
    text = str(label)
    if text in ("*", str(value)):
        return True
    if isinstance(value, int):
        low, high = map(float, text.split("-"))
        return low <= value <= high
    return len(text) == len(value) and all(a in ("*", b) for a, b in zip(text, value, strict=True))


@pytest.mark.parametrize("method", ["global", "mondrian"])
@pytest.mark.parametrize("k", [2, 3, 4, 6, 12])
def test_patients_are_k_anonymous_as_in_tables_1_2_and_2_4_and_2_5(method: Any, k: int) -> None:
    made = so.k_anonymize(
        patients(), k=k, quasi_identifiers=WHO, sensitive="disease", method=method, hierarchies=HIERARCHIES
    )
    require_anonymous(made, patients(), k)
    assert so.diversity(made.table, quasi_identifiers=WHO, sensitive="disease").k >= k
    assert made.suppressed == 0
    if method == "global":  # a column is written alike everywhere
        for name, level in made.metadata["levels"].items():
            kinds = {type(each) is int or "*" not in str(each) for each in made.table.column(name).to_pylist()}
            assert level > 0 or kinds == {True}


@pytest.mark.parametrize("method", ["global", "mondrian", "anatomy"])
def test_patients_are_l_diverse_as_in_table_1_3(method: Any) -> None:
    made = so.k_anonymize(
        patients(), k=4, l=4, quasi_identifiers=WHO, sensitive="disease", method=method, hierarchies=HIERARCHIES
    )
    require_anonymous(made, patients(), 4, 4)


def test_the_printed_tables_measure_as_the_paper_says() -> None:
    """Tables 1.2, 2.4 and 2.5 are 4-anonymous; Table 1.3 is 4-diverse. Rows as printed, disease left as it was."""
    diseases = ["AIDS", "AIDS", "Cancer", "AIDS", "Cancer", "Flu", "None", "Flu", "Cancer", "None", "Flu", "None"]
    by_area = [("*", "25-49", zip_code) for zip_code in ("9021*", "0762*", "3310*") for _ in range(4)]
    local = [
        ("*", *each)
        for each in (("25-45", "9021*"), ("40-50", "07620"), ("20-50", "33109"))
        for _ in range(4)
    ]  # fmt: skip
    for printed in (by_area, local):
        table = pa.table([pa.array(each) for each in zip(*printed, strict=True)], names=WHO)
        table = table.append_column("disease", pa.array(diseases))
        measured = so.diversity(table, quasi_identifiers=WHO, sensitive="disease")
        assert (measured.k, measured.distinct, measured.l) == (4, 2, 1)
        assert measured.prose_ratio == 3
    diverse = ["AIDS", "Flu", "Cancer", "None"] * 3
    table = pa.table({"gender": ["M"] * 4 + ["F"] * 4 + ["*"] * 4, "disease": diverse})
    measured = so.diversity(table, quasi_identifiers=["gender"], sensitive="disease")
    assert (measured.k, measured.l) == (4, 4)


def test_mondrian_cuts_no_further_than_allowed_and_as_far_as_it_can() -> None:
    generator = np.random.default_rng(2)
    table = pa.table({"x": generator.integers(0, 1000, 500), "y": generator.integers(0, 1000, 500)})
    sizes = np.bincount(so.k_anonymize(table, k=10, quasi_identifiers=["x", "y"]).groups_)
    assert sizes.min() >= 10
    assert sizes.max() < 25  # a box of 2k rows with different numbers can be halved; ties leave a little more


def test_global_recoding_is_the_least_coarse_by_trying_all() -> None:
    import itertools

    made = so.k_anonymize(patients(), k=3, quasi_identifiers=WHO, method="global", hierarchies=HIERARCHIES)
    columns = [
        so.anonymity.recoding.Recoding(n, so.anonymity.columns.coded(patients(), n, ""), HIERARCHIES.get(n))
        for n in WHO
    ]
    losses = []
    for levels in itertools.product(*(range(each.top + 1) for each in columns)):
        written = zip(
            *(each.written(level).to_pylist() for each, level in zip(columns, levels, strict=True)), strict=True
        )
        if min(Counter(written).values()) >= 3:
            losses.append(sum(level / each.top for each, level in zip(columns, levels, strict=True)))
    ours = sum(made.metadata["levels"][each.name] / each.top for each in columns)
    assert ours == pytest.approx(min(losses))


def test_suppression_leaves_out_no_more_than_allowed() -> None:
    table = pa.table({"who": ["a"] * 50 + ["b"] * 49 + ["c"]})
    made = so.k_anonymize(table, k=5, quasi_identifiers=["who"], method="global", suppress=0.01)
    assert made.suppressed == pytest.approx(0.01)
    assert set(made.table.column("who").to_pylist()) == {"a", "b"}
    whole = so.k_anonymize(table, k=5, quasi_identifiers=["who"], method="global")
    assert whole.suppressed == 0
    assert set(whole.table.column("who").to_pylist()) == {"*"}


def test_a_hierarchy_that_is_not_nested_is_refused() -> None:
    with pytest.raises(ParameterError, match="nested"):
        so.k_anonymize(patients(), k=2, quasi_identifiers=["age"], hierarchies={"age": intervals(2, 5)})


# --- diversity


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40))
def test_measures_are_those_of_their_definitions(pairs: list[tuple[int, int]]) -> None:
    table = pa.table({"who": [who for who, _ in pairs], "what": [what for _, what in pairs]})
    measured = so.diversity(table, quasi_identifiers=["who"], sensitive="what")
    values = sorted({what for _, what in pairs})
    whole = [sum(what == v for _, what in pairs) / len(pairs) for v in values]
    groups = [Counter(what for who, what in pairs if who == each) for each in sorted({who for who, _ in pairs})]
    shares = [[each[v] / sum(each.values()) for v in values] for each in groups]
    assert measured.k == min(sum(each.values()) for each in groups)
    assert measured.distinct == min(map(len, groups))
    entropy = [-sum(p * np.log(p) for p in each if p) for each in shares]
    assert measured.entropy == pytest.approx(np.exp(min(entropy)))
    assert measured.frequency_bound == pytest.approx(max(map(max, shares)))
    assert measured.prose_ratio == max(max(each.values()) / min(each.values()) for each in groups)
    distances = [sum(abs(p - q) for p, q in zip(each, whole, strict=True)) / 2 for each in shares]
    assert measured.t_closeness == pytest.approx(max(distances), abs=1e-12)
    steps = max(1, len(values) - 1)
    ordered = [np.abs(np.cumsum(np.subtract(each, whole))).sum() / steps for each in shares]
    assert measured.t_closeness_ordered == pytest.approx(max(ordered), abs=1e-12)
    for l in range(2, max(map(len, groups)) + 1):  # noqa: E741
        worst = max(most / rest if (rest := sum(tail)) else np.inf for most, tail in (_ranked(g, l) for g in groups))
        assert measured.recursive_c[l] == pytest.approx(worst)
        assert (measured.recursive(worst * 1.01 + 1) >= l) == np.isfinite(worst)


def _ranked(group: Counter[int], l: int) -> tuple[int, list[int]]:  # noqa: E741
    counts = sorted(group.values(), reverse=True)
    return counts[0], counts[l - 1 :]


def test_a_group_with_one_value_passes_the_prose_and_no_other_definition() -> None:
    table = pa.table({"who": ["a"] * 5 + ["b"] * 4, "what": [1] * 5 + [1, 2, 3, 4]})
    measured = so.diversity(table, quasi_identifiers=["who"], sensitive="what")
    assert measured.prose_ratio == 1
    assert (measured.distinct, measured.entropy, measured.l, measured.recursive(100)) == (1, 1, 1, 1)


# --- bad input


@pytest.mark.parametrize("call", [
    lambda t: so.anatomize(t, sensitive="nothing", l=2),
    lambda t: so.anatomize(t, sensitive="disease", l=1),
    lambda t: so.anatomize(t, sensitive="disease", l=2.5),
    lambda t: so.anatomize(t, sensitive="disease", l=2, size=3),
    lambda t: so.anatomize(t, sensitive="disease", l=2, quasi_identifiers=["disease"]),
    lambda t: so.anatomize(t, sensitive="disease", l=2, ties="first"),
    lambda t: so.anatomize(t, sensitive="disease", l=2, quasi_identifiers=[]),
    lambda t: so.anatomize(t.rename_columns(["group", "age", "zip", "disease"]), sensitive="disease", l=2),
    lambda t: so.k_anonymize(t, k=13, quasi_identifiers=WHO),
    lambda t: so.k_anonymize(t, k=0, quasi_identifiers=WHO),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers="age"),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers=["age", "age"]),
    lambda t: so.k_anonymize(t, k=2, l=2, quasi_identifiers=WHO),
    lambda t: so.k_anonymize(t, k=2, l=5, quasi_identifiers=WHO, sensitive="disease"),
    lambda t: so.k_anonymize(t, k=5, l=2, quasi_identifiers=WHO, sensitive="disease", method="anatomy"),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers=WHO, method="anatomy"),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers=WHO, method="best"),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers=WHO, method="global", suppress=1),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers=["age"], hierarchies={"zip": []}),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers=["zip"], hierarchies={"zip": [{"90210": "west"}]}),
    lambda t: so.k_anonymize(t, k=2, quasi_identifiers=[*WHO, "disease"], sensitive="disease"),
    lambda t: so.diversity(t, quasi_identifiers=["age", "disease"], sensitive="disease"),
    lambda t: so.diversity(t, quasi_identifiers=[], sensitive="disease"),
    lambda t: so.diversity(t, quasi_identifiers=["age"], sensitive="nothing"),
])  # fmt: skip
def test_bad_arguments_are_refused_in_one_line_without_a_cell(call: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        call(patients())
    message = str(caught.value)
    assert "\n" not in message
    assert not any(cell in message for cell in ("90210", "90211", "AIDS", "Cancer"))
    assert caught.value.__cause__ is None


def test_bad_tables_are_refused_without_a_cell(tmp_path: Path) -> None:
    hole = pa.table({"who": ["a", None, "c"], "what": ["x", "y", "z"]})
    number = pa.table({"who": [1.0, float("nan")], "what": ["x", "y"]})
    for table in (hole, number):
        with pytest.raises(TableError, match="missing cells"):
            so.anatomize(table, sensitive="what", l=2)
    (tmp_path / "hole.csv").write_text("who,what\na,x\n,y\n")
    with pytest.raises(TableError, match="missing cells"):
        so.anatomize(tmp_path / "hole.csv", sensitive="what", l=2)
    (tmp_path / "broken.csv").write_text("who,what\nsecret,x,z\n")
    for bad in (tmp_path / "broken.csv", tmp_path / "none.csv", tmp_path / "table.txt", 5, patients().slice(0, 0)):
        with pytest.raises(TableError) as caught:
            so.anatomize(bad, sensitive="what", l=2)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("kept", ["people.csv", "people.csv.json", "people.parquet"])
def test_a_table_and_what_it_says_are_written_over_no_ledger(kept: str, tmp_path: Path) -> None:
    so.Ledger.open(tmp_path / kept, epsilon=1)
    before = (tmp_path / kept).read_bytes()
    with pytest.raises(so.SordinoError, match="must not be written over"):
        write_table(patients(), tmp_path / kept.removesuffix(".json"))
    assert (tmp_path / kept).read_bytes() == before
