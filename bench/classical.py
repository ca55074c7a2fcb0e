"""Classical models of bench/automatic.py: scikit-learn over n-grams, windows and spectra."""

import wave
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
from automatic_sets import Classical, Tables
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

__all__ = ["classical_scores"]

Sentence = tuple[list[str], list[str]]
FRAMES, BANDS = 20, 32


def classical_scores(kind: Classical, tables: Tables, score: str) -> dict[str, dict[str, float]]:
    """What classical models reach on the test rows, by their names, each with this score."""
    if kind == "text":
        return text_scores(tables, score)
    name, measure = SCORES[kind]
    return {name: {score: measure(tables)}}


def pairs_of(path: Path) -> list[tuple[str, str]]:
    """Sources and targets of a table of two columns."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(cells[0], cells[1]) for cells in (line.split("\t") for line in lines)]


def label_score(tables: Tables) -> float:
    """Logistic regression over n-grams of characters and words."""
    train, test = pairs_of(tables.train), pairs_of(tables.test)
    features = make_union(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 5), sublinear_tf=True),
        TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), sublinear_tf=True),
    )
    model = make_pipeline(features, LogisticRegression(C=10.0, max_iter=1_000))
    model.fit([source for source, _ in train], [label for _, label in train])
    found = model.predict([source for source, _ in test])
    return share(found, [label for _, label in test])


def text_scores(tables: Tables, score: str) -> dict[str, dict[str, float]]:
    """A copy of the source, and the target of the training source that has most n-grams of
    characters in common with it."""
    train, test = pairs_of(tables.train), pairs_of(tables.test)
    features = TfidfVectorizer(analyzer="char", ngram_range=(1, 4), sublinear_tf=True)
    known = features.fit_transform([source for source, _ in train])
    nearest = NearestNeighbors(n_neighbors=1, metric="cosine").fit(known)
    places = nearest.kneighbors(
        features.transform([source for source, _ in test]), return_distance=False
    )[:, 0]
    wanted = [target for _, target in test]
    outputs = {
        "a copy of the source": [source for source, _ in test],
        "the nearest training source": [train[place][1] for place in places],
    }
    return {name: {score: text_value(score, each, wanted)} for name, each in outputs.items()}


def text_value(score: str, found: Sequence[str], wanted: Sequence[str]) -> float:
    """BLEU, whole texts that are right, or those that are wrong."""
    if score == "BLEU":
        return float(sacrebleu.corpus_bleu(list(found), [list(wanted)]).score)
    right = share(found, wanted)
    return 100 - right if score == "words wrong" else right


def tag_score(tables: Tables) -> float:
    """Logistic regression over the words around a position and its affixes."""
    read = conllu if tables.train.suffix == ".conllu" else tagged
    train, test = read(tables.train), read(tables.test)
    model = make_pipeline(DictVectorizer(), LogisticRegression(C=4.0, max_iter=300))
    model.fit([each for words, _ in train for each in around(words)], tags_of(train))
    return share(
        model.predict([each for words, _ in test for each in around(words)]), tags_of(test)
    )


def sound_score(tables: Tables) -> float:
    """Logistic regression over spectrograms, each brought to the same length."""
    (train, labels), (test, wanted) = (
        zip(*pairs_of(path), strict=True) for path in (tables.train, tables.test)
    )
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1_000))
    model.fit([spectrum(Path(path)) for path in train], labels)
    return share(model.predict([spectrum(Path(path)) for path in test]), wanted)


def spectrum(path: Path) -> np.ndarray:
    """Log energies in bands, in so many frames over a whole recording."""
    with wave.open(str(path)) as recording:
        samples = np.frombuffer(recording.readframes(recording.getnframes()), "<i2")
    size = 256
    places = np.linspace(0, max(0, len(samples) - size), FRAMES).astype(int)
    frames = np.stack([np.resize(samples[place : place + size], size) for place in places])
    energies = np.abs(np.fft.rfft(frames * np.hanning(size), axis=1)[:, 1:]) ** 2
    bands: np.ndarray = np.log(energies.reshape(FRAMES, BANDS, -1).mean(axis=2) + 1.0)
    return bands.flatten()


def around(words: Sequence[str]) -> list[dict[str, Any]]:
    """Features of each position of a sentence."""
    padded = ["<", "<", *words, ">", ">"]
    return [
        {
            **{f"w{offset}={padded[at + offset].lower()}": 1 for offset in range(-2, 3)},
            **{f"end={padded[at][-size:]}": 1 for size in range(1, 5)},
            **{f"begin={padded[at][:size]}": 1 for size in range(1, 4)},
            "capital": int(padded[at][:1].isupper()),
            "digit": int(any(letter.isdigit() for letter in padded[at])),
        }
        for at in range(2, len(padded) - 2)
    ]


def tagged(path: Path) -> list[Sentence]:
    """Sentences of a table of words and tags."""
    return [(words.split(), tags.split()) for words, tags in pairs_of(path)]


def conllu(path: Path) -> list[Sentence]:
    """Words and universal parts of speech of a CoNLL-U file."""
    sentences: list[Sentence] = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]
        rows = [row for row in rows if row[0].isdecimal()]
        if rows:
            sentences.append(([row[1] for row in rows], [row[3] for row in rows]))
    return sentences


def tags_of(sentences: Sequence[Sentence]) -> list[str]:
    """All tags, one after another."""
    return [tag for _, tags in sentences for tag in tags]


def share(found: Sequence[str], wanted: Sequence[str]) -> float:
    """The per cent that are right."""
    return 100 * sum(map(str.__eq__, map(str, found), wanted)) / len(wanted)


SCORES: dict[str, tuple[str, Callable[[Tables], float]]] = {
    "label": ("logistic regression over n-grams", label_score),
    "tags": ("logistic regression over a window", tag_score),
    "sound": ("logistic regression over a spectrogram", sound_score),
}
