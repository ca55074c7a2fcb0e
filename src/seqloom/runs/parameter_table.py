"""The parts of a model with their numbers of parameters."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from torch import nn

__all__ = ["PartCount", "parameter_table"]

WORDS = {
    "embedding": "token vectors",
    "embed.embedding": "token vectors",
    "embed.positions": "positions",
    "stack.layers": "recurrent layer",
    "stack.first": "learnt first state",
    "stack.before.layers": "forward layer",
    "stack.before.first": "learnt first state",
    "stack.after.layers": "backward layer",
    "stack.after.first": "learnt last state",
    "blocks": "block",
    "norm": "last layer norm",
    "first": "first state",
    "front": "front end",
    "join": "joined input",
    "attention.heads": "attention heads",
    "attention.score": "attention score",
    "attention.focus": "attention focus",
    "readout": "readout",
    "time": "map over time",
    "direct": "map of the last values",
    "linear": "linear path",
    "others": "maps of other columns",
    "factors": "factors of other columns",
    "output": "output layer",
}
NUMBERED = ("recurrent layer", "forward layer", "backward layer", "block")
WITHIN = ("inner", "decoder")  # an encoder inside another, a decoder inside a forecasting head


class Part(NamedTuple):
    """The display name of a part; layers and blocks are numbered from 1."""

    side: str
    words: str
    number: int | None

    def __str__(self) -> str:
        number = "" if self.number is None else f" {self.number}"
        return f"{self.side}: {self.words}{number}"


class PartCount(NamedTuple):
    """A part's name and the number of its parameters."""

    name: str
    parameters: int


def parameter_table(network: nn.Module) -> list[PartCount]:
    """A row for each part, and a total; consecutive equal layers are merged.

    A shared parameter is counted at its first part, and the others are named.
    """
    counts: dict[Part, int] = {}
    users: dict[int, list[Part]] = {}
    for name, parameter in network.named_parameters(remove_duplicate=False):
        part = _part(name)
        known = users.setdefault(id(parameter), [])
        if not known:
            counts[part] = counts.get(part, 0) + parameter.numel()
        known.append(part)
    return [*_merge_layers(counts, users), PartCount("total", sum(counts.values()))]


def _part(parameter: str) -> Part:
    """The part of a parameter, by its path in the network."""
    side, *path = parameter.split(".")
    if side == "head" and path[0] == "inner":
        return Part(side, "inner layers", None)
    while path[0] in WITHIN:
        path = path[1:]
    names = [".".join(path[:length]) for length in (3, 2, 1)]
    name = next(name for name in names if name in WORDS)
    words, rest = WORDS[name], path[name.count(".") + 1 :]
    numbered = words in NUMBERED
    return Part(side, words, int(rest[0]) + 1 if numbered else None)


def _merge_layers(counts: dict[Part, int], users: dict[int, list[Part]]) -> Iterator[PartCount]:
    """Merge consecutive equal layers into one row."""
    for (side, words, count), group in groupby(counts, lambda part: (*part[:2], counts[part])):
        parts = list(group)
        if len(parts) > 1:
            name = f"{side}: {len(parts)} {words}s of {count:,}"
            yield PartCount(name, len(parts) * count)
            continue
        others = dict.fromkeys(
            str(each) for known in users.values() if known[0] == parts[0] for each in known[1:]
        )
        shared = f" (also {', '.join(others)})" if others else ""
        yield PartCount(f"{parts[0]}{shared}", count)
