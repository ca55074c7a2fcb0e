"""Vectors of spelt tokens: letters count, padding does not; forgetting is for training alone."""

import torch
from torch.nn import functional

from seqloom.nn.embedding import CharacterCNNVectors, Embedding, WordDropout

ITEMS = torch.tensor([[[5, 2, 4, 5, 3, 0, 0], [6, 2, 4, 3, 0, 0, 0]], [[3, *[0] * 6], [0] * 7]])


def vectors() -> CharacterCNNVectors:
    torch.manual_seed(1)
    return CharacterCNNVectors(Embedding(8, 4), Embedding(7, 3), 5).double()


def test_a_vector_is_the_token_and_the_largest_over_windows_of_three_letters() -> None:
    """By hand: a window is three letters' vectors side by side, and zeros past either end."""
    part = vectors()
    found = part(ITEMS)
    torch.testing.assert_close(found[..., :4], part.own(ITEMS[..., 0]))
    weight, bias = part.reading.parameters()
    for place, letters in (((0, 0), [2, 4, 5, 3]), ((0, 1), [2, 4, 3])):
        rows = functional.pad(part.letters(torch.tensor(letters)), (0, 0, 1, 1))
        windows = [rows[start : start + 3].T for start in range(len(letters))]
        scores = torch.stack([(weight * window).sum((1, 2)) + bias for window in windows])
        torch.testing.assert_close(found[place][4:], scores.relu().amax(0))
    assert not found[1, :, 4:].any()


def test_columns_of_padding_change_nothing() -> None:
    part = vectors()
    wider = functional.pad(ITEMS, (0, 5))
    torch.testing.assert_close(part(wider), part(ITEMS), rtol=0, atol=0)
    torch.testing.assert_close(part(ITEMS[:1, 1:]), part(ITEMS)[:1, 1:], rtol=0, atol=1e-12)


def test_tokens_are_forgotten_in_training_by_their_share_and_letters_stay() -> None:
    part = vectors()
    forgetful = WordDropout(part, 0.3, unknown=1, special=3)
    many = ITEMS[:1, :1].expand(100, 40, 7)
    assert torch.equal(forgetful.eval()(many), part(many))
    torch.manual_seed(1)
    found = forgetful.train()(many)
    unknown = many.clone()
    unknown[..., 0] = 1
    lost = (found == part(unknown)).all(-1)
    assert torch.equal(found[~lost], part(many)[~lost])
    assert abs(lost.double().mean() - 0.3) < 4 * (0.3 * 0.7 / 4_000) ** 0.5
    special = ITEMS[1:].expand(100, 2, 7)
    assert torch.equal(forgetful(special), part(special))


def test_tokens_without_letters_are_forgotten_too() -> None:
    table = Embedding(8, 4)
    forgetful = WordDropout(table, 0.9, unknown=1, special=3)
    tokens = torch.full((50, 20), 7)
    lost = (forgetful.train()(tokens) == table(torch.tensor(1))).all(-1)
    assert 0.8 < lost.double().mean() < 1
