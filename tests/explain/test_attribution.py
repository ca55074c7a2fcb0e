"""What mattered: derivatives against differences, integrals against captum, erasure against zeros.

S9: integrated gradients add up to the difference of the outputs.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients  # type: ignore[import-untyped]
from torch import Tensor

from seqloom.drawing.views import text_of, write
from seqloom.explanations.attribution import (
    ROWS,
    TOLERANCE,
    Attribution,
    ScaledVectors,
    attribution_view,
    compute_attribution,
)
from seqloom.model import SequenceModel
from seqloom.nn.embedding import Embedding
from seqloom.tasks import explain_output
from tests.explain.pictures import texts
from tests.explain.tiny_models import KINDS, PAIR, named
from tests.prediction.untrained import untrained

SOURCE = len(PAIR.source)
LENGTH = SOURCE + len(PAIR.target)


def scores(model: SequenceModel, scale: np.ndarray) -> np.ndarray:
    found: np.ndarray = ScaledVectors(model, PAIR).scores(torch.from_numpy(scale)).numpy()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_what_small_changes_do(kind: str) -> None:
    """v · ∂ log p / ∂v is the slope of log p as v is scaled, by central differences."""
    model = named(kind)
    found = ScaledVectors(model, PAIR).gradients(np.ones(1), np.ones(1))
    step = 1e-5
    more, less = np.ones((2, LENGTH, LENGTH)) + step * np.array([1, -1])[:, None, None] * np.eye(
        LENGTH
    )
    slopes = (scores(model, more) - scores(model, less)) / (2 * step)
    np.testing.assert_allclose(found, slopes.T, atol=1e-7)
    later = ~np.tri(len(PAIR.target), dtype=bool)
    assert not found[:, SOURCE:][later].any()


@pytest.mark.parametrize(
    "kind", ["gru-take form everything", "one-hot perceptron", "after rotary reads", "gated rotary"]
)
def test_integrated_gradients_add_up(kind: str) -> None:
    """Over all vectors they are log p with them minus log p without them."""
    found = compute_attribution(named(kind), PAIR)
    whole = found.scores - found.baseline_scores
    assert np.abs(found.convergence_delta).max() <= TOLERANCE * np.abs(whole).max()


def test_integrated_gradients_are_those_of_captum() -> None:
    """Another implementation, which walks the same way at another pace."""
    model = named("gru form b")
    encoder: Any = model.encoder
    decoder: Any = model.decoder
    assert isinstance(encoder.embedding, Embedding)
    found = compute_attribution(model, PAIR)
    sides = encoder.embedding, decoder.embedding
    with torch.no_grad():
        read = tuple(
            side(ids)
            for side, ids in zip(
                sides, (PAIR.source_batch()[0], PAIR.decoder_input_ids()), strict=True
            )
        )

    def forward(*vectors: Tensor) -> Tensor:
        handles = [
            side.register_forward_hook(lambda *_, given=given: given)
            for side, given in zip(sides, vectors, strict=True)
        ]
        rows = len(vectors[0])
        memory = model.encoder.encode(PAIR.source_batch(rows))
        features, _ = model.decoder.read(PAIR.decoder_input_ids(rows), model.decoder.start(memory))
        for handle in handles:
            handle.remove()
        logs: Tensor = model.decoder.write(features.hidden).log_softmax(-1)
        return logs[:, range(len(PAIR.target)), PAIR.target_tensor()]

    for row in range(len(PAIR.target)):
        parts = IntegratedGradients(forward).attribute(
            read, target=row, n_steps=100, method="gausslegendre"
        )
        theirs = torch.cat([part.sum(dim=2)[0] for part in parts])
        np.testing.assert_allclose(found.integrated[row], theirs.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("kind", ["lstm form e", "backwards affine", "after sinusoids"])
def test_erasure_is_a_zero_in_the_table(kind: str) -> None:
    """What log p loses when the row of one source symbol is 0; each occurs once here."""
    model = named(kind)
    found = compute_attribution(model, PAIR)
    table = next(module.table for module in model.modules() if isinstance(module, Embedding))
    ones = np.ones((1, LENGTH))
    for place, symbol in enumerate(PAIR.values.tolist()):
        kept = table[symbol].clone()
        with torch.no_grad():
            table[symbol] = 0
        np.testing.assert_allclose(
            found.erasure[:, place], found.scores - scores(model, ones)[0], atol=1e-12
        )
        with torch.no_grad():
            table[symbol] = kept


def test_long_pairs_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows are computed at once changes nothing."""
    model = named("lstm form e")
    whole = compute_attribution(model, PAIR)
    monkeypatch.setattr("seqloom.explanations.attribution.ROWS", 3)
    assert ROWS > 3
    parts = compute_attribution(model, PAIR)
    for name, table in whole.tables().items():
        np.testing.assert_allclose(parts.tables()[name], table, atol=1e-12)


def made(**changes: Any) -> Attribution:
    """A table by hand: two tokens from a source of two."""
    table = np.array([[3.0, 1.0, 0.5, 0.0], [0.0, 2.0, 0.1, 1.0]])
    plain = Attribution(
        ("a", "b"), ("<start>", "x"), ("x", "y"), np.array([-0.1, -0.2]), None,
        table, table, table, np.array([-5.0, -4.0]), 16,
    )  # fmt: skip
    return replace(plain, **changes)


def test_agreement_is_a_rank_correlation() -> None:
    """1 for the same order, −1 for the opposite, and only over what a step could see."""
    same = made(gradient=made().erasure ** 3)
    assert same.agreement() == {"gradient": pytest.approx(1), "integrated": pytest.approx(1)}
    seen = made().erasure != 0
    opposite = np.where(seen, 10 - made().erasure, 0)
    opposite[1, 0] = 20
    assert made(gradient=opposite).agreement()["gradient"] == pytest.approx(-1)


def test_a_look_in_words_and_as_a_picture(tmp_path: Path) -> None:
    """Every look has its name, and every symbol its label."""
    model = untrained("transformer")
    found = attribution_view(model, explain_output(model, "abc", "ab"))
    text = text_of(found, 70)
    assert all(len(line) <= 70 for line in text.splitlines())
    assert text.count("erasure") == 4
    write(found, tmp_path / "mattered.svg", title="")
    assert set(texts(tmp_path / "mattered.svg")) >= {
        "attention", "gradient × input", "integrated gradients", "erasure", "a", "<start>", "<end>",
    }  # fmt: skip
    assert found.as_dict()["points"] >= 16
