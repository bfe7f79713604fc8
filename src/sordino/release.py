"""What may leave: noisy integers, the law of their noise, and the receipt that says what they cost.

A ``NoisyTotal`` is what the gate hands out; a ``Release`` is what a user gets: a value, its interval and its
receipt. Everything made from them is post-processing and costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Protocol

from sordino.cost import Cost
from sordino.errors import ParameterError

#: Nearer to certainty a level would round to it.
LARGEST_LEVEL = 1 - 1e-9

#: A part of a joint interval goes nearer to it, so that all parts together hold at the level.
LARGEST_PART = 1 - 2.0**-50

#: Below this scale the tail of a discrete Gaussian is summed; above it the continuous quantile, rounded up, covers.
SUMMED_GAUSSIAN_SCALE = 100.0


class Law(Protocol):
    """The distribution of the integer noise in one coordinate."""

    @property
    def name(self) -> str:
        """What the law is called."""
        ...

    @property
    def scale(self) -> float:
        """Its scale, in grid steps."""
        ...

    def half_width(self, level: float) -> int:
        """The smallest k with Pr(|noise| <= k) >= level."""
        ...

    @property
    def variance(self) -> float:
        """Variance of the noise."""
        ...


@dataclass(frozen=True)
class DiscreteLaplace:
    """Pr(z) proportional to exp(-|z| / scale) on the integers."""

    scale: float
    name = "discrete Laplace"

    @property
    def variance(self) -> float:
        """2 q / (1 - q)^2 with q = exp(-1/scale)."""
        below_one = -math.expm1(-1 / self.scale)
        return 2 * math.exp(-1 / self.scale) / (below_one * below_one)

    def half_width(self, level: float) -> int:
        """From the tail Pr(|noise| > k) = 2 q^(k+1) / (1+q)."""
        ratio = math.exp(-1 / self.scale)
        steps = self.scale * math.log(2 / ((1 + ratio) * (1 - checked_level(level, LARGEST_PART))))
        return max(0, math.ceil(steps) - 1)


@dataclass(frozen=True)
class DiscreteGaussian:
    """Pr(z) proportional to exp(-z^2 / (2 scale^2)) on the integers."""

    scale: float
    name = "discrete Gaussian"

    @property
    def variance(self) -> float:
        """scale^2, up to a relative error that vanishes quickly; summed where it does not."""
        if self.scale >= 3:
            return self.scale**2
        masses = self._masses()
        return 2 * sum(k * k * mass for k, mass in enumerate(masses)) / self._norm(masses)

    def half_width(self, level: float) -> int:
        """Summed for small scales; the rounded-up continuous quantile for large ones."""
        checked_level(level, LARGEST_PART)
        if self.scale >= SUMMED_GAUSSIAN_SCALE:
            return math.ceil(self.scale * -NormalDist().inv_cdf((1 - level) / 2))
        masses = self._masses()
        allowed, outside = (1 - level) * self._norm(masses), 0.0
        for k in range(len(masses) - 1, 0, -1):  # from the tail, where a float keeps every digit
            outside += 2 * masses[k]
            if outside > allowed:
                return k
        return 0

    def _masses(self) -> list[float]:
        reach = math.ceil(12 * self.scale) + 2
        return [math.exp(-k * k / (2 * self.scale**2)) for k in range(reach)]

    @staticmethod
    def _norm(masses: Sequence[float]) -> float:
        return masses[0] + 2 * sum(masses[1:])


@dataclass(frozen=True)
class NoNoise:
    """No noise: for experiments with ``epsilon=math.inf``; never private."""

    scale: float = 0.0
    name = "none"
    variance = 0.0

    def half_width(self, level: float) -> int:
        """Nothing is added, so the interval is a point."""
        checked_level(level, LARGEST_PART)
        return 0


@dataclass(frozen=True)
class Charge:
    """One line of a receipt: a statistic, its noise, its cost and where the cost was booked."""

    statistic: str
    mechanism: str
    cost: Cost
    sensitivity: str
    scale: float
    unit: float
    entry: int | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return {
            "statistic": self.statistic,
            "mechanism": self.mechanism,
            "cost": self.cost.to_dict(),
            "sensitivity": self.sensitivity,
            "noise_scale": self.scale / self.unit if self.unit else self.scale,
            "noise_scale_in_grid_steps": self.scale,
            "grid_steps_per_unit": self.unit,
            "ledger_entry": self.entry,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Charge:
        """The charge that ``to_dict`` wrote."""
        return cls(
            statistic=document["statistic"],
            mechanism=document["mechanism"],
            cost=Cost.from_dict(document["cost"]),
            sensitivity=document["sensitivity"],
            scale=document["noise_scale_in_grid_steps"],
            unit=document["grid_steps_per_unit"],
            entry=document["ledger_entry"],
        )


@dataclass(frozen=True)
class Receipt:
    """What was released, under which relation, at what cost, with which noise, and on whose budget.

    ``caveats`` say in words what the guarantee leans on; ``private`` is False when a caveat takes it away.
    """

    neighbours: str
    charges: tuple[Charge, ...]
    private: bool = True
    secure_noise: bool = True
    public: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    ledger: str | None = None
    stated: tuple[Fraction, Fraction] | None = None

    @property
    def cost(self) -> Cost:
        """The sum of the charges, and the (ε, δ) for which their ρ was bought."""
        total = Cost()
        for charge in self.charges:
            total += charge.cost
        return replace(total, stated=self.stated)

    def with_caveat(self, *caveats: str) -> Receipt:
        """The same receipt with more said."""
        return replace(self, caveats=tuple(dict.fromkeys(self.caveats + caveats)))

    @staticmethod
    def joined(receipts: Sequence[Receipt]) -> Receipt:
        """One receipt for several releases of one session."""
        first = receipts[0]
        return Receipt(
            neighbours=first.neighbours,
            charges=tuple(charge for receipt in receipts for charge in receipt.charges),
            private=all(receipt.private for receipt in receipts),
            secure_noise=all(receipt.secure_noise for receipt in receipts),
            public=tuple(dict.fromkeys(fact for receipt in receipts for fact in receipt.public)),
            caveats=tuple(dict.fromkeys(caveat for receipt in receipts for caveat in receipt.caveats)),
            ledger=receipts[-1].ledger,  # what is left after all of them
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "private": self.private,
            "neighbours": self.neighbours,
            "cost": self.cost.to_dict(),
            "secure_noise": self.secure_noise,
            "public": list(self.public),
            "caveats": list(self.caveats),
            "ledger": self.ledger,
            "charges": [charge.to_dict() for charge in self.charges],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Receipt:
        """The receipt that ``to_dict`` wrote."""
        return cls(
            neighbours=document["neighbours"],
            charges=tuple(map(Charge.from_dict, document["charges"])),
            private=document["private"],
            secure_noise=document["secure_noise"],
            public=tuple(document["public"]),
            caveats=tuple(document["caveats"]),
            ledger=document["ledger"],
            stated=Cost.from_dict(document["cost"]).stated,
        )

    def __str__(self) -> str:
        lines = ["PRIVATE" if self.private else "NOT PRIVATE"]
        lines[0] += f" · neighbours {self.neighbours} · {self.cost}"
        for charge in self.charges:
            booked = "" if charge.entry is None else f", ledger entry {charge.entry}"
            lines.append(
                f"  {charge.statistic}: {charge.mechanism}, sensitivity {charge.sensitivity}, "
                f"scale {charge.scale / charge.unit:.6g} (grid {_grid(charge.unit)}), {charge.cost}{booked}"
            )
        lines.append(f"  noise: {'secure' if self.secure_noise else 'seeded, for experiments only'}")
        if self.public:
            lines.append(f"  public: {'; '.join(self.public)}")
        lines.extend(f"  note: {caveat}" for caveat in self.caveats)
        if self.ledger is not None:
            lines.append(f"  ledger: {self.ledger}")
        return "\n".join(lines)


def _grid(unit: float) -> str:
    """A step of the grid: a power of two as such.

    >>> _grid(1), _grid(1048576), _grid(1000)
    ('1', '1/2^20', '1/1000')
    """
    fraction, exponent = math.frexp(unit)
    if unit == 1:
        return "1"
    return f"1/2^{exponent - 1}" if fraction == 0.5 else f"1/{unit:.6g}"


@dataclass(frozen=True)
class NoisyTotal:
    """Noisy integers of one statistic, with the law of the noise in each coordinate.

    ``unit`` grid steps make one unit of the statistic: ``values[i] / unit`` is the answer in units.
    """

    values: tuple[int, ...]
    laws: tuple[Law, ...]
    unit: int
    receipt: Receipt

    def in_units(self) -> list[float]:
        """The noisy values divided by the grid."""
        return [float(Fraction(value, self.unit)) for value in self.values]

    def half_widths(self, level: float) -> list[float]:
        """Half-width of each coordinate's interval, in units."""
        widths = {law: law.half_width(level) / self.unit for law in set(self.laws)}
        return [widths[law] for law in self.laws]


@dataclass(frozen=True)
class Interval:
    """A pair of ends, numbers or nested lists of numbers, that holds the exact answer at ``level``.

    The exact answer is that of the clipped table on its grid, not of a population. ``unit`` says what the
    ends are: the unit of the ``value``, or ``"ranks"``.
    """

    low: Any
    high: Any
    level: float
    unit: str = "value"

    def __iter__(self) -> Any:
        return iter((self.low, self.high))

    def __getitem__(self, index: int) -> Any:
        return (self.low, self.high)[index]


IntervalMaker = Callable[..., Interval]


@dataclass(frozen=True)
class Release:
    """A noisy answer: its value, an interval for the exact one, and its receipt.

    The interval covers the exact answer on the clipped table, not a population.
    """

    value: Any
    receipt: Receipt
    make_interval: IntervalMaker = field(repr=False, compare=False)
    labels: tuple[Any, ...] | None = None
    columns: tuple[str, ...] = ()

    def interval(self, level: float = 0.95, **options: Any) -> Interval:
        """Ends that hold the exact answer on the clipped table with probability at least ``level``."""
        return self.make_interval(checked_level(level), **options)

    def to_dict(self, level: float = 0.95) -> dict[str, object]:
        """Plain values, ready for JSON."""
        low, high = self.interval(level)
        document: dict[str, object] = {"value": to_plain(self.value), "level": level}
        document |= {"interval": to_plain([low, high]), "interval_unit": self.interval(level).unit}
        if self.labels is not None:
            document["labels"] = to_plain(self.labels)
        document["receipt"] = self.receipt.to_dict()
        return document

    def __str__(self) -> str:
        return f"{self.value}\n{self.receipt}"


def to_plain(value: Any) -> Any:
    """What JSON can hold: arrays and tuples become lists, numpy scalars become numbers.

    >>> to_plain({"edges": (0.0, 1.5)})
    {'edges': [0.0, 1.5]}
    """
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): to_plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def checked_level(level: float, largest: float = LARGEST_LEVEL) -> float:
    """A confidence level strictly between 0 and 1."""
    if isinstance(level, bool) or not (isinstance(level, int | float) and 0 < level <= largest):
        raise ParameterError(f"interval: level must lie above 0 and be at most 1 - 1e-9. Got {level}.")
    return float(level)
