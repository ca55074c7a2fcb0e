"""Corpora of rows and of those held out, encoded in one pass over the data on all cores.

Every few seconds what is written so far is made durable, and a build that was broken off goes on
from there.
"""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.data.blocks.encoded import EncodedBlock, encode_block
from seqloom.data.blocks.files import CorpusWriter
from seqloom.data.blocks.rows import BlockRows, BlockSource, RowBlock
from seqloom.data.corpus import Corpus, clear_leftovers, corpus_errors, publish_corpus
from seqloom.data.encoding import Columns
from seqloom.data.memory_rows import Data
from seqloom.data.parts import data_parts, data_shares
from seqloom.errors import Interrupted
from seqloom.parallel import BlockResults
from seqloom.readers.report import Report

__all__ = ["CorpusPlan", "build_corpora"]

DURABLE_EVERY = 5.0  # seconds
STATE = ".encoding.json"
Tell = Callable[[float], None]
Chooser = Callable[[BlockRows], NDArray[np.bool_]]


@dataclass
class CorpusPlan:
    """One corpus to build: where, of what rows, under what fingerprint."""

    directory: Path
    columns: Columns
    fingerprint: str
    choose: Chooser | None = None  # which rows of a block belong to it; all where there is none
    report: Report = field(default_factory=Report)
    is_mixed: bool = False  # whether its rows count in the shares of their corpora


class _BlockResult(NamedTuple):
    """What became of a block: the tally of reading it, and the rows and tally of each corpus."""

    read: Report
    parts: list[tuple[EncodedBlock, Report]]
    share: float


class _EncodingJob:
    """Parses blocks, shares their rows out among corpora and encodes them."""

    def __init__(self, source: BlockSource, plans: list[CorpusPlan]) -> None:
        self._source = source
        self._plans = plans

    def process(self, block: RowBlock) -> _BlockResult:
        """The encoded rows of a block."""
        read = Report()
        rows = self._source.parse(block, read)
        return _BlockResult(read, [self._encode(plan, rows) for plan in self._plans], block.share)

    def _encode(self, plan: CorpusPlan, rows: BlockRows) -> tuple[EncodedBlock, Report]:
        report = Report()
        chosen = rows if plan.choose is None else rows.select(plan.choose(rows))
        return encode_block(chosen, plan.columns, report), report

    def finish(self) -> None:
        """Nothing is gathered."""


def build_corpora(
    data: Data, plans: list[CorpusPlan], *, tell: Tell = lambda share: None, in_order: bool = False
) -> list[Corpus]:
    """Read the data once and write each corpus in place of what was there.

    `in_order` is for choosers that count rows, which then all pass through this process.
    """
    named = any(p.columns.source.reads_files or p.columns.target.reads_files for p in plans)
    source = BlockSource(data, plans[0].columns.config, rows=1 if named else 0)
    with corpus_errors(plans[0].directory), _Build(plans, anew=in_order) as build:
        blocks = source.blocks()
        for _ in zip(range(build.done), blocks, strict=False):
            pass
        processes = 1 if in_order or named else None
        for result in BlockResults(_EncodingJob(source, plans), blocks, processes=processes):
            build.add(result)
            tell(result.share)
        source.check_any(build.read)
        build.balance(data)
        return build.finish()


class _Build:
    """The files of several corpora while they grow, and how far they are."""

    def __init__(self, plans: list[CorpusPlan], *, anew: bool) -> None:
        self._plans = plans
        self._state = plans[0].directory.parent / STATE
        self._folders = [_working_folder(plan) for plan in plans]
        self._saved = time.monotonic()
        self.done, self.read = 0, Report()
        if anew or not self._resume():
            self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Leave what is written to be gone on with where a signal ends it, and else nothing."""
        for writer in self._writers:
            writer.close()
        if kind is not None and issubclass(kind, Interrupted | KeyboardInterrupt):
            return
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._state.unlink(missing_ok=True)

    def add(self, result: _BlockResult) -> None:
        """Append what became of the next block."""
        self.done += 1
        self.read.add(result.read)
        for writer, plan, (rows, report) in zip(
            self._writers, self._plans, result.parts, strict=True
        ):
            writer.add(rows)
            plan.report.add(result.read)
            plan.report.add(report)
        if time.monotonic() - self._saved >= DURABLE_EVERY:
            self._save()

    def balance(self, data: Data) -> None:
        """Have the rows of several corpora count in their shares, where data has such."""
        if shares := data_shares(data):
            corpora = {str(file): part.corpus for part in data_parts(data) for file in part.files}
            for writer, plan in zip(self._writers, self._plans, strict=True):
                if plan.is_mixed:
                    writer.balance(corpora, shares)

    def finish(self) -> list[Corpus]:
        """Put the corpora in their places."""
        parts = zip(self._folders, self._plans, self._writers, strict=True)
        return [
            publish_corpus(folder, plan.directory, {"fingerprint": plan.fingerprint, **written})
            for folder, plan, writer in parts
            for written in [writer.contents()]
        ]

    def _begin(self) -> None:
        for folder, plan in zip(self._folders, self._plans, strict=True):
            clear_leftovers(plan.directory)
            folder.mkdir(parents=True)
        pairs = zip(self._folders, self._plans, strict=True)
        self._writers = [CorpusWriter(folder, plan.columns) for folder, plan in pairs]

    def _marks(self) -> list[str]:
        return [plan.fingerprint for plan in self._plans]

    def _save(self) -> None:
        """Make what is there durable, and write down how much it is."""
        state = {
            "marks": self._marks(),
            "blocks": self.done,
            "writers": [writer.sync() for writer in self._writers],
            "reports": [each.as_dict() for each in (self.read, *(p.report for p in self._plans))],
        }
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps(state), encoding="utf-8")
        new.replace(self._state)
        self._saved = time.monotonic()

    def _resume(self) -> bool:
        """Go on with a build of the same corpora, if one was broken off."""
        try:
            state = json.loads(self._state.read_text(encoding="utf-8"))
            if state["marks"] != self._marks():
                return False
            parts = zip(self._folders, self._plans, state["writers"], strict=True)
            self._writers = [CorpusWriter(f, p.columns, state=each) for f, p, each in parts]
            self.read, *reports = map(Report.from_dict, state["reports"])
            self.done = state["blocks"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        for plan, report in zip(self._plans, reports, strict=True):
            plan.report.add(report)
        return True


def _working_folder(plan: CorpusPlan) -> Path:
    return plan.directory.with_name(f".{plan.directory.name}-{plan.fingerprint[:16] or 'new'}")
