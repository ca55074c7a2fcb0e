"""A finished model with a head in use: raw input, fields, encoder, judgement, Output."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf, nan
from typing import Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.engine.selection import NETWORK, HeadEngine
from seqloom.errors import ConfigError, DataError
from seqloom.fields import EMPTY, Field, NumberField, Values
from seqloom.model import Encoder, HeadModel
from seqloom.model.ensemble import head_ensemble
from seqloom.prediction.batching import batch_by_length, pad_batch, parallel_map
from seqloom.prediction.inputs import GROUP_SIZE, EncodedInput, InputGroup, dummy_input
from seqloom.prediction.joining import BLANK_OUTPUT, join_encoded
from seqloom.prediction.output import Output, ScoredOutput, Token, TokenAlternative
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.request import NO_OPTIONS, OutputOptions
from seqloom.remedies import Remedy, Setting
from seqloom.search import Search

__all__ = ["HeadPredictor", "NumberPredictor"]

ROWS = 256  # in a batch


@dataclass(frozen=True)
class HeadPredictor(Predictor):
    """What `seqloom.load` gives for a target of labels or tags: a head scores what was read."""

    source: Field
    target: Field
    network: HeadModel
    engine: HeadEngine | None = None  # encodes in place of the network's own encoder

    @property
    def encoder(self) -> Encoder:
        """What reads inputs: the engine's where there is one."""
        return self.network.encoder if self.engine is None else self.engine.encoder

    def stream_cells(
        self,
        cells: Iterable[str],
        *,
        search: Search | None = None,
        n_best: int = 1,
        options: OutputOptions = NO_OPTIONS,
        group: int = GROUP_SIZE,
    ) -> Iterator[Output]:
        """An output for each cell of the source column, with `group` of them in memory at a time.

        Where one cannot be read, the outputs of those before it come first, then the error.
        """
        if search is not None or n_best > 1 or options.has_constraints or options.tree:
            kind = self.target.config.kind.rstrip("s")
            raise ConfigError(
                f"a model of {kind}s judges and does not search",
                remedy=Remedy(
                    "leave search options, prefixes and {} out ({} tells the next best)",
                    Setting("n_best"),
                    Setting("alternatives"),
                    otherwise="leave search options and prefixes out",
                ),
            )
        for each in self.reader_for(options).groups(cells, group):
            yield from self.predict_group(each, options)
            if each.fault is not None:
                raise each.fault

    def predict_rows(self, rows: Sequence[Values], *, alternatives: int = 1) -> list[Output]:
        """The output for each input that is already encoded, with so many of the likeliest."""
        encoded = [EncodedInput(number, row) for number, row in enumerate(rows)]
        return self.outputs(encoded, len(rows), alternatives)

    def score_rows(self, rows: Sequence[Values]) -> list[Float[Tensor, "T V"]]:
        """The scores of all labels at each position of inputs that are already encoded."""
        return self._head_outputs([EncodedInput(number, row) for number, row in enumerate(rows)])

    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """The log-probability of each label, or of the tags, of inputs that are encoded; −∞ where
        one was not in the training data."""
        targets = self.target.rows(outputs)
        results: dict[int, ScoredOutput] = {}
        for each, judged, _ in self._joined_outputs(encoded):
            ids = torch.from_numpy(targets[each.number]).long()
            if len(ids) != len(judged):
                unit = self.source.length_unit or "tokens"
                raise DataError(
                    f"pair {each.number + 1}: {len(judged):,} {unit} that are read and "
                    f"{len(ids):,} tags",
                    remedy=f"give each {unit[:-1]} one tag",
                )
            likely = judged.log_softmax(-1)[torch.arange(len(ids)), ids - 1]
            found = likely.masked_fill(ids == EMPTY, -inf).tolist()
            names = self.target.tokens(targets[each.number])
            results[each.number] = ScoredOutput(sum(found), tuple(map(Token, names, found)))
        return [results[number] for number in range(len(outputs))]

    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterable[Output]:
        """An output for each input of a group."""
        return self.outputs(group.encoded, len(group.lines), max(1, options.alternatives))

    def outputs(
        self, encoded: Sequence[EncodedInput], count: int, likeliest: int = 1
    ) -> list[Output]:
        """An output for each of so many inputs; those that were not encoded are blank."""
        outputs = [BLANK_OUTPUT] * count
        for each, judged, pieces in self._joined_outputs(encoded):
            outputs[each.number] = replace(self._output(each, judged, likeliest), pieces=pieces)
        return outputs

    def _joined_outputs(
        self, encoded: Sequence[EncodedInput]
    ) -> Iterator[tuple[EncodedInput, Float[Tensor, "T V"], int]]:
        """Each input whole, with what the head makes of it or of its pieces, and their number."""
        pairs = zip(encoded, self._head_outputs(encoded), strict=True)
        for _, group in groupby(pairs, key=lambda pair: pair[0].number):
            pieces, judged = zip(*group, strict=True)
            if len(pieces) == 1:
                yield pieces[0], judged[0], 1
                continue
            sizes = torch.tensor([float(len(each.values)) for each in pieces])
            joined = torch.cat(judged) if self.target.is_aligned else self._mean(judged, sizes)
            yield join_encoded(pieces, self.source.closing), joined, len(pieces)

    def _mean(
        self, judged: Sequence[Float[Tensor, "1 V"]], sizes: Float[Tensor, "P"]
    ) -> Float[Tensor, "1 V"]:
        """The log of the pieces' mean probabilities, weighed by how long they are."""
        weights = (sizes / sizes.sum()).log()[:, None]
        return (torch.cat(list(judged)).log_softmax(-1) + weights).logsumexp(0, keepdim=True)

    def _head_outputs(self, encoded: Sequence[EncodedInput]) -> list[Float[Tensor, "T V"]]:
        """What the head makes of each input, at its own positions alone."""
        order = list(batch_by_length([len(each.values) for each in encoded], most=ROWS))
        shared = [[encoded[place] for place in batch] for batch in order]
        found: dict[int, Float[Tensor, "T V"]] = {}
        for batch, judged in zip(order, parallel_map(self._run_head, shared), strict=True):
            found |= dict(zip(batch, judged, strict=True))
        return [found[place] for place in range(len(encoded))]

    @torch.inference_mode()
    def _run_head(self, batch: list[EncodedInput]) -> list[Float[Tensor, "T V"]]:
        self.network.eval()
        memory = self.encoder.encode(pad_batch([each.values for each in batch]))
        lengths = [len(each.values) - self.source.closing for each in batch]
        judged = self.network.head(memory)
        return [
            values[:own] if len(values) > 1 else values
            for values, own in zip(judged, lengths, strict=True)
        ]

    def _output(self, source: EncodedInput, judged: Float[Tensor, "T V"], likeliest: int) -> Output:
        found = judged.log_softmax(-1).topk(min(likeliest, judged.shape[-1]))
        scores, labels = found.values.tolist(), (found.indices + 1).tolist()
        tokens = tuple(map(self._token, scores, labels))
        total = sum(token.log_probability for token in tokens)
        text = " ".join(token.text for token in tokens)
        return self._with_source(Output(text, total, total, tokens, "end"), source)

    def _with_source(self, output: Output, source: EncodedInput) -> Output:
        """The output with what was read for it."""
        read = self.input_reader.read_tokens(source)
        return replace(
            output,
            source=tuple(read.names),
            source_offsets=tuple(read.offsets),
            truncated=source.truncated,
            warnings=source.warnings,
        )

    def _token(self, scores: list[float], labels: list[int]) -> Token:
        """The likeliest label of a position, and the next ones if more are wanted."""
        names = self.target.tokens(labels)
        others = tuple(map(TokenAlternative, names, scores)) if len(names) > 1 else ()
        return Token(names[0], scores[0], others)

    def ensemble_with(self, others: Sequence[Self]) -> Self:
        """A predictor that averages what the heads of all say."""
        network = head_ensemble([model.network for model in (self, *others)])
        return replace(self, network=network, engine=None)

    def describe_engine(self) -> str:
        return NETWORK if self.engine is None else str(self.engine)

    def warm_up(self) -> None:
        """Read one input."""
        self.outputs([dummy_input(self.source)], 1)


@dataclass(frozen=True)
class NumberPredictor(HeadPredictor):
    """What `seqloom.load` gives for a target of numbers, which have no log-probability."""

    target: NumberField

    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """ConfigError: a head of numbers gives no distribution."""
        raise ConfigError("numbers have no log-probability here", remedy="use evaluate")

    def _mean(
        self, judged: Sequence[Float[Tensor, "1 V"]], sizes: Float[Tensor, "P"]
    ) -> Float[Tensor, "1 V"]:
        """The mean of the pieces' numbers, weighed by how long they are."""
        return (torch.cat(list(judged)) * (sizes / sizes.sum())[:, None]).sum(0, keepdim=True)

    def _output(self, source: EncodedInput, judged: Float[Tensor, "T V"], likeliest: int) -> Output:
        (text,) = self.target.tokens(np.asarray(judged))
        return self._with_source(Output(text, nan, nan, (), "end"), source)
