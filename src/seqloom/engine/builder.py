"""Compiles the engine's core; needs nothing but the standard library and a C compiler.

    python -m seqloom.engine.builder [--sanitize] [--output FILE] [--machine NAME]

The build hook of the project loads this file by its path, before anything is installed.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

__all__ = ["LIBRARY", "BuildError", "build", "find_compiler", "source_hash", "stale"]

HERE = Path(__file__).parent
SOURCES = HERE / "core"
LIBRARY = HERE / ("_core.dylib" if sys.platform == "darwin" else "_core.so")
COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-std=gnu11", "-O3", "-fPIC", "-fvisibility=default", "-Wall", "-Wextra")
SANITIZE = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
AVX2 = ("-mavx2", "-mfma")
AVX512 = (*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni")
SETS: dict[
    str, dict[str, tuple[str, ...]]
] = {  # what the file of each instruction set is compiled with, by processor
    "x86_64": {
        "avx512_bf16": (*AVX512, "-mavx512bf16"),
        "avx512": AVX512,
        "avx2_vnni": (*AVX2, "-mavxvnni"),
        "avx2": AVX2,
    },
    "aarch64": {"neon": ("-mcpu=generic+dotprod",)},
}
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class BuildError(RuntimeError):
    """The core cannot be compiled here."""


def find_compiler() -> list[str] | None:
    """The command of a C compiler: $CC, cc, gcc, clang, or that of the ziglang package."""
    named = os.environ.get("CC", "").split()
    if named and shutil.which(named[0]):
        return named
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def source_hash() -> str:
    """The hash of the core's sources, which its library is compiled with and tells by
    `sl_source_hash`; empty where the sources are not installed."""
    found = hashlib.sha256()
    paths = sorted(SOURCES.glob("*.[ch]"))
    for path in paths:
        content = path.read_bytes()
        found.update(f"{path.name} {len(content)} ".encode() + content)
    return found.hexdigest() if paths else ""


def stale(output: Path = LIBRARY) -> bool:
    """Whether the library is missing or was compiled from other sources than these."""
    return not output.is_file() or source_hash().encode() not in output.read_bytes()


def build(output: Path = LIBRARY, *, sanitize: bool = False, machine: str = "") -> Path:
    """Compile the core into a shared library; BuildError where there is no compiler or it fails.

    `machine` is the processor that $CC compiles for, if not this one. Files of an instruction set
    that the compiler does not know are left out.
    """
    compiler = find_compiler()
    if compiler is None:
        raise BuildError("no C compiler was found: install gcc or clang, or name one with CC")
    named = f'-DSL_SOURCE_HASH="{source_hash()}"'
    options = (*OPTIONS, named, *(SANITIZE if sanitize else ()))
    with tempfile.TemporaryDirectory() as folder:
        sets = _sets_of(machine or platform.machine())
        objects, missing = _instruction_sets(compiler, options, Path(folder), sets)
        for path in sorted(SOURCES.glob("*.c")):
            if not path.name.startswith("isa_") or path.name == "isa_plain.c":
                flags = [f"-DSL_WITHOUT_{name.upper()}" for name in missing]
                objects.append(_object(compiler, (*options, *flags), path, Path(folder)))
        fresh = Path(folder) / output.name
        checks = SANITIZE[2:] if sanitize else ()
        _run(
            [
                *compiler,
                "-shared",
                *checks,
                "-o",
                str(fresh),
                *map(str, objects),
                "-lm",
                "-lpthread",
            ]
        )
        place = output.with_name(f"{output.name}.{os.getpid()}")
        shutil.copyfile(fresh, place)  # and then in one step, since others may be using the old one
        place.replace(output)
    return output


def _sets_of(machine: str) -> dict[str, tuple[str, ...]]:
    """The instruction sets of a kind of processor, with the compiler's options for each."""
    name = machine.lower()
    return SETS.get(MACHINES.get(name, name), {})


def _instruction_sets(
    compiler: list[str], options: Sequence[str], folder: Path, sets: dict[str, tuple[str, ...]]
) -> tuple[list[Path], list[str]]:
    """The compiled files of these instruction sets, and the names of those left out."""
    objects, missing = [], []
    for name, flags in sets.items():
        try:
            path = SOURCES / f"isa_{name}.c"
            objects.append(_object(compiler, (*options, *flags), path, folder))
        except BuildError:
            missing.append(name)
    return objects, missing


def _object(compiler: list[str], options: Sequence[str], source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    _run([*compiler, *options, "-c", str(source), "-o", str(made)])
    return made


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode:
        raise BuildError(f"{' '.join(command[:3])} ... failed:\n{done.stderr.strip()}")


def wheel_tag() -> str:
    """The tag of a wheel with this library: any Python 3, this platform."""
    return f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def main() -> None:
    """Build in place, or wherever the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sanitize", action="store_true", help="check addresses and arithmetic")
    parser.add_argument("--output", type=Path, default=LIBRARY)
    parser.add_argument("--machine", default="", help="what CC compiles for: x86_64 or aarch64")
    arguments = parser.parse_args()
    try:
        options = {"sanitize": arguments.sanitize, "machine": arguments.machine}
        print(build(arguments.output, **options))
    except BuildError as error:
        sys.exit(f"seqloom.engine.builder: {error}")


if __name__ == "__main__":
    main()
