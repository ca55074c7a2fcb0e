"""Diagrams of boxes in columns and rows, with arrows routed around the boxes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

__all__ = ["Arrow", "Box", "BoxDiagram", "Heading", "draw_diagram"]

ROW = 0.78  # inches from row to row
HALF = 0.15  # height of half a box
LETTER = 0.078  # inches per letter
LEAST, ROOM = 0.5, 0.54  # minimum width of a box, and space between columns
BEND = 0.07  # corner radius
LANE = 0.07  # inches between parallel arrows
MARGIN = 0.3
ENTRY = 2.5  # inches of a legend entry

NEXT = ("feedback", "soft feedback", "input feeding", "query", "initial", "time")
"""Kinds of arrows that lead into a box from its left."""
INKS = {
    "time": "#1f5fa8", "feedback": "#7a3b9e", "soft feedback": "#7a3b9e",
    "input feeding": "#0f7f7a", "initial": "#2b7a2b", "code": "#2b7a2b", "pooling": "#2b7a2b",
    "attention": "#c8641e", "context": "#c8641e", "query": "#c8641e", "self-attention": "#4f8fd0",
    "level": "#8a6d3b", "values": "#8a6d3b", "prefix": "0.35",
}  # fmt: skip
WORDS = {
    "time": "state of the step before", "feedback": "previous output",
    "soft feedback": "previous output's distribution", "input feeding": "previous features",
    "initial": "first state", "code": "code", "attention": "attended to", "context": "context",
    "query": "query", "self-attention": "self-attention", "level": "last value",
    "values": "values", "pooling": "pooled",
}  # fmt: skip
DASHES = {"feedback": (0, (1, 1.4)), "soft feedback": (0, (3, 1.5)), "query": (0, (3, 1.5))}
FACES = {
    "source": "white", "input": "white", "layer": "#e3edf8", "states": "#e3edf8",
    "attention": "#fbe9dc", "code": "#e4f2e0", "readout": "#f4f4f4", "output": "#ececec",
}  # fmt: skip

Point = tuple[float, float]


class Box(NamedTuple):
    """The position of a box, in columns and rows, its text and its kind."""

    x: float
    y: float
    kind: str
    label: str


class Arrow(NamedTuple):
    """The boxes that an arrow connects, and its kind; `weight` is of attention."""

    begin: str
    end: str
    kind: str
    weight: float | None = None


class Heading(NamedTuple):
    """A heading beside a row, on the left of all boxes or on the right."""

    y: float
    label: str
    left: bool


class BoxDiagram:
    """Boxes by name, and the routes of their arrows in inches."""

    def __init__(
        self,
        boxes: Mapping[str, Box],
        arrows: Sequence[Arrow],
        headings: Sequence[Heading] = (),
        gaps: Sequence[Point] = (),
    ) -> None:
        self.boxes, self.arrows = boxes, arrows
        self.headings, self.gaps = headings, gaps
        widest = max(self.half_width(box) for box in boxes.values())
        self.column = 2 * widest + ROOM
        self._at = {(round(box.x, 2), round(box.y, 2)) for box in boxes.values()}
        self._pairs = {(arrow.begin, arrow.end) for arrow in arrows}

    @staticmethod
    def half_width(box: Box) -> float:
        """Half the width of a box."""
        return max(LEAST, LETTER * len(box.label) + 0.16) / 2

    def centre(self, box: Box) -> Point:
        """The centre of a box."""
        return box.x * self.column, box.y * ROW

    def path(self, arrow: Arrow) -> tuple[list[Point], bool]:
        """The corners of an arrow's route, or a line and a Bézier curve."""
        begin, end = self.boxes[arrow.begin], self.boxes[arrow.end]
        line = self._line(begin, end, arrow)
        return self._fan(begin, end) if line is None else (line, False)

    def _line(self, begin: Box, end: Box, arrow: Arrow) -> list[Point] | None:
        """The corners of an orthogonal route; None for an arrow of a fan."""
        beside = self._is_beside(begin, end)
        line = None
        if arrow.begin == arrow.end:
            line = self._loop(begin)
        elif begin.x == end.x:
            line = self._within_column(begin, end, arrow)
        elif begin.y == end.y and (beside or "code" not in (arrow.kind, end.kind)):
            line = self._within_row(begin, end, arrow)
        elif arrow.kind in NEXT and begin.x < end.x:
            line = self._from_left(begin, end, arrow)
        elif end.kind == "code" and begin.x < end.x:
            line = self._into_code(begin, end)
        elif arrow.kind == "code":
            line = self._bus(begin, end)
        return line

    def _loop(self, box: Box) -> list[Point]:
        """A loop on the outer side of a box."""
        x, y = self.centre(box)
        side = -1 if box.x <= 0 else 1
        edge, far = x + side * self.half_width(box), x + side * (self.half_width(box) + 0.2)
        return [(edge, y + 0.08), (far, y + 0.08), (far, y - 0.08), (edge, y - 0.08)]

    def _within_column(self, begin: Box, end: Box, arrow: Arrow) -> list[Point]:
        """A vertical route, straight or around the boxes between."""
        (x, y), (_, to) = self.centre(begin), self.centre(end)
        up = 1 if to > y else -1
        between = any(
            column == round(begin.x, 2) and min(begin.y, end.y) < row < max(begin.y, end.y)
            for column, row in self._at
        )
        if not between and up > 0:
            return [(x, y + HALF), (x, to - HALF)]
        widths = [self.half_width(b) for b in self.boxes.values() if b.x == begin.x]
        order = [*NEXT, "positions", "up", "level", "values"]
        lanes = order.index(arrow.kind) if arrow.kind in order else 0
        lane = x + max(widths) + 0.14 + LANE * (lanes % 3)
        out, into = (self.half_width(box) for box in (begin, end))
        return [(x + out, y), (lane, y), (lane, to - 0.05), (x + into, to - 0.05)]

    def _within_row(self, begin: Box, end: Box, arrow: Arrow) -> list[Point]:
        """A horizontal route, straight or above the boxes between."""
        (x, y), (to, _) = self.centre(begin), self.centre(end)
        way = 1 if to > x else -1
        if not self._is_beside(begin, end):
            above = y + ROW / 2 + LANE
            return [(x, y + HALF), (x, above), (to, above), (to, y + HALF)]
        both = (arrow.end, arrow.begin) in self._pairs
        y += 0.06 * way if both else 0.0
        return [(x + way * self.half_width(begin), y), (to - way * self.half_width(end), y)]

    def _is_beside(self, begin: Box, end: Box) -> bool:
        """Whether no box lies between two boxes of a row."""
        low, high = sorted((begin.x, end.x))
        return not any(row == round(begin.y, 2) and low < x < high for x, row in self._at)

    def _from_left(self, begin: Box, end: Box, arrow: Arrow) -> list[Point]:
        """A route into a box from the left, along the space before its column."""
        (x, y), (to, level) = self.centre(begin), self.centre(end)
        lane = to - self.column / 2 + LANE * (NEXT.index(arrow.kind) - 1.5)
        level += {"query": -0.05, "input feeding": -0.08, "initial": 0.05}.get(arrow.kind, 0.0)
        left = to - self.half_width(end)
        near = end.x - begin.x <= 1.01
        if near:
            return [(x + self.half_width(begin), y), (lane, y), (lane, level), (left, level)]
        above = y + ROW / 2
        return [(x, y + HALF), (x, above), (lane, above), (lane, level), (left, level)]

    def _into_code(self, begin: Box, end: Box) -> list[Point]:
        """A route into the code from its left, along the row of a box or the space above it."""
        (x, y), (to, level) = self.centre(begin), self.centre(end)
        left, lane = to - self.half_width(end), to - self.half_width(end) - 0.2
        if self._is_beside(begin, end):
            return [(x + self.half_width(begin), y), (lane, y), (lane, level), (left, level)]
        above, x = y + ROW / 2, x + self.half_width(begin) / 2
        return [(x, y + HALF), (x, above), (lane, above), (lane, level), (left, level)]

    def _bus(self, begin: Box, end: Box) -> list[Point]:
        """A route along the space below the row of a box, and into it from below."""
        (x, y), (to, level) = self.centre(begin), self.centre(end)
        bus, into = level - ROW / 2 - 0.02, to - self.half_width(end) / 2
        if level == y:
            bus = y - ROW / 2
        if bus > y:
            return [(x, y + HALF), (x, bus), (into, bus), (into, level - HALF)]
        x += self.half_width(begin) / 2
        return [(x, y - HALF), (x, bus), (into, bus), (into, level - HALF)]

    def _fan(self, begin: Box, end: Box) -> tuple[list[Point], bool]:
        """A straight line between adjacent rows; otherwise along the space below the row of its
        end.
        """
        (x, y), (to, level) = self.centre(begin), self.centre(end)
        if level < y:
            return [(x, y - HALF), (to, level + HALF)], False
        if not any(begin.y < row < end.y for _, row in self._at):
            return [(x, y + HALF), (to, level - HALF)], False
        low = level - ROW + HALF
        start = [(x, y + HALF), (x, low)]
        if any(c == round(begin.x, 2) and begin.y < r < end.y for c, r in self._at):
            lane = x + self.half_width(begin) + 0.16
            start = [(x + self.half_width(begin), y), (lane, y), (lane, low)]
        middle = (low + level - HALF) / 2
        return [*start, (start[-1][0], middle), (to, middle), (to, level - HALF)], True

    def as_dict(self) -> dict[str, Any]:
        """The diagram in inches from the upper left corner, with arrows as SVG paths."""
        left, bottom, right, top = self.bounds

        def place(point: Point) -> tuple[float, float]:
            return round(point[0] - left, 3), round(top - point[1], 3)

        def line(arrow: Arrow) -> str:
            points, curve = self.path(arrow)
            parts = _segments(points, curve=curve)
            return "".join(
                letter + " ".join(f"{x:g} {y:g}" for x, y in map(place, some))
                for letter, some in parts
            )

        names = {name: number for number, name in enumerate(self.boxes)}
        return {
            "size": place((right, bottom)),
            "boxes": [
                {
                    "at": place(self.centre(box)),
                    "width": round(2 * self.half_width(box), 3),
                    "label": box.label,
                    "kind": box.kind,
                }
                for box in self.boxes.values()
            ],
            "arrows": [
                {
                    "begin": names[each.begin],
                    "end": names[each.end],
                    "kind": each.kind,
                    "path": line(each),
                    "weight": None if each.weight is None else round(each.weight, 4),
                }
                for each in self.arrows
            ],
            "headings": [
                {"at": place(where), "label": each.label, "align": align}
                for each in self.headings
                for where, align in [self.heading_place(each)]
            ],
            "gaps": [place((column * self.column, row * ROW)) for column, row in self.gaps],
            "legend": _legend(self.arrows),
        }

    def heading_place(self, heading: Heading) -> tuple[Point, str]:
        """The position of a heading, on the left or right of all boxes, and its alignment."""
        left, right = self._sides
        if heading.left:
            return (left - MARGIN, heading.y * ROW), "right"
        return (right + MARGIN, heading.y * ROW), "left"

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The left, bottom, right and top of the diagram."""
        left, right = (
            side + 1.2 * MARGIN * way for side, way in zip(self._sides, (-1, 1), strict=False)
        )
        for heading in self.headings:
            (x, _), align = self.heading_place(heading)
            size = LETTER * len(heading.label) + 0.1
            left, right = min(left, x - size * (align == "right")), max(right, x + size)
        rows = [box.y * ROW for box in self.boxes.values()]
        return left, min(rows) - 0.45, right, max(rows) + 0.4

    @property
    def _sides(self) -> Point:
        """The left and right ends of the boxes, with room for lines beside them."""
        widths = [(self.centre(box)[0], self.half_width(box)) for box in self.boxes.values()]
        return min(x - half for x, half in widths) - 0.05, max(x + half for x, half in widths) + 0.3


def draw_diagram(diagram: BoxDiagram, figure: "Figure", labels: Sequence[str]) -> None:
    """Draw arrows, then boxes, headings and a legend."""
    left, bottom, right, top = diagram.bounds
    legend = _legend(diagram.arrows)
    rows = -(-len(legend) // max(1, int((right - left) / ENTRY)))
    bottom -= 0.24 * rows
    figure.set_size_inches(right - left, top - bottom)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    _draw_arrows(axes, diagram)
    for box, label in zip(diagram.boxes.values(), labels, strict=True):
        _draw_box(axes, diagram, box, label)
    _draw_texts(axes, diagram)
    each = -(-len(legend) // max(1, rows))
    for number, (kind, words) in enumerate(legend.items()):
        x, y = left + 0.2 + ENTRY * (number % each), bottom + 0.14 + 0.24 * (number // each)
        axes.plot([x, x + 0.3], [y, y], color=INKS[kind], linestyle=DASHES.get(kind, "-"), lw=1.3)
        axes.text(x + 0.37, y, words, fontsize=8.5, va="center", color="0.25")


def _legend(arrows: Sequence[Arrow]) -> dict[str, str]:
    """The meaning of each arrow style, by the first kind that has it."""
    found: dict[tuple[str, object], list[str]] = {}
    for kind in WORDS:
        if any(arrow.kind == kind for arrow in arrows):
            found.setdefault((INKS[kind], DASHES.get(kind)), []).append(kind)
    return {kinds[0]: ", ".join(WORDS[kind] for kind in kinds) for kinds in found.values()}


def _draw_box(axes: "Axes", diagram: BoxDiagram, box: Box, label: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    (x, y), half = diagram.centre(box), diagram.half_width(box)
    corner = (x - half + 0.05, y - HALF + 0.05)
    axes.add_patch(
        FancyBboxPatch(
            corner, 2 * half - 0.1, 2 * HALF - 0.1, boxstyle="round,pad=0.05,rounding_size=0.08",
            facecolor=FACES[box.kind], edgecolor="0.45", linewidth=0.8, zorder=3,
        )
    )  # fmt: skip
    axes.text(x, y, label, ha="center", va="center_baseline", fontsize=10, zorder=4)


def _draw_texts(axes: "Axes", diagram: BoxDiagram) -> None:
    """Draw the names of rows, and dots at omitted steps."""
    for each in diagram.headings:
        (x, y), align = diagram.heading_place(each)
        axes.text(x, y, each.label, va="center", ha=align, fontsize=9.5, color="0.3")
    for column, row in diagram.gaps:
        axes.text(column * diagram.column, row * ROW, "…", ha="center", va="center", fontsize=12)


def _draw_arrows(axes: "Axes", diagram: BoxDiagram) -> None:
    from matplotlib.patches import FancyArrowPatch

    for arrow in diagram.arrows:
        points, curve = diagram.path(arrow)
        weight = arrow.weight
        width = 1.1 if weight is None else 0.3 + 2.4 * weight
        axes.add_patch(
            FancyArrowPatch(
                path=_round_corners(points, curve=curve),
                arrowstyle="-|>,head_length=3,head_width=1.6",
                mutation_scale=1.5, color=INKS.get(arrow.kind, "0.35"), linewidth=width,
                linestyle=DASHES.get(arrow.kind, "-"), zorder=1 if weight is not None else 2,
                alpha=1.0 if weight is None else 0.25 + 0.75 * min(1.0, weight), fill=True,
                capstyle="butt",
            )
        )  # fmt: skip


def _segments(points: Sequence[Point], *, curve: bool) -> Iterator[tuple[str, list[Point]]]:
    """A line with rounded corners as SVG commands with their points; with `curve`, its last four
    points form a Bézier curve.
    """
    line = points[:-3] if curve else points
    yield "M", [line[0]]
    for before, here, after in zip(line, line[1:], line[2:], strict=False):
        yield "L", [_toward(here, before)]
        yield "Q", [here, _toward(here, after)]
    if len(line) > 1:
        yield "L", [line[-1]]
    if curve:
        yield "C", [*points[-3:]]


def _round_corners(points: Sequence[Point], *, curve: bool) -> "Path":
    """A line with rounded corners."""
    from matplotlib.path import Path

    codes = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4}
    parts = list(_segments(points, curve=curve))
    return Path(
        [point for _, some in parts for point in some],
        [codes[letter] for letter, some in parts for _ in some],
    )


def _toward(corner: Point, other: Point) -> Point:
    """A point near a corner, towards another point."""
    way = other[0] - corner[0], other[1] - corner[1]
    length = max(1e-9, float(abs(way[0]) + abs(way[1])))
    share = min(0.5, BEND / length)
    return corner[0] + share * way[0], corner[1] + share * way[1]
