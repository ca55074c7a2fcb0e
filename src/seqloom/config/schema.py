"""The one list of options: a field here is a TOML key, a `--set` name and a row of the manual.

A choice between parts is a union of small classes told apart by `kind`; only `model.build` asks.
`option_rows` lists them all, for the manual, `seqloom options` and errors that name a key.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from seqloom.config.architecture.model import ModelConfig
from seqloom.config.columns import SourceConfig, TargetConfig, TextConfig
from seqloom.config.searches import AUTO, RankingTable, SearchTable
from seqloom.config.sections import Choice, Count, NameOf, PartOptions, Positive, Section, Share
from seqloom.config.training import TrainingConfig

__all__ = [
    "Config",
    "DataConfig",
    "OptionRow",
    "Overlong",
    "SearchConfig",
    "choice_of",
    "names_and_sections",
    "option_names",
    "option_rows",
]


Overlong = Literal["drop", "truncate", "error", "split"]
"""What becomes of a row that is longer than a model takes (S1.6)."""


class DataConfig(Section):
    """Where the two columns are and which rows count."""

    source: str = Field(
        "1",
        description="source column: its name, or its position from 1; several with commas between; "
        "none if empty",
    )
    target: str = Field("2", description="target column: its name, or its position from 1")
    weight: str = Field(
        "", description="column of numbers that say how much a row counts; none if empty"
    )
    header: Literal["auto", "yes", "no"] = Field(
        "auto", description="whether a TSV or CSV file starts with a line of column names"
    )
    lines: Literal["rows", "stream"] = Field(
        "rows",
        description="without a source: each line is a row of its own, or all are one stream of "
        "text, in which the end of a line is a symbol",
    )
    columns: bool = Field(
        False, description="the source is several columns, each read by its own unit"
    )
    turns: bool = Field(
        False,
        description="source cells are lists of turns, and the source may be several columns; where "
        "the target is the same column, each reply in it is a row",
    )
    replies: str = Field(
        "", description="dialogs: the speaker whose turns are replies; the second one if empty"
    )
    recased: Share = Field(
        0.0,
        description="share of the training rows that are learnt once more in capitals, title case "
        "or small letters; chosen for sentences that have capitals",
    )
    skip_bad: bool = Field(
        False, description="leave out malformed rows and count them, rather than stop at the first"
    )
    max_line: Positive = Field(1_000_000, description="longest line in bytes that is read")
    max_source: Positive = Field(256, description="longest source in tokens")
    max_target: Positive = Field(256, description="longest target in tokens")
    overlong: Overlong = Field(
        "drop",
        description="what to do with a row that is longer than that: leave it out of training, "
        "truncate it, stop with an error, or split a text into pieces at ends of sentences or else "
        "of words; the same in use, where drop truncates",
    )
    valid_share: Share = Field(
        0.05, description="share of the rows held out where no held-out data is given"
    )
    files: bool = Field(
        False, description="source cells name files, beside the data unless their path is absolute"
    )
    arrays: bool = Field(
        False,
        description="source cells are sequences of numbers: lists in JSON, or names of array files "
        "(.npy) beside the data",
    )
    window: Count = Field(
        0, description="vectors: so many rows of a table, each a step, are a source; 0: a cell is"
    )
    stride: Count = Field(
        0, description="rows from the beginning of one window to that of the next; 0 is a window"
    )
    aligned: bool = Field(
        False, description="windows: each row has a tag; else a window has the last target in it"
    )
    inside: bool = Field(
        False, description="refuse files that lie outside of the data's folder, links followed"
    )
    split: Literal["source", "row"] = Field(
        "source", description="rows that share this fall on the same side when rows are held out"
    )
    valid_rows: Positive = Field(2_000, description="and at most this many rows")
    time: str = Field(
        "",
        description="over time: the column that tells when; found by its name or values if empty; "
        "none counts the rows, whatever a column says",
    )
    parts: Annotated[tuple[Positive, ...], Field(max_length=3)] = Field(
        (),
        description="series: rows from the top to learn from, to hold out, and to evaluate on; "
        "without them the last valid_share is held out",
    )

    @property
    def source_columns(self) -> list[str]:
        """The source's columns, by name or position."""
        several = self.turns or self.columns or self.window > 0
        named = self.source.split(",") if several else [self.source]
        return [column.strip() for column in named]

    @property
    def time_columns(self) -> list[str]:
        """The column that tells when the steps of windows are; none where rows are counted."""
        return [self.time] if self.window and self.time not in ("", "none") else []


class SearchConfig(Section):
    """How outputs are searched for unless a command or a request says otherwise (S7)."""

    method: SearchTable = Field(
        AUTO,
        description="the search, by its kind, with its options beside it; auto is a beam, or draws "
        "of a language model",
    )
    ranking: RankingTable = Field(
        AUTO,
        description="how outputs are compared, by the kind of ranking, with its options beside it; "
        "auto is by length and coverage, as the options below say",
    )
    beam: Annotated[int, Field(ge=1, le=1_000)] = Field(
        5, description="paths that a beam keeps at each step; 1 is greedy"
    )
    length_power: Annotated[float, Field(ge=0, le=4)] = Field(
        1.0, description="scores are divided by length to this power when outputs are compared"
    )
    length_gnmt: Annotated[float, Field(ge=0, le=4)] = Field(
        0.0, description="and by ((5 + length) / 6) to this power"
    )
    length_reward: float = Field(
        0.0, description="before that, this is added to the score for each token"
    )
    coverage: Annotated[float, Field(ge=0)] = Field(
        0.0, description="weight of the penalty for source tokens that had too little attention"
    )
    min_ratio: Annotated[float, Field(ge=0)] = Field(
        0.0, description="shortest output as a multiple of the source, ..."
    )
    min_extra: Count = Field(0, description="... plus this many tokens")
    max_ratio: Annotated[float, Field(gt=0)] = Field(
        2.0, description="longest output as a multiple of the source, ..."
    )
    max_extra: Count = Field(20, description="... plus this many tokens")
    copy_unknown: Literal["auto", True, False] = Field(
        "auto",
        description="let <unk> be written, and put the source word that had the most attention in "
        "its place (words and symbols on both sides); auto does so where that is better on "
        "held-out rows, which training finds out",
    )
    length: Positive = Field(
        100, description="without a source: most tokens that are written after a beginning"
    )

    def copies(self, *, helps: bool) -> bool:
        """Whether unknown words are copied, where training has found out whether that helps."""
        return helps if self.copy_unknown == AUTO else bool(self.copy_unknown)


class Config(Section):
    """Everything that decides what a run becomes; it lies in the run directory as config.toml."""

    seed: Count = Field(1, description="where all randomness starts")
    data: DataConfig = DataConfig()
    source: SourceConfig = TextConfig()
    target: TargetConfig = TextConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()


class OptionRow(NamedTuple):
    """One option of one kind."""

    name: str  # dotted, as it is set
    kind: str  # the kind of its section that has it; empty where the section is no choice
    default: Any  # of that kind
    meaning: str


def option_rows(section: type[BaseModel] = Config) -> Iterator[OptionRow]:
    """Every option of every kind once, in the order of the manual."""
    yield from dict.fromkeys(_rows(section, "", ""))


def option_names() -> list[str]:
    """Every dotted name that can be set."""
    return list(dict.fromkeys(row.name for row in option_rows()))


def names_and_sections() -> list[str]:
    """Every dotted name that can be set, and the sections that they are in."""
    names = [name.split(".") for name in option_names()]
    return sorted({".".join(name[:end]) for name in names for end in range(1, len(name) + 1)})


def choice_of(field: FieldInfo) -> Choice | None:
    """The choice that a field is, if it is one."""
    return next((each for each in field.metadata if isinstance(each, Choice)), None)


def _rows(section: type[BaseModel], prefix: str, kind: str) -> Iterator[OptionRow]:
    """The options of a section itself, and then those of the sections in it."""
    nested: list[Iterator[OptionRow]] = []
    for name, field in section.model_fields.items():
        choice, dotted = choice_of(field), f"{prefix}{name}"
        if choice:
            nested.append(_choice_rows(choice, dotted, kind, field.default.kind))
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            nested.append(_rows(field.annotation, f"{dotted}.", kind))
        elif name != "kind" or not issubclass(section, PartOptions):
            yield OptionRow(dotted, kind, field.default, _meaning(field))
    yield from chain.from_iterable(nested)


def _choice_rows(choice: Choice, dotted: str, kind: str, default: str) -> Iterator[OptionRow]:
    yield OptionRow(f"{dotted}.kind", kind, default, choice.meaning)
    for member, options in choice.members():
        yield from _rows(options, f"{dotted}.", member)


def _meaning(field: FieldInfo) -> str:
    """The description of an option; of the name of a part, with all that can be chosen."""
    named = next((each for each in field.metadata if isinstance(each, NameOf)), None)
    return named.meaning if named else field.description or ""
