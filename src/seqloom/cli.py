"""The commands; each is a few lines over `seqloom.run`, imported when a command needs it."""

import json
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqloom.errors import ConfigError, SeqloomError

if TYPE_CHECKING:
    from seqloom.config import Overrides, SearchConfig
    from seqloom.prediction import Output
    from seqloom.search import Search

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
RunArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="a trained run's directory", show_default=False)
]
SourceOption = Annotated[
    str | None, typer.Option("--source", metavar="COL", help="source column: name or position")
]
TargetOption = Annotated[
    str | None, typer.Option("--target", metavar="COL", help="target column: name or position")
]
SkipOption = Annotated[
    bool, typer.Option("--skip-bad", help="leave malformed rows out and count them")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="set any option, for example seed=7"),
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
        from seqloom import __version__

        print(__version__)
        raise typer.Exit


@app.command()
def demo(
    name: Annotated[str, typer.Argument(help="french or dates")] = "french",
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
    skip_bad: SkipOption = False,
    model: Annotated[str, typer.Option("--model", help="auto, lstm or transformer")] = "auto",
    assignments: SetOption = None,
) -> None:
    """Read the data as training would; report every problem, sizes, and the time training takes."""
    from seqloom.run import Request, check_data

    options = _options(assignments, source, target, skip_bad)
    for line in check_data(Request(data, valid, model, options)):
        print(line, flush=True)


@app.command()
def train(
    data: DataArgument,
    run: Annotated[Path, typer.Option("--run", metavar="DIR", help="where the run is kept")],
    valid: ValidOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    skip_bad: SkipOption = False,
    model: Annotated[str, typer.Option("--model", help="auto, lstm or transformer")] = "auto",
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="options as TOML")
    ] = None,
    assignments: SetOption = None,
) -> None:
    """Train a model; on an existing DIR, go on with it. Ctrl-C saves."""
    from seqloom.config import load, merge
    from seqloom.run import Console
    from seqloom.run import train as run_train

    options = _options(assignments, source, target, skip_bad)
    options = merge(load(config), options) if config else options
    with Console() as console:
        run_train(data, run, valid=valid, model=model, options=options, watch=console)
    print(f"\nTry it:  echo 'your text' | seqloom predict {run}")


@app.command()
def predict(
    run: RunArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="input lines; standard input if absent")
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", help="greedy or beam; the run's own choice if absent")
    ] = None,
    beam: Annotated[
        int | None, typer.Option("--beam", min=1, help="paths kept by beam search")
    ] = None,
    n_best: Annotated[
        int, typer.Option("--n-best", min=1, help="outputs for each input (with --json)")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
    attention: Annotated[
        bool, typer.Option("--attention", help="attention weights in the JSON")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="treat unreadable lines as blank")
    ] = False,
) -> None:
    """Write one output line for each input line; a blank line stays blank."""
    from seqloom.data import Report, read_lines
    from seqloom.prediction import GROUP
    from seqloom.run import load

    if not as_json and (n_best > 1 or attention):
        raise ConfigError("--n-best above 1 and --attention need --json: a line is one output")
    _as_a_filter()
    model = load(run)
    report = Report() if skip_bad else None
    lines = read_lines(file, max_line=model.config.data.max_line, report=report)
    chosen = _search(search, beam, model.config.search)
    typed = file is None and sys.stdin.isatty()
    outputs = model.stream(
        lines, search=chosen, n_best=n_best, attention=attention, group=1 if typed else GROUP
    )
    truncated = _write(outputs, as_json)
    if truncated:
        limit = model.config.data.max_source
        print(f"{truncated:,} inputs were cut to {limit} tokens (data.max_source)", file=sys.stderr)
    if report is not None and report.lost:
        print("\n".join(report.lines()[1:]), file=sys.stderr)


@app.command()
def score(
    run: RunArgument,
    data: DataArgument,
    source: SourceOption = None,
    target: TargetOption = None,
    skip_bad: SkipOption = False,
) -> None:
    """Give the log-probability of each given pair, as JSON lines with every token's own."""
    from seqloom.run import load, score_rows

    _as_a_filter()
    for line in score_rows(load(run), data, options=_options([], source, target, skip_bad)):
        print(json.dumps(line, ensure_ascii=False))


@app.command()
def evaluate(
    run: RunArgument,
    data: DataArgument,
    source: SourceOption = None,
    target: TargetOption = None,
    skip_bad: SkipOption = False,
    search: Annotated[str | None, typer.Option("--search", help="greedy or beam")] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, help="paths kept")] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="ignore capitals")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """Measure a run on data it has not seen, with 95 % intervals."""
    from seqloom.run import evaluate as run_evaluate
    from seqloom.run import load

    model = load(run)
    chosen = _search(search, beam, model.config.search)
    options = _options([], source, target, skip_bad)
    evaluation = run_evaluate(model, data, options=options, search=chosen, lowercase=lowercase)
    if as_json:
        print(json.dumps(evaluation.as_dict(), ensure_ascii=False))
    else:
        print("\n".join(evaluation.lines()))


@app.command()
def describe(run: RunArgument) -> None:
    """Show a run's fields, its parts with their parameter counts, and its held-out results."""
    from seqloom.run import describe as run_describe

    print("\n".join(run_describe(run)))


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="french or dates")],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="where the files are written")],
) -> None:
    """Write a built-in data set as train.tsv, valid.tsv and test.tsv."""
    from seqloom.data.builtin import BUILTIN, write_splits

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
    from seqloom.run.workers import work

    work(run, meeting, rank, world)


@app.command()
def options() -> None:
    """List every option with its default and meaning."""
    from seqloom.config import option_rows

    _as_a_filter()
    for name, default, description in option_rows():
        print(f"{name} = {default}\n    {description}")


def main() -> None:
    """The entry point: errors that users can cause end in one sentence and an exit code."""
    try:
        app()
    except SeqloomError as error:
        print(f"seqloom: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _options(
    assignments: list[str] | None, source: str | None, target: str | None, skip_bad: bool
) -> "Overrides":
    from seqloom.config import merge, parse_assignments

    columns: dict[str, Any] = {}
    if source is not None:
        columns["source"] = source
    if target is not None:
        columns["target"] = target
    if skip_bad:
        columns["skip_bad"] = True
    return merge(parse_assignments(assignments or []), {"data": columns} if columns else {})


def _search(kind: str | None, beam: int | None, config: "SearchConfig") -> "Search | None":
    """The search that the options ask for; None leaves it to the run."""
    from seqloom.search import Beam, Greedy

    match kind:
        case None if beam is None:
            return None
        case "greedy" if beam is None:
            return Greedy()
        case "greedy":
            raise ConfigError("--beam has no meaning with --search greedy: leave one out")
        case None | "beam":
            return Beam(beam or config.beam, config.length_power)
    raise ConfigError(f"--search {kind}: choose greedy or beam")


def _as_a_filter() -> None:
    """End quietly, as other filters do, when whoever reads our output has gone."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _write(outputs: "Iterable[Output]", as_json: bool) -> int:
    """Print outputs as they come; how many inputs had to be cut."""
    truncated = 0
    for output in outputs:
        truncated += output.truncated
        if as_json:
            print(json.dumps(output.as_dict(), ensure_ascii=False))
        else:
            print(_one_line(output.text))
    return truncated


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r")


if __name__ == "__main__":
    main()
