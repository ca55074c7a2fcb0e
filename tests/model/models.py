"""Small models of every kind that a configuration can ask for, with sources to read."""

from itertools import product
from typing import NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from seqloom.config import (
    AttentionConfig,
    ModelConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from seqloom.fields import END
from seqloom.keys import key
from seqloom.model import SequenceModel, Source, build
from tests.nn.parts import stirred

__all__ = ["VARIANTS", "Case", "case", "model_of", "sources"]

DROPOUT = 0.3  # evaluation must leave it out


def recurrent(
    score: str, both_directions: bool, layers: tuple[int, int], *, width: int
) -> ModelConfig:
    """An LSTM model; the score may be one that needs equal sizes."""
    encoded = width * (2 if both_directions else 1)
    attention = AttentionConfig.model_validate({"score": score})
    return ModelConfig(
        embedding=5,
        share_vocabulary=False,
        tie_output=both_directions,
        encoder=RecurrentEncoderConfig(
            width=width, layers=layers[0], both_directions=both_directions, dropout=DROPOUT
        ),
        decoder=RecurrentDecoderConfig(
            width=encoded if score in ("dot", "scaled") else 7,
            layers=layers[1],
            dropout=DROPOUT,
            attention=attention,
        ),
    )


def transformer(norm: str, layers: tuple[int, int], heads: int, *, width: int) -> ModelConfig:
    """A Transformer, tied or not."""
    sizes = {"width": width, "inner": 10, "heads": heads, "norm": norm, "dropout": DROPOUT}
    return ModelConfig(
        embedding=width,
        share_vocabulary=False,
        tie_output=norm == "first",
        encoder=TransformerEncoderConfig.model_validate({**sizes, "layers": layers[0]}),
        decoder=TransformerDecoderConfig.model_validate({**sizes, "layers": layers[1]}),
    )


LAYERS = [(1, 1), (2, 1), (1, 2), (2, 2)]
VARIANTS = [
    *(
        recurrent(score, both, layers, width=3 + number % 2)
        for number, (score, both, layers) in enumerate(
            product(("dot", "scaled", "general", "additive"), (True, False), LAYERS[1:3])
        )
    ),
    *(
        transformer(norm, layers, heads, width=4 * heads)
        for norm, layers, heads in product(("first", "after"), LAYERS, (1, 2))
    ),
]


class Case(NamedTuple):
    """A model in float64, sources for it, and the tokens it can write."""

    model: SequenceModel
    source: Source
    vocabulary: int


def case(number: int) -> Case:
    """Case number n: the kinds of model take turns, everything else is drawn."""
    torch.manual_seed(key(number, "case"))
    vocabulary = 5 + number % 3
    config = VARIANTS[number % len(VARIANTS)]
    model = model_of(config, source_size=9, target_size=vocabulary)
    return Case(model, sources(1 + number % 3, size=9), vocabulary)


def model_of(config: ModelConfig, *, source_size: int, target_size: int) -> SequenceModel:
    """The model in float64 and in use, with weights far from their first values."""
    return stirred(build(config, source_size=source_size, target_size=target_size)).eval()


def sources(count: int, *, size: int) -> Source:
    """So many sentences of one to six tokens, `<end>` among them."""
    lengths = torch.randint(1, 7, (count,))
    rows = [torch.randint(END + 1, size, (length,)) for length in lengths.tolist()]
    for row in rows:
        row[-1] = END
    return Source(pad_sequence(rows, batch_first=True), lengths)
