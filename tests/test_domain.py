"""Laws of the domain: what is written is read back, a draft is refused until it is filled in, nonsense never passes."""

from __future__ import annotations

import math
import tomllib
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from sordino.domain import LARGEST_BOUND, Category, Column, Domain, Real, draft_toml
from sordino.errors import DomainError, LedgerError
from sordino.privacy.ledger import Ledger

NAMES = st.one_of(st.sampled_from(["a.b", 'the "x"', "größe", "it's", "a b", "#", "[x]", ""]), st.text(max_size=12))
TEXT = st.text(st.characters(codec="utf-8"), max_size=10)


@st.composite
def reals(draw: st.DrawFn) -> Real:
    bounds = st.floats(-1e100, 1e100) | st.integers(-(10**6), 10**6)
    low, high = sorted(draw(st.lists(bounds, min_size=2, max_size=2, unique=True).filter(lambda b: far_apart(*b))))
    inside = st.floats(min_value=float(low), max_value=float(high))
    return Real(low, high, missing=draw(st.sampled_from(["drop", "reject"]) | inside), integer=draw(st.booleans()))


def far_apart(first: float, second: float) -> bool:
    return abs(float(first) - float(second)) / 2 >= 1 / LARGEST_BOUND


@st.composite
def categories(draw: st.DrawFn) -> Category:
    values = draw(
        st.lists(TEXT, min_size=1, max_size=5, unique_by=str.strip)
        | st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=5, unique=True)
        | st.sampled_from([[True], [False, True]])
    )
    one = st.none() | st.sampled_from(values)
    missing, replacement = draw(st.tuples(st.just("drop"), one) | st.tuples(st.just("reject"), st.none()))
    return Category(values, missing=missing, replacement=replacement, other=draw(one))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    columns = draw(st.dictionaries(NAMES, reals() | categories(), min_size=1, max_size=5))
    relation, rows = draw(
        st.just(("add-remove", None)) | st.tuples(st.just("substitute"), st.none() | st.integers(1, 10**12))
    )
    return Domain(columns, neighbours=relation, rows=rows)


def check_read_back(domain: Domain) -> None:
    back = Domain.from_toml_text(tomli_w.dumps(domain.to_dict()))
    assert back == domain
    assert hash(back) == hash(domain)
    assert list(back.columns) == list(domain.columns)
    for name, column in domain.columns.items():
        assert repr(back[name]) == repr(column)  # true is not 1, and 1 is not 1.0


@given(domains())
def test_domain_is_read_back_from_toml_as_it_was(domain: Domain) -> None:
    check_read_back(domain)


def test_domain_is_read_back_from_a_file(tmp_path: Path) -> None:
    domain = Domain(
        {'the "age".years': Real(0, 120, missing=40), "größe": Category(["ä\n", "b\\"], other="b\\")},
        neighbours="substitute",
        rows=7,
    )
    domain.to_toml(tmp_path / "domain.toml")
    assert Domain.from_toml(tmp_path / "domain.toml") == Domain.from_toml(str(tmp_path / "domain.toml")) == domain


def test_domain_is_written_whole_and_over_no_ledger(tmp_path: Path) -> None:
    domain, path = Domain({"age": Real(0, 120)}), tmp_path / "people.ledger"
    Ledger.open(path, epsilon=1)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="must not be written over"):
        domain.to_toml(path)
    assert path.read_bytes() == before
    with pytest.raises(DomainError, match="no such file or directory"):
        domain.to_toml(tmp_path / "nowhere" / "people.toml")
    assert [each.name for each in tmp_path.iterdir()] == ["people.ledger"]


@given(st.dictionaries(NAMES, st.sampled_from(["real", "category", "unknown"]), min_size=1, max_size=6))
def test_draft_is_toml_and_is_refused_until_it_is_filled_in(kinds: dict[str, str]) -> None:
    text = draft_toml(kinds)
    document = tomllib.loads(text)
    assert list(document["columns"]) == list(kinds)
    with pytest.raises(DomainError) as refused:
        Domain.from_toml_text(text)
    name, first = next(iter(kinds.items()))
    assert repr(name) in str(refused.value)
    assert "not filled in yet. Write " in str(refused.value)
    assert ("values = [" if first == "category" else "low = NUMBER") in str(refused.value)


@given(st.dictionaries(NAMES, st.sampled_from(["real", "category"]), min_size=1, max_size=6))
def test_draft_with_every_blank_filled_in_is_a_domain(kinds: dict[str, str]) -> None:
    document = tomllib.loads(draft_toml(kinds))
    for entry in document["columns"].values():
        entry |= {"low": 0, "high": 1} if entry["kind"] == "real" else {"values": ["a", "b"]}
    domain = Domain.from_dict(document)
    assert [type(column) for column in domain.columns.values()] == [
        Real if kind == "real" else Category for kind in kinds.values()
    ]


def test_draft_of_true_and_false_needs_no_filling_in() -> None:
    assert Domain.from_toml_text(draft_toml({"smoker": "truth"})).category("smoker").values == (False, True)


@given(reals())
def test_middle_and_half_width_make_the_bounds(column: Real) -> None:
    assert column.low <= column.middle <= column.high
    assert column.half_width > 0
    assert math.isfinite(2**20 / column.half_width)
    reach = max(abs(column.low), abs(column.high))
    assert column.middle + column.half_width == pytest.approx(column.high, abs=1e-15 * reach)


def test_plain_numbers_of_every_kind_are_bounds() -> None:
    for low, high in ((np.float32(0), np.int64(1)), (Decimal("0"), Fraction(1)), (0, 1.0), (np.array(0), np.array(1))):
        assert Real(low, high) == Real(0.0, 1.0)  # type: ignore[arg-type]
    assert Category(np.array([1, 2])).values == (1, 2)  # type: ignore[arg-type]
    assert Category(np.array(["a", "b"])).values == ("a", "b")  # type: ignore[arg-type]


# --- nonsense: who, rule, got, next ------------------------------------------------------------------------------

WRONG_REALS: list[tuple[Any, Any, dict[str, Any], str]] = [
    (1, 0, {}, "low must be below high. Got 1 and 0"),
    (1, 1, {}, "low must be below high. Got 1 and 1"),
    (0.0, -0.0, {}, "low must be below high"),
    (0, math.inf, {}, "high must be a finite number .* Got inf"),
    (-math.inf, 0, {}, "low must be a finite number .* Got -inf"),
    (math.nan, 0, {}, "low must be a finite number .* Got nan"),
    (0, math.nan, {}, "high must be a finite number .* Got nan"),
    (0, 1e101, {}, r"high must be a finite number .* Got 1e\+101"),
    (0, 10**400, {}, "high must be a finite number"),
    (Decimal("sNaN"), 1, {}, "low must be a finite number"),
    (0, 1e-101, {}, "apart"),
    ("0", 1, {}, "low must be a number. Got str"),
    (None, 1, {}, "low must be a number. Got NoneType"),
    (0, True, {}, "high must be a number. Got bool"),
    (0, 1j, {}, "high must be a number. Got complex"),
    ("fill in", 1, {}, "low is not filled in yet. Write low = NUMBER"),
    (0, 1, {"missing": "skip"}, "missing must be 'drop', 'reject' or a number. Got 'skip'"),
    (0, 1, {"missing": 2}, "replacement must lie between the bounds. Got missing=2"),
    (0, 1, {"missing": math.nan}, "missing must be a finite number"),
    (0, 1, {"missing": None}, "missing must be a number. Got NoneType"),
    (0, 1, {"integer": "yes"}, "integer must be true or false. Got 'yes'"),
]


@pytest.mark.parametrize(("low", "high", "options", "said"), WRONG_REALS)
def test_impossible_interval_is_refused(low: Any, high: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(DomainError, match=f"^Real: .*{said}"):
        Real(low, high, **options)


WRONG_CATEGORIES: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "at least one value must be listed. Got none"),
    ("ab", {}, r"values must be a list. Write Category\("),
    (b"ab", {}, "values must be a list"),
    (3, {}, "values must be a list"),
    (None, {}, "values must be a list"),
    ("fill in", {}, "values are not filled in yet. Write values = "),
    ([1.5], {}, "must be text, a whole number or true/false. Got float"),
    ([None], {}, "must be text, a whole number or true/false. Got NoneType"),
    ([["a"]], {}, "must be text, a whole number or true/false. Got list"),
    ([1, "a"], {}, "all text, all whole numbers or all true/false"),
    ([1, True], {}, "all text, all whole numbers or all true/false"),
    (["a", "a"], {}, "listed twice"),
    (["a", " a "], {}, "listed twice"),
    ([2**53 + 1], {}, "at most 53 bits. Got 9007199254740993. Declare them as text"),
    (["a"], {"missing": "a"}, "missing must be 'drop' or 'reject'. Got 'a'. .* write replacement=VALUE"),
    (["a"], {"missing": 3}, "missing must be 'drop' or 'reject'. Got 3"),
    (["a"], {"replacement": "b"}, "replacement must be one of the listed values. Got 'b'"),
    (["a"], {"other": "b"}, "other must be one of the listed values. Got 'b'"),
    (["a"], {"missing": "reject", "replacement": "a"}, "has no replacement. Leave one of them out"),
]


@pytest.mark.parametrize(("values", "options", "said"), WRONG_CATEGORIES)
def test_impossible_category_is_refused(values: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(DomainError, match=f"^Category: .*{said}"):
        Category(values, **options)


AGE: dict[str, Column] = {"age": Real(0, 120)}

WRONG_DOMAINS: list[tuple[Any, dict[str, Any], str]] = [
    ({}, {}, "at least one column must be declared. Got none"),
    ({"age": 3}, {}, "a column is a name with a Real or a Category. Got 'age': int"),
    ({3: Real(0, 1)}, {}, "a column is a name"),
    (AGE, {"neighbours": "swap"}, "neighbours must be 'add-remove' or 'substitute'. Got 'swap'"),
    (AGE, {"neighbours": ["substitute"]}, "neighbours must be"),
    (AGE, {"rows": 10}, "rows is private when neighbours='add-remove'. Leave rows out, or declare"),
    (AGE, {"neighbours": "substitute", "rows": 0}, "whole number of at least 1. Got 0"),
    (AGE, {"neighbours": "substitute", "rows": 2.5}, "whole number of at least 1. Got 2.5"),
    (AGE, {"neighbours": "substitute", "rows": True}, "whole number of at least 1. Got True"),
    (AGE, {"neighbours": "substitute", "rows": "7"}, "whole number of at least 1. Got '7'"),
]


@pytest.mark.parametrize(("columns", "options", "said"), WRONG_DOMAINS)
def test_impossible_domain_is_refused(columns: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(DomainError, match=f"^Domain: .*{said}"):
        Domain(columns, **options)


def test_undeclared_column_and_wrong_kind_are_named() -> None:
    domain = Domain({"age": Real(0, 120), "sex": Category(["f", "m"])})
    with pytest.raises(DomainError, match=r"no column 'height' is declared\. Declared are 'age', 'sex'"):
        domain["height"]
    with pytest.raises(DomainError, match="'sex' is a Category; this needs a Real"):
        domain.real("sex")
    with pytest.raises(DomainError, match="'age' is a Real; this needs a Category"):
        domain.category("age")


WRONG_TOML: list[tuple[str, str]] = [
    ("", "at least one column"),
    ("columns = 3", r"\[columns.NAME\]"),
    ("[columns]\nage = 3", "'age' must be a table"),
    ("[columns.age]", "'age' needs kind = "),
    ("[columns.age]\nkind = 'number'", "'age' needs kind = .* Got 'number'"),
    ("[columns.age]\nkind = ['real']", "'age' needs kind = "),
    ("[columns.age]\nkind = 'real'\nlow = 0", "'age' has no high. Write high = "),
    ("[columns.age]\nkind = 'category'", "'age' has no values. Write values = "),
    ("[columns.age]\nkind = 'real'\nlow = 0\nhigh = 1\nvalues = [1]", "'age': unknown key 'values'. Known are high, "),
    ("[columns.age]\nkind = 'real'\nlow = 9\nhigh = 1", "'age': Real: low must be below high"),
    ("[columns.age]\nkind = 'real'\nlow = 'a'\nhigh = 1", "'age': Real: low must be a number"),
    ("[columns.age]\nkind = 'real'\nlow = 2020-01-01\nhigh = 1", "'age': Real: low must be a number"),
    ("[columns.age]\nkind = 'real'\nlow = 0\nhigh = inf", "'age': Real: high must be a finite"),
    ("[columns.age]\nkind = 'category'\nvalues = 'x'", "'age': Category: values must be a list"),
    ("[columns.age]\nkind = 'category'\nvalues = ['x']\nmissing = {}", "'age': Category: missing must be"),
    ("neighbour = 'substitute'\n[columns.age]\nkind='real'\nlow=0\nhigh=1", "unknown key 'neighbour'. Known are "),
    ("rows = 3\n[columns.age]\nkind='real'\nlow=0\nhigh=1", "number of rows is private"),
    ("neighbours = {}\n[columns.age]\nkind='real'\nlow=0\nhigh=1", "neighbours must be"),
    ("[columns.age", "not TOML"),
    ("a = 1\na = 2", "not TOML"),
]


@pytest.mark.parametrize(("text", "said"), WRONG_TOML)
def test_wrong_toml_is_refused_by_name(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "domain.toml").write_text(text)
    with pytest.raises(DomainError, match=f"^Domain: .*{said}"):
        Domain.from_toml(tmp_path / "domain.toml")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_file_that_cannot_be_read_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DomainError, match=r"domain\.toml' cannot be read"):
        Domain.from_toml(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(TEXT | st.sampled_from(["kind", "low", "high", "values", "missing"]), inner)
        ),
    )
)
def test_any_document_is_a_domain_or_refused(content: Any) -> None:
    """Never another exception: what a person wrote is always answered in our words."""
    documents: list[Any] = [
        {"columns": content},
        {"columns": {"age": content}},
        {"columns": {"age": {"kind": "real", "low": content, "high": 1}}},
        {"columns": {"age": {"kind": "real", "low": 0, "high": 1, "missing": content}}},
        {"columns": {"age": {"kind": "category", "values": content}}},
        {"columns": {"age": {"kind": "category", "values": ["a"], "other": content, "replacement": content}}},
        {"columns": {"age": {"kind": "real", "low": 0, "high": 1}}, "neighbours": content},
        {"columns": {"age": {"kind": "real", "low": 0, "high": 1}}, "neighbours": "substitute", "rows": content},
    ]
    for document in documents:
        with suppress(DomainError):
            assert isinstance(Domain.from_dict(document), Domain)


def test_the_check_fails_when_the_writer_forgets_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain({"sex": Category(["f", "m"], other="m")})
    honest = Domain.to_dict

    def forgetful(self: Domain) -> dict[str, Any]:
        document: Any = honest(self)
        del document["columns"]["sex"]["other"]
        return document

    check_read_back(domain)
    monkeypatch.setattr(Domain, "to_dict", forgetful)
    with pytest.raises(AssertionError):
        check_read_back(domain)
