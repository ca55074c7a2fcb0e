"""S9: where a decoder looks in a picture or a recording."""

from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]
import torch
from PIL import Image

from seqloom.config import Config, PictureConfig, SoundConfig, TextConfig, VideoConfig
from seqloom.drawing.views import text_of, write
from seqloom.errors import DataError
from seqloom.explanations.attention import attention_over_media
from seqloom.explanations.media import (
    MediaAttention,
    PictureAttention,
    SoundAttention,
    VideoAttention,
    is_media,
)
from seqloom.fields import TextField, learn_field
from seqloom.model import build_sequence_model
from seqloom.prediction import TextPredictor
from seqloom.tasks import explain_output

SMALL = {"width": 8, "inner": 16, "heads": 2, "layers": 1, "kind": "transformer"}


def model(source: PictureConfig | SoundConfig | VideoConfig, **front: object) -> TextPredictor:
    """An untrained one, which looks about as well as any."""
    torch.manual_seed(7)
    config = Config.model_validate(
        {
            "source": source.model_dump(),
            "target": {"kind": "text", "unit": "character"},
            "model": {
                "embedding": 8,
                "share_vocabulary": False,
                "front": {"kind": "sound" if source.kind == "sound" else "picture", **front},
                "encoder": {"kind": "vectors"},
                "decoder": SMALL,
            },
        }
    )
    target = TextField.learn(TextConfig(unit="character"), ["abc"], seed=1)
    field = learn_field(source, [], seed=1)
    network = build_sequence_model(config.model, source=field.items, target=target.items)
    return TextPredictor(config, field, target, network)


def look(reader: TextPredictor, cell: str, output: str | None = None) -> MediaAttention:
    return attention_over_media(reader, explain_output(reader, cell, output))


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
    found = look(model(source, widths=[4, 6], grid=grid), picture, "abca")
    assert isinstance(found, PictureAttention)
    assert found.target == ("a", "b", "c", "a", "<end>")
    assert found.weights.shape == (5, *shape)
    np.testing.assert_allclose(found.weights.sum(axis=(1, 2)), 1, atol=1e-5)
    assert found.picture.shape == (16, 24, 1)
    assert text_of(found).count("\n") == 5


def test_a_recording_and_its_files(tmp_path: Path) -> None:
    """Time across; the same in the terminal, as JSON and as pictures."""
    soundfile.write(tmp_path / "tone.wav", np.sin(np.arange(4_000) / 3), 8_000)
    reader = model(SoundConfig(rate=8_000, bands=10), width=8)
    assert is_media(reader.source)
    assert not is_media(reader.target)
    found = look(reader, str(tmp_path / "tone.wav"), "ab")
    assert isinstance(found, SoundAttention)
    assert found.attention.weights.shape == (3, 12)  # 48 frames, halved twice
    assert found.seconds == pytest.approx(0.48)
    assert found.as_dict()["target"] == ["a", "b", "<end>"]
    for ending in ("png", "svg", "html", "json"):
        write(found, tmp_path / f"look.{ending}", title="look")
        assert (tmp_path / f"look.{ending}").stat().st_size > 200


@pytest.mark.parametrize("grid", ["whole", "cells"])
def test_a_video_and_its_files(grid: str, tmp_path: Path) -> None:
    """Every token's weights over the frames sum to 1, those of a frame's cells taken together."""
    np.save(tmp_path / "clip.npy", np.random.default_rng(1).integers(0, 256, (5, 8, 8), np.uint8))
    reader = model(VideoConfig(height=8, width=8), widths=[4], grid=grid)
    assert is_media(reader.source)
    found = look(reader, str(tmp_path / "clip.npy"), "ab")
    assert isinstance(found, VideoAttention)
    assert found.frames.shape == (5, 8, 8, 3)
    assert found.attention.source == tuple(f"frame {number}" for number in range(1, 6))
    assert found.attention.weights.shape == (3, 5)
    np.testing.assert_allclose(found.attention.weights.sum(axis=1), 1, atol=1e-5)
    assert found.as_dict()["target"] == ["a", "b", "<end>"]
    write(found, tmp_path / "look.svg", title="look")
    assert (tmp_path / "look.svg").read_text().count("<image") == 2  # a strip and a table
    assert "frame" in text_of(found)


def test_frames_that_become_their_mean_are_one_picture(tmp_path: Path) -> None:
    """What is looked at is a cell of all frames."""
    frames = np.random.default_rng(2).integers(0, 256, (4, 8, 8), np.uint8)
    np.save(tmp_path / "clip.npy", frames)
    reader = model(VideoConfig(height=8, width=8, colour=False), widths=[4], frames="mean")
    found = look(reader, str(tmp_path / "clip.npy"), "ab")
    assert isinstance(found, PictureAttention)
    assert found.weights.shape == (3, 4, 4)
    np.testing.assert_allclose(found.picture[:, :, 0], frames.mean(axis=0))


def test_pictures_are_drawn_with_a_panel_a_token(picture: str, tmp_path: Path) -> None:
    found = look(model(PictureConfig(height=8, width=8), widths=[4]), picture, "abcabcabc")
    write(found, tmp_path / "look.svg", title="look")
    drawn = (tmp_path / "look.svg").read_text()
    assert drawn.count("<image") == 10


def test_its_own_output_is_looked_at_where_none_is_given(picture: str) -> None:
    reader = model(PictureConfig(height=8, width=8), widths=[4])
    found = look(reader, picture)
    assert len(found.as_dict()["target"]) == len(reader(picture).ids)


def test_what_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        look(model(PictureConfig(height=8, width=8), widths=[4]), str(tmp_path / "none.png"))
