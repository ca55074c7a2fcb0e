"""SPEC S9: where a decoder looks in a picture or a recording."""

from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]
import torch
from PIL import Image

from seqloom.config import Config, PictureConfig, SoundConfig, TextConfig
from seqloom.errors import DataError
from seqloom.fields import TextField, learn_field
from seqloom.insight import PictureAttention, SoundAttention, is_seen, seen_in, write
from seqloom.model import build_writer
from seqloom.prediction import Model

SMALL = {"width": 8, "inner": 16, "heads": 2, "layers": 1, "kind": "transformer"}


def model(source: PictureConfig | SoundConfig, **front: object) -> Model:
    """An untrained one, which looks about as well as any."""
    torch.manual_seed(7)
    config = Config.model_validate(
        {
            "source": source.model_dump(),
            "target": {"kind": "text", "unit": "character"},
            "model": {
                "embedding": 8,
                "share_vocabulary": False,
                "front": {"kind": source.kind, **front},
                "encoder": {"kind": "vectors"},
                "decoder": SMALL,
            },
        }
    )
    target = TextField.learn(TextConfig(unit="character"), ["abc"], seed=1)
    field = learn_field(source, [], seed=1)
    network = build_writer(config.model, source=field.items, target=target.items)
    return Model(config, field, target, network)


@pytest.fixture(name="picture")
def picture_(tmp_path: Path) -> str:
    Image.effect_noise((24, 16), 60).save(tmp_path / "noise.png")
    return str(tmp_path / "noise.png")


@pytest.mark.parametrize(
    ("grid", "shape"), [("cells", (4, 6)), ("columns", (1, 6)), ("one", (1, 1))]
)
def test_every_token_looks_at_a_grid(picture: str, grid: str, shape: tuple[int, int]) -> None:
    """Weights over the cells of the front end sum to 1, row by row from the upper left."""
    source = PictureConfig(height=16, width=24, colour=False)
    found = seen_in(model(source, widths=[4, 6], grid=grid), picture, "abca")
    assert isinstance(found, PictureAttention)
    assert found.target == ("a", "b", "c", "a", "<end>")
    assert found.weights.shape == (5, *shape)
    np.testing.assert_allclose(found.weights.sum(axis=(1, 2)), 1, atol=1e-5)
    assert found.picture.shape == (16, 24, 1)
    assert found.text().count("\n") == 5


def test_a_recording_and_its_files(tmp_path: Path) -> None:
    """Time across; the same in the terminal, as JSON and as pictures."""
    soundfile.write(tmp_path / "tone.wav", np.sin(np.arange(4_000) / 3), 8_000)
    reader = model(SoundConfig(rate=8_000, bands=10), width=8)
    assert is_seen(reader.source)
    assert not is_seen(reader.target)
    found = seen_in(reader, str(tmp_path / "tone.wav"), "ab")
    assert isinstance(found, SoundAttention)
    assert found.attention.weights.shape == (3, 12)  # 48 frames, halved twice
    assert found.seconds == pytest.approx(0.48)
    assert found.as_dict()["target"] == ["a", "b", "<end>"]
    for ending in ("png", "svg", "html", "json"):
        write(found, tmp_path / f"look.{ending}", title="look")
        assert (tmp_path / f"look.{ending}").stat().st_size > 200


def test_pictures_are_drawn_with_a_panel_a_token(picture: str, tmp_path: Path) -> None:
    found = seen_in(model(PictureConfig(height=8, width=8), widths=[4]), picture, "abcabcabc")
    write(found, tmp_path / "look.svg", title="look")
    drawn = (tmp_path / "look.svg").read_text()
    assert drawn.count("<image") == 10


def test_its_own_output_is_looked_at_where_none_is_given(picture: str) -> None:
    reader = model(PictureConfig(height=8, width=8), widths=[4])
    found = seen_in(reader, picture)
    assert len(found.as_dict()["target"]) == len(reader(picture).ids)


def test_what_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        seen_in(model(PictureConfig(height=8, width=8), widths=[4]), str(tmp_path / "none.png"))
