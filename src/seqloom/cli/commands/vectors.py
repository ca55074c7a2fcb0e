"""`seqloom vectors`: train word vectors, encode tokens in context, and query nearest neighbours."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import DATA, MODEL, OUTPUT, VIEW
from seqloom.cli.terminal import behave_as_filter
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.data import WordVectors
    from seqloom.prediction import ContextVectors

__all__ = ["vectors"]


@dataclass(frozen=True)
class CorpusOptions(OptionGroup):
    """Options of the corpus."""

    column: Annotated[
        str,
        typer.Option(
            "--column",
            metavar="COL",
            help="column of a table, by name or position",
            rich_help_panel=DATA,
        ),
    ] = "1"
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            help="tokenization: word or symbol, as source.unit",
            rich_help_panel=DATA,
        ),
    ] = "word"
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="fold capitals", rich_help_panel=DATA)
    ] = False
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="skip malformed rows and count them", rich_help_panel=DATA),
    ] = False

    def __post_init__(self) -> None:
        if self.unit not in ("word", "symbol"):
            raise ConfigError(
                "there is no such unit", place=f"--unit {self.unit}", remedy="choose word or symbol"
            )


@dataclass(frozen=True)
class LearningOptions(OptionGroup):
    """Options of training."""

    kind: Annotated[
        str, typer.Option("--kind", help="skip-gram or cbow", rich_help_panel=MODEL)
    ] = "skip-gram"
    size: Annotated[
        int,
        typer.Option(
            "--size", min=1, max=65_536, help="dimensions of a vector", rich_help_panel=MODEL
        ),
    ] = 100
    window: Annotated[
        int,
        typer.Option(
            "--window", min=1, max=1_000, help="context words on either side", rich_help_panel=MODEL
        ),
    ] = 5
    least: Annotated[
        int,
        typer.Option(
            "--least",
            min=1,
            help="occurrences a word needs to get a vector",
            rich_help_panel=MODEL,
        ),
    ] = 5
    negative: Annotated[
        int,
        typer.Option(
            "--negative",
            min=1,
            max=1_000,
            help="negative samples per positive one",
            rich_help_panel=MODEL,
        ),
    ] = 5
    passes: Annotated[
        int,
        typer.Option("--passes", min=1, help="passes over the texts", rich_help_panel=MODEL),
    ] = 10
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**32 - 1, help="random seed", rich_help_panel=MODEL),
    ] = 1


@dataclass(frozen=True)
class ContextOptions(OptionGroup):
    """Options of contextual vectors."""

    run: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="a trained run whose encoder gives contextual vectors for the texts DATA",
            rich_help_panel=VIEW,
        ),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="FILE", help="with --from: texts, one per line", rich_help_panel=VIEW
        ),
    ] = None
    layer: Annotated[
        int | None,
        typer.Option(
            "--layer",
            help="with --from: the layer; 0 is the input of the first, default the last",
            rich_help_panel=VIEW,
        ),
    ] = None
    map: Annotated[
        str,
        typer.Option(
            "--map", help="with --from: projection of the map, pca or tsne", rich_help_panel=VIEW
        ),
    ] = "pca"


@dataclass(frozen=True)
class Question(OptionGroup):
    """Queries of vectors."""

    near: Annotated[
        list[str] | None,
        typer.Option(
            "--near", metavar="WORD", help="show the nearest words", rich_help_panel=OUTPUT
        ),
    ] = None
    word: Annotated[
        list[str] | None,
        typer.Option(
            "--word",
            metavar="WORD",
            help="show the cosines between these; with --from mean is every mean, mean@2 that of "
            "the second text, and a map shows no others",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    count: Annotated[
        int, typer.Option("--count", min=1, help="number of neighbours", rich_help_panel=OUTPUT)
    ] = 10
    as_json: Annotated[
        bool, typer.Option("--json", help="one JSON object per line", rich_help_panel=OUTPUT)
    ] = False

    def cosines(
        self, known: "WordVectors", names: Callable[[str], list[str]]
    ) -> Iterator[tuple[str, str, float]]:
        """Pairs of words with their cosines; `names` maps a word to its vectors."""
        for word in self.near or []:
            for name in names(word):
                for other, cosine in known.nearest(name, self.count):
                    yield name, other, cosine
        asked = dict.fromkeys(name for word in self.word or [] for name in names(word))
        for one, other in combinations(asked, 2):
            yield one, other, known.cosine(one, other)

    def write(self, pair: tuple[str, str, float], **beside: Any) -> None:
        """Write one line per pair."""
        word, other, cosine = pair
        if self.as_json:
            row = {"word": word, "other": other, "cosine": round(cosine, 6), **beside}
            print(json.dumps(row, ensure_ascii=False))
        else:
            print(word, other, f"{cosine:.3f}", *beside.values(), sep="\t")


def vectors(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATA]...",
            help="with --to texts to learn from: a table or a .txt file; with --from texts; else a "
            "file of vectors",
            show_default=False,
        ),
    ] = None,
    *,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="learn vectors and write them; .bin is binary. With --from .png, .svg or .html is "
            "a map, and .json the vectors",
        ),
    ] = None,
    question: Question,
    context: ContextOptions,
    corpus: CorpusOptions,
    learning: LearningOptions,
) -> None:
    """Train word vectors, encode tokens in context with a trained encoder, or show the nearest
    words.
    """
    if context.run is not None:
        behave_as_filter()
        _show_context(_encode(context.run, data or [], context), question, context, to)
        return
    from seqloom.data import read_vectors

    if len(data or []) != 1 or (to is None and not question.near and not question.word):
        raise ConfigError(
            "say what to do: with one file, --to FILE learns vectors from it and --near WORD or "
            "--word WORD asks a file of vectors; --from RUN gives vectors to texts"
        )
    (place,) = data or []
    known = read_vectors(Path(place)) if to is None else _learn(place, to, corpus, learning)
    for pair in question.cosines(known, lambda word: [word]):
        question.write(pair)


def _encode(run: Path, texts: list[str], options: ContextOptions) -> "ContextVectors":
    """Encode the given texts and those in a file."""
    from seqloom.api.load import load
    from seqloom.data import InputFile, input_cells

    model = load(run)
    cells = list(input_cells(texts, model.config.data))
    if options.file is not None:
        cells += InputFile(options.file, model.config.data).cells()
    if not cells:
        raise ConfigError("no text is given", remedy="give texts, or a file of them with --file")
    return model.vectors_of_cells(cells, layer=options.layer)


def _show_context(
    found: "ContextVectors", question: Question, options: ContextOptions, to: Path | None
) -> None:
    """Write contextual vectors: to a file, as cosines, or all of them."""
    from seqloom.explain import text_of, vector_map, write

    if to is not None:
        picture = to.suffix.lower() != ".json"
        chosen = vector_map(found, question.word or [], method=options.map) if picture else found
        write(chosen, to, title=f"layer {found.layer}")
        print(to)
    elif question.near or question.word:
        for pair in question.cosines(found.words, lambda w: [each.name for each in found.find(w)]):
            question.write(pair, sentence=found.sentence(pair[1]))
    elif question.as_json:
        for sentence in found.sentences:
            row = {"layer": found.layer, **sentence.as_dict()}
            print(json.dumps(row, ensure_ascii=False))
    else:
        print(text_of(found, shutil.get_terminal_size().columns))


def _learn(data: str, to: Path, options: CorpusOptions, learning: LearningOptions) -> "WordVectors":
    """Train vectors on texts and write them."""
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
