"""Tags from end to end: what is learnt, and what is said of rows that do not fit."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.report import report
from seqloom.api.train import train
from seqloom.config import ColumnStatistics, Facts, TextConfig, TransformerEncoderConfig, plan
from seqloom.errors import DataError
from seqloom.tasks import Evaluation

SHORT: dict[str, Any] = {"workers": 1, "curves": False, "average": "none", "samples": 0}
ENDINGS = {"ly": "ADV", "ing": "VERB", "ness": "NOUN", "ful": "ADJ"}


def tagged(rows: int, *, seed: int) -> list[tuple[str, str]]:
    """Invented stems, nearly all of them new, whose endings tell the tag."""
    chance = random.Random(seed)
    sentences = []
    for _ in range(rows):
        stems = ["".join(chance.choices("bdgkmprst", k=4)) for _ in range(chance.randint(2, 6))]
        ends = [chance.choice(list(ENDINGS)) for _ in stems]
        words = [stem + end for stem, end in zip(stems, ends, strict=True)]
        sentences.append((" ".join(words), " ".join(ENDINGS[end] for end in ends)))
    return sentences


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("tagger")
    options = {
        "target": "tags",
        "model": {"embedding": 8, "letters": 24, "encoder": {"width": 12, "layers": 1}},
        "training": {**SHORT, "updates": 120, "batch_tokens": 512, "rate": 2e-2, "warmup": 10},
    }
    train(tagged(200, seed=1), run, valid=tagged(30, seed=2), options=options)
    return run


def test_unknown_words_are_tagged_by_their_letters(tagger: Path) -> None:
    """Words that were never seen are right nearly always, where their commonest tag is a guess."""
    found = evaluate(load(tagger), tagged(60, seed=3))
    assert isinstance(found, Evaluation)
    assert found.scores[0].value >= 95
    assert found.baselines["commonest tag of each word"].value < 50
    assert found.lines()[-1 - len(found.baselines) :] == [
        "baselines",
        *(f"{name}: {score}" for name, score in found.baselines.items()),
    ]


def test_rows_that_do_not_fit_are_named_or_counted(tagger: Path, tmp_path: Path) -> None:
    """RELIABILITY B1: a strange tag is an error, and a misaligned row is told with its place and
    its cure."""
    model = load(tagger)
    path = tmp_path / "test.tsv"
    path.write_text("badly\tADV\nbadly\tADW\nbadly mapful\tADW\n")
    with pytest.raises(DataError) as caught:
        evaluate(model, path)
    assert str(caught.value) == (
        f"{path}:3: the source has 2 tokens and the target 1 tags; give each token one tag, or "
        "pass options={'data': {'skip_bad': True}}"
    )
    found = evaluate(model, path, options={"data": {"skip_bad": True}})
    assert (found.report.kept, found.report.total_dropped) == (2, 1)
    assert found.report.unseen == {"ADW": 1}, "of the rows that count"
    path.write_text("badly\tADV\nbadly mapful\tADV\n")
    with pytest.raises(DataError, match=r"tsv:2: the source has 2 tokens and the target 1 tags"):
        evaluate(model, path)


def test_without_its_training_rows_a_run_is_measured_alone(tagger: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tagger, copy)
    shutil.rmtree(copy / "cache")
    rows = tagged(10, seed=4)
    found, whole = evaluate(load(copy), rows), evaluate(load(tagger), rows)
    assert isinstance(found, Evaluation)
    assert (found.scores, found.baselines) == (whole.scores, {})
    assert "are gone; train on to have them back" in found.lines()[-1]


def test_tags_may_hold_a_space(tmp_path: Path) -> None:
    """Training, evaluation and the report count one tag for each word, whatever is in it."""
    path = tmp_path / "names.tagged"
    sentences = ["Ada\tproper noun\nsat\tverb\n", "Bo\tproper noun\nran\tverb\nso\tadverb\n"]
    path.write_text("\n".join(sentences * 3))
    short = {"training": {**SHORT, "updates": 1, "batch_tokens": 64}, "model": {"embedding": 8}}
    train(str(path), tmp_path / "run", valid=str(path), options=short)
    model = load(tmp_path / "run")
    assert evaluate(model, str(path)).scores[0].signature == "rows:6|tags:15"
    made = report(tmp_path / "run")
    right = {each.reference: each.quality for each in made.report_rows}
    assert set(right) == {"proper\u00a0noun verb", "proper\u00a0noun verb adverb"}
    assert all(0 <= quality <= 100 for quality in right.values())


SENTENCES = ColumnStatistics(70.0, 13.0, 11.5, 60, 15_000, 10_000)


@pytest.mark.parametrize("preset", ["auto", "transformer", "lstm"])
@pytest.mark.parametrize("kind", ["label", "tags", "number"])
def test_every_preset_can_read_for_every_judged_target(kind: str, preset: str) -> None:
    """What is chosen fits together: the head follows the target, and widths agree."""
    config = plan({"target": kind}, Facts(7_000, SENTENCES, SENTENCES), preset=preset)
    assert config.model.decoder.kind == kind
    assert isinstance(config.source, TextConfig)
    assert (config.source.spelling > 0) == (kind == "tags")
    spelt = config.model.letters if config.source.spelling else 0
    if isinstance(config.model.encoder, TransformerEncoderConfig):
        assert config.model.embedding + spelt == config.model.encoder.width
