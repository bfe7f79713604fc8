"""A rehearsal of the gate: the real session on made-up records, with its releases recorded, and scripted or observed.

For ``audit/`` alone. In a rehearsal a script decides what every release says, so that the same values can be
handed out on two neighbouring tables: whatever then differs did not pass the gate. An observed session draws the
real noise and writes down the totals behind it. Both are ways round the noise, so they take records that were made
from a domain and nothing else, have no ledger, and every receipt says *not private*.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from sordino.cost import Cost
from sordino.domain import Category, Domain, Real
from sordino.privacy.minimiser import Objective, log_determinant
from sordino.privacy.noise import Noise, SecureNoise
from sordino.privacy.perturbed_minimiser import Minimisation, MinimumPrice, released_weights, rounded_release
from sordino.privacy.price import ChoicePrice, Price
from sordino.privacy.session import Session
from sordino.release import Charge, Law, Receipt
from sordino.statistics.statistic import Record, Statistic
from sordino.table.clipping import Floats
from sordino.table.memory import StreamSource

if TYPE_CHECKING:
    from sordino.engine.feature_blocks import FeatureBlocks

AnyPrice = Price | ChoicePrice | MinimumPrice

#: Weights of a minimiser for which densities are computed: the whole matrix of the curvature is.
_MOST_WEIGHTS = 100

#: From the number of a release, its exact total and the law of its noise: the values to hand out.
Script = Callable[[int, tuple[int, ...], Sequence[Law]], Sequence[int]]


@dataclass(frozen=True)
class Rehearsed:
    """One release as it happened: its price, its exact total and what was handed out.

    The exact total of a minimisation is its minimiser without a linear term; ``log_density``, up to a constant, is that
    of the handed-out weights given the records, where they are few enough.
    """

    price: AnyPrice
    exact_values: tuple[int, ...]
    handed_out: tuple[int, ...]
    log_density: float | None = None


class _RecordedSession(Session):
    """The real gate over made-up records: no ledger, every release kept, every receipt *not private*."""

    def __init__(self, records: Sequence[Record], domain: Domain, noise: Noise) -> None:
        super().__init__(StreamSource(made_table(records, domain)), domain, None, noise)
        self.releases: list[Rehearsed] = []
        self.charged: list[Cost] = []
        self._priced: list[AnyPrice] = []
        self._pending: list[tuple[int, ...]] = []

    def seeded(self, random_state: object) -> Self:
        """A rehearsal is never private, whatever the seed."""
        return self

    def pending(self) -> tuple[int, ...]:
        """The exact total of the next release."""
        return self._pending.pop(0)

    def keep(self, exact_values: tuple[int, ...], handed_out: tuple[int, ...], density: float | None = None) -> None:
        """Write down one release."""
        self.releases.append(Rehearsed(self._priced.pop(0), exact_values, handed_out, density))

    def _minimum(self, priced: MinimumPrice) -> tuple[int, ...]:
        blocks = self._guarded(lambda: self._blocks(priced.minimisation))
        nothing = np.zeros((priced.linear.outputs, priced.linear.features))
        exact_values = rounded_release(self._guarded(lambda: self._solved(priced, blocks, nothing)))
        handed_out = self.minimum_handed_out(priced, blocks, exact_values)
        self.keep(exact_values, handed_out, _log_density(priced, blocks, handed_out))
        return handed_out

    def minimum_handed_out(
        self, priced: MinimumPrice, blocks: FeatureBlocks, exact_values: tuple[int, ...]
    ) -> tuple[int, ...]:
        """What is released of a minimisation: with the real noise, unless a script says otherwise."""
        return self._guarded(lambda: self._released(priced, blocks))

    def _charge(self, prices: Sequence[AnyPrice]) -> Sequence[int | None]:
        entries = super()._charge(prices)
        self.charged.extend(each.cost for each in prices)
        self._priced = list(prices)
        return entries

    def _pass(self, statistics: Sequence[Statistic]) -> list[tuple[int, ...]]:
        self._pending = list(super()._pass(statistics))
        return list(self._pending)

    def _receipt(self, statistic: Statistic | Minimisation, charge: Charge) -> Receipt:
        receipt = super()._receipt(statistic, charge)
        return replace(receipt.with_caveat("a rehearsal on made-up records: not private"), private=False)


class RehearsalSession(_RecordedSession):
    """The real gate with a scripted noise, over a table made of records."""

    def __init__(self, records: Sequence[Record], domain: Domain, script: Script) -> None:
        super().__init__(records, domain, _ScriptedNoise(self))
        self.script = script

    def minimum_handed_out(
        self, priced: MinimumPrice, blocks: FeatureBlocks, exact_values: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The scripted weights."""
        return tuple(self.script(len(self.releases), exact_values, ()))

    def hand_out(self, laws: Sequence[Law]) -> list[int]:
        """The scripted values of the next release, less its exact total."""
        exact_values = self.pending()
        handed_out = tuple(self.script(len(self.releases), exact_values, laws))
        self.keep(exact_values, handed_out)
        return [value - exact for value, exact in zip(handed_out, exact_values, strict=True)]


class ObservedSession(_RecordedSession):
    """The real gate with the real noise, over a table made of records: what it added is seen, not chosen.

    A choice is written down as its index, once per score, so that a script can hand it out again.
    """

    def __init__(self, records: Sequence[Record], domain: Domain, noise: Noise | None = None) -> None:
        super().__init__(records, domain, _ObservedNoise(self, SecureNoise() if noise is None else noise))


class _ScriptedNoise:
    """What a script hands out, as noise."""

    secure = False

    def __init__(self, session: RehearsalSession) -> None:
        self._session = session

    def draw(self, laws: Sequence[Law]) -> list[int]:
        """Scripted values less exact ones."""
        return self._session.hand_out(laws)

    def choose(self, exact_scores: Sequence[int], scale: float, pure: bool) -> int:
        """The scripted index."""
        (drawn, *_) = self._session.hand_out(())
        return (drawn + exact_scores[0]) % len(exact_scores)

    def normals(self, count: int) -> Floats:
        """None is needed: a script says what a minimiser is."""
        return np.zeros(count)

    exponentials = normals


class _ObservedNoise:
    """Noise of the real source, written down as it is drawn."""

    def __init__(self, session: ObservedSession, noise: Noise) -> None:
        self._session, self._noise = session, noise
        self.secure = noise.secure

    def draw(self, laws: Sequence[Law]) -> list[int]:
        """What the source draws."""
        drawn, exact_values = self._noise.draw(laws), self._session.pending()
        self._session.keep(exact_values, tuple(map(operator.add, exact_values, drawn)))
        return drawn

    def choose(self, exact_scores: Sequence[int], scale: float, pure: bool) -> int:
        """What the source chooses."""
        index, exact_values = self._noise.choose(exact_scores, scale, pure), self._session.pending()
        self._session.keep(exact_values, (index,) * len(exact_values))
        return index

    def normals(self, count: int) -> Floats:
        """What the source draws; the session sees the minimiser that comes of it."""
        return self._noise.normals(count)

    def exponentials(self, count: int) -> Floats:
        """What the source draws."""
        return self._noise.exponentials(count)


def _log_density(priced: MinimumPrice, blocks: FeatureBlocks, values: tuple[int, ...]) -> float | None:
    """By change of variables: of the linear term that leads to these weights, and the curvature there."""
    asked = priced.minimisation
    weights = released_weights(values, priced.linear.outputs)
    if weights.size > _MOST_WEIGHTS:
        return None
    term = -Objective(blocks, asked.loss, asked.ridge, np.zeros_like(weights)).gradient(weights)
    return priced.linear.log_density(term) + log_determinant(blocks, asked.loss, asked.ridge, weights)


def made_table(records: Sequence[Record], domain: Domain) -> pa.Table:
    """Records as an Arrow table: floats for real columns, the declared kind for categories."""
    columns: dict[str, pa.Array] = {}
    for name, declared in domain.columns.items():
        cells = [record.get(name) for record in records]
        if isinstance(declared, Real):
            columns[name] = pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
        else:
            columns[name] = _category_column(cells, declared)
    return pa.table(columns)


def _category_column(cells: Sequence[object], declared: Category) -> pa.Array:
    first = declared.values[0]
    if isinstance(first, str):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    return pa.array(cells, pa.bool_() if isinstance(first, bool) else pa.int64())
