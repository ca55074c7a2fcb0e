"""`seqloom export` and `seqloom import`: exchange models with other runtimes."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from seqloom.cli.completions import starting_so
from seqloom.cli.data_options import RunArgument
from seqloom.cli.option_groups import OptionGroup

__all__ = ["export", "import_run"]


@dataclass(frozen=True)
class RuntimeChoice(OptionGroup):
    """The runtime to export to, one of those registered."""

    is_late: ClassVar[bool] = True

    to: str

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        from seqloom.config import RUNTIMES

        lines = (f"{kind}: {inspect.getdoc(options)}" for kind, options in RUNTIMES)
        kinds = [kind for kind, _ in RUNTIMES]
        told = typer.Option("--to", help=" ".join(lines), autocompletion=starting_so(kinds))
        keyword = inspect.Parameter.KEYWORD_ONLY
        return [inspect.Parameter("to", keyword, annotation=Annotated[str, told])]

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "RuntimeChoice":
        return cls(values["to"])


def export(
    run: RunArgument,
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="output folder")],
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="inputs on which to compare outputs"),
    ] = None,
    *,
    runtime: RuntimeChoice,
) -> None:
    """Export a model to another runtime, and check that it gives the same outputs there."""
    from seqloom.api.interchange import export as run_export

    agreement = run_export(run, output, to=runtime.to, check=check)
    print(f"{output}: written for {runtime.to}; {agreement}")


def import_run(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="a Marian-type checkpoint with model.safetensors")
    ],
    run: Annotated[Path, typer.Option("--run", metavar="DIR", help="directory of the new run")],
) -> None:
    """Make a run from a model saved by Hugging Face transformers."""
    from seqloom.api.interchange import import_run as make_run

    path = make_run(folder, run)
    print(f"{path}: imported; use it with: seqloom predict {path}")
