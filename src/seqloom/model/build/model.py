"""A model as a whole: token vectors, an encoder, a decoder or a head."""

from typing import Any

from torch import nn

from seqloom.config import (
    DECODERS,
    ENCODERS,
    BlanksHeadConfig,
    DecoderConfig,
    HeadOptions,
    HorizonHeadConfig,
    LabelHeadConfig,
    ModelConfig,
    NoEncoderConfig,
    NumberHeadConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    SoundFrontEndConfig,
    TagsHeadConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
    ValuesEncoderConfig,
    VectorsEncoderConfig,
)
from seqloom.errors import ConfigError
from seqloom.fields import END, UNK, Items, Numbers, Pixels, Series, Symbols
from seqloom.model.build.front_ends import build_front_end
from seqloom.model.build.output import output_layer
from seqloom.model.build.recurrent import recurrent_decoder, recurrent_encoder
from seqloom.model.build.sizes import EncoderSizes, Target
from seqloom.model.build.transformer import transformer_decoder, transformer_encoder
from seqloom.model.ctc import CTCLayer
from seqloom.model.encoders import NoEncoder, ReversedEncoder, VectorsEncoder
from seqloom.model.forecast import (
    AutoregressiveForecast,
    ForecastTarget,
    LastValueEncoder,
    LinearForecast,
    StatesForecast,
)
from seqloom.model.front_ends import FrontEndEncoder
from seqloom.model.heads import (
    BlanksHead,
    CodePool,
    LabelHead,
    MaximumPool,
    MeanPool,
    NumberHead,
    Pool,
    TagsHead,
)
from seqloom.model.recurrent import RecurrentDecoder
from seqloom.model.state import Decoder, Encoder, Feedback, FillingHead, Head
from seqloom.model.transformer import TransformerDecoder
from seqloom.nn.embedding import (
    CharacterCNNVectors,
    Embedding,
    IdentityVectors,
    OneHot,
    Projection,
    TokenVectors,
    Vectors,
    WordDropout,
)

__all__ = ["HeadModel", "Network", "SequenceModel", "build", "build_sequence_model"]


class SequenceModel(nn.Module):
    """An encoder and a decoder with parameters of their own (S3.1)."""

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder[Any],
        feedback: Feedback | None = None,
        aligner: CTCLayer | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.feedback = feedback  # None where it is not to learn from its own outputs
        self.aligner = aligner  # for training alone


class HeadModel(nn.Module):
    """An encoder, and a head that judges what it has read (S5.6, encoder only)."""

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    @property
    def filling_head(self) -> FillingHead:
        """The head of a model of blanks."""
        if not isinstance(self.head, FillingHead):
            raise TypeError("this head judges what was read and fills nothing in")
        return self.head


LETTER_WIDTH = 32  # size of a letter's vector

Network = SequenceModel | HeadModel


def build(config: ModelConfig, *, source: Items, target: Items) -> Network:
    """The configured model with first weights drawn from torch's current random state."""
    front, seen = build_front_end(config.front, source)
    reading = _vectors(config, seen)
    encoder, encoded = _encoder(config, _word_dropout(config, reading, seen), seen)
    if front is not None:
        encoder = FrontEndEncoder(front, encoder)
    if isinstance(source, Series) and isinstance(target, Series):
        return _forecast_model(config, (encoder, encoded), source, target)
    if encoded.around and not isinstance(config.decoder, BlanksHeadConfig):
        raise ConfigError(
            "model.encoder.direction = 'around' shows no position itself, which suits blanks "
            "alone: set it to both"
        )
    match config.decoder:
        case BlanksHeadConfig(dropout=dropout):
            return HeadModel(encoder, _blanks_head(config, encoded, reading, target, dropout))
        case RecurrentDecoderConfig() | TransformerDecoderConfig() as part:
            own = _target_vectors(config, reading, target)
            decoder, feedback = _decoder(config, part, encoded, own)
            return SequenceModel(encoder, decoder, feedback, _ctc_layer(config, encoded, own))
        case HeadOptions() as part:
            return HeadModel(encoder, _head(part, encoded, target))
        case _ as part:
            raise DECODERS.unknown(part.kind)


def _ctc_layer(config: ModelConfig, encoded: EncoderSizes, target: Target) -> CTCLayer | None:
    if not config.ctc:
        return None
    if not isinstance(config.front, SoundFrontEndConfig) or encoded.states is None:
        raise ConfigError(
            f"model.ctc = {config.ctc:g} aligns symbols with the steps of a recording: read sound, "
            "or set model.ctc=0"
        )
    return CTCLayer(encoded.states, target.size, share=config.ctc)


def _forecast_model(
    config: ModelConfig, reading: tuple[Encoder, EncoderSizes], source: Series, target: Series
) -> HeadModel:
    """A model that forecasts: with a head for all steps, or a decoder that is fed back."""
    encoder, encoded = reading
    aim = ForecastTarget.of(target)
    if source.known and source.steps < target.steps:
        raise ConfigError(
            f"source.window = {source.steps} has no room for what is known of {target.steps} steps "
            "ahead: make it as long as target.horizon"
        )
    levelled = LastValueEncoder(encoder, source, target.steps)
    match config.decoder:
        case HorizonHeadConfig(inner=inner, dropout=dropout):
            head: Head
            if isinstance(config.encoder, ValuesEncoderConfig):
                head = LinearForecast(source, aim, inner=inner, dropout=dropout)
            elif encoded.states is not None:
                head = StatesForecast(source, encoded.states, aim, inner=inner, dropout=dropout)
            else:
                raise ConfigError("a forecast needs an encoder: model.encoder.kind is 'none'")
            return HeadModel(levelled, head)
        case RecurrentDecoderConfig(feedback="soft"):
            raise ConfigError(
                "model.decoder.feedback = 'soft' is for symbols: a series feeds its mean back"
            )
        case RecurrentDecoderConfig() | TransformerDecoderConfig() as part:
            return HeadModel(
                levelled, _autoregressive_forecast(config, part, encoded, (source, target))
            )
        case _ as part:
            raise ConfigError(
                f"model.decoder.kind = {part.kind!r} does not forecast: choose horizon, recurrent "
                "or transformer"
            )


def _autoregressive_forecast(
    config: ModelConfig,
    part: RecurrentDecoderConfig | TransformerDecoderConfig,
    encoded: EncoderSizes,
    series: tuple[Series, Series],
) -> AutoregressiveForecast:
    """A decoder that is fed back."""
    source, target = series
    if config.lags > source.steps:
        raise ConfigError(
            f"model.lags = {config.lags} reaches further back than source.window = "
            f"{source.steps}: make it at most as long"
        )
    aim = ForecastTarget.of(target)
    vectors = Projection(config.lags * target.count + source.known, config.embedding)
    decoder = _plain_decoder(
        config, part, encoded, Target(vectors, aim.columns * aim.outputs_per_column)
    )
    return AutoregressiveForecast(decoder, vectors, aim, lags=config.lags, forced=target.forced)


def build_sequence_model(config: ModelConfig, *, source: Items, target: Items) -> SequenceModel:
    """The same for a target that is written; ConfigError where the configuration has a head."""
    model = build(config, source=source, target=target)
    if isinstance(model, HeadModel):
        raise ConfigError(
            f"model.decoder.kind = {config.decoder.kind!r} writes no text: choose recurrent or "
            "transformer"
        )
    return model


def _target_vectors(config: ModelConfig, reading: Vectors, target: Items) -> Target:
    """The vectors of what was written so far: those of the source where both share them."""
    if not isinstance(target, Symbols):
        raise ConfigError(
            f"model.decoder.kind = {config.decoder.kind!r} writes symbols, and the target has "
            "none: choose the head that fits it"
        )
    if target.spelling:
        raise ConfigError("target.spelling: letters are only read; set it for the source alone")
    own = reading if config.share_vocabulary else _vectors(config, target)
    if not isinstance(own, TokenVectors):
        raise ConfigError(
            "model.share_vocabulary needs a source of symbols: set model.share_vocabulary=false"
        )
    return Target(own, target.count)


def _blanks_head(
    config: ModelConfig, encoded: EncoderSizes, reading: Vectors, target: Items, dropout: float
) -> BlanksHead:
    """A head over the source's own vocabulary, whose output layer may be its table of vectors."""
    if encoded.states is None or not isinstance(target, Symbols):
        raise ConfigError(
            "model.decoder.kind = 'blanks' tells tokens of a text that an encoder reads: leave it "
            "out, and it follows from target.kind"
        )
    output = output_layer(config, config.embedding, Target(reading, target.count))
    return BlanksHead(encoded.states, output, dropout=dropout, around=encoded.around)


def _head(part: HeadOptions, encoded: EncoderSizes, target: Items) -> Head:
    if encoded.states is None:
        raise ConfigError(
            f"a target of kind {part.kind} needs an encoder: model.encoder.kind is 'none'"
        )
    match part, target:
        case TagsHeadConfig(), Symbols(count):
            return TagsHead(encoded.states, count - 1)
        case LabelHeadConfig(pool=pool, dropout=dropout), Symbols(count):
            return LabelHead(*_pool(pool, encoded), count - 1, dropout=dropout)
        case NumberHeadConfig(pool=pool, dropout=dropout), Numbers():
            return NumberHead(*_pool(pool, encoded), dropout=dropout)
        case _:
            raise ConfigError(
                f"model.decoder.kind = {part.kind!r} does not fit the target: leave it out, and it "
                "follows from target.kind"
            )


def _pool(pool: str, encoded: EncoderSizes) -> tuple[Pool, int]:
    """One vector for the source, and its size."""
    if pool == "code" and encoded.code is not None:
        return CodePool(), encoded.code[1]
    pools: dict[str, type[Pool]] = {"code": CodePool, "mean": MeanPool, "max": MaximumPool}
    return pools[pool](), encoded.states or 0


def _vectors(config: ModelConfig, items: Items) -> Vectors:
    """A vector for each item of a column."""
    match items:
        case Pixels():
            raise ConfigError("pictures are read through a front end: set model.front=picture")
        case Numbers(count) if isinstance(config.encoder, ValuesEncoderConfig):
            return IdentityVectors(count)
        case Numbers(count):
            return Projection(count, config.embedding)
        case Symbols(count, spelling, letters) if spelling:
            own = _vectors(config, Symbols(count))
            return CharacterCNNVectors(own, Embedding(letters, LETTER_WIDTH), config.letters)
        case Symbols(count) if not config.one_hot:
            return Embedding(count, config.embedding)
        case Symbols(count):
            if config.tie_output:
                raise ConfigError(
                    "model.one_hot leaves no embedding table for the output layer to share: "
                    "set model.tie_output=false"
                )
            return OneHot(count)


def _word_dropout(config: ModelConfig, vectors: Vectors, source: Items) -> Vectors:
    """Vectors of tokens some of which are forgotten in training, if so configured."""
    if not config.forget or not isinstance(source, Symbols):
        return vectors
    return WordDropout(vectors, config.forget, unknown=UNK, special=END)


def _encoder(config: ModelConfig, vectors: Vectors, items: Items) -> tuple[Encoder, EncoderSizes]:
    encoder, encoded = _plain_encoder(config, vectors)
    if config.reverse_source:
        closing = 1 if isinstance(items, Symbols) else 0
        encoder = ReversedEncoder(encoder, turned=_reads_source(config.decoder), closing=closing)
    return encoder, encoded


def _reads_source(part: DecoderConfig) -> bool:
    """Whether the decoder reads the source in turn, before it writes (S3.2 g)."""
    match part:
        case RecurrentDecoderConfig(first_state="read") | TransformerDecoderConfig(source="read"):
            return True
        case _:
            return False


def _plain_encoder(config: ModelConfig, vectors: Vectors) -> tuple[Encoder, EncoderSizes]:
    match config.encoder:
        case RecurrentEncoderConfig() as part:
            return recurrent_encoder(part, vectors)
        case TransformerEncoderConfig() as part:
            return transformer_encoder(part, vectors)
        case VectorsEncoderConfig() | ValuesEncoderConfig():
            return VectorsEncoder(vectors), EncoderSizes(vectors.width, (1, vectors.width))
        case NoEncoderConfig():
            return NoEncoder(), EncoderSizes()
        case _:
            raise ENCODERS.unknown(config.encoder.kind)


def _decoder(
    config: ModelConfig,
    part: RecurrentDecoderConfig | TransformerDecoderConfig,
    encoded: EncoderSizes,
    target: Target,
) -> tuple[Decoder[Any], Feedback]:
    """A decoder of symbols, and how it can be made to read its own."""
    decoder, vectors = _plain_decoder(config, part, encoded, target), target.vectors
    if not isinstance(vectors, TokenVectors):
        raise TypeError("a decoder of symbols reads the vectors of tokens")
    match part:
        case RecurrentDecoderConfig(feedback=feedback):
            soft = feedback == "soft"
            return decoder, Feedback(vectors, decoder.read_vectors, by_steps=True, soft=soft)
        case TransformerDecoderConfig():
            return decoder, Feedback(vectors, decoder.read_vectors, by_steps=False)


def _plain_decoder(
    config: ModelConfig,
    part: RecurrentDecoderConfig | TransformerDecoderConfig,
    encoded: EncoderSizes,
    target: Target,
) -> RecurrentDecoder | TransformerDecoder:
    match part:
        case RecurrentDecoderConfig():
            return recurrent_decoder(config, part, encoded, target)
        case TransformerDecoderConfig():
            return transformer_decoder(config, part, encoded, target)
