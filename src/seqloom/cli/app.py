"""The commands, each a few lines over `seqloom.api`, which is imported when a command runs."""

import gc
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from seqloom.cli.commands.chat import chat
from seqloom.cli.commands.distill import distill
from seqloom.cli.commands.evaluate import evaluate
from seqloom.cli.commands.interchange import export, import_run
from seqloom.cli.commands.lesson import lesson
from seqloom.cli.commands.look import look, report
from seqloom.cli.commands.optimize import optimize
from seqloom.cli.commands.predict import predict
from seqloom.cli.commands.serve import serve
from seqloom.cli.commands.vectors import vectors
from seqloom.cli.commands.watch import watch, watch_beside
from seqloom.cli.completions import complete_run
from seqloom.cli.data_options import (
    ColumnFlags,
    DataArgument,
    JsonOption,
    LineOptions,
    ModelOptions,
    RunArgument,
    TrainingDataOptions,
)
from seqloom.cli.option_groups import OptionGroup, add_command
from seqloom.cli.panels import MACHINE, MODEL
from seqloom.cli.terminal import behave_as_filter, print_hint, tolerate_lost_log
from seqloom.cli.wording import CommandGroup, CommandWording
from seqloom.errors import ConfigError

__all__ = ["app", "main"]

COLLECT_EVERY = (
    50_000  # allocations between garbage collections, which otherwise take a quarter of the start
)

app = typer.Typer(
    name="seqloom",
    cls=CommandGroup,
    help="Learn to turn one sequence into another from your own examples.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a function as a command, with an option for each field of its option groups."""
    add_command(app, function)
    return function


@app.callback()
def seqloom(
    version: Annotated[bool, typer.Option("--version", help="show the version and exit")] = False,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import", metavar="MODULE", help="import a Python module that registers parts first"
        ),
    ] = None,
) -> None:
    """Learn to turn one sequence into another from your own examples."""
    if version:
        from seqloom.version import __version__

        print(__version__)
        raise typer.Exit
    for module in modules or []:
        from seqloom.registry import import_parts

        import_parts(module)


@command
def demo(
    name: Annotated[
        str,
        typer.Argument(
            help="french, dates, languages, parts, sizes, places, counting, missing, digits, "
            "melody, clips, search or series"
        ),
    ] = "french",
    run: Annotated[Path | None, typer.Option("--run", help="directory of the run")] = None,
) -> None:
    """Train on built-in data; show results, a picture and the next commands to try."""
    from seqloom.demos import run_demo

    run_demo(name, run)


@command
def check(
    data: DataArgument,
    *,
    columns: TrainingDataOptions,
    text: LineOptions,
    chosen: ModelOptions,
) -> None:
    """Read the data as training would; report problems, sizes and the expected training time."""
    from seqloom.api.console import PhaseConsole
    from seqloom.api.describe import check_data
    from seqloom.config import merge
    from seqloom.runs.request import TrainingRequest

    options = merge(columns.overrides(chosen.assignments), text.overrides)
    request = TrainingRequest(data, columns.valid, chosen.model, options)
    with PhaseConsole() as console:
        for line in check_data(request, wording=CommandWording(), watch=console):
            print(line, flush=True)


@dataclass(frozen=True)
class TrainingOptions(OptionGroup):
    """Options of training."""

    base: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="start from the weights of another run",
            rich_help_panel=MODEL,
            autocompletion=complete_run,
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="options as TOML", rich_help_panel=MODEL),
    ] = None
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="delete the run in DIR and start over",
            rich_help_panel=MODEL,
        ),
    ] = False
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="show training live in the browser",
            rich_help_panel=MACHINE,
        ),
    ] = False
    device: Annotated[
        str | None, typer.Option("--device", help="auto, cpu or cuda", rich_help_panel=MACHINE)
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="processes that share each batch; 0: automatic",
            rich_help_panel=MACHINE,
        ),
    ] = None


@command
def train(
    data: DataArgument,
    run: Annotated[Path, typer.Option("--run", metavar="DIR", help="directory of the run")],
    *,
    columns: TrainingDataOptions,
    text: LineOptions,
    chosen: ModelOptions,
    training: TrainingOptions,
) -> None:
    """Train a model, or resume the run in DIR. Ctrl-C saves."""
    from seqloom.api.console import Console
    from seqloom.api.describe import example_command
    from seqloom.api.train import train as run_train
    from seqloom.config import load, merge

    options = merge(columns.overrides(chosen.assignments), text.overrides)
    named = {"device": training.device, "workers": training.workers}
    given = {name: value for name, value in named.items() if value is not None}
    options = merge(options, {"training": given}) if given else options
    options = merge(load(training.config), options) if training.config else options
    with watch_beside(run) if training.watch else nullcontext(), Console() as console:
        run_train(
            data,
            run,
            valid=columns.valid,
            model=chosen.model,
            options=options,
            base=training.base,
            restart=training.restart,
            watch=console,
        )
    if console.speaks:
        print_hint(f"\nTry it:  {example_command(run, data)}")


@command
def sweep(
    data: DataArgument,
    run: Annotated[Path, typer.Option("--run", metavar="DIR", help="directory of the trials")],
    space: Annotated[
        Path, typer.Option("--space", metavar="FILE", help="the search space and budget, as TOML")
    ],
    *,
    columns: TrainingDataOptions,
    chosen: ModelOptions,
) -> None:
    """Search hyperparameters by successive halving, or resume the sweep in DIR."""
    from seqloom.api.sweep import sweep as run_sweep
    from seqloom.cli.commands.sweep import report, train_command

    swept = run_sweep(
        data,
        run,
        space,
        valid=columns.valid,
        model=chosen.model,
        options=columns.overrides(chosen.assignments),
        tell=partial(print, file=sys.stderr, flush=True),
    )
    again = train_command(swept, data, [*columns.words, *chosen.words])
    print("\n".join([*report(swept), "", again]))


for function in (
    *(watch, distill, predict, chat, serve, look, lesson, report, vectors, evaluate, optimize),
    export,
):
    command(function)
app.command("import")(import_run)


@command
def score(run: RunArgument, data: DataArgument, *, columns: ColumnFlags) -> None:
    """Print the log-probability of each pair and of its tokens, as JSON lines."""
    from seqloom.api.evaluate import score_rows
    from seqloom.api.load import load

    behave_as_filter()
    for line in score_rows(load(run), data, options=columns.overrides()):
        print(json.dumps(line, ensure_ascii=False, allow_nan=False))


@command
def describe(run: RunArgument) -> None:
    """Show a run's fields, its parts with their parameter counts, and its held-out results."""
    from seqloom.api.describe import describe as run_describe

    print(run_describe(run))


@command
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="directories of runs",
            show_default=False,
            autocompletion=complete_run,
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Compare the held-out results of runs, and the options in which they differ."""
    from seqloom.api.compare import compare as run_compare

    compared = run_compare(runs)
    if as_json:
        for line in compared.as_dicts():
            print(json.dumps(line, ensure_ascii=False))
    else:
        print("\n".join(compared.lines()))


@command
def data(
    name: Annotated[
        str, typer.Argument(help="french, dates, languages, parts, digits, melody, clips or cats")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="output folder")],
) -> None:
    """Write a built-in data set as train.tsv, valid.tsv and test.tsv."""
    from seqloom.datasets import BUILTIN
    from seqloom.datasets.splits import write_splits

    if name not in BUILTIN:
        raise ConfigError(f"there is no data set {name!r}", remedy=f"choose {' or '.join(BUILTIN)}")
    splits = BUILTIN[name]()
    for path in write_splits(splits, to):
        print(path)
    if splits.attribution:
        print(f"\n{splits.attribution.strip()}")


@app.command(hidden=True)
def worker(run: RunArgument, meeting: Path, rank: int, world: int) -> None:
    """Run as a further worker of a run that another process trains."""
    from seqloom.runs.processes.workers import work
    from seqloom.store import RunDirectory
    from seqloom.tasks import open_learner

    work(lambda: open_learner(RunDirectory(run)), meeting, rank, world)


@command
def options() -> None:
    """List every option with its default and meaning."""
    from seqloom.config import option_rows

    behave_as_filter()
    for row in option_rows():
        kind = f"  ({row.kind})" if row.kind else ""
        print(f"{row.name} = {row.default}{kind}\n    {row.meaning}")


def main() -> None:
    """The entry point; user errors end in one sentence and an exit code."""
    gc.set_threshold(COLLECT_EVERY)
    with tolerate_lost_log():
        app(prog_name="seqloom")


if __name__ == "__main__":
    main()
