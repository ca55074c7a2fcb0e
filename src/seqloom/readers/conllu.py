"""CoNLL-U: one word per line, in ten named columns."""

from collections.abc import Iterable, Iterator

from seqloom.readers.lines import Fault, FileLocation, Reason, expand_lines
from seqloom.readers.reader import READERS, ColumnSelection, Record
from seqloom.readers.sentences import Line, TagsReader, TokenLine, sentence_rows

__all__ = ["ConlluReader"]

CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
COLUMN_ORDER = ("FORM", "UPOS", "XPOS", "LEMMA", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
REQUIRED = ("UPOS", "XPOS", "HEAD", "DEPREL")  # where `_` means empty


@READERS.part("conllu")
class ConlluReader(TagsReader):
    """Reads CoNLL-U files."""

    def sentences(
        self, lines: Iterable[str | Fault], wanted: ColumnSelection, file: str
    ) -> Iterator[Record | Fault]:
        """The sentences of a file; its columns go by their names, FORM and UPOS are 1 and 2.

        Comments, multiword tokens (`1-2`) and empty nodes (`1.1`) are skipped.
        """
        offered = wanted.find_all(COLUMN_ORDER, file)
        chosen = [CONLLU.index(COLUMN_ORDER[index]) for index in offered]
        return sentence_rows(_conllu_words(lines, file, chosen), lambda _: chosen)


def _conllu_words(
    lines: Iterable[str | Fault], file: str, chosen: list[int]
) -> Iterator[TokenLine | Fault | None]:
    number = 0  # of the last word

    def read(line: str, place: FileLocation) -> Iterator[TokenLine | Fault | None]:
        nonlocal number
        if not line.strip():
            number = 0
            yield None
        elif not line.startswith("#"):
            cells = line.split("\t")
            own = cells[0]
            if len(cells) != len(CONLLU):
                wrong = f"expected {len(CONLLU)} columns, found {len(cells)}"
                yield Fault(Reason.COLUMNS, place, wrong, "put tabs between them")
            elif "-" not in own and "." not in own:
                number += 1
                yield _conllu_word(TokenLine(place, cells), number, chosen)

    return expand_lines(lines, file, read)


def _conllu_word(word: TokenLine, number: int, chosen: list[int]) -> Line:
    """The word, if it has its place in the sentence and all that is asked of it."""
    if word.cells[0] != str(number):
        problem = f"word {number} should come here, not {word.cells[0]!r}"
        return Fault(Reason.ORDER, word.place, problem, "number words from 1")
    for index in chosen:
        if CONLLU[index] in REQUIRED and word.cells[index] == "_":
            problem = f"the word has no {CONLLU[index]}"
            return Fault(Reason.MISSING, word.place, problem, "fill it in or choose another column")
    return word
