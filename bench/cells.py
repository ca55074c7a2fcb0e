"""What tables of figures are made of: scores, verdicts, speeds, machines."""

from typing import Any

__all__ = ["machine", "ratio_row", "score", "speed", "value", "verdict"]


def score(result: dict[str, Any], name: str) -> str:
    """A metric with its interval."""
    (found,) = [each for each in result["scores"] if each["name"] == name]
    return f"{found['value']:.1f} ({found['low']:.1f}–{found['high']:.1f})"


def value(result: dict[str, Any], name: str) -> float:
    """A metric's value."""
    return float(next(each["value"] for each in result["scores"] if each["name"] == name))


def verdict(reached: bool) -> str:
    """Whether an aim was reached."""
    return "reached" if reached else "missed"


def ratio_row(what: str, found: dict[str, Any]) -> str:
    """A speed as a multiple of another's, against its aim."""
    reached = verdict(found["ratio"] >= found["aim"])
    return f"| {what} | {found['ratio']:.2f} | at least {found['aim']:g} | {reached} |"


def machine(command: str, around: dict[str, Any]) -> str:
    """The command, and where and when it ran."""
    return (
        f"`python bench/{command}`, {around['date']}, {around['cores']} cores of "
        f"{around['processor']}, Python {around['python']}, torch {around['torch']}"
    )


def speed(found: dict[str, float]) -> str:
    """Sentences a second and processor time."""
    bleu = f", BLEU {found['bleu']:.2f}" if found.get("bleu") is not None else ""
    return f"{found['sentences_per_second']:.1f}/s ({found['processor_ms']:.2f} ms{bleu})"
