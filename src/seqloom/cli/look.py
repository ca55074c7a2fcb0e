"""`seqloom look`: see what a model does with an input, in the terminal, a picture or a page."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.predict import RunArgument
from seqloom.cli.terminal import as_a_filter
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.drawing.views import View
    from seqloom.prediction import Model, Predictor

__all__ = ["look", "report"]

KINDS = "attention, alignment, gradients, flow, states, positions, tree, steps or net"


@dataclass(frozen=True)
class Wanted:
    """What is to be seen, and of which inputs; each may have something beside it in its line."""

    rows: tuple[tuple[str, str | None], ...]
    gold: Path | None = None
    of: str | None = None
    layer: int | None = None
    head: int | None = None
    each: bool = False
    threads: bool = False
    map: str = "pca"
    beam: int | None = None

    @property
    def one(self) -> tuple[str, str | None]:
        """The one input that this kind of look is for, and its output where one is given."""
        if len(self.rows) != 1:
            raise ConfigError(
                f"this shows one input, and {len(self.rows)} are given: quote a text of several "
                "words"
            )
        return self.rows[0]


def look(
    run: RunArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="texts, or what else the model reads: a label, numbers, a file's name",
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option("--show", help=f"{KINDS}; attention, or gradients where there is none"),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help=".png, .svg, .html or .json; else the terminal"),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", help="this output in place of the model's own")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="FILE", help="an input a line; after a tab its output, or its label"
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", metavar="FILE", help="alignment: right links, 0-0 1p2 a line"),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--of", help="attention: cross, encoder, decoder; states: last, mean"),
    ] = None,
    layer: Annotated[int | None, typer.Option("--layer", help="the last if absent")] = None,
    head: Annotated[int | None, typer.Option("--head", help="the mean of all if absent")] = None,
    each: Annotated[bool, typer.Option("--each", help="every layer and head")] = False,
    threads: Annotated[bool, typer.Option("--threads", help="threads, not a heat map")] = False,
    flat: Annotated[str, typer.Option("--map", help="states: pca or tsne")] = "pca",
    beam: Annotated[int | None, typer.Option("--beam", min=1, help="tree: paths kept")] = None,
) -> None:
    """Show what a model does with an input: where it looks, what mattered, how it decides."""
    if show is not None and show not in SHOWS:
        raise ConfigError(f"--show {show}: choose {' or '.join(', '.join(SHOWS).rsplit(', ', 1))}")
    from seqloom.api.use import load

    as_a_filter()
    model = load(run)
    rows = [(text, output) for text in inputs or ()]
    rows += [] if file is None else _rows(file, model.config.data.max_line)
    wanted = Wanted(tuple(rows), gold, of, layer, head, each, threads, flat, beam)
    show = show or _usual(model, wanted)
    view = SHOWS[show](model, wanted)
    if to is None:
        print(view.text(shutil.get_terminal_size().columns))
        return
    from seqloom.drawing.views import write

    write(view, to, title=_title(show, rows))
    print(to)


def report(
    run: RunArgument,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="the page; DIR/report.html if absent"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="rows to judge by, not those held out"),
    ] = None,
) -> None:
    """Make one page about a run: data, model, curves, results, examples, attention."""
    from seqloom.api.report import write_report

    place = to or run / "report.html"
    if place.suffix.lower() != ".html":
        raise ConfigError(f"{place}: a report is a page; end its name in .html")
    made = write_report(run, place, data=data)
    for score in made.scores:
        print(score)
    print(place)


def _rows(file: Path, most: int) -> list[tuple[str, str | None]]:
    from seqloom.data import read_lines

    parts = (line.partition("\t") for line in read_lines(file, max_line=most))
    return [(text, beside if tab else None) for text, tab, beside in parts]


def _title(show: str, rows: list[tuple[str, str | None]]) -> str:
    return f"{show} · {rows[0][0]}"[:100] if len(rows) == 1 else show


def _usual(model: "Predictor", wanted: Wanted) -> str:
    """What is shown of a model where nothing is said."""
    from seqloom.explain.tracing import attends

    asked = wanted.of or wanted.layer is not None or wanted.head is not None
    if asked or wanted.each or wanted.threads or attends(model.network):
        return "attention"
    return "gradients"


def _attention(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.attention_heads import attention_of
    from seqloom.explain.media_attention import is_seen, seen_in
    from seqloom.explain.threads import Threads
    from seqloom.prediction import Model

    over = wanted.of in (None, "cross") and not (wanted.each or wanted.threads)
    if isinstance(model, Model) and is_seen(model.source) and over:
        return seen_in(model, *wanted.one, layer=wanted.layer, head=wanted.head)
    found = attention_of(model, *wanted.one)
    of = wanted.of or (found.kinds or ("cross",))[0]
    if wanted.each:
        return found.each(of)
    chosen = found.chosen(of, layer=wanted.layer, head=wanted.head)
    return Threads(chosen) if wanted.threads else chosen


def _alignment(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.data import read_lines
    from seqloom.explain.alignment import Alignments, align, alignment_errors, parse_gold

    writer = _writer(model, "words are aligned with words that are written")
    found = tuple(align(writer, *row, layer=wanted.layer) for row in wanted.rows)
    if wanted.gold is None:
        return Alignments(found)
    lines = read_lines(wanted.gold, max_line=model.config.data.max_line)
    gold = list(parse_gold(lines, place=str(wanted.gold)))
    errors = alignment_errors([one.links for one in found], gold)
    print(errors, file=sys.stderr)
    return Alignments(found, errors)


def _gradients(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.attribution_views import mattered

    return mattered(model, *wanted.one)


def _flow(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.flow import flow_of

    return flow_of(model, wanted.rows)


def _states(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.states import state_map

    return state_map(model, wanted.rows, method=wanted.map, of=wanted.of or "last")


def _positions(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.position_vectors import positions_of

    return positions_of(model.network)


def _tree(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.trees import beam_tree

    writer = _writer(model, "a beam's tree grows while a text is written")
    return beam_tree(writer, wanted.one[0], width=wanted.beam)


def _steps(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.prediction_steps import steps_of

    return steps_of(model, *wanted.one)


def _net(model: "Predictor", wanted: Wanted) -> "View":
    from seqloom.explain.explained_output import said_of
    from seqloom.explain.network_graphs import rolled, unrolled
    from seqloom.explain.tracing import pass_over

    if not wanted.rows:
        return rolled(model.network)
    return unrolled(model.network, pass_over(model.network, said_of(model, *wanted.one)))


def _writer(model: "Predictor", why: str) -> "Model":
    """A model that writes; ConfigError for one that judges, with what can be seen of it."""
    from seqloom.prediction import Model

    if not isinstance(model, Model):
        raise ConfigError(
            f"{why}, and this model gives {model.target.describe()}: try --show gradients, flow, "
            "states, steps or net"
        )
    return model


SHOWS: dict[str, Callable[["Predictor", Wanted], "View"]] = {
    "attention": _attention,
    "alignment": _alignment,
    "gradients": _gradients,
    "flow": _flow,
    "states": _states,
    "positions": _positions,
    "tree": _tree,
    "steps": _steps,
    "net": _net,
}
