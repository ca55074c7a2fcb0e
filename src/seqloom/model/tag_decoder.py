"""A tagger that conditions on previous tags: a decoder aligned with the source (S2.2)."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.config import HEADS, RecurrentTagsConfig
from seqloom.fields import EMPTY, END, START
from seqloom.model.connections import STATES, Connection, ConnectionNode, Connections
from seqloom.model.heads import LabelScores
from seqloom.model.networks import shift_right
from seqloom.model.parts import DecoderModule, HeadContext
from seqloom.model.stacks import layer_connections, layer_names, stack_options, unit_factory
from seqloom.model.state import Features, Memory, State
from seqloom.nn.embedding import Embedding
from seqloom.nn.modules import Dropout, Readout
from seqloom.nn.recurrent import RecurrentStack

__all__ = ["FIRST_TAG", "RecurrentTagsHead", "TagDecoder", "TagState", "tag_symbols"]

FIRST_TAG = END + 1  # the id of the first tag, after the special symbols


class TagPath(NamedTuple):
    """The state of a path: every layer's state, the number of tags, and the last features if the
    next step reads their distribution.
    """

    layers: tuple[Float[Tensor, "R L D"], ...]
    positions: Int[Tensor, "R"]
    last: tuple[Float[Tensor, "R W"], ...]


class TaggedSource(NamedTuple):
    """The encoder's states of a sentence, and the number of them with a tag."""

    states: Float[Tensor, "B S D"]
    lengths: Int[Tensor, "B"]


TagState = State[TagPath, TaggedSource]


def tag_symbols(tags: Int[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
    """Convert tag ids, which begin after padding, to the symbol ids of the decoder."""
    return torch.where(tags == EMPTY, EMPTY, tags + FIRST_TAG - 1)


class TagDecoder(DecoderModule):
    """Writes a tag for each item of the source, and `<end>` after the last of them.

    The unit of step t reads x_t + φ(y_{t−1}): x_t is the encoder's state at that item, and φ the
    vector of the tag before it, or with `soft` the mean vector under the distribution before it.

    Its vocabulary is that of a text: the special symbols, then the tags. Features have one extra
    value that tells whether the source has ended, so that only `<end>` can follow.
    """

    def __init__(
        self,
        stack: RecurrentStack,
        tags: Embedding,
        options: RecurrentTagsConfig,
        *,
        closing: int,
    ) -> None:
        """`tags` embeds the special symbols and every tag; the last `closing` items of a source
        have no tag.
        """
        super().__init__()
        self.stack = stack
        self.embedding = tags
        self.readout = Readout(stack.width, options.readout)
        self.output = nn.Linear(stack.width, len(tags.table) - FIRST_TAG)
        self.dropout = Dropout(options.dropout)
        self.soft = options.feedback == "soft"
        self.closing = closing

    @property
    def width(self) -> int:
        return self.readout.width + 1

    def start(self, memory: Memory, *, trace: bool = False) -> TagState:
        states, mask = memory.states_and_mask()
        rows = memory.sentences
        layers = self.stack.first_state(rows)
        if layers is None:
            empty = states.new_zeros(rows, self.stack.depth, self.stack.width)
            layers = (empty,) * self.stack.parts
        last = (states.new_zeros(rows, self.width),) if self.soft else ()
        positions = torch.zeros(rows, dtype=torch.int64, device=states.device)
        source = TaggedSource(states, mask.sum(dim=1) - self.closing)
        return State(TagPath(layers, positions, last), source, trace)

    def read(self, inputs: Int[Tensor, "R T"], state: TagState) -> tuple[Features, TagState]:
        if inputs.shape[1] == 1 or not self.soft or self.training:
            return self._advance(inputs, state)
        steps = []
        for one in inputs.split(1, dim=1):
            features, state = self._advance(one, state)
            steps.append(features.hidden)
        return Features(torch.cat(steps, dim=1)), state

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        ended = hidden[..., -1:] > 0
        tags = self.output(hidden[..., :-1]).masked_fill(ended, -torch.inf)
        end = torch.zeros_like(hidden[..., -1:]).masked_fill(~ended, -torch.inf)
        never = torch.full_like(end, -torch.inf).expand(*end.shape[:-1], END)
        return torch.cat([never, end, tags], dim=-1)

    def _advance(self, inputs: Int[Tensor, "R T"], state: TagState) -> tuple[Features, TagState]:
        """Run T steps at once; only one if a step needs the previous distribution."""
        own, source = state.own, state.shared
        paths = len(inputs) // len(source.lengths)
        sentences = torch.arange(len(inputs), device=inputs.device) // paths
        at = own.positions[:, None] + torch.arange(inputs.shape[1], device=inputs.device)
        ended = (at >= source.lengths[sentences, None])[..., None]
        items = source.states[sentences[:, None], at.clamp(max=source.states.shape[1] - 1)]
        read = items.masked_fill(ended, 0.0) + self._feedback(inputs, own)
        hidden, layers = self.stack(read, own.layers)
        features = torch.cat([self.dropout(self.readout(hidden)), ended.to(hidden.dtype)], dim=-1)
        last = (features[:, -1],) if self.soft else ()
        after = TagPath(layers, own.positions + inputs.shape[1], last)
        return Features(features), State(after, source, state.trace)

    def _feedback(self, inputs: Int[Tensor, "R T"], own: TagPath) -> Float[Tensor, "R T D"]:
        """The vectors of the previous tags; in training, soft feedback reads true tags too."""
        vectors: Tensor = self.embedding(inputs)
        if not self.soft or self.training:
            return vectors
        mean = self.embedding.mean(self.write(own.last[0]).softmax(-1))[:, None]
        return torch.where(own.positions[:, None, None] > 0, mean, vectors)

    def connections(self) -> Connections:
        nodes = (
            ConnectionNode("decoder.input", "input", label="state + tag before"),
            ConnectionNode("decoder.output", "output", label="tag"),
        )
        edges = (
            Connection(STATES, "decoder.input"),
            Connection("decoder.output", "decoder.input", "feedback", "previous"),
            Connection(layer_names("decoder", self.stack.depth)[-1], "decoder.output"),
        )
        layers = layer_connections(self.stack, "decoder", "decoder.input")
        return Connections(nodes, edges).merge(layers)


@HEADS.part("recurrent-tags")
class RecurrentTagsHead(LabelScores):
    """Tags each position of the source, conditioned on the previous tags (S2.2)."""

    output_name = "tag"
    is_aligned = True
    feeds_back = True

    def __init__(self, decoder: DecoderModule) -> None:
        super().__init__()
        self.decoder = decoder

    @classmethod
    def build(cls, options: RecurrentTagsConfig, context: HeadContext) -> "RecurrentTagsHead":
        states, symbols = context.states(), FIRST_TAG + context.labels()
        layers = stack_options(options, "forward")
        stack = RecurrentStack(states, options.width, unit_factory(options.unit), layers)
        tags = Embedding(symbols, states, scaled=False)
        return cls(TagDecoder(stack, tags, options, closing=context.source.closing))

    @property
    def decoder_part(self) -> DecoderModule:
        return self.decoder

    @property
    def last_layer(self) -> nn.Linear:
        if not isinstance(self.decoder, TagDecoder):
            raise TypeError("an ensemble's members have a last layer each")
        return self.decoder.output

    def forward(self, memory: Memory) -> Float[Tensor, "B S V"]:
        """The scores after the most probable previous tags: greedy search."""
        if memory.mask is None:
            raise TypeError("tags need the encoder's states, which it does not give")
        state, steps = self.decoder.start(memory), []
        tokens = memory.mask.new_full((memory.sentences, 1), START, dtype=torch.int64)
        for _ in range(memory.mask.shape[1]):
            features, state = self.decoder.read(tokens, state)
            steps.append(self._scores(features))
            tokens = steps[-1].argmax(-1) + FIRST_TAG
        return torch.cat(steps, dim=1)

    def teacher_force(self, memory: Memory, target: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """The scores given the true previous tags."""
        inputs = shift_right(tag_symbols(target))
        features, _ = self.decoder.read(inputs, self.decoder.start(memory))
        return self._scores(features)

    def _scores(self, features: Features) -> Float[Tensor, "B T V"]:
        """The scores of tags, without special symbols."""
        return self.decoder.write(features.hidden)[..., FIRST_TAG:]

    def connections(self) -> Connections:
        return self.decoder.connections()
