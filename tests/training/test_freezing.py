"""Parts that stay (S6.7): which weights they are, and where tables are shared."""

from typing import Any

import pytest
import torch

from seqloom.config import FrozenPart
from seqloom.errors import ConfigError
from seqloom.model import SequenceModel
from seqloom.training import freeze
from seqloom.training.loss import LossOptions, backward
from tests.training.support import example, network

SEPARATE = {"share_vocabulary": False, "tie_output": False}
SHARED = {"share_vocabulary": True, "tie_output": True}


def frozen(model: SequenceModel, *parts: FrozenPart) -> set[str]:
    freeze(model, parts)
    return {name for name, value in model.named_parameters() if not value.requires_grad}


def names(model: SequenceModel) -> set[str]:
    return {name for name, _ in model.named_parameters()}


def test_nothing_is_frozen_unless_named() -> None:
    assert frozen(network()) == set()


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_a_side(part: FrozenPart) -> None:
    model = network(**SEPARATE)
    assert frozen(model, part) == {name for name in names(model) if name.startswith(f"{part}.")}


def test_embeddings_are_the_tables_that_tokens_are_looked_up_in() -> None:
    model = network(**SEPARATE)
    found = frozen(model, "embeddings")
    assert len(found) == 2
    assert all(name.endswith("table") and ".output." not in name for name in found)


def test_all_but_the_output_layer() -> None:
    model = network(**SEPARATE)
    left = names(model) - frozen(model, "all-but-output")
    assert left == {"decoder.output.matrix.table", "decoder.output.bias"}


def test_two_parts() -> None:
    model = network(**SEPARATE)
    both = frozen(model, "encoder", "embeddings")
    assert both == frozen(network(**SEPARATE), "encoder") | frozen(
        network(**SEPARATE), "embeddings"
    )


@pytest.mark.parametrize(
    ("part", "others"),
    [
        ("encoder", "the decoder and the output layer"),
        ("decoder", "the encoder"),
        ("embeddings", "the output layer"),
    ],
)
def test_a_shared_table_stays_with_each_that_uses_it(part: FrozenPart, others: str) -> None:
    """A frozen part gives what it gave, so the table is frozen for the others too, and said so."""
    model = network(**SHARED)
    notes = freeze(model, [part])
    decoder: Any = model.decoder
    table = decoder.output.matrix.table
    assert not table.requires_grad
    assert notes == [f"the table of token vectors stays for {others} too: it is shared"]
    assert freeze(network(**SEPARATE), [part]) == []


@pytest.mark.parametrize(
    ("options", "parts", "sentence"),
    [
        (SHARED, ["all-but-output"], "the output layer is the embedding table here; freeze"),
        (SEPARATE, ["encoder", "decoder"], "leaves nothing to learn"),
    ],
)
def test_what_contradicts_itself_is_refused(
    options: dict[str, Any], parts: list[FrozenPart], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        freeze(network(**options), parts)


@pytest.mark.parametrize("parts", [["encoder"], ["all-but-output"], ["embeddings"], ["decoder"]])
def test_what_learns_has_the_gradient_it_would_have(parts: list[FrozenPart]) -> None:
    """Freezing changes no other gradient, and gives the frozen none."""
    free, bound = network(**SEPARATE), network(**SEPARATE)
    freeze(bound, parts)
    for model in (free, bound):
        backward(model, example(0), LossOptions(0.1, 24.0))
    expected = {name: value.grad for name, value in free.named_parameters()}
    for name, parameter in bound.named_parameters():
        if not parameter.requires_grad:
            assert parameter.grad is None
        else:
            torch.testing.assert_close(parameter.grad, expected[name], rtol=0, atol=0)
