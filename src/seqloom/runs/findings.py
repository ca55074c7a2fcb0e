"""The checks of `seqloom check`, one function each, and the verdict."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from seqloom.config import Config, TextConfig
from seqloom.data import Data, Preview, preview
from seqloom.remedies import PYTHON, Phrase, Remedy, Setting, Wording
from seqloom.surveys import Survey, overlap

__all__ = [
    "COMMON_CHECKS",
    "DataCheck",
    "Evidence",
    "Finding",
    "count_of",
    "describe_time",
    "few_rows",
    "run_checks",
    "them_or_it",
    "verdict",
]

FEW, SCANT = 50, 500  # rows: too few, and few
SHARED = 0.05  # share of validation rows in the training data that is grave
NEARLY_ALL = 0.95  # of the rows
FEATURE_REPEATS = 5  # mean occurrences of each feature in a feature list
REPEATED = 0.2  # share of duplicate rows that is reported
NAMED = 5  # columns listed in a sentence
LONG_COLUMN, NEARLY_EACH = 20, 0.99  # cells below a heading without a digit; share with one
FILE_ENDINGS = {"picture": (".png", ".jpg", ".jpeg"), "sound": (".wav",)}
HOUR = 90.0  # minutes above which time is given in hours
HEADINGS = {
    *("id", "key", "name", "names", "word", "words", "lemma", "lemmas", "text", "texts"),
    *("sentence", "sentences", "label", "labels", "class", "classes", "category", "categories"),
    *("de", "en", "fr", "es", "it", "nl", "pt", "ru", "zh", "german", "english", "french"),
    *("spanish", "italian", "dutch", "russian", "chinese", "source", "target", "src", "tgt"),
    *("input", "output", "question", "answer", "review", "comment", "sentiment", "rating"),
    *("score", "title", "intent", "intents", "utterance", "query", "tag", "tags", "slots"),
    *("features", "form", "forms", "phonemes", "pronunciation", "ipa", "x", "y", "value"),
    *("values", "price", "date", "message", "type", "topic", "language"),
}


@dataclass(frozen=True)
class Finding:
    """A finding about the data with a remedy; `grave` if training should wait for it."""

    sentence: Phrase
    grave: bool = False


@dataclass(frozen=True)
class Evidence:
    """The input of every check: configuration, survey and preview."""

    config: Config
    survey: Survey
    held_out: Survey | None = None
    preview: Preview | None = None  # the first rows of the file, uncut; None if it is not a table

    @property
    def targets(self) -> list[str]:
        """The targets of the sampled rows."""
        return [target for _, target in self.survey.sample]

    def target_kind(self, kind: str) -> Setting:
        """The setting that reads the target as another kind."""
        return Setting("target", f"{self.config.data.target or 2}:{kind}")


DataCheck = Callable[[Evidence], Iterable[Finding]]


def reading_notes(evidence: Evidence) -> Iterator[Finding]:
    """Notes of the file reader."""
    if evidence.preview is not None and evidence.preview.note:
        yield Finding(evidence.preview.note)


def columns_not_read(evidence: Evidence) -> Iterator[Finding]:
    """Columns of the file that are not source, target or weight."""
    preview = evidence.preview
    if preview is None or not preview.unread:
        return
    names = ", ".join(preview.unread[:NAMED]) + ", ..." * (len(preview.unread) > NAMED)
    sides = Setting("data.source"), Setting("data.target")
    if len(preview.unread) == 1:
        yield Finding(
            Remedy("column {} is not read; name it with {} or {} to read it", names, *sides)
        )
    else:
        yield Finding(
            Remedy("columns {} are not read; name with {} or {} which should be", names, *sides)
        )


def file_names(evidence: Evidence) -> Iterator[Finding]:
    """Sources that are names of pictures or sounds and are read as text."""
    sources = [source.strip().lower() for source, _ in evidence.survey.sample]
    if not isinstance(evidence.config.source, TextConfig) or not sources:
        return
    for kind, endings in FILE_ENDINGS.items():
        if sum(source.endswith(endings) for source in sources) >= NEARLY_ALL * len(sources):
            yield Finding(
                Remedy(
                    f"the sources are names of {kind} files and are read as text; write {{}} to "
                    "read the files",
                    Setting("source", f"{evidence.config.data.source or 1}:{kind}"),
                ),
                grave=True,
            )


def header_row(evidence: Evidence) -> Iterator[Finding]:
    """A first row that is read as data but resembles a header."""
    preview = evidence.preview
    if preview is None or preview.has_header or len(preview.rows) < 2:
        return
    first, *rest = ([row[column].strip() for column in preview.columns] for row in preview.rows)
    known = sum(cell.lower() in HEADINGS for cell in first)
    repeated = any(cell == row[place] for row in rest for place, cell in enumerate(first))
    columns = [[row[place] for row in rest if row[place]] for place in range(len(first))]
    numeric = any(_heads_numbers(cell, below) for cell, below in zip(first, columns, strict=True))
    if (known == len(first) and not repeated) or numeric:
        cells = ", ".join(map(repr, first))
        yield Finding(
            Remedy(
                "the first row ({}) looks like a header and is read as a row; write {}",
                cells,
                Setting("data.header", "yes"),
            ),
            grave=True,
        )


def _heads_numbers(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is no number above numbers, or has no digit above a long column of cells that
    have some, such as dates or numbered files.
    """
    if not cell or not below:
        return False
    if not _is_number(cell) and all(map(_is_number, below)):
        return True
    with_digits = sum(map(_has_digit, below))
    nearly_all = len(below) >= LONG_COLUMN and with_digits >= NEARLY_EACH * len(below)
    return nearly_all and not _has_digit(cell)


def other_separator(evidence: Evidence) -> Iterator[Finding]:
    """Semicolons or several spaces in nearly every row, which may be column separators."""
    preview = evidence.preview
    if preview is None or preview.is_named or len(preview.rows) < 2:
        return
    for separator, words in ((";", "semicolons"), ("  ", "several spaces")):
        columns = [
            column
            for column in zip(*preview.rows, strict=True)
            if not _lists_features(column, separator)
        ]
        counts = [
            sum(cell.strip().count(separator) for cell in row) for row in zip(*columns, strict=True)
        ]
        if not counts:
            continue
        usual = max(set(counts), key=counts.count)
        if usual and counts.count(usual) >= NEARLY_ALL * len(counts):
            yield Finding(
                f"nearly every row has {words} in it; if they part the columns, put one tab in "
                "their place and name the file .tsv",
                grave=True,
            )
            return


def _lists_features(column: Sequence[str], separator: str) -> bool:
    """Whether cells are lists of recurring features (`N;DAT`), so that their separator does not
    separate columns.
    """
    parts = [part for cell in column for part in cell.strip().split(separator)]
    several = sum(separator in cell for cell in column)
    return 2 * several > len(column) and FEATURE_REPEATS * len(set(parts)) <= len(parts)


def few_rows(rows: int, updates: int) -> Iterator[Finding]:
    """Too few rows to generalize from."""
    if rows >= SCANT:
        return
    if rows < FEW:
        learnt = f"{updates:,} updates would learn them by heart"
        yield Finding(
            f"{count_of(rows, 'row')} {'is' if rows == 1 else 'are'} too few to learn from: "
            f"{learnt}; give some hundreds at least",
            grave=True,
        )
    else:
        yield Finding(f"{rows:,} rows are few; results will vary, and more rows help most")


def enough_rows(evidence: Evidence) -> Iterator[Finding]:
    """Few rows, unless the data is one stream of text."""
    config = evidence.config
    if config.data.lines != "stream":
        yield from few_rows(evidence.survey.facts.rows, config.training.updates)


def row_repetitions(evidence: Evidence) -> Iterator[Finding]:
    """Many duplicate rows."""
    survey = evidence.survey
    rows, again = survey.facts.rows, survey.duplicate_rows
    if rows and again >= REPEATED * rows and evidence.config.data.lines != "stream":
        yield Finding(
            f"{again:,} of {rows:,} rows repeat an earlier one; remove them unless they should "
            "count more"
        )


def overlap_with_held_out(evidence: Evidence) -> Iterator[Finding]:
    """Held-out rows, or their sources, that are also in the training data."""
    if evidence.held_out is None or evidence.config.data.lines == "stream":
        return
    shared, rows = overlap(evidence.survey, evidence.held_out), evidence.held_out.facts.rows
    cure = "take them out of one, or results flatter the model"
    if shared.rows:
        also = f"{shared.rows:,} of {rows:,} held-out rows are also in the training data"
        yield Finding(f"{also}; {cure}", grave=shared.rows > SHARED * rows)
    elif evidence.config.data.source and shared.sources:
        also = f"{shared.sources:,} of {rows:,} held-out sources are also in the training data"
        yield Finding(f"{also}, with other targets; {cure}")


COMMON_CHECKS: tuple[DataCheck, ...] = (
    reading_notes,
    columns_not_read,
    file_names,
    header_row,
    other_separator,
    enough_rows,
    row_repetitions,
    overlap_with_held_out,
)
"""Those that fit any table of rows."""


def run_checks(
    checks: Sequence[DataCheck], data: Data, config: Config, found: Survey, other: Survey | None
) -> list[Finding]:
    """The findings of all checks in surveyed data and, if there is any, held-out data."""
    evidence = Evidence(config, found, other, preview(data, config.data))
    return [finding for check in checks for finding in check(evidence)]


def verdict(
    findings: Sequence[Finding], unusable: int = 0, *, wording: Wording = PYTHON
) -> list[str]:
    """The findings, grave ones first, below a line that says whether training can begin."""
    grave = [wording.remedy(each.sentence) for each in findings if each.grave]
    slight = [wording.remedy(each.sentence) for each in findings if not each.grave]
    told = [f"  {number}. {each}" for number, each in enumerate((*grave, *slight), 1)]
    if unusable:
        rows = f"{count_of(unusable, 'row')} cannot be used"
        return [f"verdict: {rows}; mend {them_or_it(unusable)} first", *told]
    if grave:
        return ["verdict: look at this before training", *told]
    if slight:
        return ["verdict: ready to train; worth knowing", *told]
    return ["verdict: ready to train; nothing stands against it"]


def count_of(number: int, word: str) -> str:
    """A count with its noun, such as `1 row` and `2 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def them_or_it(number: int) -> str:
    """The pronoun for a count."""
    return "it" if number == 1 else "them"


def describe_time(minutes: float) -> str:
    """A waiting time in words."""
    if minutes < 1:
        return "less than a minute"
    if minutes < HOUR:
        return f"about {count_of(round(minutes), 'minute')}"
    return f"about {minutes / 60:,.1f} hours"


def _has_digit(cell: str) -> bool:
    return any(map(str.isdecimal, cell))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
