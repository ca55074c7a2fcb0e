"""The steps of a prediction as paragraphs, as lines over time, and as a page to step through."""

from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import embed_json, page
from seqloom.drawing.views import drawing_of, page_of, text_details, text_of
from seqloom.explain.compute.plain_values import tick_label
from seqloom.explain.compute.prediction_steps import BEST, PredictionStep, PredictionSteps
from seqloom.explain.plots.terminal import terminal_label, truncate_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    read, wrote = terminal_label(step.read), terminal_label(step.wrote)
    lines = [f"step {number}: reads {read}, {steps.verb} {wrote}"]
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
    """Probabilities, sizes of states and gates over the steps."""
    names = (f"{tick_label(step.read)}\n{tick_label(step.wrote)}" for step in steps.steps)
    if steps.verb == "writes":
        names = (tick_label(step.wrote) for step in steps.steps)
    return Drawing(tuple(names), partial(_fill, steps), 120)


def _fill(steps: PredictionSteps, figure: "Figure", labels: Sequence[str]) -> None:
    recurrent = bool(steps.steps[0].layers)
    gated = recurrent and bool(steps.steps[0].layers[0].gates)
    panels = 2 + gated
    figure.set_size_inches(max(5.0, min(40.0, 0.5 * len(labels) + 2.5)), 1.7 * panels)
    figure.set_layout_engine("constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    chances = [step.log_probability for step in steps.steps if step.log_probability is not None]
    if chances:
        axes[0].bar(range(len(chances)), np.exp(chances), color="#1f5fa8", width=0.6)
        axes[0].set_ylim(0, 1)
        axes[0].set_ylabel("probability", fontsize=9)
    else:
        numbers = [[float(number) for number in step.wrote.split()] for step in steps.steps]
        axes[0].plot(numbers, marker=".")
        axes[0].set_ylabel(steps.verb, fontsize=9)
    if recurrent:
        for number, layer in enumerate(steps.steps[0].layers):
            sizes = [step.layers[number].norm for step in steps.steps]
            axes[1].plot(sizes, marker=".", label=layer.place)
    else:
        axes[1].plot([step.norm for step in steps.steps], marker=".", label="before output")
    axes[1].set_ylabel("size of state", fontsize=9)
    if gated:
        for number, layer in enumerate(steps.steps[0].layers):
            for name in layer.gates:
                values = [step.layers[number].gates[name] for step in steps.steps]
                axes[2].plot(values, marker=".", label=f"{layer.place}, {name}")
        axes[2].set_ylim(0, 1)
        axes[2].set_ylabel("mean gate", fontsize=9)
    for panel in axes[1:]:
        panel.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    turn = 90 if len(labels) > 12 else 0
    axes[-1].set_xticks(range(len(labels)), labels, rotation=turn)


@page_of.register
def steps_page(steps: PredictionSteps, title: str) -> str:
    """A page that is stepped through with the arrow keys."""
    view = '<div id="view"></div>'
    parts = [HINT, view, embed_json("steps", steps.as_dict()), text_details(steps)]
    here = files("seqloom.explain.plots")
    style, script = ("\n" + (here / name).read_text("utf-8") for name in ("steps.css", "steps.js"))
    return page(title, parts, style=style, script=script)
