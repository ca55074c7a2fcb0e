"""Errors in the wording of the command line: remedies name the flags of the command."""

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from seqloom.cli.system_errors import SYSTEM_ERRORS, system_error
from seqloom.cli.terminal import discard_output
from seqloom.errors import SeqloomError
from seqloom.remedies import Command, Phrase, Remedy, Setting, Wording

__all__ = ["CommandGroup", "CommandWording"]

SET = "--set"
FLAGS: Mapping[str, str] = {
    "assignments": "--set",
    "base": "--from",
    "as_json": "--json",
    "data.lines": "--lines",
    "data.skip_bad": "--skip-bad",
    "data.source": "--source",
    "data.target": "--target",
    "data.weight": "--weight",
    "modules": "--import",
    "others": "--with",
    "search.beam": "--beam",
    "search.length": "--length",
    "source.kind": "--source COL:{}",
    "target.kind": "--target COL:{}",
    "training.device": "--device",
    "training.workers": "--workers",
}
"""Options whose flags differ from their names; {} stands for the value."""
KINDS_ALONE = ("none", "blanks")  # kinds written without a column
GLOBAL = ("--import",)  # global flags, before the command
CHANGEABLE: Mapping[str, tuple[str, ...]] = {"predict": ("search.", "target.horizon")}
"""The options that `--set` may change in commands where it is restricted."""


class CommandWording(Wording):
    """The wording of one command: its flags, argument names and settable options."""

    def __init__(self, name: str = "", parameters: Iterable[Any] = ()) -> None:
        self.name = name
        self.words = {_word(each): each for each in parameters}
        self.arguments = {each.name: _word(each) for each in self.words.values()}

    def setting(self, setting: Setting) -> str | None:
        """`--flag value`, `--set name=value` or the name of an argument; None if there is none."""
        own = "" if setting.is_option else "--" + setting.name.replace("_", "-")
        flag, _, form = FLAGS.get(setting.name, own).partition(" ")
        if flag and self._has(flag):
            bare = setting.value is None or setting.value is True
            value = "" if bare else shlex.quote(str(setting.value))
            shown = form.format(value) if form and value not in KINDS_ALONE else value
            return " ".join(filter(None, (flag, shown)))
        if not setting.is_option:
            return self.arguments.get(setting.name)
        if self._has(SET) and setting.name.startswith(CHANGEABLE.get(self.name, "")):
            return f"{SET} {_assignment(setting)}"
        return None

    def command(self, command: Command) -> str | None:
        """The command as one would type it."""
        shell = CommandWording()
        words = (each if isinstance(each, str) else shell.setting(each) for each in command.words)
        return " ".join(["seqloom", command.name, *filter(None, words)])

    def can_do(self, remedy: Remedy) -> bool:
        """Whether the command has every option that a remedy names."""
        settings = [each for each in remedy.named if isinstance(each, Setting)]
        return all(self.setting(each) is not None for each in settings)

    def remedy(self, remedy: Phrase) -> str:
        """Word a remedy; falls back to options of other commands."""
        return super().remedy(remedy) or (CommandWording().remedy(remedy) if self.words else "")

    def _has(self, flag: str) -> bool:
        return not self.words or flag in self.words or flag in GLOBAL


class CommandGroup(TyperGroup):
    """The group of all commands; user errors end in one sentence and an exit code."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except SeqloomError as error:
            raise self._exit(ctx, error) from None
        except SYSTEM_ERRORS as error:
            known = system_error(error)
            if known is None:
                raise
            discard_output(sys.stdout)
            raise self._exit(ctx, known) from None

    def _exit(self, ctx: typer.Context, error: SeqloomError) -> typer.Exit:
        """Print the error; return the exit with its code."""
        sentence = error.parts(self._wording(ctx)).sentence
        print(f"seqloom: {sentence}", file=sys.stderr)
        return typer.Exit(error.exit_code)

    def _wording(self, ctx: typer.Context) -> CommandWording:
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        if command is None:
            return CommandWording()
        complete: Callable[[], Any] = getattr(command, "complete", lambda: command)
        return CommandWording(str(command.name), complete().params)


def _word(parameter: Any) -> str:
    """A parameter's name on the command line: its flag, or the name that usage shows."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())


def _assignment(setting: Setting) -> str:
    if setting.value is None:
        return setting.name
    value = setting.value
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return shlex.quote(f"{setting.name}={shown}")
