"""Outcomes of any kind as rows of numbers and words, so that runs can be compared.

Each outcome is read by itself, by a fixed rule: whatever it is, it becomes a *kind* (its shape and its types), its
numbers and its words. An exception is an outcome too; its kind and its message are read.
"""

from __future__ import annotations

import numbers
import re
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The first so many numbers, and words, of an outcome are read.
MOST_PARTS = 2000

_DEEPEST = 8
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Outcome:
    """One outcome: what it is made of, its numbers in order, and its words in order."""

    kind: str
    numbers: Floats
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcomes:
    """Many outcomes as columns: kinds, a matrix of numbers (NaN where one has none), and words."""

    kinds: Sequence[str]
    numbers: Floats
    words: Sequence[Sequence[str]]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], width: int) -> Outcomes:
        """Rows of ``width`` numbers; further ones are left out, missing ones are NaN."""
        matrix = np.full((len(outcomes), width), np.nan)
        for row, outcome in zip(matrix, outcomes, strict=True):
            found = outcome.numbers[:width]
            row[: len(found)] = found
        return cls([each.kind for each in outcomes], matrix, [each.words for each in outcomes])

    def __len__(self) -> int:
        return len(self.kinds)

    def part(self, rows: slice) -> Outcomes:
        """Some of the outcomes."""
        return Outcomes(self.kinds[rows], self.numbers[rows], self.words[rows])

    def word_column(self, place: int) -> list[str]:
        """The word at one place of every outcome; empty where there is none."""
        return [words[place] if place < len(words) else "" for words in self.words]


def read_outcome(value: Any) -> Outcome:
    """Any outcome, read.

    >>> outcome = read_outcome({"mean": 1.5, "label": "a"})
    >>> outcome.kind, outcome.numbers.tolist(), outcome.words
    ("{'mean':number,'label':word}", [1.5], ('a',))
    """
    if isinstance(value, float):
        return Outcome("number", np.array([value]))
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return Outcome(f"array{value.shape}", value.ravel()[:MOST_PARTS].astype(np.float64))
    numbers_found: list[float] = []
    words_found: list[str] = []
    kind = _read(value, numbers_found, words_found, 0)
    return Outcome(kind, np.array(numbers_found[:MOST_PARTS], dtype=float), tuple(words_found[:MOST_PARTS]))


def _read(value: Any, found: list[float], words: list[str], depth: int) -> str:
    """Append the numbers and words of a value, and say its kind."""
    if value is None or isinstance(value, types.FunctionType | types.MethodType | type) or depth > _DEEPEST:
        return type(value).__name__
    if isinstance(value, numbers.Number | np.bool_):
        return _read_number(value, found)
    if isinstance(value, str | bytes):
        words.append(str(value))
        return "word"
    if isinstance(value, BaseException):
        words.append(_ADDRESS.sub("", f"{type(value).__name__}: {value}"))
        return "exception"
    return _read_parts(value, found, words, depth + 1)


def _read_number(value: Any, found: list[float]) -> str:
    try:
        found.extend([value.real, value.imag] if isinstance(value, complex) else [float(value)])
    except OverflowError:  # a whole number beyond all floats
        found.append(np.inf if value > 0 else -np.inf)
    return "number"


def _read_parts(value: Any, found: list[float], words: list[str], depth: int) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape}" + _read(value.ravel().tolist(), found, words, depth)
    if isinstance(value, Mapping):
        parts = (f"{key!r}:{_read(part, found, words, depth)}" for key, part in value.items())
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list | tuple):
        return "[" + _run_lengths([_read(part, found, words, depth) for part in value]) + "]"
    if isinstance(value, AbstractSet):
        return "set" + _read(sorted(value, key=repr), found, words, depth)
    if hasattr(value, "__dict__"):
        return type(value).__name__ + _read(vars(value), found, words, depth)
    words.append(_ADDRESS.sub("", repr(value)))
    return type(value).__name__


def _run_lengths(kinds: Sequence[str]) -> str:
    """Kinds in order; a thousand numbers in a row are said once."""
    if len(set(kinds)) == 1:
        return f"{kinds[0]}*{len(kinds)}"
    return ",".join(kinds)
