"""Times the compiled engine against CTranslate2 on the same weights.

    python bench/engine.py [--rounds 3] [--sentences 400] [--run DIR] [--alone 60]

Without a run the model is a Transformer of width 256, inner size 1,024, three blocks a side and
four heads over 8,000 tied symbols, with random weights, and every output has exactly 14 tokens for
both. With a run, Multi30k's test_2016_flickr is decoded (SEQLOOM_SHARED_DATA names the folder) and
outputs have their natural length. Both use one thread per available core; CTranslate2 uses its
fastest batch size. Systems are measured in alternating rounds; figures are medians of time and of
processor time, which is less affected by other load.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from foundation import shared, surroundings
from sacrebleu import corpus_bleu

from seqloom.config import ModelConfig
from seqloom.engine.from_network import decoder_arrays, encoder_arrays, plan_of
from seqloom.engine.library import core
from seqloom.engine.loop import SearchLoop
from seqloom.engine.matrices import Precision
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.engine.stacks import PackedStack
from seqloom.export.specification import library, transformer_specification
from seqloom.fields import END, SPECIAL_SYMBOLS, START, UNK, Symbols
from seqloom.model import SequenceModel, build_sequence_model
from seqloom.search import PER_TOKEN, Greedy, Limits, PatientBeam, Search

WORDS = 8_000
STEPS = 14  # tokens of an output with random weights
BATCHES = (16, 32, 64)
CORES = len(os.sched_getaffinity(0))
SEARCHES: dict[str, Search] = {"beam 5": PatientBeam(5, PER_TOKEN), "greedy": Greedy()}

Rows = list[np.ndarray]
Decode = Callable[[Rows], list[list[int]]]


class Work(NamedTuple):
    """A workload: sources, length limits, and the facts of a trained model."""

    network: SequenceModel
    rows: Rows
    longest: Callable[[Rows], list[int]]
    fixed: bool
    shortlist: Shortlist | None = None
    bleu: Callable[[list[list[int]]], float] | None = None
    words: int = WORDS  # of the vocabulary


def drawn(count: int) -> Work:
    """A model with random weights, and sources of 8 to 20 tokens."""
    side = {"kind": "transformer", "width": 256, "inner": 1024, "heads": 4, "layers": 3}
    tables = {"embedding": 256, "encoder": side, "decoder": side}
    config = ModelConfig.model_validate({**tables, "share_vocabulary": True, "tie_output": True})
    torch.manual_seed(1)
    network = build_sequence_model(config, source=Symbols(WORDS), target=Symbols(WORDS)).eval()
    random = np.random.default_rng(1)
    rows = [np.append(random.integers(4, WORDS, random.integers(8, 20)), END) for _ in range(count)]
    return Work(network, rows, lambda chosen: [STEPS] * len(chosen), True)


def learnt(run: Path, count: int) -> Work:
    """A trained model and the sentences of the test set."""
    from seqloom.api.load import load_text_predictor

    def lines(part: str) -> list[str]:
        return shared("multi30k", part).read_text(encoding="utf-8").splitlines()

    model = load_text_predictor(run)
    rows = model.source.rows(lines("test_2016_flickr.de")[:count])
    options = model.config.search
    pairs = zip(
        model.source.rows(lines("train.de")), model.target.rows(lines("train.en")), strict=True
    )
    shortlist = Shortlist.learn(list(pairs), (model.source.size, model.target.size))
    references = lines("test_2016_flickr.en")[:count]

    def bleu(outputs: list[list[int]]) -> float:
        texts = [model.target.decode(tokens) for tokens in outputs]
        return float(corpus_bleu(texts, [references]).score)

    def longest(chosen: Rows) -> list[int]:
        return [max(1, int(len(row) * options.max_ratio)) + options.max_extra for row in chosen]

    return Work(model.network, rows, longest, False, shortlist, bleu, model.target.size)


def ours(work: Work, search: Search, precision: Precision, *, short: bool = False) -> Decode:
    """Decode with the engine, with or without a shortlist."""
    arrays = encoder_arrays(work.network.encoder), decoder_arrays(work.network.decoder)
    packed = [PackedStack.of(part, precision) for part in arrays if not isinstance(part, str)]
    stacks = packed[0], packed[1]

    def decode(rows: Rows) -> list[list[int]]:
        longest = torch.tensor(work.longest(rows))
        limits = Limits(longest, shortest=longest if work.fixed else None)
        plan = plan_of(search)
        if plan is None:
            raise SystemExit("this search is not one of the core's")
        words = work.shortlist.for_rows(rows) if short and work.shortlist else None
        found = SearchLoop(*stacks, threads=CORES).run(rows, plan, limits, words=words)
        return [list(outputs[0].tokens) for outputs in found]

    return decode


def exported(work: Work, folder: Path) -> None:
    """Export the network for CTranslate2, with numbers as tokens."""
    made = transformer_specification(work.network, source=200, target=400)
    names = [*SPECIAL_SYMBOLS, *map(str, range(4, work.words))]
    made.register_source_vocabulary(names)
    made.register_target_vocabulary(names)
    config = made.config
    config.unk_token, config.bos_token = SPECIAL_SYMBOLS[UNK], SPECIAL_SYMBOLS[START]
    config.eos_token, config.decoder_start_token = SPECIAL_SYMBOLS[END], SPECIAL_SYMBOLS[START]
    config.add_source_eos, config.layer_norm_epsilon = True, 1e-5
    made.validate()
    made.optimize()
    made.save(str(folder))
    if work.shortlist is not None:
        (folder / "vmap.txt").write_text("\n".join(vmap(work.shortlist, names)) + "\n")


def vmap(shortlist: Shortlist, names: list[str]) -> Iterator[str]:
    """The shortlist as a vocabulary map of CTranslate2."""
    yield "\t" + " ".join(names[word] for word in shortlist.frequent)
    for source, (first, end) in enumerate(pairwise(shortlist.starts.tolist())):
        if end > first:
            words = shortlist.words[first:end].tolist()
            yield names[source] + "\t" + " ".join(names[word] for word in words)


def theirs(
    work: Work, translator: Any, search: Search, batch: int, *, short: bool = False
) -> Decode:
    """Decode with CTranslate2."""

    def decode(rows: Rows) -> list[list[int]]:
        longest = max(work.longest(rows))
        found = translator.translate_batch(
            [[str(token) for token in row[:-1]] for row in rows],
            beam_size=search.paths,
            length_penalty=1.0 if search.paths > 1 else 0.0,
            patience=1.0,
            max_decoding_length=longest,
            min_decoding_length=longest if work.fixed else 0,
            max_input_length=0,
            max_batch_size=batch,
            disable_unk=True,
            suppress_sequences=[["<empty>"], ["<start>"]],
            return_end_token=True,
            use_vmap=short,
        )
        return [[int(name) for name in each.hypotheses[0] if name[0] != "<"] for each in found]

    return decode


def seconds(decode: Decode, rows: Rows) -> tuple[float, float, list[list[int]]]:
    """Seconds, seconds of processor time, and the outputs."""
    began, used = time.perf_counter(), time.process_time()
    found = decode(rows)
    return time.perf_counter() - began, time.process_time() - used, found


def one_by_one(decode: Decode) -> Decode:
    return lambda rows: [found for row in rows for found in decode([row])]


def alternate(systems: dict[str, Decode], work: Work, rows: Rows, rounds: int) -> dict[str, Any]:
    """Median seconds of each system, and how many outputs equal those of the first."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    found: dict[str, list[list[int]]] = {}
    for decode in systems.values():
        decode(rows[:8])
    for _ in range(rounds):
        for name, decode in systems.items():
            wall, used, found[name] = seconds(decode, rows)
            times[name].append((wall, used))
    first = next(iter(found.values()))
    return {
        name: {
            "sentences_per_second": len(rows) / statistics.median(wall for wall, _ in times[name]),
            "processor_ms": 1e3 * statistics.median(used for _, used in times[name]) / len(rows),
            "same_as_first": sum(map(list.__eq__, first, found[name])) / len(rows),
            "bleu": None if work.bleu is None else work.bleu(found[name]),
        }
        for name in systems
    }


def systems_for(
    work: Work, search: Search, translators: dict[Precision, Any], batches: Sequence[int]
) -> dict[str, Decode]:
    """Both in every form; CTranslate2 with whichever batch it is fastest with."""
    systems: dict[str, Decode] = {}
    tried = work.rows[:: max(1, len(work.rows) // 128)]
    for kind, short in product(translators, (False, True)):
        if short and work.shortlist is None:
            continue
        name = f"{kind} shortlist" if short else kind
        systems[f"engine {name}"] = ours(work, search, kind, short=short)
        tries = [theirs(work, translators[kind], search, size, short=short) for size in batches]
        systems[f"ctranslate2 {name}"] = min(tries, key=lambda each: seconds(each, tried)[0])
    return systems


def compare(work: Work, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Every search, in batches and one sentence at a time."""
    results: dict[str, Any] = {}
    kinds: tuple[Precision, ...] = ("float32", "int8")
    translators = {
        kind: library().Translator(
            str(folder), device="cpu", compute_type=kind, inter_threads=CORES, intra_threads=1
        )
        for kind in kinds
    }
    for name, search in SEARCHES.items():
        systems = systems_for(work, search, translators, BATCHES)
        results[name] = alternate(systems, work, work.rows, arguments.rounds)
        show(name, results[name])
    lone = systems_for(work, SEARCHES["beam 5"], translators, (1,))
    few = work.rows[:: max(1, len(work.rows) // arguments.alone)]
    alone = {name: one_by_one(decode) for name, decode in lone.items()}
    results["alone"] = alternate(alone, work._replace(bleu=None), few, arguments.rounds)
    show("one sentence at a time, beam 5", results["alone"])
    return results


def show(title: str, figures: dict[str, Any]) -> None:
    """A line for each system, with the ratio to CTranslate2 of the same precision."""
    print(title)
    for name, each in figures.items():
        peer = figures[name.replace("engine", "ctranslate2")]
        faster = each["sentences_per_second"] / peer["sentences_per_second"]
        lighter = peer["processor_ms"] / each["processor_ms"]
        print(
            f"  {name:28} {each['sentences_per_second']:8.1f} sentences/s ({faster:4.2f}x) "
            f"{each['processor_ms']:7.2f} ms of a core ({lighter:4.2f}x) "
            f"same {each['same_as_first']:.3f} BLEU {each['bleu'] or 0:.2f}",
            flush=True,
        )


def main() -> None:
    """Measure and print; with --output also keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--alone", type=int, default=60)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    work = drawn(arguments.sentences)
    if arguments.run is not None:
        work = learnt(arguments.run, arguments.sentences)
    with tempfile.TemporaryDirectory() as folder:
        exported(work, Path(folder))
        results = compare(work, Path(folder), arguments)
    if arguments.output is not None:
        facts = {**surroundings(), "instructions": core().sl_chosen().decode(), "cores": CORES}
        arguments.output.write_text(json.dumps({"surroundings": facts, **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
