"""The predictor of masked tokens: fills the blanks of texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from seqloom.errors import DataError
from seqloom.fields import BLANK, UNK, BlanksField, MarkedText, TextField, Values
from seqloom.model import FillingHead
from seqloom.prediction.batching import batch_by_length, pad_batch, parallel_map
from seqloom.prediction.head_predictor import HeadPredictor
from seqloom.prediction.inputs import EncodedInput, InputGroup
from seqloom.prediction.joining import JudgedInput
from seqloom.prediction.output import Output, ScoredOutput, Token
from seqloom.prediction.request import OutputOptions

__all__ = ["BlankQuery", "BlankScores", "MaskFiller"]

ALTERNATIVES = 5  # default number of alternatives for each blank
ROWS = 256  # in a batch
CHUNK = 1_024  # positions whose logits are held at once

Ids = NDArray[np.int64]


class BlankQuery(NamedTuple):
    """An encoded text, the positions to predict, and the correct tokens there."""

    values: Values
    positions: Ids
    tokens: Ids


class BlankScores(NamedTuple):
    """The scores of the predicted positions."""

    tokens: Ids  # the correct tokens
    guesses: Ids
    log_probabilities: NDArray[np.float64]  # of the correct tokens; -inf for unknown ones


@dataclass(frozen=True)
class MaskFiller(HeadPredictor):
    """The predictor for a target of blanks: inputs are texts with marked blanks."""

    source: TextField
    target: BlanksField

    @cached_property
    def text_with_blanks(self) -> MarkedText:
        """The encoding of texts with blanks."""
        return MarkedText(self.source, self.target.config.marker)

    @property
    def input_field(self) -> MarkedText:
        """The field of texts with blanks."""
        return self.text_with_blanks

    @property
    def head(self) -> FillingHead:
        """The head that predicts tokens."""
        return self.network.filling_head

    def score_held_out(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredOutput]:
        """The log-probability of each token of a text given all others; source and target are the
        same text (S7.4).
        """
        for number, (source, target) in enumerate(pairs, 1):
            if source != target:
                raise DataError(
                    f"pair {number}: a text is scored as it is, token by token",
                    remedy="give it as source and target alike",
                )
        return self.score_encoded((), [target for _, target in pairs])

    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """The scores of encoded texts; the sources are ignored."""
        return [
            ScoredOutput(float(each.log_probabilities.sum()), tuple(self._blank_tokens(each)))
            for each in self.token_scores(outputs)
        ]

    def scoring_positions(self, texts: Sequence[str]) -> int:
        """Positions read to score these texts; a whole text for each token, if tokens must be
        masked one by one.
        """
        reader, rows = self.input_reader, self.source.rows(texts)
        lengths = [len(reader.truncate(number, row).values) for number, row in enumerate(rows)]
        return sum(length * (1 if self.head.around else length) for length in lengths)

    def token_scores(self, texts: Sequence[str]) -> list[BlankScores]:
        """The scores of every token of texts, each given all the others."""
        reader, questions, owners = self.input_reader, [], []
        for number, row in enumerate(self.source.rows(texts)):
            values = reader.truncate(number, row).values
            asked = self._token_queries(values)
            questions += asked
            owners += [number] * len(asked)
        parts: list[list[BlankScores]] = [[] for _ in texts]
        for number, found in zip(owners, self.answer_queries(questions), strict=True):
            parts[number].append(found)
        return [BlankScores(*map(np.concatenate, zip(*each, strict=True))) for each in parts]

    def answer_queries(self, questions: Sequence[BlankQuery]) -> list[BlankScores]:
        """The scores of each query."""
        order = list(batch_by_length([len(each.values) for each in questions], most=ROWS))
        shared = [[questions[index] for index in batch] for batch in order]
        answers: dict[int, BlankScores] = {}
        for batch, found in zip(order, parallel_map(self._answer_batch, shared), strict=True):
            answers |= dict(zip(batch, found, strict=True))
        return [answers[number] for number in range(len(questions))]

    def _token_queries(self, values: Values) -> list[BlankQuery]:
        """Queries for every token given all others: a single one if the encoder hides each position
        from itself, otherwise one per token.
        """
        tokens = np.asarray(values[: len(values) - self.source.closing], np.int64)
        asked = np.flatnonzero(self.target.fillable[tokens] | (tokens == UNK))
        if self.head.around or not len(asked):
            return [BlankQuery(values, asked, tokens[asked])]
        questions = []
        for place in asked:
            gapped = values.copy()
            gapped[place] = BLANK
            questions.append(BlankQuery(gapped, np.array([place]), tokens[[place]]))
        return questions

    @torch.inference_mode()
    def _answer_batch(self, batch: list[BlankQuery]) -> list[BlankScores]:
        hidden = self._hidden_states([each.values for each in batch])
        counts = [len(each.positions) for each in batch]
        rows = np.repeat(np.arange(len(batch)), counts)
        asked = hidden[torch.from_numpy(rows), torch.from_numpy(_concatenate(batch, "positions"))]
        tokens = torch.from_numpy(_concatenate(batch, "tokens"))
        guesses, likely = [torch.empty(0, dtype=torch.int64)], [torch.empty(0)]
        for part, own in zip(asked.split(CHUNK), tokens.split(CHUNK), strict=True):
            scores = self._log_probabilities(part)
            guesses.append(scores.argmax(-1))
            likely.append(scores.gather(1, own[:, None]).squeeze(1))
        ends = np.cumsum(counts)[:-1]
        columns = (tokens, torch.cat(guesses), torch.cat(likely).double())
        return [
            BlankScores(*each)
            for each in zip(*(np.split(c.numpy(), ends) for c in columns), strict=True)
        ]

    def _hidden_states(self, rows: list[Values]) -> Float[Tensor, "B S D"]:
        self.network.eval()
        return self.head.read(self.encoder.encode(pad_batch(rows)))

    def _log_probabilities(self, hidden: Float[Tensor, "N D"]) -> Float[Tensor, "N V"]:
        """Log-probabilities over the tokens that can fill a blank."""
        barred = ~torch.from_numpy(self.target.fillable)
        return self.head.write(hidden).masked_fill(barred, -torch.inf).log_softmax(-1)

    def _blank_tokens(self, told: BlankScores) -> Iterator[Token]:
        names = self.target.tokens(told.tokens)
        yield from map(Token, names, told.log_probabilities.tolist())

    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterator[Output]:
        """Fill the blanks of texts."""
        likeliest = options.alternatives or ALTERNATIVES
        outputs = self.outputs(group.encoded, len(group.lines), likeliest)
        for cell, output in zip(group.cells, outputs, strict=True):
            yield replace(output, text=self.text_with_blanks.fill(cell, output.ids))

    @torch.inference_mode()
    def _run_head(
        self, batch: list[EncodedInput], given: list[Values]
    ) -> list[Float[np.ndarray, "N V"]]:
        """Predict the blanks of each input."""
        rows = [each.values for each in batch]
        hidden = self._hidden_states(rows)
        places = [torch.from_numpy(np.flatnonzero(row == BLANK)) for row in rows]
        return [
            self._log_probabilities(states[gaps]).numpy()
            for states, gaps in zip(hidden, places, strict=True)
        ]

    def _make_outputs(self, judged: Sequence[JudgedInput], likeliest: int) -> Iterator[Output]:
        most = min(likeliest, int(self.target.fillable.sum()))
        for each in judged:
            found = torch.from_numpy(each.scores).topk(most)
            best = found.indices[:, 0].tolist()
            tokens = []
            for scores, ids in zip(found.values.tolist(), found.indices.tolist(), strict=True):
                others = self._alternatives(scores, ids)
                tokens.append(Token(others[0].text, scores[0], others))
            filled = each.whole.encoded.values.copy()
            filled[filled == BLANK] = best
            total = sum(token.log_probability for token in tokens)
            yield each.output(self.source.cell(filled), total, tuple(tokens), tuple(best))


def _concatenate(batch: list[BlankQuery], name: str) -> Ids:
    return np.concatenate([getattr(each, name) for each in batch])
