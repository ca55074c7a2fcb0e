"""`seqloom evaluate`: measure a run on data it has not seen."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from seqloom.cli.commands.glossary import GlossaryOption
from seqloom.cli.commands.optimize import EngineOptions
from seqloom.cli.data_options import (
    ColumnFlags,
    DataArgument,
    JsonOption,
    OverlongOption,
    RunArgument,
    WithOption,
)
from seqloom.cli.panels import TOLD
from seqloom.cli.search_options import SearchOptions

__all__ = ["evaluate"]


@dataclass(frozen=True)
class EvaluationOptions(EngineOptions):
    """Options of an evaluation."""

    others: WithOption = None
    overlong: OverlongOption = None
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="ignore capitals", rich_help_panel=TOLD)
    ] = False
    search_errors: Annotated[
        int | None,
        typer.Option(
            "--search-errors",
            metavar="K",
            min=1,
            help="also count search errors of beams of 1 to K paths against exact search",
            rich_help_panel=TOLD,
        ),
    ] = None
    by_variate: Annotated[
        bool,
        typer.Option(
            "--by-variate", help="series: also the errors of each column", rich_help_panel=TOLD
        ),
    ] = False
    pictures: Annotated[
        Path | None,
        typer.Option(
            "--pictures",
            metavar="DIR",
            help="folder for PNG plots: confusion and calibration, or errors by steps ahead",
            rich_help_panel=TOLD,
        ),
    ] = None
    glossary: GlossaryOption = None
    as_json: JsonOption = False


def evaluate(
    run: RunArgument,
    data: DataArgument,
    *,
    columns: ColumnFlags,
    choice: SearchOptions,
    wanted: EvaluationOptions,
) -> None:
    """Measure a run on data it has not seen, with 95 % intervals."""
    from seqloom.api.documents import evaluate_glossary
    from seqloom.api.evaluate import evaluate as run_evaluate
    from seqloom.api.evaluate import search_errors
    from seqloom.api.load import load, load_text_predictor
    from seqloom.config import merge
    from seqloom.prediction import Glossary

    runs, widest = (run, *(wanted.others or [])), wanted.search_errors
    form = vars(wanted.choice())
    writer = load_text_predictor(*runs, **form) if widest or wanted.glossary else None
    model = writer or load(*runs, **form)
    search, options = choice.search(model.config.search), columns.overrides()
    if wanted.overlong is not None:
        options = merge(options, {"data": {"overlong": wanted.overlong}})
    evaluation = run_evaluate(
        model, data, options=options, search=search, lowercase=wanted.lowercase
    )
    for line in evaluation.warning_lines():
        print(line, file=sys.stderr)
    found, lines = evaluation.as_dict(), evaluation.lines()
    if wanted.by_variate:
        lines += evaluation.variate_lines()
    lines += evaluation.detail_lines(get_terminal_size().columns)
    if wanted.pictures is not None:
        lines += ["", *map(str, evaluation.write_pictures(wanted.pictures))]
    if writer and widest:
        errors = search_errors(writer, data, widest=widest, options=options)
        found["search_errors"] = errors.as_dict()
        lines += ["", *errors.lines()]
    if writer and wanted.glossary:
        terms = Glossary.read(wanted.glossary)
        effect = evaluate_glossary(writer, data, terms, options=options, search=search)
        found["glossary"] = effect.as_dict()
        lines += ["", *effect.lines()]
    print(json.dumps(found, ensure_ascii=False) if wanted.as_json else "\n".join(lines))
