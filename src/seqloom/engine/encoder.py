"""A compiled encoder, with an interface for arrays and the protocol of encoders."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from seqloom.engine.library import TextStructure, address, core
from seqloom.engine.packed import PackedStack
from seqloom.engine.workspace import Workspaces, check

if TYPE_CHECKING:
    from seqloom.model import Memory, Source

__all__ = ["CompiledEncoder", "EncodedArrays"]


class EncodedArrays(NamedTuple):
    """The output of an encoder: its states, their mask, and its code in parts."""

    sentences: int
    states: Float[np.ndarray, "B S D"] | None = None
    mask: Bool[np.ndarray, "B S"] | None = None
    code: tuple[Float[np.ndarray, "B L D"], ...] | None = None


class CompiledEncoder:
    """An encoder in one call of the core, without padding; its weights are fixed at compilation."""

    def __init__(self, stack: PackedStack) -> None:
        self.stack = stack
        self._spaces = Workspaces()

    def encode(self, source: "Source") -> "Memory":
        """Encode a batch."""
        from seqloom.engine import tensors

        if self.stack.structure(1) is None:
            return tensors.memory(EncodedArrays(len(source.lengths)))
        if self.stack.front is not None:
            source = self.stack.front(source)
        return tensors.memory(self.encode_arrays(*tensors.real_items(source)))

    def encode_arrays(self, items: np.ndarray, mask: Bool[np.ndarray, "B S"]) -> EncodedArrays:
        """Encode all real items, concatenated by sentence; the mask gives their positions."""
        lengths = mask.sum(axis=1).astype(np.int32)
        structure = self.stack.structure(int(lengths.max()))
        if structure is None:
            return EncodedArrays(len(lengths))
        text = self.text_structure(items, lengths)
        shape = core().sl_code_shape(structure)
        codes = np.zeros((len(lengths), core().sl_code_size(shape)), dtype=np.float32)
        states = np.empty((len(items), self.stack.stride), dtype=np.float32)
        check(
            core().sl_encode(structure, self._spaces.handle, text, address(states), address(codes))
        )
        padded = np.zeros((*mask.shape, self.stack.width), dtype=np.float32)
        padded[mask] = states[:, : self.stack.width]
        code = _parts(codes, shape.parts, shape.layers, shape.width)
        return EncodedArrays(len(lengths), padded, mask, code)

    def text_structure(self, items: np.ndarray, lengths: Int[np.ndarray, "B"]) -> TextStructure:
        """All real items, concatenated by sentence, as a structure of the core."""
        tokens = inputs = None
        if self.stack.vectorizer is None:
            tokens, most = items.astype(np.int32), self.stack.vocabulary
            if not (int(tokens.min()) >= 0 and int(tokens.max()) < most):
                raise IndexError(f"a token is not one of the {most:,} that the model knows")
        else:
            inputs = self.stack.vector_rows(items)
        text = TextStructure(len(lengths), *map(address, (lengths, tokens, inputs)))
        text.kept = lengths, tokens, inputs
        return text


def _parts(codes: np.ndarray, parts: int, layers: int, width: int) -> tuple[np.ndarray, ...]:
    """The parts of every sentence's code: (B, L, D) each."""
    values = codes[:, : parts * layers * width].reshape(len(codes), parts, layers, width)
    return tuple(values[:, part].copy() for part in range(parts))
