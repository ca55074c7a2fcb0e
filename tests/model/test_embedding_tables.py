"""The table of a side's tokens is found in every kind of network (S1.4)."""

from typing import Any

import pytest
import torch

from seqloom.config import ColumnStatistics, Facts, plan
from seqloom.errors import ConfigError
from seqloom.fields import Symbols
from seqloom.model import Network, build, token_table

SIDE = ColumnStatistics(50.0, 10.0, 9.0, 50, 10_000, 1_000)
SOURCE, TARGET = 31, 17


def network(preset: str, **options: Any) -> Network:
    config = plan(options, Facts(1_000, SIDE, SIDE), preset=preset)
    spelling = getattr(config.source, "spelling", 0)
    shared = config.model.share_vocabulary
    target = Symbols(SOURCE if shared else TARGET)
    with torch.device("meta"):
        return build(config.model, source=Symbols(SOURCE, spelling, 9), target=target)


APART = {"share_vocabulary": False}


@pytest.mark.parametrize("preset", ["lstm", "gru", "transformer", "fast", "tiny"])
@pytest.mark.parametrize(
    "model", [{}, {"tie_output": False}, {"reverse_source": True}, {"forget": 0.1}]
)
def test_both_sides_of_a_writer(preset: str, model: dict[str, Any]) -> None:
    """Reversed, forgetful, tied or not: a row for each token of the side that is asked for."""
    found = network(preset, model={**APART, **model})
    assert len(token_table(found, "source").table) == SOURCE
    assert len(token_table(found, "target").table) == TARGET


def test_a_shared_table_is_one() -> None:
    found = network("transformer", model={"share_vocabulary": True})
    assert token_table(found, "source") is token_table(found, "target")


@pytest.mark.parametrize("kind", ["label", "tags"])
def test_a_judge_has_that_of_its_source(kind: str) -> None:
    """The letters of words that are spelt have a table of their own, which is not meant."""
    found = network("auto", target=kind)
    assert len(token_table(found, "source").table) == SOURCE
    with pytest.raises(ConfigError, match="model.target_vectors: the target has no table"):
        token_table(found, "target")


def test_a_language_model_has_that_of_its_target() -> None:
    found = network("lstm", source="none")
    assert len(token_table(found, "target").table) == TARGET
    with pytest.raises(ConfigError, match="model.source_vectors: the source has no table"):
        token_table(found, "source")
