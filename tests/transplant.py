"""Plant a bug in the real code: replace text in a module's source and put the new code into the living objects.

The module is compiled with the replaced text, and every function, method, property, class constant and module
constant that came out different is put in place of the old one's inside. Other modules hold references to the same
objects, so they all run the planted bug. Meant for a forked child: there is no way back.
"""

from __future__ import annotations

import functools
import importlib
import sys
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np


class NotPlantedError(Exception):
    """The text to replace is not there exactly once, or replacing it changed nothing that runs."""


def mutated_source(module_name: str, *edits: tuple[str, str]) -> str:
    """The module's source with each text, which must be there exactly once, replaced."""
    source = Path(str(importlib.import_module(module_name).__file__)).read_text(encoding="utf-8")
    for old, new in edits:
        if source.count(old) != 1:
            raise NotPlantedError(f"{module_name}: {source.count(old)} times {old!r}")
        source = source.replace(old, new)
    return source


def plant(module_name: str, *edits: tuple[str, str]) -> None:
    """Put the planted bug into the running program."""
    module = importlib.import_module(module_name)
    source = mutated_source(module_name, *edits)
    twin = types.ModuleType(module_name)
    twin.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    sys.modules[module_name] = twin  # dataclasses look their module up while it is executed
    try:
        exec(compile(source, str(module.__file__), "exec", dont_inherit=True), twin.__dict__)
    finally:
        sys.modules[module_name] = module
    if not _transplant_all(module, twin, module):
        raise NotPlantedError(f"{module_name}: the edits changed nothing that runs")
    _forget_what_was_remembered()


def _transplant_all(owner: Any, twin: Any, module: types.ModuleType) -> int:
    changes = sum(_transplant(owner, name, value, module) for name, value in list(vars(twin).items()))
    for name, value in list(vars(owner).items()):
        function = _function_of(value)
        written_here = function is not None and not name.startswith("__") and function.__module__ == module.__name__
        if (written_here or name in _SPECIAL) and name not in vars(twin):
            delattr(owner, name)
            changes += 1
    return changes


#: Special methods that a class of ours may write, and a planted bug leave out.
_SPECIAL = ("__copy__", "__deepcopy__", "__reduce__", "__post_init__")


def _transplant(owner: Any, name: str, new: Any, module: types.ModuleType) -> int:
    """Put one new thing in the place of the old one; how many things changed."""
    if name not in vars(owner):
        return _add(owner, name, new, module)
    old = vars(owner)[name]
    function, new_function = _function_of(old), _function_of(new)
    if function is not None and new_function is not None and new_function.__module__ == module.__name__:
        return _transplant_function(old, function, new_function)
    if isinstance(new, type) and isinstance(old, type) and new.__module__ == module.__name__:
        return _transplant_all(old, new, module)
    if not name.startswith("__") and _is_plain(new) and not _same(old, new):
        _set_everywhere(owner, name, old, new)
        return 1
    return 0


def _add(owner: Any, name: str, new: Any, module: types.ModuleType) -> int:
    """What the old one had not: an import, a constant, a function, a method."""
    if isinstance(new, types.FunctionType) and new.__module__ == module.__name__:
        new = types.FunctionType(new.__code__, vars(module), new.__name__, new.__defaults__, new.__closure__)
    if name.startswith("__") and name not in _SPECIAL and not isinstance(new, types.FunctionType):
        return 0
    setattr(owner, name, new)
    return 1


def _function_of(value: Any) -> types.FunctionType | None:
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, functools.cached_property):
        value = value.func
    value = getattr(value, "__wrapped__", value)
    return value if isinstance(value, types.FunctionType) else None


def _transplant_function(holder: Any, old: types.FunctionType, new: types.FunctionType) -> int:
    other_defaults = not _same_defaults(old, new)
    if _alike(old.__code__, new.__code__) and not other_defaults:
        return 0
    if old.__code__.co_freevars != new.__code__.co_freevars:
        raise NotPlantedError(f"{old.__qualname__}: closes over other names than before")
    old.__code__ = new.__code__
    if other_defaults:
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    if hasattr(holder, "cache_clear"):
        holder.cache_clear()
    return 1


def _same_defaults(old_one: types.FunctionType, new: types.FunctionType) -> bool:
    """Whether plain defaults are the same; others are objects of the twin, and stay as they were."""
    before, after = ([*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()] for each in (old_one, new))
    if len(before) != len(after):
        return False
    return all(
        not _is_plain(new_one) or _same(*pair) for pair in zip(before, after, strict=True) for new_one in pair[1:]
    )


def _alike(first: types.CodeType, second: types.CodeType) -> bool:
    """Whether two functions do the same, whatever lines they stand on."""
    parts = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable")
    if any(getattr(first, part, None) != getattr(second, part, None) for part in parts):
        return False
    return len(first.co_consts) == len(second.co_consts) and all(
        _alike(a, b) if isinstance(a, types.CodeType) and isinstance(b, types.CodeType) else _same(a, b)
        for a, b in zip(first.co_consts, second.co_consts, strict=True)
    )


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return bool(np.array_equal(old, new))
    return type(old) is type(new) and repr(old) == repr(new)


def _is_plain(value: Any) -> bool:
    """Numbers, texts, None, arrays, and what holds nothing else."""
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, [*value, *value.values()]))
    return isinstance(value, int | float | str | bytes | Fraction | np.ndarray | type(None))


def _set_everywhere(owner: Any, name: str, old: Any, new: Any) -> None:
    """In its module and wherever it was imported by name."""
    setattr(owner, name, new)
    for module in _ours():
        if vars(module).get(name) is old:
            setattr(module, name, new)


def _forget_what_was_remembered() -> None:
    """Results that functions remember may have been made by the code as it was."""
    for module in _ours():
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear") and not isinstance(value, type):
                value.cache_clear()


def _ours() -> list[types.ModuleType]:
    modules = [module for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)]
    return [module for module in modules if module.__name__.split(".")[0] == "sordino"]
