"""RELIABILITY D12: two servers behind nginx with the configuration in deploy/.

It needs nginx, and is skipped, with a notice, where that is missing.
"""

import base64
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

import seqloom
from seqloom.model import Features
from seqloom.scheduling.errors import DeadlineExceeded
from seqloom.serving.errors import error_body
from tests.counts import count
from tests.runs.finished import make_run
from tests.serving.kinds import made, picture
from tests.serving.support import Served, exists, serving, until
from tests.serving.wrapped import slow

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(NGINX is None, reason="the test of replicas needs nginx"),
]
KILLS = count(1, 20)
CLIENTS = 6
LONGEST_RETRY = 120.0  # seconds for which a client goes on asking for one output
INPUTS = ["1 2 3", "4 2 1", "7", "3 3", "1 9 8 2"]
CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx.conf"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def proxied(folder: Path, *ports: int, patience: str = "70s") -> Iterator[Served]:
    """nginx in front of servers on these ports; only names, ports and how long it waits for an
    answer are changed in its file."""
    port = free_port()
    text = CONFIGURATION.read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    text = text.replace("proxy_read_timeout 70s", f"proxy_read_timeout {patience}")
    for name, own in zip(("one", "two"), ports, strict=True):
        text = text.replace(f"{name}:8000", f"127.0.0.1:{own}")
    kept = [f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy")]
    kept += [f"{kind}_temp_path {folder}/{kind};" for kind in ("fastcgi", "uwsgi", "scgi")]
    text = text.replace("http {", "http {\n" + "\n".join([*kept, "access_log off;"]))
    user = "" if os.geteuid() else "user root;\n"  # who may write to the folder
    head = f"{user}pid {folder}/pid;\nerror_log {folder}/log;\n"
    (folder / "nginx.conf").write_text(head + text)
    command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + 30
            while not answers(port):
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < end
                time.sleep(0.05)
            yield Served(None, port)  # type: ignore[arg-type]
        finally:
            process.terminate()


def test_one_of_two_may_go_away(tmp_path: Path) -> None:
    """Both answer; when one has gone, every request is answered by the other."""
    model, _ = slow(0.0)
    with serving({"only": model}) as one, ExitStack() as second:
        two = second.enter_context(serving({"only": model}))
        with proxied(tmp_path, one.port, two.port) as served:
            for _ in range(8):
                assert served.predict("abc").status == 200
            assert min(one.outcomes()["completed"], two.outcomes()["completed"]) > 0
            second.close()
            assert [served.predict("abc").status for _ in range(20)] == [200] * 20
            assert one.outcomes()["completed"] >= 20


def test_a_stream_is_passed_on_token_by_token(tmp_path: Path) -> None:
    """The last tokens are not written before the first is here."""
    model, decoder = slow(0.0, min_extra=8, max_extra=8)
    with serving({"only": model}) as one, proxied(tmp_path, one.port, one.port) as served:
        read, is_here, waited = decoder.read, threading.Event(), []
        before = decoder.steps

        def wait_for_the_first(inputs: Tensor, state: Any) -> tuple[Features, Any]:
            if decoder.steps > before + 4:
                waited.append(is_here.wait(20))
            return read(inputs, state)

        decoder.read = wait_for_the_first  # type: ignore[method-assign]
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        body = json.dumps({"inputs": ["abc"], "search": {"kind": "greedy"}})
        connection.request("POST", "/v1/stream", body, {"Content-Type": "application/json"})
        lines = iter(connection.getresponse())
        assert next(lines) == b"event: tokens\n"
        is_here.set()
        assert b"event: done\n" in list(lines)
        connection.close()
        assert waited
        assert all(waited)


def test_what_a_server_takes_its_proxy_takes(tmp_path: Path) -> None:
    """Uploads up to the limit `upload`, and the page itself."""
    with serving({"only": made("caption")}) as one, proxied(tmp_path, one.port, one.port) as served:
        answer = served.ask("GET", "/")
        assert (answer.status, b"Seqloom" in answer.body) == (200, True)
        large = picture(1_500, 1_200, kind="BMP")
        coded = base64.b64encode(large).decode()
        answer = served.ask("POST", "/v1/predict", {"inputs": [{"base64": coded}]})
        assert (len(coded) > 7_000_000, answer.status) == (True, 200), answer.body[:200]


class Replica:
    """A server of a run, in a process of its own with processes that decode."""

    def __init__(self, run: Path, port: int) -> None:
        command = [sys.executable, "-m", "seqloom", "serve", str(run), "--port", str(port)]
        two = {**os.environ, "OMP_NUM_THREADS": "2"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=two
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        assert self.output.readline()
        self.served = Served(None, port)  # type: ignore[arg-type]

    def kill(self) -> None:
        """At once, as the system does where no memory is left; what it began ends too."""
        began = descendants(self.process.pid)
        assert len(began) > 2
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        until(lambda: not any(map(exists, began)))


def descendants(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def ask_until_answered(served: Served, text: str, statuses: Counter[int]) -> str:
    """The output for an input, which is asked for again as Retry-After says."""
    end = time.monotonic() + LONGEST_RETRY
    while (answer := served.predict(text)).status != 200:
        statuses[answer.status] += 1
        assert answer.status in (429, 503), answer.body
        assert answer.json["code"], answer.body  # a sentence with its kind, even from nginx
        assert time.monotonic() < end, statuses
        time.sleep(int(answer.headers["retry-after"]))
    output: str = answer.json["outputs"][0]["text"]
    return output


def test_nothing_is_lost_when_a_replica_is_killed(tmp_path: Path) -> None:
    """Either of the two is killed, in turn, while six clients ask, and begun again: each request
    has the output of `predict` in the end, whatever became of the replica that took it."""
    run = make_run(tmp_path)
    outputs = seqloom.load(run).predict(INPUTS)
    expected = {text: each.text for text, each in zip(INPUTS, outputs, strict=True)}
    ports = [free_port(), free_port()]
    refused: Counter[int] = Counter()
    answered: list[str] = []
    ended = threading.Event()

    def go_on(served: Served, number: int) -> None:
        while not ended.is_set():
            number += 1
            text = INPUTS[number % len(INPUTS)]
            assert ask_until_answered(served, text, refused) == expected[text]
            answered.append(text)

    def more(of: int, before: int) -> bool:
        assert not any(each.done() for each in asking)
        return len(answered) >= before + of

    replicas = [Replica(run, port) for port in ports]
    try:
        with proxied(tmp_path, *ports) as served, ThreadPoolExecutor(CLIENTS) as pool:
            asking = [pool.submit(go_on, served, number) for number in range(CLIENTS)]
            try:
                for kill in range(KILLS):
                    goes = kill % 2
                    until(lambda: replicas[goes].served.outcomes()["completed"] > 20, 60)  # noqa: B023
                    replicas[goes].kill()
                    replicas[goes].output.close()
                    until(partial(more, 20, len(answered)), 60)  # by the one that is left
                    replicas[goes] = Replica(run, ports[goes])
                until(partial(more, 20, len(answered)), 60)
            finally:
                ended.set()
            for each in asking:
                each.result()
    finally:
        for replica in replicas:
            replica.process.kill()
            replica.process.wait()
            replica.output.close()


def test_without_any_replica_nginx_says_when_to_come_back(tmp_path: Path) -> None:
    """As a server does: 503, a sentence, and Retry-After."""
    with proxied(tmp_path, free_port(), free_port()) as served:
        for path in ("/v1/predict", "/v1/stream"):
            answer = served.ask("POST", path, {"inputs": ["abc"]})
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert answer.headers["content-type"] == "application/problem+json"
            assert (answer.json["code"], "try again" in answer.error) == ("stopping", True)


def test_what_takes_too_long_is_not_to_be_sent_again(tmp_path: Path) -> None:
    """As a server says of its deadline: 504, a sentence, and no Retry-After."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with proxied(tmp_path, port, port, patience="300ms") as served:
            for path in ("/v1/predict", "/v1/stream"):
                answer = served.ask("POST", path, {"inputs": ["abc"]})
                assert (answer.status, "retry-after" in answer.headers) == (504, False)
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json == error_body(late(), path)


def late() -> DeadlineExceeded:
    return DeadlineExceeded("the request took too long", remedy="send fewer inputs at a time")
