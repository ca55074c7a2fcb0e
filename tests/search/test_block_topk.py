"""Forks found by blocks of tokens are those that are found path by path (S7.3)."""

from dataclasses import replace

import pytest
import torch

from seqloom.model import Memory
from seqloom.search import Limits
from seqloom.search.continuations import candidates, continuations_by_blocks
from seqloom.search.frontier import Choices, Continuations, Frontier, Notes
from tests.search.stubs import Scripted

PATHS, SENTENCES = 3, 4


def frontier_of(number: int, *, some: bool) -> Frontier:
    """Random totals of three paths in four sentences, some of them finished if `some`."""
    drawn = torch.Generator().manual_seed(number)
    state = Scripted(lambda *_: []).start(Memory(SENTENCES))
    start = Frontier.start(state, Limits(torch.full((SENTENCES,), 9)))
    totals = -torch.rand(SENTENCES, PATHS, generator=drawn) * 9
    finished = torch.rand(SENTENCES, PATHS, generator=drawn) < 0.5 * some
    finished[:, 0] = False
    lengths, some = torch.zeros_like(finished, dtype=torch.int64), bool(finished.any())
    return replace(start, totals=totals, lengths=lengths, finished=finished, any_finished=some)


def choices_of(number: int, frontier: Frontier, width: int) -> Choices:
    """Random logits for the paths that are not finished; some tokens may not be written."""
    drawn = torch.Generator().manual_seed(number)
    rows = (~frontier.finished).flatten().nonzero().squeeze(1)
    logits = torch.randn(len(rows), width, generator=drawn) * 3
    norms = logits.logsumexp(dim=1)
    logits[:, torch.randint(width, (width // 2,), generator=drawn)] = -torch.inf
    return Choices(logits, norms, None, Notes(), rows if frontier.any_finished else None)


def path_by_path(frontier: Frontier, choices: Choices, count: int) -> Continuations:
    """All candidates of a sentence sorted."""
    gains, tokens = candidates(frontier, choices, count)
    choice = (frontier.totals[:, :, None] + gains).flatten(1).sort(dim=1, descending=True).indices
    choice = choice[:, :count]
    return Continuations(
        tokens.flatten(1).gather(1, choice),
        gains.flatten(1).gather(1, choice),
        choice // gains.shape[2],
    )


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("width", [1_280, 1_500, 2_000])
@pytest.mark.parametrize("some", [False, True])
def test_the_forks_are_the_same(number: int, width: int, some: bool) -> None:
    frontier = frontier_of(number, some=some)
    choices, count = choices_of(number, frontier, width), 2 + number % 7
    found = continuations_by_blocks(frontier, choices, count)
    expected = path_by_path(frontier, choices, count)
    assert found is not None
    assert found.parents is not None
    assert expected.parents is not None
    assert torch.equal(found.parents, expected.parents)
    assert torch.equal(found.gains, expected.gains)
    going = ~frontier.finished.gather(1, found.parents)  # whatever a finished path writes is empty
    assert torch.equal(found.tokens[going], expected.tokens[going])


def test_no_answer_where_forks_tie_or_there_are_no_blocks() -> None:
    """Ties are for the plain way, which knows whose index is lower."""
    frontier = frontier_of(1, some=False)
    choices = choices_of(1, frontier, 1_280)
    tied = choices.logits.clone()
    tied[:, 7] = tied[:, 9] = 50.0
    assert continuations_by_blocks(frontier, choices._replace(logits=tied), 4) is None
    assert continuations_by_blocks(frontier, choices_of(1, frontier, 1_283), 4) is None
    assert continuations_by_blocks(frontier, choices_of(1, frontier, 640), 4) is None
