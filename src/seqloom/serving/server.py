"""The process that serves: it binds, answers, and on SIGTERM finishes what it has begun."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping

import uvicorn

from seqloom.errors import ConfigError, SeqloomError
from seqloom.parallel import thread_count
from seqloom.prediction.predictor import Predictor
from seqloom.remedies import Remedy, Setting
from seqloom.scheduling.processes import Loader, ProcessTemplate, fork_template
from seqloom.serving.app import application
from seqloom.serving.connections import ConnectionRoom, protocol
from seqloom.serving.guard import Access, Guard
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import log
from seqloom.serving.reloading import reload_model
from seqloom.serving.service import Service

__all__ = [
    "HTTPServer",
    "Server",
    "bind_socket",
    "run_server",
    "serve",
    "server_config",
    "server_for",
]

RELOAD: int | None = getattr(
    signal, "SIGUSR1", None
)  # the signal to load models anew; Windows has none
OTHER_FILES = 320  # that are open beside connections: the reserve, pipes, libraries


class HTTPServer(uvicorn.Server):
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


class Server(HTTPServer):
    """A server of models, with the service behind it and how each model is loaded anew."""

    def __init__(
        self, config: uvicorn.Config, service: Service, loaders: Mapping[str, Loader] | None = None
    ) -> None:
        super().__init__(config)
        self.service = service
        self.loaders = loaders or {}
        self._reloading: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            if RELOAD is not None and threading.current_thread() is threading.main_thread():
                asyncio.get_running_loop().add_signal_handler(RELOAD, self._begin_reload)
            yield

    def _begin_reload(self) -> None:
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.create_task(self.reload())

    async def reload(self) -> None:
        """Load every model as it is stored now; one that cannot be stays as it is."""
        for name, load in self.loaders.items():
            try:
                await asyncio.to_thread(reload_model, self.service, name, load)
                log("reloaded", model=name)
            except SeqloomError as error:
                log("not reloaded", model=name, error=str(error))


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there; ConfigError where it cannot.

    It is said to be TCP's, as asyncio lets small answers go at once only on such a one.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # on Windows it would let another program take the same port
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
    template: ProcessTemplate | None = None,
    loaders: Mapping[str, Loader] | None = None,
) -> Server:
    """A server of these models that is not yet running."""
    app, service = application(models, access=access, limits=limits, template=template)
    return Server(server_config(app, limits), service, loaders)


def server_config(app: Guard, limits: ServingConfig) -> uvicorn.Config:
    """How an application is served: deadlines and bounds for every connection."""
    _log_faults()
    room = ConnectionRoom(limits.connections, limits.client_connections)
    return uvicorn.Config(
        app,
        http=protocol(limits.receipt, room),
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=max(1, int(limits.idle)),
        timeout_graceful_shutdown=max(1, int(limits.drain)),
        backlog=2048,
    )


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


def _allow_files(connections: int) -> None:
    """Let the process open as many files as it may have connections, as far as it is allowed to."""
    try:
        import resource
    except ImportError:
        return  # Windows, which has no such limit
    if sys.platform == "win32":  # which tells type checkers the same
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if resource.RLIM_INFINITY not in (now, most) and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, most), most))


def serve(
    loaders: Mapping[str, Loader],
    listening: socket.socket,
    *,
    access: Access,
    limits: ServingConfig,
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve models by their names until a signal asks to stop; then what was accepted is finished
    first. Another signal (RELOAD) has them loaded anew."""
    _allow_files(limits.connections)
    models = {name: load() for name, load in loaders.items()}
    template = fork_template(models, thread_count(), loaders)
    server = server_for(models, access, limits, template, loaders)

    def tell(address: str) -> None:
        log("started", address=address, models=list(models))
        started(address)

    address = address_of(listening)
    run_server(server, listening, tell)
    log("stopped", address=address)


def address_of(listening: socket.socket) -> str:
    """The address of a server that listens there."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run_server(
    server: HTTPServer, listening: socket.socket, started: Callable[[str], None]
) -> None:
    """Answer until a signal asks to stop; `started` is told the address."""

    async def run() -> None:
        task = asyncio.create_task(server.serve([listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started:
            started(address_of(listening))
        await task

    asyncio.run(run())
