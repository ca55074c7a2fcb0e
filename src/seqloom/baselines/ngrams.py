"""What came after the last few tokens, counted: the baseline of a language model (S8).

Interpolated Kneser-Ney: the counts of an n-gram lose a discount, and what is lost goes to the
n-grams one shorter, which count in how many contexts a token came rather than how often.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["NGrams", "last_tokens"]

Ids = NDArray[np.int64]
Values = NDArray[np.float64]
UNSEEN = -1  # in place of the number of a context that was never seen
MAX_TOKENS = 20_000_000  # tokens at most, so that counting takes no more than two gigabytes


def last_tokens(tokens: NDArray[np.integer]) -> tuple[NDArray[np.integer], str]:
    """The tokens of a text that are counted, and what to add to the name of the baseline where
    these are not all of them."""
    if len(tokens) <= MAX_TOKENS:
        return tokens, ""
    return tokens[-MAX_TOKENS:], f" of the last {MAX_TOKENS:,} tokens"


@dataclass(frozen=True)
class _Order:
    """The n-grams of one length: a context of n - 1 tokens, and the token after it."""

    keys: Ids  # context × vocabulary + token, sorted; an n-gram's number is its place here
    counts: Values
    totals: Values  # of all n-grams with a context, by the context's number
    kinds: Values  # how many different ones
    discount: float

    @classmethod
    def of(cls, keys: Ids, counts: Values, contexts: int, vocabulary: int) -> Self:
        """From n-grams and what each counts."""
        context = keys // vocabulary
        once, twice = ((counts == number).sum() for number in (1, 2))
        discount = float(once / (once + 2 * twice)) if once and twice else 0.5
        totals, kinds = (
            np.bincount(context, each, minlength=contexts).astype(np.float64)
            for each in (counts, counts > 0)
        )
        return cls(keys, counts, totals, kinds, discount)

    def find(self, contexts: Ids, tokens: Ids, vocabulary: int) -> Ids:
        """The numbers of these n-grams."""
        keys = np.where(contexts == UNSEEN, UNSEEN, contexts * vocabulary + tokens)
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.where(self.keys[places] == keys, places, UNSEEN)

    def probabilities(self, contexts: Ids, found: Ids, shorter: Values) -> Values:
        """Of tokens after contexts, given what shorter contexts say."""
        seen = contexts != UNSEEN
        totals = np.where(seen, self.totals[contexts], 0.0)
        known = totals > 0
        totals = np.where(known, totals, 1.0)
        counts = np.where(found == UNSEEN, 0.0, self.counts[found])
        own = np.maximum(counts - self.discount, 0.0) / totals
        left = self.discount * self.kinds[contexts] / totals
        return np.where(known, own + left * shorter, shorter)


class NGrams:
    """The n-grams of a text up to a length."""

    def __init__(self, orders: list[_Order], vocabulary: int) -> None:
        """Use `learn`."""
        self._orders = orders
        self._vocabulary = vocabulary

    @classmethod
    def learn(cls, tokens: NDArray[np.integer], *, order: int, vocabulary: int) -> Self:
        """Count the n-grams of up to `order` tokens in a text over so many symbols."""
        text = np.asarray(tokens, np.int64)
        contexts = np.zeros(len(text), np.int64)  # the number of what stands before each token
        size, orders = 1, []
        keys, numbers, counts = _count_keys(contexts * vocabulary + text)
        for length in range(1, min(order, len(text))):
            longer = numbers[:-1] * vocabulary + text[length:]
            first = np.unique(longer, return_index=True)[1]
            ends = np.bincount(numbers[first + 1], minlength=len(keys))  # of how many it is the end
            orders.append(_Order.of(keys, ends.astype(np.float64), size, vocabulary))
            size = len(keys)
            keys, numbers, counts = _count_keys(longer)
        orders.append(_Order.of(keys, counts, size, vocabulary))
        return cls(orders, vocabulary)

    def log_probabilities(self, tokens: NDArray[np.integer]) -> Values:
        """Of each token of a text after those before it."""
        text = np.asarray(tokens, np.int64)
        found = np.full(len(text), 1.0 / self._vocabulary)
        contexts = np.zeros(len(text), np.int64)
        for order in self._orders:
            grams = order.find(contexts, text, self._vocabulary)
            found = order.probabilities(contexts, grams, found)
            contexts = np.concatenate([[UNSEEN], grams[:-1]])
        likely: Values = np.log(found)
        return likely


def _count_keys(keys: Ids) -> tuple[Ids, Ids, Values]:
    """Different keys in order, the number of each given one, and how often each comes."""
    found, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return found, numbers, counts.astype(np.float64)
