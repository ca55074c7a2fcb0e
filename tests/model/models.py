"""Small models of every kind that a configuration can ask for, with sources to read."""

from itertools import product
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from seqloom.config import (
    ModelConfig,
    NoAttentionConfig,
    RecurrentDecoderConfig,
    TransformerDecoderConfig,
)
from seqloom.fields import END, Symbols
from seqloom.model import SequenceModel, Source, build_sequence_model
from seqloom.randomness import key
from tests.nn.parts import stirred

__all__ = ["NAMED", "VARIANTS", "Case", "attends", "case", "model_of", "sources"]

DROPOUT = 0.3  # evaluation must leave it out


def recurrent(encoder: dict[str, Any], decoder: dict[str, Any], **model: Any) -> ModelConfig:
    """A recurrent model of odd sizes; what is not given is as small as it can be."""
    sizes = {"kind": "recurrent", "dropout": DROPOUT, "layers": 1}
    tables = {
        "embedding": 6,
        "share_vocabulary": False,
        "tie_output": decoder.get("readout") != "affine",
        "encoder": encoder if "kind" in encoder else {**sizes, "width": 3, **encoder},
        "decoder": {**sizes, "width": 7, **decoder},
        **model,
    }
    return ModelConfig.model_validate(tables)


def transformer(encoder: dict[str, Any], decoder: dict[str, Any], **model: Any) -> ModelConfig:
    """A Transformer of width 8; what is not given is as small as it can be."""
    sizes = {"kind": "transformer", "width": 8, "inner": 10, "heads": 2, "layers": 1}
    tables = {
        "embedding": 8,
        "share_vocabulary": False,
        "tie_output": False,
        "encoder": encoder if "kind" in encoder else {**sizes, "dropout": DROPOUT, **encoder},
        "decoder": {**sizes, "dropout": DROPOUT, **decoder},
        **model,
    }
    return ModelConfig.model_validate(tables)


UNITS: dict[str, Any] = {
    "lstm": {"kind": "lstm"},
    "gru": {"kind": "gru"},
    "gru-take": {"kind": "gru", "update": "take", "bias": False},
    "gru-after": {"kind": "gru", "reset": "after"},
    "gru-after-take": {"kind": "gru", "reset": "after", "update": "take"},
    "elman": {"kind": "elman"},
    "elman-relu": {"kind": "elman", "activation": "relu", "weights": "glorot"},
    "elman-sigmoid": {"kind": "elman", "activation": "sigmoid", "weights": "uniform"},
    "elman-identity": {"kind": "elman", "activation": "identity", "weights": "normal"},
    "ssru": {"kind": "ssru"},
}
SCORES = ("dot", "scaled", "general", "scaled-general", "additive", "concatenation", "perceptron")
LOOKS: dict[str, Any] = {
    "global": {"kind": "global"},
    "causal": {"kind": "global", "causal": True},
    "local": {"kind": "local", "centre": "time", "window": 1, "gaussian": False},
    "local-bell": {"kind": "local", "centre": "time", "window": 2},
    "local-predicted": {"kind": "local", "window": 2},
    "local-causal": {"kind": "local", "window": 1, "causal": True},
}
QUERIES: dict[str, Any] = {
    "current": {"query": "current"},
    "fed": {"query": "current", "feed": True},
    "previous": {"query": "previous"},
    "previous-fed": {"query": "previous", "feed": True},
    "output": {"query": "output"},
    "output-fed": {"query": "output", "feed": True},
}
FORMS: dict[str, Any] = {
    "a": {"feedback": "none", "attention": "none"},
    "b": {"attention": "none"},
    "c": {"code": "input", "attention": "none"},
    "d": {"code": "input-output", "attention": "none"},
    "e": {},
    "f": {"feedback": "none", "code": "first", "attention": "none"},
    "summed": {"code": "input", "join": "sum", "attention": "none"},
    "soft": {"feedback": "soft", "attention": "none"},
    "soft-summed": {"feedback": "soft", "code": "input", "join": "sum"},
    "everything": {"code": "input-output", "attention": {"query": "previous", "feed": True}},
}
FIRST: dict[str, Any] = {
    "map": {},
    "zero": {"first_state": "zero"},
    "learnt": {"first_state": "learnt"},
    "copy": {"first_state": "copy", "width": 6},
}
STACKS: dict[str, Any] = {
    "deep": {"layers": 2},
    "residual": {"layers": 3, "residual": True},
    "normed": {"layers": 2, "layer_norm": True},
    "both": {"layers": 2, "layer_norm": True, "residual": True},
}
READING = {"first_state": "read", "attention": "none"}
POSITIONS: dict[str, Any] = {
    "sinusoids": {},
    "appended": {"positions": {"kind": "sinusoids-appended", "size": 4}, "width": 12},
    "one-hot": {"positions": {"kind": "one-hot", "most": 4}, "width": 12},
    "learned": {"positions": {"kind": "learned", "most": 5}},
    "joint": {"positions": {"kind": "joint", "most": 3}, "width": 6},
    "rotary": {"positions": "rotary"},
    "none": {"positions": "none"},
}
BLOCKS: dict[str, Any] = {
    "plain": {},
    "after": {"norm": "after", "layers": 2},
    "sizes": {"head_size": 2, "value_size": 5, "heads": 3},
    "bias": {"attention_bias": True, "activation": "gelu"},
    "gated": {"activation": "gated", "layers": 2},
    "simple": {"mixing": "simple"},
}


def _recurrent_variants() -> dict[str, ModelConfig]:
    """Every unit, score, way to look and to ask, form, first state and kind of stack, and each
    kind beside each other kind at least once."""
    found: dict[str, ModelConfig] = {}
    for unit, (form, part) in product(UNITS, FORMS.items()):
        decoder = {"unit": UNITS[unit], **part}
        found[f"{unit} form {form}"] = recurrent({"unit": UNITS[unit]}, decoder)
    for score, (look, kind), (ask, asked) in product(SCORES, LOOKS.items(), QUERIES.items()):
        width = 6 if score in ("dot", "scaled") else 7
        attention = {"score": score, **kind, **asked}
        found[f"{score} {look} {ask}"] = recurrent(
            {"unit": "gru"}, {"unit": "gru", "width": width, "attention": attention}
        )
    for score, heads in product(SCORES, (2, 3)):
        attention = {"score": score, "heads": heads, "size": 4}
        found[f"{score} {heads} heads"] = recurrent({}, {"attention": attention})
    for (first, state), unit in product(FIRST.items(), UNITS):
        decoder = {"unit": UNITS[unit], **state}
        found[f"{unit} from {first}"] = recurrent({"unit": UNITS[unit]}, decoder)
    for unit, other in product(("lstm", "gru", "elman"), repeat=2):
        found[f"{unit} to {other}"] = recurrent({"unit": unit}, {"unit": other, "layers": 2})
    for (stack, options), direction in product(STACKS.items(), ("both", "forward", "backward")):
        reading = {**options, "direction": direction, "first_state": "learnt"}
        found[f"{stack} {direction}"] = recurrent(reading, {**options, "width": 6})
    for readout in ("affine", "perceptron"):
        found[f"one-hot {readout}"] = recurrent(
            {}, {"readout": readout}, one_hot=True, tie_output=False, output_bias=False
        )
        found[f"backwards {readout}"] = recurrent({}, {"readout": readout}, reverse_source=True)
    for unit, kind in UNITS.items():
        found[f"{unit} reads and writes"] = recurrent(
            {"kind": "vectors"}, {"unit": kind, **READING}
        )
        alone = {"unit": kind, "first_state": "zero", "attention": "none"}
        found[f"{unit} alone"] = recurrent({"kind": "none"}, alone)
    return found


def _transformer_variants() -> dict[str, ModelConfig]:
    """Every kind of block and of positions, on both sides and beside recurrent parts."""
    found: dict[str, ModelConfig] = {}
    mixings = {"ssru": {"mixing": "ssru", "layers": 2}, **BLOCKS}
    for (block, options), (where, positions) in product(mixings.items(), POSITIONS.items()):
        if where == "rotary" and block in ("simple", "ssru"):
            continue
        both = {**options, **positions}
        encoder = both if block != "ssru" else positions
        found[f"{block} {where}"] = transformer(encoder, both)
        found[f"{block} {where} reads"] = transformer(
            {"kind": "vectors"}, {**both, "source": "read"}
        )
        found[f"{block} {where} alone"] = transformer({"kind": "none"}, both)
    sizes = {"embedding": 8, "tie_output": False}
    for form, part in FORMS.items():
        config = recurrent({}, part, **sizes).model_dump()
        config["encoder"] = transformer({}, {}).encoder.model_dump()
        found[f"transformer to form {form}"] = ModelConfig.model_validate(config)
    for unit, kind in UNITS.items():
        config = transformer({}, {}).model_dump()
        config["encoder"] = recurrent({"unit": kind}, {}).encoder.model_dump()
        found[f"{unit} to transformer"] = ModelConfig.model_validate(config)
    found["backwards transformer"] = transformer({}, {}, reverse_source=True)
    found["vectors to transformer"] = transformer({"kind": "vectors"}, {})
    return found


NAMED = {**_recurrent_variants(), **_transformer_variants()}
VARIANTS = list(NAMED.values())
STRIDE = 89  # so that a few cases in a row are of many kinds; a prime, so that all have their turn


class Case(NamedTuple):
    """A model in float64, sources for it, and the tokens it can write."""

    model: SequenceModel
    source: Source
    vocabulary: int
    attends: bool


def case(number: int) -> Case:
    """Case number n: the kinds of model take turns, everything else is drawn."""
    torch.manual_seed(key(number, "case"))
    vocabulary = 5 + number % 3
    config = VARIANTS[number * STRIDE % len(VARIANTS)]
    model = model_of(config, source_size=9, target_size=vocabulary)
    return Case(model, sources(1 + number % 3, size=9), vocabulary, attends(config))


def attends(config: ModelConfig) -> bool:
    """Whether the decoder looks at the source, so that there are weights to see."""
    match config.decoder:
        case RecurrentDecoderConfig(attention=attention):
            return not isinstance(attention, NoAttentionConfig)
        case TransformerDecoderConfig(source=source):
            return source == "attend" and config.encoder.kind != "none"
        case _:
            return False


def model_of(config: ModelConfig, *, source_size: int, target_size: int) -> SequenceModel:
    """The model in float64 and in use, with weights far from their first values."""
    sizes = {"source": Symbols(source_size), "target": Symbols(target_size)}
    return stirred(build_sequence_model(config, **sizes)).eval()


def sources(count: int, *, size: int) -> Source:
    """So many sentences of one to six tokens, `<end>` among them."""
    lengths = torch.randint(1, 7, (count,))
    rows = [torch.randint(END + 1, size, (length,)) for length in lengths.tolist()]
    for row in rows:
        row[-1] = END
    return Source(pad_sequence(rows, batch_first=True), lengths)
