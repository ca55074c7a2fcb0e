"""What an encoder is taught beside its decoder: which symbol each of its steps stands for."""

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["CTCLayer"]


class CTCLayer(nn.Module):
    """Scores of every symbol at every step of an encoder; that of `<empty>` is the blank's."""

    def __init__(self, width: int, symbols: int, *, share: float) -> None:
        """`share` of the loss is that of alignments."""
        super().__init__()
        self.share = share
        self.output = nn.Linear(width, symbols)

    def forward(self, states: Float[Tensor, "B S D"]) -> Float[Tensor, "B S V"]:
        scores: Tensor = self.output(states)
        return scores
