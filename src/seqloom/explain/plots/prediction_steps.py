"""The steps of a prediction as text, as lines over time, and as an interactive page."""

from functools import partial
from importlib.resources import files

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import embed_json, page
from seqloom.drawing.panels import Panel, fill_panels
from seqloom.drawing.views import drawing_of, page_of, text_details, text_of
from seqloom.explain.plots.terminal import terminal_label, truncate_line
from seqloom.explanations.plain_values import tick_label
from seqloom.explanations.prediction_steps import BEST, PredictionStep, PredictionSteps

__all__ = ["draw_steps", "steps_page", "steps_text"]

HINT = (
    '<p class="faint">Step with the arrow keys <kbd>←</kbd> <kbd>→</kbd>, '
    "<kbd>Home</kbd>, <kbd>End</kbd>, or the buttons.</p>"
)


@text_of.register
def steps_text(steps: PredictionSteps, width: int = 80) -> str:
    """A paragraph for each step."""
    lines: list[str] = []
    for number, step in enumerate(steps.steps, start=1):
        lines += [*(truncate_line(line, width) for line in _step_lines(steps, number, step)), ""]
    return "\n".join(lines).rstrip()


def _step_lines(steps: PredictionSteps, number: int, step: PredictionStep) -> list[str]:
    symbol = [terminal_label(step.read)] if step.read else []
    read = " and ".join([*symbol, *step.beside]) or "nothing but its state"
    lines = [f"step {number}: reads {read}, {steps.verb} {terminal_label(step.wrote)}"]
    if step.log_probability is not None:
        lines[0] += f" with p {np.exp(step.log_probability):.3f}"
    if step.best:
        best = [f"{terminal_label(b.text)} {np.exp(b.log_probability):.3f}" for b in step.best]
        lines.append(f"  best words   {'  '.join(best)}")
    if step.attention is not None:
        order = np.argsort(-np.array(step.attention), kind="stable")[:BEST]
        looks = [f"{terminal_label(steps.source[i])} {step.attention[i]:.2f}" for i in order]
        lines.append(f"  looks at     {'  '.join(looks)}")
    for layer in step.layers:
        gates = "".join(f", {name} {value:.2f}" for name, value in layer.gates.items())
        lines.append(f"  {layer.place}: state of size {layer.norm:.2f}{gates}")
    lines.append(f"  output layer sees a vector of size {step.norm:.2f}")
    return lines


@drawing_of.register
def draw_steps(steps: PredictionSteps) -> Drawing:
    """Draw probabilities and the norms of states and gates over the steps."""
    names = (f"{tick_label(step.read)}\n{tick_label(step.wrote)}" for step in steps.steps)
    if steps.verb == "writes":
        names = (tick_label(step.wrote) for step in steps.steps)
    return Drawing(tuple(names), partial(fill_panels, _panels(steps)), 120)


def _panels(steps: PredictionSteps) -> list[Panel]:
    """Probabilities or numbers, norms of states, and gates if there are any."""
    first = steps.steps[0]
    places = [layer.place for layer in first.layers]
    chances = [step.log_probability for step in steps.steps if step.log_probability is not None]
    numbers = [[float(word) for word in step.wrote.split()] for step in steps.steps if not chances]
    outputs = (
        Panel("probability", {"": np.exp(chances)}, bars=True, limits=(0, 1))
        if chances
        else Panel(steps.verb, {"": np.array(numbers)})
    )
    norms = {
        place: np.array([step.layers[number].norm for step in steps.steps])
        for number, place in enumerate(places)
    } or {"before output": np.array([step.norm for step in steps.steps])}
    gates = {
        f"{place}, {gate}": np.array([step.layers[number].gates[gate] for step in steps.steps])
        for number, place in enumerate(places)
        for gate in first.layers[number].gates
    }
    panels = [outputs, Panel("size of state", norms, legend=True)]
    return panels + [Panel("mean gate", gates, limits=(0, 1), legend=True)] * bool(gates)


@page_of.register
def steps_page(steps: PredictionSteps, title: str) -> str:
    """A page to step through with the arrow keys."""
    view = '<div id="view"></div>'
    parts = [HINT, view, embed_json("steps", steps.as_dict()), text_details(steps)]
    here = files("seqloom.explain.plots")
    style, script = ("\n" + (here / name).read_text("utf-8") for name in ("steps.css", "steps.js"))
    return page(title, parts, style=style, script=script)
