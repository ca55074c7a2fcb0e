"""Decoders without a network: the next logits are given by hand, so a search can be foreseen."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqloom.fields import EMPTY, END, START
from seqloom.model import Features, Memory, State
from seqloom.randomness import key
from seqloom.search import Hypothesis, Limits, Search, run_to_end

__all__ = [
    "Script",
    "Scripted",
    "endings",
    "even_chances",
    "every_output",
    "limits",
    "logarithms",
    "outputs",
    "random_script",
    "search_all",
]

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

    def __init__(self, script: Script, looks: Script | None = None) -> None:
        self.script = script
        self.looks = looks  # the attention while the next token is chosen

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
        attention = None
        if self.looks is not None and state.trace:
            rows = zip(owners, written.tolist(), strict=True)
            looks = [[self.looks(owner, tuple(row[1:]))] for owner, row in rows]
            attention = torch.tensor(looks, dtype=torch.float64)
        return Features(hidden, attention), State(Written(written), state.shared, state.trace)

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

    @cache
    def script(sentence: int, written: tuple[int, ...]) -> list[float]:
        draw = torch.Generator().manual_seed(key(seed, sentence, *written))
        logits = torch.randint(0, levels, (size,), generator=draw).double() / 2
        gone = torch.rand(size, generator=draw) < impossible
        values: list[float] = logits.masked_fill(gone, -torch.inf).tolist()
        return values

    return script


def search_all(
    search: Search, script: Script | Scripted, allowed: Sequence[int] | Limits
) -> list[list[Hypothesis]]:
    """The results of a search over as many sentences as there are limits to their lengths."""
    decoder = script if isinstance(script, Scripted) else Scripted(script)
    allowed = allowed if isinstance(allowed, Limits) else limits(allowed)
    state = decoder.start(Memory(len(allowed.longest)), trace=True)
    return run_to_end(search, decoder, state, allowed)


def limits(longest: Sequence[int]) -> Limits:
    """What may be written: everything but the two symbols that cannot be meant."""
    return Limits(torch.tensor(longest, dtype=torch.int64), START, END, FORBIDDEN)


def every_output(script: Script, sentence: int, longest: int) -> dict[tuple[int, ...], float]:
    """The log-probability of each output within so many tokens, `<end>` its last where it ends."""
    paths: dict[tuple[int, ...], float] = {(): 0.0}
    for _ in range(longest):
        longer = {}
        for written, total in paths.items():
            if written[-1:] == (END,):
                longer[written] = total
                continue
            logits = torch.tensor(script(sentence, written), dtype=torch.float64)
            for token, gain in enumerate((logits - logits.logsumexp(0)).tolist()):
                if token not in FORBIDDEN and gain > -math.inf:
                    longer[*written, token] = total + gain
        paths = longer
    return paths


def endings(everything: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    """The outputs among them that end, without `<end>`."""
    return {tokens[:-1]: score for tokens, score in everything.items() if tokens[-1] == END}


def even_chances(counts: dict[Any, int], chances: dict[Any, float]) -> None:
    """Pearson's χ² finds nothing to wonder at: what was counted is within the law of the chances.

    Rare outcomes, expected less than five times, are counted as one.
    """
    draws = sum(counts.values())
    assert set(counts) <= {outcome for outcome, chance in chances.items() if chance > 0}
    expected = {outcome: draws * chance for outcome, chance in chances.items()}
    common = [outcome for outcome, times in expected.items() if times >= 5]
    squares = [
        (counts.get(outcome, 0) - expected[outcome]) ** 2 / expected[outcome] for outcome in common
    ]
    rest = draws - sum(expected[outcome] for outcome in common)
    if rest >= 5:
        others = draws - sum(counts.get(outcome, 0) for outcome in common)
        squares.append((others - rest) ** 2 / rest)
    freedom = len(squares) - 1
    assert sum(squares) <= freedom + 4 * math.sqrt(2 * freedom)


def outputs(found: list[list[Hypothesis]]) -> list[list[tuple[tuple[int, ...], float, bool]]]:
    """Tokens, score and whether it ended, for each output of each sentence."""
    return [[(each.tokens, each.score, each.finished) for each in rows] for rows in found]
