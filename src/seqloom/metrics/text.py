"""Metrics of texts: BLEU and chrF by sacrebleu, exact match, edit rates.

The references determine which metrics apply and which one is the main one (Predictions has the
rules):

- sentences, of four words or more on average: chrF leads, then BLEU, exact match, WER and CER;
- shorter texts, such as names, dates and inflected forms: exact match leads, then chrF, WER and
  CER; BLEU counts stretches of four words and would be 0;
- symbols set apart by spaces, as in pronunciations: exact match leads, then "words wrong" and
  "symbols wrong". A rate over phonemes is never called WER, which for pronunciations means the
  share of words that have any mistake.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.metric import METRICS, Counts, Direction, Metric, SumMetric
from seqloom.metrics.predictions import Predictions

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as CorpusMetric

__all__ = [
    "Bleu",
    "CharacterErrorRate",
    "ChrF",
    "ExactMatch",
    "SymbolErrorRate",
    "WordErrorRate",
    "WordsWrong",
    "edit_distance",
]


class _SacreBleu(Metric[Predictions]):
    """sacrebleu's counts and formula, with our own resampling.

    sacrebleu's own interval takes its seed from the environment, gives no bounds, and holds all
    resamples in memory at once; the counts of a row are not part of its public interface.
    """

    targets = ("text",)

    def metric(self, *, lowercase: bool) -> "CorpusMetric":
        """The sacrebleu metric."""
        raise NotImplementedError

    def signature(self, data: Predictions) -> str:
        """sacrebleu's signature, which is complete once something was measured."""
        metric = self.metric(lowercase=data.lowercase)
        metric._extract_corpus_statistics(data.outputs[:1], [data.references[:1]])
        return str(metric.get_signature())

    def measure(self, data: Predictions) -> Callable[[Counts], float]:
        """The value as a function of n-gram counts, summed over rows."""
        metric = self.metric(lowercase=data.lowercase)
        counts = metric._extract_corpus_statistics(data.outputs, [data.references])
        statistics = np.array(counts, np.int64)

        def value(rows: Counts) -> float:
            return float(metric._compute_score_from_stats((rows @ statistics).tolist()).score)

        return value


@METRICS.part("chrF")
class ChrF(_SacreBleu):
    """chrF: F-score of character n-grams (Popović 2015, "chrF: character n-gram F-score for
    automatic MT evaluation").
    """

    name = "chrF"
    order = 10

    def fits(self, data: Predictions) -> bool:
        """Whether the outputs are texts other than symbols."""
        return not data.are_symbols

    def leads(self, data: Predictions) -> bool:
        """True for sentences, where chrF follows human judgement better than BLEU on few rows."""
        return data.are_sentences

    def metric(self, *, lowercase: bool) -> "CorpusMetric":
        """chrF of sacrebleu."""
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(lowercase=lowercase)


@METRICS.part("BLEU")
class Bleu(_SacreBleu):
    """Precision of word n-grams up to four, with a brevity penalty (Papineni et al. 2002, "BLEU: a
    Method for Automatic Evaluation of Machine Translation")."""

    name = "BLEU"
    order = 11

    def fits(self, data: Predictions) -> bool:
        """References of four words or more on average."""
        return data.are_sentences

    def metric(self, *, lowercase: bool) -> "CorpusMetric":
        """sacrebleu's BLEU, without its warning about tokenized text."""
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(lowercase=lowercase, force=True)


@METRICS.part("exact match")
class ExactMatch(SumMetric[Predictions]):
    """Percentage of outputs that equal their references."""

    name = "exact match"
    targets = ("text",)
    order = 12

    def leads(self, data: Predictions) -> bool:
        """True for texts that are short enough to match exactly."""
        return not data.are_sentences

    def signature(self, data: Predictions) -> str:
        """Whether case was ignored, and the number of rows."""
        return f"{data.case}|rows:{len(data)}"

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """1 for each row that is correct, else 0."""
        return np.array([(output == reference, 1) for output, reference in data.pairs], np.float64)

    def combine(self, sums: NDArray[np.float64]) -> float:
        """The share of correct rows."""
        return 100 * float(sums[0] / sums[1])


def edit_distance(output: Sequence[str], reference: Sequence[str]) -> int:
    """Levenshtein distance: the fewest insertions, deletions and substitutions."""
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(output, reference))


class _EditRate(SumMetric[Predictions]):
    """Edits of all rows in per cent of the references' items; may exceed 100."""

    direction = Direction.LOWER
    targets = ("text",)

    def fits(self, data: Predictions) -> bool:
        """Whether the outputs are texts of words."""
        return not data.are_symbols

    def signature(self, data: Predictions) -> str:
        """Whether case was ignored, and the number of rows."""
        return f"{data.case}|rows:{len(data)}"

    def items(self, data: Predictions) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        """The outputs and references of each row as sequences of items."""
        return data.words

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Edits and reference items of each row."""
        rows = [(edit_distance(*pair), len(pair[1])) for pair in self.items(data)]
        return np.array(rows, np.float64)

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Edits per item; infinite if all references are empty and there are edits."""
        edits, items = map(float, sums)
        if not items:
            return float("inf") if edits else 0.0
        return 100 * edits / items


@METRICS.part("WER")
class WordErrorRate(_EditRate):
    """Word error rate: edits of words."""

    name = "WER"
    order = 20


@METRICS.part("CER")
class CharacterErrorRate(_EditRate):
    """Character error rate: edits of characters; a run of white space counts as one."""

    name = "CER"
    order = 21

    def items(self, data: Predictions) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        """The characters of each row."""
        return [(" ".join(output), " ".join(reference)) for output, reference in data.words]


@METRICS.part("words wrong")
class WordsWrong(_EditRate):
    """Percentage of pronunciations with any error: the sequence error rate, which the literature on
    grapheme-to-phoneme conversion calls WER.
    """

    name = "words wrong"
    order = 22

    def fits(self, data: Predictions) -> bool:
        """Pronunciations."""
        return data.are_pronunciations

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """1 for each row whose symbols differ, else 0."""
        return np.array([(output != ref, 1) for output, ref in self.items(data)], np.float64)


@METRICS.part("symbols wrong")
class SymbolErrorRate(_EditRate):
    """Edits of symbols, such as phonemes: the token error rate."""

    name = "symbols wrong"
    order = 23

    def fits(self, data: Predictions) -> bool:
        """Whether references are symbols separated by spaces."""
        return data.are_symbols
