"""Convert the project's networks, searches and results to the engine's, and back.

Apart from `exporters`, which export network parts, only this module of the engine knows the rest of
the project.
"""

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

from seqloom.engine.core_model import CompiledModel
from seqloom.engine.decoder import CompiledDecoder
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.exporters import UnfitError, decoder_form, encoder_form, head_form
from seqloom.engine.library import core_or_none, missing_reason
from seqloom.engine.loop import BEAM, GREEDY, PATIENT, LengthRanking, SearchPlan
from seqloom.engine.matrices import Precision
from seqloom.engine.packed import HeadArrays, PackedStack, SideArrays
from seqloom.model import Decoder, Encoder
from seqloom.search import Beam, Greedy, PatientBeam, Ranking, Search

__all__ = [
    "MissingForm",
    "compile_decoder",
    "compile_encoder",
    "compile_model",
    "decoder_arrays",
    "encoder_arrays",
    "head_arrays",
    "missing_forms",
    "plan_of",
    "planned_search",
]


def encoder_arrays(encoder: Encoder) -> SideArrays | str:
    """The parameters of an encoder, or the reason why the engine does not support it."""
    try:
        return encoder_form(encoder)
    except UnfitError as reason:
        return str(reason)


def decoder_arrays(decoder: Decoder[Any]) -> SideArrays | str:
    """The parameters of a decoder, or the reason why the engine does not support it."""
    try:
        return decoder_form(decoder)
    except UnfitError as reason:
        return str(reason)


def head_arrays(head: Any) -> HeadArrays | str:
    """The parameters of a head, or the reason why the engine does not support it."""
    try:
        return head_form(head)
    except UnfitError as reason:
        return str(reason)


class MissingForm(NamedTuple):
    """A side of a network that runs on torch, and the reason."""

    side: str
    reason: str


def missing_forms(network: Any) -> list[MissingForm]:
    """The sides of a network that the engine does not support; a head runs on torch, and is
    small.
    """
    exported = {"encoder": encoder_arrays(network.encoder)}
    if network.decoder is not None:
        exported["decoder"] = decoder_arrays(network.decoder)
    return [MissingForm(side, part) for side, part in exported.items() if isinstance(part, str)]


@singledispatch
def plan_of(search: Any) -> SearchPlan | None:
    """The core's plan for a search; None if the core has no loop for it, and Python must run each
    step.
    """
    return None


@plan_of.register
def _(search: Greedy) -> SearchPlan | None:
    return SearchPlan(GREEDY)


@plan_of.register
def _(search: Beam) -> SearchPlan | None:
    ranking = ranking_form(search.ranking)
    if ranking is None or search.patience is not None:
        return None
    return SearchPlan(BEAM, search.width, search.n_best, first=search.first, ranking=ranking)


@plan_of.register
def _(search: PatientBeam) -> SearchPlan | None:
    ranking = ranking_form(search.ranking)
    if ranking is None:
        return None
    return SearchPlan(PATIENT, search.width, search.n_best, search.max_finished, ranking=ranking)


def planned_search(plan: SearchPlan) -> Search:
    """The stepwise search of a plan made from a run's options."""
    if plan.kind == GREEDY:
        return Greedy()
    return Beam(plan.width, Ranking(*plan.ranking), n_best=plan.n_best)


@singledispatch
def ranking_form(ranking: Any) -> LengthRanking | None:
    """The core's ranking of outputs; None if it does not support this one."""
    return None


@ranking_form.register
def _(ranking: Ranking) -> LengthRanking | None:
    if ranking.coverage:
        return None
    return LengthRanking(ranking.power, ranking.gnmt, ranking.reward)


def compile_encoder(encoder: Encoder, *, precision: Precision = "float32") -> CompiledEncoder | str:
    """Compile an encoder's current weights, or return the reason why the core does not support
    it.
    """
    stack = _pack(encoder_arrays, encoder, precision)
    return stack if isinstance(stack, str) else CompiledEncoder(stack)


def compile_decoder(
    decoder: Decoder[Any], *, precision: Precision = "float32"
) -> CompiledDecoder | str:
    """Compile a decoder's current weights, or return the reason why the core does not support
    it.
    """
    stack = _pack(decoder_arrays, decoder, precision)
    return stack if isinstance(stack, str) else CompiledDecoder(stack)


def _pack(
    arrays_of: Callable[[Any], Any], part: Encoder | Decoder[Any], precision: Precision
) -> PackedStack | str:
    """Pack one side's weights, or return the reason why the core cannot."""
    if core_or_none() is None:
        return missing_reason()
    arrays = arrays_of(part)
    if isinstance(arrays, str):
        return f"the compiled engine has no form for {arrays}"
    return PackedStack.of(arrays, precision)


def compile_model(
    encoder: Encoder,
    decoder: Decoder[Any],
    *,
    precision: Precision = "float32",
    threads: int = 1,
) -> CompiledModel | str:
    """Compile both sides, or return the reason why not."""
    reading = compile_encoder(encoder, precision=precision)
    writing = compile_decoder(decoder, precision=precision)
    if isinstance(reading, str):
        return reading
    if isinstance(writing, str):
        return writing
    return CompiledModel(reading, writing, threads)
