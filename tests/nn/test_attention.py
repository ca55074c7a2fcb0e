"""SPEC S4: scores against their formulas, attention against an explicit softmax."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from seqloom.nn.attention import Additive, Dot, General, Score, attend
from tests.nn.parts import values

pytestmark = pytest.mark.faults

QUERY, KEY = 3, 5


def scores(score: Score, queries: Tensor, keys: Tensor) -> Tensor:
    return score.compare(queries, score.prepare(keys))


def test_dot_is_the_inner_product_and_scaled_that_over_the_root_of_the_size() -> None:
    """SPEC S4.1."""
    queries, keys = values(2, 4, KEY), values(2, 6, KEY)
    plain = scores(Dot(KEY, scaled=False), queries, keys)
    for sentence in range(2):
        for q in range(4):
            for k in range(6):
                expected = sum(queries[sentence, q] * keys[sentence, k])
                assert float(plain[sentence, q, k]) == pytest.approx(float(expected))
    scaled = scores(Dot(KEY, scaled=True), queries, keys)
    torch.testing.assert_close(scaled, plain / math.sqrt(KEY))


def test_general_is_a_product_with_a_matrix_between() -> None:
    """SPEC S4.1: qᵀ W k, for unequal sizes too, without bias."""
    torch.manual_seed(1)
    score, queries, keys = General(QUERY, KEY).double(), values(2, 4, QUERY), values(2, 6, KEY)
    (matrix,) = score.parameters()
    assert matrix.shape == (QUERY, KEY)
    expected = torch.einsum("bqd,de,bse->bqs", queries, matrix, keys)
    torch.testing.assert_close(scores(score, queries, keys), expected)


def test_additive_is_a_weighted_tanh_of_the_sum() -> None:
    """SPEC S4.1: wᵀ tanh(W_a q + W_b k), without bias."""
    torch.manual_seed(1)
    score, queries, keys = Additive(QUERY, KEY, 4).double(), values(2, 3, QUERY), values(2, 6, KEY)
    from_query, from_key, weigh = (parameter.detach() for parameter in score.parameters())
    found = scores(score, queries, keys).detach()
    for sentence in range(2):
        for q in range(3):
            for k in range(6):
                inner = from_query @ queries[sentence, q] + from_key @ keys[sentence, k]
                expected = float(weigh[0] @ inner.tanh())
                assert float(found[sentence, q, k]) == pytest.approx(expected)


def test_attention_is_a_softmax_over_real_positions() -> None:
    """SPEC S4: w = softmax(a), u = Σ w v; padding has weight exactly 0."""
    found, contents = values(2, 3, 6), values(2, 6, 4)
    lengths = torch.tensor([6, 2])
    mask = torch.arange(6) < lengths[:, None]
    context, weights = attend(found, contents, mask)
    for sentence, length in enumerate(lengths.tolist()):
        powers = found[sentence, :, :length].exp()
        expected = powers / powers.sum(1, keepdim=True)
        torch.testing.assert_close(weights[sentence, :, :length], expected)
        torch.testing.assert_close(context[sentence], expected @ contents[sentence, :length])
        assert bool((weights[sentence, :, length:] == 0).all())


def test_padding_s_content_does_not_reach_the_context() -> None:
    found, contents = values(2, 3, 6), values(2, 6, 4)
    mask = torch.arange(6) < torch.tensor([6, 2])[:, None]
    context, _ = attend(found, contents, mask)
    other, _ = attend(found, torch.where(mask[:, :, None], contents, 1e300), mask)
    assert torch.equal(context, other)


def test_attention_with_scaled_dot_is_torch_s() -> None:
    queries, keys, contents = values(2, 4, KEY), values(2, 6, KEY), values(2, 6, 3)
    mask = torch.arange(6) < torch.tensor([6, 2])[:, None]
    context, _ = attend(scores(Dot(KEY, scaled=True), queries, keys), contents, mask)
    expected = functional.scaled_dot_product_attention(queries, keys, contents, mask[:, None])
    torch.testing.assert_close(context, expected)


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_large_scores_neither_overflow_nor_vanish(size: float) -> None:
    """SPEC S4: the maximum is subtracted, so only differences count."""
    found, contents = values(1, 2, 5).float(), values(1, 5, 3).float()
    mask = torch.ones(1, 5, dtype=torch.bool)
    _, weights = attend(found + size, contents, mask)
    torch.testing.assert_close(weights, (found + size - size).softmax(-1))


@pytest.mark.parametrize(
    "score",
    [Dot(KEY, scaled=True), General(QUERY, KEY), Additive(QUERY, KEY, 4)],
    ids=["scaled", "general", "additive"],
)
def test_gradients_are_the_numerical_ones(score: torch.nn.Module) -> None:
    """RELIABILITY C4: gradcheck of score and attention together, with padding."""
    torch.manual_seed(2)
    width = KEY if isinstance(score, Dot) else QUERY
    queries, keys = values(2, 2, width).requires_grad_(), values(2, 3, KEY).requires_grad_()
    mask = torch.tensor([[True, True, True], [True, False, False]])
    names = [name for name, _ in score.named_parameters()]
    module = Attention(score.double(), mask)

    def context(queries: Tensor, keys: Tensor, *weights: Tensor) -> Tensor:
        parameters = {f"score.{name}": weight for name, weight in zip(names, weights, strict=True)}
        found: Tensor = torch.func.functional_call(module, parameters, (queries, keys))
        return found

    assert torch.autograd.gradcheck(context, (queries, keys, *score.parameters()))


class Attention(torch.nn.Module):
    """A score and the sum it weighs, as one function of queries and keys."""

    def __init__(self, score: torch.nn.Module, mask: Tensor) -> None:
        super().__init__()
        self.score = score
        self.mask = mask

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        assert isinstance(self.score, Score)
        return attend(scores(self.score, queries, keys), keys, self.mask)[0]
