"""A question as it is typed on a command line: a query's name, its columns and its options, checked before it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sordino.errors import ParameterError
from sordino.queries.private_table import parameters_of


@dataclass(frozen=True)
class Question:
    """What ``PrivateTable.ask`` and ``plan`` take, apart from the cost.

    >>> Question.typed("histogram", ["age"], bins=["0,18,65"]).options
    {'bins': [0.0, 18.0, 65.0]}
    """

    query: str
    columns: tuple[str, ...]
    options: dict[str, Any]

    @classmethod
    def typed(cls, query: str, columns: Sequence[str] | None, bins: Sequence[str] | None, **given: Any) -> Question:
        """The question, when the query exists and takes that many columns and these options."""
        takes = parameters_of(query)
        given["bins"] = _bins(bins)
        options = {name: value for name, value in given.items() if value is not None}
        for name in options:
            if name not in takes:
                known = ", ".join(f"--{each}" for each in takes if each in given) or "none"
                raise ParameterError(f"{query}: has no option --{name}. Its options are: {known}.")
        _require_number_of_columns(query, takes, len(columns or ()))
        return cls(query, tuple(columns or ()), options)

    @property
    def arguments(self) -> list[Any]:
        """The query and its columns as a call takes them: none, one name, or one list of names."""
        if not self.columns:
            return [self.query]
        return [self.query, self.columns[0] if len(self.columns) == 1 else list(self.columns)]

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {"query": self.query, "columns": list(self.columns), "options": self.options}


def _require_number_of_columns(query: str, takes: Sequence[str], number: int) -> None:
    if "columns" in takes and number == 0:
        raise ParameterError(f"{query}: name at least one column.")
    if "columns" not in takes and number != ("column" in takes):
        raise ParameterError(f"{query}: takes {'one column' if 'column' in takes else 'no column'}. Got {number}.")


def _bins(texts: Sequence[str] | None) -> Any:
    """``10``, ``0,18,65``, or a mapping when columns are named: ``age=10``."""
    if not texts:
        return None
    named = [text.rpartition("=") for text in texts]
    if len(texts) == 1 and not named[0][1]:
        return _bins_of(texts[0])
    if not all(equals for _, equals, _ in named):
        raise ParameterError("bins: given several times, each names its column. Write --bins age=10 --bins bmi=0,25.")
    return {column: _bins_of(text) for column, _, text in named}


def _bins_of(text: str) -> int | list[float]:
    try:
        return [float(edge) for edge in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise ParameterError(f"bins: must be a whole number, or edges with commas between. Got {text!r}.") from None
