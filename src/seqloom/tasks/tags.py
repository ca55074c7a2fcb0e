"""Tags: a label for each token of a text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqloom.config import HEADS, Config
from seqloom.explanations.explained_output import Cell, ExplainedOutput
from seqloom.metrics import score_all
from seqloom.prediction import HeadPredictor, Output, TagPredictor
from seqloom.search import Search
from seqloom.tasks.head_task import ClassTask
from seqloom.tasks.outputs import (
    encode_sources,
    explain_labels,
    perplexity_score,
)
from seqloom.tasks.report_rows import HeldOutRow, ReportRows, Scale, output_rows, source_length
from seqloom.tasks.task import TASKS
from seqloom.tokenizers import split_symbols

__all__ = ["TAGS", "TagsTask"]

SCALE = Scale("tags right, %")


class TagsTask(ClassTask):
    """A target of tags, aligned with the tokens of the source."""

    kind = "tags"
    verb = "Tag"
    plural = "tags"

    def predictor_of(self, network: Any) -> type[Any]:
        """A predictor that searches, if tags depend on the preceding tags."""
        return HeadPredictor if network.head.decoder_part is None else TagPredictor

    def check_evaluation(
        self, config: Config, search: Search | None, *, lowercase: bool = False
    ) -> None:
        """Accept a search if tags depend on the preceding tags."""
        feeds_back = HEADS.parts[config.model.decoder.kind].feeds_back
        super().check_evaluation(config, None if feeds_back else search, lowercase=lowercase)

    def report_rows(self, model: HeadPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Each row with its tags, scored by tag accuracy."""
        encoded, references = encode_sources(model, held), [row.target for row in held]
        outputs = model.predict_rows([each.values for each in encoded])
        compared = self.predictions(outputs, references)
        perplexity = perplexity_score(model.score_encoded(encoded, references))
        counted, length = source_length(model)
        rows = output_rows(model, held, outputs, _tag_accuracy, length=length)
        scores = (*score_all(compared), perplexity)
        breakdowns = self.breakdowns(model, compared)
        return ReportRows(SCALE._replace(length=counted), rows, scores, breakdowns)

    def explain(
        self, model: HeadPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedOutput:
        """An input with its predicted tags, or with the given ones."""
        return explain_labels(model, cell, output, one_for_each=True)


def _tag_accuracy(_: int, row: HeldOutRow, output: Output) -> float:
    """The percentage of correct tags."""
    tags = zip(split_symbols(output.text), split_symbols(row.target), strict=True)
    return 100 * float(np.mean([one == other for one, other in tags]))


TAGS = TASKS.part("tags")(TagsTask())
