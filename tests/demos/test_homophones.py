"""S10, why greedy fails: the model in which "nose" sounds likelier and "knows" is right."""

import math
from itertools import product

import pytest
import torch

from seqloom.demos.homophones import HOMOPHONES, TableDecoder, find, show_search
from seqloom.fields import EMPTY, END, START, UNK
from seqloom.model import Decoder, Memory
from seqloom.search import PLAIN, Beam, Exact, Greedy

torch.set_num_threads(1)


def test_greedy_finds_the_nose_and_a_beam_of_two_knows() -> None:
    """Greedy .5 × .2 = .10, a beam of 2 .4 × .8 = .32, and nothing is likelier than that."""
    words, greedy = find(Greedy())
    assert (words, round(math.exp(greedy.score), 12)) == (("he", "nose", "it"), 0.10)
    for search in (Beam(2, PLAIN), Beam(3, PLAIN), Exact(), Exact(width=1)):
        words, best = find(search)
        assert (words, round(math.exp(best.score), 12)) == (("he", "knows", "her"), 0.32)
        assert [round(math.exp(each), 12) for each in best.token_scores] == [1.0, 0.4, 0.8, 1.0]
        assert not best.limited


def test_the_numbers_are_those_of_the_text() -> None:
    """After "he", nose .5 and knows .4; their best continuations .2 and .8; rows sum to 1."""
    assert HOMOPHONES["he",]["nose"] == 0.5
    assert HOMOPHONES["he",]["knows"] == 0.4
    assert max(HOMOPHONES["he", "nose"].values()) == 0.2
    assert max(HOMOPHONES["he", "knows"].values()) == 0.8
    assert [sum(row.values()) for row in HOMOPHONES.values()] == pytest.approx(
        [1.0] * len(HOMOPHONES)
    )


def test_a_table_is_a_decoder() -> None:
    """It obeys the protocol: one read of T is T reads of one, and rows can be selected."""
    decoder = TableDecoder(HOMOPHONES)
    assert isinstance(decoder, Decoder)
    number = {word: place for place, word in enumerate(decoder.words)}
    paths = list(product(("he", "nose"), ("nose", "knows"), ("her", "it")))
    inputs = torch.tensor([[START, *(number[word] for word in path)] for path in paths])
    whole, _ = decoder.read(inputs, decoder.start(Memory(len(paths))))
    state = decoder.start(Memory(1)).select(torch.zeros(len(paths), dtype=torch.int64))
    for step, tokens in enumerate(inputs.unbind(dim=1)):
        features, state = decoder.read(tokens[:, None], state)
        probabilities = decoder.write(features.hidden[:, -1]).exp()
        assert torch.equal(decoder.write(whole.hidden[:, step]).exp(), probabilities)
        for path, row in zip(paths, probabilities.tolist(), strict=True):
            expected = HOMOPHONES.get(path[:step], {"<end>": 1.0})
            assert row == pytest.approx([expected.get(word, 0.0) for word in decoder.words])


def test_the_special_symbols_keep_their_numbers() -> None:
    words = TableDecoder(HOMOPHONES).words
    assert [words[token] for token in (EMPTY, UNK, START, END)] == [
        "<empty>",
        "<unk>",
        "<start>",
        "<end>",
    ]


def test_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The tree names who found which path; the table has the three searches."""
    show_search()
    lines = capsys.readouterr().out.splitlines()
    (greedy,) = [line for line in lines if "← greedy" in line]
    (best,) = [line for line in lines if "← beam of 2, exact" in line]
    assert "it 0.20  = 0.100" in greedy
    assert "her 0.80  = 0.320" in best
    assert any("exact" in line and "0.32 (proved)" in line for line in lines)
