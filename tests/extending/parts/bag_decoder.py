"""A decoder form: `h_t = tanh(W [e_t; mean(e_1 … e_t); mean of the source's states] + b)`."""

from typing import Any, Literal

import torch
from torch import Tensor

from seqloom.config import DECODERS, DecoderOptions
from seqloom.model import DecoderModule, DecoderSizes, Features, Memory, State, mean_state
from seqloom.nn.modules import TanhCombiner


@DECODERS.options("bag")
class BagOptions(DecoderOptions):
    """A decoder that forgets the order of what it has written."""

    kind: Literal["bag"] = "bag"


BagState = State[tuple[Tensor, Tensor], tuple[Tensor]]
"""Of a path, the sum (R, E) and number (R,) of its vectors; of a sentence, its mean (B, D)."""


@DECODERS.part("bag")
class BagDecoder(DecoderModule):
    """Each output follows from the tokens so far, whatever their order."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.embedding, width = sizes.vectors, sizes.vectors.width
        self.readout = TanhCombiner([width, width, sizes.source.states or 0], width)
        self.output = sizes.output_layer(width)

    @classmethod
    def build(cls, options: BagOptions, sizes: DecoderSizes) -> "BagDecoder":
        return cls(sizes)

    @property
    def width(self) -> int:
        return self.output.width

    def start(self, memory: Memory, *, trace: bool = False) -> BagState:
        mean = mean_state(*memory.states_and_mask())  # (B, D)
        empty = mean.new_zeros(len(mean), self.width), mean.new_zeros(len(mean))
        return State(empty, (mean,), trace)

    def read(self, inputs: Tensor, state: BagState) -> tuple[Features, BagState]:
        (total, steps), (mean,) = state.own, state.shared
        vectors = self.embedding(inputs)  # (R, T, E)
        totals = total[:, None] + vectors.cumsum(1)
        counts = steps[:, None] + torch.arange(1, inputs.shape[1] + 1).to(steps)
        source = mean.repeat_interleave(len(inputs) // len(mean), 0)[:, None]
        parts = [vectors, totals / counts[..., None], source.expand(-1, inputs.shape[1], -1)]
        after = State((totals[:, -1], counts[:, -1]), state.shared, state.trace)
        return Features(self.readout(parts)), after

    def write(self, hidden: Tensor) -> Any:
        return self.output(hidden)
