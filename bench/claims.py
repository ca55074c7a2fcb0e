"""Measures what the course texts claim, over several seeds, for docs/claims.md (S6.9).

    python bench/claims.py [letters | sentences | recall | eigenvalues] ...

A part that is not named is not measured; without a name all are, in about 40 minutes on one core.
Each training is kept in bench/results/claims.json once it is measured, and is not done again, so
the script can be stopped and goes on where it was. bench/claims_page.py makes the page of it.

letters: strings of 3 to 12 letters, written out again in capitals, or backwards.
sentences: English sentences of one to four phrases into French, which turns adjective and noun
    round, with a fixed code, with attention, and with a reversed source.
recall: the first symbol of a sequence, asked for at its end, by Elman, GRU and LSTM.
eigenvalues: gradients of units whose W_hh is scaled to a spectral radius.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from foundation import RESULTS, surroundings
from torch import Tensor, nn

import seqloom
from seqloom.config import merge
from seqloom.lessons.small_models import FORMS
from seqloom.lessons.tasks.translation_tables import phrase_pair
from seqloom.model import SequenceModel, build_sequence_model
from seqloom.model.networks import shift_right
from seqloom.nn.units import Elman, Gru, Lstm
from seqloom.prediction.batching import pad_batch

FOUND = RESULTS / "claims.json"
SCHEDULES = ("linear", "constant", "never")
LETTERS = "abcdefghij"
ROWS = 100  # of the test part whose code is exchanged
DISTANCES, RECALL_UPDATES = (5, 10, 20, 40, 80), 300
SYMBOLS, WIDTH = 4, 32
RADII = tuple(round(0.5 + 0.05 * number, 2) for number in range(21))
BACK, DRAWS = 50, 20

Pairs = list[tuple[str, str]]


class Task(NamedTuple):
    """Rows to learn from and to be tested on, with the sizes of a model for them."""

    train: Pairs
    valid: Pairs
    test: Pairs
    bins: tuple[tuple[int, int], ...]  # of source lengths
    steps: int  # of the target, over which a code is exchanged
    options: Mapping[str, Any]


def letters(change: Callable[[str], str]) -> Task:
    """Strings, and what is made of them."""

    def draw(count: int, seed: int, shortest: int = 3) -> Pairs:
        chosen = random.Random(seed)
        texts = ["".join(chosen.choices(LETTERS, k=chosen.randint(shortest, 12)))
                 for _ in range(count)]  # fmt: skip
        return [(text, change(text)) for text in texts]

    test = [*draw(500, 3), *draw(ROWS, 4, shortest=12)]
    bins = ((3, 4), (5, 6), (7, 8), (9, 10), (11, 12))
    return Task(draw(4_000, 1), draw(300, 2), test, bins, 12, sizes(32, 64, 600))


def sentences() -> Task:
    """English phrases of an adjective and a noun, one to four of them, into French."""

    def draw(count: int, seed: int, phrases: int = 0) -> Pairs:
        chosen = random.Random(seed)
        return [phrase_pair(chosen, phrases or chosen.randint(1, 4)) for _ in range(count)]

    test = [pair for phrases in (1, 2, 3, 4) for pair in draw(ROWS, 2 + phrases, phrases)]
    bins = ((7, 7), (11, 11), (15, 15))  # words; three have no four-grams, and so no BLEU
    words = {"source": {"unit": "word"}, "target": {"unit": "word"}}
    return Task(draw(3_000, 1), draw(100, 2), test, bins, 12, {**sizes(32, 64, 800), **words})


def sizes(embedding: int, width: int, updates: int) -> dict[str, Any]:
    """One GRU layer a side, the encoder read forward, on one core."""
    side = {"width": width, "layers": 1}
    return {
        "model": {"embedding": embedding, "encoder": {**side, "direction": "forward"},
                  "decoder": side},
        "training": {"updates": updates, "samples": 0, "workers": 1, "validate_every": 10**6,
                     "curves": False},
    }  # fmt: skip


def form(name: str) -> dict[str, Any]:
    """The options of a decoder form of docs/encoder-decoder.md."""
    chosen = dict(FORMS[name])
    kind = chosen.pop("attention", "global")
    return {"model": {"decoder": {**chosen, "attention": {"kind": kind}}}}


def settings(part: str) -> dict[str, dict[str, Any]]:
    """What is trained in a part: decoder forms, a reversed source, schedules of teacher forcing."""
    turned = merge(form("b"), {"model": {"reverse_source": True}})
    if part == "backwards":
        return {"b": form("b"), "b reversed": turned}
    if part == "sentences":
        return {"b": form("b"), "e": form("e"), "b reversed": turned}
    found = {name: form(name) for name in FORMS} | {"b reversed": turned}
    for kind in SCHEDULES:
        found[f"b {kind}"] = merge(form("b"), {"training": {"forcing": {"kind": kind}}})
    return found


def trainings(part: str, seeds: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Every training of a task under its name, seed after seed."""
    tasks = {"letters": lambda: letters(str.upper),
             "backwards": lambda: letters(lambda text: text[::-1]),
             "sentences": sentences}  # fmt: skip
    task = tasks[part]()
    for seed in range(1, seeds + 1):
        for name, chosen in settings(part).items():
            options = merge(task.options, merge(chosen, {"seed": seed}))
            yield f"{part}/{name}/{seed}", lambda options=options: train_and_measure(task, options)


def train_and_measure(task: Task, options: Mapping[str, Any]) -> dict[str, Any]:
    """A model's quality by length, its exposure gap, and how far it depends on its code."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        seqloom.train(task.train, run, valid=task.valid, model="gru", options=options, watch=False)
        model: Any = seqloom.load(run)
        (step,) = run.glob("step-*")
        validation = json.loads((step / "progress.json").read_text())["validations"][-1]
    outputs = [each.text for each in model.predict([source for source, _ in task.test])]
    torch.manual_seed(options["seed"])
    fresh = build_sequence_model(
        model.config.model, source=model.source.items, target=model.target.items
    )
    return {
        "lengths": [quality(task.test, outputs, each) for each in task.bins],
        "whole": quality(task.test, outputs, (0, 10**6)),
        "loss": validation["loss"],
        "gap": validation["gap"],
        "dependence": dependence(model, model.network, task),
        "untrained": dependence(model, fresh, task),
    }


def quality(test: Pairs, outputs: list[str], bounds: tuple[int, int]) -> dict[str, float]:
    """BLEU and exact match of the sources whose length lies between two bounds."""
    apart = " " in test[0][0] or " " in test[-1][0]
    rows = [(output, target) for output, (source, target) in zip(outputs, test, strict=True)
            if bounds[0] <= len(source.split() if apart else source) <= bounds[1]]  # fmt: skip
    right = sum(output == target for output, target in rows)
    spaced = [tuple(text if apart else " ".join(text) for text in row) for row in rows]
    return {"rows": len(rows), "exact": 100 * right / len(rows), "bleu": bleu(spaced)}


def bleu(rows: Sequence[tuple[str, ...]]) -> float:
    """sacrebleu's corpus BLEU."""
    from sacrebleu.metrics.bleu import BLEU

    outputs, references = zip(*rows, strict=True)
    return float(BLEU(force=True).corpus_score(list(outputs), [list(references)]).score)


@torch.inference_mode()
def dependence(model: Any, network: SequenceModel, task: Task) -> list[float]:
    """How far the distributions of two codes lie apart at each step, in bits (0 to 1).

    The Jensen–Shannon divergence of P(· | own code, y_<t) and P(· | another row's code, y_<t), both
    after the row's own target up to t, as a mean over rows whose target has all these steps.
    """
    network.eval()
    sources = model.source.rows([source for source, _ in task.test])
    targets = model.target.rows([target for _, target in task.test])
    long = [place for place, row in enumerate(targets) if len(row) >= task.steps][-ROWS:]
    wanted = pad_batch([targets[place][: task.steps] for place in long]).values
    own = distributions(network, [sources[place] for place in long], wanted)
    other = distributions(network, [sources[place] for place in (*long[1:], long[0])], wanted)
    mean = (own + other) / 2
    bits = sum((each * (each / mean).log2()).sum(-1) / 2 for each in (own, other))
    return [round(float(value), 6) for value in bits.mean(0)]


def distributions(network: SequenceModel, sources: list[Any], target: Tensor) -> Tensor:
    """P(· | code, y_<t) at each step (R, T, V)."""
    state = network.decoder.start(network.encoder.encode(pad_batch(sources)))
    features, _ = network.decoder.read(shift_right(target), state)
    return network.decoder.write(features.hidden).double().softmax(-1).clamp_min(1e-12)


UNITS: dict[str, Callable[[], nn.Module]] = {
    "Elman": lambda: Elman(SYMBOLS, WIDTH),
    "GRU": lambda: Gru(SYMBOLS, WIDTH),
    "LSTM": lambda: Lstm(SYMBOLS, WIDTH),
}


def recalls(seeds: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Every unit at every distance."""
    for seed in range(1, seeds + 1):
        for name in UNITS:
            for distance in DISTANCES:
                yield (
                    f"recall/{name} {distance}/{seed}",
                    lambda name=name, distance=distance, seed=seed: recall(name, distance, seed),
                )


def recall(name: str, distance: int, seed: int) -> dict[str, Any]:
    """The share of sequences whose first symbol a unit names after `distance` random ones."""
    torch.manual_seed(seed)
    unit, readout = UNITS[name](), nn.Linear(WIDTH, SYMBOLS)
    weights = [*unit.parameters(), *readout.parameters()]
    optimizer = torch.optim.Adam(weights, lr=3e-3)

    def scores(rows: int) -> tuple[Tensor, Tensor]:
        symbols = torch.randint(SYMBOLS, (rows, distance + 1))
        inputs = nn.functional.one_hot(symbols, SYMBOLS).float()
        states, _ = unit(inputs, unit.zero_state(inputs))
        return readout(states[:, -1]), symbols[:, 0]

    for _ in range(RECALL_UPDATES):
        optimizer.zero_grad()
        nn.functional.cross_entropy(*scores(64)).backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
    with torch.no_grad():
        found, wanted = scores(1_000)
    return {"accuracy": 100 * float((found.argmax(1) == wanted).double().mean())}


def growths(seeds: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Every kind of unit, over draws of its weights."""
    for kind in ("identity, orthogonal", "identity, normal", "tanh, normal", "relu, normal"):
        for seed in range(1, seeds + 1):
            yield f"eigenvalues/{kind}/{seed}", lambda kind=kind, seed=seed: growth(kind, seed)


def growth(kind: str, seed: int) -> dict[str, Any]:
    """The factor by which a step back changes ‖∂C/∂h‖, for each spectral radius of W_hh.

    It is the mean over 50 steps of 100 random inputs: (‖∂C/∂h_50‖/‖∂C/∂h_100‖)^(1/50).
    """
    activation, drawn = kind.split(", ")
    torch.manual_seed(seed)
    unit: Any = Elman(SYMBOLS, WIDTH, activation=activation, bias=False).double()  # type: ignore[arg-type]
    matrix = torch.randn(WIDTH, WIDTH).double() if drawn == "normal" else unit.recur.detach()
    matrix = matrix / torch.linalg.eigvals(matrix).abs().max()
    inputs = torch.randn(1, 2 * BACK, SYMBOLS).double()
    chosen = torch.randn(WIDTH).double()
    factors = []
    for radius in RADII:
        with torch.no_grad():
            unit.recur.copy_(radius * matrix)
        state, kept = unit.zero_state(inputs), []
        state = (state[0].requires_grad_(),)
        for step in range(2 * BACK):
            _, after = unit(inputs[:, step : step + 1], state)
            state = tuple(part[:, -1] for part in after)
            kept.append(state[0])
        back, last = torch.autograd.grad(state[0][0] @ chosen, [kept[-1 - BACK], kept[-1]])
        factors.append(float((back.norm() / last.norm()) ** (1 / BACK)))
    return {"factors": factors}


def measure(named: Iterator[tuple[str, Callable[[], dict[str, Any]]]]) -> None:
    """Whatever is not there yet, each kept at once."""
    for name, experiment in named:
        found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
        if name not in found:
            began = time.process_time()
            result = {**experiment(), "seconds": round(time.process_time() - began, 2)}
            found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
            found[name] = result
            found["surroundings"] = surroundings()
            FOUND.write_text(json.dumps(found, indent=1) + "\n")
            print(name, result["seconds"], flush=True)


PARTS: dict[str, Callable[[], None]] = {
    "eigenvalues": lambda: measure(growths(DRAWS)),
    "recall": lambda: measure(recalls(3)),
    "letters": lambda: [measure(trainings(part, 5)) for part in ("letters", "backwards")] and None,
    "sentences": lambda: measure(trainings("sentences", 3)),
}


def main(names: list[str]) -> None:
    """Measure the parts that are named, or all."""
    unknown = set(names) - set(PARTS)
    if unknown:
        sys.exit(f"there is no part {', '.join(sorted(unknown))}: {', '.join(PARTS)}")
    torch.set_num_threads(1)
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
