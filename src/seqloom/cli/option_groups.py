"""Groups of options as dataclasses, and commands that take such groups.

A command names the groups it takes as keyword arguments; on the command line it has an option for
each of their fields. Groups whose options depend on registered parts are expanded when the command
runs, after `--import`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, ClassVar, get_type_hints

import typer
from typer.core import TyperCommand

from seqloom.cli.unknown_options import HelpfulCommand

__all__ = ["LateCommand", "OptionGroup", "add_command"]

COMPLETE = "__complete_command__"  # the attribute with the factory of late options


class OptionGroup:
    """A dataclass whose fields are options: each annotated with a `typer.Option`."""

    is_late: ClassVar[bool] = False  # whether the options are known only when the command runs

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """The options, as parameters of a command."""
        hints = get_type_hints(cls, include_extras=True)
        return [
            _parameter(
                each.name,
                hints[each.name],
                each.default if each.default is not MISSING else inspect.Parameter.empty,
            )
            for each in fields(cls)  # type: ignore[arg-type]
        ]

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "OptionGroup":
        """Build the group from the values of its parameters."""
        return cls(**values)


def add_command(app: typer.Typer, command: Callable[..., None]) -> None:
    """Register a function as a command, with an option for each field of its option groups."""
    if any(group.is_late for group in _groups(command).values()):
        expanded = _expand(command, late=False)
        setattr(expanded, COMPLETE, lambda: _expand(command, late=True))
        app.command(cls=LateCommand)(expanded)
    else:
        app.command(cls=HelpfulCommand)(_expand(command, late=True))


class LateCommand(TyperCommand):
    """A command whose options are built when it runs, so that listing it costs nothing."""

    def complete(self) -> Any:
        """The command with all its options."""
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(self.name, cls=HelpfulCommand)(getattr(self.callback, COMPLETE)())
        return typer.main.get_command(single)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Make the context of the complete command, which then runs in place of this one."""
        return self.complete().make_context(*arguments, **options)


def _groups(command: Callable[..., None]) -> dict[str, type[OptionGroup]]:
    hints = get_type_hints(command)
    return {
        name: kind
        for name, kind in hints.items()
        if isinstance(kind, type) and issubclass(kind, OptionGroup)
    }


def _expand(command: Callable[..., None], *, late: bool) -> Callable[..., None]:
    """The command with the options of its groups; late ones only if `late`."""
    groups = _groups(command)
    hints = get_type_hints(command, include_extras=True)
    own, given = list[inspect.Parameter](), dict[str, list[str]]()
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            own.append(_parameter(name, hints[name], parameter.default))
        elif late or not groups[name].is_late:
            options = groups[name].parameters()
            given[name] = [each.name for each in options]
            own += options

    @wraps(command)
    def run(**values: Any) -> None:
        made = {
            name: groups[name].from_values({each: values.pop(each) for each in names})
            for name, names in given.items()
        }
        command(**values, **made)

    del run.__wrapped__
    run.__annotations__ = {each.name: each.annotation for each in own}
    run.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return run


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)
