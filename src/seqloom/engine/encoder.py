"""A compiled encoder under the protocol of encoders."""

import numpy as np
import torch

from seqloom.engine.from_network import Memory, Source
from seqloom.engine.library import address, core
from seqloom.engine.stacks import PackedStack
from seqloom.engine.workspace import Workspaces, check

__all__ = ["CompiledEncoder"]


class CompiledEncoder:
    """An encoder in one call of the core, without padding; its weights do not follow training."""

    def __init__(self, stack: PackedStack) -> None:
        self.stack = stack
        self._spaces = Workspaces()

    def encode(self, source: Source) -> Memory:
        mask = source.mask
        real = mask.numpy()
        tokens = source.values.numpy()[real].astype(np.int32)
        most = len(self.stack.vectors)
        if not (int(tokens.min()) >= 0 and int(tokens.max()) < most):
            raise IndexError(f"a token is not one of the {most:,} that the model knows")
        lengths = source.lengths.numpy().astype(np.int32)
        states = np.empty((len(tokens), self.stack.stride), dtype=np.float32)
        check(
            core().sl_encode(
                self.stack.structure(int(lengths.max())),
                self._spaces.handle,
                address(tokens),
                address(lengths),
                len(lengths),
                address(states),
            )
        )
        found = states[:, : self.stack.arrays.width]
        padded = np.zeros((*real.shape, found.shape[1]), dtype=np.float32)
        padded[real] = found
        last = torch.from_numpy(found[np.cumsum(lengths) - 1])
        return Memory(len(lengths), torch.from_numpy(padded), mask, code=(last[:, None],))
