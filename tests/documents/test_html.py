"""HTML: what is a segment, what stays, and how translations are written."""

from html.parser import HTMLParser

import pytest

from tests.documents.support import opened, texts, written

PAGE = "page.html"


@pytest.mark.parametrize(
    ("source", "segments"),
    [
        ("<p>One</p><p>Two</p>", ["One", "Two"]),
        ("<p>A <b>bold <i>word</i></b>!</p>", ["A <b>bold <i>word</i></b>!"]),
        ("<p> <b>All of it.</b> </p>", ["All of it."]),
        ("<p><b>Not</b> all <b>of it</b></p>", ["<b>Not</b> all <b>of it</b>"]),
        ("<p>a\n   b\tc</p>", ["a b c"]),
        ("<p>AT&amp;T &copy;&nbsp;x &#8364;</p>", ["AT&T ©\xa0x €"]),
        ("<p>12 345</p><p>&nbsp;</p>", []),
        ("<p>Line<br>break<br/></p>", ["Line<br>break"]),
        ("<p>One<p>Two<ul><li>a<li>b</ul>", ["One", "Two", "a", "b"]),
        ("<p>See <code>a &lt; b</code> there</p>", ["See <code>a &lt; b</code> there"]),
        ("<pre>a b</pre><script>'<p>x</p>'</script><style>a</style>", []),
        ("<p translate=no>No</p><p>Yes</p>", ["Yes"]),
        ("<div translate=no>No <p translate=yes>Yes</p> no</div>", ["Yes"]),
        ("<p>To <span class='x notranslate'>Ada <b>L</b></span>, hi</p>",
         ["To <span class='x notranslate'>Ada <b>L</b></span>, hi"]),
        ("<!-- <p>No</p> --><p>A<!-- b -->c</p>", ["A<!-- b -->c"]),
        ("<title>T</title><meta name='description' content='D'>", ["T", "D"]),
        ("<meta name=viewport content=wide>", []),
        ("<input type=submit value=Send><input type=text value=x placeholder='Your name'>",
         ["Send", "Your name"]),
        ("<p>A <img alt='a cat' src=c.png> here</p>",
         ["A <img alt='a cat' src=c.png> here", "a cat"]),
        ("<p>a <b>x</b> &lt;b&gt; c</p>", ["a <b>x</b> &lt;b&gt; c"]),
        ("<p>a &lt;i&gt; <b>x</b></p>", ["a <i> <b>x</b>"]),
        ("<svg><text>No</text></svg>", []),
    ],
)  # fmt: skip
def test_segments(source: str, segments: list[str]) -> None:
    """Each source has these texts to translate, in order."""
    assert texts(source, PAGE) == segments


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("<p class=x >Hi &amp; you</p >", "Du & ich <3", "<p class=x >Du &amp; ich &lt;3</p >"),
        ("<p>a &nbsp;b&euro;</p>", "€\xa0x", "<p>&euro;&nbsp;x</p>"),
        ("<p>A <b>b</b> c</p>", "<b>C</b> d <b>e</b>", "<p><b>C</b> d e</p>"),
        ("<p>A <b>b</b> c</p>", "Nothing", "<p>Nothing</p>"),
        ("<p>A <b>b</b> c</p>", "x <b>y", "<p>x <b>y</b></p>"),
        ("<p>A <b>b</b> c</p>", "x </b>y <i>z</i>", "<p>x y &lt;i>z&lt;/i></p>"),
        ("<p>a <b>b <i>c</i></b> d</p>", "<b>x <i>y</b> z</i> w", "<p><b>x <i>y</i></b> z w</p>"),
        ("<p title=hi>x</p>", 'y "z"', '<p title="y &quot;z&quot;">y "z"</p>'),
        ("<p title='hi'>1</p>", "it's", "<p title='it&#39;s'>1</p>"),
        ("<p>a</p>", " \n ", "<p>a</p>"),
        ("<p>a <span>\n</span> b</p>", "x <span> </span> y", "<p>x <span> </span> y</p>"),
    ],
)
def test_writing(source: str, translation: str, expected: str) -> None:
    """Tags nest and are used once, text is escaped as in the source, a blank changes nothing."""
    assert written(source, PAGE, lambda _: translation) == expected


def test_attributes_inside_a_moved_tag() -> None:
    """A tag takes its translated attribute along."""
    document = opened('<p>A <a title="big">link</a> here</p>', PAGE)
    assert [segment.text for segment in document.segments][1] == "big"
    said = ['Hier ein <a title="big">Verweis</a>', "groß"]
    expected = '<p>Hier ein <a title="groß">Verweis</a></p>'
    assert document.with_translations(said).decode() == expected
    assert b'title="gro' in document.with_translations(["", "groß"])


class _Structure(HTMLParser):
    """The tags of a page, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """A tag opens."""
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """A tag closes."""
        self.tags.append(f"/{tag}")


def test_structure_stays() -> None:
    """Upper case for the texts leaves the tags of a page as they were."""
    source = "<ul><li>a <b>c</b> d</li><li>e</li></ul><table><tr><td>f<td>g</table>"
    before, after = _Structure(), _Structure()
    before.feed(source)
    after.feed(written(source, PAGE, lambda text: text.replace("a", "A")))
    assert after.tags == before.tags


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("utf-8", "utf-8"), ("iso-8859-1", "cp1252"), ("windows-1251", "cp1251"), ("", "utf-8")],
)
def test_encodings(declared: str, codec: str) -> None:
    """A page is read by what it declares, and what that cannot write becomes a reference."""
    meta = f"<meta charset='{declared}'>" if declared else ""
    data = f"{meta}<p>Nr. 5 „x“</p>".encode(codec)
    document = opened(data, PAGE)
    assert [segment.text for segment in document.segments] == ["Nr. 5 „x“"]
    out = document.with_translations(["語"])
    assert out == f"{meta}<p>語</p>".encode(codec, "xmlcharrefreplace")
