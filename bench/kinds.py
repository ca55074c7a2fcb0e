"""Times further kinds of models in the compiled core, each against its reference.

    python bench/kinds.py NAME ... [--rounds 3] [--sentences 300] [--fields RUN/fields]

Names: lstm (the attentive LSTM of multi30k.py at beam 5, beside OpenNMT-py with the same sizes),
fast (the preset, beside the Transformer of bench/decode.py), tiny (a model of 1 M parameters, one
text at a time, from `model(text)` to its Output), labels and tags (`predict` of the models of SST-2
and EWT, beside the same call of an earlier checkout, whose folder --earlier names), steps (searches
that go step by step in Python, constrained beams and exact search, with the compiled core beside
the fast forms on torch, which were all there was before it).

With outputs of fixed length, speed does not depend on training. lstm and fast have random weights,
OpenNMT-py makes one update, and outputs have 14 tokens for both; the other models make two updates,
and outputs of tiny have 6 tokens. --fields names the subwords of a run on Multi30k for OpenNMT-py,
whose environment SEQLOOM_PEERS names (multi30k.py). Systems are measured in alternating rounds;
medians are kept in bench/results/kinds.json.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from engine import SEARCHES, Work, ours
from foundation import RESULTS, ROOT, RUNS, SEQLOOM, shared, surroundings
from multi30k import MODELS, OpenNMT, cut, peer, trusting

import seqloom
from seqloom.config import ModelConfig, Overrides, TextConfig, validate
from seqloom.config.columns.options import preset_model
from seqloom.engine.core_model import Engine
from seqloom.engine.matrices import Precision
from seqloom.engine.selection import select_engine
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.fields import END, Symbols, TextField
from seqloom.model import build_sequence_model
from seqloom.prediction import OutputOptions, TextPredictor
from seqloom.search import Beam, Exact, Greedy, Search
from seqloom.torch_engine import fast_decoder, fast_encoder

WORDS = 8_000
STEPS = 14
TEST = "test_2016_flickr"
BATCHES = (16, 64, 128)
MILLION = 4_000_000  # target words for which a preset has width 256
TINY = {"width": 96, "inner": 384, "heads": 4, "layers": 3}
HEADS = {
    "labels": ("sst2", "train.tsv", "dev.tsv", "test.tsv", ("--target", "2:label")),
    "tags": (
        "ud_english_ewt",
        *(f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")),
        (),
    ),
}
FEW = ("updates=2", "validate_every=2", "workers=1")

Timed = Callable[[], float]
"""Runs the work once and returns the seconds it took."""


def medians(systems: dict[str, Timed], rounds: int) -> dict[str, float]:
    """Median seconds of each system, without the first round."""
    times: dict[str, list[float]] = {name: [] for name in systems}
    for timed in systems.values():
        timed()
    for _ in range(rounds):
        for name, timed in systems.items():
            times[name].append(timed())
    return {name: statistics.median(each) for name, each in times.items()}


def compared(
    systems: dict[str, Timed], arguments: argparse.Namespace, aim: float
) -> dict[str, Any]:
    """Sentences a second, and how many times as fast the first system is as the last."""
    found = medians(systems, arguments.rounds)
    speeds = {name: arguments.sentences / seconds for name, seconds in found.items()}
    first, *_, last = speeds.values()
    return {"sentences_per_second": speeds, "ratio": first / last, "aim": aim}


def drawn(model: Overrides, count: int) -> Work:
    """A model with random weights, and sources of 8 to 20 tokens."""
    torch.manual_seed(1)
    config = ModelConfig.model_validate(model)
    network = build_sequence_model(config, source=Symbols(WORDS), target=Symbols(WORDS)).eval()
    random = np.random.default_rng(1)
    rows = [np.append(random.integers(4, WORDS, random.integers(8, 20)), END) for _ in range(count)]
    return Work(network, rows, lambda chosen: [STEPS] * len(chosen), True)


def timed_search(model: Overrides, count: int, search: str, precision: Precision) -> Timed:
    """A whole search by the core."""
    work = drawn(model, count)
    decode = ours(work, SEARCHES[search], precision)

    def timed() -> float:
        began = time.perf_counter()
        decode(work.rows)
        return time.perf_counter() - began

    return timed


def timed_opennmt(folder: Path, count: int, batch: int) -> Timed:
    """Time OpenNMT-py by its own clock, which excludes start and loading."""
    output = folder / "output.txt"
    few = folder / "few.source"
    few.write_text("".join((folder / f"{TEST}.source").read_text().splitlines(True)[:count]))
    words = ["-model", folder / "model_step_1.pt", "-src", few, "-output", output, "-report_time"]
    words += ["-beam_size", 5, "-batch_size", batch, "-min_length", STEPS, "-max_length", STEPS]
    command = [str(peer("onmt") / "onmt_translate"), *map(str, words)]

    def timed() -> float:
        done = subprocess.run(command, check=True, env=trusting(), capture_output=True, text=True)
        found = re.search(r"Total translation time \(s\): ([\d.]+)", done.stdout + done.stderr)
        if found is None:
            sys.exit(f"OpenNMT-py says nothing of its time: {done.stderr[-400:]}")
        return float(found.group(1))

    return timed


def measure_lstm(arguments: argparse.Namespace) -> dict[str, Any]:
    """The attentive LSTM, beam 5, in every precision; OpenNMT-py with its best batch."""
    folder = RUNS / "bench-kinds-onmt"
    trainer = OpenNMT("lstm", arguments.fields, folder)
    cut(arguments.fields, TEST, folder)
    if not (folder / "model_step_1.pt").exists():
        trainer.train(1, {"save_checkpoint_steps": 1, "valid_steps": 1_000_000})
    count = arguments.sentences
    peers = {batch: timed_opennmt(folder, count, batch) for batch in BATCHES}
    best = min(peers, key=lambda batch: peers[batch]())
    kinds: tuple[Precision, ...] = ("float32", "int8")
    return {
        precision: compared(
            {
                "Seqloom": timed_search(MODELS["lstm"], count, "beam 5", precision),
                f"OpenNMT-py, batch {best}": peers[best],
            },
            arguments,
            4.0,
        )
        for precision in kinds
    }


def measure_fast(arguments: argparse.Namespace) -> dict[str, Any]:
    """The preset beside the Transformer with as many symbols and the same width."""
    shared_words = {"share_vocabulary": True, "tie_output": True}
    models = {
        name: {**preset_model(name, MILLION), **shared_words} for name in ("fast", "transformer")
    }
    kinds: tuple[Precision, ...] = ("float32", "int8")
    return {
        f"{search}, {precision}": compared(
            {
                name: timed_search(model, arguments.sentences, search, precision)
                for name, model in models.items()
            },
            arguments,
            1.5,
        )
        for search in SEARCHES
        for precision in kinds
    }


def trained(run: Path, *words: str, source: Path = ROOT) -> Path:
    """A run of two updates, trained by a checkout unless it exists."""
    if not run.exists():
        few = [word for option in FEW for word in ("--set", f"training.{option}")]
        command = [*SEQLOOM, "train", *words, "--run", str(run), *few]
        subprocess.run(command, check=True, env=using(source))
    return run


def using(source: Path) -> dict[str, str]:
    """The environment in which Python imports this checkout."""
    return {**os.environ, "PYTHONPATH": str(source / "src")}


def measure_tiny(arguments: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of one text after the other, with attention, by the search of the run."""

    def files(part: str) -> str:
        return ",".join(str(shared("multi30k", f"{part}.{name}")) for name in ("de", "en"))

    sides = [
        f"model.{s}.{name}={size}" for s in ("encoder", "decoder") for name, size in TINY.items()
    ]
    limits = ("max_ratio=0.01", "max_extra=5", "min_extra=6")
    sizes = ("source.size=2500", "target.size=2500", "model.embedding=96")
    settings = (*sizes, *sides, *(f"search.{limit}" for limit in limits))
    words = [word for option in settings for word in ("--set", option)]
    data = (files("val"), "--valid", files(TEST), "--model", "transformer")
    model = seqloom.load(trained(RUNS / "bench-kinds-tiny", *data, *words))
    texts = Path(files(TEST).split(",")[0]).read_text(encoding="utf-8").splitlines()
    times = []
    for text in texts[: arguments.sentences]:
        began = time.perf_counter()
        model(text)
        times.append(1e3 * (time.perf_counter() - began))
    parameters = sum(each.numel() for each in model.network.parameters())
    steps = len(model(texts[0]).tokens)
    facts = {"parameters": parameters, "steps": steps, "engine": model.describe_engine()}
    return {**facts, "ms": statistics.median(times), "aim": 2.0}


def timed_head(source: Path, run: Path, data: Path) -> Timed:
    """`predict` of all texts by a checkout, in a warm process of its own."""
    program = Path(__file__).with_name("heads_peer.py")
    process = subprocess.Popen(
        [sys.executable, str(program), str(run), str(data)],
        env=using(source),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )

    def timed() -> float:
        if process.stdin is None or process.stdout is None:
            sys.exit("the peer has no standard input or output")
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    return timed


def measure_head(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare all texts of the test set between this checkout and the earlier one, which trains
    the run, since it could not read one of a later version."""
    folder, train, valid, test, options = HEADS[name]
    files = (str(shared(folder, train)), "--valid", str(shared(folder, valid)))
    run = trained(RUNS / f"bench-kinds-{name}", *files, *options, source=arguments.earlier)
    with tempfile.TemporaryDirectory() as texts:
        data = Path(texts, "texts.txt")
        data.write_text("\n".join(head_texts(shared(folder, test))[: arguments.sentences]) + "\n")
        systems = {
            "now": timed_head(ROOT, run, data),
            "earlier": timed_head(arguments.earlier, run, data),
        }
        return compared(systems, arguments, 3.0)


def head_texts(path: Path) -> list[str]:
    """The texts of a table, or the sentences of a CoNLL-U file with spaces between words."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".tsv":
        return [line.split("\t")[0] for line in lines]
    sentences: list[list[str]] = [[]]
    for line in lines:
        number, _, rest = line.partition("\t")
        if not line:
            sentences.append([])
        elif number.isdigit():
            sentences[-1].append(rest.partition("\t")[0])
    return [" ".join(words) for words in sentences if words]


STEPWISE: dict[str, tuple[Search, OutputOptions]] = {
    "beam 5 with a prefix": (Beam(5), OutputOptions(prefix="w7000")),
    "beam 5 with a required phrase": (Beam(5), OutputOptions(require=("w7000 w5",))),
    "greedy search without repetition": (Greedy(), OutputOptions(no_repeat=2)),
    "exact search, 50 steps": (Exact(expansions=50), OutputOptions()),
}


def stepwise_models() -> dict[str, TextPredictor]:
    """The Transformer with drawn weights and 8,000 words, by the engines to compare."""
    side = {"kind": "transformer", "width": 256, "inner": 1024, "heads": 4, "layers": 3}
    tables = {
        "model": {"embedding": 256, "encoder": side, "decoder": side},
        "search": {"max_ratio": 0.01, "max_extra": STEPS, "min_extra": STEPS},
    }
    config = validate(tables, place="bench/kinds.py")
    words = [f"w{number}" for number in range(WORDS)]
    named = TextConfig.model_validate({"unit": "word", "size": 2 * WORDS})
    field = TextField.learn(named, [" ".join(words)] * 2, seed=1)
    torch.manual_seed(1)
    symbols = Symbols(field.size)
    network = build_sequence_model(config.model, source=symbols, target=symbols).eval()
    translations = np.random.default_rng(1).integers(4, WORDS, (field.size, 8)).astype(np.int32)
    starts, frequent = np.arange(0, translations.size + 1, 8), np.arange(1_004, dtype=np.int32)
    shortlist = Shortlist(translations.ravel(), starts, frequent, field.size)
    engines = {
        "compiled core": select_engine(network),
        "compiled core, shortlist": select_engine(network, shortlist=shortlist),
        "compiled core, int8, shortlist": select_engine(
            network, precision="int8", shortlist=shortlist
        ),
        "torch": Engine(fast_encoder(network.encoder), fast_decoder(network.decoder)),
    }
    return {
        name: TextPredictor(config, field, field, network, engine=engine)
        for name, engine in engines.items()
    }


def measure_steps(arguments: argparse.Namespace) -> dict[str, Any]:
    """Each search by each engine, in processor time, so that both may use all cores."""
    models, random = stepwise_models(), np.random.default_rng(1)
    count = arguments.sentences
    texts = [" ".join(f"w{n}" for n in random.integers(0, WORDS, 12)) for _ in range(count)]

    def timed(model: TextPredictor, search: Search, options: OutputOptions) -> float:
        began = time.process_time()
        model.predict(texts, search=search, options=options)
        return time.process_time() - began

    return {
        name: compared(
            {who: partial(timed, model, *asked) for who, model in models.items()}, arguments, 1.0
        )
        for name, asked in STEPWISE.items()
    }


MEASURES: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "lstm": measure_lstm,
    "fast": measure_fast,
    "tiny": measure_tiny,
    "labels": lambda arguments: measure_head("labels", arguments),
    "tags": lambda arguments: measure_head("tags", arguments),
    "steps": measure_steps,
}


def main() -> None:
    """Measure the named kinds, and merge the results with earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=MEASURES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--fields", type=Path, default=RUNS / "bench-decode" / "fields")
    parser.add_argument("--earlier", type=Path, help="a checkout without the compiled core")
    arguments = parser.parse_args()
    path = RESULTS / "kinds.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    for name in arguments.names:
        found = MEASURES[name](arguments)
        print(name, json.dumps(found), flush=True)
        around = {**surroundings(), "load": os.getloadavg()[0], "rounds": arguments.rounds}
        result[name] = {"surroundings": around, "found": found}
        path.write_text(json.dumps(result, indent=1) + "\n")
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
