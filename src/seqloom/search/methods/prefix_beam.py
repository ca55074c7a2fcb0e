"""CTC prefix beam search: the best prefixes of labellings after every source step (S1.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from seqloom.config.searches import SEARCHES, PrefixBeamOptions
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY
from seqloom.search.labellings import Labelling, LabellingSearch
from seqloom.search.protocol import check_outputs

__all__ = ["PrefixBeam"]


class _Prefixes(NamedTuple):
    """Prefixes with the log-probabilities of their paths that end in a blank and that do not."""

    labels: list[Labelling]
    blank: Float[np.ndarray, "K"]
    label: Float[np.ndarray, "K"]


@SEARCHES.part("prefix-beam")
@dataclass(frozen=True)
class PrefixBeam(PrefixBeamOptions, LabellingSearch):
    """CTC: the `width` most probable prefixes after every source step, each summed over its paths.

    Paths with the same prefix are summed. A prefix that leaves the beam loses its probability, so
    the labellings found are scored again over all their alignments.

    Graves and Jaitly 2014, Towards End-to-End Speech Recognition with Recurrent Neural Networks;
    Hannun et al. 2014, First-Pass Large Vocabulary Continuous Speech Recognition using
    Bi-Directional Recurrent DNNs.
    """

    n_best: int = 1

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ConfigError("a prefix beam needs a width of at least 1", remedy="widen it")
        check_outputs(self.n_best, self.width)

    @property
    def paths(self) -> int:
        return self.width

    @property
    def count(self) -> int:
        return self.n_best

    def labellings(self, frames: Float[np.ndarray, "S V"], longest: int) -> Sequence[Labelling]:
        beam = _Prefixes([()], np.zeros(1), np.full(1, -np.inf))
        with np.errstate(divide="ignore"):
            for symbols in frames:
                beam = self._step(beam, symbols, longest - 1)
        return beam.labels

    def _step(self, beam: _Prefixes, symbols: Float[np.ndarray, "V"], most: int) -> _Prefixes:
        """The best prefixes among those unchanged and those with one more symbol; ties go to the
        lower index.
        """
        count, size = len(beam.labels), len(symbols)
        last = np.array([labels[-1] if labels else EMPTY for labels in beam.labels])
        total = np.logaddexp(beam.blank, beam.label)
        blank = total + symbols[EMPTY]
        label = np.where(last == EMPTY, -np.inf, beam.label + symbols[last])
        longer = total[:, None] + symbols
        longer[np.arange(count), last] = beam.blank + symbols[last]
        longer[:, EMPTY] = -np.inf
        longer[[len(labels) >= most for labels in beam.labels]] = -np.inf
        places = {labels: place for place, labels in enumerate(beam.labels)}
        for place, labels in enumerate(beam.labels):
            parent = places.get(labels[:-1]) if labels else None
            if parent is not None:
                label[place] = np.logaddexp(label[place], longer[parent, labels[-1]])
                longer[parent, labels[-1]] = -np.inf
        scores = np.concatenate([np.logaddexp(blank, label), longer.ravel()])
        chosen = np.argsort(-scores, kind="stable")[: self.width]
        chosen = chosen[scores[chosen] > -np.inf]
        stays, grows = chosen[chosen < count], chosen[chosen >= count] - count
        return _Prefixes(
            [beam.labels[place] for place in stays]
            + [(*beam.labels[place // size], place % size) for place in grows.tolist()],
            np.concatenate([blank[stays], np.full(len(grows), -np.inf)]),
            np.concatenate([label[stays], longer.ravel()[grows]]),
        )
