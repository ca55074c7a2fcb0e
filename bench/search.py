"""Measures every search on one real test set: quality, speed, and what beams miss.

    python bench/search.py [--sentences N] [--proved N] [--run DIR]

The model is that of bench/decode.py, trained first as far as it is not, unless a run is given.
BLEU and chrF are those of test_2016_flickr, or its first N sentences, cased, with 95 % intervals;
speed is that of one pass over it after a short warm-up. Search errors are counted on the shortest
sentences, `--proved` of them, since proofs for long ones take too long. With all sentences the
result is kept in bench/results/search.json, and docs/searches.md has its tables made anew.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

from decode import multi30k, trained
from foundation import RESULTS, ROOT, surroundings

from seqloom.api.evaluate import search_errors
from seqloom.api.load import load_text_predictor
from seqloom.metrics import target_scores
from seqloom.prediction import TextPredictor
from seqloom.search import (
    Beam,
    DiverseBeam,
    Exact,
    Greedy,
    MinimumRisk,
    PatientBeam,
    Sample,
    Search,
    StochasticBeam,
)

SEED = 1
METHODS: dict[str, Search] = {
    "greedy": Greedy(),
    "beam 2": Beam(2),
    "beam 5": Beam(5),
    "beam 5, patience 1": PatientBeam(5),
    "beam 10": Beam(10),
    "diverse beam 6, 3 groups": DiverseBeam(6, 3),
    "stochastic beam 5": StochasticBeam(5, seed=SEED),
    "one draw": Sample(seed=SEED),
    "one draw, top-p 0.9": Sample(top_p=0.9, seed=SEED),
    "minimum risk, 16 draws": MinimumRisk(Sample(draws=16, seed=SEED)),
}
WIDEST = 5  # beam whose search errors are counted
EXPANSIONS = 5_000  # paths after which a proof is given up
PROVED = 200
WARM = 16  # sentences decoded before the clock runs


def measured(
    model: TextPredictor, search: Search, sources: list[str], references: list[str]
) -> dict[str, Any]:
    """Quality and speed of one search."""
    model.predict(sources[:WARM], search=search)
    began, used = time.perf_counter(), time.process_time()
    outputs = model.predict(sources, search=search)
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    scores = target_scores("text", [output.text for output in outputs], references)
    return {
        "scores": [score.as_dict() for score in scores],
        "sentences_per_second": len(sources) / seconds,
        "processor_ms": 1e3 * processor / len(sources),
        "log_probability": mean(output.score for output in outputs),
        "tokens": mean(len(output.tokens) for output in outputs),
    }


def errors(model: TextPredictor, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """What beams miss on these sentences."""
    found = search_errors(model, pairs, widest=WIDEST, search=Exact(expansions=EXPANSIONS))
    return found.as_dict()


def main() -> None:
    """Measure, keep the result, and write the tables anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--proved", type=int, default=PROVED)
    parser.add_argument("--run", type=Path)
    arguments = parser.parse_args()
    few = arguments.sentences
    model = trained() if arguments.run is None else load_text_predictor(arguments.run)
    sources, references = (
        Path(multi30k("test_2016_flickr", name)).read_text(encoding="utf-8").splitlines()[:few]
        for name in ("de", "en")
    )
    methods = {}
    for name, search in METHODS.items():
        methods[name] = measured(model, search, sources, references)
        print(name, json.dumps(methods[name]), flush=True)
    shortest = sorted(zip(sources, references, strict=True), key=lambda pair: len(pair[0]))
    result = {
        "surroundings": surroundings(),
        "load": os.getloadavg()[0],
        "sentences": len(sources),
        "methods": methods,
        "search_errors": errors(model, shortest[: arguments.proved]),
    }
    if few is not None:
        print(json.dumps(result["search_errors"]))
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "search.json").write_text(json.dumps(result, indent=1) + "\n")
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
