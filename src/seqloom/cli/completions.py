"""Shell completion."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

__all__ = ["complete_model", "complete_option", "complete_run", "starting_so"]


def complete_run(incomplete: str) -> list[str]:
    """Directories of runs whose paths start with this text, at most two levels deeper."""
    found = chain(_directories(incomplete + "*"), _directories(incomplete + "*/*"))
    return sorted({path for path in found if Path(path, "config.toml").is_file()})


def _directories(pattern: str) -> Iterator[str]:
    from glob import iglob

    return (path for path in iglob(pattern) if Path(path).is_dir())


def complete_option(incomplete: str) -> list[str]:
    """Names of options that start with this text, each with the `=` that `--set` needs."""
    from seqloom.config import option_rows

    return [f"{row.name}=" for row in option_rows() if row.name.startswith(incomplete)]


def complete_model(incomplete: str) -> list[str]:
    """Presets whose names start with this text."""
    from seqloom.config.columns.options import PRESETS

    return starting_so(PRESETS)(incomplete)


def starting_so(names: Sequence[str]) -> Callable[[str], list[str]]:
    """A completion function for these names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete
