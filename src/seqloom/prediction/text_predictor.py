"""The predictor of texts: from raw input through fields, encoder and search to an `Output`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.data.splitting import split_pair
from seqloom.deferred import Deferred, resolve
from seqloom.engine.core_model import NETWORK, Engine
from seqloom.errors import ConfigError, DataError
from seqloom.fields import END, UNK, Field, TextField, Values
from seqloom.parallel import thread_count
from seqloom.prediction.configured_search import describe_search
from seqloom.prediction.copying import copy_unknown
from seqloom.prediction.glossary import Glossary, GlossaryTerm
from seqloom.prediction.inputs import (
    EncodedInput,
    InputGroup,
    ReadTokens,
    check_cells,
    dummy_input,
)
from seqloom.prediction.joining import join_by_input
from seqloom.prediction.output import (
    Branch,
    Output,
    ScoredOutput,
    StopReason,
    Token,
    TokenAlternative,
)
from seqloom.prediction.predictor import GroupPredictor, Predictor
from seqloom.prediction.request import (
    DecodingRequest,
    DecodingResult,
    OutputOptions,
    PendingInput,
    PredictionRequest,
    term_phrases,
)
from seqloom.prediction.term_decoding import decode_with_terms
from seqloom.prediction.whole_search import search_whole
from seqloom.search.hypothesis import Hypothesis
from seqloom.tokenizers.offsets import shift

if TYPE_CHECKING:
    from seqloom.model import Decoder, Encoder, SequenceModel
    from seqloom.search import Search, SearchNode

__all__ = ["TextPredictor"]

WINDOW = 128  # context window of a Transformer, unless set in training


@dataclass(frozen=True)
class TextPredictor(Predictor):
    """The predictor for targets of text, in which a search drives the decoder."""

    source: Field
    target: TextField
    weights: "SequenceModel | Deferred[SequenceModel]"
    engine: Engine | None = None  # encodes and decodes in place of the network's own parts
    copying_helps: bool = False  # on held-out rows; used if search.copy_unknown is auto
    is_ensemble: bool = False

    @property
    def network(self) -> "SequenceModel":
        """The network with its weights, which are read now if they have not been."""
        return resolve(self.weights)

    @property
    def encoder(self) -> "Encoder":
        """The encoder: the engine's if there is one."""
        return self.network.encoder if self.engine is None else self.engine.encoder

    @property
    def decoder(self) -> "Decoder[Any]":
        """The decoder: the engine's if there is one."""
        return self.network.decoder if self.engine is None else self.engine.decoder

    @property
    def is_language_model(self) -> bool:
        """Whether the model is a language model, whose inputs are the beginnings of outputs."""
        return self.source.is_absent

    @property
    def is_stream(self) -> bool:
        """Whether it was trained on a stream of text without ends."""
        return self.config.data.lines == "stream"

    def group_predictor(self, request: PredictionRequest) -> GroupPredictor:
        """A function that decodes a group by the requested search."""
        return partial(self._decode_group, asked=self.decoding_request(request))

    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterator[Output]:
        """Decode a group by the run's search."""
        return self._decode_group(group, self.decoding_request(PredictionRequest(options=options)))

    def _decode_group(self, group: InputGroup, asked: DecodingRequest) -> Iterator[Output]:
        if self.is_language_model:
            asked = self.with_beginnings(asked, group.lines, group.cells)
        asked.check_pieces(group.encoded, group.lines.start)
        if asked.options.glossary is not None:
            outputs = decode_with_terms(self._outputs, group, asked, self.target)
        else:
            outputs = self._outputs(group.encoded, group.lines, asked)
        return iter(join_by_input(group.encoded, outputs, len(group.lines)))

    def unwritable_terms(self, glossary: Glossary) -> list[GlossaryTerm]:
        """The terms of which the target vocabulary has no form."""
        return [term for term in glossary.terms if not term_phrases(term, self.target)]

    def predict_rows(
        self, rows: Sequence[Values], *, search: "Search | None" = None
    ) -> list[Output]:
        """The output for each encoded input, by default by greedy search."""
        from seqloom.search import Greedy

        encoded = [EncodedInput(number, row) for number, row in enumerate(rows)]
        asked = self.decoding_request(PredictionRequest(search or Greedy()))
        return self._outputs(encoded, range(len(rows)), asked)

    def score_lines(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredOutput]:
        """Score outputs; the lines of a stream are read as one text."""
        if self.is_stream:
            return self.score_text([target for _, target in pairs])
        return self.score_held_out(pairs)

    def score_held_out(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredOutput]:
        """Score held-out rows; for a split source, sum over its pieces, or DataError if the target
        cannot be split accordingly.
        """
        parts: list[list[tuple[str, str]]] = []
        for number, pair in enumerate(pairs, 1):
            found = self._split_pair(pair)
            if found is None:
                raise DataError(
                    "the source is split, and the target cannot be split in step",
                    place=f"pair {number}",
                    remedy="give both equally many sentences, or set data.overlong to truncate",
                )
            parts.append(found)
        scored = iter(super().score_held_out([pair for part in parts for pair in part]))
        return [ScoredOutput.sum([next(scored) for _ in part]) for part in parts]

    def can_score(self, pair: tuple[str, str]) -> bool:
        """Whether a target can be scored: always, unless it belongs to a source that is split."""
        return self._split_pair(pair) is not None

    def _split_pair(self, pair: tuple[str, str]) -> list[tuple[str, str]] | None:
        """A pair, or its pieces if the source is split; None if the target cannot be split
        accordingly.
        """
        reader = self.input_reader
        if reader.overlong != "split" or not reader.is_too_long(self.source.rows(pair[:1])[0]):
            return [pair]
        return split_pair(pair, (self.source, self.target), self.config.data)

    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """The same for inputs that are already encoded."""
        from seqloom.prediction.batching import ROWS, batch_by_length
        from seqloom.prediction.text_scoring import output_log_probabilities

        check_cells("target", outputs, self.target)
        sources = [each.values for each in encoded]
        targets = self.target.rows(outputs)
        lengths = [max(len(s), len(t)) for s, t in zip(sources, targets, strict=True)]
        results: dict[int, ScoredOutput] = {}
        for batch in batch_by_length(lengths, most=ROWS):
            wanted = [targets[number] for number in batch]
            values = output_log_probabilities(
                self.network, [sources[number] for number in batch], wanted
            )
            for number, ids, row in zip(batch, wanted, values, strict=True):
                names = self.target.tokens(ids.tolist())
                tokens = tuple(Token(n, v) for n, v in zip(names, row, strict=False))
                results[number] = ScoredOutput(sum(row[: len(ids)]), tokens)
        return [results[number] for number in range(len(outputs))]

    def scoring_positions(self, outputs: Sequence[str]) -> int:
        """Positions that are read to score these outputs.

        Attention makes long outputs costly: positions count once for each multiple of the training
        length.
        """
        most = self.config.data.max_target + self.target.closing
        lengths = [len(row) for row in self.target.rows(outputs)]
        return sum(length * -(-length // most) for length in lengths)

    def score_text(self, lines: Sequence[str]) -> list[ScoredOutput]:
        """Score the lines of one text, each continuing from those before it."""
        from seqloom.prediction.text_scoring import text_scores

        rows = [row[: len(row) - self.target.closing] for row in self.target.rows(lines)]
        ends = np.cumsum([len(row) for row in rows]).tolist()
        window = self.config.training.truncate or WINDOW
        values = text_scores(self.network, np.concatenate(rows), window=window)
        results = []
        for row, end in zip(rows, ends, strict=True):
            own = values[end - len(row) : end]
            results.append(
                ScoredOutput(sum(own), tuple(map(Token, self.target.tokens(row.tolist()), own)))
            )
        return results

    def decoding_request(self, request: PredictionRequest) -> DecodingRequest:
        """The request in the model's tokens; ConfigError where it cannot be met.

        A language model samples by default: its most probable text is uninformative.
        """
        options = self.config.search
        asked = DecodingRequest.of(request, options, self._automatic_search, self.target)
        copies = options.copies(helps=self.copying_helps)
        return replace(asked, constraints=replace(asked.constraints, copies=copies))

    def with_beginnings(
        self, asked: DecodingRequest, lines: range, cells: Sequence[str]
    ) -> DecodingRequest:
        """The request with these inputs as prompts of their outputs."""
        prefix = asked.options.prefix
        if not isinstance(prefix, str):
            raise ConfigError(
                "each input is the beginning of its output", remedy="leave the prefixes out"
            )
        beginnings = tuple(f"{prefix}{cell}" for cell in cells)
        return asked.with_beginnings(
            beginnings, self.target, first=lines.start, endless=self.is_stream
        )

    def _outputs(
        self, encoded: Sequence[EncodedInput], lines: range, asked: DecodingRequest
    ) -> list[Output]:
        """Decode inputs or pieces, with their line numbers."""
        if not encoded:
            return []
        waiting = [
            PendingInput(place, each, lines[each.number], asked)
            for place, each in enumerate(encoded)
        ]
        outputs = search_whole(self, waiting, threads=thread_count())
        if outputs is None:
            from seqloom.prediction.batching import decode_parallel

            outputs = decode_parallel(self, waiting)
        return [outputs[place] for place in range(len(encoded))]

    def build_output(
        self, source: EncodedInput, found: DecodingResult, asked: DecodingRequest
    ) -> Output:
        """The best output for an input, with the requested extras."""
        read = self._read_tokens(source)
        if len(read.names) != found.source_positions:
            read = read.thin(found.source_positions)
        ranked = [self._output(source, each, read, asked) for each in asked.select(found.outputs)]
        if not asked.returns_n_best and not found.tree:
            return ranked[0]
        return replace(
            ranked[0],
            n_best=tuple(ranked) if asked.returns_n_best else (),
            tree=tuple(self._branch(node) for node in found.tree),
        )

    def _read_tokens(self, source: EncodedInput) -> ReadTokens:
        """The names of an input's items, with their offsets if its text is known."""
        if not source.cell:
            return ReadTokens(self.source.tokens(source.values), [])
        return self.input_reader.read_tokens(source)

    def _output(
        self, source: EncodedInput, found: Hypothesis, read: ReadTokens, asked: DecodingRequest
    ) -> Output:
        options = asked.options
        ids = [*found.tokens, END] if found.finished else list(found.tokens)
        names, likely = self.target.tokens(ids), self._alternatives(found, options.alternatives)
        attention = None
        if found.attention is not None and options.attention:
            attention = found.attention[:, : len(read.names)]
        stopped: StopReason = "end" if found.finished else "length"
        text, begun = self._text(source, found, asked)
        offsets = self.target.decoded_offsets(ids)
        if begun:
            offsets = shift(offsets, begun)
        written = map(Token, names, found.token_scores, likely, repeat(False), offsets)
        output = Output(
            text=text,
            score=found.score,
            normalised=found.rank_score,
            tokens=tuple(written),
            stopped="limit" if found.limited else stopped,
            source=tuple(read.names),
            source_offsets=tuple(read.offsets),
            truncated=source.truncated,
            warnings=source.warnings,
            attention=attention,
            ids=tuple(ids),
        )
        if not asked.copies or found.attention is None or UNK not in ids:
            return output
        return copy_unknown(output, source, self.source.surfaces(source.cell), found.attention)

    def _text(
        self, source: EncodedInput, found: Hypothesis, asked: DecodingRequest
    ) -> tuple[str, int]:
        """The decoded text after the raw prompt, and the difference between the prompt's length and
        that of its tokens.
        """
        text = self.target.decode(found.tokens)
        if not asked.beginnings:
            return text, 0
        given = asked.beginnings[source.number]
        begun = self.target.decode(asked.constraints.prefixes[source.number])
        return given + text.removeprefix(begun), len(given) - len(begun)

    def _alternatives(self, found: Hypothesis, count: int) -> list[tuple[TokenAlternative, ...]]:
        """The most probable symbols of each step."""
        if not count:
            return [()] * len(found.token_scores)
        steps = [step[:count] for step in found.alternatives]
        names = iter(self.target.tokens([token for step in steps for token, _ in step]))
        return [tuple(TokenAlternative(next(names), score) for _, score in step) for step in steps]

    def _branch(self, node: "SearchNode") -> Branch:
        (name,) = self.target.tokens([node.token])
        return Branch(node.number, node.parent, name, node.log_probability, node.total, node.fate)

    def ensemble_with(self, others: Sequence[Self]) -> Self:
        """An ensemble that averages probabilities at each step of the search."""
        from seqloom.model.ensemble import EnsembleDecoder, EnsembleEncoder, network_ensemble

        models = [self, *others]
        network = network_ensemble([model.network for model in models])
        engine = None
        if isinstance(network.decoder, EnsembleDecoder) and any(m.engine for m in models):
            engine = Engine(
                EnsembleEncoder([model.encoder for model in models]),
                EnsembleDecoder([model.decoder for model in models], network.decoder.widths),
                name=" and ".join(str(model.engine or NETWORK) for model in models),
            )
        return replace(self, weights=network, engine=engine, is_ensemble=True)

    def warm_up(self) -> None:
        """Search for the output of a dummy input, so that the first request is not slow."""
        if not self.warm_up_core():
            from seqloom.prediction.batching import warm_up

            warm_up(self, self._dummy_input)

    def warm_up_core(self) -> bool:
        """The same where the core carries out the search as a whole, without torch; whether it
        does."""
        return search_whole(self, [self._dummy_input], threads=1) is not None

    @property
    def _dummy_input(self) -> PendingInput[int]:
        asked = self.decoding_request(PredictionRequest())
        return PendingInput(0, dummy_input(self.source), 0, asked)

    @property
    def _automatic_search(self) -> str:
        if self.is_language_model:
            return "sample"
        # CTC searches work with a single model.
        return "" if self.is_ensemble else self.config.model.decoder.usual_search

    def describe_engine(self) -> str:
        return NETWORK if self.engine is None else str(self.engine)

    def describe_search(self) -> dict[str, Any]:
        """The search that is used unless another is asked for."""
        return describe_search(self.config.search, automatic=self._automatic_search)

    def picture_grid(self) -> tuple[int, int] | None:
        """Rows and columns that can be attended to in a picture; None where none are read."""
        if self.source.items.pixels is None:
            return None
        from seqloom.prediction.batching import count_positions

        cells = count_positions(self.encoder, dummy_input(self.source))
        return self.network.encoder.grid_shape(cells)

    def as_text_predictor(self) -> "TextPredictor":
        """This predictor."""
        return self
