"""Dynamic beam allocation: paths compete with those that have met as many required tokens.

Without it, paths that postpone required words would fill the beam until the end of the output,
where the words are forced (after Post and Vilar, 2018).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.search.frontier import Choices, Frontier
from seqloom.search.limits import RequiredPhrases
from seqloom.search.topk import stable_topk

__all__ = ["TokenCandidates", "add_required_tokens", "bank_choice"]

TokenCandidates = tuple[Float[Tensor, "B K C"], Int[Tensor, "B K C"]]
"""Log-probabilities of possible next tokens, and the tokens."""


def add_required_tokens(
    frontier: Frontier, choices: Choices, required: RequiredPhrases, options: TokenCandidates
) -> tuple[Tensor, Tensor, Tensor]:
    """Add the tokens that continue a required phrase to the candidates; (B, K, N) each.

    The third result is the bank of each: how many required tokens the continued path has.
    """
    written = frontier.path_history
    missing = required.missing(written)
    words, gained = required.next_tokens(written, missing)  # (A), (R, A)
    extra = words.expand_as(gained)
    gains, tokens = (part.flatten(0, 1) for part in options)  # (R, C)
    value = choices.logits.gather(1, extra) - choices.norms[:, None]
    known = (extra[:, :, None] == tokens[:, None]).any(dim=2)
    twice = (words[:, None] == words).tril(-1)  # (A, A): the same token earlier in the list
    known |= (twice & (gained > 0)[:, None]).any(dim=2)
    idle = known | (gained == 0) | frontier.finished.flatten()[:, None]
    gains = torch.cat([gains, value.masked_fill(idle, -torch.inf)], dim=1)
    tokens = torch.cat([tokens, extra], dim=1)
    reached = ((tokens[:, :, None] == words) * gained[:, None]).amax(dim=2)
    banks = required.count_met_tokens(missing)[:, None] + reached
    shape = frontier.totals.shape
    return gains.unflatten(0, shape), tokens.unflatten(0, shape), banks.unflatten(0, shape)


def bank_choice(
    totals: Float[Tensor, "B N"], banks: Int[Tensor, "B N"], count: int
) -> Int[Tensor, "B C"]:
    """Choose the best continuation of each bank, then the second of each, until there are `count`.

    A bank holds the continuations with equally many required tokens; the fullest bank comes first.
    Post and Vilar 2018, Fast Lexically Constrained Decoding with Dynamic Beam Allocation.
    """
    order = totals.argsort(dim=1, descending=True, stable=True)
    order = order.gather(1, banks.gather(1, order).argsort(dim=1, descending=True, stable=True))
    sorted_banks, values = banks.gather(1, order), totals.gather(1, order)
    places = torch.arange(totals.shape[1], device=totals.device).expand_as(order)
    first = torch.ones_like(order, dtype=torch.bool)
    first[:, 1:] = sorted_banks[:, 1:] != sorted_banks[:, :-1]
    turns = places - (places * first).cummax(dim=1).values
    turns = turns.masked_fill(values == -torch.inf, totals.shape[1])
    chosen = turns.argsort(dim=1, stable=True)[:, :count]
    _, best = stable_topk(values.gather(1, chosen), count)
    return order.gather(1, chosen.gather(1, best))
