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
        self.skipped = 0  # updates left out so far
        self._adam = torch.optim.AdamW(
            groups, lr=config.rate, betas=config.betas, eps=1e-9, fused=True
        )

    def zero(self) -> None:
        """Forget the gradients."""
        self._adam.zero_grad(set_to_none=True)

    def gradient_norm(self) -> float:
        """The length of all gradients taken as one vector (SPEC S6.5)."""
        gradients = [each.grad for each in self.model.parameters() if each.grad is not None]
        return float(nn.utils.get_total_norm(gradients))

    def update(self, step: int, norm: float) -> float:
        """Clip a gradient of this norm and change the weights; the learning rate that was used."""
        if 0 < self.config.clip_norm < norm:
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(self.config.clip_norm / norm)
        rate = learning_rate(self.config, step)
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.step()
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
            for part, value in self._adam.state.get(parameter, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `tensors` gave; nothing, where no update was made before."""
        if not tensors:
            return
        for name, parameter in self.model.named_parameters():
            shapes = {
                "step": torch.Size(),
                "exp_avg": parameter.shape,
                "exp_avg_sq": parameter.shape,
            }
            for part, shape in shapes.items():
                tensor = tensors.get(f"{name}/{part}")
                if tensor is None or tensor.shape != shape:
                    raise RunError(f"the saved optimiser has no {part} that fits {name}")
                self._adam.state[parameter][part] = tensor.clone()


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
