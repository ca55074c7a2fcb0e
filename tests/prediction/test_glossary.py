"""Glossaries: which terms an input has, and that outputs have their translations (S7.5)."""

from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.errors import DataError
from seqloom.prediction import Glossary, GlossaryTerm, OutputOptions, TermCount
from seqloom.search import Beam, Greedy, Sample, Search
from tests.prediction.untrained import SOURCES, untrained

ANIMALS = Glossary(
    (
        GlossaryTerm(("Hund", "Hunde"), ("dog", "dogs")),
        GlossaryTerm(("Hund im Haus",), ("house dog",)),
        GlossaryTerm(("犬",), ("dog",), required=False),
    )
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Der Hund bellt.", [0]),
        ("HUNDE und Hund", [0]),
        ("Hundehütte", []),
        ("Ein Hund im Haus und Hunde", [1, 0]),
        ("私の犬です", [2]),
        ("", []),
    ],
)
def test_terms_of_a_text(text: str, numbers: list[int]) -> None:
    """Whole words in any case, each term once, the longest where two overlap."""
    assert ANIMALS.find(text) == tuple(ANIMALS.terms[number] for number in numbers)


def test_the_share_that_came_out() -> None:
    """Any form will do, as a whole word."""
    assert ANIMALS.count("Hunde", "Dogs bark") == TermCount(1, 1)
    assert ANIMALS.count("Hunde", "Dogma") == TermCount(1, 0)
    assert TermCount(1, 1) + TermCount(2, 0) == TermCount(3, 1)
    assert str(TermCount(3, 1)) == "1 of 3 (33.3%)"


def test_a_file(tmp_path: Path) -> None:
    """Forms between bars on both sides; a third column says how strict a term is."""
    path = tmp_path / "terms.tsv"
    path.write_text("Hund | Hunde\tdog|dogs\n\nKatze\tcat\tpreferred\nMaus\tmouse\trequired\n")
    assert Glossary.read(path).terms == (
        GlossaryTerm(("Hund", "Hunde"), ("dog", "dogs")),
        GlossaryTerm(("Katze",), ("cat",), required=False),
        GlossaryTerm(("Maus",), ("mouse",)),
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a\tb\n\tb\n", ":2: the term is empty; write term, tab, translation"),
        ("a\t|\n", ":1: the translation is empty"),
        ("a\n", ":1: expected 2 or 3 columns, found 1"),
        ("a\tb\tmaybe\n", ":1: a term cannot be 'maybe'; write required or preferred"),
        ("\n", ": there are no terms in it"),
    ],
)
def test_a_malformed_file(tmp_path: Path, text: str, wrong: str) -> None:
    """One sentence with the line and the cure."""
    path = tmp_path / "terms.tsv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        Glossary.read(path)
    assert str(caught.value).startswith(f"{path}{wrong}")


@pytest.mark.parametrize("search", [Beam(5), Greedy(), Sample(seed=3)])
def test_outputs_have_their_terms(search: Search) -> None:
    """Outputs of inputs with a term contain one of its forms, and keep their order; the others are
    what they are without a glossary, random draws too."""
    model = untrained(unit="word")
    terms = (GlossaryTerm(("abc", "cc"), ("ba x", "y y")), GlossaryTerm(("a",), ("cab", "zzz")))
    glossary = Glossary((*terms, GlossaryTerm(("b",), ("zzz",))))
    options = OutputOptions(glossary=glossary)
    free = model.predict(SOURCES, search=search)
    found = model.predict(SOURCES, search=search, options=options)
    for source, plain, output in zip(SOURCES, free, found, strict=True):
        writable = [term for term in glossary.find(source) if term in terms]
        assert output.stopped == "end" or not writable
        assert all(any(form in output.text for form in term.target) for term in writable)
        if not writable:
            assert output.text == plain.text
            assert output.score == pytest.approx(plain.score)
    assert model.unwritable_terms(glossary) == [glossary.terms[-1]]


def test_a_preferred_term_gives_way_to_a_much_likelier_output() -> None:
    """With no margin only a term that costs nothing is written, with a great one every term."""
    model = untrained(unit="word")
    term = GlossaryTerm(("abc",), ("y y y",), required=False)
    free, strict, lenient = (
        model.predict(["abc"], search=Beam(5), options=OutputOptions(glossary=glossary))[0]
        for glossary in (
            Glossary(()),
            Glossary((term,), margin=0.0),
            Glossary((term,), margin=1e9),
        )
    )
    required = Glossary((replace(term, required=True),))
    forced = model.predict(["abc"], search=Beam(5), options=OutputOptions(glossary=required))[0]
    assert "y y y" not in free.text
    assert strict == free
    assert lenient == forced
    assert "y y y" in forced.text
