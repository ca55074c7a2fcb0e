"""Runs that begin with word vectors from a file (S1.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqloom.config import Config, ModelConfig, Overrides
from seqloom.data import read_vectors, vectors_size
from seqloom.errors import ConfigError
from seqloom.fields import Field, TextField
from seqloom.model import Network, TokenSide, token_table
from seqloom.runs.pretrained_front_end import PretrainedFrontEnd
from seqloom.runs.progress import Origin
from seqloom.runs.weights import weights
from seqloom.training import freeze_vectors

__all__ = ["PretrainedEmbeddings", "embedding_overrides", "freeze_pretrained", "open_embeddings"]

SIDES: tuple[TokenSide, ...] = ("source", "target")


@dataclass(frozen=True)
class SideEmbeddings:
    """Vectors for some of the tokens of a field."""

    side: TokenSide
    path: Path
    symbols: int  # of the field, without the special ones
    tokens: Tensor  # ids of those found
    vectors: Tensor  # a row for each of them

    def __str__(self) -> str:
        found = len(self.tokens)
        share = 100 * found / max(1, self.symbols)
        return f"{self.path} ({found:,} of {self.symbols:,} {self.side} symbols, {share:.1f} %)"

    def rescale(self, like: Tensor) -> Tensor:
        """The vectors, all times one number: as large on average as a new table's are."""
        size = self.vectors.square().mean().sqrt()
        return self.vectors.to(like.dtype) * like.square().mean().sqrt() / size.clamp_min(1e-12)


@dataclass(frozen=True)
class PretrainedEmbeddings:
    """Where a new run has vectors of its tokens from, and perhaps its front end."""

    embeddings: tuple[SideEmbeddings, ...]
    front_end: PretrainedFrontEnd | None

    def __str__(self) -> str:
        told = f"the vectors of {' and '.join(map(str, self.embeddings))}"
        return told if self.front_end is None else f"{told}, and {self.front_end}"

    @property
    def origin(self) -> Origin:
        """What a run that begins with it remembers."""
        return Origin(words=str(self))

    def initial_weights(self, network: Network) -> dict[str, Tensor]:
        """The network's own weights, with the given vectors in place of those of their tokens."""
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
    """The size of token vectors that a file settles, unless the options themselves do."""
    model = options.get("model", {})
    files = [model.get(f"{side}_vectors") for side in SIDES if model.get(f"{side}_vectors")]
    if not files or "embedding" in model:
        return {}
    return {"model": {"embedding": vectors_size(Path(files[0]))}}


def open_embeddings(
    config: Config, fields: tuple[Field, Field], front: PretrainedFrontEnd | None
) -> PretrainedEmbeddings | PretrainedFrontEnd | None:
    """What a new run begins with: vectors of the files that the options name, and a front end."""
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
    """Let given vectors stay as they are, if so configured; what a reader should know of that.

    ConfigError where vectors are given for a side that reads no tokens.
    """
    tables = [token_table(network, side) for side in SIDES if _file(config, side)]
    return freeze_vectors(network, tables) if config.frozen_vectors and tables else []


def _file(config: ModelConfig, side: TokenSide) -> str:
    return config.source_vectors if side == "source" else config.target_vectors


def _read_embeddings(config: ModelConfig, side: TokenSide, field: Field) -> SideEmbeddings:
    path = Path(_file(config, side))
    if not isinstance(field, TextField):
        raise ConfigError(f"model.{side}_vectors: the {side} is no text", remedy="leave it out")
    size = vectors_size(path)
    if size != config.embedding:
        raise ConfigError(
            f"model.{side}_vectors = {str(path)!r}: its vectors have {size} numbers, and "
            f"model.embedding is {config.embedding}",
            remedy="make them equal",
        )
    spellings = dict(field.spellings())
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
