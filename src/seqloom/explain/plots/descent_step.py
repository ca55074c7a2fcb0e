"""A step of gradient descent as text."""

import textwrap
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import terminal_label
from seqloom.explanations.descent_step import DescentStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

__all__ = ["descent_text", "draw_descent"]


@text_of.register
def descent_text(step: DescentStep, width: int = 80) -> str:
    """Forward pass and residuals, loss, gradient and update, and the loss after it."""
    source, target = (" ".join(map(terminal_label, side)) for side in (step.source, step.target))
    lines = [f"example: {source} → {target}", "", "forward: y(t), and residuals y(t) − c(t)"]
    for t, each in enumerate(step.residuals, start=1):
        lines.append(
            f"  t={t} reads {terminal_label(each.read)}, wants {terminal_label(each.wanted)}: "
            f"y {each.probability:.4f}, residual {each.residual:+.4f}; "
            f"{terminal_label(each.other)} {each.other_residual:+.4f}"
        )
    lines += [f"  loss, the sum of −log y: {step.loss:.4f}", ""]
    lines.append(f"gradient, and update W ← W − {step.rate:g} · ∂C/∂W at its largest entry")
    for each_matrix in step.matrices:
        shape = "×".join(map(str, each_matrix.shape))
        entry = ",".join(map(str, each_matrix.entry))
        lines.append(
            f"  {each_matrix.name} {shape}: size {each_matrix.norm:.4f}; ({entry}) "
            f"{each_matrix.before:.4f} − {step.rate:g} · {each_matrix.gradient:.4f} = "
            f"{each_matrix.after:.4f}"
        )
    lines += ["", f"loss after the update: {step.loss_after:.4f}"]
    wrapped = (textwrap.wrap(line, width, subsequent_indent="      ") or [""] for line in lines)
    return "\n".join(chain.from_iterable(wrapped))


@drawing_of.register
def draw_descent(step: DescentStep) -> Drawing:
    """The same lines as a picture."""
    lines = tuple(descent_text(step, 120).split("\n"))
    return Drawing(lines, partial(_fill, len(lines)), 120)


def _fill(count: int, figure: "Figure", labels: "Sequence[str]") -> None:
    figure.set_size_inches(0.085 * max(map(len, labels)) + 0.5, 0.2 * count + 0.3)
    for number, line in enumerate(labels):
        figure.text(0.02, 1 - (number + 1) / (count + 1), line, family="monospace", fontsize=9)
