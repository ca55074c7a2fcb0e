"""`seqloom look`: see what a model does with an input, in the terminal, a picture or a page."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.predict import RunArgument
from seqloom.cli.terminal import behave_as_filter
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.explain import ExplainedOutput, View
    from seqloom.prediction import Predictor, TextPredictor

__all__ = ["look", "report"]

KINDS = "attention, alignment, gradients, flow, states, positions, tree, steps or net"


@dataclass(frozen=True)
class ViewRequest:
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
    def single_row(self) -> tuple[str, str | None]:
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
    if show is not None and show not in VIEWS:
        raise ConfigError(f"--show {show}: choose {' or '.join(', '.join(VIEWS).rsplit(', ', 1))}")
    from seqloom.api.use import load

    behave_as_filter()
    model = load(run)
    rows = [(text, output) for text in inputs or ()]
    rows += [] if file is None else _rows(file, model.config.data.max_line)
    wanted = ViewRequest(tuple(rows), gold, of, layer, head, each, threads, flat, beam)
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


def _default_view(model: "Predictor", wanted: ViewRequest) -> str:
    """What is shown of a model where nothing is said."""
    from seqloom.explain import has_attention

    asked = wanted.of or wanted.layer is not None or wanted.head is not None
    if asked or wanted.each or wanted.threads or has_attention(model.network):
        return "attention"
    return "gradients"


def _attention(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import Threads, attention_of, attention_over_media, is_media
    from seqloom.prediction import TextPredictor

    said = _output_to_explain(model, wanted)
    over = wanted.of in (None, "cross") and not (wanted.each or wanted.threads)
    if over and isinstance(model, TextPredictor) and is_media(model.source):
        return attention_over_media(model, said, layer=wanted.layer, head=wanted.head)
    found = attention_of(model, said)
    of = wanted.of or (found.kinds or ("cross",))[0]
    if wanted.each:
        return found.head_maps(of)
    chosen = found.select_map(of, layer=wanted.layer, head=wanted.head)
    return Threads(chosen) if wanted.threads else chosen


def _alignment(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.data import read_lines
    from seqloom.explain import Alignments, align, alignment_errors, parse_gold, text_to_explain

    writer = _require_text_predictor(model, "words are aligned with words that are written")
    found = tuple(
        align(writer, text_to_explain(writer, *row), layer=wanted.layer) for row in wanted.rows
    )
    if wanted.gold is None:
        return Alignments(found)
    lines = read_lines(wanted.gold, max_line=model.config.data.max_line)
    gold = list(parse_gold(lines, place=str(wanted.gold)))
    errors = alignment_errors([one.links for one in found], gold)
    print(errors, file=sys.stderr)
    return Alignments(found, errors)


def _gradients(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import attribution_view

    return attribution_view(model, _output_to_explain(model, wanted))


def _flow(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import flow_of, output_to_explain

    return flow_of(model, [output_to_explain(model, *row) for row in wanted.rows])


def _states(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import state_map

    return state_map(model, wanted.rows, method=wanted.map, of=wanted.of or "last")


def _positions(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import position_maps

    return position_maps(model.network)


def _tree(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import beam_tree

    writer = _require_text_predictor(model, "a beam's tree grows while a text is written")
    return beam_tree(writer, wanted.single_row[0], width=wanted.beam)


def _steps(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import explain_steps

    return explain_steps(model, _output_to_explain(model, wanted))


def _net(model: "Predictor", wanted: ViewRequest) -> "View":
    from seqloom.explain import architecture_graph, trace_output, unroll_graph

    if not wanted.rows:
        return architecture_graph(model.network)
    found = trace_output(model.network, _output_to_explain(model, wanted))
    return unroll_graph(model.network, found)


def _output_to_explain(model: "Predictor", wanted: ViewRequest) -> "ExplainedOutput":
    """The one input that is given, with its output."""
    from seqloom.explain import output_to_explain

    return output_to_explain(model, *wanted.single_row)


def _require_text_predictor(model: "Predictor", why: str) -> "TextPredictor":
    """A model that writes; ConfigError for one that judges, with what can be seen of it."""
    from seqloom.prediction import TextPredictor

    if not isinstance(model, TextPredictor):
        raise ConfigError(
            f"{why}, and this model gives {model.target.describe()}: try --show gradients, flow, "
            "states, steps or net"
        )
    return model


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
}
