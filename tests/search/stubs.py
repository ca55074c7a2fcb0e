"""Decoders without a network: the next logits are given by hand, so a search can be foreseen."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from seqloom.fields import EMPTY, END, START
from seqloom.keys import key
from seqloom.model import Features, Memory, State
from seqloom.search import Hypothesis, Limits, Search, run_to_end

__all__ = ["Script", "Scripted", "limits", "logarithms", "outputs", "random_script", "search_all"]

Script = Callable[[int, tuple[int, ...]], Sequence[float]]
"""From a sentence's number and the tokens written so far to the logits of the next."""

FORBIDDEN = (EMPTY, START)

torch.set_num_threads(1)  # for tensors this small, threads only wait for one another


class Written(NamedTuple):
    """What each path has read, `<start>` first."""

    tokens: Tensor


class Numbers(NamedTuple):
    """Which sentence each is."""

    sentences: Tensor


ScriptedState = State[Written, Numbers]


class Scripted:
    """A decoder that follows a script; its features are the logits themselves."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def start(self, memory: Memory, *, trace: bool = False) -> ScriptedState:
        nothing = torch.empty(memory.sentences, 0, dtype=torch.int64)
        return State(Written(nothing), Numbers(torch.arange(memory.sentences)), trace)

    def read(self, inputs: Tensor, state: ScriptedState) -> tuple[Features, ScriptedState]:
        written = torch.cat([state.own.tokens, inputs], dim=1)
        numbers = state.shared.sentences
        owners = numbers.repeat_interleave(len(inputs) // len(numbers)).tolist()
        logits = [
            [self.script(owner, tuple(row[1:end])) for end in self._ends(inputs, written)]
            for owner, row in zip(owners, written.tolist(), strict=True)
        ]
        hidden = torch.tensor(logits, dtype=torch.float64)
        return Features(hidden), State(Written(written), state.shared, state.trace)

    def write(self, hidden: Tensor) -> Tensor:
        return hidden.clone()

    def _ends(self, inputs: Tensor, written: Tensor) -> range:
        return range(written.shape[1] - inputs.shape[1] + 1, written.shape[1] + 1)


def logarithms(probabilities: dict[int, float], *, size: int) -> list[float]:
    """The logarithm of each token's probability; −∞ for those not named."""
    values = [probabilities.get(token, 0.0) for token in range(size)]
    return [math.log(value) if value else -math.inf for value in values]


def random_script(seed: int, *, size: int, levels: int, impossible: float = 0.0) -> Script:
    """Logits drawn from a few levels, so that many tie, and some of them −∞."""

    def script(sentence: int, written: tuple[int, ...]) -> list[float]:
        draw = torch.Generator().manual_seed(key(seed, sentence, *written))
        logits = torch.randint(0, levels, (size,), generator=draw).double() / 2
        gone = torch.rand(size, generator=draw) < impossible
        values: list[float] = logits.masked_fill(gone, -torch.inf).tolist()
        return values

    return script


def search_all(
    search: Search,
    script: Script,
    longest: Sequence[int],
    *,
    forbidden: tuple[int, ...] = FORBIDDEN,
) -> list[list[Hypothesis]]:
    """The results of a search over as many sentences as there are limits."""
    decoder = Scripted(script)
    state = decoder.start(Memory(len(longest)))
    return run_to_end(search, decoder, state, limits(longest, forbidden=forbidden))


def limits(longest: Sequence[int], *, forbidden: tuple[int, ...] = FORBIDDEN) -> Limits:
    """What may be written: everything but the two symbols that cannot be meant."""
    return Limits(torch.tensor(longest, dtype=torch.int64), START, END, forbidden)


def outputs(found: list[list[Hypothesis]]) -> list[list[tuple[tuple[int, ...], float, bool]]]:
    """Tokens, score and whether it ended, for each output of each sentence."""
    return [[(each.tokens, each.score, each.finished) for each in rows] for rows in found]
