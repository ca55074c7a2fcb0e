"""What every search shares: limits, the paths so far, and the sentences that have left (SPEC S7).

Letters as everywhere: B sentences still searched, K paths for each, R = B·K rows, T steps so far.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import DivergedError
from seqloom.fields import EMPTY, END, START, UNK
from seqloom.model import Decoder

__all__ = [
    "Frontier",
    "Hypothesis",
    "Left",
    "Limits",
    "Paths",
    "Search",
    "hypotheses",
    "next_logits",
    "run_to_end",
]


class Limits(NamedTuple):
    """What an output may be."""

    longest: Int[Tensor, "B"]  # tokens, `<end>` included
    start: int = START
    end: int = END
    forbidden: tuple[int, ...] = (EMPTY, START, UNK)


@dataclass(frozen=True)
class Hypothesis:
    """One output: its tokens, and how likely each was after those before it."""

    tokens: tuple[int, ...]  # without `<end>`
    token_scores: tuple[float, ...]  # with that of `<end>` where it was written
    finished: bool  # ended in `<end>`, rather than at the length limit
    rank_score: float  # what outputs were compared by
    attention: Float[Tensor, "T S"] | None = None

    @property
    def score(self) -> float:
        """The log-probability of the whole output."""
        return sum(self.token_scores)


class Paths(NamedTuple):
    """The histories of all rows."""

    tokens: Int[Tensor, "R T"]
    scores: Float[Tensor, "R T"]  # log-probability of each token
    attention: Float[Tensor, "R T S"] | None = None

    def select(self, rows: Int[Tensor, "R2"]) -> "Paths":
        """The histories of these rows, in this order."""
        attention = None if self.attention is None else self.attention.index_select(0, rows)
        return Paths(
            self.tokens.index_select(0, rows), self.scores.index_select(0, rows), attention
        )

    def append(
        self,
        tokens: Int[Tensor, "R"],
        scores: Float[Tensor, "R"],
        attention: Float[Tensor, "R 1 S"] | None,
    ) -> "Paths":
        """Every history with one more step."""
        before = [] if self.attention is None else [self.attention]
        return Paths(
            torch.cat([self.tokens, tokens[:, None]], dim=1),
            torch.cat([self.scores, scores[:, None]], dim=1),
            None if attention is None else torch.cat([*before, attention], dim=1),
        )


class Left(NamedTuple):
    """Sentences that are done, with their paths best first."""

    sentences: Int[Tensor, "B"]
    paths: Paths
    finished: Bool[Tensor, "B K"]
    ranks: Float[Tensor, "B K"]


@dataclass(frozen=True)
class Frontier:
    """Where a search stands."""

    state: Any  # the decoder's
    limits: Limits
    sentences: Int[Tensor, "B"]  # which sentence of the batch each still is
    paths: Paths
    totals: Float[Tensor, "B K"]  # log-probability of each path
    finished: Bool[Tensor, "B K"]
    left: tuple[Left, ...] = ()

    @classmethod
    def start(cls, state: Any, limits: Limits) -> "Frontier":
        """One empty path for each sentence."""
        count, device = len(limits.longest), limits.longest.device
        empty = Paths(
            torch.zeros(count, 0, dtype=torch.int64, device=device),
            torch.zeros(count, 0, device=device),
        )
        return cls(
            state,
            limits,
            torch.arange(count, device=device),
            empty,
            torch.zeros(count, 1, device=device),
            torch.zeros(count, 1, dtype=torch.bool, device=device),
        )

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        return len(self.sentences) == 0

    @property
    def width(self) -> int:
        """Paths for each sentence."""
        return self.totals.shape[1]

    def leave(self, done: Bool[Tensor, "B"], ranks: Float[Tensor, "B K"]) -> "Frontier":
        """The frontier without the sentences that are done; their paths are kept aside.

        The state must already hold the rows of all sentences; it is cut to those that stay.
        """
        if not bool(done.any()):
            return self
        going, staying = done.nonzero().squeeze(1), (~done).nonzero().squeeze(1)
        order = ranks[going].argsort(dim=1, descending=True, stable=True)  # (B', K)
        left = Left(
            self.sentences[going],
            self.paths.select((going[:, None] * self.width + order).flatten()),
            self.finished[going].gather(1, order),
            ranks[going].gather(1, order),
        )
        slots = torch.arange(self.width, device=staying.device)
        rows = (staying[:, None] * self.width + slots).flatten()
        return replace(
            self,
            state=self.state.select(rows, staying) if len(staying) else self.state,
            limits=self.limits._replace(longest=self.limits.longest[staying]),
            sentences=self.sentences[staying],
            paths=self.paths.select(rows),
            totals=self.totals[staying],
            finished=self.finished[staying],
            left=(*self.left, left),
        )


@runtime_checkable
class Search(Protocol):
    """A way from distributions to outputs, one step at a time for all rows."""

    def begin(self, state: Any, limits: Limits) -> Frontier:
        """The frontier before the first step."""
        ...

    def advance(self, decoder: Decoder[Any], frontier: Frontier) -> Frontier:
        """One step for every sentence that is not done."""
        ...

    def results(self, frontier: Frontier) -> list[list[Hypothesis]]:
        """For each sentence its outputs, best first."""
        ...


def run_to_end(
    search: Search, decoder: Decoder[Any], state: Any, limits: Limits
) -> list[list[Hypothesis]]:
    """All steps of a search, and its results."""
    frontier = search.begin(state, limits)
    while not frontier.done:
        frontier = search.advance(decoder, frontier)
    return search.results(frontier)


def next_logits(
    decoder: Decoder[Any], frontier: Frontier
) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R"], Any, Float[Tensor, "R 1 S"] | None]:
    """Read each path's last token: logits, their logarithmic sum, the state after, the attention.

    What may not be written has logit −∞, yet counts in the sum: probabilities are the model's own.
    """
    tokens = frontier.paths.tokens
    if tokens.shape[1]:
        inputs = tokens[:, -1:]
    else:
        inputs = torch.full_like(frontier.sentences[:, None], frontier.limits.start)
    features, state = decoder.read(inputs, frontier.state)
    logits = decoder.write(features.hidden[:, -1])
    total = logits.logsumexp(dim=-1)
    total = total.masked_fill(total == -torch.inf, 0.0)  # nothing is possible, nothing is gained
    if not bool(total.isfinite().all()):
        raise DivergedError("the model gives probabilities that are not numbers; train it again")
    logits[:, list(frontier.limits.forbidden)] = -torch.inf
    return logits, total, state, features.attention


def hypotheses(frontier: Frontier, *, count: int) -> list[list[Hypothesis]]:
    """What has left the frontier, as outputs in the order of the sentences, `count` at most each.

    Outputs that never ended, or are impossible, are given only where there is nothing better.
    """
    results: dict[int, list[Hypothesis]] = {}
    for left in frontier.left:
        found = iter(_all_paths(left, frontier.limits.end))
        for sentence in left.sentences.tolist():
            paths = list(islice(found, left.finished.shape[1]))
            complete = [each for each in paths if each.finished and each.rank_score > -torch.inf]
            results[sentence] = (complete or paths[:1])[:count]
    return [results[sentence] for sentence in sorted(results)]


def _all_paths(left: Left, end: int) -> Iterator[Hypothesis]:
    rows = zip(
        left.paths.tokens.tolist(),
        left.paths.scores.tolist(),
        left.finished.flatten().tolist(),
        left.ranks.flatten().tolist(),
        strict=True,
    )
    for row, (tokens, scores, finished, rank) in enumerate(rows):
        length = tokens.index(end) if finished else len(tokens)
        steps = length + finished
        seen = None if left.paths.attention is None else left.paths.attention[row, :steps]
        yield Hypothesis(tuple(tokens[:length]), tuple(scores[:steps]), finished, rank, seen)
