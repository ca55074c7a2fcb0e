"""Measures what context-aware vectors tell of a word's use, layer by layer (docs/vectors.md).

    python bench/contexts.py RUN en_ewt-ud-test.conllu

RUN is a tagger of CoNLL-U. Of each word that has several tags in the file, in capitals or not, all
pairs of occurrences are compared: the share in which two of one tag have a larger cosine than two
of different tags, over words, with a 95 % bootstrap interval.
"""

import sys
from collections import defaultdict
from itertools import combinations

import numpy as np

import seqloom
from seqloom.data import Report, read_rows

LEAST = 5  # occurrences of each of two tags
MOST = 60  # occurrences of a word that are compared


def occurrences(rows: list[tuple[str, str]]) -> dict[str, list[tuple[int, int, str]]]:
    """For each ambiguous word where it stands and its tag there: sentence, token, tag."""
    found = defaultdict(list)
    for number, (words, tags) in enumerate(rows):
        for place, (word, tag) in enumerate(zip(words.split(), tags.split(), strict=True)):
            found[word.casefold()].append((number, place, tag))
    chosen = {}
    for word, places in found.items():
        counts = np.unique([tag for *_, tag in places], return_counts=True)[1]
        if (counts >= LEAST).sum() > 1:
            chosen[word] = places[:MOST]
    return chosen


def separation(vectors: np.ndarray, tags: list[str]) -> float:
    """How often two occurrences of one tag are more alike than two of different tags."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    same, other = [], []
    for one, two in combinations(range(len(tags)), 2):
        (same if tags[one] == tags[two] else other).append(cosines[one, two])
    wins = np.sign(np.array(same)[:, None] - np.array(other))
    return float((wins + 1).mean() / 2)


def main(run: str, data: str) -> None:
    """A line for each layer."""
    model = seqloom.load(run)
    rows = [(row.source, row.target) for row in read_rows(data, model.config.data, Report())]
    words = occurrences(rows)
    print(f"{len(rows):,} sentences, {len(words)} words with several tags")
    draw, layer = np.random.default_rng(1), 0
    while True:
        try:
            found = model.vectors([source for source, _ in rows], layer=layer)
        except seqloom.SeqloomError:
            break
        scores = []
        for places in words.values():
            vectors = [found.sentences[number].vectors[place] for number, place, _ in places]
            scores.append(separation(np.array(vectors), [tag for *_, tag in places]))
        means = [draw.choice(scores, len(scores)).mean() for _ in range(1_000)]
        low, high = np.percentile(means, [2.5, 97.5])
        print(f"layer {layer}: {np.mean(scores):.3f} ({low:.3f}–{high:.3f})")
        layer += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
