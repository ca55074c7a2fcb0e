"""`seqloom optimize`: measure the fast forms of a run and keep the best."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.data_options import JsonOption, RunArgument
from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import MODEL

if TYPE_CHECKING:
    from seqloom.runs.optimized import EngineChoice

__all__ = ["EngineOptions", "optimize"]


@dataclass(frozen=True)
class EngineOptions(OptionGroup):
    """Options of the engine; defaults are the run's own choice."""

    precision: Annotated[
        str | None,
        typer.Option(
            "--precision",
            metavar="float32|int8",
            help="weights to decode with; the run's own choice if absent",
            rich_help_panel=MODEL,
        ),
    ] = None
    shortlist: Annotated[
        bool | None,
        typer.Option(
            "--shortlist/--no-shortlist",
            help="restrict outputs to a lexical shortlist; the run's own choice if absent",
            rich_help_panel=MODEL,
        ),
    ] = None

    def choice(self) -> "EngineChoice":
        """The choice as a value; ConfigError for an unknown precision."""
        from seqloom.runs.optimized import EngineChoice

        return EngineChoice.parse(self.precision, self.shortlist)


@dataclass(frozen=True)
class OptimizeOptions(EngineOptions):
    """The rows to measure on, and the rule for choosing a form."""

    data: Annotated[
        Path | None,
        typer.Option("--data", help="rows to measure on; the run's held-out rows if absent"),
    ] = None
    rows: Annotated[int, typer.Option("--rows", min=1, help="most rows to measure on")] = 500
    loss: Annotated[
        float,
        typer.Option("--loss", min=0.0, help="most of the leading metric that speed may cost"),
    ] = 0.2
    as_json: JsonOption = False


def optimize(run: RunArgument, *, asked: OptimizeOptions) -> None:
    """Measure a run in float32 and int8, with and without a shortlist, and keep the best form."""
    from seqloom.api.optimize import OptimizeRequest
    from seqloom.api.optimize import optimize as run_optimize

    request = OptimizeRequest(asked.data, asked.rows, asked.loss, asked.choice())
    made = run_optimize(run, request)
    found = made.as_dict()
    print(json.dumps(found, ensure_ascii=False) if asked.as_json else "\n".join(made.lines()))
