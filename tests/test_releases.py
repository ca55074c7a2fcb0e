"""Versions and deprecations follow the rules of docs/systems.md."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.version import __version__

TOP = Path(__file__).parents[1]
MESSAGE = re.compile(r"use \S.* instead; removed in (\d+)\.(\d+)")


def broken_deprecations(source: str, version: str, changelog: str) -> Iterator[str]:
    """What is deprecated in a module against the rules."""
    current = tuple(map(int, version.split(".")[:2]))
    for node in ast.walk(ast.parse(source)):
        for call in getattr(node, "decorator_list", []):
            if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("deprecated"):
                continue
            name = getattr(node, "name", "")
            told = (
                call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
            )
            found = MESSAGE.fullmatch(str(told))
            if found is None:
                yield f"{name}: the message is not 'use NEW instead; removed in X.Y'"
            elif tuple(map(int, found.groups())) <= current:
                yield f"{name}: was to be removed in {found[1]}.{found[2]}"
            if f"`{name}`" not in changelog:
                yield f"{name}: the changelog does not name it"


def test_deprecations_keep_the_rules() -> None:
    changelog = (TOP / "CHANGELOG.md").read_text()
    for path in sorted((TOP / "src").rglob("*.py")):
        assert list(broken_deprecations(path.read_text(), __version__, changelog)) == [], path


@pytest.mark.parametrize(
    ("message", "changelog", "wanted"),
    [
        ("use new instead; removed in 0.3", "- `old` is deprecated", []),
        ("do not use this", "- `old` is deprecated", ["the message is"]),
        ("use new instead; removed in 0.2", "- `old` is deprecated", ["was to be removed"]),
        ("use new instead; removed in 0.3", "", ["the changelog does not"]),
    ],
)
def test_a_broken_rule_is_seen(message: str, changelog: str, wanted: list[str]) -> None:
    source = f'@deprecated("{message}")\ndef old(): ...\n'
    found = list(broken_deprecations(source, "0.2.1", changelog))
    assert len(found) == len(wanted)
    assert all(part in each for part, each in zip(wanted, found, strict=True))


def test_the_version_is_told_once() -> None:
    """The package, the project and the newest numbered part of the changelog agree."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
    headings = re.findall(r"(?m)^## (.+)$", (TOP / "CHANGELOG.md").read_text())
    numbers = [tuple(map(int, each.split()[0].split("."))) for each in headings[1:]]
    assert headings[0] == "Unreleased"
    assert numbers == sorted(numbers, reverse=True)
    assert not numbers or headings[1].split()[0] == __version__
