"""S3.4: residual networks under the names of published weights."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from seqloom.nn.resnet import ResNet

Weights = Mapping[str, Tensor]
SIZES = {18: 11_176_512, 34: 21_284_672}  # of conv1 to layer4, the means and variances apart


def drawn(depth: int) -> dict[str, Tensor]:
    """Weights for every name, with variances above 0, and counters as a file has them."""
    generator = torch.Generator().manual_seed(depth)
    found = {}
    for name, value in ResNet(depth).named_parameters():
        values = torch.randn(value.shape, generator=generator, dtype=torch.float64)
        found[name] = values.abs() + 0.5 if name.endswith("running_var") else 0.1 * values
    return found


def normed(hidden: Tensor, weights: Weights, name: str) -> Tensor:
    """Batch normalisation as torch has it, in evaluation."""
    mean, variance = weights[f"{name}.running_mean"], weights[f"{name}.running_var"]
    scale = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return functional.batch_norm(hidden, mean, variance, *scale, training=False)


def by_hand(pictures: Tensor, weights: Weights, blocks: tuple[int, ...]) -> Tensor:
    """The network as its paper draws it, by the names of the weights alone."""
    hidden = functional.conv2d(pictures, weights["conv1.weight"], stride=2, padding=3)
    hidden = functional.relu(normed(hidden, weights, "bn1"))
    hidden = functional.max_pool2d(hidden, 3, 2, 1)
    for stage, count in enumerate(blocks, 1):
        for block in range(count):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            inner = functional.conv2d(hidden, weights[f"{name}.conv1.weight"], None, stride, 1)
            inner = functional.relu(normed(inner, weights, f"{name}.bn1"))
            inner = functional.conv2d(inner, weights[f"{name}.conv2.weight"], None, 1, 1)
            inner = normed(inner, weights, f"{name}.bn2")
            if f"{name}.downsample.0.weight" in weights:
                short = weights[f"{name}.downsample.0.weight"]
                hidden = functional.conv2d(hidden, short, None, stride)
                hidden = normed(hidden, weights, f"{name}.downsample.1")
            hidden = functional.relu(hidden + inner)
    return hidden


@torch.no_grad()
@pytest.mark.parametrize(("depth", "blocks"), [(18, (2, 2, 2, 2)), (34, (3, 4, 6, 3))])
def test_it_is_the_published_network(depth: int, blocks: tuple[int, ...]) -> None:
    """Names, sizes and values; in training too, since means and variances stay."""
    weights = drawn(depth)
    network = ResNet(depth).double()
    network.load_state_dict(weights)
    learnt = sum(each.numel() for each in network.parameters() if each.requires_grad)
    assert learnt == SIZES[depth]
    pictures = torch.randn(2, 3, 40, 64, dtype=torch.float64)
    expected = by_hand(pictures, weights, blocks)
    assert expected.shape == (2, 512, 2, 2)
    for mode in (True, False):
        torch.testing.assert_close(network.train(mode)(pictures), expected)
