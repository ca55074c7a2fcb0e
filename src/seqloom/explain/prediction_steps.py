"""One output, step by step: what was read, the state, the gates, where it looked, what it chose."""

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import embed_json, page
from seqloom.errors import ConfigError
from seqloom.explain.attention_heads import cross_map
from seqloom.explain.attention_map import terminal_label, tick_label, truncate_line
from seqloom.explain.explained_output import (
    ExplainedBlanks,
    ExplainedForecast,
    ExplainedOutput,
    output_to_explain,
    text_to_explain,
)
from seqloom.explain.gates import compute_gates
from seqloom.explain.tracing import Trace, trace_decoder, trace_output
from seqloom.fields import EMPTY, START, UNK
from seqloom.model import Head
from seqloom.model.forecast import AutoregressiveForecast
from seqloom.prediction import HeadPredictor, Output, Predictor, TextPredictor, TokenAlternative

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LayerStep", "PredictionStep", "PredictionSteps", "explain_steps"]

BEST = 5
NEVER_WRITTEN = (EMPTY, START, UNK)  # is written


@dataclass(frozen=True)
class LayerStep:
    """A recurrent layer at one step."""

    place: str
    norm: float  # of its state h
    gates: dict[str, float]  # the mean of each over the layer's units


@dataclass(frozen=True)
class PredictionStep:
    """One step of a decoder, or of a reader that is asked what it thinks so far."""

    read: str
    wrote: str
    log_probability: float | None  # None where it is a number
    norm: float  # of what the output layer saw
    best: tuple[TokenAlternative, ...]
    layers: tuple[LayerStep, ...]  # none where nothing is recurrent
    attention: tuple[float, ...] | None  # over the source


@dataclass(frozen=True)
class PredictionSteps:
    """All steps of one output."""

    source: tuple[str, ...]
    steps: tuple[PredictionStep, ...]
    verb: str = "writes"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        steps = [asdict(step) for step in self.steps]
        return {"source": list(self.source), "verb": self.verb, "steps": steps}

    def text(self, width: int = 80) -> str:
        """A paragraph for each step."""
        lines: list[str] = []
        for number, step in enumerate(self.steps, start=1):
            lines += [*(truncate_line(line, width) for line in self._lines(number, step)), ""]
        return "\n".join(lines).rstrip()

    def _lines(self, number: int, step: PredictionStep) -> list[str]:
        read, wrote = terminal_label(step.read), terminal_label(step.wrote)
        lines = [f"step {number}: reads {read}, {self.verb} {wrote}"]
        if step.log_probability is not None:
            lines[0] += f" with p {np.exp(step.log_probability):.3f}"
        if step.best:
            best = [f"{terminal_label(b.text)} {np.exp(b.log_probability):.3f}" for b in step.best]
            lines.append(f"  best words   {'  '.join(best)}")
        if step.attention is not None:
            order = np.argsort(-np.array(step.attention), kind="stable")[:BEST]
            looks = [f"{terminal_label(self.source[i])} {step.attention[i]:.2f}" for i in order]
            lines.append(f"  looks at     {'  '.join(looks)}")
        for layer in step.layers:
            gates = "".join(f", {name} {value:.2f}" for name, value in layer.gates.items())
            lines.append(f"  {layer.place}: state of size {layer.norm:.2f}{gates}")
        lines.append(f"  output layer sees a vector of size {step.norm:.2f}")
        return lines

    def drawing(self) -> Drawing:
        """Probabilities, sizes of states and gates over the steps."""
        names = (f"{tick_label(step.read)}\n{tick_label(step.wrote)}" for step in self.steps)
        if self.verb == "writes":
            names = (tick_label(step.wrote) for step in self.steps)
        return Drawing(tuple(names), partial(_fill, self), 120)

    def page(self, title: str) -> str:
        """A page that is stepped through with the arrow keys."""
        return page(
            title,
            [
                HINT,
                '<div id="view"></div>',
                embed_json("steps", self.as_dict()),
                _text_details(self),
            ],
            style=STYLE,
            script=SCRIPT,
        )


def explain_steps(
    model: Predictor, text: str, output: Output | str | None = None
) -> PredictionSteps:
    """Each step of the model's own output, or of a given one; of a model that judges, what it
    thinks of each item, or of the input up to each item."""
    if not isinstance(model, TextPredictor):
        return explain_head_steps(model, text, output)
    found = trace_decoder(model.network, text_to_explain(model, text, output))
    pair, logs = found.output_text, found.log_probabilities
    possible = logs.index_fill(1, torch.tensor(NEVER_WRITTEN), -torch.inf)
    values, ids = possible.topk(min(BEST, logs.shape[1] - len(NEVER_WRITTEN)), dim=1)
    names = [model.target.tokens(row) for row in ids.tolist()]
    written = logs.gather(1, pair.target_tensor()[:, None])[:, 0].tolist()
    attention = cross_map(found)
    layers = layer_steps(found, "decoder", len(pair.target))
    return PredictionSteps(
        pair.source if attention is None else attention.source,
        tuple(
            PredictionStep(
                read=pair.inputs[t],
                wrote=pair.target[t],
                log_probability=written[t],
                norm=float(found.hidden[t].norm()),
                best=tuple(map(TokenAlternative, names[t], values[t].tolist())),
                layers=layers[t],
                attention=None
                if attention is None
                else tuple(round(float(weight), 6) for weight in attention.weights[t]),
            )
            for t in range(len(pair.target))
        ),
    )


def explain_head_steps(
    model: HeadPredictor, text: str, output: Output | str | None
) -> PredictionSteps:
    """What a model that judges thinks, item by item or gap by gap; ConfigError where it goes by no
    steps."""
    said = output_to_explain(model, text, output)
    items = len(said.values) - model.source.closing
    if isinstance(said, ExplainedForecast):
        return _explain_forecast_steps(model, said)
    if said.feature_groups is not None:
        raise ConfigError(
            f"{model.source.describe()} are read at once and judged at once: try --show gradients, "
            "flow or net"
        )
    found = trace_output(model.network, said)
    layers = layer_steps(found, "encoder", items)
    judged = _predict_prefixes(model, said, items)
    places = said.blank_positions.tolist() if isinstance(said, ExplainedBlanks) else range(items)
    return PredictionSteps(
        said.source,
        tuple(
            PredictionStep(
                read=said.source[t],
                wrote=each.text,
                log_probability=each.tokens[-1].log_probability if each.tokens else None,
                norm=_state_norm(found, t),
                best=each.tokens[-1].alternatives if each.tokens else (),
                layers=layers[t],
                attention=None,
            )
            for t, each in zip(places, judged, strict=True)
        ),
        verb="says",
    )


def _predict_prefixes(model: HeadPredictor, said: ExplainedOutput, items: int) -> list[Output]:
    """Tags or gaps one by one; for a label or a number, what the first so many items would be
    given."""
    values = said.values
    if model.target.config.kind not in ("tags", "blanks"):
        kept = [np.delete(np.arange(len(values)), np.arange(t + 1, items)) for t in range(items)]
        return model.predict_rows([values[places] for places in kept], alternatives=BEST)
    (whole,) = model.predict_rows([values], alternatives=BEST)
    return [
        Output(token.text, token.log_probability, token.log_probability, (token,), "end")
        for token in whole.tokens
    ]


def _state_norm(found: Trace, t: int) -> float:
    """Of the state that the encoder hands on at a position."""
    states = found.memory.states
    return float("nan") if states is None else float(states[0, t].norm())


def _explain_forecast_steps(model: HeadPredictor, said: ExplainedForecast) -> PredictionSteps:
    """The steps of a forecast that is fed back."""
    found = trace_output(model.network, said)
    if said.forecast is None or not any(
        each.location.side == "decoder" for each in found.unit_traces
    ):
        raise ConfigError(
            "this forecast has no recurrent state to be followed step by step: "
            "try --show gradients or flow"
        )
    layers = layer_steps(found, "decoder", len(said.forecast))
    attention = cross_map(found)
    words = [" ".join(f"{number:.4g}" for number in row) for row in said.forecast]
    read = [_first_input(model.network.head), *words]
    return PredictionSteps(
        said.source,
        tuple(
            PredictionStep(
                read=read[t],
                wrote=words[t],
                log_probability=None,
                norm=layers[t][-1].norm,
                best=(),
                layers=layers[t],
                attention=None if attention is None else tuple(attention.weights[t].tolist()),
            )
            for t in range(len(words))
        ),
        verb="forecasts",
    )


def _first_input(head: Head) -> str:
    """What the first step of a forecast reads."""
    lags = head.lags if isinstance(head, AutoregressiveForecast) else 1
    return "the last value" if lags == 1 else f"the last {lags} values"


def layer_steps(found: Trace, side: str, count: int) -> list[tuple[LayerStep, ...]]:
    """Every recurrent layer of a side at each of so many steps, in the order of the positions.

    What a decoder read before its own outputs is left out, and so is what closes a source.
    """
    columns = []
    kept = slice(-count, None) if side == "decoder" else slice(count)
    for stretch in found.unit_traces:
        if stretch.location.side != side:
            continue
        norms, gates = stretch.after[0].norm(dim=1).numpy(), compute_gates(stretch)
        if stretch.location.direction == "backward":
            norms, gates = norms[::-1], {name: table[::-1] for name, table in gates.items()}
        norms, gates = norms[kept], {name: t[kept].mean(axis=1) for name, t in gates.items()}
        name = f"layer {stretch.location.layer}"
        if side == "encoder":
            name += f" {stretch.location.direction}"
        columns.append(
            [
                LayerStep(
                    name,
                    float(norms[t]),
                    {gate: float(values[t]) for gate, values in gates.items()},
                )
                for t in range(count)
            ]
        )
    return [tuple(column[t] for column in columns) for t in range(count)]


def _text_details(steps: PredictionSteps) -> str:
    return f"<details><summary>As text</summary><pre>{html.escape(steps.text())}</pre></details>"


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


HINT = (
    '<p class="faint">Step with the arrow keys <kbd>←</kbd> <kbd>→</kbd>, '
    "<kbd>Home</kbd>, <kbd>End</kbd>, or the buttons.</p>"
)
STYLE = """
kbd { border: 1px solid var(--line); border-radius: 3px; padding: 0 .3rem; }
.line { display: flex; flex-wrap: wrap; gap: .3rem; margin: .5rem 0; }
.line span { padding: .1rem .4rem; border-radius: 3px; unicode-bidi: isolate; white-space: pre; }
.output span { border: 1px solid var(--line); color: var(--faint); cursor: pointer; }
.output .done { color: var(--ink); } .output .now { border-color: var(--mark); font-weight: 700; }
.bar { background: var(--mark); height: .8rem; }
.track { width: 16rem; background: #eee; margin-top: .35rem; }
button { font: inherit; padding: .2rem .8rem; }
"""
SCRIPT = """
'use strict';
const data = JSON.parse(document.getElementById('steps').textContent);
const view = document.getElementById('view');
let at = 0;
function make(parent, name, text, kind) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  parent.appendChild(node);
  return node;
}
function bars(title, rows) {
  make(view, 'h2', title);
  const table = make(view, 'table');
  for (const [name, value, most] of rows) {
    const row = make(table, 'tr');
    make(row, 'td', name).dir = 'auto';
    make(row, 'td', value.toFixed(3), 'number');
    const track = make(make(row, 'td'), 'div', undefined, 'track');
    make(track, 'div', undefined, 'bar').style.width = 100 * Math.min(1, value / most) + '%';
  }
}
function show() {
  const step = data.steps[at];
  view.replaceChildren();
  const buttons = make(view, 'p');
  for (const [text, move] of [['←', -1], ['→', 1]]) {
    make(buttons, 'button', text).onclick = () => go(at + move);
    buttons.append(' ');
  }
  make(buttons, 'span', 'step ' + (at + 1) + ' of ' + data.steps.length + ': reads ').id = 'place';
  make(buttons, 'strong', step.read);
  buttons.append(', ' + data.verb + ' ');
  make(buttons, 'strong', step.wrote).id = 'wrote';
  const source = make(view, 'div', undefined, 'line source');
  data.source.forEach((symbol, i) => {
    const weight = step.attention ? step.attention[i] : 0;
    const node = make(source, 'span', symbol);
    node.style.background = 'rgba(31, 95, 168, ' + weight + ')';
    node.style.color = weight > 0.55 ? 'white' : 'inherit';
    node.title = weight.toFixed(3);
  });
  const output = make(view, 'div', undefined, 'line output');
  data.steps.forEach((each, i) => {
    const kind = i === at ? 'now' : i < at ? 'done' : '';
    make(output, 'span', each.wrote, kind).onclick = () => go(i);
  });
  const best = step.best.map(b => [b.text, Math.exp(b.log_probability), 1]);
  if (best.length) bars('Likeliest', best);
  const most = Math.max(...data.steps.flatMap(s => s.layers.map(l => l.norm)), 1e-9);
  if (step.layers.length) bars('Size of the state', step.layers.map(l => [l.place, l.norm, most]));
  const gates = step.layers.flatMap(
    l => Object.entries(l.gates).map(([name, value]) => [l.place + ', ' + name, value, 1]));
  if (gates.length) bars('Gates, on average', gates);
}
function go(to) {
  at = Math.max(0, Math.min(data.steps.length - 1, to));
  show();
}
document.addEventListener('keydown', event => {
  const moves = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: data.steps.length - 1};
  if (event.key in moves) { go(moves[event.key]); event.preventDefault(); }
});
show();
"""
