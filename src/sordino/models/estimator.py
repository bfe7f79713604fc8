"""What every estimator shares: its public facts, the way from a table or from arrays to the gate, and its receipt.

An estimator holds no row. It opens a ``Session`` here, asks it for statistics, and learns from noisy totals alone.
What it learns ends in an underscore and is plain, so that a model is saved as JSON: numbers, text, arrays, lists and
receipts. Errors speak of types, shapes and declared facts, never of a cell or of how many rows there are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sordino.cost import Amount, Cost
from sordino.domain import Category, Column, Domain, Neighbours, Real
from sordino.errors import BudgetError, DomainError, ParameterError
from sordino.models.saved import write_model
from sordino.models.whole_fit import all_or_nothing
from sordino.privacy.session import Session
from sordino.queries.private_table import PrivateTable
from sordino.release import Receipt
from sordino.statistics.own_rows import numbers_of

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: The label column of arrays, which bring no name for it; underscores are added where a feature has it.
_TARGET = "target"

_OBSERVED = "the list of classes was read from the labels: not private"


@dataclass
class Opening:
    """A private table, opened for one fit: the gate, and the public facts that the model may use.

    ``features`` and ``target`` are columns of ``session.domain``; ``classes`` are the declared labels of the target,
    in the order of the domain's codes, and None where there is no class. ``cost`` is what the fit may spend in all.
    """

    session: Session
    features: tuple[str, ...]
    target: str | None
    classes: np.ndarray[Any, Any] | None
    cost: Cost
    caveats: tuple[str, ...] = ()
    not_private: bool = False
    receipts: list[Receipt] = field(default_factory=list)

    @property
    def domain(self) -> Domain:
        """The declared facts."""
        return self.session.domain

    def receipt(self, *caveats: str) -> Receipt:
        """One receipt for all that was released in this fit: append each to ``receipts`` as it comes."""
        joined = Receipt.joined(self.receipts).with_caveat(*self.caveats, *caveats)
        return replace(joined, stated=self.cost.stated, private=joined.private and not self.not_private)


class PrivateEstimator(BaseEstimator):
    """Parameters and behaviour that all estimators have in common.

    ``bounds`` (a pair of numbers or of arrays) or ``domain`` declare what is public about arrays; a private table
    brings its domain along. ``random_state`` asks for seeded noise: for experiments, and marked as not private.
    """

    epsilon: Amount
    delta: Amount
    bounds: Any
    domain: Domain | None
    neighbours: Neighbours
    ledger: Any
    random_state: Any
    receipt_: Receipt
    domain_: Domain
    n_features_in_: int
    feature_names_in_: np.ndarray[Any, Any]

    #: Kinds of column that can be features; others of a table are left out, and the receipt says so.
    feature_kinds: tuple[type, ...] = (Real,)

    def __init_subclass__(cls, **options: Any) -> None:
        """Every fit is whole, whoever writes it: no receipt of one stands beside numbers of another."""
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit = all_or_nothing(vars(cls)["fit"])

    @property
    def needs_target(self) -> bool:
        """Whether ``fit`` needs a target."""
        return False

    @property
    def learns_classes(self) -> bool:
        """Whether that target is a class."""
        return False

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as plain JSON, which ``sordino.load`` reads back."""
        write_model(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.needs_target
        tags.input_tags.allow_nan = True  # a missing cell follows the domain's rule, in test rows too
        tags.input_tags.string = True  # a cell that is no number is a missing cell
        tags.non_deterministic = getattr(self, "random_state", None) is None
        return tags

    def _test_rows(self, X: Any) -> Floats:
        """Test rows as numbers, NaN where a column is left out. They are the caller's: nothing is protected here."""
        rows = self._test_matrix(X)
        return numbers_of(type(self).__name__, self.domain_, rows)

    def _test_matrix(self, X: Any) -> np.ndarray[Any, Any]:
        """Test rows as they are stored, with the features of the fit."""
        check_is_fitted(self, "receipt_")  # the last thing that a fit learns
        return self._checked_matrix(X, reset=False)

    def _open(self, X: Any, y: Any = None) -> Opening:
        """The gate for one fit, from a private table and the name of its target, or from arrays."""
        cost = Cost.of(self.epsilon, self.delta)
        opening = self._open_table(X, y, cost) if isinstance(X, PrivateTable) else self._open_arrays(X, y, cost)
        self.domain_ = Domain({name: opening.domain[name] for name in opening.features})
        return opening

    def _open_table(self, table: PrivateTable, target: Any, cost: Cost) -> Opening:
        who = type(self).__name__
        for name in ("bounds", "domain", "classes", "ledger"):
            if getattr(self, name, None) is not None:
                raise ParameterError(f"{who}: a private table brings its own {name}. Leave {name} out.")
        if self.needs_target and not isinstance(target, str):
            raise ParameterError(f"{who}: name the target column. Write fit(table, 'COLUMN').")
        domain = table.domain
        self._refuse_other_neighbours(domain)
        declared = None if target is None else domain[target]
        if declared is not None:
            self._refuse_target(target, declared)
        features = tuple(
            name for name, column in domain.columns.items() if name != target and isinstance(column, self.feature_kinds)
        )
        if not features:
            kinds = " or ".join(kind.__name__ for kind in self.feature_kinds)
            raise DomainError(f"{who}: needs at least one {kinds} column beside the target. The table declares none.")
        left_out = [name for name in domain.columns if name != target and name not in features]
        session = table.session if self.random_state is None else table.session.seeded(self.random_state)
        self.n_features_in_ = len(features)
        self.feature_names_in_ = np.array(features, dtype=object)
        return Opening(
            session,
            features,
            target,
            np.array(declared.values) if isinstance(declared, Category) else None,
            cost,
            (f"not used: {', '.join(left_out)}",) if left_out else (),
        )

    def _refuse_other_neighbours(self, domain: Domain) -> None:
        """A domain says who its neighbours are; nothing would keep the promise of another relation beside it."""
        if self.neighbours not in ("add-remove", domain.neighbours):
            raise ParameterError(
                f"{type(self).__name__}: the domain has neighbours {domain.neighbours!r}. Got {self.neighbours!r}. "
                "Leave neighbours out, or declare them in the domain."
            )

    def _refuse_target(self, name: str, declared: Column) -> None:
        if self.learns_classes and not isinstance(declared, Category):
            who = type(self).__name__
            raise DomainError(f"{who}: the target must be a Category. Got {name!r}, a Real; cut it at public edges.")

    def _open_arrays(self, X: Any, y: Any, cost: Cost) -> Opening:
        values, labels = self._checked_shapes(X, y)
        names = self._names_of(values)
        if labels is not None and self._observes():
            check_classification_targets(labels)  # its words are about values, which are not protected here
            if getattr(self.ledger, "on_disk", False):
                raise BudgetError(
                    f"{type(self).__name__}: classes='observed' is not private, and a ledger on disk is for private "
                    "releases. Write classes=['first', 'second'], or leave the ledger out."
                )
        domain, target = self._declared(names, labels)
        session = Session.open(
            (values, None if target is None else labels),
            domain,
            ledger=self.ledger,
            columns=names if target is None else (*names, target),
            random_state=self.random_state,
        )
        declared = None if target is None else domain[target]
        classes = None
        if self.learns_classes and isinstance(declared, Category):
            observed = labels is not None and self._observes()
            classes = np.unique(labels) if observed and labels is not None else np.array(declared.values)
        caveats = (_OBSERVED,) if self._observes() else ()
        return Opening(session, names, target, classes, cost, caveats, not_private=self._observes())

    def _observes(self) -> bool:
        classes = getattr(self, "classes", None)
        return isinstance(classes, str) and classes == "observed"

    def _checked_shapes(self, X: Any, y: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
        """A matrix and a vector as they are stored; whatever is refused is refused for its type or shape alone."""
        who = type(self).__name__
        if self.domain is not None and not isinstance(self.domain, Domain):
            raise ParameterError(f"{who}: domain must be a Domain, or None. Got {type(self.domain).__name__}.")
        values = self._checked_matrix(X, reset=True)
        if not self.needs_target:
            return values, None
        if y is None:
            raise ParameterError(f"{who}: requires y to be passed, but the target y is None.")
        labels = np.asarray(y) if self._observes() else _label_vector(who, y)
        if labels.dtype.kind == "c":
            raise ParameterError(f"{who}: Complex data not supported. Give labels that are numbers or text.")
        if labels.ndim != 1 and not (labels.ndim == 2 and labels.shape[1] == 1):
            raise ParameterError(f"{who}: y should be a 1d array. Got {labels.ndim} dimensions. Give a label per row.")
        labels = column_or_1d(labels, warn=True)  # whatever it refuses, quoting cells or rows, was refused above
        if len(labels) != len(values):
            raise ParameterError(f"{who}: X and y must have the same number of rows.")
        return values, labels

    def _checked_matrix(self, X: Any, *, reset: bool) -> np.ndarray[Any, Any]:
        """A matrix as it is stored; ``reset`` learns the number of features and their names, else they must agree."""
        who = type(self).__name__
        if hasattr(X, "toarray"):
            raise ParameterError(f"{who}: sparse data is not supported. Give a dense array or a private table.")
        chosen = X if reset else _only_features(self, X)
        values = _as_stored(who, chosen)
        if values.dtype.kind == "c":
            raise ParameterError(f"{who}: Complex data not supported. Give real numbers.")
        if values.ndim != 2:
            raise ParameterError(f"{who}: expected a 2D array. Got {values.ndim} dimensions. Reshape your data.")
        if values.shape[1] == 0:
            raise ParameterError(f"{who}: 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
        validate_data(self, chosen, reset=reset, skip_check_array=True)
        return values

    def _names_of(self, values: np.ndarray[Any, Any]) -> tuple[str, ...]:
        """Names of a frame's columns; those of the domain, in order; else x0, x1 and so on."""
        if hasattr(self, "feature_names_in_"):
            return tuple(map(str, self.feature_names_in_))
        if self.domain is not None:
            return tuple(self.domain.columns)[: values.shape[1]]
        return tuple(f"x{place}" for place in range(values.shape[1]))

    def _declared(self, names: Sequence[str], labels: np.ndarray[Any, Any] | None) -> tuple[Domain, str | None]:
        """The public facts about arrays, and the name of the label column."""
        features = self._declared_features(names)
        neighbours = self.neighbours if self.domain is None else self.domain.neighbours
        rows = None if self.domain is None else self.domain.rows
        if not self.needs_target:
            return Domain(features, neighbours=neighbours, rows=rows), None
        target, column = self._declared_target(names, labels)
        return Domain({**features, target: column}, neighbours=neighbours, rows=rows), target

    def _declared_features(self, names: Sequence[str]) -> dict[str, Column]:
        if self.domain is not None:
            if self.bounds is not None:
                raise ParameterError(f"{type(self).__name__}: give bounds or a domain, not both.")
            self._refuse_other_neighbours(self.domain)
            for name in names:
                if not isinstance(self.domain[name], self.feature_kinds):
                    kinds = " or a ".join(kind.__name__ for kind in self.feature_kinds)
                    raise DomainError(f"{type(self).__name__}: column {name!r} must be a {kinds}. Leave it out of X.")
            return {name: self.domain[name] for name in names}
        if self.bounds is None:
            raise DomainError(
                f"{type(self).__name__}: no bounds are declared for column {names[0]!r}. Values are never peeked at: "
                f"write bounds=(LOW, HIGH), or domain=so.Domain({{{names[0]!r}: so.Real(LOW, HIGH), …}})."
            )
        return dict(zip(names, map(self._interval, names, *self._bound_pairs(len(names))), strict=True))

    def _bound_pairs(self, number: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        problem = ""
        try:
            low, high = self.bounds
            return np.broadcast_to(np.asarray(low, float), (number,)), np.broadcast_to(np.asarray(high, float), number)
        except (TypeError, ValueError) as error:
            problem = type(error).__name__
        raise ParameterError(
            f"{type(self).__name__}: bounds must be a pair (LOW, HIGH) of numbers, or of arrays with one number "
            f"for each of the {number} columns ({problem})."
        )

    def _interval(self, name: str, low: float, high: float) -> Real:
        try:
            return Real(float(low), float(high))
        except DomainError as error:
            raise DomainError(f"{type(self).__name__}: bounds of column {name!r}: {error}") from None

    def _declared_target(self, names: Sequence[str], labels: np.ndarray[Any, Any] | None) -> tuple[str, Column]:
        """The label column: the domain's own where it declares one column more than the features, else ``classes``."""
        if self.domain is not None and getattr(self, "classes", None) is None:
            others = [name for name in self.domain.columns if name not in names]
            if len(others) == 1:
                self._refuse_target(others[0], self.domain[others[0]])
                return others[0], self.domain[others[0]]
        target = _TARGET
        while target in names:
            target += "_"
        return target, self._target_column(labels)

    def _target_column(self, labels: np.ndarray[Any, Any] | None) -> Column:
        """What is public about the labels of arrays: the list of classes, unless an estimator says otherwise."""
        who = type(self).__name__
        classes = getattr(self, "classes", None)
        if classes is None:
            raise DomainError(
                f"{who}: no classes are declared for the target. Labels are never peeked at: write "
                "classes=['first', 'second']; for an experiment, classes='observed', which is not private."
            )
        listed = np.unique(labels).tolist() if self._observes() and labels is not None else _listed(who, classes)
        try:
            return Category([_whole(value) for value in listed])
        except DomainError as error:  # its words are about the list, which is public
            raise DomainError(f"{who}: classes: {error}") from None


def _as_stored(who: str, cells: Any) -> np.ndarray[Any, Any]:
    """An array of the type that the cells are stored in. Those of a list have none, and are objects.

    numpy would find a type for a list from all of its cells: one record could change how every other is read.
    """
    failed = ""
    try:
        if isinstance(cells, np.ma.MaskedArray):
            objects = np.array(cells.data, dtype=object)
            objects[np.ma.getmaskarray(cells)] = None  # a masked cell is a missing one
            return objects
        return np.asarray(cells) if hasattr(cells, "__array__") else np.asarray(cells, dtype=object)
    except Exception as error:  # its words may tell of shapes or quote a cell
        failed = type(error).__name__
    raise ParameterError(f"{who}: the rows cannot be read as an array ({failed}). Give a numpy array or a frame.")


def _label_vector(who: str, labels: Any) -> np.ndarray[Any, Any]:
    """Labels as they are stored; those of a list one by one, for numpy would find a shape from all of them."""
    if hasattr(labels, "__array__") or not isinstance(labels, list | tuple):
        return _as_stored(who, labels)
    vector = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):
        vector[place] = label[0] if isinstance(label, list | tuple) and len(label) == 1 else label
    return vector


def _only_features(estimator: PrivateEstimator, X: Any) -> Any:
    """The features of a frame that has more columns, such as the target."""
    names = list(getattr(estimator, "feature_names_in_", []))
    columns = list(getattr(X, "column_names", getattr(X, "columns", [])))  # an Arrow table's, or another frame's
    if not names or len(columns) <= len(names) or any(name not in columns for name in names):
        return X
    return X.select(names) if hasattr(X, "select") else X[names]


def _listed(who: str, classes: Any) -> list[Any]:
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        raise ParameterError(f"{who}: classes must be a list of labels, or 'observed'. Got {classes!r}.")
    return [value.item() if hasattr(value, "item") else value for value in classes]


def _whole(value: Any) -> Any:
    """A float that is a whole number as an integer: labels of arrays are often stored as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
