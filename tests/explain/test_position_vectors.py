"""S5.3, S9, S10: the vectors of positions and the distance of neighbours, for each kind."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.explain import text_of, write
from seqloom.explanations.parts import position_table
from seqloom.explanations.position_vectors import PositionMap, PositionMaps, position_maps
from seqloom.nn.positions import AddedSinusoids, AppendedSinusoids, OneHotPositions
from tests.explain.kinds import case
from tests.explain.pictures import texts
from tests.explain.tiny_models import named


def test_the_numbers_of_the_texts() -> None:
    """S10: p_e = 4 at t = 1; ‖r_51 − r_50‖ = 4.523235 and ‖r_t‖² = 384 for 768 values."""
    first = position_table(AppendedSinusoids(4), 6, 3)[0]
    np.testing.assert_allclose(first, [0.841471, 0.540302, 0.00999983, 0.99995], atol=1e-6)
    found = PositionMap("encoder", "", position_table(AddedSinusoids(), 768, 60))
    assert found.neighbor_distances()[49] == pytest.approx(4.523235, abs=1e-5)
    np.testing.assert_allclose(np.square(found.table).sum(axis=1), 384, rtol=1e-5)


def test_chosen_positions_and_values_and_the_difference_of_two() -> None:
    """Rows that are compared are read even where fewer are shown."""
    found = position_maps(named("plain sinusoids"), 3, values=4, pair=(6, 5)).maps[0]
    whole = position_maps(named("plain sinusoids"), 6).maps[0].table
    np.testing.assert_array_equal(found.table, whole[:, :4])
    np.testing.assert_allclose(found.difference(), whole[5, :4] - whole[4, :4])
    assert "positions 6 and 5 lie" in text_of(PositionMaps((found,)))


def test_one_hot_positions() -> None:
    """S10: 1 at its own place; past the last, that of the last, so neighbours are equal."""
    found = PositionMap("encoder", "", position_table(OneHotPositions(4), 2, 6))
    np.testing.assert_array_equal(found.table[:4], np.eye(4))
    np.testing.assert_allclose(found.neighbor_distances(), [2**0.5] * 3 + [0, 0])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("plain sinusoids", "sines and cosines, added"),
        ("plain appended", "sines and cosines, appended"),
        ("plain one-hot", "one-hot, appended"),
        ("plain learned", "learnt vectors, added"),
        ("plain joint", "learnt joint map"),
        ("plain rotary", "rotary, its sines and cosines"),
    ],
)
def test_every_kind_is_found_on_both_sides(kind: str, words: str, tmp_path: Path) -> None:
    found = position_maps(named(kind), 7)
    assert [(each.side, each.kind) for each in found.maps] == [
        ("encoder", words),
        ("decoder", words),
    ]
    assert all(len(each.table) == 7 for each in found.maps)
    write(found, tmp_path / "positions.svg", title="")
    assert set(texts(tmp_path / "positions.svg")) >= {f"encoder: {words}", "position t"}


def test_learnt_vectors_are_the_table() -> None:
    model = named("plain learned")
    encoder: Any = model.encoder
    table = encoder.embed.positions.table
    assert isinstance(table, torch.Tensor)
    np.testing.assert_array_equal(position_maps(model, 5).maps[0].table, table.detach().numpy())


def test_a_video_has_the_positions_of_its_transformer(tmp_path: Path) -> None:
    """A map of each whole frame tells no cells apart, so there is none of them to show."""
    model, _ = case("video by blocks", tmp_path)
    assert [each.side for each in position_maps(model.network).maps] == ["encoder", "decoder"]


def test_a_model_without_positions_says_so() -> None:
    with pytest.raises(ConfigError, match="no positions to look at"):
        position_maps(named("lstm form e"))
