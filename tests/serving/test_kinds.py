"""Every kind of model over HTTP says what it says in Python (S1.1, S1.2, S3.4, S3.5)."""

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.errors import ConfigError, DataError
from seqloom.fields import PictureField
from seqloom.prediction import Forecaster, Output, Predictor, TextPredictor
from seqloom.search import Greedy
from seqloom.serving.app import application
from tests.serving.kinds import KINDS, RATE, WINDOW, made, picture, recording, series
from tests.serving.support import Answer, Served, serving


@pytest.fixture(scope="module", name="models")
def models_() -> dict[str, Predictor]:
    return {name: made(name) for name in KINDS}


@pytest.fixture(scope="module", name="served")
def served_(models: dict[str, Predictor]) -> Iterator[Served]:
    with serving(models, pixels=10_000, recording=2, cells=60, steps=20) as server:
        yield server


def sent(content: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(content).decode()}


def ask(served: Served, name: str, *inputs: Any, **options: Any) -> Answer:
    return served.ask("POST", "/v1/predict", {"model": name, "inputs": inputs, **options})


def outputs(answer: Answer) -> list[Output]:
    assert answer.status == 200, answer.body
    return [Output.from_dict(each) for each in answer.json["outputs"]]


def assert_same(found: list[Output], expected: list[Output]) -> None:
    assert [each.text for each in found] == [each.text for each in expected]
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.source == theirs.source
        assert [token.text for token in mine.tokens] == [token.text for token in theirs.tokens]
        if theirs.tokens:
            assert mine.score == pytest.approx(theirs.score, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("caption", picture(kind=kind)) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP")),
        ("digit", picture(9, 30)),
        *(("speech", recording(kind=kind)) for kind in ("WAV", "FLAC", "OGG")),
        ("speech", recording(rate=16_000)),
    ],
)
def test_a_file_that_is_sent_is_read_as_one_on_disk(
    served: Served, models: dict[str, Predictor], tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    expected = models[name].predict([str(tmp_path / "file")])
    assert_same(outputs(ask(served, name, sent(content))), expected)
    with seqloom.Client(served.address) as client:
        assert_same(client.predict([tmp_path / "file", content], model=name), 2 * expected)


def test_where_a_picture_was_looked_at(served: Served) -> None:
    """A weight for each cell of the grid that the list of models tells (S9)."""
    (listed,) = [
        m for m in served.ask("GET", "/v1/models").json["models"] if m["name"] == "caption"
    ]
    source = listed["source"]
    assert (source["height"], source["width"], source["grid"]) == (8, 16, [2, 4])
    (output,) = outputs(ask(served, "caption", sent(picture()), attention=True))
    assert output.attention is not None
    assert output.attention.shape == (len(output.tokens), 2 * 4)
    assert output.attention.sum(axis=1) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", ["caption", "speech", "tale", "named"])
def test_whatever_is_read_the_output_is_streamed(
    served: Served, models: dict[str, Predictor], name: str
) -> None:
    given = {
        "caption": sent(picture()), "speech": sent(recording()), "tale": "ab", "named": "warm",
    }[name]  # fmt: skip
    body = {"model": name, "inputs": [given], "search": {"kind": "greedy"}}
    (expected,) = outputs(ask(served, name, given, search={"kind": "greedy"}))
    events = served.ask("POST", "/v1/stream", body).body.decode().split("\n\n")
    told = [json.loads(each.split("data: ")[1]) for each in events if "event: tokens" in each]
    assert [t["text"] for each in told for t in each["tokens"]] == [
        token.text for token in expected.tokens if token.text != "<end>"
    ][: sum(len(each["tokens"]) for each in told)]
    assert told
    (output,) = [json.loads(e.split("data: ")[1]) for e in events if "event: output" in e]
    assert output["output"]["text"] == expected.text


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("mood", ["red sun", "", "moon"]),
        ("parts", ["red sun", "old old moon"]),
        ("gaps", ["red  [?] blob [?]", "", r"\[?] [?] moon", "old [?]" + 300 * " sun" + " [?]"]),
        ("price", ["red sun", "moon"]),
        ("measured", ["1 2", "0.5 -3"]),
        ("load", ["; ".join(["12 3"] * WINDOW)]),
    ],
)
@pytest.mark.parametrize("path", ["/v1/predict", "/v1/stream"])
def test_judgements(
    served: Served, models: dict[str, Predictor], path: str, name: str, inputs: list[str]
) -> None:
    """Labels, tags, gaps, numbers and windows, with the likelihood of other labels."""
    answer = served.ask("POST", path, {"model": name, "inputs": inputs, "alternatives": 2})
    expected = models[name].predict(inputs)
    if path == "/v1/predict":
        found = outputs(answer)
        assert_same(found, expected)
        others = [len(token.alternatives) for each in found for token in each.tokens]
        assert others == [2] * len(others)
    else:
        for each in expected:
            assert json.dumps(each.text) in answer.body.decode()


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("mood", ("red sun", "mild")),
        ("parts", ("red sun", "ADJ NOUN")),
        ("gaps", ("old moon", "old moon")),
        ("caption", (picture(), "ab")),
        ("speech", (recording(), "cd")),
        ("named", ("cold", "ef")),
        ("tale", ("", "gh ab")),
    ],
)
def test_scores(
    served: Served,
    models: dict[str, Predictor],
    tmp_path: Path,
    name: str,
    pair: tuple[str | bytes, str],
) -> None:
    """S7.4: the log-probability is that of the model."""
    source, target = pair
    with seqloom.Client(served.address) as client:
        (found,) = client.score([pair], model=name)
    cell = source if isinstance(source, str) else str(tmp_path / "file")
    if isinstance(source, bytes):
        (tmp_path / "file").write_bytes(source)
    (expected,) = models[name].score([(cell, target)])
    assert found.log_probability == pytest.approx(expected.log_probability, abs=1e-4)


def test_words_that_cannot_be_told_have_no_score(served: Served) -> None:
    """Their probability is 0, and JSON has no logarithm of that; the others keep theirs."""
    pairs = [["red blob moon"] * 2, ["red", "old"]]
    answer = served.ask("POST", "/v1/score", {"model": "gaps", "pairs": pairs[:1]})
    (scored,) = answer.json["scores"]
    assert scored["score"] is None
    told = [(token["text"], token["log_probability"] is None) for token in scored["tokens"]]
    assert told == [("red", False), ("<unk>", True), ("moon", False)]
    answer = served.ask("POST", "/v1/score", {"model": "gaps", "pairs": pairs[1:]})
    assert (answer.status, "a text is scored as it is" in answer.error) == (422, True)


def test_numbers_have_no_score(served: Served) -> None:
    for name, source in (("price", "red"), ("load", {"series": series()})):
        answer = served.ask("POST", "/v1/score", {"model": name, "pairs": [[source, "1"]]})
        assert (answer.status, "no log-probability" in answer.error) == (422, True)


@pytest.mark.parametrize("as_rows", [False, True])
def test_a_series_and_what_follows_it(
    served: Served, models: dict[str, Predictor], as_rows: bool
) -> None:
    """Mean and bands of each column with their times, as `predict` has them of the same table."""
    given = series()
    rows = [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]
    (output,) = outputs(ask(served, "load", {"series": rows if as_rows else given}))
    model = models["load"]
    assert isinstance(model, Forecaster)
    expected = model.forecast_after([list(given), *(list(row.values()) for row in rows)])
    assert output.forecast is not None
    assert output.forecast.times == ("2026-01-05 06:00", "2026-01-05 07:00", "2026-01-05 08:00")
    assert output.forecast.times == expected.times
    np.testing.assert_allclose(output.forecast.mean, expected.mean, rtol=1e-4)
    assert list(output.forecast.quantiles) == [0.1, 0.9]
    for share, values in expected.quantiles.items():
        np.testing.assert_allclose(output.forecast.quantiles[share], values, rtol=1e-4)


def test_more_steps_of_a_series(served: Served) -> None:
    with seqloom.Client(served.address) as client:
        longer, own = client.predict([{"series": series(), "steps": 7}, series(8)], model="load")
    assert longer.forecast is not None
    assert own.forecast is not None
    assert (len(longer.forecast.times), len(own.forecast.times)) == (7, 3)
    assert math.isnan(own.score) or own.score == -math.inf


BOMB = picture(200, 100)
REFUSED: list[tuple[str, Any, str]] = [
    ("caption", "/etc/passwd", "is not a file"),
    ("caption", sent(b"GIF89a"), "number 1: the file"),
    ("caption", sent(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"), "not a picture"),
    ("caption", sent(picture()[:60]), "the file is damaged"),
    ("caption", sent(BOMB), "more than 10,000 pixels"),
    ("caption", {"base64": "***"}, "not base64"),
    ("caption", {"series": series()}, "is not a file"),
    ("caption", {"path": "/etc/passwd"}, "is not a file"),
    ("speech", sent(picture()), "cannot be read as sound"),
    ("speech", sent(recording()[:30]), "cannot be read as sound"),
    ("speech", sent(recording(3)), "up to 2 seconds"),
    ("speech", sent(recording(0)), "no sound"),
    ("load", {"series": series(30)}, "90 is more than this server's cells, 60"),
    ("load", {"series": series(), "steps": 21}, "21 is more than this server's steps, 20"),
    ("load", {"series": series(3)}, "has 3 rows where the model reads 6"),
    ("load", {"series": {**series(), "load": ["x"] * WINDOW}}, "line 2: column 'load' is 'x'"),
    ("load", {"series": {**series(), "load": [1.0]}}, "not of one length"),
    ("load", {"series": {"time": ["2026-01-01"] * WINDOW}}, "load"),
    ("load", {"series": []}, "number 1"),
    ("load", {"series": {}}, "number 1"),
    ("load", sent(picture()), "is not a series"),
    ("load", "1 2; 3 4", "2 steps where the model reads 6"),
    ("mood", sent(picture()), "is not a text"),
    ("gaps", "red sun", "line 1: there is no blank to fill in; write [?] where"),
    ("gaps", "red[?]", "line 1: a blank stands for a whole word; put spaces around each [?]"),
    ("tale", {"series": series()}, "is not a text"),
    ("named", "purple", "never seen"),
    ("measured", "1 2 3", "number"),
]


@pytest.mark.parametrize(("name", "given", "sentence"), REFUSED)
def test_what_cannot_be_read_is_refused_alone(
    served: Served, models: dict[str, Predictor], name: str, given: Any, sentence: str
) -> None:
    """RELIABILITY D4, D6: status 422 and a sentence, and the next request is answered."""
    answer = ask(served, name, given)
    assert (answer.status, sentence in answer.error) == (422, True), answer.body
    assert " --" not in answer.error
    good = {"caption": sent(picture()), "speech": sent(recording()), "load": {"series": series()}}
    text = {"named": "warm", "measured": "1 2", "gaps": "red [?]"}.get(name, "red sun")
    assert ask(served, name, good.get(name, text)).status == 200


@pytest.mark.parametrize(
    "options",
    [
        {"search": {"kind": "greedy"}},
        {"n_best": 2},
        {"prefix": "a"},
        {"prefix_tokens": ["a"]},
        {"require": ["a"]},
        {"forbid": ["a"]},
        {"no_repeat": 2},
        {"attention": True},
        {"tree": True},
    ],
)
@pytest.mark.parametrize("name", ["mood", "load", "gaps"])
def test_what_judges_does_not_search(served: Served, name: str, options: dict[str, Any]) -> None:
    given = {"load": {"series": series()}, "mood": "red", "gaps": "red [?]"}[name]
    answer = ask(served, name, given, **options)
    assert (answer.status, "does not search" in answer.error) == (422, True)


def test_a_large_body_is_for_files_alone(models: dict[str, Predictor]) -> None:
    """RELIABILITY D2: a server of texts does not take more than it needs."""
    body = json.dumps({"inputs": [sent(bytes(3_000))]}).encode()
    for name, status in (("mood", 413), ("caption", 200)):
        with serving({name: models[name]}, body=2_000, upload=100_000) as served:
            answer = served.ask("POST", "/v1/predict", body)
            assert ("body" in answer.error) is (status == 413)
    with serving({"caption": models["caption"]}, held=2_000) as served:
        answer = served.ask("POST", "/v1/predict", body)
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")


def test_a_kind_that_cannot_be_sent_is_refused_at_the_start(models: dict[str, Predictor]) -> None:
    """Rather than at every request."""

    @dataclass(frozen=True)
    class Smell:
        kind: str = "smell"

    class SmellField(PictureField):
        takes_uploads = False

        def __init__(self) -> None:
            self.config = Smell()  # type: ignore[assignment]

    caption = models["caption"]
    assert isinstance(caption, TextPredictor)
    with pytest.raises(ConfigError, match="nose: reads smell, which cannot be sent"):
        application({"nose": replace(caption, source=SmellField())})


def test_a_client_that_names_no_file(served: Served) -> None:
    with seqloom.Client(served.address) as client:
        with pytest.raises(DataError, match="cannot be read"):
            client.predict([Path("missing.png")], model="caption")
        with pytest.raises(DataError, match="not a picture"):
            client.predict([b"hello"], model="caption")


def test_a_language_model_goes_on(served: Served, models: dict[str, Predictor]) -> None:
    """From its input, by draws that a seed repeats (S1.2, S7.2)."""
    tale = models["tale"]
    greedy = outputs(ask(served, "tale", "ab", "c", search={"kind": "greedy"}))
    assert_same(greedy, tale.predict(["ab", "c"], search=Greedy()))
    drawn = {"kind": "sample", "temperature": 0.8, "top_k": 3, "seed": 5}
    first, again = (outputs(ask(served, "tale", "ab", search=drawn)) for _ in range(2))
    assert_same(first, again)
    assert first[0].text.startswith("ab")


def test_the_search_that_is_told_is_the_one_that_is_made(served: Served) -> None:
    """Asked for by the name that the list of models gives it, it gives what it gives unasked."""
    listed = {each["name"]: each for each in served.ask("GET", "/v1/models").json["models"]}
    assert listed["tale"]["search"] == {"kind": "sample"}
    assert listed["mood"]["search"] is None
    for name, given in (("tale", "ab"), ("named", "warm"), ("chat", "ab")):
        told = outputs(ask(served, name, given, search=listed[name]["search"]))
        assert_same(told, outputs(ask(served, name, given)))


def test_the_facts_of_columns_are_told(served: Served) -> None:
    listed = {each["name"]: each for each in served.ask("GET", "/v1/models").json["models"]}
    assert listed["speech"]["source"]["rate"] == RATE
    assert listed["load"]["source"]["columns"] == ["load", "wind"]
    assert listed["load"]["target"]["steps"] == 3
    gaps = listed["gaps"]["target"]
    assert (gaps["kind"], gaps["unit"], gaps["marker"]) == ("blanks", "word", "[?]")
    assert listed["named"]["source"]["labels"] == ["cold", "mild", "warm"]
