"""What a release costs: pure ε, or ρ of zero-concentrated differential privacy; in exact fractions.

Amounts are exact: ``0.1`` means one tenth, not the nearest binary float, so ten releases of 0.1 fit into 1.0.
Conversions between (ε, δ) and ρ use the optimal-order bound of Canonne, Kamath and Steinke (2020),
Corollary 13, and always round towards more privacy. Law and proof: ``docs/proofs/composition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sordino.errors import ParameterError

Amount = int | float | str | Decimal | Fraction

#: What a user may spend lies within this factor of one, so that every float made of it is ordinary.
LARGEST_AMOUNT = 10**300

#: Slack, in log δ, that covers the rounding of every float in the conversion several times over.
LOG_DELTA_SLACK = 1e-9


@dataclass(frozen=True)
class Cost:
    """The price of one release: pure ``epsilon``, or ``rho``; the other one is zero.

    ``infinite`` marks a release without noise: for experiments, and never charged to a ledger.
    ``stated`` remembers the (ε, δ) from which a ρ was made, for receipts. ``order`` is given where the ρ is that of one
    Rényi order alone: the one at which the ledger that pays converts, or else the one at which the (ε, δ) was made.

    >>> Cost.pure(0.1).as_rho
    Fraction(1, 200)
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    infinite: bool = False
    stated: tuple[Fraction, Fraction] | None = None
    order: Fraction | None = None

    @classmethod
    def pure(cls, epsilon: Amount) -> Cost:
        """Pure ε, or no noise at all for ``math.inf``."""
        if isinstance(epsilon, float) and epsilon == math.inf:
            return cls(infinite=True)
        return cls(epsilon=positive("epsilon", epsilon))

    @classmethod
    def concentrated(cls, rho: Amount) -> Cost:
        """ρ of zero-concentrated differential privacy."""
        return cls(rho=positive("rho", rho))

    @classmethod
    def of(cls, epsilon: Amount, delta: Amount = 0) -> Cost:
        """What a user's (ε, δ) buys: pure ε when δ is 0, else the largest ρ that implies (ε, δ)."""
        exact_delta = probability("delta", delta)
        cost = cls.pure(epsilon)
        for name, amount in (("epsilon", cost.epsilon), ("delta", exact_delta)):
            if amount and not 1 <= amount * LARGEST_AMOUNT <= LARGEST_AMOUNT**2:
                raise ParameterError(f"{name}: must be at least 1e-300 and at most 1e300 in size.")
        if exact_delta == 0 or cost.infinite:
            return cost
        rho = rho_within(cost.epsilon, exact_delta)
        return cls(rho=rho, stated=(cost.epsilon, exact_delta))

    @property
    def is_pure(self) -> bool:
        """Whether the release is paid in pure ε."""
        return self.rho == 0

    @property
    def as_rho(self) -> Fraction:
        """What the release costs in a ρ lane: ε²/2 for a pure one (Bun and Steinke 2016, Proposition 1.4)."""
        return self.epsilon * self.epsilon / 2 + self.rho

    def share(self, part: Fraction) -> Cost:
        """A part of this cost; parts that add up to one cost the whole."""
        if not 0 < part <= 1:
            raise ParameterError(f"Cost: a share lies between 0 and 1. Got {part}.")
        return Cost(epsilon=self.epsilon * part, rho=self.rho * part, infinite=self.infinite, order=self.order)

    def within(self, limit: Cost) -> bool:
        """Whether this costs no more than ``limit``: lane by lane, or as (ε, δ) where the limit was stated so.

        A ρ of one order is converted at that order, and no better one.

        >>> (Cost.pure("0.4") + Cost.of("0.6", 1e-6)).within(Cost.of(1, 1e-6))
        True
        """
        if limit.infinite or self.infinite:
            return limit.infinite
        one_order = self.rho > 0 and self.order not in (None, limit.order)
        if self.epsilon <= limit.epsilon and self.rho <= limit.rho and not one_order:
            return True
        if limit.stated is None:
            return False
        left, delta = limit.stated[0] - self.epsilon, limit.stated[1]
        if self.rho == 0 or left <= 0:
            return self.rho == 0 and left >= 0
        if self.order is None:
            return self.rho <= rho_within(left, delta)
        return _log_delta_at(float(self.order), float(self.rho), float(left)) <= math.log(delta)

    def __add__(self, other: Cost) -> Cost:
        orders = {each for each in (self.order, other.order) if each is not None}
        if len(orders) > 1:
            raise ParameterError("Cost: a rho of one order does not add to that of another. Price both at one order.")
        order = next(iter(orders), None)
        return Cost(self.epsilon + other.epsilon, self.rho + other.rho, self.infinite or other.infinite, order=order)

    def __str__(self) -> str:
        if self.infinite:
            return "no privacy (epsilon infinite)"
        amounts = [
            f"{name}={readable(value)}" for name, value in (("epsilon", self.epsilon), ("rho", self.rho)) if value
        ]
        if self.order:
            amounts.append(f"at order {readable(self.order)}")
        if self.stated:
            amounts.append(f"for epsilon={readable(self.stated[0])}, delta={readable(self.stated[1])}")
        return " ".join(amounts) or "nothing"

    def to_dict(self) -> dict[str, object]:
        """Plain values; exact fractions as text beside their floats."""
        document: dict[str, object] = {
            "epsilon": math.inf if self.infinite else float(self.epsilon),
            "rho": float(self.rho),
            "exact": {"epsilon": str(self.epsilon), "rho": str(self.rho)},
        }
        if self.infinite:
            document["epsilon"] = "infinite"
        if self.stated:
            document["stated"] = {"epsilon": float(self.stated[0]), "delta": float(self.stated[1])}
        if self.order:
            document["order"] = float(self.order)
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Cost:
        """The cost that ``to_dict`` wrote.

        >>> Cost.from_dict(Cost.of(1, 1e-6).to_dict()) == Cost.of(1, 1e-6)
        True
        """
        amounts, stated = document["exact"], document.get("stated")
        return cls(
            Fraction(amounts["epsilon"]),
            Fraction(amounts["rho"]),
            document["epsilon"] == "infinite",
            None if stated is None else (exact("epsilon", stated["epsilon"]), exact("delta", stated["delta"])),
            Fraction(document["order"]) if "order" in document else None,
        )


def exact(name: str, value: Amount) -> Fraction:
    """The exact fraction a person meant: a float by its shortest decimal form.

    >>> exact("epsilon", 0.1)
    Fraction(1, 10)
    """
    item = getattr(value, "item", None)
    plain = item() if callable(item) and getattr(value, "shape", ()) == () else value  # one number of numpy
    if isinstance(plain, bool) or not isinstance(plain, int | float | str | Decimal | Fraction):
        raise ParameterError(f"{name}: must be a number. Got {type(value).__name__}.")
    try:
        return Fraction(repr(plain)) if isinstance(plain, float) else Fraction(plain)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ParameterError(f"{name}: must be a finite number. Got {plain!r}.") from None


def positive(name: str, value: Amount) -> Fraction:
    """An exact fraction above zero."""
    amount = exact(name, value)
    if amount <= 0:
        raise ParameterError(f"{name}: must be above 0. Got {value}.")
    return amount


def probability(name: str, value: Amount) -> Fraction:
    """An exact fraction in [0, 1)."""
    amount = exact(name, value)
    if not 0 <= amount < 1:
        raise ParameterError(f"{name}: must lie in [0, 1). Got {value}.")
    return amount


def readable(value: Fraction) -> str:
    """A fraction as a short decimal."""
    return f"{float(value):.6g}"


def up_to_float(value: Fraction) -> float:
    """The smallest float that is not below the fraction: noise scales are rounded up. Infinite beyond all floats."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def order_of(rho: float, epsilon: float) -> Fraction | None:
    """The Rényi order at which ρ is turned into (ε, δ); None where there is no ρ.

    >>> round(float(order_of(0.03, 1.0) or 0))
    18
    """
    return Fraction(_best_order(rho, epsilon)) if rho > 0 else None


def delta_of(rho: float, epsilon: float) -> float:
    """A δ for which ρ-zCDP implies (ε, δ): the bound at a nearly optimal order, valid at any order."""
    return math.exp(min(0.0, _log_delta(rho, epsilon)))


def epsilon_of(rho: Amount, delta: Amount) -> float:
    """The smallest ε, rounded up, for which ρ-zCDP implies (ε, δ)."""
    exact_rho, log_delta = float(positive("rho", rho)), math.log(positive("delta", delta)) - LOG_DELTA_SLACK
    low, high = 0.0, exact_rho + 2 * math.sqrt(-exact_rho * log_delta) + 1e-9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if _log_delta(exact_rho, middle) <= log_delta else (middle, high)
    return high


@lru_cache(maxsize=1024)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ, rounded down to 12 digits, for which ρ-zCDP implies (ε, δ)."""
    target, goal = float(epsilon), math.log(delta) - LOG_DELTA_SLACK
    low, high = 0.0, target + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _log_delta(middle, target) <= goal else (low, middle)
    rounded = Context(prec=12, rounding=ROUND_DOWN).create_decimal(Decimal(low))
    if rounded <= 0:
        raise ParameterError(f"delta: too small to buy any noise at epsilon={readable(epsilon)}. Got {float(delta):g}.")
    return Fraction(rounded)


def _log_delta(rho: float, epsilon: float) -> float:
    """min over orders a > 1 of (a-1)(a rho - epsilon) - log(a-1) + a log(1-1/a)."""
    if rho <= 0:
        return -math.inf
    return _log_delta_at(_best_order(rho, epsilon), rho, epsilon)


def _log_delta_at(order: float, rho: float, epsilon: float) -> float:
    return (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)


def _best_order(rho: float, epsilon: float) -> float:
    """By bisection on the slope of that exponent, which rises."""
    low, high = 1.0 + 1e-12, max(2.0, (epsilon + 1) / rho + 2)
    for _ in range(120):
        order = (low + high) / 2
        slope = (2 * order - 1) * rho - epsilon + math.log1p(-1 / order)
        low, high = (order, high) if slope < 0 else (low, order)
    return (low + high) / 2
