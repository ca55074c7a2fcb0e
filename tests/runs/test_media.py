"""Pictures, sound and videos from files to outputs (S3.4, S3.5; RELIABILITY, data)."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from seqloom.api.describe import check_data, describe
from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import ConfigError, DataError
from seqloom.fields import SoundField, Values, VideoField
from seqloom.fields import file_fields as named
from seqloom.nn.resnet import ResNet
from seqloom.runs import data_check
from seqloom.runs.contents import best_step, model_weights
from seqloom.runs.request import TrainingRequest
from seqloom.store import RunDirectory
from tests.runs.media_runs import (
    SIZE,
    options,
    pictures_,
    sound_options,
    sounds_,
    video_options,
    videos_,
)

__all__ = ["pictures_", "sounds_", "videos_"]

CONVOLUTIONS = "encoder.front.convolutions."


def tensors(run: Path, step: int | None = None) -> dict[str, torch.Tensor]:
    """The weights of a run as it is used, or as it was at a step."""
    directory = RunDirectory(run)
    if step is None:
        return model_weights(best_step(directory))
    return next(each for each in directory.checkpoints() if each.number == step).load("model")


@pytest.fixture(name="classifier")
def classifier_(pictures: Path, tmp_path: Path) -> Path:
    front = {"kind": "picture", "widths": [4, 6]}
    train(pictures, tmp_path / "classifier", options=options("label", front=front))
    return tmp_path / "classifier"


def test_convolutions_of_a_classifier_stay_in_a_captioner(
    pictures: Path, classifier: Path, tmp_path: Path
) -> None:
    """They begin as they were there, are not learnt on, and the rest is (S3.4)."""
    front = {"kind": "picture", "widths": [4, 6], "weights": str(classifier)}
    run = tmp_path / "captioner"
    train(pictures, run, options=options("text", front=front, freeze="front", average="none"))
    before, first, last = (tensors(classifier), tensors(run, 0), tensors(run))
    kept = [name for name in last if name.startswith(CONVOLUTIONS)]
    assert len(kept) == 2 * 6
    for name in kept:
        assert torch.equal(last[name], before[name])
    learnt = [name for name in last if name not in kept]
    assert any(not torch.equal(last[name], first[name]) for name in learnt)
    assert "encoder.inner.embedding.map.weight" in learnt


def test_a_saved_model_reads_pictures_as_before(pictures: Path, classifier: Path) -> None:
    """And `evaluate` looks for files beside its data."""
    model = load(classifier)
    cells = [str(pictures.parent / f"{number}.png") for number in range(4)]
    assert [each.text for each in model.predict(cells)] == [
        load(classifier)(cell).text for cell in cells
    ]
    assert evaluate(model, pictures).report.kept == 16


@pytest.mark.parametrize("name", ["missing.safetensors", "rows.tsv"])
def test_weights_that_are_none(name: str, pictures: Path, tmp_path: Path) -> None:
    front = {"kind": "picture", "widths": [4], "weights": str(tmp_path / name)}
    with pytest.raises(ConfigError, match="model.front.weights = .*safetensors file"):
        train(pictures, tmp_path / "run", options=options("label", front=front))


def test_weights_of_another_shape(pictures: Path, classifier: Path, tmp_path: Path) -> None:
    """The name, both shapes and the cure."""
    front = {"kind": "picture", "widths": [4, 8], "weights": str(classifier)}
    with pytest.raises(ConfigError, match=r"stages\.1\.halve\.weight is of shape .*\(8, 4, 3, 3\)"):
        train(pictures, tmp_path / "run", options=options("label", front=front))


def test_published_weights_load(pictures: Path, tmp_path: Path) -> None:
    """A file with the names that torchvision and timm give, a classifier and counters in it too."""
    torch.manual_seed(2)
    weights = {
        name: torch.rand(value.shape) / 100 + name.endswith("running_var")
        for name, value in ResNet(18).named_parameters()
    }
    more = {"fc.weight": torch.zeros(3, 512), "bn1.num_batches_tracked": torch.tensor(5)}
    save_file({**weights, **more}, tmp_path / "resnet18.safetensors")
    front = {"kind": "resnet", "weights": str(tmp_path / "resnet18.safetensors"), "grid": "one"}
    asked = options("label", front=front, updates=1, validate_every=1, freeze="front")
    asked["source"] = {**SIZE, "colour": True}
    train(pictures, tmp_path / "run", options=asked)
    found = tensors(tmp_path / "run")
    assert len([name for name in found if name.startswith(CONVOLUTIONS)]) == len(weights)
    for name, value in weights.items():
        assert torch.equal(found[CONVOLUTIONS + name], value)
    assert load_file(tmp_path / "resnet18.safetensors").keys() >= weights.keys()


def test_sound_is_written_down_by_a_recurrent_model(sounds: Path, tmp_path: Path) -> None:
    """The plan for sound; the rate is that of the files, and the scores tell the errors."""
    run = train(sounds, tmp_path / "run", options=sound_options())
    model = load(tmp_path / "run")
    assert isinstance(model.source, SoundField)
    assert model.source.rate == 8_000
    assert model.config.model.encoder.kind == model.config.model.decoder.kind == "recurrent"
    assert {"WER", "CER"} <= run.best.scores.keys()
    assert evaluate(model, sounds).report.kept == 16


def test_alignments_are_learnt_from_and_resumed_exactly(sounds: Path, tmp_path: Path) -> None:
    """Two sittings leave the same weights as one; what cannot be aligned has its row named."""
    chosen = sound_options(updates=4, validate_every=2)
    chosen["model"] |= {"ctc": 0.3, "front": {"kind": "sound", "width": 8, "halvings": 1}}
    train(sounds, tmp_path / "one", options=chosen)
    train(sounds, tmp_path / "two", options=chosen, until=2)
    train(sounds, tmp_path / "two", options=chosen)
    one, two = (tensors(tmp_path / name, 4) for name in ("one", "two"))
    assert one.keys() == two.keys() >= {"aligner.output.weight", "aligner.output.bias"}
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert "aligner: output layer" in "\n".join(describe(tmp_path / "one").lines())
    sounds.write_text(f"{sounds.read_text()}0.wav\t{'lo' * 40}\n")
    with pytest.raises(DataError, match=r"sounds\.tsv:17: the target has 80 symbols and the rec"):
        train(sounds, tmp_path / "three", valid=sounds, options=chosen)
    chosen["training"]["truncate"] = 2
    with pytest.raises(ConfigError, match="needs whole targets; set training.truncate=0"):
        train(sounds, tmp_path / "four", options=chosen)


def test_a_bad_file_is_named_with_its_row(sounds: Path, tmp_path: Path) -> None:
    """Row, column, file and cure; or it is counted and left out."""
    (tmp_path / "2.wav").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"sounds\.tsv:3: source: .*2\.wav cannot be read .*; give"):
        train(sounds, tmp_path / "run", options=sound_options())
    left = sound_options()
    left["data"] = {"valid_share": 0.25, "skip_bad": True}
    train(sounds, tmp_path / "other", options=left)
    assert evaluate(load(tmp_path / "other"), sounds, options=left).report.kept == 15


@pytest.mark.parametrize("target", ["text", "label"])
def test_videos_are_described_or_judged(videos: Path, target: str, tmp_path: Path) -> None:
    """The plan for videos: a map of each frame, read by an encoder; frames past the most are left
    out, and fewer are fine."""
    train(videos, tmp_path / "run", options=video_options(target))
    model = load(tmp_path / "run")
    front = model.config.model.front
    assert (front.kind, getattr(front, "grid", None)) == ("picture", "whole")
    assert evaluate(model, videos).report.kept == 16
    cells = [str(videos.parent / f"{number}.npy") for number in range(4)]
    together = [each.text for each in model.predict(cells)]
    assert together == [model(cell).text for cell in cells]


def test_a_bad_video_is_named_with_its_row(videos: Path, tmp_path: Path) -> None:
    """Row, column, file and cure; or it is counted and left out."""
    np.save(tmp_path / "2.npy", np.zeros((0, 8, 8), np.uint8))
    with pytest.raises(DataError, match=r"videos\.tsv:3: source: .*2\.npy has no frames; save"):
        train(videos, tmp_path / "run", options=video_options())
    left = video_options(skip_bad=True)
    train(videos, tmp_path / "other", options=left)
    assert evaluate(load(tmp_path / "other"), videos, options=left).report.kept == 15


def files_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all videos that are read from now on, once for each time."""
    read: list[str] = []
    original = VideoField._row

    def counted(field: VideoField, cell: str) -> Values:
        read.append(cell)
        return original(field, cell)

    monkeypatch.setattr(VideoField, "_row", counted)
    return read


def test_each_file_is_read_once(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For training, and again for evaluation, however often its row is asked for; for training and
    for prediction, even where no more than one row is remembered."""
    read = files_read(monkeypatch)
    train(videos, tmp_path / "run", options=video_options())
    assert len(read) == len(set(read)) == 16
    read.clear()
    evaluate(load(tmp_path / "run"), videos)
    assert len(read) == len(set(read)) == 16
    monkeypatch.setattr(named, "CACHE_BYTES", 1)
    read.clear()
    train(videos, tmp_path / "other", options=video_options())
    assert len(read) == len(set(read)) == 16
    cells, model = read.copy(), load(tmp_path / "other")
    read.clear()
    model.predict(cells)
    assert read == cells


def test_check_measures_some_files(videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From all over, and one at a time; every file is looked at once more, for its faults."""
    read = files_read(monkeypatch)
    monkeypatch.setattr(named, "CACHE_BYTES", 1)
    monkeypatch.setattr(data_check, "MAX_MEASURED_FILES", 4)
    list(check_data(TrainingRequest(videos, options=video_options())))
    assert [Path(name).stem for name in read[:4]] == ["0", "5", "10", "15"]
    assert len(read) == 4 + 16


def test_check_counts_files_of_which_none_can_be_read(videos: Path) -> None:
    """And says so in one sentence, with all else that it finds."""
    for path in videos.parent.glob("*.npy"):
        path.unlink()
    with pytest.raises(DataError, match=r"videos\.tsv: 16 rows cannot be used; mend them"):
        list(check_data(TrainingRequest(videos, options=video_options())))
