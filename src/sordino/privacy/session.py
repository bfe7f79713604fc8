"""The gate: the only place where totals, noise and the ledger meet.

The order is fixed: price, charge (durable), total, noise, release. Whatever fails after the charge, the charge
stands. Callers ask for statistics and get noisy integers with receipts; they never see a row or a total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from sordino.cost import Cost
from sordino.domain import Domain
from sordino.engine.accumulation import Accumulation
from sordino.engine.feature_blocks import FeatureBlocks
from sordino.engine.local import Progress, accumulate
from sordino.engine.spark import accumulate_on_spark
from sordino.errors import BudgetError, ParameterError, PassError, SordinoError
from sordino.privacy.ledger import Ledger
from sordino.privacy.minimiser import Objective, minimise
from sordino.privacy.noise import Noise, SecureNoise, SeededNoise
from sordino.privacy.perturbed_minimiser import (
    IDEALISED,
    RELEASE_STEPS,
    Minimisation,
    MinimumPrice,
    certificate,
    price_minimum,
    rounded_release,
)
from sordino.privacy.price import ChoicePrice, Price, Question, price, price_choice, split
from sordino.release import Charge, NoisyTotal, Receipt
from sordino.statistics.choice import ChoiceScores
from sordino.statistics.statistic import Statistic
from sordino.table.clipping import Floats
from sordino.table.opening import check_domain, open_source
from sordino.table.source import Source
from sordino.table.spark import SparkSource

Found = TypeVar("Found")


def _refuse_other_kinds(domain: Any, ledger: Any) -> None:
    """What stands in the place of a domain or of a ledger must be one."""
    if not isinstance(domain, Domain):
        raise ParameterError(
            f"domain: must be a Domain. Got {type(domain).__name__}. Write so.Domain({{'COLUMN': so.Real(LOW, HIGH)}})."
        )
    if ledger is not None and not isinstance(ledger, Ledger):
        raise ParameterError(
            f"ledger: must be a Ledger. Got {type(ledger).__name__}. Write so.Ledger(epsilon=1), or "
            "so.Ledger.open('FILE', epsilon=1)."
        )


class Session:
    """A private table behind the gate, with its public domain, its ledger and its noise."""

    def __init__(self, source: Source, domain: Domain, ledger: Ledger | None, noise: Noise) -> None:
        self.domain = domain
        self._source = source
        self._ledger = ledger
        self._noise = noise
        self.progress: Progress | None = None

    @classmethod
    def open(
        cls,
        data: Any,
        domain: Domain,
        *,
        ledger: Ledger | None = None,
        name: str | None = None,
        columns: Sequence[str] | None = None,
        random_state: Any = None,
    ) -> Session:
        """Open a table, check it against its domain by stored types alone, and bind its ledger."""
        _refuse_other_kinds(domain, ledger)
        source = open_source(data, columns)
        check_domain(source, domain)
        source.name = name or source.name
        session = cls(source, domain, ledger, SecureNoise())
        if ledger is not None:
            ledger.bind(source.name, domain.neighbours)
        return session if random_state is None else session.seeded(random_state)

    def seeded(self, random_state: Any) -> Session:
        """The same table with seeded noise: for experiments, and refused by a ledger on disk."""
        if self._ledger is not None and self._ledger.on_disk:
            raise BudgetError(
                "random_state: seeded noise is not private, and a ledger on disk is for private releases. "
                "Leave random_state out, or open the table without this ledger."
            )
        other = type(self)(self._source, self.domain, self._ledger, SeededNoise(random_state))
        other.progress = self.progress
        return other

    @property
    def name(self) -> str:
        """The data set's name, by which a ledger knows it."""
        return self._source.name

    @property
    def stored_types(self) -> dict[str, str]:
        """The declared columns in the order of the table, with the names of their stored types where there are any."""
        return {name: kind for name, kind in self._source.stored_types.items() if name in self.domain.columns}

    def price(self, questions: Sequence[Question]) -> list[Price]:
        """What the questions would cost and carry. Reads no row and spends nothing."""
        return [price(question, self.domain.neighbours) for question in questions]

    def price_choice(self, scores: ChoiceScores, cost: Cost) -> ChoicePrice:
        """What a choice would cost and carry. Reads no row and spends nothing."""
        return price_choice(scores, cost, self.domain.neighbours)

    def split(self, cost: Cost, statistics: Sequence[Statistic]) -> list[Cost]:
        """Shares of a cost that minimise the summed variance."""
        return split(cost, statistics, self.domain.neighbours)

    def answer(self, questions: Sequence[Question]) -> list[NoisyTotal]:
        """Noisy totals of several statistics from one pass over the table; each is charged."""
        prices = self.price(questions)
        entries = self._charge(prices)
        totals = self._pass([each.statistic for each in prices])
        return [
            NoisyTotal(
                values=tuple(
                    value + drawn for value, drawn in zip(exact_values, self._noise.draw(each.laws), strict=True)
                ),
                laws=each.laws,
                unit=each.statistic.unit,
                receipt=self._receipt(each.statistic, each.charge(entry)),
            )
            for each, entry, exact_values in zip(prices, entries, totals, strict=True)
        ]

    def choose(self, scores: ChoiceScores, cost: Cost) -> tuple[int, Receipt]:
        """The index of a candidate with a high score, bought with a noisy maximum."""
        (chosen,) = self.choose_each([(scores, cost)])
        return chosen

    def choose_each(self, choices: Sequence[tuple[ChoiceScores, Cost]]) -> list[tuple[int, Receipt]]:
        """Several choices from one pass over the table; each is charged."""
        prices = [self.price_choice(scores, cost) for scores, cost in choices]
        entries = self._charge(prices)
        totals = self._pass([each.scores for each in prices])
        return [
            (
                self._noise.choose(exact_scores, each.scale, each.cost.is_pure),
                self._receipt(each.scores, each.charge(entry)),
            )
            for each, entry, exact_scores in zip(prices, entries, totals, strict=True)
        ]

    def require_room(self, costs: Sequence[Cost]) -> None:
        """Refuse work that pays in several steps before its first one, where the ledger has no room for all of them.

        Not looked at: pure costs of a ledger with δ, whose parts may cost less in its ρ lane than they would together.
        """
        known = [each for each in costs if not each.infinite]
        if self._ledger is not None and (self._ledger.delta == 0 or not any(each.is_pure for each in known)):
            self._ledger.require_room([("a step of the fit", each, {}) for each in known])

    def can_pay_pure(self, cost: Cost) -> bool:
        """Whether the ledger has room for this pure cost in its pure lane, where it is worth most; none: it has."""
        return self._ledger is None or cost.epsilon <= self._ledger.remaining.epsilon

    def orders(self, order: Fraction | None) -> tuple[Fraction, ...]:
        """Rényi orders at which a minimiser's cost must hold: the ledger's, which pays, and that of the cost itself."""
        ledgers = None if self._ledger is None else self._ledger.order
        return tuple(dict.fromkeys(each for each in (ledgers, order) if each is not None))

    def price_minimum(self, minimisation: Minimisation, cost: Cost) -> MinimumPrice:
        """What a minimisation would cost and carry. Reads no row and spends nothing."""
        if isinstance(self._source, SparkSource):
            raise ParameterError(
                "minimiser: it reads the rows again and again on one machine, and this table is on Spark. "
                "Write solver='gradient-descent'."
            )
        return price_minimum(minimisation, cost, self.domain.neighbours, self.orders(minimisation.order))

    def minimise(self, minimisation: Minimisation, cost: Cost) -> NoisyTotal:
        """The perturbed minimiser of a sum over all records: a row of weights per output, one after the other."""
        priced = self.price_minimum(minimisation, cost)
        (entry,) = self._charge([priced])
        values = self._minimum(priced)
        receipt = self._receipt(minimisation, priced.charge(entry)).with_caveat(IDEALISED)
        return NoisyTotal(values, (), RELEASE_STEPS, receipt)

    def _minimum(self, priced: MinimumPrice) -> tuple[int, ...]:
        """Records, noise, minimiser, noise for what the certificate leaves open."""
        return self._guarded(lambda: self._released(priced, self._blocks(priced.minimisation)))

    def _released(self, priced: MinimumPrice, blocks: FeatureBlocks) -> tuple[int, ...]:
        linear = priced.linear.draw(self._noise)
        found = priced.finish.within(self._solved(priced, blocks, linear))
        return rounded_release(found + priced.finish.draw(self._noise))

    def _solved(self, priced: MinimumPrice, blocks: FeatureBlocks, linear: Floats) -> Floats:
        asked = priced.minimisation
        return minimise(Objective(blocks, asked.loss, asked.ridge, linear), certificate(asked.ridge))

    def _blocks(self, asked: Minimisation) -> FeatureBlocks:
        blocks = FeatureBlocks(self._source, self.domain, asked.features, asked.labels)
        blocks.load()
        self._require_declared_rows(blocks)
        return blocks

    def _charge(self, prices: Sequence[Price | ChoicePrice | MinimumPrice]) -> Sequence[int | None]:
        if any(each.cost.infinite for each in prices) and (self._noise.secure or self._ledger is not None):
            raise ParameterError(
                "epsilon: infinity means no noise. It is for experiments: with random_state, and without a ledger."
            )
        if self._ledger is None:
            return [None] * len(prices)
        return self._ledger.charge([(each.charge().statistic, each.cost, each.charge().to_dict()) for each in prices])

    def _pass(self, statistics: Sequence[Statistic]) -> list[tuple[int, ...]]:
        """Exact totals."""
        return self._guarded(lambda: self._totals(statistics))

    def _totals(self, statistics: Sequence[Statistic]) -> list[tuple[int, ...]]:
        accumulation = self._accumulate(statistics)
        self._require_declared_rows(accumulation)
        return [total.exact_values for total in accumulation.totals()]

    @staticmethod
    def _guarded(look: Callable[[], Found]) -> Found:
        """An error of any library is replaced, outside its handler, by one without private values."""
        failed = ""
        try:
            return look()
        except PassError:
            raise
        except SordinoError as error:
            failed = str(error)
        except Exception as error:  # its message may quote a cell: only the type is kept
            failed = f"the pass over the table failed ({type(error).__name__})."
        raise PassError(f"{failed} The charge stands and nothing was released.")

    def _accumulate(self, statistics: Sequence[Statistic]) -> Accumulation:
        if isinstance(self._source, SparkSource):
            return accumulate_on_spark(self._source, self.domain, statistics)
        return accumulate(self._source, self.domain, statistics, progress=self.progress)

    def _require_declared_rows(self, accumulation: Accumulation | FeatureBlocks) -> None:
        if self.domain.rows is not None and accumulation.exact_rows != self.domain.rows:
            raise PassError(
                f"table: the domain declares {self.domain.rows} rows as public, and the table has another number. "
                "The charge stands and nothing was released. Correct rows in the domain."
            )

    def _receipt(self, statistic: Statistic | Minimisation, charge: Charge) -> Receipt:
        caveats, private = self._caveats(statistic.columns), True
        if not self._noise.secure:
            caveats, private = ("seeded noise: not private", *caveats), False
        if self._ledger is None:
            caveats = (*caveats, "not part of any budget")
        rows = () if self.domain.rows is None else (f"{self.domain.rows} rows",)
        return Receipt(
            neighbours=self.domain.neighbours,
            charges=(charge,),
            private=private,
            secure_noise=self._noise.secure,
            public=("the declared domain", *dict.fromkeys((*rows, *statistic.public_facts))),
            caveats=caveats,
            ledger=None if self._ledger is None else str(self._ledger),
        )

    def _caveats(self, columns: Sequence[str]) -> tuple[str, ...]:
        complete = [name for name in columns if self.domain[name].missing == "reject"]
        if not complete:
            return ()
        return (f"the guarantee holds among tables that are complete in {', '.join(complete)} only",)

    def __repr__(self) -> str:
        return f"Session({self.name!r}, {len(self.domain.columns)} columns, neighbours {self.domain.neighbours!r})"
