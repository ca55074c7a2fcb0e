"""The layer that CTC adds to an encoder in training."""

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["CTCLayer"]


class CTCLayer(nn.Module):
    """Scores of every symbol at every step of an encoder; the score of `<empty>` is the blank's.

    Kim et al. 2017, Joint CTC-Attention based End-to-End Speech Recognition using Multi-task
    Learning.
    """

    def __init__(self, width: int, symbols: int, *, share: float) -> None:
        """`share` is CTC's share of the loss."""
        super().__init__()
        self.share = share
        self.output = nn.Linear(width, symbols)

    def forward(self, states: Float[Tensor, "B S D"]) -> Float[Tensor, "B S V"]:
        scores: Tensor = self.output(states)
        return scores
