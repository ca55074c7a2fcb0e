"""S10: worked examples of columns: padding to 9, and a source that is read backwards."""

import numpy as np
import torch

from seqloom.config import validate
from seqloom.fields import EMPTY, END, TextField, learn_field
from seqloom.nn.recurrent import reverse
from seqloom.prediction.batching import pad_batch

SOURCE, TARGET = "deep learning is fun", "l' apprentissage en profondeur est amusant"
CHAPTER = "I am going to read another chapter"


def words(text: str) -> TextField:
    config = validate({"source": {"kind": "text", "unit": "symbol"}}, place="test").source
    field = learn_field(config, [text], seed=1)
    assert isinstance(field, TextField)
    return field


def test_padding_to_nine() -> None:
    """Four words, the end and four `<empty>`; six words, the end and two."""
    for text, empty in ((SOURCE, 4), (TARGET, 2)):
        (row,) = words(text).rows([text])
        padded = pad_batch([row, np.zeros(9, np.int32)]).values[0].tolist()
        assert len(padded) == 9
        assert padded[8 - empty] == END
        assert padded[9 - empty :] == [EMPTY] * empty
        assert EMPTY not in padded[: 9 - empty]


def test_reversal_of_the_source() -> None:
    """The words turn round, and `<end>` stays where it is."""
    field = words(CHAPTER)
    (row,) = field.rows([CHAPTER])
    turned = reverse(torch.from_numpy(row)[None, :, None], torch.tensor([len(row) - 1]))
    said = [*turned[0, :, 0].tolist()]
    assert field.decode(said) == "chapter another read to going am I"
    assert said[-1] == END
