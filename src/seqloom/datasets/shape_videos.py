"""Rendered clips of moving shapes to describe."""

from io import BytesIO
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqloom.datasets.splits import Splits
from seqloom.randomness import key

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["FRAMES", "PACES", "SIDE", "WAYS", "clips", "render_clip", "split_combinations"]

SIDE, FRAMES = 32, 8  # pixels of a frame's side, frames of a clip
SHAPES = ("circle", "square", "triangle", "cross")
COLOURS = {"red": "#d62728", "green": "#2ca02c", "blue": "#1f5fd0", "black": "#222222"}
WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
PACES = {"slowly": 1.0, "quickly": 2.5}  # pixels from one frame to the next
HELD_OUT = 6  # of as many combinations, one is for validation and one for the test


def clips(*, seed: int = 0, train: int = 1_500, held_out: int = 150) -> Splits:
    """Clips of a moving shape and their descriptions; splits share no combination of shape, colour,
    direction and pace.
    """
    chance = Random(key(seed, "clips"))
    parts = split_combinations([*product(SHAPES, COLOURS, WAYS, PACES)], chance)
    files: dict[str, bytes] = {}
    splits = []
    for part, count in zip(parts, (train, held_out, held_out), strict=True):
        rows = []
        for number in range(count):
            shape, colour, way, pace = part[number % len(part)]
            name = f"clips/{len(files):05}.npy"
            moving = _shape(shape, colour, chance.randint(9, 12))
            files[name] = _bytes(render_clip(moving, way, pace, chance))
            rows.append((name, f"a {colour} {shape} moves {way} {pace}"))
        chance.shuffle(rows)
        splits.append(rows)
    learnt, chosen, tested = splits
    columns = "clip", "what happens"
    return Splits("clips", learnt, chosen, tested, columns=columns, files=files)


def split_combinations(
    combinations: list[tuple[str, ...]], chance: Random
) -> tuple[list[tuple[str, ...]], ...]:
    """Split combinations into training, validation and test sets."""
    mixed = chance.sample(combinations, len(combinations))
    some = max(1, len(mixed) // HELD_OUT)
    return mixed[2 * some :], mixed[:some], mixed[some : 2 * some]


def render_clip(moving: "Image", way: str, pace: str, chance: Random) -> NDArray[np.uint8]:
    """Render a shape that crosses a white page from a random position."""
    from PIL import Image

    steps = [PACES[pace] * chance.uniform(0.9, 1.1) * along for along in WAYS[way]]
    room = [SIDE - size for size in moving.size]
    starts = [
        chance.uniform(max(0.0, -step * (FRAMES - 1)), min(space, space - step * (FRAMES - 1)))
        for step, space in zip(steps, room, strict=True)
    ]
    frames = []
    for number in range(FRAMES):
        page = Image.new("RGB", (SIDE, SIDE), "white")
        left, top = (round(at + number * step) for at, step in zip(starts, steps, strict=True))
        page.paste(moving, (left, top), moving)
        frames.append(np.asarray(page))
    return np.stack(frames)


def _shape(shape: str, colour: str, size: int) -> "Image":
    """Render a shape on a transparent page, four times as large, then downsample it for smooth
    edges.
    """
    from PIL import Image, ImageDraw

    large = 4 * size
    picture = Image.new("RGBA", (large, large), (255, 255, 255, 0))
    pen, paint, end = ImageDraw.Draw(picture), COLOURS[colour], large - 1
    match shape:
        case "circle":
            pen.ellipse((0, 0, end, end), fill=paint)
        case "square":
            pen.rectangle((size // 2, size // 2, end - size // 2, end - size // 2), fill=paint)
        case "triangle":
            pen.polygon([(0, end), (end, end), (end / 2, 0)], fill=paint)
        case _:
            arm = large // 3
            pen.rectangle((arm, 0, end - arm, end), fill=paint)
            pen.rectangle((0, arm, end, end - arm), fill=paint)
    return picture.resize((size, size), Image.Resampling.BOX)


def _bytes(frames: NDArray[np.uint8]) -> bytes:
    stream = BytesIO()
    np.save(stream, frames, allow_pickle=False)
    return stream.getvalue()
