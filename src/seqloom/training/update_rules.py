"""Update rules in torch's form, fused where torch offers it (S6.6).

To add a rule, register its options with `OPTIMIZERS.options` and a function from options and model
to `UpdateRule`s with `OPTIMIZERS.part`.
"""

from typing import NamedTuple

import torch
from torch import nn

from seqloom.config import OPTIMIZERS, AdamConfig, AdamWConfig, MuonConfig, SgdConfig
from seqloom.nn.embedding import embedding_tables

__all__ = ["UpdateRule", "trainable"]

EPSILON = 1e-9
ADAM = ("step", "exp_avg", "exp_avg_sq")
MOMENTUM = ("momentum_buffer",)


class UpdateRule(NamedTuple):
    """An optimizer for some of the parameters, and the names of the tensors it keeps for each."""

    optimizer: torch.optim.Optimizer
    state_names: tuple[str, ...]


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that need a gradient."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


@OPTIMIZERS.part("sgd")
def sgd(options: SgdConfig, model: nn.Module) -> list[UpdateRule]:
    """Stochastic gradient descent, with momentum if so configured."""
    rule = torch.optim.SGD(trainable(model), lr=0.0, momentum=options.momentum, fused=True)
    return [UpdateRule(rule, MOMENTUM if options.momentum else ())]


@OPTIMIZERS.part("adam")
def adam(options: AdamConfig, model: nn.Module) -> list[UpdateRule]:
    """Kingma and Ba 2015, Adam."""
    betas = options.betas
    rule = torch.optim.Adam(trainable(model), lr=0.0, betas=betas, eps=EPSILON, fused=True)
    return [UpdateRule(rule, ADAM)]


@OPTIMIZERS.part("adamw")
def adamw(options: AdamWConfig, model: nn.Module) -> list[UpdateRule]:
    """Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization."""
    return [_adamw(trainable(model), options)]


@OPTIMIZERS.part("muon")
def muon(options: MuonConfig, model: nn.Module) -> list[UpdateRule]:
    """Muon for matrices, with updates as large as AdamW's so that one learning rate serves both;
    AdamW for embedding tables and all other parameters.

    Jordan et al. 2024, Muon: An Optimizer for Hidden Layers in Neural Networks; Liu et al. 2025,
    Muon is Scalable for LLM Training.
    """
    every, tables = trainable(model), {each.table for each in embedding_tables(model)}
    matrices = [each for each in every if each.ndim == 2 and each not in tables]
    others = [each for each in every if each.ndim != 2 or each in tables]
    rules = [_adamw(others, options)]
    if matrices:
        rule = torch.optim.Muon(
            matrices,
            lr=0.0,
            momentum=options.momentum,
            weight_decay=options.weight_decay,
            adjust_lr_fn="match_rms_adamw",
        )
        rules.insert(0, UpdateRule(rule, MOMENTUM if options.momentum else ()))
    return rules


def _adamw(parameters: list[nn.Parameter], options: AdamWConfig | MuonConfig) -> UpdateRule:
    """AdamW with weight decay for matrices only."""
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": options.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    rule = torch.optim.AdamW(groups, lr=0.0, betas=options.betas, eps=EPSILON, fused=True)
    return UpdateRule(rule, ADAM)
