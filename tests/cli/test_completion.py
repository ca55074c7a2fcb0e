"""Shells complete commands, options, names of options and runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from seqloom.cli.completions import complete_model, complete_option, complete_run
from seqloom.config import option_names


@pytest.mark.parametrize(
    ("shell", "sign"),
    [("bash", "complete -o default"), ("zsh", "#compdef seqloom"), ("fish", "complete --command")],
)
def test_a_script_is_written_for_each_shell(
    shell: str, sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script calls the command back with the variable that it answers to."""
    script = answer(monkeypatch, _SEQLOOM_COMPLETE=f"source_{shell}")
    assert sign in script
    assert f"_SEQLOOM_COMPLETE=complete_{shell}" in script


def answer(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    """What `seqloom` prints in the environment that a shell makes for it."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    words = [sys.executable, "-m", "seqloom"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_bash_completes_what_is_being_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script of bash, sourced and called as bash calls it: options known late are there too."""
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "config.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_SEQLOOM_COMPLETE", "complete_bash")
    for words, place, wanted in (
        ("seqloom predict ru", "2", "runs/mine"),
        ("seqloom predict runs/mine --sea", "3", "--search"),
        ("seqloom export runs/mine --to on", "4", "onnx"),
        ("seqloom predict runs/mine --search bea", "4", "beam"),
    ):
        assert wanted in answer(monkeypatch, COMP_WORDS=words, COMP_CWORD=place).split()


def test_runs_options_and_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only directories with a config.toml are runs; every option can be reached from its start."""
    for name in ("runs/a", "runs/b", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "runs/a/config.toml").touch()
    monkeypatch.chdir(tmp_path)
    assert complete_run("") == complete_run("ru") == complete_run("runs/") == ["runs/a"]
    assert complete_run("x") == []
    names = {each.removesuffix("=") for each in complete_option("training.")}
    assert names == {name for name in option_names() if name.startswith("training.")}
    assert complete_model("tr") == ["transformer"]
