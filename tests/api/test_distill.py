"""A student learns its teacher's outputs, and a distillation that was stopped goes on."""

import json
from pathlib import Path

import numpy as np
import pytest

from seqloom.api.distill import DistillationOptions, distill
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import ConfigError, Interrupted, RunError
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, assert_same, at, interrupt, options

STUDENT = options("transformer", dropout=0.0, updates=2, validate_every=2)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("teacher"))


def pairs_of(run: Path) -> list[dict[str, object]]:
    lines = (run / "distilled" / "pairs.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_student_learns_the_outputs_and_not_the_targets(teacher: Path, tmp_path: Path) -> None:
    """Every training source once, each with what the teacher gives for it."""
    more = tmp_path / "more.txt"
    more.write_text("ab\n\nba\n", encoding="utf-8")
    settings = DistillationOptions(more=more, model="auto")
    result = distill([teacher], tmp_path / "student", settings=settings, options=STUDENT)
    pairs = pairs_of(tmp_path / "student")
    model = load(teacher)
    sources = [str(pair["source"]) for pair in pairs]
    assert {source for source, _ in PAIRS} | {"ab", "ba"} >= set(sources)
    assert len(set(sources)) == len(sources) >= len(PAIRS) // 2
    outputs = [output.text for output in model.predict(sources)]
    assert [pair["target"] for pair in pairs] == outputs
    assert result.training.steps == 2
    assert result.teacher is not None
    assert result.teacher.scores[0].name == result.student.scores[0].name
    assert min(result.teacher.rows_per_second, result.student.megabytes) > 0


def soft_options(**teaching: object) -> dict[str, object]:
    return {**STUDENT, "training": {**STUDENT["training"], "teaching": teaching}}


def test_a_token_level_student_takes_on_its_teacher_s_doubts(teacher: Path, tmp_path: Path) -> None:
    """With the whole loss from the teacher's distribution, the log-probabilities of its outputs are
    the teacher's; a student of the labels alone is sure of them, and 2 nats away."""
    chosen = options("transformer", dropout=0.0, updates=120, validate_every=120, rate=1e-2)
    chosen["training"] |= {"teaching": {"share": 1.0, "symbols": 30}, "average": "none"}
    settings = DistillationOptions(model="auto", token_level=True)
    distill([teacher], tmp_path / "student", settings=settings, options=chosen)
    one, other = load(teacher), load(tmp_path / "student")
    assert one.target.fingerprint == other.target.fingerprint
    pairs = [(str(pair["source"]), str(pair["target"])) for pair in pairs_of(tmp_path / "student")]
    scored = zip(one.score(pairs), other.score(pairs), strict=True)
    off = [abs(a.log_probability - b.log_probability) for a, b in scored]
    assert sum(off) / len(off) < 0.4


def test_a_stopped_token_level_distillation_goes_on_to_the_same_bits(
    teacher: Path, tmp_path: Path
) -> None:
    """Whether it was stopped in asking the teacher, wherever its files were cut, or in training."""
    settings = DistillationOptions(model="auto", token_level=True)
    chosen = soft_options(temperature=2.0, symbols=4)
    distill([teacher], tmp_path / "whole", settings=settings, options=chosen)
    positions = tmp_path / "whole" / "distilled" / "positions"
    whole = {name: (positions / name).read_bytes() for name in ("symbols", "probabilities")}
    for kept in (0, 30, 401):
        for name, content in whole.items():
            (positions / name).write_bytes(content[:kept])
        distill([teacher], tmp_path / "whole", settings=settings, options=chosen)
        assert {name: (positions / name).read_bytes() for name in whole} == whole
    with pytest.raises(Interrupted):
        distill(
            [teacher], tmp_path / "parts", settings=settings, options=chosen, watch=at(1, interrupt)
        )
    distill([teacher], tmp_path / "parts", settings=settings, options=chosen)
    assert_same(tmp_path / "whole", tmp_path / "parts")


def test_labels_are_distilled_with_their_distribution(tmp_path: Path) -> None:
    """Two classifiers are the teachers of one, which learns what both say on average."""
    rows = [(source, "ab"[source[0] in "ab"]) for source, _ in PAIRS]
    small = {**STUDENT, "target": {"kind": "label"}, "model": {}}
    for seed in (1, 2):
        train(rows, tmp_path / str(seed), options={**small, "seed": seed})
    runs = [tmp_path / "1", tmp_path / "2"]
    settings = DistillationOptions(model="auto", token_level=True)
    result = distill(
        runs, tmp_path / "one", settings=settings, options={"training": small["training"]}
    )
    assert result.student.scores[0].name == "accuracy"
    taught = np.fromfile(tmp_path / "one" / "distilled" / "positions" / "probabilities", "<f2")
    assert taught.reshape(-1, 8).sum(axis=1) == pytest.approx(1.0, abs=2e-3)


def test_token_level_teachers_need_one_vocabulary(teacher: Path, tmp_path: Path) -> None:
    train(
        PAIRS[:40],
        tmp_path / "other",
        options={**STUDENT, "target": {"kind": "label"}, "model": {}},
    )
    asked = soft_options(runs=[str(teacher), str(tmp_path / "other")])
    with pytest.raises(ConfigError, match="another vocabulary"):
        train(PAIRS, tmp_path / "student", options=asked)


def test_the_other_direction_is_learnt_from_texts_alone(teacher: Path, tmp_path: Path) -> None:
    """The known pairs turned round, then each further text after what the teacher makes of it; cut
    anywhere, the same again."""
    more = tmp_path / "more.txt"
    more.write_text("bei\ndgj\n", encoding="utf-8")
    settings = DistillationOptions(more=more, back=True, model="auto")
    run = tmp_path / "student"
    result = distill([teacher], run, settings=settings, options=STUDENT)
    assert result.teacher is None
    pairs = [(pair["source"], pair["target"]) for pair in pairs_of(run)]
    known = {(target, source) for source, target in PAIRS}
    new = [text for text in ("bei", "dgj") if all(pair[1] != text for pair in pairs[:-2])]
    assert set(pairs[: len(pairs) - len(new)]) <= known
    model = load(teacher)
    assert pairs[len(pairs) - len(new) :] == [(model(text).text, text) for text in new]
    whole = (run / "distilled" / "pairs.jsonl").read_bytes()
    (run / "distilled" / "pairs.jsonl").write_bytes(whole[: len(whole) - 5])
    distill([teacher], run, settings=settings, options=STUDENT)
    assert (run / "distilled" / "pairs.jsonl").read_bytes() == whole


def test_a_classifier_has_no_other_direction(tmp_path: Path) -> None:
    small = {**STUDENT, "target": {"kind": "label"}, "model": {}}
    train([(source, target[0]) for source, target in PAIRS], tmp_path / "one", options=small)
    with pytest.raises(ConfigError, match="whose source and target are both text"):
        distill([tmp_path / "one"], tmp_path / "two", settings=DistillationOptions(back=True))
    assert not (tmp_path / "two").exists()


def test_a_stopped_distillation_goes_on_to_the_same_pairs(teacher: Path, tmp_path: Path) -> None:
    """Wherever the file of pairs was cut, within a line or between two."""
    run, settings = tmp_path / "student", DistillationOptions(model="auto", n_best=2)
    distill([teacher], run, settings=settings, options=STUDENT)
    whole = (run / "distilled" / "pairs.jsonl").read_bytes()
    for kept in (0, len(whole) // 3, len(whole) - 1):
        (run / "distilled" / "pairs.jsonl").write_bytes(whole[:kept])
        distill([teacher], run, settings=settings, options=STUDENT)
        assert (run / "distilled" / "pairs.jsonl").read_bytes() == whole


def test_a_damaged_file_of_outputs_is_named(teacher: Path, tmp_path: Path) -> None:
    run, settings = tmp_path / "student", DistillationOptions(model="auto")
    distill([teacher], run, settings=settings, options=STUDENT)
    (run / "distilled" / "pairs.jsonl").write_bytes(b"{\n")
    with pytest.raises(RunError, match=r"pairs\.jsonl: a line is damaged; remove"):
        distill([teacher], run, settings=settings, options=STUDENT)


def test_true_targets_are_learnt_where_asked(teacher: Path, tmp_path: Path) -> None:
    settings = DistillationOptions(model="auto", references=True)
    distill([teacher], tmp_path / "student", settings=settings, options=STUDENT)
    known = {(str(pair["source"]), pair["target"]) for pair in pairs_of(tmp_path / "student")}
    outputs = {source: load(teacher)(source).text for source, _ in known}
    assert any(target != outputs[source] for source, target in known)


def test_other_settings_on_the_same_run_are_refused(teacher: Path, tmp_path: Path) -> None:
    run = tmp_path / "student"
    distill([teacher], run, settings=DistillationOptions(model="auto"), options=STUDENT)
    before = (run / "distilled" / "pairs.jsonl").read_bytes()
    with pytest.raises(RunError, match="other teachers"):
        distill([teacher], run, settings=DistillationOptions(model="auto", n_best=2))
    assert (run / "distilled" / "pairs.jsonl").read_bytes() == before


def test_a_teacher_without_a_source_is_refused(tmp_path: Path) -> None:
    lines = [(target,) for _, target in PAIRS]
    chosen = {**STUDENT, "source": {"kind": "none"}, "model": {}}
    train(lines, tmp_path / "teacher", options=chosen)
    with pytest.raises(ConfigError, match="no source column"):
        distill([tmp_path / "teacher"], tmp_path / "student")
    assert not (tmp_path / "student").exists()


def test_a_teacher_of_several_columns_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    """Nothing is written, and no output is waited for."""
    rows = [(source, "x", target) for source, target in PAIRS]
    chosen = {**STUDENT, "source": {"kind": "columns"}, "data": {"source": "1,2", "target": "3"}}
    train(rows, tmp_path / "teacher", options=chosen)
    with pytest.raises(ConfigError, match="texts in one column"):
        distill([tmp_path / "teacher"], tmp_path / "student")
    assert not (tmp_path / "student").exists()
