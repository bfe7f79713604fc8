"""The contract of a query: which statistics it asks for, and how it reads their noisy totals.

A query sees public facts and releases only. Its plan is its own reading of *assumed* totals, so that what a plan
promises and what an answer delivers come from the same lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sordino.cost import Cost
from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.privacy.price import Price, Question
from sordino.privacy.session import Session
from sordino.release import NoisyTotal, Receipt, Release
from sordino.statistics.statistic import Statistic


class Query(ABC):
    """One question that a user can ask of a table."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    @abstractmethod
    def statistics(self) -> tuple[Statistic, ...]:
        """What is asked for, in one pass."""

    @abstractmethod
    def read(self, totals: Sequence[NoisyTotal]) -> Release:
        """The answer, from noisy totals in the order of ``statistics``."""

    @abstractmethod
    def assumed(self, prices: Sequence[Price], rows: int) -> list[list[float]]:
        """Totals in units for an imagined table of ``rows`` records in the middle of the domain."""

    #: Whether the width of the interval depends on how many rows there are.
    needs_rows = False

    #: Where it depends on the values too: what a plan imagines of them.
    imagined = ""

    def questions(self, session: Session, cost: Cost) -> list[Question]:
        """The statistics with their shares of the cost."""
        statistics = self.statistics()
        shares = [cost] if len(statistics) == 1 else session.split(cost, statistics)
        return [Question(statistic, share) for statistic, share in zip(statistics, shares, strict=True)]

    def ask(self, session: Session, cost: Cost) -> Release:
        """Pay, pass over the table once, and read."""
        release = self.read(session.answer(self.questions(session, cost)))
        return replace(release, receipt=replace(release.receipt, stated=cost.stated))

    def plan(self, session: Session, cost: Cost, rows: int | None = None) -> Plan:
        """What ``ask`` would cost and carry, without reading a row or spending anything."""
        prices = session.price(self.questions(session, cost))
        charges = tuple(each.charge() for each in prices)
        receipt = Receipt(self.domain.neighbours, charges, public=("the declared domain",), stated=cost.stated)
        size = self.domain.rows if rows is None else rows
        if self.needs_rows and size is None:
            return Plan(receipt, None)
        values = self.assumed(prices, size or 0)
        totals = [
            NoisyTotal(
                tuple(round(value * each.statistic.unit) for value in listed), each.laws, each.statistic.unit, receipt
            )
            for each, listed in zip(prices, values, strict=True)
        ]
        return Plan(receipt, self.read(totals), self.imagined)


class Plan:
    """The noise that a release would carry. Nothing was read and nothing was spent."""

    def __init__(self, receipt: Receipt, imagined: Release | None, assumed: str = "") -> None:
        self.receipt = receipt
        self.assumed = assumed
        self._imagined = imagined

    def half_width(self, level: float = 0.95) -> float:
        """Half of the interval's width: one number, or the widest of several."""
        return max(_flat(self.half_widths(level)))

    def half_widths(self, level: float = 0.95) -> Any:
        """Half of the width of each interval, in the shape of the answer."""
        if self._imagined is None:
            raise ParameterError("plan: the answer is a ratio, so its noise depends on the size. Write rows=NUMBER.")
        low, high = self._imagined.interval(level)
        return _halved(high, low)

    def to_dict(self, level: float = 0.95) -> dict[str, object]:
        """Plain values, ready for JSON; ``half_widths`` only where they differ."""
        half_width = None if self._imagined is None else self.half_width(level)
        document: dict[str, object] = {"level": level, "half_width": half_width}
        if self._imagined is not None:
            widths = self.half_widths(level)
            if len(set(_flat(widths))) > 1:
                document["half_widths"] = widths
            document["unit"] = self._imagined.interval(level).unit
            document["assumed"] = self.assumed
        document["cost"] = self.receipt.cost.to_dict()
        document["neighbours"] = self.receipt.neighbours
        document["charges"] = [charge.to_dict() for charge in self.receipt.charges]
        return document

    def __str__(self) -> str:
        if self._imagined is None:
            first = "half-width depends on the number of rows: write rows=NUMBER"
        else:
            unit = self._imagined.interval(0.95).unit
            most = "at most " if len(set(_flat(self.half_widths()))) > 1 else ""
            first = f"{most}± {self.half_width():.6g}{' ranks' if unit == 'ranks' else ''} with 95 % confidence"
        lines = [f"PLAN · {first} · neighbours {self.receipt.neighbours} · {self.receipt.cost}"]
        for charge in self.receipt.charges:
            lines.append(
                f"  {charge.statistic}: {charge.mechanism}, sensitivity {charge.sensitivity}, "
                f"scale {charge.scale / charge.unit:.6g}, {charge.cost}"
            )
        lines.append("  nothing was read and nothing was spent")
        return "\n".join(lines)

    __repr__ = __str__


def _halved(high: Any, low: Any) -> Any:
    """Half-widths of an interval of numbers, of nested lists of numbers, or of a mapping to them."""
    if isinstance(high, Mapping):
        return {name: _halved(high[name], low[name]) for name in high}
    if hasattr(high, "__iter__"):
        return [_halved(a, b) for a, b in zip(high, low, strict=True)]
    return (float(high) - float(low)) / 2


def _flat(widths: Any) -> list[float]:
    if isinstance(widths, Mapping):
        return [width for each in widths.values() for width in _flat(each)]
    return [width for each in widths for width in _flat(each)] if isinstance(widths, list) else [widths]


def named_columns(columns: str | Sequence[str]) -> tuple[str, ...]:
    """One or several column names as a tuple."""
    if not isinstance(columns, str | Sequence) or not all(isinstance(name, str) for name in columns):
        raise ParameterError(f"query: columns must be a name or a list of names. Got {columns!r}.")
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or len(set(names)) < len(names):
        raise ParameterError("query: name one or more distinct columns.")
    return names


def joint_level(level: float, parts: int) -> float:
    """The level at which each of several independent intervals must hold for all to hold at ``level``."""
    return float(level ** (1 / parts))


def alone_or_list(values: Sequence[Any], alone: bool) -> Any:
    """One value when one column was named by itself; a list otherwise."""
    return values[0] if alone else list(values)
