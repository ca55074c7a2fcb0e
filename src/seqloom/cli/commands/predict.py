"""`seqloom predict`: one output line per input line."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.commands.documents import DocumentFlags, write_document
from seqloom.cli.commands.forecast import ForecastOptions, write_forecast
from seqloom.cli.commands.glossary import GlossaryOption, TermReport
from seqloom.cli.commands.line_outputs import Ask, LineFiles, write_lines
from seqloom.cli.data_options import OverlongOption, RunArgument, WithOption
from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import DATA, MODEL, OUTPUT, TOLD
from seqloom.cli.search_options import SearchOptions
from seqloom.cli.terminal import behave_as_filter
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.prediction import Forecaster, OutputOptions, Predictor

__all__ = ["NoRepeatOption", "predict"]

NoRepeatOption = Annotated[
    int,
    typer.Option(
        "--no-repeat",
        min=0,
        help="n-gram size that is never repeated",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class ReadingOptions(DocumentFlags):
    """The input, and the model that reads it."""

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
            help="set a search option for this call",
            rich_help_panel=MODEL,
        ),
    ] = None
    overlong: OverlongOption = None
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="treat unreadable lines as blank", rich_help_panel=DATA),
    ] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="output file, written in parts that --resume can continue",
            rich_help_panel=DATA,
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="resume an interrupted --output", rich_help_panel=DATA),
    ] = False

    def __post_init__(self) -> None:
        if self.resume and self.output is None:
            raise ConfigError(
                "--resume goes on with an output file", remedy="name it with --output"
            )

    def files(self, *, as_json: bool) -> LineFiles:
        """The input and output files."""
        return LineFiles(self.file, self.output, self.resume, self.skip_bad, as_json)


@dataclass(frozen=True)
class WantedOutputs(OptionGroup):
    """The number of outputs, and constraints on them."""

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
            help="without a source: most tokens after the prompt",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    prefix: Annotated[
        str, typer.Option("--prefix", help="prefix of every output", rich_help_panel=OUTPUT)
    ] = ""
    prefix_file: Annotated[
        Path | None,
        typer.Option(
            "--prefix-file",
            help="file with the prefix of each output, line by line",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require", help="words that every output must contain", rich_help_panel=OUTPUT
        ),
    ] = None
    forbid: Annotated[
        list[str] | None,
        typer.Option("--forbid", help="words that no output may contain", rich_help_panel=OUTPUT),
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
    """The details and the format of outputs."""

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
            help="top tokens of each step in the JSON",
            rich_help_panel=TOLD,
        ),
    ] = 0
    tree: Annotated[
        bool,
        typer.Option("--tree", help="search tree in the JSON", rich_help_panel=TOLD),
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
    """Write one output line per input line; for a series, forecast what follows the end of a table.

    Without a source each line is a prompt; a blank line is an empty one. A document
    (Markdown, HTML, XLIFF, SRT, VTT, PO, TMX) is written whole, with its texts translated.
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
        _refuse_output(reading, "forecast")
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
        _refuse_output(reading, "document")
        made = write_document(reading.file, model, asks, reading, as_json=details.as_json)
        if report is not None:
            report.add([(segment.source, segment.text) for segment in made.segments])
    else:
        watched = asks if report is None else report.watch(asks)
        made_from = {"model": _model_steps(run, reading), "search": repr((search, wanted, details))}
        write_lines(model, watched, reading.files(as_json=details.as_json), made_from=made_from)
    if report is not None:
        report.write(model)


def _model_steps(run: Path, reading: ReadingOptions) -> list[str]:
    """The steps of some runs, which identify their model."""
    steps = [sorted(path.glob("step-*"))[-1:] for path in (run, *(reading.others or []))]
    return [str(path.absolute()) for found in steps for path in found]


def _no_search() -> ConfigError:
    return ConfigError(
        "a model of series forecasts and does not search",
        remedy=(
            "leave search options, --length, --n-best and all that is asked of tokens out (--set "
            "target.horizon=N sets how far)"
        ),
    )


def _refuse_output(reading: ReadingOptions, kind: str) -> None:
    if reading.output is not None:
        raise ConfigError(
            f"--output is for lines, and a {kind} is written whole",
            remedy="redirect standard output (> FILE)",
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
    """The options of outputs, with the prefixes of a file."""
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


def _check_attention(model: "Predictor", *, attention: bool) -> None:
    """ConfigError if attention is requested of a model that has none."""
    if attention and model.as_text_predictor() is None:
        kind = model.target.config.kind.rstrip("s")
        raise ConfigError(
            f"a model of {kind}s writes no tokens that could look at the input",
            remedy="leave --attention out (seqloom look shows what mattered)",
        )


def _with_options(model: "Predictor", assignments: list[str]) -> "Predictor":
    """The model with search options changed."""
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
    """The model with another length limit for continuations."""
    if model.source.config.kind != "none":
        raise ConfigError(
            "--length is for models without a source",
            remedy="set how much longer than its source an output may be with "
            "--set search.max_extra=N",
        )
    return _with_options(model, [f"search.length={length}"])
