"""What can be asked of outputs beyond the best text (S7.5), through `Model`."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from seqloom.errors import ConfigError, DataError
from seqloom.prediction import Output, OutputOptions, TextPredictor, ensemble
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Exact,
    Greedy,
    MinimumRisk,
    Ranking,
    Sample,
    Search,
    StochasticBeam,
)
from tests.prediction.untrained import SOURCES, untrained
from tests.shapes import without_shapes

pytestmark = pytest.mark.usefixtures(without_shapes.__name__)

SEARCHES: list[Search] = [
    Greedy(),
    Beam(4),
    Beam(4, Ranking(gnmt=0.6, coverage=0.2)),
    Sample(top_p=0.9, draws=4),
    DiverseBeam(4, 2),
    StochasticBeam(4),
    Completions(4, 2),
    MinimumRisk(Sample(draws=4)),
    Exact(Ranking(power=1.0), expansions=30),
]
each_search = pytest.mark.parametrize("search", SEARCHES, ids=lambda each: type(each).__name__)


@pytest.fixture(scope="module", params=["lstm", "transformer"])
def model(request: pytest.FixtureRequest) -> TextPredictor:
    return untrained(request.param)


def ended(outputs: list[Output]) -> list[Output]:
    """The outputs that ended by themselves, of which a test needs some."""
    found = [each for output in outputs for each in (output.n_best or (output,))]
    found = [each for each in found if each.tokens and each.tokens[-1].text == "<end>"]
    assert found
    return found


@each_search
def test_every_search_gives_whole_outputs(model: TextPredictor, search: Search) -> None:
    """Text, tokens, scores and n-best agree, and scoring the text gives the score (S7.4)."""
    wanted = 1 if isinstance(search, Greedy) else 3
    outputs = model.predict(SOURCES, search=search, n_best=wanted, attention=True)
    for source, output in zip(SOURCES, outputs, strict=True):
        for each in output.n_best or (output,):
            names = [token.text for token in each.tokens if token.text != "<end>"]
            assert "".join(names).replace("␣", " ") == each.text
            assert sum(t.log_probability for t in each.tokens) == pytest.approx(each.score)
            assert each.attention is not None
            assert each.attention.shape == (len(each.tokens), len(source) + 1)
            if each.tokens[-1].text == "<end>":
                (scored,) = model.score([(source, each.text)])
                assert scored.log_probability == pytest.approx(each.score, abs=1e-9)
        if wanted > 1:
            assert output.n_best[0].as_dict() == replace(output, n_best=()).as_dict()


@each_search
def test_an_input_has_its_output_wherever_it_stands(model: TextPredictor, search: Search) -> None:
    """C2: in any group, of any size, an input of the same line has the same output."""
    together = model.predict(SOURCES, search=search)
    for group in (1, 4):
        streamed = list(model.stream(SOURCES, search=search, group=group))
        assert [each.text for each in streamed] == [each.text for each in together]
        assert np.allclose([e.score for e in streamed], [e.score for e in together])


def test_draws_depend_on_the_line_and_the_seed(model: TextPredictor) -> None:
    def drawn(seed: int) -> list[str]:
        search = Sample(temperature=5.0, seed=seed)
        return [output.text for output in model.predict(["abc"] * 40, search=search)]

    texts = drawn(1)
    assert len(set(texts)) > 20
    assert drawn(1) == texts
    assert drawn(2) != texts


def test_every_output_begins_with_the_prefix(model: TextPredictor) -> None:
    outputs = model.predict(SOURCES, search=Beam(3), options=OutputOptions(prefix="ba"))
    assert all(output.text.startswith("ba") for output in outputs)
    each = ["", "a", "bb", "c c", "", "x" * 30]
    outputs = model.predict(SOURCES, search=Beam(3), options=OutputOptions(prefix=each))
    for output, prefix in zip(outputs, each, strict=True):
        assert output.text.startswith(prefix)
    free = model.predict(SOURCES, search=Beam(3))
    assert outputs[0].text == free[0].text
    assert outputs[4].text == free[4].text


def test_a_prefix_for_each_input_must_be_there(model: TextPredictor) -> None:
    with pytest.raises(ConfigError, match="prefixes for 2 inputs"):
        model.predict(SOURCES, options=OutputOptions(prefix=["a", "b"]))


@each_search
def test_outputs_contain_what_is_required_and_nothing_forbidden(
    model: TextPredictor, search: Search
) -> None:
    options = OutputOptions(require=("xy", "cab"), forbid=("aa", "bb"), no_repeat=4)
    outputs = model.predict(SOURCES, search=search, options=options)
    for output in ended(outputs):
        assert "xy" in output.text
        assert "cab" in output.text
        assert "aa" not in output.text
        assert "bb" not in output.text
        windows = [output.text[at : at + 4] for at in range(len(output.text) - 3)]
        assert len(set(windows)) == len(windows)


def test_words_are_required_as_words() -> None:
    model = untrained(unit="word")
    for output in ended(
        model.predict(SOURCES, search=Beam(5), options=OutputOptions(require=("abc x",)))
    ):
        assert "abc x" in output.text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (OutputOptions(require=("",)), "empty"),
        (OutputOptions(require=("ß",)), "cannot write 'ß'"),
        (OutputOptions(prefix="ß"), "cannot write 'ß'"),
        (OutputOptions(no_repeat=-1), "repeated"),
        (OutputOptions(alternatives=-1), "alternatives"),
        (OutputOptions(alternatives=1_001), "alternatives"),
    ],
)
def test_options_that_cannot_be_met_are_refused(
    model: TextPredictor, options: OutputOptions, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        model.predict(["a"], options=options)


def test_what_the_model_cannot_write_need_not_be_forbidden(model: TextPredictor) -> None:
    free = model.predict(SOURCES)
    assert model.predict(SOURCES, options=OutputOptions(forbid=("ß",))) == free


def test_lengths_are_a_function_of_the_source(model: TextPredictor) -> None:
    """`search.min_*` and `search.max_*`, `<end>` counted on both sides."""
    options = {"min_ratio": 2.0, "min_extra": 1, "max_ratio": 3.0, "max_extra": 0}
    config = model.config.model_copy(
        update={"search": model.config.search.model_copy(update=options)}
    )
    changed = replace(model, config=config)
    for search in (Greedy(), Beam(3), Sample()):
        for output in changed.predict(SOURCES, search=search):
            read = len(output.source)
            assert 2 * read + 1 <= len(output.tokens) <= 3 * read


def test_alternatives_are_the_likeliest_tokens_of_each_step(model: TextPredictor) -> None:
    """Their log-probabilities are those of scoring; the greedy token is the first of them."""
    outputs = model.predict(SOURCES, search=Greedy(), options=OutputOptions(alternatives=3))
    for output in outputs:
        for token in output.tokens:
            assert len(token.alternatives) == 3
            first = token.alternatives[0]
            assert (first.text, first.log_probability) == (token.text, token.log_probability)
            values = [each.log_probability for each in token.alternatives]
            assert values == sorted(values, reverse=True)
    assert all(t.alternatives == () for t in model.predict(SOURCES[:1])[0].tokens)


def test_a_prefix_is_completed_in_the_best_ways(model: TextPredictor) -> None:
    """Interactive use: the next tokens are the likeliest after the prefix, each completed."""
    search, options = Completions(3, 2), OutputOptions(prefix="ab", alternatives=3)
    for output in model.predict(SOURCES, search=search, options=options):
        assert len(output.n_best) == 3
        offered = {each.text for each in output.tokens[2].alternatives}
        assert {each.tokens[2].text for each in output.n_best} == offered


def test_the_tree_is_there_where_asked_for(model: TextPredictor) -> None:
    search = Beam(3)
    for output in model.predict(SOURCES, search=search, options=OutputOptions(tree=True)):
        winner = next(branch for branch in output.tree if branch.fate == "winner")
        assert winner.total == pytest.approx(output.score)
        assert {branch.fate for branch in output.tree} >= {"kept", "pruned", "winner"}
        path = []
        while winner.parent is not None:
            path.append(winner.text)
            winner = output.tree[winner.parent]
        assert path[::-1] == [token.text for token in output.tokens]
        assert output.tree[0].text == "<start>"
    with pytest.raises(ConfigError, match="no tree"):
        model.predict(["a"], search=Exact(), options=OutputOptions(tree=True))


@each_search
def test_an_output_comes_back_from_json(model: TextPredictor, search: Search) -> None:
    """Equal in Python, as JSON and read back from it, whatever was asked for."""
    wanted = 1 if isinstance(search, Greedy) else 3
    options = OutputOptions(attention=True, alternatives=2, tree=not isinstance(search, Exact))
    for output in model.predict(SOURCES, search=search, n_best=wanted, options=options):
        text = json.dumps(output.as_dict(), allow_nan=False)
        again = Output.from_dict(json.loads(text))
        assert again == output
        assert json.dumps(again.as_dict(), allow_nan=False) == text


def test_impossible_outputs_are_plain_json_too() -> None:
    output = Output("", -math.inf, -math.inf, (), "end")
    text = json.dumps(output.as_dict(), allow_nan=False)
    assert Output.from_dict(json.loads(text)).score == -math.inf


@pytest.mark.parametrize("wrong", [{}, {"text": "a"}, {"tokens": 3}, []])
def test_what_is_no_output_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DataError, match="not an output"):
        Output.from_dict(wrong)


def test_outputs_before_a_bad_line_are_given_before_its_error(model: TextPredictor) -> None:
    """An error in the middle of a group costs no output of the lines before it."""

    def lines() -> Iterator[str]:
        yield from SOURCES[:3]
        raise DataError("lines.txt:4: is not UTF-8")

    stream = model.stream(lines(), search=Greedy())
    found = [next(stream) for _ in range(3)]
    assert [each.text for each in found] == [
        each.text for each in model.predict(SOURCES[:3], search=Greedy())
    ]
    with pytest.raises(DataError, match="lines.txt:4"):
        next(stream)


def test_models_together_are_the_mean_of_their_probabilities() -> None:
    """The score of an output is the logarithm of the product of mean probabilities."""
    models = [untrained("lstm"), untrained("transformer", seed=5)]
    both = ensemble(models)
    for source, output in zip(SOURCES, both.predict(SOURCES, search=Beam(3)), strict=True):
        if output.stopped != "end":
            continue
        each = [model.score([(source, output.text)])[0].tokens for model in models]
        for token, *alone in zip(output.tokens, *each, strict=True):
            mean = sum(math.exp(t.log_probability) for t in alone) / 2
            assert math.exp(token.log_probability) == pytest.approx(mean)
        assert both.score([(source, output.text)])[0].log_probability == pytest.approx(output.score)
    assert ensemble(models[:1]) is models[0]


def test_models_with_other_vocabularies_cannot_be_together() -> None:
    with pytest.raises(ConfigError, match="another source vocabulary"):
        ensemble([untrained(), untrained(unit="word")])
    with pytest.raises(ConfigError, match="at least one"):
        ensemble([])


def test_searches_that_cannot_give_so_many_outputs_are_refused(model: TextPredictor) -> None:
    for search in (Sample(draws=2), Completions(2), Beam(2), StochasticBeam(2), DiverseBeam(2, 2)):
        with pytest.raises(ConfigError):
            model.predict(["a"], search=search, n_best=3)
