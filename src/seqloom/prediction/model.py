"""A finished model in use: raw input, fields, encoder, search, Output."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqloom.config import Config
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, TextField
from seqloom.model import SequenceModel, Source
from seqloom.prediction.output import Output, Token
from seqloom.search import Beam, Greedy, Hypothesis, Limits, Search, run_to_end
from seqloom.training import row_log_probabilities

__all__ = ["Model", "Scored"]

GROUP = 4_096  # inputs looked at together, so that those of one length can share a batch
POSITIONS = 4_096  # source positions in a batch
SENTENCES = 128  # and inputs in it


class Scored(NamedTuple):
    """How likely a given output is for a given input."""

    log_probability: float
    tokens: tuple[Token, ...]


class Encoded(NamedTuple):
    """One input as the model reads it."""

    number: int  # its place in the group
    tokens: np.ndarray  # ending in `<end>`
    truncated: bool


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
    ) -> Iterator[Output]:
        """The same, one group of inputs in memory at a time."""
        search = self._search(search, n_best)
        pending = iter(inputs)
        while group := list(islice(pending, GROUP)):
            yield from self._group(group, search, n_best, attention)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """The log-probability of each given output, token by token (SPEC S7.4)."""
        sources = [self._read(n, source) for n, (source, _) in enumerate(pairs)]
        targets = [_ended(self.target.encode(target)) for _, target in pairs]
        results: dict[int, Scored] = {}
        for batch in _batches(sources):
            wanted = [targets[each.number] for each in batch]
            values = self._log_probabilities(batch, wanted)
            for each, ids, row in zip(batch, wanted, values, strict=True):
                names = self._names(ids.tolist())
                tokens = tuple(Token(n, v) for n, v in zip(names, row, strict=False))
                results[each.number] = Scored(sum(row[: len(ids)]), tokens)
        return [results[number] for number in range(len(pairs))]

    @torch.inference_mode()
    def _log_probabilities(
        self, batch: list[Encoded], targets: list[np.ndarray]
    ) -> list[list[float]]:
        self.network.eval()
        state = self.network.decoder.start(self.network.encoder.encode(_source(batch)))
        padded, _ = _padded(targets)
        rows: list[list[float]] = row_log_probabilities(
            self.network.decoder, state, padded
        ).tolist()
        return rows

    def _search(self, search: Search | None, n_best: int) -> Search:
        """The search asked for, or the configured one, wide enough for the outputs wanted."""
        options = self.config.search
        if search is None:
            search = (
                Beam(max(options.beam, n_best), options.length_power)
                if options.beam > 1 or n_best > 1
                else Greedy()
            )
        if isinstance(search, Beam):
            if search.width < n_best:
                raise ConfigError(
                    f"a beam of {search.width} cannot give {n_best} outputs: widen it"
                )
            return replace(search, n_best=n_best)
        if n_best > 1:
            raise ConfigError("greedy search gives one output: use a beam for several")
        return search

    def _group(
        self, texts: list[str], search: Search, n_best: int, attention: bool
    ) -> Iterator[Output]:
        outputs: list[Output | None] = [None] * len(texts)
        encoded = []
        for number, text in enumerate(texts):
            if text.strip():
                encoded.append(self._read(number, text))
            else:
                outputs[number] = Output("", 0.0, 0.0, (), "blank")
        for batch in _batches(encoded):
            for each, found in zip(batch, self._decode(batch, search, attention), strict=True):
                ranked = [self._output(each, hypothesis) for hypothesis in found]
                best = ranked[0]
                outputs[each.number] = replace(best, n_best=tuple(ranked)) if n_best > 1 else best
        return (output for output in outputs if output is not None)

    @torch.inference_mode()
    def _decode(
        self, batch: list[Encoded], search: Search, attention: bool
    ) -> list[list[Hypothesis]]:
        self.network.eval()
        source = _source(batch)
        memory = self.network.encoder.encode(source)
        options = self.config.search
        longest = (source.lengths * options.max_ratio).long() + options.max_extra
        state = self.network.decoder.start(memory, trace=attention)
        return run_to_end(search, self.network.decoder, state, Limits(longest))

    def _read(self, number: int, text: str) -> Encoded:
        tokens = self.source.encode(text)
        limit = self.config.data.max_source
        return Encoded(number, _ended(tokens[:limit]), len(tokens) > limit)

    def _output(self, source: Encoded, found: Hypothesis) -> Output:
        ids = [*found.tokens, END] if found.finished else list(found.tokens)
        attention = None
        if found.attention is not None:
            attention = found.attention[:, : len(source.tokens)].numpy()
        return Output(
            text=self.target.decode(found.tokens),
            score=found.score,
            normalised=found.rank_score,
            tokens=tuple(
                Token(text, score)
                for text, score in zip(self._names(ids), found.token_scores, strict=True)
            ),
            stopped="end" if found.finished else "length",
            source=tuple(self.source.tokens(source.tokens.tolist())),
            truncated=source.truncated,
            attention=attention,
        )

    def _names(self, ids: Sequence[int]) -> list[str]:
        return self.target.tokens(list(ids))


def _ended(tokens: np.ndarray) -> np.ndarray:
    return np.append(tokens, END)


def _batches(encoded: list[Encoded]) -> Iterator[list[Encoded]]:
    """Inputs of like length together, longest first, each batch within the limits."""
    ordered = sorted(encoded, key=lambda each: -len(each.tokens))
    while ordered:
        count = max(1, min(SENTENCES, POSITIONS // len(ordered[0].tokens)))
        yield ordered[:count]
        ordered = ordered[count:]


def _source(batch: list[Encoded]) -> Source:
    return Source(*_padded([each.tokens for each in batch]))


def _padded(rows: list[np.ndarray]) -> tuple[Tensor, Tensor]:
    lengths = np.array([len(row) for row in rows])
    table = np.full((len(rows), lengths.max()), EMPTY, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table), torch.from_numpy(lengths)
