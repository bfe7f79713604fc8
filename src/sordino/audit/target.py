"""What an audit is pointed at: a callable with its two made-up tables, or two files of recorded outputs."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sordino.audit.peer_worker import Found, TargetError, find, shortly
from sordino.errors import ParameterError, file_problem

#: So many standard deviations more runs on one table than on the other are prepared for: short with chance 2e-9.
_DEVIATIONS = 6.0

#: Fewer recorded outputs than this say nothing.
FEWEST_OUTPUTS = 20

#: A recorded output: a number, a text, or several of both.
Output = float | str | list[float | str]


@dataclass(frozen=True)
class Target:
    """Something to run on two neighbouring tables; ``tables`` shows them when they are made up."""

    name: str
    run: Callable[[Any, np.random.Generator], Any]
    d1: Any
    d0: Any
    tables: tuple[str, ...] = ()


def load_target(target: str, neighbours: str | None = None, unsafe_real_data: bool = False) -> Target:
    """A callable of the user's own by ``MODULE:FUNCTION``, and the tables of ``neighbours()`` beside it."""
    problem, found = "", None
    try:
        found = find(target, neighbours, unsafe_real_data)
    except TargetError as error:
        problem = str(error)
    if found is None:
        raise ParameterError(f"audit: {problem}")
    return Target(target, found.run, found.first, found.second, _shown(found, unsafe_real_data))


def _shown(found: Found, unsafe_real_data: bool) -> tuple[str, ...]:
    return () if unsafe_real_data else (shortly(found.first), shortly(found.second))


def recorded_target(first: Path, second: Path, seed: int | None = None) -> tuple[Target, int]:
    """Outputs that somebody recorded, as something to run, and how many runs they allow.

    An audit draws its table by fair bits, so one file is used up before the other. Each file is shuffled: runs are
    independent, and the order of lines must not matter.
    """
    outputs = _without_header(read_outputs(first), read_outputs(second))
    fewest = min(map(len, outputs))
    for path, each in zip((first, second), outputs, strict=True):
        if len(each) < FEWEST_OUTPUTS:
            raise ParameterError(
                f"audit: {str(path)!r} must hold at least {FEWEST_OUTPUTS} outputs, one per line. Got {len(each)}."
            )
    public = np.random.default_rng(seed)
    lines = [itertools.cycle([each[place] for place in public.permutation(len(each))]) for each in outputs]
    target = Target(f"{first} and {second}", lambda table, rng: next(lines[1 - table]), 1, 0)
    return target, runs_within(fewest)


def runs_within(outputs: int) -> int:
    """The most runs N of which, by fair bits, no more than ``outputs`` fall on one table: N/2 + 3 √N.

    >>> runs_within(1000)
    1749
    """
    root = math.sqrt(_DEVIATIONS**2 / 4 + 2 * outputs) - _DEVIATIONS / 2
    return math.floor(root**2)


def read_outputs(path: Path) -> list[Output]:
    """One output per line: a number, a text, or several separated by commas."""
    problem, lines = "", list[list[str]]()
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = file_problem(error)
    if problem:
        raise ParameterError(f"audit: {str(path)!r} cannot be read as text, one output per line ({problem}).")
    while lines and not lines[-1]:
        lines.pop()
    return [_output([_cell(cell) for cell in line]) for line in lines]


def _output(cells: list[float | str]) -> Output:
    if len(cells) > 1:
        return cells
    return cells[0] if cells else ""


def _cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _without_header(first: list[Output], second: list[Output]) -> list[list[Output]]:
    """A first line of words that both files share, above a line with numbers, is no output."""
    both = (first, second)
    shared = all(len(each) > 1 for each in both) and first[0] == second[0] and not _numbers(first[0])
    return [each[1:] for each in both] if shared and all(_numbers(each[1]) for each in both) else list(both)


def _numbers(output: Output) -> bool:
    cells: Sequence[float | str] = output if isinstance(output, list) else [output]
    return any(isinstance(cell, float) for cell in cells)
