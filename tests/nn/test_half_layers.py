"""The compiled kernels of training in bfloat16 give what float64 gives, up to its 8 bits (S6.6)."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.half_kernels import half_kernels
from seqloom.nn.half_layers import InputNorm, add_dropped, drop_floats, half_losses, relu_dropped
from seqloom.nn.scaled_attention import scaled_attention
from seqloom.nn.units.lstm import Lstm

pytestmark = pytest.mark.skipif(
    half_kernels() is None, reason="no compiled core, or no unit for bfloat16"
)
SHAPES = [(1, 1, 16), (3, 5, 48), (2, 7, 70)]
KEPT = 192  # of 256: three quarters


def near(found: Tensor, wanted: Tensor, *, times: float = 1.0) -> None:
    """Equal up to a rounding to bfloat16 of the largest value."""
    assert found.shape == wanted.shape
    largest = max(float(wanted.abs().max()), 1e-6)
    assert float((found.double() - wanted).abs().max()) <= times * 2**-7 * largest


def gradients(function: Callable[..., Tensor], *inputs: Tensor) -> list[Tensor]:
    """The output, and the gradient of each input for an output gradient that is always the same."""
    leaves = [each.detach().requires_grad_() for each in inputs]
    output = function(*leaves)
    weights = torch.linspace(-1, 1, output.numel()).view(output.shape).to(output)
    return [output.detach(), *torch.autograd.grad(output, leaves, weights)]


def made(found: Tensor | None) -> Tensor:
    """What a kernel made."""
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _half() -> Iterator[None]:
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16):
        yield


@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(shape: tuple[int, ...]) -> None:
    norm = InputNorm(shape[-1])
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    values = 3 * torch.randn(shape) + 1

    def computed(inputs: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return functional.layer_norm(inputs, shape[-1:], gain, bias)

    assert norm(values).dtype == torch.bfloat16
    leaves = values.requires_grad_(), norm.weight, norm.bias
    output = norm(values)
    weights = torch.linspace(-1, 1, output.numel()).view(shape)
    found = [output.detach(), *torch.autograd.grad(output, leaves, weights.bfloat16())]
    exact = gradients(computed, *(each.detach().double() for each in leaves))
    for one, other in zip(found, exact, strict=True):
        near(one, other, times=2)


def test_dropout_keeps_a_share_and_its_gradient_the_same_values() -> None:
    values = torch.ones(100, 1_000)
    output, change = gradients(lambda each: made(drop_floats(each, KEPT)), values)
    kept = output != 0
    assert abs(float(kept.float().mean()) - KEPT / 256) < 0.01
    assert torch.equal(output[kept], torch.full_like(output[kept], 256 / KEPT))
    assert torch.equal(change != 0, kept)
    assert not torch.equal(made(drop_floats(values, KEPT)) != 0, kept)
    torch.manual_seed(1)
    assert torch.equal(made(drop_floats(values, KEPT)), output)


@pytest.mark.parametrize("count", [1, 63, 64, 1_000])
def test_a_dropped_change_is_added(count: int) -> None:
    values, change = torch.randn(count), torch.randn(count).bfloat16()
    output, to_values, to_change = gradients(
        lambda one, two: made(add_dropped(one, two, KEPT)), values, change
    )
    kept = to_change != 0
    near(output, values.double() + kept * change.double() * 256 / KEPT)
    near(to_change, kept * to_values.double() * 256 / KEPT)


@pytest.mark.parametrize("count", [1, 63, 64, 1_000])
def test_relu_with_dropout(count: int) -> None:
    values = torch.randn(count).bfloat16()
    output, change = gradients(lambda each: made(relu_dropped(each, KEPT)), values)
    kept = output != 0
    assert not (kept & (values <= 0)).any()
    near(output, kept * values.double() * 256 / KEPT)
    weights = torch.linspace(-1, 1, count).bfloat16().double() if count > 1 else -torch.ones(1)
    near(change, kept * weights * 256 / KEPT)


@pytest.mark.parametrize("size", [5, 16, 1_003])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(size: int, smoothing: float) -> None:
    logits = (4 * torch.randn(7, size)).bfloat16()
    targets, factors = torch.randint(size, (7,)), torch.rand(7)
    exact = logits.double().requires_grad_()
    losses = functional.cross_entropy(exact, targets, reduction="none", label_smoothing=smoothing)
    total = (losses * factors).sum()
    (wanted,) = torch.autograd.grad(total, exact)
    likely = exact.log_softmax(-1).gather(1, targets[:, None]).squeeze(1)
    found = half_losses(logits, targets, factors, smoothing)
    assert found is not None
    assert torch.allclose(found[0].double(), total, rtol=1e-5)
    assert torch.allclose(found[1].double(), likely, atol=1e-5)
    near(logits, wanted)


@pytest.mark.parametrize("size", [5, 16, 1_003])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_pairs_that_are_to_agree(size: int, smoothing: float) -> None:
    logits = (2 * torch.randn(8, size)).bfloat16()
    targets, factors = torch.randint(size, (4,)).repeat(2), torch.rand(4).repeat(2)
    exact = logits.double().requires_grad_()
    losses = functional.cross_entropy(exact, targets, reduction="none", label_smoothing=smoothing)
    one, other = exact.log_softmax(-1).chunk(2)
    apart = sum(
        functional.kl_div(b, a, log_target=True, reduction="none").sum(-1)
        for a, b in ((one, other), (other, one))
    )
    total = (losses * factors).sum() + (5.0 * apart / 2 * factors[:4]).sum()
    (wanted,) = torch.autograd.grad(total, exact)
    found = half_losses(logits, targets, factors, smoothing, 5.0)
    assert found is not None
    assert torch.allclose(found[0].double(), total, rtol=1e-5)
    near(logits, wanted)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("steps", "seen"), [(1, 1), (5, 5), (17, 33), (40, 19)])
def test_attention(steps: int, seen: int, causal: bool) -> None:
    steps = seen if causal else steps
    query, key, value = (torch.randn(3, 2, count, 32).bfloat16() for count in (steps, seen, seen))
    mask = None
    if not causal:
        mask = torch.arange(seen) < torch.tensor([seen, 1, max(1, seen // 2)])[:, None]
        mask = mask[:, None, None]

    def computed(one: Tensor, two: Tensor, three: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            return functional.scaled_dot_product_attention(one, two, three, mask, is_causal=causal)

    found = gradients(
        lambda one, two, three: scaled_attention(one, two, three, mask, causal=causal),
        query,
        key,
        value,
    )
    exact = gradients(computed, *(each.double() for each in (query, key, value)))
    for one, other in zip(found, exact, strict=True):
        near(one, other, times=3)


@pytest.mark.parametrize("steps", [1, 6])
def test_lstm(steps: int) -> None:
    unit = Lstm(8, 24)
    inputs, state = torch.randn(3, steps, 8), (torch.randn(3, 24), torch.randn(3, 24))

    def computed(*given: Tensor) -> Tensor:
        return torch.cat(unit(given[0], given[1:])[1], dim=-1)

    found = gradients(computed, inputs, *state)
    half = torch.autograd.grad(computed(inputs, *state).sum(), list(unit.parameters()))
    unit.double()
    with torch.autocast("cpu", enabled=False):
        doubled = [each.double() for each in (inputs, *state)]
        exact = gradients(computed, *doubled)
        full = torch.autograd.grad(computed(*doubled).sum(), list(unit.parameters()))
    for one, other in zip([*found, *half], [*exact, *full], strict=True):
        near(one, other, times=4)
