"""Ensembles: several models whose probabilities are averaged at each step (S7.4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.model.networks import HeadModel, SequenceModel
from seqloom.model.parts import DecoderModule, EncoderModule, EncoderSizes, Head
from seqloom.model.state import (
    Decoder,
    Encoder,
    Features,
    Memory,
    Source,
    TokenScorer,
)
from seqloom.model.tag_decoder import RecurrentTagsHead

__all__ = [
    "EnsembleDecoder",
    "EnsembleEncoder",
    "EnsembleFillingHead",
    "EnsembleHead",
    "EnsembleMemory",
    "EnsembleState",
    "head_ensemble",
    "network_ensemble",
]


@dataclass(frozen=True)
class EnsembleMemory(Memory):
    """The memory of each member's encoder."""

    members: tuple[Memory, ...] = ()


@dataclass(frozen=True)
class EnsembleState:
    """The state of each member's decoder."""

    members: tuple[Any, ...]

    def select(
        self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None
    ) -> "EnsembleState":
        """The same rows of every member."""
        return EnsembleState(tuple(member.select(rows, sentences) for member in self.members))

    def join(self, other: "EnsembleState") -> "EnsembleState":
        """The sentences of both, in every member."""
        pairs = zip(self.members, other.members, strict=True)
        return EnsembleState(tuple(mine.join(theirs) for mine, theirs in pairs))


class EnsembleEncoder(EncoderModule):
    """Encodes the input with every member."""

    def __init__(self, members: Sequence[Encoder]) -> None:
        super().__init__()
        self.members = tuple(members)
        self.parts = nn.ModuleList(part for part in members if isinstance(part, nn.Module))

    @property
    def sizes(self) -> EncoderSizes:
        """None in common: each member's decoder knows its own encoder's."""
        return EncoderSizes()

    def encode(self, source: Source) -> EnsembleMemory:
        memories = tuple(member.encode(source) for member in self.members)
        return EnsembleMemory(len(source.lengths), mask=_common_mask(memories), members=memories)


class EnsembleDecoder(DecoderModule):
    """Decoders over the same vocabulary, whose token probabilities are averaged.

    Their features are concatenated, `widths` values of each; attention is the mean over the members
    with attention, if they attend to the same positions.

    Hansen and Salamon 1990, Neural Network Ensembles.
    """

    def __init__(self, members: Sequence[Decoder[Any]], widths: Sequence[int]) -> None:
        super().__init__()
        self.members = tuple(members)
        self.parts = nn.ModuleList(part for part in members if isinstance(part, nn.Module))
        self.widths = list(widths)

    @property
    def width(self) -> int:
        return sum(self.widths)

    def start(self, memory: Memory, *, trace: bool = False) -> EnsembleState:
        if not isinstance(memory, EnsembleMemory):
            raise TypeError("an ensemble's decoder needs the memories of all members")
        pairs = zip(self.members, memory.members, strict=True)
        return EnsembleState(tuple(member.start(theirs, trace=trace) for member, theirs in pairs))

    def read(
        self, inputs: Int[Tensor, "R T"], state: EnsembleState
    ) -> tuple[Features, EnsembleState]:
        pairs = zip(self.members, state.members, strict=True)
        found = [member.read(inputs, theirs) for member, theirs in pairs]
        hidden = torch.cat([features.hidden for features, _ in found], dim=2)
        weights = [f.attention for f, _ in found if f.attention is not None]
        alike = len({each.shape for each in weights}) == 1
        attention = torch.stack(weights).mean(dim=0) if alike else None
        return Features(hidden, attention), EnsembleState(tuple(after for _, after in found))

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return _mean_log_probabilities(self.members, hidden.split(self.widths, dim=-1))


def network_ensemble(models: Sequence[SequenceModel]) -> SequenceModel:
    """An ensemble of trained models, all with the same two vocabularies."""
    if len(models) == 1:
        return models[0]
    decoders = [model.decoder for model in models]
    decoder = EnsembleDecoder(decoders, [each.width for each in decoders])
    return SequenceModel(EnsembleEncoder([model.encoder for model in models]), decoder).eval()


class EnsembleHead(Head):
    """Heads over the same labels or numbers, whose outputs are averaged."""

    def __init__(self, members: Sequence[Head]) -> None:
        super().__init__()
        self.members = tuple(members)
        self.parts = nn.ModuleList(part for part in members if isinstance(part, nn.Module))

    def forward(self, memory: Memory) -> Float[Tensor, "B T V"]:
        if not isinstance(memory, EnsembleMemory):
            raise TypeError("an ensemble's head needs the memories of all members")
        pairs = zip(self.members, memory.members, strict=True)
        return self.average(torch.stack([member(theirs) for member, theirs in pairs]))

    def losses(
        self, outputs: Float[Tensor, "N V"], targets: Tensor, *, smoothing: float
    ) -> Float[Tensor, "N"]:
        return self.members[0].losses(outputs, targets, smoothing=smoothing)

    def average(self, outputs: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        return self.members[0].average(outputs)


class EnsembleFillingHead(EnsembleHead):
    """Heads over the same vocabulary that predict masked tokens together."""

    def __init__(self, members: Sequence[Head]) -> None:
        """All members must have a `filling_head`."""
        super().__init__(members)
        found = [member.filling_head for member in members]
        self.fillings = tuple(each for each in found if each is not None)
        self.widths = [each.width for each in self.fillings]
        self.width = sum(self.widths)
        self.around = all(each.around for each in self.fillings)

    @property
    def filling_head(self) -> "EnsembleFillingHead":
        return self

    def read(self, memory: Memory) -> Float[Tensor, "B T D"]:
        if not isinstance(memory, EnsembleMemory):
            raise TypeError("an ensemble's head needs the memories of all members")
        pairs = zip(self.fillings, memory.members, strict=True)
        return torch.cat([member.read(theirs) for member, theirs in pairs], dim=2)

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return _mean_log_probabilities(self.fillings, hidden.split(self.widths, dim=-1))


def _mean_log_probabilities(members: Sequence[TokenScorer], parts: Sequence[Tensor]) -> Tensor:
    """The logarithm of the members' mean probability, each computed from its part of the
    features.
    """
    pairs = zip(members, parts, strict=True)
    logs = torch.stack([member.write(part).log_softmax(dim=-1) for member, part in pairs])
    return logs.logsumexp(dim=0) - math.log(len(logs))


def head_ensemble(models: Sequence[HeadModel]) -> HeadModel:
    """An ensemble of trained models with heads, all with the same two fields."""
    encoder = EnsembleEncoder([model.encoder for model in models])
    heads = [model.head for model in models]
    taggers = [head.decoder for head in heads if isinstance(head, RecurrentTagsHead)]
    if len(taggers) == len(heads):
        together = EnsembleDecoder(taggers, [each.width for each in taggers])
        return HeadModel(encoder, RecurrentTagsHead(together)).eval()
    fill = all(head.filling_head is not None for head in heads)
    return HeadModel(encoder, (EnsembleFillingHead if fill else EnsembleHead)(heads)).eval()


def _common_mask(memories: Sequence[Memory]) -> Bool[Tensor, "B S"] | None:
    """The mask of positions, if all members have equally many."""
    mask = memories[0].mask
    others = [memory.mask for memory in memories[1:]]
    if mask is None or any(each is None or each.shape != mask.shape for each in others):
        return None
    return mask
