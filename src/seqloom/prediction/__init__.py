"""Predictors: from raw inputs to outputs with a trained model."""

from typing import TYPE_CHECKING

from seqloom.deferred import deferred_names

if TYPE_CHECKING:
    from seqloom.prediction.batching import ContinuousBatch
    from seqloom.prediction.context_vectors import ContextVectors, Occurrence, SentenceVectors
    from seqloom.prediction.conversation import Conversation
    from seqloom.prediction.forecaster import Forecaster
    from seqloom.prediction.glossary import Glossary, GlossaryTerm, TermCount
    from seqloom.prediction.head_predictor import HeadPredictor, NumberPredictor, TagPredictor
    from seqloom.prediction.inputs import GROUP_SIZE, EncodedInput, InputGroup, dummy_input
    from seqloom.prediction.mask_filler import BlankQuery, BlankScores, MaskFiller
    from seqloom.prediction.output import (
        Branch,
        Forecast,
        Output,
        ScoredOutput,
        StopReason,
        Token,
        TokenAlternative,
        outputs_table,
    )
    from seqloom.prediction.predictor import Predictor, ensemble
    from seqloom.prediction.request import (
        DecodingRequest,
        OutputOptions,
        PendingInput,
        PredictionRequest,
        batch_key,
    )
    from seqloom.prediction.text_predictor import TextPredictor
    from seqloom.prediction.whole_search import WholeBatch, fits_whole_batch
else:
    __getattr__ = deferred_names(__name__)

__all__ = [
    "GROUP_SIZE",
    "BlankQuery",
    "BlankScores",
    "Branch",
    "ContextVectors",
    "ContinuousBatch",
    "Conversation",
    "DecodingRequest",
    "EncodedInput",
    "Forecast",
    "Forecaster",
    "Glossary",
    "GlossaryTerm",
    "HeadPredictor",
    "InputGroup",
    "MaskFiller",
    "NumberPredictor",
    "Occurrence",
    "Output",
    "OutputOptions",
    "PendingInput",
    "PredictionRequest",
    "Predictor",
    "ScoredOutput",
    "SentenceVectors",
    "StopReason",
    "TagPredictor",
    "TermCount",
    "TextPredictor",
    "Token",
    "TokenAlternative",
    "WholeBatch",
    "batch_key",
    "dummy_input",
    "ensemble",
    "fits_whole_batch",
    "outputs_table",
]
