"""Where a network keeps the vectors of its tokens (S1.4)."""

from typing import Literal

from torch import nn

from seqloom.errors import ConfigError
from seqloom.model.build import Network, SequenceModel
from seqloom.nn.embedding import CharacterCNNVectors, Embedding

__all__ = ["TokenSide", "token_table"]

TokenSide = Literal["source", "target"]


def token_table(network: Network, side: TokenSide) -> Embedding:
    """The table of the tokens that are read on a side, letters apart; ConfigError without one."""
    part: object = network.encoder if side == "source" else None
    if side == "target" and isinstance(network, SequenceModel):
        part = network.decoder
    table = _first_table(part)
    if table is None:
        raise ConfigError(
            f"model.{side}_vectors: the {side} has no table of token vectors here; leave it out"
        )
    return table


def _first_table(part: object) -> Embedding | None:
    """The first table in a part that is neither one of letters nor of an output layer alone."""
    if not isinstance(part, nn.Module):
        return None
    letters = {id(each.letters) for each in part.modules() if isinstance(each, CharacterCNNVectors)}
    for name, module in part.named_modules():
        read = not name.startswith("output.") and id(module) not in letters
        if read and isinstance(module, Embedding):
            return module
    return None
