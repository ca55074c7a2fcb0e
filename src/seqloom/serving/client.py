"""A small client of a served model, with the standard library alone."""

import base64
import http.client
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from seqloom.errors import ConfigError, DataError, LimitError, RunError, SeqloomError
from seqloom.serving.errors import error_classes

if TYPE_CHECKING:
    from seqloom.prediction import Output, ScoredOutput

__all__ = ["Client"]

ClientInput = str | list[str] | bytes | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A text; a list of turns or columns; an object with the columns' names; a file's content or its
path; a series as columns or as rows."""

UNREACHABLE = "no server answers at {}; start one with seqloom serve DIR"
TRUNCATED = "the server's answer ended before its time; ask again"
DISCONNECTS = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class Client:
    """A served model in Python: `Client("http://127.0.0.1:8000").predict(["..."])`.

    The connection is kept, so a client belongs to one thread.
    """

    def __init__(
        self, address: str = "http://127.0.0.1:8000", *, token: str = "", timeout: float = 120.0
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{address!r} is not the address of a server, as http://host:8000 is")
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._path = parts.path.rstrip("/")
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._response: http.client.HTTPResponse | None = None  # possibly not read to its end
        self._headers = {"Content-Type": "application/json"}
        token = token or unquote(parts.password or parts.username or "")
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def models(self) -> list[dict[str, Any]]:
        """The served models, with their source and target."""
        found: list[dict[str, Any]] = self._json("GET", "/v1/models")["models"]
        return found

    def predict(self, inputs: Sequence[ClientInput] | str, **options: Any) -> "list[Output]":
        """An output for each input, or for a single one; options are the other fields of a
        request.
        """
        from seqloom.prediction import Output

        inputs = [inputs] if isinstance(inputs, str) else inputs
        answer = self._json(
            "POST", "/v1/predict", {"inputs": [*map(_encode_input, inputs)], **options}
        )
        return [Output.from_dict(each) for each in answer["outputs"]]

    def stream(self, given: ClientInput, **options: Any) -> Iterator[str]:
        """Yield the output for one input as it grows, the whole output last."""
        response = self._request(
            "POST", "/v1/stream", {"inputs": [_encode_input(given)], **options}
        )
        try:
            with self._connection_errors():
                yield from _parse_stream(response)
        finally:
            if not response.isclosed():
                self._connection.close()

    def score(
        self, pairs: Sequence[tuple[ClientInput, str]], **options: Any
    ) -> "list[ScoredOutput]":
        """The log-probability of each pair's output, and of each of its tokens."""
        from seqloom.prediction import ScoredOutput

        body = {"pairs": [[_encode_input(given), output] for given, output in pairs], **options}
        found = self._json("POST", "/v1/score", body)["scores"]
        return [ScoredOutput.from_dict(each) for each in found]

    def look(self, given: ClientInput, **options: Any) -> dict[str, Any]:
        """Explain the output for one input, as plain values; options are the other fields of a
        request to /v1/look, such as `show` and `layer`.
        """
        body = {"input": _encode_input(given), **options}
        found: dict[str, Any] = self._json("POST", "/v1/look", body)["look"]
        return found

    def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        with self._connection_errors():
            content = self._request(method, path, body).read()
        try:
            return json.loads(content)
        except ValueError:
            raise DataError(
                "the answer is not JSON", place=self.address, remedy="is it seqloom's?"
            ) from None

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> http.client.HTTPResponse:
        """Send a request; raise its error. A closed idle connection is reopened once."""
        data = None if body is None else json.dumps(body)
        with self._connection_errors():
            try:
                response = self._send(method, path, data)
            except DISCONNECTS:
                self._connection.close()
                response = self._send(method, path, data)
            if response.status >= 400:
                raise _error(response.status, response.read())
        return response

    def _send(self, method: str, path: str, data: str | None) -> http.client.HTTPResponse:
        if self._response is not None and not self._response.isclosed():
            self._connection.close()  # an unread response would be taken for the next one
        self._connection.request(method, self._path + path, data, self._headers)
        self._response = self._connection.getresponse()
        return self._response

    @contextmanager
    def _connection_errors(self) -> Iterator[None]:
        """Raise RunError for an incomplete response, and close the connection."""
        try:
            yield
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise RunError(UNREACHABLE.format(self.address)) from None


def _parse_stream(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the texts of a stream's events; raise its error event."""
    kind = ""
    for line in lines:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        kind = value if name == "event" else kind
        if name != "data":
            continue
        data = json.loads(value)
        if kind == "error":
            raise _rebuild_error(SeqloomError, data)
        if kind in ("tokens", "output"):
            yield data["text"] if kind == "tokens" else data["output"]["text"]
    if kind != "done":
        raise RunError(TRUNCATED)


def _are_turns(given: ClientInput) -> bool:
    return isinstance(given, list) and all(isinstance(turn, str) for turn in given)


def _is_row(given: ClientInput) -> bool:
    """Whether an object has a single value for each column."""
    return isinstance(given, Mapping) and all(isinstance(each, str) for each in given.values())


def _encode_input(given: ClientInput) -> Any:
    """An input as a request holds it."""
    if isinstance(given, str) or _are_turns(given) or _is_row(given):
        return given
    if isinstance(given, Path):
        try:
            return _encode_input(given.read_bytes())
        except OSError as error:
            raise DataError(
                f"cannot be read ({error.strerror})", place=given, remedy="mend the name"
            ) from None
    if isinstance(given, bytes):
        return {"base64": base64.b64encode(given).decode("ascii")}
    named = isinstance(given, Mapping) and "series" in given
    return given if named else {"series": given}


def _error(status: int, content: bytes) -> SeqloomError:
    try:
        body = dict(json.loads(content))
    except (ValueError, TypeError):
        body = {"problem": f"the server answered with status {status}"}
    kinds: dict[int, type[SeqloomError]] = {422: LimitError, 429: LimitError, 503: RunError}
    return _rebuild_error(kinds.get(status, SeqloomError), body)


def _rebuild_error(unknown: type[SeqloomError], body: Mapping[str, Any]) -> SeqloomError:
    """Rebuild the server's error; an unknown kind is mapped by its status."""
    kind = error_classes().get(str(body.get("code")), unknown)
    problem = str(body.get("problem", body.get("error", "the server answered with an error")))
    return kind(problem, place=str(body.get("place", "")), remedy=str(body.get("remedy", "")))
