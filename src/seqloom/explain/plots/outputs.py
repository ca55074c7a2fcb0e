"""An output as text and in a notebook, with its confidence and the requested views."""

import math

from seqloom.drawing import notebook
from seqloom.drawing.forecast import fill_forecast
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import table
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import truncate_line
from seqloom.explanations.attention_map import AttentionMap
from seqloom.explanations.plain_values import visible_label
from seqloom.explanations.trees import SearchTree
from seqloom.prediction import Forecast, Output
from seqloom.prediction.output import Token

__all__ = ["draw_forecast_view", "forecast_text", "output_html", "output_text"]

MOST_TOKENS = 400  # tokens that a notebook shows with probabilities
STOPPED = {
    "length": "stopped at the length limit",
    "limit": "stopped when the search's time or work ran out",
    "blank": "the input is blank",
}


@text_of.register
def output_text(output: Output, width: int = 80) -> str:
    """The text, notes on it, and the requested views."""
    lines = [output.text, *(f"  ({note})" for note in _notes(output))]
    lines += [f"  {_score(each)}  {each.text}" for each in output.n_best[1:]]
    lines = [truncate_line(line, width) if number else line for number, line in enumerate(lines)]
    if output.forecast is not None:
        lines = [text_of(output.forecast, width), *lines[1:]]
    return "\n".join(lines + [text_of(view, width) for view in _views(output)])


@notebook.notebook_part.register
def output_html(output: Output) -> str:
    """The text with its tokens highlighted by probability, and pictures of the requested views."""
    parts = [notebook.paragraph(output.text, "said")] if output.forecast is None else []
    parts += [_tokens_html(output)] if output.tokens else []
    parts += [notebook.paragraph("; ".join(_notes(output)), "faint")] if _notes(output) else []
    if len(output.n_best) > 1:
        rows = [(each.text, _score(each)) for each in output.n_best]
        parts.append(table(("output", "score"), rows, numbers=(1,)))
    views = [*([output.forecast] if output.forecast is not None else []), *_views(output)]
    return "\n".join(parts + [notebook.notebook_part(view) for view in views])


@text_of.register
def forecast_text(forecast: Forecast, width: int = 80) -> str:
    """A line for each step, as CSV."""
    return "\n".join(truncate_line(line, width) for line in forecast.csv_lines())


@drawing_of.register
def draw_forecast_view(forecast: Forecast) -> Drawing:
    """Draw the past, the forecast and its intervals."""
    return Drawing(forecast.columns, lambda figure, _: fill_forecast(figure, forecast))


def _views(output: Output) -> list[AttentionMap | SearchTree]:
    """The attention and search tree, if requested."""
    found: list[AttentionMap | SearchTree] = []
    if output.attention is not None and output.attention.size:
        tokens = tuple(token.text for token in output.tokens)
        found.append(AttentionMap(output.source, tokens, output.attention))
    if output.tree:
        found.append(SearchTree(output.tree))
    return found


def _notes(output: Output) -> list[str]:
    """The confidence of the whole output, and warnings."""
    notes = [f"log-probability {output.score:.2f}"] if math.isfinite(output.score) else []
    notes += [STOPPED[output.stopped]] if output.stopped in STOPPED else []
    notes += ["the input was too long and is truncated"] if output.truncated else []
    return notes + [warning.sentence for warning in output.warnings]


def _score(output: Output) -> str:
    return f"{output.score:.2f}"


def _tokens_html(output: Output) -> str:
    """Each token, the fainter the more probable, with its probability and the alternatives."""
    shown = "".join(map(_token_html, output.tokens[:MOST_TOKENS]))
    more = len(output.tokens) - MOST_TOKENS
    return f'<p class="tokens">{shown}{f" and {more:,} more" if more > 0 else ""}</p>'


def _token_html(token: Token) -> str:
    chance = math.exp(min(0.0, token.log_probability))
    rivals = [f"{each.text} {math.exp(each.log_probability):.3f}" for each in token.alternatives]
    words = "; ".join([f"probability {chance:.3f}", *rivals])
    return notebook.highlight(visible_label(token.text), words, 1 - chance)
