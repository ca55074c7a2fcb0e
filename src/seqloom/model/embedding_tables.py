"""Where a network keeps the vectors of its tokens (S1.4)."""

from typing import Literal

from seqloom.errors import ConfigError
from seqloom.model.networks import Network
from seqloom.nn.embedding import Embedding, first_token_table

__all__ = ["TokenSide", "token_table"]

TokenSide = Literal["source", "target"]


def token_table(network: Network, side: TokenSide) -> Embedding:
    """The table of the tokens that are read on a side, letters aside; ConfigError without one."""
    part = network.encoder if side == "source" else network.decoder
    table = None if part is None else first_token_table(part)
    if table is None:
        raise ConfigError(
            f"model.{side}_vectors: the {side} has no table of token vectors here",
            remedy="leave it out",
        )
    return table
