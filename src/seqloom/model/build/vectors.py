"""The vectors of a column's items, as the configuration asks for them (S1.4)."""

from seqloom.config import ENCODERS, ModelConfig
from seqloom.errors import ConfigError
from seqloom.fields import END, UNK, Items, Symbols
from seqloom.nn.embedding import (
    CharacterCNNVectors,
    Embedding,
    IdentityVectors,
    ListedVectors,
    OneHot,
    Projection,
    TokenVectors,
    Vectors,
    WordDropout,
    token_vectors,
)

__all__ = ["item_vectors", "target_vectors", "word_dropout"]

LETTER_WIDTH = 32  # size of a letter's vector


def item_vectors(config: ModelConfig, items: Items) -> Vectors:
    """A vector for each item of a column."""
    symbols = items.symbols
    if symbols is None:
        if ENCODERS.part_of(config.encoder.kind).reads_values:
            return IdentityVectors(items.count)
        return Projection(items.count, config.embedding)
    own: TokenVectors = _symbol_vectors(config, symbols)
    if symbols.rows:
        own = ListedVectors(own, symbols.rows)
    if not symbols.spelling:
        return own
    return CharacterCNNVectors(own, Embedding(symbols.letters, LETTER_WIDTH), config.letters)


def _symbol_vectors(config: ModelConfig, symbols: Symbols) -> TokenVectors:
    if not config.one_hot:
        return Embedding(symbols.table_size, config.embedding, scaled=config.scale_vectors)
    if config.tie_output:
        raise ConfigError(
            "model.one_hot leaves no embedding table for the output layer to share",
            remedy="set model.tie_output=false",
        )
    return OneHot(symbols.table_size)


def word_dropout(config: ModelConfig, vectors: Vectors, source: Items) -> Vectors:
    """The source's vectors, with dropout of whole tokens in training if so configured."""
    if not config.forget or source.symbols is None:
        return vectors
    return WordDropout(vectors, config.forget, unknown=UNK, special=END)


def target_vectors(config: ModelConfig, reading: Vectors, target: Items) -> TokenVectors:
    """The vectors of the output so far: the source's, where both share a vocabulary."""
    symbols = target.symbols
    if symbols is None:
        raise ConfigError(
            f"model.decoder.kind = {config.decoder.kind!r} writes symbols, and the target has none",
            remedy="choose the head that fits it",
        )
    if symbols.spelling:
        raise ConfigError(
            "target.spelling: letters are only read", remedy="set it for the source alone"
        )
    own = token_vectors(reading if config.share_vocabulary else item_vectors(config, target))
    if own is None:
        raise ConfigError(
            "model.share_vocabulary needs a source of symbols",
            remedy="set model.share_vocabulary=false",
        )
    return own
