"""Why greedy search fails: a model small enough to read and to search by hand.

Someone said a sentence that sounds like "he nose" or "he knows". The first is acoustically more
probable, but only the second has a good continuation (S10): greedy search finds .10, a beam of two
.32.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from rich.console import Console as Terminal
from rich.table import Table as Grid
from rich.text import Text
from rich.tree import Tree
from torch import Tensor

from seqloom.fields import END, SPECIAL_SYMBOLS, START
from seqloom.model import Features, Memory, State
from seqloom.search import (
    PLAIN,
    Beam,
    Exact,
    Greedy,
    Hypothesis,
    Limits,
    Search,
    run_to_end,
)

__all__ = ["HOMOPHONES", "NextWordTable", "TableDecoder", "find", "show_search"]

NextWordTable = Mapping[tuple[str, ...], Mapping[str, float]]
"""The probability of each next word after each beginning; what is not listed ends there."""

HOMOPHONES: NextWordTable = {
    (): {"he": 1.0},
    ("he",): {"nose": 0.5, "knows": 0.4, "noes": 0.1},
    ("he", "nose"): {"it": 0.2, "her": 0.16, "him": 0.16, "that": 0.16, "all": 0.16, "<end>": 0.16},
    ("he", "knows"): {"her": 0.8, "him": 0.1, "it": 0.1},
    ("he", "noes"): {"it": 0.5, "<end>": 0.5},
}
LONGEST = 6
SEARCHES: Mapping[str, Search] = {
    "greedy": Greedy(),
    "beam of 2": Beam(2, PLAIN),
    "exact": Exact(),
}
Finders = Mapping[tuple[str, ...], list[str]]
"""The names of the searches that found each output."""


class TablePosition(NamedTuple):
    """The prefix of each hypothesis, by its index in the table."""

    prefix: Int[Tensor, "R"]


class EmptyState(NamedTuple):
    """State common to all hypotheses: none."""


TableState = State[TablePosition, EmptyState]


class TableDecoder:
    """A decoder that looks probabilities up in a table; its features are their logarithms."""

    def __init__(self, table: NextWordTable) -> None:
        words = sorted({word for row in table.values() for word in row} - {*SPECIAL_SYMBOLS})
        self.words = (*SPECIAL_SYMBOLS, *words)
        beginnings = list(table)
        over = len(beginnings)  # any prefix outside the table
        probabilities = torch.zeros(over + 1, len(self.words), dtype=torch.float64)
        self.follows = torch.full(probabilities.shape, over)
        self.follows[beginnings.index(()), START] = beginnings.index(())
        probabilities[over, END] = 1.0
        for number, beginning in enumerate(beginnings):
            for word, probability in table[beginning].items():
                token = self.words.index(word)
                probabilities[number, token] = probability
                if (*beginning, word) in table:
                    self.follows[number, token] = beginnings.index((*beginning, word))
        self.logarithms = probabilities.log()
        self.root = beginnings.index(())

    def start(self, memory: Memory, *, trace: bool = False) -> TableState:
        return State(TablePosition(torch.full((memory.sentences,), self.root)), EmptyState(), trace)

    def read(self, inputs: Int[Tensor, "R T"], state: TableState) -> tuple[Features, TableState]:
        place, hidden = state.own.prefix, []
        for tokens in inputs.unbind(dim=1):
            place = self.follows[place, tokens]
            hidden.append(self.logarithms[place])
        after = State(TablePosition(place), state.shared, state.trace)
        return Features(torch.stack(hidden, dim=1)), after

    def write(self, hidden: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
        return hidden.clone()


def find(search: Search, table: NextWordTable = HOMOPHONES) -> tuple[tuple[str, ...], Hypothesis]:
    """Run a search; return its words and the hypothesis."""
    decoder = TableDecoder(table)
    limits = Limits(torch.tensor([LONGEST]))
    ((best, *_),) = run_to_end(search, decoder, decoder.start(Memory(1)), limits)
    return tuple(decoder.words[token] for token in best.tokens), best


def show_search() -> None:
    """Print the tree of all paths, the result of each search, and the reason for their
    difference.
    """
    found = {name: find(search) for name, search in SEARCHES.items()}
    finders: dict[tuple[str, ...], list[str]] = {}
    for name, (words, _) in found.items():
        finders.setdefault(words, []).append(name)
    terminal = Terminal(highlight=False)
    terminal.print("Someone said what sounds like “he knows”. How likely is each next word?\n")
    tree = Tree("<start>")
    _grow(tree, (), 1.0, finders)
    terminal.print(tree)
    rows = Grid("search", "finds", "probability", header_style="bold", title_justify="left")
    for name, (words, output) in found.items():
        proof = " (proved)" if name == "exact" and not output.limited else ""
        rows.add_row(name, " ".join(words), f"{math.exp(output.score):.2f}{proof}")
    terminal.print()
    terminal.print(rows)
    terminal.print(
        "\nGreedy search takes “nose”, the likeliest word, and cannot go back. A beam of two keeps "
        "“knows” as well and finds what it leads to. Exact search reads only what may be better "
        "than the best it knows, until nothing is left, and so proves what it found."
    )


def _grow(tree: Tree, beginning: tuple[str, ...], path: float, finders: Finders) -> None:
    """Add every possible next word, with its probability and that of the path."""
    for word, probability in HOMOPHONES.get(beginning, {}).items():
        whole = path * probability
        words = beginning if word == "<end>" else (*beginning, word)
        ends = word == "<end>" or words not in HOMOPHONES
        by = finders.get(words, []) if ends else []
        text = Text(f"{word} {probability:.2f}")
        text.append(f"  = {whole:.3f}" if ends else "", style="dim")
        text.append(f"  ← {', '.join(by)}" if by else "", style="bold")
        _grow(tree.add(text), (*beginning, word), whole, finders)
