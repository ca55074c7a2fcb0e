"""Text metrics agree with sacrebleu, and their intervals behave as intervals do."""

import pytest
import sacrebleu

from seqloom.errors import DataError
from seqloom.metrics import (
    METRICS,
    NO_INTERVAL,
    Interval,
    Predictions,
    Score,
    metrics_for,
    target_scores,
)

REFERENCES = [
    "The cat sat on the mat, as it does every day.",
    "It is raining cats and dogs.",
    "She was alone in the house.",
    "Nobody knows who wrote this letter, nor when.",
    "We drink coffee.",
    "",
]
OUTPUTS = [
    "The cat sat on a mat as it does every day.",
    "It is raining cats and dogs.",
    "she was alone in the House.",
    "Who wrote this letter nobody knows.",
    "Tea?",
    "An output without a reference.",
]


def text_scores(
    outputs: list[str], references: list[str], *, lowercase: bool = False, seed: int | None = 1
) -> list[Score]:
    """The three of sacrebleu's kind, whether or not they fit."""
    rows = Predictions("text", outputs, references, lowercase)
    names = ("BLEU", "chrF", "exact match")
    return [METRICS.parts[name]().score(rows, seed=seed) for name in names]


def by_name(scores: list[Score]) -> dict[str, Score]:
    return {score.name: score for score in scores}


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 5, 6])
def test_bleu_and_chrf_are_those_of_sacrebleu(lowercase: bool, rows: int) -> None:
    outputs, references = OUTPUTS[:rows], REFERENCES[:rows]
    scores = by_name(text_scores(outputs, references, lowercase=lowercase))
    bleu = sacrebleu.BLEU(lowercase=lowercase)
    chrf = sacrebleu.CHRF(lowercase=lowercase)
    for name, metric in (("BLEU", bleu), ("chrF", chrf)):
        expected = metric.corpus_score(outputs, [references]).score
        assert scores[name].value == pytest.approx(expected, abs=1e-9)
        assert scores[name].signature == str(metric.get_signature())


@pytest.mark.parametrize(("lowercase", "hits"), [(False, 1), (True, 2)])
def test_exact_match_counts_equal_texts(lowercase: bool, hits: int) -> None:
    score = by_name(text_scores(OUTPUTS, REFERENCES, lowercase=lowercase))["exact match"]
    assert score.value == pytest.approx(100 * hits / len(REFERENCES))
    assert score.signature == f"case:{'lc' if lowercase else 'mixed'}|rows:{len(REFERENCES)}"


def test_perfect_outputs_score_100_without_doubt() -> None:
    sentences = REFERENCES[:4]
    for score in text_scores(sentences, sentences):
        assert (score.value, score.interval.low, score.interval.high) == pytest.approx(
            (100, 100, 100)
        )


def test_nothing_in_common_scores_0() -> None:
    for score in text_scores(["aaa bbb", "ccc"], ["xxx yyy", "zzz"]):
        assert (score.value, score.interval.low, score.interval.high) == (0, 0, 0)


def test_the_interval_holds_the_value_and_narrows_with_the_square_root_of_the_rows() -> None:
    few = by_name(text_scores(OUTPUTS * 5, REFERENCES * 5))
    many = by_name(text_scores(OUTPUTS * 80, REFERENCES * 80))
    for name, score in few.items():
        assert score.interval.low < score.value < score.interval.high
        assert many[name].interval.low < many[name].value < many[name].interval.high
        ratio = (score.interval.high - score.interval.low) / (
            many[name].interval.high - many[name].interval.low
        )
        assert 3 < ratio < 5.5, f"{name}: 16 times the rows should give a quarter of the width"


def test_the_interval_is_that_of_sacrebleu_up_to_the_draws() -> None:
    """sacrebleu's bootstrap draws other numbers, so its half width agrees only roughly."""
    outputs, references = OUTPUTS * 30, REFERENCES * 30
    score = by_name(text_scores(outputs, references))["BLEU"]
    theirs = sacrebleu.BLEU().corpus_score(outputs, [references], n_bootstrap=1000)
    assert (score.interval.high - score.interval.low) / 2 == pytest.approx(theirs._ci, rel=0.15)


def test_the_seed_decides_the_interval_and_nothing_else() -> None:
    first, again, other = (text_scores(OUTPUTS, REFERENCES, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert [score.value for score in first] == [score.value for score in other]


def test_without_intervals_the_values_are_the_same() -> None:
    with_intervals = text_scores(OUTPUTS, REFERENCES)
    without = text_scores(OUTPUTS, REFERENCES, seed=None)
    assert [score.value for score in without] == [score.value for score in with_intervals]
    assert all(score.interval == NO_INTERVAL and not score.range for score in without)


def test_outputs_and_references_must_pair_up() -> None:
    with pytest.raises(DataError, match="columns of 2 and 3 rows cannot be compared"):
        text_scores(["a", "b"], ["a", "b", "c"])
    with pytest.raises(DataError, match="no rows to score"):
        text_scores([], [])


def test_a_score_reads_as_value_and_interval() -> None:
    assert str(Score("BLEU", 38.06, Interval(36.94, 39.41), "nrefs:1")) == "BLEU 38.1 (36.9–39.4)"
    assert (
        str(Score("perplexity", 5.3151, Interval(5.1, 5.6), "", digits=2))
        == "perplexity 5.32 (5.10–5.60)"
    )
    assert str(Score("accuracy", 80.0, NO_INTERVAL, "rows:5")) == "accuracy 80.0"


def names(references: list[str]) -> list[str]:
    return [each.name for each in metrics_for(Predictions("text", references, references))]


def test_bleu_is_for_four_words_on_average() -> None:
    """Three words and five are four on average; without the longer row there is no BLEU."""
    both = ["one two three", "one two three four five"]
    assert names(both) == ["chrF", "BLEU", "exact match", "WER", "CER"]
    assert names(both[:1]) == ["exact match", "chrF", "WER", "CER"]


@pytest.mark.parametrize(
    "references",
    [
        ["ɑ ɹ d w ʊ l f", "a b u t i s m ɑ̃", "ɒ p s o l uː t"],
        ["HH AH0 L OW1", "W ER1 L D", "CH EH1 K"],
        ["t͡ʃʰ aː ˈn ə"],
    ],
)
def test_a_rate_over_phonemes_is_never_called_wer(references: list[str]) -> None:
    assert names(references) == ["exact match", "words wrong", "symbols wrong"]


@pytest.mark.parametrize(
    "references",
    [
        ["gelopen", "liep"],
        ["I am", "we go", "he is at sea"],
        ["我 喜欢 你", "他 在 家"],
        ["12 March 2024"],
        ["a"],
    ],
)
def test_words_are_not_taken_for_symbols(references: list[str]) -> None:
    assert "WER" in names(references)


def test_symbols_longer_than_a_word_are_no_pronunciation() -> None:
    assert names([" ".join("abcdefgh" * 5)]) == ["exact match", "symbols wrong"]


def test_words_and_symbols_wrong_by_hand() -> None:
    """One of two words is wrong, by three of nine symbols; spaces at the ends do not count."""
    found = by_name(target_scores("text", ["k æ t ", "d o ɡ z"], ["k æ t", "d ɔ ɡ z s k"]))
    assert found["words wrong"].value == pytest.approx(50)
    assert found["symbols wrong"].value == pytest.approx(100 * 3 / 9)
    assert found["words wrong"].objective == -50


def test_lower_case_is_compared_where_it_is_asked_for() -> None:
    found = target_scores("text", ["Yes we can do"], ["yes We can do"], lowercase=True)
    assert {each.name: each.value for each in found} == pytest.approx(
        {"chrF": 100, "BLEU": 100, "exact match": 100, "WER": 0, "CER": 0}
    )
