"""A server in this process, on a free port of the loopback, and plain ways to talk to it."""

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from seqloom.prediction import Predictor
from seqloom.scheduling.templates import ProcessTemplate
from seqloom.serving.guard import Access
from seqloom.serving.limits import ServingConfig
from seqloom.serving.models.stored import StoredModel
from seqloom.serving.server import Server, bind_socket, server_for
from seqloom.serving.service import Service

__all__ = ["Answer", "Served", "exists", "processes_of", "send", "serving", "until"]

REQUEST = b"POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def until(happens: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until a condition holds; a busy machine may take its time."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it never happens"
        time.sleep(0.01)


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        sentence = self.json["error"]
        assert isinstance(sentence, str)
        return sentence


@dataclass
class Served:
    """A running server."""

    server: Server
    port: int

    @property
    def service(self) -> Service:
        """What is behind the server, where that is in this process."""
        found: Service = self.server.service
        return found

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {} if data is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, path, data, {**given, **(headers or {})})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def predict(self, *inputs: str, **options: Any) -> Answer:
        return self.ask("POST", "/v1/predict", {"inputs": list(inputs), **options})

    def events(self, *inputs: str, **options: Any) -> list[tuple[str, Any]]:
        """The server-sent events of a stream."""
        answer = self.ask("POST", "/v1/stream", {"inputs": list(inputs), **options})
        assert answer.status == 200, answer.body
        parts = [part.split("\n") for part in answer.body.decode().split("\n\n") if part]
        return [(kind[len("event: ") :], json.loads(data[len("data: ") :])) for kind, data in parts]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def counts(self) -> dict[str, float]:
        """The counters, without those of histograms' buckets."""
        lines = self.ask("GET", "/metrics").body.decode().splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return {name: float(value) for name, value in pairs}

    def outcomes(self) -> dict[str, int]:
        """Requests received, accepted, and by how they ended."""
        counts = self.counts()
        ended = ("refused", "completed", "failed", "cancelled")
        return {
            "received": int(counts["seqloom_requests_received_total"]),
            "accepted": int(counts["seqloom_requests_accepted_total"]),
            **{name: int(counts[f'seqloom_requests_total{{outcome="{name}"}}']) for name in ended},
        }


@contextmanager
def serving(
    models: Mapping[str, Predictor],
    access: Access | None = None,
    *,
    port: int = 0,
    template: ProcessTemplate | None = None,
    stored: Mapping[str, StoredModel] | None = None,
    **limits: Any,
) -> Iterator[Served]:
    """A server of these models in another thread, until the end of the block."""
    listening = bind_socket("127.0.0.1", port)
    config = ServingConfig(**limits)
    server = server_for(models, access or Access(), config, template, stored=stored)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    assert server.started
    try:
        yield Served(server, listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def exists(process: int) -> bool:
    """Whether there is such a process, were it only for its parent to read how it ended."""
    return Path(f"/proc/{process}").exists()


def processes_of(served: Served) -> list[int]:
    """The processes of the workers, as they are now."""
    scheduler = served.service.scheduler
    every = [*scheduler.workers, scheduler.express]
    return [process.pid for each in every for process in list(each.processes.values())]


def send(served: Served, path: bytes, body: object) -> socket.socket:
    """A request whose answer nobody waits for yet."""
    connection = served.connect()
    data = json.dumps(body).encode()
    connection.sendall(REQUEST % path + b"Content-Length: %d\r\n\r\n" % len(data) + data)
    return connection
