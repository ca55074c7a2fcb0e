"""Files with a word a line: what an independent writer put in comes out (S1.1)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data import Reason, Report, is_tagged, read_rows
from tests.data.malformed import SKIP
from tests.data.support import read, sentence

CONLLU = """# sent_id = 1
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\tMood=Imp\t0\troot\t_\tSpaceAfter=No
3.1\tthere\tthere\tADV\tRB\t_\t_\t_\t0:x\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

# sent_id = 2
1\t10 000\t10000\tNUM\tCD\t_\t0\troot\t_\t_
"""
DO = "Do n't go ."

words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)
sentences = st.lists(
    st.lists(st.tuples(words, words), min_size=1, max_size=5), min_size=1, max_size=5
)


def put(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def test_conllu_gives_forms_and_tags_of_the_words_that_are_written(tmp_path: Path) -> None:
    """Comments, ranges and empty nodes are passed by; a space inside a word does not part it."""
    path = put(tmp_path, "a.conllu", CONLLU)
    assert read(path) == [(DO, "AUX PART VERB PUNCT"), ("10\u00a0000", "NUM")]
    assert read(path, target="XPOS")[0] == (DO, "VB RB VB .")
    assert read(path, source="LEMMA", target="DEPREL")[0] == (
        "do not go .",
        "aux advmod root punct",
    )
    rows = read_rows(path, DataConfig(), Report())
    assert [row.place.line for row in rows] == [4, 11]


@given(sentences)
def test_columns_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, written: list[list[tuple[str, str]]]
) -> None:
    """With any number of blank lines between sentences, and whichever column is the tag's."""
    folder = tmp_path_factory.mktemp("columns")
    wanted = [(" ".join(w for w, _ in each), " ".join(t for _, t in each)) for each in written]
    for gap in ("\n", "\n\n \n"):
        two = gap.join("".join(f"{w}\t{t}\n" for w, t in each) for each in written)
        assert read(put(folder, "a.tagged", two)) == wanted
        three = gap.join("".join(f"{w} x {t}\r\n" for w, t in each) for each in written)
        assert read(put(folder, "a.conll", three), target="3") == wanted


BAD = {
    "a.conllu": (
        CONLLU.replace("2\tn't\tnot", "2\tn't"),
        Reason.COLUMNS,
        "5: expected 10 columns, found 9; put tabs between them" + SKIP,
    ),
    "order.conllu": (
        CONLLU.replace("3\tgo", "5\tgo"),
        Reason.ORDER,
        "6: word 3 should come here, not '5'; number words from 1" + SKIP,
    ),
    "hole.conllu": (
        CONLLU.replace("VERB", "_"),
        Reason.MISSING,
        "6: the word has no UPOS; fill it in or choose another column" + SKIP,
    ),
    "a.bio": (
        "good\tJ\nfilm\n\n10 000\tNUM\n",
        Reason.COLUMNS,
        "2: expected 2 columns, found 1; give each word one tag" + SKIP,
    ),
    "empty.iob": (
        "good\tJ\nfilm\t \n\n10 000\tNUM\n",
        Reason.MISSING,
        "2: a cell is empty; fill it in" + SKIP,
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_faulty_line_is_named_and_costs_its_sentence_alone(name: str, tmp_path: Path) -> None:
    """RELIABILITY B1: refused with file:line, or counted; no word ever gets another's tag."""
    text, reason, message = BAD[name]
    path = put(tmp_path, name, text)
    assert sentence(path) == f"{path}:{message}"
    report = Report()
    rows = list(read_rows(path, DataConfig(skip_bad=True), report))
    assert [(row.source, row.target) for row in rows] == [("10\u00a0000", "NUM")]
    place = f"{path}:{message.partition(':')[0]}"
    assert {r: (d.count, str(d.first)) for r, d in report.dropped.items()} == {reason: (1, place)}


def test_what_cannot_be_asked_of_such_files(tmp_path: Path) -> None:
    conllu, bio = put(tmp_path, "a.conllu", CONLLU), put(tmp_path, "a.bio", "a\tB\n")
    assert "no column 'UPO'; did you mean 'UPOS'?" in sentence(conllu, target="UPO")
    assert "columns have no names, so there is no 'NER'" in sentence(bio, target="NER")
    assert "there is no column 3 among 2 columns" in sentence(bio, target="3")
    assert "no column for weights" in sentence(bio, weight="3")
    assert "is empty" in sentence(put(tmp_path, "b.conllu", "# nothing\n\n"))
    assert is_tagged(bio)
    assert is_tagged("A.CONLLU.gz")
    assert not is_tagged("a.tsv")
    assert not is_tagged([("a", "b")])
