"""A private table as users hold it: questions in, releases out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from sordino.cost import Amount, Cost
from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.privacy.ledger import Ledger
from sordino.privacy.session import Session
from sordino.queries.count import CountQuery
from sordino.queries.covariance import covariance_query
from sordino.queries.histogram import Bins, HistogramQuery, HistogramsQuery
from sordino.queries.mean import mean_query
from sordino.queries.quantile import USUAL_CANDIDATES, QuantileQuery, median_query
from sordino.queries.query import Plan, Query
from sordino.queries.sums import SumQuery
from sordino.queries.variance import variance_query
from sordino.release import Release

#: Every query by its name: the method of a table, the first word of ``sordino query`` and of ``plan``.
QUERIES: dict[str, Callable[..., Query]] = {
    "count": CountQuery,
    "sum": SumQuery,
    "mean": mean_query,
    "median": median_query,
    "quantile": QuantileQuery,
    "variance": variance_query,
    "covariance": covariance_query,
    "histogram": HistogramQuery,
    "histograms": HistogramsQuery,
}


def parameters_of(query: str) -> tuple[str, ...]:
    """What a query takes besides the domain; an error when there is no such query."""
    if query not in QUERIES:
        raise ParameterError(f"query: must be one of {', '.join(QUERIES)}. Got {query!r}.")
    _, *takes = signature(QUERIES[query]).parameters
    return tuple(takes)


class PrivateTable:
    """A table behind the gate. Every method pays for its answer and returns a ``Release``.

    ``epsilon`` alone buys discrete Laplace noise (pure privacy); with ``delta`` above zero the same ε buys discrete
    Gaussian noise. ``random_state`` asks for seeded noise: for experiments, and marked as not private.

    >>> import numpy as np, sordino as so
    >>> people = so.open_table(np.array([[30.0], [50.0]]), so.Domain({"age": so.Real(0, 120)}), columns=["age"])
    >>> people.count(epsilon=1.0).receipt.private
    True
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def domain(self) -> Domain:
        """The declared facts."""
        return self.session.domain

    def count(self, *, epsilon: Amount, delta: Amount = 0, random_state: Any = None) -> Release:
        """The number of records."""
        return self.ask("count", epsilon=epsilon, delta=delta, random_state=random_state)

    def sum(
        self, columns: str | Sequence[str], *, epsilon: Amount, delta: Amount = 0, random_state: Any = None
    ) -> Release:
        """The sum of one or several real columns."""
        return self.ask("sum", columns, epsilon=epsilon, delta=delta, random_state=random_state)

    def mean(
        self,
        columns: str | Sequence[str],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        method: str = "auto",
        random_state: Any = None,
    ) -> Release:
        """The mean of one or several real columns: ``direct`` when n is public, else ``sum-and-size``."""
        return self.ask("mean", columns, epsilon=epsilon, delta=delta, random_state=random_state, method=method)

    def median(
        self,
        column: str,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        method: str = "ranks",
        candidates: int = USUAL_CANDIDATES,
        random_state: Any = None,
    ) -> Release:
        """The median of a real column: chosen by ranks among public candidates, or ``direct``."""
        options = {"method": method, "candidates": candidates}
        return self.ask("median", column, epsilon=epsilon, delta=delta, random_state=random_state, **options)

    def quantile(
        self,
        column: str,
        quantile: Amount,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        candidates: int = USUAL_CANDIDATES,
        random_state: Any = None,
    ) -> Release:
        """A quantile of a real column, chosen by ranks among public candidates."""
        options = {"quantile": quantile, "candidates": candidates}
        return self.ask("quantile", column, epsilon=epsilon, delta=delta, random_state=random_state, **options)

    def variance(
        self, column: str, *, epsilon: Amount, delta: Amount = 0, method: str = "auto", random_state: Any = None
    ) -> Release:
        """The variance of a real column (divisor n)."""
        return self.ask("variance", column, epsilon=epsilon, delta=delta, random_state=random_state, method=method)

    def covariance(
        self,
        columns: Sequence[str],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        method: str = "auto",
        random_state: Any = None,
    ) -> Release:
        """The covariance matrix of real columns (divisor n)."""
        return self.ask("covariance", columns, epsilon=epsilon, delta=delta, random_state=random_state, method=method)

    def histogram(
        self,
        columns: str | Sequence[str],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        bins: Bins = None,
        random_state: Any = None,
    ) -> Release:
        """Counts of one column, or of several crossed ones; a real column needs public ``bins``."""
        return self.ask("histogram", columns, epsilon=epsilon, delta=delta, random_state=random_state, bins=bins)

    def histograms(
        self,
        columns: Sequence[str],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        by: str | None = None,
        bins: Bins = None,
        random_state: Any = None,
    ) -> Release:
        """One histogram per column, each crossed with the column ``by`` where one is named."""
        options = {"by": by, "bins": bins}
        return self.ask("histograms", columns, epsilon=epsilon, delta=delta, random_state=random_state, **options)

    def ask(
        self, query: str, *columns: Any, epsilon: Amount, delta: Amount = 0, random_state: Any = None, **options: Any
    ) -> Release:
        """Any query by its name."""
        asked, cost = self._query(query, columns, options), Cost.of(epsilon, delta)
        session = self.session if random_state is None else self.session.seeded(random_state)
        return asked.ask(session, cost)

    def plan(
        self, query: str, *columns: Any, epsilon: Amount, delta: Amount = 0, rows: int | None = None, **options: Any
    ) -> Plan:
        """The noise that a query's release would carry. Reads no row and spends nothing."""
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise ParameterError(f"plan: rows must be a whole number of at least 1. Got {rows!r}.")
        return self._query(query, columns, options).plan(self.session, Cost.of(epsilon, delta), rows)

    def _query(self, query: str, columns: Sequence[Any], options: dict[str, Any]) -> Query:
        takes = parameters_of(query)
        try:
            signature(QUERIES[query]).bind(self.domain, *columns, **options)
        except TypeError as error:  # Python's own words name parameters only
            raise ParameterError(f"{query}: {error}. It takes: {', '.join(takes) or 'nothing'}.") from None
        return QUERIES[query](self.domain, *columns, **options)

    def __repr__(self) -> str:
        return f"PrivateTable({self.session.name!r}, {len(self.domain.columns)} columns, {self.domain.neighbours})"


def open_table(
    data: Any,
    domain: Domain,
    *,
    ledger: Ledger | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
    random_state: Any = None,
) -> PrivateTable:
    """Open a private table: a path, an array with ``columns``, any Arrow frame, or a Spark DataFrame.

    ``name`` is the data set's name for the ledger (by default the file's, or ``table``). Without a ledger every
    receipt says that it is not part of any budget.
    """
    return PrivateTable(
        Session.open(data, domain, ledger=ledger, name=name, columns=columns, random_state=random_state)
    )
