"""`seqloom chat`: through a pipe a reply for each turn; the conversation is kept (S8)."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom
from seqloom.api.load import load_text_predictor
from tests.cli.support import Command
from tests.runs.finished import make_run

DIALOGS = [(["ab", "b", "c", "ca", "abc", "b"],), (["c", "ca", "ab", "a"],), (["b", "c"],)] * 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on dialogs that has made two updates."""
    path = tmp_path_factory.mktemp("chat") / "run"
    tiny = {"kind": "recurrent", "width": 8, "layers": 1}
    options = {
        "data": {"source": "1", "target": "1"},
        "source": {"kind": "turns", "unit": "character"},
        "target": {"unit": "character"},
        "model": {"embedding": 8, "encoder": tiny, "decoder": tiny, "tie_output": False},
        "training": {"updates": 2, "validate_every": 2},
        "search": {"max_ratio": 1.0, "max_extra": 4},
    }
    seqloom.train(DIALOGS, path, valid=DIALOGS, model="gru", options=options)
    return path


def replies(run: Path, *turns: str) -> list[str]:
    """What a conversation in Python gives."""
    talk = seqloom.Conversation(load_text_predictor(run))
    return [list(talk.reply(turn))[-1] for turn in turns]


def test_a_pipe_has_a_reply_for_each_turn(command: Command, run: Path) -> None:
    """Blank in, blank out; commands write nothing, and what they forget has no influence."""
    talked = b"ab\n\nc\n/undo\nabc\n/reset\nab\n/quit\nnever read\n"
    result = command("chat", run, stdin=talked)
    assert result.code == 0, result.err
    first, third = replies(run, "ab", "c")
    _, other = replies(run, "ab", "abc")
    assert result.out.split("\n") == [first, "", third, other, first, ""]
    assert result.err == ""


def test_what_is_no_command_is_said_so(command: Command, run: Path) -> None:
    result = command("chat", run, "--search", "greedy", stdin=b"/redo\n/undo\nab\n")
    assert result.code == 0
    assert result.err.splitlines() == [
        "there is no command /redo: /reset clears the dialog, /undo removes the last turn and its "
        "reply, "
        "/quit ends",
        "there is nothing to undo",
    ]
    assert len(result.out.splitlines()) == 1


def test_draws_are_repeated_by_their_seed(command: Command, run: Path) -> None:
    drawn = ["chat", run, "--search", "sample", "--temperature", 2, "--seed"]
    once, twice, other = (command(*drawn, seed, stdin=b"ab\nc\nab\nc\n").out for seed in (1, 1, 2))
    assert once == twice != other


def test_a_run_without_turns_cannot_chat(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    result = command("chat", make_run(tmp_path_factory.mktemp("run")), stdin=b"ab\n")
    assert result.code == 2
    assert (
        "not turns, so it cannot keep a conversation; train one with seqloom train DATA --source"
        in result.sentence
    )


def test_the_other_commands_take_dialogs(command: Command, run: Path, tmp_path: Path) -> None:
    """`predict` reads a list or a single turn a line, `evaluate` every reply, `look` separators."""
    lines = tmp_path / "lines.txt"
    lines.write_text('["ab", "b", "c"]\nab\n', encoding="utf-8")
    model = load_text_predictor(run)
    wanted = [each.text for each in model.predict([["ab", "b", "c"], "ab"])]
    assert command("predict", run, lines).out.splitlines() == wanted
    refused = command("predict", run, stdin=b"[1, 2]\n")
    assert refused.sentence.startswith("standard input:1: turn 1 is not text; write turns as")
    data = tmp_path / "d.jsonl"
    data.write_text('{"turns": ["ab", "b", "c", "ca"]}\n', encoding="utf-8")
    columns = ["--source", "turns", "--target", "turns"]
    judged = command("evaluate", run, data, *columns)
    assert judged.out.startswith("2 rows\n"), judged.err
    looked = command("look", run, '["ab", "c"]')
    assert "<turn>" in looked.out, looked.err


def test_a_terminal_is_prompted(run: Path) -> None:
    """Face to face: a prompt, the reply, and an end at /quit."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "seqloom", "chat", str(run)]
    with subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b"ab\n/quit\n")
        shown = b""
        try:
            while part := os.read(ours, 4_096):
                shown += part
        except OSError:
            pass  # the other end of a terminal that is closed
        assert process.wait(60) == 0
    os.close(ours)
    assert "you>" in shown.decode()
    assert replies(run, "ab")[0] in shown.decode()
