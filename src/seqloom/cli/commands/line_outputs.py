"""`seqloom predict` on lines: one output line per input line."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.cli.commands.output_parts import OutputParts, open_parts
from seqloom.cli.line_progress import LineProgress
from seqloom.cli.terminal import escape_newlines, unescape_newlines
from seqloom.errors import ConfigError, DataError, InputError

if TYPE_CHECKING:
    from seqloom.data import InputFile, Report
    from seqloom.prediction import Output, Predictor

__all__ = ["Ask", "LineFiles", "write_lines"]

Ask = Callable[..., Iterable["Output"]]


@dataclass(frozen=True)
class LineFiles:
    """Input and output files; standard input and output if None."""

    input: Path | None
    output: Path | None
    resume: bool
    skip_bad: bool
    as_json: bool


def write_lines(
    model: "Predictor", asks: Ask, files: LineFiles, *, made_from: Mapping[str, object]
) -> None:
    """Write one output per input line; skipped unreadable lines are counted.

    `made_from` identifies whatever else outputs depend on, so that only matching parts are resumed.
    """
    from seqloom.data import InputFile, Report
    from seqloom.prediction import GROUP_SIZE

    report = Report() if files.skip_bad else None
    inputs = InputFile(files.input, model.config.data, report, partial(print, file=sys.stderr))
    lines: Iterable[str] = inputs.cells()
    if model.source.is_absent:
        lines = map(unescape_newlines, lines)
    if report is not None:
        lines = _blank_unreadable(lines, model, report, files.input)
    parts = _parts(model, files, made_from, GROUP_SIZE)
    at_once = files.input is None and parts is None and sys.stdin.isatty()
    outputs = asks(
        lines if parts is None else parts.blank_finished(lines), group=1 if at_once else GROUP_SIZE
    )
    texts = _format(_locate_errors(outputs, inputs), as_json=files.as_json)
    if parts is None:
        for text in texts:
            print(text)
    else:
        with LineProgress(files.input) as progress:
            count = parts.write(progress.follow(texts))
        parts.join(count)
    if report is not None and report.total_dropped:
        print("\n".join(report.lines()[1:]), file=sys.stderr)


def _parts(
    model: "Predictor", files: LineFiles, made_from: Mapping[str, object], block: int
) -> OutputParts | None:
    """The parts of an output file; ConfigError if several ranks have no file to share."""
    from seqloom.runs.process import torchrun_environment

    place = torchrun_environment()
    if files.output is None:
        if place is not None and place.world > 1:
            raise ConfigError(
                "ranks of torchrun share an output file", remedy="name it with --output"
            )
        return None
    if model.source.is_absent:
        raise ConfigError(
            "--output is for models with a source", remedy="redirect standard output (> FILE)"
        )
    rank, world = (0, 1) if place is None else (place.rank, place.world)
    parts = OutputParts(files.output, block, rank, world)
    made = {"input": _identity(files.input), **made_from, "form": files.as_json}
    return open_parts(parts, made, resume=files.resume)


def _identity(path: Path | None) -> list[object]:
    """An identity of the input file that changes with its content."""
    if path is None or not path.is_file():
        return [None if path is None else str(path)]
    state = path.stat()
    return [str(path.absolute()), state.st_size, state.st_mtime_ns]


def _blank_unreadable(
    lines: Iterable[str], model: "Predictor", report: "Report", file: Path | None
) -> Iterator[str]:
    """Replace lines that the model cannot read by blank ones, and count them."""
    from seqloom.data import FileLocation, Reason, file_name

    for number, line in enumerate(lines, 1):
        if line.strip() and model.input_reader.field.fault(line) is not None:
            report.kept -= 1
            report.drop(Reason.VALUE, FileLocation(file_name(file), number))
            yield ""
        else:
            yield line


def _locate_errors(outputs: "Iterable[Output]", inputs: "InputFile") -> "Iterator[Output]":
    """Yield outputs; an input that cannot be read is an error that names its file and line."""
    from seqloom.data import FileLocation, file_name

    try:
        yield from outputs
    except InputError as error:
        place = FileLocation(file_name(inputs.path), error.line + inputs.lines_before)
        raise DataError(error.problem, place=place, remedy=error.remedy) from None


def _format(outputs: "Iterable[Output]", *, as_json: bool) -> Iterator[str]:
    """Format one line per output; report on standard error how many inputs were too long."""
    from seqloom.prediction.warnings import WarningCounts

    warnings = WarningCounts()
    for output in outputs:
        warnings.add(output)
        if as_json:
            yield json.dumps(output.as_dict(), ensure_ascii=False)
        else:
            yield escape_newlines(output.text)
    for line in warnings.lines():
        print(line, file=sys.stderr)
