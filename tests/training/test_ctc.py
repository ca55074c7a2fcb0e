"""Alignments of a target with an encoder's steps, beside the decoder's loss (S3.5)."""

import math
from itertools import groupby, product

import pytest
import torch
from torch import Tensor

from seqloom.config import ModelConfig
from seqloom.errors import ConfigError, DataError
from seqloom.fields import EMPTY, END, Numbers, Symbols
from seqloom.model import CTCLayer, Memory, SequenceModel, Source, build_sequence_model
from seqloom.training import Example
from seqloom.training.ctc import ctc_losses, minimum_steps
from seqloom.training.loss import LossOptions, backward, measure

SYMBOLS = 7
STACK = {"kind": "recurrent", "width": 6, "layers": 1, "dropout": 0.0}


def network(ctc: float) -> SequenceModel:
    """A model of sound in double precision; the shared weights are the same for every share."""
    front = {"kind": "sound", "width": 6, "halvings": 1, "mask_bands": 0, "mask_frames": 0}
    decoder = {**STACK, "attention": {"kind": "global"}}
    tables = {
        "embedding": 6, "share_vocabulary": False, "ctc": ctc, "front": front,
        "encoder": STACK, "decoder": decoder,
    }  # fmt: skip
    torch.manual_seed(5)
    config = ModelConfig.model_validate(tables)
    return build_sequence_model(config, source=Numbers(4), target=Symbols(SYMBOLS)).double()


def rows(*targets: list[int]) -> Tensor:
    """Targets closed and padded."""
    longest = max(map(len, targets)) + 1
    closed = [[*each, END, *[EMPTY] * (longest - len(each) - 1)] for each in targets]
    return torch.tensor(closed)


def example(*, factors: Tensor | None = None) -> Example:
    generator = torch.Generator().manual_seed(2)
    frames = torch.randn(3, 12, 4, generator=generator, dtype=torch.float64)
    source = Source(frames, torch.tensor([12, 9, 10]))
    return Example(source, rows([4, 5, 5], [6], [4, 6]), factors)


def brute_force(scores: Tensor, target: list[int]) -> float:
    """The likelihood of a target: every path that is read as it, one by one."""
    total = 0.0
    probabilities = scores.detach().softmax(-1)
    for path in product(range(scores.shape[1]), repeat=len(scores)):
        merged = [symbol for symbol, _ in groupby(path)]
        if [symbol for symbol in merged if symbol != EMPTY] == target:
            total += float(torch.stack([probabilities[t, s] for t, s in enumerate(path)]).prod())
    return total


@pytest.mark.parametrize("target", [[4], [4, 5], [4, 4], [5, 4, 5], []])
def test_the_likelihood_is_the_sum_over_all_alignments(target: list[int]) -> None:
    """Of four steps and six symbols, the blank among them; padding changes nothing."""
    torch.manual_seed(1)
    aligner = CTCLayer(3, 6, share=0.5).double()
    states = torch.randn(1, 4, 3, dtype=torch.float64)
    padded = torch.cat([states, torch.full((1, 2, 3), 9.0, dtype=torch.float64)], dim=1)
    mask = torch.tensor([[True] * 4 + [False] * 2])
    (loss,) = ctc_losses(aligner, Memory(1, padded, mask), rows(target)).tolist()
    assert loss == pytest.approx(-math.log(brute_force(aligner(states)[0], target)))


def test_a_blank_parts_what_is_alike() -> None:
    """The steps needed are the fewest for which brute force finds a path."""
    targets = [[4, 5], [4, 4], [4, 4, 4], [5, 4, 4], []]
    assert minimum_steps(rows(*targets)).tolist() == [2, 3, 5, 4, 0]
    for target, needed in zip(targets, [2, 3, 5, 4, 0], strict=True):
        if needed:
            assert brute_force(torch.zeros(needed, 6), target) > 0
            assert brute_force(torch.zeros(needed - 1, 6), target) == 0


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_the_loss_is_shared(share: float) -> None:
    """(1 − w) of the decoder's, w of the alignments'; and so is every gradient."""
    model, given = network(share), example()
    assert model.aligner is not None
    alone = network(share)
    alone.aligner = None
    losses = ctc_losses(model.aligner, model.encoder.encode(given.source), given.target)
    wanted = (1 - share) * measure(alone, given, smoothing=0.1).loss + share * float(
        losses.sum().detach()
    )
    assert measure(model, given, smoothing=0.1).loss == pytest.approx(wanted)
    sums = backward(model, given, LossOptions(0.1, 7.0))
    assert sums.loss == pytest.approx(wanted)
    backward(alone, given, LossOptions(0.1, 7.0))
    by_steps = network(share)
    assert by_steps.aligner is not None
    memory = by_steps.encoder.encode(given.source)
    (ctc_losses(by_steps.aligner, memory, given.target).sum() / 7).backward()
    parts = dict(alone.named_parameters()), dict(by_steps.named_parameters())
    for name, parameter in model.named_parameters():
        one, two = (
            part[name].grad if name in part and part[name].grad is not None else 0 for part in parts
        )
        total = (1 - share) * torch.as_tensor(one) + share * torch.as_tensor(two)
        assert parameter.grad is not None, name
        assert torch.allclose(parameter.grad, total.expand_as(parameter.grad)), name


def test_rows_count_as_much_in_both_losses() -> None:
    """A row with the factor 0 at every position has no part in either."""
    model = network(0.5)
    assert model.aligner is not None
    whole = example()
    factors = torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64)[:, None].expand(3, 4)
    kept = Example(Source(*(each[[0, 0, 2]] for each in whole.source)), whole.target[[0, 0, 2]])
    weighed = measure(model, whole._replace(factors=factors.clone()), smoothing=0.0)
    assert weighed.loss == pytest.approx(measure(model, kept, smoothing=0.0).loss)


def test_too_few_steps_and_other_sources_are_refused() -> None:
    model, given = network(0.5), example()
    long = given._replace(target=rows([4, 5] * 4, [6], [4]))
    with pytest.raises(DataError, match="8 symbols do not fit 6 steps of the source; lower"):
        measure(model, long, smoothing=0.0)
    tables = {"embedding": 6, "ctc": 0.3, "encoder": STACK, "decoder": STACK}
    with pytest.raises(ConfigError, match=r"model.ctc = 0.3 aligns symbols with .* recording"):
        build_sequence_model(
            ModelConfig.model_validate(tables), source=Symbols(9), target=Symbols(9)
        )
