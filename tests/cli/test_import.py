"""`seqloom import` from outside: a checkpoint becomes a run, or one sentence says why not."""

from pathlib import Path

import pytest

from tests.cli.support import Command
from tests.export.checkpoints import TEXTS, make_checkpoint

pytest.importorskip("transformers", reason="needs transformers; pip install 'seqloom[huggingface]'")


def test_a_checkpoint_is_used_as_any_run(command: Command, tmp_path: Path) -> None:
    """It predicts, scores, is described and goes out again; damage is one sentence."""
    folder, run = tmp_path / "there", tmp_path / "run"
    make_checkpoint(folder, scale_embedding=True)
    assert command("import", folder, "--run", run).code == 0
    inputs, pairs = tmp_path / "inputs.txt", tmp_path / "pairs.tsv"
    inputs.write_text(f"{TEXTS[0]}\n{TEXTS[1]}\n", encoding="utf-8")
    pairs.write_text("source\ttarget\nthe sea\tam Meer\n", encoding="utf-8")
    assert command("predict", run, inputs).out.count("\n") == 2
    assert command("score", run, pairs).code == 0
    assert "begun from the checkpoint" in command("describe", run).out
    out = command(
        "export", run, "--to", "huggingface", "--output", tmp_path / "out", "--check", inputs
    )
    assert " of 2 outputs are the same" in out.out
    (folder / "vocab.json").unlink()
    lost = command("import", folder, "--run", tmp_path / "other")
    assert (lost.code, "vocab.json: cannot be read" in lost.sentence) == (3, True)
    assert not (tmp_path / "other").exists()
