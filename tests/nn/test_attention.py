"""S4: every kind of attention against its laws, NumPy, torch and hand-worked cases."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.errors import DataError
from seqloom.nn.attention import AdditiveScore, Attention, DotScore, HeadProjections, TimeFocus
from tests.attention_checks import check_attention
from tests.counts import count
from tests.nn.attention_kinds import KEY, KINDS, Kind, attention_of, reference
from tests.nn.parts import stirred, values

pytestmark = pytest.mark.faults

FIRST = torch.zeros(1, dtype=torch.int64)  # one row that has made no step

# Five is prime to the number of scores, heads, foci and reaches, so each of them is among the few.
CHOSEN = KINDS[:: count(5, 1)]


def mask_of(*lengths: int) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("kind", CHOSEN, ids=str)
def test_every_kind_keeps_the_laws(kind: Kind) -> None:
    """RELIABILITY C4: score × heads × focus × reach."""
    attention = attention_of(kind, seed=KINDS.index(kind))
    lengths = torch.tensor([4, 1, 6])
    check_attention(attention, values(3, 6, KEY), lengths, query=kind.query, seed=3)


@pytest.mark.parametrize("kind", CHOSEN, ids=str)
def test_every_kind_is_what_its_formulas_say(kind: Kind) -> None:
    """RELIABILITY C4: a reference in NumPy, one query and one key at a time."""
    attention = attention_of(kind, seed=KINDS.index(kind))
    weights = {name: value.numpy() for name, value in attention.state_dict().items()}
    states, queries, lengths = values(2, 5, KEY), values(4, 3, kind.query), (5, 3)
    positions = torch.tensor([0, 2, 1, 6])
    with torch.no_grad():
        prepared = attention.prepare(states, mask_of(*lengths))
        contexts, shares = attention(queries, prepared, positions)
    for row, step in np.ndindex(4, 3):
        length = lengths[row // 2]
        seen = states[row // 2, :length].numpy()
        at = int(positions[row]) + step
        context, share = reference(kind, weights, queries[row, step].numpy(), seen, at)
        np.testing.assert_allclose(contexts[row, step].numpy(), context, atol=1e-12)
        np.testing.assert_allclose(shares[row, step, :length].numpy(), share, atol=1e-12)


def test_scores_of_ln_1_2_3_weigh_as_1_2_3() -> None:
    """S4: w = softmax(a), u = Σ w v; without the third position they weigh as 1 and 2."""
    states = torch.tensor([[[math.log(1), 6.0], [math.log(2), 12.0], [math.log(3), 0.0]]] * 2)
    queries = torch.tensor([[[1.0, 0.0]]] * 2)
    attention = Attention(DotScore())
    context, weights = attention(
        queries, attention.prepare(states, mask_of(3, 2)), torch.zeros(2, dtype=torch.int64)
    )
    expected = torch.tensor([[[1 / 6, 2 / 6, 3 / 6]], [[1 / 3, 2 / 3, 0]]])
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(context[:, 0, 1], torch.tensor([5.0, 10.0]))


def test_the_attention_matrix_of_the_texts_comes_back_from_its_logarithms() -> None:
    """S10: attention matrix, nous aimons l' apprentissage en profondeur `<stop>` by we love
    deep learning `<stop>`; each row sums to 1."""
    matrix = torch.tensor(
        [
            [0.93, 0.02, 0.01, 0.02, 0.02],
            [0.44, 0.46, 0.04, 0.05, 0.01],
            [0.23, 0.26, 0.23, 0.25, 0.03],
            [0.01, 0.04, 0.45, 0.47, 0.03],
            [0.01, 0.02, 0.39, 0.55, 0.03],
            [0.02, 0.01, 0.67, 0.28, 0.02],
            [0.01, 0.01, 0.01, 0.01, 0.96],
        ],
        dtype=torch.float64,
    )
    torch.testing.assert_close(matrix.sum(1), torch.ones(7, dtype=torch.float64))
    words, attention = torch.eye(5, dtype=torch.float64)[None], Attention(DotScore())
    context, weights = attention(matrix.log()[None], attention.prepare(words, mask_of(5)), FIRST)
    torch.testing.assert_close(weights[0], matrix)
    torch.testing.assert_close(context[0], matrix)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.causal and kind.heads < 3], ids=str
)
def test_causal_attention_starts_at_the_first_value(kind: Kind) -> None:
    """S4.4, S10: u_1 = v_1, whatever the score, and for every head."""
    attention, states = attention_of(kind, seed=1), values(1, 4, KEY)
    context, _ = attention(values(1, 1, kind.query), attention.prepare(states, mask_of(4)), FIRST)
    torch.testing.assert_close(context[0, 0], states[0, 0].repeat(kind.heads))


def test_causal_attention_of_equal_scores_is_the_running_mean() -> None:
    """S4.4: the softmax is over positions ≤ t only."""
    states = torch.tensor([[[3.0], [5.0], [10.0], [100.0]]])
    attention = Attention(DotScore(factor=0.0), causal=True)
    context, weights = attention(
        torch.ones(1, 5, 1), attention.prepare(states, mask_of(3, 4)[:1]), FIRST
    )
    torch.testing.assert_close(context[0, :, 0], torch.tensor([3.0, 4.0, 6.0, 6.0, 6.0]))
    torch.testing.assert_close(weights[0, 2], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]))


@pytest.mark.parametrize("causal", [False, True])
def test_scaled_dot_is_torch_s(causal: bool) -> None:
    """RELIABILITY C4: torch.nn.functional.scaled_dot_product_attention."""
    queries, states = values(2, 4, KEY), values(2, 6, KEY)
    attention = Attention(DotScore(factor=1 / math.sqrt(KEY)), causal=causal)
    mask = mask_of(6, 2)
    positions = torch.zeros(2, dtype=torch.int64)
    context, _ = attention(queries, attention.prepare(states, mask), positions)
    seen = mask[:, None].expand(2, 4, 6)
    if causal:
        seen = seen & torch.ones(4, 6, dtype=torch.bool).tril()
    expected = functional.scaled_dot_product_attention(queries, states, states, seen)
    torch.testing.assert_close(context, expected)


def test_heads_with_scaled_dot_weigh_as_torch_s() -> None:
    """RELIABILITY C4: torch.nn.MultiheadAttention with the same maps of queries and keys."""
    width, heads = 6, 3
    theirs = nn.MultiheadAttention(width, heads, bias=False, batch_first=True).double()
    mine = HeadProjections(width, width, width=width // heads, count=heads).double()
    with torch.no_grad():
        from_query, from_key, _ = theirs.in_proj_weight.chunk(3)
        mine.from_query.weight.copy_(from_query)
        mine.from_key.weight.copy_(from_key)
    attention = Attention(DotScore(factor=1 / math.sqrt(width // heads)), heads=mine)
    queries, states, mask = values(2, 4, width), values(2, 5, width), mask_of(5, 3)
    positions = torch.zeros(2, dtype=torch.int64)
    _, weights = attention(queries, attention.prepare(states, mask), positions)
    _, expected = theirs(queries, states, states, key_padding_mask=~mask)
    torch.testing.assert_close(weights, expected)


def test_heads_are_single_attentions_side_by_side() -> None:
    """S4.5: keys and queries for each head, one value set, contexts concatenated, and no
    weights beyond the maps and one score."""
    heads = HeadProjections(3, KEY, width=2, count=3)
    attention = stirred(Attention(AdditiveScore(2, 2, 5), heads=heads))
    assert sum(weight.numel() for weight in attention.parameters()) == 3 * 2 * (3 + KEY) + 25
    queries, states, mask = values(2, 3, 3), values(2, 5, KEY), mask_of(5, 2)
    positions = torch.zeros(2, dtype=torch.int64)
    context, weights = attention(queries, attention.prepare(states, mask), positions)
    singles = []
    for head in range(3):
        single = Attention(attention.score)
        rows = slice(2 * head, 2 * head + 2)
        keys = single.prepare(states @ heads.from_key.weight[rows].T, mask)
        found = single(
            queries @ heads.from_query.weight[rows].T, keys._replace(values=states), positions
        )
        singles.append(found)
    contexts, shares = zip(*singles, strict=True)
    torch.testing.assert_close(context, torch.cat(contexts, dim=-1))
    torch.testing.assert_close(weights, torch.stack(shares).mean(0))


def test_non_causal_self_attention_without_positions_is_permutation_equivariant() -> None:
    """S10: queries, keys and values are the input itself; turned round, so is the output."""
    inputs, attention = values(1, 6, KEY), Attention(DotScore())
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    context, _ = attention(inputs, attention.prepare(inputs, mask_of(6)), FIRST)
    turned = inputs[:, order]
    found, _ = attention(turned, attention.prepare(turned, mask_of(6)), FIRST)
    torch.testing.assert_close(found, context[:, order])


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_large_scores_neither_overflow_nor_vanish(size: float) -> None:
    """S4: the maximum is subtracted, so only differences count."""
    states = torch.tensor([[[size], [size + 1], [size + 2]]])
    attention = Attention(DotScore())
    _, weights = attention(torch.ones(1, 1, 1), attention.prepare(states, mask_of(3)), FIRST)
    torch.testing.assert_close(weights[0, 0], torch.tensor([0.0, 1.0, 2.0]).softmax(0))


def test_all_masked_row_is_refused() -> None:
    """RELIABILITY C4: it has no weights that sum to 1."""
    attention, mask = Attention(DotScore()), torch.tensor([[True, False], [False, False]])
    with pytest.raises(DataError, match="without a single real position"):
        attention.prepare(values(2, 2, KEY), mask)


@pytest.mark.parametrize(
    "attention", [Attention(DotScore(), causal=True), Attention(DotScore(), focus=TimeFocus(1))]
)
def test_padding_before_the_source_is_refused_where_positions_count(attention: Attention) -> None:
    """RELIABILITY C4: a window or the past could hold nothing but padding."""
    mask = torch.tensor([[False, True, True]])
    with pytest.raises(DataError, match="padding at the end only"):
        attention.prepare(values(1, 3, KEY), mask)
    Attention(DotScore()).prepare(values(1, 3, KEY), mask)
