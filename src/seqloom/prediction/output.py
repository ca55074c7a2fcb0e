"""What a model says about one input: the same in Python, as JSON and over HTTP (SPEC S7.4)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

__all__ = ["Output", "Token"]


@dataclass(frozen=True)
class Token:
    """One symbol of an output, and how likely it was after those before it."""

    text: str
    log_probability: float


@dataclass(frozen=True)
class Output:
    """An output with what explains it."""

    text: str
    score: float  # log-probability of the whole output
    normalised: float  # what outputs were compared by
    tokens: tuple[Token, ...]  # `<end>` included where it was written
    stopped: Literal["end", "length", "blank"]
    source: tuple[str, ...] = ()  # the input as the model read it
    truncated: bool = False  # the input was longer than the model takes
    attention: Float[np.ndarray, "T S"] | None = None  # a row for each token, where asked for
    n_best: tuple["Output", ...] = ()  # this output and the next best, where asked for

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "normalised": self.normalised,
            "tokens": [
                {"text": token.text, "log_probability": token.log_probability}
                for token in self.tokens
            ],
            "stopped": self.stopped,
            "source": list(self.source),
            "truncated": self.truncated,
        }
        if self.attention is not None:
            plain["attention"] = [[round(float(w), 6) for w in row] for row in self.attention]
        if self.n_best:
            plain["n_best"] = [other.as_dict() for other in self.n_best]
        return plain
