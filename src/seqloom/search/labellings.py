"""Base of searches over source steps, for CTC decoders (S1.1).

They advance over the encoder's steps rather than over output symbols, so they need a CTC decoder.
The score of an output is summed over all its alignments.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY
from seqloom.model import CTCState, Decoder
from seqloom.search.hypothesis import Alternatives, Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import Search
from seqloom.search.topk import stable_topk

__all__ = ["Labelling", "LabellingSearch", "LabellingSearchState", "symbol_changes"]

Labelling = tuple[int, ...]


@dataclass(frozen=True)
class LabellingSearchState:
    """The state before or after the only step of the search."""

    state: CTCState
    limits: Limits
    outputs: tuple[list[Hypothesis], ...] | None = None

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        return self.outputs is not None

    @property
    def open_sentences(self) -> list[int]:
        """All sentences, until the search is done."""
        return [] if self.done else list(range(len(self.limits.longest)))


class LabellingSearch(Search):
    """Finds labellings step by step of the source, then scores each by the decoder."""

    can_join: ClassVar[bool] = False

    @abstractmethod
    def labellings(self, frames: Float[np.ndarray, "S V"], longest: int) -> Sequence[Labelling]:
        """The labellings of one source with these log-probabilities, of at most so many symbols,
        including `<end>` if it fits.
        """

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of outputs per sentence."""

    def begin(self, state: Any, limits: Limits) -> LabellingSearchState:
        if not isinstance(state, CTCState):
            raise ConfigError(
                "this search is for models that align their output with the source "
                "(model.decoder.kind=ctc)",
                remedy="use greedy search or a beam",
            )
        if limits.has_rules:
            raise ConfigError(
                "a search over the steps of a source knows no prefixes, phrases or shortest length",
                remedy="use a beam",
            )
        return LabellingSearchState(state, limits)

    def advance(self, decoder: Decoder[Any], found: LabellingSearchState, /) -> Any:
        """Find and score the labellings of all sentences."""
        (symbols, mask), limits = found.state.shared, found.limits
        closed = sorted({*limits.forbidden, limits.start, limits.end} - {EMPTY})
        frames = symbols.index_fill(2, torch.tensor(closed, device=symbols.device), -torch.inf)
        rooms = limits.longest.tolist()
        candidates = [
            list(self.labellings(steps[real].cpu().numpy(), room))
            for steps, real, room in zip(frames, mask, rooms, strict=True)
        ]
        scored = _score(decoder, found, candidates)
        best = tuple(
            sorted(outputs, key=lambda output: -output.rank_score)[: self.count]
            for outputs in scored
        )
        return replace(found, outputs=best)

    def results(self, found: LabellingSearchState, /) -> list[list[Hypothesis]]:
        return list(found.outputs or ())


def _score(
    decoder: Decoder[Any], found: LabellingSearchState, candidates: list[list[Labelling]]
) -> list[list[Hypothesis]]:
    """Score each labelling by the decoder; one without room for `<end>` stays unfinished."""
    limits, paths = found.limits, max(map(len, candidates))
    longest = 1 + max(len(labels) for each in candidates for labels in each)
    inputs = limits.longest.new_full((len(candidates) * paths, longest), EMPTY)
    inputs[:, 0] = limits.start
    for sentence, each in enumerate(candidates):
        for path, labels in enumerate(each):
            row = torch.tensor(labels, dtype=torch.int64)
            inputs[sentence * paths + path, 1 : 1 + len(labels)] = row
    rows = torch.arange(len(candidates), device=inputs.device).repeat_interleave(paths)
    features, _ = decoder.read(inputs, found.state.select(rows))
    logs = decoder.write(features.hidden).log_softmax(-1)
    attention = None if features.attention is None else features.attention.cpu().numpy()
    return [
        [
            _hypothesis(
                labels,
                logs[row],
                None if attention is None else attention[row],
                limits.select(rows[row : row + 1]),
            )
            for row, labels in enumerate(each, sentence * paths)
        ]
        for sentence, each in enumerate(candidates)
    ]


def _hypothesis(
    labels: Labelling,
    logs: Float[Tensor, "T V"],
    attention: Float[np.ndarray, "T S"] | None,
    limits: Limits,
) -> Hypothesis:
    finished = len(labels) < int(limits.longest)
    written = [*labels, limits.end] if finished else list(labels)
    scores = logs[range(len(written)), written].tolist()
    told = _alternatives(logs[: len(written)], limits) if limits.n_alternatives else ()
    steps = None if attention is None else attention[: len(written)]
    return Hypothesis(labels, tuple(scores), finished, sum(scores), steps, told)


def _alternatives(logs: Float[Tensor, "T V"], limits: Limits) -> tuple[Alternatives, ...]:
    possible = logs.index_fill(1, limits.forbidden_ids, -torch.inf)
    values, tokens = stable_topk(possible, limits.n_alternatives)
    pairs = zip(tokens.tolist(), values.tolist(), strict=True)
    return tuple(
        tuple((token, value) for token, value in zip(*pair, strict=True) if value > -torch.inf)
        for pair in pairs
    )


def symbol_changes(path: Int[np.ndarray, "S"]) -> Labelling:
    """Collapse a path to its labelling: merge repeats, drop blanks."""
    first = np.ones(len(path), dtype=bool)
    first[1:] = path[1:] != path[:-1]
    return tuple(path[first & (path != EMPTY)].tolist())
