"""`seqloom look`: show what a model does with an input, in the terminal, a picture or a page."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.data_options import RunArgument
from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import DATA, VIEW
from seqloom.cli.terminal import behave_as_filter
from seqloom.errors import ConfigError, DataError

if TYPE_CHECKING:
    from seqloom.config import DataConfig
    from seqloom.explain import ExplainedOutput, View
    from seqloom.prediction import Predictor, TextPredictor

__all__ = ["look", "report"]

KINDS = "attention, alignment, gradients, flow, states, positions, tree, steps, net or igd"


@dataclass(frozen=True)
class InputOptions(OptionGroup):
    """The inputs to look at, each optionally with an output or a label."""

    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="texts, or what else the model reads: a label, numbers, a file's name",
        ),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output", help="explain this output instead of the model's own", rich_help_panel=DATA
        ),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="a table with the run's columns, or lines of input and, after a tab, output or "
            "label",
            rich_help_panel=DATA,
        ),
    ] = None
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold",
            metavar="FILE",
            help="alignment: right links, 0-0 1p2 a line",
            rich_help_panel=DATA,
        ),
    ] = None

    def rows(self, data: "DataConfig") -> list[tuple[str, str | None]]:
        """Each input as a source cell, with its output or label."""
        from seqloom.data import InputFile, row_cell

        rows: list[tuple[str, str | None]] = []
        for number, text in enumerate(self.inputs or (), 1):
            try:
                rows.append((row_cell(text, data), self.output))
            except DataError as error:
                raise error.at(f"input {number}") from None
        return rows if self.file is None else [*rows, *InputFile(self.file, data).pairs()]


@dataclass(frozen=True)
class ViewOptions(OptionGroup):
    """Options of a view."""

    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            help="attention: cross, encoder, decoder; states: last, mean",
            rich_help_panel=VIEW,
        ),
    ] = None
    layer: Annotated[
        int | None, typer.Option("--layer", help="the last if absent", rich_help_panel=VIEW)
    ] = None
    head: Annotated[
        int | None, typer.Option("--head", help="the mean of all if absent", rich_help_panel=VIEW)
    ] = None
    each: Annotated[
        bool, typer.Option("--each", help="show every layer and head", rich_help_panel=VIEW)
    ] = False
    threads: Annotated[
        bool,
        typer.Option(
            "--threads", help="draw lines between tokens, not a heat map", rich_help_panel=VIEW
        ),
    ] = False
    map: Annotated[str, typer.Option("--map", help="states: pca or tsne", rich_help_panel=VIEW)] = (
        "pca"
    )
    beam: Annotated[
        int | None,
        typer.Option("--beam", min=1, help="tree: beam width", rich_help_panel=VIEW),
    ] = None
    count: Annotated[
        int,
        typer.Option("--count", min=2, help="positions: number of positions", rich_help_panel=VIEW),
    ] = 100
    values: Annotated[
        int | None,
        typer.Option(
            "--values", min=1, help="positions: number of dimensions", rich_help_panel=VIEW
        ),
    ] = None
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="T,T",
            help="positions: difference of two, as 51,50",
            rich_help_panel=VIEW,
        ),
    ] = None


@dataclass(frozen=True)
class ViewRequest:
    """A view of some inputs, each optionally with an output or a label."""

    rows: tuple[tuple[str, str | None], ...]
    gold: Path | None = None
    options: ViewOptions = field(default_factory=ViewOptions)

    @property
    def single_row(self) -> tuple[str, str | None]:
        """The only input, with its output if given; ConfigError if there are several."""
        if len(self.rows) != 1:
            raise ConfigError(
                f"this shows one input, and {len(self.rows)} are given",
                remedy="quote a text of several words",
            )
        return self.rows[0]


def look(
    run: RunArgument,
    *,
    given: InputOptions,
    show: Annotated[
        str | None,
        typer.Option("--show", help=f"{KINDS}; attention, or gradients where there is none"),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help=".png, .svg, .html or .json; else the terminal"),
    ] = None,
    options: ViewOptions,
) -> None:
    """Explain a model's output: attention, gradients, states, search tree."""
    if show is not None and show not in VIEWS:
        raise ConfigError(
            "there is no such view",
            place=f"--show {show}",
            remedy=f"choose {' or '.join(', '.join(VIEWS).rsplit(', ', 1))}",
        )
    from seqloom.api.load import load

    behave_as_filter()
    model = load(run)
    rows = given.rows(model.config.data)
    wanted = ViewRequest(tuple(rows), given.gold, options)
    show = show or _default_view(model, wanted)
    view = VIEWS[show](model, wanted)
    from seqloom.explain import text_of, write

    if to is None:
        print(text_of(view, shutil.get_terminal_size().columns))
        return
    write(view, to, title=_title(show, rows))
    print(to)


def report(
    run: RunArgument,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="output page; default DIR/report.html"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="DATA", help="rows to evaluate on instead of the held-out rows"
        ),
    ] = None,
) -> None:
    """Make one page about a run: data, model, curves, results, examples, attention."""
    from seqloom.api.report import write_report

    place = to or run / "report.html"
    if place.suffix.lower() != ".html":
        raise ConfigError("a report is a page", place=place, remedy="end its name in .html")
    made = write_report(run, place, data=data)
    for score in made.scores:
        print(score)
    print(place)


def _title(show: str, rows: list[tuple[str, str | None]]) -> str:
    return f"{show} · {rows[0][0]}"[:100] if len(rows) == 1 else show


def _default_view(model: "Predictor", wanted: ViewRequest) -> str:
    """The default view of a model."""
    from seqloom.explain import has_attention

    asked = wanted.options.of or wanted.options.layer is not None or wanted.options.head is not None
    if asked or wanted.options.each or wanted.options.threads or has_attention(model.network):
        return "attention"
    return "gradients"


def _attention(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import Threads, attention_of, attention_over_media, is_media

    explained = _explain(model, wanted)
    options, writer = wanted.options, model.as_text_predictor()
    over = options.of in (None, "cross") and not (options.each or options.threads)
    if over and writer is not None and is_media(model.source):
        return attention_over_media(writer, explained, layer=options.layer, head=options.head)
    found = attention_of(model, explained)
    of = options.of or (found.kinds or ("cross",))[0]
    if wanted.options.each:
        return found.head_maps(of)
    chosen = found.select_map(of, layer=wanted.options.layer, head=wanted.options.head)
    return Threads(chosen) if wanted.options.threads else chosen


def _alignment(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.data import read_lines
    from seqloom.explain import Alignments, align, alignment_errors, parse_gold
    from seqloom.tasks import explain_text

    writer = _require_text_predictor(model, "words are aligned with words that are written")
    layer = wanted.options.layer
    found = tuple(align(writer, explain_text(writer, *row), layer=layer) for row in wanted.rows)
    if wanted.gold is None:
        return Alignments(found)
    lines = read_lines(wanted.gold, max_line=model.config.data.max_line)
    gold = list(parse_gold(lines, place=str(wanted.gold)))
    errors = alignment_errors([one.links for one in found], gold)
    print(errors, file=sys.stderr)
    return Alignments(found, errors)


def _gradients(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import attribution_view

    return attribution_view(model, _explain(model, wanted))


def _flow(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import flow_of
    from seqloom.tasks import explain_output

    return flow_of(model, [explain_output(model, *row) for row in wanted.rows])


def _states(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import state_map

    return state_map(model, wanted.rows, method=wanted.options.map, of=wanted.options.of or "last")


def _positions(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import position_maps

    options = wanted.options
    pair = _pair(options.compare) if options.compare is not None else None
    return position_maps(model.network, options.count, values=options.values, pair=pair)


def _pair(given: str) -> tuple[int, int]:
    """Parse two positions."""
    parts = [part.strip() for part in given.split(",")]
    if len(parts) != 2 or not all(part.isdecimal() and 0 < int(part) < 10**6 for part in parts):
        raise ConfigError(
            f"{given!r} is not two positions, counted from 1",
            place="--compare",
            remedy="write for example 51,50",
        )
    return int(parts[0]), int(parts[1])


def _tree(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import beam_tree

    writer = _require_text_predictor(model, "a beam's tree grows while a text is written")
    return beam_tree(writer, wanted.single_row[0], width=wanted.options.beam)


def _steps(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import explain_steps

    return explain_steps(model, _explain(model, wanted))


def _net(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import architecture_graph, trace_output, unroll_graph

    if not wanted.rows:
        return architecture_graph(model.network)
    found = trace_output(model.network, _explain(model, wanted))
    return unroll_graph(model.network, found)


def _igd(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import descent_step
    from seqloom.tasks import explain_text

    writer = _require_text_predictor(model, "a step of descent is shown for a written text")
    return descent_step(writer, explain_text(writer, *wanted.single_row))


def _explain(model: "Predictor", wanted: ViewRequest) -> "ExplainedOutput":
    """Explain the only input, with its output."""
    from seqloom.tasks import explain_output

    return explain_output(model, *wanted.single_row)


def _require_text_predictor(model: "Predictor", why: str) -> "TextPredictor":
    """The model as a text predictor; ConfigError, naming the views that work, for models with a
    head.
    """
    writer = model.as_text_predictor()
    if writer is None:
        raise ConfigError(
            f"{why}, and this model gives {model.target.describe()}",
            remedy="try --show gradients, flow, states, steps or net",
        )
    return writer


VIEWS: dict[str, Callable[["Predictor", ViewRequest], "View"]] = {
    "attention": _attention,
    "alignment": _alignment,
    "gradients": _gradients,
    "flow": _flow,
    "states": _states,
    "positions": _positions,
    "tree": _tree,
    "steps": _steps,
    "net": _net,
    "igd": _igd,
}
