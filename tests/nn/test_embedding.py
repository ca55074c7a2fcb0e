"""SPEC S1.4: a token's vector is a projection of its one-hot vector; the output may share it."""

import torch
from torch.nn import functional

from seqloom.nn.embedding import Embedding, OutputLayer

TOKENS = torch.tensor([[3, 0, 6], [1, 1, 5]])


def embedding() -> Embedding:
    torch.manual_seed(1)
    return Embedding(7, 4).double()


def test_an_embedding_is_a_projection_of_the_one_hot_vector() -> None:
    part = embedding()
    one_hot = functional.one_hot(TOKENS, 7).double()
    (table,) = part.parameters()
    torch.testing.assert_close(part(TOKENS), one_hot @ table * table.shape[1] ** 0.5)


def test_a_tied_output_layer_multiplies_by_the_table_and_adds_its_own_bias() -> None:
    part = embedding()
    output = OutputLayer(4, 7, tied=part).double()
    (table,) = part.parameters()
    with torch.no_grad():
        output.bias.copy_(torch.arange(7.0))
    hidden = torch.randn(2, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(output(hidden), hidden @ table.T + torch.arange(7.0))
    assert {id(each) for each in output.parameters()} == {id(table), id(output.bias)}


def test_an_output_layer_of_its_own_has_a_row_and_a_bias_for_each_word() -> None:
    """SPEC S5.5: 18,981,000 parameters for 37,000 words of width 512."""
    with torch.device("meta"):
        output = OutputLayer(512, 37_000, tied=None)
    assert sum(each.numel() for each in output.parameters()) == 18_981_000
