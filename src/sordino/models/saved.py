"""Models as plain JSON: parameters, what was learned, and the receipt. Never pickle: loading a file runs nothing in it.

What is learned ends in an underscore and is made of numbers, text, lists, mappings, arrays, fractions, domains and
receipts. A ledger and a random state are not part of a model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sordino.domain import Domain
from sordino.errors import ModelError, file_problem
from sordino.release import Receipt
from sordino.whole_file import write_whole

#: Every estimator that can be loaded, and the module it is in.
ESTIMATORS: dict[str, str] = {
    "GaussianBayes": "sordino.models.gaussian_bayes",
    "GaussianMixture": "sordino.models.gaussian_mixture",
    "GradientEM": "sordino.models.gradient_em",
    "LargeMarginMixture": "sordino.models.large_margin_mixture",
    "NaiveBayes": "sordino.models.naive_bayes",
    "PrivateClassifier": "sordino.models.private_classifier",
    "ThresholdRule": "sordino.models.threshold_rule",
    "RONGauss": "sordino.synthesis.ron_gauss",
    "TableSynthesizer": "sordino.synthesis.table_synthesizer",
}

_FORMAT = "sordino model"
_VERSION = 1
_NOT_SAVED = ("ledger", "random_state")

#: Kinds of array that are written: floats, whole numbers, truth values, text, and objects of these.
_ARRAY_KINDS = "fiubUO"


def write_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; a file that was there is replaced whole or not at all, and a ledger never."""
    write_whole(Path(path), json.dumps(document_of(estimator), indent=1, allow_nan=False))


def document_of(estimator: Any) -> dict[str, Any]:
    """A fitted estimator as plain values."""
    learned = {
        name: value
        for name, value in sorted(vars(estimator).items())
        if name.endswith("_") and not name.startswith("_")
    }
    if "receipt_" not in learned:
        raise ModelError(f"save: {type(estimator).__name__} is not fitted. Call fit first.")
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name not in _NOT_SAVED}
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "estimator": type(estimator).__name__,
        "parameters": {name: _encoded(value) for name, value in parameters.items()},
        "learned": {name: _encoded(value) for name, value in learned.items()},
    }


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file that ``save`` wrote: the same predictions, and its receipt."""
    return restored(_document(path), os.fspath(path))


def restored(document: Mapping[str, Any], path: str = "the document") -> Any:
    """The model that ``document_of`` made plain; ``path`` says in an error where it came from."""
    name = document.get("estimator")
    if name not in ESTIMATORS:
        raise ModelError(f"load: {path!r} holds a model that is not known here. Got {name!r}.")
    problem = ""
    try:
        kind = getattr(import_module(ESTIMATORS[name]), name)
        estimator = kind(**{key: _decoded(value) for key, value in document["parameters"].items()})
        for key, value in document["learned"].items():
            if not key.isidentifier() or key.startswith("_") or not key.endswith("_"):
                raise ValueError(key)
            setattr(estimator, key, _decoded(value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = type(error).__name__
    if problem:
        raise ModelError(f"load: {path!r} is damaged ({problem}). Save the model again.")
    return estimator


def _document(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    document, problem = None, ""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problem = file_problem(error)
    if problem:
        raise ModelError(f"load: {os.fspath(path)!r} cannot be read as JSON ({problem}). Give what save or fit wrote.")
    if not isinstance(document, dict) or document.get("format") != _FORMAT or document.get("version") != _VERSION:
        raise ModelError(f"load: {os.fspath(path)!r} is not a model of version {_VERSION}.")
    return document


def _encoded(value: Any) -> Any:
    """A value as JSON holds it; whatever JSON lacks becomes an object with one key that says what it is."""
    if isinstance(value, np.generic):
        return _encoded(value.item())
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [_encoded(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_encoded(each) for each in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_encoded(key), _encoded(each)] for key, each in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS:
        cells = [_encoded(each) for each in value.ravel().tolist()]
        return {"array": cells, "shape": list(value.shape), "dtype": value.dtype.str}
    for word, kind, encode, _ in _KINDS:
        if isinstance(value, kind):
            return {word: encode(value)}
    raise ModelError(f"save: a model cannot hold a {type(value).__name__}.")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    word = next(iter(value))
    if word == "float":
        return float(value[word])
    if word == "tuple":
        return tuple(_decoded(each) for each in value[word])
    if word == "mapping":
        return {_decoded(key): _decoded(each) for key, each in value[word]}
    if word == "array":
        return _decoded_array(value)
    return next(decode for known, _, _, decode in _KINDS if known == word)(value[word])


def _decoded_array(value: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    stored = np.dtype(value["dtype"])
    if stored.kind not in _ARRAY_KINDS:
        raise ValueError(stored)
    flat = np.empty(len(value["array"]), dtype=stored)
    flat[:] = [_decoded(each) for each in value["array"]]
    return flat.reshape(value["shape"])


#: What else a model may hold: its word, its type, and the way to and from plain values.
_KINDS: tuple[tuple[str, type, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    ("fraction", Fraction, str, Fraction),
    ("domain", Domain, Domain.to_dict, Domain.from_dict),
    ("receipt", Receipt, Receipt.to_dict, Receipt.from_dict),
)
