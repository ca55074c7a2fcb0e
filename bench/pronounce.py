"""From spelling to sound: SIGMORPHON 2021 (Hungarian, French, English) and the CMU dictionary.

    python bench/pronounce.py [NAME ...]

Names: hun, fre, eng_us, cmudict. The files lie in the folder that SEQLOOM_SHARED_DATA names. A
training that was stopped goes on where it was; the time is that of all members of an ensemble and
of all sittings. Each result is kept in bench/results/pronounce-NAME.json.

A word is right if its output is one of the pronunciations listed for it; the word error rate is the
share of the others.
"""

import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from foundation import RUNS, SEQLOOM, output_of, shared, spent
from uses import keep

RESAMPLES = 1_000


class Language(NamedTuple):
    """Where the words lie, how many models are asked together, and how each is trained."""

    files: str
    members: int
    options: tuple[str, ...] = ()


LSTM = ("--model", "lstm", "--set", "training.precision=auto")
LESS_DROPPED = ("--set", "model.encoder.dropout=0.2", "--set", "model.decoder.dropout=0.2")
LANGUAGES = {
    "hun": Language("g2p_sigmorphon2021/hun_{}.tsv", 5),
    "fre": Language("g2p_sigmorphon2021/fre_{}.tsv", 5),
    "eng_us": Language(
        "g2p_sigmorphon2021/eng_us_{}.tsv", 3, (*LSTM, "--set", "training.updates=2500")
    ),
    "cmudict": Language(
        "cmudict/g2p_{}.tsv", 1, (*LSTM, *LESS_DROPPED, "--set", "training.updates=5200")
    ),
}


def trained(name: str, seed: int) -> tuple[Path, float]:
    """One model of a language, and the seconds that its training took."""
    language = LANGUAGES[name]
    train, valid = (str(shared(language.files.format(part))) for part in ("train", "dev"))
    run = RUNS / f"pronounce-{name}-{seed}"
    command = [*SEQLOOM, "train", train, "--valid", valid, "--run", str(run)]
    subprocess.run([*command, "--set", f"seed={seed}", *language.options], check=True)
    return run, float(spent(run)["seconds"])


def wrong(runs: Sequence[Path], table: Path) -> list[bool]:
    """For each different word of a table, whether the runs together miss all that is listed."""
    listed: dict[str, set[str]] = defaultdict(set)
    for line in table.read_text(encoding="utf-8").splitlines():
        word, _, sounds = line.partition("\t")
        listed[word].add(sounds)
    asked = RUNS / f"{runs[0].name}.txt"
    asked.write_text("".join(f"{word}\n" for word in listed), encoding="utf-8")
    others = [part for run in runs[1:] for part in ("--with", str(run))]
    command = [*SEQLOOM, "predict", str(runs[0]), str(asked), *others]
    outputs = output_of(command).split("\n")[:-1]
    pairs = zip(outputs, listed.values(), strict=True)
    return [output not in sounds for output, sounds in pairs]


def error_rate(missed: Sequence[bool]) -> dict[str, Any]:
    """The word error rate in per cent, with a 95 % bootstrap interval."""
    chance = random.Random(1)
    drawn = sorted(sum(chance.choices(missed, k=len(missed))) for _ in range(RESAMPLES))
    low, high = drawn[round(0.025 * RESAMPLES)], drawn[round(0.975 * RESAMPLES) - 1]
    counts = {"value": sum(missed), "low": low, "high": high}
    return {"name": "words wrong", **{name: 100 * n / len(missed) for name, n in counts.items()}}


def measure(name: str) -> dict[str, Any]:
    """Train the members, and ask them alone and together."""
    language = LANGUAGES[name]
    found = [trained(name, seed) for seed in range(1, language.members + 1)]
    runs = [run for run, _ in found]
    dev, test = (shared(language.files.format(part)) for part in ("dev", "test"))
    alone = ", ".join(f"{error_rate(wrong([run], test))['value']:.1f}" for run in runs)
    chosen = error_rate(wrong(runs, dev))["value"]
    missed = wrong(runs, test)
    files = " --valid ".join(Path(language.files.format(part)).name for part in ("train", "dev"))
    words = " ".join(("seqloom train", files, *language.options))
    return {
        "command": f"{words} --run runs/{runs[0].name}",
        "members": language.members,
        "seconds": sum(seconds for _, seconds in found),
        "rows": len(missed),
        "scores": [error_rate(missed)],
        "notes": [f"each model alone: {alone}", f"together on the held-out words: {chosen:.1f}"],
    }


def main(names: Sequence[str]) -> None:
    """Measure what is named, or all."""
    for name in names or LANGUAGES:
        keep(f"pronounce-{name}", measure(name))


if __name__ == "__main__":
    main(sys.argv[1:])
