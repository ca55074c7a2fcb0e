"""Writes docs/tasks.md from bench/results: every use that was measured, against its aim.

    python bench/uses.py

Nothing there is typed by hand. The programs that measure call `keep`, which does this too.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from foundation import RESULTS, ROOT, surroundings

__all__ = ["USES", "Use", "keep"]

PAGE = ROOT / "docs" / "tasks.md"
INTRODUCTION = """# Measured tasks

Every figure here was measured by the command that stands with it and written by `python
bench/uses.py`. Intervals are 95 % bootstrap intervals over the test rows; minutes are those of
training and validating, of all members where several models are asked together. Below a result
stand the baselines that `seqloom evaluate` prints beside it.
"""


class Use(NamedTuple):
    """What is measured by which program, and the aim: a score at least, or at most, so good, or by
    so much above that of the first baseline."""

    title: str
    program: str
    score: str
    least: float | None = None
    most: float | None = None
    minutes: float | None = None
    above: float | None = None

    def reached(self, value: float, minutes: float, baseline: float = math.inf) -> bool:
        """Whether a result is as good and as fast as was aimed at."""
        return all(
            (
                self.least is None or value >= self.least,
                self.most is None or value <= self.most,
                self.above is None or value >= baseline + self.above,
                self.minutes is None or minutes <= self.minutes,
            )
        )

    @property
    def judged(self) -> bool:
        """Whether there is an aim."""
        return any(aim is not None for aim in (self.least, self.most, self.above))

    @property
    def aim(self) -> str:
        """The aim in words."""
        parts = [
            f"at least {self.least:g}" if self.least is not None else "",
            f"at most {self.most:g}" if self.most is not None else "",
            f"at least {self.above:g} above the baseline" if self.above is not None else "",
            f"in at most {self.minutes:g} minutes" if self.minutes is not None else "",
        ]
        return " ".join(part for part in parts if part) or "reported"


def pronounced(name: str, title: str, most: float, minutes: float | None = None) -> Use:
    """A word error rate of bench/pronounce.py."""
    title = f"{title}: spelling → sounds"
    return Use(title, f"pronounce.py {name}", "words wrong", most=most, minutes=minutes)


USES = {
    "task-sst2": Use(
        "SST-2, 6,920 sentences → positive or negative",
        "tasks.py sst2",
        "accuracy",
        least=82,
        minutes=10,
    ),
    "vectors-sst2": Use(
        "SST-2 with word vectors learnt before, mean of 3 seeds (range in brackets)",
        "vectors.py",
        "accuracy",
    ),
    "task-ewt": Use(
        "UD English EWT, words → parts of speech", "tasks.py ewt", "accuracy", least=94, minutes=20
    ),
    "task-names": Use("18 languages → invented names", "tasks.py names", "novelty"),
    "shakespeare": Use(
        "tinyshakespeare continued by character",
        "language.py shakespeare",
        "nats per character",
        most=1.6,
        minutes=30,
    ),
    "ptb": Use("PTB continued by word", "language.py ptb", "perplexity", most=120, minutes=60),
    "gaps": Use("PTB, a missing word from both sides", "language.py gaps", "accuracy", above=10),
    "etth1-at-once": Use("ETTh1, 96 hours ahead at once", "forecast.py at-once", "MSE", most=0.45),
    "etth1-fed-back": Use(
        "ETTh1, 96 hours ahead, fed back hour by hour", "forecast.py fed-back", "MSE", most=0.45
    ),
    "pronounce-hun": pronounced("hun", "Hungarian, SIGMORPHON 2021", 2),
    "pronounce-fre": pronounced("fre", "French, SIGMORPHON 2021", 9),
    "pronounce-eng_us": pronounced("eng_us", "English, SIGMORPHON 2021", 45),
    "pronounce-cmudict": pronounced("cmudict", "English, CMU dictionary", 30, 40),
    "digits-heard": Use("one spoken digit → which", "senses.py digits-heard", "accuracy", least=97),
    "digits-heard-new-speaker": Use(
        "the same of a speaker never heard", "senses.py digits-heard-new-speaker", "accuracy"
    ),
    "strings-heard": Use("3 to 7 spoken digits → words", "senses.py strings-heard", "WER", most=5),
    "strings-heard-characters": Use(
        "the same, spelt by character", "senses.py strings-heard-characters", "WER", most=5
    ),
    "strings-heard-ctc": Use(
        "the same by CTC, without a decoder", "senses.py strings-heard-ctc", "WER", most=5
    ),
    "strings-heard-new-speaker": Use(
        "the same of a speaker never heard", "senses.py strings-heard-new-speaker", "WER"
    ),
    "digits-seen": Use(
        "strips of 3 to 6 written digits → digits", "senses.py digits-seen", "exact match", least=93
    ),
    "emoji": Use("emoji → what they show", "senses.py emoji", "exact match", least=80),
    "photographs": Use(
        "1,000 photographs → captions, a check alone", "senses.py photographs", "BLEU"
    ),
    "clips": Use("clips of moving emoji → sentence", "senses.py clips", "exact match", least=95),
    "dialog": Use("CamRest676, turns → reply", "dialog.py dialog", "BLEU", least=18, minutes=15),
    "users-inflection": Use(
        "Crimean Tatar, SIGMORPHON 2020: lemma and features → form",
        "users.py FOLDER inflection",
        "exact match",
        least=98.5,
    ),
    "users-slots": Use("SNIPS, utterance → slots", "users.py FOLDER slots", "span F1", least=87.8),
    "users-intents": Use(
        "SNIPS, utterance → intent",
        "users.py FOLDER intents",
        "accuracy",
        least=97.0,
    ),
    "users-pronunciation": Use(
        "Greek, SIGMORPHON 2020, 3,600 words: spelling → sounds",
        "users.py FOLDER pronunciation",
        "words wrong",
        most=20.78,
    ),
    "users-capitals": Use(
        "UD English EWT in capitals, accuracy in per cent of that on normal text",
        "users.py FOLDER capitals",
        "kept in capitals",
        least=90,
    ),
    "dialog-alone": Use("the same from the last turn alone", "dialog.py dialog-alone", "BLEU"),
}


def leading(found: dict[str, Any], use: Use) -> dict[str, Any]:
    """The score that has an aim."""
    score: dict[str, Any] = next(each for each in found["scores"] if each["name"] == use.score)
    return score


def row(use: Use, found: dict[str, Any]) -> str:
    """A line of the table."""
    minutes, score = found["seconds"] / 60, leading(found, use)
    digits = 1 if score["value"] >= 10 else 3
    value = f"{use.score} {score['value']:.{digits}f} in {minutes:.1f} minutes"
    beside = [
        each["value"] for some in found.get("baselines", {}).values() for each in _first(some)
    ]
    if use.above is not None:
        value = f"{value}, {score['value'] - beside[0]:.1f} above the baseline"
    reached = "reached" if use.reached(score["value"], minutes, *beside[:1]) else "missed"
    return f"| {use.title} | {value} | {use.aim} | {reached if use.judged else ''} |"


def details(name: str, found: dict[str, Any]) -> Iterator[str]:
    """A use's commands, machine, scores and baselines."""
    around = found["surroundings"]
    yield f"\n## {name}\n"
    yield f"`python bench/{USES[name].program}`\n"
    if "command" in found:
        yield f"`{found['command']}`\n"
    cores = "1 core" if around["cores"] == 1 else f"{around['cores']} cores"
    counts = [f"{found[key]:,} {words}" for key, words in COUNTS.items() if found.get(key, 0) > 1]
    yield (
        f"{around['date']}, {cores} of {around['processor']}, Python "
        f"{around['python']}, torch {around['torch']}{''.join(f'; {each}' for each in counts)}\n"
    )
    beside = [(label, *_first(each)) for label, each in found.get("baselines", {}).items()]
    for label, each in [*((e["name"], e) for e in found["scores"]), *beside]:
        kind = f"{label}: {each['name']}" if label != each["name"] else label
        digits = 1 if each["value"] >= 10 else 3
        ends = "–".join(f"{each[end]:.{digits}f}" for end in ("low", "high") if end in each)
        yield f"- {kind} {each['value']:.{digits}f}{f' ({ends})' if ends else ''}"
    yield from (f"- {sentence}" for sentence in found.get("notes", []))


def _first(scores: Any) -> list[dict[str, Any]]:
    """The score that leads those of a baseline, which has one or several."""
    return scores[:1] if isinstance(scores, list) else [scores]


COUNTS = {"members": "models together", "updates": "updates", "rows": "test rows"}


def page() -> Iterator[str]:
    """The page of all results there are."""
    paths = {name: RESULTS / f"{name}.json" for name in USES}
    results = {n: json.loads(path.read_text()) for n, path in paths.items() if path.exists()}
    yield INTRODUCTION
    yield "| task | measured | aim | |"
    yield "| --- | --- | --- | --- |"
    yield from (row(USES[name], found) for name, found in results.items())
    for name, found in results.items():
        yield from details(name, found)


def keep(name: str, result: dict[str, Any]) -> None:
    """Keep what was measured under a name of `USES`, and write the page anew."""
    if name not in USES:
        raise KeyError(name)
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"surroundings": surroundings(), **result}, indent=1, ensure_ascii=False)
    Path(RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")
