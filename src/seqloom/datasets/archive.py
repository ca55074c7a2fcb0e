"""Archives with known hashes, downloaded from the package index and cached."""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from seqloom.datasets.package_indexes import pip_indexes
from seqloom.errors import DataError

if TYPE_CHECKING:
    from pypi_simple import PyPISimple

__all__ = ["Announce", "Archive", "announce_on_stderr", "cache_folder", "fetch"]

Announce = Callable[[str], None]

CONNECT_SECONDS, READ_SECONDS, TOTAL_SECONDS = 10.0, 20.0, 600.0


@dataclass(frozen=True)
class Archive:
    """A file of a project on the package index, with its hash."""

    project: str
    file: str
    sha256: str
    size: int
    contents: str  # a short description with the licence


class DownloadLimitError(Exception):
    """The download exceeded its limit of size or time."""


@dataclass
class DownloadMeter:
    """A progress tracker of pypi-simple that aborts a download at its limit of size or time."""

    limit: int
    deadline: float = field(default_factory=lambda: time.monotonic() + TOTAL_SECONDS)
    received: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def update(self, increment: int) -> None:
        self.received += increment
        if self.received > self.limit:
            raise DownloadLimitError(f"the file is larger than {self.limit:,} bytes")
        if time.monotonic() > self.deadline:
            raise DownloadLimitError(f"the download took more than {TOTAL_SECONDS:.0f} seconds")


def announce_on_stderr(message: str) -> None:
    """Print a message to standard error."""
    print(message, file=sys.stderr)


def cache_folder() -> Path:
    """The user's cache folder: XDG_CACHE_HOME, else ~/.cache."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"
    return root / "seqloom"


def fetch(
    archive: Archive, cache: Path | None = None, *, announce: Announce = announce_on_stderr
) -> Path:
    """The path of the verified archive: the cached copy, or a new download if it is missing or
    invalid.

    DataError if no index is reachable or the file does not match the archive.
    """
    folder = cache or cache_folder()
    path = folder / f"{archive.sha256}-{archive.file}"
    try:
        if path.is_file():
            if _matches(path, archive):
                return path
            announce(f"{path}: the cached copy is damaged; fetching it again")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
            draft = Path(scratch, archive.file)
            _download(archive, draft, announce)
            _keep(draft, path)
    except OSError as error:
        why = error.strerror or error
        raise DataError(
            f"cannot be kept ({why})", place=path, remedy="free the place or set XDG_CACHE_HOME"
        ) from error
    return path


def _matches(path: Path, archive: Archive) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == archive.sha256


def _keep(draft: Path, path: Path) -> None:
    """Move the verified draft to the cache, atomically."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(draft, path)


def _download(archive: Archive, draft: Path, announce: Announce) -> None:
    """Download from the first index that has the archive; DataError explains why none has."""
    indexes = pip_indexes()
    failures = []
    for address in indexes.addresses:
        with _client(address, indexes.certificate) as client:
            failure = _download_from(client, archive, draft, announce=announce)
        if failure is None:
            return
        failures.append(f"the package index {_host(client)} {failure}")
    why = "; ".join(failures) or "pip is configured with no-index"
    raise DataError(
        why,
        place=archive.file,
        remedy="check the network, or name an index that has it in PIP_INDEX_URL",
    )


def _client(address: str | None, certificate: str | None) -> "PyPISimple":
    from pypi_simple import PyPISimple

    client = PyPISimple(address) if address else PyPISimple()
    if certificate:
        client.s.verify = certificate
    return client


def _host(client: "PyPISimple") -> str:
    """The index's host alone: its URL may hold a password."""
    return urlsplit(client.endpoint).hostname or "at the configured address"


def _download_from(
    client: "PyPISimple", archive: Archive, draft: Path, *, announce: Announce
) -> str | None:
    """Download from one index; return a short reason if that fails."""
    from pypi_simple import NoSuchProjectError
    from requests import RequestException

    timeout = (CONNECT_SECONDS, READ_SECONDS)
    try:
        page = client.get_project_page(archive.project, timeout=timeout)
        found = [package for package in page.packages if package.filename == archive.file]
        if not found:
            return "does not have it"
        size = f"{archive.size / 1e6:.1f} MB"
        announce(f"fetching {archive.file} ({size}) from {_host(client)}: {archive.contents}")
        meter = DownloadMeter(archive.size)
        client.download_package(
            found[0], draft, verify=False, progress=lambda _: meter, timeout=timeout
        )
    except NoSuchProjectError:
        return "does not have it"
    except RequestException as error:
        return f"cannot be reached ({type(error).__name__})"
    except (DownloadLimitError, ValueError) as error:
        return f"gave something else ({error})"
    return None if _matches(draft, archive) else f"gave a file whose sha256 is not {archive.sha256}"
