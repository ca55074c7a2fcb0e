"""Front ends before any encoder: nothing of padding or of batch mates gets through (S3.4)."""

from typing import Any

import pytest
import torch

from seqloom.config import ModelConfig
from seqloom.errors import ConfigError
from seqloom.fields import Items, Numbers, Pixels, Symbols
from seqloom.model import SequenceModel, Source, build_sequence_model
from seqloom.model.encoders import ReversedEncoder
from seqloom.model.ensemble import network_ensemble
from seqloom.model.front_ends import FrontEndEncoder
from seqloom.training import freeze
from tests.encoder_checks import assert_same

SMALL: dict[str, Any] = {"width": 8, "layers": 1, "dropout": 0.3}
ENCODERS: dict[str, dict[str, Any]] = {
    "vectors": {"kind": "vectors"},
    "recurrent": {"kind": "recurrent", **SMALL},
    "transformer": {"kind": "transformer", "inner": 16, "heads": 2, **SMALL},
}
FRONTS: dict[str, tuple[dict[str, Any], Items]] = {
    "cells": ({"kind": "picture", "widths": [4, 6]}, Pixels(3, 8, 12)),
    "columns": ({"kind": "picture", "widths": [4, 6], "grid": "columns"}, Pixels(1, 9, 11)),
    "one": ({"kind": "picture", "widths": [6], "grid": "one"}, Pixels(1, 6, 6)),
    "whole": ({"kind": "picture", "widths": [4, 6], "grid": "whole"}, Pixels(3, 7, 9, frames=3)),
    "frames": ({"kind": "picture", "widths": [6]}, Pixels(1, 6, 6, frames=3)),
    "mean": ({"kind": "picture", "widths": [6], "frames": "mean"}, Pixels(1, 6, 6, frames=3)),
    "sound": ({"kind": "sound", "width": 8}, Numbers(5)),
}
READ = {**FRONTS, "numbers": ({"kind": "none"}, Numbers(5))}
LENGTHS = {"sound": [9, 1, 6, 16]}


def model(
    front: str, encoder: str = "vectors", *, backwards: bool = False, **more: Any
) -> SequenceModel:
    torch.manual_seed(5)
    part, items = READ[front]
    config = {
        "embedding": 8,
        "share_vocabulary": False,
        "reverse_source": backwards,
        "front": {**part, **more},
        "encoder": ENCODERS[encoder],
        "decoder": {"kind": "transformer", "inner": 16, "heads": 2, **SMALL},
    }
    return build_sequence_model(ModelConfig.model_validate(config), source=items, target=Symbols(7))


def source(front: str, *, padding: float = 0.0) -> Source:
    """Four inputs, what is past their ends filled with anything."""
    items = READ[front][1]
    lengths = torch.tensor(LENGTHS.get(front, [1, 2, 1, 3]))
    torch.manual_seed(6)
    if isinstance(items, Pixels):
        values = torch.randint(0, 256, (4, int(lengths.max()), items.count), dtype=torch.uint8)
    else:
        values = torch.randn(4, int(lengths.max()), items.count, dtype=torch.float64)
    past = torch.arange(values.shape[1]) >= lengths[:, None]
    values[past] = int(padding) if isinstance(items, Pixels) else padding
    return Source(values, lengths)


@torch.no_grad()
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("front", FRONTS)
def test_padding_and_mates_change_nothing(front: str, encoder: str) -> None:
    """Each input is read as it would be alone, whatever stands past its end."""
    network = model(front, encoder).double().eval()
    batch, other = source(front), source(front, padding=77.0)
    together, again = (network.encoder.encode(each) for each in (batch, other))
    assert together.states is not None
    assert together.mask is not None
    assert again.states is not None
    for number, length in enumerate(batch.lengths.tolist()):
        alone = network.encoder.encode(
            Source(batch.values[number : number + 1, :length], batch.lengths[number : number + 1])
        )
        assert alone.states is not None
        seen = alone.states.shape[1]
        assert together.mask[number].tolist() == [
            place < seen for place in range(together.mask.shape[1])
        ]
        states = together.states[number, :seen]
        assert_same([states], [alone.states[0]])
        assert_same([again.states[number, :seen]], [states])


@torch.no_grad()
@pytest.mark.parametrize("front", ["frames", "sound", "numbers"])
def test_what_has_no_end_is_read_back_to_front_as_a_whole(front: str) -> None:
    """S1.7: `<end>` alone stays where it is, and numbers have none."""
    encoder = model(front, "recurrent", backwards=True).double().eval().encoder
    batch = source(front)
    if isinstance(encoder, FrontEndEncoder):
        batch = encoder.front(batch)
        encoder = encoder.inner
    assert isinstance(encoder, ReversedEncoder)
    for number, length in enumerate(batch.lengths.tolist()):
        values, lengths = batch.values[number, None, :length], batch.lengths[number, None]
        found = encoder.encode(Source(values, lengths))
        expected = encoder.inner.encode(Source(values.flip(1), lengths))
        assert found.states is not None
        assert expected.states is not None
        assert_same([*(found.code or ())], [*(expected.code or ())])
        assert_same([found.states], [expected.states.flip(1)])


@torch.no_grad()
@pytest.mark.parametrize("front", READ)
def test_a_model_and_itself_are_the_model(front: str) -> None:
    """S7.4, whatever is read: the mean of equal probabilities, looked for in equal places."""
    network, batch = model(front).double().eval(), source(front)
    tokens = torch.randint(0, 7, (4, 3), generator=torch.Generator().manual_seed(7))
    found = []
    for each in (network, network_ensemble([network, network])):
        memory = each.encoder.encode(batch)
        features, _ = each.decoder.read(tokens, each.decoder.start(memory, trace=True))
        assert features.attention is not None
        scores = each.decoder.write(features.hidden).log_softmax(-1)
        found.append([scores, features.attention, memory.source_lengths(batch).double()])
    alone, both = found
    assert_same(both, alone)


@torch.no_grad()
def test_members_that_look_at_other_places_show_none() -> None:
    """Six cells and three columns have no mean; the probabilities have."""
    networks = [model("cells", grid=grid).double().eval() for grid in ("cells", "columns")]
    both, batch = network_ensemble(networks), source("cells")
    memory = both.encoder.encode(batch)
    assert memory.mask is None
    features, _ = both.decoder.read(
        torch.ones(4, 1, dtype=torch.int64), both.decoder.start(memory, trace=True)
    )
    assert features.attention is None


def plain(network: SequenceModel, *levels: int) -> Source:
    """What a front end makes of a video of plain frames, each of one grey."""
    front: Any = network.encoder.front
    values = torch.tensor(levels, dtype=torch.uint8)[None, :, None].expand(1, -1, 36)
    made: Source = front(Source(values, torch.tensor([len(levels)])))
    return made


@torch.no_grad()
def test_frames_are_told_apart_or_become_their_mean() -> None:
    """Equal frames differ by the vector of their place alone; in a mean their order is lost."""
    network = model("frames")
    made = plain(network, 90, 90, 90).values.view(3, 9, 6)
    front: Any = network.encoder.front
    times = front.times
    for one, two in ((0, 1), (1, 2)):
        torch.testing.assert_close(
            made[one] - made[two], (times[one] - times[two]).expand(9, 6), rtol=1e-4, atol=1e-5
        )
    network = model("mean")
    both, turned, alone = (plain(network, *levels) for levels in ((9, 200), (200, 9), (9,)))
    assert both.lengths.tolist() == [9]
    torch.testing.assert_close(both.values, turned.values)
    torch.testing.assert_close(2 * both.values - alone.values, plain(network, 200).values)


@torch.no_grad()
@pytest.mark.parametrize(
    ("front", "more"), [("cells", {}), ("sound", {"mask_bands": 0, "mask_frames": 0})]
)
def test_sources_are_pulled_about_in_training_alone(front: str, more: dict[str, Any]) -> None:
    """Twice the same input is twice the same, unless it is learnt from and the net is pulled."""
    given = source(front)
    for warp in (0.0, 0.2):
        made: Any = model(front, warp=warp, **more).double().encoder.front
        for learning in (False, True):
            made.train(learning)
            first, second = (made(given).values for _ in range(2))
            assert torch.equal(first, second) == (not (learning and warp))


@pytest.mark.parametrize("front", FRONTS)
def test_a_frozen_front_is_its_convolutions(front: str) -> None:
    """The map from them to the model's own width is learnt (S3.4)."""
    network = model(front)
    freeze(network, ["front"])
    still = {name for name, each in network.named_parameters() if not each.requires_grad}
    names = {name for name, _ in network.named_parameters()}
    assert still == {name for name in names if name.startswith("encoder.front.convolutions.")}
    assert any(name.startswith("encoder.inner.embedding.") for name in names - still)


def test_only_a_front_can_be_frozen() -> None:
    config = ModelConfig.model_validate({"share_vocabulary": True})
    network = build_sequence_model(config, source=Symbols(5), target=Symbols(5))
    with pytest.raises(ConfigError, match="no front end"):
        freeze(network, ["front"])


@pytest.mark.parametrize(
    ("front", "more", "said"),
    [
        ("cells", {"widths": [4] * 5}, "need pictures of 16 × 16"),
        ("columns", {"kind": "resnet", "widths": None}, "set source.colour=true"),
        ("sound", {"kind": "picture", "width": None}, "does not fit the source"),
    ],
)
def test_fronts_that_do_not_fit(front: str, more: dict[str, Any], said: str) -> None:
    part, items = FRONTS[front]
    chosen = {name: value for name, value in {**part, **more}.items() if value is not None}
    config = ModelConfig.model_validate({"share_vocabulary": False, "front": chosen})
    with pytest.raises(ConfigError, match=said):
        build_sequence_model(config, source=items, target=Symbols(7))
