"""Initial weights from elsewhere (S1.4, S3.4, S6.7).

Fine-tuning starts from the weights and the vocabulary of another run; word vectors and convolutions
may also come from a file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from seqloom.config import Config, FrontEndConfig, ModelConfig, Overrides, flatten, merge, validate
from seqloom.data import read_vectors, vectors_size
from seqloom.errors import ConfigError, RunError
from seqloom.fields import Field, as_text_field
from seqloom.model import Network, TokenSide, token_table
from seqloom.model.networks import weights
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import best_step, load_config, load_fields, model_weights
from seqloom.runs.progress import Origin
from seqloom.store import RunDirectory
from seqloom.store.tensors import unpack
from seqloom.training import freeze_vectors

__all__ = [
    "Pretrained",
    "PretrainedEmbeddings",
    "PretrainedFrontEnd",
    "PretrainedRun",
    "embedding_overrides",
    "freeze_pretrained",
    "open_embeddings",
    "open_front_end",
    "open_pretrained_run",
]

INHERITED = ("source.", "target.", "model.")
LIMITS = ("max_line", "max_source", "max_target", "overlong")
RATE_FACTOR = 0.25  # of the learning rate for a new model


class Pretrained(Protocol):
    """The source of a run's initial weights, or of some of them; `str` describes it."""

    @property
    def origin(self) -> Origin:
        """The origin as recorded in the run."""

    def initial_weights(self, network: Any) -> dict[str, Tensor]:
        """All initial weights of a new network, by name."""


@dataclass(frozen=True)
class PretrainedRun:
    """The base run of fine-tuning."""

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
        """The origin as recorded in the new run."""
        return Origin(str(self.path), self.step)

    @property
    def fields(self) -> tuple[Field, Field]:
        """Source and target."""
        return self.source, self.target

    def options(self, own: Mapping[str, Any]) -> Overrides:
        """The user's options combined with those inherited from the base run.

        Fields and model are inherited; only dropout may differ.
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
        """The planned configuration with a lower learning rate, unless the user has set one."""
        training = config.training
        if "rate" not in own.get("training", {}):
            training = training.model_copy(update={"rate": RATE_FACTOR * training.rate})
        return config.model_copy(update={"training": training})

    def extend_fields(self, sample: Sequence[tuple[str, str]]) -> tuple[Field, Field]:
        """The base run's fields, extended by new symbols of the rows; views of one if they are
        shared.
        """
        sources, targets = ([row[side] for row in sample] for side in (0, 1))
        if self.target is self.source.as_target:
            both = self.source.extend([*sources, *targets])
            return both, both.as_target
        source = self.source.extend(sources)
        return source, self.target.extend_target(targets, source=source)

    def initial_weights(self, network: nn.Module) -> dict[str, Tensor]:
        """The base run's weights for a network that may have more symbols, whose weights stay new.

        ConfigError if new symbols could never learn because their table is frozen.
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
    """Open the best step of a finished run as a base."""
    directory = RunDirectory(Path(path))
    config = load_config(directory)
    source, target = load_fields(directory, config)
    step = best_step(directory)
    return PretrainedRun(Path(path), step.number, config, source, target, model_weights(step))


CONVOLUTIONS = "encoder.front.convolutions."


@dataclass(frozen=True)
class PretrainedFrontEnd:
    """Pretrained convolutions for a new run."""

    path: Path
    weights: Mapping[str, Tensor]  # by name within the convolutions

    def __str__(self) -> str:
        return f"the front end of {self.path}"

    @property
    def origin(self) -> Origin:
        """The origin as recorded in the new run."""
        return Origin(words=str(self))

    def initial_weights(self, network: nn.Module) -> dict[str, Tensor]:
        """The network's own weights, except for these convolutions."""
        found = {}
        for name, value in weights(network).items():
            inner = name.removeprefix(CONVOLUTIONS)
            old = value if inner == name else self.weights.get(inner)
            if old is None or old.shape != value.shape:
                kind = "is not there" if old is None else f"is of shape {tuple(old.shape)}"
                raise ConfigError(
                    f"model.front.weights = {str(self.path)!r}: {inner} {kind}, where the front "
                    f"end needs {tuple(value.shape)}",
                    remedy="give model.front the options of the one that learnt them",
                )
            found[name] = old.to(value.dtype, copy=True)
        return found


def open_front_end(part: FrontEndConfig) -> PretrainedFrontEnd | None:
    """Open the convolutions of the run or file named in the options, if any."""
    if not part.initial_weights:
        return None
    path = Path(part.initial_weights)
    if path.is_dir():
        used = model_weights(best_step(RunDirectory(path)))
        inner = {
            name.removeprefix(CONVOLUTIONS): value
            for name, value in used.items()
            if name.startswith(CONVOLUTIONS)
        }
        return PretrainedFrontEnd(path, inner)
    try:
        return PretrainedFrontEnd(path, unpack(path.read_bytes(), place=path))
    except OSError as error:
        why = error.strerror or "its name is not one"
        raise ConfigError(
            f"model.front.weights = {part.initial_weights!r}: cannot be read ({why})",
            remedy="name a run directory or a safetensors file",
        ) from None
    except RunError:
        raise ConfigError(
            f"model.front.weights = {part.initial_weights!r}: is not a safetensors file",
            remedy="convert it, or name a run directory",
        ) from None


SIDES: tuple[TokenSide, ...] = ("source", "target")


@dataclass(frozen=True)
class SideEmbeddings:
    """Vectors for some of a field's tokens."""

    side: TokenSide
    path: Path
    symbols: int  # of the field, without special ones
    tokens: Tensor  # ids of the tokens found
    vectors: Tensor  # a row for each of them

    def __str__(self) -> str:
        found = len(self.tokens)
        share = 100 * found / max(1, self.symbols)
        return f"{self.path} ({found:,} of {self.symbols:,} {self.side} symbols, {share:.1f} %)"

    def rescale(self, like: Tensor) -> Tensor:
        """Scale the vectors to the mean norm of a new table."""
        size = self.vectors.square().mean().sqrt()
        return self.vectors.to(like.dtype) * like.square().mean().sqrt() / size.clamp_min(1e-12)


@dataclass(frozen=True)
class PretrainedEmbeddings:
    """Pretrained embeddings for a new run, optionally with a front end."""

    embeddings: tuple[SideEmbeddings, ...]
    front_end: PretrainedFrontEnd | None

    def __str__(self) -> str:
        told = f"the vectors of {' and '.join(map(str, self.embeddings))}"
        return told if self.front_end is None else f"{told}, and {self.front_end}"

    @property
    def origin(self) -> Origin:
        """The origin as recorded in the new run."""
        return Origin(words=str(self))

    def initial_weights(self, network: Network) -> dict[str, Tensor]:
        """The network's own weights, except for the vectors of these tokens."""
        own = (
            weights(network) if self.front_end is None else self.front_end.initial_weights(network)
        )
        found = {name: value.clone() for name, value in own.items()}
        names = {id(parameter): name for name, parameter in network.named_parameters()}
        for each in self.embeddings:
            table = found[names[id(token_table(network, each.side).table)]]
            table[each.tokens] = each.rescale(table)
        return found


def embedding_overrides(options: Mapping[str, Any]) -> Overrides:
    """The embedding size given by a file, unless the options set one."""
    model = options.get("model", {})
    files = [model.get(f"{side}_vectors") for side in SIDES if model.get(f"{side}_vectors")]
    if not files or "embedding" in model:
        return {}
    return {"model": {"embedding": vectors_size(Path(files[0]))}}


def open_embeddings(
    config: Config, fields: tuple[Field, Field], front: PretrainedFrontEnd | None
) -> PretrainedEmbeddings | PretrainedFrontEnd | None:
    """Open the embeddings and the front end named in the options."""
    sides = zip(SIDES, fields, strict=True)
    files = {_file(config.model, side) for side in SIDES} - {""}
    if config.model.share_vocabulary and len(files) > 1:
        raise ConfigError(
            "model.source_vectors and model.target_vectors differ, and both sides share one table",
            remedy="name one file, or set model.share_vocabulary=false",
        )
    given = [
        _read_embeddings(config.model, side, field)
        for side, field in sides
        if _file(config.model, side)
    ]
    return PretrainedEmbeddings(tuple(given), front) if given else front


def freeze_pretrained(network: Network, config: ModelConfig) -> list[str]:
    """Freeze given vectors if configured; return notes for the user.

    ConfigError if vectors are given for a side without tokens.
    """
    tables = [token_table(network, side) for side in SIDES if _file(config, side)]
    return freeze_vectors(network, tables) if config.frozen_vectors and tables else []


def _file(config: ModelConfig, side: TokenSide) -> str:
    return config.source_vectors if side == "source" else config.target_vectors


def _read_embeddings(config: ModelConfig, side: TokenSide, field: Field) -> SideEmbeddings:
    path, text = Path(_file(config, side)), as_text_field(field)
    if text is None:
        raise ConfigError(f"model.{side}_vectors: the {side} is no text", remedy="leave it out")
    size = vectors_size(path)
    if size != config.embedding:
        raise ConfigError(
            f"model.{side}_vectors = {str(path)!r}: its vectors have {size} numbers, and "
            f"model.embedding is {config.embedding}",
            remedy="make them equal",
        )
    spellings = dict(text.spellings())
    wanted = {*spellings.values(), *(text.lower() for text in spellings.values())}
    vectors = read_vectors(path, wanted)
    rows = {token: vectors.find(text) for token, text in spellings.items()}
    found = {token: row for token, row in rows.items() if row is not None}
    if not found:
        raise ConfigError(
            f"model.{side}_vectors = {str(path)!r}: it has none of the {side}'s symbols, which "
            f"are {field.describe()}",
            remedy=f"set {side}.unit=word, or leave it out",
        )
    table = torch.from_numpy(vectors.table[list(found.values())])
    return SideEmbeddings(side, path, len(spellings), torch.tensor(list(found)), table)
