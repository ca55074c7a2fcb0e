"""A plain training loop around torch.nn.Transformer, as a user of torch would write it.

    python bench/plain.py transformer FIELDS UPDATES

Width 256, three blocks a side, tied embeddings, the subwords of a run's `fields` folder, batches of
about 4,096 positions sorted by length, Adam, one process with all threads. Prints JSON with its
speed in target tokens a second over all updates but the first ten.
"""

import json
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from multi30k import BATCH, SUBWORDS, data
from sentencepiece import SentencePieceProcessor
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear
from torch.nn.utils.rnn import pad_sequence

WIDTH, WARM_UP, RATE, PADDING, START, END = 256, 10, 5e-4, 0, 1, 2
SPECIALS = 3


class Plain(nn.Module):
    """Encoder and decoder of torch, one table of vectors for both sides and the output."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Embedding(SUBWORDS + SPECIALS, WIDTH, padding_idx=PADDING)
        nn.init.normal_(self.vectors.weight, std=WIDTH**-0.5)
        self.network = nn.Transformer(
            WIDTH, 4, 3, 3, 4 * WIDTH, dropout=0.1, batch_first=True, norm_first=True
        )
        self.dropout = nn.Dropout(0.1)
        angles = torch.arange(512)[:, None] * 1e4 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], 1))

    def embed(self, tokens: Tensor) -> Tensor:
        places = self.get_buffer("places")[: tokens.shape[1]]
        return self.dropout(self.vectors(tokens) * math.sqrt(WIDTH) + places)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        steps = target.shape[1]
        hidden = self.network(
            self.embed(source),
            self.embed(target),
            tgt_mask=torch.ones(steps, steps, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == PADDING,
            memory_key_padding_mask=source == PADDING,
            tgt_is_causal=True,
        )
        return linear(hidden, self.vectors.weight)


def batches(fields: Path) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of rows that are alike in length, in a random order, without end."""
    cutter = SentencePieceProcessor(model_file=str(fields / "source" / "tokenizer.model"))
    sides = [Path(path).read_text().rstrip("\n").split("\n") for path in data("train").split(",")]
    rows = [
        tuple(
            torch.tensor([START, *(n + SPECIALS for n in cutter.encode(text)), END])
            for text in pair
        )
        for pair in zip(*sides, strict=True)
    ]
    rows.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
    groups: list[list[tuple[Tensor, ...]]] = [[]]
    for pair in rows:
        longest = max(len(side) for row in [*groups[-1], pair] for side in row)
        if longest * (len(groups[-1]) + 1) > BATCH:
            groups.append([])
        groups[-1].append(pair)
    chance = random.Random(1)
    while True:
        chance.shuffle(groups)
        for group in groups:
            source, target = (
                pad_sequence(list(side), batch_first=True) for side in zip(*group, strict=True)
            )
            yield source, target


def main(fields: Path, updates: int) -> None:
    """Train and print the speed."""
    torch.manual_seed(1)
    model = Plain()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.998))
    tokens, began = 0, time.perf_counter()
    for step, (source, target) in zip(range(updates), batches(fields), strict=False):
        if step == WARM_UP:
            tokens, began = 0, time.perf_counter()
        logits = model(source, target[:, :-1])
        wanted = target[:, 1:]
        loss = cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=PADDING, label_smoothing=0.1
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tokens += int((wanted != PADDING).sum())
    print(json.dumps({"speed": tokens / (time.perf_counter() - began), "losses": []}))


if __name__ == "__main__":
    main(Path(sys.argv[2]), int(sys.argv[3]))
