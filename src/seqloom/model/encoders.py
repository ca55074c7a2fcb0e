"""Encoders that are not Transformers (S3.1, S1.7)."""

from jaxtyping import Float
from torch import Tensor, nn

from seqloom.model.state import Encoder, Memory, Source
from seqloom.nn.dropout import Dropout
from seqloom.nn.embedding import Vectors
from seqloom.nn.recurrent import AroundStack, RecurrentStack, reverse

__all__ = [
    "NoEncoder",
    "RecurrentEncoder",
    "ReversedEncoder",
    "VectorsEncoder",
    "mean_state",
]


class RecurrentEncoder(nn.Module):
    """Reads the source through a stack; its states are attended to, its last state is the code."""

    def __init__(
        self, embedding: Vectors, stack: RecurrentStack | AroundStack, *, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.stack = stack
        self.dropout = Dropout(dropout)

    def encode(self, source: Source) -> Memory:
        mask = source.mask
        inputs = self.dropout(self.embedding(source.values))
        states, code = self.stack(inputs, lengths=source.lengths)
        return Memory(len(source.lengths), self.dropout(states), mask, code)


class VectorsEncoder(nn.Module):
    """Hands over the source's token vectors as they are; their mean is the code."""

    def __init__(self, embedding: Vectors) -> None:
        super().__init__()
        self.embedding = embedding

    def encode(self, source: Source) -> Memory:
        vectors, mask = self.embedding(source.values), source.mask
        return Memory(len(source.lengths), vectors, mask, (mean_state(vectors, mask)[:, None],))


class NoEncoder(nn.Module):
    """Hands over nothing but the number of sentences: for language models (S1.2)."""

    def encode(self, source: Source) -> Memory:
        return Memory(len(source.lengths))


class ReversedEncoder(nn.Module):
    """Lets an encoder read the source back to front, the `closing` items last (S1.7): `<end>`
    of a text, and nothing of numbers.

    States are handed over in the order of the source, so attention shows where it truly looked;
    unless the decoder is to read them in turn, as `turned`.
    """

    def __init__(self, inner: Encoder, *, turned: bool = False, closing: int = 1) -> None:
        super().__init__()
        self.inner = inner
        self.turned = turned
        self.closing = closing

    def encode(self, source: Source) -> Memory:
        (rows, steps), items = source.values.shape[:2], source.lengths - self.closing
        flat = reverse(source.values.reshape(rows, steps, -1), items)
        memory = self.inner.encode(Source(flat.view_as(source.values), source.lengths))
        if memory.states is None or self.turned:
            return memory
        states = reverse(memory.states, items)
        return Memory(memory.sentences, states, memory.mask, memory.code)


def mean_state(states: Float[Tensor, "B S D"], mask: Tensor) -> Float[Tensor, "B D"]:
    """The mean over real positions."""
    real = mask.to(states.dtype)
    return (real[:, None] @ states).squeeze(1) / real.sum(dim=1, keepdim=True)
