"""N-gram language model: the baseline of a language model (S8).

Interpolated Kneser-Ney: the counts of an n-gram are discounted, and the freed mass goes to shorter
n-grams, which count the distinct contexts of a token.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["NGrams", "last_tokens"]

Ids = NDArray[np.int64]
Values = NDArray[np.float64]
UNSEEN = -1  # index of an unknown context
MAX_TOKENS = 20_000_000  # tokens counted at most, so that counting takes no more than two gigabytes


def last_tokens(tokens: NDArray[np.integer]) -> tuple[NDArray[np.integer], str]:
    """The tokens to count, at the end of a text, and a suffix for the baseline's name if the text
    is longer.
    """
    if len(tokens) <= MAX_TOKENS:
        return tokens, ""
    return tokens[-MAX_TOKENS:], f" of the last {MAX_TOKENS:,} tokens"


@dataclass(frozen=True)
class _Order:
    """The n-grams of one order: a context of n - 1 tokens, and the next token."""

    keys: Ids  # context × vocabulary + token, sorted; an n-gram's index is its position
    counts: Values
    totals: Values  # total count of each context
    kinds: Values  # how many different ones
    discount: float

    @classmethod
    def of(cls, keys: Ids, counts: Values, contexts: int, vocabulary: int) -> Self:
        """Build from n-grams and their counts."""
        context = keys // vocabulary
        once, twice = ((counts == number).sum() for number in (1, 2))
        discount = float(once / (once + 2 * twice)) if once and twice else 0.5
        totals, kinds = (
            np.bincount(context, each, minlength=contexts).astype(np.float64)
            for each in (counts, counts > 0)
        )
        return cls(keys, counts, totals, kinds, discount)

    def find(self, contexts: Ids, tokens: Ids, vocabulary: int) -> Ids:
        """The indices of these n-grams."""
        keys = np.where(contexts == UNSEEN, UNSEEN, contexts * vocabulary + tokens)
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.where(self.keys[places] == keys, places, UNSEEN)

    def probabilities(self, contexts: Ids, found: Ids, shorter: Values) -> Values:
        """The probabilities of tokens given contexts, interpolated with those of shorter
        contexts.
        """
        seen = contexts != UNSEEN
        totals = np.where(seen, self.totals[contexts], 0.0)
        known = totals > 0
        totals = np.where(known, totals, 1.0)
        counts = np.where(found == UNSEEN, 0.0, self.counts[found])
        own = np.maximum(counts - self.discount, 0.0) / totals
        left = self.discount * self.kinds[contexts] / totals
        return np.where(known, own + left * shorter, shorter)


class NGrams:
    """An n-gram language model, interpolated up to an order."""

    def __init__(self, orders: list[_Order], vocabulary: int) -> None:
        """Use `learn`."""
        self._orders = orders
        self._vocabulary = vocabulary

    @classmethod
    def learn(cls, tokens: NDArray[np.integer], *, order: int, vocabulary: int) -> Self:
        """Count the n-grams of up to `order` tokens in a text over a vocabulary of this size."""
        text = np.asarray(tokens, np.int64)
        contexts = np.zeros(len(text), np.int64)  # index of the context of each token
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
        """The log-probability of each token of a text given the preceding ones."""
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
    """Distinct keys in order, the index of each given key, and their counts."""
    found, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return found, numbers, counts.astype(np.float64)
