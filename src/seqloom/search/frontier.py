"""Where a search stands: the paths so far, and the sentences that have left (SPEC S7).

Letters as everywhere: B sentences still searched, K paths for each, R = B·K rows, T steps so far.
Histories are not copied from step to step: each step remembers which path it continued, and a
result is read backwards from its last token.
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
from seqloom.model.state import padded_to
from seqloom.search.limits import Limits
from seqloom.search.rules import Written
from seqloom.search.topk import largest, log_sum

__all__ = ["Choices", "Forks", "Frontier", "Left", "Notes", "Step"]


class Notes(NamedTuple):
    """What explains a step, for each row that was read in it."""

    attention: Float[Tensor, "R S"] | None = None
    tokens: Int[Tensor, "R A"] | None = None  # the likeliest that could have been written
    scores: Float[Tensor, "R A"] | None = None  # and their log-probabilities


class Choices(NamedTuple):
    """What each path may write next."""

    logits: Float[Tensor, "R V"]  # −∞ where a token may not be written
    norms: Float[Tensor, "R"]  # their logarithmic sum before anything was ruled out
    state: Any  # the decoder's, after reading
    notes: Notes
    living: Int[Tensor, "R"] | None = None  # the rows that these are, if not all of the frontier

    def best(self, count: int, rows: int) -> tuple[Float[Tensor, "P C"], Int[Tensor, "P C"]]:
        """Log-probabilities of each path's likeliest tokens, and the tokens; of a finished path −∞.

        There are so many rows in the frontier.
        """
        gains, tokens = largest(self.logits, count)
        gains = gains - self.norms[:, None]
        if self.living is None:
            return gains, tokens
        every = gains.new_full((rows, gains.shape[1]), -torch.inf)
        words = tokens.new_zeros(every.shape)
        return every.index_copy_(0, self.living, gains), words.index_copy_(0, self.living, tokens)


class Forks(NamedTuple):
    """How paths go on: each new one continues a path of its sentence by a token.

    A path that has finished stays as it is by a gain of 0, whatever the token.
    """

    tokens: Int[Tensor, "B K"]
    gains: Float[Tensor, "B K"]  # log-probabilities of the tokens
    parents: Int[Tensor, "B K"] | None = None  # if absent, each path goes on in its own place


class Step(NamedTuple):
    """One step of all paths, and the way back to the one before."""

    tokens: Int[Tensor, "R"]
    scores: Float[Tensor, "R"]
    parents: Int[Tensor, "R"] | None  # of the rows read; if absent, each in its own place
    notes: Notes  # of the rows read
    kept: Int[Tensor, "P"] | None  # rows of the step before that were read, if not all were;
    # any row, for paths that began with this step
    before: "Step | None"


class Left(NamedTuple):
    """Sentences that are done, with their paths best first, or paths put aside before."""

    sentences: Int[Tensor, "B"]
    steps: Int[Tensor, "B"]
    step: Step  # the last
    depth: int  # steps that lead to it
    rows: Int[Tensor, "B K"]  # of the last step
    finished: Bool[Tensor, "B K"]
    ranks: Float[Tensor, "B K"]


@dataclass(frozen=True)
class Frontier:
    """Where a search stands; the decoder's state follows the paths when they are next read."""

    state: Any  # the decoder's, as it was after the last step
    limits: Limits
    sentences: Int[Tensor, "B"]  # which sentence of the batch each still is
    totals: Float[Tensor, "B K"]  # log-probability of each path
    lengths: Int[Tensor, "B K"]  # tokens of each path
    finished: Bool[Tensor, "B K"]
    steps: Int[Tensor, "B"]  # made by each sentence
    some: bool = False  # whether any path has finished
    step: Step | None = None
    depth: int = 0  # steps that lead here; more than a sentence's own where it joined later
    rows: Int[Tensor, "R"] | None = None  # of the state, that paths go on from, if not in order
    kept: Int[Tensor, "R"] | None = None  # rows of the last step still searched, if not all are
    places: Int[Tensor, "B"] | None = None  # the sentences of the state that they belong to
    history: Int[Tensor, "R T"] | None = None  # tokens of each path, where rules look at them
    attended: Float[Tensor, "B K S"] | None = None  # summed over steps, where coverage counts
    carried: tuple[Tensor, ...] = ()  # what else is kept for each path, (B, K), or sentence, (B)
    left: tuple[Left, ...] = ()

    @classmethod
    def start(cls, state: Any, limits: Limits, *, covers: bool = False) -> "Frontier":
        """One empty path for each sentence; with `covers`, attention is summed up."""
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
            attended=torch.zeros(count, 1, 0, device=device) if covers else None,
        )

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        return len(self.sentences) == 0

    @property
    def width(self) -> int:
        """Paths for each sentence."""
        return self.totals.shape[1]

    @property
    def settling(self) -> bool:
        """Whether a sentence may be done: a path has finished, or has no room."""
        return self.some or bool(self.full.any())

    @property
    def lines(self) -> Int[Tensor, "B"]:
        """The numbers that random draws of each sentence come from."""
        return self.sentences if self.limits.lines is None else self.limits.lines

    @property
    def full(self) -> Bool[Tensor, "B"]:
        """Sentences whose paths have no room for another token."""
        return self.limits.longest <= self.steps

    @property
    def written(self) -> Written:
        """The paths as rules see them; the tokens are there only where there are rules."""
        paths = self.width
        history = self.history
        if history is None:
            history = self.sentences.new_zeros(self.totals.numel(), 0)
        lengths, shortest = self.lengths.flatten(), self.limits.shortest
        room = self.limits.longest.repeat_interleave(paths) - lengths
        due = torch.zeros_like(room)
        if shortest is not None:
            due = shortest.repeat_interleave(paths) - lengths
        return Written(history, lengths, self.sentences.repeat_interleave(paths), room, due)

    def read(self, decoder: Decoder[Any], *, living: bool = False) -> Choices:
        """Read each path's last token: what may come next, and the state after it.

        What may not be written has logit −∞, yet counts in the sum: probabilities are the model's.
        With `living`, nothing is computed for what might follow a finished path.
        """
        features, state = decoder.read(self._inputs()[:, None], self.followed())
        hidden, rows = features.hidden[:, -1], None
        if living and self.some:
            rows = (~self.finished).flatten().nonzero().squeeze(1)
            hidden = hidden.index_select(0, rows)
        logits = decoder.write(hidden)
        norms = _checked(log_sum(logits))
        written = None
        if self.limits.ruled:
            written = self.written if rows is None else self.written.select(rows)
        logits = self.limits.allowed(logits, written)
        attention = None if features.attention is None else features.attention[:, -1]
        choices = Choices(logits, norms, state, Notes(attention), rows)
        if not self.limits.noted:
            return choices
        scores, tokens = choices.best(self.limits.noted, self.totals.numel())
        return choices._replace(notes=Notes(attention, tokens, scores))

    def grow(self, choices: Choices, forks: Forks) -> "Frontier":
        """The paths with one more token; one that cannot go on is finished, and impossible."""
        rows = self._rows(forks.parents)
        ended, totals, tokens = self.finished, self.totals, forks.tokens
        steps = self.steps + 1
        lengths = steps[:, None].expand_as(tokens)
        if forks.parents is not None:
            totals = totals.gather(1, forks.parents)
        totals = totals + forks.gains
        if self.some:
            before = self.lengths
            if forks.parents is not None:
                ended, before = (v.gather(1, forks.parents) for v in (ended, before))
            lengths = torch.where(ended, before, lengths)
            tokens = tokens.masked_fill(ended, EMPTY)
        elif forks.parents is not None:
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
            some=bool(finished.any()),
            steps=steps,
            step=Step(flat, forks.gains.flatten(), rows, choices.notes, self.kept, self.step),
            depth=self.depth + 1,
            rows=rows,
            kept=None,
            places=None,
            history=self._history(flat, rows),
            attended=self._covered(choices.notes.attention, rows, ended),
        )

    def leave(self, done: Bool[Tensor, "B"], ranks: Float[Tensor, "B K"]) -> "Frontier":
        """The frontier without the sentences that are done; their paths are kept aside."""
        if self.step is None or not bool(done.any()):
            return self
        going = done.nonzero().squeeze(1)
        order = ranks[going].argsort(dim=1, descending=True, stable=True)  # (B', K)
        left = Left(
            self.sentences[going],
            self.steps[going],
            self.step,
            self.depth,
            going[:, None] * self.width + order,
            self.finished[going].gather(1, order),
            ranks[going].gather(1, order),
        )
        return replace(self.without(done), left=(*self.left, left))

    def without(self, gone: Bool[Tensor, "B"]) -> "Frontier":
        """The frontier without these sentences, which have no results, after its first step."""
        staying = (~gone).nonzero().squeeze(1)
        slots = torch.arange(self.width, device=staying.device).expand(len(staying), -1)
        return self._kept(staying, slots)

    def put_aside(self, chosen: Bool[Tensor, "B K"], ranks: Float[Tensor, "B K"]) -> "Frontier":
        """The same frontier, with these paths among what has left, each by itself."""
        if self.step is None or not bool(chosen.any()):
            return self
        rows = chosen.flatten().nonzero()  # (N, 1)
        places = rows[:, 0] // self.width
        left = Left(
            self.sentences[places],
            self.steps[places],
            self.step,
            self.depth,
            rows,
            self.finished.flatten()[rows],
            ranks.flatten()[rows],
        )
        return replace(self, left=(*self.left, left))

    def narrow(self, count: int, done: Bool[Tensor, "B"] | None = None) -> "Frontier":
        """The `count` first living paths of each sentence that is not done.

        Where there are fewer, paths that have finished are there for them, and impossible.
        """
        order = self.finished.byte().argsort(dim=1, stable=True)[:, :count]
        if done is None or not bool(done.any()):
            staying = torch.arange(len(order), device=order.device)
            kept = replace(self._kept(staying, order), limits=self.limits, places=None)
        else:
            staying = (~done).nonzero().squeeze(1)
            kept = self._kept(staying, order[staying])
        if not kept.some:
            return kept
        return replace(kept, totals=kept.totals.masked_fill(kept.finished, -torch.inf))

    def _kept(self, staying: Int[Tensor, "B2"], slots: Int[Tensor, "B2 K2"]) -> "Frontier":
        """Only these sentences, and of each of them only the paths in these slots."""
        rows = (staying[:, None] * self.width + slots).flatten()
        totals, lengths, finished = (
            values.flatten()[rows].view_as(slots)
            for values in (self.totals, self.lengths, self.finished)
        )
        attended = self.attended
        if attended is not None:
            attended = attended.flatten(0, 1)[rows].unflatten(0, slots.shape)
        kept = rows if self.kept is None else self.kept[rows]
        return replace(
            self,
            limits=self.limits.select(staying),
            sentences=self.sentences[staying],
            totals=totals,
            lengths=lengths,
            finished=finished,
            steps=self.steps[staying],
            some=bool(finished.any()),
            rows=rows if self.rows is None else self.rows[rows],
            kept=kept,
            places=staying if self.places is None else self.places[staying],
            history=None if self.history is None else self.history[rows],
            attended=attended,
            carried=tuple(values[staying] for values in self.carried),
        )

    def _inputs(self) -> Int[Tensor, "R"]:
        if self.step is None:
            return torch.full_like(self.sentences, self.limits.start)
        tokens = self.step.tokens
        return tokens if self.kept is None else tokens.index_select(0, self.kept)

    def followed(self) -> Any:
        """The decoder's state of each path."""
        return self.state if self.rows is None else self.state.select(self.rows, self.places)

    def _history(
        self, tokens: Int[Tensor, "R2"], rows: Int[Tensor, "R2"] | None
    ) -> Int[Tensor, "R2 T"] | None:
        """The tokens of each path, where they are looked at, with the newest in its place."""
        if self.history is None:
            return None
        history = self.history if rows is None else self.history.index_select(0, rows)
        at = self.steps.repeat_interleave(len(tokens) // len(self.steps))
        if int(at.max()) >= history.shape[1]:
            history = torch.cat([history, torch.full_like(tokens, EMPTY)[:, None]], dim=1)
        return history.scatter(1, at[:, None], tokens[:, None])

    def _rows(self, parents: Int[Tensor, "B K2"] | None) -> Int[Tensor, "R2"] | None:
        """The rows that paths continue, unless each goes on in its own place."""
        if parents is None or self.width == parents.shape[1] == 1:
            return None
        first = torch.arange(0, self.totals.numel(), self.width, device=parents.device)
        return (first[:, None] + parents).flatten()

    def _covered(
        self,
        attention: Float[Tensor, "R S"] | None,
        rows: Int[Tensor, "R2"] | None,
        ended: Bool[Tensor, "B K2"],
    ) -> Float[Tensor, "B K2 S"] | None:
        if self.attended is None:
            return None
        if attention is None:
            raise ConfigError(
                "outputs cannot be compared by coverage: this model has no attention to the source"
            )
        width = attention.shape[1]  # of the longest source; the rest was padding
        before = padded_to(self.attended.flatten(0, 1)[:, :width], [width])
        if rows is not None:
            before, attention = before.index_select(0, rows), attention.index_select(0, rows)
        after = before + attention.masked_fill(ended.flatten()[:, None], 0.0)
        return after.view(*ended.shape, -1)


def _checked(norms: Float[Tensor, "R"]) -> Float[Tensor, "R"]:
    """The sums; 0 where nothing is possible, so that nothing is gained, and an error for NaN."""
    if math.isfinite(float(norms.sum())):
        return norms
    norms = norms.masked_fill(norms == -torch.inf, 0.0)
    if not bool(norms.isfinite().all()):
        raise DivergedError("the model gives probabilities that are not numbers; train it again")
    return norms
