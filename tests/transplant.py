"""Plant a bug in the real code: replace text in a module's source and put the new code into the living objects.

The module is compiled with the replaced text, and every function, method, property, class constant and module
constant that came out different is put in place of the old one's inside. Other modules hold references to the same
objects, so they all run the planted bug. Meant for a forked child: there is no way back.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
import types
from pathlib import Path
from typing import Any


class NotPlantedError(Exception):
    """The text to replace is not there exactly once, or replacing it changed nothing that runs."""


def mutated_source(module_name: str, old: str, new: str) -> str:
    """The module's source with the text replaced."""
    source = Path(str(importlib.import_module(module_name).__file__)).read_text()
    if source.count(old) != 1:
        raise NotPlantedError(f"{module_name}: {source.count(old)} times {old!r}")
    return source.replace(old, new)


def plant(module_name: str, old: str, new: str) -> None:
    """Put the planted bug into the running program."""
    module = importlib.import_module(module_name)
    source = mutated_source(module_name, old, new)
    twin = types.ModuleType(module_name)
    twin.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    registered = sys.modules[module_name]
    sys.modules[module_name] = twin  # dataclasses look their module up while it is executed
    try:
        exec(compile(source, str(module.__file__), "exec"), twin.__dict__)
    finally:
        sys.modules[module_name] = registered
    changes = sum(_transplant(module, name, value, module) for name, value in list(vars(twin).items()))
    if not changes:
        raise NotPlantedError(f"{module_name}: replacing {old!r} changed nothing that runs")


def _transplant(owner: Any, name: str, new: Any, module: types.ModuleType) -> int:
    old = vars(owner).get(name)
    function, new_function = _function_of(old), _function_of(new)
    if function is not None and new_function is not None and new_function.__module__ == module.__name__:
        return _transplant_function(old, function, new_function)
    if isinstance(new, type) and isinstance(old, type) and new.__module__ == module.__name__:
        return sum(_transplant(old, key, value, module) for key, value in list(vars(new).items()))
    if _is_constant(name, new) and (not _same(old, new)):
        _set_everywhere(owner, name, old, new)
        return 1
    return 0


def _function_of(value: Any) -> types.FunctionType | None:
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    value = getattr(value, "__wrapped__", value)
    return value if isinstance(value, types.FunctionType) else None


def _transplant_function(holder: Any, old: types.FunctionType, new: types.FunctionType) -> int:
    defaults = (old.__defaults__, old.__kwdefaults__) != (new.__defaults__, new.__kwdefaults__)
    if old.__code__.co_freevars != new.__code__.co_freevars or (_alike(old.__code__, new.__code__) and not defaults):
        return 0
    old.__code__, old.__kwdefaults__ = new.__code__, new.__kwdefaults__
    if not any(dataclasses.is_dataclass(value) for value in new.__defaults__ or ()):
        old.__defaults__ = new.__defaults__
    if hasattr(holder, "cache_clear"):
        holder.cache_clear()
    return 1


def _alike(first: types.CodeType, second: types.CodeType) -> bool:
    """Whether two functions do the same, whatever lines they stand on."""
    if (first.co_code, first.co_names, first.co_varnames) != (second.co_code, second.co_names, second.co_varnames):
        return False
    return len(first.co_consts) == len(second.co_consts) and all(
        _alike(a, b) if isinstance(a, types.CodeType) and isinstance(b, types.CodeType) else _same(a, b)
        for a, b in zip(first.co_consts, second.co_consts, strict=True)
    )


def _same(old: Any, new: Any) -> bool:
    return type(old) is type(new) and bool(old == new)


def _is_constant(name: str, value: Any) -> bool:
    return not name.startswith("__") and isinstance(value, int | float | str | tuple | bool)


def _set_everywhere(owner: Any, name: str, old: Any, new: Any) -> None:
    """In its module and wherever it was imported by name."""
    setattr(owner, name, new)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("sordino") and vars(module).get(name) is old:
            setattr(module, name, new)
