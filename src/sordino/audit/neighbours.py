"""Made-up tables and their neighbours: witnesses, hostile records, and sizes at which programmers change their mind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino.domain import Category, CategoryValue, Domain
from sordino.statistics.statistic import Record

#: Numbers of records around which code is often written differently: empty, single, small, a block, a round number;
#: "fewer than ten" and "at most ten" change their mind at different pairs.
SIZES = (1, 2, 3, 10, 11, 64, 65, 100, 101, 1000, 1001)


#: Sizes at which every odd record is tried; at the others a few are.
_FEW = (2, 10)


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables and what sets them apart."""

    label: str
    domain: Domain
    first: tuple[Record, ...]
    second: tuple[Record, ...]


def ordinary_records(domain: Domain, count: int, seed: int = 0) -> list[Record]:
    """Records spread over the domain; the first category of each column is rare, so that small cells occur."""
    generator = np.random.default_rng(seed)  # public: made-up records
    columns = {name: _ordinary_cells(declared, count, generator) for name, declared in domain.columns.items()}
    return [{name: cells[row] for name, cells in columns.items()} for row in range(count)]


def hostile_records(domain: Domain) -> dict[str, Record]:
    """Records that a careless map lets out of its bounds, one per label."""
    middle = ordinary_records(domain, 1)[0]
    reals = [name for name, declared in domain.columns.items() if not isinstance(declared, Category)]
    categories = [name for name in domain.columns if name not in reals]
    hostile: dict[str, Record] = {
        "every cell missing": dict.fromkeys(domain.columns, None),
        "an unknown label": {**middle, **{name: _unknown(domain.category(name)) for name in categories}},
        "the rare label": {**middle, **{name: domain.category(name).values[0] for name in categories}},
    }
    extremes = {
        "not a number": math.nan,
        "infinite": math.inf,
        "minus infinite": -math.inf,
        "enormous": 1e308,
        "subnormal": 5e-324,
    }
    for label, value in extremes.items():
        hostile[label] = {**middle, **dict.fromkeys(reals, value)}
    for label, factor in (("thrice beyond the top", 3.0), ("thrice beyond the bottom", -3.0)):
        hostile[label] = {**middle, **{name: _beyond(domain, name, factor) for name in reals}}
    hostile["the float after the top"] = {
        **middle,
        **{name: math.nextafter(domain.real(name).high, math.inf) for name in reals},
    }
    for label, end in (("the top corner", 1.0), ("the bottom corner", -1.0)):
        hostile[label] = {**middle, **{name: _beyond(domain, name, end) for name in reals}}
    return hostile


def pairs(domain: Domain, witnesses: Sequence[Record] = (), sizes: Sequence[int] = SIZES) -> Iterator[Pair]:
    """Neighbours of both kinds of change at every size; under substitute the number of rows stays public."""
    odd = {**hostile_records(domain), **{f"witness {index}": record for index, record in enumerate(witnesses)}}
    small = [label for label in odd if label.startswith(("witness", "every", "the top", "the rare"))]
    for size in sizes:
        base = ordinary_records(domain, size)
        for number, label in enumerate(odd if size in _FEW else small):
            first = number % 2 == 0  # what a look at the first row sees, or at the last one
            yield _pair(domain, base, odd[label], f"{size} records, {label}", first)


def _pair(domain: Domain, base: Sequence[Record], record: Record, label: str, first: bool) -> Pair:
    rest = base[1:] if first else base[:-1]
    more = (record, *rest) if first else (*rest, record)
    if domain.neighbours == "add-remove":
        return Pair(f"{label} added", domain, more, tuple(rest))
    fixed = domain if domain.rows is None else replace(domain, rows=len(base))
    return Pair(f"{label} substituted", fixed, more, tuple(base))


def _ordinary_cells(
    declared: object, count: int, generator: np.random.Generator
) -> Sequence[float | CategoryValue | None]:
    if isinstance(declared, Category):
        weights = np.arange(1, len(declared) + 1, dtype=float) ** 2
        chosen = generator.choice(len(declared), size=count, p=weights / weights.sum())
        return [declared.values[int(index)] for index in chosen]
    low, high = declared.low, declared.high  # type: ignore[attr-defined]
    return [float(value) for value in np.clip(generator.normal((low + high) / 2, (high - low) / 6, count), low, high)]


def _unknown(declared: Category) -> CategoryValue:
    first = declared.values[0]
    if isinstance(first, str):
        return "".join(map(str, declared.values)) + "?"
    return 1 + max(int(value) for value in declared.values) if not isinstance(first, bool) else first


def _beyond(domain: Domain, name: str, factor: float) -> float:
    declared = domain.real(name)
    return declared.middle + factor * declared.half_width
