"""Directories that are created atomically."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seqloom.errors import ConfigError, RunError
from seqloom.remedies import Remedy, Setting

__all__ = ["whole_directory"]

ANOTHER = Remedy("remove it, free space, or choose another {}", Setting("output"))


@contextmanager
def whole_directory(output: Path) -> Iterator[Path]:
    """A temporary folder that becomes `output` when the block ends without an error.

    ConfigError if the path exists; RunError if it cannot be written.
    """
    if output.exists():
        raise ConfigError("already there", place=output, remedy=ANOTHER)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as folder:
            whole = Path(folder) / "model"
            whole.mkdir()
            yield whole
            whole.rename(output)
    except OSError as error:
        reason = error.strerror or error
        raise RunError(f"cannot be written ({reason})", place=output, remedy=ANOTHER) from None
