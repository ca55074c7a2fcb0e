"""The tree of a search, with a row for each step and a lane for each kept path."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqloom.prediction import Branch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MARKS", "fill_tree", "layout_tree"]

MARKS = {"kept": "", "pruned": "×", "finished": "■", "winner": "★"}
BEST, KEPT, FAINT = "#c8641e", "#1f5fa8", "0.45"
LANE, ROW = 1.25, 0.46  # inches


def layout_tree(
    below: Mapping[int, Sequence[Branch]], best: Collection[int]
) -> dict[int, tuple[int, int]]:
    """The step and lane of each kept branch, from the branches below each node.

    The path to the winner has the first lane; a first child shares its parent's.
    """
    places, row = {0: (0, 0)}, [0]
    while row:
        children = [(child, parent) for parent in row for child in below[parent]]
        kept = [(child, parent) for child, parent in children if child.fate != "pruned"]
        kept.sort(key=lambda pair: pair[0].number not in best)
        step, taken, waiting = places[row[0]][0] + 1, set[int](), []
        for child, parent in kept:
            lane = places[parent][1]
            if lane in taken:
                waiting.append(child.number)
            else:
                places[child.number] = (step, lane)
                taken.add(lane)
        free = (lane for lane in range(len(kept) + len(taken)) if lane not in taken)
        places |= {number: (step, lane) for number, lane in zip(waiting, free, strict=False)}
        row = sorted((child.number for child, _ in kept), key=lambda number: places[number][1])
    return places


def fill_tree(
    branches: Sequence[Branch],
    below: Mapping[int, Sequence[Branch]],
    best: Collection[int],
    figure: "Figure",
    labels: Sequence[str],
) -> None:
    """Draw steps downwards and paths across; a token's probability is on its edge, and the number
    of pruned branches beside their parent.
    """
    places = layout_tree(below, best)
    steps = 1 + max(step for step, _ in places.values())
    lanes = 1 + max(lane for _, lane in places.values())
    figure.set_size_inches(LANE * lanes, max(1.2, ROW * steps))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.5, lanes - 0.5)
    axes.set_ylim(steps - 0.5, -0.5)
    for number, place in places.items():
        branch, is_best = branches[number], number in best
        if branch.parent is not None:
            _draw_edge(axes, places[branch.parent], place, branch, is_best=is_best)
        _draw_name(axes, place, f"{MARKS[branch.fate]} {labels[number]}".strip(), is_best=is_best)
        dropped = sum(child.fate == "pruned" for child in below[number])
        if dropped:
            step, lane = place
            axes.text(
                lane + 0.06, step + 0.3, f"×{dropped}", fontsize=6.5, color=FAINT, va="center"
            )


def _draw_edge(
    axes: "Axes", begin: tuple[int, int], end: tuple[int, int], branch: Branch, *, is_best: bool
) -> None:
    """Draw a curve from a parent to its child, with the child's probability."""
    (step, lane), (next_step, next_lane) = begin, end
    along = np.linspace(0, 1, 24)
    bend = along**2 * (3 - 2 * along)
    axes.plot(
        lane + (next_lane - lane) * bend, step + 0.2 + (next_step - 0.3 - step) * along,
        color=BEST if is_best else KEPT, linewidth=2 if is_best else 0.8, zorder=0,
    )  # fmt: skip
    axes.text(
        next_lane, next_step - 0.36, f"{100 * np.exp(branch.log_probability):.0f} %",
        fontsize=6.5, ha="center", va="center", color="0.3",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
    )  # fmt: skip


def _draw_name(axes: "Axes", place: tuple[int, int], words: str, *, is_best: bool) -> None:
    step, lane = place
    axes.text(
        lane, step, words, fontsize=9, ha="center", va="center",
        color=BEST if is_best else "0.1", weight="bold" if is_best else "normal",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip
