"""Tables by step: states and gates of recurrent units, and predictions of intermediate layers.

An intermediate prediction applies the output layer to a layer's states (nostalgebraist 2020,
Interpreting GPT: The Logit Lens).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.explanations.explained_output import ExplainedOutput, ExplainedText
from seqloom.explanations.flow import compute_gates
from seqloom.explanations.instrumented_copy import find_parts, instrument, side_of
from seqloom.explanations.plain_values import round_values
from seqloom.explanations.tracing import UnitTrace
from seqloom.fields import EMPTY, START, UNK
from seqloom.model import Network
from seqloom.model.transformer import TransformerDecoder
from seqloom.nn.transformer import Block
from seqloom.prediction import TextPredictor, TokenAlternative

__all__ = [
    "LayerGuess",
    "LayerStates",
    "UnitTable",
    "layer_guesses",
    "residual_norms",
    "unit_table",
]

GUESSES = 3
NEVER_WRITTEN = (EMPTY, START, UNK)


@dataclass(frozen=True, eq=False)
class UnitTable:
    """A recurrent unit at each of its steps, in its reading order: tables (T, D)."""

    at: str
    symbols: tuple[str, ...]
    states: dict[str, np.ndarray]
    gates: dict[str, np.ndarray]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "at": self.at,
            "symbols": list(self.symbols),
            "states": {name: round_values(table) for name, table in self.states.items()},
            "gates": {name: round_values(table) for name, table in self.gates.items()},
        }


def unit_table(trace: UnitTrace) -> UnitTable:
    """The states and gates of a unit from its trace."""
    states = {
        name: after.double().numpy()
        for name, after in zip(trace.unit.state_names, trace.after, strict=True)
    }
    return UnitTable(str(trace.location), trace.symbols, states, compute_gates(trace))


@dataclass(frozen=True)
class LayerGuess:
    """The prediction of an intermediate layer at a step."""

    norm: float  # of the residual stream
    best: tuple[TokenAlternative, ...]
    chosen: float  # log-probability of the output


@dataclass(frozen=True, eq=False)
class LayerStates:
    """The residual stream after each block: (L, T, D)."""

    side: str
    states: Float[Tensor, "L T D"]

    def norms(self) -> Float[np.ndarray, "L T"]:
        """The norm of each vector."""
        found: np.ndarray = self.states.norm(dim=-1).double().numpy()
        return found


@torch.no_grad()
def _layer_states(network: Network, said: ExplainedOutput) -> list[LayerStates]:
    """The residual streams of the encoder and the decoder, if they consist of blocks."""
    copied, found = instrument(network), dict[str, list[Tensor]]()
    for name, block in find_parts(copied, Block):
        kept = found.setdefault(side_of(name), [])
        _record_output(block, kept)
    memory = copied.encoder.encode(said.source_batch())
    said.replay(copied, memory)
    return [LayerStates(side, torch.stack(kept)) for side, kept in found.items() if kept]


def _record_output(block: Block, kept: list[Tensor]) -> None:
    """Record the residual stream that a block returns, for a single row.

    A block returns its last residual sum in parts, so these are added.
    """
    inside: dict[str, Tensor] = {}
    last = block.norms[len(block.norms) - 1]
    if not block.norm_first:
        last.register_forward_hook(partial(_keep_output, kept))
        return
    last.register_forward_pre_hook(partial(_note_input, inside))
    block.network.register_forward_hook(partial(_keep_sum, inside, kept))


def _note_input(inside: dict[str, Tensor], _module: nn.Module, inputs: Any) -> None:
    inside["before"] = inputs[0][0]


def _keep_sum(
    inside: dict[str, Tensor], kept: list[Tensor], _module: nn.Module, _inputs: Any, output: Tensor
) -> None:
    kept.append(inside["before"] + output[0])


def _keep_output(kept: list[Tensor], _module: nn.Module, _inputs: Any, output: Tensor) -> None:
    kept.append(output[0])


def residual_norms(network: Network, said: ExplainedOutput) -> dict[str, np.ndarray]:
    """The norm of the residual stream after each block and at each position, by side."""
    return {each.side: each.norms() for each in _layer_states(network, said)}


@torch.no_grad()
def layer_guesses(model: TextPredictor, said: ExplainedText) -> list[list[LayerGuess]]:
    """The prediction of each layer of the decoder at each step; empty if it has no blocks."""
    decoder = model.network.decoder
    if not isinstance(decoder, TransformerDecoder):
        return []
    decoder.eval()
    found = []
    for layers in _layer_states(model.network, said):
        if layers.side == "decoder":
            states = layers.states[:, -len(said.target) :]
            logs = decoder.write(decoder.readout(decoder.norm(states))).log_softmax(-1)
            found = [
                _guesses(model, said, norms, row)
                for norms, row in zip(states.norm(dim=-1).tolist(), logs, strict=True)
            ]
    return found


def _guesses(
    model: TextPredictor,
    said: ExplainedText,
    norms: Sequence[float],
    logs: Float[Tensor, "T V"],
) -> list[LayerGuess]:
    possible = logs.index_fill(1, torch.tensor(NEVER_WRITTEN), -torch.inf)
    values, ids = possible.topk(min(GUESSES, logs.shape[1] - len(NEVER_WRITTEN)), dim=1)
    written = logs.gather(1, said.target_tensor()[:, None])[:, 0].tolist()
    return [
        LayerGuess(norm, tuple(map(TokenAlternative, model.target.tokens(row), scores)), chosen)
        for norm, row, scores, chosen in zip(
            norms, ids.tolist(), values.tolist(), written, strict=True
        )
    ]
