"""How diverse the groups of a table are, by every definition in use. They disagree, so each has its name.

Groups are the rows that share all quasi-identifiers. Write p for the shares of the sensitive values in a group, the
largest first, and q for their shares in the whole table. The worst group decides.

- **k**: rows in the smallest group (Samarati and Sweeney).
- **distinct**: different values in a group.
- **entropy** l: the exponential of the entropy of p; l equally frequent values have exactly l.
- **recursive (c, l)**: the most frequent value is rarer than c times the (l-th and all rarer ones) together.
- **frequency bound** 1/l: the largest share in a group (Xiao and Tao). This is what Anatomy promises.
- **prose ratio**: the most frequent against the least frequent value of a group. A published description of l-diversity
  asks only that this be at most l; a group with one single value passes for every l, so it protects nobody.
- **t-closeness**: the largest distance between p and q: half the sum of differences (every two values equally far
  apart), and for numbers the ordered distance (neighbouring values one step of 1/(m-1) apart).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sordino.anonymity.columns import (
    Coded,
    Codes,
    coded,
    combined,
    numbers,
    read_frame,
    require_columns,
    require_insensitive,
)
from sordino.anonymity.statement import STATEMENT
from sordino.errors import ParameterError

_WHO = "diversity"
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """Measures of the worst group, each named for its definition. None of them is differential privacy.

    ``recursive_c`` holds, for each l from 2, the bound that c must exceed: the table is recursive (c, l)-diverse for
    every larger c, and for none when it is infinite.
    """

    rows: int
    groups: int
    k: int
    distinct: int
    entropy: float
    recursive_c: dict[int, float]
    frequency_bound: float
    prose_ratio: float
    t_closeness: float
    t_closeness_ordered: float | None
    differentially_private: bool = False
    statement: str = STATEMENT

    @property
    def l(self) -> int:
        """The largest l of Xiao and Tao's bound: no value makes up more than 1/l of any group."""
        return int(1 / self.frequency_bound + 1e-9)

    def recursive(self, c: float) -> int:
        """The largest l for which the table is recursive (c, l)-diverse; 1 when for none."""
        if not c > 0:
            raise ParameterError(f"{_WHO}: c must be above 0. Got {c!r}.")
        return max([1, *(l for l, bound in self.recursive_c.items() if c > bound)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "l": self.l}


def diversity(frame: Any, *, quasi_identifiers: Sequence[str], sensitive: str) -> Diversity:
    """Measure the groups that quasi-identifiers form. What is measured is not private, and nor is the measure.

    Args:
        frame: A frame, or a ``.parquet``, ``.feather`` or ``.csv`` file. For anatomised tables, one with their groups.
        quasi_identifiers: The columns that form the groups.
        sensitive: The column whose values should differ within a group.
    """
    table = read_frame(frame, _WHO)
    require_columns(table, list(quasi_identifiers) if not isinstance(quasi_identifiers, str) else (), _WHO)
    require_columns(table, [sensitive], _WHO)
    require_insensitive(sensitive, quasi_identifiers, _WHO)
    values = coded(table, sensitive, _WHO)
    return measure(combined([coded(table, name, _WHO) for name in quasi_identifiers]), values)


def measure(group: Codes, values: Coded) -> Diversity:
    """The measures of rows in groups, by codes; groups are numbered from 0 and none is empty."""
    pairs, counts = np.unique(group * values.size + values.codes, return_counts=True)
    of, value = pairs // values.size, pairs % values.size
    sizes = np.bincount(group)
    share = counts / sizes[of]
    whole = np.bincount(values.codes, minlength=values.size) / len(group)
    entropy = np.bincount(of, -share * np.log(share))
    order = np.lexsort((-counts, of))
    starts = np.concatenate([[0], np.cumsum(np.bincount(of))])
    most, least = counts[order][starts[:-1]], counts[order][starts[1:] - 1]
    return Diversity(
        rows=len(group),
        groups=len(sizes),
        k=int(sizes.min()),
        distinct=int(np.bincount(of).min()),
        entropy=float(np.exp(entropy.min())),
        recursive_c=_recursive(counts[order], starts, most),
        frequency_bound=float((most / sizes).max()),
        prose_ratio=float((most / least).max()),
        t_closeness=_variation(of, value, share, whole, len(sizes)),
        t_closeness_ordered=_ordered(of, value, share, whole, len(sizes), values),
    )


def _recursive(counts: Codes, starts: Codes, most: Codes) -> dict[int, float]:
    """For each l the largest of (most frequent) / (l-th and rarer ones together) over the groups."""
    after = np.concatenate([np.cumsum(counts[::-1])[::-1], [0]])  # from here to the end of all groups
    distinct = np.diff(starts)
    bounds = {}
    for l in range(2, int(distinct.max()) + 1):
        rarer = after[np.minimum(starts[:-1] + l - 1, starts[1:])] - after[starts[1:]]
        with np.errstate(divide="ignore"):
            bounds[l] = float((most / rarer).max())
    return bounds


def _variation(of: Codes, value: Codes, share: Floats, whole: Floats, groups: int) -> float:
    """Half the sum of differences: those of the values that occur, and the whole share of those that do not."""
    there, there_whole = np.abs(share - whole[value]), whole[value]
    distance = np.bincount(of, there, groups) + 1 - np.bincount(of, there_whole, groups)
    return float(distance.max() / 2)


def _ordered(of: Codes, value: Codes, share: Floats, whole: Floats, groups: int, values: Coded) -> float | None:
    """The earth mover's distance along the line of distinct numbers; None for words."""
    amounts = numbers(values)
    if amounts is None:
        return None
    if values.size < 2:
        return 0.0
    rank = np.empty(values.size, np.int64)
    rank[np.argsort(amounts, kind="stable")] = np.arange(values.size)
    target = np.cumsum(whole[np.argsort(rank)])
    largest, most = 0.0, max(1, 4_000_000 // values.size)
    for start in range(0, groups, most):  # some groups at a time: there may be many of both
        here = (of >= start) & (of < start + most)
        shares = np.zeros((min(most, groups - start), values.size))
        shares[of[here] - start, rank[value[here]]] = share[here]
        distance = np.abs(np.cumsum(shares, axis=1) - target).sum(axis=1) / (values.size - 1)
        largest = max(largest, float(distance.max()))
    return largest
