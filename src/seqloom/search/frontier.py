"""The state of a search: its paths so far, and the finished sentences (S7).

B sentences still searched, K paths for each, R = B·K rows, T steps so far. Histories are not copied
from step to step: each step remembers which path it continued, and a result is traced back from its
last token.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import ConfigError, DivergedError
from seqloom.fields import EMPTY
from seqloom.model import Decoder
from seqloom.model.state import pad_to
from seqloom.search.limits import Limits, PathHistory
from seqloom.search.topk import log_sum_exp, stable_topk

__all__ = ["Choices", "Continuations", "FinishedSentences", "Frontier", "Notes", "SearchStep"]


class Notes(NamedTuple):
    """Attention and other details of a step, for each row read in it."""

    attention: Float[Tensor, "R S"] | None = None
    tokens: Int[Tensor, "R A"] | None = None  # the most probable tokens
    scores: Float[Tensor, "R A"] | None = None  # and their log-probabilities


class Choices(NamedTuple):
    """The logits of each path's possible next tokens."""

    logits: Float[Tensor, "R V"]  # −∞ for forbidden tokens
    norms: Float[Tensor, "R"]  # log-sum-exp before tokens were forbidden
    state: Any  # the decoder's state after the read
    notes: Notes
    live_rows: Int[Tensor, "R"] | None = None  # the rows in the frontier, if not all

    def best(self, count: int, rows: int) -> tuple[Float[Tensor, "P C"], Int[Tensor, "P C"]]:
        """Log-probabilities of each path's most probable tokens, and the tokens; −∞ for a finished
        path.

        There are so many rows in the frontier.
        """
        gains, tokens = stable_topk(self.logits, count)
        gains = gains - self.norms[:, None]
        if self.live_rows is None:
            return gains, tokens
        every = gains.new_full((rows, gains.shape[1]), -torch.inf)
        words = tokens.new_zeros(every.shape)
        return every.index_copy_(0, self.live_rows, gains), words.index_copy_(
            0, self.live_rows, tokens
        )


class Continuations(NamedTuple):
    """The chosen continuations: each new path extends a path of its sentence by a token.

    A finished path stays unchanged by a gain of 0, whatever the token.
    """

    tokens: Int[Tensor, "B K"]
    gains: Float[Tensor, "B K"]  # log-probabilities of the tokens
    parents: Int[Tensor, "B K"] | None = None  # if absent, each path continues in place


class SearchStep(NamedTuple):
    """One step of all paths, linked to the step before."""

    tokens: Int[Tensor, "R"]
    scores: Float[Tensor, "R"]
    parents: Int[Tensor, "R"] | None  # of the rows read; if absent, in place
    notes: Notes  # of the rows read
    previous_rows: (
        Int[Tensor, "P"] | None
    )  # rows of the step before that were read, if not all were;
    # arbitrary for paths that begin with this step
    previous: "SearchStep | None"


class FinishedSentences(NamedTuple):
    """Finished sentences with their paths, best first, or single paths that finished earlier."""

    sentences: Int[Tensor, "B"]
    steps: Int[Tensor, "B"]
    step: SearchStep  # the last
    depth: int  # number of steps up to it
    rows: Int[Tensor, "B K"]  # of the last step
    finished: Bool[Tensor, "B K"]
    ranks: Float[Tensor, "B K"]


@dataclass(frozen=True)
class Frontier:
    """The state of a search; the decoder's state is reordered when the paths are next read."""

    state: Any  # the decoder's state after the last step
    limits: Limits
    sentences: Int[Tensor, "B"]  # the batch index of each sentence
    totals: Float[Tensor, "B K"]  # log-probability of each path
    lengths: Int[Tensor, "B K"]  # tokens of each path
    finished: Bool[Tensor, "B K"]
    steps: Int[Tensor, "B"]  # steps made by each sentence
    any_finished: bool = False  # whether any path has finished
    step: SearchStep | None = None
    depth: int = 0  # number of steps so far; more than a sentence's own if it joined later
    rows: Int[Tensor, "R"] | None = (
        None  # rows of the state from which paths continue, if not in order
    )
    active_rows: Int[Tensor, "R"] | None = None  # rows of the last step still searched, if not all
    state_sentences: Int[Tensor, "B"] | None = None  # sentences of the state that they belong to
    history: Int[Tensor, "R T"] | None = None  # tokens of each path, if rules need them
    attention_sums: Float[Tensor, "B K S"] | None = (
        None  # attention summed over steps, if coverage counts
    )
    extras: tuple[Tensor, ...] = ()  # further tensors for each path, (B, K), or sentence, (B)
    finished_sentences: tuple[FinishedSentences, ...] = ()

    @classmethod
    def start(cls, state: Any, limits: Limits, *, covers: bool = False) -> "Frontier":
        """Start with one empty path for each sentence; with `covers`, attention is summed."""
        count, device = len(limits.longest), limits.longest.device
        zeros = torch.zeros(count, 1, dtype=torch.int64, device=device)
        return cls(
            state,
            limits,
            torch.arange(count, device=device),
            zeros.float(),
            zeros,
            zeros.bool(),
            zeros[:, 0],
            history=zeros[:, :0] if limits.rules or limits.required else None,
            attention_sums=torch.zeros(count, 1, 0, device=device) if covers else None,
        )

    @property
    def open_sentences(self) -> list[int]:
        """The sentences still searched, by batch index."""
        numbers: list[int] = self.sentences.tolist()
        return numbers

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        return len(self.sentences) == 0

    @property
    def width(self) -> int:
        """Paths for each sentence."""
        return self.totals.shape[1]

    @property
    def may_finish(self) -> bool:
        """Whether a sentence may be done: a path has finished or reached the length limit."""
        return self.any_finished or bool(self.full.any())

    @property
    def lines(self) -> Int[Tensor, "B"]:
        """The line numbers from which random draws of each sentence derive."""
        return self.sentences if self.limits.lines is None else self.limits.lines

    @property
    def full(self) -> Bool[Tensor, "B"]:
        """True for sentences whose paths have reached the length limit."""
        return self.limits.longest <= self.steps

    @property
    def path_history(self) -> PathHistory:
        """The history of the paths for rules; without rules it has no tokens."""
        paths = self.width
        history = self.history
        if history is None:
            history = self.sentences.new_zeros(self.totals.numel(), 0)
        lengths, shortest = self.lengths.flatten(), self.limits.shortest
        room = self.limits.longest.repeat_interleave(paths) - lengths
        due = torch.zeros_like(room)
        if shortest is not None:
            due = shortest.repeat_interleave(paths) - lengths
        return PathHistory(history, lengths, self.sentences.repeat_interleave(paths), room, due)

    def read(self, decoder: Decoder[Any], *, living: bool = False) -> Choices:
        """Read each path's last token; return the choices for the next, with the new state.

        Forbidden tokens have logit −∞ but count in the sum: probabilities are the model's. With
        `living`, finished paths are skipped.
        """
        features, state = decoder.read(self._inputs()[:, None], self.path_states())
        hidden, rows = features.hidden[:, -1], None
        if living and self.any_finished:
            rows = (~self.finished).flatten().nonzero().squeeze(1)
            hidden = hidden.index_select(0, rows)
        logits = decoder.write(hidden)
        norms = _check_norms(log_sum_exp(logits))
        written = None
        if self.limits.has_rules:
            written = self.path_history if rows is None else self.path_history.select(rows)
        logits = self.limits.mask_logits(logits, written)
        attention = None if features.attention is None else features.attention[:, -1]
        choices = Choices(logits, norms, state, Notes(attention), rows)
        if not self.limits.n_alternatives:
            return choices
        scores, tokens = choices.best(self.limits.n_alternatives, self.totals.numel())
        return choices._replace(notes=Notes(attention, tokens, scores))

    def grow(self, choices: Choices, continuations: Continuations) -> "Frontier":
        """Extend the paths by one token; a path that cannot continue is finished and impossible."""
        rows = self._parent_rows(continuations.parents)
        ended, totals, tokens = self.finished, self.totals, continuations.tokens
        steps = self.steps + 1
        lengths = steps[:, None].expand_as(tokens)
        if continuations.parents is not None:
            totals = totals.gather(1, continuations.parents)
        totals = totals + continuations.gains
        if self.any_finished:
            before = self.lengths
            if continuations.parents is not None:
                ended, before = (v.gather(1, continuations.parents) for v in (ended, before))
            lengths = torch.where(ended, before, lengths)
            tokens = tokens.masked_fill(ended, EMPTY)
        elif continuations.parents is not None:
            ended = torch.zeros_like(tokens, dtype=torch.bool)
        if float(totals.amin()) == -torch.inf:
            tokens = tokens.masked_fill((totals == -torch.inf) & ~ended, self.limits.end)
        flat, finished = tokens.flatten(), ended | (tokens == self.limits.end)
        return replace(
            self,
            state=choices.state,
            totals=totals,
            lengths=lengths,
            finished=finished,
            any_finished=bool(finished.any()),
            steps=steps,
            step=SearchStep(
                flat,
                continuations.gains.flatten(),
                rows,
                choices.notes,
                self.active_rows,
                self.step,
            ),
            depth=self.depth + 1,
            rows=rows,
            active_rows=None,
            state_sentences=None,
            history=self._extend_history(flat, rows),
            attention_sums=self._add_attention(choices.notes.attention, rows, ended),
        )

    def finish_sentences(self, done: Bool[Tensor, "B"], ranks: Float[Tensor, "B K"]) -> "Frontier":
        """Remove the sentences that are done and keep their paths as results."""
        if self.step is None or not bool(done.any()):
            return self
        going = done.nonzero().squeeze(1)
        order = ranks[going].argsort(dim=1, descending=True, stable=True)  # (B', K)
        left = FinishedSentences(
            self.sentences[going],
            self.steps[going],
            self.step,
            self.depth,
            going[:, None] * self.width + order,
            self.finished[going].gather(1, order),
            ranks[going].gather(1, order),
        )
        return replace(
            self.drop_sentences(done), finished_sentences=(*self.finished_sentences, left)
        )

    def drop_sentences(self, gone: Bool[Tensor, "B"]) -> "Frontier":
        """Remove these sentences without results; only after the first step."""
        staying = (~gone).nonzero().squeeze(1)
        slots = torch.arange(self.width, device=staying.device).expand(len(staying), -1)
        return self._select(staying, slots)

    def finish_paths(self, chosen: Bool[Tensor, "B K"], ranks: Float[Tensor, "B K"]) -> "Frontier":
        """Record these paths as finished, each individually."""
        if self.step is None or not bool(chosen.any()):
            return self
        rows = chosen.flatten().nonzero()  # (N, 1)
        places = rows[:, 0] // self.width
        left = FinishedSentences(
            self.sentences[places],
            self.steps[places],
            self.step,
            self.depth,
            rows,
            self.finished.flatten()[rows],
            ranks.flatten()[rows],
        )
        return replace(self, finished_sentences=(*self.finished_sentences, left))

    def narrow(self, count: int, done: Bool[Tensor, "B"] | None = None) -> "Frontier":
        """Keep the `count` first open paths of each sentence that is not done.

        If there are fewer, finished paths, marked impossible, fill up.
        """
        order = self.finished.byte().argsort(dim=1, stable=True)[:, :count]
        if done is None or not bool(done.any()):
            staying = torch.arange(len(order), device=order.device)
            kept = replace(self._select(staying, order), limits=self.limits, state_sentences=None)
        else:
            staying = (~done).nonzero().squeeze(1)
            kept = self._select(staying, order[staying])
        if not kept.any_finished:
            return kept
        return replace(kept, totals=kept.totals.masked_fill(kept.finished, -torch.inf))

    def _select(self, staying: Int[Tensor, "B2"], slots: Int[Tensor, "B2 K2"]) -> "Frontier":
        """Select sentences, and the paths in these slots of each."""
        rows = (staying[:, None] * self.width + slots).flatten()
        totals, lengths, finished = (
            values.flatten()[rows].view_as(slots)
            for values in (self.totals, self.lengths, self.finished)
        )
        attended = self.attention_sums
        if attended is not None:
            attended = attended.flatten(0, 1)[rows].unflatten(0, slots.shape)
        kept = rows if self.active_rows is None else self.active_rows[rows]
        return replace(
            self,
            limits=self.limits.select(staying),
            sentences=self.sentences[staying],
            totals=totals,
            lengths=lengths,
            finished=finished,
            steps=self.steps[staying],
            any_finished=bool(finished.any()),
            rows=rows if self.rows is None else self.rows[rows],
            active_rows=kept,
            state_sentences=staying
            if self.state_sentences is None
            else self.state_sentences[staying],
            history=None if self.history is None else self.history[rows],
            attention_sums=attended,
            extras=tuple(values[staying] for values in self.extras),
        )

    def _inputs(self) -> Int[Tensor, "R"]:
        if self.step is None:
            return torch.full_like(self.sentences, self.limits.start)
        tokens = self.step.tokens
        return tokens if self.active_rows is None else tokens.index_select(0, self.active_rows)

    def path_states(self) -> Any:
        """The decoder's state of each path."""
        return (
            self.state if self.rows is None else self.state.select(self.rows, self.state_sentences)
        )

    def _extend_history(
        self, tokens: Int[Tensor, "R2"], rows: Int[Tensor, "R2"] | None
    ) -> Int[Tensor, "R2 T"] | None:
        """Append the newest token to the tokens of each path, if rules need them."""
        if self.history is None:
            return None
        history = self.history if rows is None else self.history.index_select(0, rows)
        at = self.steps.repeat_interleave(len(tokens) // len(self.steps))
        if int(at.max()) >= history.shape[1]:
            history = torch.cat([history, torch.full_like(tokens, EMPTY)[:, None]], dim=1)
        return history.scatter(1, at[:, None], tokens[:, None])

    def _parent_rows(self, parents: Int[Tensor, "B K2"] | None) -> Int[Tensor, "R2"] | None:
        """The rows that paths continue; None if each continues in place."""
        if parents is None or self.width == parents.shape[1] == 1:
            return None
        first = torch.arange(0, self.totals.numel(), self.width, device=parents.device)
        return (first[:, None] + parents).flatten()

    def _add_attention(
        self,
        attention: Float[Tensor, "R S"] | None,
        rows: Int[Tensor, "R2"] | None,
        ended: Bool[Tensor, "B K2"],
    ) -> Float[Tensor, "B K2 S"] | None:
        if self.attention_sums is None:
            return None
        if attention is None:
            raise ConfigError(
                "outputs cannot be compared by coverage: this model has no attention to the source"
            )
        width = attention.shape[1]  # of the longest source; the rest was padding
        before = pad_to(self.attention_sums.flatten(0, 1)[:, :width], [width])
        if rows is not None:
            before, attention = before.index_select(0, rows), attention.index_select(0, rows)
        after = before + attention.masked_fill(ended.flatten()[:, None], 0.0)
        return after.view(*ended.shape, -1)


def _check_norms(norms: Float[Tensor, "R"]) -> Float[Tensor, "R"]:
    """The sums, with 0 for rows without a possible token; raises an error for NaN."""
    if math.isfinite(float(norms.sum())):
        return norms
    norms = norms.masked_fill(norms == -torch.inf, 0.0)
    if not bool(norms.isfinite().all()):
        raise DivergedError(
            "the model gives probabilities that are not numbers", remedy="train it again"
        )
    return norms
