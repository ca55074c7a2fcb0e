"""Requests to a predictor: output options and constraints, in words and in a model's
tokens (S7.5).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int

from seqloom.config import Overlong, SearchConfig
from seqloom.engine.loop import Bounds, SearchPlan
from seqloom.errors import ConfigError, InputError
from seqloom.fields import EMPTY, END, START, UNK, TextField
from seqloom.prediction.configured_search import plan_from_config, search_from_config
from seqloom.prediction.glossary import Glossary, GlossaryTerm
from seqloom.prediction.inputs import EncodedInput
from seqloom.remedies import FileLocation
from seqloom.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from seqloom.search import Phrase, Search, SearchNode

__all__ = [
    "NO_OPTIONS",
    "Constraints",
    "DecodingRequest",
    "DecodingResult",
    "OutputOptions",
    "PendingInput",
    "PredictionRequest",
    "Tag",
    "batch_key",
    "term_phrases",
]

MAX_ALTERNATIVES = 1_000
KEPT_REQUESTS = 64  # requests of other processes that are kept for further inputs
NEVER_WRITTEN = (EMPTY, START, UNK)


@dataclass(frozen=True)
class OutputOptions:
    """Constraints on outputs in words, and the details to return.

    `prefix` is a text for all outputs or one for each input. Phrases are matched as token
    sequences: in a model of characters also inside words.
    """

    prefix: str | Sequence[str] = ""
    require: tuple[str, ...] = ()  # required in every finished output
    forbid: tuple[str, ...] = ()  # forbidden
    no_repeat: int = 0  # n-gram size that must not repeat; 0: off
    glossary: Glossary | None = None  # terms and their translations
    attention: bool = False
    alternatives: int = 0  # number of top tokens to return for each step
    tree: bool = False  # whether to return the search tree
    overlong: Overlong | None = None  # handling of long inputs; default as in training

    @property
    def has_constraints(self) -> bool:
        """Whether any constraint is set."""
        free = not (self.prefix or self.require or self.forbid or self.no_repeat)
        return not free or self.glossary is not None


NO_OPTIONS = OutputOptions()


@dataclass(frozen=True)
class Constraints:
    """Constraints in tokens."""

    prefixes: "tuple[Phrase, ...]"  # prefixes: one for all inputs, or one for each
    required: "tuple[tuple[Phrase, ...], ...]" = ()  # outputs contain one of each
    forbidden: "tuple[Phrase, ...]" = ()
    no_repeat: int = 0
    n_alternatives: int = 0
    is_continuation: bool = False  # no source: outputs continue their prompts, the prefixes, ...
    is_stream: bool = False  # ... which are part of a stream without ends
    first_line: int = 0  # line number of the first prefix
    copies: bool = False  # whether `<unk>` may be written and replaced by source words

    @property
    def limit_lengths_alone(self) -> bool:
        """Whether only lengths are limited and no details are noted."""
        asked = any(self.prefixes) or self.required or self.forbidden or self.no_repeat
        return not (asked or self.n_alternatives)

    def with_prefixes(
        self, beginnings: Sequence[str], target: TextField, *, first: int, endless: bool
    ) -> "Constraints":
        """The constraints with prompts to be continued, the first at this line; each may
        be empty.
        """
        prefixes = tuple(tuple(target.encode(text).tolist()) for text in beginnings)
        return replace(
            self, prefixes=prefixes, is_continuation=True, is_stream=endless, first_line=first
        )

    def with_terms(self, terms: Sequence[GlossaryTerm], target: TextField) -> "Constraints":
        """The constraints with one form of each term required, as far as the model can
        write one.
        """
        groups = filter(None, (tuple(term_phrases(term, target)) for term in terms))
        return replace(self, required=(*self.required, *groups))

    @classmethod
    def of(cls, options: OutputOptions, target: TextField, *, width: int) -> "Constraints":
        """Convert options to tokens; ConfigError if they cannot be met. `width` branches of a path
        are in its tree.
        """
        if not 0 <= options.alternatives <= MAX_ALTERNATIVES:
            raise ConfigError(f"alternatives must be between 0 and {MAX_ALTERNATIVES:,}")
        if options.no_repeat < 0:
            raise ConfigError(
                "what may not be repeated must have at least one token", remedy="0 allows all"
            )
        prefixes = [options.prefix] if isinstance(options.prefix, str) else list(options.prefix)
        forbidden = [p for p in _phrases(options.forbid, target, known=False) if UNK not in p]
        return cls(
            tuple(_phrase(text, target) if text else () for text in prefixes),
            tuple((phrase,) for phrase in _phrases(options.require, target)),
            tuple(forbidden),
            options.no_repeat,
            max(options.alternatives, width if options.tree else 0),
        )

    def bounds(
        self, lengths: Int[np.ndarray, "B"], lines: Sequence[int], options: SearchConfig
    ) -> Bounds:
        """The limits of output lengths for inputs of these lengths and lines, and the forbidden
        symbols.
        """
        longest = _scale(lengths, options.max_ratio).clip(1) + options.max_extra
        shortest = _scale(lengths, options.min_ratio) + options.min_extra
        begun = np.array([len(prefix) for prefix in self.prefixes_of(lines)], np.int64)
        if self.is_continuation:
            longest = begun + options.length + (not self.is_stream)
        needed = sum(max(map(len, phrases)) for phrases in self.required)
        longest = np.maximum(longest, begun + needed + 1)
        never = tuple(id_ for id_ in NEVER_WRITTEN if id_ != UNK or not self.copies)
        return Bounds(
            longest,
            np.minimum(shortest, longest) if shortest.any() else None,
            never + (END,) * self.is_stream,
        )

    def prefixes_of(self, lines: Sequence[int]) -> "list[Phrase]":
        """The prefixes of the outputs of these lines."""
        if not any(self.prefixes):
            return [()] * len(lines)
        if len(self.prefixes) == 1 and not self.is_continuation:
            return [self.prefixes[0]] * len(lines)
        return [self._prefix_of(line) for line in lines]

    def _prefix_of(self, line: int) -> "Phrase":
        if line - self.first_line >= len(self.prefixes):
            raise ConfigError(
                f"there are prefixes for {len(self.prefixes):,} inputs and more inputs than that",
                remedy="give one for each, or one for all",
            )
        return self.prefixes[line - self.first_line]


def _scale(lengths: Int[np.ndarray, "B"], ratio: float) -> Int[np.ndarray, "B"]:
    """Multiply lengths by a factor, rounded down, in single precision."""
    scaled: np.ndarray = (lengths.astype(np.float32) * np.float32(ratio)).astype(np.int64)
    return scaled


def term_phrases(term: GlossaryTerm, target: TextField) -> "list[Phrase]":
    """The forms of a term that the model can write, also at the start of a sentence, in tokens."""
    forms = [*term.target, *(form[0].upper() + form[1:] for form in term.target)]
    phrases = (tuple(target.encode(form).tolist()) for form in dict.fromkeys(forms))
    return [phrase for phrase in phrases if phrase and UNK not in phrase]


def _phrases(texts: Sequence[str], target: TextField, *, known: bool = True) -> "list[Phrase]":
    return [_phrase(text, target, known=known) for text in texts]


def _phrase(text: str, target: TextField, *, known: bool = True) -> "Phrase":
    """The tokens of a phrase; ConfigError if it has none or unknown ones."""
    tokens = tuple(target.encode(text).tolist())
    if not tokens:
        raise ConfigError("an empty text is in every output", remedy="give at least one symbol")
    if known and UNK in tokens:
        raise ConfigError(
            f"the model cannot write {text!r}",
            remedy="leave out the symbols that training did not have",
        )
    return tokens


class DecodingResult(NamedTuple):
    """The result of a search for one input, and its number of source positions."""

    outputs: list[Hypothesis]
    tree: "list[SearchNode]"
    source_positions: int


@dataclass(frozen=True)
class PredictionRequest:
    """A request: the search, the number of outputs, and constraints.

    Python, the command line and HTTP all build one; None leaves the search to the model. A search
    that the core carries out may be given as its plan, which needs no torch.
    """

    search: "Search | None" = None
    n_best: int = 1
    options: OutputOptions = NO_OPTIONS
    plan: SearchPlan | None = None

    @property
    def searches(self) -> bool:
        """Whether it needs a search."""
        return (
            self.search is not None
            or self.plan is not None
            or self.n_best > 1
            or self.options.tree
            or self.options.has_constraints
        )


@dataclass(frozen=True)
class DecodingRequest:
    """A request in the tokens of a model.

    With a plan the compiled core runs the whole search; the search in Python is then built only
    when needed.
    """

    plan: SearchPlan | None
    given: "Search | None"
    options: OutputOptions
    constraints: Constraints
    n_best: int = 1
    beginnings: tuple[str, ...] = ()  # of a language model's outputs, by input number

    @classmethod
    def of(
        cls, request: PredictionRequest, config: SearchConfig, automatic: str, target: TextField
    ) -> "DecodingRequest":
        """Resolve a request: its search, or else the run's, or else one of the kind `automatic`;
        ConfigError if it cannot be met.
        """
        search, n_best, plan = request.search, request.n_best, request.plan
        if search is None and plan is None:
            plan = plan_from_config(config, n_best, automatic=automatic)
        if plan is not None:
            paths = plan.width
        else:
            from seqloom.engine.from_network import plan_of

            search = search or search_from_config(config, n_best, automatic=automatic)
            search = search.with_outputs(n_best)
            plan, paths = plan_of(search), search.paths
        constraints = Constraints.of(request.options, target, width=paths)
        return cls(plan, search, request.options, constraints, n_best)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was asked, without what follows from it, and share equal requests."""
        return _restore_request, tuple(getattr(self, each.name) for each in fields(self))

    @cached_property
    def search(self) -> "Search":
        """The step-by-step search in Python."""
        if self.given is not None:
            return self.given
        from seqloom.engine.from_network import planned_search

        if self.plan is None:
            raise TypeError("a request has a search or a plan of one")
        return planned_search(self.plan)

    @property
    def whole_plan(self) -> SearchPlan | None:
        """The plan, unless the request needs details that only the search in Python gives."""
        free = self.constraints.limit_lengths_alone and not self.options.tree
        return self.plan if free else None

    @property
    def paths(self) -> int:
        """Paths of an input that are searched at once."""
        return self.search.paths if self.plan is None else self.plan.width

    @property
    def path_count(self) -> int:
        """The number of paths requested by the caller, which a server limits."""
        return self.search.path_count if self.plan is None else self.plan.width

    def work(self, tokens: int) -> int:
        """The most positions that decoding reads for so many output tokens."""
        return self.search.work(tokens) if self.plan is None else tokens * self.plan.width

    def with_beginnings(
        self, beginnings: tuple[str, ...], target: TextField, *, first: int, endless: bool
    ) -> "DecodingRequest":
        """The request with these prompts, the first of them at this line."""
        constraints = self.constraints.with_prefixes(
            beginnings, target, first=first, endless=endless
        )
        return replace(self, constraints=constraints, beginnings=beginnings)

    def with_terms(self, terms: Sequence[GlossaryTerm], target: TextField) -> "DecodingRequest":
        """The request for inputs with these terms, whose translations are required."""
        return replace(self, constraints=self.constraints.with_terms(terms, target))

    def check_pieces(self, encoded: Sequence[EncodedInput], first: int = 0) -> None:
        """InputError if an input is in pieces and a constraint applies to the whole output; `start`
        is the number of the first input.
        """
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
        """Whether `<unk>` is replaced by source words."""
        return self.constraints.copies

    @property
    def trace(self) -> bool:
        """Whether attention is recorded."""
        compares = self.plan is None and self.search.uses_attention
        return self.options.attention or compares or self.copies

    @property
    def returns_n_best(self) -> bool:
        """Whether all outputs found are returned, not only the best."""
        return self.n_best > 1 or self._returns_all

    def select(self, outputs: list[Hypothesis]) -> list[Hypothesis]:
        """Select the outputs to return."""
        return outputs if self._returns_all else outputs[: self.n_best]

    @property
    def _returns_all(self) -> bool:
        return self.plan is None and self.search.returns_all


@lru_cache(maxsize=KEPT_REQUESTS)
def _shared_request(*values: Any) -> DecodingRequest:
    return DecodingRequest(*values)


def _restore_request(*values: Any) -> DecodingRequest:
    try:
        return _shared_request(*values)
    except TypeError:  # a list of prefixes cannot be hashed
        return DecodingRequest(*values)


Tag = TypeVar("Tag", bound=Hashable)


class PendingInput(NamedTuple, Generic[Tag]):
    """An input to be decoded; the tag is the caller's identifier."""

    tag: Tag
    encoded: EncodedInput
    line: int  # its number among the caller's inputs, from which random draws derive
    request: DecodingRequest


def batch_key(asked: DecodingRequest) -> Hashable | None:
    """Inputs with equal keys may be decoded together; those with None may not.

    Search trees belong to a whole batch, and some searches cannot be joined.
    """
    if asked.options.tree or (asked.plan is None and not asked.search.can_join):
        return None
    constraints = asked.constraints
    return (
        asked.given or asked.plan,
        asked.trace,
        constraints.required,
        constraints.forbidden,
        constraints.no_repeat,
        constraints.n_alternatives,
    )
