"""A compiled encoder under the protocol of encoders."""

import numpy as np
import torch
from torch import Tensor

from seqloom.engine.from_network import Memory, Source
from seqloom.engine.library import TextStructure, address, core
from seqloom.engine.packed import PackedStack
from seqloom.engine.workspace import Workspaces, check

__all__ = ["CompiledEncoder"]


class CompiledEncoder:
    """An encoder in one call of the core, without padding; its weights do not follow training."""

    def __init__(self, stack: PackedStack) -> None:
        self.stack = stack
        self._spaces = Workspaces()

    def encode(self, source: Source) -> Memory:
        if self.stack.structure(1) is None:
            return Memory(len(source.lengths))
        if self.stack.front is not None:
            source = self.stack.front(source)
        mask = source.mask
        real = mask.numpy()
        lengths = source.lengths.numpy().astype(np.int32)
        text = self.text_structure(source.values.detach().numpy()[real], lengths)
        structure = self.stack.structure(int(lengths.max()))
        shape = core().sl_code_shape(structure)
        codes = np.zeros((len(lengths), core().sl_code_size(shape)), dtype=np.float32)
        states = np.empty((int(real.sum()), self.stack.stride), dtype=np.float32)
        check(
            core().sl_encode(structure, self._spaces.handle, text, address(states), address(codes))
        )
        padded = np.zeros((*real.shape, self.stack.width), dtype=np.float32)
        padded[real] = states[:, : self.stack.width]
        code = _parts(codes, shape.parts, shape.layers, shape.width)
        return Memory(len(lengths), torch.from_numpy(padded), mask, code=code)

    def text_structure(self, items: np.ndarray, lengths: np.ndarray) -> TextStructure:
        """All real items, one sentence after the other."""
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


def _parts(codes: np.ndarray, parts: int, layers: int, width: int) -> tuple[Tensor, ...]:
    """The parts of every sentence's code: (B, L, D) each."""
    values = codes[:, : parts * layers * width].reshape(len(codes), parts, layers, width)
    return tuple(torch.from_numpy(values[:, part].copy()) for part in range(parts))
