"""The CTranslate2 runtime: export, and verification of the exported model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.config import RUNTIMES
from seqloom.export.agreement import Agreement, log_probability_distance
from seqloom.export.ctranslate2 import (
    export_ctranslate2,
    longest_output,
    source_names,
    token_names,
)
from seqloom.export.refusals import require_writer
from seqloom.export.runtime import Runtime
from seqloom.export.specification import library
from seqloom.fields import EMPTY, END, SPECIAL_SYMBOLS, START
from seqloom.prediction import Predictor, TextPredictor
from seqloom.search import Beam, Ranking

__all__ = ["CTranslate2Model", "CTranslate2Runtime", "compare"]

PATIENCE = 2.0  # CTranslate2 waits for so many beams of outputs; ours until none can be better


@RUNTIMES.part("ctranslate2")
class CTranslate2Runtime(Runtime):
    """Transformers that write text."""

    def write(self, model: Predictor, output: Path) -> None:
        export_ctranslate2(require_writer(model, "ctranslate2"), output)

    def compare(self, model: Predictor, folder: Path, rows: Sequence[np.ndarray]) -> Agreement:
        return compare(require_writer(model, "ctranslate2"), folder, rows)


class CTranslate2Model:
    """A directory written by `export_ctranslate2`, used on token ids."""

    def __init__(self, model: TextPredictor, folder: Path, **settings: Any) -> None:
        self._translator = library().Translator(str(folder), device="cpu", **settings)
        self._source = source_names(model)
        self._target = token_names(model.target)
        self._ids = {name: token for token, name in enumerate(self._target)}

    def search(
        self,
        rows: Sequence[np.ndarray],
        beam: Beam,
        *,
        longest: int,
        batch: int = 0,
        patience: float = PATIENCE,
    ) -> list[list[int]]:
        """The best output for each source; sources end in `<end>`, and so do outputs that were
        completed.

        Batches have at most `batch` sources of similar length; 0 means a single batch.
        """
        results = self._translator.translate_batch(
            self._sources(rows),
            beam_size=beam.width,
            length_penalty=beam.ranking.length_power,
            patience=patience if beam.ranking.length_power else 1.0,
            max_decoding_length=longest,
            min_decoding_length=0,
            max_input_length=0,
            max_batch_size=batch,
            disable_unk=True,
            suppress_sequences=[[SPECIAL_SYMBOLS[EMPTY]], [SPECIAL_SYMBOLS[START]]],
            return_end_token=True,  # counted in the length, as in our search
        )
        return [[self._ids[name] for name in each.hypotheses[0]] for each in results]

    def log_probabilities(
        self, rows: Sequence[np.ndarray], outputs: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """The log-probability of each token of given outputs, and of `<end>` after them."""
        targets = [[self._target[token] for token in ids] for ids in outputs]
        scored = self._translator.score_batch(self._sources(rows), targets, max_input_length=0)
        return [each.log_probs for each in scored]

    def _sources(self, rows: Sequence[np.ndarray]) -> list[list[str]]:
        return [[self._source[token] for token in row[:-1].tolist()] for row in rows]


def compare(model: TextPredictor, folder: Path, rows: Sequence[np.ndarray]) -> Agreement:
    """Decode sources with both, as the run is configured, and score the exported model's
    outputs.
    """
    options = model.config.search
    beam, exported = (
        Beam(options.beam, Ranking.from_config(options)),
        CTranslate2Model(model, folder),
    )
    ours = [output.text for output in model.predict_rows(rows, search=beam)]
    equal, furthest = 0, 0.0
    for row, text in zip(rows, ours, strict=True):
        longest = max(1, int(len(row) * options.max_ratio)) + options.max_extra
        (found,) = exported.search([row], beam, longest=min(longest, longest_output(model)))
        ids = found[:-1] if found[-1:] == [END] else found
        equal += model.target.decode(ids) == text
        (theirs,) = exported.log_probabilities([row], [ids])
        furthest = max(furthest, log_probability_distance(model, row, ids, theirs))
    return Agreement(len(rows), equal, furthest)
