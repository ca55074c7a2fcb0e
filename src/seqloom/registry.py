"""Families of interchangeable parts: each member has a name, its options, and what it builds.

A family is declared once, where its options are. A member registers its options with `options` and
its implementation with `part`; both may stand in one file, of Seqloom or of a user. The command
line, configuration files, the HTTP schema and the manual list whatever is registered.
"""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Generic, TypeVar

from seqloom.errors import ConfigError

__all__ = ["FAMILIES", "Family", "import_parts"]

Options = TypeVar("Options")
Part = TypeVar("Part")
AnyPart = TypeVar("AnyPart")
AnyOptions = TypeVar("AnyOptions")

FAMILIES: dict[str, "Family[Any, Any]"] = {}


class Family(Generic[Options, Part]):
    """Members of one kind, by name.

    `home` is the package that registers the built-in parts; it is imported when a part is first
    needed, so that reading a configuration does not load torch.
    """

    def __init__(self, name: str, *, home: str = "") -> None:
        self.name = name
        self._home = home
        self._options: dict[str, type[Options]] = {}
        self._parts: dict[str, Part] = {}
        FAMILIES[name] = self

    def options(self, kind: str) -> Callable[[type[AnyOptions]], type[AnyOptions]]:
        """Register a class of options under the name that users choose it by."""

        def add(options: type[AnyOptions]) -> type[AnyOptions]:
            self._add(self._options, kind, options)
            return options

        return add

    def part(self, kind: str) -> Callable[[AnyPart], AnyPart]:
        """Register what implements a member."""

        def add(part: AnyPart) -> AnyPart:
            self._add(self._parts, kind, part)
            return part

        return add

    def options_of(self, kind: str) -> type[Options]:
        """The options of a member; ConfigError where there is no such member."""
        if kind not in self._options:
            self._load()
        if kind not in self._options:
            raise self._unknown(kind)
        return self._options[kind]

    def part_of(self, kind: str) -> Part:
        """What implements a member; ConfigError where there is no such member."""
        if kind not in self._parts:
            self._load()
        if kind not in self._parts:
            raise self._unknown(kind)
        return self._parts[kind]

    def kinds(self) -> list[str]:
        """The names of all members, in the order in which they were registered."""
        return list(dict.fromkeys([*self._options, *self._parts]))

    def __iter__(self) -> Iterator[tuple[str, type[Options]]]:
        """Every member that has options, with them."""
        return iter(self._options.items())

    def module_of(self, kind: str) -> str:
        """The module that a member comes from."""
        member: Any = self._parts.get(kind) or self._options.get(kind)
        return str(getattr(member, "__module__", ""))

    def _load(self) -> None:
        if self._home:
            import_module(self._home)

    def _add(self, members: dict[str, Any], kind: str, member: Any) -> None:
        known = members.get(kind)
        if known is not None and known.__module__ != member.__module__:
            raise ConfigError(
                f"the {self.name} {kind!r} is defined in {known.__module__} already: choose "
                f"another name in {member.__module__}"
            )
        members[kind] = member

    def _unknown(self, kind: str) -> ConfigError:
        names = self.kinds()
        near = get_close_matches(kind, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return ConfigError(
            f"no {self.name} is called {kind!r}: {hint}choose one of {', '.join(names)}, or import "
            "the module that registers it with --import"
        )


def import_parts(name: str) -> None:
    """Import a module that registers parts."""
    try:
        import_module(name)
    except ImportError as error:
        raise ConfigError(f"--import {name}: it cannot be imported: {error}") from None
