"""A small model and batches for the tests of updates."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from seqloom.config import ModelConfig, TrainingConfig
from seqloom.fields import END, Symbols
from seqloom.model import SequenceModel, Source, build_sequence_model
from seqloom.training import Example, Optimizer, Portion, Update, fit

__all__ = ["STACK", "example", "in_parts", "network", "training", "updates", "weights", "whole"]

STACK = {"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": 1, "dropout": 0.0}
ROWS, STEPS = 6, 4


def training(**options: Any) -> TrainingConfig:
    return TrainingConfig.model_validate({"updates": 6, "warmup": 2, **options})


def network(**options: Any) -> SequenceModel:
    """A small model whose first weights are always the same."""
    torch.manual_seed(3)
    config = {"embedding": 8, "share_vocabulary": False, "encoder": STACK, "decoder": STACK}
    return build_sequence_model(
        ModelConfig.model_validate({**config, **options}), source=Symbols(9), target=Symbols(9)
    )


def example(step: int) -> Example:
    """Six rows of four tokens and their reversal."""
    generator = torch.Generator().manual_seed(step)
    words = torch.randint(END + 1, 9, (ROWS, STEPS - 1), generator=generator)
    end = torch.full((ROWS, 1), END)
    source = Source(torch.cat([words, end], dim=1), torch.full((ROWS,), STEPS))
    return Example(source, torch.cat([words.flip(1), end], dim=1))


def whole(step: int) -> Portion:
    return Portion([example(step)], ROWS * STEPS, lambda: "pairs.tsv, line 1")


def in_parts(step: int) -> Portion:
    """The same rows as two batches whose gradients are added up."""
    source, target, *_ = example(step)
    parts = [slice(0, 2), slice(2, ROWS)]
    examples = [Example(Source(source.values[p], source.lengths[p]), target[p]) for p in parts]
    return Portion(examples, ROWS * STEPS, lambda: "pairs.tsv, line 1")


def updates(
    model: SequenceModel, config: TrainingConfig, portion: Callable[[int], Portion] = whole
) -> list[Update]:
    return list(fit(Optimizer(model, config), portion, seed=1))


def weights(model: SequenceModel) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}
