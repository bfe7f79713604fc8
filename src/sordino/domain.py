"""Public facts about a table: its columns, their bounds and categories, and who counts as a neighbour.

Everything here was declared by a person and may be printed. Nothing here is ever read from rows.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, SupportsFloat, cast

from sordino.errors import DomainError, file_problem
from sordino.whole_file import write_whole

Neighbours = Literal["add-remove", "substitute"]
CategoryValue = str | int | bool

#: Bounds beyond this are refused: half-widths and their reciprocals must stay ordinary floats.
LARGEST_BOUND = 1e100

#: Whole numbers as categories are compared as floats, which tell them apart up to here.
LARGEST_WHOLE = 2**53

#: Spaces around a category are not part of it: these six, as Arrow trims them.
SPACES = " \t\n\v\f\r"

_UNFILLED = "fill in"


@dataclass(frozen=True)
class Real:
    """A number between two public bounds; values outside are clipped to them.

    ``missing`` says what an absent cell does: ``"drop"`` (the record contributes zero to every statistic
    that reads this column), ``"reject"`` (the owner declares that no cell is missing), or a number inside
    the bounds that stands in for it. ``integer`` declares that the values are whole numbers.

    >>> Real(0, 120).half_width
    60.0
    """

    low: float
    high: float
    missing: float | Literal["drop", "reject"] = "drop"
    integer: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _bound(name, getattr(self, name)))
        if not self.low < self.high:
            raise DomainError(f"Real: low must be below high. Got {self.low:g} and {self.high:g}.")
        if self.half_width < 1 / LARGEST_BOUND:
            raise DomainError(f"Real: the bounds must be at least {2 / LARGEST_BOUND:g} apart.")
        if not isinstance(self.integer, bool):
            raise DomainError(f"Real: integer must be true or false. Got {self.integer!r}.")
        if isinstance(self.missing, str):
            if self.missing not in ("drop", "reject"):
                raise DomainError(f"Real: missing must be 'drop', 'reject' or a number. Got {self.missing!r}.")
        else:
            object.__setattr__(self, "missing", _bound("missing", self.missing))
            if not self.low <= float(self.missing) <= self.high:
                raise DomainError(
                    f"Real: a replacement must lie between the bounds. Got missing={self.missing:g} "
                    f"for [{self.low:g}, {self.high:g}]."
                )

    @property
    def middle(self) -> float:
        """Centre of the interval."""
        return self.low + self.half_width

    @property
    def half_width(self) -> float:
        """Half of the interval's length."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Category:
    """One of a public list of values.

    A value outside the list counts as missing, unless ``other`` names the listed value that takes its
    place. ``missing`` is ``"drop"``, ``"reject"`` or, through ``replacement``, one of the listed values.

    >>> Category(["female", "male"]).values
    ('female', 'male')
    """

    values: tuple[CategoryValue, ...]
    missing: Literal["drop", "reject"] = "drop"
    replacement: CategoryValue | None = None
    other: CategoryValue | None = None

    def __init__(
        self,
        values: Iterable[CategoryValue],
        missing: Literal["drop", "reject"] = "drop",
        replacement: CategoryValue | None = None,
        other: CategoryValue | None = None,
    ) -> None:
        object.__setattr__(self, "values", _category_values(values))
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "replacement", replacement)
        object.__setattr__(self, "other", other)
        if missing not in ("drop", "reject"):
            raise DomainError(
                f"Category: missing must be 'drop' or 'reject'. Got {missing!r}. "
                "To replace a missing cell by a listed value, write replacement=VALUE."
            )
        if missing == "reject" and replacement is not None:
            raise DomainError("Category: a rejected missing cell has no replacement. Leave one of them out.")
        for name, value in (("replacement", replacement), ("other", other)):
            if value is not None and value not in self.values:
                raise DomainError(f"Category: {name} must be one of the listed values. Got {value!r}.")

    def __len__(self) -> int:
        return len(self.values)


Column = Real | Category


@dataclass(frozen=True)
class Domain:
    """The columns of a table, and which tables count as neighbours.

    ``add-remove``: two tables are neighbours when one has a record more. ``substitute``: when one record
    differs and the number of rows, declared as ``rows``, is public.

    >>> Domain({"age": Real(0, 120)}).neighbours
    'add-remove'
    """

    columns: Mapping[str, Column]
    neighbours: Neighbours = "add-remove"
    rows: int | None = field(default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        if not self.columns:
            raise DomainError("Domain: at least one column must be declared. Got none.")
        for name, column in self.columns.items():
            if not isinstance(name, str) or not isinstance(column, Real | Category):
                raise DomainError(
                    f"Domain: a column is a name with a Real or a Category. Got {name!r}: {type(column).__name__}."
                )
        if self.neighbours not in ("add-remove", "substitute"):
            raise DomainError(f"Domain: neighbours must be 'add-remove' or 'substitute'. Got {self.neighbours!r}.")
        self._check_rows()

    def _check_rows(self) -> None:
        if self.rows is None:
            return
        if self.neighbours == "add-remove":
            raise DomainError(
                "Domain: the number of rows is private when neighbours='add-remove'. "
                "Leave rows out, or declare neighbours='substitute'."
            )
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise DomainError(f"Domain: rows must be a whole number of at least 1. Got {self.rows!r}.")

    def __hash__(self) -> int:
        return hash((tuple(self.columns.items()), self.neighbours, self.rows))

    def real(self, name: str) -> Real:
        """The declared interval of a column; an error when it is absent or a category."""
        column = self[name]
        if not isinstance(column, Real):
            raise DomainError(f"Domain: {name!r} is a Category; this needs a Real column. Categories have histograms.")
        return column

    def category(self, name: str) -> Category:
        """The declared values of a column; an error when it is absent or a Real."""
        column = self[name]
        if not isinstance(column, Category):
            raise DomainError(f"Domain: {name!r} is a Real; this needs a Category column.")
        return column

    def __getitem__(self, name: str) -> Column:
        if not isinstance(name, str) or name not in self.columns:
            known = ", ".join(map(repr, self.columns))
            raise DomainError(f"Domain: no column {name!r} is declared. Declared are {known}.")
        return self.columns[name]

    @classmethod
    def from_toml(cls, path: str | Path) -> Domain:
        """Read a domain from a TOML file (see ``to_toml`` for its shape)."""
        text, problem = "", ""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = file_problem(error)
        if problem:
            raise DomainError(f"Domain: {str(path)!r} cannot be read ({problem}). sordino init drafts one.")
        return cls.from_toml_text(text, str(path))

    @classmethod
    def from_toml_text(cls, text: str, source: str = "the text") -> Domain:
        """Read a domain from the text of a TOML file; ``source`` names it in an error."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DomainError(f"Domain: {source} is not TOML: {error}.") from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Mapping[str, object]) -> Domain:
        """Build a domain from plain values, as TOML and JSON hold them."""
        _refuse_unknown_keys("Domain", document, {"neighbours", "rows", "columns"})
        columns = document.get("columns", {})
        if not isinstance(columns, Mapping):
            raise DomainError("Domain: 'columns' must be a table of tables, [columns.NAME].")
        return cls(
            {name: _column_from_dict(name, entry) for name, entry in columns.items()},
            neighbours=cast(Neighbours, document.get("neighbours", "add-remove")),  # checked by the constructor
            rows=cast("int | None", document.get("rows")),
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values; ``Domain.from_dict`` gives the same domain back."""
        document: dict[str, object] = {"neighbours": self.neighbours}
        if self.rows is not None:
            document["rows"] = self.rows
        document["columns"] = {name: _column_to_dict(column) for name, column in self.columns.items()}
        return document

    def to_toml(self, path: str | Path) -> None:
        """Write the domain to a TOML file that ``from_toml`` reads back."""
        import tomli_w

        problem = ""
        try:
            write_whole(Path(path), tomli_w.dumps(self.to_dict()))
        except OSError as error:
            problem = file_problem(error)
        if problem:
            raise DomainError(f"Domain: {str(path)!r} cannot be written ({problem}). Name another file.")


_DRAFT_HEADER = """\
# Public facts about the table. Replace every "fill in" by what is known without looking at the rows:
# what the column means, its unit, the code book. Values outside the bounds are clipped to them.
# Delete the columns that nobody will ask about.

neighbours = "add-remove"    # or "substitute", when the number of rows is public: then also rows = NUMBER
"""

_DRAFT_REAL = f"""\
kind = "real"
low = "{_UNFILLED}"     # a number
high = "{_UNFILLED}"    # a number
# integer = true    # where only whole numbers make sense
"""

_DRAFT_CATEGORY = f"""\
kind = "category"
values = "{_UNFILLED}"  # ["first", "second"]
"""


def draft_toml(columns: Mapping[str, str]) -> str:
    """TOML for a person to complete, from column names and kinds: 'real', 'category', 'truth' or 'unknown'."""
    import tomli_w

    either = "# The file does not say which: keep one of the two.\n" + _DRAFT_REAL + _commented(_DRAFT_CATEGORY)
    bodies = {"real": _DRAFT_REAL, "category": _DRAFT_CATEGORY, "truth": 'kind = "category"\nvalues = [false, true]\n'}
    parts = [_DRAFT_HEADER]
    for name, kind in columns.items():
        header = tomli_w.dumps({"columns": {name: {}}}).strip()
        parts.append(f"{header}\n{bodies.get(kind, either)}")
    return "\n".join(parts)


def _commented(lines: str) -> str:
    return "".join(f"# {line}\n" for line in lines.splitlines())


def _bound(name: str, value: object) -> float:
    if isinstance(value, str) and value == _UNFILLED:
        raise DomainError(f"Real: {name} is not filled in yet. Write {name} = NUMBER.")
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise DomainError(f"Real: {name} must be a number. Got {type(value).__name__}.")
    number = math.nan
    with suppress(OverflowError, ValueError):  # an integer beyond floats, a decimal that signals
        number = float(value)
    if math.isnan(number) or abs(number) > LARGEST_BOUND:
        raise DomainError(f"Real: {name} must be a finite number of at most {LARGEST_BOUND:g} in size. Got {number:g}.")
    return number


def _category_values(values: object) -> tuple[CategoryValue, ...]:
    if isinstance(values, str) and values == _UNFILLED:
        raise DomainError('Category: values are not filled in yet. Write values = ["first", "second"].')
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DomainError("Category: values must be a list. Write Category(['first', 'second']).")
    listed = tuple(_plain(value) for value in values)
    if not listed:
        raise DomainError("Category: at least one value must be listed. Got none.")
    if len({type(value) for value in listed}) > 1:
        raise DomainError("Category: values must be all text, all whole numbers or all true/false.")
    if len({value.strip(SPACES) if isinstance(value, str) else value for value in listed}) < len(listed):
        raise DomainError("Category: a value is listed twice (spaces around it do not count).")
    return listed


def _plain(value: object) -> CategoryValue:
    item = getattr(value, "item", None)
    plain = item() if callable(item) else value
    if not isinstance(plain, str | int | bool):
        raise DomainError(f"Category: a value must be text, a whole number or true/false. Got {type(value).__name__}.")
    if isinstance(plain, int) and abs(plain) > LARGEST_WHOLE:
        raise DomainError(f"Category: whole numbers may have at most 53 bits. Got {plain}. Declare them as text.")
    return plain


def _column_to_dict(column: Column) -> dict[str, object]:
    if isinstance(column, Real):
        entry: dict[str, object] = {"kind": "real", "low": column.low, "high": column.high}
        if column.integer:
            entry["integer"] = True
    else:
        entry = {"kind": "category", "values": list(column.values)}
        for name in ("replacement", "other"):
            if (value := getattr(column, name)) is not None:
                entry[name] = value
    if column.missing != "drop":
        entry["missing"] = column.missing
    return entry


def _column_from_dict(name: str, entry: object) -> Column:
    if not isinstance(entry, Mapping):
        raise DomainError(f"Domain: column {name!r} must be a table, [columns.{name}].")
    options = dict(entry)
    kind = options.pop("kind", None)
    allowed = {"real": {"low", "high", "missing", "integer"}, "category": {"values", "missing", "replacement", "other"}}
    if not isinstance(kind, str) or kind not in allowed:
        raise DomainError(f'Domain: column {name!r} needs kind = "real" or "category". Got {kind!r}.')
    _refuse_unknown_keys(f"Domain: column {name!r}", options, allowed[kind])
    required = {"real": ("low", "high"), "category": ("values",)}[kind]
    for key in required:
        if key not in options:
            raise DomainError(f"Domain: column {name!r} has no {key}. Write {key} = … under [columns.{name}].")
    try:
        return Real(**options) if kind == "real" else Category(**options)
    except DomainError as error:
        raise DomainError(f"Domain: column {name!r}: {error}") from None


def _refuse_unknown_keys(who: str, entries: Mapping[str, object], allowed: set[str]) -> None:
    unknown = sorted(set(entries) - allowed)
    if unknown:
        raise DomainError(f"{who}: unknown key {unknown[0]!r}. Known are {', '.join(sorted(allowed))}.")
