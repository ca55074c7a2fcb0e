"""Written outputs against written references: BLEU and chrF by sacrebleu, exact match, edit rates.

Which of them lead, and which fit at all, follows from the references (Predictions has the rules):

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
    """sacrebleu's own counts and formula; only the resampling is ours.

    sacrebleu's own interval takes its seed from the environment, gives no ends, and holds all
    resamples in memory at once; the counts of a row are not part of its public interface.
    """

    targets = ("text",)

    def metric(self, *, lowercase: bool) -> "CorpusMetric":
        """The metric of sacrebleu."""
        raise NotImplementedError

    def signature(self, data: Predictions) -> str:
        """sacrebleu's, which is complete once something was measured."""
        metric = self.metric(lowercase=data.lowercase)
        metric._extract_corpus_statistics(data.outputs[:1], [data.references[:1]])
        return str(metric.get_signature())

    def measure(self, data: Predictions) -> Callable[[Counts], float]:
        """From counts of n-grams, summed over rows."""
        metric = self.metric(lowercase=data.lowercase)
        counts = metric._extract_corpus_statistics(data.outputs, [data.references])
        statistics = np.array(counts, np.int64)

        def value(rows: Counts) -> float:
            return float(metric._compute_score_from_stats((rows @ statistics).tolist()).score)

        return value


@METRICS.part("chrF")
class ChrF(_SacreBleu):
    """F-score of character n-grams (Popović 2015, "chrF: character n-gram F-score for automatic MT
    evaluation")."""

    name = "chrF"
    order = 10

    def fits(self, data: Predictions) -> bool:
        """Texts whose characters count."""
        return not data.are_symbols

    def leads(self, data: Predictions) -> bool:
        """Sentences, where it follows human judgement better than BLEU on few rows."""
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
        """BLEU of sacrebleu, which need not warn of marks that stand apart on both sides."""
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(lowercase=lowercase, force=True)


@METRICS.part("exact match")
class ExactMatch(SumMetric[Predictions]):
    """Per cent of outputs that equal their references."""

    name = "exact match"
    targets = ("text",)
    order = 12

    def leads(self, data: Predictions) -> bool:
        """Texts that are short enough to be right as a whole."""
        return not data.are_sentences

    def signature(self, data: Predictions) -> str:
        """How letters were compared, and the number of rows."""
        return f"{data.case}|rows:{len(data)}"

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Whether a row is right."""
        return np.array([(output == reference, 1) for output, reference in data.pairs], np.float64)

    def combine(self, sums: NDArray[np.float64]) -> float:
        """The share of rows."""
        return 100 * float(sums[0] / sums[1])


def edit_distance(output: Sequence[str], reference: Sequence[str]) -> int:
    """The fewest items to insert, leave out or replace in one to get the other."""
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(output, reference))


class _EditRate(SumMetric[Predictions]):
    """The edits of all rows in per cent of the items of all references, which may be above 100."""

    direction = Direction.LOWER
    targets = ("text",)

    def fits(self, data: Predictions) -> bool:
        """Texts of words."""
        return not data.are_symbols

    def signature(self, data: Predictions) -> str:
        """How letters were compared, and the number of rows."""
        return f"{data.case}|rows:{len(data)}"

    def items(self, data: Predictions) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        """What is edited in each row: outputs and references as sequences."""
        return data.words

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Edits, and items of the reference."""
        rows = [(edit_distance(*pair), len(pair[1])) for pair in self.items(data)]
        return np.array(rows, np.float64)

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Edits per item; where references are empty, any edit is infinitely many."""
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
    """Character error rate: edits of characters, runs of white space as one."""

    name = "CER"
    order = 21

    def items(self, data: Predictions) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        """Characters."""
        return [(" ".join(output), " ".join(reference)) for output, reference in data.words]


@METRICS.part("words wrong")
class WordsWrong(_EditRate):
    """Per cent of pronunciations with any mistake: the sequence error rate, which the literature
    on grapheme-to-phoneme conversion calls WER."""

    name = "words wrong"
    order = 22

    def fits(self, data: Predictions) -> bool:
        """Pronunciations."""
        return data.are_pronunciations

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Whether the symbols of a row differ in any way."""
        return np.array([(output != ref, 1) for output, ref in self.items(data)], np.float64)


@METRICS.part("symbols wrong")
class SymbolErrorRate(_EditRate):
    """Edits of symbols, such as phonemes: the token error rate."""

    name = "symbols wrong"
    order = 23

    def fits(self, data: Predictions) -> bool:
        """Symbols set apart by spaces."""
        return data.are_symbols
