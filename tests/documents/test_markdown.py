"""Markdown: what is a segment, what stays, and that translations do not change the blocks."""

from random import Random

import pytest
from markdown_it import MarkdownIt

from tests.documents.generators import markdown
from tests.documents.support import opened, texts, written

PAGE = "page.md"


@pytest.mark.parametrize(
    ("source", "segments"),
    [
        ("One\ntwo\n\nThree", ["One two", "Three"]),
        ("# Head #\n\nUnder\n=====\n", ["Head", "Under"]),
        ("---\ntitle: No\n---\nYes", ["Yes"]),
        ("+++\ntitle = 'No'\n+++\nYes", ["Yes"]),
        ("---\n\nNot front matter", ["Not front matter"]),
        ("a  \nb\\\nc", ["a", "b", "c"]),
        ("> q\n> r\n\n- i\n  j\n- [x] k", ["q r", "i j", "k"]),
        ("```\nno\n```\n\n    no\n\nyes", ["yes"]),
        ("| a | b |\n|---|---|\n| c\\|d | e `f\\|g` h |", ["a", "b", "c|d", "e `f\\|g` h"]),
        ("[text](http://x 'T') end", ["[text](http://x 'T') end"]),
        ("![alt](x.png)", ["alt"]),
        ("See [foo] and [Bar baz][].\n\n[foo]: x\n[bar  BAZ]: y", ["See [foo] and [Bar baz][]."]),
        ("**Whole**\n\n**a** b **c**", ["Whole", "**a** b **c**"]),
        ("2 \\* 3 &amp; 4 a_b_c x", ["2 * 3 & 4 a_b_c x"]),
        ("<p>Html</p>\n\n<!-- no -->\n\nText <b>b</b> x", ["Html", "Text <b>b</b> x"]),
        ("a[^1] b\n\n[^1]: The note.", ["a[^1] b", "The note."]),
        ("1. 1\n2. 1. 1 a", ["1 a"]),
        ("***\n\n---\n", []),
    ],
)
def test_segments(source: str, segments: list[str]) -> None:
    """Each source has these texts to translate, in order, whatever its line endings."""
    assert texts(source, PAGE) == segments
    assert texts(source.replace("\n", "\r\n"), PAGE) == segments


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("> a\n> b\n\nx", "c", "> c\n\nc"),
        ("text", "- item", "\\- item"),
        ("text", "# head", "\\# head"),
        ("text", "1. one", "1\\. one"),
        ("text", "> quote", "\\> quote"),
        ("text", "===", "\\==="),
        ("# text", "C #", "# C \\#"),
        ("| a |\n|---|", "b|c", "| b\\|c |\n|---|"),
        ("a `x\n y` b", "c `x y` d", "c `x\n y` d"),
        ("[a](x) and [b](y)", "[B](y) und [A](x)", "[B](y) und [A](x)"),
        ("a **b** c", "x **y", "x **y**"),
        ("\\*a\\* b", "*c*", "\\*c\\*"),
        ("a  \nb", "c", "c  \nc"),
    ],
)
def test_writing(source: str, translation: str, expected: str) -> None:
    """A translation is one line and starts no block of its own; links keep their targets."""
    assert written(source, PAGE, lambda _: translation) == expected


def test_blocks_stay() -> None:
    """An independent parse of a translated page has the same blocks, whatever is said."""
    parser = MarkdownIt("commonmark").enable("table")
    risky = ["- a", "1. b", "# c", "> d", "e | f", "===", "***", "    g", "```", "+ h", "a\n\nb"]
    for seed in range(100):
        made_up = markdown(Random(seed))
        document = opened(made_up.data, made_up.name)
        random = Random(seed)
        said = [
            random.choice(risky) if not s.codes else s.text.replace("e", "E")
            for s in document.segments
        ]
        again = opened(document.with_translations(said), made_up.name)
        before, after = (
            [
                (token.type, token.tag)
                for token in parser.parse(each.source.text.removeprefix("\ufeff"))
                if token.type not in ("html_block", "fence", "code_block")
            ]
            for each in (document, again)
        )
        assert after == before, made_up.data.decode("utf-8", "replace")
