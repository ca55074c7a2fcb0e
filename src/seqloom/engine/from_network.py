"""From the project's own networks, searches and results to the engine's, and back.

With `exporters`, which knows how each part of a network is made, this is all that the engine knows
of what is around it.
"""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

from seqloom.engine.exporters import UnfitError, decoder_form, encoder_form, head_form
from seqloom.engine.packed import HeadArrays, SideArrays
from seqloom.errors import DataError, DivergedError
from seqloom.model import Decoder, Encoder, Features, Memory, Source
from seqloom.search import Beam, Greedy, Hypothesis, Limits, PatientBeam, Ranking, Search

__all__ = [
    "DataError",
    "Decoder",
    "DivergedError",
    "Encoder",
    "Features",
    "Hypothesis",
    "Limits",
    "Memory",
    "MissingForm",
    "Search",
    "SearchPlan",
    "Source",
    "decoder_arrays",
    "encoder_arrays",
    "head_arrays",
    "missing_forms",
    "plan_of",
]

GREEDY, BEAM, PATIENT = range(3)


def encoder_arrays(encoder: Encoder) -> SideArrays | str:
    """The parameters of an encoder, or why the engine has no form for it."""
    try:
        return encoder_form(encoder)
    except UnfitError as reason:
        return str(reason)


def decoder_arrays(decoder: Decoder[Any]) -> SideArrays | str:
    """The parameters of a decoder, or why the engine has no form for it."""
    try:
        return decoder_form(decoder)
    except UnfitError as reason:
        return str(reason)


def head_arrays(head: Any) -> HeadArrays | str:
    """The parameters of a head, or why the engine has no form for it."""
    try:
        return head_form(head)
    except UnfitError as reason:
        return str(reason)


class MissingForm(NamedTuple):
    """A side of a network that runs on torch, and why: what the engine has no form for."""

    side: str
    reason: str


def missing_forms(network: Any) -> list[MissingForm]:
    """Which sides of a network the engine has no form for; a head runs on torch, and is small."""
    exported = {"encoder": encoder_arrays(network.encoder)}
    if network.decoder is not None:
        exported["decoder"] = decoder_arrays(network.decoder)
    return [MissingForm(side, part) for side, part in exported.items() if isinstance(part, str)]


@dataclass(frozen=True)
class SearchPlan:
    """A search as the core carries it out."""

    kind: int
    width: int = 1
    n_best: int = 1
    enough: int = 1
    first: bool = False
    ranking: Ranking = Ranking()  # noqa: RUF009  (it is frozen)


def plan_of(search: Search, limits: Limits) -> SearchPlan | None:
    """How the core carries out a search, or None where Python has to, step by step."""
    if limits.prefix or limits.required or limits.rules or limits.n_alternatives:
        return None
    return search_form(search)


@singledispatch
def search_form(search: Any) -> SearchPlan | None:
    """How the core carries out a search without limits; None where it has no loop for it."""
    return None


@search_form.register
def _(search: Greedy) -> SearchPlan | None:
    return SearchPlan(GREEDY)


@search_form.register
def _(search: Beam) -> SearchPlan | None:
    ranking = ranking_form(search.ranking)
    if ranking is None or search.patience is not None:
        return None
    return SearchPlan(BEAM, search.width, search.n_best, first=search.first, ranking=ranking)


@search_form.register
def _(search: PatientBeam) -> SearchPlan | None:
    ranking = ranking_form(search.ranking)
    if ranking is None:
        return None
    return SearchPlan(PATIENT, search.width, search.n_best, search.max_finished, ranking=ranking)


@singledispatch
def ranking_form(ranking: Any) -> Ranking | None:
    """How the core ranks outputs; None where it has no such ranking."""
    return None


@ranking_form.register
def _(ranking: Ranking) -> Ranking | None:
    return None if ranking.coverage else ranking
