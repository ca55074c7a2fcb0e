"""A network as a whole: an encoder, a decoder or a head, and where token vectors are kept."""

from collections.abc import Mapping
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from seqloom.errors import ConfigError, RunError
from seqloom.fields import EMPTY, START
from seqloom.model.connections import Connections
from seqloom.model.ctc import CTCLayer
from seqloom.model.parts import DecoderModule, EncoderModule, Head
from seqloom.model.state import Feedback, FillingHead, Memory, TargetFeatures, TokenScorer
from seqloom.nn.embedding import Embedding, first_token_table

__all__ = [
    "HeadModel",
    "Network",
    "SequenceModel",
    "TokenSide",
    "check_fit",
    "load_weights",
    "shift_right",
    "token_table",
    "weights",
]


def shift_right(tokens: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """`<start>` and then the tokens without the last."""
    return torch.cat([torch.full_like(tokens[:, :1], START), tokens[:, :-1]], dim=1)


class SequenceModel(nn.Module):
    """An encoder and a decoder with parameters of their own (S3.1)."""

    head: None = None
    direct_head: None = None

    def __init__(
        self, encoder: EncoderModule, decoder: DecoderModule, aligner: CTCLayer | None = None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.aligner = aligner  # used in training only

    @property
    def feedback(self) -> Feedback | None:
        """How the decoder reads its own outputs in training; None where it cannot."""
        return self.decoder.feedback

    @property
    def token_scorer(self) -> TokenScorer:
        """The part with an output layer, which the loss calls for some positions at a time."""
        return self.decoder

    def teacher_force(self, memory: Memory, target: Int[Tensor, "B T"]) -> TargetFeatures:
        """Read a target whose every step hands its label on to the next."""
        features, _ = self.decoder.read(shift_right(target), self.decoder.start(memory))
        return TargetFeatures(features.hidden, target, target.ne(EMPTY))

    def connections(self) -> Connections:
        """The edges by which the network is drawn."""
        return self.encoder.connections().merge(self.decoder.connections())


class HeadModel(nn.Module):
    """An encoder, and a head that classifies or predicts from its states (S5.6, encoder only)."""

    decoder: None = None
    aligner: None = None
    feedback: None = None

    def __init__(self, encoder: EncoderModule, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    @property
    def filling_head(self) -> FillingHead:
        """The head, which predicts tokens that were left out; TypeError where it does not."""
        found = self.head.filling_head
        if found is None:
            raise TypeError("this head fills in no blanks")
        return found

    @property
    def token_scorer(self) -> TokenScorer | None:
        """The part with an output layer over a vocabulary, if there is one."""
        return self.head.filling_head

    @property
    def direct_head(self) -> Head | None:
        """The head, if it has no such layer and computes its own loss."""
        return self.head if self.token_scorer is None else None

    def teacher_force(self, memory: Memory, target: Tensor) -> TargetFeatures:
        """The head's features or outputs for each position of the target."""
        found = self.head.teacher_force(memory, target)[:, : target.shape[1]]
        counts = target.isfinite().all(-1) if target.is_floating_point() else target.ne(EMPTY)
        return TargetFeatures(found, target, counts)

    def connections(self) -> Connections:
        """The edges by which the network is drawn."""
        return self.encoder.connections().merge(self.head.connections())


Network = SequenceModel | HeadModel

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


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter under its first name; a tied table appears once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], *, place: str) -> None:
    """Put saved weights into a model of just their names and shapes."""
    check_fit(model, tensors, place=place)
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])


def check_fit(model: nn.Module, tensors: Mapping[str, Tensor], *, place: str) -> None:
    """RunError unless the tensors have just the names and shapes of the model's parameters."""
    parameters = dict(model.named_parameters())
    wrong = sorted(parameters.keys() ^ tensors.keys())
    wrong += [
        name
        for name in parameters
        if name in tensors and parameters[name].shape != tensors[name].shape
    ]
    if wrong:
        raise RunError(f"{wrong[0]} does not fit the model that config.toml describes", place=place)
