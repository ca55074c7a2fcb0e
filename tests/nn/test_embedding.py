"""S1.4: a token's vector is a projection of its one-hot vector; the output may share it."""

import pytest
import torch
from torch.nn import functional

from seqloom.nn.embedding import Embedding, OneHot, OutputLayer

TOKENS = torch.tensor([[3, 0, 6], [1, 1, 5]])


def embedding() -> Embedding:
    torch.manual_seed(1)
    return Embedding(7, 4).double()


def test_an_embedding_is_a_projection_of_the_one_hot_vector() -> None:
    part = embedding()
    one_hot = functional.one_hot(TOKENS, 7).double()
    (table,) = part.parameters()
    torch.testing.assert_close(part(TOKENS), one_hot @ table * table.shape[1] ** 0.5)


@pytest.mark.parametrize("part", [Embedding(7, 4).double(), OneHot(7).double()])
def test_the_mean_under_a_distribution_mixes_the_vectors_of_tokens(part: Embedding) -> None:
    """S2.2; where one token is certain, it is that token's vector."""
    certain = functional.one_hot(TOKENS, 7).double()
    torch.testing.assert_close(part.mean(certain), part(TOKENS))
    probabilities = torch.rand(5, 7, dtype=torch.float64).softmax(-1)
    torch.testing.assert_close(part.mean(probabilities), probabilities @ part(torch.arange(7)))


def test_one_hot_vectors_are_rows_of_the_identity_and_have_no_parameters() -> None:
    """S1.4"""
    part = OneHot(7)
    assert torch.equal(part(TOKENS), functional.one_hot(TOKENS, 7).float())
    assert (part.width, list(part.parameters()), list(part.state_dict())) == (7, [], [])


def test_a_tied_output_layer_multiplies_by_the_table_and_adds_its_own_bias() -> None:
    part = embedding()
    output = OutputLayer(4, 7, tied=part).double()
    (table,) = part.parameters()
    assert output.bias is not None
    with torch.no_grad():
        output.bias.copy_(torch.arange(7.0))
    hidden = torch.randn(2, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(output(hidden), hidden @ table.T + torch.arange(7.0))
    assert {id(each) for each in output.parameters()} == {id(table), id(output.bias)}


def test_an_output_layer_of_its_own_has_a_row_and_a_bias_for_each_word() -> None:
    """S5.5: 18,981,000 parameters for 37,000 words of width 512."""
    with torch.device("meta"):
        output = OutputLayer(512, 37_000, tied=None)
    assert sum(each.numel() for each in output.parameters()) == 18_981_000
