"""Files of word vectors: what gensim and we write both read, and what is refused (S1.4)."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from seqloom.data import WordVectors, read_vectors, vectors_size, write_vectors
from seqloom.errors import DataError

ENDINGS = ["txt", "bin", "vec", "txt.gz", "bin.gz"]
letters = st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"])
words = st.lists(st.text(letters, min_size=1, max_size=9), min_size=1, max_size=8, unique=True)
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


def some(count: int = 4, size: int = 3) -> WordVectors:
    table = np.random.default_rng(1).standard_normal((count, size), dtype=np.float32)
    return WordVectors(tuple(f"wört{n}" for n in range(count)), table)


@given(data=st.data(), ending=st.sampled_from(ENDINGS))
def test_what_is_written_is_read_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, ending: str
) -> None:
    names = data.draw(words)
    shape = len(names), data.draw(st.integers(1, 5))
    table = data.draw(arrays.arrays(np.float32, shape, elements=finite))
    path = tmp_path_factory.mktemp("vectors") / f"v.{ending}"
    write_vectors(path, WordVectors(tuple(names), table))
    found = read_vectors(path)
    assert found.words == tuple(names)
    assert np.array_equal(found.table, table)
    assert vectors_size(path) == shape[1]
    assert not list(path.parent.glob(".*"))


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_ours_and_we_read_gensims(tmp_path: Path, *, binary: bool) -> None:
    """The same words and numbers in either direction, as text and binary."""
    mine, path = some(), tmp_path / ("v.bin" if binary else "v.txt")
    write_vectors(path, mine)
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert tuple(theirs.index_to_key) == mine.words
    assert np.array_equal(theirs.vectors, mine.table)
    again = path.with_name(f"again{path.suffix}")
    theirs.save_word2vec_format(str(again), binary=binary)
    assert read_vectors(again).words == mine.words
    assert np.array_equal(read_vectors(again).table, mine.table)


def test_neighbours_are_gensims() -> None:
    """By cosine, the word itself apart; a vector of zeros is near to none (S1.5)."""
    mine = some(count=30, size=5)
    mine.table[7] = 0
    theirs = KeyedVectors(5)
    others = [row for row in range(30) if row != 7]
    theirs.add_vectors([mine.words[row] for row in others], mine.table[others])
    wanted = theirs.most_similar("wört3", topn=6)
    found = mine.nearest("wört3", 6)
    assert [word for word, _ in found] == [word for word, _ in wanted]
    assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in wanted], 1e-5)
    assert mine.nearest("WÖRT3", 1) == found[:1]
    assert len(mine.nearest("wört3", 99)) == 29
    assert {cosine for _, cosine in mine.nearest("wört7", 99)} == {0.0}
    with pytest.raises(DataError, match="'wörd3': there is no vector for this word; did you mean"):
        mine.nearest("wörd3", 1)


@pytest.mark.parametrize("ending", ENDINGS)
def test_wanted_words_alone_are_read(tmp_path: Path, ending: str) -> None:
    """Those that are there, in the order of the file; none is no error."""
    path, mine = tmp_path / f"v.{ending}", some()
    write_vectors(path, mine)
    found = read_vectors(path, {"wört2", "wört0", "other"})
    assert found.words == ("wört0", "wört2")
    assert np.array_equal(found.table, mine.table[[0, 2]])
    assert read_vectors(path, {"other"}).words == ()


def test_a_first_line_may_be_missing(tmp_path: Path) -> None:
    """As in GloVe's files; a word that is a number is no first line."""
    path = tmp_path / "glove.txt"
    path.write_text("a 1 2\n5 3 4\n")
    assert read_vectors(path).words == ("a", "5")
    assert vectors_size(path) == 2


TEXTS = {
    "cut off": ("3 2\na 1 2\nb 3 4\n", ":3: is cut off here, after 2 of 3 vectors; copy it again"),
    "cut inside": ("2 2\na 1 2\nb 3", ":3: expected a word and 2 numbers, found 1; mend the line"),
    "too long": ("2 2\na 1 2\nb 3 4 5\n", ":3: expected a word and 2 numbers, found 3; mend"),
    "twice": ("2 2\na 1 2\na 3 4\n", ":3: 'a' came before; remove one of the two"),
    "nan": ("1 2\na 1 nan\n", ":2: a number of 'a' is not finite; learn the vectors again"),
    "infinite": ("1 2\na 1 1e99\n", ":2: a number of 'a' is not finite"),
    "no number": ("1 2\na 1 x\n", ":2: holds what is no number; put spaces between numbers"),
    "too many": ("1 2\na 1 2\nb 3 4\n", ":3: the first line promises 1 vectors; correct it"),
    "empty": ("", ":1: should say how many vectors there are and of what size"),
    "no vectors": ("0 2\n", ": holds no vectors; learn them with seqloom.api.vectors."),
    "a table": ("go\tva\nwho\tqui\n", ":1: should say how many vectors there are"),
    "no size": ("3 0\n", ":1: vectors of 0 numbers cannot be; 1 to 65,536 can"),
    "huge": ("3 99999999999999999999\n", ":1: vectors of 999999999 numbers cannot be"),
    "NUL": ("1 1\na\0 1\n", ":2: byte 2 of the line is NUL, which no text holds; name the file .b"),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("case", TEXTS)
def test_malformed_text(tmp_path: Path, case: str) -> None:
    """One sentence with the line (RELIABILITY B4)."""
    path = tmp_path / "v.txt"
    path.write_text(TEXTS[case][0])
    with pytest.raises(DataError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(f"{path}{TEXTS[case][1]}")


def one(word: bytes, *values: float) -> bytes:
    return word + b" " + np.array(values, "<f4").tobytes() + b"\n"


BINARIES = {
    "cut off": (b"2 2\n" + one(b"a", 1, 2), ": vector 2 of 2 is cut off; copy the file again"),
    "cut inside": (b"1 2\n" + one(b"a", 1), ": vector 1 of 1 is cut off"),
    "twice": (b"2 1\n" + 2 * one(b"a", 1), ": vector 2: 'a' came before; remove one of the two"),
    "nan": (b"1 1\n" + one(b"a", np.nan), ": vector 1: a number of 'a' is not finite"),
    "too many": (b"1 1\n" + 2 * one(b"a", 1), ": goes on after its 1 vectors; copy it again"),
    "text": (b"a 1 2\nb 3 4\n", ": does not begin with a number of vectors and their size; name"),
    "not UTF-8": (b"1 1\n" + one(b"\xff", 1), ": vector 1 has a word that is not UTF-8"),
    "no word": (b"1 1\n" + b"x" * 9_999, ": vector 1 has no word before it; name the file .txt if"),
    "huge": (b"999999999999 9999\n", ": vector 1 of 999,999,999,999 is cut off"),
    "packed and cut": (gzip.compress(b"1 1\n" + one(b"a", 1))[:-9], ": vector 1: the gzip data is"),
}


@pytest.mark.parametrize("case", BINARIES)
def test_malformed_binary(tmp_path: Path, case: str) -> None:
    """One sentence with the number of the vector, and no memory for what is only promised."""
    path = tmp_path / "v.bin"
    path.write_bytes(BINARIES[case][0])
    with pytest.raises(DataError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(f"{path}{BINARIES[case][1]}")


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write_vectors(tmp_path / "nowhere" / "v.txt", some())
