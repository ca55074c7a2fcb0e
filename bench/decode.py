"""Times decoding against CTranslate2 in float32 on the same weights.

    python bench/decode.py [--rounds 3] [--sentences N] [--run DIR]

The model is a Transformer of width 256, inner size 1,024, three blocks a side and four heads over
8,000 joint subwords, trained on Multi30k German to English, whose files lie in the folder that
SEQLOOM_SHARED_DATA names; runs/bench-decode is trained first as far as it is not, unless a run is
given. Both decode test_2016_flickr, or its first N sentences, in turn, round after round, and
figures are medians over the rounds: sentences a second, and beside them the processor time of a
sentence. CTranslate2 has one thread for each core and whichever batch it is fastest with. Where
both have patience 1, the rule by which they stop is the same; Seqloom's own beam goes on until
nothing can be better, and is timed beside CTranslate2 with patience 1 and 2. One sentence at a
time CTranslate2 is timed with one thread and with one for each core, and the faster counts. Results
are printed, and with all sentences kept in bench/results/decode.json; docs/results.md is made anew.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from foundation import RESULTS, ROOT, RUNS, SEQLOOM, shared, surroundings

from seqloom.api.load import load_text_predictor
from seqloom.export import CTranslate2Model, export_ctranslate2
from seqloom.prediction import TextPredictor
from seqloom.search import PER_TOKEN, PLAIN, Beam, Greedy, PatientBeam, Search

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
BATCHES = (16, 32, 64, 128)  # sentences, of which CTranslate2 takes the fastest
TRIED = 200  # sentences that a batch size is tried on
ALONE = 100  # sentences that are given one at a time
CORES = len(os.sched_getaffinity(0))

Decode = Callable[[list[np.ndarray]], list[str]]


class Setting(NamedTuple):
    """One way of decoding, for both."""

    ours: Search
    theirs: Beam
    patience: float
    aim: float | None


MEANS = Beam(5, PER_TOKEN)
SETTINGS = {
    "beam 5, both with patience 1": Setting(PatientBeam(5, PER_TOKEN), MEANS, 1.0, 1.0),
    "beam 5, each by its own rule": Setting(MEANS, MEANS, 1.0, None),
    "beam 5 by its own rule, CTranslate2 with patience 2": Setting(MEANS, MEANS, 2.0, None),
    "beam 5, no length rule": Setting(Beam(5, PLAIN), Beam(5, PLAIN), 1.0, None),
    "greedy": Setting(Greedy(), Beam(1, PLAIN), 1.0, 1.0),
}
ONE = Setting(PatientBeam(5, PER_TOKEN), MEANS, 1.0, 1.5)


def multi30k(part: str, *languages: str) -> str:
    """The files of a part of the data, as the commands take them."""
    return ",".join(str(shared("multi30k", f"{part}.{name}")) for name in languages)


def trained() -> TextPredictor:
    """The model, trained as far as it is not yet."""
    train, valid = (multi30k(part, "de", "en") for part in ("train", "val"))
    settings = [word for option in OPTIONS for word in ("--set", option)]
    command = ["train", train, "--valid", valid, "--model", "transformer", "--run", str(RUN)]
    subprocess.run([*SEQLOOM, *command, *settings], check=True)
    return load_text_predictor(RUN)


def ours(model: TextPredictor, search: Search) -> Decode:
    """Token rows to texts, in batches of the model's own choosing."""

    def decode(rows: list[np.ndarray]) -> list[str]:
        torch.set_num_threads(CORES)  # which CTranslate2 sets for the whole process
        return [output.text for output in model.predict_rows(rows, search=search)]

    return decode


def theirs(
    model: TextPredictor, exported: CTranslate2Model, setting: Setting, batch: int
) -> Decode:
    """The same by CTranslate2, up to the greatest length that any of the rows may lead to."""
    options = model.config.search

    def decode(rows: list[np.ndarray]) -> list[str]:
        longest = int(max(map(len, rows)) * options.max_ratio) + options.max_extra
        found = exported.search(
            rows, setting.theirs, longest=longest, batch=batch, patience=setting.patience
        )
        return [model.target.decode(ids) for ids in found]

    return decode


def fastest(decodes: dict[int, Decode], rows: list[np.ndarray]) -> int:
    """The batch with which a try takes least time."""
    tries = rows[:: max(1, len(rows) // TRIED)]
    return min(decodes, key=lambda batch: timed(decodes[batch], tries)[0])


def timed(decode: Decode, rows: list[np.ndarray]) -> tuple[float, float, list[str]]:
    """Seconds, seconds of processor time, and the outputs."""
    began, used = time.perf_counter(), time.process_time()
    texts = decode(rows)
    return time.perf_counter() - began, time.process_time() - used, texts


def alternate(
    systems: dict[str, Decode], rows: list[np.ndarray], rounds: int
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Medians over rounds in which each system decodes all rows in its turn, and the outputs."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    texts: dict[str, list[str]] = {}
    for decode in systems.values():
        decode(rows[:8])
    for _ in range(rounds):
        for name, decode in systems.items():
            wall, used, texts[name] = timed(decode, rows)
            seconds[name].append((wall, used))
    medians = {
        name: {
            "sentences_per_second": len(rows) / statistics.median(wall for wall, _ in each),
            "processor_ms": 1e3 / len(rows) * statistics.median(used for _, used in each),
        }
        for name, each in seconds.items()
    }
    return medians, texts


def measure(
    systems: dict[str, Decode], rows: list[np.ndarray], rounds: int, aim: float | None
) -> dict[str, Any]:
    """Both at one setting: speeds, our ratio, and equal outputs."""
    medians, texts = alternate(systems, rows, rounds)
    speeds = [medians[name]["sentences_per_second"] for name in ("seqloom", "ctranslate2")]
    same = sum(map(str.__eq__, texts["seqloom"], texts["ctranslate2"]))
    return {
        **medians,
        "ratio": speeds[0] / speeds[1],
        "aim": aim,
        "same": same / len(rows),
    }


def all_at_once(
    model: TextPredictor, folder: Path, rows: list[np.ndarray], rounds: int
) -> dict[str, dict[str, Any]]:
    """Every setting with batches as each likes best."""
    exported = CTranslate2Model(
        model, folder, compute_type="float32", inter_threads=CORES, intra_threads=1
    )
    found = {}
    for name, setting in SETTINGS.items():
        tries = {batch: theirs(model, exported, setting, batch) for batch in BATCHES}
        batch = fastest(tries, rows)
        systems = {"seqloom": ours(model, setting.ours), "ctranslate2": tries[batch]}
        found[name] = {"batch": batch, **measure(systems, rows, rounds, setting.aim)}
        print(name, json.dumps(found[name]), flush=True)
    return found


def one_at_a_time(
    model: TextPredictor, folder: Path, rows: list[np.ndarray], rounds: int
) -> dict[str, Any]:
    """Each of some sentences by itself: CTranslate2 with one thread, and afterwards with as many as
    there are cores, since these go on spinning and would slow whatever comes next; the faster of
    the two counts."""
    chosen = rows[:: max(1, len(rows) // ALONE)]

    def alone(threads: int) -> Decode:
        exported = CTranslate2Model(
            model, folder, compute_type="float32", inter_threads=1, intra_threads=threads
        )
        return each(theirs(model, exported, ONE, 1))

    systems = {"seqloom": each(ours(model, ONE.ours)), "ctranslate2": alone(1)}
    found = measure(systems, chosen, rounds, ONE.aim)
    several = f"ctranslate2, {CORES} threads"
    found |= alternate({several: alone(CORES)}, chosen, rounds)[0]
    best = max(found[name]["sentences_per_second"] for name in ("ctranslate2", several))
    return {**found, "ratio": found["seqloom"]["sentences_per_second"] / best}


def each(decode: Decode) -> Decode:
    """The same, one row at a time."""
    return lambda rows: [text for row in rows for text in decode([row])]


def main() -> None:
    """Measure, keep the result, and write the page anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--run", type=Path)
    arguments = parser.parse_args()
    rounds, few = arguments.rounds, arguments.sentences
    model = trained() if arguments.run is None else load_text_predictor(arguments.run)
    lines = Path(multi30k("test_2016_flickr", "de")).read_text(encoding="utf-8").splitlines()[:few]
    rows = model.source.rows(lines)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ctranslate2"
        export_ctranslate2(model, place)
        settings = all_at_once(model, place, rows, rounds)
        settings["one at a time, beam 5"] = one_at_a_time(model, place, rows, rounds)
    result = {
        "surroundings": {**surroundings(), "ctranslate2": version("ctranslate2")},
        "load": os.getloadavg()[0],
        "sentences": len(rows),
        "rounds": rounds,
        "settings": settings,
    }
    if few is not None:
        print(json.dumps(result))
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "decode.json").write_text(json.dumps(result, indent=1) + "\n")
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
