"""What encoders and decoders add to their layers: positions, and the way from code to state."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from seqloom.config import ModelConfig
from seqloom.fields import END
from seqloom.model import SequenceModel, Source
from tests.model.models import NAMED, model_of, recurrent, transformer

SOURCE = Source(torch.tensor([[4, 7, 4, END], [8, END, 0, 0]]), torch.tensor([4, 2]))


def without_blocks(model: SequenceModel) -> None:
    """Leave only what comes before and after the blocks, with norms at their first values."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".blocks." in name:
                parameter.zero_()
            elif ".norm." in name:
                parameter.fill_(float(name.endswith("weight")))


@torch.no_grad()
def test_a_transformer_reads_scaled_vectors_plus_positions_from_one() -> None:
    """S5.3: √D x + r_t, t from 1, on both sides, and however a target is cut into reads."""
    torch.manual_seed(1)
    width = 8
    model = model_of(transformer({}, {}), source_size=9, target_size=6)
    without_blocks(model)
    even = torch.arange(0, width, 2)
    angles = torch.arange(1, 5)[:, None] / 10_000 ** (even / width)
    positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    tables = {
        name.split(".")[0]: table
        for name, table in model.named_parameters()
        if name.endswith("embedding.table")
    }

    def expected(side: str, tokens: torch.Tensor) -> torch.Tensor:
        vectors = width**0.5 * tables[side][tokens] + positions[: tokens.shape[1]]
        return functional.layer_norm(vectors, (width,))

    memory = model.encoder.encode(SOURCE)
    assert memory.states is not None
    torch.testing.assert_close(memory.states, expected("encoder", SOURCE.values), rtol=0, atol=1e-6)
    tokens, state, parts = (
        torch.tensor([[2, 4, 5, 1], [2, 5, 5, 4]]),
        model.decoder.start(memory),
        [],
    )
    for piece in tokens.split([1, 2, 1], dim=1):
        features, state = model.decoder.read(piece, state)
        parts.append(features.hidden)
    torch.testing.assert_close(
        torch.cat(parts, dim=1), expected("decoder", tokens), rtol=0, atol=1e-6
    )


@torch.no_grad()
def test_a_first_hidden_state_is_squashed_and_a_first_cell_is_not() -> None:
    """S3.1: the code reaches the decoder through a learned map, each part as a unit has it."""
    torch.manual_seed(1)
    model = model_of(recurrent({"layers": 2}, {}), source_size=9, target_size=6)
    memory = model.encoder.encode(SOURCE)
    assert memory.code is not None
    larger = replace(memory, code=tuple(1_000 * part for part in memory.code))
    hidden, cell = model.decoder.start(larger).own.layers
    assert float(hidden.abs().max()) <= 1 < float(cell.abs().max())
    plain, _ = model.decoder.start(memory).own.layers
    assert float(plain.abs().max()) < 1


SEEING = ["gru from map", "general global fed", "elman reads and writes", "plain sinusoids"]


@pytest.mark.parametrize("config", [NAMED[name] for name in SEEING], ids=SEEING)
@torch.no_grad()
def test_the_output_depends_on_every_real_position_of_the_source(config: ModelConfig) -> None:
    """A mask that hides too much would leave a law of padding true and the model blind."""
    torch.manual_seed(1)
    model = model_of(config, source_size=9, target_size=6)

    def first(tokens: torch.Tensor) -> torch.Tensor:
        state = model.decoder.start(model.encoder.encode(Source(tokens, SOURCE.lengths)))
        return model.decoder.read(torch.tensor([[2], [2]]), state)[0].hidden

    before = first(SOURCE.values)
    for row, length in enumerate(SOURCE.lengths.tolist()):
        for step in range(length):
            changed = SOURCE.values.clone()
            changed[row, step] = 6
            differs = (first(changed) - before).abs().amax(dim=(1, 2)) > 1e-6
            assert differs.tolist() == [row == 0, row == 1]
