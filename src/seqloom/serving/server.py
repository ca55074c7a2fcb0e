"""The server process: it binds, serves, and on SIGTERM finishes running requests."""

import asyncio
import contextlib
import gc
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
from seqloom.scheduling.templates import Loader, ProcessTemplate, fork_template
from seqloom.serving.app import application
from seqloom.serving.connections import ConnectionRoom, protocol
from seqloom.serving.guard import Access, Guard
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import log
from seqloom.serving.models.reloading import reload_model, renew_model
from seqloom.serving.models.stored import StoredModel, study_all
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
YOUNG_OBJECTS = 20_000  # garbage collector threshold of the youngest generation
OTHER_FILES = 320  # open files besides connections: the reserve, pipes, libraries


class HTTPServer(uvicorn.Server):
    """uvicorn's server, which does not raise a stop signal again when it has finished."""

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
    """A server of models, with its service and the loaders of models."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service
        self.loaders: Mapping[str, Loader] = {}
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
        """Reload every model; one that fails stays unchanged."""
        for name, load in self.loaders.items():
            try:
                if self.service.served.pool is None:
                    await asyncio.to_thread(reload_model, self.service, name, load)
                else:
                    await renew_model(self.service, name, load)
                log("reloaded", model=name)
            except Exception as error:  # whatever it is, the other models are loaded all the same
                kind = "" if isinstance(error, SeqloomError) else f"{type(error).__name__}: "
                log("not reloaded", model=name, error=f"{kind}{error}")


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket; ConfigError if the address is unavailable.

    The protocol is given as TCP, for which asyncio disables Nagle's algorithm.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # on Windows it would let another program take the port
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
    stored: Mapping[str, StoredModel] | None = None,
) -> Server:
    """A server of these models, not started yet."""
    app, service = application(
        models, access=access, limits=limits, template=template, stored=stored
    )
    return Server(server_config(app, limits), service)


def server_config(app: Guard, limits: ServingConfig) -> uvicorn.Config:
    """uvicorn's configuration: deadlines and limits for every connection."""
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
    """Logs uvicorn's messages without tracebacks."""

    def emit(self, record: logging.LogRecord) -> None:
        log("fault", kind=record.levelname, place=record.getMessage())


def _log_faults() -> None:
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    if not any(isinstance(handler, FaultHandler) for handler in logger.handlers):
        logger.addHandler(FaultHandler())


def _allow_files(connections: int) -> None:
    """Raise the limit of open files for this many connections, as far as permitted."""
    try:
        import resource
    except ImportError:
        return  # Windows has no such limit
    if sys.platform == "win32":  # narrows the platform for type checkers
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if resource.RLIM_INFINITY not in (now, most) and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, most), most))


def _collect_rarely() -> None:
    """Freeze existing objects and collect garbage rarely, so that collections visit only what
    requests leave behind, and do not copy memory shared with forked processes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


def serve(
    loaders: Mapping[str, Loader],
    listening: socket.socket,
    *,
    access: Access,
    limits: ServingConfig,
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve models by name until a stop signal, then finish accepted requests. The RELOAD signal
    reloads the models.
    """
    _allow_files(limits.connections)
    models: dict[str, Predictor] = {}
    stored: dict[str, StoredModel] = {}
    template: ProcessTemplate | None
    _collect_rarely()
    if limits.memory:
        template, stored = study_all(loaders, limits.memory)
    else:
        models = {name: load() for name, load in loaders.items()}
        template = fork_template(models, thread_count(), loaders)
    server = server_for(models, access, limits, template, stored)
    server.loaders = loaders

    def tell(address: str) -> None:
        log("started", address=address, models=list(loaders))
        started(address)

    address = address_of(listening)
    run_server(server, listening, tell)
    log("stopped", address=address)


def address_of(listening: socket.socket) -> str:
    """The URL of a server on this socket."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run_server(
    server: HTTPServer, listening: socket.socket, started: Callable[[str], None]
) -> None:
    """Serve until a stop signal; `started` is called with the address."""

    async def run() -> None:
        task = asyncio.create_task(server.serve([listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started:
            started(address_of(listening))
        await task

    asyncio.run(run())
