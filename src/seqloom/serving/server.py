"""The process that serves: it binds, answers, and on SIGTERM finishes what it has begun."""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
import uvicorn

from seqloom.config import ServingConfig
from seqloom.errors import ConfigError
from seqloom.prediction import Predictor
from seqloom.remedies import Remedy, Setting
from seqloom.serving.app import application
from seqloom.serving.connections import protocol
from seqloom.serving.guard import Access, log
from seqloom.serving.processes import Process, fork_processes

__all__ = ["Server", "bind_socket", "serve", "server_for"]

HEADERS = 16_384  # bytes of a request line or of all headers


class Server(uvicorn.Server):
    """uvicorn's, except that a signal to stop is not raised again when everything is done."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there; ConfigError where it cannot.

    It is said to be TCP's, as asyncio lets small answers go at once only on such a one.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{host}:{port} cannot be listened on ({reason})",
            remedy=Remedy("choose another {} or {}", Setting("host"), Setting("port")),
        ) from None
    return listening


def server_for(
    models: Mapping[str, Predictor],
    access: Access,
    limits: ServingConfig,
    processes: Sequence[Process] = (),
) -> Server:
    """A server of these models that is not yet running."""
    app, _ = application(models, access=access, limits=limits, processes=processes)
    _log_faults()
    config = uvicorn.Config(
        app,
        http=protocol(limits.receipt),
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=max(1, int(limits.idle)),
        timeout_graceful_shutdown=max(1, int(limits.drain)),
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=HEADERS,
        backlog=2048,
    )
    return Server(config)


class FaultHandler(logging.Handler):
    """What uvicorn complains of, in our log, without the errors themselves."""

    def emit(self, record: logging.LogRecord) -> None:
        log("fault", kind=record.levelname, place=record.getMessage())


def _log_faults() -> None:
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    if not any(isinstance(handler, FaultHandler) for handler in logger.handlers):
        logger.addHandler(FaultHandler())


def serve(
    models: Mapping[str, Predictor],
    listening: socket.socket,
    *,
    access: Access,
    limits: ServingConfig,
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until a signal asks to stop; then what was accepted is finished first."""
    server = server_for(models, access, limits, fork_processes(models, torch.get_num_threads()))
    host, port = listening.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def run() -> None:
        task = asyncio.create_task(server.serve([listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started:
            log("started", address=address, models=list(models))
            started(address)
        await task

    asyncio.run(run())
    log("stopped", address=address)
