"""Fine-tuning: a new run that begins with the weights and the vocabulary of another (S6.7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from seqloom.config import Config, Overrides, flatten, merge, validate
from seqloom.errors import ConfigError, RunError
from seqloom.fields import Field
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import best_step, load_config, load_fields, model_weights
from seqloom.runs.progress import Origin
from seqloom.runs.weights import weights
from seqloom.store import RunDirectory

__all__ = ["PretrainedRun", "open_pretrained_run"]

INHERITED = ("source.", "target.", "model.")
LIMITS = ("max_line", "max_source", "max_target", "overlong")
RATE_FACTOR = 0.25  # of the rate that a new model would get


@dataclass(frozen=True)
class PretrainedRun:
    """The run that a new one begins from."""

    path: Path
    step: int
    config: Config
    source: Field
    target: Field
    weights: Mapping[str, Tensor]

    def __str__(self) -> str:
        return f"{self.path}, step {self.step}"

    @property
    def origin(self) -> Origin:
        """What a run that begins from it remembers."""
        return Origin(str(self.path), self.step)

    @property
    def fields(self) -> tuple[Field, Field]:
        """Source and target."""
        return self.source, self.target

    def options(self, own: Mapping[str, Any]) -> Overrides:
        """The user's options, and what the new run has from the old one.

        Fields and model are those of the old run; only dropout may be another.
        """
        old = self.config.model_dump(mode="json")
        kept: Overrides = {name: old[name] for name in ("source", "target", "model", "search")}
        kept["data"] = {name: old["data"][name] for name in LIMITS}
        merged = merge(kept, own)
        before, after = flatten(self.config), flatten(validate(merged, place="options"))
        for name, value in after.items():
            free = name.rpartition(".")[2] == "dropout"
            if name.startswith(INHERITED) and not free and before.get(name) != value:
                raise ConfigError(
                    f"a run that begins from another keeps its {name} = {before.get(name)!r}",
                    place=Setting("base", self.path),
                    remedy=Remedy(
                        "leave {} out, or train without {}", Setting(name, value), Setting("base")
                    ),
                )
        return merged

    def fine_tuning_config(self, config: Config, own: Mapping[str, Any]) -> Config:
        """The planned configuration with a lower rate, unless the user has set one."""
        training = config.training
        if "rate" not in own.get("training", {}):
            training = training.model_copy(update={"rate": RATE_FACTOR * training.rate})
        return config.model_copy(update={"training": training})

    def extend_fields(self, sample: Sequence[tuple[str, str]]) -> tuple[Field, Field]:
        """Its fields with what the new rows have and they lack; one object where they are one."""
        sources, targets = ([row[side] for row in sample] for side in (0, 1))
        if self.source is self.target:
            both = self.source.extend([*sources, *targets])
            return both, both
        source = self.source.extend(sources)
        return source, self.target.extend_target(targets, source=source)

    def initial_weights(self, network: nn.Module) -> dict[str, Tensor]:
        """Its weights for a network that may have more symbols; new ones stay as they are there.

        ConfigError where those would never learn, since the table they are in is frozen.
        """
        grown = {name: value.clone() for name, value in weights(network).items()}
        frozen = {name for name, value in network.named_parameters() if not value.requires_grad}
        for name in sorted(grown.keys() | self.weights.keys()):
            new, old = grown.get(name), self.weights.get(name)
            if new is None or old is None or not _holds(new.shape, old.shape):
                raise RunError(
                    f"{name} does not fit the new model",
                    place=self.path,
                    remedy=Remedy("train without {}", Setting("base")),
                )
            if name in frozen and new.shape != old.shape:
                raise ConfigError(
                    f"training.freeze keeps {name}, so the new symbols in it would never learn",
                    remedy="freeze less, or leave training.extend_vocabulary out",
                )
            new[tuple(slice(size) for size in old.shape)] = old
        return grown


def _holds(large: Sequence[int], small: Sequence[int]) -> bool:
    return len(large) == len(small) and all(a >= b for a, b in zip(large, small, strict=True))


def open_pretrained_run(path: str | Path) -> PretrainedRun:
    """What a new run takes from the best step of a finished one."""
    directory = RunDirectory(Path(path))
    config = load_config(directory)
    source, target = load_fields(directory, config)
    step = best_step(directory)
    return PretrainedRun(Path(path), step.number, config, source, target, model_weights(step))
