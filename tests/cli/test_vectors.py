"""`seqloom vectors`: from texts to a file, from a file to neighbours (S1.5)."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from seqloom.data import read_vectors
from tests.cli.support import Command

TEXT = "".join(f"the {who} sleeps here\nA {who} Eats\n" for who in ("cat", "dog") for _ in range(9))
QUICK = ["--size", 4, "--passes", 1, "--least", 2]


def test_vectors_are_learnt_written_and_asked(command: Command, tmp_path: Path) -> None:
    """From a text file, and from a column of a table; neighbours one a line with the cosine."""
    (tmp_path / "a.txt").write_text(TEXT)
    rows = [f"{number}\t{line}\n" for number, line in enumerate(TEXT.splitlines())]
    (tmp_path / "a.tsv").write_text("".join(["n\twhat\n", *rows]))
    first = command("vectors", tmp_path / "a.txt", "--to", tmp_path / "v.txt", *QUICK)
    assert first.code == 0, first.err
    assert "36 texts, 126 words, 7 different ones; 7 come 2 times or more" in first.err
    assert first.err.endswith("v.txt: 7 vectors of 4, skip-gram\n")
    arguments = ["--column", "what", "--lowercase", "--kind", "cbow", *QUICK]
    again = command("vectors", tmp_path / "a.tsv", "--to", tmp_path / "v.bin", *arguments)
    assert again.code == 0, again.err
    found = read_vectors(tmp_path / "v.bin")
    assert set(found.words) == {"the", "cat", "sleeps", "here", "a", "dog", "eats"}
    near = command("vectors", tmp_path / "v.bin", "--near", "cat", "--count", 2)
    wanted = [f"cat\t{word}\t{cosine:.3f}" for word, cosine in found.nearest("cat", 2)]
    assert near.out.splitlines() == wanted


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ([], 2, "say what to do"),
        (["--to", "x.txt", "--kind", "glove"], 2, "choose skip-gram or cbow"),
        (
            ["--to", "x.txt", "--unit", "byte"],
            2,
            "--unit byte: there is no such unit; choose",
        ),
        (["--to", "x.txt", "--least", 99], 3, "no word comes 99 times or more; lower --least"),
        (["--near", "cat"], 3, "a.txt:1: should say how many vectors there are"),
    ],
)
def test_what_cannot_be_done(
    command: Command, tmp_path: Path, arguments: list[Any], *, code: int, part: str
) -> None:
    (tmp_path / "a.txt").write_text("the cat\n")
    result = command("vectors", tmp_path / "a.txt", *arguments)
    assert result.code == code
    assert part in result.sentence


def test_without_gensim_there_is_one_sentence(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("gensim"):
            raise ImportError(name=name)
        return real(name, *rest)

    (tmp_path / "a.txt").write_text(TEXT)
    monkeypatch.setattr(builtins, "__import__", without)
    result = command("vectors", tmp_path / "a.txt", "--to", tmp_path / "v.txt")
    assert result.code == 2
    assert "not installed; pip install 'seqloom[vectors]'" in result.sentence
