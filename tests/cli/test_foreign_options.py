"""Options of other toolkits are answered with the option that does it here, in one sentence."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from seqloom.api.train import train
from seqloom.cli.app import app
from seqloom.cli.wording import CommandWording
from seqloom.config import check_names, parse_assignments
from seqloom.errors import ConfigError
from seqloom.foreign_options import OUTPUT_ANSWERS, TRAINING_ANSWERS, answer_of
from seqloom.remedies import PYTHON
from tests.cli.support import Command
from tests.runs.support import PAIRS, write_pairs

TRIED = [
    ("--epochs", "3", "--set training.updates="),
    ("--batch-size", "32", "--set training.batch_tokens="),
    ("--lr", "0.1", "--set training.rate="),
    ("--learning-rate=0.1", None, "--set training.rate="),
    ("--gpu", None, "--device cuda"),
    ("--hidden-size", "64", "--set model.encoder.width="),
    ("--layers", "2", "--set model.encoder.layers="),
    ("--val", "dev.tsv", "--valid FILE"),
    ("--output-dir", "out", "--run DIR"),
    ("--num_train_epochs", "3", "--set training.updates="),
]


@pytest.mark.parametrize(("option", "value", "part"), TRIED)
def test_the_command_line_answers(
    option: str, value: str | None, part: str, command: Command, tmp_path: Path
) -> None:
    data = write_pairs(tmp_path / "pairs.tsv")
    given = [option] if value is None else [option, value]
    told = command("train", data, "--run", tmp_path / "run", *given)
    assert told.code == 2
    assert told.sentence.startswith(f"{option.partition('=')[0]}: ")
    assert part in told.sentence
    assert len(told.err.splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["epochs", "training.batch_size", "optimizer.lr", "hidden_size"])
def test_python_and_set_answer_alike(name: str, command: Command, tmp_path: Path) -> None:
    last = name.rpartition(".")[2]
    answer = answer_of(last)
    assert answer
    with pytest.raises(ConfigError) as caught:
        train(PAIRS, tmp_path / "run", options=parse_assignments([f"{name}=3"]))
    cure = PYTHON.remedy(answer.remedy)
    assert "options={" in cure
    assert str(caught.value) == f"options: there is no option {name}; {cure}"
    data = write_pairs(tmp_path / "pairs.tsv")
    told = command("train", data, "--run", tmp_path / "run", "--set", f"{name}=3")
    assert (told.code, CommandWording().remedy(answer.remedy) in told.sentence) == (2, True)


def test_an_unknown_option_is_one_sentence(command: Command, tmp_path: Path) -> None:
    """With the nearest name, and where all are listed."""
    data = write_pairs(tmp_path / "pairs.tsv")
    told = command("train", data, "--rum", tmp_path / "run")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert "--run" in told.sentence
    told = command("evaluate", tmp_path, data, "--frobnicate")
    assert (told.code, told.sentence) == (
        2,
        "--frobnicate: seqloom evaluate has no such option; seqloom evaluate --help lists all",
    )
    told = command("predict", tmp_path, "--epochs", "3")
    assert told.code == 2
    assert told.sentence.startswith("--epochs: seqloom predict has no such option; in seqloom tra")
    told = command("train", data, "--run", tmp_path / "run", "--num-beams", "3")
    assert told.sentence.endswith("has no such option; write --set search.beam=5")
    told = command("predict", tmp_path, "--num-beams", "3")
    assert told.sentence == "--num-beams: seqloom predict has no such option; write --beam 5"


def test_every_answer_names_options_that_exist() -> None:
    commands = getattr(get_command(app), "commands", {})
    flags = {
        flag
        for each in commands.values()
        for parameter in (each.complete() if hasattr(each, "complete") else each).params
        for flag in parameter.opts
    }
    for names, remedy in {**TRAINING_ANSWERS, **OUTPUT_ANSWERS}.items():
        answer = CommandWording().remedy(remedy)
        for assignment in re.findall(r"--set (\S+=[^\s,]+)", answer):
            check_names(parse_assignments([assignment]), place=names)
        for flag in re.findall(r"--[a-z-]+", answer):
            assert flag in flags, (names, flag)


def test_the_beginning_of_an_option_comes_first(command: Command, tmp_path: Path) -> None:
    """`export` has an --output, so that its --out is no option of another toolkit."""
    told = command("export", tmp_path, "--to", "onnx", "--out", "m.onnx")
    assert told.sentence == "--out: seqloom export has no such option; did you mean --output?"
