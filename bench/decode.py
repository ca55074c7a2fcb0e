"""Times `predict` against CTranslate2 with the same weights, and reports speed with BLEU.

    python bench/decode.py [--rounds 3] [--sentences N] [--run DIR]

The model is a Transformer of width 256, inner size 1,024, three blocks a side and four heads over
8,000 joint subwords, trained on Multi30k German to English, whose files lie in the folder that
SEQLOOM_SHARED_DATA names; runs/bench-decode is trained first as far as it is not, unless a run is
given. Seqloom decodes test_2016_flickr, or its first N sentences, through `predict_rows` in float32
and int8, with and without a shortlist; CTranslate2 in float32, int8, and int8 with the same
shortlist as its vocabulary map, each with whichever batch, threads and instruction set
(CT2_FORCE_CPU_ISA, CT2_USE_MKL) it is fastest with on some of the sentences. Both stop by the same
rule (patience 1). They are measured in alternating rounds; figures are medians of sentences per
second and of processor time per sentence. Results are printed and, with all sentences, kept in
bench/results/decode.json; docs/results.md is rewritten. With --only some comparisons are measured
and replace earlier results of the same names.

An undertrained model writes outputs up to the length limit, which costs CTranslate2 more since its
limit is per call: with --fixed 14 every output has this many tokens for both, and there is no BLEU.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from engine import Rows, Work, exported, learnt
from foundation import RESULTS, ROOT, RUNS, SEQLOOM, shared, spent, surroundings

from seqloom.api.load import load_text_predictor
from seqloom.engine.library import core
from seqloom.engine.matrices import Precision
from seqloom.engine.selection import select_engine
from seqloom.fields import END
from seqloom.search import PER_TOKEN, Greedy, PatientBeam, Search

RUN = RUNS / "bench-decode"
OPTIONS = (
    "source.size=8000",
    "target.size=8000",
    "model.embedding=256",
    "model.encoder.width=256",
    "model.encoder.inner=1024",
    "model.encoder.dropout=0.1",
    "model.decoder.width=256",
    "model.decoder.inner=1024",
    "model.decoder.dropout=0.1",
    "training.updates=1500",
    "training.validate_every=300",
)
BATCHES = (16, 32, 64, 128)
SETS: tuple[dict[str, str], ...] = (  # environment of CTranslate2; empty lets it choose
    {},
    {"CT2_FORCE_CPU_ISA": "AVX512"},
    {"CT2_FORCE_CPU_ISA": "AVX2"},
    {"CT2_USE_MKL": "1"},
    {"CT2_USE_MKL": "1", "CT2_FORCE_CPU_ISA": "AVX512"},
)
TRIED = 100  # sentences on which CTranslate2's settings are tried
ALONE = 60  # sentences decoded one at a time
CORES = len(os.sched_getaffinity(0))
BEAM, GREEDY = PatientBeam(5, PER_TOKEN), Greedy()


class Comparison(NamedTuple):
    """A form of Seqloom compared with a form of CTranslate2."""

    search: Search
    precision: Precision
    shortlist: bool
    compute: str
    vmap: bool
    aim: float
    alone: bool = False


FORMS = {
    "float32": ("float32", False, "float32", False, 1.0),
    "float32 with shortlist, theirs without": ("float32", True, "float32", False, 1.4),
    "int8": ("int8", False, "int8", False, 1.2),
    "int8 with shortlist, theirs without": ("int8", True, "int8", False, 2.0),
    "int8 with shortlist, theirs with it too": ("int8", True, "int8", True, 1.2),
}
COMPARISONS: dict[str, Comparison] = {
    f"{name}, {form}": Comparison(search, *FORMS[form])  # type: ignore[arg-type]
    for (name, search), form in product((("beam 5", BEAM), ("greedy", GREEDY)), FORMS)
} | {
    "one at a time, beam 5, int8": Comparison(BEAM, "int8", False, "int8", False, 1 / 0.85, True),
    "one at a time, beam 5, int8 with shortlist, theirs without": Comparison(
        BEAM, "int8", True, "int8", False, 1 / 0.6, True
    ),
}


class Timing(NamedTuple):
    """Of one system over some rows."""

    seconds: float
    processor: float
    outputs: list[list[int]]


Decode = Callable[[Rows], Timing]


@dataclass
class Peer:
    """CTranslate2 with one environment."""

    folder: Path
    environment: dict[str, str]

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("ctranslate2_peer.py")), self.folder],
            env={**os.environ, **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, job: dict[str, Any]) -> Timing:
        """The answer to a job; SystemExit if the process has ended."""
        if self.process.stdin is None or self.process.stdout is None:
            raise SystemExit("the peer has no standard input or output")
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"CTranslate2 has ended with {self}")
        found = json.loads(line)
        return Timing(found["seconds"], found["processor"], found["outputs"])

    def __str__(self) -> str:
        return " ".join(map("=".join, self.environment.items())) or "its own choice"


def trained() -> Path:
    """The run, trained if it is not finished."""

    def files(part: str) -> str:
        return ",".join(str(shared("multi30k", f"{part}.{name}")) for name in ("de", "en"))

    settings = [word for option in OPTIONS for word in ("--set", option)]
    command = ["train", files("train"), "--valid", files("val"), "--model", "transformer"]
    subprocess.run([*SEQLOOM, *command, "--run", str(RUN), *settings], check=True)
    return RUN


def ours(run: Path, work: Work, wanted: Comparison) -> Decode:
    """Decode with Seqloom in this form."""
    model = load_text_predictor(run, precision="float32", shortlist=False)
    shortlist = work.shortlist if wanted.shortlist else None
    engine = select_engine(model.network, precision=wanted.precision, shortlist=shortlist)
    model = replace(model, engine=engine)
    if work.fixed:
        (length,) = set(work.longest(work.rows))
        limits = {"max_ratio": 0.0, "max_extra": length - 1, "min_extra": length}
        search = model.config.search.model_copy(update=limits)
        model = replace(model, config=model.config.model_copy(update={"search": search}))

    def decode(rows: Rows) -> Timing:
        torch.set_num_threads(CORES)
        groups = [[row] for row in rows] if wanted.alone else [rows]
        began, used = time.perf_counter(), time.process_time()
        found = [
            output for group in groups for output in model.predict_rows(group, search=wanted.search)
        ]
        seconds, processor = time.perf_counter() - began, time.process_time() - used
        tokens = [[token for token in output.ids if token != END] for output in found]
        return Timing(seconds, processor, tokens)

    return decode


def theirs(peer: Peer, work: Work, wanted: Comparison, batch: int, workers: int) -> Decode:
    """Decode with CTranslate2, with so many workers and the other cores as their threads."""
    search = wanted.search

    def decode(rows: Rows) -> Timing:
        options = {
            "beam_size": search.paths,
            "length_penalty": 1.0 if search.paths > 1 else 0.0,
            "patience": 1.0,
            "max_decoding_length": max(work.longest(rows)),
            "min_decoding_length": max(work.longest(rows)) if work.fixed else 0,
            "max_input_length": 0,
            "max_batch_size": batch,
            "disable_unk": True,
            "suppress_sequences": [["<empty>"], ["<start>"]],
            "return_end_token": True,
            "use_vmap": wanted.vmap,
        }
        job = {
            "compute": wanted.compute,
            "workers": workers,
            "threads": max(1, CORES // workers),
            "alone": wanted.alone,
            "rows": [[str(token) for token in row[:-1]] for row in rows],
            "options": options,
        }
        return peer.ask(job)

    return decode


def their_settings(
    peers: list[Peer], work: Work, wanted: Comparison
) -> Iterator[tuple[str, Decode]]:
    """All settings of CTranslate2 to try."""
    batches = (1,) if wanted.alone else BATCHES
    for peer, batch, workers in product(peers, batches, sorted({1, CORES})):
        name = f"batch {batch}, {workers} workers, {peer}"
        yield name, theirs(peer, work, wanted, batch, workers)


def compare(
    run: Path, work: Work, peers: list[Peer], wanted: Comparison, rounds: int
) -> dict[str, Any]:
    """Compare both in alternating rounds over all rows, CTranslate2 with its best settings."""
    rows = work.rows[:: max(1, len(work.rows) // ALONE)] if wanted.alone else work.rows
    tries = rows[:: max(1, len(rows) // TRIED)]
    settings = dict(their_settings(peers, work, wanted))
    for decode in settings.values():
        decode(tries[:4])
    best = min(settings, key=lambda name: settings[name](tries).seconds)
    systems = {"seqloom": ours(run, work, wanted), "ctranslate2": settings[best]}
    times: dict[str, list[Timing]] = {name: [] for name in systems}
    for decode in systems.values():
        decode(rows[:4])
    for _ in range(rounds):
        for name, decode in systems.items():
            times[name].append(decode(rows))
    found: dict[str, Any] = {
        name: {
            "sentences_per_second": len(rows) / statistics.median(t.seconds for t in each),
            "processor_ms": 1e3 / len(rows) * statistics.median(t.processor for t in each),
            "bleu": None if wanted.alone or work.bleu is None else work.bleu(each[-1].outputs),
        }
        for name, each in times.items()
    }
    speeds = [found[name]["sentences_per_second"] for name in systems]
    same = sum(map(list.__eq__, *(times[name][-1].outputs for name in systems)))
    facts = {"ratio": speeds[0] / speeds[1], "aim": wanted.aim, "same": same / len(rows)}
    return {**found, **facts, "theirs": best}


def with_fixed_length(work: Work, length: int) -> Work:
    """Fix the length of every output."""
    return work._replace(longest=lambda rows: [length] * len(rows), fixed=True, bleu=None)


def measure(run: Path, work: Work, *, rounds: int, only: str) -> dict[str, Any]:
    """All comparisons whose names begin with `only`, by name."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        exported(work, Path(folder))
        peers = [Peer(Path(folder), each) for each in SETS]
        for name, wanted in COMPARISONS.items():
            if name.startswith(only):
                found[name] = compare(run, work, peers, wanted, rounds)
                print(name, json.dumps(found[name]), flush=True)
        for peer in peers:
            peer.process.terminate()
    return found


def keep(result: dict[str, Any], *, only: str) -> None:
    """Write the results, merged with earlier ones that were not measured again."""
    path = RESULTS / "decode.json"
    if only and path.exists():
        earlier = json.loads(path.read_text())["settings"]
        every = {**earlier, **result["settings"]}
        result = {
            **result,
            "settings": {name: every[name] for name in COMPARISONS if name in every},
        }
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


def main() -> None:
    """Measure, keep the results, and rewrite the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--only", default="", help="comparisons whose name begins so")
    parser.add_argument("--fixed", type=int, help="tokens of every output")
    arguments = parser.parse_args()
    run = trained() if arguments.run is None else arguments.run
    work = learnt(run, arguments.sentences or 1_000)
    updates = spent(run)["updates"]
    if arguments.fixed is not None:
        work = with_fixed_length(work, arguments.fixed)
    around = {**surroundings(), "instructions": core().sl_chosen().decode()}
    result = {
        "surroundings": {**around, "ctranslate2": version("ctranslate2")},
        "load": os.getloadavg()[0],
        "sentences": len(work.rows),
        "rounds": arguments.rounds,
        "updates": updates,
        "fixed": arguments.fixed,
        "settings": measure(run, work, rounds=arguments.rounds, only=arguments.only),
    }
    if arguments.sentences is None:
        keep(result, only=arguments.only)


if __name__ == "__main__":
    main()
