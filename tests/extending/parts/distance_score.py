"""An attention score: `-|q - k|²`, between queries and keys of one size."""

from typing import Any

import torch
from torch import Tensor

from seqloom.config import SCORES
from seqloom.errors import ConfigError
from seqloom.nn.attention import ScoreFunction, ScoreSizes


@SCORES.part("distance")
class NegativeDistance(ScoreFunction):
    """The nearer a key is to the query, the more it is attended to."""

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "NegativeDistance":
        if sizes.query != sizes.key:
            raise ConfigError(
                f"needs equal sizes, not {sizes.query} and {sizes.key}",
                place="model.decoder.attention.score = 'distance'",
                remedy="make the decoder as wide as the encoder's states",
            )
        return cls()

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        """(B, Q, D) and (B, S, D) to (B, Q, S)."""
        return -torch.cdist(queries, prepared).square()
