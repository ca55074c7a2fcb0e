"""Searches that go step by step among the symbols of shortlists, which constraints widen.

The same inputs choose from the same symbols as in whole searches, and from those that their own
constraints name: prefixes, required and forbidden phrases, the forms of glossary terms. What bans
symbols as an output grows widens each list until some are always left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from seqloom.config import SearchConfig
from seqloom.engine.core_model import Engine
from seqloom.engine.loop import Bounds
from seqloom.prediction.listing.decoder import ListedDecoder, SymbolList
from seqloom.prediction.request import Constraints, DecodingRequest, PendingInput, Tag
from seqloom.prediction.whole_search import bounds_of
from seqloom.search import Hypothesis, Phrase

__all__ = ["GroupConstraints", "listed_decoder", "restore_symbols"]


def listed_decoder(engine: Engine | None, asked: DecodingRequest) -> ListedDecoder | None:
    """What writes the symbols of a model's shortlist alone; None where all are to be chosen from.

    Draws, exact search, trees and alternatives tell of the whole distribution.
    """
    model = None if engine is None else engine.whole
    if model is None or model.shortlist is None or not model.encoder.stack.vocabulary:
        return None
    if asked.plan is None or asked.options.tree or asked.constraints.n_alternatives:
        return None
    return ListedDecoder(model.decoder, model.shortlist.shared)


@dataclass(frozen=True)
class GroupConstraints:
    """The constraints and bounds of inputs that have the same constraints, in tokens."""

    constraints: Constraints
    bounds: Bounds
    prefixes: list[Phrase]
    lines: list[int]

    @classmethod
    def of(cls, group: Sequence[PendingInput[Tag]], options: SearchConfig) -> "GroupConstraints":
        """Those of these inputs."""
        constraints, lines = group[0].request.constraints, [each.line for each in group]
        bounds = bounds_of(group, options)
        return cls(constraints, bounds, constraints.prefixes_of(lines), lines)

    def list_symbols(
        self, decoder: ListedDecoder, sources: Sequence[np.ndarray]
    ) -> list[SymbolList]:
        """The symbols of each sentence.

        Each token of an output rules out one symbol at most where nothing may be repeated, and
        each forbidden phrase one. A list with more symbols than that always has one left.
        """
        required, forbidden = self.constraints.required, self.constraints.forbidden
        needed = sorted({*chain(*chain(*required)), *chain(*forbidden)})
        banned = len(self.bounds.forbidden) + len(forbidden) + 1
        longest = self.bounds.longest.tolist()
        return [
            decoder.symbol_list(
                source,
                needed,
                besides=prefix,
                least=banned + (most if self.constraints.no_repeat else 0),
            )
            for source, prefix, most in zip(sources, self.prefixes, longest, strict=True)
        ]

    def rename(self, lists: Sequence[SymbolList]) -> "GroupConstraints":
        """The same with columns of these lists for tokens; what is required or forbidden has the
        same columns in all of them."""
        first, bounds = lists[0], self.bounds

        def columns(phrases: tuple[Phrase, ...]) -> tuple[Phrase, ...]:
            return tuple(tuple(map(first.column, phrase)) for phrase in phrases)

        return replace(
            self,
            constraints=replace(
                self.constraints,
                required=tuple(map(columns, self.constraints.required)),
                forbidden=columns(self.constraints.forbidden),
            ),
            bounds=replace(
                bounds,
                forbidden=(*map(first.column, bounds.forbidden), first.absent),
                start=first.column(bounds.start),
                end=first.column(bounds.end),
            ),
            prefixes=[
                tuple(map(own.column, prefix))
                for own, prefix in zip(lists, self.prefixes, strict=True)
            ],
        )


def restore_symbols(outputs: Sequence[Hypothesis], own: SymbolList | None) -> list[Hypothesis]:
    """The outputs in symbols, from those in columns of a list."""
    if own is None:
        return list(outputs)
    return [
        replace(each, tokens=tuple(own.symbols[list(each.tokens)].tolist())) for each in outputs
    ]
