"""S2.7, S5.5: a model's parameters, counted by parts that have names in words."""

import pytest
import torch

from seqloom.config import ModelConfig
from seqloom.fields import Symbols
from seqloom.model import build_sequence_model
from seqloom.runs.parameter_table import parameter_table
from tests.counts import count
from tests.model.forecast_models import MODELS as FORECASTS
from tests.model.forecast_models import model as forecaster
from tests.model.models import VARIANTS


def lines_of(config: ModelConfig, *, size: int) -> list[tuple[int, str]]:
    """Counts and names of a model that takes no memory."""
    with torch.device("meta"):
        model = build_sequence_model(config, source=Symbols(size), target=Symbols(size))
    return [(each.parameters, each.name) for each in parameter_table(model)]


def test_every_part_of_every_model_has_a_name_and_counts_once() -> None:
    """Whatever the options are, the parts make up the whole."""
    for config in VARIANTS[:: count(12, 1)]:
        with torch.device("meta"):
            model = build_sequence_model(config, source=Symbols(9), target=Symbols(9))
        *parts, (total, last) = lines_of(config, size=9)
        assert last == "total"
        assert total == sum(number for number, _ in parts)
        assert total == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", FORECASTS)
def test_every_part_of_a_forecast_has_a_name(name: str) -> None:
    """At once or fed back."""
    network = forecaster(name)
    total = sum(parameter.numel() for parameter in network.parameters())
    assert parameter_table(network)[-1] == ("total", total)


def test_blocks_are_counted_as_in_the_texts() -> None:
    """S5.5: p = 512, inner 2048, m = m_v = 64, H = 8, V = 37,000."""
    part = {"kind": "transformer", "width": 512, "inner": 2048, "heads": 8, "layers": 6}
    part["norm"] = "after"
    options = {"embedding": 512, "share_vocabulary": False, "tie_output": False}
    config = ModelConfig.model_validate({**options, "encoder": part, "decoder": part})
    assert lines_of(config, size=37_000) == [
        (18_944_000, "encoder: token vectors"),
        (18_902_016, "encoder: 6 blocks of 3,150,336"),
        (18_944_000, "decoder: token vectors"),
        (25_199_616, "decoder: 6 blocks of 4,199,936"),
        (18_981_000, "decoder: output layer"),
        (100_970_632, "total"),
    ]


def test_a_table_that_parts_share_is_named_with_all_of_them() -> None:
    part = {"kind": "transformer", "width": 8, "inner": 8, "heads": 2, "layers": 1}
    config = ModelConfig.model_validate({"embedding": 8, "encoder": part, "decoder": part})
    shared = "encoder: token vectors (also decoder: token vectors, decoder: output layer)"
    assert lines_of(config, size=10)[0] == (80, shared)
