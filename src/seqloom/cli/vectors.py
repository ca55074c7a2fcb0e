"""`seqloom vectors`: word vectors from texts, and the nearest words of a word."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from seqloom.errors import ConfigError

__all__ = ["vectors"]


def vectors(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="with --to texts to learn from: a table or a .txt file; else a file of vectors",
            show_default=False,
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="learn vectors and write them; .bin is binary"),
    ] = None,
    near: Annotated[
        list[str] | None, typer.Option("--near", metavar="WORD", help="show its nearest words")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="how many of them")] = 10,
    column: Annotated[
        str, typer.Option("--column", metavar="COL", help="of a table, by name or position")
    ] = "1",
    kind: Annotated[str, typer.Option("--kind", help="skip-gram or cbow")] = "skip-gram",
    size: Annotated[
        int, typer.Option("--size", min=1, max=65_536, help="numbers in a vector")
    ] = 100,
    window: Annotated[
        int, typer.Option("--window", min=1, max=1_000, help="neighbours on either side")
    ] = 5,
    least: Annotated[
        int, typer.Option("--least", min=1, help="times a word must come to have a vector")
    ] = 5,
    negative: Annotated[
        int, typer.Option("--negative", min=1, max=1_000, help="words drawn against each true one")
    ] = 5,
    passes: Annotated[
        int, typer.Option("--passes", min=1, help="times that the texts are read")
    ] = 10,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1)] = 1,
    unit: Annotated[
        str, typer.Option("--unit", help="how texts are cut: word or symbol, as source.unit")
    ] = "word",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="fold capitals")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="leave malformed rows out and count them")
    ] = False,
) -> None:
    """Learn a vector for each word from the words around it, or show what is nearest to a word."""
    from seqloom.api.vectors import Word2VecOptions, WordCorpus, learn_vectors
    from seqloom.data import read_vectors, write_vectors

    if to is None and not near:
        raise ConfigError(
            "say what to do: --to FILE learns vectors, --near WORD asks a file of them"
        )
    if unit not in ("word", "symbol"):
        raise ConfigError(f"--unit {unit}: choose word or symbol")
    if to is None:
        known = read_vectors(Path(data))
    else:
        cut: Literal["word", "symbol"] = "word" if unit == "word" else "symbol"
        corpus = replace(
            WordCorpus.of(data, column, skip_bad=skip_bad), unit=cut, lowercase=lowercase
        )
        learning = Word2VecOptions(kind, size, window, least, negative, passes, seed)
        known = learn_vectors(corpus, learning, partial(print, file=sys.stderr, flush=True))
        write_vectors(to, known)
        print(f"{to}: {len(known.words):,} vectors of {known.size}, {kind}", file=sys.stderr)
    for word in near or []:
        for other, cosine in known.nearest(word, count):
            print(f"{word}\t{other}\t{cosine:.3f}")
