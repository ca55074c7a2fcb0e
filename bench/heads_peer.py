"""Labels or tags of the texts of a file, by whichever Seqloom PYTHONPATH names.

    PYTHONPATH=EARLIER/src python bench/heads_peer.py RUN TEXTS

For each line of standard input all texts are predicted once, and the seconds are printed;
`bench/kinds.py` starts it, once with this checkout and once with an earlier one.
"""

import sys
import time
from pathlib import Path

import seqloom


def main() -> None:
    """Predict until standard input ends."""
    model = seqloom.load(sys.argv[1])
    texts = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    for _ in sys.stdin:
        began = time.perf_counter()
        model.predict(texts)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
