"""The configuration: each field is a TOML key, a `--set` name and a row of the manual.

A choice between parts is a tagged union of small classes with `kind` as the tag. `option_rows`
lists all options for the manual, `seqloom options` and error messages.
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
"""What to do with a row that is too long for the model (S1.6)."""


class DataConfig(Section):
    """The columns and rows of the data."""

    source: str = Field(
        "1",
        description="source column: its name, or its position from 1; several with commas between; "
        "none if empty",
    )
    target: str = Field("2", description="target column: its name, or its position from 1")
    weight: str = Field("", description="column of row weights; none if empty")
    header: Literal["auto", "yes", "no"] = Field(
        "auto", description="whether a TSV or CSV file has a header"
    )
    lines: Literal["rows", "stream"] = Field(
        "rows",
        description="without a source: each line is a row, or all lines are one stream of text "
        "with newline symbols",
    )
    columns: bool = Field(
        False, description="the source is several columns, each with its own unit"
    )
    turns: bool = Field(
        False,
        description="source cells are lists of turns; if the target is the same column, each "
        "reply in it is a row",
    )
    replies: str = Field(
        "", description="dialogs: the speaker whose turns are replies; the second one if empty"
    )
    recased: Share = Field(
        0.0,
        description="share of training rows added again in upper, title or lower case; chosen "
        "for sentences with capitals",
    )
    skip_bad: bool = Field(
        False, description="skip malformed rows and count them instead of stopping at the first"
    )
    max_line: Positive = Field(1_000_000, description="longest line in bytes")
    max_source: Positive = Field(256, description="longest source in tokens")
    max_target: Positive = Field(256, description="longest target in tokens")
    overlong: Overlong = Field(
        "drop",
        description="rows that are too long: drop them from training (truncate them in use), "
        "truncate, stop with an error, or split texts at sentence or word boundaries",
    )
    valid_share: Share = Field(
        0.05, description="share of rows held out if no held-out data is given"
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
        0,
        description="vectors: rows of a table, each a step, that form a source; 0: each cell "
        "is a source",
    )
    stride: Count = Field(0, description="stride of windows in rows; 0: the length of a window")
    aligned: bool = Field(
        False,
        description="windows: each row has a tag; otherwise a window has the target of "
        "its last row",
    )
    inside: bool = Field(
        False, description="refuse files outside the data's folder, following links"
    )
    split: Literal["source", "row"] = Field(
        "source", description="rows with equal values here stay together when rows are held out"
    )
    valid_rows: Positive = Field(2_000, description="and at most this many rows")
    time: str = Field(
        "",
        description="over time: the time column; detected by name or values if empty; none: "
        "count rows",
    )
    parts: Annotated[tuple[Positive, ...], Field(max_length=3)] = Field(
        (),
        description="series: numbers of rows for training, held-out and test data, in order; "
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
        """The time column of windows; none if rows are counted."""
        return [self.time] if self.window and self.time not in ("", "none") else []


class SearchConfig(Section):
    """Defaults of search, unless a command or a request overrides them (S7)."""

    method: SearchTable = Field(
        AUTO,
        description="the search, by its kind, with its options; auto: beam search, or sampling "
        "for a language model",
    )
    ranking: RankingTable = Field(
        AUTO,
        description="the ranking of outputs, by its kind, with its options; auto: by length and "
        "coverage, as set below",
    )
    beam: Annotated[int, Field(ge=1, le=1_000)] = Field(5, description="beam width; 1 is greedy")
    length_power: Annotated[float, Field(ge=0, le=4)] = Field(
        1.0,
        description="length normalization: scores are divided by length to this power in ranking",
    )
    length_gnmt: Annotated[float, Field(ge=0, le=4)] = Field(
        0.0, description="and by ((5 + length) / 6) to this power"
    )
    length_reward: float = Field(
        0.0, description="length reward added to the score for each token, before normalization"
    )
    coverage: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="weight of the coverage penalty for source tokens with too little attention",
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
        description="replace each <unk> in outputs by the source word with the most attention "
        "(words and symbols on both sides); auto: if that is better on held-out rows",
    )
    length: Positive = Field(100, description="without a source: most tokens after the prompt")

    def copies(self, *, helps: bool) -> bool:
        """Whether unknown words are copied, given whether training found that it helps."""
        return helps if self.copy_unknown == AUTO else bool(self.copy_unknown)


class Config(Section):
    """The full configuration of a run, saved as config.toml."""

    seed: Count = Field(1, description="random seed")
    data: DataConfig = DataConfig()
    source: SourceConfig = TextConfig()
    target: TargetConfig = TextConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()


class OptionRow(NamedTuple):
    """One option, as a row of the manual."""

    name: str  # dotted
    kind: str  # the kind of its section that has it; empty if the section is not a choice
    default: Any  # of that kind
    meaning: str


def option_rows(section: type[BaseModel] = Config) -> Iterator[OptionRow]:
    """Every option of every kind once, in the order of the manual."""
    yield from dict.fromkeys(_rows(section, "", ""))


def option_names() -> list[str]:
    """Every dotted name that can be set."""
    return list(dict.fromkeys(row.name for row in option_rows()))


def names_and_sections() -> list[str]:
    """Every dotted name that can be set, with all section names."""
    names = [name.split(".") for name in option_names()]
    return sorted({".".join(name[:end]) for name in names for end in range(1, len(name) + 1)})


def choice_of(field: FieldInfo) -> Choice | None:
    """The choice of a field; None for plain fields."""
    return next((each for each in field.metadata if isinstance(each, Choice)), None)


def _rows(section: type[BaseModel], prefix: str, kind: str) -> Iterator[OptionRow]:
    """Yield the options of a section, then those of its subsections."""
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
    """The description of an option; for the name of a part, with all its choices."""
    named = next((each for each in field.metadata if isinstance(each, NameOf)), None)
    return named.meaning if named else field.description or ""
