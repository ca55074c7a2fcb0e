"""`seqloom watch`: training live in the browser."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from seqloom.cli.data_options import RunArgument
from seqloom.errors import ConfigError

__all__ = ["watch", "watch_beside"]

PORT = 8001
GRACE = 5.0  # seconds for the page's process to end


def watch(
    run: RunArgument,
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0: any free one")] = PORT,
) -> None:
    """Show training live in the browser: curves, held-out examples, attention."""
    from seqloom.api.watch import RunMonitor
    from seqloom.serving.limits import ServingConfig

    try:
        from seqloom.serving.monitor import monitor_application
        from seqloom.serving.server import HTTPServer, bind_socket, run_server, server_config
    except ImportError as error:
        raise ConfigError(
            f"watching needs {error.name}, which is not installed",
            remedy="pip install 'seqloom[serve]'",
        ) from None
    if run.is_file():
        raise ConfigError("a file, not the directory of a run", place=run, remedy="name its run")
    key = secrets.token_urlsafe(12)
    limits = ServingConfig()
    server = HTTPServer(server_config(monitor_application(RunMonitor(run), key, limits), limits))

    def tell(address: str) -> None:
        print(f"Watch: {address}/#{key}  (Ctrl-C ends the page, not the training)", flush=True)

    run_server(server, bind_socket("127.0.0.1", port), tell)


@contextmanager
def watch_beside(run: Path) -> Iterator[None]:
    """Serve the page from a process of its own while the block runs."""
    words = [sys.executable, "-m", "seqloom", "watch", str(run), "--port", "0"]
    page = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        page.terminate()
        try:
            page.wait(GRACE)
        except subprocess.TimeoutExpired:
            page.kill()
            page.wait()
