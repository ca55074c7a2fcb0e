"""Small models that write by CTC alone, and every labelling of theirs, path by path."""

import math
from itertools import groupby, product
from typing import Any

import torch
from torch import Tensor

from seqloom.config import ModelConfig
from seqloom.fields import EMPTY
from seqloom.model import SequenceModel, Source
from tests.model.models import model_of, sources

__all__ = ["VOCABULARY", "case", "config", "frame_scores", "labellings", "single"]

VOCABULARY = 6  # with three labels: <unk>, 4 and 5


def config(encoder: dict[str, Any] | None = None, **decoder: Any) -> ModelConfig:
    reader = encoder or {"kind": "recurrent", "width": 3, "layers": 1, "dropout": 0.3}
    return ModelConfig.model_validate(
        {
            "embedding": 6,
            "share_vocabulary": False,
            "encoder": reader,
            "decoder": {"kind": "ctc", **decoder},
        }
    )


def case(number: int, **decoder: Any) -> tuple[SequenceModel, Source]:
    torch.manual_seed(number)
    model = model_of(config(**decoder), source_size=9, target_size=VOCABULARY)
    return model, sources(1 + number % 3, size=9)


def labellings(frames: Tensor) -> dict[tuple[int, ...], float]:
    """The probability of every labelling of these log-probabilities (S, V), path by path."""
    found: dict[tuple[int, ...], float] = {}
    likely = frames.exp().tolist()
    for path in product(range(frames.shape[1]), repeat=len(frames)):
        chance = math.prod(likely[t][symbol] for t, symbol in enumerate(path))
        merged = tuple(symbol for symbol, _ in groupby(path) if symbol != EMPTY)
        found[merged] = found.get(merged, 0.0) + chance
    return {labels: chance for labels, chance in found.items() if chance > 0}


def frame_scores(model: SequenceModel, source: Source) -> Tensor:
    scores: Tensor = model.decoder(model.encoder.encode(source).states)
    return scores.log_softmax(-1)


def single(source: Source, number: int, longest: int = 4) -> Source:
    length = min(int(source.lengths[number]), longest)
    return Source(source.values[number : number + 1, :length], torch.tensor([length]))
