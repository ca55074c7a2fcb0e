"""One list of options: what is written is what is read, and what cannot be read says why."""

import random
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import tomli_w
from annotated_types import Ge, Gt, Le, Lt
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from seqloom.config import (
    PRESETS,
    SOURCES,
    TARGETS,
    ColumnStatistics,
    Config,
    Facts,
    Overrides,
    SearchConfig,
    TextConfig,
    dump,
    flatten,
    load,
    merge,
    option_names,
    option_rows,
    outline,
    parse,
    parse_assignments,
    plan,
    validate,
)
from seqloom.config.searches import PartOption, field_options
from seqloom.config.sections import Choice, NameOf, Positive, Width
from seqloom.errors import ConfigError
from seqloom.randomness import key
from seqloom.registry import Family
from seqloom.search import RANKINGS, SEARCHES
from tests.counts import count

SENTENCES = ColumnStatistics(
    characters=60,
    words=12,
    spaces=10,
    distinct_characters=80,
    distinct_words=9_000,
    sample_rows=2_000,
)
FACTS = Facts(rows=29_000, source=SENTENCES, target=SENTENCES)


def sections_of(field: FieldInfo) -> list[type[BaseModel]]:
    """The classes a table may become; none where the field is a value."""
    choices = [each for each in field.metadata if isinstance(each, Choice)]
    if choices:
        return [options for family in choices[0].families for _, options in family]
    kinds = (field.annotation,)
    return [each for each in kinds if isinstance(each, type) and issubclass(each, BaseModel)]


def names_of(field: FieldInfo) -> list[Any]:
    """The names that the field chooses from; none where it is another value."""
    families = [each.family for each in field.metadata if isinstance(each, NameOf)]
    if families:
        return families[0].kinds()
    return list(get_args(field.annotation)) if get_origin(field.annotation) is Literal else []


def values_of(field: FieldInfo) -> st.SearchStrategy[Any]:
    """Everything that the field's annotation allows."""
    if sections := sections_of(field):
        return st.one_of([tables_of(section) for section in sections])
    if names := names_of(field):
        return st.sampled_from(names)
    bounds = {type(each): each for each in field.metadata}
    if field.annotation is float:
        low = bounds[Gt].gt if Gt in bounds else bounds[Ge].ge if Ge in bounds else -1_000
        high = bounds[Lt].lt if Lt in bounds else bounds[Le].le if Le in bounds else 1e6
        return st.floats(low, high, exclude_min=Gt in bounds, exclude_max=Lt in bounds)
    if field.annotation is int:
        return st.integers(bounds[Ge].ge, bounds[Le].le if Le in bounds else 10**9)
    if get_origin(field.annotation) is tuple:
        return members_of(get_args(field.annotation)[0])
    return st.booleans() if field.annotation is bool else st.text(max_size=20)


def tables_of_parts(family: Family[Any, Any]) -> st.SearchStrategy[Overrides]:
    return st.one_of([tables_of_part(*each) for each in family if field_options(each[1])])


def tables_of_part(kind: str, part: Any) -> st.SearchStrategy[Overrides]:
    """A search or a ranking by its kind, with one of its options or more."""
    first, *others = field_options(part)
    values = {each.name: numbers_of(each) for each in (first, *others)}
    return st.fixed_dictionaries(
        {"kind": st.just(kind), first.name: values.pop(first.name)}, optional=values
    )


def numbers_of(option: PartOption) -> st.SearchStrategy[Any]:
    """Everything within the bounds of an option."""
    if option.type is int:
        return st.integers(int(option.ge or 0), int(option.most))
    low = option.gt if option.ge is None else option.ge
    return st.floats(low, option.most, exclude_min=option.ge is None)


def members_of(kind: Any) -> st.SearchStrategy[list[Any]]:
    """Lists of names, of paths or of sizes, or pairs of shares."""
    if kind is str:
        return st.lists(st.text(st.characters(exclude_categories=["C"]), min_size=1), max_size=3)
    if get_origin(kind) is Literal:
        return st.lists(st.sampled_from(get_args(kind)), max_size=3)
    if kind in (Width, Positive):
        return st.lists(st.integers(1, 512), min_size=1, max_size=3)
    return st.lists(st.floats(0.01, 0.99), min_size=2, max_size=2)


def tables_of(section: type[BaseModel]) -> st.SearchStrategy[Overrides]:
    """Partial tables of a section, always with the `kind` that tells unions apart."""
    values = {name: values_of(field) for name, field in section.model_fields.items()}
    if section is SearchConfig:
        values |= {"method": tables_of_parts(SEARCHES), "ranking": tables_of_parts(RANKINGS)}
    kind = {"kind": values.pop("kind")} if "kind" in values else {}
    return st.fixed_dictionaries(kind, optional=values)


def leaves(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def described(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str | None]]:
    for name, field in section.model_fields.items():
        for inner in sections_of(field):
            yield from described(inner, f"{prefix}{name}.")
        if not sections_of(field):
            told = field.description if name != "kind" else "what the kind is"
            yield f"{prefix}{name}", told


def read(text: str) -> Config:
    return validate(parse(text, place="run.toml"), place="run.toml")


@given(tables_of(Config))
def test_a_configuration_survives_being_written_and_read(tables: Overrides) -> None:
    config = validate(tables, place="test")
    assert read(dump(config)) == config
    chosen = dict(leaves(config.model_dump(mode="json")))
    assert {name: chosen[name] for name, _ in leaves(tables)} == dict(leaves(tables))


@given(tables_of(Config))
def test_a_toml_key_is_a_set_name(tables: Overrides) -> None:
    config = validate(tables, place="test")
    written = [
        f"{name}={tomli_w.dumps({'value': value}).removeprefix('value = ')}"
        for name, value in leaves(config.model_dump(mode="json"))
    ]
    assert validate(parse_assignments(written), place="--set") == config


@given(tables_of(Config), tables_of(Config))
def test_merging_keeps_the_later_value_and_adds_nothing(one: Overrides, two: Overrides) -> None:
    merged = dict(leaves(merge(one, two)))
    assert merge(one, {}) == one
    assert merge({}, two) == two
    assert merge(merge(one, two), two) == merge(one, two)
    assert dict(leaves(two)).items() <= merged.items()
    assert merged.items() <= (dict(leaves(one)) | dict(leaves(two))).items()


def test_another_kind_brings_none_of_the_old_ones_options() -> None:
    old = {"model": {"encoder": {"kind": "transformer", "heads": 2, "width": 64}}}
    new = {"model": {"encoder": {"kind": "recurrent", "layers": 3}}}
    assert merge(old, new) == new


def test_option_names_are_unique_and_are_the_keys_of_the_written_file() -> None:
    names = list(option_names())
    assert len(names) == len(set(names))
    written = {name for name, _ in leaves(parse(dump(Config()), place="test"))}
    assert written <= set(names)
    assert set(names) == {name for name, _ in described(Config)}


def test_every_option_has_a_description() -> None:
    assert [name for name, text in described(Config) if not text] == []


def defaults_of(
    section: BaseModel, prefix: str = "", kind: str = ""
) -> Iterator[tuple[str, str, Any]]:
    """Every option of every kind with what an instance of its class has where nothing is set."""
    for name, field in type(section).model_fields.items():
        value, dotted = getattr(section, name), f"{prefix}{name}"
        members = [each for mark in field.metadata if isinstance(mark, Choice)
                   for each in mark.members()]  # fmt: skip
        if members:
            yield f"{dotted}.kind", kind, value.kind
            for member, options in members:
                yield from defaults_of(options.model_validate({}), f"{dotted}.", member)
        elif isinstance(value, BaseModel):
            yield from defaults_of(value, f"{dotted}.", kind)
        elif name != "kind":
            yield dotted, kind, value


def test_each_row_of_the_manual_has_the_default_of_its_own_kind() -> None:
    """One row for each kind and option, none left out and none twice."""
    rows = [(row.name, row.kind, row.default) for row in option_rows()]
    assert sorted(rows, key=repr) == sorted(set(defaults_of(Config())), key=repr)
    told = {(name, kind): default for name, kind, default in rows}
    assert len(told) == len(rows)
    assert told["model.decoder.width", "recurrent"] == 512
    assert told["model.decoder.width", "transformer"] == 256
    assert told["training.optimizer.momentum", "muon"] == 0.95
    assert told["training.optimizer.momentum", "sgd"] == 0.0


OLD = """
[target]
kind = "gaps"
marker = "?"

[model.decoder]
kind = "gaps"
dropout = 0.3
"""


def test_a_configuration_of_an_earlier_release_is_read_in_todays_words() -> None:
    """What 0.1.0 called gaps are blanks: in files, bare, and on the command line."""
    assert read(OLD) == read(OLD.replace("gaps", "blanks"))
    assert read(dump(read(OLD))) == read(OLD)
    assert parse("target = 'gaps'", place="run") == {"target": "blanks"}
    assert parse_assignments(["target.kind=gaps"]) == {"target": {"kind": "blanks"}}
    assert parse("[data]\ntarget = 'gaps'", place="run") == {"data": {"target": "gaps"}}


@pytest.mark.parametrize(
    ("assignment", "nearest"),
    [
        ("training.update=5", "training.updates"),
        ("trainng={updates=5}", "training"),
        ("updates=5", "training.updates"),
        ("search.beem=2", "search.beam"),
        ("model.encoder={kind='recurrent', widht=5}", "model.encoder.width"),
        ("text=1", "target"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(assignment: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=rf"there is no option .*; did you mean {nearest}\?$"):
        validate(parse_assignments([assignment]), place="--set")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = -1", "run.toml: seed = -1: input should be greater than or equal to 0"),
        (
            "[training.optimizer]\nbetas = [0.9, 2.0]",
            r"run.toml: training.optimizer.betas.1 = 2.0: .* less than 1",
        ),
        ("[model.encoder]\nkind = 'gru'", "run.toml: model.encoder.kind is 'gru'; it may be"),
        ("[model.encoder]\nwidth = 5", "run.toml: model.encoder.kind is missing"),
        ("seed = ,", "run.toml: not valid TOML: .*line 1"),
        ("[training]\nrate = nan", "run.toml: training.rate = nan: .* finite"),
    ],
)
def test_a_wrong_value_is_named_with_what_it_may_be(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        read(text)


@pytest.mark.parametrize(
    "assignment", ["seed", "=1", "a..b=1", ".seed=1", "a" + ".a" * 5_000 + "=1"]
)
def test_an_assignment_without_a_name_or_a_value_is_refused(assignment: str) -> None:
    with pytest.raises(ConfigError, match="write it as name=value"):
        parse_assignments([assignment, assignment])


def test_a_value_without_quotes_is_text_and_a_column_may_be_a_number() -> None:
    tables = parse_assignments(["data.source=3", "data.target=English text", "source.unit=word"])
    config = validate(tables, place="--set")
    assert (config.data.source, config.data.target) == ("3", "English text")
    assert config.source == TextConfig(unit="word")


@pytest.mark.parametrize(
    "text",
    [
        "seed = " + "9" * 5_000,
        "seed = 0x" + "f" * 5_000,
        "seed = " + "[" * 5_000,
        "seed = " + "[" * 100 + "]" * 100,
        "seed" + ".a" * 5_000 + " = 1",
        '"' + "long" * 50_000 + '" = 1',
        '"two\\nlines" = 1',
        'seed = "' + "long" * 50_000 + '"',
        "seed = 2020-01-05",
        "recurrent = 1",
        "\x00",
    ],
)
def test_hostile_text_gets_one_short_sentence(text: str) -> None:
    """RELIABILITY B4."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    check_sentence(str(caught.value))


def check_sentence(message: str) -> None:
    assert message.startswith("run.toml: ")
    assert len(message.splitlines()) == 1
    assert len(message) < 400


PIECES = ("[", "]", "=", '"', "'", "\n", ".", ",", "{", "}", "#", "\\", "\x00", "\u2028", "nan")
VALUES = ("-1", "1e400", "true", '""', "[]", "{}", "9" * 30, "inf", "1979-05-27", "'x'", "0.5")


def mutate(text: str, draw: random.Random) -> str:
    """The text with one to three edits of its characters, values, or lines."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(text) + 1)
        lines = text.split("\n")
        line = draw.randrange(len(lines))
        match draw.randrange(5):
            case 0:
                text = text[:at] + draw.choice(PIECES) + text[at:]
            case 1:
                text = text[:at] + text[at + draw.randint(1, 20) :]
            case 2:
                lines[line] = f"{lines[line].partition('=')[0]}= {draw.choice(VALUES)}"
                text = "\n".join(lines)
            case 3:
                lines.insert(draw.randrange(len(lines)), lines[line])
                text = "\n".join(lines)
            case _:
                text = text[:at] + chr(draw.randrange(0xD800)) + text[at + 1 :]
    return text


@pytest.mark.faults
def test_mutated_files_are_refused_in_one_sentence_or_read() -> None:
    """RELIABILITY B4: no error of another class, however the text is damaged."""
    original = dump(Config())
    draw = random.Random(key(1, "mutated configuration"))
    wanted, refused = count(300, 3_000), 0
    while refused < wanted:
        try:
            config = read(mutate(original, draw))
        except ConfigError as error:
            check_sentence(str(error))
            refused += 1
        else:
            assert read(dump(config)) == config


def test_a_file_may_start_with_a_byte_order_mark_but_must_be_there_and_be_text(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.toml"
    with pytest.raises(ConfigError, match=r"run\.toml: cannot be read"):
        load(path)
    path.write_bytes(b"\xef\xbb\xbfseed = 7\n")
    assert load(path) == {"seed": 7}
    path.write_bytes(b"seed = '\xff'\n")
    with pytest.raises(ConfigError, match=r"run\.toml: cannot be read"):
        load(path)


@settings(max_examples=50)
@given(overrides=tables_of(Config), preset=st.sampled_from(PRESETS))
def test_a_plan_keeps_every_choice_of_the_user(overrides: Overrides, preset: str) -> None:
    config = validate(merge({}, overrides), place="given")
    assume((config.source.kind == "series") == (config.target.kind == "series"))
    assume(config.target.kind != "tags" or config.source.kind == "text")
    alike = config.source.is_cut_like(config.target)
    if overrides.get("model", {}).get("share_vocabulary") and not alike:
        with pytest.raises(ConfigError, match="the same tokenization"):
            plan(overrides, FACTS, preset=preset)
        return
    chosen = dict(leaves(plan(overrides, FACTS, preset=preset).model_dump(mode="json")))
    assert {name: chosen[name] for name, _ in leaves(overrides)} == dict(leaves(overrides))


@pytest.mark.parametrize("preset", PRESETS)
def test_an_outline_reads_rows_as_the_plan_will(preset: str) -> None:
    """All that decides which rows there are is known before any is read."""
    sources = [{"kind": kind} for kind in SOURCES.kinds()]
    for source, target in product(sources, TARGETS.kinds()):
        overrides = {"source": source, "target": target, "seed": 7}
        try:
            config = plan(overrides, FACTS, preset=preset)
        except ConfigError as error:
            with pytest.raises(ConfigError, match=f"^{re.escape(str(error))}$"):
                outline(overrides, preset=preset)
            continue
        outlined = outline(overrides, preset=preset)
        assert (outlined.data, outlined.seed) == (config.data, 7)
        assert outlined.source.kind == config.source.kind
        assert outlined.target.kind == config.target.kind


@pytest.mark.parametrize("preset", PRESETS)
def test_one_option_of_a_part_can_be_set_without_naming_its_kind(preset: str) -> None:
    overrides = parse_assignments(["model.encoder.layers=7", "model.decoder.dropout=0.3"])
    chosen = flatten(plan(overrides, FACTS, preset=preset))
    assert (chosen["model.encoder.layers"], chosen["model.decoder.dropout"]) == (7, 0.3)


@pytest.mark.parametrize(
    ("kind", "overlong"), [("label", "truncate"), ("number", "truncate"), ("text", "drop")]
)
def test_a_long_text_to_be_judged_is_cut_in_training_as_in_use(kind: str, overlong: str) -> None:
    chosen = plan({"target": {"kind": kind}}, FACTS)
    assert chosen.data.overlong == overlong
    own = {"target": {"kind": kind}, "data": {"overlong": "error"}}
    assert plan(own, FACTS).data.overlong == "error"


def test_columns_of_a_series_share_no_vocabulary() -> None:
    """A run's target would be read back as its source."""
    series = {"source": {"kind": "series"}, "target": {"kind": "series"}}
    with pytest.raises(ConfigError, match="the same tokenization"):
        plan({**series, "model": {"share_vocabulary": True}}, FACTS)
    assert not plan(series, FACTS).model.share_vocabulary


def test_an_unknown_preset_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match="model='rnn': there is no such preset; choose one of auto, transformer, "
    ):
        plan({}, FACTS, preset="rnn")
