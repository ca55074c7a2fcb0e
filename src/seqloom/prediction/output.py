"""What a model says about one input: the same in Python, as JSON and over HTTP (S7.4)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from jaxtyping import Float

from seqloom.display import Displayed
from seqloom.errors import DataError
from seqloom.fields import Offsets
from seqloom.prediction.forecast import Forecast
from seqloom.prediction.warnings import InputWarning

if TYPE_CHECKING:
    from seqloom.search import Fate

__all__ = [
    "Branch",
    "Output",
    "ScoredOutput",
    "StopReason",
    "Token",
    "TokenAlternative",
    "finite_or_none",
    "outputs_table",
]

StopReason = Literal["end", "length", "limit", "blank"]
"""By itself; at the length limit; when the search's time or work ran out; the input was blank."""

DIGITS = 6  # of an attention weight


@dataclass(frozen=True)
class TokenAlternative:
    """A symbol that could have been written, and how likely it was."""

    text: str
    log_probability: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"text": self.text, "log_probability": finite_or_none(self.log_probability)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The symbol that gave these values."""
        return cls(plain["text"], _number(plain["log_probability"]))


@dataclass(frozen=True)
class Token:
    """One symbol of an output, and how likely it was after those before it."""

    text: str
    log_probability: float
    alternatives: tuple[
        TokenAlternative, ...
    ] = ()  # the likeliest symbols of the step, where asked for
    copied: bool = False  # taken from the source in place of `<unk>`
    offsets: Offsets | None = None  # in the output's text, where it is written

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {
            "text": self.text,
            "log_probability": finite_or_none(self.log_probability),
        }
        if self.offsets is not None:
            plain["offsets"] = list(self.offsets)
        if self.copied:
            plain["copied"] = True
        if self.alternatives:
            plain["alternatives"] = [each.as_dict() for each in self.alternatives]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The token that gave these values."""
        others = tuple(TokenAlternative.from_dict(each) for each in plain.get("alternatives", ()))
        copied = bool(plain.get("copied", False))
        offsets = _offsets(plain["offsets"]) if "offsets" in plain else None
        return cls(plain["text"], _number(plain["log_probability"]), others, copied, offsets)


class ScoredOutput(NamedTuple):
    """How likely a given output is for a given input."""

    log_probability: float
    tokens: tuple[Token, ...]

    @classmethod
    def sum(cls, pieces: Sequence["ScoredOutput"]) -> "ScoredOutput":
        """The score of an output from those of its pieces."""
        tokens = tuple(token for piece in pieces for token in piece.tokens)
        return cls(sum(piece.log_probability for piece in pieces), tokens)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what is not finite is None."""
        tokens = [token.as_dict() for token in self.tokens]
        return {"score": finite_or_none(self.log_probability), "tokens": tokens}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The scored output that gave these values."""
        tokens = tuple(Token.from_dict(each) for each in plain["tokens"])
        return cls(_number(plain["score"]), tokens)


@dataclass(frozen=True)
class Branch:
    """A node of the tree of all that a search looked at; its parent has a lower number."""

    number: int
    parent: int | None  # None at the root, which is `<start>`
    text: str
    log_probability: float
    total: float  # log-probability of the path that ends here
    fate: "Fate"


@dataclass(frozen=True, eq=False)
class Output(Displayed):
    """An output with what explains it."""

    text: str
    score: float  # log-probability of the whole output; NaN where it is a number
    normalised: float  # what outputs were compared by
    tokens: tuple[Token, ...]  # `<end>` included where it was written
    stopped: StopReason
    source: tuple[str, ...] = ()  # the input as the model read it
    source_offsets: tuple[Offsets, ...] = ()  # of each, in the text as given: code points
    truncated: bool = False  # the input was longer than the model takes
    attention: Float[np.ndarray, "T S"] | None = None  # a row for each token, where asked for
    n_best: tuple["Output", ...] = ()  # this output and the next best, where asked for
    tree: tuple[Branch, ...] = ()  # what the search looked at, where asked for
    forecast: Forecast | None = None  # where the target is a series
    warnings: tuple[InputWarning, ...] = ()  # reasons to doubt it: an input unlike what was learnt
    pieces: int = 1  # that a longer input was split into
    piece_ends: tuple[tuple[int, int], ...] = ()  # source items and tokens up to each piece's end
    ids: tuple[int, ...] = ()  # of the tokens, in the target's vocabulary; not in JSON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash((self.text, self.score))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what was not asked for is left out, what is not finite is None."""
        plain: dict[str, Any] = {
            "text": self.text,
            "score": finite_or_none(self.score),
            "normalised": finite_or_none(self.normalised),
            "tokens": [token.as_dict() for token in self.tokens],
            "stopped": self.stopped,
            "source": list(self.source),
            "truncated": self.truncated,
        }
        if self.source_offsets:
            plain["source_offsets"] = [list(each) for each in self.source_offsets]
        if self.pieces > 1:
            plain["pieces"] = self.pieces
        if self.piece_ends:
            plain["piece_ends"] = [list(each) for each in self.piece_ends]
        if self.warnings:
            plain["warnings"] = [each._asdict() for each in self.warnings]
        if self.attention is not None:
            plain["attention"] = [[round(float(w), DIGITS) for w in row] for row in self.attention]
        if self.forecast is not None:
            plain["forecast"] = self.forecast.as_dict()
        if self.n_best:
            plain["n_best"] = [other.as_dict() for other in self.n_best]
        if self.tree:
            plain["tree"] = [vars(branch) for branch in self.tree]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The output that gave these values, attention to six digits."""
        try:
            return cls(
                text=plain["text"],
                score=_number(plain["score"]),
                normalised=_number(plain["normalised"]),
                tokens=tuple(Token.from_dict(each) for each in plain["tokens"]),
                stopped=plain["stopped"],
                source=tuple(plain["source"]),
                source_offsets=tuple(map(_offsets, plain.get("source_offsets", ()))),
                truncated=plain["truncated"],
                pieces=plain.get("pieces", 1),
                piece_ends=tuple(map(_offsets, plain.get("piece_ends", ()))),
                warnings=tuple(InputWarning(**each) for each in plain.get("warnings", ())),
                attention=np.array(plain["attention"]) if "attention" in plain else None,
                n_best=tuple(cls.from_dict(each) for each in plain.get("n_best", ())),
                tree=tuple(Branch(**each) for each in plain.get("tree", ())),
                forecast=Forecast.from_dict(plain["forecast"]) if "forecast" in plain else None,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"this is not an output as written in JSON: {error}") from None


def finite_or_none(value: float) -> float | None:
    """The value, or None where JSON cannot have it."""
    return value if math.isfinite(value) else None


def _offsets(plain: Sequence[int]) -> Offsets:
    start, end = plain
    return start, end


def _number(value: float | None) -> float:
    return -math.inf if value is None else float(value)


def outputs_table(outputs: Iterable[Output]) -> Any:
    """A pyarrow.Table with a row for each output, in order.

    Its columns are `text`; `score`, the log-probability; `probability`, which is that of the whole
    output; `stopped`; `truncated`; `pieces`; and `alternatives`, the texts of the N best where
    those were asked for. `polars.from_arrow(table)` and `table.to_pandas()` go on from there.
    """
    import pyarrow  # type: ignore[import-untyped]

    given = list(outputs)
    columns = {
        "text": (pyarrow.string(), [each.text for each in given]),
        "score": (pyarrow.float64(), [finite_or_none(each.score) for each in given]),
        "probability": (pyarrow.float64(), [_probability(each.score) for each in given]),
        "stopped": (pyarrow.string(), [each.stopped for each in given]),
        "truncated": (pyarrow.bool_(), [each.truncated for each in given]),
        "pieces": (pyarrow.int64(), [each.pieces for each in given]),
    }
    if any(each.n_best for each in given):
        texts = [[other.text for other in each.n_best] for each in given]
        columns["alternatives"] = (pyarrow.list_(pyarrow.string()), texts)
    arrays = {name: pyarrow.array(values, kind) for name, (kind, values) in columns.items()}
    return pyarrow.table(arrays)


def _probability(score: float) -> float | None:
    return None if math.isnan(score) else math.exp(score)
