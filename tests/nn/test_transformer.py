"""S5: blocks against torch's own, their exact sizes, causality, and the laws of attention."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqloom.errors import ConfigError
from seqloom.nn.embedding import OutputLayer
from seqloom.nn.token_mixing import (
    Cache,
    HeadSizes,
    NextSteps,
    SelfAttention,
    SimpleAttention,
    next_steps,
)
from seqloom.nn.transformer import Block, BlockOptions, CrossAttention
from tests.nn.parts import stirred, values

pytestmark = pytest.mark.faults

WIDTH, INNER = 8, 12
SIZES = HeadSizes(2, 4, 4)  # of heads that divide the width
FREE = HeadSizes(3, 2, 5)
OPTIONS = BlockOptions(WIDTH, INNER, *SIZES, dropout=0.3)
OF_THE_TEXTS = BlockOptions(512, 2048, 8, 64, 64, norm_first=False)
MASK = torch.arange(6) < torch.tensor([6, 2, 4])[:, None]

each_norm = pytest.mark.parametrize("norm_first", [True, False], ids=["first", "after"])
each_activation = pytest.mark.parametrize("activation", ["relu", "gelu"])
each_bias = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
each_size = pytest.mark.parametrize("sizes", [SIZES, FREE], ids=["dividing", "free"])


def block(options: BlockOptions) -> Block:
    """A block none of whose weights has its first value."""
    torch.manual_seed(1)
    return stirred(Block(options)).eval()


def self_attention(sizes: HeadSizes = SIZES) -> SelfAttention:
    torch.manual_seed(1)
    return stirred(SelfAttention(WIDTH, sizes))


def cross_attention(sizes: HeadSizes, source: int = 5) -> CrossAttention:
    torch.manual_seed(1)
    return stirred(CrossAttention(WIDTH, source, sizes))


def first_steps(rows: int, count: int) -> NextSteps:
    """The first steps of rows that have read nothing."""
    return next_steps(torch.zeros(rows, dtype=torch.int64), count)


def extended(attention: SelfAttention | SimpleAttention, inputs: Tensor) -> tuple[Tensor, Cache]:
    """What causal attention makes of whole rows, and what it keeps."""
    return attention.extend(inputs, attention.empty_cache(inputs), first_steps(*inputs.shape[:2]))


def decoded(built: Block, inputs: Tensor, states: Tensor) -> Tensor:
    """What a decoder's block makes of whole rows that look at these states."""
    rows, count, _ = inputs.shape
    source = built.prepare(states), MASK[:rows, : states.shape[1]]
    return built.decode(inputs, built.empty_cache(rows), first_steps(rows, count), source)[0]


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-11)


def size(*modules: nn.Module) -> int:
    return sum(each.numel() for module in modules for each in module.parameters())


def test_blocks_have_the_sizes_of_the_texts() -> None:
    """S5.5: p = 512, inner 2048, 8 heads of 64, attention maps without bias, V = 37,000."""
    with torch.device("meta"):
        encoder = [Block(OF_THE_TEXTS) for _ in range(6)]
        decoder = [Block(replace(OF_THE_TEXTS, source=512)) for _ in range(6)]
        output = OutputLayer(512, 37_000, tied=None)
    assert size(encoder[0]) == 3_150_336
    assert size(decoder[0]) == 4_199_936
    assert size(*encoder) == 18_902_016
    assert size(*decoder) == 25_199_616
    assert size(output) == 18_981_000
    assert size(*encoder, *decoder, output) == 63_082_632


@each_bias
def test_free_head_sizes_have_the_parameters_their_maps_need(bias: bool) -> None:
    """S5.1: H(2m + m_v)·p for queries, keys and values, p·H·m_v to combine."""
    heads, m, m_v = FREE
    with torch.device("meta"):
        own = SelfAttention(WIDTH, FREE, bias=bias)
        cross = CrossAttention(WIDTH, 7, FREE, bias=bias)
    maps = heads * (2 * m + m_v) + WIDTH if bias else 0
    assert size(own) == heads * (2 * m + m_v) * WIDTH + heads * m_v * WIDTH + maps
    assert size(cross) == heads * (m * WIDTH + (m + m_v) * 7 + m_v * WIDTH) + maps


@pytest.mark.parametrize("mixing", ["simple", "ssru"])
def test_a_block_of_another_mixing_has_its_parameters_alone(mixing: Any) -> None:
    """Simple attention has none; the recurrent unit has two maps and the bias of its gate."""
    with torch.device("meta"):
        rest = size(Block(OF_THE_TEXTS)) - 4 * 512**2
        built = Block(replace(OF_THE_TEXTS, mixing=mixing))
    assert size(built) - rest == {"simple": 0, "ssru": 2 * 512**2 + 512}[mixing]


def copy_attention(
    reference: nn.MultiheadAttention, maps: list[nn.Linear], combine: nn.Linear
) -> None:
    """Torch's own attention with these maps; its biases are zero where ours are not there."""
    weights = reference.in_proj_weight, reference.out_proj.weight
    biases = reference.in_proj_bias, reference.out_proj.bias
    with torch.no_grad():
        for weight, bias, parts in zip(weights, biases, (maps, [combine]), strict=True):
            weight.copy_(torch.cat([part.weight for part in parts]))
            bias.zero_()
            if combine.bias is not None:
                bias.copy_(torch.cat([part.bias for part in parts]))


def copy_rest(reference: nn.Module, built: Block) -> None:
    """The same inner network and norms in torch's own block."""
    parts = {"linear1": built.network[0], "linear2": built.network[-1]}
    parts |= {f"norm{number}": norm for number, norm in enumerate(built.norms, start=1)}
    for name, part in parts.items():
        reference.get_submodule(name).load_state_dict(part.state_dict())


@each_bias
def test_self_attention_is_torch_s(bias: bool) -> None:
    """Outputs at real positions, of whole sequences and of causal ones (S5.1, S5.2)."""
    torch.manual_seed(1)
    attention, inputs = stirred(SelfAttention(WIDTH, SIZES, bias=bias)), values(3, 6, WIDTH)
    reference = nn.MultiheadAttention(WIDTH, SIZES.heads, batch_first=True).double()
    copy_attention(reference, [attention.project], attention.combine)
    theirs, _ = reference(inputs, inputs, inputs, key_padding_mask=~MASK)
    close(attention(inputs, MASK[:, None, None])[MASK], theirs[MASK])
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)
    theirs, _ = reference(inputs, inputs, inputs, attn_mask=later)
    close(extended(attention, inputs)[0], theirs)


@each_norm
@each_activation
@each_bias
def test_an_encoder_block_is_torch_s(norm_first: bool, activation: Any, bias: bool) -> None:
    """Outputs at real positions and gradients of the inputs (S5.4, RELIABILITY C4)."""
    options = replace(OPTIONS, norm_first=norm_first, inner_kind=activation, bias=bias)
    built, inputs = block(options), values(3, 6, WIDTH).requires_grad_()
    reference = nn.TransformerEncoderLayer(
        WIDTH, SIZES.heads, INNER, 0.0, activation, batch_first=True, norm_first=norm_first
    ).double()
    assert isinstance(built.attention, SelfAttention)
    copy_attention(reference.self_attn, [built.attention.project], built.attention.combine)
    copy_rest(reference, built)
    mine = built.encode(inputs, MASK[:, None, None])[MASK]
    theirs = reference(inputs, src_key_padding_mask=~MASK)[MASK]
    close(mine, theirs)
    (gradient,) = torch.autograd.grad(mine.sin().sum(), inputs)
    (expected,) = torch.autograd.grad(theirs.sin().sum(), inputs)
    close(gradient, expected)


@each_norm
@each_activation
@each_bias
def test_a_decoder_block_is_torch_s(norm_first: bool, activation: Any, bias: bool) -> None:
    """Causal self-attention, cross-attention, network: three residual + norm steps (S5.4)."""
    options = replace(
        OPTIONS,
        norm_first=norm_first,
        inner_kind=activation,
        bias=bias,
        source=WIDTH,
    )
    built, inputs, states = block(options), values(3, 5, WIDTH), values(3, 6, WIDTH)
    reference = nn.TransformerDecoderLayer(
        WIDTH, SIZES.heads, INNER, 0.0, activation, batch_first=True, norm_first=norm_first
    ).double()
    own, cross = built.attention, built.cross
    assert isinstance(own, SelfAttention)
    assert cross is not None
    copy_attention(reference.self_attn, [own.project], own.combine)
    copy_attention(reference.multihead_attn, [cross.query, cross.project], cross.combine)
    copy_rest(reference, built)
    causal = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    theirs = reference(
        inputs, states, tgt_mask=causal, memory_key_padding_mask=~MASK, tgt_is_causal=True
    )
    close(decoded(built, inputs, states), theirs)


@each_size
def test_self_attention_is_a_softmax_for_each_head(sizes: HeadSizes) -> None:
    """S5.1: u = Σ_h W_c^h Σ_i softmax(q·k/√m)_i v_i, over real positions only."""
    attention, inputs = self_attention(sizes), values(3, 6, WIDTH)
    heads, m, m_v = sizes
    projected = inputs @ attention.project.weight.T
    queries, keys, contents = projected.split([heads * m, heads * m, heads * m_v], dim=-1)
    expected = torch.zeros_like(inputs)
    for row in range(3):
        for head in range(heads):
            part, out = slice(head * m, (head + 1) * m), slice(head * m_v, (head + 1) * m_v)
            scores = queries[row, :, part] @ keys[row, :, part].T / math.sqrt(m)
            weights = scores.masked_fill(~MASK[row], -torch.inf).softmax(-1)
            expected[row] += weights @ contents[row, :, out] @ attention.combine.weight[:, out].T
    close(attention(inputs, MASK[:, None, None]), expected)


def test_a_norm_is_that_of_the_texts() -> None:
    """S5.4: γ ⊙ (z − μ)/√(σ² + ε) + β, with the variance over p, not p − 1."""
    built, inputs = block(replace(OPTIONS, norm_first=False)), values(3, 6, WIDTH)
    assert isinstance(built.attention, SelfAttention)
    with torch.no_grad():
        for part in (built.attention.combine.weight, *built.network[-1].parameters()):
            part.zero_()  # so that only the sums' norms are left
    expected = inputs
    for norm in built.norms:
        gamma, beta = norm.parameters()
        centred = expected - expected.mean(-1, keepdim=True)
        variance = centred.square().sum(-1, keepdim=True) / WIDTH
        expected = gamma * centred / (variance + 1e-5).sqrt() + beta
    close(built.encode(inputs, None), expected)


@each_norm
@pytest.mark.parametrize("mixing", ["attention", "simple", "ssru"])
def test_later_inputs_do_not_change_earlier_outputs(norm_first: bool, mixing: Any) -> None:
    """S5.2: a decoder's block is causal."""
    built = block(replace(OPTIONS, norm_first=norm_first, mixing=mixing, source=5))
    inputs, states = values(3, 5, WIDTH), values(3, 6, 5)
    outputs = decoded(built, inputs, states)
    for step in range(1, 5):
        changed = torch.cat([inputs[:, :step], values(3, 5 - step, WIDTH) * 100], dim=1)
        others = decoded(built, changed, states)
        close(others[:, :step], outputs[:, :step])
        assert not torch.allclose(others[:, step:], outputs[:, step:])


@each_size
def test_the_first_position_sees_itself_alone(sizes: HeadSizes) -> None:
    """S4.4: under causal attention u_1 = v_1."""
    attention, inputs = self_attention(sizes), values(3, 4, WIDTH)
    outputs, _ = extended(attention, inputs)
    own = (inputs[:, 0] @ attention.project.weight.T)[:, 2 * sizes.heads * sizes.key :]
    close(outputs[:, 0], own @ attention.combine.weight.T)


def test_the_first_of_simple_attention_is_its_own_input() -> None:
    """S4.4, S5.1: the values are the inputs, so u_1 = v_1 = x_1."""
    inputs = values(3, 4, WIDTH)
    outputs, _ = extended(SimpleAttention(), inputs)
    close(outputs[:, 0], inputs[:, 0])
    assert not torch.allclose(outputs[:, 1], inputs[:, 1])


def test_rows_may_have_read_different_amounts() -> None:
    """Positions belong to rows: one that has read two tokens goes on beside one that read four."""
    attention, inputs = self_attention(), values(2, 6, WIDTH)
    whole, _ = extended(attention, inputs)
    _, cache = extended(attention, inputs[:, :4])
    next_two = torch.stack([inputs[0, 2:4], inputs[1, 4:6]])
    outputs, _ = attention.extend(next_two, cache, next_steps(torch.tensor([2, 4]), 2))
    close(outputs, torch.stack([whole[0, 2:4], whole[1, 4:6]]))


@pytest.mark.parametrize("mixing", ["attention", "simple"])
def test_self_attention_without_positions_does_not_know_the_order(mixing: Any) -> None:
    """S10: non-causal self-attention is permutation-equivariant; rotary positions end that."""
    order, mask = torch.tensor([4, 0, 3, 5, 1, 2]), MASK[:, None, None]
    options, inputs = replace(OPTIONS, mixing=mixing), values(3, 6, WIDTH)
    built = block(options)
    for part in (built.attention, built.encode):
        close(part(inputs[:, order], mask[..., order]), part(inputs, mask)[:, order])
    if mixing == "attention":
        rotary = block(replace(options, rotary=True))
        turned = rotary.encode(inputs[:, order], None)
        assert not torch.allclose(turned, rotary.encode(inputs, None)[:, order])


@each_size
def test_rows_of_a_sentence_share_its_keys(sizes: HeadSizes) -> None:
    """K rows that look at one sentence see what they would with keys of their own (S7.3)."""
    attention, states, inputs = cross_attention(sizes), values(3, 6, 5), values(6, 4, WIDTH)
    shared, weights = attention(inputs, attention.prepare(states), MASK, trace=True)
    twice = states.repeat_interleave(2, dim=0), MASK.repeat_interleave(2, dim=0)
    own, expected = attention(inputs, attention.prepare(twice[0]), twice[1], trace=True)
    close(shared, own)
    assert weights is not None
    assert expected is not None
    close(weights, expected)


@each_size
def test_traced_weights_are_those_of_the_output(sizes: HeadSizes) -> None:
    """S4.6: values weighed by what is reported give what is returned."""
    attention, states, inputs = cross_attention(sizes), values(3, 6, 5), values(3, 4, WIDTH)
    outputs, weights = attention(inputs, attention.prepare(states), MASK, trace=True)
    contents = (states @ attention.project.weight.T)[..., sizes.heads * sizes.key :]
    context = torch.einsum("rhts,rshe->rthe", weights, contents.unflatten(-1, (sizes.heads, -1)))
    close(outputs, context.flatten(2) @ attention.combine.weight.T)
    untraced, nothing = attention(inputs, attention.prepare(states), MASK)
    assert nothing is None
    close(untraced, outputs)


@pytest.mark.parametrize("mixing", ["simple", "ssru"])
def test_rotary_positions_need_queries_and_keys(mixing: Any) -> None:
    with pytest.raises(ConfigError, match="rotary positions turn the queries"):
        replace(OPTIONS, mixing=mixing, rotary=True)
