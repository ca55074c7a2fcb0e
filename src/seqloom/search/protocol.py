"""What every search is, a way from distributions to outputs, and what it gives (S7.4)."""

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
    """ConfigError where a beam of such a width cannot give so many outputs."""
    if not 1 <= n_best <= width:
        raise ConfigError(f"a beam of {width} cannot give {n_best} outputs", remedy="widen it")


def check_count(found: int, n_best: int) -> None:
    """ConfigError where a search that gives a fixed number of outputs gives too few."""
    if n_best > found:
        raise ConfigError(
            f"{found} outputs are looked for, and {n_best} wanted", remedy="raise the first"
        )


class Histories(NamedTuple):
    """Every step of N outputs; steps that an output did not make are any value."""

    first: int  # number of the first step
    tokens: Int[np.ndarray, "N T"]
    scores: Float[np.ndarray, "N T"]
    attention: Float[np.ndarray, "N T S"] | None
    likeliest: Int[np.ndarray, "N T A"] | None
    likelihoods: Float[np.ndarray, "N T A"] | None


def hypotheses(frontier: Frontier, *, count: int, complete: bool = True) -> list[list[Hypothesis]]:
    """What has left the frontier, as outputs in the order of the sentences, `count` at most each.

    Impossible outputs, and with `complete` those that never ended, are given only where there is
    nothing better.
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
"""What has left a frontier, and which of its paths are outputs: (B, K)."""


def _is_done(left: FinishedSentences, frontier: Frontier) -> Bool[Tensor, "B"]:
    """Which sentences are done, rather than searched on after a path of theirs was put aside."""
    return ~torch.isin(left.sentences, frontier.sentences)


def _split_chain(partings: list[ChosenPaths]) -> tuple[list[ChosenPaths], list[ChosenPaths]]:
    """Those on the way back from the last, the last first, and the others.

    There are others where searches have joined since.
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
    """The same outputs without those that are there before."""
    return list({output.tokens: output for output in reversed(outputs)}.values())[::-1]


def _select_paths(left: FinishedSentences, count: int, *, complete: bool) -> Bool[Tensor, "B K"]:
    """Which paths of each sentence are outputs."""
    good = left.ranks > -torch.inf
    if complete:
        good = good & left.finished
    wanted = good & (good.cumsum(dim=1) <= count)
    wanted[:, 0] |= ~good.any(dim=1)
    return wanted


def _histories(chain: Sequence[ChosenPaths]) -> Histories:
    """All steps of the outputs of one chain, which are read backwards."""
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
    """The columns side by side; the first has a value for every output."""
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
    """The outputs of one chain, from those that left last; `last` is the token that ends one."""
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
    """Where a search stands; only the search itself looks further into it."""

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        ...

    @property
    def open_sentences(self) -> list[int]:
        """The sentences without a result, by their numbers in the batch."""
        ...


class SearchDefaults(NamedTuple):
    """What the options that were not given follow from: the run, and the outputs wanted."""

    ranking: OutputRanking = PER_TOKEN
    beam: int = 5
    n_best: int = 1

    @property
    def width(self) -> int:
        """Paths to keep: the run's beam, wide enough for the outputs wanted."""
        return max(self.beam, self.n_best)


class Search(MethodOptions, ABC):
    """A way from distributions to outputs, one step at a time for all rows.

    A search is a frozen dataclass, registered in SEARCHES under the name that users choose it by.
    Fields made by `option` are its options; the first line of its docstring is its help.
    """

    can_join: ClassVar[bool] = True  # stands at a Frontier, so sentences may join and leave it
    joins_before_first_step: ClassVar[bool] = False  # and may do so before their first step

    @property
    @abstractmethod
    def paths(self) -> int:
        """Paths of a sentence that are searched at once."""

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
        """The search with these options; a `ranking` is the run's, and so is an absent `width`."""
        known = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        filled = {"ranking": defaults.ranking, "width": defaults.width}
        return cls(**{name: filled[name] for name in filled.keys() & known} | dict(given))

    def with_outputs(self, n_best: int) -> "Search":
        """The same search, set to give `n_best` outputs; ConfigError where it cannot."""
        if "n_best" in {each.name for each in fields(self)}:  # type: ignore[arg-type]
            return replace(self, n_best=n_best)  # type: ignore[type-var]
        return self

    def for_texts(self, decode: Callable[[Phrase], str]) -> "Search":
        """The same search for outputs that `decode` makes texts of."""
        del decode
        return self

    @property
    def uses_attention(self) -> bool:
        """Whether outputs are compared by their attention, so that it has to be traced."""
        ranking: OutputRanking | None = getattr(self, "ranking", None)
        return ranking is not None and ranking.uses_attention

    @property
    def path_count(self) -> int:
        """Paths that the caller asks for, which a server limits."""
        return self.paths

    def work(self, tokens: int) -> int:
        """Positions that decoding reads for so many tokens of output, at most."""
        return tokens * self.paths


def run_to_end(
    search: Search, decoder: Decoder[Any], state: Any, limits: Limits
) -> list[list[Hypothesis]]:
    """Take all steps of a search; its results."""
    frontier = search.begin(state, limits)
    while not frontier.done:
        frontier = search.advance(decoder, frontier)
    return search.results(frontier)
