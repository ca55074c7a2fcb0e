"""What a server says is what the model says, however requests meet in it (S7.4)."""

import socket
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import seqloom
from seqloom.errors import ConfigError, LimitError, RunError, SeqloomError
from seqloom.prediction import OutputOptions, TextPredictor
from seqloom.search import (
    Beam,
    Greedy,
    Search,
)
from tests.prediction.untrained import SOURCES
from tests.serving.searches import PER_TOKEN, SEARCHES, assert_same, each_search
from tests.serving.support import Served, serving
from tests.serving.wrapped import POISON, poisoned


@each_search
@pytest.mark.parametrize("name", ["first", "second"])
def test_every_search(
    served: Served,
    models: dict[str, TextPredictor],
    name: str,
    asked: dict[str, Any],
    search: Search,
) -> None:
    """A request gives what `predict` gives for the same list, blank inputs too."""
    inputs = [*SOURCES, " ", ""]
    answer = served.predict(*inputs, model=name, search=asked)
    assert answer.status == 200, answer.body
    assert_same(answer.json["outputs"], models[name].predict(inputs, search=search))


def test_requests_that_meet_change_nothing(
    served: Served, models: dict[str, TextPredictor]
) -> None:
    """RELIABILITY C2: 40 requests of three kinds at once, each with its own answer."""
    kinds = SEARCHES[:2] + SEARCHES[5:6]

    def ask(number: int) -> tuple[int, Any]:
        text = SOURCES[number % len(SOURCES)]
        asked, _ = kinds[number % len(kinds)]
        return number, served.predict(text, search=asked).json["outputs"]

    with ThreadPoolExecutor(16) as pool:
        for number, outputs in pool.map(ask, range(40)):
            text, (_, search) = SOURCES[number % len(SOURCES)], kinds[number % len(kinds)]
            assert_same(outputs, models["first"].predict([text], search=search))


def test_everything_that_can_be_told(served: Served, models: dict[str, TextPredictor]) -> None:
    """N-best, attention, alternatives, the tree: the same as in Python."""
    options = OutputOptions(attention=True, alternatives=3, tree=True)
    answer = served.predict("abc", n_best=2, attention=True, alternatives=3, tree=True).json
    (mine,) = answer["outputs"]
    (theirs,) = models["first"].predict(["abc"], n_best=2, options=options)
    expected = theirs.as_dict()
    assert mine.keys() == expected.keys()
    assert_same([mine], [theirs])
    assert len(mine["attention"]) == len(mine["tokens"])
    assert len(mine["attention"][0]) == len(mine["source"])
    assert [len(token["alternatives"]) for token in mine["tokens"]] == [3] * len(mine["tokens"])
    assert [node["fate"] for node in mine["tree"]].count("winner") == 1


def test_prefixes_and_phrases(served: Served, models: dict[str, TextPredictor]) -> None:
    """One for each input, or one for all, beside requests that have none (S7.5)."""
    each = served.predict("abc", "cab", prefix=["ba", ""]).json["outputs"]
    assert_same(each, models["first"].predict(["abc", "cab"], options=OutputOptions(["ba", ""])))
    words = served.predict("abc", require=["x"], forbid=["a"], no_repeat=2).json["outputs"]
    options = OutputOptions(require=("x",), forbid=("a",), no_repeat=2)
    assert_same(words, models["first"].predict(["abc"], options=options))


@each_search
def test_a_stream_never_takes_back(
    served: Served, models: dict[str, TextPredictor], asked: dict[str, Any], search: Search
) -> None:
    """Tokens that were told are those of the output, and so far as told its text begins so."""
    events = served.events(*SOURCES, search=asked)
    assert events[-1][0] == "done"
    expected = models["first"].predict(SOURCES, search=search)
    outputs = {data["input"]: data["output"] for kind, data in events if kind == "output"}
    assert_same([outputs[number] for number in range(len(SOURCES))], expected)
    told: dict[int, list[dict[str, Any]]] = {}
    for kind, data in events:
        if kind == "tokens":
            told.setdefault(data["input"], []).extend(data["tokens"])
            assert outputs[data["input"]]["text"].startswith(data["text"])
    for number, tokens in told.items():
        for mine, theirs in zip(tokens, outputs[number]["tokens"], strict=False):
            assert mine["text"] == theirs["text"]
            assert mine["log_probability"] == pytest.approx(theirs["log_probability"], abs=1e-9)
    if asked["kind"] == "greedy":
        assert len(told) == len(SOURCES)


def test_scores_are_those_of_the_model(served: Served, models: dict[str, TextPredictor]) -> None:
    """S7.4: score(predict(x)) is what predict reports."""
    pairs = [("abc", "cab"), ("a", ""), ("x y", "b")]
    answer = served.ask("POST", "/v1/score", {"pairs": pairs})
    expected = models["first"].score(pairs)
    assert [each["score"] for each in answer.json["scores"]] == pytest.approx(
        [each.log_probability for each in expected], abs=1e-9
    )
    found = served.predict("abc", search={"kind": "greedy"}).json["outputs"][0]
    (again,) = served.ask("POST", "/v1/score", {"pairs": [["abc", found["text"]]]}).json["scores"]
    if found["stopped"] == "end":
        assert again["score"] == pytest.approx(found["score"], abs=1e-9)


def test_the_list_of_models(served: Served) -> None:
    """Each with what it reads and writes; the first answers where none is named."""
    listing = served.ask("GET", "/v1/models").json
    assert [each["name"] for each in listing["models"]] == ["first", "second"]
    assert listing["models"][0]["source"]["kind"] == "text"
    assert listing["limits"]["queue"] == 64
    assert served.predict("abc").json["model"] == "first"


def test_health_and_headers(served: Served) -> None:
    assert served.ask("GET", "/live").json == {"live": True}
    assert served.ask("GET", "/ready").json == {"ready": True}
    answer = served.ask("GET", "/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers


def test_the_description_of_the_api(served: Served) -> None:
    """Every route, with an example request that works."""
    document = served.ask("GET", "/openapi.json").json
    assert {"/v1/predict", "/v1/stream", "/v1/score", "/v1/models", "/live", "/ready"} <= set(
        document["paths"]
    )
    for name in ("PredictRequest", "ScoreRequest"):
        (example,) = document["components"]["schemas"][name]["examples"]
        path = "/v1/predict" if name == "PredictRequest" else "/v1/score"
        assert served.ask("POST", path, example).status == 200


def test_the_client(served: Served, models: dict[str, TextPredictor]) -> None:
    """`seqloom.Client` gives the same objects as the model itself."""
    with seqloom.Client(served.address) as client:
        assert [each["name"] for each in client.models()] == ["first", "second"]
        outputs = client.predict(SOURCES, search={"kind": "beam", "width": 3}, n_best=2)
        expected = models["first"].predict(SOURCES, search=Beam(3, PER_TOKEN), n_best=2)
        assert_same([each.as_dict() for each in outputs], expected)
        parts = list(client.stream("abc", search={"kind": "greedy"}))
        assert parts[-1] == models["first"].predict(["abc"], search=Greedy())[0].text
        assert all(parts[-1].startswith(part) for part in parts)
        (scored,) = client.score([("abc", "cab")])
        (expected_score,) = models["first"].score([("abc", "cab")])
        assert scored.log_probability == pytest.approx(expected_score.log_probability, abs=1e-9)
        assert [each.text for each in scored.tokens] == [e.text for e in expected_score.tokens]
        assert client.predict("abc") == client.predict(["abc"])


@pytest.mark.parametrize(
    ("error", "work"),
    [
        (LimitError, lambda client: client.predict(["a"], n_best=1_000)),
        (ConfigError, lambda client: client.predict(["a"], model="third")),
    ],
)
def test_errors_reach_the_client(
    served: Served, error: type[Exception], work: Callable[[seqloom.Client], object]
) -> None:
    with seqloom.Client(served.address) as client, pytest.raises(error, match=r"n_best|model"):
        work(client)


def test_a_client_without_a_server() -> None:
    with pytest.raises(RunError, match="no server answers"):
        seqloom.Client("http://127.0.0.1:9").models()
    with pytest.raises(ConfigError, match="not the address"):
        seqloom.Client("localhost:8000")


def test_a_stream_that_is_left_early(served: Served, models: dict[str, TextPredictor]) -> None:
    """The client goes on, whether the stream was closed or only left."""
    expected = models["first"].predict(["abc"])[0].text
    with seqloom.Client(served.address) as client:
        closed, left = (client.stream("abc", search={"kind": "greedy"}) for _ in range(2))
        next(closed)
        assert isinstance(closed, Generator)
        closed.close()
        assert client.predict(["abc"])[0].text == expected
        next(left)
        assert client.predict(["abc"])[0].text == expected
        with pytest.raises(RunError):
            list(left)
        assert client.predict(["abc"])[0].text == expected


def test_a_stream_that_errs() -> None:
    """The next request has its answer."""
    with serving({"only": poisoned()}) as served, seqloom.Client(served.address) as client:
        for _ in range(2):
            with pytest.raises(SeqloomError, match="the model failed"):
                list(client.stream(POISON))
            assert len(client.predict(["abc"])) == 1


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
TOLD = b'event: tokens\ndata: {"text": "a"}\n\n'


@contextmanager
def saying(answer: bytes, *, silent: bool = False) -> Iterator[str]:
    """The address of something that gives every request this answer, and then hangs up or not."""
    kept: list[socket.socket] = []

    def answering() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with suppress(OSError):  # that the client has gone, it knows
                connection.recv(65_536)
                connection.sendall(answer)
            if silent:
                kept.append(connection)
            else:
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answering)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in kept:
                connection.close()


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("silent", [False, True], ids=["hangs up", "falls silent"])
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"220 mail.example ESMTP\r\n",
        HEAD + b"Content-Length: 900\r\n\r\n" + TOLD,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(TOLD) + TOLD,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n900\r\n" + TOLD,
    ],
    ids=["nothing", "not HTTP", "too short", "no more chunks", "half a chunk"],
)
def test_an_answer_that_does_not_come_is_one_error(
    answer: bytes, silent: bool, streams: bool
) -> None:
    """Whatever becomes of it, and again when the same client asks again."""
    with saying(answer, silent=silent) as address, seqloom.Client(address, timeout=0.2) as client:
        for _ in range(2):
            with pytest.raises(RunError, match=r"no server answers|ended before its time"):
                list(client.stream("abc")) if streams else client.models()
