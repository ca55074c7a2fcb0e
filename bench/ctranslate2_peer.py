"""CTranslate2 in a process of its own, since it reads its settings from the environment once.

    CT2_FORCE_CPU_ISA=AVX512 python bench/ctranslate2_peer.py FOLDER

Each line of standard input is a job as JSON; each line of standard output is its answer: seconds,
seconds of processor time, and the outputs. `bench/decode.py` starts it.
"""

import json
import sys
import time
from functools import lru_cache
from typing import Any

import ctranslate2


@lru_cache
def translator(folder: str, compute: str, workers: int, threads: int) -> Any:
    """The exported model."""
    return ctranslate2.Translator(
        folder, device="cpu", compute_type=compute, inter_threads=workers, intra_threads=threads
    )


def answer(folder: str, job: dict[str, Any]) -> dict[str, Any]:
    """Decode the rows of a job, all at once or one at a time."""
    model = translator(folder, job["compute"], job["workers"], job["threads"])
    rows, options = job["rows"], job["options"]
    groups = [[row] for row in rows] if job["alone"] else [rows]
    began, used = time.perf_counter(), time.process_time()
    found = [each for group in groups for each in model.translate_batch(group, **options)]
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "processor": time.process_time() - used,
        "outputs": [[int(name) for name in each.hypotheses[0] if name[0] != "<"] for each in found],
    }


def main() -> None:
    """Answer until standard input ends."""
    for line in sys.stdin:
        print(json.dumps(answer(sys.argv[1], json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
