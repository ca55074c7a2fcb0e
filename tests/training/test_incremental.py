"""S3.3, S10: a class becomes a sequence, learnt by plain incremental gradient descent."""

import random

import pytest
import torch

from seqloom.config import ModelConfig
from seqloom.fields import END, START, Symbols
from seqloom.model import Source, build_sequence_model
from seqloom.search import Greedy, Limits, run_to_end
from seqloom.training import Example, Optimizer, Portion, fit
from tests.training.support import training

LEXICON = """
allowed always and are been cat cats dogs enemies have i is it lap love my natural not raining water
<start> <end>
"""
WORDS = LEXICON.split()
NUMBERED = {11: [15, 16, 6, 22], 7: [3, 8, 14, 20, 22], 13: [12, 19, 7, 3, 8, 22]}
WRITTEN = ["love my cat", "and dogs lap water", "is raining cats and dogs"]


def token(number: int) -> int:
    """The texts count from 1 and put `<start>` and `<end>` last; here they are 2 and 3. The first
    two words, which no row has, take the places of `<empty>` and `<unk>`."""
    return {21: START, 22: END}.get(number, number - 1 if number < 3 else number + 1)


def class_to_sequence(width: int) -> ModelConfig:
    """h_0 = σ(W_i x), then decoder (b), all one-hot and without biases."""
    decoder = {
        "kind": "recurrent",
        "unit": {"kind": "elman", "bias": False},
        "width": width,
        "layers": 1,
        "dropout": 0.0,
        "first_state": "map",
        "map_activation": "sigmoid",
        "map_bias": False,
        "readout": "affine",
        "attention": "none",
    }
    plain = {"one_hot": True, "tie_output": False, "output_bias": False}
    return ModelConfig.model_validate({**plain, "encoder": {"kind": "vectors"}, "decoder": decoder})


def rows() -> list[Example]:
    return [
        Example(
            Source(torch.tensor([[token(given)]]), torch.tensor([1])),
            torch.tensor([[token(number) for number in wanted]]),
        )
        for given, wanted in NUMBERED.items()
    ]


def test_the_numbers_are_those_of_the_words() -> None:
    """S10: the vocabulary is numbered from 1 in its order."""
    said = [" ".join(WORDS[number - 1] for number in row[:-1]) for row in NUMBERED.values()]
    assert said == WRITTEN
    assert [WORDS[number - 1] for number in NUMBERED] == ["i", "cats", "it"]
    assert sorted(map(token, range(1, 23))) == list(range(22))


@pytest.mark.parametrize(("width", "parameters"), [(20, 1_720), (7, 7**2 + 66 * 7)])
def test_it_has_the_size_of_the_texts(width: int, parameters: int) -> None:
    """S10: m² + 66m without biases."""
    model = build_sequence_model(class_to_sequence(width), source=Symbols(22), target=Symbols(22))
    assert sum(each.numel() for each in model.parameters()) == parameters


def test_its_first_state_is_the_sigmoid_of_a_map_of_the_class() -> None:
    """S3.3: h_0 = σ(W_i x) is the sigmoid of a column of W_i."""
    torch.manual_seed(1)
    model = build_sequence_model(class_to_sequence(20), source=Symbols(22), target=Symbols(22))
    (matrix,) = [
        value for name, value in model.named_parameters() if name.startswith("decoder.first")
    ]
    for each in rows():
        state = model.decoder.start(model.encoder.encode(each.source))
        (layers,) = state.own.layers
        expected = matrix[:, each.source.values[0, 0]].sigmoid()
        torch.testing.assert_close(layers[0, 0], expected)


def test_incremental_descent_learns_it_to_the_letter() -> None:
    """S3.3, S6.6: one row at a time in another order each pass, w ← w − rate · ∂C/∂w."""
    torch.manual_seed(1)
    model = build_sequence_model(class_to_sequence(20), source=Symbols(22), target=Symbols(22))
    config = training(
        optimizer="sgd",
        rate=0.1,
        updates=600,
        warmup=0,
        decay="constant",
        clip_norm=0,
        label_smoothing=0,
    )
    taught = rows()

    def one_row(step: int) -> Portion:
        turn, number = divmod(step, len(taught))
        order = random.Random(turn).sample(taught, len(taught))
        return Portion([order[number]], 1, lambda: "the toy set")  # divided by 1: a sum over steps

    losses = [update.loss for update in fit(Optimizer(model, config), one_row, seed=1)]
    assert min(losses[:3]) > 5
    assert max(losses[-3:]) < 0.1
    model.eval().requires_grad_(False)
    for each in taught:
        state = model.decoder.start(model.encoder.encode(each.source))
        ((output,),) = run_to_end(Greedy(), model.decoder, state, Limits(torch.tensor([9])))
        assert output.finished
        assert [*output.tokens, END] == each.target[0].tolist()
