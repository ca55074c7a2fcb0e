"""What a user asks of training: data, held-out data, a preset, options, a run to begin from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from seqloom.config import (
    Config,
    Facts,
    Overrides,
    check_columns_bare,
    check_names,
    merge,
    outline,
    plan,
)
from seqloom.data import Data, Survey, is_stream, is_tagged, survey
from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting
from seqloom.runs.pretrained import PretrainedRun, embedding_overrides
from seqloom.runs.process import check_device
from seqloom.runs.tensorboard import check_tensorboard
from seqloom.training import check_precision

__all__ = ["TrainingRequest"]


@dataclass(frozen=True)
class TrainingRequest:
    """What a user asks for: data, held-out data, a preset, and options of their own."""

    data: Data
    valid: Data | None = None
    preset: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    base: PretrainedRun | None = None  # the run that a new one begins from

    def __post_init__(self) -> None:
        """Files of words with their tags have tags as their target, unless it is said otherwise."""
        check_columns_bare(self.options)
        if is_tagged(self.data):
            object.__setattr__(self, "options", merge({"target": {"kind": "tags"}}, self.options))

    def with_base(self, base: PretrainedRun) -> "TrainingRequest":
        """The same for a run that begins from another: its fields and its model are settled."""
        check_names(self.options, place="options")
        if self.preset != "auto":
            raise ConfigError(
                "a run that begins from another keeps its model",
                place=Setting("base", base.path),
                remedy=Remedy("leave {} out", Setting("model")),
            )
        return replace(self, options=base.options(self.options), base=base)

    def outline(self) -> Config:
        """What the options tell before any data is read; ConfigError where they cannot be."""
        check_names(self.options, place="options")
        config = outline(self._options(), preset=self.preset, stream=is_stream(self.data))
        if config.training.extend_vocabulary and self.base is None:
            raise ConfigError(
                "training.extend_vocabulary adds to the vocabulary of another run",
                remedy=Remedy("name it with {}, or leave the option out", Setting("base")),
            )
        check_precision(config.training)
        check_tensorboard(config.training)
        check_device(config.training)
        return config

    def plan(self, facts: Facts) -> Config:
        """The whole configuration for such data; vectors from a file settle their own size."""
        return plan(self._options(), facts, preset=self.preset)

    def survey(self) -> Survey:
        """One look at the data, with the options checked before."""
        config = self.outline()
        return survey(self.data, config.data, seed=config.seed)

    def _options(self) -> Overrides:
        return merge(embedding_overrides(self.options), self.options)
