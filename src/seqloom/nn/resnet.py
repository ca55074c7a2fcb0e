"""Residual networks of basic blocks, under the names of published weights (S3.4).

Names and arithmetic are those of torchvision and timm, so that their safetensors files fit. The
norms use the means and variances that came with the weights, in training too.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["ResNet"]

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
WIDTHS = (64, 128, 256, 512)


class ResNet(nn.Module):
    """A stem and four stages; the grid has a 32nd of the picture's rows and columns.

    He et al. 2016, Deep Residual Learning for Image Recognition.
    """

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.width = WIDTHS[-1]
        self.conv1 = nn.Conv2d(3, WIDTHS[0], 7, stride=2, padding=3, bias=False)
        self.bn1 = FrozenBatchNorm(WIDTHS[0])
        before = WIDTHS[0]
        for number, (width, blocks) in enumerate(zip(WIDTHS, BLOCKS[depth], strict=True), 1):
            stage = [_Block(before, width, stride=1 if number == 1 else 2)]
            stage += [_Block(width, width, stride=1) for _ in range(blocks - 1)]
            self.add_module(f"layer{number}", nn.Sequential(*stage))
            before = width

    def forward(self, pictures: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D H2 W2"]:
        hidden = functional.relu(self.bn1(self.conv1(pictures)))
        hidden = functional.max_pool2d(hidden, 3, stride=2, padding=1)
        for number in range(1, len(WIDTHS) + 1):
            hidden = self.get_submodule(f"layer{number}")(hidden)
        return hidden


class FrozenBatchNorm(nn.Module):
    """Batch normalization with a fixed mean and variance, which are parameters without gradients.

    Ioffe and Szegedy 2015, Batch Normalization.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.running_mean = nn.Parameter(torch.zeros(width), requires_grad=False)
        self.running_var = nn.Parameter(torch.ones(width), requires_grad=False)

    def forward(self, cells: Float[Tensor, "N D H W"]) -> Float[Tensor, "N D H W"]:
        factor = self.weight * (self.running_var + 1e-5).rsqrt()
        shift = self.bias - self.running_mean * factor
        return cells * factor[:, None, None] + shift[:, None, None]


class _Block(nn.Module):
    """Two convolutions with a shortcut connection."""

    def __init__(self, narrow: int, wide: int, *, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(narrow, wide, 3, stride=stride, padding=1, bias=False)
        self.bn1 = FrozenBatchNorm(wide)
        self.conv2 = nn.Conv2d(wide, wide, 3, padding=1, bias=False)
        self.bn2 = FrozenBatchNorm(wide)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or narrow != wide:
            shorter = nn.Conv2d(narrow, wide, 1, stride=stride, bias=False)
            self.downsample = nn.Sequential(shorter, FrozenBatchNorm(wide))

    def forward(self, cells: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D H2 W2"]:
        hidden = functional.relu(self.bn1(self.conv1(cells)))
        return functional.relu(self.bn2(self.conv2(hidden)) + self.downsample(cells))
