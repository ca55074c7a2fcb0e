"""RELIABILITY C1, C2: every search keeps its laws on every decoder, and on ensembles of them."""

import pytest
import torch

from seqloom.model import SequenceModel
from seqloom.model.ensemble import EnsembleDecoder, EnsembleMemory, network_ensemble
from tests.checks import Subject, check_decoder
from tests.counts import count
from tests.model.models import VARIANTS, attends, case, model_of, sources
from tests.search_checks import check_rankings, check_searches
from tests.shapes import without_shapes

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures(without_shapes.__name__)]

CASES = count(12, 2 * len(VARIANTS))


def subject_of(number: int) -> Subject:
    model, source, vocabulary, looks = case(number)
    return Subject(model, source, torch.Generator().manual_seed(number), vocabulary, looks)


@pytest.mark.parametrize("number", range(CASES))
@torch.no_grad()
def test_every_search_on_every_decoder(number: int) -> None:
    """RELIABILITY C2; `tests/search_checks.py` names the laws one by one."""
    check_searches(subject_of(number))


@pytest.mark.parametrize("number", range(CASES, CASES + count(12, 700)))
@torch.no_grad()
def test_every_ranking_on_every_decoder(number: int) -> None:
    """RELIABILITY C1, with each penalty."""
    check_rankings(subject_of(number))


def pair(number: int) -> tuple[SequenceModel, bool]:
    """Two models of different kinds as one, and whether it attends."""
    torch.manual_seed(number)
    configs = [VARIANTS[number * 61 % len(VARIANTS)], VARIANTS[(number * 31 + 7) % len(VARIANTS)]]
    models = [model_of(config, source_size=9, target_size=6) for config in configs]
    return network_ensemble(models), any(map(attends, configs))


@pytest.mark.parametrize("number", range(count(2, 100)))
@torch.no_grad()
def test_an_ensemble_is_a_decoder_like_any_other(number: int) -> None:
    """Every law of the protocol and of search holds for two models together (S7.4)."""
    model, looks = pair(number)
    source = sources(2, size=9)
    check_decoder(model, source, vocabulary=6, seed=number, attends=looks)
    check_searches(Subject(model, source, torch.Generator().manual_seed(number), 6, looks))


@pytest.mark.parametrize("number", range(5))
@torch.no_grad()
def test_the_probability_of_an_ensemble_is_the_mean(number: int) -> None:
    model, _ = pair(number)
    assert isinstance(model.decoder, EnsembleDecoder)
    memory = model.encoder.encode(sources(3, size=9))
    assert isinstance(memory, EnsembleMemory)
    inputs = torch.randint(0, 6, (3, 4))
    features, _ = model.decoder.read(inputs, model.decoder.start(memory))
    found = model.decoder.write(features.hidden).exp()
    probabilities = []
    for member, theirs in zip(model.decoder.members, memory.members, strict=True):
        own, _ = member.read(inputs, member.start(theirs))
        probabilities.append(member.write(own.hidden).softmax(-1))
    torch.testing.assert_close(found, sum(probabilities) / 2, rtol=0, atol=1e-12)


def test_one_model_alone_is_itself() -> None:
    model, _, _, _ = case(3)
    assert network_ensemble([model]) is model
