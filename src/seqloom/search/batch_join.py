"""Continuous batching: join two frontiers of the same search (S7.4).

Each sentence keeps its own count of steps, so its outputs do not depend on when others joined. Of
the finished paths, only those of sentences still searched are kept, with the steps that led to
them.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.model.state import pad_cat
from seqloom.search.frontier import FinishedSentences, Frontier, Notes, SearchStep

__all__ = ["drop_finished", "join_frontiers"]

SLACK = 16  # steps older than every sentence before the chain is truncated


def drop_finished(frontier: Frontier) -> Frontier:
    """Drop finished sentences and renumber the others from 0."""
    numbers = torch.arange(len(frontier.sentences), device=frontier.sentences.device)
    limits = frontier.limits.renumber(frontier.sentences)
    left = tuple(_renumber_finished_paths(frontier))
    return replace(frontier, limits=limits, sentences=numbers, finished_sentences=left)


def _renumber_finished_paths(frontier: Frontier) -> Iterator[FinishedSentences]:
    """The finished paths of sentences still searched, under their new numbers."""
    for left in frontier.finished_sentences:
        same = left.sentences[:, None] == frontier.sentences
        staying = same.any(dim=1)
        if bool(staying.any()):
            numbers = same[staying].byte().argmax(dim=1)
            parts = (left.steps, left.rows, left.finished, left.ranks)
            steps, rows, finished, ranks = (part[staying] for part in parts)
            yield FinishedSentences(numbers, steps, left.step, left.depth, rows, finished, ranks)


def join_frontiers(first: Frontier, second: Frontier) -> Frontier:
    """Join the unfinished sentences of two searches, those of the first before the others.

    If one has not made its first step (`Search.joins_before_first_step`), all its paths but the
    first are impossible. Both are consumed, and finished sentences are dropped.
    """
    if first.done or second.done:
        return drop_finished(second if first.done else first)
    width = max(first.width, second.width)
    (one, last), (two, other) = (_widen(drop_finished(each), width) for each in (first, second))
    steps = torch.cat([one.steps, two.steps])
    most = int(steps.max())
    step, depth = _truncate_steps(_merge_steps(last, other), max(one.depth, two.depth), most)
    history, attended = None, None
    if one.history is not None and two.history is not None:
        history = pad_cat(one.history, two.history)[:, :most]
    if one.attention_sums is not None and two.attention_sums is not None:
        attended = pad_cat(one.attention_sums, two.attention_sums)
    later = (
        each._replace(sentences=each.sentences + len(one.sentences))
        for each in two.finished_sentences
    )
    return Frontier(
        one.state.join(two.state),
        one.limits.join(two.limits),
        torch.cat([one.sentences, two.sentences + len(one.sentences)]),
        torch.cat([one.totals, two.totals]),
        torch.cat([one.lengths, two.lengths]),
        torch.cat([one.finished, two.finished]),
        steps,
        any_finished=one.any_finished or two.any_finished,
        step=step,
        depth=depth,
        history=history,
        attention_sums=attended,
        extras=tuple(torch.cat(pair) for pair in zip(one.extras, two.extras, strict=True)),
        finished_sentences=(*one.finished_sentences, *later),
    )


def _widen(frontier: Frontier, width: int) -> tuple[Frontier, SearchStep]:
    """Widen the frontier and its last step to `width` paths per sentence.

    Added paths are finished and impossible.
    """
    step = _start_step(frontier) if frontier.step is None else frontier.step
    count, device = frontier.totals.numel(), frontier.totals.device
    kept = (
        torch.arange(count, device=device) if frontier.active_rows is None else frontier.active_rows
    )
    state = frontier.path_states()
    if width == frontier.width:
        return replace(frontier, state=state), _select_rows(step, kept)
    places = torch.arange(width, device=device)
    dead = (places >= frontier.width).expand(len(frontier.totals), -1)
    slots = places.clamp(max=frontier.width - 1)
    rows = torch.arange(count, device=device).view_as(frontier.totals)[:, slots].flatten()
    widened = replace(
        frontier,
        state=state.select(rows),
        totals=frontier.totals[:, slots].masked_fill(dead, -torch.inf),
        lengths=frontier.lengths[:, slots],
        finished=frontier.finished[:, slots] | dead,
        any_finished=True,
        history=None if frontier.history is None else frontier.history[rows],
        attention_sums=None
        if frontier.attention_sums is None
        else frontier.attention_sums[:, slots],
        extras=tuple(
            part if part.dim() == 1 else _mask_dead(part[:, slots], dead)
            for part in frontier.extras
        ),
    )
    return widened, _select_rows(step, kept[rows])


def _start_step(frontier: Frontier) -> SearchStep:
    """The step before the first: `<start>` is read next, nothing is written yet."""
    tokens = torch.full_like(frontier.sentences, frontier.limits.start)
    return SearchStep(
        tokens, torch.zeros_like(frontier.totals).flatten(), None, Notes(), None, None
    )


def _mask_dead(values: Tensor, dead: Tensor) -> Tensor:
    return values.masked_fill(dead, -torch.inf) if values.is_floating_point() else values


def _select_rows(step: SearchStep, rows: Int[Tensor, "R"]) -> SearchStep:
    """Select rows of a step, each read in its own place; `previous_rows` is always set."""
    read = rows if step.parents is None else step.parents[rows]
    notes = Notes(*(None if note is None else note[read] for note in step.notes))
    kept = read if step.previous_rows is None else step.previous_rows[read]
    return SearchStep(step.tokens[rows], step.scores[rows], None, notes, kept, step.previous)


def _merge_steps(one: SearchStep, two: SearchStep) -> SearchStep:
    """Merge two steps of `_select_rows`, and all earlier steps that both have."""
    pairs = [(one, two)]
    while one.previous is not None and two.previous is not None:
        one, two = _previous_step(one), _previous_step(two)
        pairs.append((one, two))
    before, kept = one.previous or two.previous, None
    if before is not None:
        kept = torch.cat([_previous_rows(one), _previous_rows(two)])
    (one, two), *later = reversed(pairs)
    step = _cat_steps(one, two)._replace(previous_rows=kept, previous=before)
    for pair in later:
        step = _cat_steps(*pair)._replace(previous=step)
    return step


def _previous_step(step: SearchStep) -> SearchStep:
    """The previous step of the same paths in the same order."""
    if step.previous is None:
        raise ValueError("there is no step before the first")
    return _select_rows(step.previous, _previous_rows(step))


def _previous_rows(step: SearchStep) -> Int[Tensor, "R"]:
    """The rows of the previous step that a step of `_select_rows` continues; arbitrary for the
    first step.
    """
    if step.previous is None or step.previous_rows is None:
        return torch.zeros_like(step.tokens)
    return step.previous_rows


def _cat_steps(one: SearchStep, two: SearchStep) -> SearchStep:
    notes = (_cat_notes(one, two, *pair) for pair in zip(one.notes, two.notes, strict=True))
    tokens, scores = torch.cat([one.tokens, two.tokens]), torch.cat([one.scores, two.scores])
    return SearchStep(tokens, scores, None, Notes(*notes), None, None)


def _cat_notes(
    one: SearchStep, two: SearchStep, mine: Tensor | None, theirs: Tensor | None
) -> Tensor | None:
    """Concatenate the notes of both steps; zeros where nothing was noted."""
    known = mine if theirs is None else theirs
    if known is None:
        return None
    parts = (
        known.new_zeros(len(step.tokens), *known.shape[1:]) if part is None else part
        for step, part in ((one, mine), (two, theirs))
    )
    both: Tensor = pad_cat(*parts)
    return both


def _truncate_steps(step: SearchStep, depth: int, most: int) -> tuple[SearchStep, int]:
    """Truncate the chain of steps before the first step of the oldest sentence; return it with its
    length.
    """
    if depth <= 2 * most + SLACK:
        return step, depth
    steps = [step]
    while len(steps) < most and steps[-1].previous is not None:
        steps.append(steps[-1].previous)
    first, *later = reversed(steps)
    short = first._replace(previous=None)
    for each in later:
        short = each._replace(previous=short)
    return short, len(steps)
