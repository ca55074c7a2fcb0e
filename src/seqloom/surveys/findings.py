"""The findings of a survey by block, and how they are kept across interruptions."""

import json
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqloom.config import DataConfig
from seqloom.data.blocks.rows import BEGINNING, ROWS, BlockCount
from seqloom.data.memory_rows import Data
from seqloom.data.parts import data_files, data_parts
from seqloom.errors import Interrupted
from seqloom.hashing import Hashes, HashTally, below_limit
from seqloom.readers import blocks
from seqloom.readers.reader import file_hash
from seqloom.readers.report import Report
from seqloom.surveys.log import BlockLog
from seqloom.surveys.sample import RowSample, SampledRow
from seqloom.version import __version__

__all__ = ["BlockFindings", "KeptFindings", "SurveyTally", "open_findings", "survey_mark"]

LENGTH = struct.Struct("<I")
Lengths = tuple[Counter[int], Counter[int]]


class BlockFindings(NamedTuple):
    """The findings of a block of rows."""

    report: Report
    lengths: Lengths
    hashes: tuple[Hashes, ...]  # of rows, of their split keys, and of sources if they differ
    sample: list[SampledRow]  # candidates for the sample
    part: int  # the part of the data that the block belongs to
    share: float

    def to_bytes(self) -> bytes:
        """Serialize, without the share."""
        head = {
            "report": self.report.as_dict(),
            "lengths": [list(counts.items()) for counts in self.lengths],
            "hashes": [len(each) for each in self.hashes],
            "sample": self.sample,
            "part": self.part,
        }
        text = json.dumps(head, ensure_ascii=False).encode()
        hashes = b"".join(each.astype("<u8").tobytes() for each in self.hashes)
        return LENGTH.pack(len(text)) + text + hashes

    @classmethod
    def from_bytes(cls, content: bytes) -> "BlockFindings":
        """The inverse of `to_bytes`."""
        (size,) = LENGTH.unpack_from(content)
        head: dict[str, Any] = json.loads(content[LENGTH.size : LENGTH.size + size])
        first, second = (Counter(dict(counts)) for counts in head["lengths"])
        hashes = np.frombuffer(content, "<u8", offset=LENGTH.size + size)
        columns = np.split(hashes, np.cumsum(head["hashes"])[:-1])
        report, sample = Report.from_dict(head["report"]), [SampledRow(*r) for r in head["sample"]]
        return cls(report, (first, second), tuple(columns), sample, head["part"], 0.0)


class SurveyTally:
    """Accumulates the findings of blocks."""

    def __init__(self, columns: int, capacity: int) -> None:
        """`columns` is the number of hashes per row, `capacity` the size of the sample."""
        self.report = Report()
        self.lengths: Lengths = (Counter(), Counter())
        self.hashes = HashTally(columns)
        self.sample = RowSample(capacity)

    def add(self, found: BlockFindings) -> None:
        """Add the findings of the next block."""
        self.report.add(found.report)
        for total, counts in zip(self.lengths, found.lengths, strict=True):
            total.update(counts)
        self.hashes.add(*found.hashes)
        self.sample.add(found.sample)


@dataclass
class KeptFindings:
    """Keeps findings in a file; without one, it keeps nothing."""

    log: BlockLog | None = None
    done: BlockCount = BEGINNING
    is_whole: bool = False  # whether all blocks are done

    def replay(self) -> Iterator[BlockFindings]:
        """Yield the findings from before an interruption."""
        for entry in self.log.entries() if self.log is not None else ():
            self.is_whole = not entry
            if entry:
                found = BlockFindings.from_bytes(entry)
                self.done = self.done.after(found.part)
                yield found

    def append(self, found: BlockFindings, tally: HashTally) -> None:
        """Store the findings of the next block, with only the hashes that the tally needs."""
        if self.log is not None:
            fewer = tuple(below_limit(each, tally.halvings) for each in found.hashes)
            self._write(found._replace(hashes=fewer).to_bytes())

    def finish(self) -> None:
        """Mark the survey as complete."""
        if not self.is_whole:
            self._write(b"")

    def _write(self, entry: bytes) -> None:
        """Add an entry; if the disk refuses it, the survey continues and nothing is kept."""
        try:
            if self.log is not None:
                self.log.append(entry)
        except OSError:
            self.forget()

    def forget(self) -> None:
        """Remove the stored findings."""
        if self.log is not None:
            with suppress(OSError):
                self.log.remove()
        self.log = None


@contextmanager
def open_findings(
    path: Path | None, data: Data, config: DataConfig, *, seed: int
) -> Iterator[KeptFindings]:
    """Open the stored findings of these data for continuation. If a signal ends the block they are
    kept; if an error does, they are removed. Findings of rows in memory are not kept.
    """
    if path is None or not isinstance(data, str | Path):
        yield KeptFindings()
        return
    mark = survey_mark(data, config, seed=seed)
    try:
        log = BlockLog(path, mark)
    except OSError:
        yield KeptFindings()
        return
    with log:
        kept = KeptFindings(log)
        try:
            yield kept
        except (Interrupted, KeyboardInterrupt):
            raise
        except BaseException:
            kept.forget()
            raise


def survey_mark(data: Data, config: DataConfig, *, seed: int) -> str:
    """A hash of everything that determines the findings of each block, including the version of
    Seqloom.
    """
    sizes = blocks.BLOCK, ROWS
    names = [[str(path) for path in part.files] for part in data_parts(data)]
    digest = sha256(repr((__version__, sizes, names, config.model_dump_json(), seed)).encode())
    for path in data_files(data):
        digest.update(file_hash(path))
    return digest.hexdigest()
