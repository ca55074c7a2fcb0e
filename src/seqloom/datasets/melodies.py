"""Short synthesized melodies to transcribe."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from seqloom.datasets.splits import Splits
from seqloom.randomness import key

__all__ = ["NOTES", "RATE", "C", "melody", "synthesize"]

RATE = 8_000  # samples a second
NOTES = {"c": 0, "d": 2, "e": 4, "f": 5, "g": 7, "a": 9, "b": 11}  # semitones above c
C = 523.25  # hertz, an octave above middle c
FEWEST, MOST = 2, 6  # notes of a held-out melody


def melody(*, seed: int = 0, train: int = 1_500, held_out: int = 150) -> Splits:
    """Recordings of notes and the notes' names; no held-out melody is in another split.

    Short melodies recur in the training data, each time synthesized anew.
    """
    chance = np.random.default_rng(key(seed, "melody"))
    held: dict[str, None] = {}
    while len(held) < 2 * held_out:
        held[_notes(chance, FEWEST)] = None
    melodies = list(held)
    while len(melodies) < train + 2 * held_out:
        notes = _notes(chance, 1)
        melodies += [] if notes in held else [notes]
    files, rows = {}, []
    for place, notes in enumerate(melodies):
        name = f"sounds/{place:05}.wav"
        files[name] = _wave(synthesize(notes, chance))
        rows.append((name, notes))
    parts = rows[2 * held_out :], rows[:held_out], rows[held_out : 2 * held_out]
    return Splits("melody", *parts, columns=("sound", "notes"), files=files)


def _notes(chance: np.random.Generator, fewest: int) -> str:
    chosen = chance.choice(list(NOTES), size=chance.integers(fewest, MOST + 1))
    return " ".join(chosen.tolist())


def synthesize(notes: str, chance: np.random.Generator) -> NDArray[np.float32]:
    """Synthesize each note for about a fifth of a second, with overtones and a random loudness,
    over a little noise.
    """
    parts = []
    for note in notes.split():
        count = int(RATE * chance.uniform(0.12, 0.3))
        time = np.arange(count) / RATE
        pitch = C * 2 ** (NOTES[note] / 12) * 2 ** (chance.normal() / 120)
        tones = [
            chance.uniform(0.2, 1) / overtone * np.sin(2 * np.pi * overtone * pitch * time)
            for overtone in (1, 2, 3)
        ]
        fading = np.minimum(1, 50 * time) * np.exp(-chance.uniform(2, 8) * time)
        parts += [chance.uniform(0.2, 0.5) * fading * sum(tones), np.zeros(int(RATE * 0.03))]
    sound = np.concatenate(parts)
    noisy = sound + chance.normal(scale=0.002, size=len(sound))
    return np.asarray(noisy.clip(-1, 1), np.float32)


def _wave(sound: NDArray[np.float32]) -> bytes:
    import soundfile  # type: ignore[import-untyped]

    stream = BytesIO()
    soundfile.write(stream, sound, RATE, format="WAV", subtype="PCM_16")
    return stream.getvalue()
