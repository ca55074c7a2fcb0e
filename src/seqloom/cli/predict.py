"""`seqloom predict`: an output line for each input line."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.forecast import ForecastOptions, write_forecast
from seqloom.cli.po_files import is_po, write_po
from seqloom.cli.search_options import (
    BeamOption,
    NoRepeatOption,
    SearchOption,
    SearchOptions,
    SeedOption,
    TemperatureOption,
    TopKOption,
    TopPOption,
)
from seqloom.cli.terminal import behave_as_filter, escape_newlines, unescape_newlines
from seqloom.errors import ConfigError, DataError, InputError

if TYPE_CHECKING:
    from seqloom.data import Report
    from seqloom.prediction import Output, Predictor

__all__ = ["RunArgument", "WithOption", "predict"]

RunArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="a trained run's directory", show_default=False)
]
WithOption = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="DIR", help="a further run of the same vocabulary"),
]


def predict(
    run: RunArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="input lines, or a .po file; standard input if absent"
        ),
    ] = None,
    others: WithOption = None,
    search: SearchOption = None,
    beam: BeamOption = None,
    groups: Annotated[
        int | None, typer.Option("--groups", min=1, help="diverse: groups that share the paths")
    ] = None,
    strength: Annotated[
        float | None, typer.Option("--strength", help="diverse: cost of what another group wrote")
    ] = None,
    temperature: TemperatureOption = None,
    top_k: TopKOption = None,
    top_p: TopPOption = None,
    min_p: Annotated[
        float | None, typer.Option("--min-p", help="draws: from those this close to the likeliest")
    ] = None,
    draws: Annotated[
        int | None, typer.Option("--draws", min=1, help="outputs drawn for each input")
    ] = None,
    seed: SeedOption = None,
    expansions: Annotated[
        int | None, typer.Option("--expansions", min=1, help="exact: paths read before giving up")
    ] = None,
    patience: Annotated[
        float | None,
        typer.Option("--patience", help="beam: done when so many times its paths have ended"),
    ] = None,
    n_best: Annotated[
        int, typer.Option("--n-best", min=1, help="outputs for each input (with --json)")
    ] = 1,
    length: Annotated[
        int | None,
        typer.Option("--length", min=1, help="without a source: most tokens after a beginning"),
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", help="how every output begins")] = "",
    prefix_file: Annotated[
        Path | None, typer.Option("--prefix-file", help="how each output begins, line by line")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option("--require", help="words that every output contains")
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option("--forbid", help="words that no output contains")
    ] = None,
    no_repeat: NoRepeatOption = 0,
    attention: Annotated[
        bool, typer.Option("--attention", help="attention weights in the JSON")
    ] = False,
    alternatives: Annotated[
        int, typer.Option("--alternatives", min=0, help="likeliest tokens of each step in the JSON")
    ] = 0,
    tree: Annotated[
        bool, typer.Option("--tree", help="all that the search looked at in the JSON")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="set a search option for this time"),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="treat unreadable lines as blank")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="series: draw the forecast")
    ] = None,
) -> None:
    """Write one output line for each input line; of a series, what follows the end of a table.

    Without a source each line is the beginning of its output, and a blank one is none. A PO file
    comes out whole, with suggestions where translations were missing, marked fuzzy.
    """
    from seqloom.api.load import load
    from seqloom.data import Report, read_lines
    from seqloom.prediction import GROUP_SIZE, OutputOptions

    if not as_json and (n_best > 1 or attention or alternatives or tree or search == "completions"):
        raise ConfigError(
            "--n-best above 1, --attention, --alternatives, --tree and completions need --json: "
            "a line is one output"
        )
    if prefix and prefix_file is not None:
        raise ConfigError("--prefix is for all lines and --prefix-file for each: leave one out")
    asked = (search, beam, groups, strength, temperature, top_k, top_p, min_p, draws, seed)
    options = SearchOptions(*asked, expansions=expansions, patience=patience)
    behave_as_filter()
    model = load(run, *(others or []))
    words = tuple(require or ()), tuple(forbid or ())
    wishes = OutputOptions(prefix, *words, no_repeat, attention, alternatives, tree)
    forecaster = model.as_forecaster()
    if forecaster is not None:
        if (
            options != SearchOptions()
            or wishes != OutputOptions()
            or prefix_file
            or length
            or n_best > 1
        ):
            raise ConfigError(
                "a model of series forecasts and does not search: leave search options, --length, "
                "--n-best and all that is asked of tokens out (--set target.horizon=N sets how far)"
            )
        wanted = ForecastOptions(file, assignments or [], picture, as_json, skip_bad)
        write_forecast(forecaster, wanted)
        return
    if picture is not None:
        raise ConfigError("--picture draws a forecast, and this run's target is not a series")
    _check_attention(model, attention=attention)
    model = _with_options(model, assignments or [])
    model = model if length is None else _with_length(model, length)
    most = model.config.data.max_line
    if prefix_file is not None:
        wishes = replace(wishes, prefix=list(read_lines(prefix_file, max_line=most)))
    report = Report() if skip_bad else None
    asks = partial(
        model.stream,
        search=options.search(model.config.search, n_best=n_best),
        n_best=n_best,
        wishes=wishes,
    )
    if file is not None and is_po(file):
        write_po(file, model, asks, as_json=as_json, skip_bad=skip_bad)
        return
    lines = read_lines(file, max_line=most, report=report)
    if model.source.config.kind == "none":
        lines = map(unescape_newlines, lines)
    outputs = asks(
        lines if report is None else _blank_unreadable(lines, model, report, file),
        group=1 if file is None and sys.stdin.isatty() else GROUP_SIZE,
    )
    _write(_locate_errors(outputs, file), model, as_json)
    if report is not None and report.total_dropped:
        print("\n".join(report.lines()[1:]), file=sys.stderr)


def _check_attention(model: "Predictor", *, attention: bool) -> None:
    """ConfigError where attention is to be told and the model has no tokens that could look."""
    if attention and model.as_text_predictor() is None:
        kind = model.target.config.kind.rstrip("s")
        raise ConfigError(
            f"a model of {kind}s writes no tokens that could look at the input: leave --attention "
            "out (seqloom look shows what mattered)"
        )


def _locate_errors(outputs: "Iterable[Output]", file: Path | None) -> "Iterator[Output]":
    """The outputs; an input that cannot be read is an error that names its file and line."""
    from seqloom.data import FileLocation, file_name

    try:
        yield from outputs
    except InputError as error:
        raise DataError(f"{FileLocation(file_name(file), error.line)}: {error.wrong}") from None


def _with_options(model: "Predictor", assignments: list[str]) -> "Predictor":
    """The model with other search options than its run has."""
    from seqloom.config import merge, parse_assignments, validate

    chosen = parse_assignments(assignments)
    if set(chosen) - {"search"}:
        raise ConfigError("predict can set options of search alone: the others are the run's own")
    tables = merge(model.config.model_dump(mode="json"), chosen)
    search = validate(tables, place="--set").search
    return replace(model, config=model.config.model_copy(update={"search": search}))


def _with_length(model: "Predictor", length: int) -> "Predictor":
    """The model with another room for what comes after a beginning."""
    if model.source.config.kind != "none":
        raise ConfigError(
            "--length is for models without a source: elsewhere --set search.max_extra=N sets how "
            "much longer than its source an output may be"
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


def _write(outputs: "Iterable[Output]", model: "Predictor", as_json: bool) -> None:
    """Print outputs as they come, and say in the end how many inputs had to be cut."""
    truncated = 0
    for output in outputs:
        truncated += output.truncated
        print(
            json.dumps(output.as_dict(), ensure_ascii=False)
            if as_json
            else escape_newlines(output.text)
        )
    if truncated:
        limit = model.config.data.max_source
        print(f"{truncated:,} inputs were cut to {limit} tokens (data.max_source)", file=sys.stderr)
