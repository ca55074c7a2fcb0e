"""Encode training and validation corpora in one pass over the data, on all cores.

The files are synced every few seconds, and an interrupted build continues from there.
"""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.data.blocks.encoded import EncodedBlock, encode_block
from seqloom.data.blocks.files import CorpusWriter
from seqloom.data.blocks.rows import BEGINNING, BlockCount, BlockRows, BlockSource, RowBlock
from seqloom.data.corpus import Corpus, clear_leftovers, corpus_errors, publish_corpus
from seqloom.data.encoding import Columns
from seqloom.data.memory_rows import Data
from seqloom.data.parts import data_parts, data_shares
from seqloom.errors import DataError, Interrupted
from seqloom.parallel import BlockResults
from seqloom.readers.report import Report
from seqloom.remedies import Remedy, Setting

__all__ = ["CorpusPlan", "build_corpora"]

DURABLE_EVERY = 5.0  # seconds
STATE = ".encoding.json"
Tell = Callable[[float], None]
Chooser = Callable[[BlockRows], NDArray[np.bool_]]


@dataclass
class CorpusPlan:
    """A corpus to build: its directory, its rows, its fingerprint."""

    directory: Path
    columns: Columns
    fingerprint: str
    choose: Chooser | None = None  # selects its rows of a block; None for all
    report: Report = field(default_factory=Report)
    is_mixed: bool = False  # whether its rows are drawn from several corpora by their shares


class _BlockResult(NamedTuple):
    """The result of a block: the report of reading it, and the rows and report of each corpus."""

    read: Report
    parts: list[tuple[EncodedBlock, Report]]
    part: int  # the part of the data that the block belongs to
    share: float


class _EncodingJob:
    """Parses blocks, assigns their rows to corpora and encodes them."""

    def __init__(self, source: BlockSource, plans: list[CorpusPlan]) -> None:
        self._source = source
        self._plans = plans

    def process(self, block: RowBlock) -> _BlockResult:
        """The encoded rows of a block."""
        read = Report()
        rows = self._source.parse(block, read)
        parts = [self._encode(plan, rows) for plan in self._plans]
        return _BlockResult(read, parts, block.part, block.share)

    def _encode(self, plan: CorpusPlan, rows: BlockRows) -> tuple[EncodedBlock, Report]:
        report = Report()
        chosen = rows if plan.choose is None else rows.select(plan.choose(rows))
        return encode_block(chosen, plan.columns, report), report

    def finish(self) -> None:
        """Return nothing."""


def _untold(share: float) -> None:
    """Report nothing."""


def build_corpora(
    data: Data,
    plans: list[CorpusPlan],
    *,
    tell: Tell = _untold,
    tell_checksums: Tell = _untold,
    in_order: bool = False,
) -> list[Corpus]:
    """Read the data once and write each corpus, replacing an existing one.

    `in_order` is for choosers that count rows; all rows then pass through this process.
    """
    shares = data_shares(data)
    if shares and plans[0].columns.is_stream:
        raise DataError(
            "lines that are one stream cannot be mixed",
            place=str(data),
            remedy=Remedy("set {}, or name one corpus", Setting("data.lines", "rows")),
        )
    named = any(p.columns.source.reads_files or p.columns.target.reads_files for p in plans)
    source = BlockSource(data, plans[0].columns.config, rows=1 if named else 0)
    corpora = [part.corpus for part in data_parts(data)]
    with corpus_errors(plans[0].directory), _Build(plans, corpora, anew=in_order) as build:
        blocks = source.blocks(build.done)
        processes = 1 if in_order or named else None
        for result in BlockResults(_EncodingJob(source, plans), blocks, processes=processes):
            build.add(result)
            tell(result.share)
        source.check_any(build.read)
        return build.finish(shares, tell_checksums)


class _Build:
    """The growing files of several corpora, and their progress."""

    def __init__(self, plans: list[CorpusPlan], corpora: list[int], *, anew: bool) -> None:
        """`corpora` has the index of the corpus for each part of the data."""
        self._plans = plans
        self._corpora = corpora
        self._state = plans[0].directory.parent / STATE
        self._folders = [_working_folder(plan) for plan in plans]
        self._saved = time.monotonic()
        self.done, self.read = BEGINNING, Report()
        if anew or not self._resume():
            self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Keep the files for a later continuation if a signal ends the build; remove them
        otherwise.
        """
        for writer in self._writers:
            writer.close()
        if kind is not None and issubclass(kind, Interrupted | KeyboardInterrupt):
            return
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._state.unlink(missing_ok=True)

    def add(self, result: _BlockResult) -> None:
        """Append the result of the next block."""
        self.done = self.done.after(result.part)
        corpus = self._corpora[result.part] if self._corpora else 0
        self.read.add(result.read)
        for writer, plan, (rows, report) in zip(
            self._writers, self._plans, result.parts, strict=True
        ):
            writer.add(rows, corpus=corpus)
            plan.report.add(result.read)
            plan.report.add(report)
        if time.monotonic() - self._saved >= DURABLE_EVERY:
            self._save()

    def finish(self, shares: Sequence[float], tell: Tell) -> list[Corpus]:
        """Move the corpora into place; `shares` are their mixing proportions."""
        built, tell_next = [], tell
        for folder, plan, writer in zip(self._folders, self._plans, self._writers, strict=True):
            written = writer.contents(shares if plan.is_mixed else ())
            contents = {"fingerprint": plan.fingerprint, **written}
            built.append(publish_corpus(folder, plan.directory, contents, tell=tell_next))
            tell_next = _untold  # for the validation rows, which are few
        return built

    def _begin(self) -> None:
        for folder, plan in zip(self._folders, self._plans, strict=True):
            clear_leftovers(plan.directory)
            folder.mkdir(parents=True)
        pairs = zip(self._folders, self._plans, strict=True)
        self._writers = [CorpusWriter(folder, plan.columns) for folder, plan in pairs]

    def _marks(self) -> list[str]:
        return [plan.fingerprint for plan in self._plans]

    def _save(self) -> None:
        """Sync the files and record their sizes."""
        state = {
            "marks": self._marks(),
            "done": self.done,
            "writers": [writer.sync() for writer in self._writers],
            "reports": [each.as_dict() for each in (self.read, *(p.report for p in self._plans))],
        }
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps(state), encoding="utf-8")
        new.replace(self._state)
        self._saved = time.monotonic()

    def _resume(self) -> bool:
        """Continue an interrupted build of the same corpora, if there is one."""
        try:
            state = json.loads(self._state.read_text(encoding="utf-8"))
            if state["marks"] != self._marks():
                return False
            parts = zip(self._folders, self._plans, state["writers"], strict=True)
            self._writers = [CorpusWriter(f, p.columns, state=each) for f, p, each in parts]
            self.read, *reports = map(Report.from_dict, state["reports"])
            self.done = BlockCount(*state["done"])
        except (OSError, ValueError, KeyError, TypeError):
            return False
        for plan, report in zip(self._plans, reports, strict=True):
            plan.report.add(report)
        return True


def _working_folder(plan: CorpusPlan) -> Path:
    return plan.directory.with_name(f".{plan.directory.name}-{plan.fingerprint[:16] or 'new'}")
