"""Unknown words of an output are copied from words of the source that were read."""

import numpy as np
import pytest

from seqloom.fields import END, UNK
from seqloom.prediction.copying import copy_unknown
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.output import Output, Token

WORDS = ["eins", "zwei", "drei", "vier"]
OUTPUT = Output(
    "<unk>", -1.0, -1.0, (Token("<unk>", -0.5), Token("<end>", -0.5)), "end", ids=(UNK, END)
)


@pytest.mark.parametrize(
    ("ids", "copied"),
    [
        ([5, 6, 7, 8, END], "drei"),  # the word with the most attention
        ([UNK, 6, 7, 8, END], "eins"),  # those that are unknown come first
        ([5, 6, END], "zwei"),  # truncated: what has the most attention is the end of the row
    ],
)
def test_the_word_that_is_copied(ids: list[int], copied: str) -> None:
    attention = np.array([[0.1, 0.2, 0.5, 0.1, 0.1], [0.0, 0.0, 0.0, 0.0, 1.0]])
    source = EncodedInput(0, np.array(ids))
    found = copy_unknown(OUTPUT, source, WORDS, attention[:, : len(ids)])
    assert found.text == found.tokens[0].text == copied
    assert [token.copied for token in found.tokens] == [True, False]
