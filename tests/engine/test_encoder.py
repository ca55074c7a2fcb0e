"""Compiled encoders over whatever a source can be, under decoders and under heads."""

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.config import ModelConfig
from seqloom.engine.exporters.parts import TorchVectors
from seqloom.engine.from_network import missing_forms
from seqloom.engine.selection import select_engine, select_head_engine
from seqloom.fields import Numbers, Pixels, Symbols
from seqloom.model import HeadModel, Source, build, build_sequence_model
from seqloom.search import Beam, Greedy, Limits, PatientBeam, Search, run_to_end
from tests.engine.models import small_model
from tests.engine.support import assert_same, plan, rows_of
from tests.nn.parts import stirred

CLOSE = 2e-5
OWN = {"share_vocabulary": False, "tie_output": False}
LENGTHS = torch.tensor([5, 2, 4])
RECURRENT = {"kind": "recurrent", "width": 5, "layers": 2, "direction": "both"}
TRANSFORMER = {"kind": "transformer", "width": 8, "inner": 12, "heads": 2, "layers": 1}
JOINT = {**TRANSFORMER, "positions": {"kind": "joint", "most": 3}}


def items(kind: str) -> tuple[Symbols | Numbers, Tensor]:
    """A kind of items, and three rows of them, padded."""
    torch.manual_seed(4)
    if kind == "numbers":
        return Numbers(3), torch.randn(3, 5, 3, dtype=torch.float64)
    spelt = torch.randint(1, 7, (3, 5, 4))
    return Symbols(9, spelling=3, letters=7), spelt


@pytest.mark.parametrize("kind", ["numbers", "letters"])
@pytest.mark.parametrize("encoder", [RECURRENT, TRANSFORMER, JOINT])
@pytest.mark.parametrize("reverse", [False, True])
@torch.no_grad()
def test_what_is_no_token_is_searched_as_a_whole(
    kind: str, encoder: dict[str, object], reverse: bool
) -> None:
    """Vectors of numbers and of spelt words come from torch; the rest is the core's."""
    source, values = items(kind)
    tables = {"embedding": 8, "letters": 4, "reverse_source": reverse, **OWN}
    if kind == "letters" and encoder["kind"] == "transformer":
        tables["letters"], tables["embedding"] = 2, 6
    config = ModelConfig.model_validate(
        {**tables, "encoder": encoder, "decoder": {"kind": "recurrent", "width": 6}}
    )
    model = stirred(build_sequence_model(config, source=source, target=Symbols(6))).eval()
    made = select_engine(model)
    assert made.compiled is not None
    batch, limits = Source(values, LENGTHS), Limits(torch.full((3,), 6))
    expected = run_to_end(
        Beam(3), model.decoder, model.decoder.start(model.encoder.encode(batch)), limits
    )
    found = made.compiled.search(rows_of(batch), plan(Beam(3)), limits)
    assert_same(found, expected)


@torch.no_grad()
def test_pictures_are_read_on_torch_and_encoded_in_the_core() -> None:
    config = ModelConfig.model_validate(
        {
            "embedding": 8,
            **OWN,
            "front": "picture",
            "encoder": RECURRENT,
            "decoder": {"kind": "recurrent", "width": 6},
        }
    )
    model = stirred(
        build_sequence_model(config, source=Pixels(1, 16, 16), target=Symbols(6))
    ).eval()
    made = select_engine(model)
    assert made.compiled is not None
    source = Source(torch.randint(256, (2, 1, 256), dtype=torch.uint8), torch.tensor([1, 1]))
    found, expected = made.encoder.encode(source), model.encoder.encode(source)
    assert found.states is not None
    assert expected.states is not None
    torch.testing.assert_close(found.states.double(), expected.states, rtol=CLOSE, atol=CLOSE)
    assert made.whole is None


HEADS: dict[str, object] = {
    "label by code": {"kind": "label", "pool": "code"},
    "label by mean": {"kind": "label", "pool": "mean", "readout": "perceptron"},
    "label by maximum": {"kind": "label", "pool": "max"},
    "tags": "tags",
    "tags after a perceptron": {"kind": "tags", "readout": "perceptron"},
    "number": "number",
}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("encoder", [RECURRENT, TRANSFORMER], ids=["recurrent", "transformer"])
@torch.no_grad()
def test_heads_in_the_core_say_the_same(name: str, encoder: dict[str, object]) -> None:
    """Labels, tags and numbers, for short and long sources side by side, on one thread or two."""
    config = ModelConfig.model_validate(
        {"embedding": 8, "encoder": encoder, "decoder": HEADS[name]}
    )
    outputs = Numbers(1) if name == "number" else Symbols(5)
    model = stirred(build(config, source=Symbols(9), target=outputs)).eval()
    assert isinstance(model, HeadModel)
    engine = select_head_engine(model)
    assert str(engine).startswith("compiled core")
    assert engine.scorer is not None
    source = Source(torch.randint(1, 9, (3, 5)), LENGTHS)
    rows = [row[:length].numpy() for row, length in zip(source.values, LENGTHS, strict=True)]
    expected = model.double().head(model.encoder.encode(source))
    for threads in (1, 2):
        found = engine.scorer.scores(rows * 50, closing=1, threads=threads)
        for number, scores in enumerate(found):
            whole = expected[number % 3]
            own = whole if len(whole) == 1 else whole[: LENGTHS[number % 3] - 1]
            torch.testing.assert_close(
                torch.from_numpy(scores).double(), own, rtol=CLOSE, atol=5 * CLOSE
            )
    assert engine.scorer.scores([]) == []


@torch.no_grad()
def test_vectors_of_words_read_by_their_letters_are_remembered() -> None:
    asked = []

    class Letters(torch.nn.Module):
        def forward(self, items: torch.Tensor) -> torch.Tensor:
            asked.append(len(items))
            return items.sum(1, keepdim=True).float()

    vectors = TorchVectors(Letters())
    items = np.array([[1, 2], [3, 4], [1, 2], [5, 6]])
    assert vectors.vectors(items).tolist() == [[3], [7], [3], [11]]
    assert vectors.vectors(items[::-1]).tolist() == [[11], [3], [7], [3]]
    assert asked == [3]


@pytest.mark.parametrize("search", [Greedy(), Beam(3, n_best=2), PatientBeam(4)], ids=str)
@pytest.mark.parametrize("name", ["plain rotary alone", "ssru learned alone", "lstm alone"])
@torch.no_grad()
def test_language_models_are_searched_as_a_whole(name: str, search: Search) -> None:
    """There is nothing to read, so all sentences begin alike."""
    model, _ = small_model(name, 1)
    assert missing_forms(model) == []
    made, limits = select_engine(model), Limits(torch.arange(1, 7))
    assert made.compiled is not None
    source = Source(torch.ones(6, 1, dtype=torch.int64), torch.ones(6, dtype=torch.int64))
    expected = run_to_end(
        search, model.decoder, model.decoder.start(model.encoder.encode(source)), limits
    )
    found = made.compiled.search([np.ones(1)] * 6, plan(search), limits)
    assert_same(found, expected)
