"""Images of digit strings, rendered in one font and many sizes."""

from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

from seqloom.datasets.splits import Splits
from seqloom.randomness import key

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["HEIGHT", "WIDTH", "digits", "strip"]

HEIGHT, WIDTH = 24, 96  # pixels
FEWEST, MOST = 3, 6  # digits of a held-out number


def digits(*, seed: int = 0, train: int = 3_000, held_out: int = 300) -> Splits:
    """Pictures of numbers and the numbers; no held-out number is in another split.

    Short numbers recur in the training data, each time rendered anew: single digits teach a model
    their shapes before it can locate digits.
    """
    chance = Random(key(seed, "digits"))
    held: dict[str, None] = {}
    while len(held) < 2 * held_out:
        held[_number(chance, FEWEST)] = None
    numbers = list(held)
    while len(numbers) < train + 2 * held_out:
        number = _number(chance, 1)
        numbers += [] if number in held else [number]
    files, rows = {}, []
    for place, number in enumerate(numbers):
        name = f"pictures/{place:05}.png"
        stream = BytesIO()
        strip(number, chance).save(stream, "PNG")
        files[name] = stream.getvalue()
        rows.append((name, number))
    parts = rows[2 * held_out :], rows[:held_out], rows[held_out : 2 * held_out]
    return Splits("digits", *parts, columns=("picture", "number"), files=files)


def _number(chance: Random, fewest: int) -> str:
    return "".join(chance.choices("0123456789", k=chance.randint(fewest, MOST)))


def strip(number: str, chance: Random) -> "Image":
    """Render the digits side by side, each with a random size, slant, grey and position."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (WIDTH, HEIGHT), 255)
    left = chance.uniform(0, WIDTH - 16 * len(number))
    for digit in number:
        tile = Image.new("L", (HEIGHT, HEIGHT), 0)
        font = ImageFont.load_default(chance.randint(15, 20))
        middle = HEIGHT / 2, HEIGHT / 2 + chance.uniform(-2, 2)
        ink = chance.randint(150, 255)
        ImageDraw.Draw(tile).text(middle, digit, fill=ink, font=font, anchor="mm")
        turned = tile.rotate(chance.uniform(-15, 15), Image.Resampling.BILINEAR)
        page.paste(0, (round(left) - (HEIGHT - 16) // 2, 0), turned)
        left += 16
    return page
