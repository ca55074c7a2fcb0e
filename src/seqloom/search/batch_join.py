"""New sentences in a running search: two frontiers under the same search become one (SPEC S7.4).

Each sentence keeps its own count of steps, so what is found for it does not depend on when others
joined it. Of what has left a frontier, only paths are kept that were put aside before their
sentence was done, with the steps that led to them as they were then.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.model.state import beside
from seqloom.search.beam import Beam
from seqloom.search.frontier import Frontier, Left, Notes, Step
from seqloom.search.greedy import Greedy
from seqloom.search.patience import PatientBeam
from seqloom.search.protocol import Search

__all__ = ["joined", "joins_unbegun", "remaining"]

SLACK = 16  # steps older than every sentence that are borne before they are let go


def joins_unbegun(search: Search) -> bool:
    """Whether sentences may join before their first step, as all paths of one are compared."""
    return isinstance(search, Greedy | Beam | PatientBeam)


def remaining(frontier: Frontier) -> Frontier:
    """The sentences still searched, numbered from 0 anew; those that have left are forgotten."""
    numbers = torch.arange(len(frontier.sentences), device=frontier.sentences.device)
    limits = frontier.limits.renumbered(frontier.sentences)
    left = tuple(_aside(frontier))
    return replace(frontier, limits=limits, sentences=numbers, left=left)


def _aside(frontier: Frontier) -> Iterator[Left]:
    """What was put aside of sentences that are still searched, by their numbers anew."""
    for left in frontier.left:
        same = left.sentences[:, None] == frontier.sentences
        staying = same.any(dim=1)
        if bool(staying.any()):
            numbers = same[staying].byte().argmax(dim=1)
            parts = (left.steps, left.rows, left.finished, left.ranks)
            steps, rows, finished, ranks = (part[staying] for part in parts)
            yield Left(numbers, steps, left.step, left.depth, rows, finished, ranks)


def joined(first: Frontier, second: Frontier) -> Frontier:
    """The sentences that two searches are still at, those of the first before the others.

    Where one has not made its first step (`joins_unbegun`), all its paths but the first are
    impossible. Both are consumed, and sentences that have left are forgotten.
    """
    if first.done or second.done:
        return remaining(second if first.done else first)
    width = max(first.width, second.width)
    (one, last), (two, other) = (_in_place(remaining(each), width) for each in (first, second))
    steps = torch.cat([one.steps, two.steps])
    most = int(steps.max())
    step, depth = _shortened(_merged(last, other), max(one.depth, two.depth), most)
    history, attended = None, None
    if one.history is not None and two.history is not None:
        history = beside(one.history, two.history)[:, :most]
    if one.attended is not None and two.attended is not None:
        attended = beside(one.attended, two.attended)
    later = (each._replace(sentences=each.sentences + len(one.sentences)) for each in two.left)
    return Frontier(
        one.state.join(two.state),
        one.limits.join(two.limits),
        torch.cat([one.sentences, two.sentences + len(one.sentences)]),
        torch.cat([one.totals, two.totals]),
        torch.cat([one.lengths, two.lengths]),
        torch.cat([one.finished, two.finished]),
        steps,
        some=one.some or two.some,
        step=step,
        depth=depth,
        history=history,
        attended=attended,
        carried=tuple(torch.cat(pair) for pair in zip(one.carried, two.carried, strict=True)),
        left=(*one.left, *later),
    )


def _in_place(frontier: Frontier, width: int) -> tuple[Frontier, Step]:
    """The frontier with `width` paths a sentence, and its last step, with a row for each of them.

    Paths that are added are finished and impossible.
    """
    step = _unwritten(frontier) if frontier.step is None else frontier.step
    count, device = frontier.totals.numel(), frontier.totals.device
    kept = torch.arange(count, device=device) if frontier.kept is None else frontier.kept
    state = frontier.followed()
    if width == frontier.width:
        return replace(frontier, state=state), _rows_of(step, kept)
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
        some=True,
        history=None if frontier.history is None else frontier.history[rows],
        attended=None if frontier.attended is None else frontier.attended[:, slots],
        carried=tuple(
            part if part.dim() == 1 else _unlikely(part[:, slots], dead)
            for part in frontier.carried
        ),
    )
    return widened, _rows_of(step, kept[rows])


def _unwritten(frontier: Frontier) -> Step:
    """What stands for the step before the first: `<start>` is read next, nothing is written yet."""
    tokens = torch.full_like(frontier.sentences, frontier.limits.start)
    return Step(tokens, torch.zeros_like(frontier.totals).flatten(), None, Notes(), None, None)


def _unlikely(values: Tensor, dead: Tensor) -> Tensor:
    return values.masked_fill(dead, -torch.inf) if values.is_floating_point() else values


def _rows_of(step: Step, rows: Int[Tensor, "R"]) -> Step:
    """The step of these of its rows, each read in its own place; `kept` is always told."""
    read = rows if step.parents is None else step.parents[rows]
    notes = Notes(*(None if note is None else note[read] for note in step.notes))
    kept = read if step.kept is None else step.kept[read]
    return Step(step.tokens[rows], step.scores[rows], None, notes, kept, step.before)


def _merged(one: Step, two: Step) -> Step:
    """Two steps of `_rows_of` as one, and so all steps before them that both have."""
    pairs = [(one, two)]
    while one.before is not None and two.before is not None:
        one, two = _before(one), _before(two)
        pairs.append((one, two))
    before, kept = one.before or two.before, None
    if before is not None:
        kept = torch.cat([_origins(one), _origins(two)])
    (one, two), *later = reversed(pairs)
    step = _side_by_side(one, two)._replace(kept=kept, before=before)
    for pair in later:
        step = _side_by_side(*pair)._replace(before=step)
    return step


def _before(step: Step) -> Step:
    """The step before, of the same paths in the same order."""
    if step.before is None:
        raise ValueError("there is no step before the first")
    return _rows_of(step.before, _origins(step))


def _origins(step: Step) -> Int[Tensor, "R"]:
    """The rows of the step before that a step of `_rows_of` continues; any, if it is the first."""
    if step.before is None or step.kept is None:
        return torch.zeros_like(step.tokens)
    return step.kept


def _side_by_side(one: Step, two: Step) -> Step:
    notes = (_both(one, two, *pair) for pair in zip(one.notes, two.notes, strict=True))
    tokens, scores = torch.cat([one.tokens, two.tokens]), torch.cat([one.scores, two.scores])
    return Step(tokens, scores, None, Notes(*notes), None, None)


def _both(one: Step, two: Step, mine: Tensor | None, theirs: Tensor | None) -> Tensor | None:
    """What explains both steps; nothing was noted where nothing was written."""
    known = mine if theirs is None else theirs
    if known is None:
        return None
    parts = (
        known.new_zeros(len(step.tokens), *known.shape[1:]) if part is None else part
        for step, part in ((one, mine), (two, theirs))
    )
    both: Tensor = beside(*parts)
    return both


def _shortened(step: Step, depth: int, most: int) -> tuple[Step, int]:
    """The last step with the way back to the first of the oldest sentence, and its length."""
    if depth <= 2 * most + SLACK:
        return step, depth
    steps = [step]
    while len(steps) < most and steps[-1].before is not None:
        steps.append(steps[-1].before)
    first, *later = reversed(steps)
    short = first._replace(before=None)
    for each in later:
        short = each._replace(before=short)
    return short, len(steps)
