"""Best path and prefix beam search over the steps of a source, against brute force (S1.1)."""

import math
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, Symbols
from seqloom.model import Source, build_sequence_model
from seqloom.search import Beam, BestPath, Hypothesis, Limits, PrefixBeam, Search, run_to_end
from tests.model.ctc_models import case, config, frame_scores, labellings, single
from tests.model.models import NAMED

WIDE = 400  # more prefixes than four steps and three labels have


Chances = dict[tuple[int, ...], float]


def found(search: Search, number: int, **limits: Any) -> tuple[list[Hypothesis], Chances]:
    """The outputs of a search for one tiny source, and all labellings there are."""
    model, source = case(number)
    source = single(source, 0)
    state = model.decoder.start(model.encoder.encode(source), trace=True)
    bounds = replace(Limits(torch.tensor([6]), forbidden=(EMPTY,)), **limits)
    (outputs,) = run_to_end(search, model.decoder, state, bounds)
    return outputs, labellings(frame_scores(model, source)[0])


@pytest.mark.parametrize("number", range(12))
@torch.no_grad()
def test_a_wide_prefix_beam_is_brute_force(number: int) -> None:
    """The likeliest labellings of all, in order, each scored by the sum over its alignments."""
    outputs, everything = found(PrefixBeam(WIDE, n_best=4), number)
    expected = sorted(everything, key=lambda labels: -everything[labels])[:4]
    assert [output.tokens for output in outputs] == expected
    for output in outputs:
        assert output.finished
        assert output.score == pytest.approx(math.log(everything[output.tokens]), abs=1e-9)
        assert output.rank_score == output.score
        assert output.attention is not None
        assert len(output.attention) == len(output.token_scores) == len(output.tokens) + 1


@pytest.mark.parametrize("number", range(12))
@torch.no_grad()
def test_a_narrow_prefix_beam_adds_up_what_it_keeps(number: int) -> None:
    """One prefix finds a labelling no better than the best, and says its true score; more prefixes
    never a worse one on these sources."""
    best = -math.inf
    for width in (1, 2, 8, WIDE):
        (output,), everything = found(PrefixBeam(width), number)
        assert output.score == pytest.approx(math.log(everything[output.tokens]), abs=1e-9)
        best = max(best, output.score)
    assert best == pytest.approx(math.log(max(everything.values())))
    assert output.score == pytest.approx(best)


@pytest.mark.parametrize("number", range(12))
@torch.no_grad()
def test_the_best_path_is_the_likeliest_symbol_of_each_step(number: int) -> None:
    (output,), everything = found(BestPath(), number)
    model, source = case(number)
    path = frame_scores(model, single(source, 0))[0].argmax(dim=1).tolist()
    assert output.tokens == tuple(symbol for symbol, _ in groupby(path) if symbol != EMPTY)
    assert output.score == pytest.approx(math.log(everything[output.tokens]), abs=1e-9)


@torch.no_grad()
def test_the_best_path_can_miss_what_the_prefix_beam_finds() -> None:
    """Two steps with a blank of .6 and `4` of .4: the best path has .36, but becomes nothing; `4`
    has .16 + .24 + .24 = .64."""
    frames = np.log(np.array([[0.6, 0, 0, 0, 0.4]] * 2) + 1e-300)
    assert BestPath().labellings(frames, 5) == [()]
    assert PrefixBeam(2).labellings(frames, 5) == [(4,), ()]


@torch.no_grad()
def test_batch_mates_and_limits() -> None:
    """Sources searched together give what each gives alone; no output is longer than allowed."""
    torch.manual_seed(9)
    model, source = case(2)
    alone = [single(source, number, longest=9) for number in range(len(source.lengths))]
    longest = torch.tensor([3, 2, 4])[: len(alone)]
    for search in (PrefixBeam(3, n_best=2), BestPath()):
        state = model.decoder.start(model.encoder.encode(source))
        together = run_to_end(search, model.decoder, state, Limits(longest, forbidden=(EMPTY,)))
        for number, each in enumerate(alone):
            state = model.decoder.start(model.encoder.encode(each))
            limits = Limits(longest[number : number + 1], forbidden=(EMPTY,))
            (mine,) = run_to_end(search, model.decoder, state, limits)
            assert [one.tokens for one in mine] == [one.tokens for one in together[number]]
            for one, other in zip(mine, together[number], strict=True):
                assert one.score == pytest.approx(other.score)
                assert len(one.token_scores) <= int(longest[number])
                assert one.finished == (len(one.tokens) < int(longest[number]))


@torch.no_grad()
def test_forbidden_symbols_and_alternatives() -> None:
    outputs, _ = found(PrefixBeam(WIDE, n_best=5), 3, forbidden=(EMPTY, 4), n_alternatives=2)
    assert all(4 not in output.tokens for output in outputs)
    for output in outputs:
        assert len(output.alternatives) == len(output.token_scores)
        for told, score in zip(output.alternatives, output.token_scores, strict=True):
            assert told == tuple(sorted(told, key=lambda each: -each[1]))
            assert told[0][1] >= score - 1e-12


@torch.no_grad()
def test_what_these_searches_cannot_do() -> None:
    model, source = case(0)
    state = model.decoder.start(model.encoder.encode(source))
    limits = Limits(source.lengths, shortest=source.lengths)
    with pytest.raises(ConfigError, match="knows no prefixes, phrases or shortest length"):
        PrefixBeam(3).begin(state, limits)
    other = build_sequence_model(NAMED["lstm form e"], source=Symbols(9), target=Symbols(6)).eval()
    state = other.decoder.start(other.encoder.encode(Source(*source)))
    with pytest.raises(ConfigError, match=r"model\.decoder\.kind=ctc.*use greedy search or a beam"):
        BestPath().begin(state, Limits(source.lengths))
    with pytest.raises(ConfigError, match="use a prefix beam for several"):
        BestPath().with_outputs(2)
    assert Beam(2).begin(state, Limits(source.lengths)) is not None
    assert config().decoder.kind == "ctc"
