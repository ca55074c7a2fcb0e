"""S4.6, S9: the weights of every layer and head, against what the model itself reports."""

from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.drawing.views import text_of, write
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.attention import Attentions, attention_of
from seqloom.explanations.attention_map import AttentionMap, Threads
from seqloom.explanations.tracing import trace_decoder, trace_output
from seqloom.model.transformer import TransformerEncoder
from seqloom.nn.token_mixing import SelfAttention
from seqloom.tasks import explain_output
from tests.explain.pictures import WORKED, pixels, texts
from tests.explain.tiny_models import KINDS, PAIR, named
from tests.prediction.untrained import untrained


@pytest.mark.parametrize("kind", KINDS)
def test_a_pass_is_what_the_model_does_and_leaves_it_alone(kind: str) -> None:
    """The same features and probabilities, the mean of the last layer as traced, and no hook."""
    model = named(kind)
    found = trace_decoder(model, PAIR)
    with torch.no_grad():
        state = model.decoder.start(model.encoder.encode(PAIR.source_batch()), trace=True)
        features, _ = model.decoder.read(PAIR.decoder_input_ids(), state)
    torch.testing.assert_close(found.hidden, features.hidden[0], rtol=0, atol=1e-12)
    attention = Attentions.from_trace(found)
    if features.attention is None:
        with pytest.raises(
            ConfigError, match=r"has no attention(; see with| to the source[:;] look at)"
        ):
            attention.select_map()
    else:
        shown = attention.select_map()
        assert (shown.source, shown.target) == (PAIR.source, PAIR.target)
        np.testing.assert_allclose(shown.weights, features.attention[0].numpy(), atol=1e-12)
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_every_head_sums_to_one(kind: str) -> None:
    """S9; and what a decoder has not read yet it cannot look at (S5.2)."""
    for layer in Attentions.from_trace(trace_output(named(kind), PAIR)).layers:
        assert layer.weights.shape[1:] == (len(layer.rows), len(layer.columns))
        np.testing.assert_allclose(layer.weights.sum(axis=2), 1, atol=1e-12)
        if layer.kind == "decoder":
            assert np.triu(layer.weights, 1).max(initial=0) == 0


def test_self_attention_by_hand() -> None:
    """softmax(q·k/√E) of the first block's own maps, from its input and its matrix alone."""
    model = named("after sinusoids")
    encoder = model.encoder
    assert isinstance(encoder, TransformerEncoder)
    mixing = encoder.blocks[0].attention
    assert isinstance(mixing, SelfAttention)
    with torch.no_grad():
        read = encoder.embed(PAIR.source_batch()[0], torch.arange(5)[None])[0].numpy()
    heads, size, _ = mixing.sizes
    matrix = mixing.project.weight.detach().numpy()
    first = Attentions.from_trace(trace_output(model, PAIR)).select_layers("encoder")[0]
    for head in range(heads):
        query = read @ matrix[head * size : (head + 1) * size].T
        key = read @ matrix[(heads + head) * size : (heads + head + 1) * size].T
        powers = np.exp(query @ key.T / np.sqrt(size))
        by_hand = powers / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(first.head(head + 1).weights, by_hand, atol=1e-12)


def test_layers_and_heads_are_chosen_by_number() -> None:
    """Counted from 1; what is not there is refused with what is."""
    attention = Attentions.from_trace(trace_output(named("after sinusoids"), PAIR))
    layers = attention.select_layers("cross")
    assert [layer.layer for layer in layers] == [1, 2]
    first = attention.select_map(layer=1, head=2)
    np.testing.assert_array_equal(first.weights, layers[0].weights[1])
    np.testing.assert_allclose(
        attention.select_map(layer=1).weights, layers[0].weights.mean(axis=0), atol=1e-12
    )
    for layer, head in ((3, None), (None, 0), (None, 3)):
        with pytest.raises(ConfigError, match="choose"):
            attention.select_map(layer=layer, head=head)
    with pytest.raises(ConfigError, match="choose cross, encoder, decoder"):
        attention.select_layers("nothing")


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_look_at_a_text_is_the_attention_of_its_output(kind: str) -> None:
    """The weights that `predict` reports, found once more from the tokens that it wrote."""
    model = untrained(kind)
    output = model("abc")
    assert output.attention is not None
    found = attention_of(model, explain_output(model, "abc"))
    assert found.target == tuple(token.text for token in output.tokens)
    np.testing.assert_allclose(found.select_map().weights, output.attention, atol=1e-6)
    forced = attention_of(model, explain_output(model, "abc", "ab"))
    assert forced.target == ("a", "b", "<end>")
    with pytest.raises(DataError, match="blank"):
        attention_of(model, explain_output(model, " "))


def test_every_head_has_a_labelled_picture(tmp_path: Path) -> None:
    """S9: layers down and heads across, source below and output on the left."""
    heads = Attentions.from_trace(trace_output(named("after sinusoids"), PAIR)).head_maps()
    write(heads, tmp_path / "heads.svg", title="")
    written = texts(tmp_path / "heads.svg")
    assert set(written) >= {*PAIR.source, *PAIR.target, "layer 2, head 1"}
    assert text_of(heads, 60).count("head") == 4


def test_threads_are_as_thick_as_their_weights(tmp_path: Path) -> None:
    """A wide thread covers more of the picture than a thin one, and both sentences are there."""
    from matplotlib.image import imread

    def ink(weight: float) -> float:
        map_ = AttentionMap(("a", "b"), ("c",), np.array([[weight, 1 - weight]]))
        write(Threads(map_), tmp_path / "threads.png", title="")
        image = imread(tmp_path / "threads.png")[..., 0]
        return float((1 - image[: image.shape[0] // 3]).sum())

    assert ink(0.95) > 2 * ink(0.3)
    write(Threads(WORKED), tmp_path / "threads.svg", title="")
    assert set(texts(tmp_path / "threads.svg")) == {*WORKED.source, *WORKED.target}
    assert text_of(Threads(WORKED)).splitlines()[0] == "nous ← we 0.93"


@pytest.mark.parametrize("size", [1, 200])
def test_one_token_and_two_hundred_have_room(tmp_path: Path, size: int) -> None:
    """Each label has the height of a small letter."""
    map_ = AttentionMap(("a",) * size, ("b",) * size, np.eye(size))
    write(Threads(map_), tmp_path / "threads.png", title="")
    width, height = pixels(tmp_path / "threads.png")
    assert width > 300
    assert 14 * size < height < 5_000


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png, \.svg, \.html or \.json"):
        write(Threads(WORKED), tmp_path / "threads.gif", title="")
