"""The interface of search algorithms, and the collection of their results (S7.4)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.config.searches import MethodOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.frontier import FinishedSentences, Frontier, SearchStep
from seqloom.search.hypothesis import Alternatives, Hypothesis
from seqloom.search.limits import Limits, Phrase
from seqloom.search.ranking import PER_TOKEN, OutputRanking

__all__ = [
    "Search",
    "SearchDefaults",
    "SearchState",
    "check_count",
    "check_outputs",
    "deduplicate",
    "hypotheses",
    "run_to_end",
]


def check_outputs(n_best: int, width: int) -> None:
    """ConfigError if a beam of this width cannot give so many outputs."""
    if not 1 <= n_best <= width:
        raise ConfigError(f"a beam of {width} cannot give {n_best} outputs", remedy="widen it")


def check_count(found: int, n_best: int) -> None:
    """ConfigError if a search with a fixed number of outputs gives too few."""
    if n_best > found:
        raise ConfigError(
            f"{found} outputs are looked for, and {n_best} wanted", remedy="raise the first"
        )


class Histories(NamedTuple):
    """All steps of N outputs; steps beyond an output's length have arbitrary values."""

    first: int  # number of the first step
    tokens: Int[np.ndarray, "N T"]
    scores: Float[np.ndarray, "N T"]
    attention: Float[np.ndarray, "N T S"] | None
    likeliest: Int[np.ndarray, "N T A"] | None
    likelihoods: Float[np.ndarray, "N T A"] | None


def hypotheses(frontier: Frontier, *, count: int, complete: bool = True) -> list[list[Hypothesis]]:
    """The finished paths as outputs in the order of the sentences, at most `count` each.

    Impossible outputs, and with `complete` unfinished ones, are included only if there is nothing
    better.
    """
    results: dict[int, list[Hypothesis]] = {}
    pending = [
        (left, _select_paths(left, count, complete=complete) & _is_done(left, frontier)[:, None])
        for left in frontier.finished_sentences
    ]
    while pending:
        chain, pending = _split_chain(pending)
        found = _outputs(chain, frontier.limits.end)
        for left, chosen in chain:
            for sentence in left.sentences.repeat_interleave(chosen.sum(dim=1)).tolist():
                results.setdefault(sentence, []).append(next(found))
    return [results[sentence] for sentence in sorted(results)]


ChosenPaths = tuple[FinishedSentences, Tensor]
"""Finished sentences, and a mask of the paths that are outputs: (B, K)."""


def _is_done(left: FinishedSentences, frontier: Frontier) -> Bool[Tensor, "B"]:
    """True for sentences that are done, not still searched after one of their paths finished."""
    return ~torch.isin(left.sentences, frontier.sentences)


def _split_chain(partings: list[ChosenPaths]) -> tuple[list[ChosenPaths], list[ChosenPaths]]:
    """Split into those on the chain of steps of the last, latest first, and the others.

    There are others if searches have joined since.
    """
    chain, others = list[ChosenPaths](), list[ChosenPaths]()
    step: SearchStep | None = partings[-1][0].step
    steps = set()
    while step is not None:
        steps.add(id(step))
        step = step.previous
    for parting in partings:
        (chain if id(parting[0].step) in steps else others).append(parting)
    return chain[::-1], others


def deduplicate(outputs: list[Hypothesis]) -> list[Hypothesis]:
    """The outputs without duplicates."""
    return list({output.tokens: output for output in reversed(outputs)}.values())[::-1]


def _select_paths(left: FinishedSentences, count: int, *, complete: bool) -> Bool[Tensor, "B K"]:
    """A mask of the paths that are outputs."""
    good = left.ranks > -torch.inf
    if complete:
        good = good & left.finished
    wanted = good & (good.cumsum(dim=1) <= count)
    wanted[:, 0] |= ~good.any(dim=1)
    return wanted


def _histories(chain: Sequence[ChosenPaths]) -> Histories:
    """Trace back all steps of the outputs of one chain."""
    first = min(left.depth - int(left.steps.max()) for left, _ in chain)
    pending = [(left.step, left.rows[chosen]) for left, chosen in reversed(chain)]
    columns: list[tuple[np.ndarray | None, ...]] = []
    step: SearchStep | None = pending[-1][0]
    rows = np.empty(0, dtype=np.int64)
    made = chain[0][0].depth - first
    while step is not None and len(columns) < made:
        while pending and pending[-1][0] is step:
            rows = np.concatenate([rows, _array(pending.pop()[1])])
        read = rows if step.parents is None else _array(step.parents)[rows]
        notes = (None if note is None else _array(note)[read] for note in step.notes)
        columns.append((_array(step.tokens)[rows], _array(step.scores)[rows], *notes))
        rows = read if step.previous_rows is None else _array(step.previous_rows)[read]
        step = step.previous
    columns.reverse()
    return Histories(first, *(_table(values) for values in zip(*columns, strict=True)))


def _array(values: Tensor) -> np.ndarray:
    array: np.ndarray = values.cpu().numpy()
    return array


def _table(columns: Sequence[np.ndarray | None]) -> Any:
    """Stack the columns; the first has a value for every output."""
    present = [column for column in columns if column is not None]
    if not present:
        return None
    first = present[0]
    sizes = np.max([column.shape[1:] for column in present], axis=0).astype(int)
    table = np.zeros((len(first), len(present), *sizes), dtype=first.dtype)
    for number, column in enumerate(present):
        where = tuple(slice(size) for size in column.shape)
        table[:, number][where] = column
    return table


def _outputs(chain: Sequence[ChosenPaths], last: int) -> Iterator[Hypothesis]:
    """The outputs of one chain, latest first; `last` is the end token."""
    histories = _histories(chain)
    tokens, scores = histories.tokens.tolist(), histories.scores.tolist()
    number = 0
    for left, chosen in chain:
        finished, ranks = left.finished[chosen].tolist(), left.ranks[chosen].tolist()
        made = left.steps.repeat_interleave(chosen.sum(dim=1)).tolist()
        for ended, rank, most in zip(finished, ranks, made, strict=True):
            end = left.depth - histories.first
            first = end - most
            if ended:
                end = tokens[number].index(last, first)
            steps = slice(first, end + ended)
            yield Hypothesis(
                tuple(tokens[number][first:end]),
                tuple(scores[number][steps]),
                ended,
                rank,
                _attention(histories, number, steps),
                _alternatives(histories, number, steps),
            )
            number += 1


def _attention(histories: Histories, number: int, steps: slice) -> Float[np.ndarray, "T S"] | None:
    return None if histories.attention is None else histories.attention[number, steps]


def _alternatives(histories: Histories, number: int, steps: slice) -> tuple[Alternatives, ...]:
    if histories.likeliest is None or histories.likelihoods is None:
        return ()
    tokens = histories.likeliest[number, steps].tolist()
    scores = histories.likelihoods[number, steps].tolist()
    return tuple(
        tuple((token, score) for token, score in zip(*pair, strict=True) if score > -torch.inf)
        for pair in zip(tokens, scores, strict=True)
    )


@runtime_checkable
class SearchState(Protocol):
    """The state of a search, opaque to its callers."""

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        ...

    @property
    def open_sentences(self) -> list[int]:
        """The sentences without a result, by batch index."""
        ...


class SearchDefaults(NamedTuple):
    """The values from which absent options follow: the run's search options and the number of
    outputs.
    """

    ranking: OutputRanking = PER_TOKEN
    beam: int = 5
    n_best: int = 1

    @property
    def width(self) -> int:
        """The beam width: the run's, or more if more outputs are requested."""
        return max(self.beam, self.n_best)


class Search(MethodOptions, ABC):
    """Base class of search algorithms, which advance one step at a time for all rows.

    A search is a frozen dataclass, registered in SEARCHES under its name for users.
    Fields made by `option` are its options; the first line of its docstring is its help.
    """

    can_join: ClassVar[bool] = (
        True  # whether its state is a Frontier, so that sentences may join and leave
    )
    joins_before_first_step: ClassVar[bool] = False  # and may do so before their first step

    @property
    @abstractmethod
    def paths(self) -> int:
        """The number of paths per sentence."""

    @abstractmethod
    def begin(self, state: Any, limits: Limits) -> Any:
        """The state before the first step, with one path for each sentence."""

    @abstractmethod
    def advance(self, decoder: Decoder[Any], state: Any, /) -> Any:
        """Take one step for every sentence that is not done."""

    @abstractmethod
    def results(self, state: Any, /) -> list[list[Hypothesis]]:
        """The outputs of each sentence that is done, best first."""

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> "Search":
        """Build the search from options; `ranking` and an absent `width` are the run's."""
        known = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        filled = {"ranking": defaults.ranking, "width": defaults.width}
        return cls(**{name: filled[name] for name in filled.keys() & known} | dict(given))

    def with_outputs(self, n_best: int) -> "Search":
        """The search set to return `n_best` outputs; ConfigError if it cannot."""
        if "n_best" in {each.name for each in fields(self)}:  # type: ignore[arg-type]
            return replace(self, n_best=n_best)  # type: ignore[type-var]
        return self

    def for_texts(self, decode: Callable[[Phrase], str]) -> "Search":
        """The search for outputs that `decode` turns into texts."""
        del decode
        return self

    @property
    def uses_attention(self) -> bool:
        """Whether the ranking uses attention, so that it must be traced."""
        ranking: OutputRanking | None = getattr(self, "ranking", None)
        return ranking is not None and ranking.uses_attention

    @property
    def path_count(self) -> int:
        """The number of paths requested by the caller, which a server limits."""
        return self.paths

    def work(self, tokens: int) -> int:
        """The most positions that decoding reads for so many output tokens."""
        return tokens * self.paths


def run_to_end(
    search: Search, decoder: Decoder[Any], state: Any, limits: Limits
) -> list[list[Hypothesis]]:
    """Run a search to its end; return the results."""
    frontier = search.begin(state, limits)
    while not frontier.done:
        frontier = search.advance(decoder, frontier)
    return search.results(frontier)
