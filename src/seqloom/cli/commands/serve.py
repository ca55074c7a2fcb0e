"""`seqloom serve`: serve models over HTTP, with a playground."""

import ipaddress
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.commands.optimize import EngineOptions
from seqloom.cli.completions import complete_run
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.prediction import Predictor

__all__ = ["serve"]

TOKEN = "SEQLOOM_TOKEN"
SHORTEST_TOKEN = 16


def serve(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="directories of runs",
            show_default=False,
            autocompletion=complete_run,
        ),
    ],
    *,
    engine: EngineOptions,
    host: Annotated[str, typer.Option("--host", help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0: any free port")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", help=f"file with the token that requests must carry; or set {TOKEN}"
        ),
    ] = None,
    allowed: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="a further host name to accept"),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="NAME=NUMBER", help="change a limit, as queue=32"),
    ] = None,
) -> None:
    """Serve models over HTTP, with a playground for the browser."""
    from seqloom.serving.limits import serving_config

    config = serving_config(limits or [])
    try:
        from seqloom.serving.guard import LOOPBACK, Access
        from seqloom.serving.server import bind_socket
        from seqloom.serving.server import serve as run_server
    except ImportError as error:
        raise ConfigError(
            f"serving needs {error.name}, which is not installed",
            remedy="pip install 'seqloom[serve]'",
        ) from None
    token = _token(token_file)
    if token is None and not _is_loopback(host):
        raise ConfigError(
            f"--host {host} can be reached from other machines",
            remedy=f"give --token-file, or set {TOKEN}",
        )
    names = (*LOOPBACK, host, *(allowed or []))
    listening = bind_socket(host, port)
    run_server(
        _loaders(runs, engine),
        listening,
        access=Access(tuple(name.lower() for name in names), token),
        limits=config,
        started=lambda address: print(f"Playground: {address}/  (Ctrl-C stops)", flush=True),
    )


def _loaders(runs: list[Path], engine: EngineOptions) -> "dict[str, Callable[[], Predictor]]":
    """A loader for each run's model, by the name of its directory."""
    from seqloom.api.load import load

    loaders: dict[str, Callable[[], Predictor]] = {}
    for run in runs:
        name = run.resolve().name
        if name in loaders:
            raise ConfigError(
                f"a run of the name {name} is served already", place=run, remedy="rename one"
            )
        loaders[name] = partial(load, run, **vars(engine.choice()))
    return loaders


def _token(file: Path | None) -> str | None:
    """The access token, from a file or the environment, never from the command line."""
    if file is None:
        token = os.environ.get(TOKEN, "")
        place = TOKEN
        if not token:
            return None
    else:
        place = str(file)
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read as a token: {error}", place=file) from None
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"a token has at least {SHORTEST_TOKEN} plain characters",
            place=place,
            remedy="make one with: openssl rand -hex 24",
        )
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
