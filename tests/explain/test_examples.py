"""Pairs of texts as a batch: what a network makes of it is what the model says of the texts."""

import pytest
import torch

from seqloom.config import Config, DataConfig, TextConfig
from seqloom.errors import DataError
from seqloom.explanations.gradients import example_of, gradient_flow
from seqloom.fields import Symbols, TextField
from seqloom.model import build_sequence_model
from seqloom.prediction import TextPredictor
from tests.model.models import NAMED

PAIRS = [("abc", "cba"), ("a", "ab"), ("a source longer than eight", ""), ("éé", "年")]


def model() -> TextPredictor:
    """A model of bytes whose sources end after eight."""
    field = TextField.learn(TextConfig(unit="byte"), [], seed=1)
    torch.manual_seed(1)
    network = build_sequence_model(
        NAMED["lstm form e"], source=Symbols(field.size), target=Symbols(field.size)
    )
    config = Config(data=DataConfig(max_source=8), model=NAMED["lstm form e"])
    return TextPredictor(config, field, field, network.eval())


def test_costs_are_those_of_scoring_the_same_pairs() -> None:
    """The cost of a pair is the mean of −log p over its tokens, as `score` gives them."""
    made = model()
    flow = gradient_flow(made.network, example_of(made, PAIRS))
    for cost, scored in zip(flow.costs, made.score(PAIRS), strict=True):
        assert cost == pytest.approx(-scored.log_probability / len(scored.tokens), abs=1e-5)
    assert [len(norms) for norms in flow.memory or ()] == [4, 2, 9, 5]


def test_no_pairs_are_refused() -> None:
    with pytest.raises(DataError, match="at least one pair"):
        example_of(model(), [])
