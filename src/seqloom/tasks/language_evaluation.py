"""How well a language model foretells texts, and how well counted n-grams do (S8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seqloom.baselines.ngrams import NGrams, last_tokens
from seqloom.config import TextConfig
from seqloom.data import Corpus
from seqloom.metrics import Score, bits_per_character, nats_per_character, perplexity
from seqloom.prediction import TextPredictor

__all__ = ["characters", "language_scores", "ngram_scores"]

ORDERS = {"character": 7, "byte": 7}  # tokens in the longest n-grams; 5 of other units


@dataclass(frozen=True)
class _Lines:
    """What each line of a text costs, its tokens and its characters."""

    log_probabilities: NDArray[np.float64]
    tokens: NDArray[np.int64]
    characters: NDArray[np.int64]

    def scores(self) -> list[Score]:
        """Perplexity, and what a character costs."""
        return [
            perplexity(self.log_probabilities, self.tokens),
            bits_per_character(self.log_probabilities, self.characters),
            nats_per_character(self.log_probabilities, self.characters),
        ]


def language_scores(model: TextPredictor, texts: Sequence[str]) -> list[Score]:
    """Perplexity per token, bits and nats per character; the end of a line is a character."""
    pairs = [("", text) for text in texts]
    scored = model.score_text(texts) if model.is_stream else model.score(pairs)
    found = np.array([each.log_probability for each in scored])
    tokens = np.array([len(each.tokens) for each in scored])
    return _Lines(found, tokens, characters(model, texts)).scores()


def ngram_scores(model: TextPredictor, texts: Sequence[str], place: Path) -> dict[str, Score]:
    """The same of n-grams counted in what the model has learnt from, which lies at a place.

    RunError where it is gone.
    """
    target, size = model.target, model.target.size
    config: TextConfig = target.config
    order = ORDERS.get(config.unit, 5)
    learnt, part = last_tokens(Corpus.open(place).targets)
    known = NGrams.learn(learnt, order=order, vocabulary=size)
    rows = target.rows(texts)
    if model.is_stream:
        rows = [row[: len(row) - target.closing] for row in rows]
    tokens = np.array([len(row) for row in rows])
    values = known.log_probabilities(np.concatenate(rows))
    sums = np.add.reduceat(values, np.cumsum(tokens) - tokens)
    scores = _Lines(sums, tokens, characters(model, texts)).scores()
    name = f"{order}-grams{part}"
    return {name: scores[0], f"{name} by character": scores[1]}


def characters(model: TextPredictor, texts: Sequence[str]) -> NDArray[np.int64]:
    """Of each text, with the end of each line, which is in the lines of a stream already."""
    return np.array([len(text) + (not model.is_stream) for text in texts])
