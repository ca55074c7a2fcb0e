"""S2.7, S3.2, S10: what the texts say of whole models, as exact tests."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from seqloom.config import LabelHeadConfig, ModelConfig
from seqloom.errors import ConfigError
from seqloom.fields import END, Numbers, Symbols
from seqloom.model import HeadModel, Memory, Source, build, build_sequence_model
from seqloom.nn.modules import Dropout
from tests.model.models import FORMS, READING, UNITS, model_of, recurrent, sources, transformer

HEADS = [
    {"kind": "tags"},
    *({"kind": "label", "pool": pool} for pool in ("code", "mean", "max")),
    {"kind": "number"},
]
SIZES = {"source_size": 9, "target_size": 6}
SOURCE = Source(torch.tensor([[4, 7, 4, END], [8, END, 0, 0]]), torch.tensor([4, 2]))


def language_model(unit: str, **options: Any) -> ModelConfig:
    """One-hot words in, a softmax over words out, and nothing else."""
    decoder = {"unit": unit, "width": 20, "readout": "affine", "first_state": "zero"}
    return recurrent(
        {"kind": "none"},
        {**decoder, "attention": "none"},
        one_hot=True,
        tie_output=False,
        **options,
    )


@pytest.mark.parametrize(("unit", "parameters"), [("elman", 748), ("lstm", 2_488), ("gru", 1_908)])
def test_toy_language_models_have_the_sizes_of_the_texts(unit: str, parameters: int) -> None:
    """S10: p = q = 8, m = 20."""
    model = build_sequence_model(language_model(unit), source=Symbols(8), target=Symbols(8))
    assert sum(each.numel() for each in model.parameters()) == parameters


def test_a_net_without_biases_has_none() -> None:
    """S10: without biases an Elman net over 22 words has m² + 44m, its class map apart."""
    config = language_model("elman", output_bias=False).model_dump()
    config["decoder"]["unit"]["bias"] = False
    model = build_sequence_model(
        ModelConfig.model_validate(config), source=Symbols(22), target=Symbols(22)
    )
    assert sum(each.numel() for each in model.parameters()) == 20**2 + 44 * 20


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("form", ["a", "f", "soft"])
@torch.no_grad()
def test_without_feedback_a_drawn_token_changes_nothing(unit: str, form: str) -> None:
    """S10: in decoder (a) the next distribution does not depend on the token drawn; so in
    (f), and where the whole distribution is fed back."""
    assert torch.equal(next_after(unit, form, 4), next_after(unit, form, 5))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("form", ["b", "c", "d", "e", "summed"])
@torch.no_grad()
def test_with_feedback_a_drawn_token_changes_what_follows(unit: str, form: str) -> None:
    """S10: in decoder (b) it does."""
    assert float((next_after(unit, form, 4) - next_after(unit, form, 5)).abs().min()) > 0


def next_after(unit: str, form: str, token: int) -> torch.Tensor:
    torch.manual_seed(3)
    config = recurrent({"unit": UNITS[unit]}, {"unit": UNITS[unit], **FORMS[form]})
    model = model_of(config, source_size=9, target_size=6)
    state = model.decoder.start(model.encoder.encode(SOURCE))
    features, _ = model.decoder.read(torch.tensor([[2, token]] * 2), state)
    return model.decoder.write(features.hidden[:, -1]).log_softmax(-1)


@pytest.mark.parametrize("form", ["c", "d", "f"])
@torch.no_grad()
def test_a_code_that_joins_later_steps_is_read_there(form: str) -> None:
    """S3.2: with the first state zero, the code can be known only where it joins."""
    torch.manual_seed(3)
    decoder = {**FORMS[form], "first_state": "zero"}
    model = model_of(recurrent({}, decoder), source_size=9, target_size=6)
    memory = model.encoder.encode(SOURCE)
    assert memory.code is not None

    def third(code: tuple[torch.Tensor, ...]) -> torch.Tensor:
        state = model.decoder.start(Memory(2, code=code))
        return model.decoder.read(torch.tensor([[2, 4, 5]] * 2), state)[0].hidden[:, -1]

    changed = tuple(part + 1 for part in memory.code)
    assert float((third(changed) - third(memory.code)).abs().max()) > 1e-6


@torch.no_grad()
def test_soft_feedback_takes_the_label_under_teacher_forcing_and_the_mean_in_use() -> None:
    """S2.2: φ of the whole probability vector is the mean of the tokens' vectors under it."""
    torch.manual_seed(3)
    model = model_of(recurrent({}, FORMS["soft"]), source_size=9, target_size=6)
    decoder: Any = model.decoder
    memory = model.encoder.encode(SOURCE)
    first, state = decoder.read(torch.tensor([[2], [2]]), decoder.start(memory))
    likely = decoder.write(first.hidden).softmax(-1) @ decoder.embedding(torch.arange(6))
    second, _ = decoder.read(torch.tensor([[4], [5]]), state)
    entered, _ = decoder.stack(likely, state.own.layers)
    torch.testing.assert_close(second.hidden, decoder.readout([entered]), rtol=0, atol=1e-12)
    model.train()
    for part in model.modules():
        if isinstance(part, Dropout):
            part.eval()
    taught, _ = decoder.read(torch.tensor([[2, 4], [2, 5]]), decoder.start(memory))
    labels, _ = decoder.stack(
        decoder.embedding(torch.tensor([[2, 4], [2, 5]])), decoder.start(memory).own.layers
    )
    torch.testing.assert_close(taught.hidden, decoder.readout([labels]), rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_reversed_source_is_the_source_read_back_to_front() -> None:
    """S1.7: words turned, `<end>` last, and states handed over in the source's own order."""
    torch.manual_seed(3)
    reading = {"direction": "forward"}
    plain = model_of(recurrent(reading, {}), source_size=9, target_size=6)
    torch.manual_seed(3)
    turned = model_of(recurrent(reading, {}, reverse_source=True), source_size=9, target_size=6)
    back_to_front = Source(torch.tensor([[4, 7, 5, END]]), torch.tensor([4]))
    source = Source(torch.tensor([[5, 7, 4, END]]), torch.tensor([4]))
    expected, found = plain.encoder.encode(back_to_front), turned.encoder.encode(source)
    assert found.states is not None
    assert found.code is not None
    torch.testing.assert_close(found.states[:, [2, 1, 0, 3]], expected.states, rtol=0, atol=0)
    torch.testing.assert_close(found.code, expected.code, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("config", "decoder"), [(recurrent, READING), (transformer, {"source": "read"})]
)
@torch.no_grad()
def test_one_network_reads_a_reversed_source_back_to_front(
    config: Callable[..., ModelConfig], decoder: dict[str, Any]
) -> None:
    """S1.7, S3.2 g"""

    def hidden(tokens: list[int], **options: Any) -> torch.Tensor:
        torch.manual_seed(3)
        built = model_of(config({"kind": "vectors"}, decoder, **options), **SIZES)
        source = Source(torch.tensor([[*tokens, END]]), torch.tensor([4]))
        state = built.decoder.start(built.encoder.encode(source))
        return built.decoder.read(torch.tensor([[2]]), state)[0].hidden

    plain = hidden([4, 7, 5])
    torch.testing.assert_close(hidden([5, 7, 4], reverse_source=True), plain, rtol=0, atol=0)
    assert not torch.equal(hidden([5, 7, 4]), plain)


@pytest.mark.parametrize("encoder", ["recurrent", "transformer", "vectors"])
@pytest.mark.parametrize("head", HEADS)
@torch.no_grad()
def test_heads_judge_real_positions_only(encoder: str, head: dict[str, Any]) -> None:
    """S5.6, S1.6: encoder only, as classifier or tagger; batch mates and padding change
    nothing."""
    torch.manual_seed(3)
    config = (recurrent if encoder == "recurrent" else transformer)({}, {}).model_dump()
    config["encoder"] = {"kind": "vectors"} if encoder == "vectors" else config["encoder"]
    config["decoder"] = head
    target = Numbers(1) if head["kind"] == "number" else Symbols(4)
    model = build(ModelConfig.model_validate(config), source=Symbols(9), target=target)
    assert isinstance(model, HeadModel)
    reader, judge = model.double().eval().encoder, model.head
    source = sources(3, size=9)
    together = judge(reader.encode(source))
    for row, length in enumerate(source.lengths.tolist()):
        one = slice(row, row + 1)
        alone = judge(reader.encode(Source(source.values[one, :length], source.lengths[one])))
        mine = together[one, :length] if head["kind"] == "tags" else together[one]
        torch.testing.assert_close(mine, alone, rtol=0, atol=1e-9)


REFUSED: dict[str, tuple[ModelConfig, str]] = {
    "dot": (
        recurrent({}, {"attention": {"score": "dot"}}),
        "equal sizes, not a query of 7 .* of 6",
    ),
    "window": (recurrent({}, {"attention": "local"}), "needs a window"),
    "heads of attention": (recurrent({}, {"attention": {"heads": 2}}), "2 heads .* decoder of 7"),
    "heads": (transformer({"heads": 3}, {}), "3 heads do not divide a width of 8"),
    "odd sinusoids": (
        transformer({"width": 7, "heads": 1}, {"width": 7, "heads": 1}, embedding=7),
        "embedding = 7: .* even",
    ),
    "odd appended": (
        transformer({"positions": {"kind": "sinusoids-appended", "size": 5}}, {}),
        "size = 5: .* even",
    ),
    "width": (transformer({"width": 12}, {}), "width 12 .* token vectors of 8"),
    "rotary": (transformer({"positions": "rotary", "head_size": 3}, {}), "even size, not 3"),
    "simple rotary": (transformer({"positions": "rotary", "mixing": "simple"}, {}), "rotary"),
    "copy": (recurrent({}, {"first_state": "copy"}), "1 × 6 in 2 parts .* 1 × 7 in 2"),
    "copy of parts": (
        recurrent({"unit": "gru"}, {"first_state": "copy", "width": 6}),
        "1 × 6 in 1 parts .* 1 × 6 in 2",
    ),
    "read": (recurrent({}, {"first_state": "read", "attention": "none"}, embedding=5), "'vectors'"),
    "read with code": (
        recurrent({"kind": "vectors"}, {"first_state": "read", "code": "input"}),
        "code=none",
    ),
    "no source": (recurrent({"kind": "none"}, {}), "needs a source"),
    "tied": (recurrent({}, {"readout": "affine"}, tie_output=True), "embeddings, 6, .* gives 13"),
    "tied one-hot": (recurrent({}, {}, one_hot=True), "tie_output=false"),
    "head": (recurrent({}, {}).model_copy(update={"decoder": LabelHeadConfig()}), "label"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_with_the_sizes(name: str) -> None:
    """S4.1 and the sizes of every part: before any data is read."""
    config, problem = REFUSED[name]
    with torch.device("meta"), pytest.raises(ConfigError, match=problem):
        build_sequence_model(config, source=Symbols(9), target=Symbols(9))
