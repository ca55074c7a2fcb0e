"""Exact search by branch and bound; returns the best output known at a limit (S7.5).

A path whose upper bound is below the rank of a known output is pruned; when no path is left, the
known output is proved optimal.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.config.searches import SEARCHES, ExactOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.continuations import path_ranks
from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.methods.beam import Beam
from seqloom.search.protocol import Search, SearchDefaults, hypotheses
from seqloom.search.ranking import PLAIN, OutputRanking

__all__ = ["Exact", "ExactSearchState"]

WAITING = 4  # typical number of lengths with open branches


class Branches(NamedTuple):
    """Open branches, sentence by sentence, by decreasing upper bound."""

    rows: Int[Tensor, "C"]  # rows of the paths they continue
    tokens: Int[Tensor, "C"]
    gains: Float[Tensor, "C"]
    upper_bounds: Float[Tensor, "C"]

    def select(self, which: Tensor) -> "Branches":
        """These branches, by number or by mask."""
        return Branches(*(part[which] for part in self))


class Level(NamedTuple):
    """Expanded paths of one length, and their open branches."""

    frontier: Frontier
    choices: Choices
    branches: Branches

    @property
    def owners(self) -> Int[Tensor, "C"]:
        """Which of the level's sentences each branch belongs to."""
        return self.branches.rows // self.frontier.width


@dataclass(frozen=True)
class ExactSearchState:
    """The state of an exact search; tensors have one value per sentence of the batch."""

    beam: Frontier  # of the beam search for the first bounds
    root: Frontier | None  # the empty paths, until they are expanded
    levels: tuple[Level, ...]  # the longest paths last
    bounds: Float[Tensor, "B"]  # the rank that an output must exceed
    expansions: Int[Tensor, "B"]  # expansions left
    seconds: Float[Tensor, "B"]
    stopped: Bool[Tensor, "B"]  # stopped at a limit with open branches
    best_outputs: tuple[tuple[Hypothesis, ...], ...]

    @property
    def done(self) -> bool:
        """Whether every sentence is proved or stopped."""
        return self.beam.done and self.root is None and not self.levels

    @property
    def open_sentences(self) -> list[int]:
        """All sentences, until all are proved or stopped."""
        return [] if self.done else list(range(len(self.best_outputs)))


@SEARCHES.part("exact")
@dataclass(frozen=True)
class Exact(ExactOptions, Search):
    """The exact optimum, or the best output known when a limit stops the search.

    Outputs are proved to be the `n_best` best unless a limit stops the search. Ties go to the
    shorter output, then to lower token ids. A beam search gives the first bound; then paths are
    expanded depth first, the `width` most promising of each sentence at once, so the result does
    not depend on the other sentences of the batch. Both limits are per sentence: expansions, and
    seconds, shared equally by sentences searched together. Stahlberg and Byrne 2019, On NMT Search
    Errors and Model Errors.
    """

    can_join: ClassVar[bool] = False

    ranking: OutputRanking = PLAIN
    _: KW_ONLY
    seconds: float = math.inf
    n_best: int = 1
    width: int = 16

    def __post_init__(self) -> None:
        if min(self.expansions, self.n_best, self.width) < 1 or not self.seconds > 0:
            raise ConfigError("an exact search needs expansions, seconds, n_best and width above 0")

    @property
    def paths(self) -> int:
        """Paths of a sentence held at once, of several lengths."""
        return WAITING * max(self.width, self.n_best)

    @property
    def path_count(self) -> int:
        """None: the number of open branches is not a request's to choose."""
        return 0

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        return cls(defaults.ranking, **given)

    def begin(self, state: Any, limits: Limits) -> ExactSearchState:
        count, device = len(limits.longest), limits.longest.device
        root = Frontier.start(state, limits, covers=self.uses_attention)
        copy = state.select(torch.arange(count, device=device))
        zeros = torch.zeros(count, dtype=torch.float64, device=device)
        return ExactSearchState(
            beam=self._beam.begin(copy, limits),
            root=root if count else None,
            levels=(),
            bounds=zeros - torch.inf,
            expansions=torch.full_like(limits.longest, self.expansions),
            seconds=zeros + self.seconds,
            stopped=zeros.bool(),
            best_outputs=((),) * count,
        )

    def advance(self, decoder: Decoder[Any], tree: ExactSearchState, /) -> ExactSearchState:
        """Take a step of the beam search, or expand the most promising branches of the longest
        paths.
        """
        if not tree.beam.done:
            return self._beam_step(decoder, tree)
        began = time.monotonic()
        tree, frontier = self._next_paths(tree)
        if frontier is None:
            return tree
        read = (frontier.totals > -torch.inf).sum(dim=1)
        tree = self._expand_paths(decoder, tree, frontier)
        share = torch.full_like(tree.seconds[frontier.sentences], time.monotonic() - began)
        return replace(
            tree,
            expansions=tree.expansions.index_add(0, frontier.sentences, -read),
            seconds=tree.seconds.index_add(0, frontier.sentences, -share / len(read)),
        )

    def results(self, tree: ExactSearchState, /) -> list[list[Hypothesis]]:
        """The best outputs of each sentence; the beam's best path if no finished output
        is known.
        """
        first = self._beam.results(tree.beam)
        return [
            [replace(each, limited=stopped) for each in known or paths[:1]]
            for known, paths, stopped in zip(
                tree.best_outputs, first, tree.stopped.tolist(), strict=True
            )
        ]

    @property
    def _beam(self) -> Beam:
        return Beam(max(self.width, self.n_best), ranking=self.ranking, n_best=self.n_best)

    def _beam_step(self, decoder: Decoder[Any], tree: ExactSearchState) -> ExactSearchState:
        tree = replace(tree, beam=self._beam.advance(decoder, tree.beam))
        if not tree.beam.done:
            return tree
        found = enumerate(self._beam.results(tree.beam))
        return self._record_outputs(tree, [(n, each) for n, known in found for each in known])

    def _record_outputs(
        self, tree: ExactSearchState, offers: list[tuple[int, Hypothesis]]
    ) -> ExactSearchState:
        """Record the best of these outputs, and update the bounds."""
        found, bounds = list(tree.best_outputs), tree.bounds.clone()
        for number, output in offers:
            known = {each.tokens: each for each in (output, *found[number])}
            if output.finished and output.rank_score > -math.inf:
                found[number] = tuple(sorted(known.values(), key=_order)[: self.n_best])
            if len(found[number]) == self.n_best:
                bounds[number] = found[number][-1].rank_score
        return replace(tree, best_outputs=tuple(found), bounds=bounds)

    def _next_paths(self, tree: ExactSearchState) -> tuple[ExactSearchState, Frontier | None]:
        """The paths to expand now; a sentence at a limit stops if it has any."""
        if tree.root is not None:
            return replace(tree, root=None), tree.root
        spent = (tree.expansions < 1) | (tree.seconds <= 0)
        stopped, levels = tree.stopped, tree.levels
        while levels:
            *below, level = levels
            sentences = level.frontier.sentences[level.owners]
            live = (level.branches.upper_bounds >= tree.bounds[sentences]) & ~stopped[sentences]
            stopped = stopped.index_fill(0, sentences[live & spent[sentences]], True)
            live &= ~stopped[sentences]
            if bool(live.any()):
                level = level._replace(branches=level.branches.select(live))
                most = tree.expansions.clamp(max=self.width)
                frontier, rest = _take_branches(level, most[level.frontier.sentences])
                return replace(tree, stopped=stopped, levels=(*below, *rest)), frontier
            levels = tuple(below)
        return replace(tree, stopped=stopped, levels=()), None

    def _expand_paths(
        self, decoder: Decoder[Any], tree: ExactSearchState, frontier: Frontier
    ) -> ExactSearchState:
        """Expand paths: record the outputs they complete, and add a level of their branches."""
        choices = frontier.read(decoder)
        gains = choices.logits - choices.norms[:, None]
        ends = self._complete_outputs(tree, frontier, choices, gains[:, frontier.limits.end])
        tree = self._record_outputs(tree, ends)
        branches = self._branches(tree, frontier, gains)
        if not len(branches.rows):
            return tree
        # Free the previous state and the logits, which are large.
        frontier = replace(frontier, state=None)
        choices = choices._replace(logits=choices.logits[:, :0].clone())
        return replace(tree, levels=(*tree.levels, Level(frontier, choices, branches)))

    def _complete_outputs(
        self, tree: ExactSearchState, frontier: Frontier, choices: Choices, last: Float[Tensor, "R"]
    ) -> list[tuple[int, Hypothesis]]:
        """The outputs that the paths become by `<end>`, unless worse than the bound."""
        shape = frontier.totals.shape
        ends = torch.full(shape, frontier.limits.end, device=last.device)
        ended = frontier.grow(choices, Continuations(ends, last.view(shape)))
        ranks = path_ranks(ended, self.ranking)
        ranks = ranks.masked_fill(ranks < tree.bounds[frontier.sentences, None], -torch.inf)
        some = (ranks > -torch.inf).any(dim=1)
        found = hypotheses(ended.finish_sentences(some, ranks), count=frontier.width)
        numbers = frontier.sentences[some].sort().values.tolist()
        return [(n, each) for n, known in zip(numbers, found, strict=True) for each in known]

    def _branches(
        self, tree: ExactSearchState, frontier: Frontier, gains: Float[Tensor, "R V"]
    ) -> Branches:
        """The branches whose upper bound is not below the known rank."""
        totals = frontier.totals.flatten()[:, None] + gains
        longest, shortest = (  # including the token and `<end>`
            values.repeat_interleave(frontier.width)[:, None]
            for values in (frontier.limits.longest, frontier.steps + 2)
        )
        upper = self.ranking.upper_bound(
            totals, shortest.expand_as(totals), longest.expand_as(totals)
        )
        bounds = tree.bounds[frontier.sentences].repeat_interleave(frontier.width)[:, None]
        # One comparison: impossible tokens have bound −∞, and paths without room have none.
        bounds = bounds.to(upper.dtype).clamp(min=torch.finfo(upper.dtype).min)
        worth = upper >= bounds.masked_fill(shortest > longest, torch.inf)
        worth[:, frontier.limits.end] = False
        rows, tokens = worth.nonzero(as_tuple=True)
        found = Branches(rows, tokens, gains[rows, tokens], upper[rows, tokens])
        found = found.select(found.upper_bounds.argsort(descending=True, stable=True))
        return found.select((found.rows // frontier.width).argsort(stable=True))


def _take_branches(level: Level, most: Int[Tensor, "B"]) -> tuple[Frontier, list[Level]]:
    """Take each sentence's first branches, at most `most`; return their paths and the remaining
    level.
    """
    frontier, choices, branches = level
    owners = level.owners
    places = torch.arange(len(owners), device=owners.device) - torch.searchsorted(owners, owners)
    taken = places < most[owners]
    rest = [level._replace(branches=branches.select(~taken))] if not bool(taken.all()) else []
    branches, owners, places = branches.select(taken), owners[taken], places[taken]
    parents = torch.zeros(len(most), int(places.max()) + 1, dtype=torch.int64, device=owners.device)
    tokens = torch.full_like(parents, frontier.limits.end)
    gains = branches.gains.new_full(parents.shape, -torch.inf)  # of unused slots
    parents[owners, places] = branches.rows % frontier.width
    tokens[owners, places] = branches.tokens
    gains[owners, places] = branches.gains
    grown = frontier.grow(choices, Continuations(tokens, gains, parents))
    grown = replace(
        grown.finish_sentences(gains[:, 0] == -torch.inf, grown.totals), finished_sentences=()
    )
    if rest:
        grown = _copy_state(grown)
    return grown, rest


def _copy_state(frontier: Frontier) -> Frontier:
    """Copy the frontier's state, since `read` would consume it."""
    if frontier.rows is not None:
        return frontier  # `path_states` selects, and so copies, the state before it is read
    rows = torch.arange(frontier.totals.numel(), device=frontier.totals.device)
    return replace(frontier, state=frontier.state.select(rows))


def _order(output: Hypothesis) -> tuple[float, int, tuple[int, ...]]:
    return -output.rank_score, len(output.tokens), output.tokens
