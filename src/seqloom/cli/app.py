"""The commands; each is a few lines over `seqloom.api`, imported when a command needs it."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.chat import chat
from seqloom.cli.look import look, report
from seqloom.cli.predict import RunArgument, WithOption, predict
from seqloom.cli.search_options import KINDS, SearchOptions
from seqloom.cli.serve import serve
from seqloom.cli.terminal import behave_as_filter
from seqloom.cli.vectors import vectors
from seqloom.errors import ConfigError, SeqloomError

if TYPE_CHECKING:
    from seqloom.config import Overrides

__all__ = ["app", "main"]

app = typer.Typer(
    name="seqloom",
    help="Learn to turn one sequence into another from your own examples.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="pairs.tsv, .csv, .jsonl or .parquet, or two text files: source.txt,target.txt",
        show_default=False,
    ),
]
SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="COL[:KIND]",
        help="source column, by name or position, and its kind: text, turns, label, vector, "
        "series, picture, sound or video; or none; several columns, with commas between, are turns",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COL[:KIND]",
        help="target column, by name or position, and its kind: text, tags, label, number or "
        "series, or gaps of the source; of a series several columns, with commas between, or all",
    ),
]
WeightOption = Annotated[
    str | None,
    typer.Option("--weight", metavar="COL", help="column of numbers: how much a row counts"),
]
SkipOption = Annotated[
    bool, typer.Option("--skip-bad", help="leave malformed rows out and count them")
]
LinesOption = Annotated[
    bool,
    typer.Option("--lines", help="without a source: lines of a text file are rows of their own"),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="set any option, for example seed=7"),
]
ModelOption = Annotated[
    str, typer.Option("--model", help="auto, transformer, fast, lstm, gru or elman")
]
ValidOption = Annotated[
    str | None, typer.Option("--valid", metavar="DATA", help="held-out data, in the same form")
]


@app.callback()
def seqloom(
    version: Annotated[bool, typer.Option("--version", help="show the version and exit")] = False,
) -> None:
    """Learn to turn one sequence into another from your own examples."""
    if version:
        from seqloom.version import __version__

        print(__version__)
        raise typer.Exit


@app.command()
def demo(
    name: Annotated[
        str,
        typer.Argument(
            help="french, dates, languages, parts, sizes, places, counting, missing, digits, "
            "melody, clips, search or series"
        ),
    ] = "french",
    run: Annotated[Path | None, typer.Option("--run", help="where to keep the run")] = None,
) -> None:
    """Train on built-in data, show results and a picture, and say what to type next."""
    from seqloom.demos import run_demo

    run_demo(name, run)


@app.command()
def check(
    data: DataArgument,
    valid: ValidOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    lines: LinesOption = False,
    skip_bad: SkipOption = False,
    model: ModelOption = "auto",
    assignments: SetOption = None,
) -> None:
    """Read the data as training would; report every problem, sizes, and the time training takes."""
    from seqloom.api.check import check_data
    from seqloom.runs.request import TrainingRequest

    options = _options(assignments, source, target, skip_bad, weight, lines=lines)
    for line in check_data(TrainingRequest(data, valid, model, options)):
        print(line, flush=True)


@app.command()
def train(
    data: DataArgument,
    run: Annotated[Path, typer.Option("--run", metavar="DIR", help="where the run is kept")],
    valid: ValidOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    lines: LinesOption = False,
    skip_bad: SkipOption = False,
    model: ModelOption = "auto",
    base: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="begin with the weights of another run"),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="options as TOML")
    ] = None,
    device: Annotated[str | None, typer.Option("--device", help="auto, cpu or cuda")] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", help="processes that share each batch; 0 chooses"),
    ] = None,
    assignments: SetOption = None,
) -> None:
    """Train a model; on an existing DIR, go on with it. Ctrl-C saves."""
    from seqloom.api.console import Console
    from seqloom.api.describe import example_command
    from seqloom.api.train import train as run_train
    from seqloom.config import load, merge

    options = _options(assignments, source, target, skip_bad, weight, lines=lines)
    named = {"device": device, "workers": workers}
    given = {name: value for name, value in named.items() if value is not None}
    options = merge(options, {"training": given}) if given else options
    options = merge(load(config), options) if config else options
    with Console() as console:
        run_train(data, run, valid=valid, model=model, options=options, base=base, watch=console)
    if console.speaks:
        print(f"\nTry it:  {example_command(run, data)}")


@app.command()
def sweep(
    data: DataArgument,
    run: Annotated[Path, typer.Option("--run", metavar="DIR", help="where the trials are kept")],
    space: Annotated[
        Path, typer.Option("--space", metavar="FILE", help="what to try and how long, as TOML")
    ],
    valid: ValidOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    skip_bad: SkipOption = False,
    model: ModelOption = "auto",
    assignments: SetOption = None,
) -> None:
    """Try many settings for a while and the better ones for longer; on an existing DIR, go on."""
    from seqloom.api.sweep import sweep as run_sweep
    from seqloom.cli.sweep import command, report

    options = _options(assignments, source, target, skip_bad, weight)
    tell = partial(print, file=sys.stderr, flush=True)
    swept = run_sweep(data, run, space, valid=valid, model=model, options=options, tell=tell)
    columns = {"--source": source, "--target": target, "--weight": weight, "--valid": valid}
    given = [word for name, value in columns.items() if value for word in (name, value)]
    given += ["--skip-bad"] * skip_bad + ["--model", model] * (model != "auto")
    print("\n".join([*report(swept), "", command(swept, data, [*given, *_set_flags(assignments)])]))


app.command()(predict)
app.command()(chat)
app.command()(serve)
app.command()(look)
app.command()(report)
app.command()(vectors)


@app.command()
def score(
    run: RunArgument,
    data: DataArgument,
    source: SourceOption = None,
    target: TargetOption = None,
    skip_bad: SkipOption = False,
) -> None:
    """Give the log-probability of each given pair, as JSON lines with every token's own."""
    from seqloom.api.load import load
    from seqloom.api.score import score_rows

    behave_as_filter()
    for line in score_rows(load(run), data, options=_options([], source, target, skip_bad)):
        print(json.dumps(line, ensure_ascii=False, allow_nan=False))


@app.command()
def evaluate(
    run: RunArgument,
    data: DataArgument,
    others: WithOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    skip_bad: SkipOption = False,
    search: Annotated[str | None, typer.Option("--search", help=", ".join(KINDS))] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, help="paths kept")] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="ignore capitals")] = False,
    search_errors: Annotated[
        int | None,
        typer.Option(
            "--search-errors",
            metavar="K",
            min=1,
            help="also tell how often beams of 1 to K paths miss the best output there is",
        ),
    ] = None,
    by_variate: Annotated[
        bool, typer.Option("--by-variate", help="series: the errors of each column too")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """Measure a run on data it has not seen, with 95 % intervals."""
    from seqloom.api.evaluate import evaluate as run_evaluate
    from seqloom.api.load import load, load_text_predictor
    from seqloom.api.search_errors import search_errors as run_search_errors

    runs = run, *(others or [])
    writer = load_text_predictor(*runs) if search_errors else None
    model = writer or load(*runs)
    chosen = SearchOptions(search, beam).search(model.config.search)
    options = _options([], source, target, skip_bad)
    evaluation = run_evaluate(model, data, options=options, search=chosen, lowercase=lowercase)
    found, lines = evaluation.as_dict(), evaluation.lines()
    if by_variate:
        lines += evaluation.variate_lines()
    if writer and search_errors:
        errors = run_search_errors(writer, data, widest=search_errors, options=options)
        found["search_errors"] = errors.as_dict()
        lines += ["", *errors.lines()]
    print(json.dumps(found, ensure_ascii=False) if as_json else "\n".join(lines))


@app.command()
def describe(run: RunArgument) -> None:
    """Show a run's fields, its parts with their parameter counts, and its held-out results."""
    from seqloom.api.describe import describe as run_describe

    print("\n".join(run_describe(run)))


@app.command()
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="directories of runs", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
) -> None:
    """Show the held-out results of runs side by side, and the options in which they differ."""
    from seqloom.api.compare import compare as run_compare

    compared = run_compare(runs)
    if as_json:
        for line in compared.as_dicts():
            print(json.dumps(line, ensure_ascii=False))
    else:
        print("\n".join(compared.lines()))


@app.command()
def export(
    run: RunArgument,
    to: Annotated[str, typer.Option("--to", help="the runtime: ctranslate2")],
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="where it is written")],
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FILE", help="inputs to compare outputs on")
    ] = None,
) -> None:
    """Write a model for another runtime, and check that it gives the same outputs there."""
    from seqloom.api.export import export as run_export

    agreement = run_export(run, output, to=to, check=check)
    print(f"{output}: written for {to}; {agreement}")


@app.command()
def data(
    name: Annotated[
        str, typer.Argument(help="french, dates, languages, parts, digits, melody or clips")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="where the files are written")],
) -> None:
    """Write a built-in data set as train.tsv, valid.tsv and test.tsv."""
    from seqloom.datasets import BUILTIN
    from seqloom.datasets.splits import write_splits

    if name not in BUILTIN:
        raise ConfigError(f"there is no data set {name!r}: choose {' or '.join(BUILTIN)}")
    splits = BUILTIN[name]()
    for path in write_splits(splits, to):
        print(path)
    if splits.attribution:
        print(f"\n{splits.attribution.strip()}")


@app.command(hidden=True)
def worker(run: RunArgument, meeting: Path, rank: int, world: int) -> None:
    """Be a further worker of a run that another process trains."""
    from seqloom.runs.processes.workers import work
    from seqloom.store import RunDirectory
    from seqloom.tasks import open_learner

    work(lambda: open_learner(RunDirectory(run)), meeting, rank, world)


@app.command()
def options() -> None:
    """List every option with its default and meaning."""
    from seqloom.config import option_rows

    behave_as_filter()
    for name, default, description in option_rows():
        print(f"{name} = {default}\n    {description}")


def main() -> None:
    """The entry point: errors that users can cause end in one sentence and an exit code."""
    try:
        app()
    except SeqloomError as error:
        print(f"seqloom: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _set_flags(assignments: list[str] | None) -> list[str]:
    return [word for each in assignments or [] for word in ("--set", each)]


def _options(
    assignments: list[str] | None,
    source: str | None,
    target: str | None,
    skip_bad: bool,
    weight: str | None = None,
    *,
    lines: bool = False,
) -> "Overrides":
    from seqloom.config import merge, parse_assignments, split_column

    chosen = parse_assignments(assignments or [])
    said = {"weight": weight, "skip_bad": skip_bad or None, "lines": "rows" if lines else None}
    columns: Overrides = {name: value for name, value in said.items() if value is not None}
    for side, given in (("source", source), ("target", target)):
        if given is not None:
            name, kind = split_column(given)
            columns |= {} if name is None else {side: name}
            chosen = merge(chosen, {} if kind is None else {side: {"kind": kind}})
    return merge(chosen, {"data": columns} if columns else {})


if __name__ == "__main__":
    main()
