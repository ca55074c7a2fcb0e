"""The documentation is true: commands, options and imports exist, links lead somewhere."""

import ast
import importlib
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main
from typer.core import TyperGroup

import seqloom
from seqloom.cli.app import app
from seqloom.cli.option_groups import LateCommand
from seqloom.config import ModelConfig, option_names
from seqloom.data import Report
from seqloom.errors import ConfigError
from seqloom.fields import Symbols
from seqloom.metrics import perplexity, target_scores
from seqloom.model import build
from seqloom.runs.held_out import diagnose
from seqloom.runs.progress import Validation
from seqloom.tasks import Evaluation
from tests.data.malformed import KINDS, flagged

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
SITE_ONLY = {"docs/index.md", "docs/contributing.md", "docs/changes.md"}  # they include others
COMMAND = typer.main.get_command(app)
FENCE = re.compile(r"^ *```")
INLINE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SECTIONS = "data|source|target|model|training|search"
OPTION = re.compile(rf"(?:{SECTIONS})\.[a-z_.]+(?:=.*)?")
FILES = (".py", ".safetensors", ".tsv", ".txt", ".md", ".csv", ".jsonl", ".spm", ".onnx")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


class Piece(NamedTuple):
    """Some text that a reader might type, and where it stands."""

    place: str
    text: str


def lines(page: Path) -> Iterator[tuple[int, str, bool]]:
    """Each line with its number and whether it is inside a fence."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        else:
            yield number, line, inside


def commands(page: Path) -> Iterator[Piece]:
    """Every `seqloom ...` that the page tells a reader to type, in a fence or in a sentence."""
    for number, line, inside in lines(page):
        texts = [line] if inside else INLINE.findall(line)
        for text in texts:
            for part in text.removeprefix("$ ").strip().split(" | "):
                if part.startswith("seqloom ") and not part.startswith("seqloom: "):
                    yield Piece(f"{page.name}:{number}", part.split(" #")[0].split(" > ")[0])


def wrong_with(words: list[str]) -> str | None:
    """What the command line would stumble over before any file is looked at."""
    if not isinstance(COMMAND, TyperGroup):
        return "seqloom has no commands"
    first = words[1]
    if first.startswith("-"):
        known = {name for each in COMMAND.params for name in each.opts} | {"-h", "--help"}
        return None if first in known else f"no option {first}"
    if first == "COMMAND":
        return None
    if first not in COMMAND.commands:
        return f"no command {first}"
    command = COMMAND.commands[first]
    command = command.complete() if isinstance(command, LateCommand) else command
    known = {name for each in command.params for name in each.opts}
    for word in words[2:]:
        if word.startswith("-") and word.partition("=")[0] not in known | {"-h", "--help"}:
            return f"{first} has no option {word}"
    settings = [after for before, after in itertools.pairwise(words) if before == "--set"]
    unknown = [each for each in settings if each.partition("=")[0] not in option_names()]
    return f"no option {unknown[0]}" if unknown else None


@each_page
def test_every_command_line_can_be_typed(page: Path) -> None:
    """Its command and the names of its options exist."""
    wrong = {
        f"{piece.place}: {piece.text}": problem
        for piece in commands(page)
        if (problem := wrong_with(shlex.split(piece.text)))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "line",
    [
        "seqloom trian x",
        "seqloom train x --runs y",
        "seqloom train x --run y --set training.update=3",
        "seqloom --versoin",
    ],
)
def test_a_wrong_command_line_is_seen(line: str) -> None:
    """The test above finds what it is there to find."""
    assert wrong_with(shlex.split(line))


@each_page
def test_every_option_named_exists(page: Path) -> None:
    """What looks like an option in a sentence is one, or the name of a group of them."""
    names = set(option_names())
    groups = {name.rpartition(".")[0] for name in names}
    unknown = [
        f"{page.name}:{number}: {text}"
        for number, line, inside in lines(page)
        if not inside
        for text in INLINE.findall(line)
        if OPTION.fullmatch(text) and not text.endswith(FILES)
        if text.partition("=")[0] not in names | groups
    ]
    assert unknown == []


def anchors(page: Path) -> set[str]:
    """The names under which a page's headings can be reached."""
    titles = [
        line.lstrip("# ") for _, line, inside in lines(page) if not inside and line[:1] == "#"
    ]
    plain = (re.sub(r"[^\w\s-]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in plain}


@each_page
def test_every_internal_link_leads_somewhere(page: Path) -> None:
    """The file exists, and the heading in it."""
    broken = []
    for number, line, inside in lines(page):
        for target in [] if inside else LINK.findall(line):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = page.parent / path if path else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                broken.append(f"{page.name}:{number}: {target}")
    assert broken == []


@each_page
def test_every_script_and_target_exists(page: Path) -> None:
    """`scripts/x` is a file, and `make x` a target of the Makefile."""
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`scripts/([a-z]+)", text)) <= {
        path.name for path in (ROOT / "scripts").iterdir()
    }
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)) <= targets


def examples(page: Path) -> Iterator[str]:
    """The programs in Python that a page shows."""
    text = page.read_text(encoding="utf-8")
    yield from re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@each_page
def test_every_name_that_python_imports_exists(page: Path) -> None:
    """Of this project; others may not be installed."""
    missing = [
        f"{page.name}: {node.module}.{each.name}"
        for code in examples(page)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("seqloom")
        for each in node.names
        if not hasattr(importlib.import_module(str(node.module)), each.name)
    ]
    assert missing == []


def test_parameters_are_as_many_as_is_shown() -> None:
    """docs/transformer.md: every line that ends in a number gives that number."""
    (code,) = examples(ROOT / "docs" / "transformer.md")
    checked = re.sub(r"^(.+)  # ([0-9]+)$", r"assert \1 == \2", code, flags=re.MULTILINE)
    assert checked.count("assert ") == 3
    done = subprocess.run(
        [sys.executable, "-c", checked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("embedding", "encoder"),
    [
        (128, {"heads": 5}),
        (129, {"width": 129}),
        (128, {"positions": {"kind": "sinusoids-appended", "size": 31}}),
        (128, {"width": 64}),
        (128, {"positions": "rotary", "head_size": 15}),
        (128, {"positions": "rotary", "mixing": "simple"}),
    ],
)
def test_what_a_transformer_refuses_is_as_shown(embedding: int, encoder: dict[str, Any]) -> None:
    """docs/transformer.md has the sentences of the code."""
    block = {"kind": "transformer", "width": 128, "heads": 4}
    tables = {"embedding": embedding, "encoder": {**block, **encoder}, "decoder": block}
    config = ModelConfig.model_validate(tables)
    with pytest.raises(ConfigError) as refused:
        build(config, source=Symbols(9), target=Symbols(9))
    page = (ROOT / "docs" / "transformer.md").read_text(encoding="utf-8")
    assert f"| `{refused.value}` |" in page


def test_what_follows_from_the_code_is_current() -> None:
    """docs/options.md and the table of automatic choices are as scripts/manual writes them."""
    check = [sys.executable, str(ROOT / "scripts" / "manual"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_page_can_be_reached_from_the_readme() -> None:
    """No page of docs/ is an orphan."""
    linked = {target.partition("#")[0] for target in LINK.findall(PAGES[0].read_text("utf-8"))}
    pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages - SITE_ONLY <= linked


def page_text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_every_page_is_in_one_part_of_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    trees = re.findall(r"```\{toctree\}(.*?)```", index, re.DOTALL)
    listed = [line for tree in trees for line in tree.split("\n") if line and line[0] != ":"]
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in PAGES[3:]}
    assert sorted(listed) == sorted(pages - {"index"})


def test_the_api_page_has_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    assert set(re.findall(r":: seqloom\.(\w+)$", page, re.MULTILINE)) - {"errors"} == (
        set(seqloom.__all__) - {"SeqloomError"}
    )


def test_the_table_of_malformed_data_is_that_of_the_tests() -> None:
    """docs/data.md has every kind with the sentence that is said of it."""
    row = re.compile(r"^\| ([^|]+) \| ((?:pairs|train)\.[^|]+) \|", re.MULTILINE)
    told = dict(row.findall(page_text("data.md")))
    assert told == {kind.name: flagged(kind.strict.sentence or "") for kind in KINDS}


def test_the_verdict_is_told_in_its_own_words() -> None:
    """docs/train.md shows the sentence that a model no better than guessing gets."""
    verdict = diagnose([Validation(60, 2.60, 0.0)], guessing=2.37)
    assert verdict is not None
    assert verdict.sentence in page_text("train.md").splitlines()


@pytest.mark.parametrize("page", ["evaluate.md", "quickstart.md"])
def test_every_metric_is_in_the_sample(page: str) -> None:
    """What `evaluate` prints of written outputs, in its order."""
    scores = [*target_scores("text", ["a"], ["a"], seed=None), perplexity([-1.0], [1])]
    sample = page_text(page).partition("500 rows\n")[2].partition("```")[0].splitlines()
    names = [re.split(r" (?=[0-9])", line)[0] for line in sample]
    assert names == [score.name for score in scores]


def test_what_is_read_from_an_evaluation_is_there() -> None:
    """docs/evaluate.md names only what one has."""
    found = re.findall(r"\bevaluation\.([a-z_.]+)", page_text("evaluate.md"))
    assert found
    for names in found:
        part: object = Evaluation(Report(), ())
        for name in names.split("."):
            part = getattr(part, name)


def test_every_fault_names_tests_that_exist() -> None:
    """scripts/faults runs what the last column of the table names."""
    table = page_text("reliability.md").splitlines()
    rows = [line.split(" | ") for line in table if re.match(r"\| [A-F]\d", line)]
    assert len(rows) > 30
    for row in rows:
        places = re.findall(r"`((?:tests|scripts)/[\w/.]+)`", row[-1])
        assert places, row[0]
        assert [place for place in places if not (ROOT / place).exists()] == [], row[0]
