"""Commands that answer an option they do not have in one sentence."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from seqloom.errors import ConfigError

__all__ = ["HelpfulCommand"]


class HelpfulCommand(TyperCommand):
    """A command that answers an unknown option with the one that does it here, or the nearest."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        """Read the arguments; ConfigError at an option that there is not."""
        try:
            return super().parse_args(context, arguments)
        except Exception as error:  # Typer does not publish the class of this one
            name = getattr(error, "option_name", None)
            if name is None or not str(error.__class__.__name__).startswith("NoSuch"):
                raise
            near = getattr(error, "possibilities", None) or ()
            raise ConfigError(self._answer(str(name), near)) from None

    def _answer(self, name: str, near: Sequence[str]) -> str:
        from seqloom.config.foreign_options import answer_of

        answer = answer_of(name)
        if answer is None:
            cure = f"did you mean {near[0]}?" if near else f"seqloom {self.name} --help lists those"
            return f"there is no option {name}: {cure}{'' if near else ' there are'}"
        if answer.fits({flag for each in self.params for flag in each.opts}):
            return f"{name}: {answer.words}"
        elsewhere = f"in seqloom {answer.command}, {answer.words}"
        return f"{name}: seqloom {self.name} has no such option; {elsewhere}"
