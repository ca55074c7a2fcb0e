"""A conformance suite for whatever claims the decoder protocol.

`check_decoder` takes any model with its encoder and proves the laws that search and training rest
on, in float64 to 1e-9, then in float32 to 1e-4. Each law is a function of its own below.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import torch
from torch import Tensor

from seqloom.fields import EMPTY, END, START
from seqloom.model import Decoder, Features, SequenceModel, Source
from seqloom.search import Beam, Greedy, Hypothesis, Limits, Ranking, Search, run_to_end

__all__ = ["Subject", "check_decoder", "check_wide_beam"]

EXACT = 1e-9  # of float64
CLOSE = 1e-4  # of float32
FORBIDDEN = (EMPTY, START)  # with `<unk>`, a word like any other here, there is more to search
POWERS = (0.0, 1.0)  # of the length that outputs are compared by


@dataclass(frozen=True)
class Subject:
    """A model in use, a batch of sources, and where the tokens it reads are drawn from."""

    model: SequenceModel
    source: Source
    random: torch.Generator
    vocabulary: int
    attends: bool = True  # whether a traced state must give the weights of attention

    @property
    def decoder(self) -> Decoder[Any]:
        return self.model.decoder

    @property
    def sentences(self) -> Tensor:
        return torch.arange(len(self.source.lengths))

    def state(self, sentences: Tensor | None = None) -> Any:
        """The traced state before the first token of these sentences, or of all."""
        chosen = self.sentences if sentences is None else sentences
        source = Source(self.source.values[chosen], self.source.lengths[chosen])
        return self.decoder.start(self.model.encoder.encode(source), trace=True)

    def recompute(self, sentences: Tensor, histories: Tensor) -> Features:
        """What one read of whole histories gives, each on its own sentence, from the start."""
        features, _ = self.decoder.read(histories, self.state(sentences))
        return features

    def draw(self, low: int, high: int, *shape: int) -> Tensor:
        """Whole numbers from `low` to below `high`."""
        return torch.randint(low, high, shape, generator=self.random)

    def tokens(self, rows: int, steps: int) -> Tensor:
        """Any tokens a decoder may have to read."""
        return self.draw(EMPTY, self.vocabulary, rows, steps)

    def search(self, search: Search, longest: Tensor) -> list[list[Hypothesis]]:
        return run_to_end(search, self.decoder, self.state(), Limits(longest, forbidden=FORBIDDEN))


@torch.no_grad()
def check_decoder(
    model: SequenceModel, source: Source, *, vocabulary: int, seed: int, attends: bool = True
) -> None:
    """Prove every law for this model, in evaluation mode, on these sources.

    The model is in float64; a small vocabulary, of seven at most, keeps brute force quick.
    """
    subject = Subject(model, source, torch.Generator().manual_seed(seed), vocabulary, attends)
    check_reads_add_up(subject)
    check_select_is_recompute(subject)
    check_forks_are_independent(subject)
    check_neighbours_change_nothing(subject)
    check_attention_is_a_distribution(subject)
    check_beam_of_one_is_greedy(subject)
    check_scores_are_rescored(subject)
    check_wide_beam(subject)
    check_single_precision(subject)


def check_reads_add_up(subject: Subject) -> None:
    """One read of T equals T reads of one, and every other way to cut it (S5.7)."""
    tokens = subject.tokens(len(subject.sentences), 5)
    whole = subject.recompute(subject.sentences, tokens)
    for cuts in ([1, 1, 1, 1, 1], [2, 3], [3, 2], [1, 4]):
        state, parts = subject.state(), []
        for piece in tokens.split(cuts, dim=1):
            features, state = subject.decoder.read(piece, state)
            parts.append(features)
        assert_same(joined(parts), whole)


def check_select_is_recompute(subject: Subject) -> None:
    """However paths are reordered, repeated and dropped, and sentences with them, each remembers
    exactly its own history (S7.3)."""
    state, sentences, paths = subject.state(), subject.sentences, 1
    histories = torch.empty(len(sentences), 0, dtype=torch.int64)
    for turn, wanted in enumerate((1, 3, 2, 4, 1)):
        staying = torch.randperm(len(sentences), generator=subject.random)
        if turn % 2:
            staying = staying[: max(1, len(staying) - 1)]
        slots = subject.draw(0, paths, len(staying), wanted)
        rows = (staying[:, None] * paths + slots).flatten()
        state, histories = state.select(rows, staying), histories[rows]
        sentences, paths = sentences[staying], wanted
        more = subject.tokens(len(rows), 1 + turn % 2)
        features, state = subject.decoder.read(more, state)
        histories = torch.cat([histories, more], dim=1)
        expected = subject.recompute(sentences.repeat_interleave(paths), histories)
        assert_same(features, latest(expected, more.shape[1]))
    assert_select_without_sentences_keeps_them(subject)


def assert_select_without_sentences_keeps_them(subject: Subject) -> None:
    """Paths follow their parents within their sentences; what sentences share stays."""
    tokens, count = subject.tokens(len(subject.sentences), 2), len(subject.sentences)
    _, state = subject.decoder.read(tokens, subject.state())
    rows = subject.sentences.repeat_interleave(2)
    more = subject.tokens(2 * count, 1)
    features, _ = subject.decoder.read(more, state.select(rows))
    expected = subject.recompute(rows, torch.cat([tokens[rows], more], dim=1))
    assert_same(features, latest(expected, 1))


def check_forks_are_independent(subject: Subject) -> None:
    """After `select`, a state and its copies go on in different ways, in any order."""
    histories = [subject.tokens(len(subject.sentences), 3)] * 3
    _, state = subject.decoder.read(histories[0][:, :2], subject.state())
    _, state = subject.decoder.read(histories[0][:, 2:], state)
    forks = [state.select(subject.sentences), state.select(subject.sentences), state]
    for turn in range(3):
        for number in torch.randperm(3, generator=subject.random).tolist():
            more = subject.tokens(len(subject.sentences), 1 + (turn + number) % 2)
            features, forks[number] = subject.decoder.read(more, forks[number])
            histories[number] = torch.cat([histories[number], more], dim=1)
            expected = subject.recompute(subject.sentences, histories[number])
            assert_same(features, latest(expected, more.shape[1]))


def check_neighbours_change_nothing(subject: Subject) -> None:
    """Padding, its content, batch mates and their order leave features and outputs as they are."""
    tokens = subject.tokens(len(subject.sentences), 4)
    together = subject.recompute(subject.sentences, tokens)
    order = torch.randperm(len(tokens), generator=subject.random)
    assert_same(subject.recompute(order, tokens[order]), rows_of(together, order))
    padded = repadded(subject)
    wider = padded.recompute(subject.sentences, tokens)
    assert_same(without_padding(wider, subject.source.values.shape[1]), together)
    longest, search = subject.draw(2, 6, len(tokens)), Beam(3, Ranking(power=1.0), n_best=2)
    found = subject.search(search, longest)
    assert_outputs_same(padded.search(search, longest), found)
    for number, alone in enumerate(singles(subject)):
        features = alone.recompute(alone.sentences, tokens[number : number + 1])
        mine = rows_of(together, torch.tensor([number]))
        assert_same(features, without_padding(mine, alone.source.values.shape[1]))
        result = alone.search(search, longest[number : number + 1])
        assert_outputs_same(result, found[number : number + 1])


def check_attention_is_a_distribution(subject: Subject) -> None:
    """Traced weights sum to 1 over real positions and are exactly 0 at padding; tracing changes
    nothing else (S4, S4.6)."""
    tokens = subject.tokens(len(subject.sentences), 3)
    traced = subject.recompute(subject.sentences, tokens)
    memory = subject.model.encoder.encode(subject.source)
    untraced, _ = subject.decoder.read(tokens, subject.decoder.start(memory))
    assert untraced.attention is None
    assert_close(untraced.hidden, traced.hidden)
    assert (traced.attention is not None) == subject.attends
    if traced.attention is None:
        return
    width = subject.source.values.shape[1]
    padding = torch.arange(width) >= subject.source.lengths[:, None, None]
    assert bool((traced.attention.masked_select(padding) == 0).all())
    assert bool((traced.attention >= 0).all())
    assert_close(traced.attention.sum(-1), torch.ones(traced.attention.shape[:2]))


def check_beam_of_one_is_greedy(subject: Subject) -> None:
    """One path is the greedy path, however outputs are compared (S7.1, S7.3)."""
    longest = subject.draw(1, 7, len(subject.sentences))
    greedy = subject.search(Greedy(), longest)
    for power in POWERS:
        beam = subject.search(Beam(1, Ranking(power=power)), longest)
        assert_outputs_same(beam, greedy)


def check_scores_are_rescored(subject: Subject) -> None:
    """What a search reports of an output is what reading that output gives (S7.4)."""
    longest = subject.draw(1, 6, len(subject.sentences))
    searches: list[tuple[Search, float]] = [
        (Greedy(), 0.0),
        *((Beam(4, Ranking(power=p), n_best=3), p) for p in POWERS),
    ]
    for search, power in searches:
        for number, found in enumerate(subject.search(search, longest)):
            for output in found:
                assert_rescored(subject, number, output)
                steps = len(output.token_scores)
                assert abs(output.rank_score - output.score / steps**power) < EXACT
                assert steps <= longest[number]


def check_wide_beam(subject: Subject) -> None:
    """A beam that can hold every path finds the best of all outputs, in order (RELIABILITY C1)."""
    longest = subject.draw(1, 4, len(subject.sentences))
    words = subject.vocabulary - len((*FORBIDDEN, END))
    width = sum(words**length for length in range(int(longest.max()) + 1))
    scored = [brute_force(subject, number, int(most)) for number, most in enumerate(longest)]
    for power in POWERS:
        found = subject.search(Beam(width, Ranking(power=power), n_best=3), longest)
        for outputs, everything in zip(found, scored, strict=True):
            ranked = {tokens: s / (len(tokens) + 1) ** power for tokens, s in everything.items()}
            expected = sorted(ranked, key=lambda tokens: -ranked[tokens])[:3]
            assert [output.tokens for output in outputs] == expected
            for output in outputs:
                assert output.finished
                assert abs(output.score - everything[output.tokens]) < EXACT
                assert abs(output.rank_score - ranked[output.tokens]) < EXACT


def check_single_precision(subject: Subject) -> None:
    """In float32 log-probabilities are right to 1e-4, and batch mates change an output only where
    two candidates are as close as that."""
    single = replace(subject, model=deepcopy(subject.model).float())
    tokens = subject.tokens(len(subject.sentences), 5)
    exact = log_probabilities(subject, subject.recompute(subject.sentences, tokens))
    rounded = log_probabilities(single, single.recompute(subject.sentences, tokens))
    assert_close(rounded.double(), exact, CLOSE)
    longest, search = torch.full_like(subject.source.lengths, 4), Beam(2, Ranking(power=1.0))
    together = single.search(search, longest)
    for number, alone in enumerate(singles(single)):
        (mine,), (expected,) = alone.search(search, longest[:1])[0], together[number]
        assert abs(mine.rank_score - expected.rank_score) < CLOSE
        if mine.tokens == expected.tokens:
            assert abs(mine.score - expected.score) < CLOSE


def brute_force(subject: Subject, number: int, longest: int) -> dict[tuple[int, ...], float]:
    """The log-probability of every output of a sentence that ends within `longest` tokens."""
    words = [token for token in range(subject.vocabulary) if token not in (*FORBIDDEN, END)]
    scores: dict[tuple[int, ...], float] = {}
    for length in range(longest):
        outputs = list(product(words, repeat=length))
        written = torch.tensor([[*output, END] for output in outputs])
        inputs = torch.cat([torch.full_like(written[:, :1], START), written[:, :-1]], dim=1)
        features = subject.recompute(torch.full((len(outputs),), number), inputs)
        each = log_probabilities(subject, features).gather(2, written[:, :, None])
        scores.update(zip(outputs, each.sum(dim=(1, 2)).tolist(), strict=True))
    return scores


def log_probabilities(subject: Subject, features: Features) -> Tensor:
    return subject.decoder.write(features.hidden).log_softmax(-1)


def assert_rescored(subject: Subject, number: int, output: Hypothesis) -> None:
    written = [*output.tokens, END] if output.finished else list(output.tokens)
    inputs = torch.tensor([[START, *written[:-1]]])
    features = subject.recompute(torch.tensor([number]), inputs)
    scores = log_probabilities(subject, features)[0, range(len(written)), written]
    assert_close(exactly(output.token_scores), scores)
    assert abs(output.score - float(scores.sum())) < EXACT
    assert (output.attention is not None) == subject.attends
    if output.attention is not None and features.attention is not None:
        assert_close(torch.from_numpy(output.attention), features.attention[0])


def singles(subject: Subject) -> Iterator[Subject]:
    """Each sentence by itself, without padding."""
    tokens, lengths = subject.source
    for number, length in enumerate(lengths.tolist()):
        source = Source(tokens[number : number + 1, :length], lengths[number : number + 1])
        yield replace(subject, source=source)


def repadded(subject: Subject) -> Subject:
    """The same sentences with three more columns, and any special symbol in the padding."""
    tokens, lengths = subject.source
    wider = torch.nn.functional.pad(tokens, (0, 3))
    real = torch.arange(wider.shape[1]) < lengths[:, None]
    anything = subject.draw(EMPTY, END + 1, *wider.shape)
    return replace(subject, source=Source(wider.where(real, anything), lengths))


def joined(parts: list[Features]) -> Features:
    attention = [part.attention for part in parts if part.attention is not None]
    hidden = torch.cat([part.hidden for part in parts], dim=1)
    return Features(hidden, torch.cat(attention, dim=1) if attention else None)


def latest(features: Features, steps: int) -> Features:
    attention = features.attention
    return Features(
        features.hidden[:, -steps:], None if attention is None else attention[:, -steps:]
    )


def rows_of(features: Features, rows: Tensor) -> Features:
    attention = features.attention
    return Features(features.hidden[rows], None if attention is None else attention[rows])


def without_padding(features: Features, width: int) -> Features:
    """Attention to the first source positions only; to the others there must be none."""
    attention = features.attention
    if attention is None:
        return features
    assert bool((attention[:, :, width:] == 0).all())
    return Features(features.hidden, attention[:, :, :width])


def assert_same(actual: Features, expected: Features) -> None:
    assert_close(actual.hidden, expected.hidden)
    if expected.attention is None:
        assert actual.attention is None
    else:
        assert actual.attention is not None
        assert_close(actual.attention, expected.attention)


def assert_outputs_same(actual: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[each.tokens for each in found] for found in actual] == [
        [each.tokens for each in found] for found in expected
    ]
    for one, other in zip(chain(*actual), chain(*expected), strict=True):
        assert one.finished == other.finished
        assert_close(exactly(one.token_scores), exactly(other.token_scores))


def exactly(scores: Sequence[float]) -> Tensor:
    return torch.tensor(scores, dtype=torch.float64)


def assert_close(actual: Tensor, expected: Tensor, tolerance: float = EXACT) -> None:
    torch.testing.assert_close(
        actual, expected, rtol=0, atol=tolerance, check_dtype=False, check_stride=False
    )
