"""Automatic choices: a pure function from statistics of the data to a configuration.

`plan` overrides these choices by the user's options. The choices of a kind of column are methods of
its options.
"""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seqloom.config.architecture.decoders import DECODERS, HEADS
from seqloom.config.architecture.encoders import ENCODERS
from seqloom.config.columns import SOURCES, TARGETS, Situation, TargetOptions
from seqloom.config.columns.options import (
    PRESETS,
    ColumnStatistics,
    Facts,
    preset_model,
)
from seqloom.config.schema import Config
from seqloom.config.sections import RENAMED_VALUES, Overrides, leaves, merge
from seqloom.config.serialization import validate
from seqloom.config.training import AdamWConfig, MuonConfig
from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting

__all__ = [
    "check_columns",
    "check_columns_bare",
    "column_overrides",
    "items_per_row",
    "outline",
    "plan",
    "preset_kinds",
    "split_column",
]

FILL_SHARE = 0.85  # share of positions in batches of rows that hold tokens; in a stream all do
PLACE = "configuration"
SMALL = 200_000  # tokens up to which float32 and small batches are used
UNKNOWN = ColumnStatistics(1.0, 1.0, 0.0, 1, 1, 1)  # statistics of a column not yet read


def plan(overrides: Mapping[str, Any], facts: Facts, *, preset: str = "auto") -> Config:
    """The whole configuration: automatic choices, overridden by the user's options."""
    overrides = _complete(overrides, preset)
    situation = _situation(overrides, facts, preset)
    own = _own_columns(overrides)
    chosen = _columns(situation, own)
    situation = _after_reading(situation, merge(chosen, own))
    for defaults in (_model(situation), _search(situation), _reader(situation)):
        chosen = merge(chosen, defaults)
    encoder = validate(merge(chosen, overrides), place=PLACE).model.encoder
    chosen = merge(chosen, situation.target.masking_defaults(encoder))
    if situation.stream:
        chosen = merge(chosen, situation.target.stream_defaults(situation))
    chosen = merge(chosen, {"training": _training_section(situation, chosen, overrides)})
    return _validate_config(merge(chosen, overrides))


def outline(overrides: Mapping[str, Any], *, preset: str = "auto", stream: bool = False) -> Config:
    """The configuration known before any data is read: columns, reading of rows, and seed.

    It has no model; training and search hold only the user's options.
    """
    overrides = _complete(overrides, preset)
    situation = _situation(overrides, Facts(1, UNKNOWN, UNKNOWN, stream=stream), preset)
    data = situation.source.data_defaults(situation)
    settled = {name: value for name, value in overrides.items() if name != "model"}
    return validate(merge({"data": data}, settled), place=PLACE)


def check_columns(config: Config) -> None:
    """ConfigError if other options contradict the kinds of the columns."""
    _check_stream(config)
    config.source.check_overlong(config.data.overlong)
    config.source.check_reading(config.data)
    config.target.check_config(config)


def items_per_row(facts: Facts, config: Config) -> float:
    """The approximate number of items of a row's target, or of its source if the target is not
    text.
    """
    if config.target.is_text:
        return config.target.items_per_row(facts.target)
    return config.source.items_per_row(facts.source)


def preset_kinds(preset: str, begun: Mapping[str, Any]) -> dict[str, str]:
    """The parts of a preset in a model with these options, under dotted names such as
    `model.encoder.unit.kind`, without sizes and without what the columns determine.
    """
    if preset == "auto":
        return {}
    families = {"model.encoder": (ENCODERS,), "model.decoder": (DECODERS, HEADS)}
    free = tuple(
        f"{side}."
        for side, members in families.items()
        if not any(
            begun.get(f"{side}.kind") == kind and options.follows_columns
            for family in members
            for kind, options in family
        )
    )
    return {
        name: value
        for name, value in leaves({"model": preset_model(preset, 0.0)})
        if name.startswith(free)
        and name.endswith((".kind", ".mixing"))
        and not name.endswith(".attention.kind")
    }


def _complete(overrides: Mapping[str, Any], preset: str) -> Overrides:
    """The user's options, completed with what they imply for the columns."""
    if preset not in PRESETS:
        raise ConfigError(
            "there is no such preset",
            place=Setting("model", preset),
            remedy=f"choose one of {', '.join(PRESETS)}",
        )
    return _target_class(overrides).complete(overrides)


def _own_columns(overrides: Mapping[str, Any]) -> Overrides:
    return {name: overrides[name] for name in ("source", "target") if name in overrides}


def _target_class(overrides: Mapping[str, Any]) -> type[TargetOptions]:
    """The kind of target in the options; it is validated later."""
    target = overrides.get("target", "text")
    kind = target.get("kind", "text") if isinstance(target, Mapping) else target
    return dict(TARGETS).get(kind, TargetOptions) if isinstance(kind, str) else TargetOptions


def _situation(overrides: Mapping[str, Any], facts: Facts, preset: str) -> Situation:
    """The columns in the options; ConfigError if they do not go together."""
    asked = validate(_own_columns(overrides), place=PLACE)
    asked.source.check_target(asked.target)
    asked.target.check_source(asked.source)
    data = overrides.get("data", {})
    if not isinstance(data, Mapping):
        validate({"data": data}, place=PLACE)
    usual = "stream" if facts.stream and asked.source.is_absent else "rows"
    stream = data.get("lines", usual) == "stream"
    return Situation(facts, asked.source, asked.target, preset, stream)


def _columns(situation: Situation, own: Mapping[str, Any]) -> Overrides:
    """Choose columns and units; two columns of sentences share their subwords."""
    facts = situation.facts
    cut = {
        "source": situation.source.reading_defaults(facts.source, situation, own.get("source")),
        "target": situation.target.reading_defaults(facts.target, situation, own.get("target")),
    }
    shared = all(table.get("unit") == "subword" for table in cut.values())
    return {
        **{name: table for name, table in cut.items() if table},
        "model": {"share_vocabulary": shared},
        "data": situation.source.data_defaults(situation),
    }


def _after_reading(situation: Situation, columns: Overrides) -> Situation:
    """The situation once the units are known, with the size of the data in tokens."""
    cut = validate(columns, place=PLACE)
    facts, preset = situation.facts, situation.preset
    words = cut.target.words_per_row(facts.target)
    if words is None:
        words = cut.source.words_per_row(facts.source)
    return replace(
        situation,
        source=cut.source,
        target=cut.target,
        preset=cut.source.usual_preset(situation) if preset == "auto" else preset,
        words=facts.rows * (1.0 if words is None else words),
        tokens=max(1.0, facts.rows * items_per_row(facts, cut)),
    )


def _model(situation: Situation) -> Overrides:
    """The preset's layers, with the parts that the columns determine."""
    preset = preset_model(situation.preset, situation.words)
    if not situation.source.is_cut_like(situation.target):
        preset["share_vocabulary"] = False
    encoder = situation.source.encoder_defaults(situation)
    decoder = situation.target.decoder_defaults(situation)
    return merge({"model": preset}, {"model": {**encoder, **decoder}})


def _search(situation: Situation) -> Overrides:
    return {"search": situation.target.search_defaults(situation)}


def _reader(situation: Situation) -> Overrides:
    return situation.source.reader_defaults(situation)


def _training_section(
    situation: Situation, chosen: Overrides, overrides: Mapping[str, Any]
) -> Overrides:
    """The section `training`, from the size of the data and the options decided so far."""
    given = validate(merge(chosen, overrides), place=PLACE)
    names = merge({"training": chosen.get("training", {})}, overrides).get("training", {})
    settled = {name: getattr(given.training, name) for name in names}
    situation = replace(situation, training=settled, decoder=given.model.decoder.kind)
    rows = situation.facts.rows
    if situation.stream:
        rows = max(1, round(situation.tokens / max(1, given.training.truncate)))
    return situation.source.training_defaults(situation, _usual_training(situation, rows))


def _usual_training(situation: Situation, rows: int) -> Overrides:
    """Epochs over rows and tokens, in batches that leave enough updates.

    Values derived from batch size and number of updates use the user's, if set.
    """
    tokens, settled, stream = situation.tokens, situation.training, situation.stream
    batch = next((b for limit, b in ((SMALL, 1_024), (400_000, 2_048)) if tokens < limit), 4_096)
    batch = settled.get("batch_tokens", batch)
    filled = batch if stream else FILL_SHARE * batch
    held = min(filled, (settled.get("batch_rows") or rows) * tokens / rows)
    passes = situation.target.passes(situation)
    updates = settled.get("updates", max(500, round(passes * tokens / held / 100) * 100))
    rate = situation.target.usual_rate(situation.preset, stream=stream)
    long = situation.target.is_text and tokens >= SMALL
    orthogonal = long and not stream and situation.decoder == "transformer"
    optimizer = settled.get("optimizer", MuonConfig() if orthogonal else AdamWConfig())
    return {
        "updates": updates,
        "batch_tokens": batch,
        "optimizer": {"kind": optimizer.kind},
        "rate": optimizer.scale_rate(rate),
        "warmup": min(1_000, updates // 10),
        "validate_every": max(50, min(1_000, updates // 15)),
        **({"precision": "auto"} if long else {}),
    }


def _validate_config(chosen: Overrides) -> Config:
    """Validate the configuration; ConfigError if columns that share a vocabulary differ."""
    config = validate(chosen, place=PLACE)
    if config.model.share_vocabulary and not config.source.is_cut_like(config.target):
        raise ConfigError(
            "model.share_vocabulary needs source and target with the same tokenization",
            remedy="give both the same options, or set model.share_vocabulary=false",
        )
    return config


def _check_stream(config: Config) -> None:
    """ConfigError if a stream is configured and the data cannot be one."""
    if config.data.lines != "stream":
        return
    if not config.source.is_absent:
        raise ConfigError(
            "data.lines = 'stream' is for a text without a source",
            remedy=Remedy("pass {}, or leave it at rows", Setting("source.kind", "none")),
        )
    if config.data.weight:
        raise ConfigError(
            "data.weight has no meaning in a stream, which has no rows to weigh",
            remedy=Remedy("leave it out, or pass {}", Setting("data.lines", "rows")),
        )


ALONE = ("none", "blanks")  # kinds without a column of their own


def split_column(given: str) -> tuple[str | None, str | None]:
    """Parse `COL`, `COL:KIND` or `:KIND` as a column and a kind; absent parts are None.

    `none` alone means no such column, and `blanks` alone the source's column.
    """
    name, colon, kind = given.rpartition(":")
    kind = RENAMED_VALUES["target"].get(kind, kind)
    known = [*SOURCES.kinds(), *TARGETS.kinds()]
    if (kind in ALONE and not colon) or (colon and kind in known):
        return (name or None if colon else None), kind
    near = difflib.get_close_matches(kind, known, n=1, cutoff=0.75) if colon else []
    if near:
        raise ConfigError(
            f"there is no kind {kind!r}", place=given, remedy=f"did you mean {near[0]!r}?"
        )
    return given, None


def column_overrides(
    source: str | None = None,
    target: str | None = None,
    *,
    weight: str | None = None,
    skip_bad: bool = False,
) -> Overrides:
    """The user's columns, `COL` or `COL:KIND`, as a partial configuration."""
    chosen: Overrides = {}
    columns: Overrides = {"skip_bad": True} if skip_bad else {}
    for side, given in (("source", source), ("target", target)):
        if given is not None:
            name, kind = split_column(given)
            columns |= {} if name is None else {side: name}
            chosen = merge(chosen, {} if kind is None else {side: {"kind": kind}})
    columns |= {} if weight is None else {"weight": weight}
    return merge(chosen, {"data": columns} if columns else {})


def check_columns_bare(options: Mapping[str, Any]) -> None:
    """ConfigError if `data.source` or `data.target` includes a kind, which has its own option."""
    data = options.get("data")
    for side in ("source", "target"):
        given = data.get(side) if isinstance(data, Mapping) else None
        name, colon, kind = given.rpartition(":") if isinstance(given, str) else ("", "", "")
        if colon and kind in (*SOURCES.kinds(), *TARGETS.kinds()):
            raise ConfigError(
                f"{given!r} is a column and its kind, and the option takes the column alone",
                place=Setting(f"data.{side}"),
                remedy=Remedy("pass {}", Setting(side, given), otherwise=f"write {name!r}"),
            )
