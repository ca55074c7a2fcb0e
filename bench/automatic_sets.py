"""The sets of bench/automatic.py: where each comes from and how its tables are written."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from forecast import PARTS as PARTS_OF_ETT
from foundation import shared
from users import inflection, read, snips

from seqloom.datasets.date_formats import languages, parts
from seqloom.datasets.dates import dates
from seqloom.datasets.number_words import places, sizes, spell_number
from seqloom.demos.series import write_load

__all__ = ["SETS", "Classical", "DataSet", "Tables"]

Classical = Literal["label", "text", "tags", "sound", ""]
Row = Sequence[str]
PARTS = ("train", "valid", "test")


class Tables(NamedTuple):
    """The files of a set; without held-out rows, training takes its own."""

    train: Path
    valid: Path | None
    test: Path


class DataSet(NamedTuple):
    """A set, its options, the score that counts, and what stands beside it."""

    title: str
    write: Callable[[Path, Path | None], Tables]
    options: tuple[str, ...]
    score: str
    higher: bool = True  # whether more of the score is better
    classical: Classical = ""
    published: str = ""
    repository: str = ""


def write_rows(folder: Path, splits: Iterable[Iterable[Row]]) -> Tables:
    """Training, held-out and test rows as tables."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{part}.tsv" for part in PARTS]
    for path, rows in zip(paths, splits, strict=True):
        text = "".join("\t".join(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
    return Tables(*paths)


def generated(make: Callable[[], object]) -> Callable[[Path, Path | None], Tables]:
    """Rows of a generator of Seqloom's own."""

    def write(folder: Path, _: Path | None) -> Tables:
        found = make()
        return write_rows(folder, (getattr(found, part) for part in PARTS))

    return write


def names(rows: int | None = None) -> Callable[[Path, Path | None], Tables]:
    """Family names and their languages; no name is in two parts."""

    def write(folder: Path, _: Path | None) -> Tables:
        found: dict[str, str] = {}
        for path in sorted(shared("names18").glob("*.txt")):
            if path.stem != "SOURCE":
                for name in path.read_text(encoding="utf-8").split("\n"):
                    found.setdefault(name, path.stem) if name else None
        pairs = list(found.items())
        random.Random(1).shuffle(pairs)
        train = pairs[2_000:] if rows is None else pairs[2_000 : 2_000 + rows]
        return write_rows(folder, (train, pairs[:1_000], pairs[1_000:2_000]))

    return write


def number_words(rows: int) -> Callable[[Path, Path | None], Tables]:
    """Numbers in digits and in words, up to 999,999."""

    def spell(number: int) -> str:
        thousands, rest = divmod(number, 1_000)
        if not thousands:
            return spell_number(rest)
        joined = " and " if 0 < rest < 100 else " "
        return f"{spell_number(thousands)} thousand{joined + spell_number(rest) if rest else ''}"

    def write(folder: Path, _: Path | None) -> Tables:
        drawn = random.Random(1).sample(range(1, 1_000_000), rows + 1_000)
        pairs = [(str(number), spell(number)) for number in drawn]
        return write_rows(folder, (pairs[1_000:], pairs[:500], pairs[500:1_000]))

    return write


def files(*names: str) -> Callable[[Path, Path | None], Tables]:
    """Files among the shared data as they are: training, held-out and test rows."""

    def write(_: Path, __: Path | None) -> Tables:
        train, valid, test = (shared(*name.split("/")) for name in names)
        return Tables(train, valid, test)

    return write


def multi30k(_: Path, __: Path | None) -> Tables:
    """German and English captions, in two files of lines each."""
    return Tables(
        *(
            Path(f"{shared('multi30k', part)}.de,{shared('multi30k', part)}.en")
            for part in ("train", "val", "test_2016_flickr")
        )
    )


def ett(_: Path, __: Path | None) -> Tables:
    """Hours of seven columns, cut by `data.parts`."""
    path = shared("ett", "ETTh1.csv")
    return Tables(path, None, path)


def load_series(folder: Path, _: Path | None) -> Tables:
    """The load of a small town, and its last two weeks."""
    write_load(folder / "load.csv")
    return Tables(folder / "load.csv", None, folder / "load-after.csv")


def digits(folder: Path, _: Path | None) -> Tables:
    """Recordings of single digits; the first five of each speaker are the test, as is usual."""
    recordings = sorted(shared("fsdd", "recordings").glob("*.wav"))
    splits: dict[str, list[Row]] = {part: [] for part in PARTS}
    for path in recordings:
        digit, _speaker, number = path.stem.split("_")
        part = "test" if int(number) < 5 else "valid" if int(number) < 9 else "train"
        splits[part].append((str(path), digit))
    return write_rows(folder, splits.values())


def cloned(
    repository: str, table: Callable[[Path, str], str], rows: int | None = None
) -> Callable[[Path, Path | None], Tables]:
    """The tables of a repository, perhaps with the first rows to learn from alone."""

    def write(folder: Path, clones: Path | None) -> Tables:
        if clones is None:
            raise SystemExit(f"--clones must name the folder that holds {repository}")
        found = [[line.split("\t") for line in table(clones, part).splitlines()] for part in PARTS]
        if rows is not None:
            random.Random(1).shuffle(found[0])
        return write_rows(folder, (found[0][:rows], found[1], found[2]))

    return write


def sounds(language: str) -> Callable[[Path, str], str]:
    """Spelling and sounds of SIGMORPHON 2020."""

    def table(folder: Path, part: str) -> str:
        name = {"valid": "dev"}.get(part, part)
        return "\n".join(read(folder, G2P, f"task1/data/{name}/{language}_{name}.tsv"))

    return table


G2P, SNIPS, FORMS = "sigmorphon/2020", "MiuLab/SlotGated-SLU", "sigmorphon2020/task0-data"
LABEL, TAGS = ("--target", "2:label"), ("--target", "2:tags")
PHONES = ("words wrong", False)
SETS: dict[str, DataSet] = {
    "names-300": DataSet(
        "name → language, 300 rows", names(300), LABEL, "accuracy", classical="label"
    ),
    "languages": DataSet(
        "date → language", generated(languages), LABEL, "accuracy", classical="label"
    ),
    "date-parts": DataSet("date → parts", generated(parts), TAGS, "accuracy", classical="tags"),
    "logarithms": DataSet(
        "number in words → logarithm", generated(sizes), ("--target", "2:number"), "MAE", False
    ),
    "load": DataSet(
        "hourly load → 24 hours", load_series, ("--target", "load:series"), "MSE", False
    ),
    "etth1": DataSet(
        "ETTh1 → 96 hours",
        ett,
        tuple(PARTS_OF_ETT),
        "MSE",
        False,
        published="0.375 (DLinear, Zeng et al. 2023)",
    ),
    "intents-300": DataSet(
        "SNIPS: utterance → intent, 300 rows",
        cloned(SNIPS, snips("label"), 300), LABEL, "accuracy", classical="label", repository=SNIPS,
    ),
    "intents": DataSet(
        "SNIPS: utterance → intent",
        cloned(SNIPS, snips("label")), LABEL, "accuracy", classical="label",
        published="97.0 (Goo et al. 2018)", repository=SNIPS,
    ),
    "digits": DataSet(
        "recording → digit", digits, ("--source", "1:sound", "--target", "2:label"), "accuracy",
        classical="sound",
    ),
    "names": DataSet("name → language", names(), LABEL, "accuracy", classical="label"),
    "georgian": DataSet(
        "Georgian: letters → sounds, a transliteration nearly",
        cloned(G2P, sounds("geo")), (), *PHONES, classical="text", repository=G2P,
    ),
    "greek": DataSet(
        "Greek: spelling → sounds",
        cloned(G2P, sounds("gre")), (), *PHONES, classical="text",
        published="18.89 (LSTM, Gorman et al. 2020)", repository=G2P,
    ),
    "inflection": DataSet(
        "Crimean Tatar: lemma, features → form",
        cloned(FORMS, inflection), ("--source", "1,3", "--target", "2"), "exact match",
        published="99.1 (Canby et al. 2020)", repository=FORMS,
    ),
    "sst2": DataSet(
        "SST-2: sentence → sentiment",
        files("sst2/train.tsv", "sst2/dev.tsv", "sst2/test.tsv"), LABEL, "accuracy",
        classical="label",
    ),
    "number-words": DataSet(
        "digits → words, 3,000 rows", number_words(3_000), (), "exact match", classical="text"
    ),
    "dates": DataSet("date in words → ISO", generated(dates), (), "exact match", classical="text"),
    "ewt": DataSet(
        "UD English EWT: words → parts of speech",
        files(*(f"ud_english_ewt/en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test"))),
        (), "accuracy", classical="tags",
    ),
    "slots": DataSet(
        "SNIPS: utterance → slots",
        cloned(SNIPS, snips("seq.out")), TAGS, "span F1", published="88.8 (Goo et al. 2018)",
        repository=SNIPS,
    ),
    "french": DataSet(
        "Tatoeba: French → English, short sentences",
        files(*(f"tatoeba_fra_eng/small_top500_{part}.tsv" for part in ("train", "dev", "test"))),
        (), "BLEU", classical="text",
    ),
    "hungarian": DataSet(
        "Hungarian: spelling → sounds",
        files(*(f"g2p_sigmorphon2021/hun_{part}.tsv" for part in ("train", "dev", "test"))),
        (), *PHONES, classical="text",
    ),
    "places": DataSet(
        "language → place name", generated(places), ("--source", "1:label"), "perplexity", False
    ),
    "cmudict": DataSet(
        "CMU dictionary: spelling → sounds",
        files(*(f"cmudict/g2p_{part}.tsv" for part in ("train", "dev", "test"))),
        (), *PHONES, classical="text",
    ),
    "multi30k": DataSet("Multi30k: German → English", multi30k, (), "BLEU"),
    "number-words-300000": DataSet(
        "digits → words, 300,000 rows", number_words(300_000), (), "exact match", classical="text"
    ),
}  # fmt: skip
