"""`seqloom chat`: chat with a dialog model."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.cli.commands.predict import NoRepeatOption
from seqloom.cli.data_options import RunArgument
from seqloom.cli.search_options import SearchOptions
from seqloom.cli.terminal import behave_as_filter, escape_newlines

if TYPE_CHECKING:
    from seqloom.prediction import Conversation

__all__ = ["chat"]

COMMANDS = "/reset clears the dialog, /undo removes the last turn and its reply, /quit ends"


def chat(run: RunArgument, *, choice: SearchOptions, no_repeat: NoRepeatOption = 0) -> None:
    """Chat with a dialog model; /reset, /undo and /quit are commands.

    In a pipe, each input line is a turn and each output line its reply.
    """
    from seqloom.api.load import load_text_predictor
    from seqloom.prediction import Conversation, OutputOptions

    model = load_text_predictor(run)
    search = choice.search(model.config.search)
    talk = Conversation(model, search, OutputOptions(no_repeat=no_repeat))
    if sys.stdin.isatty():
        _chat_interactively(talk, run)
    else:
        _chat_through_pipe(talk)


def _chat_through_pipe(talk: "Conversation") -> None:
    """Write one reply per line at once; a blank turn gets a blank reply and is not kept."""
    from seqloom.data import read_lines

    behave_as_filter()
    for line in read_lines(None, max_line=talk.model.config.data.max_line):
        if line.startswith("/"):
            if _run_command(line, talk, lambda told: print(told, file=sys.stderr)):
                return
        elif not line.strip():
            print(flush=True)
        else:
            *_, whole = talk.reply(line)
            print(escape_newlines(whole), flush=True)


def _chat_interactively(talk: "Conversation", run: Path) -> None:
    """Prompt for turns, and stream the replies."""
    from rich.console import Console

    with suppress(ImportError):
        import_module("readline")  # line editing for the prompt
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{run}: {COMMANDS}", style="dim", markup=False)
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            line = console.input("[bold]you>[/] ")
            if line.startswith("/"):
                if _run_command(
                    line, talk, lambda told: console.print(told, style="dim", markup=False)
                ):
                    return
            elif line.strip():
                for piece in _increments(talk.reply(line)):
                    console.print(piece, end="", markup=False, style="cyan")
                    console.file.flush()
                console.print()


def _increments(texts: Iterator[str]) -> Iterator[str]:
    """Yield what each text adds to the one before; a text that revises it is repeated on a new
    line.
    """
    shown = text = ""
    for text in texts:
        if text.startswith(shown) and not text.endswith("\ufffd"):
            yield text[len(shown) :]
            shown = text
    if shown != text:
        yield text[len(shown) :] if text.startswith(shown) else f"\n{text}"


def _run_command(line: str, talk: "Conversation", tell: Callable[[str], None]) -> bool:
    """Execute a chat command; return whether it ends the chat."""
    match line.strip():
        case "/quit":
            return True
        case "/reset":
            talk.reset()
        case "/undo":
            if not talk.undo():
                tell("there is nothing to undo")
        case other:
            tell(f"there is no command {other}: {COMMANDS}")
    return False
