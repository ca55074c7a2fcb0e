"""The inline markup of a Markdown paragraph: emphasis, links, code, HTML tags and escapes."""

import html
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import NamedTuple

from seqloom.documents.html_elements import VOID
from seqloom.documents.inline import InlinePart, Role

__all__ = ["MarkdownInline", "Stretch"]

PUNCTUATION = r"!-/:-@\[-`{-~"
TOKEN = re.compile(
    rf"""(?P<alone>(?P<ticks>`++)(?:.*?[^`])(?P=ticks)(?!`)
        |<[A-Za-z][A-Za-z0-9+.-]{{1,31}}:[^\s<>]*>|<[^\s<>@]+@[^\s<>]+>
        |<!--.*?-->
        |\[\^[^\]\s]+\]:?
        |\A\[[ xX]\](?=\s))
    |</(?P<end>[A-Za-z][\w-]*)\s*>
    |<(?P<start>[A-Za-z][\w-]*)(?:\s+[^\s<>"'=/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>`=]+))?)*
        \s*(?P<empty>/)?>
    |(?P<escape>\\[{PUNCTUATION}]|&(?:\#[0-9]+|\#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);)
    |(?P<opener>!?\[)
    |(?P<tail>\]\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\)|\]\[(?P<label>[^\[\]]*)\])
    |(?P<closer>\])
    |(?P<emphasis>\*+|_+|~~)
    |(?P<space>\s+)
    |(?P<text>[^\\`&<!\[\]*_~\s]+|`+|.)""",
    re.DOTALL | re.VERBOSE,
)


class Stretch(NamedTuple):
    """One line of text in the source, and whether a hard line break follows."""

    start: int
    end: int
    breaks: bool


class _Run(NamedTuple):
    """A span of the paragraph and its role."""

    start: int
    end: int
    role: Role
    text: str = ""
    name: str = ""


class MarkdownInline:
    """A paragraph of joined lines, with a map to source offsets."""

    def __init__(
        self, source: str, stretches: Sequence[Stretch], references: Collection[str]
    ) -> None:
        self.stretches = stretches
        self.references = references
        texts = [source[each.start : each.end] for each in stretches]
        self.text = "\n".join(texts)
        self.starts = list(accumulate((len(text) + 1 for text in texts[:-1]), initial=0))

    def parts(self) -> list[InlinePart]:
        """Parse the paragraph into text, spaces and codes."""
        return [
            InlinePart(
                self._source_start(run.start),
                self._source_end(run.end),
                self.text[run.start : run.end].replace("\n", " "),
                run.role,
                run.text,
                run.name,
            )
            for run in self._runs()
        ]

    def _source_start(self, index: int) -> int:
        line = bisect_right(self.starts, index) - 1
        return self.stretches[line].start + index - self.starts[line]

    def _source_end(self, index: int) -> int:
        line = bisect_right(self.starts, index) - 1
        if index == self.starts[line]:
            return self.stretches[line].start
        return self.stretches[line].start + index - self.starts[line]

    def _runs(self) -> list[_Run]:
        tokens = list(TOKEN.finditer(self.text))
        roles = {**self._emphasis(tokens), **self._links(tokens)}
        runs: list[_Run] = []
        covered = 0
        for index, token in enumerate(tokens):
            if token.start() < covered:
                continue
            role, last = roles.get(index, (None, index))
            covered = tokens[last].end()
            if role is None:
                runs.append(_plain_run(token))
            else:
                name = "link" if token["emphasis"] is None else token[0]
                runs.append(_Run(token.start(), covered, role, name=name))
        return runs

    def _emphasis(self, tokens: Sequence[re.Match[str]]) -> dict[int, tuple[Role, int]]:
        """Match the delimiters * _ ~ by CommonMark's flanking rules; runs of unequal length are not
        matched.
        """
        found: dict[int, tuple[Role, int]] = {}
        waiting: list[tuple[str, int]] = []
        for index, token in enumerate(tokens):
            if token["emphasis"] is None:
                continue
            opens, closes = self._flanks(token)
            names = [name for name, _ in waiting]
            if closes and token[0] in names:
                at = len(names) - 1 - names[::-1].index(token[0])
                found[waiting[at][1]] = (Role.OPEN, waiting[at][1])
                found[index] = (Role.CLOSE, index)
                del waiting[at:]
            elif opens:
                waiting.append((token[0], index))
        return found

    def _flanks(self, token: re.Match[str]) -> tuple[bool, bool]:
        """Whether a delimiter run may open and may close."""
        before = self.text[token.start() - 1] if token.start() else " "
        after = self.text[token.end()] if token.end() < len(self.text) else " "
        opens = not after.isspace() and (after.isalnum() or not before.isalnum())
        closes = not before.isspace() and (before.isalnum() or not after.isalnum())
        if token[0].startswith("_"):
            return opens and not before.isalnum(), closes and not after.isalnum()
        return opens, closes

    def _links(self, tokens: Sequence[re.Match[str]]) -> dict[int, tuple[Role, int]]:
        """Match the brackets of links; a shortcut reference link is a single code, since its text
        is the name of its target.
        """
        found: dict[int, tuple[Role, int]] = {}
        waiting: list[int] = []
        for index, token in enumerate(tokens):
            if token["opener"]:
                waiting.append(index)
            elif (token["tail"] or token["closer"]) and waiting:
                first = waiting.pop()
                label = self.text[tokens[first].end() : token.start()]
                named = _label(label) in self.references
                if named and (token["closer"] or token["label"] == ""):
                    found[first] = (Role.ALONE, index)
                elif token["tail"]:
                    found[first] = (Role.OPEN, first)
                    found[index] = (Role.CLOSE, index)
        return found


def _plain_run(token: re.Match[str]) -> _Run:
    """A token without a partner in the paragraph."""
    start, end = token.span()
    raw = token[0]
    if token["space"]:
        return _Run(start, end, Role.SPACE, " ")
    if token["escape"]:
        said = raw[1:] if raw.startswith("\\") else html.unescape(raw)
        return _Run(start, end, Role.TEXT, said)
    if token["end"]:
        return _Run(start, end, Role.CLOSE, name=token["end"].lower())
    if token["start"]:
        name = token["start"].lower()
        alone = token["empty"] or name in VOID
        return _Run(start, end, Role.ALONE if alone else Role.OPEN, name=name)
    if token["alone"]:
        return _Run(start, end, Role.ALONE)
    return _Run(start, end, Role.TEXT, raw)


def _label(text: str) -> str:
    """A reference label, normalized as by CommonMark."""
    return " ".join(text.split()).lower().upper()
