"""Embeddings, and the output layer that may be tied to them (S1.4)."""

import math
from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.modules import is_traced

__all__ = [
    "CharacterCNNVectors",
    "Embedding",
    "IdentityVectors",
    "ListedVectors",
    "OneHot",
    "OutputLayer",
    "Projection",
    "TokenVectors",
    "Vectors",
    "WordDropout",
    "embedding_of",
    "embedding_tables",
    "first_token_table",
    "listed_rows",
    "token_vectors",
    "vectors_label",
]


START, END = 2, 3  # the ids of `<start>` and `<end>`
NEVER = -1e9  # the logit of a token without a row


@runtime_checkable
class Vectors(Protocol):
    """A layer with a vector for each item of a source."""

    width: int

    def __call__(self, items: Tensor) -> Float[Tensor, "*shape D"]: ...


@runtime_checkable
class TokenVectors(Vectors, Protocol):
    """A layer with a vector for each token."""

    def mean(self, probabilities: Float[Tensor, "*shape V"]) -> Float[Tensor, "*shape D"]:
        """The mean embedding under a distribution over tokens (S2.2, soft feedback)."""
        ...


class Embedding(nn.Module):
    """A learned vector for each token: a projection of its one-hot vector, times √D if `scaled`.

    The table starts small, as a tied output layer needs; the factor compensates.
    """

    label: ClassVar[str] = "embedding"

    def __init__(self, size: int, width: int, *, scaled: bool = True) -> None:
        super().__init__()
        self.width = width
        self.factor = math.sqrt(width) if scaled else 1.0
        self.table = nn.Parameter(torch.empty(size, width))
        nn.init.normal_(self.table, std=width**-0.5)

    def forward(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape D"]:
        return functional.embedding(tokens, self.table) * self.factor

    def mean(self, probabilities: Float[Tensor, "*shape V"]) -> Float[Tensor, "*shape D"]:
        return probabilities @ self.table * self.factor


class OneHot(nn.Module):
    """One-hot vectors: as long as the vocabulary, without parameters."""

    label: ClassVar[str] = "one-hot"

    def __init__(self, size: int) -> None:
        super().__init__()
        self.width = size
        self.register_buffer("precision", torch.empty(0), persistent=False)

    precision: Tensor
    """An empty buffer that takes on the model's dtype, as parameters do."""

    def forward(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape D"]:
        return functional.one_hot(tokens, self.width).to(self.precision.dtype)

    def mean(self, probabilities: Float[Tensor, "*shape V"]) -> Float[Tensor, "*shape D"]:
        return probabilities


class Projection(nn.Module):
    """An affine map of an item's numbers to a vector, for inputs that are not symbols."""

    label: ClassVar[str] = "projection"

    def __init__(self, numbers: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.map = nn.Linear(numbers, width)

    def forward(self, items: Float[Tensor, "*shape C"]) -> Float[Tensor, "*shape D"]:
        return self.map(items)


class CharacterCNNVectors(nn.Module):
    """A token's embedding, concatenated with one computed from its characters by a convolution: the
    maximum over characters of ReLU(W [previous; current; next] + b).

    An item is a token's id followed by its characters' ids, padded with 0.

    dos Santos and Zadrozny 2014, Learning Character-level Representations for Part-of-Speech
    Tagging.
    """

    label: ClassVar[str] = "embedding and letters"

    def __init__(self, own: Vectors, letters: Embedding, width: int) -> None:
        super().__init__()
        self.width = own.width + width
        self.own = own
        self.letters = letters
        self.reading = nn.Conv1d(letters.width, width, kernel_size=3, padding=1)

    def forward(self, items: Int[Tensor, "*shape C"]) -> Float[Tensor, "*shape D"]:
        spelt = items[..., 1:].flatten(0, -2)  # (N,C)
        longest = spelt.shape[1]
        if not is_traced():
            longest = max(1, int(spelt.ne(0).sum(dim=1).max()))
        there = spelt[:, None, :longest].ne(0)
        vectors = self.letters(spelt[:, :longest]).transpose(1, 2) * there  # (N,D,C)
        read = (self.reading(vectors).relu() * there).amax(dim=2)
        return torch.cat([self.own(items[..., 0]), read.view(*items.shape[:-1], -1)], dim=-1)


class WordDropout(nn.Module):
    """Replaces a share of the tokens by `unknown` in training; ids up to `special` always stay.

    Kiperwasser and Goldberg 2016, Simple and Accurate Dependency Parsing Using Bidirectional LSTM
    Feature Representations.
    """

    def __init__(self, vectors: Vectors, share: float, *, unknown: int, special: int) -> None:
        super().__init__()
        self.width = vectors.width
        self.label = getattr(vectors, "label", "vectors")
        self.vectors = vectors
        self.share = share
        self.unknown = unknown
        self.special = special

    def forward(self, items: Int[Tensor, "*shape"]) -> Float[Tensor, "*rest D"]:
        if not self.training:
            return self.vectors(items)
        spelt = isinstance(self.vectors, CharacterCNNVectors)
        tokens = items[..., :1] if spelt else items
        lost = (torch.rand(tokens.shape, device=tokens.device) < self.share) & (
            tokens > self.special
        )
        tokens = tokens.masked_fill(lost, self.unknown)
        return self.vectors(torch.cat([tokens, items[..., 1:]], dim=-1) if spelt else tokens)


class IdentityVectors(nn.Module):
    """An item's numbers, unchanged."""

    label: ClassVar[str] = "numbers"

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.width = numbers

    def forward(self, items: Float[Tensor, "*shape C"]) -> Float[Tensor, "*shape C"]:
        return items


class ListedVectors(nn.Module):
    """Embeddings whose rows are in another order than the token ids (S1.3); a token without a row
    has a zero vector.
    """

    def __init__(self, vectors: TokenVectors, rows: Sequence[int]) -> None:
        super().__init__()
        self.width = vectors.width
        self.label = getattr(vectors, "label", "vectors")
        self.vectors = vectors
        self.rows = tuple(rows)

    def forward(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape D"]:
        rows = torch.tensor(self.rows, device=tokens.device)[tokens.long()]
        return self.vectors(rows.clamp(min=0)) * rows.ge(0)[..., None]

    def mean(self, probabilities: Float[Tensor, "*shape V"]) -> Float[Tensor, "*shape D"]:
        rows = torch.tensor(self.rows, device=probabilities.device)
        listed = probabilities.new_zeros(*probabilities.shape[:-1], max(self.rows) + 1)
        there = rows.ge(0)
        return self.vectors.mean(listed.index_add(-1, rows[there], probabilities[..., there]))


class OutputLayer(nn.Module):
    """An affine map to the vocabulary; with `tied`, its matrix is an embedding's table.

    With `rows`, the row of the matrix for each token; a token without a row is never written.

    Press and Wolf 2017, Using the Output Embedding to Improve Language Models.
    """

    def __init__(
        self,
        width: int,
        size: int,
        *,
        tied: Embedding | None,
        bias: bool = True,
        rows: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.width = width
        self.rows = tuple(rows)
        size = max(rows) + 1 if rows else size
        self.matrix = Embedding(size, width) if tied is None else tied
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        scores = functional.linear(hidden, self.matrix.table, self.bias)
        if not self.rows:
            return scores
        rows = torch.tensor(self.rows, device=scores.device)
        doubled = torch.zeros_like(rows, dtype=torch.bool)
        doubled[START] = bool(
            rows[START] == rows[END]
        )  # the one symbol for both, written as `<end>`
        return scores[..., rows.clamp(min=0)].masked_fill(rows.lt(0) | doubled, NEVER)


def token_vectors(vectors: Vectors) -> TokenVectors | None:
    """The layer, if it embeds tokens and has means; else TypeError."""
    return vectors if isinstance(vectors, TokenVectors) else None


def listed_rows(vectors: Vectors) -> tuple[int, ...]:
    """The row of each token in its table; empty if it is the token's id."""
    return vectors.rows if isinstance(vectors, ListedVectors) else ()


def vectors_label(vectors: Vectors) -> str:
    """The label of the vectors in a drawing: their kind and size."""
    return f"{getattr(vectors, 'label', 'vectors')} of {vectors.width}"


def embedding_of(vectors: Vectors) -> Embedding | None:
    """The embedding table that an output layer can be tied to, if there is one."""
    inner = vectors.vectors if isinstance(vectors, ListedVectors) else vectors
    return inner if isinstance(inner, Embedding) else None


def embedding_tables(module: nn.Module) -> list[Embedding]:
    """Every embedding table in a module."""
    return [each for each in module.modules() if isinstance(each, Embedding)]


def first_token_table(module: nn.Module) -> Embedding | None:
    """The first embedding table in a module, except those of characters and of the output layer."""
    letters = {
        id(each.letters) for each in module.modules() if isinstance(each, CharacterCNNVectors)
    }
    for name, each in module.named_modules():
        skipped = name.startswith("output.") or id(each) in letters
        if isinstance(each, Embedding) and not skipped:
            return each
    return None
