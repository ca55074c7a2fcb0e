"""S5: blocks of every kind against NumPy in float64, numerical gradients, and their caches."""

import random
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.nn.token_mixing import next_steps
from seqloom.nn.transformer import Block, BlockOptions
from tests.counts import count
from tests.nn.parts import stirred, values
from tests.nn.transformer_reference import run_block, weights_of

pytestmark = pytest.mark.faults

WIDTH, INNER, SOURCE = 6, 5, 3
LENGTHS = torch.tensor([5, 2, 4])
MASK = torch.arange(5) < LENGTHS[:, None]
MIXINGS = [("attention", False), ("attention", True), ("simple", False), ("ssru", False)]
SIZES = [(2, 4, 4), (3, 2, 5), (1, 6, 1)]
INNER_KINDS = ["relu", "gelu", "gated"]
EITHER = [True, False]


def kind(sizes: tuple[int, int, int], *parts: Any) -> BlockOptions:
    """Heads of these sizes, then one of each list."""
    (mixing, rotary), inner, norm_first, bias, source = parts
    return BlockOptions(
        *(WIDTH, INNER, *sizes),
        bias=bias,
        norm_first=norm_first,
        inner_kind=inner,
        mixing=mixing,
        rotary=rotary,
        source=source,
    )


EVERY = [
    kind(*parts) for parts in product(SIZES, MIXINGS, INNER_KINDS, EITHER, EITHER, [None, SOURCE])
]


def some(quick: int) -> list[BlockOptions]:
    """So many kinds of block, evenly drawn; all of them before a release."""
    drawn = random.Random(1).sample(EVERY, len(EVERY))
    drawn.sort(key=lambda options: (options.mixing, options.rotary))
    number = count(quick, len(EVERY))
    return [drawn[place * len(EVERY) // number] for place in range(number)]


def label(options: BlockOptions) -> str:
    """Everything that tells a kind of block from others."""
    names = [options.mixing, options.inner_kind, "first" if options.norm_first else "after"]
    flags = {"rotary": options.rotary, "bias": options.bias, "source": options.source is not None}
    sizes = "x".join(map(str, options.sizes))
    return "-".join([*names, sizes, *(name for name, there in flags.items() if there)])


def block(options: BlockOptions) -> Block:
    torch.manual_seed(1)
    return stirred(Block(options)).eval()


def decode(built: Block, inputs: Tensor, states: Tensor | None, *cuts: int) -> Tensor:
    """What a decoder's block makes of rows that are read in pieces of these sizes."""
    rows = len(inputs)
    source = None if states is None else (built.prepare(states), MASK[:rows, : states.shape[1]])
    cache, read, outputs = built.empty_cache(rows), torch.zeros(rows, dtype=torch.int64), []
    for piece in inputs.split(list(cuts), dim=1):
        steps = next_steps(read, piece.shape[1])
        output, cache, _ = built.decode(piece, cache, steps, source)
        read = read + piece.shape[1]
        outputs.append(output)
    return torch.cat(outputs, dim=1)


def states_for(options: BlockOptions) -> Tensor | None:
    return None if options.source is None else values(3, 5, options.source)


@pytest.mark.parametrize("options", some(quick=20), ids=label)
@torch.no_grad()
def test_a_block_is_the_reference(options: BlockOptions) -> None:
    """Every kind of block, as an encoder's and as a decoder's, with padding in the batch only."""
    built, inputs, states = block(options), values(3, 5, WIDTH), states_for(options)
    weights = weights_of(built)
    encoded = built.encode(inputs, MASK[:, None, None]) if states is None else None
    outputs = decode(built, inputs, states, 5)
    for row, length in enumerate(LENGTHS.tolist()):
        seen = None if states is None else states[row, :length].numpy()
        x = inputs[row].numpy()
        close(outputs[row], run_block(options, weights, x, states=seen, causal=True))
        if encoded is not None:
            expected = run_block(options, weights, x[:length], states=None, causal=False)
            close(encoded[row, :length], expected)


@pytest.mark.parametrize("options", some(quick=20), ids=label)
def test_what_is_kept_equals_recomputation(options: BlockOptions) -> None:
    """S5.7: in whatever pieces rows are read, outputs and gradients are those of one read."""
    built, inputs, states = (
        block(options),
        values(3, 5, WIDTH).requires_grad_(),
        states_for(options),
    )
    whole = decode(built, inputs, states, 5)
    parameters = list(built.parameters())
    expected = torch.autograd.grad(whole.sin().sum(), [inputs, *parameters])
    for cuts in ((1, 1, 1, 1, 1), (2, 3), (1, 3, 1)):
        with torch.no_grad():
            close(decode(built, inputs, states, *cuts), whole)
        pieces = decode(built, inputs, states, *cuts)
        close(pieces, whole)
        gradients = torch.autograd.grad(pieces.sin().sum(), [inputs, *parameters])
        for mine, theirs in zip(gradients, expected, strict=True):
            close(mine, theirs)


@pytest.mark.parametrize("options", some(quick=8), ids=label)
def test_gradients_are_the_numerical_ones(options: BlockOptions) -> None:
    """RELIABILITY C4: gradcheck through a decoder's block, for its inputs and its source."""
    built, inputs = block(options), values(2, 3, WIDTH).requires_grad_()
    states = None if options.source is None else values(2, 2, options.source).requires_grad_()
    given = (inputs,) if states is None else (inputs, states)

    def outputs(inputs: Tensor, states: Tensor | None = None) -> Tensor:
        return decode(built, inputs, states, 2, 1)

    assert torch.autograd.gradcheck(outputs, given)


def close(actual: Tensor, expected: Any) -> None:
    torch.testing.assert_close(actual, torch.as_tensor(expected), rtol=0, atol=1e-10)
