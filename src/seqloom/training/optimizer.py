"""Penalties, clipping and updates, with the state of the update rules as tensors (S6.5, S6.6)."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from seqloom.config import OPTIMIZERS, TrainingConfig
from seqloom.errors import RunError
from seqloom.model import Network
from seqloom.training.schedule import learning_rate
from seqloom.training.update_rules import UpdateRule

__all__ = ["Optimizer"]


class Optimizer:
    """Updates a model's weights from their gradients; its state can be saved.

    A parameter that needs no gradient is left alone and costs no memory (S6.7).
    """

    def __init__(self, model: Network, config: TrainingConfig, *, rows: int = 1) -> None:
        """`rows` is the n of the penalties λ/n R(w)."""
        self.model = model
        self.config = config
        self.skipped = 0  # updates left out so far
        self.scale = 1.0  # of the rate, besides its schedule: a plateau lowers it
        self._rows = rows
        chosen = config.optimizer
        self._rules: list[UpdateRule] = OPTIMIZERS.part_of(chosen.kind)(chosen, model)

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
        """The norm of all gradients taken as one vector (S6.5)."""
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
        """Leave an update out; return 0, the learning rate used."""
        self.skipped += 1
        return 0.0

    def tensors(self) -> dict[str, Tensor]:
        """Its state, under names such as `decoder.norm.weight/exp_avg`."""
        return {
            f"{name}/{part}": value
            for name, parameter in self.model.named_parameters()
            for rule in self._rules
            for part, value in rule.optimizer.state.get(parameter, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `tensors` returned; a parameter without saved state starts afresh."""
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
