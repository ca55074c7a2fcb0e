"""`seqloom predict`: an output line for each input line."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.commands.documents import DocumentFlags, write_document
from seqloom.cli.commands.forecast import ForecastOptions, write_forecast
from seqloom.cli.commands.glossary import GlossaryOption, TermReport
from seqloom.cli.data_options import OverlongOption, RunArgument, WithOption
from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import DATA, MODEL, OUTPUT, TOLD
from seqloom.cli.search_options import SearchOptions
from seqloom.cli.terminal import behave_as_filter, escape_newlines, unescape_newlines
from seqloom.errors import ConfigError, DataError, InputError

if TYPE_CHECKING:
    from seqloom.data import InputFile, Report
    from seqloom.prediction import Forecaster, Output, OutputOptions, Predictor

__all__ = ["NoRepeatOption", "predict"]

Ask = Callable[..., Iterable["Output"]]
NoRepeatOption = Annotated[
    int,
    typer.Option(
        "--no-repeat",
        min=0,
        help="tokens in a row that are not written twice",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class ReadingOptions(DocumentFlags):
    """What is read, and by which model."""

    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="input lines, or a document; standard input if absent"
        ),
    ] = None
    others: WithOption = None
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="set a search option for this time",
            rich_help_panel=MODEL,
        ),
    ] = None
    overlong: OverlongOption = None
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="treat unreadable lines as blank", rich_help_panel=DATA),
    ] = False


@dataclass(frozen=True)
class WantedOutputs(OptionGroup):
    """How many outputs are wanted, and what they are to be."""

    n_best: Annotated[
        int,
        typer.Option(
            "--n-best",
            min=1,
            help="outputs for each input (with --json)",
            rich_help_panel=OUTPUT,
        ),
    ] = 1
    length: Annotated[
        int | None,
        typer.Option(
            "--length",
            min=1,
            help="without a source: most tokens after a beginning",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    prefix: Annotated[
        str, typer.Option("--prefix", help="how every output begins", rich_help_panel=OUTPUT)
    ] = ""
    prefix_file: Annotated[
        Path | None,
        typer.Option(
            "--prefix-file", help="how each output begins, line by line", rich_help_panel=OUTPUT
        ),
    ] = None
    require: Annotated[
        list[str] | None,
        typer.Option("--require", help="words that every output contains", rich_help_panel=OUTPUT),
    ] = None
    forbid: Annotated[
        list[str] | None,
        typer.Option("--forbid", help="words that no output contains", rich_help_panel=OUTPUT),
    ] = None
    no_repeat: NoRepeatOption = 0
    glossary: GlossaryOption = None

    def __post_init__(self) -> None:
        if self.prefix and self.prefix_file is not None:
            raise ConfigError(
                "--prefix is for all lines and --prefix-file for each", remedy="leave one out"
            )


@dataclass(frozen=True)
class Details(OptionGroup):
    """What is told with the outputs, and in which form."""

    as_json: Annotated[
        bool, typer.Option("--json", help="one JSON object a line", rich_help_panel=TOLD)
    ] = False
    attention: Annotated[
        bool,
        typer.Option("--attention", help="attention weights in the JSON", rich_help_panel=TOLD),
    ] = False
    alternatives: Annotated[
        int,
        typer.Option(
            "--alternatives",
            min=0,
            help="likeliest tokens of each step in the JSON",
            rich_help_panel=TOLD,
        ),
    ] = 0
    tree: Annotated[
        bool,
        typer.Option(
            "--tree", help="all that the search looked at in the JSON", rich_help_panel=TOLD
        ),
    ] = False
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", metavar="FILE", help="series: draw the forecast", rich_help_panel=TOLD
        ),
    ] = None


def predict(
    run: RunArgument,
    *,
    reading: ReadingOptions,
    choice: SearchOptions,
    wanted: WantedOutputs,
    details: Details,
) -> None:
    """Write one output line for each input line; of a series, what follows the end of a table.

    Without a source each line is the beginning of its output, and a blank one is none. A document
    (Markdown, HTML, XLIFF, SRT, VTT, PO, TMX) comes out whole, with its texts translated.
    """
    from seqloom.api.load import load

    several = wanted.n_best > 1 or details.attention or details.alternatives or details.tree
    if not details.as_json and (several or choice.returns_all):
        raise ConfigError(
            "--n-best above 1, --attention, --alternatives, --tree and completions need --json: "
            "a line is one output"
        )
    behave_as_filter()
    model = load(run, *(reading.others or []), **vars(reading.choice()))
    forecaster = model.as_forecaster()
    if forecaster is not None:
        if not choice.is_silent or wanted != WantedOutputs():
            raise _no_search()
        _forecast(forecaster, reading, details)
        return
    if details.picture is not None:
        raise ConfigError("--picture draws a forecast, and this run's target is not a series")
    _check_attention(model, attention=details.attention)
    model = _with_options(model, reading.assignments or [])
    model = model if wanted.length is None else _with_length(model, wanted.length)
    options = replace(
        _output_options(wanted, details, max_line=model.config.data.max_line),
        overlong=reading.overlong,
    )
    search = choice.search(model.config.search, n_best=wanted.n_best)
    asks: Ask = partial(model.stream_cells, search=search, n_best=wanted.n_best, options=options)
    report = None if options.glossary is None else TermReport(options.glossary)
    if reading.is_document(reading.file):
        made = write_document(reading.file, model, asks, reading, as_json=details.as_json)
        if report is not None:
            report.add([(segment.source, segment.text) for segment in made.segments])
    else:
        watched = asks if report is None else report.watch(asks)
        _write_lines(model, watched, reading, as_json=details.as_json)
    if report is not None:
        report.write(model)


def _no_search() -> ConfigError:
    return ConfigError(
        "a model of series forecasts and does not search",
        remedy=(
            "leave search options, --length, --n-best and all that is asked of tokens out (--set "
            "target.horizon=N sets how far)"
        ),
    )


def _forecast(model: "Forecaster", reading: ReadingOptions, details: Details) -> None:
    if details.attention or details.alternatives or details.tree:
        raise _no_search()
    options = ForecastOptions(
        reading.file,
        reading.assignments or [],
        details.picture,
        details.as_json,
        reading.skip_bad,
    )
    write_forecast(model, options)


def _output_options(wanted: WantedOutputs, details: Details, *, max_line: int) -> "OutputOptions":
    """What outputs are to be, with the prefixes of a file."""
    from seqloom.data import read_lines
    from seqloom.prediction import Glossary, OutputOptions

    prefix: str | list[str] = wanted.prefix
    if wanted.prefix_file is not None:
        prefix = list(read_lines(wanted.prefix_file, max_line=max_line))
    return OutputOptions(
        prefix=prefix,
        require=tuple(wanted.require or ()),
        forbid=tuple(wanted.forbid or ()),
        no_repeat=wanted.no_repeat,
        glossary=None if wanted.glossary is None else Glossary.read(wanted.glossary),
        attention=details.attention,
        alternatives=details.alternatives,
        tree=details.tree,
    )


def _write_lines(
    model: "Predictor",
    asks: Ask,
    reading: ReadingOptions,
    *,
    as_json: bool,
) -> None:
    """Print an output for each input line; unreadable lines that are skipped are counted."""
    from seqloom.data import InputFile, Report
    from seqloom.prediction import GROUP_SIZE

    file, report = reading.file, Report() if reading.skip_bad else None
    tell = partial(print, file=sys.stderr)
    inputs = InputFile(file, model.config.data, report, tell)
    lines = inputs.cells()
    if model.source.config.kind == "none":
        lines = map(unescape_newlines, lines)
    outputs = asks(
        lines if report is None else _blank_unreadable(lines, model, report, file),
        group=1 if file is None and sys.stdin.isatty() else GROUP_SIZE,
    )
    _write(_locate_errors(outputs, inputs), as_json)
    if report is not None and report.total_dropped:
        print("\n".join(report.lines()[1:]), file=sys.stderr)


def _check_attention(model: "Predictor", *, attention: bool) -> None:
    """ConfigError where attention is to be told and the model writes no tokens that attend."""
    if attention and model.as_text_predictor() is None:
        kind = model.target.config.kind.rstrip("s")
        raise ConfigError(
            f"a model of {kind}s writes no tokens that could look at the input",
            remedy="leave --attention out (seqloom look shows what mattered)",
        )


def _locate_errors(outputs: "Iterable[Output]", inputs: "InputFile") -> "Iterator[Output]":
    """The outputs; an input that cannot be read is an error that names its file and line."""
    from seqloom.data import FileLocation, file_name

    try:
        yield from outputs
    except InputError as error:
        place = FileLocation(file_name(inputs.path), error.line + inputs.lines_before)
        raise DataError(error.problem, place=place, remedy=error.remedy) from None


def _with_options(model: "Predictor", assignments: list[str]) -> "Predictor":
    """The model with other search options than its run has."""
    if not assignments:
        return model
    from seqloom.config import merge, parse_assignments, validate

    chosen = parse_assignments(assignments)
    if set(chosen) - {"search"}:
        raise ConfigError(
            "predict can set options of search alone",
            place="--set",
            remedy="leave the others as the run has them",
        )
    tables = merge(model.config.model_dump(mode="json"), chosen)
    search = validate(tables, place="--set").search
    return replace(model, config=model.config.model_copy(update={"search": search}))


def _with_length(model: "Predictor", length: int) -> "Predictor":
    """The model with another room for what comes after a beginning."""
    if model.source.config.kind != "none":
        raise ConfigError(
            "--length is for models without a source",
            remedy="set how much longer than its source an output may be with "
            "--set search.max_extra=N",
        )
    return _with_options(model, [f"search.length={length}"])


def _blank_unreadable(
    lines: Iterable[str], model: "Predictor", report: "Report", file: Path | None
) -> Iterator[str]:
    """The lines, blank where the model cannot read them, which is counted."""
    from seqloom.data import FileLocation, Reason, file_name

    for number, line in enumerate(lines, 1):
        if line.strip() and model.input_reader.field.fault(line) is not None:
            report.kept -= 1
            report.drop(Reason.VALUE, FileLocation(file_name(file), number))
            yield ""
        else:
            yield line


def _write(outputs: "Iterable[Output]", as_json: bool) -> None:
    """Print outputs as they come, and say in the end how many inputs were too long."""
    from seqloom.prediction.warnings import WarningCounts

    warnings = WarningCounts()
    for output in outputs:
        warnings.add(output)
        print(
            json.dumps(output.as_dict(), ensure_ascii=False)
            if as_json
            else escape_newlines(output.text)
        )
    for line in warnings.lines():
        print(line, file=sys.stderr)
