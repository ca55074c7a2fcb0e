"""`seqloom lesson`: run an experiment of the course texts and compare its numbers with theirs."""

from pathlib import Path
from typing import Annotated

import typer

from seqloom.errors import ConfigError

__all__ = ["lesson"]


def lesson(
    name: Annotated[
        str | None, typer.Argument(help="the experiment; lists all if absent", show_default=False)
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=VALUE", help="set a parameter of the experiment"),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="write the picture as PNG, SVG, HTML or JSON"),
    ] = None,
) -> None:
    """Run an experiment of the course texts and compare its numbers with theirs."""
    from seqloom.drawing.views import write
    from seqloom.lessons import lesson_lines, list_lessons, run_lesson

    if name is None:
        print("\n".join([*list_lessons(), "", "seqloom lesson NAME runs one"]))
        return
    chosen, result = run_lesson(name, changes or [])
    if to is not None:
        if result.view is None:
            raise ConfigError(f"the lesson {name!r} has no picture", remedy="leave out --to")
        write(result.view, to, title=chosen.title)
    print("\n".join(lesson_lines(chosen, result, changed=bool(changes))))
    if not changes and not result.holds:
        raise typer.Exit(1)
