"""Whether an exported model gives what its original gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqloom.export.ctranslate2 import longest_output, source_names, token_names
from seqloom.export.specification import library
from seqloom.fields import EMPTY, END, SPECIAL_SYMBOLS, START
from seqloom.model import Source
from seqloom.prediction import TextPredictor
from seqloom.search import Beam, Ranking
from seqloom.training import row_log_probabilities

__all__ = ["Agreement", "CTranslate2Model", "compare"]

PATIENCE = 2.0  # CTranslate2 waits for so many beams of outputs; ours until none can be better


@dataclass(frozen=True)
class Agreement:
    """How near two runtimes of one model are."""

    sentences: int
    equal: int  # outputs that are the same text
    max_difference: float  # largest difference of the log-probability of any token of any output

    def __str__(self) -> str:
        return (
            f"{self.equal:,} of {self.sentences:,} outputs are the same, and no token's "
            f"log-probability differs by more than {self.max_difference:.1g}"
        )


class CTranslate2Model:
    """A directory that `export_ctranslate2` wrote, in use on token ids."""

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
        """The best output for each source that ends in `<end>`; its own ends in it where written.

        Batches have at most `batch` sources of like length; with 0 all are one.
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
            return_end_token=True,  # counted in the length, as ours is
        )
        return [[self._ids[name] for name in each.hypotheses[0]] for each in results]

    def log_probabilities(
        self, rows: Sequence[np.ndarray], outputs: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """That of each token of given outputs, and of `<end>` after them."""
        targets = [[self._target[token] for token in ids] for ids in outputs]
        scored = self._translator.score_batch(self._sources(rows), targets, max_input_length=0)
        return [each.log_probs for each in scored]

    def _sources(self, rows: Sequence[np.ndarray]) -> list[list[str]]:
        return [[self._source[token] for token in row[:-1].tolist()] for row in rows]


def compare(model: TextPredictor, folder: Path, rows: Sequence[np.ndarray]) -> Agreement:
    """Decode sources by both, as the run is configured to, and score what the export gives."""
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
        furthest = max(furthest, _distance(model, row, ids, theirs))
    return Agreement(len(rows), equal, furthest)


@torch.inference_mode()
def _distance(model: TextPredictor, row: np.ndarray, ids: list[int], theirs: list[float]) -> float:
    source = Source(torch.from_numpy(row.astype(np.int64))[None], torch.tensor([len(row)]))
    state = model.network.decoder.start(model.network.encoder.encode(source))
    target = torch.tensor([[*ids, END]])
    ours = row_log_probabilities(model.network.decoder, state, target)[0]
    return float((ours - torch.tensor(theirs)).abs().max())
