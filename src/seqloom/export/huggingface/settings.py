"""Map the options of our Transformers to and from config.json of Marian-type checkpoints."""

from collections.abc import Mapping
from typing import Any

from seqloom.config import (
    Config,
    ModelConfig,
    Overrides,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from seqloom.errors import ConfigError, DataError
from seqloom.export.refusals import no_counterpart
from seqloom.fields import EMPTY, END, START, UNK
from seqloom.version import __version__

__all__ = [
    "ADDED_POSITIONS",
    "check_counterparts",
    "check_vocabularies",
    "generation_settings",
    "is_tied",
    "model_options",
    "model_settings",
]

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
ADDED_POSITIONS = ("sinusoids", "sinusoids-halved", "learned", "none")
SIDES = "encoder", "decoder"
CLASSES = {
    "first": ("pegasus", "PegasusForConditionalGeneration"),
    "after": ("marian", "MarianMTModel"),
}


def check_counterparts(config: Config) -> None:
    """Raise ConfigError for the first option without a counterpart in transformers."""
    model = config.model
    for name, table in (("encoder", model.encoder), ("decoder", model.decoder)):
        _require(f"model.{name}.kind", table.kind, "transformer")
        _check_side(f"model.{name}", table)
    _require("model.front.kind", model.front.kind, "none")
    _require("model.one_hot", model.one_hot, False)
    _require("model.reverse_source", model.reverse_source, False)
    encoder, decoder = _sides(model)
    _require("model.decoder.source", decoder.source, "attend")
    _require("model.decoder.readout", decoder.readout, "affine")
    for name in ("width", "norm", "activation"):
        ours, theirs = getattr(decoder, name), getattr(encoder, name)
        _require(f"model.decoder.{name}", ours, theirs, why=f"model.encoder.{name} = {theirs!r}")


def _check_side(place: str, options: Any) -> None:
    head = options.width // options.heads
    _require(f"{place}.mixing", options.mixing, "attention")
    _require(f"{place}.head_size", options.head_size or head, head)
    _require(f"{place}.value_size", options.value_size or head, head)
    if options.positions.kind not in ADDED_POSITIONS:
        raise _refusal(f"{place}.positions.kind", options.positions.kind)
    if options.activation not in ACTIVATIONS:
        raise _refusal(f"{place}.activation", options.activation)


def _require(option: str, value: object, needed: object, *, why: str = "") -> None:
    if value != needed:
        raise _refusal(option, value, why=why)


def _refusal(option: str, value: object, *, why: str = "") -> ConfigError:
    return no_counterpart("huggingface", option, value, beside=why)


def _sides(model: ModelConfig) -> tuple[TransformerEncoderConfig, TransformerDecoderConfig]:
    encoder, decoder = model.encoder, model.decoder
    if not isinstance(encoder, TransformerEncoderConfig) or not isinstance(
        decoder, TransformerDecoderConfig
    ):
        raise _refusal("model.decoder.kind", decoder.kind)
    return encoder, decoder


def is_tied(model: ModelConfig) -> bool:
    """Whether config.json can express that the output layer is tied to the target's table; for
    Pegasus, which then has one table, only if it is the source's too.
    """
    return model.tie_output and (model.share_vocabulary or _sides(model)[0].norm == "after")


def check_vocabularies(model: ModelConfig, *, same: bool) -> None:
    """Raise ConfigError if a pre-norm model has separate vocabularies."""
    if not same and _sides(model)[0].norm == "first":
        raise _refusal("model.encoder.norm", "first", why="two vocabularies")


def model_settings(model: ModelConfig, *, sizes: tuple[int, int], positions: int) -> dict[str, Any]:
    """config.json for vocabularies of these sizes and at most `positions` positions."""
    encoder, decoder = _sides(model)
    kind, name = CLASSES[encoder.norm]
    settings: dict[str, Any] = {
        "model_type": kind,
        "architectures": [name],
        "is_encoder_decoder": True,
        "activation_function": encoder.activation,
        "d_model": encoder.width,
        "dropout": encoder.dropout,
        "scale_embedding": model.scale_vectors,
        "share_encoder_decoder_embeddings": model.share_vocabulary,
        "tie_word_embeddings": is_tied(model),
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "max_position_embeddings": positions,
        "pad_token_id": EMPTY,
        "eos_token_id": END,
        "bos_token_id": None,
        "decoder_start_token_id": START,
        "forced_eos_token_id": None,
        "dtype": "float32",
        "seqloom_version": __version__,
    }
    for side, options in (("encoder", encoder), ("decoder", decoder)):
        settings[f"{side}_layers"] = options.layers
        settings[f"{side}_ffn_dim"] = options.inner
        settings[f"{side}_attention_heads"] = options.heads
    return settings


def generation_settings(config: Config, longest: int) -> dict[str, Any]:
    """generation_config.json with the run's beam and length limits, without special symbols."""
    return {
        "num_beams": config.search.beam,
        "length_penalty": config.search.length_power,
        "early_stopping": "never",
        "max_length": longest,
        "suppress_tokens": [EMPTY, UNK, START],
        "pad_token_id": EMPTY,
        "eos_token_id": END,
        "decoder_start_token_id": START,
    }


def model_options(settings: Mapping[str, Any], *, place: str) -> Overrides:
    """The model's options without vocabularies and positions; DataError if they are missing."""
    kinds = {kind: norm for norm, (kind, _) in CLASSES.items()}
    kind = settings.get("model_type")
    if kind not in kinds:
        raise DataError(
            f"model_type is {kind!r}, and only Marian-type models are read",
            place=place,
            remedy=f"choose a checkpoint of type {' or '.join(sorted(kinds))}",
        )
    activation = ACTIVATIONS.get(str(settings.get("activation_function", "gelu")))
    if activation is None:
        raise DataError(
            f"activation_function is {settings['activation_function']!r}, and there is no such "
            "model.encoder.activation",
            place=place,
            remedy=f"choose a checkpoint with {', '.join(sorted(ACTIVATIONS))}",
        )
    sides = {side: _side_options(settings, side, place) for side in SIDES}
    shared = {"norm": kinds[kind], "activation": activation, "attention_bias": True}
    return {
        "embedding": _number(settings, "d_model", place),
        "scale_vectors": bool(settings.get("scale_embedding", False)),
        "output_bias": True,
        **{side: {"kind": "transformer", **shared, **options} for side, options in sides.items()},
    }


def _side_options(settings: Mapping[str, Any], side: str, place: str) -> dict[str, Any]:
    return {
        "width": _number(settings, "d_model", place),
        "inner": _number(settings, f"{side}_ffn_dim", place),
        "heads": _number(settings, f"{side}_attention_heads", place),
        "layers": _number(settings, f"{side}_layers", place),
        "dropout": float(settings.get("dropout", 0.1)),
    }


def _number(settings: Mapping[str, Any], name: str, place: str) -> int:
    value = settings.get(name)
    if not isinstance(value, int) or value < 1:
        raise DataError(
            f"{name} is {value!r}, not a number of at least 1", place=place, remedy="mend the file"
        )
    return value
