"""S7.5: minimum Bayes risk among draws."""

import random

import pytest
import torch
from sacrebleu.metrics.chrf import CHRF

from seqloom.errors import ConfigError
from seqloom.fields import END
from seqloom.search import MinimumRisk, Sample, pairwise_chrf
from tests.search.stubs import logarithms, outputs, random_script, search_all

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "then", "that", "rat", "ran", "at", "it"]


@pytest.mark.parametrize("number", range(5))
def test_likeness_of_characters_is_chrf(number: int) -> None:
    """Each pair against sacrebleu; outputs shorter than six symbols and empty ones among them."""
    draw = random.Random(number)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 8))) for _ in range(7)] + [
        "a",
        "ab",
        "",
    ]
    found = pairwise_chrf(["".join(text.split()) for text in texts])
    metric = CHRF()
    for row, output in enumerate(texts):
        for column, reference in enumerate(texts):
            expected = metric.sentence_score(output, [reference]).score / 100
            assert float(found[row, column]) == pytest.approx(1.0 if row == column else expected)


def test_the_output_most_like_the_others_wins() -> None:
    """One likely output stands apart; three that share most of their words are each less likely.

    By likelihood the first has .4, the others .2 each. By risk one of the three is best, since what
    it says is said in .6 of all draws.
    """
    table: dict[tuple[int, ...], dict[int, float]] = {
        (): {4: 0.4, 5: 0.6},
        (5,): {6: 1.0},
        (5, 6): {7: 1.0},
        (5, 6, 7): {8: 1.0},
        (5, 6, 7, 8): {9: 1 / 3, 10: 1 / 3, 11: 1 / 3},
    }

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms(table.get(written, {END: 1.0}), size=12)

    (found,) = search_all(MinimumRisk(Sample(draws=200), n_best=4), script, [7])
    assert [each.tokens[:4] for each in found] == [(5, 6, 7, 8)] * 3 + [(4,)]
    assert [each.rank_score for each in found] == sorted(
        (each.rank_score for each in found), reverse=True
    )


@pytest.mark.parametrize("number", range(5))
def test_the_mean_is_over_all_other_draws(number: int) -> None:
    """By hand: each draw's mean likeness to the other draws, its own copies among them."""
    script, sample = random_script(number, size=8, levels=3), Sample(draws=12, seed=number)
    draws = search_all(sample, script, [5])[0]
    table = pairwise_chrf([draw.tokens for draw in draws])
    same = torch.tensor([[a.tokens == b.tokens for b in draws] for a in draws])
    table = table.masked_fill(same, 1.0)
    by_hand = {draw.tokens: float(table[row].sum() - 1) / 11 for row, draw in enumerate(draws)}
    (found,) = search_all(MinimumRisk(sample, n_best=12), script, [5])
    assert len(found) == len(by_hand)
    for each in found:
        assert each.rank_score == pytest.approx(by_hand[each.tokens])
    assert found[0].rank_score == pytest.approx(max(by_hand.values()))


def test_a_utility_of_one_s_own() -> None:
    """Where only the shortest is of use, it is chosen."""
    script = random_script(2, size=7, levels=4)

    def brief(tokens: object) -> torch.Tensor:
        lengths = torch.tensor([len(each) for each in tokens])  # type: ignore[attr-defined]
        return -lengths[:, None].expand(-1, len(lengths)).double()

    (found,) = search_all(MinimumRisk(Sample(draws=20), utility=brief), script, [6])
    drawn = search_all(Sample(draws=20), script, [6])[0]
    assert len(found[0].tokens) == min(len(each.tokens) for each in drawn)


def test_scores_and_batches_are_those_of_the_draws() -> None:
    script, search = random_script(5, size=7, levels=6), MinimumRisk(Sample(draws=8), n_best=8)
    found = outputs(search_all(search, script, [4, 5]))
    drawn = outputs(search_all(Sample(draws=8), script, [4, 5]))
    assert [set(each) for each in found] == [set(each) for each in drawn]


@pytest.mark.parametrize(("draws", "n_best"), [(1, 1), (4, 5), (4, 0)])
def test_too_few_draws_are_refused(draws: int, n_best: int) -> None:
    with pytest.raises(ConfigError):
        MinimumRisk(Sample(draws=draws), n_best=n_best)
