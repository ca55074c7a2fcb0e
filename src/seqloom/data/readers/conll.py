"""Files with a word a line and a blank line between sentences: CoNLL-U, and plain columns.

A sentence becomes one row: the words with spaces between them, and the tags likewise (S1.1). A
space inside a word becomes a no-break space, so that words and tags still match.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from seqloom.data.columns import ColumnSelection
from seqloom.data.readers.delimited import Record
from seqloom.data.report import Fault, FileLocation, Reason
from seqloom.errors import DataError

__all__ = ["column_rows", "conllu_rows"]

CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
COLUMN_ORDER = ("FORM", "UPOS", "XPOS", "LEMMA", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
REQUIRED = ("UPOS", "XPOS", "HEAD", "DEPREL")  # where `_` means that nothing is there
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class _TokenLine:
    """The cells of one line."""

    place: FileLocation
    cells: list[str]


Line = _TokenLine | Fault | None
"""None where a sentence ends."""


def conllu_rows(
    lines: Iterable[str | Fault], wanted: ColumnSelection, file: str
) -> Iterator[Record | Fault]:
    """The sentences of a CoNLL-U file; its columns go by their names, FORM and UPOS are 1 and 2.

    Comments, words that span several (`1-2`) and words that are not written (`1.1`) are passed by.
    """
    offered = wanted.find_all(COLUMN_ORDER, file)
    chosen = [CONLLU.index(COLUMN_ORDER[index]) for index in offered]
    return _sentences(_conllu_words(lines, file, chosen), lambda _: chosen)


def column_rows(
    lines: Iterable[str | Fault], wanted: ColumnSelection, file: str
) -> Iterator[Record | Fault]:
    """The sentences of a file with columns set apart by a tab, or by spaces where there is none."""
    if wanted.column_by_name is not None:
        raise DataError(
            f"{file}: its columns have no names, so there is no "
            f"{wanted.column_by_name!r}; ask by position"
        )
    return _sentences(
        _column_words(lines, file),
        lambda first: wanted.find_all([""] * len(first.cells), first.place),
    )


def _conllu_words(lines: Iterable[str | Fault], file: str, chosen: list[int]) -> Iterator[Line]:
    number = 0  # of the last word
    for line_number, line in enumerate(lines, 1):
        place = FileLocation(file, line_number)
        if isinstance(line, Fault):
            yield line
        elif not line.strip():
            number = 0
            yield None
        elif not line.startswith("#"):
            cells = line.split("\t")
            own = cells[0]
            if len(cells) != len(CONLLU):
                wrong = f"expected {len(CONLLU)} columns, found {len(cells)}"
                yield Fault(Reason.COLUMNS, place, f"{wrong}; put tabs between them")
            elif "-" not in own and "." not in own:
                number += 1
                yield _conllu_word(_TokenLine(place, cells), number, chosen)


def _conllu_word(word: _TokenLine, number: int, chosen: list[int]) -> Line:
    """The word, if it has its place in the sentence and all that is asked of it."""
    if word.cells[0] != str(number):
        message = f"word {number} should come here, not {word.cells[0]!r}; number words from 1"
        return Fault(Reason.ORDER, word.place, message)
    for index in chosen:
        if CONLLU[index] in REQUIRED and word.cells[index] == "_":
            message = f"the word has no {CONLLU[index]}; fill it in or choose another column"
            return Fault(Reason.MISSING, word.place, message)
    return word


def _column_words(lines: Iterable[str | Fault], file: str) -> Iterator[Line]:
    width = 0
    for number, line in enumerate(lines, 1):
        place = FileLocation(file, number)
        if isinstance(line, Fault):
            yield line
        elif not line.strip():
            yield None
        else:
            cells = line.split("\t") if "\t" in line else line.split()
            width = width or len(cells)
            if len(cells) != width:
                message = f"expected {width} columns, found {len(cells)}; give each word one tag"
                yield Fault(Reason.COLUMNS, place, message)
            else:
                yield _TokenLine(place, cells)


def _sentences(
    words: Iterable[Line], columns: Callable[[_TokenLine], Sequence[int]]
) -> Iterator[Record | Fault]:
    """A row for each sentence, at the line of its first word; a faulty line spoils its sentence.

    `columns` tells from the first word which cells are wanted.
    """
    chosen: Sequence[int] = ()
    sentence: list[_TokenLine] = []
    fault: Fault | None = None
    for word in chain(words, [None]):
        if isinstance(word, Fault):
            fault = fault or word
        elif word is not None:
            chosen = chosen or columns(word)
            sentence.append(word)
        else:
            if fault is not None or sentence:
                yield fault or _record(sentence, chosen)
            sentence, fault = [], None


def _record(sentence: list[_TokenLine], chosen: Sequence[int]) -> Record | Fault:
    for word in sentence:
        if not all(word.cells[index].strip() for index in chosen):
            return Fault(Reason.MISSING, word.place, "a cell is empty; fill it in")
    columns = ([word.cells[index].strip() for word in sentence] for index in chosen)
    texts = [" ".join(cell.replace(" ", NO_BREAK) for cell in column) for column in columns]
    return Record(sentence[0].place, texts)
