"""Whole models of every architecture: right gradients, and the same again after saving."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from seqloom.config import Config, ModelConfig, dump, parse, validate
from seqloom.fields import START, Symbols
from seqloom.model import SequenceModel, build_sequence_model
from seqloom.model.networks import load_weights, weights
from seqloom.store.tensors import pack, unpack
from tests.counts import count
from tests.model.models import VARIANTS, model_of, sources

SIZES = {"source_size": 9, "target_size": 6}
TOKENS = torch.tensor([[START, 4, 5], [START, 5, 3]])


def scores(model: SequenceModel) -> Tensor:
    """Log-probabilities of a few outputs for a few sources."""
    torch.manual_seed(7)
    memory = model.encoder.encode(sources(2, size=9))
    features, _ = model.decoder.read(TOKENS, model.decoder.start(memory))
    return model.decoder.write(features.hidden).log_softmax(-1)


@pytest.mark.parametrize("number", range(3, len(VARIANTS), count(60, 3)))
def test_gradients_are_those_of_finite_differences(number: int) -> None:
    """RELIABILITY C4: of every parameter at once, in a direction drawn at random."""
    torch.manual_seed(number)
    model = model_of(VARIANTS[number], **SIZES)
    draw = torch.Generator().manual_seed(number)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    directions = [
        torch.randn(parameter.shape, dtype=torch.float64, generator=draw)
        for parameter in parameters
    ]
    toward = torch.randn(2, 3, 6, dtype=torch.float64, generator=draw)

    def cost() -> Tensor:
        return (scores(model) * toward).sum()

    gradients = torch.autograd.grad(cost(), parameters, materialize_grads=True)
    expected = sum(
        float((gradient * way).sum()) for gradient, way in zip(gradients, directions, strict=True)
    )
    step, ends = 1e-6, []
    for sign in (1, -2):
        with torch.no_grad():
            for parameter, way in zip(parameters, directions, strict=True):
                parameter.add_(way, alpha=sign * step)
            ends.append(float(cost()))
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(expected, rel=2e-4, abs=1e-5)


@pytest.mark.parametrize("config", VARIANTS[5 :: count(30, 1)])
@torch.no_grad()
def test_a_model_is_the_same_after_its_weights_and_options_were_saved(config: ModelConfig) -> None:
    """The configuration goes through TOML, the weights through safetensors, each once."""
    torch.manual_seed(1)
    model = model_of(config, **SIZES).float()
    text = dump(Config().model_copy(update={"model": config}))
    again = validate(parse(text, place="config.toml"), place="config.toml").model
    assert again == config
    with torch.device("meta"):  # as a run is loaded: nothing but what was saved is known
        other = build_sequence_model(again, source=Symbols(9), target=Symbols(6)).eval()
    other.to_empty(device="cpu")
    data = pack(weights(model))
    load_weights(other, unpack(data, place=Path("model.safetensors")), place="model.safetensors")
    torch.testing.assert_close(scores(other), scores(model), rtol=0, atol=0)
