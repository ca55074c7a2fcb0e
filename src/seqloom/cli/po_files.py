"""What `seqloom predict` does with a PO file: suggest translations where there are none."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.prediction import Output, Predictor

__all__ = ["is_po", "write_po"]


def is_po(file: Path) -> bool:
    """Whether a file is a PO file, by its name."""
    return file.name.lower().removesuffix(".gz").endswith((".po", ".pot"))


def write_po(
    file: Path,
    model: "Predictor",
    asks: "Callable[[Iterable[str]], Iterable[Output]]",
    *,
    as_json: bool,
    skip_bad: bool,
) -> None:
    """Print the file with a fuzzy suggestion in every entry that has no translation."""
    from seqloom.data import PoFile

    if as_json or model.source.config.kind != "text" or model.target.config.kind != "text":
        raise ConfigError(
            "a PO file is filled in by a model from text to text, and written as a PO file",
            place=file,
            remedy="leave --json out, or give the texts as lines of a .txt file",
        )
    catalogue = PoFile.read(file, max_line=model.config.data.max_line)
    if catalogue.faults and not skip_bad:
        raise next(iter(catalogue.faults.values())).error()
    gaps = catalogue.missing_translations()
    texts = [text.strip("\n") for gap in gaps for text in gap.texts]
    outputs = iter([output.text for output in asks(texts)])
    filled = [(gap, [next(outputs) for _ in gap.texts]) for gap in gaps]
    written = [each for each in filled if all(text.strip() for text in each[1])]
    sys.stdout.buffer.write(catalogue.fill_translations(written))
    sys.stdout.buffer.flush()
    print(f"{len(written):,} entries filled in and marked fuzzy", file=sys.stderr)
