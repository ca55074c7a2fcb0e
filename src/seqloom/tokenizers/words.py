"""Tokenizer of words and punctuation that preserves the exact spacing (S1.3, RELIABILITY B2).

Text is a chain of tokens with a gap of white space (often none) before each. Usual gaps are not
written: words are separated by one space, and the vocabulary stores for each mark the gap that
usually comes before and after it in the data (none before an English `?`, a space before a French
one, nothing after `l'`). Any other gap becomes tokens of its own: the white space itself, or the
empty symbol if there is less than usual.

A single pattern defines words; each of its repetitions is bounded, so its time is linear.

Most of it is Unicode. Three short lists are language-specific: what French and Italian put before
an apostrophe (`l'homme` is `l'` and `homme`, but `aujourd'hui` is one word), what English puts
after one (`it's` is `it` and `'s`, but `don't` is one word), and what French appends to a verb
(`dis-moi` is `dis` and `-moi`, but `peut-être` is one word).
"""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, count, groupby, pairwise
from typing import Any, Self

import numpy as np

from seqloom.config.columns import TextConfig
from seqloom.errors import RunError
from seqloom.tokenizers.chunks import ChunkIds, ChunkTable, FlatIds
from seqloom.tokenizers.offsets import Offsets
from seqloom.tokenizers.specials import SPECIAL_SYMBOLS, UNK, FieldState
from seqloom.tokenizers.tokenizer import (
    Ids,
    SymbolIds,
    most_frequent,
    new_symbols,
    parse_symbols,
    prune_counts,
    visible,
)

__all__ = [
    "UNSPACED",
    "WordTokenizer",
    "split_words",
    "word_pattern",
]

_UNSPACED = (  # Thai to Tibetan, Burmese, Khmer, Han, kana
    "\u0e01-\u0e4f\u0e81-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_KATAKANA = "\u30a1-\u30fa\u30fc"
_APOSTROPHE = "['\u2019]"
_HYPHEN = "[-\u2010\u2011]"
_BEFORE_APOSTROPHE = (
    "[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|all|dall|dell|nell|sull|quell|quest|un"
)
_AFTER_APOSTROPHE = "s|m|re|ve|ll|d"
_AFTER_HYPHEN = "je|tu|ils?|elles?|on|nous|vous|moi|toi|lui|leur|les?|la|y|en|ce|ci|l\u00e0|t"
_SKIN_TONES = "\U0001f3fb-\U0001f3ff"


def _marks() -> str:
    """The combining marks, for a character class."""
    planes = (*range(0x20000), *range(0xE0000, min(0xE0200, sys.maxunicode)))
    marks = [code for code in planes if unicodedata.category(chr(code)).startswith("M")]
    step = count()
    runs = (list(run) for _, run in groupby(marks, key=lambda code: code - next(step)))
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


@cache
def word_pattern() -> re.Pattern[str]:
    """A pattern that matches one word or mark at every character that is not white space."""
    marks = _marks()
    word = rf"[^\W{_UNSPACED}]"
    letter = rf"[^\W\d_{_UNSPACED}]"
    joined = f"[{marks}\u200c\u200d]{{1,16}}{word}{{0,16}}"
    run = f"{word}{{1,64}}(?:{joined}){{0,32}}"
    mark = rf"[^\w\s][{marks}{_SKIN_TONES}]{{0,16}}"
    ending = f"(?i:{_AFTER_APOSTROPHE})(?!{word})"
    hung = f"(?i:{_AFTER_HYPHEN})(?!{word})"
    inside = (
        rf"(?<=\d)[.,:](?=\d)"
        rf"|{_APOSTROPHE}(?!{ending})(?={letter})"
        rf"|(?<![\d_]){_HYPHEN}(?!{hung})(?={letter})"
    )
    kinds = (
        f"(?i:{_BEFORE_APOSTROPHE}){_APOSTROPHE}(?!{ending}|(?i:t)(?!{word}))(?= ?{letter})",
        f"{run}(?:(?:{inside}){run}){{0,8}}",
        f"{_APOSTROPHE}{ending}",
        rf"(?<=[^\W\d_]){_HYPHEN}{hung}",
        f"[{_KATAKANA}]{{1,32}}[{marks}]{{0,16}}",
        f"[{_UNSPACED}][{marks}]{{0,16}}",
        r"\.\.\.|--",
        "[\U0001f1e6-\U0001f1ff]{2}",
        f"{mark}(?:\u200d{mark}){{0,8}}",
    )
    return re.compile("|".join(kinds))


UNSPACED = re.compile(f"[{_UNSPACED}]")
"""One character of a script that is written without spaces between words."""


_JOIN, _SPACE = "", " "
_SPACINGS = (
    _SPACE,
    _JOIN,
    "\u00a0",
    "\u202f",
)  # candidates for the usual gap beside a mark; the first wins ties
_JOIN_MARK = "\uffed"
_OPEN_APOSTROPHE = re.compile(f"{_APOSTROPHE} ")
_MOST_CHUNKS = 50_000  # cached chunks; longer ones than this many characters are not cached:
_LONGEST_CHUNK = 32
_Chunk = tuple[tuple[int, ...], tuple[Offsets, ...]]  # ids and offsets of a chunk
_SPECIALS = len(SPECIAL_SYMBOLS)


def split_words(text: str) -> list[str]:
    """Split a text into words and marks, without white space."""
    return word_pattern().findall(text)


class WordTokenizer:
    """One token per word or mark, with spacing preserved; `<unk>` outside the vocabulary."""

    def __init__(
        self,
        symbols: Sequence[str],
        usual: Mapping[str, Sequence[str]],
        *,
        any_case: bool = False,
    ) -> None:
        """`usual` has the gaps before and after each symbol other than words separated by
        spaces.
        """
        self._usual = usual
        self._symbols = [*SPECIAL_SYMBOLS, *symbols]
        self._ids = SymbolIds(symbols, any_case=any_case)
        beside = [usual.get(symbol, (_SPACE, _SPACE)) for symbol in self._symbols]
        self._before = [gap for gap, _ in beside]
        self._after = [gap for _, gap in beside]
        self._known_chunks: dict[str, _Chunk] = {}
        self._spacing = {self._ids[symbol] for symbol in symbols if not symbol.strip()}

    @property
    def size(self) -> int:
        """Size of the vocabulary: words, marks, spacing and special symbols."""
        return len(self._symbols)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Learn the most frequent words and marks, and the usual gaps beside them."""
        counts, gaps = _count_words(texts)
        symbols = most_frequent(counts, config, always=(_JOIN, _SPACE))
        return cls(symbols, gaps.usual(symbols), any_case=config.any_case)

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """Restore saved words and their usual gaps."""
        symbols = parse_symbols(config, saved)
        if symbols[:2] != [_JOIN, _SPACE]:
            raise RunError(
                "the symbols for spacing are missing", remedy="restore the file from a copy"
            )
        gaps = _parse_spacings(saved.facts.get("gaps"), set(symbols))
        return cls(symbols, gaps, any_case=config.any_case)

    def state(self) -> FieldState:
        """The vocabulary in order of ids, and the gaps."""
        gaps = {symbol: list(pair) for symbol, pair in self._usual.items()}
        return FieldState({"symbols": self._symbols[_SPECIALS:], "gaps": gaps})

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """Extend the vocabulary by new words and their usual gaps; existing ones stay."""
        counts, gaps = _count_words(texts)
        new = new_symbols(counts, config, self._ids)
        symbols, usual = [*self._symbols[_SPECIALS:], *new], {**self._usual, **gaps.usual(new)}
        return type(self)(symbols, usual, any_case=config.any_case)

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """Encode words and marks, and each gap that is not the usual one."""
        return [np.array(self._encode(text), dtype=np.int32) for text in texts]

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """Encode texts to one flat array, by looking up chunks between spaces."""
        return self._chunk_table.encode(texts)

    @cached_property
    def _chunk_table(self) -> ChunkTable:
        return ChunkTable(self._encode_chunk, self.encode_many, space=self._ids[_SPACE])

    def _encode_chunk(self, chunk: str) -> ChunkIds | None:
        """Encode a chunk between two spaces; None if its ids depend on its neighbours: a final
        apostrophe, or more than one space beside it.
        """
        if not chunk or chunk[0].isspace() or chunk[-1].isspace() or chunk[-1] in "'\u2019":
            return None
        ids = [token for token, _ in self._tokens(chunk)]
        closes, opens = self._after[ids[-1]] == _SPACE, self._before[ids[0]] == _SPACE
        return ChunkIds(ids, closes=closes, opens=opens)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """The offsets of each id: of its word or mark, or of white space that has a token."""
        chunks = self._chunks(text)
        if chunks is None:
            return [offsets for _, offsets in self._tokens(text)]
        found: list[Offsets] = []
        last, place = None, 0
        for tokens, offsets in chunks:
            if last is not None and self._usual_spacing(last, tokens[0]) != _SPACE:
                found += [offsets for _, offsets in self._spaces(_SPACE, place - 1)]
            length = offsets[-1][1]
            if len(offsets) == 1:
                found.append((place, place + length))
            else:
                found += [(start + place, end + place) for start, end in offsets]
            last, place = tokens[-1], place + length + 1
        return found

    def _encode(self, text: str) -> list[int]:
        chunks = self._chunks(text)
        if chunks is None:
            return [token for token, _ in self._tokens(text)]
        found: list[int] = []
        last = None
        for tokens, _ in chunks:
            if last is not None and self._usual_spacing(last, tokens[0]) != _SPACE:
                found += [token for token, _ in self._spaces(_SPACE, 0)]
            found += tokens
            last = tokens[-1]
        return found

    def _chunks(self, text: str) -> list[_Chunk] | None:
        """Split a text at spaces and tokenize each distinct chunk once; None if there is other
        white space, or an apostrophe that belongs to the next chunk.
        """
        written = text.split(_SPACE)
        if written != text.split() or _OPEN_APOSTROPHE.search(text):
            return None
        known = self._known_chunks
        try:
            return [known[each] for each in written]
        except KeyError:
            pass
        if len(known) > _MOST_CHUNKS:
            known.clear()
        chunks = []
        for each in written:
            chunk = known.get(each)
            if chunk is None:
                tokens, offsets = zip(*self._tokens(each), strict=True)
                chunk = tokens, offsets
                if len(each) <= _LONGEST_CHUNK:
                    known[each] = chunk
            chunks.append(chunk)
        return chunks

    def _tokens(self, text: str) -> list[tuple[int, Offsets]]:
        """The ids of a text with their offsets."""
        found: list[tuple[int, Offsets]] = []
        last, place = None, 0
        for gap, word in _words_with_spacing(text):
            token = self._ids.find(word) if word else UNK
            if not word or gap != self._usual_spacing(last, token):
                found.extend(self._spaces(gap, place))
            place += len(gap)
            if word:
                found.append((token, (place, place + len(word))))
            last, place = token, place + len(word)
        return found

    def _usual_spacing(self, left: int | None, right: int) -> str:
        if left is None:
            return _JOIN
        before = self._before[right]
        return before if before != _SPACE else self._after[left]

    def _spaces(self, gap: str, place: int) -> Iterator[tuple[int, Offsets]]:
        """White space as tokens, or the empty symbol for none; unknown white space must not turn
        into the usual gap.
        """
        join = self._ids[_JOIN]
        if not gap:
            yield join, (place, place)
        for start, char in enumerate(gap, start=place):
            token = self._ids.get(char, UNK)
            if token == UNK:
                yield join, (start, start)
            yield token, (start, start + 1)
            if token == UNK:
                yield join, (start + 1, start + 1)

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, with all spacing."""
        return "".join([part for pair in self._parts(ids) for part in pair])

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """The offsets of words and marks, without the usual gaps before them."""
        pairs = list(self._parts(ids))
        ends = accumulate(len(gap) + len(word) for gap, word in pairs)
        return [(end - len(word), end) for (_, word), end in zip(pairs, ends, strict=True)]

    def _parts(self, ids: Sequence[int]) -> Iterator[tuple[str, str]]:
        """The usual gap before each token, and its text."""
        last: int | None = None
        for token in ids:
            spacing = token in self._spacing
            yield "" if spacing else self._usual_spacing(last, token), self._symbols[token]
            last = None if spacing else token

    def show(self, token: int) -> str:
        """The word itself; spacing in printable form."""
        return visible(self._symbols[token]) or _JOIN_MARK


def _words_with_spacing(text: str) -> Iterator[tuple[str, str]]:
    """Each token with the white space before it, and at last the trailing white space, if any."""
    end = 0
    for match in word_pattern().finditer(text):
        yield text[end : match.start()], match.group()
        end = match.end()
    if end < len(text):
        yield text[end:], ""


def _count_words(texts: Iterable[str]) -> "tuple[Counter[str], _SpacingCounts]":
    """Count words, marks and unusual white space, and the gaps beside them."""
    counts: Counter[str] = Counter()
    gaps = _SpacingCounts()
    for text in texts:
        chain = list(_words_with_spacing(text))
        counts.update(token for _, token in chain if token)
        counts.update(char for gap, _ in chain if gap != _SPACE for char in gap)
        gaps.count(chain)
        counts = prune_counts(counts)
    return counts, gaps


class _SpacingCounts:
    """Counts of the gaps beside marks and beside characters of unspaced scripts."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()  # side, symbol, gap

    def count(self, chain: Sequence[tuple[str, str]]) -> None:
        """Count the gaps of a text: one between a word and a mark counts for the mark, one between
        two marks for neither.
        """
        for (_, left), (gap, right) in pairwise(chain):
            if not right or gap not in _SPACINGS:
                continue
            end, start = left[-1], right[0]
            if UNSPACED.match(end) or (_is_mark(end) and not _is_mark(start)):
                self._counts["after", left, gap] += 1
            if UNSPACED.match(start) or (_is_mark(start) and not _is_mark(end)):
                self._counts["before", right, gap] += 1
        self._counts = prune_counts(self._counts)

    def usual(self, symbols: Iterable[str]) -> dict[str, tuple[str, str]]:
        """The two usual gaps of each symbol other than words separated by spaces."""
        pairs = {s: (self._commonest("before", s), self._commonest("after", s)) for s in symbols}
        return {symbol: pair for symbol, pair in pairs.items() if pair != (_SPACE, _SPACE)}

    def _commonest(self, side: str, symbol: str) -> str:
        return max(_SPACINGS, key=lambda gap: self._counts[side, symbol, gap])


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] not in "LNM"


def _parse_spacings(gaps: Any, symbols: set[str]) -> dict[str, tuple[str, str]]:
    """Parse saved gaps; RunError if they are invalid."""
    if not isinstance(gaps, dict) or not gaps.keys() <= symbols:
        raise RunError(
            "the gaps beside its symbols are damaged", remedy="restore the file from a copy"
        )
    for pair in gaps.values():
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(gap in _SPACINGS for gap in pair)
        ):
            raise RunError(
                "a gap beside a symbol is damaged", remedy="restore the file from a copy"
            )
    return {symbol: (pair[0], pair[1]) for symbol, pair in gaps.items()}
