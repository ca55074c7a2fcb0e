"""Small tasks of the texts, each trained in a second: sentiment, tags, forecasts, next words."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.recurrent import Direction, RecurrentStack, StackOptions
from seqloom.nn.units import Gru

__all__ = ["forecasting_lesson", "language_model_lesson", "sentiment_lesson", "tagging_lesson"]

MOODS = ("happy", "sad", "indifferent")
SENTENCE = "I like reading this terribly instructive book"
CARE = "the sum takes Y(t, w_{t+1}), but Y(t, ·) is the distribution of w_t"


class WordNet(nn.Module):
    """Word embeddings, a GRU in one or both directions, and class logits at every word."""

    def __init__(self, words: Sequence[str], classes: int, direction: Direction) -> None:
        super().__init__()
        self.words = tuple(words)
        self.vectors = nn.Embedding(len(words), 12)
        self.stack = RecurrentStack(12, 12, Gru, StackOptions(direction=direction))
        self.output = nn.Linear(24 if direction == "both" else 12, classes)

    def forward(self, text: str) -> Tensor:
        places = torch.tensor([self.words.index(word) for word in text.split()])
        scores: Tensor = self.output(self.stack(self.vectors(places)[None], None)[0][0])
        return scores


def fit(net: nn.Module, cost: Callable[[], Tensor], updates: int, rate: float = 0.02) -> None:
    """Minimize a cost with Adam."""
    descent = torch.optim.Adam(net.parameters(), lr=rate)
    for _ in range(updates):
        descent.zero_grad()
        cost().backward()
        descent.step()


@lesson("sentiment", "Chapter 7: Figure 7.1 (b), sentiment", chapter="tasks")
def sentiment_lesson(*, text: str = SENTENCE, updates: int = 25) -> LessonResult:
    """Seven units, of which the last is judged by a softmax over three moods."""
    verbs = dict(zip(("like", "hate", "finish"), MOODS, strict=True))
    texts = {f"I {verb} reading this {how} {what} book": mood for verb, mood in verbs.items()
             for how in ("terribly", "rather") for what in ("instructive", "long")
             if (verb, how, what) != ("like", "terribly", "instructive")}  # fmt: skip
    words = sorted({word for each in (*texts, SENTENCE) for word in each.split()})
    net = draw_module(lambda: WordNet(words, len(MOODS), "forward"))
    targets = torch.tensor([MOODS.index(mood) for mood in texts.values()])
    fit(net, lambda: functional.cross_entropy(torch.stack([net(each)[-1] for each in texts]),
                                              targets), updates)  # fmt: skip
    with torch.no_grad():
        scores = net(text)
        chances = scores[-1].softmax(0)
    rows = [("mood", "probability")]
    rows += [(mood, f"{chance:.3f}") for mood, chance in zip(MOODS, chances.tolist(), strict=True)]
    return LessonResult(
        (
            ComparedNumber("units", 7, len(scores)),
            ComparedNumber("classes", 3, len(chances)),
            ComparedNumber("sum of the probabilities", 1, float(chances.sum()), 1e-9, by_hand=True),
            ComparedNumber("mood of the sentence, not among those learnt from", "happy",
                           MOODS[int(chances.argmax())], by_hand=True),
        ),
        text_table(rows, right=(1,)),
    )  # fmt: skip


TAGGED = {
    "we can fish": "PRON AUX VERB",
    "we can it": "PRON VERB PRON",
    "they can swim": "PRON AUX VERB",
    "they can fruit": "PRON VERB NOUN",
    "we can swim": "PRON AUX VERB",
    "they can it": "PRON VERB PRON",
}


@lesson(
    "tagging", "Chapter 7: two-way nets for tagging", "NLP 7: part-of-speech tagging",
    chapter="tasks",
)  # fmt: skip
def tagging_lesson(*, updates: int = 40) -> LessonResult:
    """One label a word; whether “can” is an auxiliary is decided by the word after it."""
    words = sorted({word for each in TAGGED for word in each.split()})
    tags = sorted({tag for each in TAGGED.values() for tag in each.split()})
    targets = [torch.tensor([tags.index(tag) for tag in each.split()]) for each in TAGGED.values()]
    right, rows = {}, [("text", "tags", "one-way", "two-way")]
    written: dict[str, list[str]] = {}
    directions: tuple[Direction, ...] = ("forward", "both")
    for direction in directions:
        net = draw_module(lambda d=direction: WordNet(words, len(tags), d))  # type: ignore[misc]
        fit(net, lambda n=net: functional.cross_entropy(  # type: ignore[misc]
            torch.cat([n(each) for each in TAGGED]), torch.cat(targets)), updates)  # fmt: skip
        found = [net(each).argmax(1) for each in TAGGED]
        right[direction] = sum(int((a == b).sum()) for a, b in zip(found, targets, strict=True))
        written[direction] = [" ".join(tags[each] for each in row.tolist()) for row in found]
    for text, one, both in zip(TAGGED, *written.values(), strict=True):
        rows.append((text, TAGGED[text], one, both))
    count = sum(map(len, targets))
    return LessonResult(
        (
            ComparedNumber("labels, one for each word", count,
                           sum(len(each.split()) for each in written["both"]), by_hand=True),
            ComparedNumber("right, two-way", count, right["both"], by_hand=True),
            ComparedNumber("is one-way wrong more often", "yes",
                           "yes" if right["forward"] < right["both"] else "no"),
        ),
        text_table(rows),
    )  # fmt: skip


@lesson("forecasting", "Chapter 7: Figure 7.1 (a), forecasting", chapter="tasks", trains=True)
def forecasting_lesson(
    *, warm_up: int = 40, horizon: int = 24, period: float = 12.0, updates: int = 150
) -> LessonResult:
    """The net reads x_1 … x_T, and then its own predictions as inputs up to T + τ."""
    series = torch.sin(torch.arange(warm_up + horizon, dtype=torch.float64) * 2 * math.pi / period)
    stack = draw_module(lambda: RecurrentStack(1, 16, Gru, StackOptions()))
    output = draw_module(lambda: nn.Linear(16, 1), seed=2)
    net = nn.ModuleList([stack, output])
    read = series[None, : warm_up - 1, None]

    def cost() -> Tensor:
        return functional.mse_loss(output(stack(read, None)[0]), series[None, 1:warm_up, None])

    fit(net, cost, updates)
    with torch.no_grad():
        outputs, state = stack(series[None, :warm_up, None], None)
        value, predicted = output(outputs[:, -1:]), []
        for _ in range(horizon):
            predicted.append(float(value))
            outputs, state = stack(value, state)
            value = output(outputs)
    truth = series[warm_up:]
    error = float((torch.tensor(predicted) - truth).abs().mean())
    naive = float((series[warm_up - 1] - truth).abs().mean())
    rows = [("t", "label", "prediction")]
    rows += [(f"T+{step}", f"{truth[step - 1]:+.2f}", f"{predicted[step - 1]:+.2f}")
             for step in (1, 2, 3, 6, 12, horizon) if step <= horizon]  # fmt: skip
    return LessonResult(
        (
            ComparedNumber("predictions, T+1 to T+τ", horizon, len(predicted), by_hand=True),
            ComparedNumber("mean error", None, error),
            ComparedNumber("mean error of repeating the last value", None, naive),
            ComparedNumber("is it better than repeating", "yes", "yes" if error < naive else "no",
                           by_hand=True),
        ),
        text_table(rows, right=(1, 2)),
    )  # fmt: skip


@lesson(
    "language-model", "Attention Models: Four score and seven years",
    "Attention Models: ABRAHAMLINCOL??", "Attention Models: generating language",
    chapter="tasks",
)  # fmt: skip
def language_model_lesson(*, updates: int = 40) -> LessonResult:
    """Primed with some words or letters, a net draws the next, reads it, and stops at <eos>."""
    rows, numbers = [("primed with", "goes on with")], []
    for text, primed, following in (
        ("Four score and seven years ago <eos>", 5, "ago"),
        (" ".join("ABRAHAMLINCOLN") + " <eos>", 13, "N"),
    ):
        symbols = text.split()
        net = draw_module(lambda s=symbols: WordNet(sorted(set(s)), len(set(s)), "forward"))  # type: ignore[misc]
        targets = torch.tensor([net.words.index(each) for each in symbols])
        inputs = " ".join(symbols[:-1])
        fit(net, lambda n=net, i=inputs, t=targets: functional.cross_entropy(  # type: ignore[misc]
            n(i), t[1:]), updates)  # fmt: skip
        written = _write(net, symbols[:primed], len(symbols))
        rows.append((" ".join(symbols[:primed]), " ".join(written)))
        numbers.append(ComparedNumber(f"after {symbols[primed - 1]}", following, written[0],
                                      by_hand=True))  # fmt: skip
        numbers.append(ComparedNumber(f"last, after {following}", "<eos>", written[-1]))
    scores = net(inputs).detach().double()
    logs = scores.log_softmax(-1)
    steps = torch.arange(len(logs))
    right = -logs[steps, targets[1:]].sum()
    printed = -float(logs[steps[:-1], targets[2:]].sum())
    numbers.append(ComparedNumber("loss with the index as printed", round(printed, 4),
                                  round(float(right), 4), care=CARE, by_hand=True))  # fmt: skip
    entropy = functional.cross_entropy(scores, targets[1:], reduction="sum")
    same = largest_difference(right, entropy)
    numbers.append(ComparedNumber("−Σ log Y(t, w_t) against the cross-entropy", 0.0, same, 1e-6,
                                  by_hand=True))  # fmt: skip
    return LessonResult(tuple(numbers), text_table(rows))


@torch.no_grad()
def _write(net: WordNet, primed: list[str], longest: int) -> list[str]:
    written: list[str] = []
    while len(written) < longest and written[-1:] != ["<eos>"]:
        scores = net(" ".join([*primed, *written]))[-1]
        written.append(net.words[int(scores.argmax())])
    return written
