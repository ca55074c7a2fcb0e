"""`seqloom vectors`: from texts to a file, from a file to neighbours (S1.5)."""

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.api.load import load
from seqloom.data import read_vectors
from tests.cli.support import Command
from tests.explain.pictures import texts as texts_of
from tests.runs.finished import make_run

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


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), "lstm")


def test_an_encoder_gives_vectors_in_context(command: Command, run: Path, tmp_path: Path) -> None:
    """S1.5: by the line in JSON, as cosines, as neighbours and as a map, and as Python says."""
    model = load(run)
    texts = ["ae ia", "aei", "ia ae"]
    found = model.vectors(texts, layer=1)
    (tmp_path / "texts.txt").write_text("aei\nia ae\n")
    asked = ["vectors", "--from", run, "ae ia", "--file", tmp_path / "texts.txt", "--layer", 1]
    rows = [json.loads(line) for line in command(*asked, "--json").out.splitlines()]
    assert [row["text"] for row in rows] == texts
    for row, mine in zip(rows, found.sentences, strict=True):
        assert [token["text"] for token in row["tokens"]] == list(mine.tokens)
        assert [(token["start"], token["end"]) for token in row["tokens"]] == list(mine.offsets)
        wanted = [token["vector"] for token in row["tokens"]]
        np.testing.assert_allclose(mine.vectors, wanted, rtol=1e-6)
    cosine = f"{found.words.cosine('ae@1', 'ae@3'):.3f}"
    assert command(*asked, "--word", "ae").out == f"ae@1\tae@3\t{cosine}\tia ae\n"
    near = command(*asked, "--near", "aei@2", "--count", 2, "--json").out.splitlines()
    assert [json.loads(line)["other"] for line in near] == [
        name for name, _ in found.words.nearest("aei@2", 2)
    ]
    made = command(*asked, "--to", tmp_path / "map.svg")
    assert made.code == 0, made.err
    assert "aei@2" in texts_of(tmp_path / "map.svg")
    assert "aei@2" in command(*asked).out


def test_words_of_a_file_have_cosines(command: Command, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("2 2\nking 3 4\nqueen 4 3\n")
    result = command("vectors", tmp_path / "v.txt", "--word", "king", "--word", "queen")
    assert result.out == "king\tqueen\t0.960\n"


def test_a_run_without_texts_is_one_sentence(command: Command, run: Path) -> None:
    result = command("vectors", "--from", run)
    assert result.code == 2
    assert "no text is given; give texts, or a file of them with --file" in result.sentence
