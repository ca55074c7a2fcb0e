"""Documents made up from a seed, with whatever real ones have: one function for each format."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

SENTENCE = (
    "the quick brown fox jumps over a lazy dog naïve Straße übergrößen слово 語 emoji😀 "
    "e.g. Mr. Smith's 3.5 km 42 % {name} %s ${x} https://a.example/b?c=d&e x@y.example — “so”"
)
WORDS = SENTENCE.split()
ENDS = (".", "!", "?", "", "…")


class MadeUp(NamedTuple):
    """The bytes of a document and its name."""

    data: bytes
    name: str


def words(random: Random, most: int = 8) -> str:
    """Some words and the end of a sentence."""
    chosen = random.choices(WORDS, k=random.randint(1, most))
    return " ".join(chosen) + random.choice(ENDS)


def encoded(random: Random, text: str, name: str, *, newline: bool = True) -> MadeUp:
    """A text in UTF-8, with or without a mark, or in UTF-16 with one, and some line ending."""
    if newline:
        text = text.replace("\n", random.choice(["\n", "\n", "\r\n", "\r"]))
    codec = random.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"])
    return MadeUp(text.encode(codec), name)


def plain_text(random: Random) -> MadeUp:
    """Paragraphs of one or several lines with indentation and blank lines."""
    paragraphs = []
    for _ in range(random.randint(0, 6)):
        indent = random.choice(["", "  ", "\t"])
        tail = random.choice(["", " ", "  "])
        lines = [f"{indent}{words(random)}{tail}" for _ in range(random.randint(1, 4))]
        paragraphs.append("\n".join(lines))
    gaps = [random.choice(["\n\n", "\n \n\n", "\n\n\n"]) for _ in paragraphs]
    body = "".join(text + gap for text, gap in zip(paragraphs, gaps, strict=True))
    return encoded(random, random.choice(["", "\n"]) + body, "letter.txt")


def markup_text(random: Random) -> str:
    """Words with references to characters."""
    pieces = ["&amp;", "&lt;b&gt;", "&#160;", "&#x20AC;", "]] &gt;"]
    text = words(random).replace("&", "&amp;")
    return f"{text} {random.choice(pieces)}" if random.random() < 0.4 else text


def html_inline(random: Random, depth: int = 0) -> str:
    """Words with tags in them."""
    pieces = []
    for _ in range(random.randint(1, 3)):
        inner = html_inline(random, depth + 1) if depth < 2 else markup_text(random)
        pieces.append(
            random.choice(
                [
                    markup_text(random),
                    f"<b>{inner}</b>",
                    f'<a href="x?a=1&amp;b=2" title="{words(random)}">{inner}</a>',
                    f"<span class='notranslate'>{inner}</span>",
                    "<code>if a &lt; b: <i>x</i></code>",
                    f'<img src=x alt="{words(random)}">',
                    "<br/>",
                    "<!-- a <b>comment</b> -->",
                    "&nbsp;&copy; AT&T",
                    f"<em translate=no>{inner}</em>",
                ]
            )
        )
    return random.choice([" ", "", "\n  "]).join(pieces)


def html(random: Random) -> MadeUp:
    """A page with blocks, scripts, comments and things that stay."""
    blocks = []
    for _ in range(random.randint(0, 6)):
        inner = html_inline(random)
        blocks.append(
            random.choice(
                [
                    f"<p>{inner}</p>",
                    f"<p>{inner}",
                    f"<ul><li>{inner}<li translate='no'>{inner}<li>{inner}</ul>",
                    f"<pre>{inner}</pre>",
                    f"<div translate=no>{inner}<p translate=yes>{inner}</p></div>",
                    f"<table><tr><td>{inner}<td>{inner}</table>",
                    "<script>if (a < b) { c('<p>no</p>') }</script>",
                    "<style>p > b { color: red }</style>",
                    f"<?php echo 1 ?>{inner}",
                    f"<h1 TITLE = '{words(random).replace(chr(39), '')}'>{inner}</h1>",
                    f'<textarea placeholder="{words(random)}">stay</textarea>',
                    f"{inner}</div>",
                ]
            )
        )
    head = random.choice(["", "<!DOCTYPE html>\n<title>A page</title><meta charset=utf-8>"])
    return encoded(random, head + "\n".join(blocks), "page.html")


def markdown_inline(random: Random) -> str:
    """Words with emphasis, links, code and tags."""
    pieces = []
    for _ in range(random.randint(1, 3)):
        text = words(random, 3)
        pieces.append(
            random.choice(
                [
                    text,
                    f"**{text}**",
                    f"*{text}*",
                    f"_{text}_",
                    f'[{text}](http://a.example/x_(y) "title")',
                    f"![{text}](a.png)",
                    f"[{text}][ref]",
                    "[ref] and [ref][]",
                    "`code *x* y`",
                    "``a ` b``",
                    "\\*stars\\* 2 * 3 a_b_c &amp; &lt;",
                    "<b>bold</b><br>",
                    "<https://a.example>",
                    "text[^1]",
                    "~~gone~~",
                ]
            )
        )
    return " ".join(pieces)


def markdown(random: Random) -> MadeUp:
    """Front matter, headings, lists, quotes, tables, code, HTML and rules."""
    blocks = []
    for _ in range(random.randint(0, 7)):
        a, b = markdown_inline(random), markdown_inline(random)
        blocks.append(
            random.choice(
                [
                    f"{a}\n{b}",
                    f"{a}  \n{b}\\\n{words(random)}",
                    f"# {a}",
                    f"## {a} ##",
                    f"{a}\n---",
                    f"- {a}\n- {b}\n\n  {words(random)}",
                    f"1. {a}\n   1. {b}",
                    f"- [ ] {a}\n- [x] {b}",
                    f"> {a}\n> {b}\n>\n> - {words(random)}",
                    f"> {a}\nlazy {words(random)}",
                    f"| a | {words(random)} |\n|---|:-:|\n| {words(random)} | x\\|y |",
                    f"```python\n{a}\n```",
                    f"    {a}",
                    f"<div>\n<p>{words(random)}</p>\n</div>",
                    f"<!-- {words(random)} -->",
                    "***",
                    f"[^1]: {a}",
                    f"\t{a}",
                    f"*\t{a}",
                ]
            )
        )
    front = random.choice(["", "", "---\ntitle: A page\n---\n", "+++\nx = 1\n+++\n"])
    text = front + "\n\n".join(blocks) + "\n\n[ref]: http://r.example 'Title'\n"
    return encoded(random, text, "page.md")


def cue(random: Random) -> str:
    """The text of a subtitle."""
    a, b = words(random, 4), words(random, 4)
    return random.choice(
        [a, f"{a}\n{b}", f"- {a}\n- {b}", f"<i>{a}\n{b}</i>", f"{a} <b>{b}</b>", f"-{a}\n–{b}"]
    )


def srt(random: Random) -> MadeUp:
    """Cues with numbers, times, positions and codes."""
    blocks = []
    for number in range(1, random.randint(1, 8)):
        place = random.choice(["", " X1:40 X2:600 Y1:20 Y2:50"])
        code = random.choice(["", "{\\an8}"])
        time = f"00:00:{number:02},000 --> 00:00:{number:02},900{place}"
        blocks.append(f"{number}\n{time}\n{code}{cue(random)}\n")
    return encoded(random, random.choice(["\n", "\n\n"]).join(blocks), "film.srt")


def vtt(random: Random) -> MadeUp:
    """Cues with names, settings, voices and times; notes, styles and regions."""
    blocks = []
    for number in range(1, random.randint(1, 8)):
        name = random.choice(["", f"cue {number}\n", f"{number}\n"])
        settings = random.choice(["", " line:0 position:20%,line-left align:start"])
        voice = random.choice(["", "<v.loud Anna>", "<c.yellow.bg_blue>"])
        text = cue(random).replace("&", "&amp;") + random.choice(["", " &lt;3 &lrm;x"])
        time = f"00:{number:02}.000 --> 01:00:{number:02}.900{settings}"
        blocks.append(f"{name}{time}\n{voice}{text}\n")
        unspoken = random.choice(["note", "style", "region"]).upper()
        blocks.append(random.choice([f"{unspoken}\nnot said\n", ""]))
    header = random.choice(["WEBVTT\n\n", "WEBVTT - a film\nKind: captions\n\n"])
    return encoded(random, header + "\n".join(blocks), "film.vtt")


def quoted(text: str, random: Random) -> str:
    """A text of a PO file, on one line or on several."""
    raw = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if random.random() < 0.3:
        half = len(raw) // 2
        while half and raw[half - 1] == "\\":
            half -= 1
        return f'""\n"{raw[:half]}"\n"{raw[half:]}"'
    return f'"{raw}"'


def po(random: Random) -> MadeUp:
    """Entries with contexts, plurals, flags and comments, translated or not, and obsolete ones."""
    entries = []
    for number in range(random.randint(0, 7)):
        text = f"{number} " + random.choice(["", "\n"]) + words(random) + random.choice(["", "\n"])
        said = quoted(random.choice(["", words(random)]), random)
        lines = random.choice(["", "# A note.\n", "#. Extracted.\n#: main.c:7\n"])
        lines += random.choice(["", "#, c-format\n", "#, fuzzy\n", "#, python-format, no-wrap\n"])
        lines += random.choice(["", '#| msgid "older"\n'])
        lines += random.choice(["", 'msgctxt "menu"\n'])
        lines += f"msgid {quoted(text, random)}\n"
        if random.random() < 0.3:
            lines += f"msgid_plural {quoted(words(random), random)}\n"
            lines += "".join(f"msgstr[{form}] {said}\n" for form in range(3))
        else:
            lines += f"msgstr {said}\n"
        entries.append(lines)
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    header += '"Plural-Forms: nplurals=3; plural=0;\\n"\n'
    text = "\n".join([header, *entries]) + '\n#~ msgid "gone"\n#~ msgstr "weg"\n'
    text = text.replace("\n", random.choice(["\n", "\r\n"]))
    return MadeUp(text.encode(random.choice(["utf-8", "utf-8-sig"])), "de.po")


def xml_inline(random: Random, codes: list[str]) -> str:
    """Text with references, CDATA, comments and the codes of a format."""
    pieces = [markup_text(random)]
    for _ in range(random.randint(0, 3)):
        inner = markup_text(random)
        pieces.append(
            random.choice(
                [
                    *(code.replace("INNER", inner) for code in codes),
                    "<![CDATA[a <b> & c]]>",
                    "<!-- note -->",
                    "<?pi x?>",
                    markup_text(random),
                ]
            )
        )
    random.shuffle(pieces)
    return random.choice(["", " ", "\n   "]).join(pieces)


def xml_document(random: Random, body: str, name: str) -> MadeUp:
    """XML with its declaration in one of several encodings."""
    body = body.replace("\n", random.choice(["\n", "\r\n"]))
    codec = random.choice(["utf-8", "utf-8", "utf-16", "iso-8859-15"])
    text = f'<?xml version="1.0" encoding="{codec}"?>\n{body}'
    return MadeUp(text.encode(codec, "xmlcharrefreplace"), name)


def xliff1(random: Random) -> MadeUp:
    """XLIFF 1.2 with groups, alternatives, notes and targets in some units."""
    codes = ['<g id="1">INNER</g>', '<x id="2"/>', '<ph id="3">&lt;br></ph>']
    codes += ['<bpt id="4">{b}</bpt>INNER<ept id="4">{/b}</ept>', '<mrk mtype="protected">X</mrk>']
    units = []
    for number in range(random.randint(0, 6)):
        text = xml_inline(random, codes)
        target = random.choice(
            ["", "", "<target/>", "<target></target>", f"<target state='final'>{text}</target>"]
        )
        space = random.choice(["", "\n   "])
        mark = random.choice(["", ' translate="no"'])
        extra = random.choice(["", "<note>n</note>", "<alt-trans><target>t</target></alt-trans>"])
        units.append(
            f'<trans-unit id="{number}"{mark}>'
            f"{space}<source>{text}</source>{space}{target}{extra}</trans-unit>"
        )
    inner = "\n ".join(units)
    xmlns = 'xmlns="urn:oasis:names:tc:xliff:document:1.2"'
    return xml_document(
        random,
        f'<xliff version="1.2" {xmlns}><file original="a > b" source-language="en"><body><group>'
        f"{inner}</group></body></file></xliff>\n",
        "page.xlf",
    )


def xliff2(random: Random) -> MadeUp:
    """XLIFF 2 with several segments in a unit, ignorable parts and original data."""
    codes = ['<pc id="1">INNER</pc>', '<ph id="2" dataRef="d1"/>', '<cp hex="0001"/>']
    codes += ['<sc id="3"/>INNER<ec startRef="3"/>', '<mrk id="m" translate="no">X</mrk>']
    units = []
    for number in range(random.randint(0, 4)):
        segments = []
        for _ in range(random.randint(1, 3)):
            text = xml_inline(random, codes)
            target = random.choice(["", "<target/>", f"<target>{text}</target>"])
            segments.append(f"<segment>\n  <source>{text}</source>{target}\n </segment>")
        segments.append("<ignorable><source> </source></ignorable>")
        data = '<originalData><data id="d1">&lt;br></data></originalData>'
        mark = random.choice(["", ' translate="no"', ' xml:space="preserve"'])
        units.append(f'<unit id="u{number}"{mark}>{data}{"".join(segments)}</unit>')
    xmlns = 'xmlns="urn:oasis:names:tc:xliff:document:2.0"'
    body = f'<xliff version="2.0" srcLang="en" {xmlns}><file id="f">{"".join(units)}</file></xliff>'
    return xml_document(random, body, "page.xliff")


def tmx(random: Random) -> MadeUp:
    """TMX with properties, inline codes and some units in one language only."""
    codes = ['<bpt i="1">&lt;b></bpt>INNER<ept i="1">&lt;/b></ept>', '<ph x="2"/>']
    codes += ["<hi>INNER</hi>", '<it pos="begin">{i}</it>']
    units = []
    for number in range(random.randint(1, 6)):
        text = xml_inline(random, codes)
        target = f'\n  <tuv xml:lang="de-AT"><seg>{xml_inline(random, codes)}</seg></tuv>'
        units.append(
            f'<tu tuid="{number}"><prop type="x">p</prop>\n  <tuv xml:lang="en-GB">'
            f"<seg>{text}</seg></tuv>{random.choice(['', target])}\n</tu>"
        )
    units.append('<tu><tuv xml:lang="EN-gb"><seg>a</seg></tuv><tuv lang="de-AT"><seg/></tuv></tu>')
    doctype = random.choice(["", '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'])
    header = '<header srclang="en-GB" datatype="plaintext"/>'
    inner = "\n".join(units)
    body = f'{doctype}<tmx version="1.4">{header}<body>{inner}</body></tmx>'
    return xml_document(random, body, "memory.tmx")


IN_PLACE: dict[str, Callable[[Random], MadeUp]] = {
    "text": plain_text,
    "markdown": markdown,
    "html": html,
    "srt": srt,
    "vtt": vtt,
}
BILINGUAL: dict[str, Callable[[Random], MadeUp]] = {
    "xliff 1.2": xliff1,
    "xliff 2": xliff2,
    "po": po,
    "tmx": tmx,
}
