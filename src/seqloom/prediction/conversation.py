"""A dialog with a model that reads turns, with its history (S8)."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from seqloom.errors import ConfigError
from seqloom.fields import as_text_field, join_turns
from seqloom.prediction.batching import ContinuousBatch
from seqloom.prediction.request import (
    NO_OPTIONS,
    OutputOptions,
    PendingInput,
    PredictionRequest,
)
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.remedies import Command, Remedy, Setting
from seqloom.search import Search

__all__ = ["Conversation"]


@dataclass
class Conversation:
    """The turns so far, oldest first; every reply is conditioned on all of them."""

    model: TextPredictor
    search: Search | None = None  # the run's own if None
    options: OutputOptions = NO_OPTIONS
    turns: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """ConfigError if the model does not read turns."""
        source = as_text_field(self.model.source)
        if source is None or not source.has_turns:
            raise ConfigError(
                f"this model reads {self.model.source.describe()}, not turns, so it cannot keep "
                "a conversation",
                remedy=Remedy(
                    "train one with {}, or use {}",
                    Command("train", "DATA", Setting("source.kind", "turns")),
                    Command("predict"),
                ),
            )

    def reply(self, text: str) -> Iterator[str]:
        """Stream the reply to a turn: growing stable prefixes, finally the whole.

        Both turns are added once it is complete.
        """
        said = [*self.turns, text]
        asked = self.model.decoding_request(PredictionRequest(self.search, options=self.options))
        (read,) = self.model.input_reader.read_all([join_turns(said)]).encoded
        running: ContinuousBatch[int] = ContinuousBatch(self.model)
        known: list[int] = []
        outputs = running.add([PendingInput(0, read, len(self.turns) // 2, asked)])
        while not outputs:
            more = running.stable_tokens(0, len(known))
            known += [each.token for each in more]
            if more:
                yield self.model.target.decode(known)
            outputs = running.advance()
        whole = outputs[0].text
        self.turns = [*said, whole]
        yield whole

    def undo(self) -> bool:
        """Remove the last turn and its reply; return whether there were any."""
        there = bool(self.turns)
        del self.turns[-2:]
        return there

    def reset(self) -> None:
        """Clear the history."""
        self.turns.clear()
