"""A request for training, checked and planned before anything of a run is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from seqloom.config import (
    Config,
    Facts,
    TrainingConfig,
    check_columns_bare,
    check_names,
    merge,
    outline,
    plan,
)
from seqloom.data import Data, hash_files, is_stream, is_tagged
from seqloom.errors import ConfigError
from seqloom.fields import placeholder_items
from seqloom.model import build_on_meta
from seqloom.remedies import Remedy, Setting
from seqloom.runs.loggers import check_loggers
from seqloom.runs.loss_checks import check_agreement, check_ctc_config, check_teaching
from seqloom.runs.pretrained import PretrainedRun, embedding_overrides, freeze_pretrained
from seqloom.runs.processes.device import check_gpu
from seqloom.runs.progress import TrainingObserver, phase
from seqloom.surveys import Survey, survey
from seqloom.training import check_forcing, check_precision, freeze

__all__ = ["SURVEY", "ConfigCheck", "RunDraft", "TrainingRequest", "check_network", "draft_rows"]


@dataclass(frozen=True)
class TrainingRequest:
    """The arguments of a training run: training and validation data, a preset and the user's
    options.
    """

    data: Data
    valid: Data | None = None
    preset: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    base: PretrainedRun | None = None  # the base run for fine-tuning
    cache: Path | None = None  # keeps interrupted preparations for continuation

    def __post_init__(self) -> None:
        """Default the target of files of tagged words to tags."""
        check_columns_bare(self.options)
        if is_tagged(self.data):
            object.__setattr__(self, "options", merge({"target": {"kind": "tags"}}, self.options))

    def with_base(self, base: PretrainedRun) -> "TrainingRequest":
        """The request for a run that starts from `base`, whose fields and model it keeps."""
        check_names(self.options, place="options")
        if self.preset != "auto":
            raise ConfigError(
                "a run that begins from another keeps its model",
                place=Setting("base", base.path),
                remedy=Remedy("leave {} out", Setting("model")),
            )
        return replace(self, options=base.options(self.options), base=base)

    def outline(self) -> Config:
        """The configuration as far as options determine it without data; ConfigError for invalid
        options.
        """
        check_names(self.options, place="options")
        config = outline(self._options(), preset=self.preset, stream=is_stream(self.data))
        if config.training.extend_vocabulary and self.base is None:
            raise ConfigError(
                "training.extend_vocabulary adds to the vocabulary of another run",
                remedy=Remedy("name it with {}, or leave the option out", Setting("base")),
            )
        _check_surroundings(config.training)
        return config

    def plan(self, facts: Facts) -> Config:
        """The complete configuration for this data; pretrained vectors set their own size."""
        return plan(self._options(), facts, preset=self.preset)

    def survey(self, watch: TrainingObserver) -> Survey:
        """Check the options, then survey the data; an interrupted survey continues."""
        config = self.outline()
        keep = None if self.cache is None else self.cache / SURVEY
        with phase(watch, "reading the data") as tell:
            hashed = 0.0 if keep is None else HASHED
            if keep is not None:
                hash_files(self.data, lambda done: tell(hashed * done))
            return survey(
                self.data,
                config.data,
                seed=config.seed,
                tell=lambda done: tell(hashed + (1 - hashed) * done),
                keep=keep,
            )

    def _options(self) -> Mapping[str, Any]:
        model = self.options.get("model", {})
        if not any(f"{side}_vectors" in model for side in ("source", "target")):
            return self.options
        return merge(embedding_overrides(self.options), self.options)


SURVEY = "survey"  # file name in the cache
HASHED = 0.05  # approximate share of the reading time spent on hashing the files

ConfigCheck = Callable[[Config], None]
"""Raises ConfigError where a run cannot be trained as configured."""

Content = TypeVar("Content")


@dataclass(frozen=True)
class RunDraft(Generic[Content]):
    """A planned run before anything is written: its configuration and its data."""

    config: Config
    content: Content


def draft_rows(
    request: TrainingRequest, watch: TrainingObserver, *, check: ConfigCheck
) -> RunDraft[Survey]:
    """Survey the rows and plan the run; `check` raises ConfigError if it cannot be trained."""
    found = request.survey(watch)
    config = request.plan(found.facts)
    check(config)
    return RunDraft(config, found)


def check_network(config: Config) -> None:
    """Raise ConfigError if the network cannot be built or trained."""
    model, training = config.model, config.training
    check_teaching(config)
    check_agreement(config)
    if model.ctc or model.decoder.is_ctc:
        check_ctc_config(config)
    source, target = placeholder_items(config.source), placeholder_items(config.target)
    network = build_on_meta(model, source=source, target=target)
    if training.freeze:
        freeze(network, training.freeze)
    if model.source_vectors or model.target_vectors:
        freeze_pretrained(network, model)
    check_forcing(training, network)
    _check_surroundings(training)


def _check_surroundings(training: TrainingConfig) -> None:
    """Raise ConfigError if this machine lacks a required device or package."""
    check_precision(training)
    check_loggers(training)
    if training.device == "cuda":
        check_gpu()
