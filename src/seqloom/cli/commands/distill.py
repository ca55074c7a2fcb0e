"""`seqloom distill`: a small fast student of one or several runs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.data_options import JsonOption
from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import DATA, MODEL
from seqloom.cli.search_options import SearchOptions

if TYPE_CHECKING:
    from seqloom.api.distill import DistillationResult

__all__ = ["distill"]


@dataclass(frozen=True)
class StudentOptions(OptionGroup):
    """Options of the student and its training targets."""

    more: Annotated[
        Path | None,
        typer.Option(
            "--more",
            metavar="FILE",
            help="further sources without targets, one per line; with --back, further targets",
            rich_help_panel=DATA,
        ),
    ] = None
    n_best: Annotated[
        int,
        typer.Option(
            "--n-best",
            min=1,
            help="teacher outputs per source",
            rich_help_panel=DATA,
        ),
    ] = 1
    references: Annotated[
        bool,
        typer.Option("--references", help="train on the true targets too", rich_help_panel=DATA),
    ] = False
    token_level: Annotated[
        bool,
        typer.Option(
            "--token-level",
            help="match the teacher's distribution at each position too",
            rich_help_panel=DATA,
        ),
    ] = False
    back: Annotated[
        bool,
        typer.Option(
            "--back",
            help="train the reverse direction, from the teacher's outputs to its sources "
            "(back-translation)",
            rich_help_panel=DATA,
        ),
    ] = False
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="the student's preset, as for train; default fast, with --back auto",
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = ""
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="set any option of the student, for example training.updates=2000",
            rich_help_panel=MODEL,
        ),
    ] = None


def distill(
    teachers: Annotated[
        list[Path],
        typer.Argument(metavar="TEACHER...", help="directories of runs", show_default=False),
    ],
    run: Annotated[Path, typer.Option("--run", metavar="DIR", help="directory of the student")],
    *,
    student: StudentOptions,
    choice: SearchOptions,
    as_json: JsonOption = False,
) -> None:
    """Train a small fast student on the outputs of a run or an ensemble of runs."""
    from seqloom.api.console import Console
    from seqloom.api.distill import DistillationOptions
    from seqloom.api.distill import distill as run_distill
    from seqloom.config import parse_assignments
    from seqloom.runs.contents import load_config
    from seqloom.store import RunDirectory

    config = load_config(RunDirectory(teachers[0])).search
    settings = DistillationOptions(
        more=student.more,
        search=choice.search(config, n_best=student.n_best),
        n_best=student.n_best,
        references=student.references,
        token_level=student.token_level,
        back=student.back,
        model=student.model,
    )
    options = parse_assignments(student.assignments or [])
    with Console() as console:
        result = run_distill(teachers, run, settings=settings, options=options, watch=console)
    print(json.dumps(result.as_dict()) if as_json else "\n".join(_table(result)))


def _table(result: "DistillationResult") -> list[str]:
    """A table of teacher and student."""
    models = [each for each in (result.teacher, result.student) if each is not None]
    figures = {
        "held-out rows": [each.name for each in models],
        **{
            scores[0].name: [str(each).removeprefix(f"{each.name} ") for each in scores]
            for scores in zip(*(model.scores for model in models), strict=True)
        },
        "inputs/s": [f"{each.rows_per_second:,.0f}" for each in models],
        "ms for one": [f"{each.milliseconds:.1f}" for each in models],
        "megabytes": [f"{each.megabytes:.1f}" for each in models],
    }
    return [f"{name:<16}" + "".join(f"{x:>24}" for x in told) for name, told in figures.items()]
