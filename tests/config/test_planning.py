"""What is chosen when nothing is: laws of `plan` over facts about data (S1.3)."""

from dataclasses import replace
from itertools import product

import pytest

from seqloom.config import (
    PRESETS,
    ColumnStatistics,
    DataConfig,
    Facts,
    PictureFrontEndConfig,
    TextConfig,
    plan,
)
from seqloom.surveys import survey
from tests.runs.support import PAIRS

NAMES = ColumnStatistics(
    characters=9.0,
    words=1.3,
    spaces=0.3,
    distinct_characters=60,
    distinct_words=9_000,
    sample_rows=10_000,
)
PHONES = replace(NAMES, characters=14.0, words=6.0, spaces=5.0, distinct_words=45)
PHRASES = replace(NAMES, characters=30.0, words=7.0, spaces=5.5, distinct_words=500)
SENTENCES = replace(NAMES, characters=70.0, words=13.0, spaces=11.5, distinct_words=15_000)

TABLE = [
    (NAMES, NAMES, "character", "character"),
    (NAMES, PHONES, "character", "word"),
    (PHRASES, PHRASES, "word", "word"),
    (SENTENCES, SENTENCES, "subword", "subword"),
    (NAMES, SENTENCES, "character", "subword"),
]


@pytest.mark.parametrize(("source", "target", "first", "second"), TABLE)
def test_units(source: ColumnStatistics, target: ColumnStatistics, first: str, second: str) -> None:
    """Short strings by character, closed vocabularies by word, sentences by subword."""
    config = plan({}, Facts(20_000, source, target))
    units = [each.unit for each in (config.source, config.target) if isinstance(each, TextConfig)]
    assert units == [first, second]
    assert config.model.share_vocabulary == (first == second == "subword")


NUMERALS = replace(NAMES, characters=38.0, words=6.0, spaces=5.0, distinct_words=45)


@pytest.mark.parametrize(
    ("rows", "source", "target", "kind"),
    [
        (100_000, NAMES, PHONES, "recurrent"),
        (10_000, NAMES, PHONES, "transformer"),
        (100_000, NAMES, NUMERALS, "transformer"),
        (100_000, NAMES, NAMES, "transformer"),
        (100_000, SENTENCES, PHONES, "transformer"),
    ],
)
def test_large_dictionaries_of_sounds_are_learnt_by_recurrent_layers(
    rows: int, source: ColumnStatistics, target: ColumnStatistics, kind: str
) -> None:
    """Spelling to sounds alone, where there are many rows and no preset is asked for."""
    config = plan({}, Facts(rows, source, target))
    assert {config.model.encoder.kind, config.model.decoder.kind} == {kind}
    asked = plan({}, Facts(rows, source, target), preset="transformer")
    assert asked.model.encoder.kind == "transformer"
    labels = plan({"target": "label"}, Facts(rows, source, target))
    assert labels == plan({"target": "label"}, Facts(rows, source, SENTENCES))


@pytest.mark.parametrize("own", [{}, {"unit": "word"}, {"unit": "symbol"}])
def test_every_word_of_a_text_may_be_missing(own: dict[str, object]) -> None:
    """A word outside the vocabulary could not be told, however its text is cut."""
    options = {"target": "blanks", "source": {"kind": "text", **own}}
    config = plan(options, Facts(20_000, SENTENCES, SENTENCES))
    assert isinstance(config.source, TextConfig)
    assert config.source.size > SENTENCES.distinct_words


@pytest.mark.parametrize("options", [{"target": "blanks"}, {"source": "none"}])
def test_long_texts_are_learnt_in_the_precision_that_is_fast(options: dict[str, object]) -> None:
    precisions = [
        plan(options, Facts(rows, SENTENCES, SENTENCES, stream=True)).training.precision
        for rows in (1_000, 100_000)
    ]
    assert precisions == ["float32", "auto"]


def test_transformers_learn_long_texts_with_muon_unless_another_is_set() -> None:
    """Its rate is that of the update rule, the user's own included."""

    def found(rows: int, preset: str, **training: object) -> tuple[str, float]:
        chosen = plan({"training": training}, Facts(rows, SENTENCES, SENTENCES), preset=preset)
        return chosen.training.optimizer.kind, chosen.training.rate

    for preset in ("auto", "transformer", "fast"):
        assert found(30_000, preset) == ("muon", 0.01)
    assert found(30_000, "lstm") == ("adamw", 0.004)
    assert found(3_000, "transformer") == ("adamw", 0.002)
    assert found(30_000, "transformer", optimizer={"kind": "adam"}) == ("adam", 0.002)
    assert found(30_000, "transformer", rate=0.5) == ("muon", 0.5)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("side", [NAMES, PHRASES, SENTENCES])
def test_more_data_never_means_a_smaller_model(side: ColumnStatistics, preset: str) -> None:
    plans = [plan({}, Facts(10**power, side, side), preset=preset) for power in range(1, 8)]
    widths = [each.model.embedding for each in plans]
    assert widths == sorted(widths)
    assert {each.model.encoder.kind for each in plans} == {
        "recurrent" if preset in ("lstm", "gru", "elman") else "transformer"
    }
    assert all(each.training.warmup < each.training.updates for each in plans)
    assert all(each.training.validate_every <= each.training.updates for each in plans)
    sizes = [each.source.size for each in plans if isinstance(each.source, TextConfig)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    "own",
    [
        {"source": {"unit": "byte"}},
        {"model": {"embedding": 32, "encoder": {"width": 32}, "decoder": {"width": 32}}},
        {"training": {"updates": 7, "batch_tokens": 99}},
        {"model": {"encoder": {"kind": "recurrent", "width": 5}}},
        {"search": {"beam": 2}},
        {"seed": 9},
    ],
    ids=lambda own: next(iter(own)),
)
def test_the_users_options_win(own: dict[str, object]) -> None:
    """Whatever is set is so, and what is not set is chosen as before."""
    for side in (NAMES, PHRASES, SENTENCES):
        config = plan(own, Facts(20_000, side, side)).model_dump()
        assert contains(config, own)


def contains(table: object, part: object) -> bool:
    if isinstance(part, dict):
        return isinstance(table, dict) and all(contains(table[n], v) for n, v in part.items())
    return bool(table == part)


def test_facts_come_from_the_data() -> None:
    """Three letters a side, each row another: characters."""
    facts = survey(PAIRS, DataConfig(), seed=1).facts
    config = plan({}, facts)
    assert facts.rows == len(PAIRS)
    assert facts.source.characters == 3.0
    assert config.source == TextConfig(unit="character")


STEMS = ["".join(each) for each in product("klmrst", "aeo", "fgnp", "aiu")]
AUXILIARIES = ("raha hai", "rahi hai", "rahe hain", "raha tha", "hota hoga")
LETTERS = "klmrstaeofgnpiu"
SOUNDS = str.maketrans({letter: f"{letter.upper()}{len(LETTERS)} " for letter in LETTERS})
DIGITS = str.maketrans({"1": "one ", "2": "two ", "3": "three "})
NUMBERS = ["".join(each) for each in product("123", repeat=5)]
TURNS = list(product(("left", "right"), ("once", "twice"), ("walk", "run"))) * 40
TABLES = {
    "stems that come back, and auxiliaries": (
        [(f"{stem}na", f"{stem}ta {other}") for stem in STEMS for other in AUXILIARIES],
        "character",
    ),
    "one word": ([(stem, stem + end) for stem in STEMS for end in "abcd"], "character"),
    "sounds set apart": ([(stem, stem.translate(SOUNDS).strip()) for stem in STEMS], "word"),
    "letters set apart": ([(" ".join(each), " ".join(each[::-1])) for each in STEMS], "word"),
    "words in another order": (
        [(f"turn {a} {b} {c}", f"{c} {a} {b}") for a, b, c in TURNS],
        "word",
    ),
    "digits as words": ([(each, each.translate(DIGITS).strip()) for each in NUMBERS], "word"),
}


@pytest.mark.parametrize("name", TABLES)
def test_words_that_are_spelt_like_their_source_are_written_by_character(name: str) -> None:
    """So that stems never seen can be written; lists of symbols stay what they are."""
    rows, unit = TABLES[name]
    config = plan({}, survey(rows, DataConfig(), seed=1).facts)
    several = DataConfig(source="1,2", target="3", columns=True)
    marked = [(source, "V;PST", target) for source, target in rows]
    options = {"data": {"source": "1,2", "target": "3"}, "source": {"kind": "columns"}}
    beside = plan(options, survey(marked, several, seed=1).facts)
    units = [each.target.unit for each in (config, beside) if isinstance(each.target, TextConfig)]
    assert units == [unit, unit]


@pytest.mark.parametrize("kind", ["label", "none"])
def test_texts_that_are_drawn_are_judged_by_their_probability(kind: str) -> None:
    """Many texts are right, so none of them is compared with what is written, and no symbol is
    made likelier than it is."""
    facts = Facts(10_000, NAMES, NAMES)
    chosen = plan({"source": {"kind": kind}}, facts).training
    assert (chosen.monitor, chosen.label_smoothing) == ("loss", 0.0)
    usual = plan({}, facts).training
    assert (usual.monitor, usual.label_smoothing) == ("metric", 0.1)


@pytest.mark.parametrize(
    ("height", "width", "stages"), [(16, 96, 3), (32, 32, 3), (64, 64, 4), (224, 224, 5)]
)
def test_larger_pictures_are_halved_more_often(height: int, width: int, stages: int) -> None:
    """The shorter side is left with a few cells, each of as many channels (S3.4)."""
    source = {"kind": "picture", "height": height, "width": width}
    front = plan({"source": source}, Facts(3_000, NAMES, PHRASES)).model.front
    assert isinstance(front, PictureFrontEndConfig)
    assert len(front.widths) == stages
    assert front.widths[-1] == 128
    assert 2 <= min(height, width) / 2**stages <= 7
    assert list(front.widths) == sorted(front.widths)
