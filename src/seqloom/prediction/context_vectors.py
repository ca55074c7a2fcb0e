"""Contextual vectors of the tokens of a text, from a layer of a trained encoder (S1.5).

Peters et al. 2018, Deep Contextualized Word Representations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from seqloom.data import WordVectors
from seqloom.display import Displayed
from seqloom.errors import ConfigError, DataError
from seqloom.fields import Offsets
from seqloom.model import Network, SequenceModel
from seqloom.model.state import Memory, Source
from seqloom.prediction.batching import batch_by_length, pad_batch
from seqloom.prediction.inputs import EncodedInput, InputReader
from seqloom.remedies import Setting
from seqloom.tokenizers.specials import START
from seqloom.tokenizers.words import word_pattern

__all__ = ["ContextVectors", "Occurrence", "SentenceVectors", "context_vectors"]

ROWS = 256  # in a batch


class Occurrence(NamedTuple):
    """An occurrence of a word: `mean@2` is the first `mean` of the second sentence, `mean@2.2` the
    second.
    """

    name: str
    word: str
    sentence: int  # from 0
    tokens: range  # of the sentence, that make up the word


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """A sentence with a vector for each of its tokens, including `<end>`."""

    text: str
    tokens: tuple[str, ...]
    offsets: tuple[Offsets, ...]  # of the tokens in the text; empty if there is no text
    vectors: Float[np.ndarray, "T D"]
    truncated: bool = False

    def words(self) -> Iterator[tuple[str, range]]:
        """Each word with its tokens; words that share a token are merged. Without a text each token
        is a word.
        """
        if not self.offsets:
            yield from ((token, range(place, place + 1)) for place, token in enumerate(self.tokens))
            return
        found: list[tuple[Offsets, range]] = []
        for match in word_pattern().finditer(self.text):
            start, end = match.span()
            inside = [n for n, (a, b) in enumerate(self.offsets) if a < end and start < b]
            if not inside:
                continue
            tokens = range(inside[0], inside[-1] + 1)
            if found and tokens.start < found[-1][1].stop:
                (start, _), before = found.pop()
                tokens = range(before.start, max(before.stop, tokens.stop))
            found.append(((start, end), tokens))
        yield from ((self.text[start:end], tokens) for (start, end), tokens in found)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        offsets = self.offsets or ((None, None),) * len(self.tokens)
        rows = zip(self.tokens, offsets, self.vectors.tolist(), strict=True)
        return {
            "text": self.text,
            "tokens": [
                {"text": token, "start": start, "end": end, "vector": vector}
                for token, (start, end), vector in rows
            ],
            "truncated": self.truncated,
        }


@dataclass(frozen=True, eq=False)
class ContextVectors(Displayed):
    """Token vectors of some sentences from one layer; layer 0 has no context."""

    sentences: tuple[SentenceVectors, ...]
    layer: int

    @cached_property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """Every word of every sentence, in order."""
        found = []
        for number, sentence in enumerate(self.sentences):
            times: dict[str, int] = {}
            for word, tokens in sentence.words():
                times[word] = times.get(word, 0) + 1
                which = f".{times[word]}" if times[word] > 1 else ""
                name = f"{word}@{number + 1}{which}"
                found.append(Occurrence(name, word, number, tokens))
        return tuple(found)

    @cached_property
    def words(self) -> WordVectors:
        """The vector of each occurrence by name: the mean over its tokens."""
        rows = [
            self.sentences[each.sentence].vectors[each.tokens.start : each.tokens.stop].mean(axis=0)
            for each in self.occurrences
        ]
        names = tuple(each.name for each in self.occurrences)
        return WordVectors(names, np.array(rows, np.float32).reshape(len(names), -1))

    def find(self, name: str) -> list[Occurrence]:
        """The occurrence of this name, or all of a word, ignoring case; DataError if
        there is none.
        """
        folded = name.casefold()
        found = [each for each in self.occurrences if each.name == name]
        found = found or [each for each in self.occurrences if each.word.casefold() == folded]
        if not found:
            raise DataError(
                f"{name!r} is in none of the texts",
                remedy="give a word, or one in a sentence, such as mean@2",
            )
        return found

    def select(self, names: Sequence[str]) -> list[Occurrence]:
        """The occurrences of these words, or all if none is given."""
        wanted = {each for name in names for each in self.find(name)}
        return [each for each in self.occurrences if each in wanted or not names]

    def sentence(self, name: str) -> str:
        """The text of an occurrence."""
        return self.sentences[self.find(name)[0].sentence].text

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"layer": self.layer, "sentences": [each.as_dict() for each in self.sentences]}


@torch.inference_mode()
def context_vectors(
    network: Network, reader: InputReader, cells: Sequence[str], layer: int | None
) -> ContextVectors:
    """Compute the vectors of a layer (default: the last) for each cell; a language model uses its
    decoder's layers.
    """
    network.eval()
    found = [SentenceVectors(cell, (), (), np.zeros((0, 0))) for cell in cells]
    encoded = reader.read_all(cells).encoded
    _check_whole(encoded)
    if not network.encoder.has_source:  # a decoder does not read `<end>`
        closing = reader.field.closing
        encoded = [each._replace(values=each.values[: len(each.values) - closing])
                   for each in encoded]  # fmt: skip
    chosen = layer
    for batch in batch_by_length([len(each.values) for each in encoded], most=ROWS):
        some = [encoded[place] for place in batch]
        layers = _layer_states(network, pad_batch([each.values for each in some]))
        chosen = _check_layer(layer, len(layers))
        for each, vectors in zip(some, layers[chosen].numpy(), strict=True):
            found[each.number] = _sentence(reader, each, vectors)
    return ContextVectors(tuple(found), chosen or 0)


def _layer_states(network: Network, source: Source) -> list[Float[torch.Tensor, "B S _"]]:
    """The hidden states of each layer of the encoder, or of a language model, for each token."""
    if network.encoder.sizes.states:
        return network.encoder.layer_states(source)
    if network.encoder.has_source or not isinstance(network, SequenceModel):
        raise ConfigError(
            "this model has no encoder of its own whose states are a token's",
            remedy="name one run with a source",
        )
    first = torch.full_like(source.values[:, :1], START)
    read = torch.cat([first, source.values], dim=1)
    layers = network.decoder.layer_states(read, Memory(len(read)))
    return [states[:, 1:] for states in layers]


def _sentence(
    reader: InputReader, read: EncodedInput, vectors: Float[np.ndarray, "S D"]
) -> SentenceVectors:
    """A sentence with its part of the batch's vectors."""
    tokens = reader.read_tokens(read)
    if len(tokens.names) > len(vectors):
        tokens = tokens.thin(len(vectors))
    own = vectors[: len(tokens.names)].copy()
    text = reader.field.plain_text(read.cell)
    return SentenceVectors(text, tuple(tokens.names), tuple(tokens.offsets), own, read.truncated)


def _check_layer(layer: int | None, count: int) -> int:
    """The index of a layer; ConfigError if it does not exist."""
    if layer is None:
        return count - 1
    if not 0 <= layer < count:
        raise ConfigError(
            f"the model has layers 0 to {count - 1}",
            place=Setting("layer", layer),
            remedy="choose one of them; 0 is what the first of them reads",
        )
    return layer


def _check_whole(encoded: Sequence[EncodedInput]) -> None:
    """DataError if an input would be read in pieces, without a common context."""
    numbers = [each.number for each in encoded]
    for before, after in pairwise(numbers):
        if before == after:
            raise DataError(
                "is longer than the model takes, and would be read in pieces",
                place=f"input {after + 1}",
                remedy="give its sentences one by one",
            )
