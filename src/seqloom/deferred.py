"""What is imported or read when it is first used.

A model that `optimize` has stored runs without torch, whose import takes longer and more memory
than the model itself. So packages that such a model is run by import their names late, and its
predictor reads the float32 weights late.
"""

import ast
import gc
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any, Generic, TypeVar

__all__ = ["Deferred", "deferred_names", "resolve"]

Value = TypeVar("Value")
Made = TypeVar("Made", covariant=True)  # noqa: PLC0105


def deferred_names(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports a name when it is first used, from where its
    `if TYPE_CHECKING` says."""

    def get(name: str) -> Any:
        homes = _homes(package)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(_import(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


@cache
def _homes(package: str) -> dict[str, str]:
    """The module that each name of a package is imported from."""
    loader: Any = sys.modules[package].__loader__
    source = ast.parse(loader.get_source(package))
    conditions = [node for node in source.body if isinstance(node, ast.If)]
    imports = [
        node for each in conditions for node in each.body if isinstance(node, ast.ImportFrom)
    ]
    return {name.name: node.module or "" for node in imports for name in node.names}


def _import(name: str) -> ModuleType:
    """A module, imported without looking for garbage, which would take a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if collecting:
            gc.enable()


class Deferred(Generic[Made]):
    """A value that is made when it is first asked for, once for all threads."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._made: list[Made] = []
        self._lock = Lock()

    @property
    def value(self) -> Made:
        """The value, made now if it has not been."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
        return self._made[0]


def resolve(value: Value | Deferred[Value]) -> Value:
    """A value, made now if it is one that has not been."""
    return value.value if isinstance(value, Deferred) else value
