"""The output of a model for one input: the same in Python, as JSON and over HTTP (S7.4)."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from seqloom.deferred import Deferred
from seqloom.display import Displayed
from seqloom.errors import DataError
from seqloom.fields import Offsets
from seqloom.prediction.warnings import InputWarning

if TYPE_CHECKING:
    from seqloom.search import Fate

__all__ = [
    "Branch",
    "Forecast",
    "Output",
    "ScoredOutput",
    "StopReason",
    "Token",
    "TokenAlternative",
    "finite_or_none",
    "outputs_table",
]

StopReason = Literal["end", "length", "limit", "blank"]
"""Why an output ended: `<end>`, the length limit, a limit of the search, or a blank input."""

DIGITS = 6  # digits of an attention weight


@dataclass(frozen=True)
class Forecast(Displayed):
    """A forecast, in the units of its columns."""

    columns: tuple[str, ...]
    time_name: str
    times: tuple[str, ...]
    mean: NDArray[np.float64]  # (T, C)
    quantiles: dict[float, NDArray[np.float64]]  # each (T, C)
    past: NDArray[np.float64]  # (S, C): the input window
    actual: NDArray[np.float64] | None = None  # (T, C): the observed future, if known

    def as_dicts(self) -> Iterator[dict[str, Any]]:
        """Each step as plain values for JSON."""
        for number, time in enumerate(self.times):
            yield {
                self.time_name: time,
                "mean": _by_name(self.columns, self.mean[number]),
                "quantiles": {
                    f"{share:g}": _by_name(self.columns, values[number])
                    for share, values in self.quantiles.items()
                },
            }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, a list for each column, without the input window."""
        return {
            "time": self.time_name,
            "times": list(self.times),
            "mean": self._by_column(self.mean),
            "quantiles": {f"{q:g}": self._by_column(v) for q, v in self.quantiles.items()},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`, without the input window."""
        columns = tuple(plain["mean"])
        return cls(
            columns,
            plain["time"],
            tuple(plain["times"]),
            _table(plain["mean"], columns),
            {float(q): _table(values, columns) for q, values in plain["quantiles"].items()},
            np.zeros((0, len(columns))),
        )

    def _by_column(self, values: NDArray[np.float64]) -> dict[str, list[float]]:
        return {
            name: [_round_digits(value) for value in column]
            for name, column in zip(self.columns, values.T.tolist(), strict=True)
        }

    def csv_lines(self) -> Iterator[str]:
        """The forecast as CSV: times, and the mean of each column."""
        yield ",".join(_quote_csv(name) for name in (self.time_name, *self.columns))
        for time, values in zip(self.times, self.mean, strict=True):
            yield ",".join([time, *(f"{value:.6g}" for value in values)])


@dataclass(frozen=True)
class TokenAlternative:
    """An alternative symbol and its probability."""

    text: str
    log_probability: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"text": self.text, "log_probability": finite_or_none(self.log_probability)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`."""
        return cls(plain["text"], _number(plain["log_probability"]))


class Token(NamedTuple):
    """A symbol of an output, with its probability given those before it."""

    text: str
    log_probability: float
    alternatives: tuple[
        TokenAlternative, ...
    ] = ()  # the most probable symbols of the step, if requested
    copied: bool = False  # copied from the source in place of `<unk>`
    offsets: Offsets | None = None  # offsets in the output's text

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
        """The inverse of `as_dict`."""
        others = tuple(TokenAlternative.from_dict(each) for each in plain.get("alternatives", ()))
        copied = bool(plain.get("copied", False))
        offsets = _offsets(plain["offsets"]) if "offsets" in plain else None
        return cls(plain["text"], _number(plain["log_probability"]), others, copied, offsets)


class ScoredOutput(NamedTuple):
    """The log-probability of a given output for an input."""

    log_probability: float
    tokens: tuple[Token, ...]

    @classmethod
    def sum(cls, pieces: Sequence["ScoredOutput"]) -> "ScoredOutput":
        """Sum the scores of the pieces of an output."""
        tokens = tuple(token for piece in pieces for token in piece.tokens)
        return cls(sum(piece.log_probability for piece in pieces), tokens)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; nonfinite numbers are None."""
        tokens = [token.as_dict() for token in self.tokens]
        return {"score": finite_or_none(self.log_probability), "tokens": tokens}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`."""
        tokens = tuple(Token.from_dict(each) for each in plain["tokens"])
        return cls(_number(plain["score"]), tokens)


@dataclass(frozen=True)
class Branch:
    """A node of the search tree; its parent has a lower number."""

    number: int
    parent: int | None  # None at the root, `<start>`
    text: str
    log_probability: float
    total: float  # log-probability of the path that ends here
    fate: "Fate"


@dataclass(frozen=True, eq=False)
class Output(Displayed):
    """An output, with its scores and requested explanations."""

    text: str
    score: float  # log-probability of the whole output; NaN for numbers
    normalised: float  # the ranking score
    tokens: tuple[Token, ...]  # including `<end>` if it was written
    stopped: StopReason
    source: tuple[str, ...] = ()  # names of the source tokens
    source_offsets: tuple[Offsets, ...] = ()  # of each source token in the raw text, in code points
    truncated: bool = False  # whether the input was truncated
    attention: Float[np.ndarray, "T S"] | None = None  # a row for each token, if requested
    n_best: tuple["Output", ...] = ()  # the N best outputs, if requested
    tree: tuple[Branch, ...] = ()  # the search tree, if requested
    forecast: Forecast | None = None  # for targets of time series
    warnings: tuple[InputWarning, ...] = ()  # reasons to doubt it: inputs unlike the training data
    pieces: int = 1  # number of pieces of a split input
    piece_ends: tuple[tuple[int, int], ...] = ()  # source items and tokens up to each piece's end
    ids: tuple[int, ...] = ()  # token ids in the target's vocabulary; not in JSON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and self.as_dict() == other.as_dict()

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: everything is looked up by then."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __hash__(self) -> int:
        return hash((self.text, self.score))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without what was not requested; nonfinite numbers are None."""
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
        """The inverse of `as_dict`, with attention to six digits."""
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


class LateField:
    """A field of Output that is looked up when it is first read, where it is given as a deferred
    table of fields: many a caller asks for the text alone, and tokens take longer to tell."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, output: Output | None, kind: type[Output]) -> Any:
        if output is None:
            raise AttributeError(self._name)
        value = output.__dict__[self._name]
        if isinstance(value, Deferred):
            value = output.__dict__[self._name] = value.value[self._name]
        return value

    def __set__(self, output: Output, value: Any) -> None:
        output.__dict__[self._name] = value


for _name in ("tokens", "source", "source_offsets"):
    setattr(Output, _name, LateField(_name))


def finite_or_none(value: float) -> float | None:
    """The value, or None if it is not finite."""
    return value if math.isfinite(value) else None


def _offsets(plain: Sequence[int]) -> Offsets:
    start, end = plain
    return start, end


def _number(value: float | None) -> float:
    return -math.inf if value is None else float(value)


def outputs_table(outputs: Iterable[Output]) -> Any:
    """Convert outputs to a pyarrow.Table, in order.

    Its columns are `text`; `score`, the log-probability; `probability`, which is that of the whole
    output; `stopped`; `truncated`; `pieces`; and `alternatives`, the texts of the N best if
    requested. Use `polars.from_arrow(table)` or `table.to_pandas()` to convert it further.
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


def _by_name(columns: tuple[str, ...], values: NDArray[np.float64]) -> dict[str, float]:
    return {name: _round_digits(value) for name, value in zip(columns, values, strict=True)}


def _quote_csv(name: str) -> str:
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if {*',"\n'} & {*name} else name


def _round_digits(value: float) -> float:
    return float(f"{value:.6g}")


def _table(values: Mapping[str, Sequence[float]], columns: Sequence[str]) -> NDArray[np.float64]:
    return np.array([values[name] for name in columns], np.float64).T
