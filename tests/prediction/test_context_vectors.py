"""S1.5: a vector for each token in its sentence, from any layer of any encoder."""

import numpy as np
import pytest
import torch

from seqloom.config import TextConfig, validate
from seqloom.config.columns import NoColumnConfig
from seqloom.drawing.views import drawing_of, text_of
from seqloom.errors import ConfigError, DataError
from seqloom.explain import vector_map
from seqloom.fields import TextField
from seqloom.fields.no_source import NoField
from seqloom.model import build_sequence_model
from seqloom.prediction import ContextVectors, TextPredictor
from seqloom.prediction.batching import pad_batch
from tests.prediction.untrained import untrained

TEXTS = ["a  bca ab", "cab", "x y a, a bca", " ", "abc"]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("unit", ["character", "word"])
def test_each_token_has_the_vector_that_the_decoder_reads(kind: str, unit: str) -> None:
    """The last layer's is the memory's, whatever else is in the batch."""
    model = untrained(kind, unit=unit)
    found = model.vectors(TEXTS)
    assert found.layer == 1
    for text, each in zip(TEXTS, found.sentences, strict=True):
        if not text.strip():
            assert each.tokens == ()
            continue
        with torch.no_grad():
            memory = model.network.encoder.encode(pad_batch([model.encode_cell(text)]))
        states, _ = memory.states_and_mask()
        np.testing.assert_allclose(each.vectors, states[0].numpy(), atol=1e-12)
        assert each.tokens[-1] == "<end>"


def test_layer_0_knows_no_context_and_the_last_does() -> None:
    found = [untrained("lstm", unit="word").vectors(["a b", "c b"], layer=each) for each in (0, 1)]
    below, above = (each.words.cosine("b@1", "b@2") for each in found)
    assert below == pytest.approx(1.0)
    assert above < 0.99


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_language_model_has_vectors_of_its_own_layers(kind: str) -> None:
    """That of a token is what the next one is predicted from, and knows what came before alone."""
    side = {"layers": 2, "dropout": 0.0, "width": 8}
    recurrent = {**side, "kind": "recurrent"}
    chosen = (
        recurrent if kind == "lstm" else {**side, "kind": "transformer", "heads": 2, "inner": 16}
    )
    none = {"attention": "none", "first_state": "zero"} if kind == "lstm" else {}
    tables = {
        "data": {"source": ""},
        "source": {"kind": "none"},
        "model": {
            "embedding": 8,
            "share_vocabulary": False,
            "encoder": {"kind": "none"},
            "decoder": {**chosen, **none},
        },
    }
    config = validate(tables, place="test")
    field = TextField.learn(TextConfig(unit="word"), ["a b c d"], seed=1)
    torch.manual_seed(1)
    nothing = NoField(NoColumnConfig())
    network = build_sequence_model(config.model, source=nothing.items, target=field.items)
    model = TextPredictor(config, nothing, field, network.double().eval())
    found = model.vectors(["a b c", "b b"])
    assert found.layer == 2
    assert [each.tokens for each in found.sentences] == [("a", "b", "c"), ("b", "b")]
    with torch.no_grad():
        scores = network.decoder.write(torch.from_numpy(found.sentences[0].vectors))
    likely = scores.log_softmax(-1)
    scored = model.score([("", "a b c")])[0]
    (row,) = field.rows(["a b c"])
    wanted = [float(likely[place, row[place + 1]]) for place in range(3)]
    given = [token.log_probability for token in scored.tokens[1:]]
    np.testing.assert_allclose(wanted, given, atol=1e-6)
    longer = model.vectors(["a b c d d"]).sentences[0].vectors
    np.testing.assert_allclose(longer[:3], found.sentences[0].vectors, atol=1e-12)
    below = model.vectors(["a b", "b"], layer=0).words
    if kind == "lstm":
        assert below.cosine("b@1", "b@2") == pytest.approx(1.0)
    assert model.vectors(["a b", "b"], layer=1).words.cosine("b@1", "b@2") < 0.999


@pytest.mark.parametrize("unit", ["character", "word"])
def test_offsets_are_those_of_the_text(unit: str) -> None:
    """Every token of a character's or a word's size stands where its offsets say."""
    for each in untrained("lstm", unit=unit).vectors(TEXTS).sentences:
        for token, (start, end) in zip(each.tokens[:-1], each.offsets, strict=False):
            if start < end and token != "␣":
                assert each.text[start:end].strip() == token


def test_an_occurrence_is_named_after_its_word_and_sentence() -> None:
    """The same names whatever the tokens are; a word of several tokens has their mean."""
    for unit in ("character", "word"):
        found = untrained("lstm", unit=unit).vectors(TEXTS)
        names = [each.name for each in found.occurrences]
        assert " ".join(names) == "a@1 bca@1 ab@1 cab@2 x@3 y@3 a@3 ,@3 a@3.2 bca@3 abc@5"
        assert [each.name for each in found.find("A")] == ["a@1", "a@3", "a@3.2"]
        assert [each.name for each in found.find("a@3")] == ["a@3"]
    letters = untrained("lstm").vectors(TEXTS)
    (bca,) = letters.find("bca@1")
    own = letters.sentences[0]
    at = own.text.index("bca")
    inside = [n for n, (start, _) in enumerate(own.offsets) if at <= start < at + 3][:3]
    assert list(bca.tokens) == inside
    wanted = own.vectors[inside].mean(axis=0)
    np.testing.assert_allclose(letters.words.table[1], wanted, rtol=1e-6)


def test_nearest_and_cosines_against_numpy() -> None:
    found = untrained("transformer", unit="word").vectors(TEXTS)
    table = found.words.table.astype(np.float64)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = unit @ unit.T
    names = list(found.words.words)
    one, other = names.index("a@1"), names.index("a@3.2")
    assert found.words.cosine("a@1", "a@3.2") == pytest.approx(cosines[one, other], abs=1e-5)
    order = [n for n in np.argsort(-cosines[one]) if n != one][:3]
    assert [name for name, _ in found.words.nearest("a@1", 3)] == [names[n] for n in order]


def test_a_map_shows_the_words_that_are_named() -> None:
    found = untrained("lstm", unit="word").vectors(TEXTS)
    whole, named = vector_map(found), vector_map(found, ["a", "bca@1"])
    assert len(whole.texts) == len(found.occurrences)
    assert named.texts == ("a@1", "bca@1", "a@3", "a@3.2")
    assert named.labels == ("a", "bca", "a", "a")
    np.testing.assert_allclose(np.linalg.norm(named.states, axis=1), 1, rtol=1e-6)
    assert "cab@2" in drawing_of(found).labels
    assert text_of(found).splitlines()[0] == "a@1"


def test_what_cannot_be_done_is_said() -> None:
    model = untrained("lstm")
    with pytest.raises(ConfigError, match="the model has layers 0 to 1"):
        model.vectors(["a"], layer=2)
    with pytest.raises(DataError, match="'zebra' is in none of the texts"):
        model.vectors(["a"]).find("zebra")
    with pytest.raises(DataError, match="at least two words"):
        vector_map(model.vectors(["a"]))
    assert model.vectors([]).occurrences == ()
    assert isinstance(model.vectors([]), ContextVectors)
