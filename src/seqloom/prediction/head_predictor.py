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
from seqloom.model import FIRST_TAG, DecoderModule, Encoder, HeadModel
from seqloom.model.ensemble import head_ensemble
from seqloom.prediction.batching import batch_by_length, pad_batch, parallel_map
from seqloom.prediction.inputs import GROUP_SIZE, EncodedInput, InputGroup, dummy_input
from seqloom.prediction.joining import BLANK_OUTPUT, join_by_input, join_encoded
from seqloom.prediction.output import Output, ScoredOutput, Token, TokenAlternative
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.request import NO_OPTIONS, OutputOptions, search_from_config
from seqloom.remedies import Remedy, Setting
from seqloom.search import Hypothesis, Limits, Search, run_to_end

__all__ = ["HeadPredictor", "NumberPredictor", "TagPredictor"]

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
            raise self.search_error()
        for each in self.reader_for(options).groups(cells, group):
            yield from self.predict_group(each, options)
            if each.fault is not None:
                raise each.fault

    def search_error(self) -> ConfigError:
        """The error of asking for what only a search could give."""
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
        given = list(self._piece_targets(encoded, targets))
        for each, judged, _ in self._join_pieces(encoded, given):
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
        for each, judged, pieces in self._join_pieces(encoded):
            outputs[each.number] = replace(self._output(each, judged, likeliest), pieces=pieces)
        return outputs

    def _piece_targets(
        self, encoded: Sequence[EncodedInput], targets: Sequence[Values]
    ) -> Iterator[Values]:
        """The target of each input or piece of one; tags that are missing are padding."""
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

    def _join_pieces(
        self, encoded: Sequence[EncodedInput], given: Sequence[Values] = ()
    ) -> Iterator[tuple[EncodedInput, Float[Tensor, "T V"], int]]:
        """Each input whole, with what the head makes of it or of its pieces, and their number; a
        head that reads its own outputs reads the targets given."""
        pairs = zip(encoded, self._head_outputs(encoded, given), strict=True)
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

    def _head_outputs(
        self, encoded: Sequence[EncodedInput], given: Sequence[Values] = ()
    ) -> list[Float[Tensor, "T V"]]:
        """What the head makes of each input, at its own positions alone."""
        order = list(batch_by_length([len(each.values) for each in encoded], most=ROWS))
        shared = [
            ([encoded[place] for place in batch], [given[place] for place in batch if given])
            for batch in order
        ]
        found: dict[int, Float[Tensor, "T V"]] = {}
        judgements = parallel_map(lambda work: self._run_head(*work), shared)
        for batch, judged in zip(order, judgements, strict=True):
            found |= dict(zip(batch, judged, strict=True))
        return [found[place] for place in range(len(encoded))]

    @torch.inference_mode()
    def _run_head(
        self, batch: list[EncodedInput], given: list[Values]
    ) -> list[Float[Tensor, "T V"]]:
        self.network.eval()
        memory = self.encoder.encode(pad_batch([each.values for each in batch]))
        lengths = [len(each.values) - self.source.closing for each in batch]
        head = self.network.head
        targets = pad_batch(given).values if given else None
        judged = head(memory) if targets is None else head.teacher_force(memory, targets)
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


@dataclass(frozen=True)
class TagPredictor(HeadPredictor):
    """What `seqloom.load` gives for tags of which each reads the one before: any search finds
    them."""

    @property
    def decoder(self) -> DecoderModule:
        """What writes the tags."""
        found = self.network.head.decoder_part
        if found is None:
            raise TypeError("this head has no decoder, and gives all tags at once")
        return found

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
        if options.has_constraints or options.tree:
            raise self.search_error()
        chosen = (search or self._usual_search(n_best)).with_outputs(n_best)
        for each in self.reader_for(options).groups(cells, group):
            found = self._search(each.encoded, chosen, options.alternatives, each.lines.start)
            yield from self._join(each.encoded, found, len(each.lines))
            if each.fault is not None:
                raise each.fault

    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterable[Output]:
        """An output for each input of a group."""
        search = self._usual_search(1)
        found = self._search(group.encoded, search, options.alternatives, group.lines.start)
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
        automatic = self.decoder.usual_search if n_best == 1 else ""
        return search_from_config(self.config.search, n_best, automatic=automatic)

    @torch.inference_mode()
    def _search(
        self, encoded: Sequence[EncodedInput], search: Search, alternatives: int, line: int = 0
    ) -> list[Output]:
        """The output for each input or piece of one, the first of which has this line."""
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
        """The best output, with the others where several are wanted."""
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
        """The tags of the symbols that the decoder writes."""
        return self.target.tokens([symbol - FIRST_TAG + 1 for symbol in symbols])

    def _join(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[Output], count: int
    ) -> list[Output]:
        """The outputs of inputs from those of their pieces, whose tags are set apart by spaces."""
        spaced = [each._replace(space=" ") for each in encoded]
        joined = join_by_input(spaced, outputs, count)
        for number, pieces in groupby(encoded, key=lambda each: each.number):
            parts = list(pieces)
            if len(parts) > 1:
                whole = join_encoded(parts, self.source.closing)
                joined[number] = self._with_source(joined[number], whole)
        return joined


def _scores(step: Sequence[tuple[int, float]]) -> list[float]:
    return [score for _, score in step]
