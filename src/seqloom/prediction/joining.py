"""Join the outputs of an input's pieces (S1.6)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, groupby
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from seqloom.deferred import Deferred
from seqloom.prediction.inputs import EncodedInput, InputReader
from seqloom.prediction.output import Branch, Output, Token
from seqloom.tokenizers.offsets import shift

__all__ = [
    "BLANK_OUTPUT",
    "JudgedInput",
    "WholeInput",
    "join_by_input",
    "join_encoded",
    "source_facts",
]

BLANK_OUTPUT = Output("", 0.0, 0.0, (), "blank")


def join_by_input(
    encoded: Sequence[EncodedInput], outputs: Sequence[Output], count: int
) -> list[Output]:
    """An output for each of so many inputs, joined from those of all encoded pieces; inputs not
    encoded are blank.
    """
    joined = [BLANK_OUTPUT] * count
    pairs = zip(encoded, outputs, strict=True)
    for number, pieces in groupby(pairs, key=lambda pair: pair[0].number):
        parts = list(pieces)
        joined[number] = _join_outputs(parts) if len(parts) > 1 else parts[0][1]
    return joined


def join_encoded(pieces: Sequence[EncodedInput], closing: int) -> EncodedInput:
    """Join the pieces of one input; each has `closing` closing items."""
    if len(pieces) == 1:
        return pieces[0]
    values = [each.values[: len(each.values) - closing] for each in pieces[:-1]]
    warnings = dict.fromkeys(each for piece in pieces for each in piece.warnings)
    return pieces[0]._replace(
        values=np.concatenate([*values, pieces[-1].values]), warnings=tuple(warnings)
    )


def _join_outputs(parts: Sequence[tuple[EncodedInput, Output]]) -> Output:
    """Join the outputs of all pieces; of N-best lists, the best combinations."""
    pieces, outputs = zip(*parts, strict=True)
    whole = _concatenate(pieces, outputs)
    if not outputs[0].n_best:
        return whole
    kept: list[tuple[Output, ...]] = [()]
    for output in outputs:
        longer = [(*path, each) for path in kept for each in output.n_best or (output,)]
        kept = sorted(longer, key=lambda path: -_rank_score(path))[: len(outputs[0].n_best)]
    return replace(whole, n_best=tuple(_concatenate(pieces, path) for path in kept))


def _concatenate(pieces: Sequence[EncodedInput], outputs: Sequence[Output]) -> Output:
    """Concatenate texts with the source's spaces, tokens, and attention block by block."""
    spaces = [*(piece.space for piece in pieces[:-1]), ""]
    texts = [output.text + space for output, space in zip(outputs, spaces, strict=True)]
    starts = accumulate(map(len, texts[:-1]), initial=0)
    read = zip(pieces, outputs, strict=True)
    offsets = [shift(output.source_offsets, piece.start) for piece, output in read]
    unfinished = [output.stopped for output in outputs if output.stopped != "end"]
    warnings = dict.fromkeys(each for output in outputs for each in output.warnings)
    return Output(
        "".join(texts),
        sum(output.score for output in outputs),
        _rank_score(outputs),
        tuple(
            _move_token(token, start)
            for start, output in zip(starts, outputs, strict=True)
            for token in output.tokens
        ),
        unfinished[0] if unfinished else "end",
        source=tuple(token for output in outputs for token in output.source),
        source_offsets=tuple(chain.from_iterable(offsets)) if all(offsets) else (),
        truncated=any(output.truncated for output in outputs),
        attention=_block_diagonal([output.attention for output in outputs]),
        tree=tuple(_join_trees([output.tree for output in outputs])),
        warnings=tuple(warnings),
        ids=tuple(token for output in outputs for token in output.ids),
        pieces=len(outputs),
        piece_ends=tuple(
            zip(
                accumulate(len(output.source) for output in outputs),
                accumulate(len(output.tokens) for output in outputs),
                strict=True,
            )
        ),
    )


def _move_token(token: Token, start: int) -> Token:
    """Shift a token's offsets."""
    if token.offsets is None:
        return token
    return token._replace(offsets=(token.offsets[0] + start, token.offsets[1] + start))


def _rank_score(outputs: Sequence[Output]) -> float:
    """The mean ranking score, weighted by number of tokens."""
    counts = [max(1, len(output.tokens)) for output in outputs]
    weighed = zip(counts, outputs, strict=True)
    return sum(count * output.normalised for count, output in weighed) / sum(counts)


def _block_diagonal(
    parts: Sequence[Float[np.ndarray, "_ _"] | None],
) -> Float[np.ndarray, "T S"] | None:
    """The attention of all pieces as a block-diagonal matrix."""
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    whole = np.zeros(np.sum([part.shape for part in found], axis=0), found[0].dtype)
    row = column = 0
    for part in found:
        whole[row : row + len(part), column : column + part.shape[1]] = part
        row, column = row + len(part), column + part.shape[1]
    return whole


def _join_trees(trees: Sequence[tuple[Branch, ...]]) -> Iterator[Branch]:
    """Concatenate search trees, renumbered; each piece has its own root."""
    first = 0
    for tree in trees:
        for branch in tree:
            parent = None if branch.parent is None else branch.parent + first
            yield replace(branch, number=branch.number + first, parent=parent)
        first += len(tree)


class WholeInput(NamedTuple):
    """An input, with the lengths of the pieces it was read in."""

    encoded: EncodedInput
    lengths: tuple[int, ...]


class JudgedInput(NamedTuple):
    """An input, and the head's output for it."""

    whole: WholeInput
    scores: Float[np.ndarray, "T V"]
    reader: InputReader

    def output(
        self,
        text: str,
        score: float,
        tokens: "tuple[Token, ...] | Deferred[dict[str, tuple[Token, ...]]]",
        ids: tuple[int, ...] = (),
    ) -> Output:
        """The output with this text."""
        facts = source_facts(self.whole.encoded, self.reader)
        pieces = len(self.whole.lengths)
        late: Any = tokens
        return Output(text, score, score, late, "end", pieces=pieces, ids=ids, **facts)


def source_facts(source: EncodedInput, reader: InputReader) -> dict[str, Any]:
    """The facts of an input in its output; the tokens read are looked up when first used."""

    def look_up() -> dict[str, Any]:
        read = reader.read_tokens(source)
        return {"source": tuple(read.names), "source_offsets": tuple(read.offsets)}

    read = Deferred(look_up)
    return {
        "source": read,
        "source_offsets": read,
        "truncated": source.truncated,
        "warnings": source.warnings,
    }
