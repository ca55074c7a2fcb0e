"""Families of interchangeable parts: each member has a name, its options, and what it builds.

A family is declared once, where its options are. A member registers its options with `options` and
its implementation with `part`; both may stand in one file, of Seqloom or of a user. The command
line, configuration files, the HTTP schema and the manual list whatever is registered.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting

__all__ = ["FAMILIES", "Family", "foreign_modules", "import_parts"]

Options = TypeVar("Options")
Part = TypeVar("Part")
AnyPart = TypeVar("AnyPart")
AnyOptions = TypeVar("AnyOptions")

FAMILIES: dict[str, "Family[Any, Any]"] = {}
PACKAGE = __name__.partition(".")[0]
MAIN = "__main__"  # the script that runs


class _Parts(dict[str, Part]):
    """What implements the members of a family, by name; those of its home are loaded when one is
    first needed."""

    def __init__(self, family: "Family[Any, Part]") -> None:
        super().__init__()
        self._family = family

    def __missing__(self, kind: str) -> Part:
        return self._family.load_part(kind)


class Family(Generic[Options, Part]):
    """Members of one kind, by name: `parts[kind]` is what implements one.

    `home` is the package that registers the built-in parts; it is imported when a part is first
    needed, so that reading a configuration does not load torch. `names` are built-in members
    without options of their own. `meaning` is what the manual says of the choice. `companions` are
    the names of families in which a member has parts of the same name.
    """

    def __init__(
        self,
        name: str,
        *,
        home: str = "",
        meaning: str = "",
        names: Sequence[str] = (),
        companions: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.meaning = meaning
        self.companions = tuple(companions)
        self._home = home
        self._names = tuple(names)
        self._options: dict[str, type[Options]] = {}
        self.parts: dict[str, Part] = _Parts(self)
        FAMILIES[name] = self

    def options(self, kind: str) -> Callable[[type[AnyOptions]], type[AnyOptions]]:
        """Register a class of options under the name that users choose it by."""

        def add(options: type[AnyOptions]) -> type[AnyOptions]:
            self._check_kind(options, kind)
            self._add(self._options, kind, options)
            return options

        return add

    def part(self, kind: str) -> Callable[[AnyPart], AnyPart]:
        """Register what implements a member."""

        def add(part: AnyPart) -> AnyPart:
            self._add(self.parts, kind, part)
            return part

        return add

    def options_of(self, kind: str) -> type[Options]:
        """The options of a member; ConfigError where there is no such member."""
        if kind not in self._options:
            self.load()
        if kind not in self._options:
            raise self.unknown(kind)
        return self._options[kind]

    def load_part(self, kind: str) -> Part:
        """What implements a member that may not be loaded; ConfigError where there is none."""
        self.load()
        if kind not in self.parts:
            raise self.unknown(kind)
        return self.parts[kind]

    def kinds(self) -> list[str]:
        """The names of all members, in the order in which they were registered."""
        return list(dict.fromkeys([*self._names, *self._options, *self.parts]))

    def __contains__(self, kind: object) -> bool:
        """Whether a member has this name."""
        return kind in self._names or kind in self._options or kind in self.parts

    def __iter__(self) -> Iterator[tuple[str, type[Options]]]:
        """Every member that has options, with them."""
        return iter(self._options.items())

    def module_of(self, kind: str) -> str:
        """The module that a member comes from; the package itself for a built-in name."""
        if kind in self._names:
            return PACKAGE
        member: Any = self._options.get(kind) or self.parts.get(kind)
        return _module_name(str(getattr(member, "__module__", "")))

    def foreign_modules(self) -> list[str]:
        """The modules of the members that are not built in."""
        modules = dict.fromkeys(map(self.module_of, self.kinds()))
        return [module for module in modules if _package(module) != PACKAGE]

    def is_built_in(self, kind: str) -> bool:
        """Whether a member is one of Seqloom's own."""
        return _package(self.module_of(kind)) == PACKAGE

    def load(self) -> None:
        """Register the built-in members whose module has not been needed so far."""
        if self._home:
            import_module(self._home)

    def unknown(self, kind: str) -> ConfigError:
        """The error for a name that no member has."""
        names = self.kinds()
        near = get_close_matches(kind, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        choose = f"{hint}choose one of {', '.join(names)}"
        return ConfigError(
            f"no {self.name} is called {kind!r}",
            remedy=Remedy(
                "{}, or import the module that registers it with {}",
                choose,
                Setting("modules", "MODULE"),
                otherwise=choose,
            ),
        )

    def _add(self, members: dict[str, Any], kind: str, member: Any) -> None:
        known = members.get(kind)
        owner = known.__module__ if known is not None else ""
        if kind in self and self.is_built_in(kind) and _package(member.__module__) != PACKAGE:
            owner = PACKAGE
        if owner and owner != member.__module__:
            raise ConfigError(
                f"the {self.name} {kind!r} is defined in {owner} already",
                remedy=f"choose another name in {member.__module__}",
            )
        members[kind] = member

    def _check_kind(self, options: type[Any], kind: str) -> None:
        """Options of a choice say their own kind, which is what configurations record."""
        fields = getattr(options, "model_fields", {})
        if "kind" in fields and fields["kind"].default != kind:
            raise ConfigError(
                f"{options.__module__}.{options.__name__} is registered as the {self.name} "
                f'{kind!r}: declare kind: Literal["{kind}"] = "{kind}" in it'
            )


def import_parts(name: str) -> None:
    """Import a module that registers parts, from the current folder or from what is installed."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        import_module(name)
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or name
        if missing == name or name.startswith(f"{missing}."):
            raise ConfigError(
                f"there is no module {name} in {folder} or among the installed ones",
                place=Setting("modules", name),
                remedy="give the name of a Python module without .py",
            ) from None
        raise ConfigError(
            f"it imports {missing}, which is not installed",
            place=Setting("modules", name),
            remedy="install it",
        ) from None
    except Exception as error:
        raise ConfigError(
            f"importing it failed with {type(error).__name__}: {error}",
            place=Setting("modules", name),
        ) from error


def foreign_modules() -> dict[str, Path | None]:
    """Every module that registered parts of a user's, with the folder that it is imported from.

    The folder is None where there is no such module, since a script or a notebook has the parts.
    """
    names = dict.fromkeys(name for each in FAMILIES.values() for name in each.foreign_modules())
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names}
    return {
        name: Path(file).absolute().parents[name.count(".")] if file and name != MAIN else None
        for name, file in files.items()
    }


def _module_name(module: str) -> str:
    """The name that a module can be imported by; that of a script is the name of its file."""
    script = getattr(sys.modules.get(MAIN), "__file__", None)
    return Path(script).stem if module == MAIN and script else module


def _package(module: str) -> str:
    return module.partition(".")[0]
