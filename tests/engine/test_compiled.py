"""From networks to compiled models: what is compiled, what is not and why, and how it is built."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from seqloom.engine import builder, library
from seqloom.engine.builder import (
    LIBRARY,
    BuildError,
    build,
    find_compiler,
    source_hash,
    stale,
    wheel_tag,
)
from seqloom.engine.core_model import CompiledModel
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.from_network import (
    compile_decoder,
    compile_encoder,
    compile_model,
)
from seqloom.engine.library import instruction_sets
from seqloom.search import Beam, Limits, PatientBeam, run_to_end
from tests.engine.models import small_model
from tests.engine.support import assert_same, plan, rows_of

SRC = Path(__file__).parents[2] / "src"
LOAD = "from seqloom.engine.library import *; print(core_or_none() is not None, missing_reason())"


def loaded(**environment: str) -> str:
    """What a fresh interpreter says of the core in this environment."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        env={"PYTHONPATH": str(SRC), "PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@torch.no_grad()
def test_a_model_is_searched_in_the_core_or_step_by_step() -> None:
    """A search that the core has no loop for drives the compiled decoder instead."""
    model, source = small_model("plain sinusoids", 4)
    made = compile_model(model.encoder, model.decoder, threads=2)
    assert isinstance(made, CompiledModel)
    limits = Limits(torch.full((4,), 5))
    for search in (Beam(3, n_best=2), PatientBeam(2)):
        found = made.search(rows_of(source), plan(search), limits)
        state = made.decoder.start(made.encoder.encode(source))
        assert_same(found, run_to_end(search, made.decoder, state, limits))
    assert made.search([], plan(Beam(3)), Limits(torch.zeros(0, dtype=torch.int64))) == []


def test_what_cannot_be_compiled_is_said() -> None:
    """One sentence, which names the part."""
    joint, _ = small_model("plain joint reads", 1)
    refused = (
        "the compiled engine has no form for a decoder that reads the source's vectors at joint "
        "positions"
    )
    assert compile_decoder(joint.decoder) == refused
    assert compile_model(joint.encoder, joint.decoder) == refused
    assert isinstance(compile_encoder(joint.encoder), CompiledEncoder)


def test_a_library_that_is_missing_or_broken_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "core.so"
    broken.write_bytes(b"not a library")
    missing = loaded(SEQLOOM_ENGINE_LIBRARY=str(tmp_path / "none.so"))
    assert missing.startswith("False the compiled engine was not built")
    assert loaded(SEQLOOM_ENGINE_LIBRARY=str(broken)).startswith(
        "False the compiled engine cannot be loaded"
    )


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_a_core_of_other_sources_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its functions have the same names, but a structure has one more value."""
    here, other = source_hash(), tmp_path / "core"
    shutil.copytree(builder.SOURCES, other)
    header = other / "seqloom.h"
    text = header.read_text(encoding="utf-8")
    changed = text.replace("typedef struct {", "typedef struct {\n    int32_t more;", 1)
    assert changed != text
    header.write_text(changed, encoding="utf-8")
    monkeypatch.setattr(builder, "SOURCES", other)
    monkeypatch.setattr(builder, "OPTIONS", ("-O0", *builder.OPTIONS[:1], *builder.OPTIONS[2:]))
    made = build(tmp_path / "core.so")
    assert source_hash() != here
    assert not stale(made)
    said = loaded(SEQLOOM_ENGINE_LIBRARY=str(made))
    assert said == f"False {library.STALE}"
    assert "python -m seqloom.engine.builder" in said
    monkeypatch.undo()
    assert stale(made)
    assert not stale(LIBRARY)


def test_every_source_counts_in_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content as well as its name."""
    monkeypatch.setattr(builder, "SOURCES", tmp_path)
    assert source_hash() == ""
    found = set()
    for name, text in (("a.c", "1"), ("a.c", "2"), ("b.h", "2")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        found.add(source_hash())
    (tmp_path / "a.c").rename(tmp_path / "c.c")
    assert len({*found, source_hash()}) == 4


def test_an_instruction_set_can_be_wished_for() -> None:
    assert loaded(SEQLOOM_INSTRUCTIONS=instruction_sets()[-1]) == "True"
    assert "SEQLOOM_INSTRUCTIONS = 'abacus'" in loaded(SEQLOOM_INSTRUCTIONS="abacus")


def test_without_a_compiler_there_is_no_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """$CC comes first; where nothing is found, one sentence says what to install."""
    monkeypatch.setenv("CC", "sh -c")
    assert find_compiler() == ["sh", "-c"]
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("seqloom.engine.builder.find_spec", lambda _: None)
    assert find_compiler() is None
    with pytest.raises(BuildError, match="no C compiler was found: install gcc or clang"):
        build(tmp_path / "core.so")
    assert stale(tmp_path / "core.so")


def test_a_compiler_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(BuildError, match="failed"):
        build(tmp_path / "core.so")
    assert not list(tmp_path.iterdir())


def test_a_wheel_is_for_every_python_on_one_platform() -> None:
    python, abi, platform = wheel_tag().split("-")
    assert (python, abi) == ("py3", "none")
    assert platform.isidentifier()
