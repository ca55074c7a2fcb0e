"""From a network to its compiled form, or to the reason why there is none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seqloom.engine.decoder import CompiledDecoder
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.from_network import (
    Decoder,
    Encoder,
    Hypothesis,
    Limits,
    Search,
    SearchPlan,
    Source,
    decoder_arrays,
    encoder_arrays,
    plan_of,
)
from seqloom.engine.library import core_or_none, missing_reason
from seqloom.engine.loop import SearchLoop
from seqloom.engine.matrices import Precision
from seqloom.engine.shortlist import Shortlist
from seqloom.engine.stacks import PackedStack
from seqloom.engine.word_lists import WordLists

__all__ = ["CompiledModel", "compile_decoder", "compile_encoder", "compile_model"]

ATTENDED = 32  # sentences whose outputs are read once more together


@dataclass(frozen=True)
class CompiledModel:
    """Both sides of a model in the core, each usable by itself, and whole searches."""

    encoder: CompiledEncoder
    decoder: CompiledDecoder
    threads: int = 1
    shortlist: Shortlist | None = None  # the symbols that whole searches choose from

    def search(
        self,
        rows: Sequence[np.ndarray],
        search: Search,
        limits: Limits,
        *,
        words: WordLists | None = None,
        threads: int | None = None,
    ) -> list[list[Hypothesis]] | None:
        """The outputs of each source, or None where the search has to go step by step.

        Outputs have no alternatives, and no attention until `attend` adds it.
        """
        found = self.search_each(rows, search, limits, words=words, threads=threads)
        if found is None:
            return None
        outputs = dict(found)
        return [outputs[number] for number in range(len(rows))]

    def plan(self, search: Search, limits: Limits) -> SearchPlan | None:
        """How the core carries out a search as a whole; None where Python has to, step by step, or
        a front end reads the source."""
        return None if self.encoder.stack.front is not None else plan_of(search, limits)

    def search_each(
        self,
        rows: Sequence[np.ndarray],
        search: Search,
        limits: Limits,
        *,
        words: WordLists | None = None,
        threads: int | None = None,
    ) -> Iterator[tuple[int, list[Hypothesis]]] | None:
        """The same with the number of each source, as they are done: who makes something of them
        need not wait for the last."""
        plan = self.plan(search, limits)
        if plan is None:
            return None
        if words is None and self.shortlist is not None and self.encoder.stack.vocabulary:
            words = self.shortlist.for_rows(rows)
        stacks = self.encoder.stack, self.decoder.stack
        loop = SearchLoop(*stacks, threads=threads or self.threads)
        return loop.run_each(rows, plan, limits, words=words)

    def attend(
        self, rows: Sequence[np.ndarray], found: Sequence[list[Hypothesis]], limits: Limits
    ) -> list[list[Hypothesis]]:
        """The same outputs with their attention, for which they are read once more."""
        attended: list[list[Hypothesis]] = []
        for first in range(0, len(rows), ATTENDED):
            some, outputs = rows[first : first + ATTENDED], found[first : first + ATTENDED]
            attention = self._attention(some, outputs, limits.start)  # (B, K, T, S)
            attended += [
                [
                    _with_attention(each, weights)
                    for each, weights in zip(mine, theirs, strict=False)
                ]
                for mine, theirs in zip(outputs, attention, strict=True)
            ]
        return attended

    def _attention(
        self, rows: Sequence[np.ndarray], found: Sequence[list[Hypothesis]], start: int
    ) -> Tensor:
        """Of each step of each output; of sentences with fewer outputs, the last are repeated."""
        count = max(map(len, found))
        outputs = [each for mine in found for each in (*mine, *mine[-1:] * (count - len(mine)))]
        inputs = np.zeros((len(outputs), max(len(each.token_scores) for each in outputs)), np.int64)
        for row, each in zip(inputs, outputs, strict=True):
            read = (start, *each.tokens)[: len(each.token_scores)]
            row[: len(read)] = read
        lengths = torch.tensor([len(row) for row in rows])
        kind = np.int64 if np.issubdtype(rows[0].dtype, np.integer) else np.float32
        values = np.zeros((len(rows), int(lengths.max()), *rows[0].shape[1:]), kind)
        for row, items in zip(values, rows, strict=True):
            row[: len(items)] = items
        state = self.decoder.start(
            self.encoder.encode(Source(torch.from_numpy(values), lengths)), trace=True
        )
        state = state.select(torch.arange(len(rows)).repeat_interleave(count))
        features, _ = self.decoder.read(torch.from_numpy(inputs), state)
        if features.attention is None:
            return torch.zeros(len(rows), count, inputs.shape[1], 0)
        return features.attention.view(len(rows), count, *features.attention.shape[1:])


def _with_attention(output: Hypothesis, weights: Tensor) -> Hypothesis:
    if not weights.shape[1]:
        return output
    return replace(output, attention=weights[: len(output.token_scores)])


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
