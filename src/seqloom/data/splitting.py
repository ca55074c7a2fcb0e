"""Split rows and inputs that exceed a model's limits, at sentence boundaries (S1.6)."""

from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np

from seqloom.config import DataConfig
from seqloom.fields import Field, Readable, Values
from seqloom.fields.sentences import TextPiece, split_sentences

__all__ = ["piece_values", "split_pair"]

Pair = tuple[str, str]


def piece_values(field: Readable, cell: str, row: Values, most: int) -> list[Values]:
    """Split a row into pieces of at most `most` items, each closed, without loss.

    If the pieces of the cell do not add up to the row, as when spaces are items too, it is split
    after every `most` items.
    """
    items = len(row) - field.closing
    counts = [len(each) - field.closing for each in field.rows(_texts(field.split(cell, most)))]
    cuts = [0, *accumulate(counts)]
    if cuts[-1] != items or max(counts) > most:
        cuts = [*range(0, items, most), items]
    return [np.concatenate([row[low:high], row[items:]]) for low, high in pairwise(cuts)]


def split_pair(pair: Pair, fields: tuple[Field, Field], limits: DataConfig) -> list[Pair] | None:
    """Split a source and its target into corresponding pieces; None if impossible.

    Two texts must have equally many sentences, each pair within the limits. A label or a number
    belongs to every piece. Without a source the target is split.
    """
    (source, target), (source_field, target_field) = pair, fields
    if source_field.is_absent:
        return [(source, text) for text in _texts(target_field.split(target, limits.max_target))]
    if not target_field.is_text:
        return [(text, target) for text in _texts(source_field.split(source, limits.max_source))]
    sides = [[piece for piece in split_sentences(text) if piece.text] for text in pair]
    if len(sides[0]) != len(sides[1]):
        return None
    packed = list(_pack(list(zip(*sides, strict=True)), fields, limits))
    return packed if all(_fits(each, fields, limits) for each in packed) else None


def _pack(
    sentences: list[tuple[TextPiece, TextPiece]], fields: tuple[Field, Field], limits: DataConfig
) -> Iterator[Pair]:
    """Pack as many sentence pairs together as fit."""
    held, spaces = ("", ""), ("", "")
    for pair in sentences:
        one, other = (
            text + space + piece.text for text, space, piece in zip(held, spaces, pair, strict=True)
        )
        if held != ("", "") and not _fits((one, other), fields, limits):
            yield held
            one, other = pair[0].text, pair[1].text
        held, spaces = (one, other), (pair[0].space, pair[1].space)
    yield held


def _fits(pair: Pair, fields: tuple[Field, Field], limits: DataConfig) -> bool:
    most = limits.max_source, limits.max_target
    return all(
        len(field.rows([text])[0]) - field.closing <= limit
        for text, field, limit in zip(pair, fields, most, strict=True)
    )


def _texts(pieces: list[TextPiece]) -> list[str]:
    return [piece.text for piece in pieces]
