"""Inputs that are decoded together and come and go one by one, a step at a time (SPEC S7.4).

`Model.predict` lets inputs join those that are half done; a server those that arrive meanwhile, of
which each may be given up or watched while it is written.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from seqloom.config import Config
from seqloom.errors import ConfigError
from seqloom.fields import TextField
from seqloom.model import Decoder, Encoder, SequenceModel
from seqloom.prediction.inputs import Encoded, padded
from seqloom.prediction.output import Output
from seqloom.prediction.request import Asked, Found
from seqloom.prediction.search_setup import in_texts
from seqloom.search import (
    Certain,
    Exact,
    Frontier,
    Limits,
    Node,
    agreed,
    joined,
    joins_unbegun,
    remaining,
    trees,
)

__all__ = ["Running", "Waiting", "sharing"]

Tag = TypeVar("Tag", bound=Hashable)


class Writer(Protocol):
    """A model as far as decoding knows it."""

    @property
    def config(self) -> Config: ...

    @property
    def target(self) -> TextField: ...

    @property
    def network(self) -> SequenceModel: ...

    @property
    def encoder(self) -> Encoder: ...

    @property
    def decoder(self) -> Decoder[Any]: ...

    def explained(self, source: Encoded, found: Found, asked: Asked) -> Output:
        """The output for an input, with what was asked for beside it."""
        ...


@dataclass(frozen=True)
class Waiting(Generic[Tag]):
    """An input that is to be decoded; the tag is whatever its caller knows it by."""

    tag: Tag
    encoded: Encoded
    line: int  # its number among the inputs of its caller, from which random draws come
    asked: Asked


def sharing(asked: Asked) -> Hashable | None:
    """Inputs for which this is equal may be decoded together; those for which it is None, not.

    A tree is that of a whole batch, and an exact search stands at no frontier that can be joined.
    """
    if asked.wishes.tree or isinstance(asked.search, Exact):
        return None
    demands = asked.demands
    return (asked.search, asked.trace, demands.required, demands.rules, demands.noted)


@dataclass
class Running(Generic[Tag]):
    """Inputs on the way to their outputs, for which `sharing` is equal, or a single one."""

    model: Writer
    waiting: list[Waiting[Tag]] = field(default_factory=list)  # in the order of the sentences
    standing: Any = None
    seen: dict[Tag, int] = field(default_factory=dict)  # positions that each can look at

    @property
    def tags(self) -> list[Tag]:
        """Those of the inputs that are not done."""
        return [each.tag for each in self.waiting]

    @property
    def done(self) -> bool:
        """Whether no input is left."""
        return not self.waiting

    @torch.inference_mode()
    def add(self, newcomers: Sequence[Waiting[Tag]]) -> dict[Tag, Output]:
        """Let these inputs join.

        Where a search cannot do without, their first step is made before, and some may be done.
        """
        search, outputs = newcomers[0].asked.search, dict[Tag, Output]()
        fresh = Running(self.model, list(newcomers), self._begun(newcomers), self.seen)
        if not joins_unbegun(search):
            fresh.standing = search.advance(self.model.decoder, fresh.standing)
            outputs = fresh._taken()
        together = self.joined(fresh)
        self.waiting, self.standing = together.waiting, together.standing
        return outputs

    @torch.inference_mode()
    def joined(self, other: "Running[Tag]") -> "Running[Tag]":
        """The inputs of both, which may be decoded together; both are consumed."""
        if self.done or other.done:
            return other if self.done else self
        standing = joined(self.standing, other.standing)
        return Running(
            self.model, [*self.waiting, *other.waiting], standing, self.seen | other.seen
        )

    @torch.inference_mode()
    def advance(self) -> dict[Tag, Output]:
        """One step of every input, and the outputs of those that are done by it."""
        search = self.waiting[0].asked.search
        self.standing = search.advance(self.model.decoder, self.standing)
        return self._taken()

    @torch.inference_mode()
    def go_on(self, least: int) -> dict[Tag, Output]:
        """Steps until at most so many inputs are left, and the outputs of the others.

        Where a search stands at no frontier, none is left.
        """
        if self.done:
            return {}
        search, standing = self.waiting[0].asked.search, self.standing
        while not standing.done and not (
            isinstance(standing, Frontier) and len(standing.sentences) <= least
        ):
            standing = search.advance(self.model.decoder, standing)
        self.standing = standing
        return self._taken()

    def give_up(self, tags: set[Tag]) -> None:
        """Go on without these inputs."""
        for tag in tags:
            self.seen.pop(tag, None)
        if not isinstance(self.standing, Frontier):
            if all(each.tag in tags for each in self.waiting):
                self.waiting = []
            return
        gone = torch.tensor([each.tag in tags for each in self.waiting])
        if bool(gone.any()):
            self.standing = remaining(self.standing.without(gone))
            self.waiting = [each for each in self.waiting if each.tag not in tags]

    def certain(self, tag: Tag, known: int) -> list[Certain]:
        """The tokens after the first `known` that the output for an input will have for certain."""
        places = [place for place, each in enumerate(self.waiting) if each.tag == tag]
        if not places or not isinstance(self.standing, Frontier):
            return []
        return agreed(self.standing, places[0], known)

    def _begun(self, newcomers: Sequence[Waiting[Tag]]) -> Any:
        model, asked = self.model, newcomers[0].asked
        if model.network.training:
            model.network.eval()
        source = padded([each.encoded.values for each in newcomers])
        groups = groupby(newcomers, key=lambda each: each.asked.demands)
        limits = reduce(Limits.join, (self._limits(list(group)) for _, group in groups))
        memory = model.encoder.encode(source)
        seen = memory.seen(source)
        self.seen |= {each.tag: count for each, count in zip(newcomers, seen.tolist(), strict=True)}
        state = model.decoder.start(memory, trace=asked.trace)
        return asked.search.begin(state, replace(limits, sources=seen))

    def _limits(self, group: Sequence[Waiting[Tag]]) -> Limits:
        """Of inputs that have the same demands."""
        lengths = torch.tensor([len(each.encoded.values) for each in group])
        lines = torch.tensor([each.line for each in group])
        return group[0].asked.demands.limits(lengths, lines, self.model.config.search)

    def _taken(self) -> dict[Tag, Output]:
        """The outputs of what is done, which is then no longer here."""
        standing = self.standing
        if not isinstance(standing, Frontier):
            gone = list(range(len(self.waiting))) if standing.done else []
        else:
            staying = set(_numbers(standing.sentences))
            gone = [place for place in range(len(self.waiting)) if place not in staying]
        if not gone:
            return {}
        asked = self.waiting[0].asked
        found = in_texts(asked.search, self.model.target).results(standing)
        branches: list[list[Node]] = [[] for _ in found]
        if asked.wishes.tree:
            if not isinstance(standing, Frontier):
                raise ConfigError("this search keeps no tree to show: use a beam")
            branches = trees(standing, found)
        done = [self.waiting[place] for place in gone]
        outputs = {
            each.tag: self.model.explained(
                each.encoded, Found(result, tree, self.seen.pop(each.tag)), each.asked
            )
            for each, result, tree in zip(done, found, branches, strict=True)
        }
        self.waiting = [each for each in self.waiting if each.tag not in outputs]
        if isinstance(standing, Frontier):
            self.standing = remaining(standing)
        return outputs


def _numbers(values: Tensor) -> list[int]:
    numbers: list[int] = values.tolist()
    return numbers
