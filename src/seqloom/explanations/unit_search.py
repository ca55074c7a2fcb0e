"""The inputs that activate a cell of a recurrent unit most, and their neighbours in state space."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from seqloom.errors import ConfigError
from seqloom.explanations.step_tables import unit_table
from seqloom.explanations.tracing import Trace

__all__ = ["Excerpt", "UnitStates", "collect_states"]

AROUND = 5  # items of context on each side
TOP, NEAREST = 5, 3


class Excerpt(NamedTuple):
    """An item of an input in its context."""

    before: tuple[str, ...]
    item: str
    after: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"before": list(self.before), "item": self.item, "after": list(self.after)}


@dataclass(frozen=True, eq=False)
class UnitStates:
    """The states of a unit after each item of many inputs."""

    at: str
    excerpts: tuple[Excerpt, ...]
    tables: dict[str, Float[np.ndarray, "N D"]]  # by tensor of the state or by gate

    def driven_most(self, table: str, cell: int) -> dict[str, Any]:
        """The items with the highest and the lowest value of a cell, counted from 0, each with the
        items of nearest hidden states.
        """
        if table not in self.tables or cell >= self.tables[table].shape[1]:
            raise ConfigError(
                f"there is no cell {cell} of {table!r} at {self.at}",
                remedy=f"choose one of {', '.join(self.tables)}",
            )
        values = self.tables[table][:, cell]
        order = np.argsort(values, kind="stable")
        return {
            "at": self.at,
            "table": table,
            "cell": cell,
            "items": len(values),
            "highest": [self._describe(int(n), values) for n in order[::-1][:TOP]],
            "lowest": [self._describe(int(n), values) for n in order[:TOP]],
        }

    def _describe(self, number: int, values: np.ndarray) -> dict[str, Any]:
        near = [{**self.excerpts[n].as_dict(), "distance": d} for n, d in self.nearest(number)]
        found = {**self.excerpts[number].as_dict(), "value": round(float(values[number]), 6)}
        return {**found, "nearest": near}

    def nearest(self, number: int, count: int = NEAREST) -> list[tuple[int, float]]:
        """The items with the nearest hidden states and their distances, without duplicates."""
        states = next(iter(self.tables.values()))
        distances = np.linalg.norm(states - states[number], axis=1)
        found: dict[Excerpt, tuple[int, float]] = {}
        for other in np.argsort(distances, kind="stable"):
            excerpt = self.excerpts[other]
            if excerpt != self.excerpts[number] and excerpt not in found:
                found[excerpt] = int(other), round(float(distances[other]), 6)
            if len(found) == count:
                break
        return list(found.values())


def collect_states(traces: Sequence[Trace], at: str) -> UnitStates:
    """Collect the states of one unit over many traces; ConfigError if there is no such unit."""
    excerpts: list[Excerpt] = []
    tables: dict[str, list[np.ndarray]] = {}
    for trace in traces:
        for unit in trace.unit_traces:
            if str(unit.location) != at:
                continue
            found, symbols = unit_table(unit), unit.symbols
            for name, table in {**found.states, **found.gates}.items():
                tables.setdefault(name, []).append(table)
            excerpts += [
                Excerpt(
                    symbols[max(0, n - AROUND) : n], symbols[n], symbols[n + 1 : n + 1 + AROUND]
                )
                for n in range(len(symbols))
            ]
    if not tables:
        raise ConfigError(f"there is no recurrent unit at {at}")
    joined = {name: np.concatenate(parts) for name, parts in tables.items()}
    return UnitStates(at, tuple(excerpts), joined)
