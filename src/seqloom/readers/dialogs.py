"""Cells that hold several turns: dialogs, of which every reply is a row, and histories (S8).

A list is written as JSON: of texts, or of objects with a text and perhaps its speaker. What is no
list is one turn, so several columns of texts are several turns.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from seqloom.config import DataConfig
from seqloom.fields import join_turns, parse_list
from seqloom.readers.lines import Fault, FileLocation, Reason
from seqloom.readers.reader import Record

__all__ = ["history_record", "is_dialog", "turn_rows"]

FORM = '["text", ...] or [{"speaker": "name", "text": "text"}, ...]'


class Turn(NamedTuple):
    """What was said, and by whom where that is known."""

    text: str
    speaker: str | None = None


def is_dialog(config: DataConfig) -> bool:
    """Whether source and target are in one column, so that a cell of it is a whole dialog."""
    return config.turns and config.source == config.target


def turn_rows(record: Record, config: DataConfig) -> Iterator[Record | Fault]:
    """Records of a history, a target and perhaps a weight: one, or one for each reply."""
    place, cells = record
    end = len(cells) - bool(config.weight)
    sources = cells[:end] if is_dialog(config) else cells[: end - 1]
    turns, fault = _all_turns(sources, place)
    if fault is not None:
        yield fault
        return
    if not is_dialog(config):
        yield Record(place, [_history(turns), *cells[end - 1 :]])
        return
    replies = _replies(turns, config.replies)
    if not replies:
        yield Fault(Reason.REPLY, place, *_why_none(turns, config.replies))
    for number in replies:
        yield Record(place, [_history(turns[:number]), turns[number].text, *cells[end:]])


def history_record(record: Record) -> Record | Fault:
    """All cells of a record as one: the turns that an output follows."""
    turns, fault = _all_turns(record.cells, record.place)
    return fault or Record(record.place, [_history(turns)])


def _all_turns(cells: Iterable[str], place: FileLocation) -> tuple[list[Turn], Fault | None]:
    """The turns of several cells, and what is wrong with them, if anything is."""
    turns: list[Turn] = []
    for cell in cells:
        found, fault = _turns(cell, place)
        if fault is not None:
            return [], fault
        turns += found
    return turns, None


def _history(turns: list[Turn]) -> str:
    """The cell of these turns; empty where nothing was said."""
    return join_turns(turn.text for turn in turns) if any(t.text.strip() for t in turns) else ""


def _replies(turns: list[Turn], speaker: str) -> list[int]:
    """The turns after the first that a speaker says: the one of that name, or the second to speak.

    Where no speakers are known, two take turns.
    """
    names = list(dict.fromkeys(turn.speaker for turn in turns))
    if names in ([], [None]):
        return list(range(1, len(turns), 2)) if not speaker else []
    wanted = speaker or (names[1] if len(names) > 1 else None)
    return [n for n, turn in enumerate(turns) if n > 0 and turn.speaker == wanted is not None]


def _why_none(turns: list[Turn], speaker: str) -> tuple[str, str]:
    """What keeps a dialog from having a reply, and what to do."""
    names = sorted({turn.speaker for turn in turns if turn.speaker is not None})
    if speaker and names:
        return f"{speaker!r} replies to nothing", f"set data.replies to one of {', '.join(names)}"
    if speaker:
        return "its turns have no speakers", "leave data.replies out, and two take turns"
    return "nobody replies in this dialog", "let a second speaker say something"


def _turns(cell: str, place: FileLocation) -> tuple[list[Turn], Fault | None]:
    """The turns of a cell, and what is wrong with it, if anything is."""
    found = parse_list(cell)
    if found is None:
        return [Turn(cell)], None
    turns: list[Turn] = []
    for number, each in enumerate(found, 1):
        turn = _turn(each)
        if turn is None:
            problem = f"turn {number} is not text"
            return [], Fault(Reason.TURN, place, problem, f"write turns as {FORM}")
        if "\0" in turn.text:
            problem = f"turn {number} holds a NUL character"
            return [], Fault(Reason.NUL, place, problem, "remove it")
        turns.append(turn)
    return turns, None


def _turn(value: Any) -> Turn | None:
    if isinstance(value, str):
        return Turn(value)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    speaker = value.get("speaker")
    return Turn(value["text"], speaker) if isinstance(speaker, str | None) else None
