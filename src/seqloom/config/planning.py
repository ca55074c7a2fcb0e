"""What to choose when nothing is chosen: a pure function from a few facts about the data.

`plan` lays the user's own options over these choices, so each can be set apart from the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seqloom.config.blank_defaults import (
    BLANK_TOKEN_BUDGET,
    blank_defaults,
    masking_shares,
    with_blanks,
)
from seqloom.config.columns import (
    BlanksConfig,
    ColumnConfig,
    HorizonConfig,
    LabelConfig,
    NoColumnConfig,
    NumberConfig,
    PictureConfig,
    SoundConfig,
    TagsConfig,
    TextConfig,
    TurnsConfig,
    VectorConfig,
    VideoConfig,
    WindowConfig,
)
from seqloom.config.language_defaults import (
    CHARACTER_UNITS,
    decoder_without_source,
    stream_defaults,
    stream_tokens,
)
from seqloom.config.media_defaults import (
    MEDIA_CONFIGS,
    media_data,
    media_parts,
    media_search,
    media_training,
)
from seqloom.config.presets import PRESETS, RECURRENT
from seqloom.config.schema import Config
from seqloom.config.serialization import Overrides, leaves, merge, validate
from seqloom.config.series_defaults import series_defaults, series_training, with_series
from seqloom.config.training import AdamWConfig, MuonConfig, OptimizerConfig, SgdConfig
from seqloom.config.turn_defaults import with_turns
from seqloom.errors import ConfigError

__all__ = ["ColumnStatistics", "Facts", "items_per_row", "outline", "plan", "preset_kinds"]

COLUMN_KINDS = (
    "none",
    "vectors",
    "label",
    "tags",
    "gaps",
    "number",
)  # parts that no preset chooses
GENERATION_PASSES, HEAD_PASSES = 40.0, 12.0  # at most; what is judged is learnt sooner
FILL_SHARE = 0.85  # of a batch of rows that differ in length; a stream leaves nothing empty
TOKEN_BUDGET = 9_000_000  # tokens in all passes, as far as there are not more in two
# A spelt word that occurs once is read as unknown words will be.
HEAD_VOCABULARIES: Overrides = {
    "word": {"size": 50_000},
    "symbol": {"size": 50_000, "min_count": 2, "spelling": 20},
}


@dataclass(frozen=True)
class ColumnStatistics:
    """What one column looks like."""

    characters: float  # mean length of a row
    words: float  # mean number of words and marks in a row
    spaces: float  # mean number of white space characters in a row
    distinct_characters: int
    distinct_words: int
    sample_rows: int  # rows the distinct counts were made from

    @property
    def has_closed_vocabulary(self) -> bool:
        """Whether the words are few and come back often, so that whole words can be learnt."""
        seen = self.words * self.sample_rows
        return self.distinct_words <= 2_000 and seen >= 20 * self.distinct_words

    @property
    def is_short(self) -> bool:
        """Whether a row is a word, a name or a date rather than a sentence."""
        return self.characters <= 40 and self.words <= 5.5

    @property
    def is_symbol_sequence(self) -> bool:
        """Whether a row is already a list of symbols set apart by spaces (phones, say)."""
        return (
            self.has_closed_vocabulary
            and self.words >= 2
            and self.spaces >= 0.95 * (self.words - 1)
        )


@dataclass(frozen=True)
class Facts:
    """What the automatic choices depend on."""

    rows: int
    source: ColumnStatistics
    target: ColumnStatistics
    stream: bool = False  # a plain text file


def plan(overrides: Mapping[str, Any], facts: Facts, *, preset: str = "auto") -> Config:
    """The whole configuration: automatic choices, and the user's own laid over them."""
    if preset not in PRESETS:
        raise ConfigError(f"--model {preset}: choose one of {', '.join(PRESETS)}")
    overrides = with_blanks(with_turns(with_series(overrides)))
    own: Overrides = {name: overrides[name] for name in ("source", "target") if name in overrides}
    asked = validate(own, place="configuration")
    if isinstance(asked.target, HorizonConfig) or isinstance(asked.source, WindowConfig):
        return _plan_forecast(overrides, asked, facts.rows, preset)
    stream = _is_stream(facts, asked, overrides)
    _check_tags(asked)
    chosen: Overrides = _columns(facts, asked, own, stream=stream)
    cut = validate(merge(chosen, own), place="configuration")
    if cut.source != cut.target:
        chosen = merge(chosen, {"model": {"share_vocabulary": False}})
    if preset == "auto" and isinstance(cut.source, SoundConfig):
        preset = "lstm"
    tokens = max(1.0, facts.rows * items_per_row(facts, cut))
    preset = "lstm" if stream and preset == "auto" else preset
    chosen = merge(chosen, _model(preset, _words(facts, cut)))
    chosen = merge(chosen, _parts(cut, facts, preset))
    chosen = merge(chosen, _head_defaults(preset, _words(facts, cut), cut))
    chosen = merge(
        chosen, masking_shares(validate(merge(chosen, overrides), place="configuration"))
    )
    if stream and isinstance(cut.target, TextConfig):
        chosen = merge(chosen, stream_defaults(cut.target, preset, tokens))
    given = validate(merge(chosen, overrides), place="configuration").training
    settled = merge({"training": chosen.get("training", {})}, overrides).get("training", {})
    own = {name: getattr(given, name) for name in settled}
    rows = max(1, round(tokens / max(1, given.truncate))) if stream else facts.rows
    passes, filled = _passes(cut, tokens, stream=stream), 1.0 if stream else FILL_SHARE
    rate = _usual_rate(preset, cut, stream=stream)
    training = _training(rate, (rows, tokens), own, passes=passes, filled=filled)
    if isinstance(cut.source, MEDIA_CONFIGS):
        training = media_training(cut.source, facts.rows, training, own)
    if isinstance(cut.source, LabelConfig | NoColumnConfig):  # many texts, and none is the answer
        training |= {"monitor": "loss", "label_smoothing": 0.0}
    chosen = merge(chosen, {"training": training})
    return _validate_config(merge(chosen, overrides))


def outline(overrides: Mapping[str, Any], *, preset: str = "auto", stream: bool = False) -> Config:
    """What options tell before any data is read: the columns, how rows are read, and the seed.

    It says nothing of the model, and of training and search holds the user's options alone.
    """
    if preset not in PRESETS:
        raise ConfigError(f"--model {preset}: choose one of {', '.join(PRESETS)}")
    overrides = with_blanks(with_turns(with_series(overrides)))
    own: Overrides = {name: overrides[name] for name in ("source", "target") if name in overrides}
    asked = validate(own, place="configuration")
    if isinstance(asked.target, HorizonConfig) or isinstance(asked.source, WindowConfig):
        data = series_defaults(1, asked, preset)["data"]
    else:
        _check_tags(asked)
        without_source = isinstance(asked.source, NoColumnConfig)
        usual = "stream" if stream and without_source else "rows"
        lines = overrides.get("data", {}).get("lines", usual)
        data = _data(asked, stream=lines == "stream")
    settled = {name: value for name, value in overrides.items() if name != "model"}
    return validate(merge({"data": data}, settled), place="configuration")


def _check_tags(asked: Config) -> None:
    text = isinstance(asked.source, TextConfig) and not isinstance(asked.source, TurnsConfig)
    if isinstance(asked.target, TagsConfig) and not text:
        raise ConfigError(
            f"a source of kind {asked.source.kind} and tags do not go together: a tag belongs to a "
            "token of a text"
        )


def _validate_config(chosen: Overrides) -> Config:
    """A configuration; ConfigError where two unlike columns are to share a vocabulary."""
    config = validate(chosen, place="configuration")
    if config.model.share_vocabulary and config.source != config.target:
        raise ConfigError(
            "model.share_vocabulary needs source and target to be cut alike: give both the same "
            "options, or set model.share_vocabulary=false"
        )
    return config


def _passes(cut: Config, tokens: float, *, stream: bool) -> float:
    """How many passes so many tokens repay."""
    most, seen = GENERATION_PASSES, TOKEN_BUDGET
    match cut.target:
        case BlanksConfig():
            seen = BLANK_TOKEN_BUDGET
        case TextConfig() as text:
            seen = stream_tokens(text) if stream else TOKEN_BUDGET
        case _ if isinstance(cut.source, TextConfig):
            most = HEAD_PASSES
    return min(most, max(2.0, seen / tokens))


def _usual_rate(preset: str, cut: Config, *, stream: bool) -> float:
    """AdamW's highest learning rate: recurrent layers take larger steps, unless all they do is to
    go on with a text of words."""
    spelt = isinstance(cut.target, TextConfig) and cut.target.unit in CHARACTER_UNITS
    return 4e-3 if preset in RECURRENT and (spelt or not stream) else 2e-3


def _plan_forecast(overrides: Mapping[str, Any], asked: Config, rows: int, preset: str) -> Config:
    """The whole configuration of a forecast."""
    chosen = merge(_model(preset, rows), series_defaults(rows, asked, preset))
    given = validate(merge(chosen, overrides), place="configuration")
    own = {name: getattr(given.training, name) for name in overrides.get("training", {})}
    chosen = merge(chosen, {"training": series_training(rows, given, own)})
    return _validate_config(merge(chosen, overrides))


def _is_stream(facts: Facts, asked: Config, overrides: Mapping[str, Any]) -> bool:
    """Whether the target is one text from its first row to its last."""
    usual = "stream" if facts.stream and isinstance(asked.source, NoColumnConfig) else "rows"
    return bool(overrides.get("data", {}).get("lines", usual) == "stream")


def _columns(facts: Facts, asked: Config, own: Mapping[str, Any], *, stream: bool) -> Overrides:
    """Which columns are read and how each is cut; columns of sentences share their subwords."""
    chosen: Overrides = {"model": {"share_vocabulary": False}}
    units = {
        name: unit
        for name, config, side in (
            ("source", asked.source, facts.source),
            ("target", asked.target, facts.target),
        )
        if (unit := _unit(side, config, asked, stream=stream))
    }
    kinds = {"source": asked.source.kind, "target": asked.target.kind}
    for name, unit in units.items():
        sizes = {"subword": {"size": _subwords(facts.rows)}, "symbol": {"size": 50_000}}
        chosen[name] = {"kind": kinds[name], "unit": unit, **sizes.get(unit, {})}
        if isinstance(asked.target, BlanksConfig):
            chosen[name] |= {"size": 50_000}  # an unknown word cannot be told
        elif not isinstance(asked.target, TextConfig) and _keeps_unit(own.get(name), unit):
            chosen[name] |= HEAD_VOCABULARIES.get(unit, {})
    if list(units.values()) == ["subword"] * 2:
        chosen["model"] = {"share_vocabulary": True}
    return {**chosen, "data": _data(asked, stream=stream)}


def _data(asked: Config, *, stream: bool) -> Overrides:
    """How rows are read that are not pairs of texts; a long text of which something is said is cut
    in training as it is in use."""
    match asked.source:
        case NoColumnConfig():
            whole = {"lines": "stream", "valid_rows": 20_000} if stream else {}
            return {"source": "", "target": "1", **whole}
        case LabelConfig():
            return {"split": "row"}
        case TurnsConfig():
            return {"turns": True}
        case PictureConfig() | SoundConfig() | VideoConfig():
            return media_data(asked.source)
    said = isinstance(asked.target, LabelConfig | NumberConfig)
    return {"overlong": "truncate"} if said and isinstance(asked.source, TextConfig) else {}


def _keeps_unit(own: Any, unit: str) -> bool:
    """Whether the user's options leave a column in this unit."""
    return not isinstance(own, Mapping) or own.get("unit", unit) == unit


def _parts(cut: Config, facts: Facts, preset: str) -> Overrides:
    """The encoder and the head that columns other than text ask for, and room for a text that no
    source sets the length of."""
    parts: Overrides = {}
    match cut.source:
        case NoColumnConfig():
            parts |= {"encoder": {"kind": "none"}, "decoder": decoder_without_source(preset)}
        case LabelConfig() | VectorConfig():
            parts["encoder"] = {"kind": "vectors"}
        case PictureConfig() | SoundConfig() | VideoConfig():
            parts |= media_parts(cut.source)
    if not isinstance(cut.target, TextConfig):
        return {"model": {**parts, "decoder": {"kind": cut.target.kind}, "tie_output": False}}
    if isinstance(cut.source, TextConfig):
        return {}
    room = 20 + round(4 * _items(facts.target, cut.target))
    search: Overrides = {"max_extra": room, "length": room}
    if isinstance(cut.source, MEDIA_CONFIGS):
        search |= media_search(cut.source)
    return {"model": parts, "search": search}


def _head_defaults(preset: str, words: float, cut: Config) -> Overrides:
    """How a text is read of which something is said: from both ends, and where there is little to
    learn from, with much of it left out at random."""
    if isinstance(cut.target, TextConfig) or not isinstance(cut.source, TextConfig):
        return {}
    if isinstance(cut.target, BlanksConfig):
        return blank_defaults(preset, words)
    small = words < 2_000_000
    dropout, forget = (0.3, 0.2) if small else (0.2, 0.1)
    layers = 1
    head: Overrides = {"kind": cut.target.kind, "pool": "max", "dropout": 0.5 if small else 0.3}
    match cut.target:
        case NumberConfig():
            head, dropout, forget = {"kind": "number", "dropout": 0.0}, 0.0, 0.0
        case TagsConfig():
            head, dropout, forget, layers = {"kind": "tags"}, 0.4, 0.1, 2
    model: Overrides = {"decoder": head, "forget": forget}
    if preset == "auto":
        stack = _recurrent("lstm", 128 if small else 256, dropout)
        reader = {**stack["encoder"], "layers": layers}
        return {"model": {**model, "embedding": stack["embedding"], "encoder": reader}}
    if cut.source.spelling and preset not in RECURRENT:
        width = _model(preset, words)["model"]["embedding"]
        model |= {"letters": width // 2, "embedding": width - width // 2}
    return {"model": model}


def _unit(
    side: ColumnStatistics, column: ColumnConfig, asked: Config, *, stream: bool
) -> str | None:
    """Symbols that are set apart as they are, characters for short strings and for texts to be
    continued, words where they are few or are judged, otherwise subwords; None where the column is
    not text."""
    if not isinstance(column, TextConfig):
        return None
    if isinstance(asked.target, TagsConfig):
        return "symbol"
    if stream:
        return "character"
    if side.is_symbol_sequence:
        return "word"
    if side.is_short:
        return "character"
    judged = not isinstance(asked.target, TextConfig)
    return "word" if side.has_closed_vocabulary or judged else "subword"


def _subwords(rows: int) -> int:
    """A vocabulary in which most pieces are seen often enough to be learnt."""
    sizes = ((5_000, 2_000), (20_000, 4_000), (100_000, 6_000), (500_000, 8_000))
    return next((size for limit, size in sizes if rows < limit), 16_000)


def items_per_row(facts: Facts, config: Config) -> float:
    """Roughly how many items a row has: of its target, or of its source if that is no text."""
    if isinstance(config.target, TextConfig):
        return _items(facts.target, config.target)
    return _items(facts.source, config.source)


def _items(side: ColumnStatistics, column: ColumnConfig) -> float:
    match column:
        case TextConfig(unit="character" | "byte"):
            return side.characters + 1
        case TextConfig(unit="word"):
            return side.words + 1
        case TextConfig(unit="symbol") | TagsConfig():
            return side.spaces + 2
        case TextConfig():
            return 1.3 * side.words + 1
        case _:
            return 1.0


def _words(facts: Facts, config: Config) -> float:
    """How much there is to learn from, in words of the target, or of the source if it has none."""
    sides = ((facts.target, config.target), (facts.source, config.source))
    texts = [side.words for side, column in sides if isinstance(column, TextConfig)]
    return facts.rows * (texts[0] if texts else 1.0)


def _model(preset: str, words: float) -> Overrides:
    """Sizes that grow with the number of target words, and dropout to suit."""
    sizes = ((200_000, 128, 0.1), (2_000_000, 192, 0.3), (20_000_000, 256, 0.2))
    width, dropout = next(((w, d) for limit, w, d in sizes if words < limit), (512, 0.1))
    if preset in RECURRENT:
        return {"model": _recurrent(preset, width, dropout)}
    stack = {
        "kind": "transformer",
        "width": width,
        "inner": 4 * width,
        "heads": width // 64 if width >= 256 else 4,
        "layers": 3,
        "dropout": dropout,
    }
    encoder, decoder = stack, stack
    if preset == "fast":
        encoder, decoder = {**stack, "layers": 6}, {**stack, "layers": 1, "mixing": "ssru"}
    return {"model": {"embedding": width, "encoder": encoder, "decoder": decoder}}


def preset_kinds(preset: str, begun: Mapping[str, Any]) -> dict[str, str]:
    """The parts that a preset stands for in a model with these options, both under dotted names
    such as `model.encoder.unit.kind`; sizes are not among them, nor what columns ask for."""
    if preset == "auto":
        return {}
    sides = ("model.encoder", "model.decoder")
    free = tuple(f"{side}." for side in sides if begun.get(f"{side}.kind") not in COLUMN_KINDS)
    return {
        name: value
        for name, value in leaves(_model(preset, 0.0))
        if name.startswith(free)
        and name.endswith((".kind", ".mixing"))
        and not name.endswith(".attention.kind")
    }


def _recurrent(unit: str, width: int, dropout: float) -> Overrides:
    """Two layers read from both ends, one wide layer writes and looks at what was read."""
    stack = {"kind": "recurrent", "unit": {"kind": unit}, "dropout": dropout}
    return {
        "embedding": width,
        "encoder": {**stack, "width": width, "layers": 2},
        "decoder": {**stack, "width": 2 * width, "layers": 1, "attention": {"kind": "global"}},
    }


def _training(
    rate: float, size: tuple[int, float], own: Mapping[str, Any], *, passes: float, filled: float
) -> Overrides:
    """So many passes over rows and tokens, in batches that leave enough updates and of which so
    large a share is filled.

    What follows from the batch and the number of updates follows the user's `own`, where set.
    """
    rows, tokens = size
    batch = next((b for limit, b in ((200_000, 1_024), (400_000, 2_048)) if tokens < limit), 4_096)
    batch = own.get("batch_tokens", batch)
    held = min(filled * batch, (own.get("batch_rows") or rows) * tokens / rows)
    updates = max(500, round(passes * tokens / held / 100) * 100)
    updates = own.get("updates", updates)
    return {
        "updates": updates,
        "batch_tokens": batch,
        "rate": _rate(rate, own.get("optimizer", AdamWConfig())),
        "warmup": min(1_000, updates // 10),
        "validate_every": max(50, min(1_000, updates // 15)),
    }


def _rate(usual: float, optimizer: OptimizerConfig) -> float:
    """The highest learning rate, which each rule takes in a measure of its own, and AdamW as is."""
    match optimizer:
        case SgdConfig(momentum=momentum):
            return round(1.0 - momentum, 6)
        case MuonConfig():
            return 5 * usual
        case _:
            return usual
