"""A saved step: a directory of tensors and progress that its manifest vouches for.

A step is written under a name that no reader looks at and renamed when the disk has all of it, so
whoever finds `step-000500` finds it whole. The manifest comes last: size and sha256 of each file,
and a hash of the fields that the step was trained with. Tensors are in safetensors files.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from seqloom.errors import DivergedError, RunError
from seqloom.store import durable
from seqloom.store.arrays import unpack_arrays
from seqloom.store.durable import (
    LARGEST_JSON,
    encode_json,
    open_plain,
    parse_json,
    read_plain,
)

if TYPE_CHECKING:
    from torch import Tensor

    from seqloom.store.tensors import Tensors

__all__ = [
    "LARGEST_START",
    "Checkpoint",
    "SkippedCheckpoint",
    "check_header",
    "fields_digest",
    "step_name",
    "write_checkpoint",
]

LENGTH_BYTES = 8
LARGEST_START = LENGTH_BYTES + LARGEST_JSON
SMALLEST_HEADER = len("{}")


def check_header(start: bytes, size: int, *, place: Path) -> None:
    """RunError unless a file of this size may begin so: a sane header that accounts for all of it.

    The first LARGEST_START bytes are enough, so a huge file is refused without reading the rest.
    """
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if not SMALLEST_HEADER <= length <= min(LARGEST_JSON, size - LENGTH_BYTES):
        raise RunError(
            "not a safetensors file", place=place, remedy="restore it or remove its step"
        )
    header = parse_json(start[LENGTH_BYTES : LENGTH_BYTES + length], place)
    ends = [_end(entry) for name, entry in header.items() if name != "__metadata__"]
    if LENGTH_BYTES + length + max(ends, default=0) != size:
        raise RunError(
            f"its header does not fit its {size} bytes", place=place, remedy="remove the step"
        )


def _end(entry: object) -> int:
    match entry:
        case {"data_offsets": [int(), int(end)]}:
            return end
    return -1


FORMAT = 1
LARGEST_FILE = 8 << 30
CHUNK = 1 << 20
LARGEST_FIELD = 64 << 20
MANIFEST = "manifest.json"
FIELDS = "fields"
PROGRESS = "progress.json"
TENSOR_FILE = re.compile(r"([a-z][a-z0-9_]{0,40})\.safetensors")
STEP = re.compile(r"step-([0-9]{6,12})")
DIGEST = re.compile(r"[0-9a-f]{64}")


class SkippedCheckpoint(NamedTuple):
    """A step that was passed over, and why, in one sentence."""

    step: int
    why: str


class ManifestEntry(NamedTuple):
    """What the manifest says about one file."""

    size: int
    sha256: str


class Manifest(NamedTuple):
    """The files of a step, and the hash of its fields; steps of earlier releases have none."""

    files: Mapping[str, ManifestEntry]
    fields: str = ""

    def encode(self, number: int) -> bytes:
        """The bytes of manifest.json of this step."""
        files = {name: entry._asdict() for name, entry in sorted(self.files.items())}
        bound = {FIELDS: self.fields} if self.fields else {}
        return encode_json({"format": FORMAT, "step": number, **bound, "files": files}, indent=1)


def step_name(number: int) -> str:
    """The directory name of a step: `step-000500`."""
    return f"step-{number:06d}"


@dataclass(frozen=True)
class Checkpoint:
    """A step directory; whatever is read from it is checked against the manifest first."""

    number: int
    path: Path

    @classmethod
    def at(cls, path: Path) -> "Checkpoint | None":
        """The step that a path is named for, if any."""
        match = STEP.fullmatch(path.name)
        if match is None or path.name != step_name(int(match[1])):
            return None
        return cls(int(match[1]), path)

    def names(self) -> list[str]:
        """The sets of tensors it holds: `model`, `optimizer`, perhaps `average`."""
        matches = [TENSOR_FILE.fullmatch(file) for file in self._manifest().files]
        return [match[1] for match in matches if match]

    def digest(self, name: str) -> str:
        """The sha256 of a set of tensors, as the manifest has it; the tensors are not read."""
        entry = self._manifest().files.get(f"{name}.safetensors")
        return "" if entry is None else entry.sha256

    def load(self, name: str = "model") -> "dict[str, Tensor]":
        """One set of its tensors, on the CPU; RunError unless every byte is as it was saved."""
        from seqloom.store.tensors import unpack

        file = f"{name}.safetensors"
        return unpack(self._read(file), place=self.path / file)

    def load_arrays(self, name: str) -> dict[str, np.ndarray]:
        """The same as arrays, for which torch is not needed."""
        file = f"{name}.safetensors"
        return unpack_arrays(self._read(file), place=self.path / file)

    def progress(self) -> dict[str, Any]:
        """What was saved beside the tensors: counters, held-out results."""
        return parse_json(self._read(PROGRESS), self.path / PROGRESS)

    def verify(self) -> None:
        """RunError unless every file is there with the size and sha256 that the manifest gives, and
        the run's fields are those that the step was trained with."""
        for name, entry in self._manifest().files.items():
            with self._open(name, entry) as file:
                digest = sha256()
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
            self._check_digest(name, digest.hexdigest(), entry)

    def _manifest(self) -> Manifest:
        if not os.path.lexists(self.path):
            raise RunError("is missing", place=self.path, remedy="restore it from a copy")
        if self.path.is_symlink() or not self.path.is_dir():
            raise RunError("not a directory", place=self.path, remedy="remove it")
        path = self.path / MANIFEST
        data = read_plain(path)
        manifest = _parse_manifest(parse_json(data, path), path)
        if data != manifest.encode(self.number):
            raise RunError(
                "not as it was written for this step", place=path, remedy="remove the step"
            )
        fields = self.path.parent / FIELDS
        if manifest.fields and manifest.fields != fields_digest(fields):
            raise RunError(
                f"step {self.number} was trained with other fields than these",
                place=fields,
                remedy="bring back those that belong to the run",
            )
        return manifest

    def _read(self, name: str) -> bytes:
        entry = self._manifest().files.get(name)
        if entry is None:
            raise RunError(f"has no {name}", place=self.path, remedy="choose another step")
        with self._open(name, entry) as file:
            data = file.read(entry.size)
        self._check_digest(name, sha256(data).hexdigest(), entry)
        return data

    @contextmanager
    def _open(self, name: str, entry: ManifestEntry) -> Iterator[BinaryIO]:
        """A file whose size and beginning are right, so that reading the rest is worth while."""
        path = self.path / name
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.size:
                raise RunError(
                    f"{size} bytes where {entry.size} were saved",
                    place=path,
                    remedy="remove the step",
                )
            if name != PROGRESS:
                check_header(file.read(LARGEST_START), size, place=path)
                file.seek(0)
            yield file

    def _check_digest(self, name: str, digest: str, entry: ManifestEntry) -> None:
        if digest != entry.sha256:
            raise RunError(
                "its bytes have changed", place=self.path / name, remedy="remove the step"
            )


def fields_digest(directory: Path) -> str:
    """A hash of the fields of a run, over the names and bytes of their files; empty without any.

    Each side is a directory of plain files.
    """
    digest, sides = sha256(), ("source", "target")
    with durable.run_errors(directory):
        places = [directory / side for side in sides if os.path.lexists(directory / side)]
        files = [file for place in places for file in sorted(place.iterdir())]
    for file in files:
        data = read_plain(file, limit=LARGEST_FIELD)
        digest.update(f"{file.parent.name}/{file.name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest() if files else ""


def _parse_manifest(value: dict[str, Any], path: Path) -> Manifest:
    files, fields = value.get("files"), value.get(FIELDS, "")
    if not isinstance(fields, str) or (fields and not DIGEST.fullmatch(fields)):
        raise RunError("says nothing sound about the fields", place=path, remedy="remove the step")
    entries = {}
    for name, facts in files.items() if isinstance(files, dict) else ():
        match facts:
            case {"size": int(size), "sha256": str(digest)} if DIGEST.fullmatch(digest):
                entries[name] = ManifestEntry(size, digest)
            case _:
                raise RunError(
                    f"says nothing sound about {name!r}", place=path, remedy="remove the step"
                )
        _check_size(name, size, path)
    _check_names(entries, path)
    return Manifest(entries, fields)


def _check_names(names: Collection[str], path: Path) -> None:
    """RunError if a step may not hold files of these names, or if it lacks one."""
    if not {"model.safetensors", PROGRESS} <= set(names):
        raise RunError("names no model or no progress", place=path, remedy="remove the step")
    for name in names:
        if name != PROGRESS and not TENSOR_FILE.fullmatch(name):
            raise RunError(
                f"{name!r} cannot be one of its files", place=path, remedy="remove the step"
            )


def _check_size(name: str, size: int, path: Path) -> None:
    largest = LARGEST_JSON if name == PROGRESS else LARGEST_FILE
    if not 0 <= size <= largest:
        raise RunError(
            f"{name!r} has {size} bytes, of at most {largest}", place=path, remedy="remove the step"
        )


def write_checkpoint(
    directory: Path,
    number: int,
    *,
    files: "Mapping[str, Tensors]",
    progress: dict[str, Any],
    fields: str = "",
) -> None:
    """Make a directory with all of a step in it and wait until the disk has it.

    `fields` is the hash of the fields that it was trained with.
    """
    from seqloom.store.tensors import pack, require_finite

    for name, tensors in files.items():
        require_finite(tensors, place=f"step {number}: {name}")
    try:
        contents = encode_json(progress, indent=1)
    except ValueError as error:
        raise DivergedError(
            f"step {number}: progress is not finite ({error}), so the step is not saved",
            remedy="go on from the last saved step with a lower training.rate",
        ) from error
    _check_names([*(f"{name}.safetensors" for name in files), PROGRESS], directory)
    durable.make_directory(directory)
    entries = {
        f"{name}.safetensors": _put(directory / f"{name}.safetensors", pack(tensors))
        for name, tensors in files.items()
    }
    entries[PROGRESS] = _put(directory / PROGRESS, contents)
    durable.write_file(directory / MANIFEST, Manifest(entries, fields).encode(number))
    durable.sync_directory(directory)


def _put(path: Path, data: bytes) -> ManifestEntry:
    _check_size(path.name, len(data), path)
    durable.write_file(path, data)
    return ManifestEntry(len(data), sha256(data).hexdigest())
