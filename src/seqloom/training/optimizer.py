"""Update rules, and what they remember as plain tensors (S6.5, S6.6)."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from seqloom.config import (
    OPTIMIZERS,
    AdamConfig,
    AdamWConfig,
    MuonConfig,
    SgdConfig,
    TrainingConfig,
)
from seqloom.errors import RunError
from seqloom.model import Network
from seqloom.nn.embedding import Embedding
from seqloom.training.schedule import learning_rate

__all__ = ["Optimizer"]

EPSILON = 1e-9
ADAM = ("step", "exp_avg", "exp_avg_sq")
MOMENTUM = ("momentum_buffer",)


class Optimizer:
    """Makes a model's updates from its gradients; what it remembers can be saved.

    A parameter that needs no gradient is left alone and costs no memory (S6.7).
    """

    def __init__(self, model: Network, config: TrainingConfig, *, rows: int = 1) -> None:
        """`rows` is the n of the penalties λ/n R(w)."""
        self.model = model
        self.config = config
        self.skipped = 0  # updates left out so far
        self.scale = 1.0  # of the rate, besides its schedule: a plateau lowers it
        self._rows = rows
        self._rules = _rules(model, config)

    def zero(self) -> None:
        """Forget the gradients."""
        for rule in self._rules:
            rule.zero_grad(set_to_none=True)

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
        """The length of all gradients taken as one vector (S6.5)."""
        return float(nn.utils.get_total_norm(list(self._gradients())))

    def update(self, step: int, norm: float) -> float:
        """Clip a gradient of this norm and change the weights; the learning rate that was used."""
        if self.config.clip_value:
            for gradient in self._gradients():
                gradient.clamp_(-self.config.clip_value, self.config.clip_value)
            norm = self.gradient_norm()
        if 0 < self.config.clip_norm < norm:
            for gradient in self._gradients():
                gradient.mul_(self.config.clip_norm / norm)
        rate = learning_rate(self.config, step) * self.scale
        for rule in self._rules:
            for group in rule.param_groups:
                group["lr"] = rate
            rule.step()
        return rate

    def skip(self) -> float:
        """Leave an update out; the learning rate that was used, which is none."""
        self.skipped += 1
        return 0.0

    def tensors(self) -> dict[str, Tensor]:
        """What it remembers, under names such as `decoder.norm.weight/exp_avg`."""
        return {
            f"{name}/{part}": value
            for name, parameter in self.model.named_parameters()
            for rule in self._rules
            for part, value in rule.state.get(parameter, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `tensors` gave; a parameter of which nothing is known starts anew."""
        names = {parameter: name for name, parameter in self.model.named_parameters()}
        for rule in self._rules:
            parts = _state_names(rule)
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


def _rules(model: Network, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """The configured rule in torch's form, fused where there is one; Muon needs a second rule."""
    every = [parameter for parameter in model.parameters() if parameter.requires_grad]
    match config.optimizer:
        case SgdConfig() as chosen:
            return [torch.optim.SGD(every, lr=0.0, momentum=chosen.momentum, fused=True)]
        case AdamConfig() as chosen:
            return [torch.optim.Adam(every, lr=0.0, betas=chosen.betas, eps=EPSILON, fused=True)]
        case AdamWConfig() as chosen:
            return [_adamw(every, chosen)]
        case MuonConfig() as chosen:
            tables = {each.table for each in model.modules() if isinstance(each, Embedding)}
            inner = [each for each in every if each.ndim == 2 and each not in tables]
            others = [each for each in every if each.ndim != 2 or each in tables]
            return [*([_muon(inner, chosen)] if inner else []), _adamw(others, chosen)]
        case _ as chosen:
            raise OPTIMIZERS.unknown(chosen.kind)


def _adamw(
    parameters: list[nn.Parameter], chosen: AdamWConfig | MuonConfig
) -> torch.optim.Optimizer:
    """AdamW whose weight decay pulls at matrices only."""
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": chosen.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=chosen.betas, eps=EPSILON, fused=True)


def _muon(matrices: list[nn.Parameter], chosen: MuonConfig) -> torch.optim.Optimizer:
    """Muon with steps as long as AdamW's, so that one learning rate serves both."""
    return torch.optim.Muon(
        matrices,
        lr=0.0,
        momentum=chosen.momentum,
        weight_decay=chosen.weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )


def _state_names(rule: torch.optim.Optimizer) -> tuple[str, ...]:
    """What a rule keeps for each parameter once it has made a step."""
    if isinstance(rule, torch.optim.Adam):
        return ADAM
    return MOMENTUM if rule.defaults["momentum"] else ()
