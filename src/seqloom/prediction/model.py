"""A finished model in use: raw input, fields, encoder, search, Output."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from seqloom.config import Config
from seqloom.errors import ConfigError, SeqloomError
from seqloom.fields import EMPTY, END, TextField
from seqloom.model import Decoder, Encoder, SequenceModel, Source
from seqloom.prediction.fitting import configured, fitted, traces
from seqloom.prediction.output import Branch, Likely, Output, Stopped, Token
from seqloom.prediction.parallel import side_by_side
from seqloom.prediction.wishes import Demands, Wishes
from seqloom.search import Completions, Frontier, Hypothesis, Node, Search, trees
from seqloom.training import row_log_probabilities

__all__ = ["GROUP", "Model", "Scored"]

GROUP = 4_096  # inputs looked at together, so that those of one length can share a batch
POSITIONS = 4_096  # of the source, in a batch
SENTENCES = 128  # in a batch
ROWS = 320  # paths searched at once
NOTHING_MORE = Wishes()


class Scored(NamedTuple):
    """How likely a given output is for a given input."""

    log_probability: float
    tokens: tuple[Token, ...]


class Encoded(NamedTuple):
    """One input as the model reads it."""

    number: int  # its place in the group
    tokens: np.ndarray  # ending in `<end>`
    truncated: bool = False


class Found(NamedTuple):
    """What a search gave for one input."""

    outputs: list[Hypothesis]
    tree: list[Node]


@dataclass(frozen=True)
class Asked:
    """What is wanted of each input."""

    search: Search
    wishes: Wishes
    demands: Demands
    n_best: int = 1

    @property
    def several(self) -> bool:
        """Whether all outputs found are told, rather than the best alone."""
        return self.n_best > 1 or isinstance(self.search, Completions)


@dataclass(frozen=True)
class Model:
    """What `seqloom.load` gives: call it with a text, or `predict` many."""

    config: Config
    source: TextField
    target: TextField
    network: SequenceModel
    engine: Decoder[Any] | None = None  # writes in place of the network's own decoder
    reader: Encoder | None = None  # reads in place of its own encoder

    @property
    def encoder(self) -> Encoder:
        """What reads inputs: the reader where there is one."""
        return self.network.encoder if self.reader is None else self.reader

    @property
    def decoder(self) -> Decoder[Any]:
        """What writes outputs: the engine where there is one."""
        return self.network.decoder if self.engine is None else self.engine

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
        wishes: Wishes = NOTHING_MORE,
    ) -> list[Output]:
        """An output for each input, in order."""
        if attention:
            wishes = replace(wishes, attention=True)
        return list(self.stream(inputs, search=search, n_best=n_best, wishes=wishes))

    def stream(
        self,
        inputs: Iterable[str],
        *,
        search: Search | None = None,
        n_best: int = 1,
        wishes: Wishes = NOTHING_MORE,
        group: int = GROUP,
    ) -> Iterator[Output]:
        """The same, with `group` inputs in memory at a time.

        Where an input cannot be read, the outputs of those before it come first, then the error.
        """
        if isinstance(inputs, str):
            raise ConfigError("predict takes a list of texts: put the text in brackets")
        asked = self._asked(search, n_best, wishes)
        pending, line, fault = iter(inputs), 0, None
        while fault is None:
            texts, fault = _taken(pending, group)
            if not texts and fault is None:
                return
            yield from self._outputs(self._read(texts), range(line, line + len(texts)), asked)
            line += len(texts)
        raise fault

    def predict_tokens(self, rows: Sequence[np.ndarray], *, search: Search) -> list[Output]:
        """An output for each input that is already tokens, ending in `<end>`."""
        encoded = [Encoded(number, tokens) for number, tokens in enumerate(rows)]
        asked = self._asked(search, 1, NOTHING_MORE)
        return list(self._outputs(encoded, range(len(rows)), asked))

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

    def _asked(self, search: Search | None, n_best: int, wishes: Wishes) -> Asked:
        """What the caller asks for, in the model's tokens; ConfigError where it cannot be."""
        if search is None:
            search = configured(self.config.search, n_best)
        search = fitted(search, n_best, self.target)
        demands = Demands.of(wishes, self.target, width=search.paths)
        return Asked(search, wishes, demands, n_best)

    def _read(self, texts: list[str]) -> list[Encoded]:
        """The inputs that are not blank, cut to what the model takes (SPEC S1.6)."""
        numbers = [number for number, text in enumerate(texts) if text.strip()]
        encoded = self.source.encode_many([texts[number] for number in numbers])
        limit = self.config.data.max_source
        return [
            Encoded(number, _ended(tokens[:limit]), len(tokens) > limit)
            for number, tokens in zip(numbers, encoded, strict=True)
        ]

    def _outputs(self, encoded: list[Encoded], lines: range, asked: Asked) -> Iterator[Output]:
        """An output for each of these lines; those that were not encoded are blank."""
        outputs = [Output("", 0.0, 0.0, (), "blank")] * len(lines)
        most = max(1, min(SENTENCES, ROWS // asked.search.paths))
        batches = [
            [encoded[index] for index in batch]
            for batch in _batches([len(each.tokens) for each in encoded], most=most)
        ]
        results = side_by_side(lambda batch: self._decode(batch, lines, asked), batches)
        for batch, all_found in zip(batches, results, strict=True):
            for each, found in zip(batch, all_found, strict=True):
                outputs[each.number] = self._explained(each, found, asked)
        return iter(outputs)

    @torch.inference_mode()
    def _decode(self, batch: list[Encoded], lines: range, asked: Asked) -> list[Found]:
        self.network.eval()
        source = _padded([each.tokens for each in batch])
        numbers = torch.tensor([lines[each.number] for each in batch])
        limits = asked.demands.limits(source.lengths, numbers, self.config.search)
        decoder = self.decoder
        trace = asked.wishes.attention or traces(asked.search)
        state = decoder.start(self.encoder.encode(source), trace=trace)
        standing = asked.search.begin(state, limits)
        while not standing.done:
            standing = asked.search.advance(decoder, standing)
        found = asked.search.results(standing)
        if not asked.wishes.tree:
            return [Found(outputs, []) for outputs in found]
        if not isinstance(standing, Frontier):
            raise ConfigError("this search keeps no tree to show: use a beam")
        return [Found(*each) for each in zip(found, trees(standing, found), strict=True)]

    def _explained(self, source: Encoded, found: Found, asked: Asked) -> Output:
        """The best output for an input, with whatever was asked for beside it."""
        wanted = len(found.outputs) if isinstance(asked.search, Completions) else asked.n_best
        ranked = [self._output(source, each, asked.wishes) for each in found.outputs[:wanted]]
        return replace(
            ranked[0],
            n_best=tuple(ranked) if asked.several else (),
            tree=tuple(self._branch(node) for node in found.tree),
        )

    def _output(self, source: Encoded, found: Hypothesis, wishes: Wishes) -> Output:
        ids = [*found.tokens, END] if found.finished else list(found.tokens)
        names, likely = self.target.tokens(ids), self._likely(found, wishes.alternatives)
        attention = None
        if found.attention is not None and wishes.attention:
            attention = found.attention[:, : len(source.tokens)].numpy()
        stopped: Stopped = "end" if found.finished else "length"
        return Output(
            text=self.target.decode(found.tokens),
            score=found.score,
            normalised=found.rank_score,
            tokens=tuple(map(Token, names, found.token_scores, likely)),
            stopped="limit" if found.limited else stopped,
            source=tuple(self.source.tokens(source.tokens.tolist())),
            truncated=source.truncated,
            attention=attention,
        )

    def _likely(self, found: Hypothesis, count: int) -> list[tuple[Likely, ...]]:
        """The likeliest symbols of each step."""
        if not count:
            return [()] * len(found.token_scores)
        steps = [step[:count] for step in found.alternatives]
        names = iter(self.target.tokens([token for step in steps for token, _ in step]))
        return [tuple(Likely(next(names), score) for _, score in step) for step in steps]

    def _branch(self, node: Node) -> Branch:
        (name,) = self.target.tokens([node.token])
        return Branch(node.number, node.parent, name, node.log_probability, node.total, node.fate)


def _taken(pending: Iterator[str], count: int) -> tuple[list[str], SeqloomError | None]:
    """The next inputs, and the error that ended them if one did."""
    texts: list[str] = []
    try:
        for text in islice(pending, count):
            texts.append(text)
    except SeqloomError as error:
        return texts, error
    return texts, None


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
