"""Written outputs against written references: BLEU and chrF by sacrebleu, and exact match."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.match import accuracy
from seqloom.metrics.score import Score, check_rows, score_rows

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

__all__ = ["text_scores"]


def text_scores(
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    seed: int | None = 1,
) -> list[Score]:
    """BLEU, chrF and exact match in per cent, all on the same resamples (S8).

    Without a seed nothing is drawn, and there are no intervals.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    check_rows(outputs, references)
    # Forced: whether marks stand apart is the data's own affair, and the same on both sides.
    bleu, chrf = BLEU(lowercase=lowercase, force=True), CHRF(lowercase=lowercase)
    return [
        _corpus_score("BLEU", bleu, (outputs, references), seed=seed),
        _corpus_score("chrF", chrf, (outputs, references), seed=seed),
        _exact_match(outputs, references, lowercase=lowercase, seed=seed),
    ]


def _corpus_score(
    name: str, metric: "Metric", columns: tuple[Sequence[str], Sequence[str]], *, seed: int | None
) -> Score:
    """The metric with sacrebleu's own counts and formula, and only the resampling ours.

    sacrebleu's own interval takes its seed from the environment, gives no ends, and holds all
    resamples in memory at once; the counts of a row are not part of its public face.
    """
    outputs, references = columns
    counts = metric._extract_corpus_statistics(outputs, [references])

    def measure(sums: NDArray[np.float64]) -> float:
        return float(metric._compute_score_from_stats(sums.astype(np.int64).tolist()).score)

    value, low, high = score_rows(np.array(counts, np.float64), measure, seed=seed)
    return Score(name, value, low, high, signature=str(metric.get_signature()))


def _exact_match(
    outputs: Sequence[str], references: Sequence[str], *, lowercase: bool, seed: int | None
) -> Score:
    if lowercase:
        outputs, references = [o.lower() for o in outputs], [r.lower() for r in references]
    score = accuracy(outputs, references, seed=seed)
    case = "lc" if lowercase else "mixed"
    return replace(score, name="exact match", signature=f"case:{case}|{score.signature}")
