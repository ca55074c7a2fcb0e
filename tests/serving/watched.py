"""The page of a training, on a free port of the loopback."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seqloom.api.watch import RunMonitor
from seqloom.serving.limits import ServingConfig
from seqloom.serving.monitor import monitor_application
from seqloom.serving.server import HTTPServer, bind_socket, server_config
from tests.serving.support import Served

__all__ = ["KEY", "watching"]

KEY = "open-sesame"


@contextmanager
def watching(run: Path) -> Iterator[Served]:
    """The page of a run, in another thread."""
    limits = ServingConfig()
    server = HTTPServer(server_config(monitor_application(RunMonitor(run), KEY, limits), limits))
    listening = bind_socket("127.0.0.1", 0)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield Served(server, listening.getsockname()[1])  # type: ignore[arg-type]
    finally:
        server.should_exit = True
        thread.join(30)
