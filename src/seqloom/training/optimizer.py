"""Optimizers and learning rate schedules (S6.5, S6.6).

To add a schedule, register a function of the options and the step with `SCHEDULES.part`; it returns
the rate after warm-up as a fraction of `training.rate`. To add a rule, register its options with
`OPTIMIZERS.options` and a function from options and model to `UpdateRule`s with `OPTIMIZERS.part`.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqloom.config import (
    OPTIMIZERS,
    SCHEDULES,
    AdamConfig,
    AdamWConfig,
    MuonConfig,
    SgdConfig,
    TrainingConfig,
)
from seqloom.errors import RunError
from seqloom.model import Network
from seqloom.nn.embedding import embedding_tables

__all__ = ["Optimizer", "UpdateRule", "decay_progress", "learning_rate", "trainable"]


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The learning rate of update `step`, from 0: linear warm-up, then the configured decay.

    The decreases of a plateau schedule depend on validation results; they are the optimizer's
    `scale`.
    """
    if step < config.warmup:
        return config.rate * (step + 1) / config.warmup
    decay: Callable[[TrainingConfig, int], float] = SCHEDULES.parts[config.decay]
    return config.rate * decay(config, step)


def decay_progress(config: TrainingConfig, step: int) -> float:
    """The fraction of the updates after warm-up that are done, from 0 to 1."""
    return min((step - config.warmup) / max(config.updates - config.warmup, 1), 1.0)


@SCHEDULES.part("constant")
@SCHEDULES.part("plateau")
def constant(config: TrainingConfig, step: int) -> float:
    """The highest rate throughout."""
    return 1.0


@SCHEDULES.part("inverse-sqrt")
def inverse_square_root(config: TrainingConfig, step: int) -> float:
    """Vaswani et al. 2017, Attention Is All You Need."""
    return math.sqrt(max(config.warmup, 1) / (step + 1))


@SCHEDULES.part("linear")
def linear(config: TrainingConfig, step: int) -> float:
    """Linear decay to `final_rate`."""
    return _towards_final(config, 1 - decay_progress(config, step))


@SCHEDULES.part("cosine")
def cosine(config: TrainingConfig, step: int) -> float:
    """Cosine decay to `final_rate`: Loshchilov and Hutter 2017, SGDR."""
    return _towards_final(config, (1 + math.cos(math.pi * decay_progress(config, step))) / 2)


def _towards_final(config: TrainingConfig, share: float) -> float:
    return config.final_rate + (1 - config.final_rate) * share


EPSILON = 1e-9
ADAM = ("step", "exp_avg", "exp_avg_sq")
MOMENTUM = ("momentum_buffer",)


class UpdateRule(NamedTuple):
    """A torch optimizer for some of the parameters, and the names of its state tensors."""

    optimizer: torch.optim.Optimizer
    state_names: tuple[str, ...]


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that require a gradient."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


@OPTIMIZERS.part("sgd")
def sgd(options: SgdConfig, model: nn.Module) -> list[UpdateRule]:
    """Stochastic gradient descent, with momentum if configured."""
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
    """Muon for matrices, with updates scaled to AdamW's size, so that one learning rate serves
    both; AdamW for embedding tables and all other parameters.

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


class Optimizer:
    """Updates a model's weights from their gradients; its state can be saved.

    A parameter that requires no gradient is ignored and costs no memory (S6.7).
    """

    def __init__(self, model: Network, config: TrainingConfig, *, rows: int = 1) -> None:
        """`rows` is the n of the penalties λ/n R(w)."""
        self.model = model
        self.config = config
        self.skipped = 0  # updates skipped so far
        self.scale = 1.0  # factor of the rate besides its schedule, lowered on a plateau
        self._rows = rows
        chosen = config.optimizer
        self._rules: list[UpdateRule] = OPTIMIZERS.parts[chosen.kind](chosen, model)

    def zero(self) -> None:
        """Clear the gradients."""
        for rule in self._rules:
            rule.optimizer.zero_grad(set_to_none=True)

    def penalize(self) -> None:
        """Add the gradient of λ/n Σ|w| and λ/n Σw², for matrices (S6.1)."""
        first, second = self.config.l1 / self._rows, 2 * self.config.l2 / self._rows
        for parameter in self.model.parameters():
            if parameter.grad is None or parameter.ndim < 2:
                continue
            if first:
                parameter.grad.add_(parameter.detach().sign(), alpha=first)
            if second:
                parameter.grad.add_(parameter.detach(), alpha=second)

    def gradient_norm(self) -> float:
        """The global norm of the gradients (S6.5)."""
        return float(nn.utils.get_total_norm(list(self._gradients())))

    def update(self, step: int, norm: float) -> float:
        """Clip a gradient of this norm, update the weights, and return the learning rate used.

        Clipping by norm: Pascanu et al. 2013, On the Difficulty of Training Recurrent Neural
        Networks.
        """
        if self.config.clip_value:
            for gradient in self._gradients():
                gradient.clamp_(-self.config.clip_value, self.config.clip_value)
            norm = self.gradient_norm()
        if 0 < self.config.clip_norm < norm:
            for gradient in self._gradients():
                gradient.mul_(self.config.clip_norm / norm)
        rate = learning_rate(self.config, step) * self.scale
        for rule in self._rules:
            for group in rule.optimizer.param_groups:
                group["lr"] = rate
            rule.optimizer.step()
        return rate

    def skip(self) -> float:
        """Skip an update; return 0, the learning rate used."""
        self.skipped += 1
        return 0.0

    def tensors(self) -> dict[str, Tensor]:
        """The state, under names such as `decoder.norm.weight/exp_avg`."""
        return {
            f"{name}/{part}": value
            for name, parameter in self.model.named_parameters()
            for rule in self._rules
            for part, value in rule.optimizer.state.get(parameter, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `tensors` returned; a parameter without saved state starts anew."""
        names = {parameter: name for name, parameter in self.model.named_parameters()}
        for rule, parts in self._rules:
            for parameter in (each for group in rule.param_groups for each in group["params"]):
                name = names[parameter]
                known = {part: tensors.get(f"{name}/{part}") for part in parts}
                if all(value is None for value in known.values()):
                    continue
                for part, value in known.items():
                    shape = torch.Size() if part == "step" else parameter.shape
                    if value is None or value.shape != shape:
                        raise RunError(f"the saved optimiser has no {part} that fits {name}")
                    rule.state[parameter][part] = value.to(parameter.device, copy=True)

    def _gradients(self) -> Iterator[Tensor]:
        return (each.grad for each in self.model.parameters() if each.grad is not None)
