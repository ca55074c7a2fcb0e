"""Made-up tables: sentences alone, and with labels."""

import random
from collections.abc import Sequence
from pathlib import Path

__all__ = ["WORDS", "labelled", "sentences", "table"]

WORDS = [f"w{a}{b}" for a in "abcdefghij" for b in "klmnopqrstuvwxyzklmno"]


def table(path: Path, rows: Sequence[tuple[object, ...]], separator: str = "\t") -> Path:
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))
    return path


def sentences(rows: int, *, seed: int = 1, words: int = 4) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=words)) + f" {number}" for number in range(rows)]


def labelled(rows: int, labels: str = "abc") -> list[tuple[object, ...]]:
    return [(each, labels[number % len(labels)]) for number, each in enumerate(sentences(rows))]
