"""S4.1: score functions by hand, and one against another."""

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn.attention import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    MLPScore,
    ScoreFunction,
)
from tests.nn.parts import values

LN_2, LN_3 = math.log(2), math.log(3)  # tanh of these is 3/5 and 4/5


def score(kind: ScoreFunction, query: list[float], key: list[float]) -> float:
    """Of a single query with a single key."""
    queries, keys = torch.tensor([[query]]).float(), torch.tensor([[key]]).float()
    with torch.no_grad():
        return float(kind.compare(queries, kind.prepare(keys)))


def fill(module: nn.Module, *weights: Sequence[object]) -> None:
    """Give the module these weights, in the order of its parameters."""
    with torch.no_grad():
        for parameter, value in zip(module.parameters(), weights, strict=True):
            parameter.copy_(torch.tensor(value))


def test_dot_by_hand() -> None:
    """(1, 2)·(3, −1) = 1."""
    assert score(DotScore(), [1, 2], [3, -1]) == 1


def test_scaled_dot_by_hand() -> None:
    """(1, 2, 2, 1)·(3, −1, 2, 1) / √4 = 6 / 2."""
    assert score(DotScore(factor=1 / math.sqrt(4)), [1, 2, 2, 1], [3, -1, 2, 1]) == 3


def test_general_by_hand() -> None:
    """(1, 2) W = (5, 2, 4) for W = (1 0 2 | 2 1 1), and (5, 2, 4)·(3, −1, 1) = 17."""
    general = GeneralScore(2, 3)
    fill(general, [[1.0, 0, 2], [2, 1, 1]])
    assert score(general, [1, 2], [3, -1, 1]) == 17


def test_general_is_scaled_by_the_root_of_the_larger_size() -> None:
    """S4.1: √max(m_q, m_k), here √4: (1, 2) W (1, 1, 1, 1) = 6, and 6/2 = 3."""
    general = GeneralScore(2, 4, factor=1 / math.sqrt(max(2, 4)))
    fill(general, [[1.0, 0, 0, 1], [1, 1, 0, 0]])
    assert score(general, [1, 2], [1, 1, 1, 1]) == pytest.approx(3)


def test_additive_by_hand() -> None:
    """W_a q + W_b k = (ln 2, ln 3), whose tanh is (3/5, 4/5); (5, 10)·(3/5, 4/5) = 11."""
    additive = AdditiveScore(1, 2, 2)
    fill(
        additive,
        [[LN_2], [1.0]],
        [[0, 0], [LN_3 - 1, 0]],
        [[5.0, 10.0]],
    )
    assert score(additive, [1], [1, 7]) == pytest.approx(11)


def test_concatenation_by_hand() -> None:
    """W [q;k] = (ln 2, −ln 3), whose tanh is (3/5, −4/5); (5, 10)·(3/5, −4/5) = −5."""
    concatenation = ConcatScore(2, 1, 2)
    fill(
        concatenation,
        [[LN_2, 0.0, 0.0], [0.0, 0.0, -LN_3 / 4]],
        [[5.0, 10.0]],
    )
    assert score(concatenation, [1, 9], [4]) == pytest.approx(-5)


def test_perceptron_by_hand() -> None:
    """W₁ [q;k] + b₁ = (4, −1), rectified (4, 0); W₂ (4, 0) + b₂ = (9, −3), rectified (9, 0);
    (2, 100)·(9, 0) = 18."""
    perceptron = MLPScore(1, 2, 2)
    fill(
        perceptron,
        [[1.0, 1, 0], [0, 0, -2]],
        [1.0, 1],
        [[2.0, 50], [-1, 50]],
        [1.0, 1],
        [[2.0, 100]],
    )
    assert score(perceptron, [1], [2, 1]) == 18


def test_concatenation_is_additive_when_its_matrix_is_theirs_side_by_side() -> None:
    """S10: W = [W_a W_b]."""
    additive, concatenation = AdditiveScore(3, 5, 4).double(), ConcatScore(3, 5, 4).double()
    sides = [additive.from_query.weight, additive.from_key.weight]
    concatenation.load_state_dict(
        {"map.weight": torch.cat(sides, dim=1), "weigh.weight": additive.weigh.weight}
    )
    queries, keys = values(2, 4, 3), values(2, 6, 5)
    torch.testing.assert_close(
        compared(concatenation, queries, keys), compared(additive, queries, keys)
    )


@pytest.mark.parametrize("kind", [ConcatScore(3, 5, 4), MLPScore(3, 5, 4)])
def test_split_products_equal_those_of_the_concatenated_pair(
    kind: ConcatScore | MLPScore,
) -> None:
    """S4.1: `[q;k]` as written, with the pair really put together."""
    kind.double()
    queries, keys = values(2, 4, 3), values(2, 6, 5)
    pairs = torch.cat(
        [queries[:, :, None].expand(2, 4, 6, 3), keys[:, None].expand(2, 4, 6, 5)], dim=-1
    )
    if isinstance(kind, MLPScore):
        inner = kind.second(kind.first(pairs).relu()).relu()
    else:
        inner = kind.map(pairs).tanh()
    torch.testing.assert_close(compared(kind, queries, keys), kind.weigh(inner).squeeze(-1))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (DotScore(), 0),
        (GeneralScore(3, 5), 15),
        (AdditiveScore(3, 5, 4), 3 * 4 + 5 * 4 + 4),
        (ConcatScore(3, 5, 4), 8 * 4 + 4),
        (MLPScore(3, 5, 4), (8 * 4 + 4) + (4 * 4 + 4) + 4),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_the_layers_of_the_perceptron_have_biases(kind: nn.Module, parameters: int) -> None:
    """the notation of the specification: attention maps have none."""
    assert sum(weight.numel() for weight in kind.parameters()) == parameters


def compared(kind: ScoreFunction, queries: Tensor, keys: Tensor) -> Tensor:
    return kind.compare(queries, kind.prepare(keys))
