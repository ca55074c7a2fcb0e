"""What is asked of a predictor: options, constraints, and the same in a model's tokens (S7.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.config import Overlong, SearchConfig
from seqloom.config.searches import AUTO
from seqloom.errors import ConfigError, InputError
from seqloom.fields import EMPTY, END, START, UNK, TextField
from seqloom.prediction.glossary import Glossary, GlossaryTerm
from seqloom.prediction.inputs import EncodedInput
from seqloom.remedies import FileLocation
from seqloom.search import (
    SEARCHES,
    ForbiddenPhrases,
    Hypothesis,
    Limits,
    NoRepeat,
    Phrase,
    Prefix,
    Ranking,
    RequiredPhrases,
    Rule,
    Search,
    SearchDefaults,
    SearchNode,
)

__all__ = [
    "NO_OPTIONS",
    "Constraints",
    "DecodingRequest",
    "DecodingResult",
    "OutputOptions",
    "PredictionRequest",
    "build_search",
    "describe_search",
    "search_from_config",
    "term_phrases",
]

MAX_ALTERNATIVES = 1_000
NEVER_WRITTEN = (EMPTY, START, UNK)


@dataclass(frozen=True)
class OutputOptions:
    """Constraints on outputs in words, and what to return with them.

    A text for `prefix` is how every output begins; a sequence has one for each input. Phrases are
    found as the target field cuts them: in a model of characters also inside words.
    """

    prefix: str | Sequence[str] = ""
    require: tuple[str, ...] = ()  # every finished output contains these
    forbid: tuple[str, ...] = ()  # and none of these
    no_repeat: int = 0  # nor so many tokens in a row twice; 0 leaves it free
    glossary: Glossary | None = None  # how terms of an input are translated
    attention: bool = False
    alternatives: int = 0  # the likeliest tokens of each step
    tree: bool = False  # everything the search looked at
    overlong: Overlong | None = None  # what becomes of long inputs; as in training if not given

    @property
    def has_constraints(self) -> bool:
        """Whether outputs are constrained, rather than only described in more detail."""
        free = not (self.prefix or self.require or self.forbid or self.no_repeat)
        return not free or self.glossary is not None


NO_OPTIONS = OutputOptions()


@dataclass(frozen=True)
class Constraints:
    """Constraints in tokens, from which limits are made for each batch."""

    prefixes: tuple[Phrase, ...]  # one for all inputs, or one for each
    required: RequiredPhrases | None
    rules: tuple[Rule, ...]
    n_alternatives: int
    is_continuation: bool = (
        False  # there is no source: outputs go on from their beginnings, the prefixes, ...
    )
    is_stream: bool = False  # ... which are part of a stream, where no text ends
    first_line: int = 0  # the line of the first prefix
    copies: bool = False  # whether `<unk>` may be written, and source words in its place

    def with_prefixes(
        self, beginnings: Sequence[str], target: TextField, *, first: int, endless: bool
    ) -> "Constraints":
        """The same for texts to be continued, which begin at this line; each may be empty."""
        prefixes = tuple(tuple(target.encode(text).tolist()) for text in beginnings)
        return replace(
            self, prefixes=prefixes, is_continuation=True, is_stream=endless, first_line=first
        )

    def with_terms(self, terms: Sequence[GlossaryTerm], target: TextField) -> "Constraints":
        """The same with one form of each term required, as far as the model can write one."""
        groups = list(filter(None, (term_phrases(term, target) for term in terms)))
        if not groups:
            return self
        known = [] if self.required is None else self.required.alternatives
        return replace(self, required=RequiredPhrases.from_alternatives([*known, *groups]))

    @classmethod
    def of(cls, options: OutputOptions, target: TextField, *, width: int) -> "Constraints":
        """ConfigError where they cannot be met; `width` branches of a path are in its tree."""
        if not 0 <= options.alternatives <= MAX_ALTERNATIVES:
            raise ConfigError(f"alternatives must be between 0 and {MAX_ALTERNATIVES:,}")
        if options.no_repeat < 0:
            raise ConfigError(
                "what may not be repeated must have at least one token", remedy="0 allows all"
            )
        prefixes = [options.prefix] if isinstance(options.prefix, str) else list(options.prefix)
        required = _phrases(options.require, target)
        forbidden = [p for p in _phrases(options.forbid, target, known=False) if UNK not in p]
        rules: list[Rule] = [ForbiddenPhrases(tuple(forbidden))] if forbidden else []
        if options.no_repeat:
            rules.append(NoRepeat(options.no_repeat))
        return cls(
            tuple(_phrase(text, target) if text else () for text in prefixes),
            RequiredPhrases(tuple(required)) if required else None,
            tuple(rules),
            max(options.alternatives, width if options.tree else 0),
        )

    def limits(
        self, lengths: Int[Tensor, "B"], lines: Int[Tensor, "B"], options: SearchConfig
    ) -> Limits:
        """For inputs of these lengths, which are these lines; without what they can look at."""
        longest = (lengths * options.max_ratio).long().clamp(min=1) + options.max_extra
        shortest = (lengths * options.min_ratio).long() + options.min_extra
        prefix = self._prefix(lines)
        begun = torch.zeros_like(longest) if prefix is None else prefix.lengths
        needed = 0 if self.required is None else self.required.size
        if self.is_continuation:
            longest = begun + options.length + (not self.is_stream)
        longest = longest.maximum(begun + needed + 1)
        never = tuple(id_ for id_ in NEVER_WRITTEN if id_ != UNK or not self.copies)
        return Limits(
            longest,
            forbidden=never + (END,) * self.is_stream,
            shortest=shortest.minimum(longest) if bool(shortest.any()) else None,
            lines=lines,
            prefix=prefix,
            required=self.required,
            rules=self.rules,
            n_alternatives=self.n_alternatives,
        )

    def _prefix(self, lines: Int[Tensor, "B"]) -> Prefix | None:
        if not any(self.prefixes):
            return None
        if len(self.prefixes) == 1 and not self.is_continuation:
            chosen = [self.prefixes[0]] * len(lines)
        else:
            chosen = [self._prefix_of(line) for line in lines.tolist()]
        lengths = torch.tensor([len(phrase) for phrase in chosen])
        table = torch.full((len(chosen), int(lengths.max())), EMPTY, dtype=torch.int64)
        for row, phrase in zip(table, chosen, strict=True):
            row[: len(phrase)] = torch.tensor(phrase, dtype=torch.int64)
        return Prefix(table, lengths)

    def _prefix_of(self, line: int) -> Phrase:
        if line - self.first_line >= len(self.prefixes):
            raise ConfigError(
                f"there are prefixes for {len(self.prefixes):,} inputs and more inputs than that",
                remedy="give one for each, or one for all",
            )
        return self.prefixes[line - self.first_line]


def term_phrases(term: GlossaryTerm, target: TextField) -> list[Phrase]:
    """The forms of a term that the model can write, also as they begin a sentence, in tokens."""
    forms = [*term.target, *(form[0].upper() + form[1:] for form in term.target)]
    phrases = (tuple(target.encode(form).tolist()) for form in dict.fromkeys(forms))
    return [phrase for phrase in phrases if phrase and UNK not in phrase]


def _phrases(texts: Sequence[str], target: TextField, *, known: bool = True) -> list[Phrase]:
    return [_phrase(text, target, known=known) for text in texts]


def _phrase(text: str, target: TextField, *, known: bool = True) -> Phrase:
    """The tokens of a text, of which there is at least one."""
    tokens: Phrase = tuple(target.encode(text).tolist())
    if not tokens:
        raise ConfigError("an empty text is in every output", remedy="give at least one symbol")
    if known and UNK in tokens:
        raise ConfigError(
            f"the model cannot write {text!r}",
            remedy="leave out the symbols that training did not have",
        )
    return tokens


class DecodingResult(NamedTuple):
    """What a search gave for one input, and how many positions it could look at."""

    outputs: list[Hypothesis]
    tree: list[SearchNode]
    source_positions: int


@dataclass(frozen=True)
class PredictionRequest:
    """How outputs are searched for, how many are wanted, and what they are to be.

    Python, the command line and HTTP all make one; None leaves the search to the model.
    """

    search: Search | None = None
    n_best: int = 1
    options: OutputOptions = NO_OPTIONS

    @property
    def searches(self) -> bool:
        """Whether it asks for anything that only a search gives."""
        return (
            self.search is not None
            or self.n_best > 1
            or self.options.tree
            or self.options.has_constraints
        )


@dataclass(frozen=True)
class DecodingRequest:
    """A request in the tokens of the model that decodes it."""

    search: Search
    options: OutputOptions
    constraints: Constraints
    n_best: int = 1
    beginnings: tuple[str, ...] = ()  # of a language model's outputs, by the numbers of inputs

    @classmethod
    def of(cls, request: PredictionRequest, search: Search, target: TextField) -> "DecodingRequest":
        """The request, decoded by this search; ConfigError where it cannot be met."""
        search = search.with_outputs(request.n_best)
        constraints = Constraints.of(request.options, target, width=search.paths)
        return cls(search, request.options, constraints, request.n_best)

    def with_beginnings(
        self, beginnings: tuple[str, ...], target: TextField, *, first: int, endless: bool
    ) -> "DecodingRequest":
        """The same for outputs that begin so, the first of them at this line of the input."""
        constraints = self.constraints.with_prefixes(
            beginnings, target, first=first, endless=endless
        )
        return replace(self, constraints=constraints, beginnings=beginnings)

    def with_terms(self, terms: Sequence[GlossaryTerm], target: TextField) -> "DecodingRequest":
        """The same for inputs with these terms, of which the outputs have the translations."""
        return replace(self, constraints=self.constraints.with_terms(terms, target))

    def check_pieces(self, encoded: Sequence[EncodedInput], first: int = 0) -> None:
        """InputError where an input is in pieces, and something is asked of the whole output that
        no single piece can give; the first input of all has this number."""
        if not (self.options.prefix or self.options.require):
            return
        for before, each in pairwise(encoded):
            if before.number == each.number:
                raise InputError(
                    "the input is split, and a prefix or required words belong to one piece alone",
                    place=FileLocation("", first + each.number + 1),
                    remedy="give the pieces one by one, or leave these out",
                )

    @property
    def copies(self) -> bool:
        """Whether source words are written in place of `<unk>`."""
        return self.constraints.copies

    @property
    def trace(self) -> bool:
        """Whether attention is recorded."""
        return self.options.attention or self.search.uses_attention or self.copies

    @property
    def returns_n_best(self) -> bool:
        """Whether all outputs found are told, rather than the best alone."""
        return self.n_best > 1 or self.search.returns_all

    def select(self, outputs: list[Hypothesis]) -> list[Hypothesis]:
        """The outputs to tell, of those found."""
        return outputs if self.search.returns_all else outputs[: self.n_best]


def build_search(
    kind: str, given: Mapping[str, Any], config: SearchConfig, *, n_best: int = 1
) -> Search:
    """The search of a kind with these options; the others follow from the run and the outputs.

    ConfigError where there is no such search or its options contradict one another.
    """
    defaults = SearchDefaults(Ranking.from_config(config), config.beam, n_best)
    found: Search = SEARCHES.parts[kind].from_options(given, defaults)
    return found


def search_from_config(options: SearchConfig, n_best: int, *, automatic: str = "") -> Search:
    """The search of a run's options, wide enough for the outputs wanted.

    `automatic` is the kind to use where the run names none: a beam, or greedy search where a beam
    would keep one path, unless told otherwise.
    """
    kind, given = _search_choice(options, max(options.beam, n_best), automatic)
    return build_search(kind, given, options, n_best=n_best)


def describe_search(options: SearchConfig, *, automatic: str = "") -> dict[str, Any]:
    """The kind of that search, and the options that the run sets of it."""
    kind, given = _search_choice(options, options.beam, automatic)
    return {"kind": kind, **({"width": options.beam} if kind == "beam" else {}), **given}


def _search_choice(
    options: SearchConfig, width: int, automatic: str
) -> tuple[str, Mapping[str, Any]]:
    if options.method == AUTO:
        return automatic or ("beam" if width > 1 else "greedy"), {}
    if isinstance(options.method, str):
        return options.method, {}
    given = {name: value for name, value in options.method.items() if name != "kind"}
    return str(options.method["kind"]), given
