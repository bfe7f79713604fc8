"""Synthetic rows in the original columns and types: noisy marginals, a latent Gaussian dependence, a few tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from sordino.cost import Amount, Cost
from sordino.domain import Category, Column, Domain, Neighbours, Real
from sordino.errors import ParameterError
from sordino.models.checks import check_whole
from sordino.models.estimator import Opening, PrivateEstimator
from sordino.privacy.session import Session
from sordino.queries.private_table import PrivateTable
from sordino.synthesis.cells import leaning
from sordino.synthesis.fitting import learn
from sordino.synthesis.learned import Learned, Rows
from sordino.synthesis.measurement import Measurement
from sordino.synthesis.storage import is_whole, stored, stored_type

#: On what synthetic rows lean beside the domain, where a table has types of its own.
_TYPES = "the types in which the columns are stored"

#: Rows of one batch.
_BATCH = 65_536


class TableSynthesizer(PrivateEstimator):
    """Learns a table privately, and draws synthetic rows with its columns, bounds, categories and types.

    ``target`` names a column whose relation to all others matters most: its values, or groups of them, become classes
    with distributions of their own where the budget allows. A cell is missing only where the domain lets it be and some
    are. Nothing that is drawn costs anything.

    >>> import numpy as np, sordino as so
    >>> domain = so.Domain({"age": so.Real(0, 120, integer=True), "ill": so.Category([0, 1])})
    >>> people = so.open_table(np.array([[30.0, 0.0], [80.0, 1.0]] * 500), domain, columns=["age", "ill"])
    >>> fake = TableSynthesizer(epsilon=1.0, target="ill", random_state=0).fit(people).sample(3)
    >>> fake.column_names, fake.num_rows
    (['age', 'ill'], 3)
    """

    feature_kinds = (Real, Category)
    _rows: Rows | None

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        target: str | None = None,
        bounds: Any = None,
        domain: Domain | None = None,
        neighbours: Neighbours = "add-remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target = target
        self.bounds = bounds
        self.domain = domain
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TableSynthesizer:
        """Learn from a private table; from a frame with a ``domain``; or from an array with ``bounds``.

        With a private table ``y`` may name the target, as for every estimator; with arrays it is not used.
        """
        opening = self._opened(X)
        types = opening.session.stored_types
        columns = _columns(opening.domain, types)
        measurement = Measurement(opening.session, columns, opening.cost)
        target = self.target if y is None or not isinstance(X, PrivateTable) else y
        if target is not None:
            opening.domain[target]  # an error that says which columns there are
        opening.session.require_room([opening.cost])
        learned = learn(measurement, target)
        opening.receipts.extend(measurement.receipts)
        self.domain_ = opening.domain
        self.stored_types_ = types
        self.released_ = learned.to_dict()
        self.rows_ = learned.rows
        self.target_ = target
        receipt = opening.receipt(*_words(learned, target))
        self.receipt_ = replace(receipt, public=(*receipt.public, *((_TYPES,) if any(types.values()) else ())))
        self._rows = None
        return self

    def sample(self, n: int | None = None, random_state: Any = 0) -> pa.Table:
        """Synthetic rows as an Arrow table; by default as many as were counted. The seed is public."""
        batches = list(self.batches(n, random_state))
        return pa.Table.from_batches(batches, schema=self._schema())

    def batches(self, n: int | None = None, random_state: Any = 0) -> Iterator[pa.RecordBatch]:
        """The rows of ``sample``, a batch at a time, however many they are."""
        left, generator = self._wished(n), np.random.default_rng(random_state)
        rows, learned, schema = self._drawn_rows(), self._learned(), self._schema()
        while left:
            size = min(left, _BATCH)
            left -= size
            values = _values(learned, rows, size, generator)
            yield pa.RecordBatch.from_arrays(
                [stored(values[field.name], self.domain_[field.name], field.type) for field in schema], schema=schema
            )

    def _opened(self, X: Any) -> Opening:
        if not hasattr(X, "__arrow_c_stream__") or self.domain is None:
            return self._open(X)
        if self.bounds is not None:
            raise ParameterError("TableSynthesizer: give bounds or a domain, not both.")
        session = Session.open(X, self.domain, ledger=self.ledger, random_state=self.random_state)
        names = tuple(self.domain.columns)
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        return Opening(session, names, None, None, Cost.of(self.epsilon, self.delta))

    def _wished(self, n: int | None) -> int:
        check_is_fitted(self)
        if n is None:
            return round(self.rows_)
        check_whole("sample: n", n, 0)
        return int(n)

    def _schema(self) -> pa.Schema:
        return pa.schema([(name, stored_type(self.domain_[name], kind)) for name, kind in self.stored_types_.items()])

    def _learned(self) -> Learned:
        return Learned.from_dict(self.released_, _columns(self.domain_, self.stored_types_))

    def _drawn_rows(self) -> Rows:
        """Made once, since the weights of a pool take a while."""
        rows: Rows | None = getattr(self, "_rows", None)
        if rows is None:
            rows = self._rows = Rows(self._learned())
        return rows


def _columns(domain: Domain, types: Mapping[str, str]) -> dict[str, Column]:
    """The declared columns in the order of the table; a number that is stored as a whole one is whole."""
    declared = {name: domain[name] for name in types}
    return {
        name: replace(column, integer=True) if isinstance(column, Real) and is_whole(types[name]) else column
        for name, column in declared.items()
    }


def _values(learned: Learned, rows: Rows, size: int, generator: np.random.Generator) -> dict[str, np.ndarray[Any, Any]]:
    """Cells drawn from the model, and from each cell a value."""
    classes, codes, within = rows.draw(size, generator)
    values = {}
    for place, (cells, margin) in enumerate(zip(learned.columns, learned.copula.margins, strict=True)):
        leans = cells.leans(margin)[classes, codes[:, place]]
        values[cells.column] = cells.draw(codes[:, place], leaning(within[:, place], leans))
    if learned.target is not None:
        cells = learned.target.cells
        values[cells.column] = cells.draw(learned.target.draw(classes, generator), generator.random(size))
    return values


def _words(learned: Learned, target: str | None) -> tuple[str, ...]:
    """What a reader of the receipt should know of the model."""
    alone = np.array_equal(learned.copula.correlation, np.eye(len(learned.columns)))
    beside = "columns drawn apart" if alone else "the latent dependence"
    words = [f"{len(learned.tables)} tables of two columns beside {beside}"]
    if target is not None:
        how = (
            "one model for each class of it"
            if learned.target is not None
            else "no model per class, for noise would drown it"
        )
        words.append(f"target {target}: {how}")
    return tuple(words)
