"""Two servers behind nginx with the configuration in deploy/.

It needs nginx, and is skipped, with a notice, where that is missing.
"""

import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.serving.kinds import made, picture
from tests.serving.support import Served, serving
from tests.serving.wrapped import slow

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(NGINX is None, reason="the test of replicas needs nginx"),
]
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
def proxied(folder: Path, *ports: int) -> Iterator[Served]:
    """nginx in front of servers on these ports; only names and ports of its file are changed."""
    port = free_port()
    text = CONFIGURATION.read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
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
    """The first token is here before the last is written."""
    model, _ = slow(0.15, min_extra=8, max_extra=8)
    with serving({"only": model}) as one, proxied(tmp_path, one.port, one.port) as served:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        body = json.dumps({"inputs": ["abc"], "search": {"kind": "greedy"}})
        began = time.monotonic()
        connection.request("POST", "/v1/stream", body, {"Content-Type": "application/json"})
        times = [time.monotonic() - began for line in connection.getresponse() if line.strip()]
        connection.close()
        assert times[0] < times[-1] / 2


def test_what_a_server_takes_its_proxy_takes(tmp_path: Path) -> None:
    """Uploads up to the limit `upload`, and the page itself."""
    with serving({"only": made("caption")}) as one, proxied(tmp_path, one.port, one.port) as served:
        answer = served.ask("GET", "/")
        assert (answer.status, b"Seqloom" in answer.body) == (200, True)
        large = picture(1_500, 1_200, kind="BMP")
        coded = base64.b64encode(large).decode()
        answer = served.ask("POST", "/v1/predict", {"inputs": [{"base64": coded}]})
        assert (len(coded) > 7_000_000, answer.status) == (True, 200), answer.body[:200]
