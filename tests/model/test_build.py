"""From a configuration to a model: exact sizes, shared tables, and choices that do not fit."""

from typing import Any

import pytest
import torch

from seqloom.config import ModelConfig
from seqloom.errors import ConfigError, SeqloomError
from seqloom.fields import END, Symbols
from seqloom.model import Decoder, Encoder, SequenceModel, Source, build_sequence_model
from tests.counts import count
from tests.model.models import NAMED, VARIANTS, model_of, recurrent

KINDS = [NAMED["lstm from map"], NAMED["plain sinusoids"]]
each_kind = pytest.mark.parametrize("config", KINDS, ids=["recurrent", "transformer"])


def configured(**options: Any) -> ModelConfig:
    return ModelConfig.model_validate(options)


def size(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_a_transformer_has_the_sizes_of_the_texts() -> None:
    """S5.5: 18,902,016 + 25,199,616 for 6+6 blocks, 18,981,000 for the output layer."""
    part = {"kind": "transformer", "width": 512, "inner": 2048, "heads": 8, "layers": 6}
    part["norm"] = "after"
    options = {"embedding": 512, "share_vocabulary": False, "tie_output": False}
    with torch.device("meta"):  # sizes without memory
        model = build_sequence_model(
            configured(**options, encoder=part, decoder=part),
            source=Symbols(37_000),
            target=Symbols(37_000),
        )
    embedding = 37_000 * 512
    output = 18_981_000
    assert size(model.encoder) - embedding == 18_902_016
    assert size(model.decoder) - embedding == 25_199_616 + output
    assert size(model) - 2 * embedding == 63_082_632


@pytest.mark.parametrize("both", [True, False])
def test_a_recurrent_model_has_the_sum_of_its_parts(both: bool) -> None:
    """S2.7: a layer of width m over inputs of size p has 4m² + 4mp + 4m parameters."""
    embedding, m, width, directions = 6, 4, 7, 2 if both else 1
    reading = {"layers": 2, "width": m, "direction": "both" if both else "backward"}
    model = build_sequence_model(
        recurrent(reading, {}, tie_output=both), source=Symbols(9), target=Symbols(6)
    )

    def lstm(p: int, m: int) -> int:
        return 4 * m * m + 4 * m * p + 4 * m

    encoded = directions * m
    encoder = directions * (lstm(embedding, m) + lstm(encoded, m))
    assert size(model.encoder) == 9 * embedding + encoder
    bridge = 2 * (2 * encoded * width + width)
    merge = (width + encoded) * embedding + embedding
    table = 6 * embedding * (1 if both else 2)
    assert size(model.decoder) == (
        table + 6 + lstm(embedding, width) + bridge + encoded * width + merge
    )


def test_a_shared_vocabulary_is_one_table_and_a_tied_output_its_transpose() -> None:
    part = {"kind": "transformer", "width": 8, "inner": 8, "heads": 2, "layers": 1}
    sizes = {
        (shared, tied): size(
            build_sequence_model(
                configured(
                    embedding=8,
                    share_vocabulary=shared,
                    tie_output=tied,
                    encoder=part,
                    decoder=part,
                ),
                source=Symbols(10),
                target=Symbols(10),
            )
        )
        for shared in (True, False)
        for tied in (True, False)
    }
    table = 10 * 8
    assert sizes[True, False] == sizes[True, True] + table
    assert sizes[False, True] == sizes[True, True] + table
    assert sizes[False, False] == sizes[True, True] + 2 * table


@pytest.mark.parametrize("config", VARIANTS[:: count(12, 1)])
def test_first_weights_follow_from_the_seed(config: ModelConfig) -> None:
    def first(seed: int) -> dict[str, torch.Tensor]:
        torch.manual_seed(seed)
        return build_sequence_model(config, source=Symbols(9), target=Symbols(6)).state_dict()

    one, again, other = first(1), first(1), first(2)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)
    assert all(bool(value.isfinite().all()) for value in one.values())


@pytest.mark.parametrize("config", VARIANTS[:: count(12, 1)])
def test_a_model_is_an_encoder_and_a_decoder_of_the_protocol(config: ModelConfig) -> None:
    model = build_sequence_model(config, source=Symbols(9), target=Symbols(6))
    assert isinstance(model.encoder, Encoder)
    assert isinstance(model.decoder, Decoder)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {
                "embedding": 6,
                "encoder": {"kind": "transformer", "width": 6, "heads": 4},
                "decoder": {"kind": "transformer", "width": 6, "heads": 2},
            },
            "heads",
        ),
        (
            {
                "embedding": 4,
                "encoder": {"kind": "transformer", "width": 8, "heads": 2},
                "decoder": {"kind": "transformer", "width": 8, "heads": 2},
            },
            "embedding",
        ),
        (
            {
                "encoder": {"kind": "recurrent", "width": 4},
                "decoder": {"kind": "recurrent", "width": 4, "attention": {"score": "dot"}},
            },
            "equal sizes",
        ),
    ],
)
def test_parts_that_do_not_fit_are_a_configuration_error(
    options: dict[str, Any], problem: str
) -> None:
    """S4.1: the plain dot needs equal sizes."""
    with torch.device("meta"), pytest.raises(ConfigError, match=problem):
        build_sequence_model(configured(**options), source=Symbols(9), target=Symbols(9))


@each_kind
@torch.no_grad()
def test_a_very_long_neighbour_changes_nothing(config: ModelConfig) -> None:
    """Positions beyond every table made in advance, beside a short sentence (RELIABILITY C2)."""
    torch.manual_seed(3)
    model = model_of(config, source_size=9, target_size=6)
    tokens = torch.zeros(2, 700, dtype=torch.int64)
    tokens[0] = torch.randint(END + 1, 9, (700,))
    tokens[1, :3] = torch.tensor([4, 5, END])
    alone = hidden(model, Source(tokens[1:, :3], torch.tensor([3])))
    together = hidden(model, Source(tokens, torch.tensor([700, 3])))
    torch.testing.assert_close(together[1:], alone, rtol=0, atol=1e-9)
    torch.testing.assert_close(
        hidden(model, Source(tokens[1:, :3], torch.tensor([3]))), alone, rtol=0, atol=1e-9
    )


@each_kind
def test_a_source_without_a_single_token_is_refused(config: ModelConfig) -> None:
    """RELIABILITY C4: there would be nothing to attend to, and every weight would be 0/0."""
    model = model_of(config, source_size=9, target_size=6)
    with pytest.raises((SeqloomError, ValueError)):
        hidden(model, Source(torch.tensor([[4, END], [0, 0]]), torch.tensor([2, 0])))


def hidden(model: SequenceModel, source: Source) -> torch.Tensor:
    state = model.decoder.start(model.encoder.encode(source))
    features, _ = model.decoder.read(torch.full((len(source.lengths), 2), 4), state)
    return features.hidden
