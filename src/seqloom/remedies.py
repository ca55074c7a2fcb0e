"""What to do about an error, as data that each front end words in its own terms.

    Remedy("mend the row, or pass {}", Setting("data.skip_bad", True), otherwise="mend the row")

reads `mend the row, or pass --skip-bad` on the command line, and in Python
`mend the row, or pass options={'data': {'skip_bad': True}}`. A front end that cannot set the option
says `mend the row`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, NamedTuple

__all__ = [
    "NEUTRAL",
    "PYTHON",
    "Command",
    "FileLocation",
    "NestedPlace",
    "OptionWording",
    "Phrase",
    "Place",
    "Remedy",
    "Setting",
    "Wording",
    "either",
]


class FileLocation(NamedTuple):
    """A line of a file, counted from 1; in a Parquet file or a list, a row.

    Without a file it is a line of what was given.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else f"line {self.line}"


@dataclass(frozen=True)
class Setting:
    """An option, by its dotted name in the configuration, or an argument of a public function.

    Without a value the option itself is meant, as in `choose another {}`.
    """

    name: str
    value: Any = None

    @property
    def is_option(self) -> bool:
        """Whether it is an option of the configuration rather than an argument."""
        return "." in self.name or self.name == "seed"


@dataclass(frozen=True)
class NestedPlace:
    """A place within another: a column of a row, an input of a request."""

    outer: "Place"
    inner: "Place"


@dataclass(frozen=True, init=False)
class Command:
    """A command to run, with its words: `Command("train", "DATA", Setting("run", "DIR"))`."""

    name: str
    words: tuple[str | Setting, ...]

    def __init__(self, name: str, *words: str | Setting) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "words", words)


@dataclass(frozen=True, init=False)
class Remedy:
    """What to do: a `{}` in the text stands for each setting, command or text that it names.

    `otherwise` is said where the front end has no word for one of them.
    """

    text: str
    named: tuple[Setting | Command | str, ...]
    otherwise: str

    def __init__(self, text: str, *named: Setting | Command | str, otherwise: str = "") -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "named", named)
        object.__setattr__(self, "otherwise", otherwise)


Place = str | PathLike[str] | FileLocation | Setting | NestedPlace
"""Where something is wrong: in words, a file, a line of a file, an option, or one in another."""
Phrase = str | Remedy
"""A remedy in words that fit every front end, or one that each words itself."""


class Wording:
    """How a front end words places and remedies; this one does so for Python."""

    def setting(self, setting: Setting) -> str | None:
        """The setting as a user would write it; None where it cannot be set."""
        if not setting.is_option:
            if setting.name in SAYINGS:
                return SAYINGS[setting.name].format(setting.value)
            name = ARGUMENTS.get(setting.name, setting.name + "={}")
            return name.format("" if setting.value is None else _python_value(setting.value))
        if setting.value is None:
            return f"the option {setting.name}"
        value = setting.value
        for name in reversed(setting.name.split(".")):
            value = {name: value}
        return f"options={_python_value(value)}"

    def command(self, command: Command) -> str | None:
        """The command as a user would call it; None where it cannot be called."""
        if command.name not in FUNCTIONS:
            return f"seqloom {command.name}"
        words = (each if isinstance(each, str) else self.setting(each) for each in command.words)
        return f"{FUNCTIONS[command.name]}({', '.join(filter(None, words))})"

    def place(self, place: Place) -> str:
        """Where it is; an option that the front end cannot set goes by its name."""
        if isinstance(place, Setting):
            return self.setting(place) or place.name
        if isinstance(place, NestedPlace):
            return f"{self.place(place.outer)}: {self.place(place.inner)}"
        return str(place)

    def remedy(self, remedy: Phrase) -> str:
        """What to do, or what to do otherwise."""
        if isinstance(remedy, str):
            return remedy
        words = [self._word(each) for each in remedy.named]
        return remedy.otherwise if None in words else remedy.text.format(*words)

    def _word(self, named: Setting | Command | str) -> str | None:
        if isinstance(named, str):
            return named
        return self.setting(named) if isinstance(named, Setting) else self.command(named)


def either(remedy: Phrase, text: str, *named: Setting | Command | str) -> Remedy:
    """A remedy, or another, which a front end leaves out where it has no word for what it names."""
    if isinstance(remedy, str):
        if not remedy:
            return Remedy(text, *named)
        between = "{} or " if remedy.endswith("?") else "{}, or "
        return Remedy(between + text, remedy, *named, otherwise=remedy)
    whole = f"{remedy.text}, or {text}"
    return Remedy(whole, *remedy.named, *named, otherwise=remedy.otherwise)


class OptionWording(Wording):
    """Words that fit every front end: options by their names in the configuration."""

    def setting(self, setting: Setting) -> str:
        """The option with its value; of a column with its kind, the kind."""
        if setting.value is None:
            return f"the option {setting.name}"
        _, colon, kind = str(setting.value).rpartition(":")
        is_column = not setting.is_option and bool(colon)
        name, value = (f"{setting.name}.kind", kind) if is_column else (setting.name, setting.value)
        return f"the option {name}={value}"


PYTHON = Wording()
NEUTRAL = OptionWording()
FUNCTIONS: Mapping[str, str] = {
    "train": "seqloom.train",
    "evaluate": "seqloom.evaluate",
    "report": "seqloom.api.report",
    "vectors": "seqloom.api.vectors.learn_vectors",
}
"""The commands that Python has a function for; the others are run in a shell."""
_OUTPUT_OPTIONS = ("attention", "alternatives", "tree", "prefix", "require", "forbid", "no_repeat")
ARGUMENTS: Mapping[str, str] = {name: f"OutputOptions({name}={{}})" for name in _OUTPUT_OPTIONS}
"""Arguments that Python takes in another form than under their own name."""

SAYINGS: Mapping[str, str] = {"modules": "`import {}`", "show": "the view {}"}
"""What Python does without an argument."""


def _python_value(value: Any) -> str:
    return repr(fspath(value) if isinstance(value, PathLike) else value)
