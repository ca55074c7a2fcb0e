"""Errors for unknown options, with a suggestion."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from seqloom.errors import ConfigError
from seqloom.remedies import Phrase, Remedy

__all__ = ["HelpfulCommand"]


class HelpfulCommand(TyperCommand):
    """A command that answers an unknown option with its equivalent or the nearest name."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        """Parse the arguments; ConfigError at an unknown option."""
        try:
            return super().parse_args(context, arguments)
        except Exception as error:  # Typer does not export the class of this exception
            name = getattr(error, "option_name", None)
            if name is None or not str(error.__class__.__name__).startswith("NoSuch"):
                raise
            near = getattr(error, "possibilities", None) or ()
            raise ConfigError(
                f"seqloom {self.name} has no such option",
                place=str(name),
                remedy=self._answer(str(name), near),
            ) from None

    def _answer(self, name: str, near: Sequence[str]) -> Phrase:
        """The remedy: an option of this command or of another one."""
        from seqloom.cli.wording import CommandWording
        from seqloom.foreign_options import answer_of

        answer = answer_of(name)
        begun = [each for each in near if each.startswith(name)]
        if answer is None or (begun and not answer.remedy.named):
            near = begun or near
            return f"did you mean {near[0]}?" if near else f"seqloom {self.name} --help lists all"
        remedy = answer.remedy
        if CommandWording(str(self.name), self.params).can_do(remedy):
            return remedy
        return Remedy(f"in seqloom {answer.command}, {remedy.text}", *remedy.named)
