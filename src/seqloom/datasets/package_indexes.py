"""The package indexes that pip is configured to use, by environment variables and files."""

import os
import sys
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Indexes", "pip_indexes"]

FALSE = {"", "0", "false", "no", "off", "n", "f"}
SECTIONS = ("install", "download", "global")


@dataclass(frozen=True)
class Indexes:
    """Index URLs in order (None: the client library's default) and a certificate file."""

    addresses: tuple[str | None, ...]
    certificate: str | None = None


def pip_indexes(environment: Mapping[str, str] = os.environ) -> Indexes:
    """The configured indexes: index-url, then extra-index-url; none under no-index."""
    options = _options(environment)
    certificate = options.get("cert") or None
    if options.get("no-index", "").strip().lower() not in FALSE:
        return Indexes((), certificate)
    first = options.get("index-url", "").strip() or None
    extra = options.get("extra-index-url", "").split()
    reachable = [address for address in extra if address.startswith(("http://", "https://"))]
    return Indexes((first, *reachable), certificate)


def _options(environment: Mapping[str, str]) -> dict[str, str]:
    """Options by name; a variable overrides a file, and a nearer file a farther one."""
    options: dict[str, str] = {}
    for path in _files(environment):
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (Error, OSError, UnicodeDecodeError):
            continue
        for section in SECTIONS:
            if parser.has_section(section):
                for name, value in parser.items(section):
                    options.setdefault(name.replace("_", "-"), value)
    for name in ("index-url", "extra-index-url", "cert", "no-index"):
        variable = "PIP_" + name.upper().replace("-", "_")
        if variable in environment:
            options[name] = environment[variable]
    return options


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    """pip's configuration files, the nearest first."""
    chosen = environment.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return
    if chosen:
        yield Path(chosen)
    name = "pip.ini" if os.name == "nt" else "pip.conf"
    yield Path(sys.prefix, name)
    home = environment.get("HOME") or environment.get("USERPROFILE")
    if home:
        yield Path(environment.get("XDG_CONFIG_HOME") or Path(home, ".config"), "pip", name)
        yield Path(
            environment.get("APPDATA") or Path(home, "Library/Application Support"), "pip", name
        )
        yield Path(home, ".pip", name)
    for folder in ("/etc/xdg/pip", "/etc"):
        yield Path(folder, name)
