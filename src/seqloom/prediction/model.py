"""A finished model in use: raw input, fields, encoder, search, Output."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from seqloom.config import Config
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, TextField
from seqloom.model import SequenceModel, Source
from seqloom.prediction.output import Output, Token
from seqloom.search import Beam, Greedy, Hypothesis, Limits, Search, run_to_end
from seqloom.training import row_log_probabilities

__all__ = ["GROUP", "Model", "Scored"]

GROUP = 4_096  # inputs looked at together, so that those of one length can share a batch
POSITIONS = 4_096  # of the source, in a batch
ROWS = 640  # paths searched at once


class Scored(NamedTuple):
    """How likely a given output is for a given input."""

    log_probability: float
    tokens: tuple[Token, ...]


class Encoded(NamedTuple):
    """One input as the model reads it."""

    number: int  # its place in the group
    tokens: np.ndarray  # ending in `<end>`
    truncated: bool = False


@dataclass(frozen=True)
class Asked:
    """What is wanted of each input."""

    search: Search
    n_best: int = 1
    attention: bool = False


@dataclass(frozen=True)
class Model:
    """What `seqloom.load` gives: call it with a text, or `predict` many."""

    config: Config
    source: TextField
    target: TextField
    network: SequenceModel

    def __call__(self, text: str) -> Output:
        """The best output for one input, with its attention."""
        return self.predict([text], attention=True)[0]

    def predict(
        self,
        inputs: Iterable[str],
        *,
        search: Search | None = None,
        n_best: int = 1,
        attention: bool = False,
    ) -> list[Output]:
        """An output for each input, in order."""
        return list(self.stream(inputs, search=search, n_best=n_best, attention=attention))

    def stream(
        self,
        inputs: Iterable[str],
        *,
        search: Search | None = None,
        n_best: int = 1,
        attention: bool = False,
        group: int = GROUP,
    ) -> Iterator[Output]:
        """The same, with `group` inputs in memory at a time."""
        if isinstance(inputs, str):
            raise ConfigError("predict takes a list of texts: put the text in brackets")
        asked = Asked(self._search(search, n_best), n_best, attention)
        pending = iter(inputs)
        while texts := list(islice(pending, group)):
            yield from self._outputs(self._read(texts), len(texts), asked)

    def predict_tokens(self, rows: Sequence[np.ndarray], *, search: Search) -> list[Output]:
        """An output for each input that is already tokens, ending in `<end>`."""
        encoded = [Encoded(number, tokens) for number, tokens in enumerate(rows)]
        return list(self._outputs(encoded, len(rows), Asked(search)))

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """The log-probability of each given output, token by token (SPEC S7.4)."""
        limit = self.config.data.max_source
        inputs = self.source.encode_many([pair[0] for pair in pairs])
        sources = [_ended(ids[:limit]) for ids in inputs]
        targets = [_ended(ids) for ids in self.target.encode_many([pair[1] for pair in pairs])]
        lengths = [max(len(s), len(t)) for s, t in zip(sources, targets, strict=True)]
        results: dict[int, Scored] = {}
        for batch in _batches(lengths, most=ROWS):
            wanted = [targets[number] for number in batch]
            values = self._log_probabilities([sources[number] for number in batch], wanted)
            for number, ids, row in zip(batch, wanted, values, strict=True):
                names = self.target.tokens(ids.tolist())
                tokens = tuple(Token(n, v) for n, v in zip(names, row, strict=False))
                results[number] = Scored(sum(row[: len(ids)]), tokens)
        return [results[number] for number in range(len(pairs))]

    @torch.inference_mode()
    def _log_probabilities(
        self, sources: list[np.ndarray], targets: list[np.ndarray]
    ) -> list[list[float]]:
        self.network.eval()
        state = self.network.decoder.start(self.network.encoder.encode(_padded(sources)))
        target = _padded(targets).tokens
        rows: list[list[float]] = row_log_probabilities(
            self.network.decoder, state, target
        ).tolist()
        return rows

    def _search(self, search: Search | None, n_best: int) -> Search:
        """The search asked for, or the configured one, set to give the outputs wanted."""
        options = self.config.search
        if search is None:
            width = max(options.beam, n_best)
            search = Beam(width, options.length_power) if width > 1 else Greedy()
        if isinstance(search, Beam):
            return replace(search, n_best=n_best)
        if n_best > 1:
            raise ConfigError("greedy search gives one output: use a beam for several")
        return search

    def _read(self, texts: list[str]) -> list[Encoded]:
        """The inputs that are not blank, cut to what the model takes (SPEC S1.6)."""
        numbers = [number for number, text in enumerate(texts) if text.strip()]
        encoded = self.source.encode_many([texts[number] for number in numbers])
        limit = self.config.data.max_source
        return [
            Encoded(number, _ended(tokens[:limit]), len(tokens) > limit)
            for number, tokens in zip(numbers, encoded, strict=True)
        ]

    def _outputs(self, encoded: list[Encoded], count: int, asked: Asked) -> Iterator[Output]:
        """An output for each of `count` inputs; those that were not encoded are blank."""
        outputs = [Output("", 0.0, 0.0, (), "blank")] * count
        width = asked.search.width if isinstance(asked.search, Beam) else 1
        for batch in _batches([len(e.tokens) for e in encoded], most=max(1, ROWS // width)):
            chosen = [encoded[index] for index in batch]
            for each, found in zip(chosen, self._decode(chosen, asked), strict=True):
                ranked = [self._output(each, hypothesis) for hypothesis in found]
                best = ranked[0]
                several = tuple(ranked) if asked.n_best > 1 else ()
                outputs[each.number] = replace(best, n_best=several)
        return iter(outputs)

    @torch.inference_mode()
    def _decode(self, batch: list[Encoded], asked: Asked) -> list[list[Hypothesis]]:
        self.network.eval()
        source = _padded([each.tokens for each in batch])
        memory = self.network.encoder.encode(source)
        options = self.config.search
        longest = (source.lengths * options.max_ratio).long().clamp(min=1) + options.max_extra
        state = self.network.decoder.start(memory, trace=asked.attention)
        return run_to_end(asked.search, self.network.decoder, state, Limits(longest))

    def _output(self, source: Encoded, found: Hypothesis) -> Output:
        ids = [*found.tokens, END] if found.finished else list(found.tokens)
        names = self.target.tokens(ids)
        attention = None
        if found.attention is not None:
            attention = found.attention[:, : len(source.tokens)].numpy()
        return Output(
            text=self.target.decode(found.tokens),
            score=found.score,
            normalised=found.rank_score,
            tokens=tuple(Token(n, s) for n, s in zip(names, found.token_scores, strict=True)),
            stopped="end" if found.finished else "length",
            source=tuple(self.source.tokens(source.tokens.tolist())),
            truncated=source.truncated,
            attention=attention,
        )


def _ended(tokens: np.ndarray) -> np.ndarray:
    return np.append(tokens, END)


def _batches(lengths: list[int], *, most: int) -> Iterator[list[int]]:
    """Numbers of rows of like length together, longest first, each batch within the limits."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        count = max(1, min(most, POSITIONS // lengths[order[start]]))
        yield order[start : start + count]
        start += count


def _padded(rows: list[np.ndarray]) -> Source:
    lengths = np.array([len(row) for row in rows])
    table = np.full((len(rows), lengths.max()), EMPTY, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return Source(torch.from_numpy(table), torch.from_numpy(lengths))
