"""A student learns its teacher's outputs, and a distillation that was stopped goes on."""

import json
from pathlib import Path

import pytest

from seqloom.api.distill import DistillationOptions, distill
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import ConfigError, RunError
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, options

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
    assert result.teacher.scores[0].name == result.student.scores[0].name
    assert min(result.teacher.rows_per_second, result.student.megabytes) > 0


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
