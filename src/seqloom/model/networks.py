"""Complete networks, and `build`, which makes one from a configuration.

Each part builds itself from its options and the sizes around it. Invalid combinations are refused
here, before training, with the sizes named.
"""

from collections.abc import Mapping
from typing import Literal, cast

import torch
from jaxtyping import Int
from torch import Tensor, nn

from seqloom.config import DECODERS, ENCODERS, FRONT_ENDS, HEADS, ModelConfig
from seqloom.errors import ConfigError, RunError
from seqloom.fields import EMPTY, END, START, UNK, Items, Numbers, Series, Symbols
from seqloom.model.connections import Connections
from seqloom.model.ctc import CTCLayer
from seqloom.model.encoders import ReversedEncoder
from seqloom.model.forecast import (
    AutoregressiveForecast,
    ForecastHead,
    ForecastTarget,
    LastValueEncoder,
)
from seqloom.model.front_ends import FrontEndEncoder
from seqloom.model.parts import (
    DecoderModule,
    DecoderSizes,
    EncoderModule,
    FrontEnd,
    Head,
    HeadContext,
)
from seqloom.model.state import Feedback, FillingHead, Memory, TargetFeatures, TokenScorer
from seqloom.nn.embedding import (
    CharacterCNNVectors,
    Embedding,
    IdentityVectors,
    ListedVectors,
    OneHot,
    Projection,
    TokenVectors,
    Vectors,
    WordDropout,
    first_token_table,
    token_vectors,
)
from seqloom.nn.modules import meta_device

__all__ = [
    "HeadModel",
    "Network",
    "SequenceModel",
    "TokenSide",
    "build",
    "build_on_meta",
    "build_sequence_model",
    "check_fit",
    "item_vectors",
    "load_weights",
    "shift_right",
    "target_vectors",
    "token_table",
    "weights",
    "word_dropout",
]


def shift_right(tokens: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """`<start>` and then the tokens without the last."""
    return torch.cat([torch.full_like(tokens[:, :1], START), tokens[:, :-1]], dim=1)


class SequenceModel(nn.Module):
    """An encoder and a decoder with separate parameters (S3.1)."""

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
        """How the decoder reads its own outputs in training; None if it cannot."""
        return self.decoder.feedback

    @property
    def token_scorer(self) -> TokenScorer:
        """The part with the output layer, which the loss calls for chunks of positions."""
        return self.decoder

    def teacher_force(self, memory: Memory, target: Int[Tensor, "B T"]) -> TargetFeatures:
        """Read the target under teacher forcing."""
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
        """The head, if it predicts masked tokens; else TypeError."""
        found = self.head.filling_head
        if found is None:
            raise TypeError("this head fills in no blanks")
        return found

    @property
    def token_scorer(self) -> TokenScorer | None:
        """The part with an output layer over a vocabulary, if any."""
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
    """The embedding table of a side, without that of characters; ConfigError if there is none."""
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
    """Load saved weights; RunError unless all names and shapes match."""
    check_fit(model, tensors, place=place)
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])


def check_fit(model: nn.Module, tensors: Mapping[str, Tensor], *, place: str) -> None:
    """RunError unless the tensors have exactly the names and shapes of the model's parameters."""
    parameters = dict(model.named_parameters())
    wrong = sorted(parameters.keys() ^ tensors.keys())
    wrong += [
        name
        for name in parameters
        if name in tensors and parameters[name].shape != tensors[name].shape
    ]
    if wrong:
        raise RunError(f"{wrong[0]} does not fit the model that config.toml describes", place=place)


LETTER_WIDTH = 32  # size of a character embedding


def item_vectors(config: ModelConfig, items: Items) -> Vectors:
    """The embedding layer of a column's items."""
    symbols = items.symbols
    if symbols is None:
        if ENCODERS.parts[config.encoder.kind].reads_values:
            return IdentityVectors(items.count)
        return Projection(items.count, config.embedding)
    own: TokenVectors = _symbol_vectors(config, symbols)
    if symbols.rows:
        own = ListedVectors(own, symbols.rows)
    if not symbols.spelling:
        return own
    return CharacterCNNVectors(own, Embedding(symbols.letters, LETTER_WIDTH), config.letters)


def _symbol_vectors(config: ModelConfig, symbols: Symbols) -> TokenVectors:
    if not config.one_hot:
        return Embedding(symbols.table_size, config.embedding, scaled=config.scale_vectors)
    if config.tie_output:
        raise ConfigError(
            "model.one_hot leaves no embedding table for the output layer to share",
            remedy="set model.tie_output=false",
        )
    return OneHot(symbols.table_size)


def word_dropout(config: ModelConfig, vectors: Vectors, source: Items) -> Vectors:
    """The source's embedding layer, with word dropout if configured."""
    if not config.forget or source.symbols is None:
        return vectors
    return WordDropout(vectors, config.forget, unknown=UNK, special=END)


def target_vectors(config: ModelConfig, reading: Vectors, target: Items) -> TokenVectors:
    """The embedding layer of the target: the source's if they share a vocabulary."""
    symbols = target.symbols
    if symbols is None:
        raise ConfigError(
            f"model.decoder.kind = {config.decoder.kind!r} writes symbols, and the target has none",
            remedy="choose the head that fits it",
        )
    if symbols.spelling:
        raise ConfigError(
            "target.spelling: letters are only read", remedy="set it for the source alone"
        )
    own = token_vectors(reading if config.share_vocabulary else item_vectors(config, target))
    if own is None:
        raise ConfigError(
            "model.share_vocabulary needs a source of symbols",
            remedy="set model.share_vocabulary=false",
        )
    return own


def build_on_meta(config: ModelConfig, *, source: Items, target: Items) -> Network:
    """Build the configured network on the meta device, without memory for its weights."""
    with meta_device():
        return build(config, source=source, target=target)


def build(config: ModelConfig, *, source: Items, target: Items) -> Network:
    """Build the configured network, with initial weights drawn from torch's current generator."""
    front: FrontEnd | None = FRONT_ENDS.parts[config.front.kind].build(config.front, source)
    seen = source if front is None else Numbers(front.width)
    vectors = item_vectors(config, seen)
    encoder = _encoder(config, word_dropout(config, vectors, seen), seen)
    if front is not None:
        encoder = FrontEndEncoder(front, encoder)
    if source.series is not None and target.series is not None:
        return _forecast_model(config, encoder, source.series, target.series)
    if config.decoder.kind in HEADS.parts:
        context = HeadContext(config, encoder.sizes, vectors, source, target)
        head = _head(config, context)
        if head.is_aligned and front is not None and not front.keeps_items:
            raise _positions_error(config)
        return HeadModel(encoder, head)
    if encoder.sizes.around:
        raise _around_error()
    own = target_vectors(config, vectors, target)
    decoder = _decoder(config, encoder, own, target.count)
    if decoder.sums_alignments:
        _check_steps(encoder, f"model.decoder.kind = {config.decoder.kind!r}")
    return SequenceModel(encoder, decoder, _ctc_layer(config, encoder, target.count))


def build_sequence_model(config: ModelConfig, *, source: Items, target: Items) -> SequenceModel:
    """Build a network with a decoder; ConfigError if the configuration has a head."""
    model = build(config, source=source, target=target)
    if isinstance(model, HeadModel):
        raise ConfigError(
            f"model.decoder.kind = {config.decoder.kind!r} writes no text",
            remedy="choose recurrent or transformer",
        )
    return model


def _encoder(config: ModelConfig, vectors: Vectors, items: Items) -> EncoderModule:
    part: type[EncoderModule] = ENCODERS.parts[config.encoder.kind]
    encoder = part.build(config.encoder, vectors)
    if not config.reverse_source:
        return encoder
    family = HEADS if config.decoder.kind in HEADS.parts else DECODERS
    reads = family.parts[config.decoder.kind].reads_source(config.decoder)
    return ReversedEncoder(encoder, turned=reads, closing=items.closing)


def _decoder(
    config: ModelConfig, encoder: EncoderModule, vectors: Vectors, outputs: int
) -> DecoderModule:
    part: type[DecoderModule] = DECODERS.parts[config.decoder.kind]
    return part.build(config.decoder, DecoderSizes(config, encoder.sizes, vectors, outputs))


def _head(config: ModelConfig, context: HeadContext) -> Head:
    part: type[Head] = HEADS.parts[config.decoder.kind]
    head = part.build(config.decoder, context)
    if context.encoded.around and head.filling_head is None:
        raise _around_error()
    return head


def _positions_error(config: ModelConfig) -> ConfigError:
    return ConfigError(
        f"model.front.kind = {config.front.kind!r} does not give one vector for each item of the "
        "source, which its tags need",
        remedy="set it to none for sound, or model.front.grid to whole for videos",
    )


def _around_error() -> ConfigError:
    return ConfigError(
        "model.encoder.direction = 'around' shows no position itself, which suits blanks alone",
        remedy="set it to both",
    )


def _ctc_layer(config: ModelConfig, encoder: EncoderModule, symbols: int) -> CTCLayer | None:
    if not config.ctc:
        return None
    front, states = encoder.front_end, encoder.sizes.states
    if front is None or not front.keeps_time or states is None:
        raise ConfigError(
            f"model.ctc = {config.ctc:g} aligns symbols with the steps of a recording",
            remedy="read sound, or set model.ctc=0",
        )
    return CTCLayer(states, symbols, share=config.ctc)


def _check_steps(encoder: EncoderModule, setting: str) -> None:
    """ConfigError if the source has no ordered steps."""
    front = encoder.front_end
    if front is not None and not (front.keeps_time or front.keeps_items):
        raise ConfigError(
            f"{setting} aligns symbols with steps in order, and a picture has none",
            remedy="choose recurrent or transformer",
        )


def _forecast_model(
    config: ModelConfig, encoder: EncoderModule, source: Series, target: Series
) -> HeadModel:
    """A forecasting model: with a head for all steps, or an autoregressive decoder."""
    if source.known and source.steps < target.steps:
        raise ConfigError(
            f"source.window = {source.steps} has no room for what is known of {target.steps} "
            "steps ahead",
            remedy="make it as long as target.horizon",
        )
    levelled = LastValueEncoder(encoder, source, target.steps)
    head = _forecast_head(config, encoder, source, target)
    if config.linear:
        head.add_linear_path(source.steps)
    return HeadModel(levelled, head)


def _forecast_head(
    config: ModelConfig, encoder: EncoderModule, source: Series, target: Series
) -> ForecastHead:
    if config.decoder.kind not in HEADS.parts:
        return _autoregressive_forecast(config, encoder, source, target)
    part: type[Head] = HEADS.parts[config.decoder.kind]
    if not part.forecasts:
        raise ConfigError(
            f"model.decoder.kind = {config.decoder.kind!r} does not forecast",
            remedy="choose horizon, recurrent or transformer",
        )
    vectors = IdentityVectors(source.count)
    context = HeadContext(config, encoder.sizes, vectors, source, target)
    return cast(ForecastHead, part.build(config.decoder, context))


def _autoregressive_forecast(
    config: ModelConfig, encoder: EncoderModule, source: Series, target: Series
) -> AutoregressiveForecast:
    """An autoregressive decoder."""
    if config.lags > source.steps:
        raise ConfigError(
            f"model.lags = {config.lags} reaches further back than source.window = {source.steps}",
            remedy="make it at most as long",
        )
    aim = ForecastTarget.of(target)
    vectors = Projection(config.lags * target.count + source.known, config.embedding)
    decoder = _decoder(config, encoder, vectors, aim.columns * aim.outputs_per_column)
    return AutoregressiveForecast(decoder, vectors, aim, lags=config.lags, forced=target.forced)
