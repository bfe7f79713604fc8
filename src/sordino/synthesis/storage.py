"""Drawn values as Arrow columns of the types that the table stores."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa

from sordino.domain import Category, Column, Real

#: Whole numbers beyond this are stored as floats.
_LARGEST_INTEGER = 2**53

_DICTIONARY = re.compile(r"dictionary<values=(\w+), indices=(\w+), ordered=([01])>")


def stored_type(declared: Column, name: str) -> pa.DataType:
    """The type with that Arrow name; where there is none that holds all that is declared, the usual one for that.

    >>> stored_type(Real(0, 9, integer=True), "")
    DataType(int64)
    """
    known = _named(name)
    if known is not None and _holds(known, declared):
        return _wide_enough(known, declared)
    if isinstance(declared, Real):
        whole = declared.integer and max(abs(declared.low), abs(declared.high)) <= _LARGEST_INTEGER
        return pa.int64() if whole else pa.float64()
    first = declared.values[0]
    return pa.string() if isinstance(first, str) else pa.bool_() if isinstance(first, bool) else pa.int64()


def stored(values: np.ndarray[Any, Any], declared: Column, kind: pa.DataType) -> pa.Array:
    """The values as a column of that type; NaN and None are null."""
    if isinstance(declared, Real):
        return pa.array(values, from_pandas=True).cast(kind, safe=False)
    if not pa.types.is_dictionary(kind):
        return pa.array(values.tolist(), stored_type(declared, "")).cast(kind)
    listed = pa.array(declared.values).cast(kind.value_type)
    places = {value: place for place, value in enumerate(declared.values)}
    indices = pa.array([places.get(value) for value in values.tolist()], kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, listed, ordered=kind.ordered)


def is_whole(name: str) -> bool:
    """Whether the named type stores whole numbers."""
    known = _named(name)
    return known is not None and pa.types.is_integer(known)


def _holds(kind: pa.DataType, declared: Column) -> bool:
    """Whether a type of whole numbers has every one between the bounds, and there is one."""
    if not isinstance(declared, Real) or not pa.types.is_integer(kind):
        return True
    limits = np.iinfo(kind.to_pandas_dtype())
    return bool(limits.min <= math.ceil(declared.low) <= math.floor(declared.high) <= limits.max)


def _wide_enough(kind: pa.DataType, declared: Column) -> pa.DataType:
    """The same type; a dictionary that cannot number all declared values with wider indices."""
    if not isinstance(declared, Category) or not pa.types.is_dictionary(kind):
        return kind
    if len(declared) <= 2 ** (kind.index_type.bit_width - 1):
        return kind
    return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)


def _named(name: str) -> pa.DataType | None:
    """The type with that name; none for that of a column which had nothing but missing cells when it was written."""
    parts = _DICTIONARY.fullmatch(name)
    try:
        if parts is None:
            return None if name == "null" else pa.type_for_alias(name)
        values, indices, ordered = parts.groups()
        return pa.dictionary(pa.type_for_alias(indices), pa.type_for_alias(values), ordered == "1")
    except ValueError:
        return None
