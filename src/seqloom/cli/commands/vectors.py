"""`seqloom vectors`: word vectors from texts, and the nearest words of a word."""

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import DATA, MODEL
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.data import WordVectors

__all__ = ["vectors"]


@dataclass(frozen=True)
class CorpusOptions(OptionGroup):
    """How texts are read."""

    column: Annotated[
        str,
        typer.Option(
            "--column", metavar="COL", help="of a table, by name or position", rich_help_panel=DATA
        ),
    ] = "1"
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            help="how texts are cut: word or symbol, as source.unit",
            rich_help_panel=DATA,
        ),
    ] = "word"
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="fold capitals", rich_help_panel=DATA)
    ] = False
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad", help="leave malformed rows out and count them", rich_help_panel=DATA
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.unit not in ("word", "symbol"):
            raise ConfigError(
                "there is no such unit", place=f"--unit {self.unit}", remedy="choose word or symbol"
            )


@dataclass(frozen=True)
class LearningOptions(OptionGroup):
    """How vectors are learnt."""

    kind: Annotated[
        str, typer.Option("--kind", help="skip-gram or cbow", rich_help_panel=MODEL)
    ] = "skip-gram"
    size: Annotated[
        int,
        typer.Option(
            "--size", min=1, max=65_536, help="numbers in a vector", rich_help_panel=MODEL
        ),
    ] = 100
    window: Annotated[
        int,
        typer.Option(
            "--window", min=1, max=1_000, help="neighbours on either side", rich_help_panel=MODEL
        ),
    ] = 5
    least: Annotated[
        int,
        typer.Option(
            "--least",
            min=1,
            help="times a word must come to have a vector",
            rich_help_panel=MODEL,
        ),
    ] = 5
    negative: Annotated[
        int,
        typer.Option(
            "--negative",
            min=1,
            max=1_000,
            help="words drawn against each true one",
            rich_help_panel=MODEL,
        ),
    ] = 5
    passes: Annotated[
        int,
        typer.Option(
            "--passes", min=1, help="times that the texts are read", rich_help_panel=MODEL
        ),
    ] = 10
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, max=2**32 - 1, help="of all that is random", rich_help_panel=MODEL
        ),
    ] = 1


def vectors(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="with --to texts to learn from: a table or a .txt file; else a file of vectors",
            show_default=False,
        ),
    ],
    *,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="learn vectors and write them; .bin is binary"),
    ] = None,
    near: Annotated[
        list[str] | None, typer.Option("--near", metavar="WORD", help="show its nearest words")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="how many of them")] = 10,
    corpus: CorpusOptions,
    learning: LearningOptions,
) -> None:
    """Learn a vector for each word from the words around it, or show what is nearest to a word."""
    from seqloom.data import read_vectors

    if to is None and not near:
        raise ConfigError(
            "say what to do: --to FILE learns vectors, --near WORD asks a file of them"
        )
    known = read_vectors(Path(data)) if to is None else _learn(data, to, corpus, learning)
    for word in near or []:
        for other, cosine in known.nearest(word, count):
            print(f"{word}\t{other}\t{cosine:.3f}")


def _learn(data: str, to: Path, options: CorpusOptions, learning: LearningOptions) -> "WordVectors":
    """Learn vectors from texts and write them."""
    from seqloom.api.vectors import Word2VecOptions, WordCorpus, learn_vectors
    from seqloom.data import write_vectors

    cut: Literal["word", "symbol"] = "word" if options.unit == "word" else "symbol"
    corpus = WordCorpus.of(data, options.column, skip_bad=options.skip_bad)
    corpus = replace(corpus, unit=cut, lowercase=options.lowercase)
    chosen = Word2VecOptions(**vars(learning))
    known = learn_vectors(corpus, chosen, partial(print, file=sys.stderr, flush=True))
    write_vectors(to, known)
    print(f"{to}: {len(known.words):,} vectors of {known.size}, {learning.kind}", file=sys.stderr)
    return known
