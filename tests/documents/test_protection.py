"""What must not be translated is found, stands in, comes back, and is reported when it does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.documents import ProtectionOptions, protect
from seqloom.errors import ConfigError

FORMS = ["⟦{}⟧", "X{}X", "{}", "__{}__", "<{}>", "PH{}"]
PIECES = (
    "<b> </b> <br/> {name} {0} %s %(x)d %1$s ${var} https://a.example/b?c=(d). a@b.example 5 km 3,5"
    " ISO-9001 A320 x_y ⟦0⟧ X0X 0 7 PH1 <0> __2__ word Wort . , ) ( A a 😀 \n"
)
mixed = st.lists(st.sampled_from([*PIECES.split(" "), " ", " "])).map("".join)
options_of = st.builds(
    ProtectionOptions,
    stand_in=st.sampled_from(FORMS),
    first=st.integers(0, 20),
    copied=st.sampled_from([frozenset[str](), frozenset({"number", "url"})]),
    terms=st.sampled_from([(), ("Wort", "word .")]),
)


@given(st.text() | mixed, options_of)
def test_what_a_copying_model_gives_comes_back(text: str, options: ProtectionOptions) -> None:
    """The output that equals the input is restored to the text, and nothing is lost."""
    protected = protect(text, options=options)
    restored = protected.restore(protected.text)
    assert restored.text == text
    assert restored.lost == []
    assert len(protected.shape) == len(protected.text)


@given(mixed, options_of, st.data())
def test_what_does_not_come_back_is_lost(
    text: str, options: ProtectionOptions, data: st.DataObject
) -> None:
    """Without one of its stand-ins, an output has lost exactly what that stood for."""
    protected = protect(text, options=options)
    if protected.stand_ins:
        gone = data.draw(st.sampled_from(sorted(protected.stand_ins)))
        others = [each for each in protected.stand_ins if each != gone]
        restored = protected.restore(" und ".join([*others, *protected.copies]))
        assert restored.lost == [protected.stand_ins[gone]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A <b>bold</b> <br/> word", ["<b>", "</b>", "<br/>"]),
        ("Dear {name}, {0} of {{total}}", ["{name}", "{0}", "{{total}}"]),
        ("%s has %(n)d of %1$s and %5.2f, ${x}", ["%s", "%(n)d", "%1$s", "%5.2f", "${x}"]),
        ("100% sure, 5 % discount", []),
        ("See https://a.example/x_(y)?z=1. Or www.b.example, ok",
         ["https://a.example/x_(y)?z=1", "www.b.example"]),
        ("Mail x.y+z@mail.example now", ["x.y+z@mail.example"]),
        ("An A320 with x86_64, ISO-9001, my_file", ["A320", "x86_64", "ISO-9001", "my_file"]),
        ("In the 1990s, 2nd of May", []),
        ("a < b and c > d", []),
    ],
)  # fmt: skip
def test_finds(text: str, found: list[str]) -> None:
    """What each text has to protect, numbers aside."""
    assert list(protect(text).stand_ins.values()) == found


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 3.5 km, 12 % and 1,234.50 away", ("3.5 km", "12 %", "1,234.50")),
        ("At 10:30 on 2024/05/01 for €5", ("10:30", "2024/05/01", "€5")),
        ("-5 °C", ("-5 °C",)),
        ("no", ()),
    ],
)
def test_numbers_are_copied(text: str, numbers: tuple[str, ...]) -> None:
    """Numbers with their units stay in the text and are looked for in the output."""
    protected = protect(text)
    assert protected.text == text
    assert protected.copies == numbers


def test_lost_copies() -> None:
    """A number counts as there with other separators, and as lost with other digits."""
    protected = protect("It costs 1,234.50 for 3 of 3")
    assert protected.restore("Es kostet 1.234,50 für 3 von 3").lost == []
    assert protected.restore("Es kostet 1.234,5 für 3 von 13").lost == ["1,234.50", "3"]


def test_stand_ins_survive_spaces_and_case() -> None:
    """A model may space stand-ins out, write them small and move them."""
    protected = protect("A <b>c</b>{x} d", options=ProtectionOptions(stand_in="Xy{}Z"))
    assert protected.text == "A Xy0Z c Xy1Z Xy2Z d"
    restored = protected.restore("xy 2 z und xy1z . X y 0 z!")
    assert restored.text == "{x} und</b>. <b>!"
    assert restored.lost == []
    assert protect("a <i>", options=ProtectionOptions(stand_in="{}")).text == "a 0"


def test_stand_ins_are_not_in_the_text() -> None:
    """A number that the text has as a stand-in is passed by."""
    assert protect("⟦0⟧ ⟦ 1 ⟧ {a}").text == "⟦0⟧ ⟦ 1 ⟧ ⟦2⟧"


def test_codes_and_terms() -> None:
    """A segment's codes and a user's terms stay, terms as whole words only."""
    options = ProtectionOptions(terms=("Seqloom", "New York"))
    protected = protect("**Seqloom** in New York, Seqlooms", codes=("**", "**"), options=options)
    assert list(protected.stand_ins.values()) == ["**", "Seqloom", "**", "New York"]
    assert protected.text.endswith("Seqlooms")


def test_ignored_kinds() -> None:
    """A kind may be left to the model, but not a segment's own codes."""
    options = ProtectionOptions(ignored=frozenset({"markup", "url"}))
    protected = protect("<b>x</b> http://a.example", codes=("<b>",), options=options)
    assert list(protected.stand_ins.values()) == ["<b>"]


@pytest.mark.parametrize("stand_in", ["", "X", "{}{}", "A1{}"])
def test_wrong_stand_ins(stand_in: str) -> None:
    """A stand-in has its number in one place and no other digits."""
    with pytest.raises(ConfigError, match="needs {} once"):
        ProtectionOptions(stand_in=stand_in)


def test_wrong_kinds() -> None:
    """A kind that does not exist is named with those that do."""
    with pytest.raises(ConfigError, match="nothing protected is a 'link'; choose of markup, term"):
        ProtectionOptions(ignored=frozenset({"link"}))
