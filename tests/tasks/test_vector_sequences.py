"""Sequences of numbers from end to end: classified, measured, tagged and put into words (S1.1)."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import ColumnStatistics, Facts, plan
from seqloom.errors import ConfigError, DataError, InputError
from seqloom.explain import attribution_view
from seqloom.fields import Numbers, Pixels, Symbols
from seqloom.model import build
from seqloom.serving.inputs import check_kinds, texts
from seqloom.tasks import Evaluation, task_of

SHORT: dict[str, Any] = {"workers": 1, "curves": False, "average": "none", "samples": 0}
SMALL: dict[str, Any] = {
    "embedding": 12,
    "encoder": {"kind": "recurrent", "unit": "gru", "width": 12, "layers": 1, "dropout": 0.0},
}


def waves(rows: int, *, seed: int) -> list[tuple[list[float], str]]:
    """Numbers far from 0, whose sign around 100 changes at random, and where it does."""
    chance = random.Random(seed)
    found = []
    for _ in range(rows):
        signs = [chance.choice([-1, 1]) for _ in range(chance.randint(3, 12))]
        numbers = [round(100 + 5 * sign * chance.uniform(0.5, 1), 3) for sign in signs]
        changes = [one != other for one, other in zip([signs[0], *signs], signs, strict=False)]
        found.append((numbers, " ".join("change" if each else "same" for each in changes)))
    return found


def circles(rows: int, *, seed: int, target: str) -> list[tuple[np.ndarray, str]]:
    """Points on a circle, passed by one way or the other, and the way, or the angle of a step."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(rows):
        angle = chance.uniform(0.3, 0.8) * chance.choice([-1, 1])
        phases = chance.uniform(0, 2 * math.pi) + angle * np.arange(chance.integers(5, 12))
        said = {"label": "left" if angle > 0 else "right", "number": f"{angle:.4f}"}
        said["text"] = f"turns {said['label']}"
        found.append((np.stack([np.cos(phases), np.sin(phases)], axis=1), said[target]))
    return found


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("tagger")
    training = {**SHORT, "updates": 120, "rate": 3e-2, "warmup": 10}
    options = {"source": "vectors", "target": "tags", "model": SMALL, "training": training}
    train(waves(200, seed=1), run, valid=waves(20, seed=2), options=options)
    return run


def test_changes_of_sign_are_tagged_step_by_step(tagger: Path) -> None:
    """What a step is called depends on the one before it."""
    found = evaluate(load(tagger), waves(60, seed=3))
    assert isinstance(found, Evaluation)
    assert found.scores[0].value >= 95
    assert found.baselines["commonest tag"].value < 65


def test_an_input_is_read_alike_in_every_form(tagger: Path, tmp_path: Path) -> None:
    """Lists, arrays, texts and array files; alone, and in a batch of unequal lengths."""
    model, (numbers, _) = load(tagger), waves(1, seed=4)[0]
    path = tmp_path / "wave.npy"
    np.save(path, np.array(numbers))
    forms: list[Any] = [numbers, [[each] for each in numbers], np.array(numbers)]
    forms += [json.dumps(numbers), " ".join(map(str, numbers)), str(path), numbers[:2]]
    outputs = model.predict(forms)
    assert len({output.text for output in outputs[:-1]}) == 1
    (alone,) = model.predict([numbers])
    assert outputs[0].score == pytest.approx(alone.score, abs=1e-5)
    assert len(outputs[-1].tokens) == 2
    table = tmp_path / "rows.jsonl"
    rows = [{"1": numbers, "2": alone.text}, {"1": "wave.npy", "2": alone.text}]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = evaluate(model, table)
    assert (found.report.kept, found.scores[0].value) == (2, 100.0), "a file lies beside the table"


def test_the_gradients_tell_which_steps_mattered(tagger: Path) -> None:
    """The erased step and the one before it say more about a change than all the others."""
    model = load(tagger)
    said = task_of(model.config).explain(model, "[95, 95, 95, 105, 105, 105]")
    found = attribution_view(model, said).attribution
    assert found.target[3] == "change"
    sizes = np.abs(found.erasure[3])
    assert sizes[2:4].sum() > sizes[[0, 1, 4, 5]].sum()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[[1, 2], [3]]", "step 2 has one number where step 1 has 2 numbers"),
        ("[[1, 2], [3, 4]]", "a step has 2 numbers where the model reads one number"),
        ("[1, NaN]", "number 1 of step 2 is nan; write finite numbers"),
        ("[1, [2]]", "step 2 and step 1 are not both lists"),
        ("[1, null]", "step 2 holds None, which is no number"),
        ("[]", "the sequence has no steps"),
        ("one", "'one' is no sequence of numbers"),
        ("missing.npy", r"missing.npy cannot be read \(No such file"),
    ],
)
def test_an_input_that_cannot_be_read_is_named(tagger: Path, given: str, said: str) -> None:
    with pytest.raises(InputError, match=f"2: {said}"):
        load(tagger).predict(["[1, 2]", given])


def test_array_files_are_never_unpickled(tagger: Path, tmp_path: Path) -> None:
    """An array of objects is refused, as are one of three axes and one of texts."""
    arrays = np.array([1, None]), np.zeros((2, 2, 2)), np.array(["1", "2"])
    for number, array in enumerate(arrays):
        path = tmp_path / f"{number}.npy"
        np.save(path, array, allow_pickle=True)
        with pytest.raises(InputError, match=r"numpy.save"):
            load(tagger).predict([str(path)])


def test_a_tag_for_a_step_that_is_not_there_is_an_error(tagger: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("[1, 2]\tsame same\n[1, 2]\tsame same same\n")
    with pytest.raises(DataError) as caught:
        evaluate(load(tagger), path)
    assert str(caught.value).startswith(
        f"{path}:2: the source has 2 steps and the target 3 tags; give each step one tag"
    )


def test_a_server_reads_lists_and_no_files(tagger: Path) -> None:
    """A stranger cannot have a file of the server opened by its name."""
    model = load(tagger)
    check_kinds("tagger", model)
    assert texts(model, [[1.0, 2.0], [[1.0], [2.0]]]) == ["[1.0, 2.0]", "[[1.0], [2.0]]"]
    with pytest.raises(DataError, match="number 1: names a file; send its numbers as a list"):
        texts(model, ["wave.npy"])


@pytest.mark.parametrize(("target", "least"), [("label", 95), ("number", 0.9), ("text", 95)])
def test_a_sequence_is_classified_measured_and_put_into_words(
    target: str, least: float, tmp_path: Path
) -> None:
    training = {**SHORT, "updates": 60, "rate": 3e-2, "warmup": 10}
    decoder = {"decoder": {"width": 12, "dropout": 0.0}} if target == "text" else {}
    options = {"source": "vectors", "target": target, "model": {**SMALL, **decoder}}
    rows, valid = (circles(n, seed=n, target=target) for n in (150, 10))
    train(rows, tmp_path, valid=valid, options={**options, "training": training})
    found = evaluate(load(tmp_path), circles(40, seed=3, target=target))
    assert found.scores[0].value >= least


STATISTICS = ColumnStatistics(70.0, 13.0, 11.5, 60, 15_000, 10_000)


@pytest.mark.parametrize("source", ["sound", "video", "vectors"])
def test_every_sequence_can_be_tagged(source: str) -> None:
    """Each frame of sound and of a video has a state of its own, and each step."""
    config = plan({"source": source, "target": "tags"}, Facts(500, STATISTICS, STATISTICS))
    items: Any = Pixels(3, 32, 32, frames=8) if source == "video" else Numbers(40)
    network = build(config.model, source=items, target=Symbols(4))
    assert network.head is not None
    assert network.head.is_aligned
    assert config.data.max_target >= min(config.data.max_source, 256)


def test_convolutions_that_join_frames_leave_none_to_tag() -> None:
    options = {"source": "sound", "target": "tags", "model": {"front": {"kind": "sound"}}}
    config = plan(options, Facts(500, STATISTICS, STATISTICS))
    with pytest.raises(ConfigError, match="does not give one vector for each item"):
        build(config.model, source=Numbers(40), target=Symbols(4))
