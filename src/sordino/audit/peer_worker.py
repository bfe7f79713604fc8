"""What runs where the audited callable lives: the standard library alone, and no part of Sordino.

``audit/target.py`` uses its functions here; ``audit/peers.py`` hands the text of this file to another interpreter.
There, requests and replies are lines of JSON. The first request names the callable; each one after it names one of
the two neighbouring tables, which never leave that interpreter.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import pickle
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: What a made-up table may consist of, beside numpy's arrays and numbers.
PLAIN = (int, float, complex, str, bytes, type(None))

#: Warnings for programmers, not about privacy.
_FOR_PROGRAMMERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)

_MOST_WARNINGS = 10
_MOST_LETTERS = 300
_MOST_RECORDS = 100
_DEEPEST = 8
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


class TargetError(Exception):
    """The callable or its tables cannot be used; the message is one line."""


class Found(NamedTuple):
    """What was asked for by name: the callable and its two neighbouring tables."""

    run: Callable[..., Any]
    first: Any
    second: Any


def find(target: str, neighbours: str | None, unsafe: bool) -> Found:
    """The callable ``MODULE:FUNCTION`` and the two tables of its module's ``neighbours()``, or of another function."""
    module, _, name = target.rpartition(":")
    if not (module and name):
        raise TargetError(f"write MODULE:FUNCTION, a file or an importable name first. Got {target!r}.")
    other_module, _, other_name = (neighbours or "neighbours").rpartition(":")
    home = _module(module)
    run = _function(home, module, name)
    maker = _function(_module(other_module) if other_module else home, other_module or module, other_name)
    first, second = _two_tables(maker)
    if _same(first, second):
        raise TargetError(
            "both tables are the same, so nothing could be seen. One of them needs a record more, or another."
        )
    odd = "" if unsafe else (foreign(first) or foreign(second))
    if odd:
        raise TargetError(
            f"{other_name}() must give made-up tables of plain values: numbers, text, lists, dicts, numpy arrays. "
            f"Got {odd}. An audit shows what it finds, and for data of real people that is a leak. If these are made "
            "up, build the rest inside the function; or say --unsafe-real-data."
        )
    return Found(run, first, second)


def _module(name: str) -> types.ModuleType:
    """A module by its file or by its name; its folder, or the current one, is looked in last."""
    path = Path(name)
    is_file = name.endswith(".py") or path.parent != Path()
    if is_file and not path.is_file():
        raise TargetError(f"there is no file {name!r}.")
    sys.path.append(str(path.resolve().parent if is_file else Path.cwd()))
    problem = ""
    try:
        return _module_of_file(path) if is_file else importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever a module does when it is loaded
        problem = f"{type(error).__name__}: {error}"
    raise TargetError(f"{name!r} cannot be imported ({problem}).")


def _module_of_file(path: Path) -> types.ModuleType:
    name = f"audited_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _function(home: types.ModuleType, module: str, name: str) -> Callable[..., Any]:
    found = getattr(home, name, None)
    if not callable(found):
        hint = " Write one that returns two tables, or name another with --neighbours." if name == "neighbours" else ""
        raise TargetError(f"{module!r} has no function {name!r}.{hint}")
    called: Callable[..., Any] = found
    return called


def _two_tables(maker: Callable[..., Any]) -> tuple[Any, Any]:
    tables: Any = None
    problem = ""
    try:
        tables = maker()
    except Exception as error:  # its text might quote a record
        problem = f"failed with {type(error).__name__}"
    if not problem and not (isinstance(tables, (tuple, list)) and len(tables) == 2):
        problem = "must return two tables"
    if problem:
        raise TargetError(f"{getattr(maker, '__name__', 'neighbours')}() {problem}. Run it by itself to see why.")
    return tables[0], tables[1]


def _same(first: Any, second: Any) -> bool:
    """Whether two tables are surely one and the same, bit for bit; of what cannot be told apart so it is not said."""
    with contextlib.suppress(Exception):  # whatever a class does when it is pickled
        return first is second or pickle.dumps(first) == pickle.dumps(second)
    return False


def foreign(table: Any) -> str:
    """The type of the first part that is no plain value; empty when all are plain. Text alone is no table."""
    if isinstance(table, (str, bytes)):
        return type(table).__name__
    return next((type(part).__name__ for part in _parts(table) if not _is_plain(part)), "")


def _parts(table: Any) -> Iterator[Any]:
    if isinstance(table, Mapping):
        table = list(table.values())
    if not isinstance(table, (list, tuple, set, frozenset)):
        yield table
        return
    for part in list(table)[:_MOST_RECORDS]:
        yield from _parts(part)


def _is_plain(part: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return isinstance(part, PLAIN) or (numpy is not None and isinstance(part, (numpy.ndarray, numpy.generic)))


@contextlib.contextmanager
def listening(said: list[str]) -> Iterator[None]:
    """Collect distinct warnings, whoever has silenced them outside; those for programmers are left out."""

    def note(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        text = " ".join(f"{category.__name__}: {message}".split())[:_MOST_LETTERS]
        if not issubclass(category, _FOR_PROGRAMMERS) and text not in said and len(said) < _MOST_WARNINGS:
            said.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield


def plain(value: Any, depth: int = 0) -> Any:
    """An outcome as JSON can hold it; what it cannot hold becomes text without addresses."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if depth > _DEEPEST or isinstance(value, (type, types.FunctionType, types.MethodType, types.ModuleType)):
        return type(value).__name__
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a frame, of whatever library
        return plain(value.to_dict(), depth + 1)
    if callable(getattr(value, "tolist", None)):
        return plain(value.tolist(), depth + 1)
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part, depth + 1) for part in value]
    if isinstance(value, (set, frozenset)):
        return [plain(part, depth + 1) for part in sorted(value, key=repr)]
    if isinstance(value, BaseException) or not hasattr(value, "__dict__"):
        return _ADDRESS.sub("", repr(value))
    return {"kind": type(value).__name__, **plain(vars(value), depth + 1)}


def shortly(table: Any) -> str:
    """A made-up table in a line or two."""
    text = " ".join(repr(table).split())
    return text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS] + " …"


def generator(seed: int) -> Any:
    """numpy's generator where numpy is, else the standard library's."""
    try:
        import numpy
    except ImportError:
        import random

        return random.Random(seed)
    return numpy.random.default_rng(seed)


def main() -> None:
    """Serve requests until there are no more."""
    requests, replies = _own_pipes()

    def reply(document: dict[str, Any]) -> None:
        replies.write(json.dumps(document) + "\n")
        replies.flush()

    asked = json.loads(requests.readline())
    said: list[str] = []
    with listening(said):
        try:
            found = find(asked["target"], asked["neighbours"], asked["unsafe"])
        except TargetError as error:
            return reply({"error": str(error)})
        public = generator(asked["seed"])
        tables = [] if asked["unsafe"] else [shortly(found.first), shortly(found.second)]
        reply({"tables": tables, "python": sys.version.split()[0], "warnings": said})
        for line in requests:
            reply({**_outcome(found, json.loads(line)["table"], public), "warnings": said})
    return None


def _outcome(found: Found, table: int, public: Any) -> dict[str, Any]:
    try:
        return {"outcome": plain(found.run(found.first if table else found.second, public))}
    except Exception as error:  # an outcome like any other
        return {"failed": _ADDRESS.sub("", f"{type(error).__name__}: {error}")}


def _own_pipes() -> tuple[Any, Any]:
    """The pipes of requests and replies, moved away from where the callable may read and print."""
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, replies


if __name__ == "__main__":
    main()
