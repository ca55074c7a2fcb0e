"""Predictors of models with a head: labels, tags and numbers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, groupby
from math import inf, nan
from typing import Self

import numpy as np
import torch
from jaxtyping import Float, Int

from seqloom.deferred import Deferred
from seqloom.engine.core_model import NETWORK
from seqloom.engine.selection import HeadEngine
from seqloom.errors import ConfigError, DataError
from seqloom.fields import EMPTY, Field, NumberField, Values
from seqloom.model import FIRST_TAG, DecoderModule, Encoder, HeadModel
from seqloom.model.ensemble import head_ensemble
from seqloom.prediction.batching import batch_by_length, pad_batch, parallel_map
from seqloom.prediction.configured_search import search_from_config
from seqloom.prediction.inputs import (
    EncodedInput,
    InputGroup,
    dummy_input,
)
from seqloom.prediction.joining import (
    BLANK_OUTPUT,
    JudgedInput,
    WholeInput,
    join_by_input,
    join_encoded,
    source_facts,
)
from seqloom.prediction.output import Output, ScoredOutput, Token, TokenAlternative
from seqloom.prediction.predictor import GroupPredictor, Predictor
from seqloom.prediction.request import (
    OutputOptions,
    PredictionRequest,
)
from seqloom.remedies import Remedy, Setting
from seqloom.search import Hypothesis, Limits, Search, run_to_end

__all__ = ["HeadPredictor", "NumberPredictor", "TagPredictor"]

ROWS = 256  # in a batch


@dataclass(frozen=True)
class HeadPredictor(Predictor):
    """The predictor for labels and tags, which a head scores."""

    source: Field
    target: Field
    weights: HeadModel
    engine: HeadEngine | None = None  # encodes in place of the network's own encoder

    @property
    def network(self) -> HeadModel:
        """The network with its weights."""
        return self.weights

    @property
    def encoder(self) -> Encoder:
        """The encoder: the engine's if there is one."""
        return self.network.encoder if self.engine is None else self.engine.encoder

    def group_predictor(self, request: PredictionRequest) -> GroupPredictor:
        """Return `predict_group`; ConfigError if a search is requested."""
        options = request.options
        if request.search is not None or request.n_best > 1:
            raise self.search_error()
        if options.has_constraints or options.tree:
            raise self.search_error()
        return partial(self.predict_group, options=options)

    def search_error(self) -> ConfigError:
        """The error for options that need a search."""
        return ConfigError(
            f"a model of {self.target.config.kind.rstrip('s')}s judges and does not search",
            remedy=Remedy(
                "leave search options, prefixes and {} out ({} tells the next best)",
                Setting("n_best"),
                Setting("alternatives"),
                otherwise="leave search options and prefixes out",
            ),
        )

    def predict_rows(self, rows: Sequence[Values], *, alternatives: int = 1) -> list[Output]:
        """The output for each encoded input, with so many alternatives."""
        encoded = [EncodedInput(number, row) for number, row in enumerate(rows)]
        return self.outputs(encoded, len(rows), alternatives)

    def score_rows(self, rows: Sequence[Values]) -> list[Float[np.ndarray, "T V"]]:
        """The scores of all labels at each position of encoded inputs."""
        return self._head_outputs([EncodedInput(number, row) for number, row in enumerate(rows)])

    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """The log-probability of the labels or tags of encoded inputs; −∞ for labels unseen in
        training.
        """
        targets = self.target.rows(outputs)
        results: dict[int, ScoredOutput] = {}
        wholes = self._wholes(encoded)
        given = list(self._piece_targets(encoded, targets))
        for whole, judged in self._join_scores(wholes, self._head_outputs(encoded, given)):
            number = whole.encoded.number
            ids = targets[number]
            if len(ids) != len(judged):
                unit = self.source.length_unit or "tokens"
                raise DataError(
                    f"pair {number + 1}: {len(judged):,} {unit} that are read and "
                    f"{len(ids):,} tags",
                    remedy=f"give each {unit[:-1]} one tag",
                )
            likely = _log_softmax(judged)[np.arange(len(ids)), ids - 1]
            found = np.where(ids == EMPTY, -inf, likely).tolist()
            names = self.target.tokens(ids)
            results[number] = ScoredOutput(sum(found), tuple(map(Token, names, found)))
        return [results[number] for number in range(len(outputs))]

    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterable[Output]:
        """An output for each input of a group."""
        return self.outputs(group.encoded, len(group.lines), max(1, options.alternatives))

    def outputs(
        self, encoded: Sequence[EncodedInput], count: int, likeliest: int = 1
    ) -> list[Output]:
        """An output for each of so many inputs; those that were not encoded are blank."""
        outputs, reader = [BLANK_OUTPUT] * count, self.input_reader
        scored = self._join_scores(self._wholes(encoded), self._head_outputs(encoded))
        judged = [JudgedInput(whole, found, reader) for whole, found in scored]
        for each, output in zip(judged, self._make_outputs(judged, likeliest), strict=True):
            outputs[each.whole.encoded.number] = output
        return outputs

    def _piece_targets(
        self, encoded: Sequence[EncodedInput], targets: Sequence[Values]
    ) -> Iterator[Values]:
        """The target of each input or piece; missing tags are padding."""
        for _, group in groupby(encoded, key=lambda each: each.number):
            begin = 0
            for each in group:
                target = targets[each.number]
                if not self.target.is_aligned:
                    yield target
                    continue
                items = len(each.values) - self.source.closing
                own = target[begin : begin + items]
                padded = np.full(items, EMPTY, np.int32)
                padded[: len(own)] = own
                yield padded
                begin += items

    def _wholes(self, encoded: Sequence[EncodedInput]) -> list[WholeInput]:
        """Each input, with the lengths of its pieces."""
        wholes = []
        for _, group in groupby(encoded, key=lambda each: each.number):
            pieces = tuple(group)
            lengths = tuple(len(each.values) for each in pieces)
            wholes.append(WholeInput(join_encoded(pieces, self.source.closing), lengths))
        return wholes

    def _join_scores(
        self, wholes: Sequence[WholeInput], scores: Iterable[Float[np.ndarray, "_ V"]]
    ) -> Iterator[tuple[WholeInput, Float[np.ndarray, "T V"]]]:
        """Each input with the head's output for it or its pieces."""
        pending = iter(scores)
        for whole in wholes:
            parts = [next(pending) for _ in whole.lengths]
            if len(parts) == 1:
                yield whole, parts[0]
            elif self.target.is_aligned:
                yield whole, np.concatenate(parts)
            else:
                yield whole, self._mean(parts, np.array(whole.lengths, np.float32))

    def _mean(
        self, judged: Sequence[Float[np.ndarray, "1 V"]], sizes: Float[np.ndarray, "P"]
    ) -> Float[np.ndarray, "1 V"]:
        """The log of the pieces' mean probabilities, weighted by length."""
        weights = np.log(sizes / sizes.sum())[:, None]
        return np.logaddexp.reduce(_log_softmax(np.concatenate(judged)) + weights, 0, keepdims=True)

    def _head_outputs(
        self, encoded: Sequence[EncodedInput], given: Sequence[Values] = ()
    ) -> list[Float[np.ndarray, "T V"]]:
        """Run the head on each input, without padding; an autoregressive head reads the given
        targets.
        """
        if self.engine is not None and self.engine.scorer is not None:
            rows = [each.values for each in encoded]
            threads = torch.get_num_threads()
            return self.engine.scorer.scores(rows, closing=self.source.closing, threads=threads)
        order = list(batch_by_length([len(each.values) for each in encoded], most=ROWS))
        shared = [
            ([encoded[place] for place in batch], [given[place] for place in batch if given])
            for batch in order
        ]
        found: dict[int, Float[np.ndarray, "T V"]] = {}
        judgements = parallel_map(lambda work: self._run_head(*work), shared)
        for batch, judged in zip(order, judgements, strict=True):
            found |= dict(zip(batch, judged, strict=True))
        return [found[place] for place in range(len(encoded))]

    @torch.inference_mode()
    def _run_head(
        self, batch: list[EncodedInput], given: list[Values]
    ) -> list[Float[np.ndarray, "T V"]]:
        self.network.eval()
        memory = self.encoder.encode(pad_batch([each.values for each in batch]))
        lengths = [len(each.values) - self.source.closing for each in batch]
        head = self.network.head
        targets = pad_batch(given).values if given else None
        judged = head(memory) if targets is None else head.teacher_force(memory, targets)
        return [
            values[:own] if len(values) > 1 else values
            for values, own in zip(judged.numpy(), lengths, strict=True)
        ]

    def _make_outputs(self, judged: Sequence[JudgedInput], likeliest: int) -> Iterator[Output]:
        """Build the outputs of inputs, looking up all labels together."""
        if not judged:
            return
        found = _log_softmax(np.concatenate([each.scores for each in judged]))  # (N, V)
        best = _largest(found, likeliest)
        values = np.take_along_axis(found, best, 1)
        names = self.target.tokens((best[:, 0] + 1).tolist())
        likely = values[:, 0].tolist()
        ends = accumulate(len(each.scores) for each in judged)
        for each, end in zip(judged, ends, strict=True):
            own = slice(end - len(each.scores), end)
            tokens = Deferred(partial(self._tokens, names[own], values[own], best[own]))
            yield each.output(" ".join(names[own]), sum(likely[own]), tokens)

    def _tokens(
        self, names: list[str], scores: Float[np.ndarray, "T K"], labels: Int[np.ndarray, "T K"]
    ) -> dict[str, tuple[Token, ...]]:
        """The labels of an input with their scores, and with others if several are asked for."""
        likely = scores[:, 0].tolist()
        if scores.shape[1] == 1:
            return {"tokens": tuple(map(Token, names, likely))}
        others = map(self._alternatives, scores.tolist(), (labels + 1).tolist())
        return {"tokens": tuple(map(Token, names, likely, others))}

    def _alternatives(self, scores: list[float], labels: list[int]) -> tuple[TokenAlternative, ...]:
        """The most probable labels of a position."""
        return tuple(map(TokenAlternative, self.target.tokens(labels), scores))

    def _with_source(self, output: Output, source: EncodedInput) -> Output:
        """The output with its source tokens and facts."""
        return replace(output, **source_facts(source, self.input_reader))

    def ensemble_with(self, others: Sequence[Self]) -> Self:
        """A predictor that averages the outputs of all heads."""
        network = head_ensemble([model.network for model in (self, *others)])
        return replace(self, weights=network, engine=None)

    def describe_engine(self) -> str:
        return NETWORK if self.engine is None else str(self.engine)

    def warm_up(self) -> None:
        """Read one input."""
        self.outputs([dummy_input(self.source)], 1)


@dataclass(frozen=True)
class NumberPredictor(HeadPredictor):
    """The predictor for numbers, which have no log-probability."""

    target: NumberField

    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """ConfigError: a head of numbers gives no distribution."""
        raise ConfigError("numbers have no log-probability here", remedy="use evaluate")

    def _mean(
        self, judged: Sequence[Float[np.ndarray, "1 V"]], sizes: Float[np.ndarray, "P"]
    ) -> Float[np.ndarray, "1 V"]:
        """The mean of the pieces' numbers, weighted by length."""
        weights = (sizes / sizes.sum())[:, None]
        mean: Float[np.ndarray, "1 V"] = (np.concatenate(judged) * weights).sum(0, keepdims=True)
        return mean

    def _make_outputs(self, judged: Sequence[JudgedInput], likeliest: int) -> Iterator[Output]:
        for each in judged:
            (text,) = self.target.tokens(each.scores)
            yield each.output(text, nan, ())


@dataclass(frozen=True)
class TagPredictor(HeadPredictor):
    """The predictor for tags conditioned on previous tags, decoded by any search."""

    @property
    def decoder(self) -> DecoderModule:
        """The decoder of tags."""
        found = self.network.head.decoder_part
        if found is None:
            raise TypeError("this head has no decoder, and gives all tags at once")
        return found

    def group_predictor(self, request: PredictionRequest) -> GroupPredictor:
        """A search over the tags of each input."""
        options = request.options
        if options.has_constraints or options.tree:
            raise self.search_error()
        chosen = request.search or self._usual_search(request.n_best)
        search = chosen.with_outputs(request.n_best)
        return partial(self._search_group, search=search, alternatives=options.alternatives)

    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterable[Output]:
        """An output for each input of a group."""
        return self._search_group(group, self._usual_search(1), options.alternatives)

    def _search_group(
        self, group: InputGroup, search: Search, alternatives: int
    ) -> Iterable[Output]:
        found = self._search(group.encoded, search, alternatives, group.lines.start)
        return self._join(group.encoded, found, len(group.lines))

    def outputs(
        self, encoded: Sequence[EncodedInput], count: int, likeliest: int = 1
    ) -> list[Output]:
        """An output for each of so many inputs; those that were not encoded are blank."""
        alternatives = likeliest if likeliest > 1 else 0
        return self._join(
            encoded, self._search(encoded, self._usual_search(1), alternatives), count
        )

    def _usual_search(self, n_best: int) -> Search:
        automatic = self.config.model.decoder.usual_search if n_best == 1 else ""
        return search_from_config(self.config.search, n_best, automatic=automatic)

    @torch.inference_mode()
    def _search(
        self, encoded: Sequence[EncodedInput], search: Search, alternatives: int, line: int = 0
    ) -> list[Output]:
        """The output for each input or piece; `line` is the line of the first."""
        self.network.eval()
        found: dict[int, Output] = {}
        most = max(1, ROWS // search.paths)
        for batch in batch_by_length([len(each.values) for each in encoded], most=most):
            some = [encoded[place] for place in batch]
            state = self.decoder.start(self.encoder.encode(pad_batch([e.values for e in some])))
            lengths = [len(each.values) - self.source.closing + 1 for each in some]
            lines = torch.tensor([line + each.number for each in some])
            limits = Limits(torch.tensor(lengths), lines=lines, n_alternatives=alternatives)
            ranked = run_to_end(search, self.decoder, state, limits)
            outputs = zip(batch, some, ranked, strict=True)
            found |= {place: self._ranked(each, best, search) for place, each, best in outputs}
        return [found[place] for place in range(len(encoded))]

    def _ranked(self, source: EncodedInput, found: list[Hypothesis], search: Search) -> Output:
        """The best output, with the others if several are requested."""
        outputs = [self._searched_output(source, each) for each in found]
        several = len(outputs) > 1 or search.returns_all
        return replace(outputs[0], n_best=tuple(outputs) if several else ())

    def _searched_output(self, source: EncodedInput, found: Hypothesis) -> Output:
        names = self._names(found.tokens)
        scores = found.token_scores[: len(names)]
        steps = found.alternatives[: len(names)] or ((),) * len(names)
        others = [
            tuple(map(TokenAlternative, self._names([tag for tag, _ in step]), _scores(step)))
            for step in steps
        ]
        tokens = tuple(map(Token, names, scores, others))
        output = Output(" ".join(names), found.score, found.rank_score, tokens, "end")
        return self._with_source(output, source)

    def _names(self, symbols: Sequence[int]) -> list[str]:
        """The tags of decoded symbols."""
        return self.target.tokens([symbol - FIRST_TAG + 1 for symbol in symbols])

    def _join(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[Output], count: int
    ) -> list[Output]:
        """Join the outputs of pieces, whose tags are separated by spaces."""
        spaced = [each._replace(space=" ") for each in encoded]
        joined = join_by_input(spaced, outputs, count)
        for number, pieces in groupby(encoded, key=lambda each: each.number):
            parts = list(pieces)
            if len(parts) > 1:
                whole = join_encoded(parts, self.source.closing)
                joined[number] = self._with_source(joined[number], whole)
        return joined


def _log_softmax(scores: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N V"]:
    shifted = scores - scores.max(-1, keepdims=True)
    found: Float[np.ndarray, "N V"] = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return found


def _largest(scores: Float[np.ndarray, "N V"], count: int) -> Int[np.ndarray, "N K"]:
    """The columns of the largest values of each row, in order, ties by the column."""
    order: Int[np.ndarray, "N K"] = scores.argmax(-1, keepdims=True)
    return order if count == 1 else np.argsort(-scores, axis=-1, kind="stable")[:, :count]


def _scores(step: Sequence[tuple[int, float]]) -> list[float]:
    return [score for _, score in step]
