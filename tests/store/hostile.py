"""Run directories that someone made to do harm (RELIABILITY A7), each built by a function.

A builder receives a sound run with steps 1 and 2 and a canary outside it, and spoils the run.
Manifests are signed anew, so that only the check under test stands in the way.
"""

import hashlib
import json
import os
import pickle
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

__all__ = ["SPOILED_RUNS", "SPOILED_STEPS", "Builder"]

Builder = Callable[[Path, Path], None]
TENSOR_FILES = ["model.safetensors", "optimizer.safetensors", "average.safetensors"]
FILES = [*TENSOR_FILES, "progress.json", "manifest.json"]
TERABYTE = 1 << 40


class Trap:
    """An object that writes the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.write_text, (self.canary, "caught")


def sign(step: Path, *, extra: dict[str, Any] | None = None) -> None:
    """Write a manifest that fits the step's files, as our own would."""
    files: dict[str, Any] = {}
    for name in FILES[:-1]:
        data = (step / name).read_bytes()
        files[name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    files = dict(sorted((files | (extra or {})).items()))
    value = {"format": 1, "step": int(step.name.removeprefix("step-")), "files": files}
    (step / "manifest.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def newest(run: Path) -> Path:
    """The step that a reader tries first; the one before it is emptied, so that none is left."""
    for file in (run / "step-000001").iterdir():
        file.unlink()
    return run / "step-000002"


def put(run: Path, canary: Path, *, name: str, data: bytes) -> None:
    """Other bytes in a file, with a manifest that vouches for them."""
    step = newest(run)
    (step / name).write_bytes(data)
    if name != "manifest.json":
        sign(step)


def put_pickle(run: Path, canary: Path, *, name: str, protocol: int) -> None:
    """A pickle that writes the canary."""
    put(run, canary, name=name, data=pickle.dumps(Trap(canary), protocol))


def put_archive(run: Path, canary: Path, *, name: str) -> None:
    """A file of torch.save, with such a pickle in it."""
    buffer = BytesIO()
    torch.save({"weight": Trap(canary)}, buffer)
    put(run, canary, name=name, data=buffer.getvalue())


def tensor_file(header: object, body: bytes = b"") -> bytes:
    """A safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def list_entry(run: Path, canary: Path, *, name: str) -> None:
    """One more file in the manifest, under a name that leads elsewhere."""
    digest = hashlib.sha256(canary.read_bytes()).hexdigest()
    sign(newest(run), extra={name: {"size": canary.stat().st_size, "sha256": digest}})


def change_entry(run: Path, canary: Path, *, entry: object) -> None:
    """Something else where the manifest describes the model."""
    sign(newest(run), extra={"model.safetensors": entry})


def link_out(path: Path, canary: Path) -> None:
    path.symlink_to(canary)


def link_to_endless(path: Path, canary: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_itself(path: Path, canary: Path) -> None:
    path.symlink_to(path.name)


def pipe(path: Path, canary: Path) -> None:
    os.mkfifo(path)


def folder(path: Path, canary: Path) -> None:
    path.mkdir()


def listen(path: Path, canary: Path) -> None:
    """A socket; it is bound from its folder because addresses are short."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


KINDS = [link_out, link_to_endless, link_to_itself, pipe, folder, listen]


def replace(run: Path, canary: Path, *, name: str, kind: Callable[[Path, Path], None]) -> None:
    """Something that is not a plain file in the place of one."""
    path = newest(run) / name
    path.unlink()
    kind(path, canary)


def replace_step(run: Path, canary: Path, *, kind: Callable[[Path, Path], None]) -> None:
    """Something else in the place of the step's directory."""
    step = newest(run)
    step.rename(canary.parent / "moved")
    kind(step, canary.parent / "moved")


def sparse(run: Path, canary: Path, *, size: int, name: str) -> None:
    """A file that is huge and takes no room, of the size that the manifest gives."""
    step = newest(run)
    sign(step, extra={name: {"size": size, "sha256": "0" * 64}})
    os.truncate(step / name, size)


def spoiled_steps() -> Iterator[tuple[str, Builder]]:
    """Every way to spoil a step, by name."""
    for name in FILES:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            yield f"pickle-{protocol}-{name}", partial(put_pickle, name=name, protocol=protocol)
        yield f"archive-{name}", partial(put_archive, name=name)
        for kind in KINDS:
            yield f"{kind.__name__}-{name}", partial(replace, name=name, kind=kind)
    for kind in KINDS:
        yield f"{kind.__name__}-step", partial(replace_step, kind=kind)
    for name in TENSOR_FILES:
        for label, data in tensor_files():
            yield f"{label}-{name}", partial(put, name=name, data=data)
    for label, data in json_files():
        for name in ("manifest.json", "progress.json"):
            yield f"{label}-{name}", partial(put, name=name, data=data)
    for place, wrong in enumerate(WRONG_NAMES):
        yield f"name-{place}", partial(list_entry, name=wrong)
    for place, entry in enumerate(WRONG_ENTRIES):
        yield f"entry-{place}", partial(change_entry, entry=entry)
    for power in (21, 31, 33, 36, 40, 42):
        for name in ("model.safetensors", "progress.json"):
            yield f"sparse-{power}-{name}", partial(sparse, size=1 << power, name=name)


def tensor_files() -> Iterator[tuple[str, bytes]]:
    """Bytes that are no safetensors file, or one that lies about itself."""
    yield "empty", b""
    yield "short", b"\x02\0\0"
    for power in (8, 23, 27, 31, 32, 40, 62, 63):
        yield f"length-{power}", struct.pack("<Q", 1 << power) + b"{}"
    yield "length-all", b"\xff" * 64
    for depth in (200, 100_000):
        yield f"deep-list-{depth}", tensor_file(b"[" * depth + b"]" * depth)
        yield f"deep-object-{depth}", tensor_file(b'{"a":' * depth + b"1" + b"}" * depth)
    for place, entry in enumerate(WRONG_TENSORS):
        yield f"tensor-{place}", tensor_file({"weight": entry}, bytes(16))
    yield (
        "tail",
        tensor_file({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(9)),
    )
    pair = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    yield "overlap", tensor_file({"a": pair, "b": pair}, bytes(8))
    yield "number", tensor_file(7)
    yield "text", tensor_file(b'{"weight": ')


def json_files() -> Iterator[tuple[str, bytes]]:
    """Bytes that are no JSON object, or one made to exhaust its reader."""
    for depth in (40, 1_000, 100_000, 500_000):
        yield f"lists-{depth}", b'{"a":' + b"[" * depth + b"]" * depth + b"}"
    yield "objects", b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    yield "unclosed", b"[" * 900_000
    yield "quotes", b'{"' + b'\\"' * 400_000
    yield "digits", b'{"a": ' + b"9" * 900_000 + b"}"
    yield "large", b'{"a": "' + b"x" * (2 << 20) + b'"}'
    yield "bytes", b"\xff\xfe\x00{}"
    yield "nothing", b""
    yield "list", b"[]"


WRONG_NAMES = [
    "../canary",
    "../../canary",
    "../../outside/canary.safetensors",
    "..",
    ".",
    "",
    "/etc/passwd",
    "/etc/passwd.safetensors",
    "a/b.safetensors",
    "a\\b.safetensors",
    "model.safetensors\0",
    "model.safetensors\n",
    ".hidden.safetensors",
    "Model.safetensors",
    "mödel.safetensors",
    "model.pkl",
    "model.pt",
    "config.toml",
    "x" * 300 + ".safetensors",
    "manifest.json",
]

WRONG_ENTRIES: list[object] = [
    None,
    7,
    [],
    {},
    {"size": 10},
    {"sha256": "0" * 64},
    {"size": "10", "sha256": "0" * 64},
    {"size": -1, "sha256": "0" * 64},
    {"size": True, "sha256": "0" * 64},
    {"size": 10.5, "sha256": "0" * 64},
    {"size": 1 << 62, "sha256": "0" * 64},
    {"size": 1 << 200, "sha256": "0" * 64},
    {"size": 10, "sha256": "0" * 63},
    {"size": 10, "sha256": "G" * 64},
    {"size": 10, "sha256": ["0" * 64]},
]

WRONG_TENSORS: list[object] = [
    None,
    {"dtype": "F32", "shape": [TERABYTE], "data_offsets": [0, 4 * TERABYTE]},
    {"dtype": "F32", "shape": [1 << 62, 4], "data_offsets": [0, 16]},
    {"dtype": "F32", "shape": [1 << 63], "data_offsets": [0, 16]},
    {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]},
    {"dtype": "F32", "shape": [4.0], "data_offsets": [0, 16]},
    {"dtype": "F32", "shape": [5], "data_offsets": [0, 16]},
    {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]},
    {"dtype": "F32", "shape": [4], "data_offsets": [0, 1 << 63]},
    {"dtype": "F32", "shape": [4], "data_offsets": [4, 20]},
    {"dtype": "F32", "shape": "4", "data_offsets": [0, 16]},
    {"dtype": "F32", "data_offsets": [0, 16]},
    {"shape": [4], "data_offsets": [0, 16]},
    {"dtype": "PICKLE", "shape": [4], "data_offsets": [0, 16]},
    {"dtype": 32, "shape": [4], "data_offsets": [0, 16]},
]

SPOILED_STEPS: dict[str, Builder] = dict(spoiled_steps())


def spoil_top(run: Path, canary: Path, *, name: str, kind: Callable[[Path, Path], None]) -> None:
    """Something else in the place of a file or directory of the run itself."""
    path = run / name
    path.unlink(missing_ok=True)
    kind(path, canary if name in ("config.toml", "events.jsonl", "lock") else canary.parent)


SPOILED_RUNS: Mapping[str, Builder] = {
    f"{kind.__name__}-{name}": partial(spoil_top, name=name, kind=kind)
    for name in ("config.toml", "events.jsonl", "lock")
    for kind in KINDS
} | {
    f"link_out-{name}": partial(spoil_top, name=name, kind=link_out) for name in ("fields", "cache")
}
