"""S7.2: random draws follow the distribution, and nothing but what they are drawn for."""

import math
from collections import Counter
from dataclasses import replace
from itertools import accumulate

import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.fields import END
from seqloom.nn.modules import gumbels, hash_counter, uniforms
from seqloom.search import Greedy, Limits, Sample
from tests.search.stubs import (
    Script,
    even_chances,
    every_output,
    limits,
    logarithms,
    outputs,
    random_script,
    search_all,
)

MASK = 2**64 - 1


def splitmix(state: int) -> int:
    """The published generator, with Python's unbounded integers."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


@pytest.mark.parametrize("seed", [0, 1, 7, 2**63 - 1])
def test_the_hash_is_splitmix_on_every_number(seed: int) -> None:
    counters = [0, 1, 2, 41, 2**40, 2**63 - 1]
    found = hash_counter(seed, torch.tensor(counters))
    expected = [splitmix(seed ^ counter) for counter in counters]
    assert [value & MASK for value in found.tolist()] == expected
    assert uniforms(found).tolist() == [(value >> 11) / 2**53 for value in expected]


def test_neighbouring_counters_are_independent() -> None:
    """Numbers of neighbouring lines, draws and positions are even in every corner of the cube."""
    lines, draws, steps = (torch.arange(20).view(shape) for shape in ((-1, 1, 1), (-1, 1), (-1,)))
    cube = uniforms(hash_counter(hash_counter(hash_counter(3, lines), draws), steps))
    for axis in range(3):
        here = cube.narrow(axis, 0, 19).flatten().tolist()
        there = cube.narrow(axis, 1, 19).flatten().tolist()
        pairs = Counter((int(4 * a), int(4 * b)) for a, b in zip(here, there, strict=True))
        even_chances(pairs, {(a, b): 1 / 16 for a in range(4) for b in range(4)})


def test_gumbel_numbers_have_their_distribution() -> None:
    """P(G ≤ g) = exp(−exp(−g)), in ten bins of equal chance; all are finite."""
    values = gumbels(hash_counter(5, torch.arange(20_000)))
    assert bool(values.isfinite().all())
    bins = (values.neg().exp().neg().exp() * 10).long().tolist()
    even_chances(Counter(bins), dict.fromkeys(range(10), 0.1))
    assert bool(gumbels(torch.tensor([0, -1])).isfinite().all())


def filtered(sample: Sample, script: Script) -> Script:
    """The script with the logits that a sample draws from, as one would write it on a board."""

    def logits(sentence: int, written: tuple[int, ...]) -> list[float]:
        values = [value / sample.temperature for value in script(sentence, written)]
        values[0] = values[2] = -math.inf
        order = sorted(range(len(values)), key=lambda token: -values[token])
        order = order[: sample.top_k or None]
        weights = [math.exp(values[token]) for token in order]
        before = [0.0, *accumulate(weight / sum(weights) for weight in weights)]
        kept = [
            token
            for token, weight, mass in zip(order, weights, before, strict=False)
            if mass < sample.top_p and weight >= sample.min_p * weights[0]
        ]
        return [value if token in kept else -math.inf for token, value in enumerate(values)]

    return logits


SAMPLES = [
    Sample(),
    Sample(temperature=0.6),
    Sample(temperature=1.7),
    Sample(top_k=2),
    Sample(top_p=0.7),
    Sample(min_p=0.3),
    Sample(temperature=1.3, top_k=4, top_p=0.85, min_p=0.1),
]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
@pytest.mark.parametrize("number", range(2))
def test_draws_follow_the_distribution(sample: Sample, number: int) -> None:
    """χ² over whole outputs, each drawn for many lines and several times for each line."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return list(drawn(0, written))

    drawn = random_script(number, size=7, levels=6)
    found = search_all(replace(sample, draws=4, seed=number), script, [3] * 500)
    counts = Counter(
        (*each.tokens, *([END] if each.finished else [])) for draws in found for each in draws
    )
    law = every_output(filtered(sample, script), 0, 3)
    even_chances(counts, {tokens: math.exp(score) for tokens, score in law.items()})


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_scores_are_the_model_s_own(sample: Sample) -> None:
    """S7.4: whatever is left out of the draw, an output's probability is the model's."""
    script = random_script(4, size=7, levels=6)
    law = every_output(script, 0, 4)
    for each in search_all(replace(sample, draws=9), script, [4])[0]:
        tokens = (*each.tokens, *([END] if each.finished else []))
        assert each.score == pytest.approx(law[tokens])
        assert each.rank_score == pytest.approx(each.score)


@pytest.mark.parametrize("number", range(10))
def test_one_token_to_draw_from_is_greedy(number: int) -> None:
    script = random_script(number, size=8, levels=60)
    greedy = outputs(search_all(Greedy(), script, [5, 3]))
    assert outputs(search_all(Sample(top_k=1, seed=number), script, [5, 3])) == greedy
    assert outputs(search_all(Sample(min_p=1.0, seed=number), script, [5, 3])) == greedy


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_line_s_draws_are_its_own(sample: Sample) -> None:
    """RELIABILITY C2: a line has the same draws in any batch, in any order, at any place."""
    script = random_script(8, size=7, levels=9, impossible=0.1)
    sample, longest, lines = replace(sample, draws=3), [4, 6, 1, 5], [70, 3, 12, 0]

    def of(sentences: list[int]) -> list[list[tuple[tuple[int, ...], float, bool]]]:
        allowed = replace(
            limits([longest[n] for n in sentences]),
            lines=torch.tensor([lines[n] for n in sentences]),
        )
        moved = lambda n, written: script(sentences[n], written)  # noqa: E731
        return outputs(search_all(sample, moved, allowed))

    together = of([0, 1, 2, 3])
    assert of([2, 0, 3, 1]) == [together[n] for n in (2, 0, 3, 1)]
    assert [of([n])[0] for n in range(4)] == together


def test_seeds_lines_and_draws_differ() -> None:
    """Ten even words for ten positions: two equal outputs would be one chance in 10^10."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms(dict.fromkeys(range(4, 14), 0.1), size=14)

    found = [
        each.tokens
        for seed in range(3)
        for draws in search_all(Sample(draws=3, seed=seed), script, [10] * 3)
        for each in draws
    ]
    assert len(set(found)) == 27


def test_fewer_draws_are_the_first_of_more() -> None:
    script = random_script(1, size=7, levels=9)
    few = outputs(search_all(Sample(draws=2), script, [5] * 3))
    many = outputs(search_all(Sample(draws=6), script, [5] * 3))
    for some, others in zip(few, many, strict=True):
        assert Counter(some) <= Counter(others)


def test_the_nucleus_is_found_however_many_tokens_it_has() -> None:
    """Of a thousand even tokens nine tenths are drawn, and the last tenth is not."""
    size = 1_000 + 4
    script = [-math.inf] * 4 + [0.0] * (size - 4)
    found = search_all(Sample(top_p=0.9, draws=50), lambda *_: script, Limits(torch.tensor([40])))
    drawn = {token for each in found[0] for token in each.tokens}
    assert max(drawn) <= 4 + 900
    assert len(drawn) > 700


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.0},
        {"temperature": math.nan},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"min_p": 2.0},
        {"draws": 0},
    ],
)
def test_what_cannot_be_drawn_from_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Sample(**options)  # type: ignore[arg-type]
