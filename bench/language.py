"""Language models on public data: tinyshakespeare by character, PTB by word; gaps in PTB.

    python bench/language.py [NAME ...]

Names: shakespeare, ptb, gaps. The files lie in the folder that SEQLOOM_SHARED_DATA names. A
training that was stopped goes on where it was; its time counts every resumption. Each result is
kept in bench/results/NAME.json.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foundation import RUNS, evaluation, shared, trained
from uses import keep

ALONE = ["--source", "none"]
MEASURES: dict[str, Callable[[], dict[str, Any]]] = {}


def measure_shakespeare() -> dict[str, Any]:
    """By character, on the last tenth of the text; the end of what is before it is held out."""
    text = shared("tinyshakespeare", "input.txt").read_text(encoding="utf-8")
    end = int(0.9 * len(text))
    folder = RUNS / "bench-shakespeare-data"
    folder.mkdir(parents=True, exist_ok=True)
    train, test = folder / "train.txt", folder / "test.txt"
    train.write_text(text[:end], encoding="utf-8")
    test.write_text(text[end:], encoding="utf-8")
    return trained_and_measured("shakespeare", [str(train), *ALONE], test)


def measure_ptb() -> dict[str, Any]:
    """By word, with the line end as one; the usual split."""
    train, valid, test = (shared("ptb", f"ptb.{part}.txt") for part in ("train", "valid", "test"))
    words = ["--valid", str(valid), "--set", "target.unit=symbol"]
    return trained_and_measured("ptb", [str(train), *ALONE, *words], test)


def measure_gaps() -> dict[str, Any]:
    """Each word of PTB's test lines from all others of its line, beside two-sided bigrams."""
    train, valid, test = (shared("ptb", f"ptb.{part}.txt") for part in ("train", "valid", "test"))
    words = ["--valid", str(valid), "--set", "source.unit=symbol"]
    return trained_and_measured("gaps", [str(train), "--target", "blanks", *words], test)


def trained_and_measured(name: str, data: list[str], test: Path) -> dict[str, Any]:
    """Train with what is chosen automatically, then measure on the test text."""
    run = RUNS / f"bench-{name}"
    return {**trained(run, *data), **evaluation(run, str(test))}


MEASURES |= {"shakespeare": measure_shakespeare, "ptb": measure_ptb, "gaps": measure_gaps}


def main() -> None:
    """Measure what is named, or all."""
    for name in sys.argv[1:] or MEASURES:
        keep(name, MEASURES[name]())


if __name__ == "__main__":
    main()
