"""The recurrent decoder in all its forms (S3.1, S3.2, S4.2)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.config import DECODERS, RecurrentDecoderConfig
from seqloom.errors import ConfigError
from seqloom.model.connections import Connections
from seqloom.model.initial_state import InitialState, build_initial_state
from seqloom.model.parts import DecoderModule, DecoderSizes, EncoderSizes
from seqloom.model.recurrent_edges import decoder_connections
from seqloom.model.stacks import stack_options, unit_factory
from seqloom.model.state import Features, Feedback, Memory, State
from seqloom.model.wiring import AttentionWiring, Wiring, build_wiring
from seqloom.nn.attention import AttentionSource
from seqloom.nn.embedding import OutputLayer, Vectors, token_vectors, vectors_label
from seqloom.nn.modules import ConcatCombiner, Dropout, SumCombiner, TanhCombiner
from seqloom.nn.recurrent import RecurrentStack

__all__ = ["RecurrentDecoder", "RecurrentState", "VocabularyLayers"]


class PathState(NamedTuple):
    """The state of a path: every layer's state, the number of steps, and the last features if the
    next step reads them.
    """

    layers: tuple[Float[Tensor, "R L D"], ...]
    positions: Int[Tensor, "R"]
    last: tuple[Float[Tensor, "R W"], ...]


class SourceContext(NamedTuple):
    """What a sentence's paths use of the source; unused parts are empty."""

    code: tuple[Float[Tensor, "B C"], ...]
    attention_sources: tuple[AttentionSource, ...]


RecurrentState = State[PathState, SourceContext]


class VocabularyLayers(NamedTuple):
    """The layers around a decoder's stack: embeddings and the combination with other inputs, a
    readout and the output layer.
    """

    embedding: Vectors
    join: ConcatCombiner | SumCombiner
    readout: ConcatCombiner | TanhCombiner
    output: OutputLayer


@DECODERS.part("recurrent")
class RecurrentDecoder(DecoderModule):
    """A recurrent stack that starts from the source's code, attends to the source, or both.

    If a step needs nothing of the previous step but the units' state, all steps of a `read` are
    computed at once; otherwise one by one, with the same result.

    Sutskever et al. 2014, Sequence to Sequence Learning with Neural Networks; Bahdanau et al. 2015,
    Neural Machine Translation by Jointly Learning to Align and Translate; Luong et al. 2015,
    Effective Approaches to Attention-based Neural Machine Translation.
    """

    carries_state = True

    def __init__(
        self,
        stack: RecurrentStack,
        first: InitialState,
        ends: VocabularyLayers,
        wiring: Wiring,
        *,
        dropout: float,
    ) -> None:
        super().__init__()
        self.stack = stack
        self.first = first
        self.embedding, self.join, self.readout, self.output = ends
        self.wiring = wiring
        looking = wiring.attention
        self.attention = None if looking is None else looking.attention
        self.dropout = Dropout(dropout)

    @classmethod
    def build(cls, options: RecurrentDecoderConfig, sizes: DecoderSizes) -> "RecurrentDecoder":
        """Build the decoder in the form configured (S3.2)."""
        wiring = _check_wiring(options, sizes)
        code = sizes.source.code[1] if sizes.source.code else 0
        context = _context_sizes(wiring.attention, sizes.source)
        shown = [options.width, *context, *([code] if wiring.code_output else [])]
        readout = _readout(options, sizes, shown)
        attention = wiring.attention
        entering = [
            *([sizes.vectors.width] if wiring.feedback else []),
            *([code] if wiring.code_input or wiring.code_first else []),
            *(context if attention is not None and attention.query is not None else []),
            *([readout.width] if attention is not None and attention.feed else []),
        ]
        join = (SumCombiner if options.join == "sum" else ConcatCombiner)(entering or [1])
        layers = stack_options(options, "forward")
        stack = RecurrentStack(join.width, options.width, unit_factory(options.unit), layers)
        ends = VocabularyLayers(sizes.vectors, join, readout, sizes.output_layer(readout.width))
        first = build_initial_state(options, sizes.source, stack.parts)
        return cls(stack, first, ends, wiring, dropout=options.dropout)

    @classmethod
    def reads_source(cls, options: RecurrentDecoderConfig) -> bool:
        return options.first_state == "read"

    @property
    def width(self) -> int:
        return self.output.width

    @property
    def attends(self) -> bool:
        return self.wiring.attention is not None

    @property
    def feedback(self) -> Feedback | None:
        vectors = token_vectors(self.embedding)
        if vectors is None:
            return None
        return Feedback(vectors, self.read_vectors, by_steps=True, soft=self.wiring.soft)

    def connections(self) -> Connections:
        label = vectors_label(self.embedding)
        return decoder_connections(self.wiring, self.first, self.stack, label)

    def start(self, memory: Memory, *, trace: bool = False) -> RecurrentState:
        layers = self.first(memory, self.stack)
        like = layers[0]
        positions = torch.zeros(memory.sentences, dtype=torch.int64, device=like.device)
        looking = self.wiring.attention
        keeps = self.wiring.soft or (looking is not None and looking.feed)
        last = (like.new_zeros(memory.sentences, self.readout.width),) if keeps else ()
        return State(PathState(layers, positions, last), self._source_context(memory), trace)

    def read(
        self, inputs: Int[Tensor, "R T"], state: RecurrentState
    ) -> tuple[Features, RecurrentState]:
        return self.read_vectors(self.embedding(inputs), state)

    def read_vectors(
        self, vectors: Float[Tensor, "R T E"], state: RecurrentState
    ) -> tuple[Features, RecurrentState]:
        if vectors.shape[1] == 1 or not self._is_sequential():
            return self._advance(vectors, state)
        steps = []
        for one in vectors.split(1, dim=1):
            features, state = self._advance(one, state)
            steps.append(features)
        attention = [step.attention for step in steps if step.attention is not None]
        hidden = torch.cat([step.hidden for step in steps], dim=1)
        return Features(hidden, torch.cat(attention, dim=1) if attention else None), state

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)

    def layer_states(
        self, inputs: Int[Tensor, "B T"], memory: Memory
    ) -> list[Float[Tensor, "B T _"]]:
        if self.wiring.soft or self._is_sequential() or self.wiring.code or self.attends:
            return super().layer_states(inputs, memory)
        state = self.start(memory)
        read = self._unit_inputs(
            self._feedback_vectors(self.embedding(inputs), state.own), [], state
        )
        layers = [states for states, _ in self.stack.layer_outputs(read, state.own.layers)]
        return [read, *layers[:-1], self.dropout(self.readout([layers[-1]]))]

    def _source_context(self, memory: Memory) -> SourceContext:
        code: tuple[Tensor, ...] = ()
        if self.wiring.code:
            if memory.code is None:
                raise TypeError("this decoder reads the code, which the encoder does not give")
            code = (memory.code[0][:, -1],)
        if self.attention is None:
            return SourceContext(code, ())
        if memory.states is None or memory.mask is None:
            raise TypeError("an attentive decoder needs the encoder's states")
        return SourceContext(code, (self.attention.prepare(memory.states, memory.mask),))

    def _is_sequential(self) -> bool:
        """Whether a step needs the output or the state of the previous step."""
        looking = self.wiring.attention
        waits = looking is not None and (looking.feed or looking.sequential)
        return waits or (self.wiring.soft and not self.training)

    def _advance(
        self, vectors: Float[Tensor, "R T E"], state: RecurrentState
    ) -> tuple[Features, RecurrentState]:
        """Run T steps at once; only one if a step needs the previous one."""
        own, given, looking = state.own, state.shared, self.wiring.attention
        fed = self._feedback_vectors(vectors, own)
        context: list[Tensor] = []
        weights = None
        if looking is not None and looking.query is not None:
            query = looking.query(fed, own.layers[0][:, -1])
            found, weights = looking.attention(query, given.attention_sources[0], own.positions)
            context = [found]
        hidden, layers = self.stack(self._unit_inputs(fed, context, state), own.layers)
        if looking is not None and looking.query is None:
            found, weights = looking.attention(hidden, given.attention_sources[0], own.positions)
            context = [found]
        if self.wiring.code_output:
            context = [*context, _repeat_code(given.code[0], hidden)]
        output = self.dropout(self.readout([hidden, *context]))
        last = (output[:, -1],) if own.last else ()
        after = PathState(layers, own.positions + vectors.shape[1], last)
        attention = weights if state.trace else None
        return Features(output, attention), State(after, given, state.trace)

    def _feedback_vectors(
        self, vectors: Float[Tensor, "R T E"], own: PathState
    ) -> Float[Tensor, "R T E"]:
        """The vectors of the previous outputs: those given, or with soft feedback the mean
        embedding.

        In training, soft feedback reads what it is given; the first input is always `<start>`.
        """
        tokens = token_vectors(self.embedding) if self.wiring.soft and not self.training else None
        if tokens is not None:
            likely = tokens.mean(self.write(own.last[0]).softmax(-1))[:, None]
            vectors = torch.where(own.positions[:, None, None] > 0, likely, vectors)
        return self.dropout(vectors)

    def _unit_inputs(
        self, fed: Float[Tensor, "R T E"], context: list[Tensor], state: RecurrentState
    ) -> Float[Tensor, "R T I"]:
        """The inputs of the units."""
        wiring, own, given = self.wiring, state.own, state.shared
        parts = [fed] if wiring.feedback else []
        if wiring.code_input:
            parts.append(_repeat_code(given.code[0], fed))
        if wiring.code_first:
            at = own.positions[:, None] + torch.arange(fed.shape[1], device=fed.device)
            parts.append(_repeat_code(given.code[0], fed) * (at == 0)[:, :, None])
        parts += context
        if wiring.attention is not None and wiring.attention.feed:
            parts.append(own.last[0][:, None])
        return self.join(parts or [fed.new_zeros(*fed.shape[:2], 1)])


def _context_sizes(attention: AttentionWiring | None, encoded: EncoderSizes) -> list[int]:
    if attention is None or encoded.states is None:
        return []
    return [attention.attention.context_factor * encoded.states]


def _readout(
    options: RecurrentDecoderConfig, sizes: DecoderSizes, shown: Sequence[int]
) -> ConcatCombiner | TanhCombiner:
    if options.readout == "affine":
        return ConcatCombiner(shown)
    return TanhCombiner(shown, options.width if sizes.model.one_hot else sizes.model.embedding)


def _check_wiring(options: RecurrentDecoderConfig, sizes: DecoderSizes) -> Wiring:
    """Build the wiring; ConfigError if it needs what encoder or target lack."""
    if sizes.source.states is None:
        _check_without_source(options)
    wiring = build_wiring(options, sizes)
    if wiring.soft and token_vectors(sizes.vectors) is None:
        raise ConfigError(
            "model.decoder.feedback = 'soft' is for symbols: a series feeds its mean back"
        )
    if RecurrentDecoder.reads_source(options):
        _check_reading(options, wiring, sizes)
    return wiring


def _check_without_source(options: RecurrentDecoderConfig) -> None:
    wanted = {
        "model.decoder.attention": options.attention.kind != "none",
        "model.decoder.code": options.code != "none",
        f"model.decoder.first_state = {options.first_state!r}": options.first_state
        in ("map", "copy", "read"),
    }
    for name, asked in wanted.items():
        if asked:
            raise ConfigError(
                f"{name} needs a source, and model.encoder.kind is 'none'",
                remedy="set model.decoder.attention=none, code=none and first_state=zero",
            )


def _check_reading(options: RecurrentDecoderConfig, wiring: Wiring, sizes: DecoderSizes) -> None:
    """ConfigError unless source and output enter a network that reads both in the same way."""
    attention = wiring.attention
    early = attention is not None and (attention.query is not None or attention.feed)
    if wiring.code or early or not wiring.feedback:
        raise ConfigError(
            "model.decoder.first_state = 'read' lets one network read source and output alike",
            remedy=(
                "set feedback=token or soft, code=none, attention.query=current and "
                "attention.feed=false"
            ),
        )
    if sizes.source.states != sizes.vectors.width:
        raise ConfigError(
            "model.decoder.first_state = 'read' needs a source of vectors as wide as the "
            f"target's, {sizes.vectors.width}, not {sizes.source.states}",
            remedy="use model.encoder.kind = 'vectors'",
        )


def _repeat_code(code: Float[Tensor, "B C"], like: Float[Tensor, "R T _"]) -> Tensor:
    """Repeat the code of a row's sentence at every step."""
    rows, steps = like.shape[:2]
    beams = code[:, None].expand(-1, rows // len(code), -1).reshape(rows, 1, -1)
    return beams.expand(-1, steps, -1)
