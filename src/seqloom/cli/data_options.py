"""Option groups for data: files, columns, rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from seqloom.cli.completions import complete_model, complete_option, complete_run
from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import DATA, MODEL, TOLD

if TYPE_CHECKING:
    from seqloom.config import Overrides

__all__ = [
    "ColumnFlags",
    "DataArgument",
    "JsonOption",
    "LineOptions",
    "ModelOptions",
    "OverlongOption",
    "RunArgument",
    "TrainingDataOptions",
    "WithOption",
]

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="a trained run's directory",
        show_default=False,
        autocompletion=complete_run,
    ),
]
WithOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="DIR",
        help="a further run of the same vocabulary",
        rich_help_panel=MODEL,
        autocompletion=complete_run,
    ),
]
OverlongOption = Annotated[
    Literal["truncate", "error", "split"] | None,
    typer.Option(
        "--overlong",
        help="what to do with inputs that are too long for the model; as in training if absent",
        rich_help_panel=DATA,
    ),
]
DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="pairs.tsv, .csv, .jsonl, .parquet or .xlsx, or two text files: source.txt,target.txt",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON", rich_help_panel=TOLD)]


@dataclass(frozen=True)
class ColumnFlags(OptionGroup):
    """The two columns, and the handling of malformed rows."""

    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="COL[:KIND]",
            help="source column, by name or position, and its kind: text, turns, label, vector, "
            "vectors, series, picture, sound or video; or none; several columns, with commas "
            "between, are read one after another, each by its own unit",
            rich_help_panel=DATA,
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COL[:KIND]",
            help="target column, by name or position, and its kind: text, tags, label, number or "
            "series, or blanks in the source; of a series several columns, with commas between, or "
            "all",
            rich_help_panel=DATA,
        ),
    ] = None
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="skip malformed rows and count them", rich_help_panel=DATA),
    ] = False

    def overrides(self, assignments: list[str] | None = None) -> "Overrides":
        """These options and assignments of `--set` as a partial configuration."""
        from seqloom.config import column_overrides, merge, parse_assignments

        columns = column_overrides(self.source, self.target, skip_bad=self.skip_bad)
        return merge(parse_assignments(assignments or []), columns)


@dataclass(frozen=True)
class TrainingDataOptions(ColumnFlags):
    """The columns of the training data, row weights, and held-out data."""

    weight: Annotated[
        str | None,
        typer.Option(
            "--weight",
            metavar="COL",
            help="column of row weights",
            rich_help_panel=DATA,
        ),
    ] = None
    valid: Annotated[
        str | None,
        typer.Option(
            "--valid",
            metavar="DATA",
            help="held-out data, in the same form",
            rich_help_panel=DATA,
        ),
    ] = None

    def overrides(self, assignments: list[str] | None = None) -> "Overrides":
        """These options and assignments of `--set` as a partial configuration."""
        from seqloom.config import column_overrides, merge

        return merge(super().overrides(assignments), column_overrides(weight=self.weight))

    @property
    def words(self) -> list[str]:
        """The options as command-line words."""
        named = {
            "--source": self.source,
            "--target": self.target,
            "--weight": self.weight,
            "--valid": self.valid,
        }
        typed = [word for name, value in named.items() if value for word in (name, value)]
        return typed + ["--skip-bad"] * self.skip_bad


@dataclass(frozen=True)
class LineOptions(OptionGroup):
    """How a text file without a source is read."""

    lines: Annotated[
        bool,
        typer.Option(
            "--lines",
            help="without a source: lines of a text file are rows of their own",
            rich_help_panel=DATA,
        ),
    ] = False

    @property
    def overrides(self) -> "Overrides":
        """The same as a partial configuration."""
        return {"data": {"lines": "rows"}} if self.lines else {}


@dataclass(frozen=True)
class ModelOptions(OptionGroup):
    """The model to train, and any other option."""

    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="auto, transformer, fast, lstm, gru or elman",
            rich_help_panel=MODEL,
            autocompletion=complete_model,
        ),
    ] = "auto"
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="set any option, for example seed=7",
            rich_help_panel=MODEL,
            autocompletion=complete_option,
        ),
    ] = None

    @property
    def words(self) -> list[str]:
        """The options as command-line words."""
        chosen = ["--model", self.model] * (self.model != "auto")
        return chosen + [word for each in self.assignments or [] for word in ("--set", each)]
