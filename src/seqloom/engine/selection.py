"""Select the engine of a trained model: the compiled core, the torch engine or the network."""

from dataclasses import dataclass

from seqloom.engine.core_model import (
    NETWORK,
    CompiledModel,
    Engine,
    core_engine,
    core_name,
    warn_once,
)
from seqloom.engine.from_network import compile_decoder, compile_encoder, head_arrays
from seqloom.engine.library import core_or_none, missing_reason
from seqloom.engine.matrices import Precision
from seqloom.engine.scorer import CompiledScorer
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.model import Encoder, HeadModel, SequenceModel
from seqloom.torch_engine import fast_decoder, fast_encoder

__all__ = ["HeadEngine", "select_engine", "select_head_engine"]


def select_engine(
    network: SequenceModel, *, precision: Precision = "float32", shortlist: Shortlist | None = None
) -> Engine:
    """The fastest engine that supports each side of a network, with its current weights.

    Unless both sides are compiled, there is one precision and no shortlist.
    """
    if core_or_none() is None:
        warn_once(missing_reason())
    encoder = compile_encoder(network.encoder, precision=precision)
    decoder = compile_decoder(network.decoder, precision=precision)
    if not isinstance(encoder, str) and not isinstance(decoder, str):
        return core_engine(CompiledModel(encoder, decoder, shortlist=shortlist), precision)
    reasons = [part for part in (encoder, decoder) if isinstance(part, str)]
    names = [] if len(reasons) == 2 else [core_name(precision)]
    reading = fast_encoder(network.encoder) if isinstance(encoder, str) else encoder
    writing = fast_decoder(network.decoder) if isinstance(decoder, str) else decoder
    if isinstance(encoder, str):
        names.append(_torch_name("encoder", own=reading is network.encoder))
    if isinstance(decoder, str):
        names.append(_torch_name("decoder", own=writing is network.decoder))
    return Engine(reading, writing, None, ", ".join(names), "; ".join(dict.fromkeys(reasons)))


@dataclass(frozen=True)
class HeadEngine:
    """An encoder that replaces a network's own, with the scores of its head."""

    encoder: Encoder
    name: str
    reason: str = ""
    scorer: CompiledScorer | None = None  # if the core supports encoder and head

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


def select_head_engine(network: HeadModel, *, precision: Precision = "float32") -> HeadEngine:
    """The fastest engine for the encoder of a network with a head, and for both."""
    if core_or_none() is None:
        warn_once(missing_reason())
    encoder = compile_encoder(network.encoder, precision=precision)
    if isinstance(encoder, str):
        own = network.encoder
        reading = fast_encoder(own)
        return HeadEngine(reading, _torch_name("encoder", own=reading is own), encoder)
    head = head_arrays(network.head)
    if isinstance(head, str) or encoder.stack.front is not None:
        return HeadEngine(encoder, f"{core_name(precision)}; head on torch")
    return HeadEngine(encoder, core_name(precision), scorer=CompiledScorer(encoder, head))


def _torch_name(side: str, *, own: bool) -> str:
    return f"{side} on torch, {NETWORK if own else 'its fast form'}"
