"""Subtitles: what is a segment, and that times, settings, names and notes stay."""

import pytest

from tests.documents.support import opened, texts, written

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Where are
you going?</i>

2
00:00:03,000 --> 00:00:04,000 X1:40 X2:600
- {\\an8}Home.
- Why?
"""
VTT = """WEBVTT - A film
Kind: captions

NOTE
Nobody says this.\n\nSTYLE\n::cue { color: red }

intro
00:01.000 --> 00:02.500 align:start line:0
<v Anna>Where &amp; <00:01.500><c.loud>when?</c></v>

00:00:03.000 --> 00:00:04.000
- Home.
- Why?
"""


def test_srt() -> None:
    """Lines are read as one unless each is another speaker's; codes around a text stay outside."""
    document = opened(SRT, "film.srt")
    assert [segment.text for segment in document.segments] == [
        "Where are you going?",
        "Home.",
        "Why?",
    ]
    assert [segment.place for segment in document.segments] == [
        "film.srt:3",
        "film.srt:8",
        "film.srt:9",
    ]
    assert [segment.name for segment in document.segments] == ["1", "2", "2"]
    out = document.with_translations(["Wohin gehst du denn jetzt?", "Heim.", "Warum?"]).decode()
    expected = SRT.replace("Where are\nyou going?", "Wohin gehst du\ndenn jetzt?")
    assert out == expected.replace("Home", "Heim").replace("Why", "Warum")


def test_vtt() -> None:
    """Only what is said is a segment, with references read and tags in it as codes."""
    document = opened(VTT, "film.vtt")
    assert [(segment.text, segment.name) for segment in document.segments] == [
        ("Where & <00:01.500><c.loud>when?</c>", "intro"),
        ("Home.", ""),
        ("Why?", ""),
    ]
    said = ["Wo & <c.loud>wann?</c> <3 -->", "Heim.", "Warum?"]
    expected = VTT.replace(
        "Where &amp; <00:01.500><c.loud>when?</c>", "Wo &amp; <c.loud>wann?</c> &lt;3 --&gt;"
    )
    expected = expected.replace("Home", "Heim").replace("Why", "Warum")
    assert document.with_translations(said).decode() == expected


def test_a_translation_cannot_end_a_cue() -> None:
    """Blank lines and arrows in a translation do not make another cue."""
    hostile = "a\n\n7\n00:00:01,000 --> 00:00:02,000\nb"
    for text, name in ((SRT, "film.srt"), (VTT, "film.vtt")):
        out = written(text, name, lambda _: hostile)
        assert len(texts(out, name)) == len(texts(text, name))
        assert out.count("\n\n") == text.count("\n\n")


@pytest.mark.parametrize("text", ["", "\n\n", "1\n00:00:01,000 --> 00:00:02,000\n\n"])
def test_srt_without_text(text: str) -> None:
    """No cue, or one that says nothing, is no error."""
    assert texts(text, "film.srt") == []


def test_no_line_of_a_translation_begins_with_a_dash() -> None:
    """A dash inside a text must not be read as that of another speaker."""
    cue = "WEBVTT\n\n00:01.000 --> 00:02.500\n<v Anna>Where are\nyou going?\n"
    translation = "Wohin gehst du – sag schon – denn -- jetzt?"
    document = opened(cue, "film.vtt").with_translations([translation])
    assert all(line[:1] not in "-–" for line in document.decode().splitlines() if line)
    again = opened(document.decode(), "film.vtt")
    assert [segment.text for segment in again.segments] == [translation]
