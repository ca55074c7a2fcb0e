"""AdamW, its learning rate as a function of the step, and its memory as plain tensors (S6.6)."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from seqloom.config import TrainingConfig
from seqloom.errors import RunError
from seqloom.model import SequenceModel

__all__ = ["Optimizer", "learning_rate"]


class Optimizer:
    """Makes a model's updates from its gradients; what it remembers can be saved."""

    def __init__(self, model: SequenceModel, config: TrainingConfig) -> None:
        """AdamW in torch's fused form; weight decay pulls at matrices only."""
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        groups = [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": config.weight_decay},
            {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
        ]
        self.model = model
        self.config = config
        self._adam = torch.optim.AdamW(
            groups, lr=config.rate, betas=config.betas, eps=1e-9, fused=True
        )

    def zero(self) -> None:
        """Forget the gradients."""
        self._adam.zero_grad(set_to_none=True)

    def clip(self) -> float:
        """Scale the gradient down to the configured norm; the norm it had (SPEC S6.5)."""
        limit = self.config.clip_norm or math.inf
        return float(nn.utils.clip_grad_norm_(self.model.parameters(), limit))

    def update(self, step: int) -> float:
        """Change the weights; the learning rate that was used."""
        rate = learning_rate(self.config, step)
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.step()
        return rate

    def tensors(self) -> dict[str, Tensor]:
        """What it remembers, under names such as `decoder.norm.weight/exp_avg`."""
        return {
            f"{name}/{part}": value
            for name, parameter in self.model.named_parameters()
            for part, value in self._adam.state.get(parameter, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `tensors` gave."""
        parameters = dict(self.model.named_parameters())
        for name, tensor in tensors.items():
            owner, _, part = name.rpartition("/")
            if owner not in parameters:
                raise RunError(f"the saved optimiser knows {owner}, which the model lacks")
            self._adam.state[parameters[owner]][part] = tensor.clone()


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The rate of update number `step`, from 0: a linear rise, then the configured fall."""
    if step < config.warmup:
        return config.rate * (step + 1) / config.warmup
    match config.decay:
        case "constant":
            return config.rate
        case "inverse-sqrt":
            return config.rate * math.sqrt(max(config.warmup, 1) / (step + 1))
        case "cosine":
            done = (step - config.warmup) / max(config.updates - config.warmup, 1)
            wave = (1 + math.cos(math.pi * min(done, 1.0))) / 2
            return config.rate * (config.final_rate + (1 - config.final_rate) * wave)
