"""SPEC S5: blocks against torch's own, their exact sizes, causality, and the laws of attention."""

import math

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn.transformer import Block, BlockSize, Cache, CrossAttention, SelfAttention
from tests.nn.parts import stirred, values

pytestmark = pytest.mark.faults

WIDTH, INNER, HEADS = 8, 12, 2
MASK = torch.arange(6) < torch.tensor([6, 2, 4])[:, None]
each_norm = pytest.mark.parametrize("norm_first", [True, False], ids=["first", "after"])


def block(norm_first: bool, source: int | None = None) -> Block:
    """A block none of whose weights has its first value."""
    torch.manual_seed(1)
    size = BlockSize(WIDTH, INNER, HEADS, source)
    return stirred(Block(size, norm_first=norm_first, dropout=0.3)).eval()


def self_attention() -> SelfAttention:
    torch.manual_seed(1)
    return stirred(SelfAttention(WIDTH, HEADS))


def cross_attention(source: int) -> CrossAttention:
    torch.manual_seed(1)
    return stirred(CrossAttention(WIDTH, source, HEADS))


def nothing_read(rows: int) -> tuple[Cache, Tensor]:
    """The cache and the positions of rows that have read nothing."""
    empty = torch.empty(rows, 0, HEADS, WIDTH // HEADS, dtype=torch.float64)
    return Cache(empty, empty), torch.zeros(rows, dtype=torch.int64)


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-11)


def test_blocks_have_the_sizes_of_the_texts() -> None:
    """SPEC S5.5: p = 512, inner 2048, 8 heads of 64, attention maps without bias."""
    with torch.device("meta"):
        encoder = Block(BlockSize(512, 2048, 8), norm_first=False, dropout=0.1)
        decoder = Block(BlockSize(512, 2048, 8, 512), norm_first=False, dropout=0.1)
    assert sum(each.numel() for each in encoder.parameters()) == 3_150_336
    assert sum(each.numel() for each in decoder.parameters()) == 4_199_936


def copy_attention(reference: nn.MultiheadAttention, matrices: list[Tensor], out: Tensor) -> None:
    """Torch's own attention with these maps; its biases are zero, as ours are not there."""
    with torch.no_grad():
        reference.in_proj_weight.copy_(torch.cat(matrices))
        reference.out_proj.weight.copy_(out)
        for bias in (reference.in_proj_bias, reference.out_proj.bias):
            bias.zero_()


def copy_rest(reference: nn.Module, built: Block) -> None:
    """The same inner network and norms in torch's own block."""
    parts = {"linear1": built.network[0], "linear2": built.network[-1]}
    parts |= {f"norm{number}": norm for number, norm in enumerate(built.norms, start=1)}
    for name, part in parts.items():
        reference.get_submodule(name).load_state_dict(part.state_dict())


@each_norm
def test_an_encoder_block_is_torch_s(norm_first: bool) -> None:
    """Outputs at real positions and gradients of the inputs (SPEC S5.4, RELIABILITY C4)."""
    built, inputs = block(norm_first), values(3, 6, WIDTH).requires_grad_()
    reference = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=norm_first
    ).double()
    attention = built.attention
    copy_attention(reference.self_attn, [attention.project.weight], attention.combine.weight)
    copy_rest(reference, built)
    mine = built.encode(inputs, MASK[:, None, None])[MASK]
    theirs = reference(inputs, src_key_padding_mask=~MASK)[MASK]
    close(mine, theirs)
    (gradient,) = torch.autograd.grad(mine.sin().sum(), inputs)
    (expected,) = torch.autograd.grad(theirs.sin().sum(), inputs)
    close(gradient, expected)


@each_norm
def test_a_decoder_block_is_torch_s(norm_first: bool) -> None:
    """Causal self-attention, cross-attention, network: three residual + norm steps (SPEC S5.4)."""
    built, inputs = block(norm_first, source=WIDTH), values(3, 5, WIDTH)
    states = values(3, 6, WIDTH)
    reference = nn.TransformerDecoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=norm_first
    ).double()
    assert built.cross is not None
    own, cross = built.attention, built.cross
    copy_attention(reference.self_attn, [own.project.weight], own.combine.weight)
    maps = [cross.query.weight, cross.project.weight]
    copy_attention(reference.multihead_attn, maps, cross.combine.weight)
    copy_rest(reference, built)
    mine, _, _ = built.decode(inputs, *nothing_read(3), (built.prepare(states), MASK))
    causal = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    theirs = reference(
        inputs, states, tgt_mask=causal, memory_key_padding_mask=~MASK, tgt_is_causal=True
    )
    close(mine, theirs)


def test_self_attention_is_a_softmax_for_each_head() -> None:
    """SPEC S5.1: u = Σ_h W_c^h Σ_i softmax(q·k/√m)_i v_i, over real positions only."""
    attention, inputs = self_attention(), values(3, 6, WIDTH)
    queries, keys, contents = (inputs @ attention.project.weight.T).chunk(3, dim=-1)
    m = WIDTH // HEADS
    expected = torch.zeros_like(inputs)
    for row in range(3):
        for head in range(HEADS):
            part = slice(head * m, (head + 1) * m)
            scores = queries[row, :, part] @ keys[row, :, part].T / math.sqrt(m)
            weights = scores.masked_fill(~MASK[row], -torch.inf).softmax(-1)
            expected[row] += weights @ contents[row, :, part] @ attention.combine.weight[:, part].T
    close(attention(inputs, MASK[:, None, None]), expected)


def test_a_norm_is_that_of_the_texts() -> None:
    """SPEC S5.4: γ ⊙ (z − μ)/√(σ² + ε) + β, with the variance over p, not p − 1."""
    built, inputs = block(norm_first=False), values(3, 6, WIDTH)
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
def test_later_inputs_do_not_change_earlier_outputs(norm_first: bool) -> None:
    """SPEC S5.2: a decoder's block is causal."""
    built, inputs = block(norm_first, source=5), values(3, 5, WIDTH)
    source = built.prepare(values(3, 6, 5)), MASK
    outputs, _, _ = built.decode(inputs, *nothing_read(3), source)
    for step in range(1, 5):
        changed = torch.cat([inputs[:, :step], values(3, 5 - step, WIDTH) * 100], dim=1)
        others, _, _ = built.decode(changed, *nothing_read(3), source)
        close(others[:, :step], outputs[:, :step])
        assert not torch.allclose(others[:, step:], outputs[:, step:])


def test_the_first_position_sees_itself_alone() -> None:
    """SPEC S4.4: under causal attention u_1 = v_1."""
    attention, inputs = self_attention(), values(3, 4, WIDTH)
    outputs, _ = attention.extend(inputs, *nothing_read(3))
    own = (inputs[:, 0] @ attention.project.weight.T)[:, 2 * WIDTH :]
    close(outputs[:, 0], own @ attention.combine.weight.T)


def test_rows_may_have_read_different_amounts() -> None:
    """Positions belong to rows: one that has read two tokens goes on beside one that read four."""
    attention, inputs = self_attention(), values(2, 6, WIDTH)
    whole, _ = attention.extend(inputs, *nothing_read(2))
    _, cache = attention.extend(inputs[:, :4], *nothing_read(2))
    read = torch.tensor([2, 4])
    next_two = torch.stack([inputs[0, 2:4], inputs[1, 4:6]])
    outputs, _ = attention.extend(next_two, cache, read)
    close(outputs, torch.stack([whole[0, 2:4], whole[1, 4:6]]))


def test_self_attention_without_positions_does_not_know_the_order() -> None:
    """SPEC S10: non-causal self-attention is permutation-equivariant."""
    attention, built, inputs = self_attention(), block(norm_first=True), values(3, 6, WIDTH)
    order = torch.tensor([4, 0, 3, 5, 1, 2])
    mask = MASK[:, None, None]
    close(attention(inputs[:, order], mask[..., order]), attention(inputs, mask)[:, order])
    close(built.encode(inputs[:, order], mask[..., order]), built.encode(inputs, mask)[:, order])


def test_rows_of_a_sentence_share_its_keys() -> None:
    """K rows that look at one sentence see what they would with keys of their own (SPEC S7.3)."""
    attention, states, inputs = cross_attention(5), values(3, 6, 5), values(6, 4, WIDTH)
    shared, weights = attention(inputs, attention.prepare(states), MASK, trace=True)
    twice = states.repeat_interleave(2, dim=0), MASK.repeat_interleave(2, dim=0)
    own, expected = attention(inputs, attention.prepare(twice[0]), twice[1], trace=True)
    close(shared, own)
    assert weights is not None
    assert expected is not None
    close(weights, expected)


def test_traced_weights_are_those_of_the_output() -> None:
    """SPEC S4.6: values weighed by what is reported give what is returned."""
    attention, states, inputs = cross_attention(5), values(3, 6, 5), values(3, 4, WIDTH)
    outputs, weights = attention(inputs, attention.prepare(states), MASK, trace=True)
    contents = (states @ attention.project.weight.T)[..., WIDTH:].unflatten(-1, (HEADS, -1))
    context = torch.einsum("rhts,rshe->rthe", weights, contents).flatten(2)
    close(outputs, context @ attention.combine.weight.T)
    untraced, nothing = attention(inputs, attention.prepare(states), MASK)
    assert nothing is None
    close(untraced, outputs)


def test_gradients_are_the_numerical_ones() -> None:
    """RELIABILITY C4: gradcheck through a decoder's block, for its inputs and its source."""
    built = block(norm_first=True, source=3)

    def outputs(inputs: Tensor, states: Tensor) -> Tensor:
        source = built.prepare(states), MASK[:2, :3]
        return built.decode(inputs, *nothing_read(2), source)[0]

    inputs, states = values(2, 2, WIDTH).requires_grad_(), values(2, 3, 3).requires_grad_()
    assert torch.autograd.gradcheck(outputs, (inputs, states))
