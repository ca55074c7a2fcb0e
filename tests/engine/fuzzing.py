"""Drawn models, searches and damaged files for the compiled core, for as long as one likes.

    python -m tests.engine.fuzzing [--seconds 60] [--seed 0]

Each case is drawn from its number: a model of some kind with sizes of its own, sentences, a search,
limits and a shortlist, in every precision. What the core gives must hold the laws of `check_found`
and not depend on threads, places or the order of sentences. A stored form is damaged in one place
and must be refused, or give a model that can be used. scripts/sanitize runs this with a core
compiled for AddressSanitizer, which sees what no law can.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError

from seqloom.config import ModelConfig
from seqloom.engine.library import instruction_set, instruction_sets
from seqloom.engine.loop import SearchLoop
from seqloom.engine.matrices import Precision
from seqloom.engine.packed import PackedStack
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.engine.shortlists.word_lists import WordLists
from seqloom.engine.stored_form import StoredStack, check_sides, restore_stack, store_stack
from seqloom.errors import ConfigError, DivergedError, LimitError, RunError
from seqloom.fields import END, Symbols
from seqloom.model import SequenceModel, build_sequence_model
from seqloom.search import PER_TOKEN, Beam, Greedy, Hypothesis, Limits, PatientBeam, Search
from tests.engine.models import KINDS, RECURRENT
from tests.engine.support import plan, stacks
from tests.model.models import NAMED

__all__ = ["CASES", "main"]

PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8")
SIZES = {"width": 40, "inner": 90, "layers": 3, "heads": 4}  # and how large each may be drawn


@dataclass(frozen=True)
class SearchCase:
    """All that a search in the core is given."""

    stacks: tuple[PackedStack, PackedStack]
    rows: list[np.ndarray]
    search: Search
    limits: Limits
    words: WordLists | None

    def run(self, *, threads: int, together: int) -> list[list[Hypothesis]]:
        loop = SearchLoop(*self.stacks, threads=threads, together=together)
        return loop.run(self.rows, plan(self.search), self.limits, words=self.words)


def draw_model(draw: random.Random, kinds: list[str]) -> tuple[SequenceModel, tuple[int, int]]:
    """A model of one of these kinds with sizes of its own, and those of its vocabularies."""
    sizes = draw.randint(5, 150), draw.randint(5, 150)
    while True:
        table = NAMED[draw.choice(kinds)].model_dump()
        for side in ("encoder", "decoder"):
            for name, most in SIZES.items():
                if name in table[side] and draw.random() < 0.7:
                    table[side][name] = draw.randint(1, most)
        with suppress(ConfigError, ValidationError, ValueError):
            config = ModelConfig.model_validate(table)
            torch.manual_seed(draw.randrange(2**31))
            source, target = map(Symbols, sizes)
            return build_sequence_model(config, source=source, target=target).eval(), sizes


def draw_rows(draw: random.Random, vocabulary: int, count: int) -> list[np.ndarray]:
    lengths = [draw.randint(0, 40) for _ in range(count)]
    return [
        np.array([*(draw.randrange(4, vocabulary) for _ in range(length)), END], dtype=np.int64)
        for length in lengths
    ]


def draw_search(draw: random.Random) -> Search:
    width = draw.randint(1, 9)
    n_best = draw.randint(1, width)
    return draw.choice(
        [
            Greedy(),
            Beam(width, PER_TOKEN, n_best=n_best),
            PatientBeam(width, PER_TOKEN, n_best=n_best),
        ]
    )


def draw_limits(draw: random.Random, count: int) -> Limits:
    longest = torch.tensor([draw.randint(1, 30) for _ in range(count)])
    shortest = None
    if draw.random() < 0.3:
        shortest = torch.tensor([draw.randint(0, int(most)) for most in longest])
    return Limits(longest, shortest=shortest)


def draw_words(
    draw: random.Random, rows: list[np.ndarray], sizes: tuple[int, int]
) -> WordLists | None:
    """A shortlist of drawn pairs, with symbols that some sentences need besides."""
    if draw.random() < 0.5:
        return None
    targets = draw_rows(draw, sizes[1], len(rows))
    options = {"best": draw.randint(1, 9), "frequent": draw.randint(1, 20), "rounds": 1}
    shortlist = Shortlist.learn(list(zip(rows, targets, strict=True)), sizes, **options)
    needed = [draw.sample(range(sizes[1]), draw.randint(0, 5)) for _ in rows]
    return shortlist.for_rows(rows, needed=needed)


def check_found(case: SearchCase, found: list[list[Hypothesis]]) -> None:
    """Outputs are as long as they may be, of tokens that there are, and the best come first."""
    size = case.stacks[1].vocabulary
    for outputs, longest in zip(found, case.limits.longest.tolist(), strict=True):
        assert outputs
        ranks = [each.rank_score for each in outputs]
        assert ranks == sorted(ranks, reverse=True)
        for each in outputs:
            assert len(each.token_scores) == len(each.tokens) + each.finished <= longest
            assert all(0 <= token < size for token in each.tokens)


def search_drawn(draw: random.Random) -> None:
    """A search in the core, alone and among others."""
    model, sizes = draw_model(draw, [*KINDS, *RECURRENT])
    rows = draw_rows(draw, sizes[0], draw.randint(1, 7))
    words = draw_words(draw, rows, sizes)
    limits = draw_limits(draw, len(rows))
    case = SearchCase(
        stacks(model, draw.choice(PRECISIONS)), rows, draw_search(draw), limits, words
    )
    with instruction_set(draw.choice(instruction_sets())):
        found = case.run(threads=draw.randint(1, 3), together=draw.randint(1, 5))
        check_found(case, found)
        assert found == case.run(threads=1, together=1)


def damaged(draw: random.Random, value: Any) -> Any:
    """The same plain value with one change somewhere."""
    if isinstance(value, Mapping) and value:
        name = draw.choice(list(value))
        kept = {key: each for key, each in value.items() if key != name}
        return kept if draw.random() < 0.05 else {**kept, name: damaged(draw, value[name])}
    if isinstance(value, list) and value:
        place = draw.randrange(len(value))
        changed = [] if draw.random() < 0.1 else [damaged(draw, value[place])]
        return [*value[:place], *changed, *value[place + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool):
        return draw.choice([0, -1, 1, value - 1, value + 1, 2 * value, value + 64])
    return draw.choice([None, "", 0, 1, -1.0, [], {}, not value])


def restore_damaged(draw: random.Random) -> None:
    """Stored forms with one change: refused, or as good as any other."""
    model, sizes = draw_model(draw, [*KINDS, *RECURRENT])
    try:
        forms = [store_stack(stack, positions=256) for stack in stacks(model, "int8")]
    except TypeError:
        return  # a kind that has no stored form
    side = draw.randrange(2)
    forms[side] = StoredStack(damaged(draw, dict(forms[side].values)), forms[side].arrays)
    try:
        read = [restore_stack(form, "int8", place="form") for form in forms]
        check_sides(read[0], read[1], place="form")
    except RunError:
        return
    known = min(sizes[0], read[0].vocabulary) if read[0].vocabulary else sizes[0]
    if known <= 4:
        return
    rows = draw_rows(draw, known, 3)
    case = SearchCase((read[0], read[1]), rows, Beam(3, PER_TOKEN), draw_limits(draw, 3), None)
    with suppress(DivergedError, LimitError, IndexError):
        case.run(threads=1, together=2)


CASES: dict[str, Callable[[random.Random], None]] = {
    "searches": search_drawn,
    "stored forms": restore_damaged,
}


@torch.no_grad()
def main() -> None:
    """Draw cases until the time is over, and say how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0, help="the first case")
    arguments = parser.parse_args()
    ends, number = time.monotonic() + arguments.seconds, arguments.seed
    while time.monotonic() < ends:
        for name, case in CASES.items():
            print(f"\r{name}, --seed {number} ", end="", file=sys.stderr, flush=True)
            case(random.Random(number))
        number += 1
    print(f"\n{number - arguments.seed} cases each of {' and '.join(CASES)}")


if __name__ == "__main__":
    main()
