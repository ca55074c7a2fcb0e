"""Connectionist temporal classification (CTC): an auxiliary layer, and a decoder (S1.1).

At each step of the encoder there is a distribution over the target's symbols and a blank. A path
takes one of them at each step; with repeats merged and blanks dropped it becomes a labelling, and
the probability of a labelling is the sum over all paths that become it.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.config import DECODERS, CTCDecoderConfig
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, START
from seqloom.model.connections import STATES, Connection, ConnectionNode, Connections
from seqloom.model.parts import DecoderModule, DecoderSizes
from seqloom.model.state import Features, Memory, State
from seqloom.nn.modules import Dropout, Readout

__all__ = [
    "BLANK",
    "CTCDecoder",
    "CTCLayer",
    "CTCState",
    "FrameScores",
    "NextSymbolSteps",
    "PrefixScores",
]

BLANK = EMPTY  # the id of the blank
NOT_LABELS = (START, END)  # never emitted at a step
CLOSED = -1e4  # a score with probability 0 for which torch's loss has a finite gradient
IMPOSSIBLE = -1e30  # a finite logarithm of 0, so that gradients are finite
AT_ONCE = 2**22  # number of scores (prefixes × steps × symbols) held at once


class CTCLayer(nn.Module):
    """Logits of every symbol at every step of an encoder; id `<empty>` is the blank.

    Kim et al. 2017, Joint CTC-Attention based End-to-End Speech Recognition using Multi-task
    Learning.
    """

    def __init__(self, width: int, symbols: int, *, share: float) -> None:
        """`share` is the weight of CTC in the loss."""
        super().__init__()
        self.share = share
        self.output = nn.Linear(width, symbols)

    def forward(self, states: Float[Tensor, "B S D"]) -> Float[Tensor, "B S V"]:
        scores: Tensor = self.output(states)
        return scores


class PrefixScores(NamedTuple):
    """A prefix of a labelling, with the log-probabilities of all paths that collapse to it in the
    first t steps, for t = 0, 1, …, ending in a blank or not.
    """

    blank: Float[Tensor, "R S1"]
    label: Float[Tensor, "R S1"]
    last: Int[Tensor, "R"]  # the prefix's last symbol; `<empty>` if it has none


class FrameScores(NamedTuple):
    """The log-probability of each symbol at each step, and which steps are real."""

    symbols: Float[Tensor, "B S V"]
    mask: Bool[Tensor, "B S"]


class CTCState(State[PrefixScores, FrameScores]):
    """The state of a CTC decoder."""


@DECODERS.part("ctc")
class CTCDecoder(DecoderModule):
    """Decodes a labelling symbol by symbol with its exact probability, summed over all alignments.

    The probability of the next symbol is that of all labellings that start with the prefix and this
    symbol, divided by that of all that start with the prefix; `<end>` has the share of the prefix
    itself. So the product over a labelling's symbols is the sum over its paths, and every search
    works as with any decoder.

    Graves et al. 2006, Connectionist Temporal Classification; prefix probabilities: Graves 2008,
    Supervised Sequence Labelling with Recurrent Neural Networks, section 7.5.
    """

    sums_alignments = True

    def __init__(self, readout: Readout, symbols: int, *, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.readout = readout
        self.output = nn.Linear(readout.width, symbols)
        self.alignment = NextSymbolSteps()

    @classmethod
    def build(cls, options: CTCDecoderConfig, sizes: DecoderSizes) -> "CTCDecoder":
        """Build the decoder over an encoder's states; ConfigError if these are not in order."""
        if sizes.source.states is None:
            raise ConfigError(
                "model.decoder.kind = 'ctc' aligns the target with the steps of a source, and "
                "model.encoder.kind is 'none'",
                remedy="choose recurrent or transformer",
            )
        if sizes.model.reverse_source:
            raise ConfigError(
                "model.decoder.kind = 'ctc' writes in the order of the source, and "
                "model.reverse_source turns it round",
                remedy="set model.reverse_source=false",
            )
        readout = Readout(sizes.source.states, options.readout)
        return cls(readout, sizes.outputs, dropout=options.dropout)

    @property
    def width(self) -> int:
        return self.output.out_features

    @property
    def attends(self) -> bool:
        return True

    def forward(self, states: Float[Tensor, "B S D"]) -> Float[Tensor, "B S V"]:
        """Logits of every symbol at every step; special symbols have probability 0."""
        scores: Tensor = self.output(self.readout(self.dropout(states)))
        return scores.masked_fill(_marks(scores, NOT_LABELS), CLOSED)

    def start(self, memory: Memory, *, trace: bool = False) -> CTCState:
        states, mask = memory.states_and_mask()
        symbols = self(states).double().log_softmax(-1)
        symbols = symbols.masked_fill(_marks(symbols, NOT_LABELS), IMPOSSIBLE)
        blanks = symbols[:, :, BLANK].masked_fill(~mask, 0.0).cumsum(dim=1)
        blank = torch.cat([torch.zeros_like(blanks[:, :1]), blanks], dim=1)
        last = torch.full((len(blank),), EMPTY, dtype=torch.int64, device=blank.device)
        prefix = PrefixScores(blank, torch.full_like(blank, IMPOSSIBLE), last)
        return CTCState(prefix, FrameScores(symbols, mask), trace)

    def read(self, inputs: Int[Tensor, "R T"], state: CTCState) -> tuple[Features, CTCState]:
        prefix, frames = state.own, state.shared
        hidden, weights = [], []
        for tokens in inputs.unbind(dim=1):
            prefix = _extend(prefix, frames, tokens)
            scores, onsets = self._next_symbols(prefix, frames, trace=state.trace)
            hidden.append(_normalize(scores).to(self.output.weight.dtype))
            if onsets is not None:
                weights.append(self.alignment(onsets, scores[:, END], frames.mask))
        attention = None
        if weights:
            attention = torch.stack(weights, dim=1).to(self.output.weight.dtype)
        return Features(torch.stack(hidden, dim=1), attention), CTCState(
            prefix, frames, state.trace
        )

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Return the features, which are log-probabilities already."""
        return hidden.clone()

    def connections(self) -> Connections:
        """Every symbol depends on all source steps and on every symbol before it."""
        return Connections(
            (ConnectionNode("decoder.input", "input"), ConnectionNode("decoder.output", "output")),
            (
                Connection("decoder.output", "decoder.input", "feedback", "previous"),
                Connection("decoder.input", "decoder.output", "up", "until"),
                Connection(STATES, "decoder.output", "attention", "all"),
            ),
        )

    def _next_symbols(
        self, prefix: PrefixScores, frames: FrameScores, *, trace: bool
    ) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R S"] | None]:
        """The log-probability of all paths that continue a prefix with each symbol, and with any
        symbol at each step; that of `<end>` is the prefix's own.
        """
        sentences, steps, symbols = frames.symbols.shape
        rows = len(prefix.last)
        some = max(1, AT_ONCE // (rows // sentences * steps * symbols))
        scores, onsets = [], []
        paths = [each.unflatten(0, (sentences, -1)) for each in prefix]
        for parts in zip(*(each.split(some) for each in (*paths, *frames)), strict=True):
            joint = _continuations(PrefixScores(*parts[:3]), FrameScores(*parts[3:]))
            scores.append(joint.logsumexp(dim=2).flatten(0, 1))
            if trace:
                onsets.append(joint.logsumexp(dim=3).flatten(0, 1))
        lengths = _rows_of(frames.mask.sum(dim=1), rows)[:, None]
        whole = torch.logaddexp(prefix.blank, prefix.label).gather(1, lengths)
        every = torch.cat(scores).index_copy(1, torch.tensor([END], device=whole.device), whole)
        return every, torch.cat(onsets) if trace else None


class NextSymbolSteps(nn.Module):
    """The distribution over the step at which the next symbol begins, given those before it.

    The last step also has the probability that no symbol follows.
    """

    def forward(
        self,
        onsets: Float[Tensor, "R S"],
        ends: Float[Tensor, "R"],
        mask: Bool[Tensor, "B S"],
    ) -> Float[Tensor, "R S"]:
        real = _rows_of(mask, len(onsets))
        final = real.sum(dim=1, keepdim=True) - 1
        at_end = torch.full_like(onsets, IMPOSSIBLE).scatter(1, final, ends[:, None])
        sums = torch.logaddexp(onsets, at_end)
        fallback = torch.zeros_like(onsets).scatter(1, final, 1.0)
        possible = sums.amax(dim=1, keepdim=True) > IMPOSSIBLE / 2
        return torch.where(possible, sums.softmax(dim=1), fallback) * real

    def weigh(self, *inputs: Tensor) -> Float[Tensor, "R 1 1 S"]:
        """The same, as the weights of one head at one step."""
        return self.forward(*inputs)[:, None, None]


def _marks(scores: Float[Tensor, "*rows V"], symbols: tuple[int, ...]) -> Bool[Tensor, "V"]:
    """True at these symbols."""
    marks = torch.zeros(scores.shape[-1], dtype=torch.bool, device=scores.device)
    marks[list(symbols)] = True
    return marks


def _rows_of(values: Tensor, rows: int) -> Tensor:
    """The values of each row's sentence."""
    return values.repeat_interleave(rows // len(values), dim=0)


def _continuations(prefix: PrefixScores, frames: FrameScores) -> Float[Tensor, "B K S V"]:
    """The log-probability of all paths of a prefix that emit the next symbol at a step, for each
    step and symbol. A symbol equal to the last one needs a blank in between.
    """
    before, blank = torch.logaddexp(prefix.blank, prefix.label)[..., :-1], prefix.blank[..., :-1]
    symbols = frames.symbols[:, None].expand(-1, before.shape[1], -1, -1)
    last = prefix.last[:, :, None, None].expand(*before.shape, 1)
    joint = before[..., None] + symbols
    joint = joint.scatter(3, last, blank[..., None] + symbols.gather(3, last))
    return joint.masked_fill(_marks(joint, (BLANK,)) | ~frames.mask[:, None, :, None], IMPOSSIBLE)


def _extend(prefix: PrefixScores, frames: FrameScores, tokens: Int[Tensor, "R"]) -> PrefixScores:
    """The prefixes with one more symbol each; special symbols leave a prefix as it is.

    `label[t] = y[t] (label[t-1] + before[t-1])` is a linear recurrence, and so is `blank`, which a
    cumulative sum solves for all steps at once.
    """
    rows, (symbols, mask) = len(tokens), frames
    shown = symbols[:, None].expand(-1, rows // len(symbols), -1, -1).flatten(0, 1)
    real = _rows_of(mask, rows)
    own = shown.gather(2, tokens[:, None, None].expand(-1, shown.shape[1], 1))[:, :, 0]
    repeats = (tokens == prefix.last)[:, None]
    before = torch.where(repeats, prefix.blank, torch.logaddexp(prefix.blank, prefix.label))
    label = _solve(own.masked_fill(~real, 0.0), before[:, :-1])
    blank = _solve(shown[:, :, BLANK].masked_fill(~real, 0.0), label[:, :-1])
    stays = torch.isin(tokens, torch.tensor((BLANK, *NOT_LABELS), device=tokens.device))[:, None]
    return PrefixScores(
        torch.where(stays, prefix.blank, blank),
        torch.where(stays, prefix.label, label),
        torch.where(stays[:, 0], prefix.last, tokens),
    )


def _solve(logs: Float[Tensor, "R S"], entering: Float[Tensor, "R S"]) -> Float[Tensor, "R S1"]:
    """`x[t] = y[t] (x[t-1] + e[t-1])` from x[0] = 0, all in logarithms."""
    sums = logs.cumsum(dim=1)
    earlier = sums - logs
    found = sums + torch.logcumsumexp(entering - earlier, dim=1)
    first = torch.full_like(found[:, :1], IMPOSSIBLE)
    return torch.cat([first, found.clamp(min=IMPOSSIBLE)], dim=1)


def _normalize(scores: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
    """Normalized log-probabilities; for a prefix without a path, `<end>` has probability 1."""
    scores = scores.masked_fill(scores < IMPOSSIBLE / 2, -torch.inf)
    ended = torch.full_like(scores, -torch.inf)
    ended[:, END] = 0.0
    possible = (scores > -torch.inf).any(dim=1, keepdim=True)
    return torch.where(possible, scores, ended).log_softmax(-1)
