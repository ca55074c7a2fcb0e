"""From a network to its compiled form, or to the reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqloom.engine.decoder import CompiledDecoder
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.from_network import (
    Decoder,
    Encoder,
    Hypothesis,
    Limits,
    Search,
    decoder_arrays,
    encoder_arrays,
    plan_of,
)
from seqloom.engine.library import core_or_none, missing_reason
from seqloom.engine.loop import SearchLoop, WordLists
from seqloom.engine.matrices import Precision
from seqloom.engine.stacks import PackedStack

__all__ = ["CompiledModel", "compile_decoder", "compile_encoder", "compile_model"]


@dataclass(frozen=True)
class CompiledModel:
    """Both sides of a model in the core, each usable by itself, and whole searches."""

    encoder: CompiledEncoder
    decoder: CompiledDecoder
    threads: int = 1

    def search(
        self,
        rows: Sequence[np.ndarray],
        search: Search,
        limits: Limits,
        *,
        words: WordLists | None = None,
    ) -> list[list[Hypothesis]] | None:
        """The outputs of each source, or None where the search has to go step by step.

        Outputs have no attention and no alternatives: where these are wanted, drive the decoder.
        """
        plan = plan_of(search, limits)
        if plan is None:
            return None
        loop = SearchLoop(self.encoder.stack, self.decoder.stack, threads=self.threads)
        return loop.run(rows, plan, limits, words=words)


def compile_encoder(encoder: Encoder, *, precision: Precision = "float32") -> CompiledEncoder | str:
    """The encoder's present weights in the core, or why the core has no form for it."""
    if core_or_none() is None:
        return missing_reason()
    arrays = encoder_arrays(encoder)
    if isinstance(arrays, str):
        return f"the compiled engine has no form for {arrays}"
    return CompiledEncoder(PackedStack.of(arrays, precision))


def compile_decoder(
    decoder: Decoder[Any], *, precision: Precision = "float32"
) -> CompiledDecoder | str:
    """The decoder's present weights in the core, or why the core has no form for it."""
    if core_or_none() is None:
        return missing_reason()
    arrays = decoder_arrays(decoder)
    if isinstance(arrays, str):
        return f"the compiled engine has no form for {arrays}"
    return CompiledDecoder(PackedStack.of(arrays, precision))


def compile_model(
    encoder: Encoder,
    decoder: Decoder[Any],
    *,
    precision: Precision = "float32",
    threads: int = 1,
) -> CompiledModel | str:
    """Both sides, or why not."""
    reading = compile_encoder(encoder, precision=precision)
    writing = compile_decoder(decoder, precision=precision)
    if isinstance(reading, str):
        return reading
    if isinstance(writing, str):
        return writing
    return CompiledModel(reading, writing, threads)
