"""Where a network keeps the vectors of its tokens (SPEC S1.4)."""

from typing import Literal

from torch import nn

from seqloom.model.build import Network, SequenceModel
from seqloom.nn.embedding import Embedding, SpeltVectors

__all__ = ["Reads", "token_table"]

Reads = Literal["source", "target"]


def token_table(network: Network, side: Reads) -> Embedding | None:
    """The table of the tokens that are read on a side, letters apart; None where there is none."""
    if side == "source":
        return _first(network.encoder)
    return _first(network.decoder) if isinstance(network, SequenceModel) else None


def _first(part: object) -> Embedding | None:
    """The first table in a part that is neither one of letters nor of an output layer alone."""
    if not isinstance(part, nn.Module):
        return None
    letters = {id(each.letters) for each in part.modules() if isinstance(each, SpeltVectors)}
    for name, module in part.named_modules():
        read = not name.startswith("output.") and id(module) not in letters
        if read and isinstance(module, Embedding):
            return module
    return None
