"""Made-up rows of labels and tags, in files."""

import random
from pathlib import Path

__all__ = ["labelled", "tagged", "write"]

COLORS = {"red": "B-COL", "blue": "B-COL", "Rome": "B-LOC", "Oslo": "B-LOC", "a": "O", "by": "O"}


def tagged(rows: int, *, seed: int) -> list[tuple[str, str]]:
    """Words whose tag is known, of which "Rome" goes on in "old"."""
    chance = random.Random(seed)
    texts = [chance.choices(list(COLORS), k=chance.randint(2, 5)) for _ in range(rows)]
    return [
        (
            " ".join(f"{word} old" if word == "Rome" else word for word in words),
            " ".join("B-LOC I-LOC" if word == "Rome" else COLORS[word] for word in words),
        )
        for words in texts
    ]


def labelled(rows: int, *, seed: int) -> list[tuple[str, str]]:
    """Words and their first letter, of which one in ten is wrong."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abc", k=4)) for _ in range(rows)]
    return [(word, chance.choice("abc") if chance.random() < 0.1 else word[0]) for word in words]


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return path
