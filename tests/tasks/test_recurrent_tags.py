"""S2.2: a tagger that reads its own last tag, from end to end."""

import random
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.drawing.views import text_of
from seqloom.errors import ConfigError
from seqloom.explain import attribution_view, explain_steps, trace_output, unroll_graph
from seqloom.prediction import OutputOptions, Predictor, TagPredictor
from seqloom.tasks import Evaluation, explain_output


def switches(rows: int, *, seed: int) -> list[tuple[str, str]]:
    """A tag is that before it, unless its word is `turn`: no word tells its own tag."""
    chance, found = random.Random(seed), []
    for _ in range(rows):
        words = ["up", *chance.choices(["turn", "stay"], k=chance.randint(2, 6))]
        tags = ["on"]
        for word in words[1:]:
            tags.append({"on": "off", "off": "on"}[tags[-1]] if word == "turn" else tags[-1])
        found.append((" ".join(words), " ".join(tags)))
    return found


def trained(run: Path, **decoder: Any) -> Predictor:
    """A tagger whose encoder sees each word alone."""
    options = {
        "target": "tags",
        "source": {"spelling": 0},
        "model": {"embedding": 8, "encoder": {"kind": "vectors"}, "decoder": decoder},
        "training": {
            "workers": 1, "curves": False, "average": "none", "samples": 0, "updates": 150,
            "batch_tokens": 256, "rate": 2e-2, "warmup": 10, "validate_every": 150,
        },
    }  # fmt: skip
    train(switches(150, seed=1), run, valid=switches(20, seed=2), options=options)
    return load(run)


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    place = tmp_path_factory.mktemp("fed") / "run"
    unit = {"kind": "elman"}
    return trained(place, kind="recurrent-tags", width=8, dropout=0, unit=unit)


def test_tags_that_words_do_not_tell_are_learnt(fed: Predictor) -> None:
    """A head that judges each word alone is right in half of the cases."""
    found = evaluate(fed, switches(60, seed=3))
    assert isinstance(found, Evaluation)
    assert found.scores[0].value >= 95


def test_every_search_gives_a_tag_for_each_word(fed: Predictor) -> None:
    """Reported scores are those of scoring, and the beam's are no worse."""
    assert isinstance(fed, TagPredictor)
    rows = switches(20, seed=4)
    sources = [source for source, _ in rows]
    greedy, wide = fed.predict(sources), fed.predict(sources, search=seqloom.Beam(4), n_best=2)
    for source, one, best in zip(sources, greedy, wide, strict=True):
        assert len(one.text.split()) == len(one.tokens) == len(source.split())
        assert best.score >= one.score - 1e-6
        assert best.n_best[0].text == best.text
        assert best.n_best[0].score >= best.n_best[1].score
    scored = fed.score([(source, one.text) for source, one in zip(sources, greedy, strict=True)])
    assert [each.log_probability for each in scored] == pytest.approx(
        [one.score for one in greedy], abs=1e-5
    )
    judged = evaluate(fed, rows, search=seqloom.Beam(4))
    assert isinstance(judged, Evaluation)


def test_long_texts_are_tagged_in_pieces(fed: Predictor) -> None:
    long = "up " + "stay " * 400
    (output,) = fed.predict([long], options=OutputOptions(overlong="split"))
    assert output.pieces > 1
    assert len(output.text.split()) == len(output.tokens) == 401
    assert output.source.count("<end>") == 1


def test_likeliest_tags_and_what_cannot_be_asked(fed: Predictor) -> None:
    (output,) = fed.predict(["up turn"], options=OutputOptions(alternatives=2))
    assert {each.text for each in output.tokens[1].alternatives} == {"on", "off"}
    with pytest.raises(ConfigError, match="leave search options, prefixes"):
        fed.predict(["up"], options=OutputOptions(prefix="on"))


def test_what_it_does_can_be_looked_at(fed: Predictor) -> None:
    """The tag before is read at each step, can matter, and is drawn."""
    said = explain_output(fed, "up turn stay")
    tags = list(said.target)
    steps = explain_steps(fed, said).steps
    assert [step.beside for step in steps] == [
        (f"the tag {each}",) for each in ("<start>", *tags[:-1])
    ]
    assert attribution_view(fed, said).attribution.inputs == ("<start>", *tags[:-1])
    graph = unroll_graph(fed.network, trace_output(fed.network, said))
    assert "(feedback)" in text_of(graph)
