"""An optimizer: every weight moves by the learning rate, against the sign of its gradient."""

from typing import Any, Literal

import torch
from pydantic import Field
from torch import nn

from seqloom.config import OPTIMIZERS, OptimizerOptions
from seqloom.training import UpdateRule, trainable


@OPTIMIZERS.options("signs")
class SignOptions(OptimizerOptions):
    """Gradient descent by signs alone, with momentum."""

    kind: Literal["signs"] = "signs"
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum coefficient")


class SignDescent(torch.optim.Optimizer):
    """`m ← μ m + g`, `w ← w - rate · sign(m)`."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for weight in group["params"]:
                kept = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                kept.mul_(group["momentum"]).add_(weight.grad)
                weight.sub_(group["lr"] * kept.sign())


@OPTIMIZERS.part("signs")
def sign_descent(options: SignOptions, model: nn.Module) -> list[UpdateRule]:
    """One rule for all weights; its momentum is saved with the run."""
    defaults: dict[str, Any] = {"lr": 0.0, "momentum": options.momentum}
    return [UpdateRule(SignDescent(trainable(model), defaults), ("momentum",))]
