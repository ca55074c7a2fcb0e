"""The transformers runtime: export, and verification of the exported model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqloom.config import RUNTIMES
from seqloom.export.agreement import Agreement, log_probability_distance
from seqloom.export.ctranslate2 import longest_output
from seqloom.export.huggingface.writing import export_huggingface
from seqloom.export.refusals import require_writer
from seqloom.export.runtime import Runtime, require_library
from seqloom.fields import END, START
from seqloom.prediction import Predictor
from seqloom.search import Beam, Ranking

__all__ = ["HuggingFaceModel", "HuggingFaceRuntime"]


class HuggingFaceModel:
    """A directory loaded by transformers, used on texts and token ids."""

    def __init__(self, folder: Path) -> None:
        library = require_library("transformers", runtime="huggingface", extra="huggingface")
        library.utils.logging.disable_progress_bar()
        self.tokenizer: Any = library.AutoTokenizer.from_pretrained(str(folder))
        self.model: Any = library.AutoModelForSeq2SeqLM.from_pretrained(str(folder)).eval()

    @torch.inference_mode()
    def search(self, text: str, *, longest: int, **settings: Any) -> str:
        """The best output for a text, by default with the folder's generation settings."""
        batch = self.tokenizer([text], return_tensors="pt")
        (found,) = self.model.generate(**batch, max_length=longest, **settings)
        return str(self.tokenizer.decode(found, skip_special_tokens=True))

    @torch.inference_mode()
    def log_probabilities(self, row: np.ndarray, output: Sequence[int]) -> list[float]:
        """The log-probability of each token of a given output, and of `<end>` after it."""
        source = torch.from_numpy(row.astype(np.int64))[None]
        reading = torch.tensor([[START, *output]])
        logits = self.model(input_ids=source, decoder_input_ids=reading).logits
        written = torch.tensor([[*output, END]])
        chosen = logits.log_softmax(-1).gather(-1, written[..., None])[0, :, 0]
        values: list[float] = chosen.tolist()
        return values


@RUNTIMES.part("huggingface")
class HuggingFaceRuntime(Runtime):
    """Exports Transformers with text output, as Marian's or Pegasus' class."""

    def write(self, model: Predictor, output: Path) -> None:
        require_library("transformers", runtime="huggingface", extra="huggingface")
        export_huggingface(require_writer(model, "huggingface"), output)

    def compare(self, model: Predictor, folder: Path, rows: Sequence[np.ndarray]) -> Agreement:
        writer, exported = require_writer(model, "huggingface"), HuggingFaceModel(folder)
        options = writer.config.search
        beam = Beam(options.beam, Ranking.from_config(options))
        equal, furthest = 0, 0.0
        for row, output in zip(rows, writer.predict_rows(rows, search=beam), strict=True):
            longest = max(1, int(len(row) * options.max_ratio)) + options.max_extra
            text = writer.source.cell(row)
            found = exported.search(text, longest=min(longest, longest_output(writer)) + 1)
            equal += found.strip() == output.text.strip()
            ids = writer.target.encode(output.text).tolist()
            theirs = exported.log_probabilities(row, ids)
            furthest = max(furthest, log_probability_distance(writer, row, ids, theirs))
        return Agreement(len(rows), equal, furthest)
